"""Anitescu's convex relaxation of Coulomb friction: contact forces as one convex quadratic program.

With A and b the part of the contact LCP in the forces f = (fN, fF+, fF-, fL), and E the edges by contact::

    min  1/2 f' A f + b' f + 1/2 sum gammaE lambda^2    over  f, lambda >= 0,  E' fF <= mu fN + gammaE lambda

Its optimality conditions are the LCP of `discretized` with one block more, -mu in the rows fN and columns lambda; the
matrix is then monotone. Only the normal rows change::

    Coulomb     0 <= fN  _|_  N v+ + kN + gammaN fN              >= 0
    relaxed     0 <= fN  _|_  N v+ + kN + gammaN fN - mu lambda  >= 0,      lambda the sliding speed

so that bodies at rest against each other get Coulomb's forces, and a contact that slides at speed s on a gap of zero
separates at the speed mu s. Over a gap of h mu s, with kN = gap / h, the forces are Coulomb's again: a body that slides
on does so at that distance, which vanishes with h (Anitescu 2006). One that begins to slide in contact hops first.

The program is solved over the generators of the cones, on which it is a symmetric LCP: with x = (a, b, t, fL) >= 0,
fN = a + E' b, fF = (E mu) b + (E gammaE) t, lambda = E' t. Boxed rows stand beside fL; with two bounds they make it a
monotone one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

import lcp
from contactlab.formulation.discretized import DiscretizedLCP
from contactlab.formulation.friction_backend import (
    ContactLayout,
    FrictionAnswer,
    check_flag,
    check_qp,
    check_tolerance,
    sharpened,
    verified,
)
from contactlab.formulation.stated_law import VERIFIED, relaxed_lcp
from contactlab.spatial.arrays import FloatArray


@dataclass(frozen=True)
class ConvexRelaxation:
    """Forces by the convex relaxation of Coulomb's law, in the place of an LCP solver.

    Unique in v+, and exact without friction and where nothing slides. A sliding contact opens at mu times its sliding
    speed, which the certificate shows as ``normal_complementarity``. Infeasible where no velocity meets the relaxed
    rows, which Coulomb's problem may survive.

    Parameters
    ----------
    qp : lcp.Solver
        Solver of symmetric positive semidefinite LCPs: `lcp.OSQP`, `lcp.CVXPY`, or `lcp.Lemke`.
    tolerance : float
        Backward error of the relaxed LCP up to which an answer counts as solved; of a step, see
        `contactlab.formulation.stated_law`. The default is far above polished answers; a larger one is for a code and
        a relaxation without ``polish``.
    polish : bool
        Solve the active rows of the relaxed LCP at once, from the code's answer (see `lcp.Refined`). Where that fails,
        an LCP solver continues from there.

    References
    ----------
    M. Anitescu, Optimization-based simulation of nonsmooth rigid multibody dynamics, Math. Programming 105 (2006).
    """

    qp: lcp.Solver = field(default_factory=lcp.OSQP)
    tolerance: float = VERIFIED
    polish: bool = True

    law: ClassVar[str] = "relaxed"

    def __post_init__(self) -> None:
        check_qp(self.qp)
        check_tolerance(self.tolerance)
        check_flag("polish", self.polish)

    def solve_contacts(self, formed: DiscretizedLCP, *, z0: FloatArray | None = None) -> FrictionAnswer:
        """Forces of the relaxed problem, verified on its LCP."""
        at = ContactLayout.of(formed)
        problem = relaxed_lcp(formed)
        result = verified(problem, self, partial(self._claim, problem, at, z0), self.tolerance)
        relaxed = bool((_Cone.of(formed.MM, at).slope > 0.0).any())
        return FrictionAnswer(problem, result, relaxed, ("normal_complementarity",) if relaxed else ())

    def _claim(self, problem: lcp.LCP, at: ContactLayout, z0: FloatArray | None) -> lcp.Claim:
        from scipy import sparse

        MM, q = np.asarray(problem.M), problem.q
        cone = _Cone.of(MM, at)
        # A generator has few entries: products with a dense T would take longer than the program.
        T: Any = sparse.csr_array(cone.T)
        physical = np.r_[at.normals, at.edges, at.rest]
        A = MM[np.ix_(physical, physical)]
        P = T.T @ (A @ T) + cone.penalty
        start = None if z0 is None else cone.coordinates(z0, at)
        solution = lcp.solve(lcp.LCP(P, T.T @ q[physical]), self.qp, z0=start)
        z = np.zeros(len(q))
        z[physical] = T @ solution.z
        # Opposite edges may both pull where neither is needed: what they share does nothing.
        plus, minus = np.split(z[at.edges], 2)
        z[at.edges] -= np.tile(np.minimum(plus, minus), 2)
        rates = A @ z[physical] + q[physical]
        z[at.slacks] = cone.slacks(solution.z, rates[at.edges])
        status, proof, detail = solution.status, None, solution.attempts[-1].detail
        if status is lcp.Status.INFEASIBLE:
            # The proof has to speak of the rows that are certified, not of generators.
            proof = lcp.infeasibility_proof(problem)
            status = lcp.Status.STALLED if proof is None else status
            detail += "; no velocity meets the relaxed rows, though one may meet Coulomb's"
        # What generators round, and what the code left, unless its own answers are asked for as they are.
        z = sharpened(problem, z) if self.polish and np.isfinite(z).all() else z
        return lcp.Claim(z, status, solution.iterations, detail, evidence=proof)


@dataclass(frozen=True, eq=False)
class _Cone:
    """The friction cones by generators, and the rest: f = T x, x = (a, b, t, fL, ...) >= 0."""

    T: FloatArray  # (n - nc, m) one generator per column
    penalty: FloatArray  # (m, m) second derivative of 1/2 sum gammaE lambda^2
    E: FloatArray  # (2 nr, nc) edges by contact
    #: slope, give: (2 nr,) E mu and E gammaE: friction coefficient and softening of each edge.
    slope: FloatArray
    give: FloatArray
    #: (m of all,) columns that T has of all those there might be: no edge without friction, no t without softening.
    kept: NDArray[np.bool_]

    @classmethod
    def of(cls, MM: FloatArray, at: ContactLayout) -> _Cone:
        """Read mu, gammaE and E off the rows and columns of the slacks."""
        E = MM[at.edges, at.slacks]
        slope = E @ np.diag(MM[at.slacks, at.normals])
        softening = np.diag(MM[at.slacks, at.slacks])
        give = E @ softening
        ne, nc = E.shape
        others = at.rest.stop - at.rest.start
        T = np.zeros((nc + ne + others, nc + 2 * ne + others))
        normals, edges, rest = np.split(T, [nc, nc + ne])
        normals[:, :nc] = np.eye(nc)
        normals[:, nc : nc + ne] = E.T
        edges[:, nc : nc + ne] = np.diag(slope)
        edges[:, nc + ne : nc + 2 * ne] = np.diag(give)
        rest[:, nc + 2 * ne :] = np.eye(others)
        penalty = np.zeros((T.shape[1], T.shape[1]))
        penalty[nc + ne : nc + 2 * ne, nc + ne : nc + 2 * ne] = (E * softening) @ E.T
        kept = np.concatenate((np.ones(nc, bool), slope > 0.0, give > 0.0, np.ones(others, bool)))
        return cls(T[:, kept], penalty[np.ix_(kept, kept)], E, slope, give, kept)

    def coordinates(self, z: FloatArray, at: ContactLayout) -> FloatArray:
        """Generator coordinates near the forces of z; softening's share is left to the solver."""
        b = np.divide(z[at.edges], self.slope, out=np.zeros(len(self.slope)), where=self.slope > 0.0)
        a = z[at.normals] - self.E.T @ b
        every = np.concatenate((a, b, np.zeros(len(b)), z[at.rest]))
        start: FloatArray = np.maximum(every[self.kept], 0.0)
        return start

    def slacks(self, x: FloatArray, rates: FloatArray) -> FloatArray:
        """Lambda (nc,): what softening gave, and without softening the least that the rates of all edges admit."""
        ne, nc = self.E.shape
        every = np.zeros(len(self.kept))
        every[self.kept] = x
        least: FloatArray = np.max(self.E * -rates[:, None], axis=0, initial=0.0)
        return np.where(self.E.T @ self.give > 0.0, self.E.T @ every[nc + ne : nc + 2 * ne], least)
