"""Nonlinear complementarity: problems of the literature with known solutions, and all failures of functions."""

import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from nonlinear_problems import COURNOT, bratu, concave_hull, journal_bearing, shortest_string
from refusals import assert_messages

import lcp
from lcp import conformance
from lcp.catalog import nonlinear_entries

ENTRIES = {entry.name: entry for entry in nonlinear_entries()}
STARTED = [
    (name, start)
    for name, entry in ENTRIES.items()
    for start in (entry.starts if entry.outcome is lcp.Status.SOLVED else entry.starts[:1])
]


@pytest.mark.parametrize(("name", "start"), STARTED, ids=[f"{name}{start}" for name, start in STARTED])
def test_published_problems_from_published_starts(name: str, start: tuple[float, ...]) -> None:
    """From each start a listed solution to 1e-10, or a status if there is none."""
    entry = ENTRIES[name]
    result = lcp.solve(entry.problem, z0=start, tolerance=1e-13)
    assert result.solved == (entry.outcome is lcp.Status.SOLVED), result.message
    assert np.isfinite(result.z).all()
    assert ((result.z >= entry.problem.lo) & (result.z <= entry.problem.hi)).all()
    if result.solved and entry.complete:
        assert min(np.abs(result.z - one).max(initial=0.0) for one in entry.solutions) <= 1e-10


@pytest.mark.parametrize("jacobian", [True, False], ids=["jacobian", "differences"])
@pytest.mark.parametrize("firms", COURNOT, ids=lambda firms: f"{firms.c.shape[0]}firms")
def test_cournot_firms(firms: Any, jacobian: bool) -> None:
    """Murphy, Sherali and Soyster's five firms and Harker's ten, as printed; profits are stationary to 1e-10."""
    n = firms.c.shape[0]
    problem = lcp.NCP(firms.F, firms.jacobian if jacobian else None, n)
    found = [lcp.solve(problem, z0=np.full(n, start), tolerance=1e-13) for start in (1.0, 10.0, 100.0)]
    for result in found:
        np.testing.assert_allclose(result.z, firms.answer, atol=6e-5)
        assert np.abs(firms.F(result.z)).max() <= 1e-10
        np.testing.assert_allclose(result.z, found[0].z, rtol=1e-10)


def test_shortest_string_over_an_obstacle_is_its_concave_hull() -> None:
    """A nonlinear obstacle problem with a sparse Jacobian: the discrete solution in closed form."""
    x = np.linspace(0.0, 1.0, 202)[1:-1]
    heights = 0.4 * np.sin(3.0 * np.pi * x) - 0.1 + 0.3 * x
    result = lcp.solve(shortest_string(heights), tolerance=1e-12)
    result.raise_for_status()
    np.testing.assert_allclose(result.z, concave_hull(heights), atol=1e-10)


def test_an_affine_problem_takes_one_step_and_agrees_with_the_linear_one() -> None:
    """The film of a journal bearing as an `MCP` and as a sparse `BoxLCP`."""
    nonlinear, linear = journal_bearing(30)
    result = lcp.solve(nonlinear)
    assert result.iterations == 1
    np.testing.assert_allclose(result.z, lcp.solve(linear).z, atol=1e-10)
    assert 0.0 < (result.z == 0.0).mean() < 1.0


@pytest.mark.parametrize("strength", [1.0, 3.0, 6.0])
def test_a_solution_is_one_of_the_function_itself(strength: float) -> None:
    """An obstacle of ten thousand nodes, rows of terms of 1e4: F is met to their rounding, not to 1e-9 of them."""
    problem = bratu(100, strength)
    result = lcp.solve(problem)
    assert result.solved
    assert result.residual.natural_map < 1e-10
    assert np.abs(np.maximum(result.z - 0.05, np.asarray(problem.F(result.z)))).max() < 1e-10
    assert (result.z == 0.05).any()


OTHERS = [pytest.param(*other, marks=pytest.mark.slow) for other in ((0.3, -np.inf), (1.0, 0.0), (100.0, -np.inf))]


