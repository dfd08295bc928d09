"""What the iterative solvers have in common: classes, bounds, limits, trace, failures."""

from __future__ import annotations

import signal
import time
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from iterative import CLASSES, SOLVERS, SWEEPING, boxed, definite, dominant, duplicated, membrane, semidefinite
from scipy import sparse

import lcp
from lcp.catalog import entries
from lcp.solvers.shared.iterative_base import next_check

ENTRIES = [e for e in entries() if e.matrix_class is not None]
every = pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: s.__name__)
sweeping = pytest.mark.parametrize("solver", SWEEPING, ids=lambda s: s.__name__)


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("solver", "entry"),
    [
        pytest.param(solver, entry, id=f"{solver.__name__}-{entry.name}")
        for solver in SOLVERS
        for entry in ENTRIES
        if entry.matrix_class & solver.traits
    ],
)
def test_catalog_problems_of_its_class(solver: Any, entry: Any) -> None:
    """Solved at 1e-6 alone and at 1e-9 when polished, at a listed solution; what has none is not called solved."""
    short = solver() if entry.outcome is lcp.Status.SOLVED else solver(max_iterations=500)
    result = lcp.solve(entry.problem, short, tolerance=1e-6)
    if entry.outcome is not lcp.Status.SOLVED:
        assert not result.solved
        assert np.isfinite(result.z).all()
        return
    result.raise_for_status()
    polished = lcp.solve(entry.problem, lcp.Refined(solver()))
    polished.raise_for_status()
    if entry.complete:
        assert any(np.allclose(polished.z, z, rtol=1e-6, atol=1e-9) for z in entry.solutions)


@pytest.mark.parametrize(
    ("solver", "kind"),
    [(solver, kind) for solver in SOLVERS for kind in CLASSES if kind != "dominant" or solver in SWEEPING],
)
def test_random_problems_of_its_classes(solver: Any, kind: str) -> None:
    """Thirty of each class, at the default tolerance and without polishing; w, which is unique, as Lemke has it."""
    for seed in range(30):
        problem = CLASSES[kind](seed)
        result = lcp.solve(problem, solver())
        result.raise_for_status()
        w = lcp.solve(problem, lcp.Lemke()).w
        np.testing.assert_allclose(result.w, w, atol=1e-6 * max(1.0, np.abs(problem.q).max()))


@every
def test_the_shared_problems_of_its_classes(solver: Any, shared: Any) -> None:
    """Symmetric definite and semidefinite ones, bad scaling included, at 1e-6."""
    met = 0
    for file in sorted((shared / "problems" / "lcp").glob("*.npz")):
        with np.load(file) as data:
            known = str(data["cls"]), str(data["expected"])
            problem = lcp.LCP(data["M"], data["q"])
        if known[0] in ("SPD", "PSD") and known[1] == "solvable":
            lcp.solve(problem, solver(), tolerance=1e-6).raise_for_status()
            met += 1
    assert met >= 10


@pytest.mark.nojit
@every
@given(seed=st.integers(0, 10**6))
@settings(max_examples=20)
def test_diagonal_matrices_have_a_closed_form(solver: Any, seed: int) -> None:
    """z = clip(-q / m, lo, hi), whatever the sizes of the entries."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    m, q = 10.0 ** rng.uniform(-3, 3, n), rng.standard_normal(n)
    lo = np.where(rng.random(n) < 0.3, -np.inf, -rng.random(n))
    hi = np.where(rng.random(n) < 0.3, np.inf, rng.random(n))
    result = lcp.solve(lcp.BoxLCP(np.diag(m), q, lo, hi), solver(), tolerance=1e-12)
    result.raise_for_status()
    np.testing.assert_allclose(result.z, np.clip(-q / m, lo, hi), rtol=1e-9, atol=1e-9 * np.abs(result.z).max())


@every
@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_bounds_of_every_kind_agree_with_the_conversion(solver: Any, stored: Any) -> None:
    """Two-sided, one-sided, free and fixed unknowns, against `box_to_mlcp` and Lemke's method."""
    for seed in range(20):
        problem = boxed(seed)
        conversion = lcp.box_to_mlcp(problem)
        other = lcp.solve(conversion.problem, lcp.Lemke())
        other.raise_for_status()
        native = lcp.BoxLCP(stored(problem.M), problem.q, problem.lo, problem.hi)
        result = lcp.solve(native, solver())
        result.raise_for_status()
        expected = conversion.recover(np.concatenate([other.u, other.y]))
        np.testing.assert_allclose(result.z, expected, atol=1e-7)
        assert ((result.z >= problem.lo) & (result.z <= problem.hi)).all()


