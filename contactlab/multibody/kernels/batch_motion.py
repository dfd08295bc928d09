"""Points, momenta and configurations of many instants of one model, one after the other: what a thread runs.

Operands have one row for each instant, or a single row for all of them. ``W`` is the workspace of one instant.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from contactlab.multibody.kernels.centroidal import body_sums, centroidal_columns
from contactlab.multibody.kernels.configurations import configuration_difference, integrate_configuration
from contactlab.multibody.kernels.points import point_columns, point_motion
from contactlab.multibody.kernels.sizes import NOTHING
from lcp.kernels import kernel


@kernel
def motion_batch(
    I: NDArray[np.int64],
    F: NDArray[np.float64],
    q: NDArray[np.float64],
    v: NDArray[np.float64],
    a: NDArray[np.float64],
    custom: NDArray[np.float64],
    body: int,
    point: NDArray[np.float64],
    order: int,
    start: int,
    stop: int,
    W: NDArray[np.float64],
    out: NDArray[np.float64],
    codes: NDArray[np.int64],
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
    I: NDArray[np.int64],
    F: NDArray[np.float64],
    q: NDArray[np.float64],
    custom: NDArray[np.float64],
    body: int,
    point: NDArray[np.float64],
    first: int,
    start: int,
    stop: int,
    W: NDArray[np.float64],
    pose: NDArray[np.float64],
    J: NDArray[np.float64],
    codes: NDArray[np.int64],
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
    I: NDArray[np.int64],
    F: NDArray[np.float64],
    q: NDArray[np.float64],
    v: NDArray[np.float64],
    a: NDArray[np.float64],
    fixed: NDArray[np.float64],
    custom: NDArray[np.float64],
    order: int,
    start: int,
    stop: int,
    W: NDArray[np.float64],
    out: NDArray[np.float64],
    codes: NDArray[np.int64],
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
    I: NDArray[np.int64],
    F: NDArray[np.float64],
    q: NDArray[np.float64],
    fixed: NDArray[np.float64],
    custom: NDArray[np.float64],
    start: int,
    stop: int,
    W: NDArray[np.float64],
    A: NDArray[np.float64],
    codes: NDArray[np.int64],
) -> None:
    """`centroidal_columns` for instants start to stop: A (B, 6, nv) and codes (B,)."""
    for b in range(start, stop):
        codes[b] = centroidal_columns(I, F, q[b % q.shape[0]], fixed, custom[b % custom.shape[0]], W, NOTHING, A[b])


@kernel
def integrate_batch(
    I: NDArray[np.int64],
    F: NDArray[np.float64],
    q: NDArray[np.float64],
    v: NDArray[np.float64],
    dt: NDArray[np.float64],
    start: int,
    stop: int,
    out: NDArray[np.float64],
) -> None:
    """`integrate_configuration` for instants start to stop, dt (B or 1,): out (B, nq)."""
    for b in range(start, stop):
        integrate_configuration(I, F, q[b % q.shape[0]], v[b % v.shape[0]], dt[b % dt.shape[0]], out[b])


@kernel
def difference_batch(
    I: NDArray[np.int64],
    F: NDArray[np.float64],
    q0: NDArray[np.float64],
    q1: NDArray[np.float64],
    start: int,
    stop: int,
    out: NDArray[np.float64],
) -> None:
    """`configuration_difference` for instants start to stop: out (B, nv)."""
    for b in range(start, stop):
        configuration_difference(I, F, q0[b % q0.shape[0]], q1[b % q1.shape[0]], out[b])
