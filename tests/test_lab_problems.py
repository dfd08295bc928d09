"""Problem files: every kind gives the problem it was written from, and what cannot be read is said, not raised."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scene_texts import write

import lcp
import problem_data
from contactlab.cli import main
from contactlab.lab import DatasetError
from contactlab.lab.datasets import lcp_from_problem_data, load_problem, load_problems, load_siconos
from contactlab.simulation import Recording

M = np.array([[2.0, -1.0, 0.5], [0.25, 3.0, 0.0], [1.0, 0.125, 4.0]])
Q = np.array([-1.0, 2.0, -3.0])


def numbers(values: NDArray[np.float64]) -> str:
    """Column by column, as Siconos writes matrices."""
    return " ".join(f"{value:.17g}" for value in values.T.ravel())


def stacked(problem: object) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    assert isinstance(problem, lcp.MLCP)
    return np.block([[problem.A, problem.X1], [problem.X2, problem.X3]]), np.concatenate([problem.a, problem.x4])


def test_npz_files(tmp_path: Path) -> None:
    """Plain, mixed, boxed and a sequence; names without endings, in order."""
    np.savez(tmp_path / "plain.npz", M=M, q=Q, expected="solvable")
    np.savez(tmp_path / "mixed.npz", M=M, q=Q, n_free=1)
    np.savez(tmp_path / "boxed.npz", M=M, q=Q, lo=np.array([-np.inf, 0.0, 0.0]), hi=np.array([np.inf, 1.0, 2.0]))
    (tmp_path / "deeper").mkdir()
    np.savez(
        tmp_path / "deeper" / "many.npz",
        n=[3, 0, 2],
        M=np.concatenate([M.ravel(), M[:2, :2].ravel()]),
        q=np.concatenate([Q, Q[:2]]),
    )
    (tmp_path / "README.md").write_text("not a problem")
    found = dict(load_problems(tmp_path))
    assert list(found) == ["boxed", "deeper/many/000000", "deeper/many/000001", "deeper/many/000002", "mixed", "plain"]
    plain, mixed, boxed = found["plain"], found["mixed"], found["boxed"]
    assert isinstance(plain, lcp.LCP)
    assert np.array_equal(plain.M, M)
    assert np.array_equal(plain.q, Q)
    for whole, given in zip(stacked(mixed), (M, Q), strict=True):
        assert np.array_equal(whole, given)
    assert mixed.n_free == 1
    assert isinstance(boxed, lcp.BoxLCP)
    assert boxed.hi.tolist() == [np.inf, 1.0, 2.0]
    last = load_problem(tmp_path / "deeper" / "many.npz", step=2)
    assert isinstance(last, lcp.LCP)
    assert np.array_equal(last.M, M[:2, :2])
    assert np.array_equal(last.q, Q[:2])
    assert [name for name, _ in load_problems(tmp_path / "plain.npz")] == ["plain"]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"q": Q}, "M: missing array"),
        ({"M": M}, "q: missing array"),
        ({"M": M, "q": Q[:2]}, r"q: shape \(2,\), expected \(3,\)"),
        ({"M": M[:2], "q": Q[:2]}, "M must be square"),
        ({"M": M * np.nan, "q": Q}, r"M\[0, 0\] = nan is not finite"),
        ({"M": M, "q": Q, "n_free": 4}, "n_free: 4 of 3 rows"),
        ({"M": M, "q": Q, "lo": Q}, "hi: missing array"),
        ({"M": M, "q": Q, "lo": Q + 1, "hi": Q}, r"lo\[0\]"),
        ({"M": M.ravel(), "q": Q, "n": [2]}, r"M: shape \(9,\), expected \(4,\)"),
        ({"M": M.ravel(), "q": Q, "n": [-3]}, "n: -3 is negative"),
        ({"format": "something else"}, "format"),
        ({"meta": "{}"}, "bad"),
    ],
)
def test_a_file_that_cannot_be_used_does_not_stop_the_others(
    tmp_path: Path, arrays: dict[str, NDArray[np.float64]], message: str
) -> None:
    """It comes under its name, with what is wrong."""
    np.savez(tmp_path / "bad.npz", **arrays)
    np.savez(tmp_path / "good.npz", M=M, q=Q)
    (name, error), (after, good) = load_problems(tmp_path)
    assert (name, after) == ("bad", "good")
    assert isinstance(error, DatasetError)
    assert isinstance(good, lcp.LCP)
    with pytest.raises(DatasetError, match=message):
        load_problem(tmp_path / "bad.npz")


def test_foreign_files(tmp_path: Path) -> None:
    """Not a zip, cut short, of no known kind, nothing there."""
    (tmp_path / "a.npz").write_bytes(b"not a zip")
    np.savez(tmp_path / "b.npz", M=M, q=Q)
    (tmp_path / "b.npz").write_bytes((tmp_path / "b.npz").read_bytes()[:-60])
    (tmp_path / "c.h5").write_bytes(b"?")
    errors = [problem for _, problem in load_problems(tmp_path)]
    assert all(isinstance(error, DatasetError) for error in errors)
    assert len(errors) == 3
    with pytest.raises(DatasetError, match="no such file or folder"):
        next(load_problems(tmp_path / "nowhere"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(DatasetError, match="no files of problems"):
        next(load_problems(tmp_path / "empty"))
    np.savez(tmp_path / "two.npz", n=[1, 1], M=[1.0, 1.0], q=[1.0, 1.0])
    with pytest.raises(DatasetError, match="holds several problems"):
        load_problem(tmp_path / "two.npz")


@pytest.mark.parametrize("stored", ["dense", "blocks"])
def test_siconos_lcp(tmp_path: Path, stored: str) -> None:
    """Column by column, or in blocks of 1 and 2 rows, of which one is zero and not stored; then comments."""
    wanted = M.copy()
    wanted[0, 1:] = 0.0
    blocks = [wanted[:1, :1], wanted[1:, :1], wanted[1:, 1:]]
    text = f"3\n0\n3\n3\n3\t3\n{numbers(wanted)}\n{numbers(Q)}\n# from a book\n"
    if stored == "blocks":
        text = "\n".join(f"{i}\n{numbers(block)}" for i, block in enumerate(blocks))
        text = f"3 1 3 3 3 2 2  1 3  1 3  3 3  0 1 3  0 0 1\n{text}\n{numbers(Q)}"
    (tmp_path / "a.dat").write_text(text)
    ((name, found),) = load_problems(tmp_path)
    assert name == "a"
    assert isinstance(found, lcp.LCP)
    assert np.array_equal(found.M, wanted)
    assert np.array_equal(found.q, Q)


def test_siconos_mlcp(tmp_path: Path) -> None:
    """Whole, with the equation between the pairs, which moves to the front; in parts, row by row; both at once."""
    path = tmp_path / "m.dat"
    path.write_text(f"1 0 1 2 \n 0 1 2 3 \n 1 0 1 \n 0 3 3 3 3 {numbers(M)} {numbers(Q)}")
    order = [1, 0, 2]
    for found, wanted in zip(stacked(load_siconos(path)), (M[np.ix_(order, order)], Q[order]), strict=True):
        assert np.array_equal(found, wanted)
    parts = " ".join(numbers(part.T) for part in (M[:1, :1], M[1:, 1:], M[:1, 1:], M[1:, :1]))
    path.write_text(f"0 1 1 2 {parts} {numbers(Q)}")
    for found, wanted in zip(stacked(load_siconos(path)), (M, Q), strict=True):
        assert np.array_equal(found, wanted)
    path.write_text(f"1 1 1 2  0 1 3  0 1  0 3 3 3 3 {numbers(M)} {numbers(Q)} {parts} {numbers(Q)}")
    for found, wanted in zip(stacked(load_siconos(path)), (M, Q), strict=True):
        assert np.array_equal(found, wanted)
    path.write_text("1 1 0 1  0 1  1  0 1 1 1 1  5.0 -2.0")
    alone = load_siconos(path)
    assert isinstance(alone, lcp.LCP)
    assert (alone.M.tolist(), alone.q.tolist()) == ([[5.0]], [-2.0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "head: the file ends after 0 of 5 numbers"),
        ("a b c d e", "head: could not convert"),
        ("7 8 9 10 11", "not a problem of Siconos: it begins with 7, 8, 9, 10, 11"),
        ("3 5 1 15 15 5 5", "blocks of M: the file ends"),
        ("3 0 3 3 3 3 1.0 2.0", "M: the file ends after 2 of 9 numbers"),
        ("2 0 2 2 2 2 1 nan 0 1 0 0", "M: nan is not a finite number"),
        ("2 0 2 2 99999999 2 1 1 1 1 1 1", "rows of M: 1e"),
        ("2 0 2 2 2 3 1 1 1 1 1 1 1 1", r"M: shape \(2, 3\), wanted \(2, 2\)"),
        ("1 0 1 1 0 2 2 0 1 0 3 2 3 2 1 1 1 1 1 1 1 1 1", "kinds of blocks"),
        ("1 0 1 1 0 1 2 0 1 0 3 2 3 2 1 1 1 1 1 1 1 1 1", r"M: shape \(3, 2\), wanted \(2, 2\)"),
        ("1 0 1 1 0 3 1 1", "blocks of rows: from 0 to 3"),
        ("1 0 2 1 0 0 1 1", "blocks of rows: 0 after 0"),
        ("2 1 2 2 1 1 1 2 2 2 1 0 9 0", "blocks of M: 9, wanted a whole number from 0 to 1"),
        ("2 1 2 2 1 1 1 3 2 2 1 0 1 0", r"blocks of M: ends \[3\], wanted them rising to 2"),
    ],
)
def test_siconos_files_that_cannot_be_read(tmp_path: Path, text: str, message: str) -> None:
    """The error names the faulty part."""
    path = tmp_path / "bad.dat"
    path.write_text(text)
    with pytest.raises(DatasetError, match=message):
        load_siconos(path)


def test_problems_of_a_run(tmp_path: Path) -> None:
    """The record's problems are those its steps solved; so are problem data saved from it."""
    out = tmp_path / "run.npz"
    assert main(["run", str(write(tmp_path)), "--out", str(out)]) == 0
    recording = Recording.open(out)
    step = int(np.flatnonzero(recording.islands)[-1])
    problem = load_problem(out, step=step)
    assert isinstance(problem, lcp.LCP)
    z = recording.z(step)
    # The record's z was judged as solved; on the problem read from the file it must be, too.
    assert lcp.residuals(problem, z).scaled < 1e-9
    named = dict(load_problems(out, most_steps=3))
    assert 1 <= len(named) <= 3
    assert all(name.startswith("run/step") and name.endswith("-island0") for name in named)
    assert f"run/step{step:06d}-island0" in named

    data = recording.problem(step)
    (tmp_path / "saved").mkdir()
    problem_data.save(tmp_path / "saved" / "data.npz", data)
    saved = load_problem(tmp_path / "saved" / "data.npz", h=float(recording.h[step]))
    direct = lcp_from_problem_data(data, float(recording.h[step]))
    for one in (saved, direct):
        assert isinstance(one, lcp.LCP)
        assert np.array_equal(one.M, problem.M)
        assert np.array_equal(one.q, problem.q)
    with pytest.raises(DatasetError, match="step 100000"):
        load_problem(out, step=100000)


def test_the_shared_sets(shared: Path) -> None:
    """Every problem of the three sets is read, and reference solutions fit."""
    plain = dict(load_problems(shared / "problems" / "lcp"))
    assert len(plain) == 40
    for name, problem in plain.items():
        assert isinstance(problem, lcp.LCP), name
        with np.load(shared / "problems" / "lcp" / f"{name}.npz") as data:
            if "z" in data:
                assert lcp.residuals(problem, data["z"]).scaled < 1e-8, name
    mixed = dict(load_problems(shared / "problems" / "lcp_mlcp"))
    assert sum(isinstance(problem, lcp.MLCP) for problem in mixed.values()) == 11
    assert sum(isinstance(problem, lcp.LCP) for problem in mixed.values()) == 9
    tosses = dict(load_problems(shared / "problems" / "lcp_toss"))
    assert all(isinstance(problem, lcp.LCP) for problem in tosses.values())
    assert sum(name.startswith("sequence_toss003_k8/") for name in tosses) == 399
