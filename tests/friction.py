"""Independent solutions of small friction problems: every assignment of modes, each solved by a general root finder."""

import itertools

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import root

import lcp

Vector = NDArray[np.float64]


def violation(problem: lcp.FrictionProblem, r: Vector) -> float:
    """How far r is from Coulomb's law as the textbooks write it: gaps, cones, complementarity, opposition."""
    u = problem.W @ r + problem.q
    worst, at = 0.0, 0
    for mu, d in zip(problem.mu, problem.dims, strict=True):
        rn, rt, un, ut = r[at], r[at + 1 : at + d], u[at], u[at + 1 : at + d]
        slip, pull = float(np.linalg.norm(ut)), float(np.linalg.norm(rt))
        worst = max(worst, -rn, -un, min(abs(rn), abs(un)), pull - mu * rn)
        # Either it does not slide, or friction is at its bound and opposite to the slip.
        worst = max(worst, min(slip, float(np.linalg.norm(rt * slip + mu * rn * ut)) / max(slip, 1e-300)))
        at += int(d)
    return float(worst)


def all_solutions(problem: lcp.FrictionProblem, seed: int = 0, starts: int = 6) -> list[Vector]:
    """Forces of every assignment of modes (open, stick, slide) that a root finder solves and Coulomb's law admits."""
    rng = np.random.default_rng(seed)
    W, q, d = problem.W, problem.q, int(problem.dims[0])
    found: list[Vector] = []
    for modes in itertools.product(("open", "stick", "slide"), repeat=problem.nc):

        def equations(r: Vector, modes: tuple[str, ...] = modes) -> Vector:
            u = W @ r + q
            out = np.empty_like(r)
            for a, mode in enumerate(modes):
                part = slice(a * d, a * d + d)
                ra, ua = r[part], u[part]
                if mode == "open":
                    out[part] = ra
                elif mode == "stick":
                    out[part] = ua
                else:
                    out[a * d] = ua[0]
                    out[a * d + 1 : a * d + d] = ra[1:] * np.linalg.norm(ua[1:]) + problem.mu[a] * ra[0] * ua[1:]
            return out

        for _ in range(starts if "slide" in modes else 1):
            answer = root(equations, rng.normal(size=problem.m), tol=1e-13)
            if violation(problem, answer.x) < 1e-8 and not any(np.abs(answer.x - r).max() < 1e-5 for r in found):
                found.append(answer.x)
    return found


def random_problem(rng: np.random.Generator, nc: int, d: int = 3, skew: float = 0.0) -> lcp.FrictionProblem:
    """Contacts of full rank, loaded in any direction; W not symmetric where ``skew`` > 0."""
    m = nc * d
    B = rng.normal(size=(m, m + 2))
    W = B @ B.T / m + skew * rng.normal(size=(m, m))
    return lcp.FrictionProblem(
        W, rng.normal(size=m) - np.tile([1.0] + [0.0] * (d - 1), nc), rng.uniform(0.1, 0.8, nc), d
    )


def rigid_pile(rng: np.random.Generator, bodies: int, mu: float, ratio: float = 1.0) -> lcp.FrictionProblem:
    """A tower of unit cubes with four contacts from each to the next: W of deficient rank, masses up to ``ratio``."""
    corners = [(0.5, 0.5), (0.5, -0.5), (-0.5, 0.5), (-0.5, -0.5)]
    J = np.zeros((12 * bodies, 6 * bodies))
    for i in range(bodies):
        for k, (x, y) in enumerate(corners):
            for c, axis in enumerate(np.eye(3)[[2, 0, 1]]):
                row = 12 * i + 3 * k + c
                J[row, 6 * i : 6 * i + 6] = [*axis, *np.cross([x, y, -0.5], axis)]
                if i > 0:
                    J[row, 6 * i - 6 : 6 * i] = [*-axis, *-np.cross([x, y, 0.5], axis)]
    masses = ratio ** rng.uniform(0.0, 1.0, bodies)
    inverse = np.concatenate([[1.0 / m] * 3 + [6.0 / m] * 3 for m in masses])
    v = np.tile([0.0, 0.0, -1.0, 0.0, 0.0, 0.0], bodies) + rng.normal(size=6 * bodies) * 0.3
    return lcp.FrictionProblem((J * inverse) @ J.T, J @ v, np.full(4 * bodies, mu))
