"""What the principal pivoting methods have in common: their classes, hard cases, failures, limits, starts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import enumerate_bases
from pivoting import SEMIDEFINITE, SOLVERS, assert_solves, definite, name_of, natural, p_matrix, semidefinite

import lcp
from lcp import Status, Traits
from lcp.catalog import Entry, entries, fathi, murty, obstacle
from lcp.method import implied
from lcp.solvers.active_set_pivoting import ActiveSetPivoting
from lcp.solvers.block_principal_pivoting import BlockPrincipalPivoting
from lcp.solvers.cottle_dantzig import CottleDantzig
from lcp.solvers.murty import Murty

each = pytest.mark.parametrize("solver", SOLVERS, ids=name_of)
each_semidefinite = pytest.mark.parametrize("solver", SEMIDEFINITE, ids=name_of)

# The class a file of the shared set is known to belong to; "none" and "copositive" promise nothing here.
_CLASS = {
    "SPD": Traits.SYMMETRIC_POSITIVE_DEFINITE,
    "PSD": Traits.SYMMETRIC_POSITIVE_SEMIDEFINITE,
    "P": Traits.P_MATRIX,
}


@each
@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.name)
def test_catalog_problems_of_the_proven_class_are_solved(solver: Any, entry: Entry) -> None:
    """Each method solves every solvable catalog problem of its classes and claims nothing false of the others."""
    result = lcp.solve(entry.problem, solver)
    promised = entry.matrix_class is not None and bool(entry.matrix_class & solver.traits)
    if promised and entry.outcome is Status.SOLVED:
        assert_solves(entry.problem, result)
    if result.solved:
        assert entry.outcome is Status.SOLVED
        assert natural(entry.problem, result.z) <= 1e-7 * max(1.0, float(np.abs(entry.problem.q).max(initial=0.0)))
        if entry.complete:
            assert any(np.allclose(result.z, z, rtol=1e-9, atol=1e-9) for z in entry.solutions)
    if result.status is Status.INFEASIBLE:
        assert entry.outcome is Status.INFEASIBLE
        assert result.evidence.proves(entry.problem)


@each
def test_shared_problems_of_the_proven_class_are_solved(solver: Any, shared: Path) -> None:
    """Every solvable recorded problem of a proven class, but for the one Murty's rule needs 2^24 pivots for."""
    for name, *_ in json.loads((shared / "problems" / "lcp" / "index.json").read_text()):
        with np.load(shared / "problems" / "lcp" / f"{name}.npz") as data:
            promised = implied(_CLASS.get(str(data["cls"]), Traits(0))) & solver.traits
            problem, solvable = lcp.LCP(data["M"], data["q"]), str(data["expected"]) == "solvable"
        result = lcp.solve(problem, solver)
        assert np.isfinite(result.z).all()
        if isinstance(solver, Murty) and name == "murtyU_n24":
            assert result.status is Status.ITERATION_LIMIT
        elif promised and solvable:
            assert result.solved, (name, result)
        elif not solvable:
            assert not result.solved, name


@each
@pytest.mark.parametrize("seed", range(40))
def test_p_matrices_agree_with_enumeration(solver: Any, seed: int) -> None:
    """The one solution of a P matrix, whole numbers and ties included."""
    rng = np.random.default_rng(seed)
    n = 1 + seed % 7
    M, q = p_matrix(rng, n), rng.integers(-3, 3, n).astype(float)
    result = lcp.solve(lcp.LCP(M, q), solver)
    assert_solves(lcp.LCP(M, q), result)
    assert np.allclose(result.z, enumerate_bases(M, q)[0], atol=1e-10)


@each_semidefinite
@pytest.mark.parametrize("seed", range(40))
def test_semidefinite_problems_with_repeated_rows(solver: Any, seed: int) -> None:
    """Rank-deficient symmetric problems with a solution are solved; w, which is unique, is that of enumeration."""
    rng = np.random.default_rng(seed)
    n = 2 + seed % 7
    M, q = semidefinite(rng, n)
    result = lcp.solve(lcp.LCP(M, q), solver)
    assert_solves(lcp.LCP(M, q), result)
    assert np.allclose(result.w, M @ enumerate_bases(M, q)[0] + q, atol=1e-8)


