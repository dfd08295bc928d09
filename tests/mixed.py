"""Random problems with every class of rows at both levels, and their LCP from the dense mixed problem."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from problem_data import ConstraintAccelProblemData

FloatArray = NDArray[np.float64]


def random_acceleration_fields(seed: int, *, nb: int = 0, rank: int | None = None) -> dict[str, Any]:
    """Four contacts, two of them sliding, 1 to 3 directions each, two limits, nb bilateral rows of the given rank.

    There is an acceleration that meets all rows.
    """
    rng = np.random.default_rng(seed)
    nv = 7
    root = rng.normal(size=(nv, nv))
    r = rng.integers(1, 4, 2)
    sliding = np.sort(rng.choice(4, 2, replace=False))
    G = rng.normal(size=(nb, nv))
    if rank is not None:
        G = rng.normal(size=(nb, rank)) @ G[:rank]
    N, L = rng.normal(size=(4, nv)), rng.normal(size=(2, nv))
    possible = rng.normal(size=nv)
    return {
        "M": root @ root.T + nv * np.eye(nv),
        "tau": 5.0 * rng.normal(size=nv),
        "N": N,
        "Q": rng.normal(size=(2, nv)),
        "F": rng.normal(size=(int(r.sum()), nv)),
        "L": L,
        "G": G,
        "kN": rng.uniform(size=4) - N @ possible,
        "kF": rng.normal(size=int(r.sum())),
        "kL": rng.uniform(size=2) - L @ possible,
        "kG": -G @ possible,
        "mu_sliding": rng.uniform(0.05, 0.3, 2),
        "mu_non_sliding": rng.uniform(0.1, 0.5, 2),
        "sliding_contacts": sliding,
        "r": r,
    }


def random_acceleration_problem(seed: int, *, nb: int = 0, rank: int | None = None) -> ConstraintAccelProblemData:
    return ConstraintAccelProblemData(**random_acceleration_fields(seed, nb=nb, rank=rank))


def motion_space(M: FloatArray, G: FloatArray, kG: FloatArray, load: FloatArray) -> tuple[FloatArray, FloatArray]:
    """C and the motion without unilateral forces, in coordinates of the null space of G (no pseudo-inverse of W)."""
    _, singular, right = np.linalg.svd(G)
    rank = int((singular > 1e-10 * singular.max(initial=0.0)).sum())
    Z = right[rank:].T
    particular = -np.linalg.pinv(G, rcond=1e-10) @ kG if len(G) else np.zeros(len(M))
    C = Z @ np.linalg.inv(Z.T @ M @ Z) @ Z.T
    return C, particular + C @ (load - M @ particular)


def acceleration_lcp(data: ConstraintAccelProblemData, *, inertia: FloatArray | None = None) -> Any:
    """MM = X3 + X2 C X1 and qq = X2 a0 + x4 of the dense mixed problem; ``inertia`` stands in for C where given."""
    assert data.M is not None
    N, Q, F, L, G = (np.asarray(op @ np.eye(data.nv)) for op in (data.N, data.Q, data.F, data.L, data.G))
    R = N.copy()
    R[data.sliding_contacts] -= data.mu_sliding[:, None] * Q
    C, a0 = motion_space(data.M, G, data.kG, data.tau)
    if inertia is not None:
        C = inertia
    nc, nr, nns = data.nc, data.nr, data.nns
    E = np.zeros((nr, nns))
    E[np.arange(nr), np.repeat(np.arange(nns), data.r)] = 1.0
    mu = np.zeros((nns, nc))
    mu[np.arange(nns), data.non_sliding_contacts] = data.mu_non_sliding
    none = np.zeros((nns, data.nv))
    X2 = np.vstack((N, F, -F, none, L))
    X1 = np.vstack((R, F, -F, none, L)).T
    X3 = np.zeros((len(X2), len(X2)))
    edges, slack = slice(nc, nc + 2 * nr), slice(nc + 2 * nr, nc + 2 * nr + nns)
    X3[slack, :nc] = mu
    X3[edges, slack] = np.vstack((E, E))
    X3[slack, edges] = -np.vstack((E, E)).T
    x4 = np.concatenate((data.kN, data.kF, -data.kF, np.zeros(nns), data.kL))
    return X3 + X2 @ C @ X1, X2 @ a0 + x4
