"""Checks of derivatives of a step against differences: column by column, over whole runs, and of `unique`.

Any function that linearizes a step can be compared: `Linearize`. Failures are kept in the rows, not raised.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from derivative_scenes import Motion, perturbed
from numpy.typing import NDArray
from step_differences import Steps, moved

from contactlab.simulation import OPEN, Simulation, StepperState

Array = NDArray[np.float64]
#: Function of a step's map, a state, tau and targets; its result has A, B, targets, unique, kinks and next.
Linearize = Callable[[Steps, StepperState, Array | None, Array | None], Any]

# If the two sides of a column differ by more than this fraction of it, the difference straddles a kink.
STRADDLES = 1e-4
# Steps in random directions: the first one is the step in question, a smaller one does not reach nearby kinks, a larger
# one has less rounding. Either agrees to 1e-4 and to rounding of a step's velocities, 2e-9 for cones in a grasp.
SIDES = (1e-7, 1e-8, 1e-9, 1e-6)
ROUNDING = {"pyramid": 1e-11, "cone": 2e-9}
DIRECTIONS = 6


@dataclass
class Agreement:
    """Derivatives of a scene's steps compared with centred differences."""

    scene: str
    friction: str
    erp: float
    tolerance: float
    states: int = 0
    unique: int = 0
    away: int = 0  # states whose nearest kink is far
    columns: int = 0  # columns of these states
    within: int = 0  # columns within the tolerance
    straddling: int = 0  # columns whose difference still has two sides
    one_side: int = 0  # columns of these whose derivative equals one side
    errors: list[float] = field(default_factory=list)  # largest errors of columns that do not straddle
    errors_b: list[float] = field(default_factory=list)  # errors of B and of the targets, one per state
    other_next: int = 0  # states whose `next` has other bits than a step
    by_kind: dict[str, list[int]] = field(default_factory=dict)  # by nearby kink: columns, and columns within
    failures: list[str] = field(default_factory=list)

    def row(self) -> dict[str, Any]:
        """Return the figures of a table row."""
        return {
            "scene": self.scene,
            "friction": self.friction,
            "erp": self.erp,
            "states": self.states,
            "unique": self.unique,
            "away": self.away,
            "columns": self.columns,
            "max": max(self.errors, default=np.nan),
            "median": float(np.median(self.errors)) if self.errors else np.nan,
            "tolerance": self.tolerance,
            "within": self.within / self.columns if self.columns else np.nan,
            "straddling": self.straddling,
            "one side": self.one_side,
            "max of B": max(self.errors_b, default=np.nan),
            "other next": self.other_next,
            "by kind": {why: {"columns": n, "share": good / n} for why, (n, good) in self.by_kind.items()},
            "failures": self.failures,
        }


def scaled(found: Array, expected: Array) -> Array:
    """Return errors, entry by entry, relative if the entry is above 1."""
    return np.asarray(np.abs(found - expected) / np.maximum(1.0, np.abs(expected)))


def nearest(linear: Any) -> float:
    """Return the distance of the nearest kink [m/s]."""
    return min((float(kink.distance) for kink in linear.kinks), default=np.inf)


def agreement(
    motion: Motion, friction: str, erp: float, count: int, linearize: Linearize, *, step: float, far: float
) -> dict[str, Any]:
    """Compare with centred differences of the given step at this many states, if kinks are farther than ``far``."""
    stepper = motion.stepper(friction, erp)
    steps = Steps(motion.world, stepper)
    found = Agreement(motion.name, friction, erp, 1e-5 if friction == "cone" else 1e-6)
    run = Simulation(motion.world, stepper)
    for state in motion.states(stepper, count):
        targets = motion.targets_at(state.time)
        found.states += 1
        try:
            linear = linearize(steps, state, None, targets)
        except Exception as error:  # noqa: BLE001  # whatever it is, it is a failure to be told
            found.failures.append(f"at {state.time:.4g} s: {type(error).__name__}: {error}".splitlines()[0])
            continue
        ahead, behind = steps.sides(state, np.eye(2 * motion.world.nv), None, targets, step=step)
        _compare(found, linear, ahead.T, behind.T, far)
        by_tau, by_targets = steps.by_controls(state, None, targets)
        if linear.unique:
            pairs = ((linear.B, by_tau), (linear.targets, by_targets))
            found.errors_b.append(max(float(scaled(a, b).max(initial=0.0)) for a, b in pairs))
        run.reset(state)
        run.step(targets=targets)
        same = np.array_equal(linear.next.q, run.q) and np.array_equal(linear.next.v, run.v)
        found.other_next += not same
    return found.row()


