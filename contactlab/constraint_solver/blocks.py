"""Unilateral rows of a problem after elimination of its bilateral rows, the size of its LCP, and its step h.

Kernels always receive a problem without bilateral rows: rows J = [N; F; L; B], their responses Y_i = C J_i, terms k and
a free motion (velocity v0 or acceleration a0) that already satisfies the equations. Without bilateral rows these are
the blocks of the problem data themselves, not copies. Boxed rows B, which exist at velocity level only, count as
unilateral here, because their forces are unknowns of the LCP. `lcp.contacts.kernels.boxed_rows` lists their kinds and
their variables x and y. At acceleration level the force of a row need not act along the row: the normal force of a
sliding contact includes friction, and its response is C R_i with R = N - mu_s Q.

C is the inverse inertia of the motion that the rows G leave free. For a right-hand side (y; z), the free part (v+, fG)
of the mixed problem solves::

    | M  -G' | | v |   | y |        v  = C y + B z            C = M^-1 - M^-1 G' W+ G M^-1
    | G   0  | | f | = | z |        f  = W+ z - B' y          B = M^-1 G' W+,   W = G M^-1 G'

W+ is the pseudo-inverse of W, so rows can be redundant: f is then the multiplier of minimum norm. Contradictory
equations are solved in the least-squares sense and leave a rate G v + kG. The arithmetic is in `kernels.bilateral`,
which the compiled step calls too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from problem_data import AccelerationBlocks, ProblemDataError, VelocityBlocks

if TYPE_CHECKING:
    from lcp.contacts.kernels.contact_system import ContactSystem

#: Scales or errors of rows that are unknown.
NOT_KNOWN: FloatArray = np.zeros(0)


def check_step(h: float, field: str = "h") -> float:
    """Return h as a float, or raise `ProblemDataError` unless it is a positive finite number of seconds."""
    if isinstance(h, bool) or not isinstance(h, (int, float, np.integer, np.floating)):
        raise ProblemDataError(field, f"{h!r}, wanted a number of seconds")
    if not (math.isfinite(h) and h > 0.0):
        raise ProblemDataError(field, f"{h!r}, wanted a positive finite number of seconds")
    return float(h)


@dataclass(frozen=True, eq=False)
class BilateralRows:
    """Bilateral rows with the pseudo-inverse of their Delassus matrix."""

    G: FloatArray  # (nb, nv) rows of G v+ + kG = 0
    Y: FloatArray  # (nb, nv) row i is M^-1 G_i
    W_pinv: FloatArray  # (nb, nb) pseudo-inverse W+ of W = G Y'
    rank: int

    def project_rows(self, rows: FloatArray, responses: FloatArray) -> tuple[FloatArray, IntArray]:
        """Return responses C d_i of rows d_i from M^-1 d_i, (m, nv) each, 0 if only rounding; and 1 for such rows."""
        from contactlab.constraint_solver.kernels.bilateral import project_rows

        left, locked = np.array(responses, order="C"), np.empty(len(rows), dtype=np.int64)
        every, work = np.zeros((0, 4), dtype=np.int64), np.empty(3 * len(self.W_pinv))
        project_rows(self.G, self.Y, self.W_pinv, np.ascontiguousarray(rows), left, every, locked, work)
        return left, locked

    def add_impulses(self, v: FloatArray, kG: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the impulses (nb,) of minimum norm with which G v + kG = 0, and the resulting velocity (nv,)."""
        from contactlab.constraint_solver.kernels.bilateral import add_bilateral_impulses

        out, impulses = np.array(v), np.empty(len(kG))
        add_bilateral_impulses(self.G, self.Y, self.W_pinv, kG, out, impulses, np.empty(len(kG)))
        return impulses, out


