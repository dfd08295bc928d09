"""Four formulas of Drake's code that differ from its documentation: the results here are right, and theirs wrong.

Every test states a scene with a closed form, shows that the solver meets it, and that the formula as Drake's code has
it (written out here) does not.
"""

import numpy as np
import pytest
from mixed import acceleration_lcp
from rods import MASS, WEIGHT, G, M, Rod

import lcp
from contactlab import ConstraintSolver
from contactlab.constraint_solver import softening
from contactlab.constraint_solver.acceleration import form_acceleration_lcp
from contactlab.constraint_solver.discretized import form_discretized_lcp
from problem_data import ConstraintAccelProblemData, ConstraintVelProblemData

LOCK = {"G": [[0.0, 0.0, 1.0]], "kG": [0.0]}


def solved(MM: np.ndarray, qq: np.ndarray) -> np.ndarray:
    result = lcp.solve(lcp.LCP(MM, qq))
    result.raise_for_status()
    return result.z


def test_bilateral_rows_reach_the_matrix_at_acceleration_level() -> None:
    """A leaning, sliding rod that may not turn weighs m g on its foot. With M^-1 for C in MM it weighs less."""
    for complementarity in (True, False):
        data = Rod(np.pi / 4, v=(-1.0, 0.0, 0.0)).sliding(
            0.3, use_complementarity_problem_solver=complementarity, **LOCK
        )
        forces = ConstraintSolver().solve_constraint_problem(data).forces
        np.testing.assert_allclose(forces.fN, [MASS * G], rtol=1e-13)
    MM, qq = acceleration_lcp(data)
    np.testing.assert_allclose(solved(MM, qq), [MASS * G], rtol=1e-13)
    MM, qq = acceleration_lcp(data, inertia=np.linalg.inv(M))
    assert abs(solved(MM, qq)[0] - MASS * G) > 0.1 * MASS * G


def test_bilateral_rows_reach_the_matrix_of_impacts_and_steps() -> None:
    """The same rod falls on its foot at 1 m/s: m v in impulse. With M^-1 for C in MM less, and the foot sinks in."""
    data = Rod(np.pi / 4, v=(0.0, -1.0, 0.0)).at_velocity_level(0.3, **LOCK)
    solver = ConstraintSolver()
    np.testing.assert_allclose(solver.solve_impact_problem(data).forces.fN, [MASS], rtol=1e-13)
    np.testing.assert_allclose(solver.solve_discretized_problem(data, 0.5).forces.fN, [2.0 * MASS], rtol=1e-13)
    N, F = (np.asarray(rows @ np.eye(3)) for rows in (data.N, data.F))
    X = np.vstack((N, F, -F, np.zeros((1, 3))))
    formed = form_discretized_lcp(data, 1.0)
    cone = formed.MM - X @ np.diag([1.0 / MASS, 1.0 / MASS, 0.0]) @ X.T  # mu, E and -E' are what is left
    np.testing.assert_allclose(solved(cone + X @ np.diag([1.0 / MASS, 1.0 / MASS, 0.0]) @ X.T, formed.qq)[0], MASS)
    drake = solved(cone + X @ np.linalg.inv(M) @ X.T, formed.qq)
    assert abs(drake[0] - MASS) > 0.1 * MASS


def test_sliding_friction_acts_on_limits() -> None:
    """A sliding rod held against slowing down: the limit carries mu m g; as a transposed column it has none."""
    mu = 0.5
    data = Rod(0.0, v=(1.0, 0.0, 0.0)).sliding(mu, L=[[1.0, 0.0, 0.0]])
    solution = ConstraintSolver().solve_constraint_problem(data)
    np.testing.assert_allclose(solution.forces.fL, [mu * MASS * G], rtol=1e-13)
    assert abs(solution.acceleration[0]) < 1e-14
    formed = form_acceleration_lcp(data)
    MM = formed.MM.copy()
    MM[-1, :] = MM[:, -1]
    drake = solved(MM, formed.qq)
    assert abs(drake[-1]) < 1e-12
    _, acceleration = formed.unpack(drake)
    assert acceleration[0] < -0.9 * mu * G


