"""Rows of one instant in one call from Python: kinematics, accelerations, rows."""

from __future__ import annotations

from contactlab.constraints.kernels.rows import constraint_rows
from contactlab.constraints.kernels.wanted import GAMMA, MOVING, SCRATCH
from contactlab.multibody.kernels.codes import GOOD
from contactlab.multibody.kernels.fill_frames import fill_frames
from contactlab.multibody.kernels.layout import tree
from contactlab.multibody.kernels.newton_euler import accelerations
from contactlab.multibody.kernels.sizes import PER_DOF, PER_LINK, POSES, VELOCITIES
from contactlab.multibody.kernels.sizes import SCRATCH as HEAD_SCRATCH
from contactlab.multibody.kernels.views import rows_at
from contactlab.multibody.kernels.workspace import frames
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.kernels import kernel


@kernel
def evaluate_rows(
    I: IntArray,
    F: FloatArray,
    q: FloatArray,
    v: FloatArray,
    custom: FloatArray,
    W: FloatArray,
    ready: int,
    want: int,
    G: FloatArray,
    gamma: FloatArray,
    phi: FloatArray,
    phid: FloatArray,
) -> int:
    """`constraint_rows` at q and v, I and F holding the model and the set; `GOOD`, or where a quaternion is not one."""
    code = fill_frames(I, F, q, v, custom, ready, VELOCITIES if want & MOVING else POSES, W)
    if code != GOOD:
        return code
    t = tree(I, F)
    nl = t.parent.shape[0]
    nv = t.dof_parent.shape[0]
    f = frames(W, nl, nv)
    start = HEAD_SCRATCH + PER_LINK * nl + PER_DOF * nv
    A = rows_at(W, start, nl, 6)
    if want & GAMMA:
        accelerations(t, f.S, f.C, W[0:0], 0.0, A)
    constraint_rows(I, F, W, 0.0, want, W[start + 6 * nl : start + 6 * nl + SCRATCH], G, gamma, phi, phid)
    return GOOD
