"""The conformance tests: every solver of ours passes them, and every way of falling short is found by name."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import lcp
from lcp import Traits, conformance
from lcp.conformance import CLASSES, random_problems


@pytest.mark.parametrize("solver", [*lcp.ALL_SOLVERS, lcp.Cascade], ids=lambda cls: cls.__name__)
def test_every_solver_conforms(solver: type[Any]) -> None:
    """Catalog, promises and manners, by the list that users have."""
    report = conformance.check(solver(), problems=3)
    report.raise_for_failures()
    assert report.passed
    assert len(report.checks) >= 30
    assert "checks passed" in str(report)


NOTHING = Traits(0)


@dataclass(frozen=True)
class Altered:
    """Lemke's method with altered results."""

    alter: Callable[[lcp.LCP, lcp.Claim], Any]
    traits: Traits = NOTHING

    def solve(self, problem: lcp.LCP, *, z0: Any = None, tolerance: float = 1e-9, trace: bool = False) -> Any:
        return self.alter(problem, lcp.Lemke().solve(problem, z0=z0, tolerance=tolerance, trace=trace))


def failed(solver: Any) -> set[str]:
    report = conformance.check(solver, problems=2)
    if not report.passed:
        with pytest.raises(conformance.ConformanceError, match="failed: "):
            report.raise_for_failures()
    return {check.name for check in report.failures}


def test_a_plain_object_conforms() -> None:
    """No class to inherit from, no traits: it promises nothing and is held to the rest."""
    assert failed(Altered(lambda _, claim: claim)) == set()


def test_false_claims_are_found() -> None:
    """A solver that always claims SOLVED fails on the problems where this is false."""
    found = failed(Altered(lambda p, claim: lcp.Claim(np.zeros(p.n), lcp.Status.SOLVED, 0)))
    assert "catalog: infeasible_psd" in found
    assert "catalog: murty_3" in found
    assert "catalog: one_apart" not in found


def test_broken_promises_are_found() -> None:
    """A solver with traits but wrong results fails the named problems and the random ones of that class."""
    found = failed(Altered(lambda p, claim: lcp.Claim(np.zeros(p.n), lcp.Status.STALLED, 0), Traits.POSITIVE_DEFINITE))
    assert "promise: POSITIVE_DEFINITE" in found
    assert "catalog: diagonal_nine" in found
    assert "promise: COPOSITIVE" not in found


def test_exceptions_are_findings() -> None:
    """A solver that raises fails the checks, not the checking."""

    def broken(problem: lcp.LCP, claim: lcp.Claim) -> lcp.Claim:
        raise ZeroDivisionError("here")

    report = conformance.check(Altered(broken), problems=2)
    assert "raised ZeroDivisionError: here" in report.failures[0].detail


@pytest.mark.parametrize("answer", [None, np.zeros(3), "solved"])
def test_what_is_no_claim_is_found(answer: Any) -> None:
    """A vector, or None, is not a claim; the finding names the result."""
    report = conformance.check(Altered(lambda p, claim: answer), problems=2)
    assert f"a {type(answer).__name__}, not an lcp.Claim" in report.failures[0].detail


def test_a_vector_of_another_length_is_found() -> None:
    """z has the length of the problem."""
    assert failed(Altered(lambda p, claim: lcp.Claim(np.zeros(p.n + 1), lcp.Status.SOLVED, 0)))


def test_changed_data_are_found() -> None:
    """M, q and z0 belong to the caller."""

    def meddling(problem: lcp.LCP, claim: lcp.Claim) -> lcp.Claim:
        if problem.n == 3:
            np.multiply(problem._q, 1.0 + 1e-12, out=problem._q)
        return claim

    assert "manners: leaves the data alone" in failed(Altered(meddling))


def test_answers_that_change_are_found() -> None:
    """The same problem twice gives the same bits."""
    calls = []

    def moody(problem: lcp.LCP, claim: lcp.Claim) -> lcp.Claim:
        calls.append(0)
        return lcp.Claim(claim.z * (1.0 + 1e-13 * len(calls)), claim.status, claim.iterations)

    assert "manners: gives the same answer twice" in failed(Altered(moody))