@every
def test_free_unknowns_make_a_linear_system(solver: Any) -> None:
    """Without bounds z solves M z = -q."""
    problem = definite(3)
    result = lcp.solve(lcp.BoxLCP(problem.M, problem.q, -np.inf, np.inf), solver())
    result.raise_for_status()
    np.testing.assert_allclose(result.z, np.linalg.solve(problem.M, -problem.q), rtol=1e-6)


@every
@pytest.mark.parametrize("make", [definite, semidefinite, duplicated])
def test_sparse_and_dense_take_the_same_path(solver: Any, make: Any) -> None:
    """The first twenty iterates agree to rounding, however M is stored."""
    problem = make(5)
    options = {"max_iterations": 20, **({"relaxation": 1.0} if "relaxation" in vars(solver()) else {})}
    dense = lcp.solve(problem, solver(**options), tolerance=1e-14)
    thin = lcp.solve(lcp.LCP(sparse.csr_array(problem.M), problem.q), solver(**options), tolerance=1e-14)
    np.testing.assert_allclose(thin.z, dense.z, rtol=1e-9, atol=1e-12)


@every
def test_a_permutation_permutes_the_answer(solver: Any) -> None:
    """Rows and columns in another order: the same solution, though on another path."""
    problem = definite(7)
    order = np.random.default_rng(0).permutation(problem.n)
    z = lcp.solve(problem, solver()).z
    turned = lcp.solve(lcp.LCP(problem.M[np.ix_(order, order)], problem.q[order]), solver())
    np.testing.assert_allclose(turned.z, z[order], atol=1e-7)


@every
@pytest.mark.parametrize(("of_M", "of_q"), [(1e12, 1.0), (1e-12, 1.0), (1.0, 1e12), (1e12, 1e12), (1e-12, 1e-12)])
def test_common_factors_change_nothing(solver: Any, of_M: float, of_q: float) -> None:
    """z scales with q / M."""
    problem = definite(11)
    z = lcp.solve(problem, solver()).z
    result = lcp.solve(lcp.LCP(of_M * problem.M, of_q * problem.q), solver())
    result.raise_for_status()
    np.testing.assert_allclose(result.z, z * of_q / of_M, rtol=1e-5, atol=1e-6 * np.abs(z).max() * of_q / of_M)


@every
def test_units_of_the_unknowns_change_nothing(solver: Any) -> None:
    """Under z = D z' with powers of two the iterates are the same, digit by digit."""
    problem = definite(13)
    d = 2.0 ** np.random.default_rng(1).integers(-30, 30, problem.n)
    options = solver(max_iterations=50, check_interval=50)
    plain = lcp.solve(problem, options, tolerance=1e-14)
    scaled = lcp.solve(lcp.LCP(problem.M * d * d[:, None], problem.q * d), options, tolerance=1e-14)
    assert plain.z.any()
    np.testing.assert_array_equal(scaled.z * d, plain.z)


@every
def test_a_warm_start_saves_iterations(solver: Any) -> None:
    """From the answer of a neighbouring problem at most half; from the answer itself none, and z0 is left alone."""
    cold = warm = 0
    for seed in range(10):
        problem = definite(seed, 20)
        first = lcp.solve(problem, solver())
        cold += first.iterations
        start = first.z.copy()
        warm += lcp.solve(lcp.LCP(problem.M, problem.q * (1.0 + 1e-9)), solver(), z0=start).iterations
        assert lcp.solve(problem, solver(), z0=start).iterations == 0
        np.testing.assert_array_equal(start, first.z)
    assert warm <= 0.5 * cold


@every
def test_a_start_outside_the_bounds_is_put_between_them(solver: Any) -> None:
    """Any finite z0 will do."""
    problem = definite(2)
    z = lcp.solve(problem, solver()).z
    result = lcp.solve(problem, solver(), z0=np.full(problem.n, -1e3))
    result.raise_for_status()
    np.testing.assert_allclose(result.z, z, atol=1e-7)


@pytest.mark.nojit
@every
def test_trivial_problems_end_before_they_begin(solver: Any) -> None:
    """No unknowns; q >= 0; a box at the projection of zero."""
    assert lcp.solve(lcp.LCP(np.zeros((0, 0)), []), solver()).solved
    assert lcp.solve(lcp.BoxLCP(np.zeros((0, 0)), [], [], []), solver()).solved
    ready = lcp.solve(lcp.LCP([[0.0, -1.0], [3.0, -2.0]], [1.0, 0.0]), solver())
    assert (ready.solved, ready.iterations) == (True, 0)
    held = lcp.solve(lcp.BoxLCP([[2.0]], [-9.0], 1.0, 1.0), solver())
    assert (held.solved, held.iterations, held.z[0]) == (True, 0, 1.0)


