"""Trees of several links on which no row acts move by the Runge-Kutta method: energy, momentum, other integrators."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from contactlab import multibody as mb
from contactlab.contact import Box, HalfSpace, Material, Sphere
from contactlab.multibody import Model, ModelBuilder, joints
from contactlab.simulation import PositionDrive, Recording, StepperState, TimeStepping, WorldBuilder, simulate, verify
from contactlab.spatial import RigidInertia, Transform
from contactlab.world import World
from contactlab.world.errors import SimulationConfigError

ROD = RigidInertia(0.05, (0.05, 0, 0), np.diag([4e-6, 4.5e-5, 4.5e-5]))


def chain(n: int, joint: joints.Joint, base: joints.Joint | None = None) -> Model:
    """Rods of 0.1 m one behind the other, the first on ``base``, by default a joint as all the others."""
    builder = ModelBuilder()
    for i in range(n):
        place = Transform(p=(0.1 if i else 0.0, 0, 0))
        own = base if base is not None and i == 0 else joint
        builder.add_body(f"rod {i}", parent=f"rod {i - 1}" if i else "world", joint=own, placement=place, inertia=ROD)
    return builder.build()


def world_of(model: Model, *, surface: bool = False) -> World:
    """The model alone; with a ``surface``, which nothing can touch, other things may act on it."""
    builder = WorldBuilder(gravity=model.gravity)
    builder.add_model(model, mb.neutral(model))
    if surface:
        builder.add_shape(model.names[-1], Sphere(0.01), Material(0.3))
    return builder.build()


KINDS: dict[str, joints.Joint] = {"ball": joints.Spherical(), "hinge": joints.Revolute((0, 1, 0))}


@pytest.mark.parametrize("kind", KINDS)
def test_a_whipping_chain_keeps_its_energy(kind: str) -> None:
    """Eight links that fall from horizontal keep their energy to a thousandth, at 5 and 2 ms."""
    world = world_of(chain(8, KINDS[kind]))
    for h in (5e-3, 2e-3):
        run = simulate(world, TimeStepping(h), 1.0)
        energy = run.kinetic + run.potential
        assert np.abs(energy - energy[0]).max() < 1e-3 * np.ptp(run.potential)
        assert np.abs(run.ledger.residual).max() < 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_a_chain_that_may_touch_keeps_the_energy_of_its_scheme(kind: str) -> None:
    """Where contacts may act, the energy is off by the half step of the weights alone, m g . v h / 2."""
    world = world_of(chain(8, KINDS[kind]), surface=True)
    for h in (5e-3, 2e-3):
        run = simulate(world, TimeStepping(h), 1.0)
        energy = run.kinetic + run.potential
        rate = np.append(np.diff(run.potential) / h, 0.0)
        assert np.abs(energy - energy[0]).max() < 0.02 * np.ptp(run.potential)
        assert np.abs(energy - energy[0] - 0.5 * h * rate)[1:-1].max() < 0.3 * np.abs(0.5 * h * rate).max()
        assert np.abs(run.ledger.residual).max() < 1e-12
        assert verify(run).holds


def test_a_double_pendulum_is_that_of_another_integrator() -> None:
    """A double pendulum is after a second where scipy's eighth-order method has it, to 1e-5 rad."""
    model = chain(2, joints.Revolute((0, 1, 0)))
    run = simulate(world_of(model), TimeStepping(2e-3), 1.0)

    def rates(_: float, state: np.ndarray) -> np.ndarray:
        q, v = np.split(state, 2)
        return np.concatenate((v, mb.forward_dynamics(model, q, v, np.zeros(2))))

    begin = np.concatenate((run.q[0], run.v[0]))
    exact = solve_ivp(rates, (0.0, run.time[-1]), begin, "DOP853", rtol=1e-11, atol=1e-11).y[:, -1]
    assert np.abs(run.q[-1] - exact[:2]).max() < 1e-5
    assert np.abs(run.v[-1] - exact[2:]).max() < 1e-4


