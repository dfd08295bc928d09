"""The one assembly of the contact problem: physical rows, friction cones, and the LCP of one step in force units.

With W = J C J' over the unilateral rows [N; F; L] (C the inverse inertia, bilateral rows already eliminated), h the
step and f in newtons, the variables are [fN | fF+ | fF- | lambda | fL] and::

        | h W_NN + gN   h W_NF        -h W_NF         0    h W_NL      |        |  N v_free + kN |
        | h W_FN        h W_FF + gF   -h W_FF         E    h W_FL      |        |  F v_free + kF |
    M = |-h W_FN       -h W_FF         h W_FF + gF    E   -h W_FL      |    q = | -F v_free - kF |
        | mu           -E'            -E'             gE   0           |        |  0             |
        | h W_LN        h W_LF        -h W_LF         0    h W_LL + gL |        |  L v_free + kL |

E, mu and -E' carry no h: they compare forces with forces and speeds with speeds. The impact problem is h = 1. Boxed
rows follow as [x | y] behind fL: see `boxed_rows`.

`fill_rows` states the rows with an h, `fill_cone` those of one contact's friction; `acceleration_lcp` calls them too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from contactlab.formulation.kernels.boxed_rows import fill_boxed_rows
from lcp.kernels import kernel

__all__ = ["assemble_boxed_lcp", "assemble_lcp", "fill_cone", "fill_rows"]


@kernel
def fill_rows(
    h: float,
    nc: int,
    nr: int,
    nl: int,
    cones: int,
    J: NDArray[np.float64],
    Y: NDArray[np.float64],
    k: NDArray[np.float64],
    gamma: NDArray[np.float64],
    v_free: NDArray[np.float64],
    M: NDArray[np.float64],
    q: NDArray[np.float64],
) -> None:
    """Fill q and the physical blocks of M, h W + gamma; all other entries become zero.

    Parameters
    ----------
    h, nc, nr, nl, J, Y, k, gamma, v_free
        As for `assemble_lcp`.
    cones
        Number of slacks lambda: of contacts with a friction cone.
    M, q
        (n, n) and (n,), n >= nc + 2 nr + cones + nl: output.

    Notes
    -----
    W_ij is summed once, for j >= i, and mirrored: the physical blocks are symmetric to the last bit.
    """
    nu = nc + nr + nl
    nv = v_free.shape[0]
    limit = nc + 2 * nr + cones  # first fL
    n = q.shape[0]

    for i in range(n):
        for j in range(n):
            M[i, j] = 0.0
        q[i] = 0.0

    # Rows N and L sit once in the LCP, rows F twice: as themselves and negated.
    for i in range(nu):
        friction_i = nc <= i < nc + nr
        a = i if i < nc + nr else limit + i - nc - nr

        rate = 0.0
        for p in range(nv):
            rate += J[i, p] * v_free[p]
        rate += k[i]
        q[a] = rate
        if friction_i:
            q[a + nr] = -rate

        for j in range(i, nu):
            friction_j = nc <= j < nc + nr
            b = j if j < nc + nr else limit + j - nc - nr
            w = 0.0
            for p in range(nv):
                w += J[i, p] * Y[j, p]
            w *= h
            M[a, b] = w
            M[b, a] = w
            negated = 0.0 - w  # not -w: a zero stays +0, and the matrix prints without -0
            if friction_j:
                M[a, b + nr] = negated
                M[b + nr, a] = negated
            if friction_i:
                M[a + nr, b] = negated
                M[b, a + nr] = negated
            if friction_i and friction_j:
                M[a + nr, b + nr] = w
                M[b + nr, a + nr] = w

        M[a, a] += gamma[i]
        if friction_i:
            M[a + nr, a + nr] += gamma[i]


@kernel
def fill_cone(
    row: int, contact: int, edge: int, directions: int, nr: int, mu: float, gammaE: float, M: NDArray[np.float64]
) -> None:
    """Coulomb row of one contact: 0 <= lambda  _|_  mu fN - sum(fF+ + fF-) + gammaE lambda >= 0.

    Parameters
    ----------
    row
        Place of lambda in the LCP.
    contact
        Place of fN.
    edge, directions
        Place of the contact's first fF+ and the number of its directions; fF- follow nr places later.
    mu, gammaE
        Friction coefficient and softening.
    M
        (n, n): output.
    """
    M[row, contact] = mu
    M[row, row] = gammaE
    for i in range(edge, edge + directions):
        M[i, row] = 1.0
        M[i + nr, row] = 1.0
        M[row, i] = -1.0
        M[row, i + nr] = -1.0


@kernel
def assemble_boxed_lcp(
    h: float,
    nc: int,
    nr: int,
    nl: int,
    r: NDArray[np.int64],
    mu: NDArray[np.float64],
    J: NDArray[np.float64],
    Y: NDArray[np.float64],
    k: NDArray[np.float64],
    gamma: NDArray[np.float64],
    gammaE: NDArray[np.float64],
    lo: NDArray[np.float64],
    hi: NDArray[np.float64],
    v_free: NDArray[np.float64],
    M: NDArray[np.float64],
    q: NDArray[np.float64],
) -> None:
    """Fill M and q of the step's LCP, boxed rows included.

    Parameters
    ----------
    h
        Step [s].
    nc, nr, nl
        Numbers of contacts, friction directions and limits; nu = nc + nr + nl.
    r, mu, gammaE
        (nc,) directions, friction coefficient and softening of the slack of each contact.
    J, Y
        (>= nu + nbox, nv) constraint rows [N; F; L; B] and C J_i, row by row. Rows past them are not read.
    k, gamma
        (>= nu + nbox,) row terms [m/s for contacts] and softening [s/kg for contacts].
    lo, hi
        (nbox,) bounds of the forces of the boxed rows.
    v_free
        (nv,) velocity after the step without unilateral and boxed forces.
    M, q
        (n, n) and (n,), n = 2 nc + 2 nr + nl and the `boxed_variables`: output.
    """
    fill_rows(h, nc, nr, nl, nc, J, Y, k, gamma, v_free, M, q)
    edge = nc
    for c in range(nc):
        fill_cone(nc + 2 * nr + c, c, edge, r[c], nr, mu[c], gammaE[c], M)
        edge += r[c]
    if lo.shape[0] > 0:
        fill_boxed_rows(h, nc, nr, nl, nc, J, Y, k, gamma, lo, hi, v_free, M, q)


@kernel
def assemble_lcp(
    h: float,
    nc: int,
    nr: int,
    nl: int,
    r: NDArray[np.int64],
    mu: NDArray[np.float64],
    J: NDArray[np.float64],
    Y: NDArray[np.float64],
    k: NDArray[np.float64],
    gamma: NDArray[np.float64],
    gammaE: NDArray[np.float64],
    v_free: NDArray[np.float64],
    M: NDArray[np.float64],
    q: NDArray[np.float64],
) -> None:
    """Fill M and q of the LCP of a step without boxed rows; parameters as for `assemble_boxed_lcp`."""
    assemble_boxed_lcp(h, nc, nr, nl, r, mu, J, Y, k, gamma, gammaE, v_free[:0], v_free[:0], v_free, M, q)