@pytest.mark.nojit
@every
def test_rows_of_zeros(solver: Any) -> None:
    """w_i = q_i is fixed: the bound that admits its sign is taken, none is a proof of infeasibility."""
    M = np.diag([2.0, 0.0])
    result = lcp.solve(lcp.LCP(M, [-4.0, 3.0]), solver(), z0=np.array([0.0, 5.0]))
    np.testing.assert_allclose(result.z, [2.0, 0.0])
    assert result.solved
    np.testing.assert_allclose(lcp.solve(lcp.BoxLCP(M, [-4.0, -3.0], 0.0, 1.0), solver()).z, [1.0, 1.0])
    for stored in (M, sparse.csr_array(M)):
        problem = lcp.LCP(stored, [-4.0, -3.0])
        result = lcp.solve(problem, solver())
        assert result.status is lcp.Status.INFEASIBLE
        assert "row 1 of M is zero" in result.attempts[0].detail
        assert result.evidence.proves(problem)
    beyond = lcp.solve(lcp.BoxLCP(M, [-4.0, 3.0], -np.inf, 1.0), solver())
    assert beyond.status is lcp.Status.UNSUITABLE
    assert "row 1" in beyond.attempts[0].detail


@pytest.mark.nojit
@sweeping
@pytest.mark.parametrize("value", [0.0, -1.0])
def test_a_diagonal_entry_that_is_not_positive_is_unsuitable(solver: Any, value: float) -> None:
    """The row is named; where the bounds leave no choice it does not matter."""
    M = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, -1.0, value]])
    result = lcp.solve(lcp.LCP(M, [-1.0, -1.0, 0.5]), solver())
    assert result.status is lcp.Status.UNSUITABLE
    assert "M[2, 2]" in result.attempts[0].detail
    assert "Lemke" in result.status.advice
    held = lcp.solve(lcp.BoxLCP(M, [-1.0, -1.0, 0.5], 0.0, [np.inf, np.inf, 0.0]), solver())
    held.raise_for_status()
    np.testing.assert_allclose(held.z, [1 / 3, 1 / 3, 0.0], atol=1e-8)


@pytest.mark.nojit
@every
def test_friction_is_refused(solver: Any) -> None:
    """A block on a table with friction: zero diagonal and not symmetric."""
    M = [[1, 0, 0, 0], [0, 1, -1, 1], [0, -1, 1, 1], [0.5, -1, -1, 0]]
    result = lcp.solve(lcp.LCP(M, [-9.81, -2.0, 2.0, 0.0]), solver())
    assert result.status is lcp.Status.UNSUITABLE
    assert result.iterations == 0


@every
def test_the_iteration_limit_gives_the_best_iterate(solver: Any) -> None:
    """ITERATION_LIMIT after exactly so many, no worse than the start, and more of them do no harm."""
    problem = membrane(40)
    merits = []
    for limit in (0, 3, 40):
        result = lcp.solve(problem, solver(max_iterations=limit))
        assert (result.status, result.iterations) == (lcp.Status.ITERATION_LIMIT, limit)
        assert f"of {limit}" in result.attempts[0].detail
        merits.append(result.residual.backward_error)
    assert merits[2] < merits[1] <= merits[0]


@every
def test_the_time_limit_is_heeded(solver: Any) -> None:
    """A problem of many thousand iterations stops within a fraction of a second, with a finite z."""
    problem = membrane(200)
    result = lcp.solve(problem, solver(time_limit=0.2, max_iterations=10**9), tolerance=1e-14)
    assert result.status is lcp.Status.ITERATION_LIMIT
    assert "time limit" in result.attempts[0].detail
    assert result.solve_time < 3.0
    assert np.isfinite(result.z).all()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no interval timer on this system")
@every
def test_an_interrupt_is_heeded_at_once(solver: Any) -> None:
    """What Ctrl-C raises gets through between two portions: within half a second at the most, a tenth as a rule."""
    problem = membrane(250)
    lcp.solve(problem, solver(max_iterations=3))

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        clock = time.perf_counter()
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            lcp.solve(problem, solver(max_iterations=10**9), tolerance=1e-14)
        assert time.perf_counter() - clock < 0.8
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@every
def test_trace_has_the_natural_map_of_every_iteration(solver: Any) -> None:
    """Iterations 0, 1, 2, ... with times that ascend; the last number is the answer's; no trace unless asked for."""
    problem = definite(4)
    assert lcp.solve(problem, solver()).trace is None
    result = lcp.solve(problem, solver(), trace=True)
    trace = result.trace
    assert trace is not None
    assert trace.quantity == "natural map"
    np.testing.assert_array_equal(trace.iterations, np.arange(result.iterations + 1))
    assert (np.diff(trace.seconds) >= 0.0).all()
    np.testing.assert_allclose(trace.values[0], np.abs(np.minimum(0.0, problem.q)).max())
    np.testing.assert_allclose(trace.values[-1], result.residual.natural_map, rtol=1e-3, atol=1e-14)
    assert trace.values[-1] < 1e-6 * trace.values[0]


