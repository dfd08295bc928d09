"""One collision by Routh's method: its impulse path, its end by a restitution law, and its diagram.

The diagram has the coordinates (p_t, p_n) of a planar contact: the line of sticking u_t = 0, the line of maximum
compression u_n = 0, the two edges of friction, and the path from the origin. The laws differ only in its end.

The impulse path over the normal impulse p follows Routh's method (1877), in the plane and in space. With the contact's
velocity u = (u_n, u_t) and its response W::

    slip       du/dp = W (1, -mu s),   s = u_t / |u_t|
    stick      du/dp = W (1, f),       f = -W_tt^-1 W_tn,  possible while |f| <= mu
    from rest  if |f| > mu: slip along the direction s in which s stays constant (Batlle 1996)

Slip in the plane, stick, and slip from rest are straight lines. Slip in space turns: it is integrated over
dtau = dp / |u_t|. In this variable the stop of the slip is at infinity, and there is no singularity (Bhatt and
Koechling 1995). The work of the normal impulse, the integral of u_n dp, is integrated as well, for energetic
restitution.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Literal, get_args

import numpy as np

from contactlab.impact.collision import Collision, ImpactProblem, Restitution, coefficients
from contactlab.multibody.spatial.arrays import FloatArray, ImpactError
from problem_data import ConstraintVelProblemData

# Slip below this fraction of the contact's initial speed has stopped; rounding is about 1e-16.
_STOPPED = 1e-12

_EPS = float(np.finfo(np.float64).eps)

_MAX_SEGMENTS = 64

_LANDINGS = 4


class Phase(Enum):
    """Phase of a contact along a segment."""

    SLIP = "slip"
    STICK = "stick"
    #: slip along a constant direction, from rest
    REVERSED = "slip from rest"


@dataclass(frozen=True, eq=False)
class State:
    """A point of an impulse path.

    Parameters
    ----------
    p : ndarray, shape (1 + m,)
        Impulse so far, normal and tangential [N s].
    u : ndarray, shape (1 + m,)
        Velocity of the contact [m/s].
    work : float
        Work of the normal impulse so far [J].
    """

    p: FloatArray
    u: FloatArray
    work: float


@dataclass(frozen=True, eq=False)
class Segment:
    """A part of a path in one phase: states from its start to its end, at least these two."""

    phase: Phase
    states: tuple[State, ...]


class NoSeparationError(Exception):
    """Error for a path without end: no impulse, however large, separates the bodies."""


#: Quantity of a state that defines the end of a path: normal velocity, normal impulse, or normal work.
Quantity = Callable[[State], float]


def normal_velocity(state: State) -> float:
    """Return u_n [m/s]."""
    return float(state.u[0])


def normal_impulse(state: State) -> float:
    """Return p_n [N s]."""
    return float(state.p[0])


def normal_work(state: State) -> float:
    """Return the work of the normal impulse [J]."""
    return state.work


def impulse_path(W: FloatArray, mu: float, start: State, quantity: Quantity, end: float) -> tuple[Segment, ...]:
    """Follow the path from ``start`` until ``quantity`` has increased to ``end``.

    Raise `NoSeparationError` if it never reaches ``end``.

    The response W (1 + m, 1 + m) of the contact is symmetric positive semidefinite, m = 0, 1, 2. The quantity is
    `normal_velocity`, `normal_impulse` or `normal_work`; work must begin at or after maximum compression.
    """
    segments: list[Segment] = []
    state = start
    size = float(np.linalg.norm(start.u))
    if quantity(state) >= end:
        return ()
    for _ in range(_MAX_SEGMENTS):
        slip = float(np.linalg.norm(state.u[1:]))
        if slip > _STOPPED * size and (slip > 0.0 and mu > 0.0 and len(W) > 1):
            follow = _slip_in_plane if len(W) == 2 else _slip_in_space
            segment, arrived = follow(W, mu, state, quantity, end, size)
        else:
            segment, arrived = _from_rest(W, mu, state, quantity, end), True
        segments.append(segment)
        if arrived:
            return tuple(segments)
        state = segment.states[-1]
    raise NoSeparationError(f"more than {_MAX_SEGMENTS} changes between slip and stick")


def _at_rest(state: State) -> State:
    """Return a state without slip, otherwise the same."""
    return State(state.p, np.concatenate((state.u[:1], np.zeros(len(state.u) - 1))), state.work)


def _from_rest(W: FloatArray, mu: float, state: State, quantity: Quantity, end: float) -> Segment:
    """Return the segment from rest to ``end``: stick if friction suffices, else slip in the invariant direction."""
    still = _at_rest(state)
    if mu == 0.0 or len(W) == 1:
        return _straight(Phase.SLIP, W, state, np.eye(len(W))[0], quantity, end, np.inf)
    hold = -np.linalg.lstsq(W[1:, 1:], W[1:, 0], rcond=None)[0]
    if float(np.linalg.norm(hold)) <= mu * (1.0 + 8.0 * _EPS):
        force = np.concatenate(([1.0], hold))
        segment = _straight(Phase.STICK, W, still, force, quantity, end, np.inf)
        # The contact stays exactly at rest: rounding of W f must not make it creep.
        return Segment(Phase.STICK, tuple(_at_rest(one) for one in segment.states))
    direction = invariant_direction(W, mu)
    return _straight(Phase.REVERSED, W, still, np.concatenate(([1.0], -mu * direction)), quantity, end, np.inf)


def invariant_direction(W: FloatArray, mu: float) -> FloatArray:
    """Return the unit slip velocity s with W_tn - mu W_tt s = c s, c > 0: the direction of slip from rest."""
    if len(W) == 2:
        return np.sign(W[1:, 0])
    # (mu W_tt + c 1) s = W_tn with |s| = 1: the length decreases with c, from above 1 at c = 0.
    values, vectors = np.linalg.eigh(W[1:, 1:])
    parts = vectors.T @ W[1:, 0]
    low, high = 0.0, float(np.linalg.norm(W[1:, 0]))
    for _ in range(200):
        c = 0.5 * (low + high)
        if float(np.linalg.norm(parts / (mu * values + c))) > 1.0:
            low = c
        else:
            high = c
    s = np.asarray(vectors @ (parts / (mu * values + high)))
    return s / float(np.linalg.norm(s))


def _slip_in_plane(
    W: FloatArray, mu: float, state: State, quantity: Quantity, end: float, size: float
) -> tuple[Segment, bool]:
    """Slip in a constant direction until the slip stops or the path ends; return the segment and if it ended."""
    sign = float(np.sign(state.u[1]))
    force = np.array([1.0, -mu * sign])
    rate = float((W @ force)[1])
    stop = -float(state.u[1]) / rate if rate * sign < 0.0 else np.inf
    segment = _straight(Phase.SLIP, W, state, force, quantity, end, stop)
    if _distance(state, float((W @ force)[0]), quantity, end) <= stop:
        return segment, True
    return Segment(Phase.SLIP, (state, _at_rest(segment.states[-1]))), False


def _straight(
    phase: Phase, W: FloatArray, state: State, force: FloatArray, quantity: Quantity, end: float, longest: float
) -> Segment:
    """Follow a constant force per normal impulse until the quantity reaches ``end``, or for ``longest`` [N s]."""
    rate = W @ force
    steps = _distance(state, float(rate[0]), quantity, end)
    step = min(steps, longest)
    if not np.isfinite(step):
        raise NoSeparationError(
            f"{phase.value}: the normal velocity changes by {rate[0]:.3g} m/s per N s and never gets there"
        )
    u = state.u + step * rate
    if quantity is normal_velocity and step == steps:
        u[0] = end
    work = state.work + step * (float(state.u[0]) + 0.5 * step * float(rate[0]))
    return Segment(phase, (state, State(state.p + step * force, u, work)))


def _distance(state: State, rate: float, quantity: Quantity, end: float) -> float:
    """Return the additional normal impulse until ``quantity`` is ``end``, with ``rate`` = du_n/dp constant.

    It is infinite if the quantity never reaches this value.
    """
    if quantity is normal_impulse:
        return end - float(state.p[0])
    missing = end - quantity(state)
    if quantity is normal_velocity:
        return missing / rate if rate > 0.0 else np.inf
    # u_n x + rate x^2 / 2 = missing, u_n >= 0: the smaller positive root, without cancellation.
    u = max(0.0, float(state.u[0]))
    square = u * u + 2.0 * rate * missing
    if square < 0.0 or (u == 0.0 and rate <= 0.0):
        return np.inf
    return 2.0 * missing / (u + float(np.sqrt(square)))


def _slip_in_space(
    W: FloatArray, mu: float, state: State, quantity: Quantity, end: float, size: float
) -> tuple[Segment, bool]:
    """Slip in a changing direction until the slip stops or the path ends; return the segment and whether it ended."""
    from scipy.integrate import solve_ivp

    x = state.u[1:]
    slip0 = float(np.linalg.norm(x))

    # y = (p_n, p_t1, p_t2, u_n, log(slip / slip0), angle, work); dtau = dp_n / slip.
    def rates(_: float, y: FloatArray) -> FloatArray:
        slip = slip0 * np.exp(y[4])
        cos, sin = np.cos(y[5]), np.sin(y[5])
        force = np.array([1.0, -mu * cos, -mu * sin])
        du = W @ force
        along, across = du[1] * cos + du[2] * sin, du[2] * cos - du[1] * sin
        return np.array([slip, slip * force[1], slip * force[2], slip * du[0], along, across, slip * y[3]])

    def as_state(y: FloatArray) -> State:
        slip = slip0 * float(np.exp(y[4]))
        return State(y[:3].copy(), np.array([y[3], slip * np.cos(y[5]), slip * np.sin(y[5])]), float(y[6]))

    def reached(_: float, y: FloatArray) -> float:
        return quantity(as_state(y)) - end

    def stopped(_: float, y: FloatArray) -> float:
        return float(y[4] + np.log(slip0 / (_STOPPED * size)))

    reached.terminal = stopped.terminal = True  # type: ignore[attr-defined]
    y0 = np.array([*state.p, state.u[0], 0.0, np.arctan2(x[1], x[0]), state.work])
    # tau has the unit of 1 / W, because the slope of slip is of the order of W.
    horizon = 1e6 / float(np.abs(W).max())
    scale = np.array([1.0, 1.0, 1.0, 1.0, 1e3, 1e3, 1.0])
    sizes = np.array([*[size / np.abs(W).max()] * 3, size, 1.0, 1.0, size**2 / np.abs(W).max()])
    integrated = partial(solve_ivp, rates, method="DOP853", rtol=1e-12, atol=1e-14 * sizes * scale)
    found = integrated((0.0, horizon), y0, events=(reached, stopped))
    if found.status != 1:
        raise NoSeparationError(f"slip neither stops nor gets there: {found.message}")
    halted = bool(found.t_events is not None and found.t_events[1].size)
    # Events are located on an interpolant of lower order than the steps, with errors up to 1e-7 for long steps. So the
    # last step is integrated again until the quantity reaches its end.
    before, tau = found.t[-2], found.t[-1]
    entries: dict[Quantity, int] = {normal_impulse: 0, normal_velocity: 3, normal_work: 6}
    at = entries[quantity]
    for _ in range(_LANDINGS):
        y = integrated((before, tau), found.y[:, -2]).y[:, -1] if tau > before else found.y[:, -2]
        rate = float(rates(tau, y)[at])
        missing = (end - quantity(as_state(y))) / rate if rate != 0.0 else 0.0
        if halted or abs(missing) <= 4.0 * _EPS * tau:
            break
        tau += missing
    last = as_state(y)
    # Without a stop the velocity is computed from the impulse, to the last digit; the integrated slip only locates the
    # end of the path.
    last = _at_rest(last) if halted else State(last.p, state.u + W @ (last.p - state.p), last.work)
    if quantity is normal_velocity and not halted:
        last.u[0] = end
    between = [as_state(one) for one in found.y.T[1:-1]]
    return Segment(Phase.SLIP, (state, *between, last)), not halted


#: Definition of restitution: ratio of normal velocities, of normal impulses, or root of the ratio of normal works.
Ending = Literal["newton", "poisson", "stronge"]


@dataclass(frozen=True, eq=False)
class SingleImpact:
    """The impact of a single contact.

    Parameters
    ----------
    contact : int
        Number of the contact; nc + i is limit i.
    restitution : float
        Coefficient used.
    u_minus, u_plus : ndarray, shape (1 + m,)
        Velocity of the contact before and after, normal and tangential [m/s].
    impulse : ndarray, shape (1 + m,)
        Impulse [N s], in the same coordinates.
    work_normal, work_tangential : float
        Work of the normal and of the friction impulse [J].
    segments : tuple of Segment
        The impulse path, compression first; empty for algebraic laws.
    """

    contact: int
    restitution: float
    u_minus: FloatArray
    u_plus: FloatArray
    impulse: FloatArray
    work_normal: float
    work_tangential: float
    segments: tuple[Segment, ...] = ()

    @classmethod
    def of_impulse(cls, collision: Collision, u: FloatArray, e: float, P: FloatArray) -> SingleImpact:
        """Return the impact of an algebraic law from its impulse P (1 + m,): works are P times the mean velocity."""
        u_plus = u + collision.W @ P
        mean = 0.5 * P * (u + u_plus)
        return cls(collision.index, e, u, u_plus, P, float(mean[0]), float(mean[1:].sum()))


def single_impact(collision: Collision, u: FloatArray, e: float, ending: Ending) -> SingleImpact:
    """Follow a collision from its velocity u (1 + m,), u[0] < 0, through compression and restitution.

    The end is u_n+ = -e u_n-, or p = (1 + e) p_c, or W_r = -e^2 W_c (Stronge 1990), c for compression and r for
    restitution. `NoSeparationError` is raised if no impulse, however large, separates the bodies.
    """
    zero = np.zeros(len(u))
    course = list(impulse_path(collision.W, collision.mu, State(zero, u, 0.0), normal_velocity, 0.0))
    compressed = course[-1].states[-1]
    if e > 0.0:
        quantity, end = {
            "newton": (normal_velocity, -e * float(u[0])),
            "poisson": (normal_impulse, (1.0 + e) * float(compressed.p[0])),
            "stronge": (normal_work, (1.0 - e * e) * compressed.work),
        }[ending]
        course += impulse_path(collision.W, collision.mu, compressed, quantity, end)
    last = course[-1].states[-1]
    total = 0.5 * float(last.p @ (u + last.u))
    return SingleImpact(collision.index, e, u, last.u, last.p, last.work, total - last.work, tuple(course))


@dataclass(frozen=True, eq=False)
class RouthDiagram:
    """The impulse path of a single impact and its end under each law.

    Parameters
    ----------
    contact : Collision
        The contact in its own coordinates.
    u_minus : ndarray, shape (1 + m,)
        Its velocity before the impact [m/s].
    restitution : float
        Coefficient.
    impulse_paths : dict
        `SingleImpact` by law: "newton", "poisson", "stronge".
    failures : dict
        Reasons, by law, why there is no end.
    """

    contact: Collision
    u_minus: FloatArray
    restitution: float
    impulse_paths: dict[str, SingleImpact]
    failures: dict[str, str]

    @property
    def planar(self) -> bool:
        """Return True if the diagram can be drawn in the plane."""
        return len(self.u_minus) == 2

    def sticking_line(self, p_n: FloatArray) -> FloatArray:
        """Return the tangential impulse at which the contact sticks, for normal impulses [N s]; planar contacts.

        NaN if it cannot be reached because W_tt is 0.
        """
        W, u = self._planar()
        if W[1, 1] == 0.0:
            return np.full(np.shape(p_n), np.nan)
        return np.asarray(-(u[1] + W[1, 0] * np.asarray(p_n)) / W[1, 1])

    def compression_line(self, p_t: FloatArray) -> FloatArray:
        """Return the normal impulses [N s] with u_n = 0 for tangential impulses p_t [N s]; only of planar contacts."""
        W, u = self._planar()
        return np.asarray(-(u[0] + W[0, 1] * np.asarray(p_t)) / W[0, 0])

    def path(self, law: str = "stronge") -> FloatArray:
        """Return the impulse path under a law, normal impulse first, shape (k, 1 + m) [N s]."""
        states = [s.p for segment in self.impulse_paths[law].segments for s in segment.states[:-1]]
        return np.array([*states, self.impulse_paths[law].impulse])

    def _planar(self) -> tuple[FloatArray, FloatArray]:
        if not self.planar:
            raise ImpactError("contact", f"has {len(self.u_minus) - 1} tangents: lines are those of a planar contact")
        return self.contact.W, self.u_minus


def routh_diagram(data: ConstraintVelProblemData, contact: int = 0, *, restitution: Restitution = 0.0) -> RouthDiagram:
    """Follow the impact of one contact of a problem, without the other contacts.

    Raises
    ------
    ImpactError
        The contact does not exist, or does not approach.
    """
    problem = ImpactProblem(data, "Routh's diagram")
    if not 0 <= contact < data.nc:
        raise ImpactError("contact", f"{contact} is none of the {data.nc}")
    collision = problem.collisions[contact]
    u = collision.velocity(problem.v_minus)
    if u[0] >= 0.0:
        raise ImpactError("contact", f"{contact} does not approach: its normal velocity is {u[0]:.6g} m/s")
    e = float(coefficients(restitution, np.full(data.nc, -float(u[0])))[contact])
    courses: dict[str, SingleImpact] = {}
    failures: dict[str, str] = {}
    for law in get_args(Ending):
        try:
            courses[law] = single_impact(collision, u, e, law)
        except NoSeparationError as error:
            failures[law] = str(error)
    return RouthDiagram(collision, u, e, courses, failures)
