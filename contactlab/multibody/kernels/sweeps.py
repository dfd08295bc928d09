"""The two sweeps that solve with articulated inertias, M^-1 = E^T D^-1 E; constraint forces come in between them.

Inward u = x - S.p, p_up += p + U u / D; outward x = (u - U.a) / D, a += S x.
"""

from __future__ import annotations

from contactlab.multibody.kernels.layout import Tree
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel


@kernel(inline=True)
def inward(t: Tree, S: FloatArray, U: FloatArray, D: FloatArray, P: FloatArray, x: FloatArray) -> None:
    """x (nv,) := E (x - S^T p), the links needing the forces p = P (nl, 6), which is used up."""
    for i in range(t.parent.shape[0] - 1, -1, -1):
        Pi = P[i]
        a, b, c, d, e, f = Pi[0], Pi[1], Pi[2], Pi[3], Pi[4], Pi[5]
        for j in range(t.iv[i + 1] - 1, t.iv[i] - 1, -1):
            s = S[j]
            u = U[j]
            rest = x[j] - (s[0] * a + s[1] * b + s[2] * c + (s[3] * d + s[4] * e + s[5] * f))
            x[j] = rest
            rest *= D[j]
            a += u[0] * rest
            b += u[1] * rest
            c += u[2] * rest
            d += u[3] * rest
            e += u[4] * rest
            f += u[5] * rest
        up = t.parent[i]
        if up >= 0:
            Pu = P[up]
            Pu[0] += a
            Pu[1] += b
            Pu[2] += c
            Pu[3] += d
            Pu[4] += e
            Pu[5] += f


@kernel(inline=True)
def outward(t: Tree, S: FloatArray, U: FloatArray, D: FloatArray, P: FloatArray, x: FloatArray) -> None:
    """x (nv,) := E^T D^-1 x; P (nl, 6) ends as the accelerations of the links."""
    for i in range(t.parent.shape[0]):
        Pi = P[i]
        up = t.parent[i]
        if up >= 0:
            Pu = P[up]
            a, b, c, d, e, f = Pu[0], Pu[1], Pu[2], Pu[3], Pu[4], Pu[5]
        else:
            a = b = c = d = e = f = 0.0
        for j in range(t.iv[i], t.iv[i + 1]):
            s = S[j]
            u = U[j]
            rate = (x[j] - (u[0] * a + u[1] * b + u[2] * c + (u[3] * d + u[4] * e + u[5] * f))) * D[j]
            x[j] = rate
            a += s[0] * rate
            b += s[1] * rate
            c += s[2] * rate
            d += s[3] * rate
            e += s[4] * rate
            f += s[5] * rate
        Pi[0] = a
        Pi[1] = b
        Pi[2] = c
        Pi[3] = d
        Pi[4] = e
        Pi[5] = f