def sinking(h: float, **more: object) -> ConstraintVelProblemData:
    """2 kg rest on a spring of 100 N/m and a damper, compressed by m g / k."""
    soft = softening(h, stiffness=100.0, dissipation=3.0)
    gap = -MASS * G / 100.0
    fields = {"M": [[MASS]], "Mv": [-h * MASS * G], "N": [[1.0]], "gammaN": [soft.gamma], "kN": [soft.rate(h, gap)]}
    return ConstraintVelProblemData(**(fields | more))


def added_twice(data: ConstraintVelProblemData, h: float) -> np.ndarray:
    """Drake's matrix: gammas into the base, the physical blocks times h, the gammas again."""
    nc, nr = data.nc, data.nr
    MM = form_discretized_lcp(data, 1.0).MM
    physical = np.r_[0 : nc + 2 * nr, 2 * (nc + nr) : len(MM)]
    MM[np.ix_(physical, physical)] *= h
    gamma = np.concatenate((data.gammaN, data.gammaF, data.gammaF, data.gammaE, data.gammaL))
    return MM + np.diag(gamma)


@pytest.mark.parametrize("h", [0.5, 0.01])
def test_softening_is_added_once(h: float) -> None:
    """At its resting depth the spring carries m g. With (1 + h) gamma it carries less, and the mass sinks on."""
    data = sinking(h)
    solution = ConstraintSolver().solve_discretized_problem(data, h)
    np.testing.assert_allclose(solution.forces.fN, [MASS * G], rtol=1e-13)
    z = solved(added_twice(data, h), form_discretized_lcp(data, h).qq)
    assert z[0] < 0.995 * MASS * G


def test_softening_of_the_cone_is_added_once() -> None:
    """A particle slides at v with fF = mu fN + gammaE v+: in closed form. With 2 gammaE friction is larger."""
    h, mu, gammaE, v = 0.1, 0.2, 2.0, 3.0
    data = ConstraintVelProblemData(
        M=MASS * np.eye(2),
        Mv=[MASS * v, -h * MASS * G],
        N=[[0.0, 1.0]],
        F=[[1.0, 0.0]],
        mu=[mu],
        r=[1],
        gammaE=[gammaE],
    )

    def speed(softness: float) -> float:
        return (MASS * v - h * mu * MASS * G) / (MASS + h * softness)

    solution = ConstraintSolver().solve_discretized_problem(data, h)
    np.testing.assert_allclose(solution.v_plus, [speed(gammaE), 0.0], rtol=1e-13, atol=1e-15)
    formed = form_discretized_lcp(data, h)
    drake = solved(added_twice(data, h), formed.qq)
    assert drake[3] == pytest.approx(speed(2.0 * gammaE))
    assert abs(drake[3] - speed(gammaE)) > 0.1


def test_a_smaller_step_starts_from_the_base_and_not_from_the_last_step() -> None:
    """The base updated for 0.1 s and then for 0.05 s is the base updated for 0.05 s; scaled in place it is not."""
    data = Rod(0.0, v=(1.0, -1.0, 0.0)).at_velocity_level(0.3)
    base = ConstraintSolver.construct_base_discretized_time_lcp(data)
    scaled = base.MM.copy()
    physical = np.r_[0 : data.nc + 2 * data.nr]
    for h in (0.1, 0.05):
        updated = ConstraintSolver.update_discretized_time_lcp(base, data, h)
        scaled[np.ix_(physical, physical)] *= h
    z = solved(updated.MM, updated.qq)
    forces = ConstraintSolver.populate_packed_constraint_forces_from_lcp_solution(data, updated, z, 0.05)
    np.testing.assert_allclose(forces.fN.sum(), MASS / 0.05, rtol=1e-13)  # m v over h
    z = solved(scaled, updated.qq)
    assert z[: data.nc].sum() > 5.0 * MASS / 0.05


def test_a_problem_without_active_rows_has_forces_of_full_length() -> None:
    """Zeros of full length where Drake's fast exit leaves its vector empty, which its own helpers then refuse."""
    data = ConstraintAccelProblemData(M=M, tau=-WEIGHT, N=[[0.0, 1.0, 0.0]])
    forces = ConstraintSolver().solve_constraint_problem(data).forces
    assert np.array_equal(forces.packed(), [0.0])
    assert np.array_equal(ConstraintSolver.compute_generalized_acceleration(data, forces), data.blocks().a_free)
