"""One contract over all solvers: invariances, bounds, storage, starts, limits, traces, proofs."""

import json
import tracemalloc
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lcp_problems import (
    assert_solves,
    bounds,
    definite,
    definite_box,
    membrane,
    p_problem,
    random_box,
    repeated,
    semidefinite,
    string,
    string_height,
)
from naive import enumerate_bases
from scipy import sparse

import lcp
from lcp import Traits
from lcp.catalog import fathi, murty
from lcp.method import implied

#: Solvers whose results depend on a separate tolerance.
ROUGH = (lcp.InteriorPoint(polish=False), lcp.FischerNewton(polish=False))
VARIANTS = (*ROUGH, lcp.MinMapNewton(smoothing=False), lcp.FischerNewton(penalty=0.05))
SWEEPS = (lcp.ProjectedGaussSeidel(), lcp.APGD(), lcp.NonsmoothNonlinearCG())
GENERAL: tuple[Any, ...] = tuple(kind() for kind in lcp.ALL_SOLVERS if kind is not lcp.LemkeHowson) + VARIANTS
SLOW = (lcp.Enumeration, lcp.CVXPY, lcp.ExtendedLemke, lcp.ConcaveMinimization)
COUNTS = ("max_pivots", "max_iterations", "max_iter")


def over(solvers: Any) -> Any:
    """Run a test with each of these solvers."""
    return pytest.mark.parametrize("solver", solvers, ids=repr)


def proven(classes: Traits) -> tuple[Any, ...]:
    """Return the solvers that solve problems of a class."""
    return tuple(solver for solver in GENERAL if implied(classes) & solver.traits)


def having(trait: Traits) -> tuple[Any, ...]:
    """Return the solvers with an ability."""
    return tuple(solver for solver in GENERAL if solver.traits & trait)


def limited(solver: Any, limit: int) -> Any:
    """Return the solver with a limit on its pivots or iterations, or None if it has no such limit."""
    names = {field.name for field in fields(solver)} & set(COUNTS)
    return replace(solver, **dict.fromkeys(names, limit)) if names else None


def close(solver: Any, found: np.ndarray, wanted: np.ndarray) -> bool:
    """Return True if two results are equal within the solver's tolerance."""
    share = 1e-4 if solver in ROUGH else 1e-6
    return np.allclose(found, wanted, rtol=share, atol=share * max(1.0, np.abs(wanted).max(initial=0.0)))


@over(proven(Traits.P_MATRIX))
def test_p_matrices_have_the_solution_that_enumeration_finds(solver: Any) -> None:
    """Ties, skew parts, dominance and triangles included."""
    for seed in range(24):
        problem = p_problem(seed + (seed % 4 == 3 and solver in ROUGH), 1 + seed % 7)
        result = lcp.solve(problem, solver)
        result.raise_for_status()
        (only,) = enumerate_bases(problem.M, problem.q)
        assert close(solver, result.z, only)


@over(proven(Traits.SYMMETRIC_POSITIVE_SEMIDEFINITE))
def test_redundant_contacts_have_the_same_motion_whatever_the_solver(solver: Any) -> None:
    """w is unique where M is semidefinite, though z is not."""
    for seed in range(20):
        for problem in (semidefinite(seed), repeated(seed)):
            result = lcp.solve(problem, solver, tolerance=1e-6 if solver in ROUGH else 1e-9)
            result.raise_for_status()
            unit = max(1.0, np.abs(problem.q).max())
            np.testing.assert_allclose(
                result.w, lcp.solve(problem, lcp.Lemke()).w, atol=(1e-4 if solver in ROUGH else 1e-6) * unit
            )


