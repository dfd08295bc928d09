"""An LCP owns checked data; errors name ill-formed data before any solve."""

import copy
import pickle
import sys
from collections.abc import Callable
from types import ModuleType

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
        ([[1.0j]], [1.0], "M is complex"),
        (sp.csr_matrix([[1.0j]]), [1.0], "M is complex"),
        ([[10**400]], [1.0], "M is not a real"),
        ([[1.0]], [-(10**400)], "q is not a real"),
        (sp.csr_matrix([[1.0, 0.0], [2.0, np.nan]]), [1.0, 1.0], r"M\[1, 1\] = nan"),
        (sp.coo_array([[0.0, 0.0], [-np.inf, 1.0]]), [1.0, 1.0], r"M\[1, 0\] = -inf"),
        (sp.coo_array(np.ones(2)), [1.0], "square"),
        ([[1.0]], None, "q"),
    ],
)
def test_ill_formed_data_are_named(M: object, q: object, text: str) -> None:
    """Wrong shapes and entries raise `ProblemError`, a ValueError, with the offending one in the text."""
    with pytest.raises(lcp.ProblemError, match=text):
        lcp.LCP(M, q)  # type: ignore[arg-type]


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


COPIES: dict[str, Callable[[lcp.LCP], lcp.LCP]] = {
    "pickle": lambda problem: pickle.loads(pickle.dumps(problem)),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
}


def arrays(M: object) -> tuple[np.ndarray, ...]:
    """The memory of a matrix."""
    return (M,) if isinstance(M, np.ndarray) else (M.data, M.indices, M.indptr)  # type: ignore[attr-defined]


def test_a_sparse_matrix_cannot_be_edited_in_place() -> None:
    """Neither numbers nor pattern of a shown matrix can be changed; it still computes as any matrix."""
    problem = lcp.LCP(sp.csr_array([[2.0, 1.0], [0.0, 4.0]]), [-3.0, -4.0])
    for array in (problem.M.data, problem.M.indices, problem.M.indptr):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        problem.M[0, 0] = 100.0
    np.testing.assert_array_equal(problem.M @ np.ones(2), [3.0, 4.0])
    np.testing.assert_array_equal(problem.M.tocsc().T.toarray(), [[2.0, 0.0], [1.0, 4.0]])
    again = lcp.LCP(problem.M, problem.q)
    assert not np.shares_memory(again.M.data, problem.M.data)
    np.testing.assert_array_equal(lcp.solve(again).z, [1.0, 1.0])


def test_problems_are_made_while_another_thread_imports_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that is being imported stands among the imported ones, with nothing in it so far."""
    name = "lcp.kernels.residuals"
    monkeypatch.setitem(sys.modules, name, ModuleType(name))
    np.testing.assert_array_equal(lcp.LCP(np.eye(2), np.ones(2)).M, np.eye(2))
    with pytest.raises(lcp.ProblemError, match=r"q\[1\] = nan"):
        lcp.LCP(np.eye(2), np.array([1.0, np.nan]))


@pytest.mark.parametrize("make", COPIES)
@pytest.mark.parametrize(
    ("problem", "names"),
    [
        (lcp.LCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, 1.0]), ("M", "q")),
        (lcp.LCP(sp.csr_array([[2.0, 1.0], [1.0, 2.0]]), [-5.0, 1.0]), ("M", "q")),
        (lcp.BoxLCP([[2.0, 1.0], [1.0, 2.0]], [-5.0, 1.0], [-np.inf, -1.0], 2.0), ("M", "q", "lo", "hi")),
        (lcp.BoxLCP(sp.csr_array([[2.0, 1.0], [1.0, 2.0]]), [-5.0, 1.0], -1.0, 2.0), ("M", "q", "lo", "hi")),
        (lcp.MLCP([[2.0]], [[1.0]], [[-1.0]], [[3.0]], [-1.0], [-4.0]), ("A", "X1", "X2", "X3", "a", "x4")),
    ],
    ids=["plain", "sparse", "box", "sparse box", "mixed"],
)
def test_copies_are_frozen_too(make: str, problem: lcp.LCP, names: tuple[str, ...]) -> None:
    """They have the same numbers and the same solution."""
    other = COPIES[make](problem)
    for name in names:
        for given, found in zip(arrays(getattr(problem, name)), arrays(getattr(other, name)), strict=True):
            np.testing.assert_array_equal(given, found)
            with pytest.raises(ValueError, match="read-only"):
                found[0] = 7
    unknowns = "y" if names[0] == "A" else "z"
    np.testing.assert_array_equal(getattr(lcp.solve(other), unknowns), getattr(lcp.solve(problem), unknowns))
