"""The dynamics of many instants of one model, one after the other: what a thread runs.

Operands have one row for each instant, or a single row for all of them. ``W`` is the workspace of one instant.
"""

from __future__ import annotations

from contactlab.multibody.kernels.aba import aba
from contactlab.multibody.kernels.codes import GOOD
from contactlab.multibody.kernels.crba import crba
from contactlab.multibody.kernels.minv import factor_inertia, solve_inertia
from contactlab.multibody.kernels.rnea import rnea
from contactlab.multibody.kernels.sizes import NOTHING
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.kernels import kernel


@kernel
def rnea_batch(
    I: IntArray,
    F: FloatArray,
    q: FloatArray,
    v: FloatArray,
    a: FloatArray,
    f_ext: FloatArray,
    custom: FloatArray,
    start: int,
    stop: int,
    W: FloatArray,
    tau: FloatArray,
    codes: IntArray,
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
    I: IntArray,
    F: FloatArray,
    q: FloatArray,
    v: FloatArray,
    tau: FloatArray,
    f_ext: FloatArray,
    custom: FloatArray,
    start: int,
    stop: int,
    W: FloatArray,
    a: FloatArray,
    codes: IntArray,
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
    I: IntArray,
    F: FloatArray,
    q: FloatArray,
    custom: FloatArray,
    start: int,
    stop: int,
    W: FloatArray,
    M: FloatArray,
    codes: IntArray,
) -> None:
    """`crba` for instants start to stop: M (B, nv, nv), zeroed by the caller, and codes (B,)."""
    for b in range(start, stop):
        codes[b] = crba(I, F, q[b % q.shape[0]], custom[b % custom.shape[0]], W, NOTHING, M[b])


@kernel
def minv_batch(
    I: IntArray,
    F: FloatArray,
    q: FloatArray,
    custom: FloatArray,
    start: int,
    stop: int,
    W: FloatArray,
    factor: FloatArray,
    P: FloatArray,
    x: FloatArray,
    codes: IntArray,
) -> None:
    """x[b] := M^-1 x[b] for instants start to stop, x (B, nv); factor and P are scratch of one."""
    for b in range(start, stop):
        codes[b] = factor_inertia(I, F, q[b % q.shape[0]], custom[b % custom.shape[0]], W, NOTHING, factor)
        if codes[b] == GOOD:
            codes[b] = solve_inertia(I, F, factor, P, x[b : b + 1])