@over(GENERAL)
def test_shared_problems_of_its_classes_are_solved(solver: Any, shared: Any) -> None:
    """Unsolvable problems are never called solved."""
    classes = {
        "SPD": Traits.SYMMETRIC_POSITIVE_DEFINITE,
        "PSD": Traits.SYMMETRIC_POSITIVE_SEMIDEFINITE,
        "P": Traits.P_MATRIX,
    }
    folder = shared / "problems" / "lcp"
    for name, family, *_ in json.loads((folder / "index.json").read_text()):
        with np.load(folder / f"{name}.npz") as data:
            kind, problem = classes.get(str(data["cls"]), Traits(0)), lcp.LCP(data["M"], data["q"])
            solvable, z = (
                str(data["expected"]) == "solvable",
                data["z"] if bool(data["unique_z"]) and "z" in data else None,
            )
        slow = solver in VARIANTS or isinstance(solver, SLOW)
        if problem.n > 60 and slow:
            continue
        # Paths of 2^n bases: Lemke's method on the families made for it, Murty's on his own.
        lemke = family.endswith("_exp") and isinstance(solver, lcp.Lemke | lcp.ExtendedLemke | lcp.BoxLemke)
        exponential = lemke or (name == "murtyU_n24" and isinstance(solver, lcp.Murty))
        approximate = isinstance(solver, (*map(type, SWEEPS), lcp.InteriorPoint))
        result = lcp.solve(problem, solver, tolerance=1e-6 if approximate else 1e-9)
        assert np.isfinite(result.z).all()
        assert solvable or not result.solved, name
        if (
            implied(kind) & solver.traits
            and solvable
            and not exponential
            and problem.n <= getattr(solver, "max_n", 10**6)
        ):
            assert result.solved, (name, result)
            if z is not None and not approximate:
                assert close(solver, result.z, z), name


@over(proven(Traits.POSITIVE_DEFINITE))
def test_units_and_order_change_nothing(solver: Any) -> None:
    """Powers of ten in rows, unknowns and loads; any order of the unknowns."""
    rng = np.random.default_rng(12)
    problem = definite(13, 8)
    want = lcp.solve(problem, lcp.Lemke()).z
    for _ in range(5):
        d, load, order = 10.0 ** rng.integers(-4, 5, 8), 10.0 ** rng.choice([-9, 0, 9]), rng.permutation(8)
        M = (d[:, None] * problem.M * d)[np.ix_(order, order)]
        result = lcp.solve(lcp.LCP(M, (load * d * problem.q)[order]), solver)
        result.raise_for_status()
        assert close(solver, (result.z * d[order] / load), want[order])


@over(having(Traits.BOXED))
@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_boxes_agree_with_their_conversion(solver: Any, stored: Any) -> None:
    """Bounds of every kind: no result violates them, and it equals the result of the mixed problem."""
    makes = (
        (definite_box, random_box) if solver.traits & (Traits.P_MATRIX | Traits.POSITIVE_DEFINITE) else (definite_box,)
    )
    for make in makes:
        for seed in range(16):
            if make is random_box and seed % 4 and not solver.traits & Traits.P_MATRIX:
                continue
            problem = make(seed + (make is random_box and seed % 4 == 3 and solver in ROUGH))
            conversion = lcp.box_to_mlcp(problem)
            other = lcp.solve(conversion.problem, lcp.Lemke())
            result = lcp.solve(
                lcp.BoxLCP(stored(problem.M), problem.q, problem.lo, problem.hi),
                solver,
                tolerance=1e-7 if solver in ROUGH else 1e-9,
            )
            result.raise_for_status()
            assert close(solver, result.z, conversion.recover(np.concatenate([other.u, other.y])))
            if solver not in ROUGH:
                assert ((result.z >= problem.lo) & (result.z <= problem.hi)).all()


@over(having(Traits.BOXED))
def test_boxes_in_closed_form(solver: Any) -> None:
    """One unknown at each of its bounds, diagonal matrices, a linear system, and bounds that leave no choice."""
    cases = [(8.0, -1.0, 3.0, -1.0), (-2.0, -1.0, 3.0, 1.0), (-9.0, -1.0, 3.0, 3.0), (5.0, 2.0, 2.0, 2.0)]
    cases += [(-3.0, -np.inf, np.inf, 1.5), (-3.0, -np.inf, 1.0, 1.0), (3.0, -1.0, np.inf, -1.0)]
    for q, lo, hi, z in cases:
        assert lcp.solve(lcp.BoxLCP([[2.0]], [q], lo, hi), solver).z[0] == pytest.approx(z, abs=1e-6)
    rng = np.random.default_rng(4)
    m, (low, high), q = 10.0 ** rng.uniform(-3, 3, 9), bounds(rng, 9), rng.standard_normal(9)
    result = lcp.solve(lcp.BoxLCP(np.diag(m), q, low, high), solver)
    result.raise_for_status()
    assert close(solver, result.z, np.clip(-q / m, low, high))
    free = definite(3)
    assert close(
        solver, lcp.solve(lcp.BoxLCP(free.M, free.q, -np.inf, np.inf), solver).z, np.linalg.solve(free.M, -free.q)
    )
    held = lcp.solve(lcp.BoxLCP(np.zeros((3, 3)), [1.0, -1.0, 0.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]), solver)
    assert held.solved
    np.testing.assert_array_equal(held.z, [1.0, 2.0, 3.0])


