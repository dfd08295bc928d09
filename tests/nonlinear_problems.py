"""Nonlinear complementarity problems of the literature beyond `lcp.nonlinear.catalog`, with known solutions."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

import lcp

Vector = np.ndarray


@dataclass(frozen=True)
class Cournot:
    """Firms that choose outputs q: marginal cost c_i + (scale_i q_i)^(1 / beta_i), price (5000 / Q)^(1 / gamma).

    Five firms: F. H. Murphy, H. D. Sherali, A. L. Soyster (1982). Ten: P. T. Harker (1988).
    """

    c: Vector
    beta: Vector
    scale: float
    gamma: float
    answer: Vector  # as printed, four digits after the point

    def F(self, q: Vector) -> Vector:
        total = q.sum()
        price = (5000.0 / total) ** (1.0 / self.gamma)
        return self.c + (self.scale * q) ** (1.0 / self.beta) - price * (1.0 - q / (self.gamma * total))

    def jacobian(self, q: Vector) -> Vector:
        total, g = q.sum(), self.gamma
        price = (5000.0 / total) ** (1.0 / g)
        falling = price / (g * total)
        J = np.tile((falling * (1.0 - (1.0 + 1.0 / g) * q / total))[:, None], (1, q.shape[0]))
        own = self.scale / self.beta * (self.scale * q) ** (1.0 / self.beta - 1.0)
        J[np.diag_indices_from(J)] += own + falling
        return J


COURNOT = (
    Cournot(
        np.array([10.0, 8.0, 6.0, 4.0, 2.0]),
        np.array([1.2, 1.1, 1.0, 0.9, 0.8]),
        1.0 / 5.0,
        1.1,
        np.array([36.9325, 41.8181, 43.7066, 42.6592, 39.1790]),
    ),
    Cournot(
        np.array([5.0, 3.0, 8.0, 5.0, 1.0, 3.0, 7.0, 4.0, 6.0, 3.0]),
        np.array([1.2, 1.0, 0.9, 0.6, 1.5, 1.0, 0.7, 1.1, 0.95, 0.75]),
        10.0,
        1.2,
        np.array([7.4415, 4.0978, 2.5906, 0.9354, 17.9490, 4.0978, 1.3047, 5.5901, 3.2222, 1.6771]),
    ),
)


def shortest_string(heights: Vector) -> lcp.MCP:
    """The shortest string over an obstacle with these ``heights`` at equal distances, held at 0 at both ends.

    Minimises sum sqrt(h^2 + (u_{i+1} - u_i)^2); its answer is the least concave function above the obstacle.
    """
    n = heights.shape[0]
    h = 1.0 / (n + 1)

    def F(u: Vector) -> Vector:
        rise = np.diff(np.concatenate([[0.0], u, [0.0]]))
        sine = rise / np.hypot(h, rise)
        return sine[:-1] - sine[1:]

    def jacobian(u: Vector) -> sp.csr_array:
        rise = np.diff(np.concatenate([[0.0], u, [0.0]]))
        slope = h * h / np.hypot(h, rise) ** 3
        return sp.diags_array([slope[:-1] + slope[1:], -slope[1:-1], -slope[1:-1]], offsets=[0, 1, -1], format="csr")

    return lcp.MCP(F, jacobian, heights, np.inf)


def concave_hull(heights: Vector) -> Vector:
    """The least concave function above ``heights`` and 0 at both ends, at the same places, from its corners."""
    points = [(float(i), y) for i, y in enumerate([0.0, *heights, 0.0])]
    corners: list[tuple[float, float]] = []
    for x, y in points:
        while len(corners) > 1:
            (x0, y0), (x1, y1) = corners[-2:]
            if (y1 - y0) * (x - x0) > (y - y0) * (x1 - x0):
                break
            corners.pop()
        corners.append((x, y))
    xs, ys = zip(*corners, strict=True)
    return np.interp(np.arange(1, len(points) - 1), xs, ys)


def journal_bearing(n: int, eccentricity: float = 0.8) -> tuple[lcp.MCP, lcp.BoxLCP]:
    """The film of a journal bearing, -div(g^3 grad p) = -dg/dx with p >= 0, on an n by n grid; as MCP and BoxLCP.

    g = 1 + eccentricity cos x on (0, 2 pi) x (0, 2), p = 0 at the border (Cottle, Pang and Stone 1992, section 1.2).
    """
    hx, hy = 2.0 * np.pi / (n + 1), 2.0 / (n + 1)
    x = hx * np.arange(n + 2)
    middle = (1.0 + eccentricity * np.cos(x[:-1] + 0.5 * hx)) ** 3
    here = (1.0 + eccentricity * np.cos(x[1:-1])) ** 3
    across = sp.diags_array([middle[:-1] + middle[1:], -middle[1:-1], -middle[1:-1]], offsets=[0, 1, -1], format="csr")
    along = sp.diags_array([2.0 * np.ones(n), -np.ones(n - 1), -np.ones(n - 1)], offsets=[0, 1, -1], format="csr")
    A = sp.kron(across / hx**2, sp.eye_array(n)) + sp.kron(sp.diags_array(here) / hy**2, along)
    q = np.repeat(-eccentricity * np.sin(x[1:-1]), n)
    A = sp.csr_array(A)
    return lcp.MCP(lambda p: A @ p + q, lambda p: A, np.zeros(n * n), np.inf), lcp.BoxLCP(A, q, 0.0, np.inf)


def bratu(m: int, strength: float) -> lcp.MCP:
    """-Laplace u = strength exp(u) on m x m nodes of the unit square, u = 0 at the rim, at most 0.05: an obstacle."""
    off, h = -np.ones(m - 1), 1.0 / (m + 1)
    line = sp.diags_array([off, 2.0 * np.ones(m), off], offsets=[-1, 0, 1])
    A = (sp.kron(line, sp.eye_array(m)) + sp.kron(sp.eye_array(m), line)).tocsr() / h**2
    high = np.full(m * m, 0.05)
    return lcp.MCP(
        lambda u: A @ u - strength * np.exp(u), lambda u: A - sp.diags_array(strength * np.exp(u)), -np.inf, high
    )
