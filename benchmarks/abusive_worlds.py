"""Random worlds with extreme numbers: each must end certified, or with a typed error, soon, and without a NaN.

Run: ``python benchmarks/abusive_worlds.py [--seeds 100] [--first 0] [--out benchmarks/results/abusive_worlds_DATE]``.
Writes OUT.csv, one row for each world, and OUT.md, shares by kind of abuse, anew after every world.

A seed gives a few kinds of abuse together: masses of 1e-6 to 1e8 kg, bodies inside one another or at one point,
rotating at 1e4 rad/s, moving at 1e3 m/s, 1000 km away, hulls and meshes without volume, plates of 10 um, sizes of 1e-4
to 1e3 m, springs, rebound, friction of 0 to 10, moments, a chain with stops, drives, friction and a loop, steps of 1e-7
to 0.5 s, and settings of the stepper. Every world is compiled first and then has ``--limit`` seconds of the processor
in a child.

A world that ends normally is verified, and checked again using only the mass matrices and poses of `contactlab`: linear
momentum of free bodies, the friction cone, no pull, gaps complementary to impulses. A ``lie`` is a step that `verify`
accepts and this check refuses; ``doubt`` is a run that ended normally and does not verify.
"""

from __future__ import annotations

import argparse
import collections
import csv
import os
import sys
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from limited import allow, tell, told
from numpy.random import Generator
from numpy.typing import NDArray

import lcp
from contactlab.collision import Box, Capsule, ConvexPoints, Cylinder, HalfSpace, Material, Mesh, Sphere
from contactlab.constraint_solver import JointLimit, PositionDrive, VelocityDrive
from contactlab.multibody import ModelBuilder, joints
from contactlab.multibody.constraints import LoopConstraint
from contactlab.multibody.spatial import RigidInertia, Transform
from contactlab.simulation import (
    Oscillation,
    Recording,
    Simulation,
    SimulationError,
    Sleep,
    TimeStepping,
    World,
    WorldBuilder,
    simulate,
    verify,
)

Array = NDArray[np.float64]
WORLDS = (
    "masses", "overlap", "coincident", "spin", "speed", "far", "hulls", "meshes", "thin", "sizes", "springs",
    "rebound", "friction", "moments", "joints", "kinematic", "big h", "tiny h",
)  # fmt: skip
SETTINGS = ("sleep", "projection", "adaptive", "cone", "erp", "cfm", "reduced", "edges")
OUTCOMES = ("certified", "typed error", "over time", "not finite", "untyped error", "lie", "doubt")
HEAD = ("seed", "kinds", "outcome", "steps", "of", "seconds", "verify", "contacts", "note")
# A violation over its scale that is not rounding, for a check without islands and their scales.
SEEN = 1e-6
# Rounding of a momentum.
ROUNDED = 1e-16


class Case(NamedTuple):
    """World, its stepper, and its kinds of abuse."""

    kinds: tuple[str, ...]
    world: World
    stepper: TimeStepping
    steps: int