def _compare(found: Agreement, linear: Any, ahead: Array, behind: Array, far: float) -> None:
    """Add the columns of one state, with the given one-sided differences."""
    middle = 0.5 * (ahead + behind)
    apart = np.abs(ahead - behind).max(axis=0) > STRADDLES * np.maximum(1.0, np.abs(middle).max(axis=0))
    errors = scaled(linear.A, middle).max(axis=0)
    errors[~np.isfinite(errors)] = np.inf
    good = errors <= found.tolerance
    found.unique += bool(linear.unique)
    for why in {kink.reason for kink in linear.kinks if kink.distance <= far}:
        held = found.by_kind.setdefault(why, [0, 0])
        held[0] += good.size
        held[1] += int(good.sum())
    if nearest(linear) <= far:
        return
    found.away += 1
    found.columns += good.size
    found.within += int(good.sum())
    found.straddling += int(apart.sum())
    sided = np.minimum(scaled(linear.A, ahead).max(axis=0), scaled(linear.A, behind).max(axis=0))
    found.one_side += int((sided[apart] <= STRADDLES).sum())
    found.errors += errors[~apart].tolist()


def products(motion: Motion, friction: str, count: int, linearize: Linearize) -> dict[str, Any]:
    """Compare the product of this many steps' derivatives with differences of the whole run, at erp = 0.

    The start is in the air and slightly rotated. A body that rests on a gap of 0, or lands symmetrically, has no
    derivative if the rank of its rows drops in that step.
    """
    motion = replace(motion, steps=count)
    stepper = motion.stepper(friction, 0.0)
    steps, nv = Steps(motion.world, stepper), motion.world.nv
    product, changes, before, random = np.eye(2 * nv), 0, None, np.random.default_rng(1)
    start = motion.world.initial_state()
    if motion.targets is not None:
        away = 0.02 * random.normal(size=2 * nv) * (np.arange(2 * nv) < nv)
        away[2] = 0.03
        start = moved(motion.world, start, away)
    aims, refused = [], 0
    for state, run in motion.run(stepper, start):
        targets = motion.targets_at(state.time)
        linear = linearize(steps, state, None, targets)
        product = np.asarray(linear.A) @ product
        refused += not linear.unique
        # Closed contacts with their modes, and joint rows with forces.
        contacts, rows = run.contacts, run.joint_rows
        touch = contacts.mode != OPEN
        now = contacts.id[touch].tolist(), contacts.mode[touch].tolist(), rows.row.tolist(), (rows.z > 0.0).tolist()
        changes += before is not None and now != before
        before = now
        aims.append(targets)
    table = None if motion.targets is None else np.array(aims)
    errors = {}
    for step in (1e-6, 1e-7, 1e-8):
        ahead, behind = steps.sides(start, np.eye(2 * nv), None, table, step=step, n=count)
        errors[f"{step:g}"] = float(scaled(product, 0.5 * (ahead + behind).T).max())
    return {
        "scene": motion.name,
        "friction": friction,
        "steps": count,
        "changes of mode": changes,
        "not unique": refused,
        "largest entry": float(np.abs(product).max()),
        **{f"error at {step}": error for step, error in errors.items()},
        "error": min(errors.values()),
    }


def uniqueness(
    motion: Motion, friction: str, erp: float, count: int, linearize: Linearize, seed: int
) -> dict[str, Any]:
    """Check whether `unique` is ever wrong at random states, and how often it refuses smooth ones."""
    random, stepper = np.random.default_rng(seed), motion.stepper(friction, erp)
    steps, nv = Steps(motion.world, stepper), motion.world.nv
    told = {"scene": motion.name, "friction": friction, "erp": erp, "states": 0, "unique": 0, "near": 0, "refused": 0}
    wrong: list[dict[str, Any]] = []
    smooth = 0
    failures = []
    for i, begin in enumerate(motion.states(stepper, count)):
        # Every other state is unchanged, because states of a run can be where random ones are not.
        spread_q, spread_v = 10.0 ** random.uniform(-9, -3, 2)
        state = begin if i % 2 else perturbed(motion.world, begin, random, spread_q, spread_v)
        targets = motion.targets_at(state.time)
        ways = random.normal(size=(DIRECTIONS, 2 * nv))
        ways /= np.linalg.norm(ways, axis=1)[:, None]
        told["states"] += 1
        try:
            linear = linearize(steps, state, None, targets)
        except Exception as error:  # noqa: BLE001  # whatever it is, it is a failure to be told
            failures.append(f"at {state.time:.4g} s: {type(error).__name__}: {error}".splitlines()[0])
            continue
        if not linear.unique:
            told["refused"] += 1
            ahead, behind = steps.sides(state, ways, None, targets, step=SIDES[0])
            smooth += bool(scaled(ahead, behind).max() <= STRADDLES + ROUNDING[friction] / SIDES[0])
            continue
        told["unique"] += 1
        expected, off = ways @ np.asarray(linear.A).T, []
        for step in SIDES:
            sides = steps.sides(state, ways, None, targets, step=step)
            off.append(max(float(scaled(side, expected).max()) for side in sides))
            if off[-1] <= STRADDLES + ROUNDING[friction] / step:
                told["near"] += len(off) > 1
                break
        else:
            wrong.append({"time": state.time, "perturbed": not i % 2, "nearest": nearest(linear), "off": off})
    return {**told, "wrong": len(wrong), "smooth of refused": smooth, "wrong states": wrong, "failures": failures}
