"""The rows of the island in progress, cut from its buffers as the kernels of the formulation take them."""

from __future__ import annotations

from contactlab.multibody.kernels.workspace import rows_at
from contactlab.stepping.kernels.joint_layout import Joints
from contactlab.stepping.kernels.layout import Control, Island
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.kernels import kernel


@kernel(inline=True)
def posed_rows(island: Island, joints: Joints | None, control: Control, h: float) -> ContactSystem:
    """All rows [N; F; L; G; B] as they were posed.

    The island's spans are those of [N; F; L; B], once rows of joints are added. Where there are rows G, they have all
    columns, and so have those behind them.
    """
    nc = control.nc
    nv = control.nv
    nr = control.nr
    m = nc + nr + control.nl + control.ng + control.nbox
    lo = island.k[:0]
    hi = island.k[:0]
    if joints is not None:
        lo = joints.lo[: control.nbox]
        hi = joints.hi[: control.nbox]
    return ContactSystem(
        h,
        nc,
        nr,
        control.nl,
        control.ng,
        island.r[: control.ncone],
        island.mu[: control.ncone],
        island.cone_contacts[: control.ncone],
        rows_at(island.J, 0, m, nv),
        rows_at(island.Y, 0, m, nv),
        island.k[:m],
        island.gamma[:m],
        island.gammaE[: control.ncone],
        lo,
        hi,
        island.v_free[:nv],
        island.Mv[:nv],
        island.spans[: m if control.ng == 0 else nc + nr + control.nl],
        island.k[:0],
        island.k[:0],
        island.k[:0],
        island.spans[:0],
    )


@kernel(inline=True)
def rows_left(rows: ContactSystem, island: Island, joints: Joints) -> ContactSystem:
    """Rows [N; F; L; B] once `eliminate` has taken the rows G out of them."""
    nv = rows.v_free.shape[0]
    m = rows.k.shape[0] - rows.nb
    return ContactSystem(
        rows.h,
        rows.nc,
        rows.nr,
        rows.nl,
        0,
        rows.r,
        rows.mu,
        rows.cone_contacts,
        rows_at(joints.J, 0, m, nv),
        rows_at(joints.Y, 0, m, nv),
        joints.k[:m],
        joints.gamma[:m],
        rows.gammaE,
        rows.lo,
        rows.hi,
        joints.v0[:nv],
        rows.Mv,
        island.spans[:m],
        joints.k[:0],
        joints.k[:0],
        joints.k[:0],
        island.spans[:0],
    )
