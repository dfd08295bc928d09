"""The numbers of custom joints, evaluated for one instant."""

from __future__ import annotations

import numpy as np

from contactlab.multibody.arguments import check_finite
from contactlab.multibody.errors import MultibodyError
from contactlab.multibody.kernels.sizes import CUSTOM_ROW
from contactlab.multibody.model import Model
from contactlab.spatial.arrays import FloatArray, finite_array
from contactlab.spatial.transform import Transform

__all__ = ["custom_rows"]

_NONE = np.zeros((0, CUSTOM_ROW))


def custom_rows(model: Model, q: FloatArray, v: FloatArray | None = None) -> FloatArray:
    """R (9), p (3), columns of S (36) and c (6) of every custom joint, one row each; c is zero without v."""
    joints = model.packed.custom
    if not joints:
        return _NONE
    # Before the joint sees them: what it makes of a NaN would be blamed on the joint.
    check_finite("q", q)
    if v is not None:
        check_finite("v", v)
    rows = np.zeros((len(joints), CUSTOM_ROW))
    for row, (joint, iq, iv) in zip(rows, joints, strict=True):
        name = type(joint).__name__
        pose = joint.transform(q[iq])
        if not isinstance(pose, Transform):
            raise MultibodyError(f"{name}.transform", f"must return a Transform, got {type(pose).__name__}")
        subspace = finite_array(joint.motion_subspace(q[iq]), f"{name}.motion_subspace", (6, joint.nv), MultibodyError)
        row[:9], row[9:12] = pose.R.ravel(), pose.p
        row[12 : 12 + 6 * joint.nv] = subspace.T.ravel()
        if v is not None:
            product = joint.velocity_product(q[iq], v[iv])
            row[48:] = finite_array(product, f"{name}.velocity_product", (6,), MultibodyError)
    return rows
