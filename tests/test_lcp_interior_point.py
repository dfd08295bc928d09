"""The interior-point method: monotone problems, bounds, infeasibility with proof, the path itself, limits."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st

import lcp
from lcp.catalog import entries, fathi, murty
from lcp.solvers.interior_point import InteriorPoint, Neighbourhood, start, step_from
from lcp.solvers.shared.scaled_box import scaled_box

SOLVERS = [InteriorPoint(), InteriorPoint(polish=False)]
each_solver = pytest.mark.parametrize("solver", SOLVERS, ids=["polished", "alone"])
PROMISED = lcp.Traits.POSITIVE_DEFINITE | lcp.Traits.POSITIVE_SEMIDEFINITE


def monotone_matrix(rng: np.random.Generator, n: int) -> np.ndarray:
    """Positive semidefinite, perhaps singular, perhaps with a skew part; small integers."""
    A = rng.integers(-2, 3, (n, int(rng.integers(1, n + 1)))).astype(float)
    K = rng.integers(-2, 3, (n, n)).astype(float)
    return A @ A.T + (K - K.T) * int(rng.integers(0, 2))


def solvable_problem(seed: int, *, strict: bool) -> lcp.LCP:
    """A monotone problem with a known solution, strictly complementary or with ties."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    M = monotone_matrix(rng, n)
    z = rng.integers(0, 3, n).astype(float)
    w = np.where(z == 0.0, rng.integers(1 if strict else 0, 3, n), 0.0)
    return lcp.LCP(M, w - M @ z)


@each_solver
@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.name)
def test_catalog(solver: InteriorPoint, entry: object) -> None:
    """Monotone problems are solved at a listed solution; infeasible ones are proved so; nothing else is a success."""
    result = lcp.solve(entry.problem, solver)
    assert np.isfinite(result.z).all()
    if entry.outcome is not lcp.Status.SOLVED:
        assert not result.solved
        if entry.outcome is lcp.Status.INFEASIBLE:
            assert result.status is lcp.Status.INFEASIBLE
            assert result.evidence.proves(entry.problem)
        return
    if entry.matrix_class is not None and entry.matrix_class & PROMISED:
        result.raise_for_status()
    if result.solved and entry.complete:
        assert any(np.allclose(result.z, z, rtol=1e-5, atol=1e-7 * max(1.0, z.max(initial=0))) for z in entry.solutions)


@each_solver
def test_shared_problems_of_the_promised_classes(solver: InteriorPoint, shared: Path) -> None:
    """Every monotone problem of the recorded set is solved at the default tolerance, or proved infeasible."""
    folder = shared / "problems" / "lcp"
    met = 0
    for entry in json.loads((folder / "index.json").read_text()):
        data = np.load(folder / f"{entry[0]}.npz")
        if str(data["cls"]) not in ("SPD", "PSD"):
            continue
        met += 1
        problem = lcp.LCP(data["M"], data["q"])
        result = lcp.solve(problem, solver)
        if str(data["expected"]) == "infeasible":
            assert result.status is lcp.Status.INFEASIBLE
            assert result.evidence.proves(problem)
        else:
            assert result.solved, (entry[0], result)
            assert result.iterations <= 40
    assert met >= 15


@each_solver
@given(seed=st.integers(0, 10**6), strict=st.booleans())
@example(seed=2477, strict=True)  # -4 z_2 >= 0 makes z_2 zero itself, and z_1 >= 7/4 is not determined
@example(seed=898, strict=False)
@example(seed=47090, strict=False)  # z_2 = w_2 = 0, neither nearer to it than the other
@settings(max_examples=80)
def test_monotone_problems_with_a_solution_are_solved(solver: InteriorPoint, seed: int, strict: bool) -> None:
    """Singular and skew M, ties and all: solved at 1e-6 alone and at the default tolerance polished."""
    problem = solvable_problem(seed, strict=strict)
    tolerance = 1e-9 if solver.polish and strict else 1e-6
    result = lcp.solve(problem, solver, tolerance=tolerance)
    result.raise_for_status()


@given(seed=st.integers(0, 10**6))
@settings(max_examples=40)
def test_infeasible_problems_are_proved_infeasible(seed: int) -> None:
    """Rows i and j with opposite entries and negative loads contradict each other, whatever else there is."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    A = rng.standard_normal((n, n - 1))
    A[1] = -A[0]
    problem = lcp.LCP(A @ A.T, np.concatenate([[-1.0, -1.0], rng.standard_normal(n - 2)]))
    result = lcp.solve(problem, InteriorPoint())
    assert result.status is lcp.Status.INFEASIBLE
    assert result.evidence.proves(problem)
    assert np.isfinite(result.z).all()


@each_solver
@given(seed=st.integers(0, 10**6))
@settings(max_examples=60)
def test_boxes_agree_with_the_converted_problem(solver: InteriorPoint, seed: int) -> None:
    """Definite M with bounds of every kind, given and free unknowns: the one solution, as Lemke has it."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    lo = np.where(rng.random(n) < 0.3, -np.inf, rng.integers(-2, 3, n))
    hi = np.where(rng.random(n) < 0.3, np.inf, np.where(np.isfinite(lo), lo, 0) + rng.integers(0, 3, n))
    M = monotone_matrix(rng, n) + np.eye(n)
    problem = lcp.BoxLCP(M, rng.integers(-3, 4, n), lo, hi)
    result = lcp.solve(problem, solver, tolerance=1e-9 if solver.polish else 1e-7)
    result.raise_for_status()
    conversion = lcp.box_to_mlcp(problem)
    other = lcp.solve(conversion.problem, lcp.Lemke())
    expected = conversion.recover(np.concatenate([other.u, other.y]))
    np.testing.assert_allclose(result.z, expected, rtol=1e-5, atol=1e-4 if not solver.polish else 1e-7)


