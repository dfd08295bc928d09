"""The attempts at a step's contact problem after those of `proposal`: for the few islands where the branch turns back.

In turns: by central paths of contacts that give way so many times as much as at the end of the branch, and on from
there to the rigid problem, by proximal points approached with Newton's method; in the end any forces that solve it.
Compiled when first needed, which in most worlds is never.
"""

from __future__ import annotations

from typing import Final

from contactlab.formulation.kernels.central_path import lay_out_path, path_floats, select_by_path
from contactlab.formulation.kernels.contact_response import Polygon
from contactlab.formulation.kernels.katzenelson import lay_out_shifted, shifted_floats
from contactlab.formulation.kernels.proposal import (
    CLOSE,
    FEW_POINTS,
    LATER,
    POINTS,
    SELECTED,
    SOFT,
    go_closer,
    harden_or_keep,
    judge,
    loads_at,
    polygon_at,
)
from contactlab.formulation.kernels.proximal_newton import SYSTEMS, WORTH, approach, lay_out_approach
from contactlab.formulation.kernels.rows import Rows
from contactlab.formulation.kernels.search import Search, give_forces, lay_out, search_floats, search_own
from contactlab.formulation.kernels.selection import SMALL, end_of_branch
from contactlab.formulation.kernels.unselected import TURNS, any_forces
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.kernels import kernel
from lcp.kernels.body_blocks import copy_rows
from lcp.kernels.residuals import is_solved

# Compliances of the paths, in that of the end; each is followed by one more way to the rigid problem.
SOFTER: Final = (10.0, 1e4, 1e5, 1.0)
# From this attempt on any forces that solve the problem.
ANY: Final = 2 + 2 * len(SOFTER)
# Part of the tolerance that other forces than those selected must meet between so many contacts that a solver takes
# seconds, and comes no nearer where gaps contradict one another.
OTHERS: Final = 0.95
MANY: Final = 200


@kernel(inner=True)
def later_forces(
    rows: Rows,
    polygon: Polygon,
    search: Search,
    warm: bool,
    attempt: int,
    z0: FloatArray,
    wf: FloatArray,
    z: FloatArray,
) -> int:
    """Look for forces, and write them as variables of the LCP; as `proposal.contact_forces`.

    In odd attempts the workspaces hold forces selected that do not solve the rigid problem.
    """
    nc = rows.nc
    nv = rows.v_free.shape[0]
    at = search_floats(nc, rows.nr, 0, nv)
    shifted = lay_out_shifted(nc, nv, wf[at:])
    memory = wf[at + shifted_floats(nc, nv) :]
    if attempt >= ANY:
        path = lay_out_path(polygon, search, memory)
        near = lay_out_approach(nc, 0, nv, memory[path_floats(nc, rows.nr) :])
        solved = any_forces(rows, polygon, search, shifted, path, near, attempt - ANY, warm, z0)
        give_forces(rows, polygon, search, z)
        return -1 - solved if solved > 0 else 0
    eps = end_of_branch(search)
    if attempt % 2 == 0:
        path = lay_out_path(polygon, search, memory)
        solved = select_by_path(rows, polygon, search, path, shifted, SOFTER[attempt // 2 - 1])
        for c in range(nc):
            search.before[c] = search.contacts.mode[c]
        if solved == 0:
            return 0
        for c in range(nc):
            if eps > SOFT * search.contacts.own[c]:
                eps = 0.0
        points = FEW_POINTS if nc > SMALL else POINTS
        formed = harden_or_keep(rows, polygon, search, shifted, eps, points)
        give_forces(rows, polygon, search, z)
        return 1 + solved + formed
    near = lay_out_approach(nc, 0, nv, memory)
    copy_rows(search.contacts.p, near.best)
    solved = go_closer(rows, polygon, search, shifted, eps)
    if solved == 0:
        copy_rows(near.best, search.contacts.p)
    more, misfit = approach(rows, polygon, search, near, SYSTEMS)
    give_forces(rows, polygon, search, z)
    if not misfit <= WORTH * search.speed:
        return 0
    # From the end of the branch alone forces may have gone to others.
    return 1 + solved + more if solved > 0 else -1 - more


@kernel(short_loops=True)
def propose_later(
    rows: Rows,
    starts: IntArray,
    proposed: int,
    warm: bool,
    z0: FloatArray,
    tolerance: float,
    wf: FloatArray,
    wi: IntArray,
    q: FloatArray,
    z: FloatArray,
    w: FloatArray,
    f: FloatArray,
    v_plus: FloatArray,
    measures: FloatArray,
) -> int:
    """Go on where `proposal.propose` has answered ``proposed``, with what it was given and has left; as it answers."""
    rate, sizes = loads_at(rows, wf)
    own = search_own(rows, wf)
    search = lay_out(rows, starts, wf, wi)
    polygon = polygon_at(rows, False, wf)
    first = LATER - proposed
    found = first
    for attempt in range(first, ANY + TURNS):
        if CLOSE < attempt < ANY and attempt % 2 == 1 and found == 0:
            continue
        found = later_forces(rows, polygon, search, warm, attempt, z0, wf, z)
        if found == 0:
            continue
        judge(rows, False, own, q, sizes, z, f, v_plus, rate, w, tolerance, measures)
        if is_solved(measures, (OTHERS if found < 0 and rows.nc > MANY else SELECTED) * tolerance):
            return found
    return 0