def factor_bilateral_rows(
    G: FloatArray, Y: FloatArray, scale: FloatArray = NOT_KNOWN, error: FloatArray = NOT_KNOWN
) -> BilateralRows:
    """Return the pseudo-inverse of W = G Y', with rows M^-1 G_i of Y.

    ``scale`` and ``error`` (nb,) are `scaleG` and `errorG` of problem data, which determine the rank; their length is 0
    if they are unknown.
    """
    from contactlab.constraint_solver.kernels.bilateral import bilateral_work_size, factor_bilateral

    nb, nv = G.shape
    W_pinv = np.empty((nb, nb))
    rank = factor_bilateral(G, Y, scale, error, W_pinv, np.empty(bilateral_work_size(nb, nv)))
    return BilateralRows(G=G, Y=Y, W_pinv=W_pinv, rank=int(rank))


def lcp_size(blocks: VelocityBlocks) -> int:
    """Return the number of variables n of the velocity-level LCP."""
    from lcp.contacts.kernels.boxed_rows import boxed_variables

    n = blocks.nc + 2 * blocks.nr + blocks.ncone + blocks.nl
    return n + sum(boxed_variables(blocks.lo, blocks.hi)) if blocks.nbox else n


def lcp_size_text(blocks: VelocityBlocks) -> str:
    """Return the formula of that number, for error messages."""
    own = "2 nc + 2 nr + nl" if blocks.ncone == blocks.nc else "nc + 2 nr + ncone + nl"
    return own + (" + variables x, y of the boxed rows" if blocks.nbox else "")


def zero_force_z(blocks: VelocityBlocks) -> FloatArray:
    """Return z (n,) of the LCP with zero forces of contacts and limits.

    Each boxed force is the value closest to 0 within its bounds.
    """
    z, lo, hi = np.zeros(lcp_size(blocks)), blocks.lo, blocks.hi
    smallest = np.clip(np.zeros(blocks.nbox), lo, hi)
    x = np.where(np.isfinite(lo), smallest - lo, np.where(np.isfinite(hi), hi - smallest, 0.0))[lo != hi]
    first = blocks.nc + 2 * blocks.nr + blocks.ncone + blocks.nl
    z[first : first + len(x)] = x
    return z


#: Column ranges of dense rows: see `lcp.contacts.kernels.contact_system`.
ALL_COLUMNS = np.zeros((0, 4), dtype=np.int64)
Blocks = VelocityBlocks | AccelerationBlocks


@dataclass(frozen=True, eq=False)
class UnilateralRows:
    """Rows N, F, L, B with bilateral rows eliminated. They depend only on the operators, not on k, Mv or h."""

    J: FloatArray  # (nu + nbox, nv) rows [N; F; L; B]; rows that the bilateral ones determine are zero
    Y: FloatArray  # (nu + nbox, nv) row i is C J_i
    #: (nu + nbox, nv) row i is the response to a unit of force i: C R_i for the normal force of a sliding contact,
    #: otherwise row i of Y. It is the same array as Y if no contact slides.
    responses: FloatArray
    locked: IntArray  # (nu + nbox,) 1 for rows that unilateral forces cannot move
    bilateral: BilateralRows | None  # the eliminated rows; None if there are none

    def terms(self, blocks: Blocks) -> tuple[FloatArray, FloatArray]:
        """Return k (nu + nbox,) and the motion v0 (nv,) without unilateral forces, from k and Mv of ``blocks``.

        v0 satisfies the bilateral rows. ``blocks`` must have the same rows and inertia as this object.
        """
        free = free_motion(blocks)
        if self.bilateral is None:
            return blocks.k, free
        from contactlab.constraint_solver.kernels.bilateral import lock_terms

        _, v0 = self.bilateral.add_impulses(free, blocks.k[bilateral_part(blocks)])
        k = without_bilateral(blocks, blocks.k).copy()
        lock_terms(self.locked, without_bilateral(blocks, blocks.J), ALL_COLUMNS, v0, free, k)
        return k, v0

    def problem(self, h: float, blocks: Blocks) -> ContactSystem:
        """Return these rows in the form of the kernels, with the vectors of ``blocks``."""
        k, v0 = self.terms(blocks)
        posed = problem_rows(h, blocks)
        gamma = without_bilateral(blocks, posed.gamma)
        return posed._replace(nb=0, J=self.J, Y=self.Y, k=k, gamma=gamma, v_free=v0)


