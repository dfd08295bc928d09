"""The usual call from Python, in as few arguments as it needs: no external forces, no custom joints, nothing kept.

Lengths are compared here, where it costs a nanosecond each. A workspace ``W`` of length 0 stands for one on the stack,
which serves models that are ``compact``. Whatever is unusual or wrong is only reported, by a code
other than `GOOD`: the caller then takes the long way, which says what it is.
"""

from __future__ import annotations

from contactlab.multibody.kernels.articulated import aba
from contactlab.multibody.kernels.codes import NEEDS_GENERAL_ENTRY
from contactlab.multibody.kernels.crba import crba
from contactlab.multibody.kernels.derivatives import dynamics_derivatives
from contactlab.multibody.kernels.layout import BODIES, NQ, NV
from contactlab.multibody.kernels.newton_euler import rnea
from contactlab.multibody.kernels.sizes import CUSTOM_ROW, NOTHING
from contactlab.multibody.kernels.workspace import rows_at, stack
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.kernels import kernel


@kernel
def fast_rnea(
    I: IntArray, F: FloatArray, q: FloatArray, v: FloatArray, a: FloatArray, W: FloatArray, tau: FloatArray
) -> int:
    """`rnea`; ``a`` of length 0 stands for no accelerations."""
    if q.shape[0] != I[NQ] or v.shape[0] != I[NV] or a.shape[0] not in (0, I[NV]):
        return NEEDS_GENERAL_ENTRY
    work = W if W.shape[0] else stack()
    return rnea(I, F, q, v, a, rows_at(W, 0, 0, 6), rows_at(W, 0, 0, CUSTOM_ROW), work, NOTHING, tau)


@kernel
def fast_crba(I: IntArray, F: FloatArray, q: FloatArray, W: FloatArray, M: FloatArray) -> int:
    """`crba`, M as it comes from the allocator."""
    if q.shape[0] != I[NQ]:
        return NEEDS_GENERAL_ENTRY
    for i in range(M.shape[0]):
        row = M[i]
        for j in range(row.shape[0]):
            row[j] = 0.0
    work = W if W.shape[0] else stack()
    return crba(I, F, q, rows_at(W, 0, 0, CUSTOM_ROW), work, NOTHING, M)


@kernel
def fast_aba(
    I: IntArray, F: FloatArray, q: FloatArray, v: FloatArray, tau: FloatArray, W: FloatArray, a: FloatArray
) -> int:
    """`aba`."""
    if q.shape[0] != I[NQ] or v.shape[0] != I[NV] or tau.shape[0] != I[NV]:
        return NEEDS_GENERAL_ENTRY
    work = W if W.shape[0] else stack()
    return aba(I, F, q, v, tau, rows_at(W, 0, 0, 6), rows_at(W, 0, 0, CUSTOM_ROW), work, NOTHING, a)


@kernel(short_loops=True)
def fast_derivatives(
    I: IntArray,
    F: FloatArray,
    q: FloatArray,
    v: FloatArray,
    x: FloatArray,
    f_ext: FloatArray,
    custom: FloatArray,
    rates: FloatArray,
    W: FloatArray,
    out: FloatArray,
    ready: int,
    forward: int,
) -> int:
    """`dynamics_derivatives`, of the usual call and of any other of one instant."""
    if q.shape[0] != I[NQ] or v.shape[0] != I[NV] or x.shape[0] != I[NV] or f_ext.shape[0] not in (0, I[BODIES]):
        return NEEDS_GENERAL_ENTRY
    work = W if W.shape[0] else stack()
    return dynamics_derivatives(I, F, q, v, x, f_ext, custom, rates, work, ready, forward, out)
