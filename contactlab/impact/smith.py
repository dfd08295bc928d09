"""Smith's law: friction along the mean of the slip before and after, each weighted by its speed.

    P_t = -mu P_n (|s-| s- + |s+| s+) / (|s-|^2 + |s+|^2)        u_n+ = -e u_n-

with s the slip. Work of friction is never positive, and work of the normal impulse is (1 - e) P_n u_n- / 2: no
geometry makes it gain energy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from contactlab.impact.collision import Collision
from contactlab.impact.impulse_path import NoSeparationError, invariant_direction
from contactlab.impact.law import SequentialLaw
from contactlab.impact.single import SingleImpact
from contactlab.spatial.arrays import FloatArray

# Slip that is none, of the contact's speed.
_STILL = 1e-12
# By which the law's own equation may be missed in space; starts of the search.
_OFF, _STARTS = 1e-9, 20


@dataclass(frozen=True, eq=False)
class Smith(SequentialLaw):
    """Kinematic restitution with friction of the mean slip, several contacts one after the other.

    In the plane the answer is the only one; in space one is found, or the outcome says that none was.

    References
    ----------
    C. E. Smith, Predicting rebounds using rigid-body dynamics, J. Applied Mechanics 58 (1991).

    Examples
    --------
    A disk whose slip outlasts the impact, and one whose slip would be stopped by Coulomb's friction: it continues.

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
        """Return the impact of one contact alone."""
        W, mu, bounce = collision.W, collision.mu, -(1.0 + e) * float(u[0])
        if W[0, 0] <= 0.0:
            raise NoSeparationError("no impulse, however large, separates the bodies")
        before = u[1:] if float(np.linalg.norm(u[1:])) > _STILL * float(np.linalg.norm(u)) else np.zeros(len(u) - 1)

        def impulse(f: FloatArray) -> FloatArray:
            force = np.concatenate(([1.0], -mu * f))
            return force * bounce / float(W[0] @ force)

        def wanted(f: FloatArray) -> FloatArray:
            return mean_slip(before, u[1:] + W[1:] @ impulse(f))

        if mu == 0.0 or len(u) == 1:
            f = np.zeros(len(u) - 1)
        elif len(u) == 2:
            f = _in_plane(W, mu, wanted)
        elif before.any():
            f = _in_space(lambda f: wanted(f) if W[0, 0] > mu * float(W[0, 1:] @ f) else f + before, before)
        else:
            stop = np.linalg.lstsq(W, np.concatenate(([bounce], np.zeros(len(u) - 1))), rcond=None)[0]
            held = stop[0] > 0.0 and float(np.linalg.norm(stop[1:])) <= mu * stop[0]
            f = -stop[1:] / (mu * stop[0]) if held else invariant_direction(W, mu)
        return SingleImpact.of_impulse(collision, u, e, impulse(f))


def mean_slip(before: FloatArray, after: FloatArray) -> FloatArray:
    """(|s-| s- + |s+| s+) / (|s-|^2 + |s+|^2), a vector no longer than 1."""
    a, b = float(np.linalg.norm(before)), float(np.linalg.norm(after))
    return np.asarray((a * before + b * after) / (a * a + b * b)) if a + b > 0.0 else np.zeros(len(before))


def _in_plane(W: FloatArray, mu: float, wanted: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Return the root of f - wanted(f), which rises: slip after falls with f, where the impulse stays positive."""
    edge = float(W[0, 0] / (mu * W[0, 1])) if W[0, 1] else np.inf  # no impulse separates the bodies from here on
    low, high = max(-1.0, edge) if edge < 0.0 else -1.0, min(1.0, edge) if edge > 0.0 else 1.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        if middle < wanted(np.array([middle]))[0]:
            low = middle
        else:
            high = middle
    return np.array([0.5 * (low + high)])


def _in_space(wanted: Callable[[FloatArray], FloatArray], before: FloatArray) -> FloatArray:
    """Return f = wanted(f) from several starts."""
    from scipy.optimize import root

    def off(f: FloatArray) -> FloatArray:
        return np.asarray(f - wanted(f))

    first = before / float(np.linalg.norm(before))
    for turn in range(_STARTS):
        cos, sin = np.cos(2.4 * turn), np.sin(2.4 * turn)
        start = (1.0 if turn == 0 else 0.5) * np.array([[cos, -sin], [sin, cos]]) @ first
        found = np.asarray(root(off, start, tol=1e-13).x)
        if float(np.abs(off(found)).max()) <= _OFF and float(np.linalg.norm(found)) <= 1.0 + _OFF:
            return found / max(1.0, float(np.linalg.norm(found)))
    raise NoSeparationError("no friction of Smith's law was found")