@every
def test_check_interval_is_where_it_looks(solver: Any) -> None:
    """A solve ends at a multiple of it."""
    result = lcp.solve(definite(4), solver(check_interval=7))
    assert result.solved
    assert result.iterations % 7 == 0


def test_checks_become_rare() -> None:
    """Doubling to 16, then never further apart than a quarter of what was done, nor nearer than 16."""
    at = [0]
    while at[-1] < 10_000:
        at.append(next_check(at[-1], 100, None))
    assert at[:6] == [0, 1, 2, 4, 8, 16]
    gaps = np.diff(at[5:])
    assert (gaps >= 16).all()
    assert (gaps <= np.maximum(16, np.array(at[5:-1]) // 4)).all()
    assert next_check(1000, 10**6, None) == 1016
    assert next_check(1000, 10**6, 5) == 1005


@every
def test_divergence_leaves_a_finite_z(solver: Any) -> None:
    """An indefinite symmetric M on which the objective falls for ever: NOT_FINITE or a limit, z finite, no warning."""
    problem = lcp.LCP([[1.0, -3.0], [-3.0, 1.0]], [-1.0, -1.0])
    result = lcp.solve(problem, solver())
    assert result.status is lcp.Status.NOT_FINITE
    assert np.isfinite(result.z).all()


@sweeping
def test_a_cycle_is_a_stall(solver: Any) -> None:
    """Kostreva's P-matrix, for which no sweep converges: the iterates repeat themselves, and that is said."""
    result = lcp.solve(lcp.LCP([[1.0, 2.0, 0.0], [0.0, 1.0, 2.0], [2.0, 0.0, 1.0]], [-1.0, -1.0, -1.0]), solver())
    assert result.status is lcp.Status.STALLED
    assert result.iterations < 1000
    assert "same z" in result.attempts[0].detail


@every
def test_an_infeasible_problem_is_not_called_solved(solver: Any) -> None:
    """Semidefinite with contradicting rows: the iterates grow, relative residuals shrink, the verdict stays."""
    for tolerance in (1e-3, 1e-9):
        problem = lcp.LCP([[1.0, -1.0], [-1.0, 1.0]], [-1.0, -1.0])
        result = lcp.solve(problem, solver(max_iterations=20_000), tolerance=tolerance)
        assert result.status is lcp.Status.ITERATION_LIMIT
        assert np.isfinite(result.z).all()


@every
def test_a_sparse_membrane_stays_sparse(solver: Any) -> None:
    """n = 22 500 dense would be 4 GB: solved within a few megabytes, symmetric about the middle."""
    problem = membrane(150)
    lcp.solve(membrane(5), solver())
    tracemalloc.start()
    result = lcp.solve(problem, solver(), tolerance=1e-6)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    result.raise_for_status()
    assert peak < 60e6
    u = result.z.reshape((150, 150))
    np.testing.assert_allclose(u, u.T, atol=1e-7)
    assert (u[0] == 0.0).all()
    assert u.max() > 1e-3


@pytest.mark.nojit
@every
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_iterations": -1}, "max_iterations"),
        ({"max_iterations": 1.5}, "max_iterations"),
        ({"time_limit": 0.0}, "time_limit"),
        ({"time_limit": float("nan")}, "time_limit"),
        ({"check_interval": 0}, "check_interval"),
    ],
)
def test_limits_out_of_range_are_refused(solver: Any, options: dict[str, Any], said: str) -> None:
    """With the solver's name and the field."""
    with pytest.raises(lcp.ProblemError, match=rf"{solver.__name__}\.{said}"):
        solver(**options)


@pytest.mark.nojit
@sweeping
@pytest.mark.parametrize("options", [{"relaxation": 0.0}, {"relaxation": 2.0}, {"relaxation": "1"}, {"sweep": "red"}])
def test_options_of_sweeps_out_of_range_are_refused(solver: Any, options: dict[str, Any]) -> None:
    """omega in (0, 2), ends excluded, and one of two orders."""
    with pytest.raises(lcp.ProblemError, match=rf"{solver.__name__}\.{next(iter(options))}"):
        solver(**options)


@sweeping
@pytest.mark.parametrize("order", ["forward", "symmetric"])
def test_dominant_matrices_by_either_order(solver: Any, order: str) -> None:
    """Nonsymmetric H-matrices at omega <= 1."""
    for seed in range(20):
        for relaxation in (0.6, 1.0):
            lcp.solve(dominant(seed), solver(relaxation=relaxation, sweep=order)).raise_for_status()