@each_solver
def test_closed_forms_with_bounds(solver: InteriorPoint) -> None:
    """A relay, a linear system, given unknowns only, a semidefinite box, bounds a hair apart."""
    for q, z in ((5.0, -1.0), (0.5, -0.25), (-5.0, 1.0)):
        np.testing.assert_allclose(lcp.solve(lcp.BoxLCP([[2.0]], [q], -1.0, 1.0), solver).z, [z], atol=1e-8)
    M, q = np.array([[2.0, 1.0], [-1.0, 2.0]]), np.array([-5.0, 6.0])
    np.testing.assert_allclose(lcp.solve(lcp.BoxLCP(M, q, -np.inf, np.inf), solver).z, np.linalg.solve(M, -q))
    np.testing.assert_array_equal(lcp.solve(lcp.BoxLCP(M, q, [7.0, 1.0], [7.0, 1.0]), solver).z, [7.0, 1.0])
    flat = lcp.solve(lcp.BoxLCP(np.zeros((3, 3)), [1.0, -2.0, 1e-3], [-1.0, -2.0, -3.0], [4.0, 5.0, 6.0]), solver)
    np.testing.assert_allclose(flat.z, [-1.0, 5.0, -3.0], atol=1e-7)
    thin = lcp.solve(lcp.BoxLCP(np.eye(2), [-9.0, 9.0], 1.0, 1.0 + 1e-9), solver)
    assert thin.solved
    np.testing.assert_allclose(thin.z, [1.0 + 1e-9, 1.0], rtol=1e-9)


@pytest.mark.parametrize("n", [6, 12, 20])
def test_the_exponential_families_take_few_iterations(n: int) -> None:
    """Murty's (a P-matrix, not promised) and Fathi's problems: a dozen iterations where pivoting takes 2^n."""
    for problem, first in ((murty(n), 2.0**n), (fathi(n), 4.0**n)):
        result = lcp.solve(problem, InteriorPoint())
        assert result.solved
        assert result.iterations < 25
        np.testing.assert_allclose(result.z[0], first, rtol=1e-6)


@given(seed=st.integers(0, 10**6))
@example(seed=2477)
@settings(max_examples=30)
def test_units_do_not_matter(seed: int) -> None:
    """D M D and D q over 16 decades, loads by 1e±12: solved with as good a residual."""
    rng = np.random.default_rng(seed)
    problem = solvable_problem(seed, strict=True)
    d = 10.0 ** rng.integers(-4, 5, problem.n)
    load = 10.0 ** rng.choice([-12, 0, 12])
    result = lcp.solve(lcp.LCP(d[:, None] * problem.M * d, load * d * problem.q), InteriorPoint())
    result.raise_for_status()


@pytest.mark.nojit
def test_steps_stay_inside_and_near_the_path() -> None:
    """Every step keeps rooms and multipliers positive, x + p consistent, and the neighbourhood; mu falls to nothing."""
    rng = np.random.default_rng(5)
    n = 12
    M = monotone_matrix(rng, n) + 0.1 * np.eye(n)
    lo = np.where(np.arange(n) % 3 == 0, -np.inf, -1.0)
    hi = np.where(np.arange(n) % 2 == 0, np.inf, 1.0)
    box = scaled_box(lcp.BoxLCP(M, rng.integers(-3, 4, n), lo, hi), congruent=True)
    at = start(box, 1.0)
    area = Neighbourhood(box, at)
    assert area.holds(at)
    low, high = np.isfinite(box.lo), np.isfinite(box.hi)
    for _ in range(25):
        step = step_from(box, at, area)
        assert step is not None
        at = step[0]
        assert area.holds(at)
        assert (at.p > 0.0).all()
        assert (at.r > 0.0).all()
        assert (at.s[low] > 0.0).all()
        assert (at.t[high] > 0.0).all()
        assert not at.s[~low].any()
        np.testing.assert_allclose((at.x - at.p)[low], box.lo[low], atol=1e-12)
        np.testing.assert_allclose((at.x + at.r)[high], box.hi[high], atol=1e-12)
    assert area.mean(at) < 1e-12 * area.first_mean


