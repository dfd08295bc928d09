"""What most runs of the loop never come to, compiled when one first does: later attempts at an island, and pivoting."""

from __future__ import annotations

from contactlab.spatial.arrays import IntArray
from contactlab.stepping.kernels.joint_layout import Joints
from contactlab.stepping.kernels.layout import (
    CHOICE_NOT_SELECTED,
    REST_TRIED,
    REST_WANTED,
    Control,
    Island,
    Parameters,
)
from contactlab.stepping.kernels.next_island import answer_of, case_of, made, rows_tried
from contactlab.stepping.kernels.solve import solve
from lcp.contacts.kernels.attempts import NONE, propose_later, propose_rest
from lcp.kernels import kernel


@kernel(short_loops=True)
def later(
    tree_start: IntArray, island: Island, joints: Joints | None, control: Control, parameters: Parameters
) -> None:
    """Serve `layout.NEED_LATER` for the island in progress."""
    rows, trees = rows_tried(tree_start, island, joints, control, parameters.h)
    case = case_of(rows, island.starts[: trees + 1], island, joints, control, parameters)
    answer = answer_of(rows, island, control)
    if control.rest == REST_WANTED:
        # Forces that move an island at rest are found: others are to hold it.
        control.rest = REST_TRIED
        found = propose_rest(case, answer, island.proposal_floats, island.proposal_ints)
        control.systems += found.systems
        if found.attempt != NONE:
            control.attempt, control.choice = found.attempt, CHOICE_NOT_SELECTED
        return
    found = propose_later(case, answer, island.proposal_floats, island.proposal_ints)
    made(found, island, control)


@kernel
def pivots(island: Island, control: Control) -> int:
    """Serve `layout.NEED_PIVOTS`: the stage SOLVE, and what it says to the loop."""
    return solve(island, control)