@pytest.mark.parametrize("seed", range(30))
def test_cottle_dantzig_on_monotone_problems_that_are_not_symmetric(seed: int) -> None:
    """Positive semidefinite plus skew M, vanishing diagonal entries included: quadratic programs with constraints."""
    rng = np.random.default_rng(seed)
    n = 2 + seed % 6
    M, _ = semidefinite(rng, n)
    K = rng.integers(-2, 3, (n, n)).astype(float)
    M = M * (seed % 3 > 0) + K - K.T
    z = np.maximum(rng.integers(-2, 3, n), 0).astype(float)
    q = np.maximum(rng.integers(-1, 3, n), 0) * (z == 0.0) - M @ z
    assert_solves(lcp.LCP(M, q), lcp.solve(lcp.LCP(M, q), CottleDantzig()))


@pytest.mark.nojit
@each
def test_a_small_problem_with_bases_in_between(solver: Any) -> None:
    """Five unknowns whose solution takes removals as well as insertions, against enumeration."""
    rng = np.random.default_rng(21)
    for _ in range(4):
        M, q = p_matrix(rng, 5), rng.integers(-3, 3, 5).astype(float)
        result = lcp.solve(lcp.LCP(M, q), solver)
        assert result.solved
        assert np.allclose(result.z, enumerate_bases(M, q)[0], atol=1e-12)


@each_semidefinite
def test_contradictions_are_proved(solver: Any) -> None:
    """Two opposite contacts that both ask to be pressed: infeasible, with a Farkas vector."""
    for M, q in (
        (np.array([[1.0, -1.0], [-1.0, 1.0]]), [-1.0, -1.0]),
        (np.array([[2.0, 0.0], [0.0, 0.0]]), [-1.0, -1.0]),
        (np.zeros((3, 3)), [0.0, -2.0, 1.0]),
    ):
        problem = lcp.LCP(M, np.array(q))
        result = lcp.solve(problem, solver)
        assert result.status is Status.INFEASIBLE
        assert result.evidence.proves(problem)


@each
def test_trivial_problems_take_no_iteration(solver: Any) -> None:
    """No unknown, q >= 0, all-zero M with q >= 0: z = 0 at once."""
    for M, q in ((np.zeros((0, 0)), []), (-np.ones((2, 2)), [0.0, 3.0]), (np.zeros((3, 3)), [0.0, 1.0, 2.0])):
        result = lcp.solve(lcp.LCP(M, np.array(q, dtype=float)), solver)
        assert result.solved
        assert result.iterations == 0
        assert not result.z.any()


@each
def test_one_unknown(solver: Any) -> None:
    """n = 1: pressed, apart, and the zero row that nothing can lift."""
    assert np.allclose(lcp.solve(lcp.LCP([[2.0]], [-4.0]), solver).z, [2.0])
    assert np.allclose(lcp.solve(lcp.LCP([[2.0]], [3.0]), solver).z, [0.0])
    result = lcp.solve(lcp.LCP([[0.0]], [-1.0]), solver)
    assert not result.solved
    assert result.status in (Status.INFEASIBLE, Status.SINGULAR_BASIS)


@each
@pytest.mark.parametrize("factor", [1e-12, 1e-6, 1e6, 1e12])
def test_a_common_factor_changes_nothing(solver: Any, factor: float) -> None:
    """z of LCP(f M, f q) is z of LCP(M, q)."""
    rng = np.random.default_rng(11)
    M, q = definite(rng, 9), rng.standard_normal(9)
    plain, scaled = lcp.solve(lcp.LCP(M, q), solver), lcp.solve(lcp.LCP(factor * M, factor * q), solver)
    assert plain.solved
    assert scaled.solved
    assert np.allclose(scaled.z, plain.z, rtol=1e-9, atol=1e-12)


