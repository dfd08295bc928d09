"""An impact problem in the form used by the laws: coefficients of restitution, and rows contact by contact.

The bilateral rows are eliminated. A *collision* is a single contact or limit. Its coordinates are the normal velocity
u_n and the tangential velocity u_t (0, 1 or 2 components). An impulse (p_n, p_t) changes them by W (p_n, p_t),
W = J C J'. If the bodies can move only along one line of the tangent plane, as in a planar mechanism, u_t is the
velocity along it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from contactlab.collision import RestitutionLaw
from contactlab.constraint_solver.blocks import UnilateralRows, unilateral_rows
from contactlab.constraint_solver.discretized import add_bilateral_forces
from contactlab.multibody.spatial.arrays import FloatArray, ImpactError
from problem_data import ConstraintForces, ConstraintVelProblemData, VelocityBlocks

#: A coefficient, or a law that depends on speed, for all contacts; or one number or law per contact.
Restitution = ArrayLike | RestitutionLaw | Sequence[float | RestitutionLaw]


def check_restitution(restitution: Restitution) -> None:
    """Raise for coefficients that are not numbers between 0 and 1; the number of entries is not checked here."""
    for one in restitution if _mixed(restitution) else (restitution,):
        if not isinstance(one, RestitutionLaw):
            _numbers(one)


def coefficients(restitution: Restitution, approach: FloatArray) -> FloatArray:
    """Return the coefficient of each contact (nc,) for its approach speed (nc,) [m/s]."""
    if isinstance(restitution, RestitutionLaw):
        return _numbers([float(restitution.at(max(0.0, float(speed)))) for speed in approach])
    if _mixed(restitution):
        if len(restitution) != len(approach):
            raise ImpactError("restitution", f"has {len(restitution)} entries for {len(approach)} contacts")
        return np.array([coefficients(one, approach[i : i + 1])[0] for i, one in enumerate(restitution)])
    array = _numbers(restitution)
    if array.ndim == 1 and array.shape != approach.shape:
        raise ImpactError("restitution", f"has {array.size} entries for {approach.size} contacts")
    return np.full(approach.shape, float(array)) if array.ndim == 0 else array


def _mixed(restitution: Restitution) -> TypeGuard[Sequence[float | RestitutionLaw]]:
    """Return True if restitution is a sequence with some laws."""
    return isinstance(restitution, Sequence) and any(isinstance(one, RestitutionLaw) for one in restitution)


def _numbers(restitution: Any) -> FloatArray:
    """Return a number, or one per contact, as an array; raise unless they lie between 0 and 1."""
    try:
        array = np.array(restitution, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ImpactError("restitution", f"must be numbers or have a method at(speed), got {restitution!r}") from error
    if array.ndim > 1:
        raise ImpactError("restitution", f"must be a number or one per contact, got shape {array.shape}")
    bad = np.atleast_1d(array)[~((np.atleast_1d(array) >= 0.0) & (np.atleast_1d(array) <= 1.0))]
    if bad.size:
        raise ImpactError("restitution", f"must lie between 0 and 1, got {bad[0]}")
    return array


# Tolerance of a regular pyramid, for rounding of the rows' placement.
_REGULAR = 1e-9

# Ratio of motion across a line of the tangent plane to motion along it that is rounding.
_PLANAR = 1e-12


@dataclass(frozen=True, eq=False)
class Collision:
    """One contact or limit in its own coordinates.

    Parameters
    ----------
    index : int
        Contact 0 .. nc - 1, or nc + number of the limit.
    mu : float
        Coefficient of friction; 0 for limits.
    J, Y : ndarray, shape (1 + m, nv)
        Rows of u_n and u_t, m = 0, 1 or 2 tangents; and Y_i = C J_i.
    k : ndarray, shape (1 + m,)
        Their velocity terms: u = J v + k.
    W : ndarray, shape (1 + m, 1 + m)
        Response to impulses.
    along : ndarray, shape (t, m)
        Its m directions in terms of the data's t tangents; one if the bodies can move only along one line.
    """

    index: int
    mu: float
    J: FloatArray
    Y: FloatArray
    k: FloatArray
    W: FloatArray
    along: FloatArray

    def velocity(self, v: FloatArray) -> FloatArray:
        """Return u (1 + m,) at the generalised velocity v (nv,)."""
        return np.asarray(self.J @ v + self.k)


@dataclass(frozen=True, eq=False)
class ImpactProblem:
    """Problem data in the form used by all laws; ``v_minus`` (nv,) satisfies the bilateral equations.

    Raises
    ------
    ImpactError
        The data have boxed rows or softening, which only the impact LCP supports.
    """

    data: ConstraintVelProblemData
    law: str

    def __post_init__(self) -> None:
        if not isinstance(self.data, ConstraintVelProblemData):
            name = type(self.data).__name__
            raise ImpactError("data", f"must be ConstraintVelProblemData, got {name}")

    @cached_property
    def blocks(self) -> VelocityBlocks:
        """Evaluated operators."""
        return self.data.blocks()

    @cached_property
    def rows(self) -> UnilateralRows:
        """Rows after elimination of the bilateral ones."""
        return unilateral_rows(self.blocks)

    @cached_property
    def v_minus(self) -> FloatArray:
        """Velocity before the impact, projected onto the bilateral rows."""
        return self.rows.terms(self.blocks)[1]

    @cached_property
    def bilateral_impulses(self) -> ConstraintForces:
        """The bilateral impulses [N s] that project the given velocity to ``v_minus``; all other impulses are 0."""
        b = self.blocks
        return self.outcome_of(np.zeros(b.nc + b.nr + b.nl + b.nbox))[0]

    @cached_property
    def collisions(self) -> tuple[Collision, ...]:
        """The collision of every contact, then of every limit, without bilateral rows; soft rows raise an error."""
        self.refuse_soft_rows()
        b = self.blocks
        k, _ = self.rows.terms(b)
        starts = b.nc + np.concatenate(([0], np.cumsum(b.r)))
        collisions = []
        for c in range(b.nc):
            tangents = pyramid_tangents(int(b.r[c]))
            friction = slice(int(starts[c]), int(starts[c + 1]))
            self._check_regular(c, friction, tangents)
            select = np.asarray(np.linalg.pinv(tangents) if b.r[c] else np.zeros((0, 0)), dtype=np.float64)
            along = _effective_tangents(select @ np.column_stack((self.rows.J[friction], k[friction])))
            select = along.T @ select
            J = np.vstack((self.rows.J[c : c + 1], select @ self.rows.J[friction]))
            Y = np.vstack((self.rows.Y[c : c + 1], select @ self.rows.Y[friction]))
            # Laws set the normal term; data for the LCP may contain Newton's restitution in it.
            terms = np.concatenate(([0.0], select @ k[friction]))
            collisions.append(Collision(c, float(b.mu[c]), J, Y, terms, J @ Y.T, along))
        for i in range(b.nl):
            row = b.nc + b.nr + i
            J, Y = self.rows.J[row : row + 1], self.rows.Y[row : row + 1]
            none = np.zeros((0, 0))
            collisions.append(Collision(b.nc + i, 0.0, J, Y, k[row : row + 1].copy(), J @ Y.T, none))
        return tuple(collisions)

    def refuse_soft_rows(self) -> None:
        """Raise if the data have rows or terms that a rigid impact does not support."""
        b = self.blocks
        if b.nbox:
            raise ImpactError("data", f"has {b.nbox} boxed rows: {self.law} acts only on contacts and limits")
        if b.ncone > b.nc:
            detail = (
                f"has {b.ncone - b.nc} further cones of friction, of moments: {self.law} knows one for each contact"
            )
            raise ImpactError("data", detail)
        if np.any(b.gamma) or np.any(b.gammaE):
            raise ImpactError("data", f"is softened (gamma is not zero): {self.law} is a law of rigid impact")

    def rows_of(self, collision: Collision, p: FloatArray) -> FloatArray:
        """Return the impulse p (1 + m,) of one collision along the rows [N; F; L] (nu,).

        A tangential impulse in the plane is split between the two neighbouring edges of the pyramid.
        """
        b = self.blocks
        f = np.zeros(b.nc + b.nr + b.nl)
        if collision.index >= b.nc:
            f[b.nr + collision.index] = p[0]
            return f
        c = collision.index
        f[c] = p[0]
        first = b.nc + int(b.r[:c].sum())
        r = int(b.r[c])
        if r == 1:
            f[first] = p[1]
        elif r > 1:
            between = np.pi / r
            x, y = collision.along @ p[1:]
            length, angle = float(np.hypot(x, y)), float(np.arctan2(y, x))
            edge = int(np.floor(angle / between))
            part = angle - edge * between
            for j, share in ((edge, np.sin(between - part)), (edge + 1, np.sin(part))):
                sign = -1.0 if (j // r) % 2 else 1.0
                f[first + j % r] += sign * length * float(share) / float(np.sin(between))
        return f

    def outcome_of(self, f: FloatArray) -> tuple[ConstraintForces, FloatArray]:
        """Return all impulses, bilateral ones included, and v+ (nv,) for impulses (nu + nbox,) along [N; F; L; B]."""
        b = self.blocks
        fG, v_plus = add_bilateral_forces(1.0, self.rows, b, f)
        nu = b.nc + b.nr + b.nl
        return ConstraintForces.from_packed(self.data, np.concatenate((f[:nu], fG, f[nu:]))), v_plus

    def _check_regular(self, c: int, friction: slice, tangents: FloatArray) -> None:
        """Raise if the friction rows of contact c are not a regular pyramid over two tangents.

        Otherwise the two tangents cannot be recovered from the rows. ``tangents`` (r, 2) are the regular directions.
        """
        r = friction.stop - friction.start
        if r < 2:
            return
        F = self.blocks.J[friction]
        t1 = F[0]
        t2 = (F[1] - np.cos(np.pi / r) * t1) / np.sin(np.pi / r)
        off = np.abs(F - tangents @ np.vstack((t1, t2))).max(initial=0.0)
        if off > _REGULAR * np.abs(F).max(initial=1.0):
            detail = f"contact {c}: its {r} friction directions are not those of a regular pyramid (off by {off:.2g})"
            raise ImpactError("data", f"{detail}; {self.law} needs the two tangents")


def _effective_tangents(T: FloatArray) -> FloatArray:
    """Return directions (t, m) along which rows T (t, ...) of tangents, with their terms, can move."""
    longest = T[int(np.argmax(np.linalg.norm(T, axis=1)))] if len(T) == 2 else np.zeros(0)
    if not longest.any():
        return np.eye(len(T))
    line = T @ longest
    line /= np.linalg.norm(line)
    across = np.abs(T - np.outer(line, line @ T)).max()
    return line[:, None] if across <= _PLANAR * np.abs(T).max() else np.eye(2)


def pyramid_tangents(r: int) -> FloatArray:
    """Return the directions of a contact (r, m) in its own tangents: edge j at the angle pi j / r."""
    if r == 0:
        return np.zeros((0, 0))
    if r == 1:
        return np.ones((1, 1))
    angles = np.pi * np.arange(r) / r
    return np.column_stack((np.cos(angles), np.sin(angles)))
