"""Impact problems that the tests of the laws share."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from problem_data import ConstraintVelProblemData


def two_balls(m1: float, m2: float, v1: float, v2: float) -> ConstraintVelProblemData:
    """Ball 1 hits ball 2 on a line."""
    M = np.diag([m1, m2])
    return ConstraintVelProblemData(M=M, Mv=M @ [v1, v2], N=[[-1.0, 1.0]])


def cradle(n: int, speed: float = 1.0) -> ConstraintVelProblemData:
    """n equal balls in a row, touching, the first arriving."""
    v = np.zeros(n)
    v[0] = speed
    N = [[(-1.0 if j == i else 1.0 if j == i + 1 else 0.0) for j in range(n)] for i in range(n - 1)]
    return ConstraintVelProblemData(M=np.eye(n), Mv=v, N=N)


def disk(v: float, spin: float, fall: float, mu: float, r: int = 1) -> ConstraintVelProblemData:
    """A disk of unit mass and radius, inertia kappa = 1/2 (r = 1: x, y, angle), falling on the ground."""
    M = np.diag([1.0, 1.0, 0.5])
    return ConstraintVelProblemData(
        M=M, Mv=M @ [v, -fall, spin], N=[[0.0, 1.0, 0.0]], F=[[1.0, 0.0, 1.0]] * r, mu=[mu], r=[r]
    )


def rod(angle: float, mu: float, v: tuple[float, float, float] = (-1.0, -1.0, 0.0)) -> ConstraintVelProblemData:
    """A uniform rod of unit mass and half length that hits the ground with its low end, left of its centre."""
    M = np.diag([1.0, 1.0, 1.0 / 3.0])
    x, y = -np.cos(angle), -np.sin(angle)
    return ConstraintVelProblemData(M=M, Mv=M @ np.array(v), N=[[0.0, 1.0, x]], F=[[1.0, 0.0, -y]], mu=[mu], r=[1])


def rocking_block(b: float, h: float, rate: float = 1.0) -> ConstraintVelProblemData:
    """A block of half width b and half height h about to change corners: turning about its left corner.

    Coordinates (x, z, angle) of the centre; both corners touch, the left one at rest.
    """
    M = np.diag([1.0, 1.0, (b * b + h * h) / 3.0])
    # The centre stands at (b, h) from the left corner: v = rate x (b, h).
    v = np.array([-rate * h, rate * b, rate]) * -1.0
    N = [[0.0, 1.0, -b], [0.0, 1.0, b]]
    F = [[1.0, 0.0, h], [1.0, 0.0, h]]
    return ConstraintVelProblemData(M=M, Mv=M @ v, N=N, F=F, mu=[5.0, 5.0], r=[1, 1])


def random_impact(
    rng: np.random.Generator, contacts: int = 1, directions: int = 1, nv: int = 6, **more: Any
) -> ConstraintVelProblemData:
    """Dense inertia, random rows, contacts that approach."""
    A = rng.normal(size=(nv, nv))
    M = A @ A.T + 0.1 * np.eye(nv)
    v = rng.normal(size=nv)
    N, F = np.empty((contacts, nv)), np.empty((contacts * directions, nv))
    for c in range(contacts):
        N[c], tangents = rng.normal(size=nv), rng.normal(size=(min(2, directions), nv))
        if N[c] @ v > 0.0:
            N[c] = -N[c]
        F[c * directions : (c + 1) * directions] = spread(directions) @ tangents
    mu = rng.uniform(0.0, 2.0, contacts)
    return ConstraintVelProblemData(M=M, Mv=M @ v, N=N, F=F, mu=mu, r=[directions] * contacts, **more)


def spread(directions: int) -> NDArray[np.float64]:
    """Directions of a regular pyramid in their two tangents; one alone is the tangent."""
    if directions == 1:
        return np.ones((1, 1))
    angles = np.pi * np.arange(directions) / directions
    return np.column_stack((np.cos(angles), np.sin(angles)))