@over([solver for solver in having(Traits.SPARSE) if solver not in VARIANTS])
def test_large_sparse_problems_stay_sparse(solver: Any) -> None:
    """The string's closed form, or a membrane's symmetry, in less memory than a dense matrix takes."""
    strings = not isinstance(solver, (*map(type, SWEEPS), lcp.CVXPY))
    problem = string(2000) if strings else membrane(45)
    lcp.solve(string(30), solver)
    tracemalloc.start()
    result = lcp.solve(problem, solver, tolerance=1e-6)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    result.raise_for_status()
    assert peak < 8 * problem.n**2
    if strings:
        np.testing.assert_allclose(result.z, string_height(problem.n), atol=1e-4)
    else:
        side = int(np.sqrt(problem.n))
        np.testing.assert_allclose(result.z.reshape(side, side), result.z.reshape(side, side).T, atol=1e-6)
        assert result.z.max() > 1e-3


@over(having(Traits.SPARSE))
def test_sparse_and_dense_data_give_one_answer(solver: Any) -> None:
    """Symmetric problems, definite or not."""
    for problem in (definite(5), string(40)) + (
        (semidefinite(5),) if solver in proven(Traits.SYMMETRIC_POSITIVE_SEMIDEFINITE) else ()
    ):
        M = problem.M.toarray() if problem.sparse else problem.M
        dense, thin = (
            lcp.solve(lcp.LCP(form(M), problem.q), solver, tolerance=1e-8) for form in (np.asarray, sparse.csr_array)
        )
        assert dense.solved
        assert thin.solved
        assert close(solver, thin.w, dense.w)


@over([one for one in GENERAL if isinstance(one, lcp.MinMapNewton | lcp.FischerNewton | lcp.InteriorPoint)])
def test_exponential_families_are_short(solver: Any) -> None:
    """Murty's and Fathi's families, on which some pivoting rules visit 2^n bases."""
    for n in (10, 20):
        for problem, first in ((murty(n), 2.0**n), (fathi(n), 4.0**n)):
            result = lcp.solve(problem, solver)
            assert result.solved
            assert result.iterations < 100
            np.testing.assert_allclose(result.z[0], first, rtol=1e-5)


@over(having(Traits.WARM_START))
def test_starts_are_taken_and_left_alone(solver: Any) -> None:
    """At the solution, near it, and far from anything."""
    cold = warm = 0
    for seed in range(5):
        problem = definite(seed, 20)
        first = lcp.solve(problem, solver)
        start = first.z.copy()
        again = lcp.solve(problem, solver, z0=start)
        assert again.iterations <= (first.iterations if isinstance(solver, lcp.OSQP) else 1)
        near = lcp.solve(lcp.LCP(problem.M, problem.q * (1.0 + 1e-9)), solver, z0=start)
        assert near.solved
        cold, warm = cold + first.iterations, warm + near.iterations
        np.testing.assert_array_equal(start, first.z)
    assert warm <= cold * (1.0 if isinstance(solver, lcp.OSQP) else 0.5)
    wild = [np.full(20, -1e3), np.linspace(-1e5, 1e5, 20)]
    if not isinstance(solver, tuple(map(type, SWEEPS))):
        wild += [np.full(20, 1e300), np.full(20, -1e300)]
    for z0 in wild:
        assert close(solver, lcp.solve(problem, solver, z0=z0).z, first.z)