def case_of(seed: int) -> Case:
    """Return the world of a seed; errors of its parts are raised unchanged."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 5))
    kinds = {str(kind) for kind in rng.choice(WORLDS, count, replace=False)}
    kinds |= {kind for kind in SETTINGS if rng.random() < 0.15}
    if {"big h", "tiny h"} <= kinds:
        kinds.remove("tiny h")
    builder = WorldBuilder()
    away = 1e6 * rng.choice([-1.0, 1.0], 3) * (1.0, 1.0, 0.0) if "far" in kinds else np.zeros(3)
    if rng.random() < 0.85:
        builder.add_half_space("floor", HalfSpace(), _material(rng, kinds))
    bodies, spread = int(rng.integers(2, 9)), 0.05 if "overlap" in kinds else 0.3
    place = np.zeros(3)
    for number in range(bodies):
        size = 10.0 ** rng.uniform(-4.0, 3.0) if "sizes" in kinds else rng.uniform(0.05, 0.2)
        mass = 10.0 ** rng.uniform(-6.0, 8.0) if "masses" in kinds else rng.uniform(0.1, 10.0)
        if number == 0 or "coincident" not in kinds or rng.random() < 0.4:
            place = away + rng.uniform(-spread, spread, 3) + (0.0, 0.0, spread)
        turn = rng.normal(size=4) if rng.random() < 0.7 else np.array([1.0, 0.0, 0.0, 0.0])
        v = rng.normal(size=6)
        v[:3] *= 1e3 if "speed" in kinds else 1.0
        v[3:] *= 1e4 if "spin" in kinds else 1.0
        shape, inertia = _body(rng, kinds, size, mass, first=number == 0)
        q = (*place, *(turn / np.linalg.norm(turn)))
        builder.add_free_body(f"body {number}", inertia, shape, _material(rng, kinds), q, v)
    if "joints" in kinds:
        _chain(builder, rng, kinds, away)
    if "kinematic" in kinds:
        motion = Oscillation(Transform(p=away), 0.1 * rng.normal(size=3), frequency=10.0 ** rng.uniform(-1.0, 3.0))
        builder.add_kinematic_body("plate", Box((0.3, 0.3, 0.02)), _material(rng, kinds), motion)
    return Case(tuple(sorted(kinds)), builder.build(), _stepper(rng, kinds), int(rng.integers(30, 61)))


def _material(rng: Generator, kinds: set[str]) -> Material:
    mu = float(rng.choice([0.0, 1e-6, 1.0, 10.0])) if "friction" in kinds else float(rng.uniform(0.1, 1.0))
    moments = {"torsional": 10.0 ** rng.uniform(-4, 0), "rolling": 10.0 ** rng.uniform(-4, 0)}
    more: dict[str, float] = moments if "moments" in kinds and rng.random() < 0.7 else {}
    if "springs" in kinds and rng.random() < 0.7:
        return Material(mu, stiffness=10.0 ** rng.uniform(0, 12), dissipation=10.0 ** rng.uniform(-3, 6), **more)
    rebound = float(rng.choice([0.0, 0.5, 1.0])) if "rebound" in kinds else 0.0
    return Material(mu, rebound, **more)


def _body(rng: Generator, kinds: set[str], size: float, mass: float, *, first: bool) -> tuple[Any, RigidInertia]:
    """Return a shape of about that size and its inertia, both about its origin; only the first body is a mesh."""
    if "hulls" in kinds and rng.random() < 0.6:
        points = size * rng.normal(size=(int(rng.integers(3, 30)), 3))
        how = int(rng.integers(4))
        if how == 0:  # nearly in a plane
            points[:, 2] *= 10.0 ** rng.uniform(-12, -4)
        elif how == 1:  # nearly in a line
            points[:, 1:] *= 10.0 ** rng.uniform(-12, -4)
        elif how == 2:  # nearly twice each
            points = np.concatenate((points, points * (1.0 + 10.0 ** rng.uniform(-15, -6))))
        else:  # in a plane
            points[:, 2] = 0.0
        return ConvexPoints(points), RigidInertia.solid_box(mass, (size, size, size))
    if "meshes" in kinds and first:
        points = size * rng.normal(size=(int(rng.integers(4, 12)), 3))
        if rng.random() < 0.5:
            points[:, 2] *= 10.0 ** rng.uniform(-9, 0)
        corners = [rng.choice(len(points), 3, replace=False) for _ in range(int(rng.integers(1, 20)))]
        return Mesh(points, np.array(corners)), RigidInertia.solid_box(mass, (size, size, size))
    if "thin" in kinds and rng.random() < 0.7:
        half = (size, size * rng.uniform(0.1, 1.0), 1e-5)
        return Box(half), RigidInertia.solid_box(mass, half)
    kind = int(rng.integers(4))
    if kind == 0:
        return Sphere(size), RigidInertia.solid_sphere(mass, size)
    if kind == 1:
        half = tuple(size * rng.uniform(0.3, 1.0, 3))
        return Box(half), RigidInertia.solid_box(mass, half)
    rod = Capsule(0.5 * size, size) if kind == 2 else Cylinder(0.5 * size, size)
    return rod, RigidInertia.solid_box(mass, (0.5 * size, 0.5 * size, size))


def _chain(builder: WorldBuilder, rng: Generator, kinds: set[str], away: Array) -> None:
    """Build a chain of links about the bodies, with all kinds of joint rows; sometimes its end is fixed."""
    length, links = 0.2, int(rng.integers(2, 6))
    model = ModelBuilder()
    for i in range(links):
        mass = 10.0 ** rng.uniform(-4.0, 4.0) if "masses" in kinds else 0.5
        model.add_body(
            f"link {i}",
            parent=f"link {i - 1}" if i else "world",
            joint=(joints.Prismatic if rng.random() < 0.2 else joints.Revolute)(np.eye(3)[int(rng.integers(3))]),
            placement=Transform(p=(0, 0, -length) if i else away + (0.0, 0.0, 0.6)),
            inertia=RigidInertia(mass, (0, 0, -0.5 * length), inertia=mass * 1e-3 * np.eye(3)),
        )
    builder.add_model(model.build(), 0.3 * rng.normal(size=links), rng.normal(size=links))
    for i in range(links):
        name = f"link {i}"
        if rng.random() < 0.6:
            builder.add_shape(name, Capsule(0.03, 0.07), _material(rng, kinds), placement=Transform(p=(0, 0, -0.1)))
        if rng.random() < 0.4:
            stop = {"restitution": 1.0} if rng.random() < 0.3 else {"stiffness": 10.0 ** rng.uniform(0, 9)}
            builder.add_joint_limit(JointLimit(name, -0.2, 0.2, **(stop if rng.random() < 0.5 else {})))
        if rng.random() < 0.3:
            builder.add_joint_friction(name, 10.0 ** rng.uniform(-3, 4))
        force = 10.0 ** rng.uniform(-1, 5) if rng.random() < 0.7 else np.inf
        if rng.random() < 0.3:
            gains = 10.0 ** rng.uniform(0, 8), 10.0 ** rng.uniform(-2, 4)
            builder.add_drive(PositionDrive(name, float(rng.normal()), *gains, max_force=force))
        elif rng.random() < 0.2:
            builder.add_drive(VelocityDrive(name, float(rng.normal()), max_force=force))
    if rng.random() < 0.4:
        # At a reachable or unreachable point; twice, so that rows are redundant.
        end = Transform(p=away + (0.0, 0.0, 0.6) + rng.uniform(-0.3, 0.3, 3))
        loops = [LoopConstraint("world", f"link {links - 1}", X_p=end, axis=np.eye(6)[i]) for i in (3, 5, 5)]
        builder.add_loop(loops[: int(rng.integers(1, 4))], erp=float(rng.choice([0.0, 0.2, 1.0])))


def _stepper(rng: Generator, kinds: set[str]) -> TimeStepping:
    h = 1e-3
    if "big h" in kinds:
        h = 10.0 ** rng.uniform(-1.5, -0.3)
    elif "tiny h" in kinds:
        h = 10.0 ** rng.uniform(-7, -5)
    more: dict[str, Any] = {}
    if "sleep" in kinds:
        more["sleep"] = Sleep(1e-2, 5 * h)
    if "cone" in kinds and "moments" not in kinds and "joints" not in kinds:
        more["friction"] = "cone"
    if "erp" in kinds:
        more["erp"] = float(rng.choice([0.2, 1.0]))
    if "cfm" in kinds:
        more["cfm"] = 10.0 ** rng.uniform(-9, -1)
    if "edges" in kinds:
        more["edges"] = int(rng.choice([4, 16]))
    return TimeStepping(
        h,
        projection="projection" in kinds,
        adaptive="adaptive" in kinds,
        reduce_contacts="reduced" in kinds,
        **more,
    )


def doubts(recording: Recording) -> str:
    """Return the violations of Newton's law and simple contact conditions in the record, or an empty string."""
    world, contacts, h = recording.world, recording.contacts, np.diff(recording.time)
    found: dict[str, float] = collections.defaultdict(float)

    def see(what: str, off: Any, scale: Any) -> None:
        off, scale = np.broadcast_arrays(np.asarray(off, dtype=float), np.asarray(scale, dtype=float))
        if off.size and (worst := float(np.max(off / np.maximum(scale, 1e-300)))) > SEEN:
            found[what] = max(found[what], worst)

    fN, fT = contacts.impulse_normal, np.linalg.norm(contacts.impulse_tangential, axis=1)
    step = contacts.step
    # Forces that are rounding relative to the weight or the total momentum do not count.
    fastest = np.abs(recording.v).max(axis=1, initial=0.0)
    largest = world.model.mass * (1e-16 * 9.81 * h + ROUNDED / SEEN * np.maximum(fastest[1:], fastest[:-1]))
    np.maximum.at(largest, step, fN)
    # Edges of the pyramid are inscribed in the cone.
    see("pull", -fN, largest[step])
    see("cone", fT - contacts.mu * fN, (1.0 + contacts.mu) * largest[step])
    gravity, at = world.model.gravity, 0
    v = recording.v
    velocity, spin = np.zeros((2, recording.n_steps + 1, len(world.model.names), 3))
    free = np.zeros(len(world.model.names), dtype=bool)
    for number, body in enumerate(world.model.bodies):
        if isinstance(body.joint, joints.FloatingBase):
            free[number] = True
            m, (own, pushed) = body.inertia.mass, (v[:, at : at + 3], np.zeros((recording.n_steps, 3)))
            np.add.at(pushed, step, contacts.impulse_on(number))
            size = np.zeros(recording.n_steps)
            np.add.at(size, step, np.linalg.norm(contacts.impulse_on(number), axis=1))
            moved = m * (own[1:] - own[:-1] - h[:, None] * gravity) - pushed
            awake = np.any(v[1:, at : at + 6] != 0.0, axis=1)  # a sleeping body loses its remaining velocity
            speeds = np.linalg.norm(own[1:], axis=1) + np.linalg.norm(own[:-1], axis=1)
            see("momentum", awake * np.linalg.norm(moved, axis=1), m * (speeds + 9.81 * h) + size)
            velocity[:, number], spin[:, number] = own, v[:, at + 3 : at + 6]
        at += body.joint.nv
    stepper = recording.stepper
    pairs = (contacts.body_a < 0) | free[contacts.body_a]
    rigid = not any(np.isfinite(one.material.stiffness) for one in world.surfaces)
    rigid = rigid and not any(np.isfinite(material.stiffness) for material in world.half_space_materials)
    if not rigid or "plate" in world.model.names or stepper.cfm or stepper.erp or stepper.projection or stepper.sleep:
        return _said(found)
    # Gaps: only of bodies that move freely, without rebound.
    meant = pairs & free[contacts.body_b] & (contacts.restitution == 0.0)
    if meant.any():
        when, n = step[meant], contacts.normal[meant]
        turn = recording.q[:-1, : 7 * int(free.sum())].reshape(recording.n_steps, -1, 7)
        before, after, size = np.zeros((3, when.size))
        for sign, body in ((1.0, contacts.body_b[meant]), (-1.0, contacts.body_a[meant])):
            moves, own = body >= 0, turn[when, np.maximum(body, 0)]
            arm = contacts.point[meant] - own[:, :3]
            for rate, now in ((before, 0), (after, 1)):
                at_point = velocity[when + now, body] + np.cross(_turned(own[:, 3:], spin[when + now, body]), arm)
                rate += sign * np.where(moves, np.einsum("ij,ij->i", at_point, n), 0.0)
                size += np.where(moves, np.linalg.norm(velocity[when + now, body], axis=1), 0.0)
                reach = np.linalg.norm(arm, axis=1) + 1e-9 * np.abs(own[:, :3]).max(axis=1)
                size += np.where(moves, np.linalg.norm(spin[when + now, body], axis=1) * reach, 0.0)
        room = np.maximum(contacts.gap[meant], 0.0) / h[when]
        size += room + 9.81 * h[when]
        see("gap", -(after + room), size)
        # A body that approaches and would arrive within the step can have an impact, at any distance.
        off = np.where(
            before < -stepper.restitution_threshold, np.minimum(np.abs(after), np.abs(after + room)), after + room
        )
        see("complementarity", np.minimum(off / size, fN[meant] / np.maximum(largest[when], 1e-300)), 1.0)
    return _said(found)