def membrane(k: int) -> lcp.LCP:
    """A membrane over a paraboloid on a k x k grid, five-point stencil: z is its height above the obstacle."""
    h = 1.0 / (k + 1)
    T = sp.diags_array([-np.ones(k - 1), 2.0 * np.ones(k), -np.ones(k - 1)], offsets=[-1, 0, 1])
    M = (sp.kron(sp.eye_array(k), T) + sp.kron(T, sp.eye_array(k))) / h**2
    x = np.linspace(h, 1.0 - h, k)
    height = 0.3 - 2.0 * ((x[:, None] - 0.5) ** 2 + (x - 0.5) ** 2).ravel()
    return lcp.LCP(M.tocsr(), M @ height + 1.0)


@each_solver
def test_a_membrane_stays_sparse(solver: InteriorPoint) -> None:
    """3600 unknowns in about 20 iterations, the same answer as Newton's method has, symmetric as the obstacle is."""
    from lcp.solvers.min_map_newton import MinMapNewton

    problem = membrane(60)
    result = lcp.solve(problem, solver)
    result.raise_for_status()
    assert result.iterations <= 30
    other = lcp.solve(problem, MinMapNewton())
    np.testing.assert_allclose(result.z, other.z, atol=1e-5)
    square = result.z.reshape(60, 60)
    np.testing.assert_allclose(square, square.T, atol=1e-5)
    np.testing.assert_allclose(square, square[::-1], atol=1e-5)
    assert 0.1 < (result.z > 1e-6).mean() < 0.99


@each_solver
@pytest.mark.parametrize("sparse", [False, True])
def test_trivial_and_bad_problems(solver: InteriorPoint, sparse: bool) -> None:
    """No unknowns, q >= 0, all-zero M, a zero row with negative load, n = 1, duplicated rows, no class at all."""

    def solved(M: object, q: object) -> lcp.Result:
        result = lcp.solve(lcp.LCP(sp.csr_matrix(M) if sparse else M, q), solver)
        assert np.isfinite(result.z).all()
        return result

    assert solved(np.zeros((0, 0)), []).iterations == 0
    assert solved(np.eye(3), [0.0, 1.0, 2.0]).iterations == 0
    assert solved(np.zeros((2, 2)), [1.0, 0.0]).solved
    assert solved(np.zeros((2, 2)), [-1.0, -2.0]).status is lcp.Status.INFEASIBLE
    assert solved([[1.0, 0.0], [0.0, 0.0]], [-1.0, -1.0]).status is lcp.Status.INFEASIBLE
    assert solved([[4.0]], [-1.0]).z[0] == pytest.approx(0.25)
    twice = solved(np.ones((3, 3)), [-1.0, -1.0, -1.0])
    assert twice.solved
    assert twice.z.sum() == pytest.approx(1.0)
    assert not solved([[-2.0, 1.0], [-2.0, 2.0]], [-2.0, -2.0]).solved


def test_limits_and_trace() -> None:
    """Iteration and time limits end by name; the trace has one natural map per iteration; z0 may solve at once."""
    rng = np.random.default_rng(2)
    A = rng.standard_normal((30, 30))
    problem = lcp.LCP(A @ A.T, rng.standard_normal(30))
    full = lcp.solve(problem, InteriorPoint(polish=False), trace=True)
    assert full.solved
    assert full.trace.iterations.tolist() == list(range(full.iterations + 1))
    assert full.trace.values[-1] == pytest.approx(full.residual.natural_map)
    short = lcp.solve(problem, InteriorPoint(max_iterations=2))
    assert short.status is lcp.Status.ITERATION_LIMIT
    assert short.iterations == 2
    late = lcp.solve(problem, InteriorPoint(time_limit=1e-9))
    assert late.status is lcp.Status.ITERATION_LIMIT
    assert "time limit" in late.attempts[0].detail
    assert lcp.solve(problem, InteriorPoint(), z0=full.z).iterations == 0
    again = lcp.solve(problem, InteriorPoint(polish=False))
    assert again.z.tobytes() == full.z.tobytes()


def test_large_infeasible_problems_are_not_put_to_a_linear_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the stated size the divergence is reported as what it is."""
    monkeypatch.setattr("lcp.solvers.interior_point._PROOF_SIZE", 1)
    result = lcp.solve(lcp.LCP([[1.0, -1.0], [-1.0, 1.0]], [-1.0, -1.0]), InteriorPoint())
    assert result.status in (lcp.Status.STALLED, lcp.Status.SINGULAR_BASIS)
    assert "path" in result.attempts[0].detail
    assert np.isfinite(result.z).all()


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"max_iterations": -1}, "max_iterations"),
        ({"max_iterations": 2.0}, "max_iterations"),
        ({"polish": 1}, "polish"),
        ({"time_limit": -1.0}, "time_limit"),
    ],
)
def test_options_are_checked(options: dict[str, object], text: str) -> None:
    """Options out of range are refused with the field named."""
    with pytest.raises(lcp.ProblemError, match=rf"InteriorPoint\.{text}"):
        InteriorPoint(**options)
