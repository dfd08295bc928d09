"""Dynamics here and in pinocchio: one call from Python, and ours inside a compiled loop.

Run: ``python benchmarks/multibody.py [--out benchmarks/results/multibody_DATE.csv]`` (extra ``peers``).

The models are an arm (7), a quadruped (18), a humanoid (36), a bushy tree (100) and a serial chain (100), all with
general placements. A pair is a few hundred calls of each, alternating; the ratio is the median over pairs, below 1 if
ours is faster. Pinocchio is called in the convention that is faster for the case. RBDL's figures cannot be measured
here. The column beside the loop has its C++ time relative to pinocchio's on the machine where both were measured, times
pinocchio's time here.

"ltl" factorises the mass matrix and solves with one vector, compared with pinocchio's decompose and solve. Derivatives,
"drnea" and "daba", are measured from Python only, beside pinocchio's and beside the functions that they differentiate.
At the end are the first calls of a process, with and without the cache.
"""

from __future__ import annotations

import argparse
import functools
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tables import write_rows

from contactlab.multibody import joints
from contactlab.multibody.builder import ModelBuilder
from contactlab.multibody.configuration import random_configuration
from contactlab.multibody.derivatives import forward_dynamics_derivatives, inverse_dynamics_derivatives
from contactlab.multibody.dynamics import forward_dynamics, inverse_dynamics
from contactlab.multibody.mass_matrix import dof_parents, factorize_ltl, mass_matrix
from contactlab.multibody.model import Model
from contactlab.multibody.spatial import RigidInertia, Transform, quaternion

Body = tuple[str, str, str]

#: RBDL's time in a C++ loop over pinocchio's from Python, where both were measured.
RBDL = {
    ("rnea", "36"): 1.95 / 3.90, ("rnea", "100 tree"): 5.0 / 11.8, ("rnea", "100 chain"): 5.8 / 12.4,
    ("crba", "36"): 3.0 / 3.65, ("crba", "100 tree"): 10 / 17.9, ("crba", "100 chain"): 58 / 21.9,
    ("aba", "36"): 5.7 / 7.79, ("aba", "100 tree"): 16 / 24.1, ("aba", "100 chain"): 16 / 24.0,
}  # fmt: skip

FIRST_CALLS = """
import time
start = time.perf_counter()
import numpy as np
from contactlab.multibody import joints
from contactlab.multibody.builder import ModelBuilder
from contactlab.multibody.dynamics import forward_dynamics
from contactlab.multibody.dynamics import inverse_dynamics
from contactlab.multibody.kinematics import kinematics
from contactlab.multibody.mass_matrix import mass_matrix
from contactlab.multibody.spatial import RigidInertia
ball = RigidInertia.solid_sphere(1.0, 0.1)
model = ModelBuilder().add_body("a", joint=joints.Revolute(), inertia=ball).build()
x = np.ones(1)
print(time.perf_counter() - start)
for call in (kinematics, mass_matrix):
    start = time.perf_counter(); call(model, x); print(time.perf_counter() - start)
for call in (inverse_dynamics, forward_dynamics):
    start = time.perf_counter(); call(model, x, x, x); print(time.perf_counter() - start)
"""


def chain(prefix: str, parent: str, kinds: str) -> list[Body]:
    """Revolute joints in a row, about x, y or z."""
    return [(f"{prefix}{k}", f"{prefix}{k - 1}" if k else parent, kind) for k, kind in enumerate(kinds)]


def bushy(n: int) -> list[Body]:
    """Return short branches on branches of a free body."""
    rng, bodies, path = np.random.default_rng(3), [("base", "world", "free")], ["base"]
    while len(bodies) + 5 < n:
        path = path[: int(rng.integers(1, min(len(path), 8) + 1))]
        for _ in range(min(int(rng.integers(3, 7)), n - 5 - len(bodies))):
            name = f"b{len(bodies)}"
            bodies.append((name, path[-1], "xyz"[len(bodies) % 3]))
            path.append(name)
    return bodies


FREE: Body = ("base", "world", "free")
CASES: dict[str, list[Body]] = {
    "7": chain("b", "world", "xyzxyzx"),
    "18": [FREE, *(body for leg in "abcd" for body in chain(leg, "base", "xyy"))],
    "36": [
        FREE, *chain("left", "base", "zxyyyx"), *chain("right", "base", "zxyyyx"), *chain("trunk", "base", "zyx"),
        *chain("head", "trunk2", "zy"), *chain("arm", "trunk2", "yxzyzyx"), *chain("hand", "trunk2", "yxzyzy"),
    ],
    "100 tree": bushy(100),
    "100 chain": chain("b", "world", ("xyz" * 34)[:100]),
}  # fmt: skip