def _turned(turn: Array, w: Array) -> Array:
    """Return vectors (n, 3) in world axes from body axes, with quaternions (n, 4)."""
    t = 2.0 * np.cross(turn[:, 1:], w)
    return w + turn[:, :1] * t + np.cross(turn[:, 1:], t)


def _said(found: dict[str, float]) -> str:
    return ", ".join(f"{what} {worst:.1e}" for what, worst in found.items())


class Trial(NamedTuple):
    """End of the run of a world."""

    outcome: str
    steps: int
    seconds: float
    verify: float
    contacts: int
    note: str


def tried(case: Case) -> Trial:
    """Run a world, verify it and check it."""
    start, failure = time.process_time(), ""
    try:
        recording = simulate(case.world, case.stepper, steps=case.steps)
    except SimulationError as error:
        recording, failure = error.recording, f"SimulationError {error}".splitlines()[0]
    seconds = time.process_time() - start
    contacts = int(np.bincount(recording.rows["contact_step"], minlength=1).max())
    start = time.process_time()
    report = verify(recording)
    doubt = doubts(recording)
    note = failure
    if not all(np.isfinite(values).all() for values in recording.rows.values() if values.dtype.kind == "f"):
        outcome = "not finite"
    elif not report.holds:
        # A diverged run ends with an error, and the last of its steps are numbers without meaning.
        outcome = "typed error" if failure else "doubt"
        note = f"{'; '.join(str(one) for one in report.failures[:3])} {failure}"
    elif doubt:
        outcome, note = "lie", f"{doubt} {failure}"
    else:
        outcome = "typed error" if failure else "certified"
    return Trial(outcome, recording.n_steps, seconds, time.process_time() - start, contacts, note)


