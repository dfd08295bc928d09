"""Stage 4, before any solver: a proposal for an island of contacts alone, from the previous step's forces."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from contactlab.formulation.kernels.proposal import propose
from contactlab.multibody.kernels.views import rows_at
from contactlab.stepping.kernels.layout import (
    EDGES,
    HAS_Z0,
    ISLAND_CONTACTS,
    ISLAND_NV,
    PIVOTS,
    PROPOSE,
    PROPOSED,
    TOLERANCE,
    H,
    Island,
)
from lcp.kernels import kernel


@kernel(inner=True)
def propose_island(island: Island, control: NDArray[np.int64], parameters: NDArray[np.float64]) -> None:
    """Set control[PROPOSED], and where it is not 0 fill q, z, w, f, v_plus and the measures of the island."""
    control[PROPOSED] = 0
    if control[HAS_Z0] == 0 or control[PROPOSE] == 0:
        return
    nc = control[ISLAND_CONTACTS]
    nv = control[ISLAND_NV]
    nr = nc * (control[EDGES] // 2)
    m = nc + nr
    n = 2 * nc + 2 * nr
    control[PROPOSED] = propose(
        parameters[H],
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
        parameters[TOLERANCE],
        island.proposal_floats,
        island.proposal_ints,
        island.q[:n],
        island.z[:n],
        island.w[:n],
        island.f[:m],
        island.v_plus[:nv],
        island.measures,
    )
    if control[PROPOSED] != 0:
        control[PIVOTS] = 0
