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

Members = dict[str, NDArray[np.generic]]


def member(arrays: Members, name: str) -> NDArray[np.generic]:
    """The member of this name; where it is missing, an error that says what there is instead."""
    if name not in arrays:
        present = ", ".join(sorted(arrays)[:20]) or "none"
        raise ProblemDataError(name, f"missing; the file holds {present}")
    return arrays[name]


def row_counts(arrays: Members) -> tuple[int, int, int, int]:
    """Counts nc, nr, nl, nb as the file states them."""
    rows = member(arrays, "rows")
    if rows.shape != (4,) or rows.dtype.kind not in "iu" or (rows < np.int64(0)).any():
        raise ProblemDataError("rows", f"{short(rows)}, wanted the 4 whole numbers nc, nr, nl, nb")
    nc, nr, nl, nb = (int(n) for n in rows)
    return nc, nr, nl, nb


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


def short(array: NDArray[np.generic]) -> str:
    """The array as text that fits into an error message."""
    return str(array)[:80] if array.size <= 8 else f"array of shape {array.shape}"
