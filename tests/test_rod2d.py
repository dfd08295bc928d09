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
from problem_data import ConstraintVelProblemData

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "rod2d"


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

LEVEL = State(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


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