def test_a_class_is_no_solver() -> None:
    """The error requires the object."""
    with pytest.raises(lcp.ProblemError, match="solver object"):
        conformance.check(lcp.Lemke)


@pytest.mark.parametrize("trait", [*CLASSES, Traits.COPOSITIVE], ids=lambda trait: str(trait.name))
def test_random_problems_are_of_their_class_and_solvable(trait: Traits) -> None:
    """Their class agrees with the exact classification, and the default solver solves them."""
    names = {Traits.H_PLUS: "h_plus", Traits.P_MATRIX: "p", Traits.COPOSITIVE: "copositive"}
    for problem in random_problems(trait, 4, 7):
        if problem.n <= 6:
            # Semidefinite by construction, up to rounding: a no must be one of rounding.
            default = "pd" if "SEMI" not in str(trait.name) else "psd"
            verdict = getattr(lcp.classify(problem.M), names.get(trait, default))
            assert verdict.member is not False or abs(verdict.margin) < 1e-14
        assert lcp.solve(problem).solved


@pytest.mark.parametrize("status", [lcp.Status.INFEASIBLE, lcp.Status.UNSOLVABLE, lcp.Status.INCONSISTENT])
@pytest.mark.parametrize("evidence", [None, "take my word", lcp.Farkas(y=np.array([1.0, 1.0]), v=np.zeros(0))])
def test_nobody_is_believed_that_there_is_no_solution(status: lcp.Status, evidence: Any) -> None:
    """M = [[2, 1], [1, 2]] is positive definite: a claim without true evidence is STALLED, and others continue."""
    liar = Altered(lambda problem, claim: lcp.Claim(np.zeros(problem.n), status, 1, evidence=evidence))
    problem = lcp.LCP([[2, 1], [1, 2]], [-5, -6])
    result = lcp.solve(problem, liar)
    assert result.status is lcp.Status.STALLED
    assert "STALLED" in result.describe()
    assert lcp.solve(problem, lcp.Fallback(liar, lcp.Lemke())).solved
    report = conformance.check(liar, problems=1)
    assert not report.passed
    assert "without evidence that holds" in str(report)


@pytest.mark.parametrize("n", [2, 17])
def test_a_forged_enumeration_is_not_believed(n: int) -> None:
    """A proof that no basis is a solution is repeated, in integers up to 16 unknowns; the result names failures."""
    empty = lcp.EnumerationResult((), (), continuum=False, complete=True, bases=2**n)
    liar = Altered(lambda problem, claim: lcp.Claim(0.0 * claim.z, lcp.Status.UNSOLVABLE, 1, evidence=empty))
    problem = lcp.LCP(np.eye(n), -np.ones(n))
    result = lcp.solve(problem, liar)
    assert result.status is lcp.Status.STALLED
    assert "UNSOLVABLE without evidence that holds" in result.describe()
    assert not empty.proves(problem)
    assert lcp.solve(problem, lcp.Fallback(liar, lcp.Lemke())).solved
    # Of an infeasible problem another proof is due; of an unsolvable one anybody's list will do.
    assert not empty.proves(lcp.LCP(-np.eye(2), [-1.0, -1.0]))
    unsolvable = lcp.LCP([[-2.0, 1.0], [-2.0, 2.0]], [-2.0, -2.0])
    assert empty.proves(unsolvable)
    assert lcp.solve(unsolvable, liar).status is lcp.Status.UNSOLVABLE


def test_a_forged_enumeration_of_a_large_problem_costs_nothing() -> None:
    """It is turned down before a million sparse rows are made dense; of pairs that are many, boxed or not."""
    many = 10**6
    empty = lcp.EnumerationResult((), (), continuum=False, complete=True, bases=1)
    M = sp.eye_array(many, format="csr")
    for problem in (lcp.LCP(M, -np.ones(many)), lcp.BoxLCP(M, -np.ones(many), np.zeros(many), np.ones(many))):
        assert not empty.proves(problem)
