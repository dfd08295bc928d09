"""From the LCP's variables to constraint forces and the velocity after the step."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from contactlab.formulation.kernels.boxed_rows import recover_boxed_forces
from contactlab.formulation.kernels.spans import add_within, columns
from lcp.kernels import kernel

__all__ = ["add_impulses", "recover", "recover_boxed"]


@kernel(inline=True)
def add_impulses(
    h: float, f: NDArray[np.float64], Y: NDArray[np.float64], spans: NDArray[np.int64], v: NDArray[np.float64]
) -> None:
    """v (nv,) += h sum_i f_i Y_i over the forces f (m,), for Y (>= m, nv) with ``spans``."""
    for i in range(f.shape[0]):
        impulse = h * f[i]
        if impulse != 0.0:
            a, b, c, d = columns(spans, i, v.shape[0])
            add_within(a, b, c, d, impulse, Y[i], v)


@kernel
def recover_boxed(
    h: float,
    nc: int,
    nr: int,
    nl: int,
    lo: NDArray[np.float64],
    hi: NDArray[np.float64],
    z: NDArray[np.float64],
    Y: NDArray[np.float64],
    v_free: NDArray[np.float64],
    spans: NDArray[np.int64],
    f: NDArray[np.float64],
    v_plus: NDArray[np.float64],
) -> None:
    """Fill f = [fN | fF+ - fF- | fL | fB] and v+ = v_free + h sum_i f_i Y_i.

    Parameters
    ----------
    h
        Step [s].
    nc, nr, nl
        Numbers of contacts, friction directions and limits.
    lo, hi
        (nbox,) bounds of the boxed rows.
    z
        (n,) solution of the LCP, in the order of `discretized_lcp`.
    Y
        (>= nu + nbox, nv) rows C J_i, [N; F; L; B].
    v_free
        (nv,) velocity without unilateral and boxed forces.
    spans
        Columns of the rows, see `spans`; of length 0 for all.
    f, v_plus
        (nu + nbox,) forces [N, N m] and (nv,) velocity after the step: output.
    """
    limit = 2 * nc + 2 * nr
    for i in range(nc):
        f[i] = z[i]
    for i in range(nr):
        f[nc + i] = z[nc + i] - z[nc + nr + i]
    for i in range(nl):
        f[nc + nr + i] = z[limit + i]
    nu = nc + nr + nl
    nbox = lo.shape[0]
    recover_boxed_forces(limit + nl, lo, hi, z, f[nu : nu + nbox])

    for p in range(v_free.shape[0]):
        v_plus[p] = v_free[p]
    add_impulses(h, f, Y, spans, v_plus)


@kernel
def recover(
    h: float,
    nc: int,
    nr: int,
    nl: int,
    z: NDArray[np.float64],
    Y: NDArray[np.float64],
    v_free: NDArray[np.float64],
    spans: NDArray[np.int64],
    f: NDArray[np.float64],
    v_plus: NDArray[np.float64],
) -> None:
    """Fill f = [fN | fF+ - fF- | fL] and v+ of a problem without boxed rows; parameters as for `recover_boxed`."""
    recover_boxed(h, nc, nr, nl, v_free[:0], v_free[:0], z, Y, v_free, spans, f, v_plus)