@pytest.mark.parametrize(("start", "lowest"), [(0.3, 0.0), (1.0, -np.inf), (100.0, 0.0), *OTHERS])
def test_a_root_to_which_no_step_leads_is_found(start: float, lowest: float) -> None:
    """F = z^3 is as small against its own terms at 1e-9 as at 1; the root is put in once it is all but reached."""
    for jacobian in (lambda z: np.diag(3.0 * z**2), None):
        result = lcp.solve(lcp.MCP(lambda z: z**3, jacobian, np.full(2, lowest), np.inf), z0=np.full(2, start))
        assert result.solved
        np.testing.assert_array_equal(result.z, 0.0)
    beside = lcp.NCP(lambda z: [z[0] ** 3, z[1] + z[0] - 1.0], lambda z: [[3.0 * z[0] ** 2, 0.0], [1.0, 1.0]], 2)
    np.testing.assert_array_equal(lcp.solve(beside, z0=[start, 3.0]).z, [0.0, 1.0])


def test_what_is_not_solved_ends_where_it_came_to() -> None:
    """Not at the start, for F being as large a part of its terms everywhere: z^3 by five steps."""
    result = lcp.solve(lcp.NCP(lambda z: z**3, None, 1), lcp.JosephyNewton(max_iterations=5), z0=[1.0])
    assert result.status is lcp.Status.ITERATION_LIMIT
    assert result.z[0] == pytest.approx((2.0 / 3.0) ** 5, rel=1e-5)


def test_residuals_are_those_of_the_functions() -> None:
    """`lcp.residuals` measures F itself: the natural map at a point is the middle one of z - lo, F, z - hi."""
    problem = lcp.MCP(lambda z: z**3 - 8.0, None, [0.0, 0.0, 0.0], [1.0, 4.0, np.inf])
    measures = lcp.residuals(problem, [0.5, 2.0, 3.0])
    assert measures.natural_map == pytest.approx(3.0)
    assert not measures.solved()
    assert lcp.residuals(problem, [1.0, 2.0, 2.0]).backward_error == 0.0
    with pytest.raises(lcp.ProblemError, match="z must have length 3"):
        lcp.residuals(problem, [1.0])


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
def test_other_units_change_neither_steps_nor_verdict(unit: float) -> None:
    """Rows in other units, and unknowns: the same steps, the same backward error to rounding."""
    base = ENTRIES["josephy"].problem
    unit = 2.0 ** round(math.log2(unit))
    scaled = lcp.NCP(lambda z: base.F(z / unit) * unit**2, lambda z: np.asarray(base.jacobian(z / unit)) * unit, 4)
    first, other = (lcp.solve(p, z0=start) for p, start in ((base, np.ones(4)), (scaled, np.full(4, unit))))
    assert [step.kind for step in other.steps] == [step.kind for step in first.steps]
    np.testing.assert_allclose(other.z / unit, first.z, rtol=1e-12)
    assert other.residual.backward_error == pytest.approx(first.residual.backward_error, rel=1e-6, abs=1e-16)


@pytest.mark.parametrize(
    "solver", [lcp.Lemke(), lcp.CottleDantzig(), lcp.FischerNewton(), lcp.Enumeration()], ids=lambda s: type(s).__name__
)
def test_any_linear_solver_serves(solver: Any) -> None:
    """The linearised problems go to the solver that is named."""
    result = lcp.solve(ENTRIES["josephy"].problem, lcp.JosephyNewton(solver=solver), z0=np.ones(4), tolerance=1e-12)
    np.testing.assert_allclose(result.z, ENTRIES["josephy"].solutions[0], atol=1e-10)


def test_steps_and_trace_tell_the_way() -> None:
    """One step per iteration, with quadratic convergence at the end; a trace only on request."""
    problem = ENTRIES["josephy"].problem
    result = lcp.solve(problem, z0=np.ones(4), tolerance=1e-13, trace=True)
    assert len(result.steps) == result.iterations == len(result.trace) - 1
    assert all(step.kind == "newton" and step.length == 1.0 for step in result.steps)
    before, last = (step.natural_map for step in result.steps[-2:])
    assert last <= max(10.0 * before**2, 1e-14)
    assert lcp.solve(problem, z0=result).iterations == 0
    assert lcp.solve(problem, z0=np.ones(4)).trace is None
    assert "SOLVED" in result.message
    assert "NCP(n=4)" in repr(problem)


def test_steps_stay_where_the_function_is_defined() -> None:
    """F is evaluated only between the bounds, by steps and differences; points outside its domain shorten steps."""
    seen: list[float] = []

    def F(z: np.ndarray) -> list[float]:
        seen.append(z[0])
        return [math.log(z[0]) + 3.0]

    result = lcp.solve(lcp.MCP(F, None, [0.0], [5.0]), z0=[5.0], tolerance=1e-12)
    np.testing.assert_allclose(result.z, [math.exp(-3.0)], rtol=1e-10)
    assert min(seen) >= 0.0
    assert max(seen) <= 5.0
    assert "shortened" in result.message


