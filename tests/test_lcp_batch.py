"""Many problems in one call: the results of one call each, on any number of threads."""

import os
import re
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import lcp


def some(count: int, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((count, n, n))
    return A @ A.transpose(0, 2, 1) + 0.1 * np.eye(n), rng.standard_normal((count, n))


def test_the_answers_are_those_of_single_solves_bit_for_bit() -> None:
    """Each problem of a batch has the z, status, pivots and residual it has alone."""
    M, q = some(40, 6, 1)
    batch = lcp.solve_batch(M, q)
    assert len(batch) == 40
    assert batch.solved.all()
    for i in range(40):
        alone = lcp.solve(lcp.LCP(M[i], q[i]), lcp.Lemke())
        np.testing.assert_array_equal(batch.z[i], alone.z)
        np.testing.assert_array_equal(batch[i].w, alone.w)
        assert batch[i].residual == alone.residual
        assert batch.iterations[i] == alone.iterations
        assert batch[i].solved


def test_batches_asked_from_several_threads_at_once() -> None:
    """Each call has separate threads, reused from call to call; the results are the same."""
    M, q = some(2000, 4, 5)
    one = lcp.solve_batch(M, q, lcp.Lemke(), threads=1)
    with ThreadPoolExecutor(3) as pool:
        for other in pool.map(lambda threads: lcp.solve_batch(M, q, lcp.Lemke(), threads=threads), [2, 3, 2, 1, 3, 2]):
            np.testing.assert_array_equal(other.z, one.z)
            np.testing.assert_array_equal(other.w, one.w)
            assert other.solved.all()


def test_large_arrays_of_large_numbers_are_finite() -> None:
    """Entries whose sum overflows are accepted; one that is not finite is refused, and named."""
    M, q = np.tile(1e307 * np.eye(4), (1000, 1, 1)), np.full((1000, 4), -1e307)
    np.testing.assert_array_equal(lcp.solve_batch(M, q, lcp.Lemke()).z, np.ones((1000, 4)))
    M[900, 2, 1] = np.inf
    with pytest.raises(lcp.ProblemError, match=re.escape("M[900, 2, 1] = inf")):
        lcp.solve_batch(M, q, lcp.Lemke())


def test_one_matrix_for_all() -> None:
    """A matrix (n, n) serves every q."""
    M, q = some(30, 5, 3)
    shared, copied = lcp.solve_batch(M[0], q), lcp.solve_batch(np.repeat(M[:1], 30, axis=0), q)
    np.testing.assert_array_equal(shared.z, copied.z)


def test_starts_are_used() -> None:
    """The results of the last call, given as starts, need no pivots."""
    M, q = some(30, 5, 4)
    cold = lcp.solve_batch(M, q)
    warm = lcp.solve_batch(M, q, z0=cold.z)
    assert warm.iterations.sum() == 0
    np.testing.assert_allclose(warm.z, cold.z, rtol=1e-12)


def test_what_lemke_leaves_the_cascade_settles() -> None:
    """Without a solver an infeasible and an unsolvable problem have these statuses beside a solved one."""
    M = np.array([[[2.0, 0.0], [0.0, 2.0]], [[1.0, -1.0], [-1.0, 1.0]], [[-2.0, 1.0], [-2.0, 2.0]]])
    q = np.array([[-2.0, 1.0], [-1.0, -1.0], [-2.0, -2.0]])
    batch = lcp.solve_batch(M, q)
    assert [s.name for s in batch.status] == ["SOLVED", "INFEASIBLE", "UNSOLVABLE"]
    assert batch[1].evidence is not None
    assert len(batch[1].attempts) > 1
    with pytest.raises(lcp.SolveError, match="2 of 3 not solved; problem 1"):
        batch.raise_for_status()
    batch_of_one = lcp.solve_batch(M[:1], q[:1])
    batch_of_one.raise_for_status()
    assert "1 of 1 solved" in repr(batch_of_one)


def test_any_solver_is_called_once_for_each() -> None:
    """A solver that is not compiled gives the same kind of result."""
    M, q = some(5, 4, 5)
    batch = lcp.solve_batch(M, q, lcp.Enumeration())
    np.testing.assert_allclose(batch.z, lcp.solve_batch(M, q).z, atol=1e-10)
    assert (batch.scaled < 1e-9).all()
    assert (batch.natural_map < 1e-8).all()


def test_an_empty_batch_and_empty_problems() -> None:
    """No problems, and problems without unknowns, are solved."""
    assert len(lcp.solve_batch(np.zeros((0, 3, 3)), np.zeros((0, 3)))) == 0
    assert lcp.solve_batch(np.zeros((4, 0, 0)), np.zeros((4, 0))).solved.all()


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"M": np.zeros((3, 2, 3))}, "M must have shape"),
        ({"q": np.zeros(2)}, r"q must have shape \(B, n\)"),
        ({"z0": np.zeros((2, 2))}, "z0 must have shape"),
        ({"M": np.full((3, 2, 2), np.nan)}, r"M\[0, 0, 0\] = nan"),
        ({"q": np.array([[0.0, 1.0], [np.inf, 0.0], [0.0, 0.0]])}, r"q\[1, 0\] = inf"),
        ({"q": np.zeros((3, 2)) * 1j}, "complex"),
        ({"q": [["a", "b"]]}, "not a real array"),
        ({"threads": 0}, "threads"),
        ({"tolerance": 2.0}, "tolerance"),
    ],
)
def test_ill_formed_input_is_named(change: dict[str, object], text: str) -> None:
    """Shapes, entries and options out of place raise at once, with the place in the text."""
    given: dict[str, object] = {"M": np.tile(np.eye(2), (3, 1, 1)), "q": -np.ones((3, 2))}
    given.update(change)
    with pytest.raises(lcp.ProblemError, match=text):
        lcp.solve_batch(**given)  # type: ignore[arg-type]


def test_inputs_of_any_layout() -> None:
    """Integers, Fortran order, views and read-only arrays are taken, and never written to."""
    M, q = some(6, 3, 6)
    want = lcp.solve_batch(M, q).z
    frozen = M.copy()
    frozen.flags.writeable = False
    np.testing.assert_array_equal(lcp.solve_batch(frozen, q).z, want)
    np.testing.assert_array_equal(lcp.solve_batch(np.asfortranarray(M), q).z, want)
    np.testing.assert_array_equal(lcp.solve_batch(np.repeat(M, 2, axis=0)[::2], q.tolist()).z, want)
    whole = lcp.solve_batch(2 * np.eye(2, dtype=int), np.array([[-2, 4]]))
    np.testing.assert_array_equal(whole.z, [[1.0, 0.0]])
    with pytest.raises(IndexError, match="no entry 1"):
        whole[1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system forks no processes")
def test_a_forked_process_has_threads_of_its_own() -> None:
    """There its threads are gone: others are begun."""
    M, q = some(2000, 4, 7)
    want = lcp.solve_batch(M, q, threads=3).z
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(lcp.solve_batch(M, q, threads=3).z, want) else 1)
    until = time.monotonic() + 30.0
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < until:
        time.sleep(0.01)
    if ended == (0, 0):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert ended == (child, 0)
