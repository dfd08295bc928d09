"""Constraint forces of discretised problems: the rod's textbook scenes, invariances, bilateral rows, failures."""

import pickle
from typing import Any

import numpy as np
import pytest
from rods import MASS, G, M, Rod

import lcp
import problem_data
from contactlab import ConstraintSolveError, ConstraintSolver
from contactlab.constraint_solver import Solution
from problem_data import ConstraintVelProblemData, ProblemDataError

H = 1e-4


def solve(data: ConstraintVelProblemData, h: float = H) -> Solution:
    """Solve with the default solver; the solution must be certified."""
    solution = ConstraintSolver().solve_discretized_problem(data, h)
    assert solution.certificate.worst < 1e-12, str(solution.certificate)
    return solution


def test_frictionless_contacts_may_have_no_directions() -> None:
    """r = 0 and mu = 0 beside a contact with friction: same motion as a friction row with mu = 0."""
    rod = Rod(0.0, v=(1.0, 0.0, 0.0))
    _, F = rod.rows()
    without = solve(rod.at_velocity_level([0.0, 0.3], h=H, r=[0, 1], F=F[1:]))
    with_row = solve(rod.at_velocity_level([0.0, 0.3], h=H))
    np.testing.assert_allclose(without.v_plus, with_row.v_plus, atol=1e-13)


def test_locked_rotation_reaches_the_contact_through_the_inertia() -> None:
    """A leaning rod that may not turn weighs m g on its foot, and the lock carries the moment of that force."""
    rod = Rod(np.pi / 4, v=(-1.0, 0.0, 0.0))
    data = rod.at_velocity_level(0.2, h=H, G=[[0.0, 0.0, 1.0]])
    solution = solve(data)
    arm, height = rod.rows()[0][0, 2], rod.rows()[1][0, 2]
    np.testing.assert_allclose(solution.forces.fN, [MASS * G], rtol=1e-12)
    np.testing.assert_allclose(solution.forces.fF, [0.2 * MASS * G], rtol=1e-12)
    np.testing.assert_allclose(solution.forces.fG, [-MASS * G * (arm + 0.2 * height)], rtol=1e-10)
    assert abs(solution.v_plus[2]) < 1e-15


