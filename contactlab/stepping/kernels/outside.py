"""What most runs of the loop never come to, compiled when one first does: later attempts at an island, and pivoting."""

from __future__ import annotations

from contactlab.stepping.kernels.island_rows import posed_rows, rows_left
from contactlab.stepping.kernels.joint_layout import Joints
from contactlab.stepping.kernels.layout import Control, Island, Parameters
from contactlab.stepping.kernels.next_island import answer_of, case_of, made
from contactlab.stepping.kernels.solve import solve
from lcp.contacts.kernels.attempts import propose_later
from lcp.kernels import kernel


@kernel(short_loops=True)
def later(island: Island, joints: Joints | None, trees: int, control: Control, parameters: Parameters) -> None:
    """Serve `layout.NEED_LATER` for the island in progress, of so many trees."""
    rows = posed_rows(island, joints, control, parameters.h)
    if joints is not None:
        # Rows of joints may have made one tree of all.
        trees = 1 if island.starts[1] == control.nv else trees
        if rows.nb > 0:
            rows = rows_left(rows, island, joints)
    case = case_of(rows, island.starts[: trees + 1], island, control, parameters)
    answer = answer_of(rows, island, control)
    found = propose_later(case, answer, island.proposal_floats, island.proposal_ints)
    made(found, island, control)


@kernel
def pivots(island: Island, control: Control) -> int:
    """Serve `layout.NEED_PIVOTS`: the stage SOLVE, and what it says to the loop."""
    return solve(island, control)
