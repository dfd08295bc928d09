"""Friction problems from files: FCLIB's HDF5 and Siconos' text, well-formed and not."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from friction import random_problem, rigid_pile
from scipy import sparse

import lcp
from contactlab.lab.datasets import (
    DatasetError,
    load_fclib,
    load_problem,
    load_problems,
    load_siconos,
    save_fclib,
)

h5py = pytest.importorskip("h5py")


def global_problem() -> lcp.GlobalFrictionProblem:
    rng = np.random.default_rng(4)
    B = rng.normal(size=(6, 6))
    G = rng.normal(size=(6, 1))
    return lcp.GlobalFrictionProblem(
        sparse.csr_matrix(B @ B.T), rng.normal(size=(6, 4)), rng.normal(size=6), -np.ones(4), [0.3, 0.4], 2, G, [0.1]
    )


def test_what_is_written_is_read(tmp_path: Path) -> None:
    for k, problem in enumerate(
        (random_problem(np.random.default_rng(0), 4, 2), rigid_pile(np.random.default_rng(1), 3, 0.4))
    ):
        path = save_fclib(tmp_path / f"local{k}", problem, title="a title", description="of what")
        assert path.name == f"local{k}.hdf5"
        found = load_fclib(path)
        assert isinstance(found, lcp.FrictionProblem)
        W = found.W if isinstance(found.W, np.ndarray) else found.W.toarray()
        np.testing.assert_array_equal(W, problem.W)
        np.testing.assert_array_equal(found.q, problem.q)
        np.testing.assert_array_equal(found.mu, problem.mu)
        np.testing.assert_array_equal(found.dims, problem.dims)
    whole = global_problem()
    again = load_fclib(save_fclib(tmp_path / "global.h5", whole))
    assert isinstance(again, lcp.GlobalFrictionProblem)
    for name in ("M", "H", "G"):
        np.testing.assert_array_equal(getattr(again, name).toarray(), sparse.csr_matrix(getattr(whole, name)).toarray())
    for name in ("f", "w", "mu", "b"):
        np.testing.assert_array_equal(getattr(again, name), getattr(whole, name))
    with pytest.raises(lcp.ProblemError, match="2 or of 3 components"):
        save_fclib(tmp_path / "mixed", lcp.FrictionProblem(np.eye(3), np.ones(3), [0.0, 0.5], (1, 2)))
    names = [name for name, _ in load_problems(tmp_path)]
    assert names == ["global", "local0", "local1"]
    assert isinstance(load_problem(tmp_path / "local0.hdf5"), lcp.FrictionProblem)


@pytest.mark.parametrize("nz", ["triplets", "rows"])
def test_other_storages(tmp_path: Path, nz: str) -> None:
    problem = random_problem(np.random.default_rng(2), 2, 3, 0.1)
    path = save_fclib(tmp_path / "p", problem)
    with h5py.File(path, "a") as file:
        W = file["fclib_local/W"]
        if nz == "rows":
            store = sparse.csr_matrix(problem.W)
            values: dict[str, Any] = {"p": store.indptr, "i": store.indices, "x": store.data, "nz": [-2]}
        else:
            store = sparse.coo_matrix(problem.W)
            # The first entry is in two parts, and there is space after the last: duplicates add, entries beyond nz do
            # not count.
            row, col, x = (np.concatenate([a[:1], a, [0, 0]]) for a in (store.row, store.col, store.data))
            x[:2] *= 0.5
            values = {"i": row, "p": col, "x": x, "nz": [store.nnz + 1]}
        for key, value in values.items():
            del W[key]
            W[key] = np.asarray(value, dtype=np.float64 if key == "x" else np.int32)
    found = load_fclib(path)
    assert isinstance(found, lcp.FrictionProblem)
    np.testing.assert_array_equal(found.W, problem.W)


def _set(name: str, value: Any) -> Callable[[Any], None]:
    def change(file: Any) -> None:
        if name in file:
            del file[name]
        if value is not None:
            file[name] = value

    return change


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (_set("fclib_local/vectors/q", None), "vectors/q: missing"),
        (_set("fclib_local/vectors/q", np.zeros(5)), "length 5, wanted 6"),
        (_set("fclib_local/vectors/q", np.full(6, np.nan)), r"vectors/q\[0\]: nan is not a finite number"),
        (_set("fclib_local/vectors/mu", np.array([-0.1, 0.1])), r"mu\[0\] = -0.1 is negative"),
        (_set("fclib_local/vectors/mu", np.array([b"a", b"b"])), "wanted numbers"),
        (_set("fclib_local/spacedim", np.array([4])), "spacedim: 4, wanted 2 or 3"),
        (_set("fclib_local/spacedim", np.zeros(0, dtype=int)), "empty"),
        (_set("fclib_local/W/m", np.array([7])), "W: 7 rows and 6 columns, wanted 6 and 6"),
        (_set("fclib_local/W/nz", np.array([-3])), "W: no matrix of CSparse with nz = -3"),
        (_set("fclib_local/W/nz", np.array([10**9])), "W: no matrix of CSparse with nz = 1000000000"),
        (_set("fclib_local/W/p", np.array([0, 1])), "W: no matrix of CSparse"),
        (_set("fclib_local/W/p", np.array([0, 9, 1, 1, 1, 1, 1])), "W: no matrix of CSparse"),
        (_set("fclib_local/W/i", np.full(36, 99)), "W: no matrix of CSparse.*indices must be < 6"),
        (_set("fclib_local/W/x", h5py.ExternalLink("other.hdf5", "/x")), "is a link"),
        (_set("fclib_local/vectors/q", h5py.SoftLink("/fclib_local/vectors/mu")), "is a link"),
        (_set("fclib_local", None), "wanted one group fclib_local or fclib_global, found nothing"),
        (_set("fclib_global/vectors/mu", np.zeros(1)), "found fclib_local, fclib_global"),
    ],
)
def test_malformed_files_are_refused_with_the_entry_named(
    tmp_path: Path, change: Callable[[Any], None], text: str
) -> None:
    path = save_fclib(tmp_path / "p", random_problem(np.random.default_rng(2), 2))
    with h5py.File(path, "a") as file:
        change(file)
    with pytest.raises(DatasetError, match=text):
        load_fclib(path)


DENSE = "{d}\n{nc}\n0\n{m}\n{m}\n{m}\t{m}\n{entries}\n{q}\n{mu}\n"


def dense_text(problem: lcp.FrictionProblem) -> str:
    d, nc, m = int(problem.dims[0]), problem.nc, problem.m
    words = {"entries": problem.W.T.ravel(), "q": problem.q, "mu": problem.mu}
    return DENSE.format(
        d=d, nc=nc, m=m, **{key: " ".join(map(repr, map(float, value))) for key, value in words.items()}
    )


def test_local_text_dense(tmp_path: Path) -> None:
    problem = random_problem(np.random.default_rng(7), 2, 3, 0.2)
    path = tmp_path / "p.dat"
    path.write_text(dense_text(problem))
    for found in (load_siconos(path), load_problem(path)):
        assert isinstance(found, lcp.FrictionProblem)
        np.testing.assert_array_equal(found.W, problem.W)
        np.testing.assert_array_equal(found.q, problem.q)
        np.testing.assert_array_equal(found.mu, problem.mu)
    words = dense_text(problem).split()
    for cut in range(len(words) - 1):
        path.write_text(" ".join(words[:cut]))
        with pytest.raises(DatasetError):
            load_siconos(path)


def test_local_text_in_blocks(tmp_path: Path) -> None:
    """Two planar contacts; only three of the four blocks are there."""
    path = tmp_path / "p.dat"
    path.write_text(
        "2\n2\n1\n4\n4\n3\n2\n2\n2 4\n2 4\n3\n3\n0 2 3\n0 1 1\n"
        "0\n1 2 3 4\n1\n5 6 7 8\n2\n9 10 11 12\n-1 0.5 -2 0\n0.1 0.2\n"
    )
    found = load_problem(path)
    assert isinstance(found, lcp.FrictionProblem)
    np.testing.assert_array_equal(found.W, [[1, 3, 5, 7], [2, 4, 6, 8], [0, 0, 9, 11], [0, 0, 10, 12]])
    np.testing.assert_array_equal(found.dims, [2, 2])
    np.testing.assert_array_equal(found.q, [-1.0, 0.5, -2.0, 0.0])


def test_global_text_and_sparse_prints(tmp_path: Path) -> None:
    """A dense global problem is read; storage 2, a print of few digits, is refused."""
    path = tmp_path / "p.dat"
    path.write_text("2\n0\n0\n3\n3\n3\n3\n2 0 0 0 2 0 0 0 0.5\n0\n3\n2\n3\n2\n1 0 0 0 1 -0.5\n-1 0.5 0\n0 0\n0.3\n")
    found = load_problem(path)
    assert isinstance(found, lcp.GlobalFrictionProblem)
    np.testing.assert_array_equal(found.M, np.diag([2.0, 2.0, 0.5]))
    np.testing.assert_array_equal(found.H, [[1.0, 0.0], [0.0, 1.0], [0.0, -0.5]])
    assert lcp.solve(found).solved
    path.write_text("2\n0\n2\n3\n3\n1\nCSparse Version 3.1.9\ntriplet: 3-by-3, nzmax: 1 nnz: 1\n0 0 : 2\n")
    with pytest.raises(DatasetError, match="too few digits"):
        load_siconos(path)


@pytest.mark.slow
def test_all_shared_friction_problems_are_solved(shared: Path) -> None:
    """Problems captured in other people's simulators, at the published tolerance."""
    files = sorted((shared / "problems" / "fclib").glob("*.hdf5"))
    assert len(files) == 40
    for file in files:
        result = lcp.solve(load_fclib(file))
        assert result.solved, f"{file.name}: {result.describe()}"
        assert result.residual.fclib <= max(1e-8, result.residual.fclib_rounding)
