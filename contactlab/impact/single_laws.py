"""Laws of a single collision: Brach, Chatterjee and Ruina, Smith, and Stronge with a tangential spring.

Several contacts collide one after the other. P is the impulse of one contact, u its velocity, W its response.

Brach: P = P_n (1, -mu d) with d the direction of slip before and u_n+ = -e u_n-. The ratio mu is limited by the
smallest of three values. They are the coefficient of friction, with either sign; the ratio with which slip stops at the
end; and the ratio without energy loss.

Chatterjee and Ruina: P_I stops the approach without friction, and P_II stops approach and slip, W P_II = -u-. The
impulse is (1 + e) P_I + (1 + e_t) (P_II - P_I). If this is outside the friction cone, the law uses the point of the
cone on the line from (1 + e) P_I to it.

Smith: friction acts along the mean of the slip s before and after, each weighted by its speed::

    P_t = -mu P_n (|s-| s- + |s+| s+) / (|s-|^2 + |s+|^2)        u_n+ = -e u_n-

The work of friction is never positive, and the work of the normal impulse is (1 - e) P_n u_n- / 2. So the law gains no
energy in any geometry.

Tangential compliance: contacts are compliant along the normal and along the tangent. The tangential spring sticks while
its force is below mu times the normal force, and returns its energy; otherwise it slides. Slip can reverse, as for
rubber balls. Normal restitution is energetic, so the law gains no energy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from contactlab.impact.collision import Collision
from contactlab.impact.law import SequentialLaw
from contactlab.impact.single import NoSeparationError, SingleImpact, invariant_direction
from contactlab.multibody.spatial.arrays import FloatArray, ImpactError, finite_number

# Slip, relative to the contact's speed, that counts as zero.
_NO_SLIP = 1e-12


@dataclass(frozen=True, eq=False)
class Brach(SequentialLaw):
    """Kinematic restitution and a bounded ratio of impulses, several contacts one after the other.

    In the plane it is Newton's law with friction on the velocity after the impact, unless this would gain energy; then
    the ratio is the one that conserves energy. In space friction acts only along the initial slip.

    References
    ----------
    R. M. Brach, Friction, restitution, and energy loss in planar collisions, J. Applied Mechanics 51 (1984); Mechanical
    Impact Dynamics (1991).

    Examples
    --------
    A rod whose end slides as it strikes; Newton's law gains energy:

    >>> import numpy as np
    >>> from contactlab.impact import Newton
    >>> from problem_data import ConstraintVelProblemData
    >>> M, c, s = np.diag([1.0, 1.0, 1.0 / 3.0]), np.cos(0.9), np.sin(0.9)
    >>> rod = ConstraintVelProblemData(M=M, Mv=M @ [1, -1, 0], N=[[0, 1, -c]], F=[[1, 0, s]], mu=[0.5], r=[1])
    >>> round(Newton(0.9).solve(rod).energy_ratio, 4), round(Brach(0.9).solve(rod).energy_ratio, 4)
    (1.0278, 1.0)
    """

    title: ClassVar[str] = "Brach"

    def collide(self, collision: Collision, u: FloatArray, e: float) -> SingleImpact:
        """Return the impact of one contact, without the others, from u = (u_n, u_t), u_n < 0, with restitution e.

        Raise `NoSeparationError` if no impulse of this law separates the bodies.
        """
        W, mu, bounce = collision.W, collision.mu, -(1.0 + e) * float(u[0])
        direction = slip_direction(collision, u)
        nn, nd, dd = float(W[0, 0]), float(W[0, 1:] @ direction), float(direction @ W[1:, 1:] @ direction)
        slip = float(u[1:] @ direction)
        stops, per_ratio = slip * nn + bounce * nd, slip * nd + bounce * dd
        target = mu if per_ratio <= 0.0 else float(np.clip(stops / per_ratio, -mu, mu))
        # Energy loss times 2 (nn - x nd) / P_n at the ratio x t: c + b t + a t^2, from c >= 0 at t = 0.
        c = -(1.0 - e) * float(u[0]) * nn
        b = target * ((1.0 - e) * float(u[0]) * nd + 2.0 * slip * nn + bounce * nd)
        a = -(target**2) * (2.0 * slip * nd + bounce * dd)
        if (inside := b * b - 4.0 * a * c) >= 0.0:
            half = -0.5 * (b + np.copysign(np.sqrt(inside), b))
            ends = [t for t in (half / a if a else np.inf, c / half if half else np.inf) if b + 2.0 * a * t < 0.0 <= t]
            target *= min(1.0, *ends) if ends else 1.0
        normal = bounce / (nn - target * nd)
        return SingleImpact.of_impulse(collision, u, e, normal * np.concatenate(([1.0], -target * direction)))


def slip_direction(collision: Collision, u: FloatArray) -> FloatArray:
    """Return the unit direction (m,) of the initial slip, or of the slip that the normal impulse would start.

    It is zero if there is neither.
    """
    W = collision.W
    for way, least in ((u[1:], _NO_SLIP * float(np.linalg.norm(u))), (W[1:, 0], _NO_SLIP * float(W[0, 0]))):
        size = float(np.linalg.norm(way))
        if size > least:
            return np.asarray(way / size)
    return np.zeros(len(u) - 1)


@dataclass(frozen=True, eq=False)
class ChatterjeeRuina(SequentialLaw):
    """Normal and tangential restitution of each collision, several contacts one after the other.

    Parameters
    ----------
    restitution : float, (nc,) or RestitutionLaw, optional
        Coefficient of the normal velocity, u_n+ = -e u_n-. Default the materials' coefficient, which event-driven runs
        supply.
    tangential : float
        Coefficient of tangential restitution, -1 (no friction) to 1 (reversed slip): u_t+ = -e_t u_t-, within the limit
        of friction, if normal and tangent are decoupled; otherwise -e_t u_t- + (e - e_t) W_tn P_I.
    max_collisions : int
        As for sequential laws.

    Raises
    ------
    ImpactError
        A parameter is out of its range.

    References
    ----------
    A. Chatterjee, A. Ruina, A new algebraic rigid-body collision law based on impulse space considerations, J. Applied
    Mechanics 65 (1998).

    Examples
    --------
    A rubber ball in the plane, inertia 2/5, that skids forward: half of its slip is reversed.

    >>> from problem_data import ConstraintVelProblemData
    >>> M = np.diag([1.0, 1.0, 0.4])
    >>> ball = ConstraintVelProblemData(M=M, Mv=M @ [1, -1, 0], N=[[0, 1, 0]], F=[[1, 0, 1]], mu=[2.0], r=[1])
    >>> after = ChatterjeeRuina(0.8, 0.5).solve(ball).v_plus
    >>> float((after[0] + after[2]).round(9)), float(after[1].round(9))
    (-0.5, 0.8)
    """

    tangential: float = 0.0

    title: ClassVar[str] = "Chatterjee and Ruina"

    def __post_init__(self) -> None:
        super().__post_init__()
        tangential = finite_number(self.tangential, "tangential", ImpactError, least=-1.0, most=1.0)
        object.__setattr__(self, "tangential", tangential)

    def collide(self, collision: Collision, u: FloatArray, e: float) -> SingleImpact:
        """Return the impact of one contact, without the others, from u = (u_n, u_t), u_n < 0, with restitution e.

        Raise `NoSeparationError` if no impulse of this law separates the bodies.
        """
        W, mu = collision.W, collision.mu
        P = np.zeros(len(u))
        P[0] = -(1.0 + e) * u[0] / W[0, 0]
        if mu > 0.0:
            stop = np.linalg.lstsq(W, -u, rcond=None)[0]
            stop[0] += u[0] / W[0, 0]  # P_II - P_I
            slip, share = float(np.linalg.norm(stop[1:])), 1.0 + self.tangential
            if share * slip > mu * (P[0] + share * stop[0]):
                share = mu * P[0] / (slip - mu * stop[0])
            P += share * stop
        return SingleImpact.of_impulse(collision, u, e, P)


# Tolerance of the law's equation in space; number of starts of the search.
_TOLERANCE, _MAX_STARTS = 1e-9, 20


@dataclass(frozen=True, eq=False)
class Smith(SequentialLaw):
    """Kinematic restitution with friction of the mean slip, several contacts one after the other.

    In the plane the solution is unique. In space one solution is searched; the outcome reports if none was found.

    References
    ----------
    C. E. Smith, Predicting rebounds using rigid-body dynamics, J. Applied Mechanics 58 (1991).

    Examples
    --------
    A disk that still slips after the impact, and one whose slip Coulomb's friction would stop: here it continues.

    >>> import numpy as np
    >>> from problem_data import ConstraintVelProblemData
    >>> M = np.diag([1.0, 1.0, 0.5])
    >>> def disk(forward):
    ...     return ConstraintVelProblemData(M=M, Mv=[forward, -2, 0], N=[[0, 1, 0]], F=[[1, 0, 1]], mu=[0.1], r=[1])
    >>> fast, slow = (Smith(0.5).solve(disk(v)).v_plus for v in (4.0, 0.3))
    >>> fast.round(6), bool(slow[0] + slow[2] < 0.0)
    (array([ 3.7,  1. , -0.6]), True)
    """

    title: ClassVar[str] = "Smith"

    def collide(self, collision: Collision, u: FloatArray, e: float) -> SingleImpact:
        """Return the impact of one contact, without the others, from u = (u_n, u_t), u_n < 0, with restitution e.

        Raise `NoSeparationError` if no impulse of this law separates the bodies.
        """
        W, mu, bounce = collision.W, collision.mu, -(1.0 + e) * float(u[0])
        before = u[1:] if float(np.linalg.norm(u[1:])) > _NO_SLIP * float(np.linalg.norm(u)) else np.zeros(len(u) - 1)

        def impulse(f: FloatArray) -> FloatArray:
            force = np.concatenate(([1.0], -mu * f))
            return force * bounce / float(W[0] @ force)

        def wanted(f: FloatArray) -> FloatArray:
            return mean_slip(before, u[1:] + W[1:] @ impulse(f))

        if mu == 0.0 or len(u) == 1:
            f = np.zeros(len(u) - 1)
        elif len(u) == 2:
            f = _planar_friction(W, mu, wanted)
        elif before.any():
            f = _spatial_friction(lambda f: wanted(f) if W[0, 0] > mu * float(W[0, 1:] @ f) else f + before, before)
        else:
            stop = np.linalg.lstsq(W, np.concatenate(([bounce], np.zeros(len(u) - 1))), rcond=None)[0]
            held = stop[0] > 0.0 and float(np.linalg.norm(stop[1:])) <= mu * stop[0]
            f = -stop[1:] / (mu * stop[0]) if held else invariant_direction(W, mu)
        return SingleImpact.of_impulse(collision, u, e, impulse(f))


def mean_slip(before: FloatArray, after: FloatArray) -> FloatArray:
    """Return (|s-| s- + |s+| s+) / (|s-|^2 + |s+|^2), a vector no longer than 1."""
    a, b = float(np.linalg.norm(before)), float(np.linalg.norm(after))
    return np.asarray((a * before + b * after) / (a * a + b * b)) if a + b > 0.0 else np.zeros(len(before))


def _planar_friction(W: FloatArray, mu: float, wanted: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Return the root (1,) of f - wanted(f) in -1 <= f <= 1, by bisection; f is the friction over -mu times p_n.

    The function increases with f, because the final slip decreases with f while the normal impulse is positive. f is
    bounded where that impulse would be infinite.
    """
    edge = float(W[0, 0] / (mu * W[0, 1])) if W[0, 1] else np.inf  # no impulse separates the bodies from here on
    low, high = max(-1.0, edge) if edge < 0.0 else -1.0, min(1.0, edge) if edge > 0.0 else 1.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        if middle < wanted(np.array([middle]))[0]:
            low = middle
        else:
            high = middle
    return np.array([0.5 * (low + high)])