def trial(seed: int, limit: float) -> dict[str, Any]:
    """Build, compile and run the world of a seed."""
    row: dict[str, Any] = {"seed": seed, "kinds": "", "steps": 0, "of": 0, "seconds": 0.0, "verify": 0.0, "contacts": 0}
    began = time.process_time()
    try:
        case = case_of(seed)
        row |= {"kinds": " ".join(kind.replace(" ", "_") for kind in case.kinds), "of": case.steps}
        Simulation(case.world, case.stepper).compile()
        tell(**row, outcome="over time", note="")
        allow(limit)
        began = time.process_time()
        return row | tried(case)._asdict()
    except Exception as error:  # noqa: BLE001  that is what is looked for
        typed = type(error).__module__.split(".")[0] in ("contactlab", "lcp", "problem_data")
        kind = "typed error" if typed else "untyped error"
        text = f"{type(error).__name__}: {error}".splitlines()[0]
        return row | {"outcome": kind, "note": text, "seconds": time.process_time() - began}


def _child(seeds: Iterable[int], limit: float) -> None:
    warnings.simplefilter("ignore")
    # Compile the kernels of the last strategies before the time is measured: an unsolved problem uses all of them.
    n = 20
    M = np.random.default_rng(3).normal(size=(n, n))
    M[0], M[1] = -np.abs(M[0]), np.abs(M[1])
    M[0, 1:] *= 0.1
    lcp.solve(
        lcp.LCP(M, np.append(5.0, -np.ones(n - 1))), lcp.Fallback(lcp.Lemke(), lcp.default_solver(), time_limit=10.0)
    )
    for seed in seeds:
        tell(**trial(seed, limit), done=True)


