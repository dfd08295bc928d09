"""Members of a problem file that every kind of problem data has: row counts and inertia, checked on the way in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from problem_data.errors import ProblemDataError
from problem_data.inertia import (
    SOLVE_SYMMETRY_TOLERANCE,
    InverseInertia,
    SolveInertia,
    check_symmetric_with_positive_diagonal,
    cholesky_inertia,
)
from problem_data.validation import FloatArray, float_array, read_only

# A user's own inertia solve may be this far from the matrix it was sampled into.
RESPONSE_TOLERANCE = 1e-6

Members = dict[str, NDArray[np.generic]]


def member(arrays: Members, name: str) -> NDArray[np.generic]:
    """The member of this name; where it is missing, an error that says what there is instead."""
    if name not in arrays:
        present = ", ".join(sorted(arrays)[:20]) or "none"
        raise ProblemDataError(name, f"missing; the file holds {present}")
    return arrays[name]


def row_counts(arrays: Members, *names: str) -> tuple[int, ...]:
    """Counts of these names (nc, nr, ...) as the file states them."""
    rows = member(arrays, "rows")
    if rows.shape != (len(names),) or rows.dtype.kind not in "iu" or (rows < np.int64(0)).any():
        raise ProblemDataError("rows", f"{short(rows)}, wanted the {len(names)} whole numbers {', '.join(names)}")
    return tuple(int(n) for n in rows)


def inertia_members(M: FloatArray | None, solve_inertia: SolveInertia, nv: int) -> Members:
    """The mass matrix where it is known, its inverse (nv, nv) where not."""
    return {"M_inverse": solve_inertia(np.eye(nv))} if M is None else {"M": M}


def inertia_from(arrays: Members, nv: int) -> SolveInertia:
    """The inertia solve from the matrix in the file."""
    if "M" in arrays:
        return cholesky_inertia(arrays["M"], nv)
    if "M_inverse" not in arrays:
        raise ProblemDataError("M", "missing, and M_inverse is missing too")
    inverse: FloatArray = float_array("M_inverse", arrays["M_inverse"], (nv, nv))
    check_symmetric_with_positive_diagonal("M_inverse", inverse, SOLVE_SYMMETRY_TOLERANCE)
    return InverseInertia(read_only(inverse))


def check_response(arrays: Members, forces: str, response: str) -> None:
    """Refuse a file whose ``response`` is not M^-1 times its ``forces`` (one vector, or one per row), rounding apart.

    Where M is known the backward error |M y - f| is held against |M| |y|, so that a badly conditioned M is no excuse
    and no obstacle.
    """
    f = np.atleast_2d(member(arrays, forces)).astype(np.float64)
    y = np.atleast_2d(member(arrays, response)).astype(np.float64)
    matrix = np.asarray(arrays["M"] if "M" in arrays else arrays["M_inverse"], dtype=np.float64)
    given, mapped = (f, y) if "M" in arrays else (y, f)
    error = np.abs(mapped @ matrix.T - given).max(axis=1, initial=0.0)
    size = np.abs(matrix).max(initial=0.0) * np.abs(mapped).max(axis=1, initial=0.0) * max(1, matrix.shape[0])
    wrong = np.flatnonzero(~(error <= RESPONSE_TOLERANCE * (size + np.abs(given).max(axis=1, initial=0.0))))
    if wrong.size:
        where = f"row {wrong[0]} " if f.shape[0] > 1 else ""
        raise ProblemDataError(response, f"{where}is not M^-1 times {forces} (off by {error[wrong[0]]:.1e})")


def short(array: NDArray[np.generic]) -> str:
    """The array as text that fits into an error message."""
    return str(array)[:80] if array.size <= 8 else f"array of shape {array.shape}"
