"""Points, momenta and configurations of many instants of one model, one after the other: what a thread runs.

Operands have one row for each instant, or a single row for all of them. ``W`` is the workspace of one instant.
"""

from __future__ import annotations

from contactlab.multibody.kernels.centroidal import body_sums, centroidal_columns
from contactlab.multibody.kernels.configurations import configuration_difference, integrate_configuration
from contactlab.multibody.kernels.points import point_columns, point_motion
from contactlab.multibody.kernels.sizes import NOTHING
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.kernels import kernel


@kernel
def motion_batch(
    I: IntArray,
    F: FloatArray,
    q: FloatArray,
    v: FloatArray,
    a: FloatArray,
    custom: FloatArray,
    body: int,
    point: FloatArray,
    order: int,
    start: int,
    stop: int,
    W: FloatArray,
    out: FloatArray,
    codes: IntArray,
) -> None:
    """`point_motion` for instants start to stop: out (B, 3 or 6) and codes (B,)."""
    for b in range(start, stop):
        codes[b] = point_motion(
            I,
            F,
            q[b % q.shape[0]],
            v[b % v.shape[0]],
            a[b % a.shape[0]],
            custom[b % custom.shape[0]],
            W,
            NOTHING,
            body,
            point[b % point.shape[0]],
            order,
            out[b],
        )


@kernel
def columns_batch(
    I: IntArray,
    F: FloatArray,
    q: FloatArray,
    custom: FloatArray,
    body: int,
    point: FloatArray,
    first: int,
    start: int,
    stop: int,
    W: FloatArray,
    pose: FloatArray,
    J: FloatArray,
    codes: IntArray,
) -> None:
    """`point_columns` for instants start to stop: pose (B, 12), J (B, 6 - first, nv) zeroed by the caller, codes."""
    for b in range(start, stop):
        codes[b] = point_columns(
            I,
            F,
            q[b % q.shape[0]],
            custom[b % custom.shape[0]],
            W,
            NOTHING,
            body,
            point[b % point.shape[0]],
            first,
            pose[b],
            J[b],
        )


@kernel
def sums_batch(
    I: IntArray,
    F: FloatArray,
    q: FloatArray,
    v: FloatArray,
    a: FloatArray,
    fixed: FloatArray,
    custom: FloatArray,
    order: int,
    start: int,
    stop: int,
    W: FloatArray,
    out: FloatArray,
    codes: IntArray,
) -> None:
    """`body_sums` for instants start to stop: out (B, 17) and codes (B,)."""
    for b in range(start, stop):
        codes[b] = body_sums(
            I,
            F,
            q[b % q.shape[0]],
            v[b % v.shape[0]],
            a[b % a.shape[0]],
            fixed,
            custom[b % custom.shape[0]],
            W,
            NOTHING,
            order,
            out[b],
        )


@kernel
def centroidal_batch(
    I: IntArray,
    F: FloatArray,
    q: FloatArray,
    fixed: FloatArray,
    custom: FloatArray,
    start: int,
    stop: int,
    W: FloatArray,
    A: FloatArray,
    codes: IntArray,
) -> None:
    """`centroidal_columns` for instants start to stop: A (B, 6, nv) and codes (B,)."""
    for b in range(start, stop):
        codes[b] = centroidal_columns(I, F, q[b % q.shape[0]], fixed, custom[b % custom.shape[0]], W, NOTHING, A[b])


@kernel
def integrate_batch(
    I: IntArray, F: FloatArray, q: FloatArray, v: FloatArray, dt: FloatArray, start: int, stop: int, out: FloatArray
) -> None:
    """`integrate_configuration` for instants start to stop, dt (B or 1,): out (B, nq)."""
    for b in range(start, stop):
        integrate_configuration(I, F, q[b % q.shape[0]], v[b % v.shape[0]], dt[b % dt.shape[0]], out[b])


@kernel
def difference_batch(
    I: IntArray, F: FloatArray, q0: FloatArray, q1: FloatArray, start: int, stop: int, out: FloatArray
) -> None:
    """`configuration_difference` for instants start to stop: out (B, nv)."""
    for b in range(start, stop):
        configuration_difference(I, F, q0[b % q0.shape[0]], q1[b % q1.shape[0]], out[b])
