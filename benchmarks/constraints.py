"""Forward dynamics with constraints here and in pinocchio, both called from Python.

Run: ``python benchmarks/constraints.py [--out benchmarks/results/constraints_DATE.csv]`` (pinocchio, in the extra
``peers``, is optional: without it there are no ratios).

The robots of ``benchmarks/multibody.py`` have contacts that hold points of bodies: 4 rows (one point completely, a
second along one direction) and 12 rows (four points). Pinocchio's contacts hold points completely: beside 4 rows are
its times with one point (3 rows) and with two (6 rows, the fewest that contain ours), beside 12 rows four points. A
pair is a few hundred calls of each, alternating; the ratio is the median over pairs, below 1 if ours is faster. Twelve
rows on a moving arm of seven degrees of freedom contradict each other: our solution has rank seven and satisfies them
in the least-squares sense, by QR with pivoting. The residual of pinocchio's solution in G a = gamma is ``pin_residual``
(nan if its accelerations are not numbers).

RBDL's figures (4 rows, C++) cannot be measured here. The column has its time relative to pinocchio's with four points
on the machine where both were measured, times pinocchio's time here. A failed method keeps its row, with the error's
name.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from multibody import CASES, models, timed
from tables import write_rows

from contactlab.multibody.configuration import random_configuration
from contactlab.multibody.constraints import (
    ConstraintSet,
    ContactConstraint,
    constraint_gamma,
    constraint_jacobian,
    forward_dynamics_constraints,
)
from contactlab.multibody.model import Model
from contactlab.multibody.spatial.arrays import MultibodyError

METHODS = ("kokkevis", "range_space_sparse", "direct", "null_space")
POINT = np.array([0.1, 0.2, 0.3])

#: RBDL's microseconds at 4 rows over pinocchio's with four points, where both were measured.
RBDL: dict[str, dict[str, float]] = {
    "7": {"direct": 2.9 / 4.1, "range_space_sparse": 2.6 / 4.1, "null_space": 4.7 / 4.1, "kokkevis": 4.2 / 4.1},
    "18": {"direct": 6.1 / 6.3, "range_space_sparse": 6.2 / 6.3, "null_space": 9.1 / 6.3, "kokkevis": 7.9 / 6.3},
    "36": {"direct": 14 / 12.9, "range_space_sparse": 21 / 12.9, "null_space": 19 / 12.9, "kokkevis": 15 / 12.9},
    "100 tree": {
        "direct": 71 / 32.3, "range_space_sparse": 329 / 32.3, "null_space": 164 / 32.3, "kokkevis": 40 / 32.3,
    },
    "100 chain": {
        "direct": 129 / 76.6, "range_space_sparse": 369 / 76.6, "null_space": 223 / 76.6, "kokkevis": 56 / 76.6,
    },
}  # fmt: skip

FIRST_CALLS = """
import time
import numpy as np
from contactlab.multibody.constraints import ConstraintSet, ContactConstraint, forward_dynamics_constraints
from contactlab.multibody import forward_dynamics, joints
from contactlab.multibody.builder import ModelBuilder
from contactlab.multibody.spatial import RigidInertia
ball = RigidInertia.solid_sphere(1.0, 0.1)
model = ModelBuilder().add_body("a", joint=joints.FloatingBase(), inertia=ball).build()
cs = ConstraintSet(model, [ContactConstraint("a", (0, 0, -0.1), (0, 0, 1))])
q, x = model.neutral, np.zeros(6)
start = time.perf_counter(); forward_dynamics(model, q, x, x); print(time.perf_counter() - start)
for method in ("kokkevis", "direct", "range_space_sparse", "null_space"):
    start = time.perf_counter()
    forward_dynamics_constraints(model, q, x, x, cs, method=method)
    print(time.perf_counter() - start)
"""


def held_points(model: Model, rows: int) -> tuple[list[str], ConstraintSet]:
    """Return bodies spread over the model, and a set of this many rows that holds points of them."""
    points = -(-rows // 3)
    bodies = [model.bodies[model.nb - 1 - round(k * (model.nb - 1) / points)].name for k in range(points)]
    axes = np.eye(3)
    return bodies, ConstraintSet(model, [ContactConstraint(bodies[i // 3], POINT, axes[i % 3]) for i in range(rows)])


def peer(pin: Any, theirs: Any, bodies: list[str], q: Any, v: Any, tau: Any) -> Callable[[], Any]:
    """Compute pinocchio's constraint dynamics with the points of ``bodies`` held."""
    contacts, datas, data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData(), theirs.createData()
    for body in bodies:
        place, kind = pin.SE3(np.eye(3), POINT), pin.ContactType.CONTACT_3D
        contact = pin.RigidConstraintModel(kind, theirs, theirs.getJointId(body), place, pin.ReferenceFrame.LOCAL)
        contacts.append(contact)
        datas.append(contact.createData())
    pin.initConstraintDynamics(theirs, data, contacts, datas)
    return lambda: pin.constraintDynamics(theirs, data, q, v, tau, contacts, datas)


