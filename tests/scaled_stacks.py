"""Time steps of stacks of boxes whose masses differ by many powers of ten: the hard set of contact problems.

Boxes stand on one another, with four contacts per interface, each rotated about the vertical and displaced at random.
The matrix is the one of Stewart and Trinkle (1996) and Anitescu and Potra (1997), with unknowns in the order normal
impulses, ``nd`` tangential impulses per contact, one lambda per contact; it is copositive and q lies in its dual range,
so each of these problems has a solution, which Lemke's method finds in exact arithmetic (Anitescu and Potra, theorem
2.2).
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Data = tuple[Array, Array]


def jacobians(rng: np.random.Generator, k: int, nd: int, *, turned: bool = True) -> tuple[Array, Array, Array]:
    """Normal rows (4 k, 6 k), tangential rows (4 k nd, 6 k) and the inverse inertias (6 k,) of unit masses.

    Velocities are (linear, angular) per box; tangents come in opposite pairs when ``nd`` is even.
    """
    half = np.stack([np.ones(k), np.ones(k), np.full(k, 0.5)], axis=1)
    if turned:
        half *= rng.uniform(0.8, 1.2, (k, 3))
    N = np.zeros((4 * k, 6 * k))
    D = np.zeros((4 * k * nd, 6 * k))
    for i in range(k):
        angle, shift = (rng.uniform(-0.4, 0.4), rng.uniform(-0.1, 0.1, 2)) if turned and i else (0.0, np.zeros(2))
        first = rng.uniform(0.0, np.pi) if turned else 0.0
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        below = half[i, :2] if i == 0 else np.minimum(half[i - 1, :2], half[i, :2])
        for corner, signs in enumerate(((1, 1), (1, -1), (-1, 1), (-1, -1))):
            at = turn @ (np.array(signs) * below) + shift
            directions = [first + 2.0 * np.pi * j / nd for j in range(nd // 2)]
            tangents = [np.array([np.cos(a), np.sin(a), 0.0]) for a in directions]
            rows = [np.array([0.0, 0.0, 1.0]), *tangents, *[-t for t in tangents]]
            for r, direction in enumerate(rows):
                target = N[4 * i + corner] if r == 0 else D[(4 * i + corner) * nd + r - 1]
                arm = np.array([*at, -half[i, 2]])
                target[6 * i : 6 * i + 3] = direction
                target[6 * i + 3 : 6 * i + 6] = np.cross(arm, direction)
                if i:
                    arm = np.array([*at, half[i - 1, 2]])
                    target[6 * i - 6 : 6 * i - 3] = -direction
                    target[6 * i - 3 : 6 * i] = -np.cross(arm, direction)
    inertia = np.stack([half[:, 1] ** 2 + half[:, 2] ** 2, half[:, 0] ** 2 + half[:, 2] ** 2,
                        half[:, 0] ** 2 + half[:, 1] ** 2], axis=1) / 3.0  # fmt: skip
    return N, D, np.hstack([np.ones((k, 3)), 1.0 / inertia]).ravel()


def assemble(N: Array, D: Array, inverse: Array, mu: float, v: Array, gap_rate: Array | float = 0.0) -> Data:
    """M and q of the time step with inverse inertias ``inverse`` (nv,), velocities v (nv,) and gap / h."""
    nc, nt = N.shape[0], D.shape[0]
    J = np.vstack([N, D])
    m = nc + nt
    M = np.zeros((m + nc, m + nc))
    M[:m, :m] = (J * inverse) @ J.T
    E = np.kron(np.eye(nc), np.ones((nt // nc, 1)))
    M[nc:m, m:], M[m:, nc:m] = E, -E.T
    M[m:, :nc] = mu * np.eye(nc)
    return M, np.concatenate([N @ v + gap_rate, D @ v, np.zeros(nc)])


def masses(rng: np.random.Generator, k: int, ratio: float, pattern: str) -> Array:
    """Masses of k boxes: alternately light and heavy ("heavy", "light": ratio up or down), one heavy, or at random."""
    turn = np.arange(k) % 2
    if pattern in ("heavy", "light"):
        return np.where(turn == 1, ratio if pattern == "heavy" else 1.0 / ratio, 1.0)
    if pattern == "one":
        mass = np.ones(k)
        mass[rng.integers(0, k)] = ratio
        return mass
    return ratio ** rng.uniform(0.0, 1.0, k)


PATTERNS = ("heavy", "light", "one", "spread")
MOTIONS = ("random", "rest", "slide")


def stack(
    rng: np.random.Generator,
    k: int,
    nd: int,
    ratio: float,
    *,
    h: float = 1e-4,
    pattern: str = "heavy",
    motion: str = "random",
    gaps: bool = False,
    impulses: bool = True,
    turned: bool = True,
) -> Data:
    """One time step of a stack of k boxes with nd friction directions; unknowns in N s, or in N with ``impulses`` off.

    In newtons h multiplies the Delassus matrix, and the entries of a heavy body are lost in rounding beside E.
    """
    N, D, unit = jacobians(rng, k, nd, turned=turned)
    mass = masses(rng, k, ratio, pattern)
    v = np.zeros((k, 6))
    if motion == "random":
        v = rng.standard_normal((k, 6)) * 0.5
    elif motion == "slide":
        v[:, 0] = rng.uniform(0.5, 2.0)
    v[:, 2] -= 9.81 * h
    mu = float(rng.choice([0.1, 0.3, 0.5, 0.8, 1.0]))
    gap = rng.uniform(0.0, 1e-5, 4 * k) * rng.integers(0, 2, 4 * k) / h if gaps else 0.0
    M, q = assemble(N, D, unit / np.repeat(mass, 6), mu, v.ravel(), gap)
    if not impulses:
        m = 4 * k * (1 + nd)
        M[:m, :m] *= h
    return M, q