def rows_of(seeds: range, limit: float) -> Iterable[dict[str, Any]]:
    """Yield the end of every world's run, in children that are replaced when they die."""
    left = list(seeds)
    while left:
        begun: dict[str, Any] = {}
        call = ["--worker", ",".join(map(str, left)), "--limit", str(limit)]
        for row in told(Path(__file__), call, 1e6):
            if row.pop("done", False):
                left.remove(row["seed"])
                begun = {}
                yield row
            elif "died" not in row:
                begun = row
            else:
                seed = begun.get("seed", left[0])
                timely = "processor" in row["died"]
                outcome = "over time" if timely else "untyped error"
                left.remove(seed)
                yield {
                    **begun,
                    "seed": seed,
                    "outcome": outcome,
                    "seconds": limit if timely else 0.0,
                    "note": row["died"],
                }


def summary(rows: list[dict[str, Any]]) -> str:
    """Return the table of fractions by kind of abuse."""
    counts: dict[str, collections.Counter[str]] = {"all": collections.Counter()}
    for row in rows:
        for kind in ("all", *str(row.get("kinds", "")).split()):
            counts.setdefault(kind, collections.Counter())[row["outcome"]] += 1
    lines = [f"| {' | '.join(('abuse', 'worlds', *OUTCOMES))} |", f"| --- |{' ---: |' * (1 + len(OUTCOMES))}"]
    for kind in ("all", *sorted(set(counts) - {"all"})):
        numbers = [counts[kind].total(), *(counts[kind][outcome] for outcome in OUTCOMES)]
        lines.append(f"| {kind.replace('_', ' ')} | {' | '.join(map(str, numbers))} |")
    seconds = sorted(float(row.get("seconds", 0.0)) for row in rows)
    share = "; ".join(
        f"{part:.0%} within {seconds[int(part * (len(seconds) - 1))]:.2g} s" for part in (0.5, 0.9, 0.99, 1)
    )
    return "\n".join((*lines, "", f"Seconds of the processor of a run, without compiling: {share}.", ""))


def main() -> None:
    """Run the worlds of a range of seeds and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of the processor for a world")
    parser.add_argument(
        "--out", type=Path, default=Path(f"benchmarks/results/abusive_worlds_{time.strftime('%Y-%m-%d')}")
    )
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        _child(map(int, arguments.worker.split(",")), arguments.limit)
        return
    # In children: waiting threads of BLAS would use seconds of the processor, which the limit counts.
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    rows: list[dict[str, Any]] = []
    with arguments.out.with_suffix(".csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, HEAD, lineterminator="\n")
        writer.writeheader()
        for row in rows_of(range(arguments.first, arguments.first + arguments.seeds), arguments.limit):
            rows.append(row)
            numbers = {name: f"{row.get(name, 0.0):.3g}" for name in ("seconds", "verify")}
            writer.writerow({name: row.get(name, "") for name in HEAD} | numbers)
            file.flush()
            arguments.out.with_suffix(".md").write_text(summary(rows), encoding="utf-8")
    print(summary(rows))
    sys.exit(0 if all(row["outcome"] in OUTCOMES[:2] for row in rows) else 1)


if __name__ == "__main__":
    main()
