"""Test whether the motion of a contact problem is unique, even if its forces are not.

Forces of redundant contacts are not unique, but the motion may be. With friction, and if bodies collide at several
points simultaneously, one state can have several velocities after it, each a solution of the same LCP. Two solutions z
differ in the velocity by |v1 - v2|_M = |R (z1 - z2)|, where R' R is the response of the rows along z. This distance is
compared with |v|_M before the step and with the effect of the forces, never with the velocity after the step.

References
----------
M. Halm, M. Posa, "Set-valued rigid-body dynamics for simultaneous, inelastic, frictional impacts", Int. J. Robotics
Research 43 (2024); "Modeling and analysis of non-unique behaviors in multiple frictional impacts", RSS (2019).
R. W. Cottle, J.-S. Pang, R. E. Stone, The Linear Complementarity Problem (1992), theorem 3.1.7 (monotone problems).
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

import lcp
from contactlab.constraint_solver.acceleration import AccelerationLCP, form_acceleration_lcp
from contactlab.constraint_solver.blocks import free_motion
from contactlab.constraint_solver.discretized import (
    DiscretizedLCP,
    form_discretized_lcp,
    form_impact_lcp,
    recover_forces,
)
from contactlab.multibody.spatial.arrays import FloatArray
from lcp.farkas import linear_program
from problem_data import (
    AccelerationBlocks,
    ConstraintAccelProblemData,
    ConstraintVelProblemData,
    ProblemDataError,
    VelocityBlocks,
)

# Velocities count as equal if they differ by less than this fraction of the initial speed and the speeds by forces.
DISTINCT = 1e-6
# Fractions that count as zero: of the terms of a row, of the largest singular value, and of the speeds.
ZERO, SINGULAR, DUST = 1e-8, 1e-10, 1e-14
# Maximum number of variables with z = w = 0 whose combinations are all tried; number of solves of larger problems.
MAX_DEGENERATE, ANSWERS = 12, 8


class VelocityCount(enum.Enum):
    """Number of velocities that solve a problem."""

    ONE = "one velocity"
    SEVERAL = "several velocities"
    NONE = "no solution"
    NOT_SEARCHED = "not searched to the end"


@dataclass(frozen=True, eq=False)
class Uniqueness:
    """Velocities that solve a problem: one, several, none, or unknown.

    Attributes
    ----------
    verdict
        ``ONE`` and ``NONE`` are proven, ``SEVERAL`` is shown by examples, and ``NOT_SEARCHED`` is undecided.
    reason
        Reason of the verdict.
    velocities
        Distinct v+ (nv,) that were found; two or more for ``SEVERAL``.
    solutions
        For each of them a z (n,) of the LCP (`contactlab.constraint_solver.discretized`) that causes it.
    enumerated
        Number of solutions of the LCP that enumeration lists; None without enumeration.
    """

    verdict: VelocityCount
    reason: str
    velocities: tuple[FloatArray, ...] = ()
    solutions: tuple[FloatArray, ...] = ()
    enumerated: int | None = None

    @property
    def unique(self) -> bool | None:
        """Return True if there is exactly one velocity; None if this is unknown."""
        return None if self.verdict is VelocityCount.NOT_SEARCHED else self.verdict is VelocityCount.ONE

    def __str__(self) -> str:
        found = [" ".join(f"{x:.6g}" for x in v) for v in self.velocities]
        shown = f": {'; '.join(found)}" if self.verdict is VelocityCount.SEVERAL else ""
        return f"{self.verdict.value} ({self.reason}){shown}"


def motion_is_unique(
    data: ConstraintVelProblemData | ConstraintAccelProblemData,
    h: float | None = None,
    *,
    max_n: int = 12,
    tolerance: float = 1e-9,
) -> Uniqueness:
    """Return the number of velocities after a step or an impact, or of accelerations at an instant.

    Without friction, and if the LCP is monotone, there is at most one, the solution of a convex program. Otherwise
    every basis of a small LCP is tried, and, for a continuum of solutions, changes of the velocity along its pieces. A
    larger LCP is solved along several directions, which can show several velocities; `lcp.all_solutions` can search it
    with proofs.

    Parameters
    ----------
    data : ConstraintVelProblemData or ConstraintAccelProblemData
        The problem, with a pyramid for friction. For the exact cone use ``data.with_friction("pyramid")``, whose four
        edges are within the cone. ``recording.problem(i)`` is the problem of a recorded step. For acceleration-level
        data, "velocity" below means acceleration.
    h : float, optional
        Step [s], ``recording.h[i]`` for a recorded one; without it, velocity-level data are an impact.
    max_n : int
        Largest size of an LCP whose 2^n bases are all tried. The default, two contacts in space with four edges each,
        takes seconds. Larger problems have many singular bases, which remain undecided.
    tolerance : float
        Bound on the backward error of a solution.

    Raises
    ------
    ProblemDataError
        Friction has the exact cone.

    Examples
    --------
    A rod falls flat onto both of its ends, without friction:

    >>> import problem_data
    >>> data = problem_data.ConstraintVelProblemData(
    ...     M=[[1, 0, 0], [0, 1, 0], [0, 0, 1 / 3]], Mv=[0, -1, 0], N=[[0, 1, -1], [0, 1, 1]]
    ... )
    >>> motion_is_unique(data).verdict.value
    'one velocity'
    """
    formed: DiscretizedLCP | AccelerationLCP
    blocks: VelocityBlocks | AccelerationBlocks
    acting: FloatArray  # (nu + nbox, nv) the directions of the forces
    if isinstance(data, ConstraintAccelProblemData):
        formed, own = form_acceleration_lcp(data), data.blocks()
        acting = np.concatenate((own.R, formed.rows.J[own.nc :]))
        blocks, nbox, unit_time, given = own, 0, 1.0, own.tau
    else:
        if data.friction != "pyramid" and data.mu.any():
            detail = 'velocities are searched with pyramids; use data.with_friction("pyramid")'
            raise ProblemDataError("friction", f"{data.friction!r}: {detail}")
        formed = form_impact_lcp(data) if h is None else form_discretized_lcp(data, h)
        blocks, unit_time, acting = data.blocks(), formed.h, formed.rows.J
        nbox, given = blocks.nbox, blocks.Mv
    n, nu = len(formed.qq), blocks.nc + blocks.nr + blocks.nl

    def recovered(z: FloatArray) -> tuple[FloatArray, FloatArray]:
        f, motion = recover_forces(unit_time, formed.rows, blocks, z.copy())
        return np.concatenate((f[:nu], f[f.size - nbox :])), motion

    at_zero = recovered(np.zeros(n))[0]
    forces = np.stack([recovered(unit)[0] for unit in np.eye(n)], axis=1) - at_zero[:, None] if n else np.zeros((0, 0))
    W = acting @ formed.rows.responses.T
    values, vectors = np.linalg.eigh(0.5 * (W + W.T))
    R = unit_time * np.sqrt(np.maximum(values, 0.0))[:, None] * (vectors.T @ forces)
    search = _UniquenessSearch(formed.problem, R, max(0.0, float(given @ free_motion(blocks))) ** 0.5, tolerance)
    found = search.monotone() or search.enumerated(max_n) or search.sampled()
    if found is None:
        answers = "one velocity in all answers" if search.distinct else "no answer"
        found = (
            VelocityCount.NOT_SEARCHED,
            f"{n} variables, more than max_n = {max_n}: bases not tried; {answers}",
            None,
        )
    verdict, reason, enumerated = found
    solutions = tuple(search.distinct)
    return Uniqueness(verdict, reason, tuple(recovered(z)[1] for z in solutions), solutions, enumerated)


_Verdict = tuple[VelocityCount, str, int | None]


@dataclass(eq=False)
class _UniquenessSearch:
    """State of one search: the problem, the map from z to velocities, and solutions with distinct velocities."""

    problem: lcp.LCP
    R: FloatArray  # (m, n)
    speed: float  # |v|_M before
    tolerance: float
    distinct: list[FloatArray] = field(default_factory=list)
    status: str = ""  # of the called solver

    def monotone(self) -> _Verdict | None:
        """Return the verdict for a monotone problem in which z' M z > 0 for all z that change the velocity, or None.

        Such a problem has at most one velocity. Problems that are not monotone, or not clearly, give None.
        """
        M = self.problem.M
        S = 0.5 * (M + M.T)
        sizes = np.diagonal(S)
        felt = sizes > 0.0
        if (sizes < 0.0).any() or S[~felt].any() or self.R[:, ~felt].any():
            return None
        unit = 1.0 / np.sqrt(sizes[felt])
        values, vectors = np.linalg.eigh(unit[:, None] * S[np.ix_(felt, felt)] * unit)
        small = values <= SINGULAR
        change = np.linalg.norm(self.R[:, felt] @ (unit[:, None] * vectors[:, small]), axis=0)
        largest = np.linalg.norm(self.R[:, felt] * unit, axis=0).max(initial=0.0)
        if (values < -SINGULAR).any() or (change > np.sqrt(10.0 * SINGULAR) * largest).any():
            return None
        return self._solved("monotone: at most one") or (
            VelocityCount.NOT_SEARCHED,
            f"monotone: at most one, but none was found ({self.status})",
            None,
        )

    def enumerated(self, max_n: int) -> _Verdict | None:
        """Decide by all bases; None if there are too many."""
        if self.problem.n > max_n:
            return None
        listed = lcp.enumerate_solutions(self.problem, max_n=max_n, tolerance=self.tolerance)
        for z in listed.solutions:
            self.enter(z)
        # Other points of a continuum of solutions can have other velocities.
        followed = all([self.follow(z) for z in listed.solutions]) if listed.continuum else True
        count, how = len(listed.solutions), f"all {listed.bases} bases tried"
        if len(self.distinct) > 1:
            return VelocityCount.SEVERAL, f"{how}, {count} solutions listed", count
        if not (listed.complete and followed):
            return VelocityCount.NOT_SEARCHED, f"{how}, but rounding or degeneracy leaves some undecided", count
        return (VelocityCount.ONE if count else VelocityCount.NONE), how, count

    def sampled(self) -> _Verdict | None:
        """Search for velocities among the solutions of Lemke's method along several directions."""
        n = self.problem.n
        none = self._solved("")
        if none is not None and none[0] is VelocityCount.NONE:
            return none
        random = np.random.default_rng(n)
        for _ in range(ANSWERS):
            solver = lcp.Lemke(covering_vector=tuple(random.uniform(0.1, 1.0, n)))
            result = lcp.solve(self.problem, solver, tolerance=self.tolerance)
            if result.status is lcp.Status.SOLVED:
                self.enter(result.z)
        for z in tuple(self.distinct):
            self.follow(z)
        return (VelocityCount.SEVERAL, f"answers of one problem of {n} variables", None) if self.distinct[1:] else None

    def enter(self, z: FloatArray) -> bool:
        """Add z (n,) to the distinct solutions if its velocity differs; return True if so."""
        effect = np.linalg.norm(self.R, axis=0)
        for other in self.distinct:
            scale = self.speed + max(float(effect @ np.abs(z)), float(effect @ np.abs(other)))
            if float(np.linalg.norm(self.R @ (z - other))) <= DISTINCT * scale:
                return False
        self.distinct.append(z)
        return True

    def follow(self, z: FloatArray) -> bool:
        """Add solutions connected with z that have other velocities; return True if all pieces of z were checked."""
        M, q = self.problem.M, self.problem.q
        # Remove forces that are only rounding, because in rows without other terms they would count.
        effect = np.linalg.norm(self.R, axis=0) * z
        cleaned = np.where((effect > 0.0) & (effect <= DUST * (self.speed + effect.sum())), 0.0, z)
        z = cleaned if lcp.residuals(self.problem, cleaned).solved(self.tolerance) else z
        w = M @ z + q
        sizes = np.abs(M) @ np.abs(z) + np.abs(q)
        noise = 0.0 if self.problem.q_uncertainty is None else self.problem.q_uncertainty
        tight = np.abs(w) <= np.maximum(ZERO * sizes, noise)
        matters = np.abs(M) * np.abs(z) > ZERO * np.where(sizes > 0.0, sizes, 1.0)[:, None]
        positive = matters.any(axis=0)
        either = np.flatnonzero(tight & ~positive)
        if (positive & ~tight).any() or either.size > MAX_DEGENERATE:
            return False
        for choice in itertools.product((False, True), repeat=either.size):
            basic = positive.copy()
            basic[either[list(choice)]] = True
            for d in self._directions(basic, either):
                self._walk(z, w, d, positive, tight)
        return True

    def _directions(self, basic: NDArray[np.bool_], either: NDArray[np.intp]) -> Iterator[FloatArray]:
        """Yield directions (n,) along the piece of a basis that change the velocity, one for each kind of change."""
        M, inside = self.problem.M, np.flatnonzero(basic)
        if not inside.size:
            return
        block = M[np.ix_(inside, inside)]
        # Rows that are always zero keep their unit, because 1 / tiny would overflow the ends of a piece.
        rows, columns = (
            np.where(most > 0.0, 1.0 / np.maximum(most, np.finfo(float).tiny), 1.0)
            for most in (np.abs(block).max(axis=k) for k in (1, 0))
        )
        _, values, Vt = np.linalg.svd(rows[:, None] * block * columns)
        null = columns[:, None] * Vt[values <= SINGULAR * values[0]].T if values[0] > 0.0 else np.diag(columns)
        U, moved, _ = np.linalg.svd(self.R[:, inside] @ null, full_matrices=False)
        unit = np.linalg.norm(self.R[:, inside] * columns, axis=0).max(initial=0.0)
        kept = np.flatnonzero(basic[either])
        others = either[~basic[either]]
        signs = np.concatenate((null[np.searchsorted(inside, either[kept])], M[np.ix_(others, inside)] @ null))
        lengths = np.abs(signs).max(axis=1, initial=0.0, keepdims=True)
        signs = np.divide(signs, lengths, out=np.zeros_like(signs), where=lengths > 0.0)
        for along in U[:, moved > DISTINCT * unit].T:
            gain = along @ self.R[:, inside] @ null
            for sense in (1.0, -1.0):
                cost, zeros = -sense * gain / np.abs(gain).max(), np.zeros(len(signs))
                found = linear_program(cost, -signs, b_ub=zeros, bounds=(-1.0, 1.0))
                if found is not None and found.fun < -DISTINCT:
                    d = np.zeros(self.problem.n)
                    d[inside] = null @ found.x
                    yield d

    def _walk(
        self, z: FloatArray, w: FloatArray, d: FloatArray, positive: NDArray[np.bool_], tight: NDArray[np.bool_]
    ) -> None:
        """Add the solution at the end of a piece, or where forces have changed the motion by its whole speed."""
        rate = self.problem.M @ d
        ends = [z[i] / -d[i] for i in np.flatnonzero(positive & (d < 0.0))]
        ends += [w[i] / -rate[i] for i in np.flatnonzero(~tight & (rate < 0.0))]
        size = self.speed + float(np.linalg.norm(self.R @ z))
        far = (size if size > 0.0 else 1.0) / float(np.linalg.norm(self.R @ d))
        end = np.maximum(z + min([far, *ends]) * d, 0.0)
        if lcp.residuals(self.problem, end).solved(self.tolerance):
            self.enter(end)

    def _solved(self, how: str) -> _Verdict | None:
        """Return ONE for a solved problem known to have at most one velocity, NONE with a proof, otherwise None."""
        result = lcp.solve(self.problem, tolerance=self.tolerance)
        self.status = result.status.name
        if result.status is lcp.Status.SOLVED:
            self.enter(result.z)
            return VelocityCount.ONE, how, None
        if result.status in (lcp.Status.INFEASIBLE, lcp.Status.UNSOLVABLE):
            return VelocityCount.NONE, result.status.value, None
        return None
