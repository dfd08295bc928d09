"""The mechanical certificate: silent on rounding, loud on wrong forces, blind to units."""

import math

import numpy as np
import pytest

from contactlab import ConstraintSolver
from contactlab.constraint_solver import certify_forces
from contactlab.constraint_solver.certificate import Certificate, Check
from contactlab.constraint_solver.discretized import form_discretized_lcp, recover_forces
from problem_data import ConstraintVelProblemData

pytestmark = pytest.mark.nojit

H = 0.01


def particle(*, vx: float = 1.0, m: float = 2.0, length: float = 1.0, pull: float = 0.0) -> ConstraintVelProblemData:
    """A particle on the ground, two directions of friction, sliding at vx, pulled sideways; length in 1/length m."""
    weight = 9.81 * m * length
    v = np.array([vx, 0.0, 0.0]) * length
    return ConstraintVelProblemData(
        M=m * np.eye(3),
        Mv=m * v + H * np.array([0.0, pull * length, -weight]),
        N=[[0, 0, 1]],
        F=[[1, 0, 0], [0, 1, 0]],
        L=[[0, 1, 0]],
        kL=[-0.01 * length],
        mu=[0.5],
        r=[2],
    )


def stack(masses: list[float]) -> ConstraintVelProblemData:
    """Particles resting on one another, lightest to heaviest or any other order: one vertical velocity each."""
    n = len(masses)
    N = np.eye(n)
    N[np.arange(1, n), np.arange(n - 1)] = -1.0
    return ConstraintVelProblemData(M=np.diag(masses), Mv=-H * 9.81 * np.array(masses), N=N)


def certificate(data: ConstraintVelProblemData, z: np.ndarray, h: float = H) -> Certificate:
    """Certificate of an LCP vector."""
    lcp = form_discretized_lcp(data, h)
    packed, v_plus = recover_forces(h, lcp.rows, data.blocks(), z)
    return certify_forces(data, h, z, packed, v_plus)


def solution(data: ConstraintVelProblemData) -> np.ndarray:
    return ConstraintSolver().solve_discretized_problem(data, H).result.z.copy()


SCENES = {
    "sliding": particle(),
    "sticking": particle(vx=0.0, pull=5.0),
    "pushed against a limit": particle(vx=0.0, pull=-5.0),
    "stack": stack([1.0, 1.0, 1.0]),
    "heavy on light": stack([1e-3, 1.0, 1e3, 1e6]),
}


@pytest.mark.parametrize("scene", SCENES)
def test_an_exact_solution_is_certified_to_rounding(scene: str) -> None:
    """Every scaled violation of a solved scene is below 1e-13, at mass ratios of 1e9 too."""
    data = SCENES[scene]
    assert certificate(data, solution(data)).worst < 1e-13


@pytest.mark.parametrize("scene", SCENES)
def test_any_force_wrong_by_a_ten_thousandth_is_seen(scene: str) -> None:
    """Each positive force in turn, made larger or smaller by 1e-4, raises the certificate a thousandfold over 1e-9."""
    data = SCENES[scene]
    z = solution(data)
    slack = range(data.nc + 2 * data.nr, 2 * data.nc + 2 * data.nr)
    for i in np.flatnonzero(z):
        if i in slack:
            continue
        for factor in (1.0 - 1e-4, 1.0 + 1e-4):
            wrong = z.copy()
            wrong[i] *= factor
            assert certificate(data, wrong).worst > 1e-6, (i, factor)


@pytest.mark.parametrize("length", [1e-6, 1e3])
@pytest.mark.parametrize("m", [2e-6, 2e6])
def test_scaled_values_do_not_change_with_units(length: float, m: float) -> None:
    """Metres to micrometres, kilograms to tonnes: a wrong force gives the same scaled violations."""

    def wrong(data: ConstraintVelProblemData) -> list[float]:
        z = solution(data)
        z[0] *= 1.001
        return [check.scaled for check in certificate(data, z).checks().values()]

    np.testing.assert_allclose(wrong(particle(m=m, length=length)), wrong(particle()), rtol=1e-9, atol=1e-14)


def test_edges_that_oppose_each_other_count_in_full() -> None:
    """fF+ and fF- of one direction cancel in the force, but not in the cone."""
    data = particle()
    z = solution(data)
    z[1] += 2.0
    z[3] += 2.0
    check = certificate(data, z).cone
    np.testing.assert_allclose(check.violation, 4.0, rtol=1e-9)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_values_that_are_not_finite_never_pass(bad: float) -> None:
    """One NaN or infinity in z makes the certificate fail at any tolerance."""
    data = particle()
    z = solution(data)
    for i in range(len(z)):
        wrong = z.copy()
        wrong[i] = bad
        with np.errstate(invalid="ignore"):
            assert not certificate(data, wrong).holds(1e300)


def test_a_check_without_a_scale_is_met_exactly_or_not_at_all() -> None:
    """0/0 is not a violation; other values over 0 are infinite."""
    assert Check(0.0, 0.0).scaled == 0.0
    assert Check(1e-300, 0.0).scaled == math.inf
