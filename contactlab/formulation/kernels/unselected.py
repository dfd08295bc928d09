"""Forces of the rigid problem where none are selected: near an interior point or what sweeps left, then approached.

They solve the problem as well as any, and are not those at the end of the branch: where it turns back for good, nothing
else is left but a solver that takes far longer. Proximal points that stall are near where forces have ceased to exist;
a line from there to contacts that give way (`katzenelson.begin_near`) leads to some that do, mostly in few systems.
"""

from __future__ import annotations

from typing import Final

from contactlab.formulation.kernels.active_set import descend
from contactlab.formulation.kernels.block_gauss_seidel import sweep
from contactlab.formulation.kernels.central_path import MEANS, PATH_STEPS, Path, follow_path, start_path
from contactlab.formulation.kernels.contact_response import THREE, Polygon
from contactlab.formulation.kernels.katzenelson import Shifted, begin_near, follow_line
from contactlab.formulation.kernels.proximal_newton import SYSTEMS, WORTH, Approach, approach
from contactlab.formulation.kernels.rows import Rows
from contactlab.formulation.kernels.search import Search, recover_velocity, take_forces
from contactlab.formulation.kernels.selection import SHRINK, STEPS, along_branch, end_of_branch
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel
from lcp.kernels.body_blocks import copy_rows

# By turns: paths of contacts that give way so many times as much as at the end of the branch, and powers of their
# corrector; then sweeps from so many times the forces before. What they lead to differs with both; no one way wins
# often, one of them nearly always does, and all of them take less than a pivoting method.
SOFT: Final = (0.0, 1.0)
POWERS: Final = (1.0, 0.5)
SWEEPS: Final = (500, 4000, 2000, 5000, 1000, 300, 8000, 2000, 2000, 2000)
TIMES: Final = (1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.5, 2.0, 0.9)
TURNS: Final = len(SOFT) + len(SWEEPS)
# Misfits that need no line, in parts of the speed, and for which one at the end of the branch is taken.
SOLVED: Final = 1e-11
CLOSE_BY: Final = 1e-6
# Compliance of lines, in that of the end, and systems that one may take.
LINES: Final = (1.0, 10.0, 100.0, 1000.0)
SHORT: Final = 100


@kernel(inner=True)
def any_forces(
    rows: Rows,
    polygon: Polygon,
    search: Search,
    shifted: Shifted,
    path: Path,
    near: Approach,
    turn: int,
    warm: bool,
    z0: FloatArray,
) -> int:
    """Find forces of the rigid problem, in the ``turn``-th way; the systems solved, 0 where that failed."""
    solved = 0
    end = end_of_branch(search)
    forces, nearest = search.contacts.p, path.work.g
    if turn < len(SOFT):
        unit = start_path(rows, polygon, search, path)
        eps = SOFT[turn] * end
        solved, _ = follow_path(rows, polygon, search, path, eps, POWERS[turn], MEANS[-1] * unit, PATH_STEPS)
    else:
        times = 0.0
        if warm:
            take_forces(rows, polygon, search, z0)
            times = TIMES[turn - len(SOFT)]
        for c in range(rows.nc):
            for i in range(THREE):
                forces[c, i] *= times
        recover_velocity(rows, polygon, search)
        for _ in range(SWEEPS[turn - len(SOFT)]):
            sweep(rows, polygon, search, 0.0)
    more, misfit = approach(rows, polygon, search, near, SYSTEMS)
    if misfit <= SOLVED * search.speed:
        return solved + more
    copy_rows(forces, nearest)
    for k in range(0 if misfit <= CLOSE_BY * search.speed else 1, len(LINES)):
        by = by_line(rows, polygon, search, shifted, near, LINES[k] * end)
        if by > 0:
            return solved + by
        copy_rows(nearest, forces)
        recover_velocity(rows, polygon, search)
    return solved + more if misfit <= WORTH * search.speed else 0


@kernel(inner=True)
def by_line(rows: Rows, polygon: Polygon, search: Search, shifted: Shifted, near: Approach, eps: float) -> int:
    """Go by a line to forces of contacts that give way, and on to those of the rigid problem; systems solved, or 0."""
    end = end_of_branch(search)
    begin_near(rows, polygon, search, shifted, eps)
    solved = follow_line(rows, polygon, search, shifted, eps, SHORT)
    if solved < 0 or descend(rows, polygon, search, eps, STEPS) < 0:
        return 0
    more = along_branch(rows, polygon, search, shifted, eps, eps, end, SHRINK)
    if more == 0:
        return 0
    recover_velocity(rows, polygon, search)
    last, misfit = approach(rows, polygon, search, near, SYSTEMS)
    return solved + more + last if misfit <= WORTH * search.speed else 0