def compared(name: str, rows: int, pairs: int, pin: Any) -> list[dict[str, Any]]:
    """Compare all methods on one robot with this many rows."""
    from contactlab.multibody.spatial import quaternion

    model, theirs = models(CASES[name], pin)
    rng = np.random.default_rng(1)
    q = random_configuration(model, rng)
    v, tau, q_pin = rng.standard_normal(model.nv), rng.standard_normal(model.nv), q.copy()
    bodies, cs = held_points(model, rows)
    T, turning = np.eye(model.nv), np.zeros(model.nv)
    if model.nq > model.nv:
        q_pin[3:7] = q[[4, 5, 6, 3]]
        T[:3, :3] = quaternion.to_matrix(q[3:7])
        turning[:3] = np.cross(T[:3, :3] @ v[3:6], v[:3])
    v_pin, tau_pin = T.T @ v, T.T @ tau
    repeats = max(40, 4000 // model.nv)
    beside: list[Callable[[], Any]] = []
    residual = np.nan
    if pin is not None:
        beside = [peer(pin, theirs, bodies, q_pin, v_pin, tau_pin)]
        if rows == 4:
            beside.append(peer(pin, theirs, bodies[:1], q_pin, v_pin, tau_pin))
        a = T @ beside[0]() + turning
        if rows == 12:
            gamma = constraint_gamma(model, q, v, cs)
            residual = float(np.abs(constraint_jacobian(model, q, cs) @ a - gamma).max() / np.abs(gamma).max())
    found = []
    for method in METHODS:
        row: dict[str, Any] = {"n": name, "rows": rows, "method": method}
        try:
            answer = forward_dynamics_constraints(model, q, v, tau, cs, method=method)
        except MultibodyError as error:
            found.append({**row, "failure": type(error).__name__})
            continue

        def call(method: Any = method) -> object:
            return forward_dynamics_constraints(model, q, v, tau, cs, method=method)

        times = np.array([[timed(each, repeats) for each in (call, *beside)] for _ in range(pairs)])
        row["us"] = np.median(times[:, 0])
        if beside:
            row["pin_us"] = np.median(times[:, 1])
            row["ratio"] = np.median(times[:, 0] / times[:, 1])
            row["pin_residual"] = residual
        if len(beside) > 1:
            row["pin_one_point_us"] = np.median(times[:, 2])
            row["ratio_to_one_point"] = np.median(times[:, 0] / times[:, 2])
        row["rank"], row["residual"] = answer.rank, answer.residual
        found.append(row)
        print(f"{name:9} {rows:4} {method:18}", *(f"{k} {x:.3g}" for k, x in list(row.items())[3:]), flush=True)
    return found


def add_rbdl(found: list[dict[str, Any]]) -> None:
    """Return RBDL's time at 4 rows, from pinocchio's with four points."""
    four = {row["n"]: row["pin_us"] for row in found if row["rows"] == 12 and "pin_us" in row}
    for row in found:
        if row["rows"] == 4 and row["n"] in four:
            row["rbdl_us"] = four[row["n"]] * RBDL[row["n"]][row["method"]]


def first_calls() -> list[str]:
    """Return the seconds of the first calls of a process: with an empty cache, then with the cache of that run."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for state in ("cold", "cached"):
            output = subprocess.run(
                [sys.executable, "-c", FIRST_CALLS],
                env={**os.environ, "NUMBA_CACHE_DIR": folder},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            names = ("aba", "kokkevis", "direct", "range_space_sparse", "null_space")
            pairs = zip(names, output.split(), strict=True)
            lines.append(f"first calls, {state}, seconds: " + ", ".join(f"{k} {float(x):.2f}" for k, x in pairs))
            print(lines[-1], flush=True)
    return lines


def processor() -> str:
    """Return the processor's model, if the system reports it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    found = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return found[0] if found else platform.machine()


def main() -> None:
    """Print and keep the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--pairs", type=int, default=41)
    arguments = parser.parse_args()
    try:
        import pinocchio as pin
    except ImportError:
        pin = None
    machine = f"{processor()}, Python {platform.python_version()}, numpy {np.__version__}"
    if pin is not None:
        machine += f", pin {pin.__version__}"
    print(machine)
    found = [row for name in CASES for rows in (4, 12) for row in compared(name, rows, arguments.pairs, pin)]
    add_rbdl(found)
    compiling = first_calls()
    if arguments.out:
        fields = [
            "n", "rows", "method", "us", "pin_us", "ratio", "pin_one_point_us", "ratio_to_one_point", "rbdl_us",
            "rank", "residual", "pin_residual", "failure",
        ]  # fmt: skip
        notes = (
            f"{machine}; {arguments.pairs} pairs, medians, microseconds; ratio < 1: ours is faster;",
            "4 rows stand beside two points (6 rows) and one point (3 rows) of pinocchio, 12 beside four;",
            "rbdl_us (4 rows): pinocchio's time here times RBDL's ratio to it where both were measured",
            *compiling,
        )
        write_rows(arguments.out, notes, found, ".3g", fields)


if __name__ == "__main__":
    main()
