"""The step's contact problem with Coulomb's exact cone, from the rows of its LCP.

With the bilateral rows eliminated, as in `discretized`, and the unknowns ordered [fN | fF] contact by contact, then
fL::

        | h N C N' + gN   h N C F'        h N C L'      |        |  N v0 + kN |
    W = | h F C N'        h F C F' + gF   h F C L'      |   q =  |  F v0 + kF |       u = W r + q
        | h L C N'        h L C F'        h L C L' + gL |        |  L v0 + kL |

K* contains (u_N + mu |u_T|, u_T), K = {|fF| <= mu fN} contains (fN, fF); a limit is a contact of one component. These
are rows and columns of the LCP, not assembled anew: those of the edges fF+.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import lcp
from contactlab.formulation.discretized import DiscretizedLCP
from contactlab.spatial.arrays import FloatArray, IntArray
from problem_data import ConstraintVelProblemData, ProblemDataError, VelocityBlocks

# Cosine above which two tangents of a contact span nothing.
_PARALLEL = 1.0 - 1e-9


@dataclass(frozen=True, eq=False)
class ConeProblem:
    """A friction problem, and the way back to the vector of the LCP that it came from."""

    problem: lcp.FrictionProblem  # contacts in their order, then limits
    places: IntArray  # (m,) place of each of its unknowns in [fN | fF+ | fF- | lambda | fL]


def check_cone_data(data: ConstraintVelProblemData) -> None:
    """Refuse data whose friction rows are not the tangents of a cone, or that ask for what a cone has no place for.

    Two tangents per contact, or one each in planar data (a contact without friction may have none). That they are unit
    vectors at right angles cannot be seen from rows in generalised coordinates; that they span a plane can.

    Raises
    ------
    ProblemDataError
        Naming the field, the contact, and what to do.
    """
    how = 'friction="cone" needs two orthonormal tangents per contact (r = 2), or one each in planar data (r = 1)'
    not_here = 'friction="cone" does not know them; use friction="pyramid"'
    if data.ncone > data.nc:
        raise ProblemDataError("cone_contacts", f"{data.ncone - data.nc} further cones, of moments: {not_here}")
    kinds = np.unique(data.r[data.r > 0])
    if kinds.size and kinds[-1] > 2:
        c = int(np.argmax(data.r))
        raise ProblemDataError("r", f"r[{c}] = {data.r[c]}: {how}; give the rows of a frame (4 edges)")
    if kinds.size > 1:
        c = int(np.argmax(data.r == 1))
        raise ProblemDataError("r", f"r[{c}] = 1 beside contacts of 2: {how}; add the second tangent")
    softened = np.flatnonzero(data.gammaE != 0.0)
    if softened.size:
        c = int(softened[0])
        detail = f"gammaE[{c}] = {data.gammaE[c]}: it softens the slack of a pyramid, which a cone does not have"
        raise ProblemDataError("gammaE", f'{detail}; use gammaF, or friction="pyramid"')
    if data.nbox:
        raise ProblemDataError("B", f"{data.nbox} boxed rows: {not_here}")
    blocks = data.blocks()
    first = blocks.nc
    for c, r in enumerate(blocks.r):
        if r == 2:
            rows, responses = blocks.J[first : first + 2], blocks.Y[first : first + 2]
            (one, across), (_, two) = rows @ responses.T
            if abs(across) >= _PARALLEL * np.sqrt(one * two) and one * two > 0.0:
                raise ProblemDataError("F", f"the two rows of contact {c} are parallel: {how}")
        first += int(r)


def cone_places(nc: int, nl: int, r: IntArray) -> tuple[IntArray, IntArray]:
    """Places in [fN | fF+ | fF- | lambda | fL] of the unknowns of a cone problem, and the components per contact."""
    nr = int(r.sum())
    first = nc + np.cumsum(r) - r
    parts = [np.concatenate(([c], first[c] + np.arange(r[c]))) for c in range(nc)]
    parts.append(2 * nc + 2 * nr + np.arange(nl))
    return np.concatenate(parts).astype(np.int64), np.concatenate((1 + r, np.ones(nl, dtype=np.int64)))


def cone_problem(MM: FloatArray, qq: FloatArray, r: IntArray, mu: FloatArray, nl: int) -> ConeProblem:
    """The cone problem of an LCP (MM, qq) without boxed rows."""
    places, dims = cone_places(len(r), nl, r)
    friction = np.concatenate((np.where(r > 0, mu, 0.0), np.zeros(nl)))
    return ConeProblem(lcp.FrictionProblem(MM[np.ix_(places, places)], qq[places], friction, dims), places)


def form_cone_problem(formed: DiscretizedLCP) -> ConeProblem:
    """The cone problem of a step's LCP.

    Raises
    ------
    ProblemDataError
        The data do not fit a cone: see `check_cone_data`.
    """
    check_cone_data(formed.data)
    blocks = formed.data.blocks()
    return cone_problem(formed.MM, formed.qq, blocks.r, blocks.mu, blocks.nl)


def pyramid_vector(blocks: VelocityBlocks, places: IntArray, r: FloatArray, u: FloatArray) -> FloatArray:
    """The forces of a cone problem as a vector [fN | fF+ | fF- | lambda | fL]; lambda is the speed of slip."""
    return edges_of(blocks.r, blocks.nl, places, r, u)


def edges_of(r: IntArray, nl: int, places: IntArray, force: FloatArray, u: FloatArray) -> FloatArray:
    """As `pyramid_vector`, from the tangents ``r`` (nc,) of each contact."""
    nc, nr = len(r), int(r.sum())
    z, motion = np.zeros(2 * nc + 2 * nr + nl), np.zeros(2 * nc + 2 * nr + nl)
    z[places], motion[places] = force, u
    friction = z[nc : nc + nr].copy()
    z[nc : nc + nr] = np.maximum(friction, 0.0)
    z[nc + nr : nc + 2 * nr] = np.maximum(-friction, 0.0)
    square = np.zeros(nc)
    np.add.at(square, np.repeat(np.arange(nc), r), motion[nc : nc + nr] ** 2)
    z[nc + 2 * nr : 2 * nc + 2 * nr] = np.sqrt(square)
    return z