def models(bodies: list[Body], pin: Any) -> tuple[Model, Any]:
    """Return the same robot in both libraries; only in ours if ``pin`` is None."""
    rng, builder, theirs, ids = np.random.default_rng(0), ModelBuilder(), pin and pin.Model(), {"world": 0}
    for name, parent, kind in bodies:
        R, p = quaternion.to_matrix(rng.standard_normal(4)), rng.uniform(-0.3, 0.3, 3)
        half, mass, com = rng.uniform(0.05, 0.2, 3), rng.uniform(0.5, 2.0), rng.uniform(-0.1, 0.1, 3)
        inertia = mass / 3.0 * np.diag(np.sum(half**2) - half**2)
        joint = joints.FloatingBase() if kind == "free" else joints.Revolute(np.eye(3)["xyz".index(kind)])
        builder.add_body(
            name,
            parent=parent,
            joint=joint,
            placement=Transform(R, p),
            inertia=RigidInertia(mass, com, inertia=inertia),
        )
        if pin is None:
            continue
        other = {"free": pin.JointModelFreeFlyer, "x": pin.JointModelRX, "y": pin.JointModelRY, "z": pin.JointModelRZ}
        ids[name] = theirs.addJoint(ids[parent], other[kind](), pin.SE3(R, p), name)
        theirs.appendBodyToJoint(ids[name], pin.Inertia(mass, com, inertia), pin.SE3.Identity())
    return builder.build(), theirs


def loops() -> dict[str, Callable[..., None]]:
    """Call each kernel n times from compiled code; compiled without cache, which would miss edits to the kernels."""
    import numba

    from contactlab.multibody.kernels.dynamics import aba, rnea
    from contactlab.multibody.kernels.mass_matrix import crba, factor_ltl, solve_vector_l, solve_vector_lt

    compiled = numba.njit(nogil=True, error_model="numpy", _nrt=False)

    @compiled
    def rnea_loop(I, F, q, v, a, f, custom, W, out, M, n):  # type: ignore[no-untyped-def]
        for _ in range(n):
            rnea(I, F, q, v, a, f, custom, W, 0, out)

    @compiled
    def aba_loop(I, F, q, v, a, f, custom, W, out, M, n):  # type: ignore[no-untyped-def]
        for _ in range(n):
            aba(I, F, q, v, a, f, custom, W, 0, out)

    @compiled
    def crba_loop(I, F, q, v, a, f, custom, W, out, M, n):  # type: ignore[no-untyped-def]
        for _ in range(n):
            crba(I, F, q, custom, W, 0, M)

    @compiled
    def ltl_loop(parents, M, b, diagonal, L, x, n):  # type: ignore[no-untyped-def]
        for _ in range(n):
            for i in range(b.shape[0]):
                x[i] = b[i]
                for j in range(i + 1):
                    L[i, j] = M[i, j]
            factor_ltl(parents, diagonal, L)
            solve_vector_lt(parents, L, x)
            solve_vector_l(parents, L, x)

    return {"rnea": rnea_loop, "crba": crba_loop, "aba": aba_loop, "ltl": ltl_loop}


def timed(call: Callable[[], object], repeats: int) -> float:
    """Microseconds per call."""
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats * 1e6


