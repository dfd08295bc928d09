"""What most runs of the loop never come to, compiled when one first does: later attempts at an island, and pivoting."""

from __future__ import annotations

from contactlab.formulation.kernels.later_attempts import propose_later
from contactlab.stepping.kernels.island_rows import posed_rows
from contactlab.stepping.kernels.joint_layout import Joints
from contactlab.stepping.kernels.layout import Control, Island, Parameters
from contactlab.stepping.kernels.next_island import proposal_made
from contactlab.stepping.kernels.solve import solve
from lcp.kernels import kernel


@kernel(short_loops=True)
def later(island: Island, joints: Joints | None, trees: int, control: Control, parameters: Parameters) -> None:
    """Serve `layout.NEED_LATER` for the island in progress, of so many trees."""
    rows = posed_rows(island, joints, control, parameters.h)
    n = control.n
    control.proposed = propose_later(
        rows,
        island.starts[: trees + 1],
        control.proposed,
        control.has_z0 != 0,
        island.z0[:n],
        parameters.tolerance,
        island.proposal_floats,
        island.proposal_ints,
        island.q[:n],
        island.z[:n],
        island.w[:n],
        island.f[: rows.k.shape[0]],
        island.v_plus[: control.nv],
        island.measures,
    )
    proposal_made(control)


@kernel
def pivots(island: Island, control: Control) -> int:
    """Serve `layout.NEED_PIVOTS`: the stage SOLVE, and what it says to the loop."""
    return solve(island, control)