@over(GENERAL)
def test_limits_are_heeded_and_named(solver: Any) -> None:
    """The status says so, and the best iterate is finite."""
    names = {field.name for field in fields(solver)}
    alone = {name: value for name, value in (("restarts", 0), ("polish", False)) if name in names}
    problem = lcp.LCP(string(400).M.toarray(), string(400).q)
    if "time_limit" in names and not isinstance(solver, lcp.Enumeration):
        long = isinstance(solver, lcp.Lemke)
        many = {"max_pivots": 10**6, **alone} if long else {}
        late = lcp.solve(murty(14) if long else problem, replace(solver, time_limit=1e-9, **many))
        assert late.status is lcp.Status.ITERATION_LIMIT, late
        assert np.isfinite(late.z).all()
    if (few := limited(replace(solver, **alone), 1)) is not None:
        short = lcp.solve(problem, few)
        assert short.status is lcp.Status.ITERATION_LIMIT, short
        assert short.iterations <= 1
        assert np.isfinite(short.z).all()


@over(having(Traits.POSITIVE_DEFINITE))
def test_a_trace_ends_at_the_solution_and_changes_none(solver: Any) -> None:
    """By default there is no trace."""
    problem = definite(4)
    plain, traced = lcp.solve(problem, solver), lcp.solve(problem, solver, trace=True)
    assert plain.trace is None
    assert plain.solved
    assert close(solver, traced.z, plain.z)
    if traced.trace is not None and len(traced.trace):
        assert (np.diff(traced.trace.seconds) >= 0.0).all()
        assert (np.diff(traced.trace.iterations) >= 0).all()
        polished = getattr(solver, "polish", False)
        assert traced.trace.values[-1] <= (traced.trace.values[0] if polished else 1e-5)


@over(
    [
        s
        for s in GENERAL
        if isinstance(
            s, lcp.ActiveSetPivoting | lcp.CottleDantzig | lcp.InteriorPoint | lcp.OSQP | lcp.CVXPY | lcp.Clarabel
        )
    ]
)
@settings(max_examples=10)
@given(seed=st.integers(0, 10**6))
def test_contradictions_are_proved(solver: Any, seed: int) -> None:
    """Opposite normals with loads that both press, among random contacts."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    A = rng.standard_normal((n, n - 1))
    A[1] = -A[0]
    for M, q in (
        (A @ A.T, np.concatenate([[-1.0, -1.0], rng.standard_normal(n - 2)])),
        (np.diag([2.0, 0.0]), [-1.0, -1.0]),
        (np.zeros((3, 3)), [0.0, -2.0, 1.0]),
    ):
        problem = lcp.LCP(M, q)
        result = lcp.solve(problem, solver)
        assert result.status is lcp.Status.INFEASIBLE
        assert result.evidence.proves(problem)


@over([s for s in GENERAL if isinstance(s, lcp.Lemke | lcp.ExtendedLemke)])
def test_a_ray_is_a_ray(solver: Any) -> None:
    """Its direction is feasible for the homogeneous problem with the covering vector."""
    M = np.array([[-1.0, 0.0], [0.0, -1.0]])
    result = lcp.solve(lcp.LCP(M, [-1.0, -1.0]), replace(solver, restarts=0))
    assert result.status is lcp.Status.RAY_TERMINATION
    ray = result.evidence
    np.testing.assert_allclose(ray.w, M @ ray.z + ray.t, atol=1e-12)
    assert min(ray.z.min(), ray.w.min(), ray.t) >= 0.0
    assert np.abs(ray.z * ray.w).max() <= 1e-12
    assert max(ray.z.max(), ray.t) > 0.0


@over(having(Traits.WARM_START))
@pytest.mark.nojit
def test_no_answer_depends_on_what_memory_held_before(solver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Status, result and trace are the same with other numbers in memory before."""
    problem, empty = definite(12, 8), np.empty
    first = lcp.solve(problem, solver, trace=True)

    def held(*args: Any, **kwargs: Any) -> np.ndarray:
        array = empty(*args, **kwargs)
        array.fill(7)
        return array

    monkeypatch.setattr(np, "empty", held)
    second = lcp.solve(problem, solver, trace=True)
    monkeypatch.undo()
    np.testing.assert_array_equal(first.z, second.z)
    assert (first.status, first.iterations) == (second.status, second.iterations)
    if first.trace is not None:
        np.testing.assert_array_equal(first.trace.values, second.trace.values)


def test_promised_answers_solve_by_a_measure_of_our_own() -> None:
    """The natural map, written without the package."""
    for solver in proven(Traits.SYMMETRIC_POSITIVE_DEFINITE):
        if solver not in ROUGH:
            assert_solves(definite(2), lcp.solve(definite(2), solver))
