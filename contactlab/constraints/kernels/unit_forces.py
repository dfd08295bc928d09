"""Unit forces on rows, propagated through the articulated bodies to the root, and the responses of the rows to them.

The articulated-body factor is M^-1 = E^T D^-1 E, with the inward sweep E. For a unit force on row i, x_i = E G_i^T is
zero off the paths from its bodies to the root. With the joint loads u = E (tau - h) of the free motion,

    (X^T D^-1 X) forces = gamma - X^T D^-1 u,      a = E^T D^-1 (u + X forces)

The cost is O(links) for the factor and for each row, and one outward sweep. Kokkevis and Metaxas (1998), "Efficient
dynamic constraints for animating articulated figures", call them test forces. For the sweeps see Featherstone (2008,
section 7.3).

With Y = D^-1/2 X the system is the one of the range-space method (`contactlab.constraints.kernels.kkt`), without M.
"""

from __future__ import annotations

import math

from contactlab.constraints.kernels.kkt import gram
from contactlab.multibody.kernels.layout import tree
from contactlab.spatial.arrays import FloatArray, IntArray
from lcp.compiler.views import view_2d
from lcp.kernels import kernel


@kernel
def unit_responses(
    parents: IntArray,
    S: FloatArray,
    U: FloatArray,
    D: FloatArray,
    G: FloatArray,
    P: FloatArray,
    touched: FloatArray,
    Y: FloatArray,
) -> None:
    """Fill the first columns of Y (nv, m + 1) with D^-1/2 E G^T for rows G (m, nv); D holds the inverses.

    ``touched`` (nv,) is 0.0 where these columns are zero, and otherwise 1.0. P (6 nv, m) is scratch.
    """
    m, nv = G.shape
    for j in range(nv):
        touched[j] = 0.0
    for k in range(6 * nv):
        force = P[k]
        for i in range(m):
            force[i] = 0.0
    # From the tips to the roots, all rows together.
    for j in range(nv - 1, -1, -1):
        y = Y[j]
        s = S[j]
        u = U[j]
        root = math.sqrt(D[j])
        for i in range(m):
            y[i] = G[i, j]
            if y[i] != 0.0:
                touched[j] = 1.0
        if touched[j] == 0.0:
            continue
        # Entries less the work of the forces carried so far, in units of the root of the inertia.
        for k in range(6):
            force = P[6 * j + k]
            for i in range(m):
                y[i] -= s[k] * force[i]
        for i in range(m):
            y[i] *= root
        # Forces that continue inward.
        up = parents[j]
        if up >= 0:
            touched[up] = 1.0
            for k in range(6):
                force = P[6 * j + k]
                onward = P[6 * up + k]
                share = u[k] * root
                for i in range(m):
                    onward[i] += force[i] + share * y[i]


@kernel
def delassus_matrix(
    I: IntArray, F: FloatArray, articulated: FloatArray, G: FloatArray, W: FloatArray, K: FloatArray
) -> None:
    """Fill K (m, m) with G M^-1 G^T, without M and its inverse, for rows of any kind.

    ``articulated`` (13 nv,) is from `factor_inertia`, W has nv (7 m + 2) + (m + 1)^2 places.
    """
    m, nv = G.shape
    # Views into the factor and the workspace.
    S = view_2d(articulated, 0, nv, 6)
    U = view_2d(articulated, 6 * nv, nv, 6)
    D = articulated[12 * nv : 13 * nv]
    Y = view_2d(W, 0, nv, m + 1)
    P = view_2d(W, nv * (m + 1), 6 * nv, m)
    b = nv * (7 * m + 1)
    touched = W[b : b + nv]
    products = view_2d(W, b + nv, m + 1, m + 1)
    # K = Y^T Y, the lower triangle mirrored.
    unit_responses(tree(I, F).dof_parent, S, U, D, G, P, touched, Y)
    for j in range(nv):
        Y[j, m] = 0.0
    gram(Y, touched, products)
    for i in range(m):
        for j in range(i + 1):
            K[i, j] = products[i, j]
            K[j, i] = products[i, j]
