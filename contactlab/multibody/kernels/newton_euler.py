"""The outward pass of both algorithms: how the links move, and the forces they need for that."""

from __future__ import annotations

from contactlab.multibody.kernels.accelerations import accelerations
from contactlab.multibody.kernels.body_forces import body_forces, subtract_external
from contactlab.multibody.kernels.codes import GOOD
from contactlab.multibody.kernels.fill_frames import fill_frames
from contactlab.multibody.kernels.layout import tree
from contactlab.multibody.kernels.sizes import PER_DOF, PER_LINK, SCRATCH, VELOCITIES
from contactlab.multibody.kernels.views import rows_at
from contactlab.multibody.kernels.workspace import frames
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.kernels import kernel


@kernel(inner=True)
def newton_euler(
    I: IntArray,
    F: FloatArray,
    q: FloatArray,
    v: FloatArray,
    a: FloatArray,
    f_ext: FloatArray,
    custom: FloatArray,
    W: FloatArray,
    ready: int,
) -> int:
    """Fill a workspace: after the head accelerations (nl, 6) and forces (nl, 6), weight included, f_ext taken off.

    ``a`` of length 0 stands for no accelerations of the joints, ``f_ext`` of length 0 for no external forces. Returns
    `GOOD`, or where in q a quaternion is not one.
    """
    code = fill_frames(I, F, q, v, custom, ready, VELOCITIES, W)
    if code != GOOD:
        return code
    link_forces(I, F, a, f_ext, W)
    return GOOD


@kernel(inner=True)
def link_forces(I: IntArray, F: FloatArray, a: FloatArray, f_ext: FloatArray, W: FloatArray) -> None:
    """Accelerations and forces of the links, for a workspace whose head is filled."""
    t = tree(I, F)
    nl = t.parent.shape[0]
    nv = t.dof_parent.shape[0]
    f = frames(W, nl, nv)
    start = SCRATCH + PER_LINK * nl + PER_DOF * nv
    A = rows_at(W, start, nl, 6)
    B = rows_at(W, start + 6 * nl, nl, 6)
    accelerations(t, f.S, f.C, a, 1.0, A)
    body_forces(t, f.R, f.p, f.V, A, B)
    if f_ext.shape[0] > 0:
        subtract_external(t, f.p, f_ext, B)
