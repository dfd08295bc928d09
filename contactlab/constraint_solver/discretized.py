"""The contact problem of a step at velocity level, in force units: forming it, updating h, and unpacking solutions.

v0 is the velocity that satisfies the bilateral rows without unilateral forces, and C the inverse inertia that these
rows leave. The problem is an LCP in [fN | fF+ | fF- | lambda | fL] over a step h (Anitescu and Potra 1997, bilateral
rows eliminated). Only `kernels.discretized_lcp` assembles it, for every h and for the compiled step.

Boxed rows add variables x and y after fL (`lcp.contacts.kernels.boxed_rows`). fB = lo + x is coupled with the other
rows like these with one another, 0 <= x _|_ s + y >= 0, s = B v+ + kB + gammaB fB, and 0 <= y _|_ hi - lo - x >= 0::

         | ...               h . C B'        0 |        | ... + h . C B' lo                    |
    MM = | h B C .'   ...    h B C B' + gB   1 |   qq = | B v0 + kB + (h B C B' + gB) lo       |
         | 0                -1               0 |        | hi - lo                              |

With Coulomb's exact cone the same rows state a friction problem. With the unknowns ordered as [fN | fF] contact by
contact, followed by fL, it is::

        | h N C N' + gN   h N C F'        h N C L'      |        |  N v0 + kN |
    W = | h F C N'        h F C F' + gF   h F C L'      |   q =  |  F v0 + kF |       u = W r + q
        | h L C N'        h L C F'        h L C L' + gL |        |  L v0 + kL |

K* contains (u_N + mu |u_T|, u_T), and K = {|fF| <= mu fN} contains (fN, fF). A limit is a contact of one component, and
so is each variable x and y of a boxed row. W and q are rows and columns of the LCP, for friction the ones of fF+, and
are not assembled again.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

import lcp
from contactlab.constraint_solver.blocks import (
    ALL_COLUMNS,
    Blocks,
    UnilateralRows,
    bilateral_part,
    check_step,
    force_responses,
    free_motion,
    lcp_size,
    lcp_size_text,
    unilateral_rows,
    without_bilateral,
    zero_force_z,
)
from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from problem_data import ConstraintForces, ConstraintVelProblemData, ProblemDataError
from problem_data.validation import check_cones, float_array

if TYPE_CHECKING:
    from lcp.contacts.kernels.contact_system import ContactSystem

# Uncertainty of a rate, relative to the largest rate of the problem. Rates are sums over the same velocities, with few
# rounding errors. Gaps divided by h have larger ones: positions of 1 m over a step of 1 ms have errors of 1e-13 m/s,
# and for redundant contacts these contradict one another.
_NOISE = 2.0**-30
# Number of dense matrices in memory during a solve: this module's, the problem's, and the solver's.
_MATRICES = 3


def stated_lcp(MM: FloatArray, qq: FloatArray, lo: FloatArray, hi: FloatArray, first_cone: int, ncone: int) -> lcp.LCP:
    """Return the LCP with the uncertainty of its q; ``lo`` and ``hi`` (nbox,) are the bounds of boxed rows.

    A tangential rate of 1e-16 is zero if others are 1e-2. A rate of zero is equally uncertain if the entries of its row
    are remainders of sums that cancel. Rows of friction cones, from ``first_cone`` on, have no rate. Rows with the
    distance between two bounds of a force have one by convention only.
    """
    from lcp.contacts.kernels.boxed_rows import boxed_variables

    rooms = boxed_variables(lo, hi)[1] if lo.size else 0
    largest = float(np.abs(qq[: len(qq) - rooms]).max(initial=0.0))
    noise = np.full(len(qq), _NOISE * largest)
    noise[first_cone : first_cone + ncone] = 0.0
    return lcp.LCP(MM, qq, noise)


@dataclass(frozen=True, eq=False)
class BaseLCP:
    """The LCP at h = 1 without softening, and the data to state it for any h.

    MM and qq are assembled on first access and then kept, because contact forces are found without a matrix, which
    takes 8 n^2 bytes.

    Parameters
    ----------
    rows : UnilateralRows
        Rows and responses with the bilateral rows eliminated.
    data : ConstraintVelProblemData
        The problem the operators came from.
    """

    rows: UnilateralRows
    data: ConstraintVelProblemData

    @property
    def kernel_rows(self) -> ContactSystem:
        """The rows in the form of the kernels."""
        problem = self.rows.problem(1.0, self.data.blocks())
        return problem._replace(gamma=np.zeros_like(problem.gamma), gammaE=np.zeros_like(problem.gammaE))

    @property
    def n(self) -> int:
        """Number of variables: nc + 2 nr + ncone + nl and the variables of boxed rows."""
        return lcp_size(self.data.blocks())

    @property
    def a(self) -> FloatArray:
        """(-Mv; kG) (nv + nb,), the constant of the equations A (v+, fG) + a = 0 without unilateral forces."""
        blocks = self.data.blocks()
        return np.concatenate((-blocks.Mv, blocks.k[bilateral_part(blocks)]))

    @property
    def MM(self) -> FloatArray:
        """Matrix (n, n) of the LCP, dense."""
        return self._assembled[0]

    @cached_property
    def qq(self) -> FloatArray:
        """Vector (n,) of the LCP."""
        from contactlab.constraint_solver.kernels.discretized_lcp import fill_rates

        if self.data.nbox > 0:
            return self._assembled[1]
        qq = np.empty(self.n)
        fill_rates(self.kernel_rows, qq)
        return qq

    @cached_property
    def _assembled(self) -> tuple[FloatArray, FloatArray]:
        """The assembled M (n, n) and q (n,)."""
        from contactlab.constraint_solver.kernels.discretized_lcp import assemble_lcp

        MM, qq = np.empty((self.n, self.n)), np.empty(self.n)
        assemble_lcp(self.kernel_rows, MM, qq)
        return MM, qq

    @property
    def problem(self) -> lcp.LCP:
        """MM and qq as a problem with the uncertainty of qq; raises like `dense_matrix`."""
        return self.with_matrix(self.dense_matrix())

    def dense_matrix(self) -> FloatArray:
        """Return MM; raise if it, a copy and the solver's matrices need more memory than this machine has.

        Raises
        ------
        ProblemDataError
            The memory is too small; the text gives n and names the methods without a matrix.
        """
        if _MATRICES * 8 * self.n**2 > _memory():
            raise self.memory_error()
        return self.MM

    def with_matrix(self, MM: Any) -> lcp.LCP:
        """Return the LCP of qq and a given matrix (n, n), dense or sparse, with the uncertainty of its q."""
        blocks = self.data.blocks()
        return stated_lcp(MM, self.qq, blocks.lo, blocks.hi, blocks.nc + 2 * blocks.nr, blocks.ncone)

    def memory_error(self) -> ProblemDataError:
        """Return the error for a dense matrix that does not fit into memory."""
        detail = (
            f"{self.data!r} make an LCP of n = {self.n} variables: {8 * self.n**2 / 2**30:.3g} GiB as a dense matrix, "
            "and more of them to solve it. EqualCompliance() finds forces of contacts without it (give tree_starts); "
            "lcp.GlobalFrictionProblem poses contacts with the exact cone to solvers that stay sparse"
        )
        return ProblemDataError("data", detail)

    def solve(self, B: ArrayLike) -> FloatArray:
        """Solve A X = B for B (nv + nb,) or (nv + nb, m), with A = [[M, -G'], [G, 0]]."""
        right = np.asarray(B, dtype=np.float64)
        nv, nb = self.data.nv, self.data.nb
        if right.ndim not in (1, 2) or right.shape[0] != nv + nb:
            raise ProblemDataError("B", f"shape {right.shape}, wanted ({nv + nb},) or ({nv + nb}, m): nv + nb rows")
        top = np.asarray(self.data.solve_inertia(right[:nv]), dtype=np.float64)
        bilateral = self.rows.bilateral
        if bilateral is None:
            return top
        # M v = y + G' f and G v = z: f is the impulse with which G v - z becomes zero.
        columns = zip(top.reshape(nv, -1).T, right[nv:].reshape(nb, -1).T, strict=True)
        solved = [np.concatenate(bilateral.add_impulses(y, -z)[::-1]) for y, z in columns]
        return np.stack(solved, axis=1).reshape(right.shape)


@dataclass(frozen=True, eq=False)
class DiscretizedLCP(BaseLCP):
    """The LCP of one step h, softening included: forces in newtons, see `BaseLCP` for the fields."""

    h: float

    @property
    def kernel_rows(self) -> ContactSystem:
        """The rows in the form of the kernels."""
        return self.rows.problem(self.h, self.data.blocks())


def construct_base_discretized_time_lcp(data: ConstraintVelProblemData) -> BaseLCP:
    """Return the LCP at h = 1 without softening, the part that all step sizes share.

    It always has full size, even if the free velocity violates no row.
    """
    return BaseLCP(rows=unilateral_rows(data.blocks()), data=data)


def update_discretized_time_lcp(base: BaseLCP, data: ConstraintVelProblemData, h: float) -> DiscretizedLCP:
    """Return the LCP of a step h [s] with the operators of ``base`` and the vectors of ``data``.

    The operators (and the inertia) of ``data`` must equal the ones of ``base``. All vectors, bounds included, can
    differ; n changes with the kinds of bounds. ``base`` is not modified, so updates do not accumulate.

    Raises
    ------
    ProblemDataError
        h is not positive, or the row counts differ from ``base``.
    """
    step = check_step(h)
    for name in ("nv", "nc", "ncone", "nr", "nl", "nb", "nbox"):
        wanted, met = getattr(base.data, name), getattr(data, name)
        if wanted != met:
            raise ProblemDataError("data", f"{name} = {met}, wanted {wanted} as in the base problem")
    return DiscretizedLCP(rows=base.rows, data=data, h=step)


def form_discretized_lcp(data: ConstraintVelProblemData, h: float) -> DiscretizedLCP:
    """Return the LCP of a step h [s]: the result of `update_discretized_time_lcp`, made directly from the data."""
    step = check_step(h)
    return DiscretizedLCP(rows=unilateral_rows(data.blocks()), data=data, h=step)


def form_impact_lcp(data: ConstraintVelProblemData) -> DiscretizedLCP:
    """Return the LCP of the impulses [N s] at one instant: the LCP of a step with h = 1, dimensionless.

    The gammas are therefore in 1/kg: divide a gamma for forces over a step h [s/kg] by h first. Bounds of boxed rows
    are impulses.
    """
    return form_discretized_lcp(data, 1.0)


def populate_packed_constraint_forces_from_lcp_solution(
    data: ConstraintVelProblemData, discretized: DiscretizedLCP, zz: ArrayLike, h: float
) -> ConstraintForces:
    """Unpack an LCP solution into forces [N, N m], including the bilateral ones.

    Parameters
    ----------
    data : ConstraintVelProblemData
        The problem.
    discretized : DiscretizedLCP
        Its LCP for the step h.
    zz : array_like, shape (n,)
        Solution of the LCP; length 0 stands for no unilateral force and the smallest boxed forces.
    h : float
        Step [s].

    Raises
    ------
    ProblemDataError
        h is not positive or differs from the LCP's h, or zz has the wrong length or an entry that is not finite.
    """
    step = check_step(h)
    if step != discretized.h:
        raise ProblemDataError("h", f"{step}, but the LCP was formed for {discretized.h}")
    blocks = data.blocks()
    n = lcp_size(blocks)
    if discretized.n != n:
        raise ProblemDataError("discretized", f"of size {discretized.n}, wanted {n}: {lcp_size_text(blocks)}")
    given = np.shape(zz) != (0,)
    z = float_array("zz", zz, (n,), f"{lcp_size_text(blocks)}, or (0,)") if given else zero_force_z(blocks)
    packed, _ = recover_forces(step, discretized.rows, blocks, z)
    return ConstraintForces.from_packed(data, packed)


def recover_forces(h: float, rows: UnilateralRows, blocks: Blocks, z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return packed forces [fN | fF | fL | fG | fB] and v+ of an LCP solution.

    With bilateral rows, v+ is computed only from the forces and M^-1, so that its certificate tests the forces. At
    acceleration level h is 1 and v+ an acceleration.
    """
    from lcp.contacts.kernels.boxed_rows import recover

    nu = blocks.nc + blocks.nr + blocks.nl
    f = np.empty(nu + blocks.nbox)
    v_plus = np.empty(blocks.nv)
    recover(rows.problem(h, blocks)._replace(Y=rows.responses), z, f, v_plus)
    if rows.bilateral is None:
        return f, v_plus
    fG, v_plus = add_bilateral_forces(h, rows, blocks, f)
    return np.concatenate((f[:nu], fG, f[nu:])), v_plus


def add_bilateral_forces(
    h: float, rows: UnilateralRows, blocks: Blocks, f: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return bilateral forces (nb,) of minimum norm for forces f (nu + nbox,) of the other rows, and the motion."""
    from lcp.contacts.kernels.boxed_rows import add_impulses

    unilateral = free_motion(blocks).copy()
    responses = np.ascontiguousarray(without_bilateral(blocks, force_responses(blocks)))
    add_impulses(h, f, responses, ALL_COLUMNS, unilateral)
    if rows.bilateral is None:
        return np.zeros(blocks.nb), unilateral
    impulse, v_plus = rows.bilateral.add_impulses(unilateral, blocks.k[bilateral_part(blocks)])
    return impulse / h, v_plus


def _memory() -> float:
    """Return the memory [bytes] of this machine; inf if the system does not report it."""
    names = ("SC_PHYS_PAGES", "SC_PAGE_SIZE")
    if not hasattr(os, "sysconf") or not set(names) <= set(os.sysconf_names):
        return math.inf
    return float(math.prod(os.sysconf(name) for name in names))


# Cosine above which two tangents of a contact are parallel.
_PARALLEL = 1.0 - 1e-9


@dataclass(frozen=True, eq=False)
class ConeUnknowns:
    """Unknowns of a friction problem, and their conversion to the vector of the LCP."""

    places: IntArray  # (m,) index of each unknown in [fN | fF+ | fF- | lambda | fL, boxed rows]
    r: IntArray  # (nc,) tangents of each contact

    @classmethod
    def of(cls, n: int, r: IntArray) -> Self:
        """Return the unknowns of contacts with r (nc,) tangents, then limits and boxed variables, of n in the LCP."""
        nc, nr = len(r), int(r.sum())
        first = nc + np.cumsum(r) - r
        parts = [np.concatenate(([c], first[c] + np.arange(r[c]))) for c in range(nc)]
        return cls(np.concatenate([*parts, np.arange(2 * nc + 2 * nr, n)]).astype(np.int64), r)

    def from_lcp(self, z0: FloatArray) -> FloatArray:
        """Return the forces (m,) of the cone problem that correspond to z0 of the LCP, as a start for its solver."""
        nc, nr = len(self.r), int(self.r.sum())
        signed = z0.copy()
        signed[nc : nc + nr] -= z0[nc + nr : nc + 2 * nr]
        return signed[self.places]

    def to_lcp(self, force: FloatArray, u: FloatArray) -> FloatArray:
        """Return the z of the LCP for forces (m,) of the cone problem; lambda is the slip speed in the rates u (m,)."""
        nc, nr = len(self.r), int(self.r.sum())
        z, motion = (np.zeros(len(self.places) + nc + nr) for _ in range(2))
        z[self.places], motion[self.places] = force, u
        friction = z[nc : nc + nr].copy()
        z[nc : nc + nr] = np.maximum(friction, 0.0)
        z[nc + nr : nc + 2 * nr] = np.maximum(-friction, 0.0)
        square = np.zeros(nc)
        np.add.at(square, np.repeat(np.arange(nc), self.r), motion[nc : nc + nr] ** 2)
        z[nc + 2 * nr : 2 * nc + 2 * nr] = np.sqrt(square)
        return z


def check_cone_data(data: ConstraintVelProblemData) -> None:
    """Raise unless friction rows are tangents of cones and all terms are supported by cones.

    A contact needs two tangents, or one in planar data; a contact without friction can have none. Rows in generalised
    coordinates do not show whether tangents are orthogonal unit vectors, but show whether they span a plane.

    Raises
    ------
    ProblemDataError
        The text names the field, the contact, and a remedy.
    """
    check_cones(data.r, data.nc, data.gammaE)
    blocks = data.blocks()
    first = blocks.nc
    for c, r in enumerate(blocks.r):
        if r == 2:
            rows, responses = blocks.J[first : first + 2], blocks.Y[first : first + 2]
            (one, across), (_, two) = rows @ responses.T
            if abs(across) >= _PARALLEL * np.sqrt(one * two) and one * two > 0.0:
                how = 'friction="cone" needs two orthonormal tangents per contact'
                raise ProblemDataError("F", f"the two rows of contact {c} are parallel: {how}")
        first += int(r)


@dataclass(frozen=True, eq=False)
class ConeProblem(ConeUnknowns):
    """A friction problem with its unknowns."""

    problem: lcp.FrictionProblem


def cone_problem(MM: Any, qq: FloatArray, r: IntArray, mu: FloatArray) -> ConeProblem:
    """Return the cone problem of an LCP (MM, qq), dense or sparse, of contacts with r (nc,) tangents."""
    unknowns = ConeUnknowns.of(len(qq), r)
    places, rest = unknowns.places, len(unknowns.places) - len(r) - int(r.sum())
    friction = np.concatenate((np.where(r > 0, mu, 0.0), np.zeros(rest)))
    dims = np.concatenate((1 + r, np.ones(rest, dtype=np.int64)))
    problem = lcp.FrictionProblem(MM[np.ix_(places, places)], qq[places], friction, dims)
    return ConeProblem(places, r, problem)


def form_cone_problem(formed: DiscretizedLCP) -> ConeProblem:
    """Return the cone problem of a step's LCP, boxed rows included.

    Raises
    ------
    ProblemDataError
        The data do not fit a cone (`check_cone_data`), or the matrix does not fit into memory.
    """
    check_cone_data(formed.data)
    blocks = formed.data.blocks()
    return cone_problem(formed.dense_matrix(), formed.qq, blocks.r, blocks.mu)