@each
def test_units_change_nothing(solver: Any) -> None:
    """D M D with D over eight decades: z is D^-1 z."""
    rng = np.random.default_rng(12)
    n = 8
    M, q, d = definite(rng, n), rng.standard_normal(n), 10.0 ** rng.integers(-4, 5, n)
    plain = lcp.solve(lcp.LCP(M, q), solver)
    scaled = lcp.solve(lcp.LCP(d[:, None] * M * d, d * q), solver)
    assert scaled.solved
    assert np.allclose(scaled.z * d, plain.z, rtol=1e-8, atol=1e-10)


@each
@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 10))
def test_the_order_of_the_unknowns_changes_nothing(solver: Any, seed: int, n: int) -> None:
    """The permuted problem has the permuted solution."""
    rng = np.random.default_rng(seed)
    M, q, order = p_matrix(rng, n), rng.integers(-3, 4, n).astype(float), rng.permutation(n)
    plain = lcp.solve(lcp.LCP(M, q), solver)
    moved = lcp.solve(lcp.LCP(M[np.ix_(order, order)], q[order]), solver)
    assert plain.solved
    assert moved.solved
    assert np.allclose(moved.z, plain.z[order], atol=1e-10)


@each
@settings(max_examples=40)
@given(data=st.data())
def test_any_p_matrix_and_any_load(solver: Any, data: st.DataObject) -> None:
    """Whatever numbers are drawn: a verified solution."""
    n = data.draw(st.integers(1, 6))
    number = st.floats(-10.0, 10.0, allow_subnormal=False).map(lambda x: round(x, 3))
    M = np.array(data.draw(st.lists(number, min_size=n * n, max_size=n * n))).reshape(n, n)
    np.fill_diagonal(M, np.abs(M).sum(axis=1) + 0.01)
    problem = lcp.LCP(M, np.array(data.draw(st.lists(number, min_size=n, max_size=n))))
    assert_solves(problem, lcp.solve(problem, solver))


@each
def test_a_warm_start_at_the_solution_is_accepted(solver: Any) -> None:
    """From its own solution no pivot (of the block method one factorisation) is needed; z0 is left alone."""
    rng = np.random.default_rng(13)
    problem = lcp.LCP(definite(rng, 12), rng.standard_normal(12))
    first = lcp.solve(problem, solver)
    start = np.array(first.z)
    again = lcp.solve(problem, solver, z0=start)
    assert again.solved
    assert again.iterations <= (1 if isinstance(solver, BlockPrincipalPivoting) else 0)
    assert again.attempts[0].detail == "warm basis accepted"
    assert np.array_equal(start, first.z)
    assert np.allclose(again.z, first.z, rtol=1e-12)


