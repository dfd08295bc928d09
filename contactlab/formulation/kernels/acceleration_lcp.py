"""The acceleration-level LCP: the rows of `discretized_lcp` at h = 1, with the friction of sliding contacts.

The normal force of a sliding contact acts along its row of R' = (N - mu_s Q)', not along N', so that its column of the
matrix is J C R' in every row, limits included. Only contacts at tangential rest have a cone. In
[fN | fF+ | fF- | lambda (nns) | fL]::

        | N C R'    N C F'   -N C F'   0    N C L' |        |  N a0 + kN |
        | F C R'    F C F'   -F C F'   E    F C L' |        |  F a0 + kF |
    M = |-F C R'   -F C F'    F C F'   E   -F C L' |    q = | -F a0 - kF |
        | mu       -E'       -E'       0    0      |        |  0         |
        | L C R'    L C F'   -L C F'   0    L C L' |        |  L a0 + kL |
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from contactlab.formulation.kernels.discretized_lcp import fill_cone, fill_rows
from lcp.kernels import kernel

__all__ = ["assemble_acceleration_lcp"]


@kernel(inner=True)
def _fill_sliding_column(
    c: int,
    nc: int,
    nr: int,
    nl: int,
    cones: int,
    J: NDArray[np.float64],
    response: NDArray[np.float64],
    M: NDArray[np.float64],
) -> None:
    """Replace column c of M by J response, rows F also negated."""
    for i in range(nc + nr + nl):
        friction = nc <= i < nc + nr
        a = i if i < nc + nr else nc + 2 * nr + cones + i - nc - nr
        w = 0.0
        for p in range(response.shape[0]):
            w += J[i, p] * response[p]
        M[a, c] = w
        if friction:
            M[a + nr, c] = 0.0 - w


@kernel
def assemble_acceleration_lcp(
    nc: int,
    ns: int,
    nns: int,
    nr: int,
    nl: int,
    r: NDArray[np.int64],
    mu: NDArray[np.float64],
    sliding: NDArray[np.int64],
    non_sliding: NDArray[np.int64],
    J: NDArray[np.float64],
    Y: NDArray[np.float64],
    responses: NDArray[np.float64],
    k: NDArray[np.float64],
    gamma: NDArray[np.float64],
    a_free: NDArray[np.float64],
    M: NDArray[np.float64],
    q: NDArray[np.float64],
) -> None:
    """Fill M and q of the acceleration-level LCP.

    Parameters
    ----------
    nc, ns, nns, nr, nl
        Numbers of contacts, of sliding and of other contacts, of friction directions and of limits; nu = nc + nr + nl.
    r, mu
        (nns,) directions and static friction coefficient of each contact that does not slide.
    sliding, non_sliding
        (ns,) and (nns,) contacts.
    J, Y
        (>= nu, nv) constraint rows [N; F; L] and C J_i, row by row.
    responses
        (>= nc, nv) row i is C R_i: the acceleration by a unit of normal force at contact i.
    k, gamma
        (>= nu,) row terms [m/s^2 for contacts]; zeros (there is no softening at this level).
    a_free
        (nv,) acceleration without unilateral forces.
    M, q
        (n, n) and (n,), n = nc + 2 nr + nns + nl: output.
    """
    fill_rows(1.0, nc, nr, nl, nns, J, Y, k, gamma, a_free, M, q)
    for s in range(ns):
        c = sliding[s]
        _fill_sliding_column(c, nc, nr, nl, nns, J, responses[c], M)
    edge = nc
    for i in range(nns):
        fill_cone(nc + 2 * nr + i, non_sliding[i], edge, r[i], nr, mu[i], 0.0, M)
        edge += r[i]
