"""Problem data of a model at one instant, at acceleration and at velocity level.

Acceleration level: closed contacts and limits that do not separate have rows. A contact that slides has one friction
row, along its slip; the others have the edges of the pyramid. All rows are rigid: this level has no softening.

Velocity level, a step of length h or an impact: over a step all contacts have rows, because another contact can close a
contact that would not close by itself. In an impact, which has no duration, only closed contacts and limits have rows;
finite forces, of springs, dampers, dry friction and drives, have no effect.

Torsional and rolling friction of contacts at a known load are boxed rows of the relative angular velocity. A contact
that is a small patch resists spin about its normal n with up to rho_t f_N. It resists rolling, the component of the
relative angular velocity w perpendicular to n, with up to rho_r f_N. The radii rho are lengths [m]. With f_N known,
both are rows with constant bounds,

    s = d . (w_B - w_A),   |moment along d| <= rho f_N,

for d = n, and for d along the present rolling and perpendicular to it. Straight rolling then has the exact bound, and
all other directions have at most sqrt(2) times the bound. f_N is given, usually from the previous step, so the bounds
are delayed by a step.

Source: A. Tasora, M. Anitescu, A complementarity-based rolling friction model for rigid contacts, Meccanica 48 (2013).
Here the cone of the moments is replaced by a box, with its size from the previous step.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from contactlab.collision import PowerLaw
from contactlab.collision.material import tangent_frame
from contactlab.constraint_solver.model_problem.branches import SparseRows, turning_rows, unit_rows
from contactlab.constraint_solver.model_problem.contact_geometry import ContactPoint
from contactlab.constraint_solver.model_problem.inputs import (
    LevelData,
    ProblemInputs,
    Row,
    RowTable,
    contact_rows,
)
from contactlab.constraint_solver.model_problem.joint_limit_rows import LimitRow
from contactlab.constraint_solver.model_problem.options import BridgeError, JointLimit, Stabilisation, at_least_zero
from contactlab.constraint_solver.softening import softening
from contactlab.multibody.spatial.arrays import FloatArray, IntArray, close_names
from problem_data import ConstraintAccelProblemData, ConstraintVelProblemData


def acceleration_level(p: ProblemInputs) -> LevelData[ConstraintAccelProblemData]:
    """Return the acceleration-level problem."""
    rows: list[Row] = []
    g, at = p.geometry, p.thresholds
    contacts = np.flatnonzero((g.gap <= at.closed) & (g.approach <= at.rest))
    slides = p.slides[contacts]
    sliding, resting = contacts[slides], contacts[~slides]
    mu_sliding = np.array([p.contacts[c].mu_sliding for c in sliding.tolist()])
    mu_resting = np.array([p.contacts[c].mu_non_sliding for c in resting.tolist()])
    along = g.slip[sliding] / p.slip_speed[sliding, None]
    counts = np.where(mu_resting > 0.0, p.edges // 2, 0)
    of, number, directions = g.edges(resting, counts, p.edges)
    normals = g.normal[contacts]
    alpha, beta = p.stabilisation["contacts"].rates

    contact_rows(p, rows, "N", contacts, normals, "normal")
    contact_rows(p, rows, "Q", sliding, along, "sliding")
    contact_rows(p, rows, "F", of, directions, "friction", number)
    alpha_limits, beta_limits = p.stabilisation["limits"].rates
    v = p.kin._v
    closed = [s for s in p.limit_rows if s.gap <= at.closed and s.sign * v[s.coordinate.v] <= at.rest]
    L, columns, signs, gaps = _limit_rows(p, rows, closed)
    tau, held = _joint_forces(p)
    groups: list[_Equations] = [
        (one.rows, one.jacobian, one.acceleration, one.scale, one.position) for one in (p.loops, p.mimics)
    ]
    none, holding = np.zeros(len(held)), np.array([row.index for row in held], dtype=np.int64)
    groups.append((tuple(held), unit_rows(holding, none + 1.0, p.model.nv), none, none + 1.0, none))
    G, kG, scaleG, errorG = _equations(p, rows, groups)
    data = ConstraintAccelProblemData(
        tau=tau,
        N=g.rows(contacts, normals),
        Q=g.rows(sliding, along),
        F=g.rows(of, directions),
        L=L,
        G=G,
        kN=g.bias(contacts, normals) + 2.0 * alpha * g.approach[contacts] + beta**2 * g.gap[contacts],
        kF=g.bias(of, directions),
        kL=2.0 * alpha_limits * signs * v[columns] + beta_limits**2 * gaps,
        kG=kG,
        scaleG=scaleG,
        errorG=errorG,
        mu_sliding=mu_sliding,
        mu_non_sliding=mu_resting,
        sliding_contacts=np.flatnonzero(slides),
        non_sliding_contacts=np.flatnonzero(~slides),
        r=counts,
        solve_inertia=p.solve_inertia,
    )
    return LevelData(data, RowTable.of(rows), contacts)


def _limit_rows(
    p: ProblemInputs, rows: list[Row], stops: list[LimitRow]
) -> tuple[SparseRows, IntArray, FloatArray, FloatArray]:
    """Append the rows of limits; return them, and the column, sign and gap of each."""
    rows += [Row("L", 0, stop.kind, stop.coordinate.name, stop.label) for stop in stops]
    columns = np.array([stop.coordinate.v for stop in stops], dtype=np.int64)
    signs, gaps = np.array([stop.sign for stop in stops]), np.array([stop.gap for stop in stops])
    return unit_rows(columns, signs, p.model.nv), columns, signs, gaps


#: Rows of equations with Jacobian, term, scales and position errors.
_Equations = tuple[tuple[Row, ...], Any, FloatArray, FloatArray, FloatArray]


def _equations(
    p: ProblemInputs, rows: list[Row], groups: list[_Equations]
) -> tuple[SparseRows, FloatArray, FloatArray, FloatArray]:
    """Append rows of equations and return their stacked arrays: G, kG, scaleG and errorG."""
    rows += [row for named, *_ in groups for row in named]
    k, scale, error = (np.concatenate([np.zeros(0), *(group[i] for group in groups)]) for i in (2, 3, 4))
    return _stacked([group[1] for group in groups], p.model.nv), k, scale, error


def _joint_forces(p: ProblemInputs) -> tuple[FloatArray, list[Row]]:
    """Return applied forces, including forces of joints that slip, and rows of joints that stick, by coordinate."""
    tau, held = p.applied.copy(), []
    for holder in p.bounded_rows:
        if holder.term.is_soft:
            tau[holder.coordinate.v] += holder.force
        elif holder.label in p.given:
            tau[holder.coordinate.v] += p.given[holder.label]
        elif holder.has_target_speed(p.thresholds.rest):
            source, at = holder.coordinate.name, holder.coordinate.v
            held.append(Row("G", at, holder.kind, source, holder.label, bounds=holder.bounds))
        elif math.isinf(holder.force):
            raise BridgeError(
                "drives",
                f"{holder.label!r} has no largest force and is off its speed, {holder.speed:g} instead of "
                f"{holder.target:g}: no finite acceleration brings it there; use the velocity level",
            )
        else:
            tau[holder.coordinate.v] += holder.force
    return tau, held


#: Kinds of the rows of torsional and rolling friction.
SPINNING = ("torsional friction", "rolling friction")
# Angular speed [rad/s] below which rolling has no direction.
_STILL = 1e-9


def checked_loads(
    contacts: tuple[ContactPoint, ...], names: tuple[str, ...], loads: Mapping[str, float] | None
) -> FloatArray:
    """Return the load (nc,) [N] of every contact; contacts with spin friction need one."""
    out = np.zeros(len(contacts))
    if loads is not None and not isinstance(loads, Mapping):
        raise BridgeError("loads", f"must be a mapping from names of contacts, got {type(loads).__name__}")
    given = dict(loads or {})
    for i, (contact, name) in enumerate(zip(contacts, names, strict=True)):
        if name in given:
            out[i] = at_least_zero(given.pop(name), f"loads[{name!r}]")
        elif contact.torsional or contact.rolling:
            raise BridgeError("loads", f"{name!r} has torsional or rolling friction: its normal force [N] is needed")
    for name in given:
        raise BridgeError("loads", f"no contact is called {name!r}{close_names(name, names)}")
    return out


def spin_rows(p: ProblemInputs) -> tuple[SparseRows, list[tuple[Row, float]]]:
    """Return the rows of torsional and rolling friction of all closed contacts, with meaning and bound [N m] of each.

    The bound is the friction length times the given load.
    """
    g = p.geometry
    found: list[tuple[int, FloatArray, Row, float]] = []
    for c, contact in enumerate(p.contacts):
        bounds = (contact.torsional * float(p.loads[c]), contact.rolling * float(p.loads[c]))
        if bounds == (0.0, 0.0) or g.gap[c] > p.thresholds.closed:
            continue
        directions = _directions(p, c)
        for number, d in enumerate(directions):
            kind, bound = SPINNING[min(number, 1)], bounds[min(number, 1)]
            if bound > 0.0:
                label = f"{g.names[c]}: {kind}" + (f" {number}" if number else "")
                d.flags.writeable = False
                bodies = (contact.body_a, contact.body_b)
                row = Row("B", 0, kind, g.names[c], label, *bodies, direction=d, bounds=(-bound, bound))
                found.append((c, d, row, bound))
    places: IntArray = np.array([c for c, *_ in found], dtype=np.int64)
    along = np.array([d for _, d, *_ in found]).reshape(-1, 3)
    J = turning_rows(g.at, along, g.link_a[places], g.link_b[places], g.nv)
    return J, [(row, bound) for *_, row, bound in found]


def _directions(p: ProblemInputs, c: int) -> list[FloatArray]:
    """Return the normal, the direction of rolling, and the direction perpendicular to both."""
    g = p.geometry
    n = np.array(g.normal[c])
    at = np.array([c], dtype=np.int64)
    w_b, _ = g.at.velocities(g.link_b[at], g.x_b[at])
    w_a, _ = g.at.velocities(g.link_a[at], g.x_a[at])
    rolling = (w_b - w_a)[0]
    rolling = rolling - (n @ rolling) * n
    speed = float(np.linalg.norm(rolling))
    first = rolling / speed if speed > _STILL else tangent_frame(n)[0]
    return [n, first, np.cross(n, first)]


@dataclass(frozen=True)
class _Spring:
    """Compliance, restitution and stabilisation of a one-sided row."""

    stiffness: float
    dissipation: float
    restitution: float | PowerLaw
    erp: float

    def coefficient(self, speed: float) -> float:
        """Return the restitution at a speed of approach."""
        return self.restitution.at(speed) if isinstance(self.restitution, PowerLaw) else self.restitution

    @property
    def soft(self) -> bool:
        return self.stiffness > 0.0 or self.dissipation > 0.0


#: k, gamma, lo and hi of a boxed row.
_Terms = tuple[float, float, float, float]


def velocity_level(p: ProblemInputs) -> LevelData[ConstraintVelProblemData]:
    """Return the velocity-level problem: a step if ``p.h`` is given, otherwise an impact."""
    rows: list[Row] = []
    g, h = p.geometry, p.h
    momentum = p.momentum if h is None else p.momentum + h * p.applied
    v_free = p.factor.solve(momentum)

    springs = [_spring(contact, p.stabilisation["contacts"]) for contact in p.contacts]
    contacts = np.arange(len(springs))
    if h is None:
        closed = g.gap <= p.thresholds.closed
        contacts = np.array([c for c in contacts.tolist() if closed[c] and not springs[c].soft], dtype=np.int64)
    mu = np.array(
        [p.contacts[c].mu_sliding if p.slides[c] else p.contacts[c].mu_non_sliding for c in contacts.tolist()]
    )
    counts = np.where(mu > 0.0, p.edges // 2, 0)
    of, number, directions = g.edges(contacts, counts, p.edges)
    normals = g.normal[contacts]
    N = g.rows(contacts, normals)
    kN, gammaN = _terms(
        p, [springs[c] for c in contacts.tolist()], g.gap[contacts], g.approach[contacts], np.asarray(N @ v_free)
    )
    kF = np.zeros(of.size)
    if h is not None and p.at_end:
        lasting = (g.gap <= p.thresholds.closed) & (np.abs(g.approach) <= p.thresholds.rest)
        kN = kN + h * lasting[contacts] * g.bias(contacts, normals)
        kF = h * lasting[of] * g.bias(of, directions)
    contact_rows(p, rows, "N", contacts, normals, "normal")
    contact_rows(p, rows, "F", of, directions, "friction", number)

    stops = [s for s in p.limit_rows if _near(p, s, v_free)]
    L, columns, signs, gaps = _limit_rows(p, rows, stops)
    of_limits = [_spring(s.limit, p.stabilisation["limits"]) for s in stops]
    kL, gammaL = _terms(p, of_limits, gaps, signs * p.kin._v[columns], signs * v_free[columns])

    # Jacobians and terms of boxed rows.
    boxed: list[tuple[Any, list[_Terms]]] = _joint_rows(p, rows)
    if h is not None:
        turning, spins = spin_rows(p)
        rows += [row for row, _ in spins]
        boxed.append((turning, [(0.0, 0.0, -bound, bound) for _, bound in spins]))
    # Loops and mimic relations: rigid rows in G, compliant ones among the boxed rows, without bounds.
    groups: list[_Equations] = []
    for group in (p.loops, p.mimics):
        how = group.stabilisation
        if not how.soft:
            k = group.velocity_term(p.kin._v, how.erp, h, p.at_end)
            groups.append((group.rows, group.jacobian, k, group.scale, group.position))
        elif h is not None and group.rows:
            soft = softening(h, stiffness=how.stiffness, dissipation=how.dissipation)
            k = group.velocity_term(p.kin._v, float(soft.erp), h, p.at_end)
            rows += [replace(row, operator="B") for row in group.rows]
            boxed.append((group.jacobian, [(term, float(soft.gamma), -math.inf, math.inf) for term in k.tolist()]))
    G, kG, scaleG, errorG = _equations(p, rows, groups)
    kB, gammaB, lo, hi = np.array([term for _, terms in boxed for term in terms]).reshape(-1, 4).T
    data = ConstraintVelProblemData(
        Mv=momentum,
        N=N,
        F=g.rows(of, directions),
        L=L,
        G=G,
        B=_stacked([jacobian for jacobian, _ in boxed], p.model.nv),
        mu=mu,
        r=counts,
        kN=kN,
        kF=kF,
        kL=kL,
        kG=kG,
        kB=kB,
        scaleG=scaleG,
        errorG=errorG,
        gammaN=gammaN,
        gammaL=gammaL,
        gammaB=gammaB,
        lo=lo,
        hi=hi,
        solve_inertia=p.solve_inertia,
        friction=p.contact_friction,
        tree_starts=g.at.tree_starts() if p.model.nv > 0 else None,
    )
    return LevelData(data, RowTable.of(rows), contacts)


def _spring(one: ContactPoint | JointLimit, common: Stabilisation) -> _Spring:
    """Return the spring of a contact or limit: its stiffness and dissipation, or the common ones of its kind."""
    own = one if one.stiffness > 0.0 or one.dissipation > 0.0 else common
    return _Spring(own.stiffness, own.dissipation, one.restitution, common.erp)


def _near(p: ProblemInputs, stop: LimitRow, v_free: FloatArray) -> bool:
    """Return True if a limit has a row: it may close within the step, or it is closed when an impact happens."""
    if p.h is None:
        return stop.gap <= p.thresholds.closed and not _spring(stop.limit, p.stabilisation["limits"]).soft
    rate = min(stop.sign * p.kin._v[stop.coordinate.v], stop.sign * v_free[stop.coordinate.v])
    return bool(stop.gap <= p.thresholds.margin + p.h * max(0.0, -rate))


def _terms(
    p: ProblemInputs, springs: list[_Spring], gaps: FloatArray, rates: FloatArray, free: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return k and gamma of unilateral rows with gaps, rates at v, and rates at the velocity without constraints."""
    from contactlab.constraint_solver.kernels import unilateral_law

    k, gamma, restitution_threshold = np.zeros(len(springs)), np.zeros(len(springs)), p.thresholds.restitution_threshold
    for i, spring in enumerate(springs):
        if p.h is None:
            k[i] = spring.coefficient(-rates[i]) * rates[i] if rates[i] < -restitution_threshold else 0.0
            continue
        bounce = (spring.coefficient(-rates[i]), restitution_threshold, spring.erp)
        given = (*bounce, 0.0, spring.stiffness, spring.dissipation, sys.float_info.max)
        k[i], gamma[i] = unilateral_law(gaps[i], rates[i], free[i], p.h, *given)
    return k + 0.0, gamma  # no -0


def _joint_rows(p: ProblemInputs, rows: list[Row]) -> list[tuple[Any, list[_Terms]]]:
    """Append rows of dry friction and drives, in an impact only of drives without a bound; return their group."""
    acting = [one for one in p.bounded_rows if p.h is not None or one.is_rigid]
    terms = [one.terms(p.h or 0.0) for one in acting]
    rows += [
        Row("B", 0, one.kind, one.coordinate.name, one.label, bounds=(lo, hi))
        for one, (_, _, lo, hi) in zip(acting, terms, strict=True)
    ]
    columns = np.array([one.coordinate.v for one in acting])
    return [(unit_rows(columns, np.ones(len(columns)), p.model.nv), terms)] if acting else []


def _stacked(parts: list[Any], nv: int) -> SparseRows:
    from scipy.sparse import csr_array, vstack

    return vstack([csr_array((0, nv)), *(csr_array(part) for part in parts)], format="csr")
