"""An LCP owns checked data; whatever is ill-formed is named before any solving."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import lcp


@pytest.mark.parametrize(
    ("M", "q", "text"),
    [
        ([[1.0, 2.0]], [1.0], r"square, got shape \(1, 2\)"),
        ([1.0, 2.0], [1.0, 2.0], r"square, got shape \(2,\)"),
        ([[1.0]], [1.0, 2.0], "length 2"),
        ([[1.0]], 3.0, "q must be a vector"),
        ([[np.nan]], [1.0], r"M\[0, 0\] = nan"),
        ([[1.0, 0.0], [0.0, np.inf]], [1.0, 1.0], r"M\[1, 1\] = inf"),
        ([[1.0, 0.0], [0.0, 1.0]], [1.0, -np.inf], r"q\[1\] = -inf"),
        ([["a"]], [1.0], "M is not a real"),
        ([[1.0j]], [1.0], "M is"),
        ([[1.0]], None, "q"),
    ],
)
def test_ill_formed_data_are_named(M: object, q: object, text: str) -> None:
    """Wrong shapes and entries raise `ProblemError`, a ValueError, with the offending one in the text."""
    with pytest.raises(lcp.ProblemError, match=text):
        lcp.LCP(M, q)  # type: ignore[arg-type]


def test_sparse_with_a_bad_entry_is_refused() -> None:
    """A sparse M is checked like a dense one."""
    with pytest.raises(lcp.ProblemError, match="not finite"):
        lcp.LCP(sp.csr_matrix(np.array([[1.0, np.nan], [0.0, 1.0]])), [1.0, 1.0])


def test_data_are_owned_and_read_only() -> None:
    """Later changes to the caller's arrays do not reach the problem, and its own cannot be written."""
    M, q = np.eye(2), np.array([-1.0, 2.0])
    problem = lcp.LCP(M, q)
    M[0, 0] = 7.0
    q[0] = 7.0
    assert problem.M[0, 0] == 1.0
    assert problem.q[0] == -1.0
    with pytest.raises(ValueError, match="read-only"):
        problem.M[0, 0] = 3.0


@pytest.mark.parametrize(
    "convert",
    [
        lambda M: M.astype(np.int64),
        lambda M: M.astype(np.float32),
        np.asfortranarray,
        lambda M: np.repeat(np.repeat(M, 2, axis=0), 2, axis=1)[::2, ::2],
        lambda M: M.tolist(),
        sp.csr_matrix,
        sp.coo_matrix,
        sp.csc_array,
        lambda M: sp.coo_matrix((np.r_[M.ravel() / 2, M.ravel() / 2], (np.r_[0, 0, 1, 1, 0, 0, 1, 1], [0, 1] * 4))),
    ],
)
def test_every_layout_of_M_gives_the_same_answer(convert: object) -> None:
    """Integers, float32, Fortran order, strided views, lists and sparse formats with duplicates are all one problem."""
    M = np.array([[2.0, 1.0], [1.0, 2.0]])
    result = lcp.solve(lcp.LCP(convert(M), np.array([-5, -6])))  # type: ignore[operator]
    assert result.solved
    np.testing.assert_allclose(result.z, [4 / 3, 7 / 3], rtol=1e-14)


def test_read_only_input_is_accepted() -> None:
    """Read-only arrays make a problem like any other."""
    M = np.eye(3)
    M.flags.writeable = False
    assert lcp.solve(lcp.LCP(M, [-1.0, 0.0, 1.0])).solved
