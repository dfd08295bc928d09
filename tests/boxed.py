"""Problems with boxed rows, and the same as one dense mixed problem with bounds."""

from typing import Any

import numpy as np

import lcp
from contactlab import ConstraintSolver
from problem_data import ConstraintVelProblemData

H = 0.02
INF = np.inf

BOUNDS = {
    "symmetric": (-5.0, 5.0),
    "asymmetric": (-1.0, 20.0),
    "pulls only": (-30.0, -2.0),
    "pushes only": (2.0, 30.0),
    "one-sided": (0.0, INF),
    "from below": (-3.0, INF),
    "from above": (-INF, 3.0),
    "none": (-INF, INF),
    "given": (4.0, 4.0),
    "zero": (0.0, 0.0),
}


def slider(v: float, push: float, m: float = 2.0, h: float = H, **box: Any) -> ConstraintVelProblemData:
    """A mass on a rail that moves at v [m/s] and is pushed [N], with one boxed row along the rail."""
    return ConstraintVelProblemData(M=[[m]], Mv=[m * v + h * push], **({"B": [[1.0]]} | box))


def random_problem(
    seed: int, *, nc: int = 2, nl: int = 1, nb: int = 0, nbox: int = 3, soft: bool = True, **changes: Any
) -> ConstraintVelProblemData:
    """Contacts with one friction direction, limits, bilateral rows and boxed rows of all kinds; solvable."""
    rng = np.random.default_rng(seed)
    nv = 6
    root = rng.normal(size=(nv, nv))
    possible = rng.normal(size=nv)
    N, F, L = rng.normal(size=(nc, nv)), rng.normal(size=(nc, nv)), rng.normal(size=(nl, nv))
    G, B = rng.normal(size=(nb, nv)), rng.normal(size=(nbox, nv))
    bounds = np.sort(rng.normal(scale=20.0, size=(nbox, 2)), axis=1)
    kind = rng.integers(0, 6, nbox)
    bounds[kind == 0, 0] = -INF
    bounds[kind == 1, 1] = INF
    bounds[kind == 2] = -INF, INF
    bounds[kind == 3, 1] = bounds[kind == 3, 0]
    lo, hi = bounds.T
    kB = rng.normal(size=nbox)
    fields: dict[str, Any] = {
        "M": root @ root.T + nv * np.eye(nv),
        "Mv": 5.0 * rng.normal(size=nv),
        "N": N,
        "F": F,
        "L": L,
        "G": G,
        "B": B,
        "mu": rng.uniform(0.1, 0.6, nc),
        "r": np.ones(nc, dtype=int),
        "kN": rng.uniform(size=nc) - N @ possible,
        "kF": rng.normal(size=nc),
        "kL": rng.uniform(size=nl) - L @ possible,
        "kG": -G @ possible,
        "kB": kB,
        "lo": lo,
        "hi": hi,
    }
    if soft:
        for name, size in (("N", nc), ("F", nc), ("E", nc), ("L", nl), ("B", nbox)):
            fields[f"gamma{name}"] = rng.uniform(0.0, 0.02, size)
    fields |= changes
    if "kB" not in changes:
        # A force without a bound can ask for anything: such rows are met by the possible motion.
        endless = np.isinf(fields["lo"]) | np.isinf(fields["hi"])
        fields["kB"] = np.where(endless, -B @ possible, kB)
    return ConstraintVelProblemData(**fields)


def dense_box(data: ConstraintVelProblemData, h: float) -> lcp.BoxLCP:
    """The whole problem in [v+ | fG | fN | fF+ | fF- | lambda | fL | fB] with bounds; nothing is eliminated."""
    assert data.M is not None
    nv, nc, nr, nl, nb, nbox = data.nv, data.nc, data.nr, data.nl, data.nb, data.nbox
    N, F, L, G, B = (np.asarray(op @ np.eye(nv)) for op in (data.N, data.F, data.L, data.G, data.B))
    E = np.zeros((nr, nc))
    E[np.arange(nr), np.repeat(np.arange(nc), data.r)] = 1.0
    rows = np.vstack((G, N, F, -F, np.zeros((nc, nv)), L, B))
    ends = np.cumsum((nb, nc, nr, nr, nc, nl, nbox)).tolist()
    _, normal, plus, minus, slack, _, _ = (slice(a, b) for a, b in zip([0, *ends], ends, strict=False))
    forces = np.diag(
        np.concatenate((np.zeros(nb), data.gammaN, data.gammaF, data.gammaF, data.gammaE, data.gammaL, data.gammaB))
    )
    forces[slack, normal] = np.diag(data.mu)
    forces[plus, slack] = forces[minus, slack] = E
    forces[slack, plus] = forces[slack, minus] = -E.T
    columns = rows.copy()
    columns[slack] = 0.0
    terms = (-data.Mv, data.kG, data.kN, data.kF, -data.kF, np.zeros(nc), data.kL, data.kB)
    count = nc + 2 * nr + nc + nl
    lo = np.concatenate((np.full(nv + nb, -INF), np.zeros(count), data.lo))
    hi = np.concatenate((np.full(nv + nb + count, INF), data.hi))
    return lcp.BoxLCP(np.block([[data.M, -h * columns.T], [rows, forces]]), np.concatenate(terms), lo, hi)


def dense_vector(data: ConstraintVelProblemData, solution: Any) -> np.ndarray:
    """A solution as the unknowns of `dense_box`."""
    nc, nr, nl = data.nc, data.nr, data.nl
    z = solution.result.z[: 2 * nc + 2 * nr + nl]
    return np.concatenate((solution.v_plus, solution.forces.fG, z, solution.forces.fB))


def box_fields(data: ConstraintVelProblemData) -> dict[str, np.ndarray]:
    return {
        "B": np.asarray(data.B @ np.eye(data.nv)),
        "kB": data.kB,
        "gammaB": data.gammaB,
        "lo": data.lo,
        "hi": data.hi,
    }


def solved(data: ConstraintVelProblemData) -> Any:
    solution = ConstraintSolver().solve_discretized_problem(data, H)
    assert solution.certificate.worst < 1e-9
    return solution
