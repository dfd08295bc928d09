"""Two solvers on one LCP of two unknowns, step by step."""

from __future__ import annotations

import numpy as np

import lcp
from contactlab.tour.planes import LcpPlanes
from contactlab.tour.scene import Slider, TourScene


def walk(coupling: float, turn: float) -> tuple[lcp.LCP, lcp.ParametricPath, list[np.ndarray]]:
    """Return the LCP, Lemke's path, on which q + t (1, 1) comes from far away, and the iterates of Gauss-Seidel."""
    angle = np.radians(turn)
    problem = lcp.LCP([[1.5, coupling], [coupling, 1.0]], [2.5 * np.cos(angle), 2.5 * np.sin(angle)])
    # If q + t (1, 1) is positive, z = 0 is a solution. From there t decreases to 0, where z solves the problem.
    far = lcp.LCP(problem.M, np.asarray(problem.q) + 6.0)
    path = lcp.parametric(far, direction=[-1.0, -1.0], to=6.0)
    iterates = [np.zeros(2)]
    for k in range(1, 13):
        sweeps = lcp.ProjectedGaussSeidel(relaxation=1.0, max_iterations=k)
        iterates.append(lcp.solve(problem, sweeps, z0=[0.0, 0.0]).z)
    return problem, path, iterates


SCENE = TourScene(
    "plane",
    "Two solvers, one problem",
    "Left, q comes down from far away through the complementary cones of M, which is Lemke's method; right, "
    "both walks to the solution. Beyond a coupling of 1.2 cones overlap: some q have three solutions, some none.",
    "tutorial_solver",
    (Slider("coupling", -1.0, 2.0, 0.05, 0.7), Slider("turn", 0.0, 360.0, 5.0, 215.0, "degrees")),
    walk,
    draw=LcpPlanes,
)
