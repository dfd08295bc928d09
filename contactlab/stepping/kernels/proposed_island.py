"""Stage 4, before any solver: a proposal for an island of contacts alone, from the previous step's forces."""

from __future__ import annotations

from contactlab.formulation.kernels.proposal import propose
from contactlab.multibody.kernels.views import rows_at
from contactlab.stepping.kernels.layout import (
    Control,
    Island,
    Parameters,
)
from lcp.kernels import kernel


@kernel(inner=True)
def propose_island(island: Island, control: Control, parameters: Parameters) -> None:
    """Set control.proposed, and where it is not 0 fill q, z, w, f, v_plus and the measures of the island."""
    control.proposed = 0
    if control.has_z0 == 0 or control.propose == 0:
        return
    nc = control.nc
    nv = control.nv
    nr = nc * (control.edges // 2)
    m = nc + nr
    n = 2 * nc + 2 * nr
    control.proposed = propose(
        parameters.h,
        nc,
        nr,
        island.r[:nc],
        island.mu[:nc],
        rows_at(island.J, 0, m, nv),
        rows_at(island.Y, 0, m, nv),
        island.k[:m],
        island.gamma[:m],
        island.gammaE[:nc],
        island.v_free[:nv],
        island.z0[:n],
        island.spans[:m],
        island.reach[:nv],
        parameters.tolerance,
        island.proposal_floats,
        island.proposal_ints,
        island.q[:n],
        island.z[:n],
        island.w[:n],
        island.f[:m],
        island.v_plus[:nv],
        island.measures,
    )
    if control.proposed != 0:
        control.pivots = 0
