"""Fields of problem data with every class of rows, at both levels, and small problems whose files are written."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from refusals import assert_named

from problem_data import ConstraintAccelProblemData, ConstraintVelProblemData, ProblemDataError

THIRD = 1.0 / 3.0


def velocity_fields(
    seed: int = 0, nv: int = 5, r: tuple[int, ...] = (2, 0, 3), nl: int = 2, nb: int = 1
) -> dict[str, Any]:
    """Return the fields of a problem at velocity level."""
    random = np.random.default_rng(seed)
    nc, nr = len(r), sum(r)
    root = random.standard_normal((nv, nv))
    rows = {"N": nc, "F": nr, "L": nl, "G": nb}
    fields: dict[str, Any] = {"M": root @ root.T + nv * np.eye(nv), "Mv": random.standard_normal(nv)}
    fields |= {name: random.standard_normal((count, nv)) for name, count in rows.items()}
    fields |= {"mu": np.where(np.array(r) > 0, random.uniform(0.1, 1.0, nc), 0.0), "r": list(r)}
    fields |= {f"k{name}": random.standard_normal(count) for name, count in rows.items()}
    return fields | {
        f"gamma{name}": random.uniform(0.0, 1.0, n) for name, n in zip("NFEL", (nc, nr, nc, nl), strict=True)
    }


def acceleration_fields(
    seed: int = 0,
    nv: int = 5,
    sliding: tuple[int, ...] = (0, 3),
    r: tuple[int, ...] = (2, 0, 3),
    nl: int = 2,
    nb: int = 1,
) -> dict[str, Any]:
    """Return the fields of a problem at acceleration level; ``r`` counts directions of contacts at rest."""
    random = np.random.default_rng(seed)
    ns, nns, nr = len(sliding), len(r), sum(r)
    nc = ns + nns
    root = random.standard_normal((nv, nv))
    rows = {"N": nc, "Q": ns, "F": nr, "L": nl, "G": nb}
    fields: dict[str, Any] = {"M": root @ root.T + nv * np.eye(nv), "tau": random.standard_normal(nv)}
    fields |= {name: random.standard_normal((count, nv)) for name, count in rows.items()}
    fields |= {f"k{name}": random.standard_normal(count) for name, count in rows.items() if name != "Q"}
    fields |= {"mu_sliding": random.uniform(0.1, 1.0, ns), "r": list(r), "sliding_contacts": list(sliding)}
    fields["mu_non_sliding"] = np.where(np.array(r) > 0, random.uniform(0.1, 1.0, nns), 0.0)
    return fields | {"non_sliding_contacts": [i for i in range(nc) if i not in sliding]}


#: The class and its fields, by level.
LEVELS: dict[str, tuple[Any, Callable[..., dict[str, Any]]]] = {
    "velocity": (ConstraintVelProblemData, velocity_fields),
    "acceleration": (ConstraintAccelProblemData, acceleration_fields),
}
each_level = pytest.mark.parametrize(("kind", "fields_of"), LEVELS.values(), ids=LEVELS)


def pair(matrix: np.ndarray) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return a linear map as two functions."""
    return lambda v: matrix @ v, lambda f: matrix.T @ f


def velocity_example(**changes: Any) -> ConstraintVelProblemData:
    """Return a problem whose numbers have no short decimals."""
    fields: dict[str, Any] = {
        "M": [[2.0, THIRD], [THIRD, 1.0]],
        "Mv": [-0.0, 5e-324],
        "N": [[THIRD, 1.0]],
        "F": [[1.0, 0.0], [0.1, -0.0]],
        "mu": [0.7],
        "r": [2],
        "L": [[0.0, 1e300]],
        "G": [[1.0, -1.0]],
        "B": [[THIRD, 0.3]],
        "lo": [-np.inf],
        "hi": [THIRD],
        "gammaB": [0.2],
        "kN": [0.1],
        "gammaF": [1e-12, 0.3],
    }
    return ConstraintVelProblemData(**fields | changes)


def acceleration_example(**changes: Any) -> ConstraintAccelProblemData:
    """Return a problem with a sliding contact whose numbers have no short decimals."""
    fields: dict[str, Any] = {
        "M": [[2.0, THIRD], [THIRD, 1.0]],
        "tau": [-0.0, 5e-324],
        "N": [[THIRD, 1.0], [0.1, 0.3], [0.0, 1.0]],
        "Q": [[1.0, -0.7]],
        "F": [[1.0, 0.0], [0.1, -0.0]],
        "mu_sliding": [0.3],
        "mu_non_sliding": [0.7, 0.0],
        "sliding_contacts": [1],
        "r": [2, 0],
        "L": [[0.0, 1e300]],
        "G": [[1.0, -1.0]],
        "kN": [0.1, 0.2, 0.3],
    }
    return ConstraintAccelProblemData(**fields | changes)


def assert_same_bits(a: Any, b: Any) -> None:
    """Two named tuples of blocks hold the same bits."""
    for name, x, y in zip(a._fields, a, b, strict=True):
        if isinstance(x, np.ndarray):
            assert (x.dtype, x.shape, x.tobytes()) == (y.dtype, y.shape, y.tobytes()), name
        else:
            assert x == y, name


def refuses(field: str, message: str, make: Callable[[], object]) -> None:
    """``make`` raises an error that names the field and holds the message."""
    assert_named(ProblemDataError, field, re.escape(message), make)