def random_body(seed: int, *, nb: int = 0) -> dict[str, Any]:
    """A 6-velocity body that hits three contacts with two directions each, mu small enough for one motion only."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(6, 6))
    N = rng.normal(size=(3, 6))
    v = rng.normal(size=6)
    inertia = root @ root.T + np.eye(6)
    G = rng.normal(size=(nb, 6))
    G[2:] = rng.normal(size=(max(nb - 2, 0), len(G[:2]))) @ G[:2]
    return {
        "M": inertia,
        "Mv": inertia @ (v - 2.0 * np.linalg.lstsq(N, np.maximum(N @ v, 0.0) + 0.1, rcond=None)[0]),
        "N": N,
        "F": rng.normal(size=(6, 6)),
        "L": rng.normal(size=(1, 6)),
        "kL": [0.1],
        "G": G,
        "kG": 0.2 * G @ rng.normal(size=6),
        "mu": np.array([0.05, 0.1, 0.15]),
        "r": np.array([2, 2, 2]),
    }


def same_motion(first: dict[str, Any], second: dict[str, Any]) -> None:
    a = solve(ConstraintVelProblemData(**first), 0.01)
    b = solve(ConstraintVelProblemData(**second), 0.01)
    assert a.generalized_force.any()
    np.testing.assert_allclose(b.v_plus, a.v_plus, atol=1e-11 * np.abs(a.v_plus).max())
    np.testing.assert_allclose(b.generalized_force, a.generalized_force, atol=1e-10 * np.abs(a.generalized_force).max())


@pytest.mark.parametrize("nb", [0, 1, 3])
@pytest.mark.parametrize("seed", range(5))
def test_repeating_contacts_and_directions_changes_no_motion(seed: int, nb: int) -> None:
    """Contacts listed twice, directions three times: same generalised force."""
    body = random_body(seed, nb=nb)
    rows = np.repeat(np.repeat(np.arange(6), 3).reshape(3, 6), 2, axis=0).ravel()
    copy = body | {"F": body["F"][rows], "r": np.full(6, 6)}
    for name in ("N", "mu"):
        copy[name] = np.repeat(body[name], 2, axis=0)
    same_motion(body, copy)


@pytest.mark.parametrize("nb", [0, 3])
@pytest.mark.parametrize(("mass", "length", "time"), [(1e3, 1e3, 1e3), (1e-6, 1e3, 1.0), (1.0, 1e-9, 1e6)])
def test_units_do_not_matter(mass: float, length: float, time: float, nb: int) -> None:
    """Grams, millimetres, milliseconds and stranger systems: the same numbers in those units."""
    body = random_body(1, nb=nb)
    plain = solve(ConstraintVelProblemData(**body), 0.01)
    speed, force = length / time, mass * length / time**2
    changed = body | {"M": mass * body["M"], "Mv": mass * speed * body["Mv"]}
    changed |= {name: speed * np.asarray(body[name]) for name in ("kL", "kG")}
    other = solve(ConstraintVelProblemData(**changed), 0.01 * time)
    np.testing.assert_allclose(other.v_plus / speed, plain.v_plus, rtol=1e-9, atol=1e-11)
    largest = np.abs(plain.forces.packed()).max()
    np.testing.assert_allclose(other.forces.packed() / force, plain.forces.packed(), rtol=1e-9, atol=1e-9 * largest)


@pytest.mark.parametrize("units", [np.ones(4), 2.0 ** np.array([-30, 10, 0, 30])])
@pytest.mark.parametrize("seed", range(10))
def test_redundant_bilateral_rows_beside_contacts(seed: int, units: np.ndarray) -> None:
    """Four bilateral rows of rank two act as two of them in any units, for the forces of the contacts too."""
    body = random_body(seed, nb=4)
    repeated = {"G": units[:, None] * body["G"], "kG": units * body["kG"]}
    same_motion(body | repeated, body | {"G": body["G"][:2], "kG": body["kG"][:2]})


def test_a_failed_solve_carries_the_problem(tmp_path: Any) -> None:
    """The error holds problem, LCP, result and h; it survives pickling, and the saved problem fails again."""
    data = Rod(0.0).at_velocity_level(0.2, h=H)
    solver = ConstraintSolver(lcp.Lemke(max_pivots=1))
    with pytest.raises(ConstraintSolveError, match="ITERATION_LIMIT") as caught:
        solver.solve_discretized_problem(data, H)
    error = caught.value
    assert error.problem is data
    assert error.h == H
    assert error.lcp.n == 8
    assert not error.result.solved
    assert error.result.status.advice in str(error)
    assert isinstance(pickle.loads(pickle.dumps(error)), ConstraintSolveError)
    problem_data.save(tmp_path / "failed.npz", error.problem)
    with pytest.raises(ConstraintSolveError):
        solver.solve_discretized_problem(problem_data.load(tmp_path / "failed.npz"), H)
    assert solve(problem_data.load(tmp_path / "failed.npz")).result.solved


def test_a_limit_that_no_force_can_meet_is_refused() -> None:
    """A limit on a velocity that a bilateral row has fixed the wrong way is a failed solve, not a huge force."""
    data = ConstraintVelProblemData(M=M, Mv=np.zeros(3), L=[[1.0, 0.0, 0.0]], kL=[-1.0], G=[[1.0, 0.0, 0.0]])
    with pytest.raises(ConstraintSolveError) as caught:
        ConstraintSolver().solve_discretized_problem(data, H)
    assert caught.value.certificate.limit_gap.violation == pytest.approx(1.0)


def test_contradicting_equations_have_their_status() -> None:
    """The error's result has INCONSISTENT, for any outcome of the LCP."""
    data = ConstraintVelProblemData(M=np.eye(2), Mv=[0.0, -1.0], G=[[1.0, 1.0], [1.0, 1.0]], kG=[0.5, 1.0])
    with pytest.raises(ConstraintSolveError) as caught:
        ConstraintSolver().solve_impact_problem(data)
    assert caught.value.result.status is lcp.Status.INCONSISTENT


def test_an_answer_is_unpacked_for_the_step_it_was_found_for() -> None:
    """Another h than the LCP's is refused: bilateral forces would silently be wrong."""
    data = ConstraintVelProblemData(M=np.eye(1), Mv=[-1.0], N=[[1.0]])
    formed = ConstraintSolver.update_discretized_time_lcp(
        ConstraintSolver.construct_base_discretized_time_lcp(data), data, 0.01
    )
    with pytest.raises(ProblemDataError, match=r"formed for 0.01"):
        ConstraintSolver.populate_packed_constraint_forces_from_lcp_solution(data, formed, np.zeros(2), 0.02)
