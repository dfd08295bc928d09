"""The step's contact problem with Coulomb's exact cone, from the rows of its LCP.

With the bilateral rows eliminated, as in `discretized`, and the unknowns ordered [fN | fF] contact by contact, then
fL::

        | h N C N' + gN   h N C F'        h N C L'      |        |  N v0 + kN |
    W = | h F C N'        h F C F' + gF   h F C L'      |   q =  |  F v0 + kF |       u = W r + q
        | h L C N'        h L C F'        h L C L' + gL |        |  L v0 + kL |

K* contains (u_N + mu |u_T|, u_T), K = {|fF| <= mu fN} contains (fN, fF); a limit is a contact of one component, and so
is each variable x and y of a boxed row. These are rows and columns of the LCP, not assembled again: those of the edges
fF+.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

import lcp
from contactlab.formulation.discretized import DiscretizedLCP
from contactlab.spatial.arrays import FloatArray, IntArray
from problem_data import ConstraintVelProblemData, ProblemDataError
from problem_data.validation import check_cones

# Cosine above which two tangents of a contact span nothing.
_PARALLEL = 1.0 - 1e-9


@dataclass(frozen=True, eq=False)
class ConeUnknowns:
    """Unknowns of a friction problem, and the way back to the vector of the LCP that it comes from."""

    places: IntArray  # (m,) place of each of them in [fN | fF+ | fF- | lambda | fL, boxed rows]
    r: IntArray  # (nc,) tangents of each contact

    @classmethod
    def of(cls, n: int, r: IntArray) -> Self:
        """Contacts with r (nc,) tangents in their order, then limits and variables of boxed rows, of n in the LCP."""
        nc, nr = len(r), int(r.sum())
        first = nc + np.cumsum(r) - r
        parts = [np.concatenate(([c], first[c] + np.arange(r[c]))) for c in range(nc)]
        return cls(np.concatenate([*parts, np.arange(2 * nc + 2 * nr, n)]).astype(np.int64), r)

    def start(self, z0: FloatArray) -> FloatArray:
        """Return the start (m,) that an LCP's z0 stands for."""
        nc, nr = len(self.r), int(self.r.sum())
        signed = z0.copy()
        signed[nc : nc + nr] -= z0[nc + nr : nc + 2 * nr]
        return signed[self.places]

    def vector(self, force: FloatArray, u: FloatArray) -> FloatArray:
        """Forces (m,) as a vector of the LCP, and as lambda the speeds of slip in u (m,)."""
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
    """Refuse data whose friction rows are not the tangents of a cone, or that ask for what a cone has no place for.

    Two tangents per contact, or one each in planar data (a contact without friction may have none). That they are unit
    vectors at right angles cannot be seen from rows in generalised coordinates; that they span a plane can.

    Raises
    ------
    ProblemDataError
        Naming the field, the contact, and what to do.
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
        The data do not fit a cone (`check_cone_data`), or the matrix not into memory.
    """
    check_cone_data(formed.data)
    blocks = formed.data.blocks()
    return cone_problem(formed.dense_matrix(), formed.qq, blocks.r, blocks.mu)