@pytest.mark.parametrize(
    ("F", "text"),
    [
        (lambda z: np.full(2, np.nan), r"F\(z\)\[0\] = nan"),
        (lambda z: [math.log(z[0] - 1.0), 0.0], "F raised ValueError"),
        (lambda z: [1.0 / 0.0, 0.0], "F raised ZeroDivisionError"),
        (lambda z: [math.exp(1e4), 0.0], "F raised OverflowError"),
    ],
)
def test_a_function_undefined_at_the_start_is_a_status(F: Any, text: str) -> None:
    """NOT_FINITE with what F did; z is finite, and `lcp.residuals` there raises the typed error."""
    problem = lcp.NCP(F, None, 2)
    result = lcp.solve(problem)
    assert result.status is lcp.Status.NOT_FINITE
    assert np.isfinite(result.z).all()
    assert result.w.shape == (0,)
    assert "give a z0 where F is defined" in str(result)
    assert "give a z0" in result.status.advice
    with pytest.raises(lcp.SolveError, match=text):
        result.raise_for_status()
    with pytest.raises(lcp.DomainError, match=text):
        lcp.residuals(problem, [0.0, 0.0])


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (lambda: lcp.NCP(lambda z: z[:1], None, 2), "F.z. must have length 2, got 1"),
        (lambda: lcp.NCP(lambda z: 1.0, None, 1), "F.z. must be a vector"),
        (lambda: lcp.NCP(lambda z: z + 1j, None, 2), "complex"),
        (lambda: lcp.NCP(lambda z: z, lambda z: np.eye(3), 2), r"jacobian.z. must have shape \(2, 2\), got \(3, 3\)"),
        (lambda: lcp.NCP(lambda z: z, lambda z: np.ones(2), 2), "jacobian.z. must be square"),
        (lambda: lcp.NCP(None, None, 2), "F must be a function"),
        (lambda: lcp.NCP(np.sin, 3, 2), "jacobian must be a function"),
        (lambda: lcp.NCP(np.sin, None, -1), "n must be a whole number"),
        (lambda: lcp.MCP(np.sin, None, 0.0, 1.0), "leaves n open"),
        (lambda: lcp.MCP(np.sin, None, [1.0], [0.0]), "exceeds"),
        (lambda: lcp.MCP(np.sin, None, [np.nan], [0.0]), "bounds nothing"),
    ],
)
def test_ill_formed_functions_raise(problem: Any, text: str) -> None:
    """Wrong shapes and kinds are named, at construction or at the first call."""
    with pytest.raises(lcp.ProblemError, match=text):
        lcp.solve(problem())


def test_errors_of_the_function_itself_pass_through() -> None:
    """A programming error in F does not count as a point outside its domain."""
    with pytest.raises(KeyError):
        lcp.solve(lcp.NCP(lambda z: {}["no"], None, 1))


def test_a_jacobian_that_is_not_finite_is_a_status() -> None:
    """At the start NOT_FINITE; dense and sparse."""
    for J in (np.full((1, 1), np.inf), sp.csr_array([[np.nan]])):
        result = lcp.solve(lcp.NCP(lambda z: z - 1.0, lambda z, J=J: J, 1))
        assert result.status is lcp.Status.NOT_FINITE


def test_solvers_and_problems_that_do_not_fit_are_refused() -> None:
    """The errors have a hint at the right ones."""
    problem = ENTRIES["josephy"].problem
    assert_messages(
        lcp.ProblemError,
        (r"JosephyNewton\(solver=Lemke\(\)\)", lambda: lcp.solve(problem, lcp.Lemke())),
        ("nonlinear problems alone", lambda: lcp.solve(lcp.LCP([[1.0]], [1.0]), lcp.JosephyNewton())),
        (r"JosephyNewton\.solver must be a solver object", lambda: lcp.JosephyNewton(solver=lcp.Lemke)),
        (r"JosephyNewton\.memory", lambda: lcp.JosephyNewton(memory=0)),
    )


def test_the_solver_conforms() -> None:
    """The catalog from every start, and the interface; solvable problems are solved."""
    report = conformance.check(lcp.JosephyNewton())
    report.raise_for_failures()
    assert set(report.solved) == {name for name, entry in ENTRIES.items() if entry.outcome is lcp.Status.SOLVED}
