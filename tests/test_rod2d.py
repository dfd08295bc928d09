"""The planar rod of the gallery: its problem data at each level, its compliant model, impacts, and sinking in."""

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from contactlab import ConstraintSolver
from contactlab.constraint_solver import softening, spring_damper
from problem_data import ConstraintVelProblemData

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "rod2d"
EPS = float(np.finfo(float).eps)


def by_path() -> ModuleType:
    """The package of the example, which is not installed."""
    if "rod2d" not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            "rod2d", FOLDER / "__init__.py", submodule_search_locations=[str(FOLDER)]
        )
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["rod2d"] = module
        spec.loader.exec_module(module)
    return sys.modules["rod2d"]


rod2d: Any = by_path()
Rod, State = rod2d.Rod, rod2d.State
LEFT, RIGHT = -1, 1

BALLISTIC = State(0.0, 10.0, np.pi / 2, 1.0, 2.0, 3.0)
UPRIGHT = State(0.0, 1.0, np.pi / 2, 0.0, 0.0, 0.0)
LEVEL = State(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("theta", [0.3, 2.5, -1.0])
@pytest.mark.parametrize("end", [LEFT, RIGHT])
def test_rows_are_the_velocities_of_the_ends(theta: float, end: int) -> None:
    """A row times v is the end's velocity along the direction; its rate is the difference quotient's."""
    rod = Rod(half_length=0.7)
    state = State(0.1, 0.5, theta, 1.0, -2.0, 3.0)
    h = 1e-6
    for direction in (np.array([0.0, 1.0]), np.array([0.6, 0.8])):
        row = rod.row(state, end, direction)
        assert row @ state.v == pytest.approx(rod.end_velocity(state, end) @ direction)
        moved = state.moved(state.v, h)
        difference = (rod.end_position(moved, end) - rod.end_position(state, end)) / h
        np.testing.assert_allclose(difference, rod.end_velocity(state, end), atol=1e-5)
        rate = (rod.row(moved, end, direction) - row) @ state.v / h
        assert rod.row_rate_times_v(state, end, direction) == pytest.approx(rate, abs=1e-4)


@pytest.mark.parametrize("mirrored", [False, True])
def test_painleve_states_are_no_impacts(mirrored: bool) -> None:
    """Impact handling leaves both states, bit for bit, and their mode."""
    state = rod2d.DEFAULT_STATE
    if mirrored:
        state = state._replace(theta=np.pi - state.theta, vx=-state.vx)
    rod = Rod(mu_coulomb=0.1)
    assert rod2d.mode(rod, state) == "sliding with one contact"
    assert rod2d.after_impact(rod, state) == state


@pytest.mark.parametrize(
    ("state", "contacts"),
    [
        (BALLISTIC, 0),
        (LEVEL, 2),
        (LEVEL._replace(vx=1.0), 2),
        (UPRIGHT, 1),
        (UPRIGHT._replace(vx=1.0), 1),
        (LEVEL._replace(vx=1.0, omega=-1e-20), 2),
    ],
)
def test_sizes_of_the_problem_data(state: Any, contacts: int) -> None:
    """0, 1 or 2 contacts; sliding ones have Q, the others F; nothing else is there; steps always have both ends."""
    rod = Rod()
    accel = rod2d.acceleration_data(rod, state)
    slides = abs(state.vx) > 0.0 and contacts > 0
    assert (accel.nv, accel.nc, accel.nl, accel.nb) == (3, contacts, 0, 0)
    assert (accel.ns, accel.nns) == ((contacts, 0) if slides else (0, contacts))
    assert accel.nr == accel.nns
    assert accel.Q.shape == (accel.ns, 3)
    impact = rod2d.impact_data(rod, state)
    assert (impact.nc, impact.nr, impact.nl, impact.nb) == (contacts, contacts, 0, 0)
    assert not impact.kN.any()
    assert not impact.gammaN.any()
    np.testing.assert_allclose(impact.Mv, rod.M @ state.v)
    assert rod2d.step_data(rod, state, 0.01).nc == 2


@pytest.mark.parametrize("seed", range(12))
def test_a_sliding_rod_in_closed_form(seed: int) -> None:
    """One sliding end: fN from the published formula, with spin and an applied force."""
    rng = np.random.default_rng(seed)
    m, J, half, mu = 2.0, 0.8, 0.6, 0.2
    rod = Rod(mass=m, inertia=J, half_length=half, mu_coulomb=mu)
    theta = rng.uniform(0.1, 1.4) + np.pi / 2 * rng.integers(0, 2)
    end = LEFT if np.sin(theta) * LEFT < 0.0 else RIGHT
    omega = rng.normal()
    state = State(0.0, half * abs(np.sin(theta)), theta, 0.0, 0.0, omega)
    rising = rod.end_velocity(state, end)[1]
    state = state._replace(vx=3.0 * rng.choice([-1.0, 1.0]), vy=-rising)  # the end slides and does not rise
    force = np.array([0.3, -1.0, 0.2])
    _, fY, torque = force
    s, c = np.sin(theta), np.cos(theta)
    sigma = np.sign(rod.end_velocity(state, end)[0])
    k = float(end)
    wanted = -(J * (fY + m * rod.g) + k * m * half * torque * c - J * k * m * half * s * omega**2)
    wanted /= J + m * half**2 * c**2 + sigma * mu * m * half**2 * s * c
    solution = ConstraintSolver().solve_constraint_problem(rod2d.acceleration_data(rod, state, force))
    np.testing.assert_allclose(solution.forces.fN, [max(wanted, 0.0)], rtol=1e-11, atol=1e-12)
    assert solution.certificate.holds(1e-11)


def test_compliant_ends_one_centimetre_deep() -> None:
    """Left and right alone and both: both is their sum, without moment; up at more than 1 m/s^2 and nothing else."""
    rod = Rod()
    state = LEVEL._replace(y=-0.01)
    left, right = rod2d.compliant_force(rod, state, (LEFT,)), rod2d.compliant_force(rod, state, (RIGHT,))
    both = rod2d.compliant_force(rod, state)
    np.testing.assert_allclose(left + right, both, rtol=50 * EPS)
    assert abs(both[2]) <= 50 * EPS * np.abs(both).max()
    acceleration = rod2d.compliant_acceleration(rod, state)
    assert acceleration[1] > 1.0
    assert np.abs(acceleration[[0, 2]]).max() <= 50 * EPS
    np.testing.assert_allclose(left, [0.0, 100.0, -100.0], atol=1e-11)


def test_compliant_dissipation_and_friction() -> None:
    """Pressing in at 10 m/s more than doubles the force, flying out ends it; friction opposes slip, with its torque."""
    rod = Rod()
    state = LEVEL._replace(y=-0.01)
    still = rod2d.compliant_force(rod, state)
    assert rod2d.compliant_force(rod, state._replace(vy=-10.0))[1] > 2.0 * still[1]
    assert not rod2d.compliant_force(rod, state._replace(vy=1000.0)).any()
    deep = UPRIGHT._replace(y=0.99)
    for vx in (-10.0, 10.0):
        force = rod2d.compliant_force(rod, deep._replace(vx=vx))
        assert force[0] * vx < 0.0
        assert abs(force[0]) > 1.0
        assert np.sign(force[2]) == np.sign(force[0])
        assert force[1] == rod2d.compliant_force(rod, deep)[1]


def test_compliance_parameters() -> None:
    """The published example: h = 0.01 gives b = 15, gamma = 1/115, erp = 100/115, and back."""
    rod = Rod()
    assert rod.damping == pytest.approx(15.0)
    soft = softening(0.01, stiffness=rod.stiffness, dissipation=rod.damping)
    np.testing.assert_allclose([soft.gamma, soft.erp], [1 / 115, 100 / 115], rtol=1e-15)
    stiffness, damping = spring_damper(0.01, gamma=soft.gamma, erp=soft.erp)
    dissipation = damping / (1.5 * stiffness * rod.characteristic_deformation * rod.half_length)
    np.testing.assert_allclose([stiffness, dissipation], [1e4, 1.0], rtol=1e-12)


def settled(h: float, advance: Any) -> float:
    """Depth of a level rod once it rests, by a function (rod, state, h) -> v+."""
    rod = Rod(stiffness=1e3, mu_coulomb=1.0, mu_static=1.0)
    state = LEVEL
    for _ in range(4000):
        state = state.moved(advance(rod, state, h), h)
        if abs(state.vy) < 1e-13:
            return -state.y
    raise AssertionError("not at rest")


@pytest.mark.parametrize("h", [0.05, 0.01])
def test_a_resting_rod_sinks_by_its_weight_over_its_stiffness(h: float) -> None:
    """m g / 2k at any h. The force softening used for impulses, as the original has it, gives h m g / 2k."""
    solver = ConstraintSolver()

    def in_newtons(rod: Any, state: Any, h: float) -> np.ndarray:
        return rod2d.step(rod, state, h).v

    def in_impulses(rod: Any, state: Any, h: float) -> np.ndarray:
        data = rod2d.step_data(rod, state, h)
        same = ConstraintVelProblemData(
            M=rod.M, Mv=data.Mv, N=data.N, F=data.F, mu=data.mu, r=data.r, kN=data.kN,
            gammaN=data.gammaN, gammaF=data.gammaF, gammaE=data.gammaN,
        )  # fmt: skip
        return solver.solve_impact_problem(same).v_plus

    assert settled(h, in_newtons) == pytest.approx(9.81 / 2e3, rel=1e-9)
    assert settled(h, in_impulses) == pytest.approx(h * 9.81 / 2e3, rel=1e-9)