def _spatial_friction(wanted: Callable[[FloatArray], FloatArray], before: FloatArray) -> FloatArray:
    """Return a fixed point f (2,) of ``wanted`` with |f| <= 1, searched from several starts; raise if there is none."""
    from scipy.optimize import root

    def off(f: FloatArray) -> FloatArray:
        return np.asarray(f - wanted(f))

    first = before / float(np.linalg.norm(before))
    for turn in range(_MAX_STARTS):
        cos, sin = np.cos(2.4 * turn), np.sin(2.4 * turn)
        start = (1.0 if turn == 0 else 0.5) * np.array([[cos, -sin], [sin, cos]]) @ first
        found = np.asarray(root(off, start, tol=1e-13).x)
        if float(np.abs(off(found)).max()) <= _TOLERANCE and float(np.linalg.norm(found)) <= 1.0 + _TOLERANCE:
            return found / max(1.0, float(np.linalg.norm(found)))
    raise NoSeparationError("no friction of Smith's law was found")


# Step as a fraction of the springs' time, for the accuracy of the energy below.
_RESOLUTION, _MAX_STEPS = 1e-3, 2_000_000


@dataclass(frozen=True, eq=False)
class TangentialCompliance(SequentialLaw):
    """Energetic restitution and a tangential spring, several contacts one after the other.

    Parameters
    ----------
    restitution : float, (nc,) or RestitutionLaw, optional
        Root of the ratio of normal works. Default the materials' coefficient, which event-driven runs supply.
    stiffness_ratio : float
        eta^2, normal over tangential stiffness: (2 - nu) / (2 (1 - nu)) between bodies of Poisson's ratio nu, 1.21 for
        nu = 0.3. If it is large, the spring stores little; at 0 friction would stick immediately, like Coulomb's.
    max_collisions : int
        As for sequential laws.

    Raises
    ------
    ImpactError
        A parameter is out of its range.

    References
    ----------
    W. J. Stronge, Planar impact of rough compliant bodies, Int. J. Impact Engineering 15 (1994); Impact Mechanics
    (2000), chapter 5; N. Maw, J. R. Barber, J. N. Fawcett, The oblique impact of elastic spheres, Wear 38 (1976).

    Examples
    --------
    A ball whose slip changes by W_tt / W_nn = 7/2 times as much per impulse as its normal velocity. With the same ratio
    of stiffnesses both springs oscillate together, and the ball is a superball.

    >>> import numpy as np
    >>> from problem_data import ConstraintVelProblemData
    >>> M = np.diag([1.0, 1.0, 0.4])
    >>> ball = ConstraintVelProblemData(M=M, Mv=M @ [0.5, -1, 0], N=[[0, 1, 0]], F=[[1, 0, 1]], mu=[2.0], r=[1])
    >>> after = TangentialCompliance(1.0, 3.5).solve(ball).v_plus
    >>> float((after[0] + after[2]).round(5)), float(after[1].round(5))
    (-0.5, 1.0)
    """

    stiffness_ratio: float = 1.21

    title: ClassVar[str] = "Tangential compliance"
    accuracy: ClassVar[float] = 1e-5

    def __post_init__(self) -> None:
        super().__post_init__()
        ratio = finite_number(self.stiffness_ratio, "stiffness_ratio", ImpactError, positive=True)
        object.__setattr__(self, "stiffness_ratio", ratio)

    def collide(self, collision: Collision, u: FloatArray, e: float) -> SingleImpact:
        """Return the impact of one contact, without the others, from u = (u_n, u_t), u_n < 0, with restitution e.

        Raise `NoSeparationError` if no impulse of this law separates the bodies.
        """
        from contactlab.impact.kernels import solve_two_springs

        n = len(u)
        W, after, p, work = np.zeros((1, 3, 3)), np.zeros((1, 3)), np.zeros((1, 3)), np.zeros(1)
        W[0, :n, :n], after[0, :n] = collision.W, u
        numbers = self.stiffness_ratio, _RESOLUTION, _MAX_STEPS
        if solve_two_springs(W, collision.mu, np.array([e]), *numbers, after, p, work):
            raise NoSeparationError("no impulse, however large, separates the bodies")
        P = p[0, :n]
        total = 0.5 * float(P @ (u + after[0, :n]))
        return SingleImpact(collision.index, e, u, after[0, :n], P, float(work[0]), total - float(work[0]))
