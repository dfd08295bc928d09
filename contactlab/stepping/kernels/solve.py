"""The solver inside the loop: Lemke's method on the LCP in the island's buffers, some pivots at a time."""

from __future__ import annotations

from contactlab.multibody.kernels.workspace import rows_at
from contactlab.stepping.kernels.layout import (
    GO_ON,
    PIVOT_BUDGET,
    SOLVER_LEMKE_FIRST,
    UNSOLVED,
    VERDICT,
    Control,
    Island,
)
from lcp.kernels import kernel
from lcp.kernels.codes import RUNNING, SOLVED
from lcp.kernels.lemke import PIVOTS, lemke_drive, lemke_float_size, lemke_int_size
from lcp.kernels.portions import pivots_at_once


@kernel(inline=True)
def pivot(island: Island, n: int, warm: bool) -> int:
    """Go on with the LCP of n variables in M and q, from z0 where ``warm``; RUNNING, or how it ended."""
    return lemke_drive(
        rows_at(island.M, 0, n, n),
        island.q[:n],
        island.z0[:n],
        warm,
        island.options,
        island.float_work[: lemke_float_size(n)],
        island.int_work[: lemke_int_size(n)],
        island.z[:n],
        island.info,
        pivots_at_once(n, PIVOT_BUDGET),
    )


@kernel(inline=True)
def solve(island: Island, control: Control) -> int:
    """Solve the island's problem, some pivots at a time; one that this leaves unsolved may go to solvers outside."""
    code = pivot(island, control.n, control.has_z0 != 0)
    if code == RUNNING:
        return UNSOLVED
    control.pivots = island.info[PIVOTS]
    control.place = VERDICT
    if code != SOLVED and control.solver == SOLVER_LEMKE_FIRST:
        return UNSOLVED
    return GO_ON
