"""Check the Jacobian, bias, errors and wrenches of a constraint against each other, by differences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contactlab.multibody.configuration import integrate, random_configuration
from contactlab.multibody.constraints.assembly import assemble_q, assemble_v
from contactlab.multibody.constraints.constraint_set import AnyConstraint, ConstraintSet
from contactlab.multibody.constraints.evaluation import RowValues, check_set, evaluated, time_of
from contactlab.multibody.constraints.kernels import GAMMA, JACOBIAN, POSITION_ERROR, VELOCITY_ERROR
from contactlab.multibody.constraints.rows import ConstraintError
from contactlab.multibody.constraints.wrenches import group_wrenches
from contactlab.multibody.kinematics import kinematics
from contactlab.multibody.model import Model
from contactlab.multibody.points import point_in_body, point_jacobian_6d
from contactlab.multibody.spatial.arrays import FloatArray, check_whole, finite_array, finite_number

# Step of the central differences: their error is its square, or rounding divided by it.
_STEP = 1e-5


@dataclass(frozen=True, eq=False)
class State:
    """State of a comparison: the set, q (nq,), v and its rate a (nv,), time."""

    cs: ConstraintSet
    q: FloatArray
    v: FloatArray
    a: FloatArray
    t: float

    def after(self, h: float) -> State:
        """Return the state after h [s] of a motion with these v and a, exact to second order."""
        q = integrate(self.cs.model, self.q, self.v + 0.5 * h * self.a, h)
        return replace(self, q=q, v=self.v + h * self.a, t=self.t + h)

    def rows(self, want: int) -> RowValues:
        """Return the wanted values of the rows."""
        return evaluated(self.cs.model, self.q, self.v, self.cs, want, self.t)


#: Actual and expected values of a quantity, row by row: (nc,) or (nc, nv) each.
Comparison: TypeAlias = Callable[[State], tuple[FloatArray, FloatArray]]


def _slope(value: Callable[[float], FloatArray]) -> FloatArray:
    """Return the derivative of a function at zero, by central differences."""
    return (value(_STEP) - value(-_STEP)) / (2.0 * _STEP)


def position_rate(state: State) -> tuple[FloatArray, FloatArray]:
    """Return the rate of the position errors (nc,) along the motion, and its expected value, the velocity errors."""
    return _slope(lambda h: state.after(h).rows(POSITION_ERROR).phi), state.rows(VELOCITY_ERROR).phid


def slope(state: State) -> tuple[FloatArray, FloatArray]:
    """Return the derivative of the velocity errors along a in v, and its expected value G a."""
    faster = _slope(lambda h: replace(state, v=state.v + h * state.a).rows(VELOCITY_ERROR).phid)
    return faster, state.rows(JACOBIAN).G @ state.a


def bias(state: State) -> tuple[FloatArray, FloatArray]:
    """Return the time derivative of the velocity errors, and its expected value G a - gamma."""
    rows = state.rows(JACOBIAN | GAMMA)
    expected = rows.G @ state.a - (rows.gamma - state.cs.accelerations)
    return _slope(lambda h: state.after(h).rows(VELOCITY_ERROR).phid), expected


def wrench(state: State) -> tuple[FloatArray, FloatArray]:
    """Return generalised forces of the wrenches of a unit force along each row, and the rows of G; (nc, nv) each."""
    cs, model = state.cs, state.cs.model
    at = kinematics(model, state.q, state.v)
    generalized = np.zeros((cs.n_rows, model.nv))
    for group in cs.groups:
        for row in group.rows:
            unit = np.eye(cs.n_rows)[row]
            for entry in group_wrenches(model, at, cs, unit, group.name, frame="world", t=state.t):
                place = point_in_body(model, at, entry.body, entry.frame.p)
                generalized[row] += point_jacobian_6d(model, at, entry.body, place).T @ entry.wrench
    return generalized, state.rows(JACOBIAN).G


@dataclass(frozen=True)
class ConstraintCheck:
    """One comparison of two quantities.

    Attributes
    ----------
    name
        The two quantities that are compared.
    error
        Largest deviation, in units of 1 + the quantity; NaN if the comparison was skipped.
    tolerance
        Largest error that passes.
    row
        Row with the largest deviation.
    note
        Reason why the comparison was skipped.
    """

    name: str
    error: float
    tolerance: float
    row: str = ""
    note: str = ""

    @property
    def skipped(self) -> bool:
        """Return True if the comparison was skipped because there is nothing to compare."""
        return bool(np.isnan(self.error))

    @property
    def ok(self) -> bool:
        """Return True if the comparison passed, or was skipped."""
        return self.skipped or self.error <= self.tolerance


@dataclass(frozen=True)
class ConstraintReport:
    """Report of `check_constraint`; its text is a table.

    Attributes
    ----------
    checks
        The comparisons.
    """

    checks: tuple[ConstraintCheck, ...]

    @property
    def ok(self) -> bool:
        """Return True if every comparison passed."""
        return all(check.ok for check in self.checks)

    def check(self, name: str) -> ConstraintCheck:
        """Return the comparison whose name begins with ``name``."""
        for check in self.checks:
            if check.name.startswith(name):
                return check
        raise ConstraintError("name", f"no check begins with {name!r}; there are {[c.name for c in self.checks]}")

    def __str__(self) -> str:
        lines = []
        for check in self.checks:
            if check.skipped:
                lines.append(f"{check.name:<44} skipped: {check.note}")
                continue
            where = "" if check.ok or not check.row else f", row {check.row}"
            verdict = "ok" if check.ok else "WRONG"
            lines.append(f"{check.name:<44} {verdict:<5} {check.error:.1e} (at most {check.tolerance:.0e}){where}")
        return "\n".join(lines)


def check_constraint(
    model: Model,
    constraint: AnyConstraint | ConstraintSet | Iterable[AnyConstraint | Any],
    *,
    q: ArrayLike | None = None,
    samples: int = 4,
    seed: int = 0,
    t: float = 0.3,
    tolerance: float = 1e-6,
) -> ConstraintReport:
    """Compare a constraint with finite differences of itself.

    At random states, times and directions of motion it makes four comparisons: the rate of the position error with the
    velocity error; the slope of the velocity error in v with G; its rate along a motion with G a - gamma; and the
    wrenches with G^T lambda.

    Parameters
    ----------
    model
        The model on which the constraint is checked.
    constraint
        One constraint, several that belong together (the rows of a hinge), or a set.
    q
        (nq,) configuration to check, if the constraint is not meaningful at random ones.
    samples
        Number of states.
    seed
        Seed of their random numbers.
    t
        Mean time [s] of the random times.
    tolerance
        Tolerance of the finite differences, relative to 1 + the largest compared number.

    Returns
    -------
    report
        ``report.ok``, one `ConstraintCheck` for each comparison, and a table as its text.

    Notes
    -----
    A contact's position error is zero by definition and is not compared. A loop's position error is compared only at a
    closed loop that moves as the rows allow, because it must agree only there: check all rows of a hinge together.
    """
    cs = _as_set(model, constraint)
    time, limit = time_of(t), finite_number(tolerance, "tolerance", ConstraintError)
    check_whole(samples, "samples", ConstraintError, 1)
    rng = np.random.default_rng(seed)
    given = None if q is None else finite_array(q, "q", (model.nq,), ConstraintError)
    states = []
    for _ in range(samples):
        start = random_configuration(model, rng) if given is None else given
        v, a = rng.uniform(-1.0, 1.0, model.nv), rng.uniform(-1.0, 1.0, model.nv)
        states.append(State(cs, start, v, a, time + rng.uniform(-0.2, 0.2)))
    met = [state for state in (_assembled(state) for state in states) if state is not None]
    kinds = np.empty(cs.n_rows, dtype="<U12")
    said = np.ones(cs.n_rows, dtype=bool)
    for group in cs.groups:
        kinds[group.rows] = group.kind
    for custom in cs.packed.custom:
        kinds[custom.rows] = custom.level
        said[custom.rows] = custom.has("wrenches")
    placed, rates = np.isin(kinds, ("position", "loop", "distance")), kinds != "acceleration"
    anywhere = np.isin(kinds, ("position", "distance"))
    none_met = "" if met else "no state that meets the constraint was found; give q"

    def compared(
        name: str, at: Sequence[State], how: Comparison, rows: NDArray[np.bool_], why: str = ""
    ) -> ConstraintCheck:
        """Return the largest deviation over states and rows, in units of 1 + the compared quantity."""
        if not rows.any() or not at:
            return ConstraintCheck(name, np.nan, limit, note=why or none_met)
        off = np.zeros(cs.n_rows)
        for one, two in map(how, at):
            error = np.abs(one - two) / (1.0 + np.maximum(np.abs(one), np.abs(two)))
            off = np.maximum(off, np.max(error.reshape(cs.n_rows, -1), axis=1, initial=0.0))
        row = int(np.argmax(np.where(rows, off, -1.0)))
        return ConstraintCheck(name, float(off[row]), limit, cs.labels[row])

    no_place = "no position errors to compare"
    no_rate = "no velocity errors to compare, at acceleration level"
    checks = [
        compared("position error's rate = velocity error", states, position_rate, anywhere, no_place),
        compared("the same on the constraint", met, position_rate, placed, "" if placed.any() else no_place),
        compared("velocity error's slope in v = G", states, slope, rates, no_rate),
        compared("velocity error's rate = G a - gamma", states, bias, rates, no_rate),
        compared("wrenches = G^T lambda", states, wrench, said, "no method wrenches"),
    ]
    return ConstraintReport(tuple(checks))


def _as_set(model: Model, constraint: AnyConstraint | ConstraintSet | Iterable[AnyConstraint | Any]) -> ConstraintSet:
    """Return a constraint, or several, as a set with rows; raise if a given set is for another model."""
    if isinstance(constraint, ConstraintSet):
        check_set(model, constraint)
        cs = constraint
    else:
        cs = ConstraintSet(model, constraint if isinstance(constraint, Iterable) else [constraint])
    if not cs.n_rows:
        raise ConstraintError("constraint", "has no rows to check")
    return cs


def _assembled(state: State) -> State | None:
    """Return a nearby state that satisfies the constraints, or None if none is found."""
    cs, model = state.cs, state.cs.model
    place = assemble_q(model, state.q, cs, np.ones(model.nv), t=state.t)
    motion = assemble_v(model, place.q, state.v, cs, np.ones(model.nv), t=state.t)
    return replace(state, q=place.q, v=motion.v) if place.converged and motion.converged else None
