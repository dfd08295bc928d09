"""The dynamics of many instants of one model, one after the other: what a thread runs.

Operands have one row for each instant, or a single row for all of them. ``W`` is the workspace of one instant.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from contactlab.multibody.kernels.aba import aba
from contactlab.multibody.kernels.codes import GOOD
from contactlab.multibody.kernels.crba import crba
from contactlab.multibody.kernels.minv import factor_inertia, solve_inertia
from contactlab.multibody.kernels.rnea import rnea
from contactlab.multibody.kernels.sizes import NOTHING
from lcp.kernels import kernel


@kernel
def rnea_batch(
    I: NDArray[np.int64],
    F: NDArray[np.float64],
    q: NDArray[np.float64],
    v: NDArray[np.float64],
    a: NDArray[np.float64],
    f_ext: NDArray[np.float64],
    custom: NDArray[np.float64],
    start: int,
    stop: int,
    W: NDArray[np.float64],
    tau: NDArray[np.float64],
    codes: NDArray[np.int64],
) -> None:
    """`rnea` for instants start to stop: tau (B, nv) and codes (B,)."""
    for b in range(start, stop):
        codes[b] = rnea(
            I,
            F,
            q[b % q.shape[0]],
            v[b % v.shape[0]],
            a[b % a.shape[0]],
            f_ext[b % f_ext.shape[0]],
            custom[b % custom.shape[0]],
            W,
            NOTHING,
            tau[b],
        )


@kernel
def aba_batch(
    I: NDArray[np.int64],
    F: NDArray[np.float64],
    q: NDArray[np.float64],
    v: NDArray[np.float64],
    tau: NDArray[np.float64],
    f_ext: NDArray[np.float64],
    custom: NDArray[np.float64],
    start: int,
    stop: int,
    W: NDArray[np.float64],
    a: NDArray[np.float64],
    codes: NDArray[np.int64],
) -> None:
    """`aba` for instants start to stop: a (B, nv) and codes (B,)."""
    for b in range(start, stop):
        codes[b] = aba(
            I,
            F,
            q[b % q.shape[0]],
            v[b % v.shape[0]],
            tau[b % tau.shape[0]],
            f_ext[b % f_ext.shape[0]],
            custom[b % custom.shape[0]],
            W,
            NOTHING,
            a[b],
        )


@kernel
def crba_batch(
    I: NDArray[np.int64],
    F: NDArray[np.float64],
    q: NDArray[np.float64],
    custom: NDArray[np.float64],
    start: int,
    stop: int,
    W: NDArray[np.float64],
    M: NDArray[np.float64],
    codes: NDArray[np.int64],
) -> None:
    """`crba` for instants start to stop: M (B, nv, nv), zeroed by the caller, and codes (B,)."""
    for b in range(start, stop):
        codes[b] = crba(I, F, q[b % q.shape[0]], custom[b % custom.shape[0]], W, NOTHING, M[b])


@kernel
def minv_batch(
    I: NDArray[np.int64],
    F: NDArray[np.float64],
    q: NDArray[np.float64],
    custom: NDArray[np.float64],
    start: int,
    stop: int,
    W: NDArray[np.float64],
    factor: NDArray[np.float64],
    P: NDArray[np.float64],
    x: NDArray[np.float64],
    codes: NDArray[np.int64],
) -> None:
    """x[b] := M^-1 x[b] for instants start to stop, x (B, nv); factor and P are scratch of one."""
    for b in range(start, stop):
        codes[b] = factor_inertia(I, F, q[b % q.shape[0]], custom[b % custom.shape[0]], W, NOTHING, factor)
        if codes[b] == GOOD:
            codes[b] = solve_inertia(I, F, factor, P, x[b : b + 1])