@each
@settings(max_examples=20)
@given(seed=st.integers(0, 10_000))
def test_any_start_leads_to_the_solution(solver: Any, seed: int) -> None:
    """A start may be anything finite."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    problem = lcp.LCP(p_matrix(rng, n), rng.integers(-3, 3, n).astype(float))
    assert_solves(problem, lcp.solve(problem, solver, z0=rng.standard_normal(n) * 10.0 ** rng.integers(-8, 9)))


@each
def test_limits_are_heeded(solver: Any) -> None:
    """One pivot, and no time at all: ITERATION_LIMIT with a finite candidate and words that say which."""
    problem = obstacle(400)
    field = "max_iterations" if hasattr(solver, "max_iterations") else "max_pivots"
    short = lcp.solve(problem, replace(solver, **{field: 1}))
    late = lcp.solve(problem, replace(solver, time_limit=1e-9))
    for result, words in ((short, "problem too long"), (late, "time limit")):
        assert result.status is Status.ITERATION_LIMIT
        assert words in result.attempts[0].detail
        assert np.isfinite(result.z).all()
    assert short.iterations == 1


@each
def test_options_out_of_range_are_refused(solver: Any) -> None:
    """With the solver, the field and the value in the text."""
    field = "max_iterations" if hasattr(solver, "max_iterations") else "max_pivots"
    for name, value in ((field, -1), (field, 1.5), ("zero_tolerance", -1e-9), ("zero_tolerance", "x"),
                        ("time_limit", 0.0)):  # fmt: skip
        with pytest.raises(lcp.ProblemError, match=f"{type(solver).__name__}.{name}"):
            replace(solver, **{name: value})


@each
def test_the_trace_ends_where_the_solution_is(solver: Any) -> None:
    """One natural map per step, the last one being that of the answer."""
    rng = np.random.default_rng(15)
    problem = lcp.LCP(definite(rng, 10), -np.ones(10))
    result = lcp.solve(problem, solver, trace=True)
    assert result.trace is not None
    assert len(result.trace) >= 1
    assert result.trace.quantity == "natural map"
    assert result.trace.values[-1] <= 1e-8


@each
@pytest.mark.nojit
def test_no_trace_depends_on_what_memory_held_before(solver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A trace, and the answer with it, is the same whatever numbers new workspaces happen to hold."""
    problem = lcp.LCP(definite(np.random.default_rng(12), 8), -np.ones(8))
    first = lcp.solve(problem, solver, trace=True)
    empty = np.empty

    def held(*args: Any, **kwargs: Any) -> Any:
        array = empty(*args, **kwargs)
        array.fill(7)
        return array

    monkeypatch.setattr(np, "empty", held)
    second = lcp.solve(problem, solver, trace=True)
    monkeypatch.undo()
    assert first.trace is not None
    assert second.trace is not None
    np.testing.assert_array_equal(first.trace.values, second.trace.values)
    np.testing.assert_array_equal(first.z, second.z)
    assert (first.status, first.iterations) == (second.status, second.iterations)


@each
def test_numbers_beyond_the_range_fail_cleanly(solver: Any) -> None:
    """Products that overflow: a status and a finite z, no exception and no warning."""
    problem = lcp.LCP([[1e300, -1e300], [1e300, 1e300]], [-1e300, -1e10])
    result = lcp.solve(problem, solver)
    assert np.isfinite(result.z).all()


@pytest.mark.parametrize("solver", [ActiveSetPivoting(), CottleDantzig(), BlockPrincipalPivoting()], ids=name_of)
def test_exponential_families_are_short(solver: Any) -> None:
    """Murty's and Fathi's problems with n = 50 and q = -e, for which Lemke's method may need 2^50 pivots."""
    for M in (murty(50)._M, fathi(50)._M):
        problem = lcp.LCP(M, -np.ones(50))
        result = lcp.solve(problem, solver)
        assert_solves(problem, result)
        assert result.iterations <= 50 * 50


def test_murty_takes_the_order_it_is_given() -> None:
    """On Murty's own family one pivot in one order, 2^n - 1 in the other."""
    problem = murty(8)
    assert lcp.solve(problem, Murty()).iterations == 1
    assert lcp.solve(problem, Murty(order=tuple(range(7, -1, -1)))).iterations == 2**8 - 1
    with pytest.raises(lcp.ProblemError, match="permutation"):
        Murty(order=(0, 0, 1))
    with pytest.raises(lcp.ProblemError, match="length"):
        lcp.solve(problem, Murty(order=(1, 0)))


def test_methods_for_p_matrices_say_when_it_is_none() -> None:
    """A singular block or a negative diagonal entry ends them."""
    singular = lcp.LCP(np.ones((2, 2)), [-1.0, -2.0])
    assert lcp.solve(singular, BlockPrincipalPivoting()).status is Status.SINGULAR_BASIS
    assert lcp.solve(lcp.LCP([[-0.4]], [-9.81]), BlockPrincipalPivoting()).status is Status.STALLED
    assert lcp.solve(lcp.LCP([[-0.4]], [-9.81]), Murty()).status is Status.SINGULAR_BASIS