def compared(name: str, pairs: int, pin: Any, compiled: dict[str, Callable[..., None]]) -> list[dict[str, Any]]:
    """Return the rows of one robot."""
    model, theirs = models(CASES[name], pin)
    data, rng = theirs.createData(), np.random.default_rng(1)
    q = random_configuration(model, rng)
    v, a, q_pin = rng.standard_normal(model.nv), rng.standard_normal(model.nv), q.copy()
    if model.nq > model.nv:
        q_pin[3:7] = q[[4, 5, 6, 3]]
    ours: dict[str, Callable[[], object]] = {
        "rnea": lambda: inverse_dynamics(model, q, v, a),
        "crba": lambda: mass_matrix(model, q),
        "aba": lambda: forward_dynamics(model, q, v, a),
        "ltl": lambda: factorize_ltl(model, M).solve(a),
    }
    both = (pin.Convention.LOCAL, pin.Convention.WORLD)
    peer: dict[str, list[Callable[[], object]]] = {
        "rnea": [lambda: pin.rnea(theirs, data, q_pin, v, a)],
        "crba": [lambda c=c: pin.crba(theirs, data, q_pin, c) for c in both],  # type: ignore[misc]
        "aba": [lambda c=c: pin.aba(theirs, data, q_pin, v, a, c) for c in both],  # type: ignore[misc]
        "ltl": [lambda: (pin.cholesky.decompose(theirs, data), pin.cholesky.solve(theirs, data, a))],
    }
    nl, nv, packed = model.packed.nl, model.nv, model.packed
    buffers = (np.zeros((0, 6)), np.zeros((0, 54)), np.empty(100 + 80 * (nl + nv)), np.empty(nv), np.zeros((nv, nv)))
    repeats = max(40, 4000 // nv)
    M, places = mass_matrix(model, q), (np.empty(nv), np.zeros((nv, nv)), np.empty(nv))
    pin.crba(theirs, data, q_pin)
    rows = []
    for method, call in ours.items():
        if method == "ltl":
            run = functools.partial(compiled["ltl"], dof_parents(model), M, a, *places)
        else:
            run = functools.partial(compiled[method], packed.ints, packed.floats, q, v, a, *buffers)
        call(), run(1)
        best = min(peer[method], key=lambda other: min(timed(other, repeats) for _ in range(5)))
        python, other, inside = [], [], []
        for _ in range(pairs):
            python.append(timed(call, repeats))
            other.append(timed(best, repeats))
            inside.append(timed(functools.partial(run, repeats), 1) / repeats)
        row: dict[str, Any] = {
            "method": method,
            "n": name,
            "python_us": np.median(python),
            "pin_us": np.median(other),
            "ratio": np.median(np.divide(python, other)),
            "loop_us": np.median(inside),
            "rbdl_us": np.median(other) * RBDL.get((method, name), np.nan),
        }
        row["loop_over_rbdl"] = row["loop_us"] / row["rbdl_us"]
        rows.append(row)
        print(f"{method:14} {name:9} " + " ".join(f"{row[key]:9.2f}" for key in list(row)[2:]), flush=True)
    return rows


def derivatives(name: str, pairs: int, pin: Any) -> list[dict[str, Any]]:
    """Return rows of one robot: derivatives of inverse and forward dynamics, beside these functions."""
    model, theirs = models(CASES[name], pin)
    data, rng = theirs.createData(), np.random.default_rng(1)
    q = random_configuration(model, rng)
    v, a, q_pin = rng.standard_normal(model.nv), rng.standard_normal(model.nv), q.copy()
    if model.nq > model.nv:
        q_pin[3:7] = q[[4, 5, 6, 3]]
    repeats = max(20, 2000 // model.nv)
    cases: dict[str, tuple[Callable[[], object], ...]] = {
        "drnea": (
            lambda: inverse_dynamics_derivatives(model, q, v, a),
            lambda: inverse_dynamics(model, q, v, a),
            lambda: pin.computeRNEADerivatives(theirs, data, q_pin, v, a),
        ),
        "daba": (
            lambda: forward_dynamics_derivatives(model, q, v, a),
            lambda: forward_dynamics(model, q, v, a),
            lambda: pin.computeABADerivatives(theirs, data, q_pin, v, a),
        ),
    }
    rows = []
    for method, calls in cases.items():
        for call in calls:
            call()
        own, plain, other = np.array([[timed(call, repeats) for call in calls] for _ in range(pairs)]).T
        ratios = {"ratio": np.median(own / other), "over_function": np.median(own / plain)}
        rows.append({"method": method, "n": name, "python_us": np.median(own), "pin_us": np.median(other), **ratios})
        print(f"{method:14} {name:9} " + " ".join(f"{rows[-1][key]:9.2f}" for key in list(rows[-1])[2:]), flush=True)
    return rows


def first_calls() -> list[dict[str, Any]]:
    """Return the seconds of the first calls of a process: with an empty cache, then with the cache of that run."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for state in ("cold", "cached"):
            output = subprocess.run(
                [sys.executable, "-c", FIRST_CALLS],
                env={**os.environ, "NUMBA_CACHE_DIR": folder},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            seconds = [float(line) for line in output.split()]
            names = ("import", "kinematics", "crba", "rnea", "aba")
            rows.append({"state": state, **dict(zip(names, seconds, strict=True)), "total": sum(seconds)})
            print(state, " ".join(f"{key} {value:.2f}" for key, value in list(rows[-1].items())[1:]), flush=True)
    return rows


def main() -> None:
    """Print and keep the tables."""
    import pinocchio as pin

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--pairs", type=int, default=41)
    arguments = parser.parse_args()
    machine = f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}, pin {pin.__version__}"
    print(machine)
    print("method         n         python us    pin us     ratio   loop us   rbdl us  loop/rbdl")
    compiled = loops()
    rows = [row for name in CASES for row in compared(name, arguments.pairs, pin, compiled)]
    print("method         n         python us    pin us     ratio  over the function itself")
    rows += [row for name in CASES for row in derivatives(name, arguments.pairs, pin)]
    compiling = first_calls()
    if arguments.out:
        notes = [
            f"{machine}; {arguments.pairs} pairs, medians, microseconds; ratio < 1: ours is faster;",
            "rbdl_us: pinocchio's time here times RBDL's ratio to it where both were measured",
        ]
        for state in compiling:
            text = ", ".join(f"{key} {value:.2f}" for key, value in list(state.items())[1:])
            notes.append(f"first calls, {state['state']}, seconds: {text}")
        write_rows(arguments.out, notes, rows, ".3f", [*rows[0], "over_function"])


if __name__ == "__main__":
    main()