@pytest.mark.parametrize("surface", [False, True])
def test_a_tumbling_chain_keeps_its_momenta(surface: bool) -> None:
    """A free chain without weight keeps momentum, angular momentum and kinetic energy to 1e-5 of their size."""
    model = dataclasses.replace(chain(5, joints.Spherical(), joints.FloatingBase()), gravity=np.zeros(3))
    world = world_of(model, surface=surface)
    v = np.random.default_rng(3).normal(0.0, 6.0, model.nv)
    run = simulate(world, TimeStepping(2e-3), 1.0, state=StepperState(world.model.neutral, v))
    states = zip(run.q[::50], run.v[::50], strict=True)
    momenta = np.array([mb.centroidal_momentum_matrix(model, q) @ v for q, v in states])
    for part in (momenta[:, :3], momenta[:, 3:]):
        assert np.abs(part - part[0]).max() < 1e-5 * np.abs(part[0]).max()
    assert np.ptp(run.kinetic) < 1e-4 * run.kinetic[0]
    assert verify(run).holds


def test_a_robot_at_rest_keeps_its_bits() -> None:
    """An arm that drives hold still, free in every step, is the same with and without the method."""
    model = chain(4, joints.Revolute((0, 1, 0)))
    builder = WorldBuilder()
    builder.add_model(model, np.full(4, 0.3))
    for name in model.names:
        builder.add_drive(PositionDrive(name, 0.3, 50.0, 1.0))
    world = builder.build()
    run = simulate(world, TimeStepping(2e-3), 3.0)
    assert np.abs(run.ledger.residual).max() < 1e-12
    assert verify(run).holds
    rest = run.state(run.n_steps)
    one, other = (simulate(world, TimeStepping(2e-3, integrator=way), 0.1, state=rest) for way in ("rk4", "euler"))
    assert np.array_equal(one.q, other.q)
    assert np.abs(np.diff(one.q, axis=0)).max() < 1e-14


def test_a_chain_on_the_floor_is_the_same_with_both() -> None:
    """A chain that lies on the floor, in an island in every step, has the same bits with both integrators."""
    model = chain(4, joints.Revolute((0, 0, 1)), joints.FloatingBase())
    builder = WorldBuilder()
    builder.add_half_space("floor", HalfSpace(), Material(0.5))
    q = mb.neutral(model)
    q[2] = 0.01
    builder.add_model(model, q)
    for name in model.names:
        builder.add_shape(name, Box((0.045, 0.01, 0.01)), Material(0.5), placement=Transform(p=(0.05, 0, 0)))
    world = builder.build()
    one, other = (simulate(world, TimeStepping(2e-3, integrator=way), 0.1) for way in ("rk4", "euler"))
    assert np.array_equal(one.q, other.q)


def test_records_say_how_they_moved(tmp_path: Path) -> None:
    """A saved run verifies again, and one of Euler's rule stays that."""
    world = world_of(chain(3, joints.Revolute((0, 1, 0))))
    for way in ("rk4", "euler"):
        run = simulate(world, TimeStepping(2e-3, integrator=way), 0.2)
        run.save(tmp_path / "run.npz")
        again = Recording.open(tmp_path / "run.npz")
        assert again.stepper.integrator == way
        assert verify(again).holds
    with pytest.raises(SimulationConfigError, match="integrator"):
        TimeStepping(1e-3, integrator="rk")


def test_verify_refuses_another_motion() -> None:
    """A run of Euler's rule that claims the method, and one whose end is moved a little, do not verify."""
    world = world_of(chain(3, joints.Revolute((0, 1, 0))))
    run = simulate(world, TimeStepping(2e-3, integrator="euler"), 0.1)
    claimed = dataclasses.replace(run, stepper=dataclasses.replace(run.stepper, integrator="rk4"))
    assert not verify(claimed).holds