def problem_rows(h: float, blocks: Blocks) -> ContactSystem:
    """Return all rows of a problem in the form of the kernels; h is 1 at acceleration level."""
    from lcp.contacts.kernels.contact_system import ContactSystem

    nothing = np.zeros(0)
    counts = (blocks.nc, blocks.nr, blocks.nl, blocks.nb)
    operators = (blocks.J, blocks.Y, blocks.k)
    if isinstance(blocks, AccelerationBlocks):
        soft = (np.zeros(len(blocks.k)), np.zeros(blocks.nns), nothing, nothing)
        motion = (blocks.a_free, blocks.tau)
        cones = (blocks.r, blocks.mu_non_sliding, blocks.non_sliding)
    else:
        soft = (blocks.gamma, blocks.gammaE, blocks.lo, blocks.hi)
        motion = (blocks.v_free, blocks.Mv)
        cones = (blocks.r, blocks.mu, blocks.cone_contacts)
    return ContactSystem(h, *counts, *cones, *operators, *soft, *motion, ALL_COLUMNS, nothing)


def bilateral_part(blocks: Blocks) -> slice:
    """Return the slice of the rows G in [N; F; L; G; B]."""
    nu = blocks.nc + blocks.nr + blocks.nl
    return slice(nu, nu + blocks.nb)


def without_bilateral(blocks: Blocks, stacked: FloatArray) -> FloatArray:
    """Return the rows [N; F; L; B] of an array of all rows; the array itself or a view if possible."""
    rows = bilateral_part(blocks)
    if blocks.nb == 0:
        return stacked
    if blocks.nbox == 0:
        return stacked[: rows.start]
    return np.concatenate((stacked[: rows.start], stacked[rows.stop :]))


def free_motion(blocks: Blocks) -> FloatArray:
    """Return the motion (nv,) without constraint forces: M^-1 Mv, or M^-1 tau at acceleration level."""
    return blocks.a_free if isinstance(blocks, AccelerationBlocks) else blocks.v_free


def force_responses(blocks: Blocks) -> FloatArray:
    """Return responses to a unit of each force, (m, nv): rows M^-1 J_i, and M^-1 R_i for normal forces."""
    if isinstance(blocks, AccelerationBlocks) and blocks.ns > 0:
        return np.concatenate((blocks.YR, blocks.Y[blocks.nc :]))
    return blocks.Y


def unilateral_rows(blocks: Blocks) -> UnilateralRows:
    """Return the unilateral rows of a problem with its bilateral rows eliminated."""
    responses = force_responses(blocks)
    if blocks.nb == 0:
        nothing = np.empty(0, dtype=np.int64)
        return UnilateralRows(J=blocks.J, Y=blocks.Y, responses=responses, locked=nothing, bilateral=None)
    part = bilateral_part(blocks)
    bilateral = factor_bilateral_rows(blocks.J[part], blocks.Y[part], blocks.scaleG, blocks.errorG)
    J = without_bilateral(blocks, blocks.J).copy()
    Y, locked = bilateral.project_rows(J, without_bilateral(blocks, blocks.Y))
    if isinstance(blocks, AccelerationBlocks) and blocks.ns > 0:
        responses = Y.copy()
        responses[blocks.sliding], _ = bilateral.project_rows(blocks.R[blocks.sliding], blocks.YR[blocks.sliding])
    else:
        responses = Y
    J[locked != 0] = 0.0
    return UnilateralRows(J=J, Y=Y, responses=responses, locked=locked, bilateral=bilateral)
