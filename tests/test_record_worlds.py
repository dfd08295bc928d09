"""Every kind of world is restored from its record: the reopened world runs with the same bits, from any state."""

from collections.abc import Callable
from pathlib import Path

import joint_scenes
import numpy as np
import pytest
import simulation_scenes
from test_custom_loops import CURVE, coupled_carts, double_pendulum, pair
from test_moments import rolling_world
from test_restitution_by_speed import YIELDING, two_balls
from test_simulation_articulated import WORLDS
from test_simulation_compliance import ball
from test_simulation_kinematic import PLATE, SURFACE, brick, world_with
from test_simulation_planar import world_of

from contactlab.simulation import (
    Capsule,
    Cylinder,
    HalfSpace,
    HeightField,
    JointPolynomial,
    Material,
    Oscillation,
    PlacedShape,
    Recording,
    RigidInertia,
    Sphere,
    TimeStepping,
    Transform,
    World,
    WorldBuilder,
    simulate,
    verify,
)

ROUGH = Material(0.5)


def shapes_and_filters() -> World:
    """Terrain, a wall, round and placed shapes, and pairs that do not meet."""
    builder = WorldBuilder()
    builder.add_half_space("ground", HalfSpace(), ROUGH)
    builder.add_fixed_body("hills", HeightField(0.02 * np.arange(9.0).reshape(3, 3), (1.0, 0.7)), ROUGH)
    builder.add_fixed_body("wall", HalfSpace((-1.0, 0, 0), -3.0), ROUGH)
    inertia = RigidInertia(0.8, inertia=np.diag([0.02, 0.02, 0.005]))
    builder.add_free_body("drum", inertia, Cylinder(0.1, 0.2), Material(0.3), (0.5, 0.5, 0.5, 1, 0, 0, 0))
    pose = Transform.rotation((1, 2, 3), 0.7, (0.1, 0.0, 0.05))
    parts = [PlacedShape(Capsule(0.05, 0.1), pose), Sphere(0.08, (0.0, 0.1, 0.0))]
    club = RigidInertia.solid_box(1.0, (0.1, 0.1, 0.1))
    builder.add_free_body("club", club, parts, Material(0.4, 0.2), (0.6, 0.5, 0.9, 1, 0, 0, 0), (0, 0, -1, 2, 0, 0))
    builder.add_free_body("ghost", inertia, Sphere(0.1), ROUGH, (0.6, 0.5, 0.3, 1, 0, 0, 0))
    builder.exclude_collision("ghost", "drum")
    builder.exclude_collision("club", "ghost")
    return builder.build()


def soft_ball() -> World:
    """A compliant ball on a compliant floor."""
    floor = Material(0.4, stiffness=2000.0, dissipation=1.0)
    return ball(Material(0.3, stiffness=5000.0, dissipation=10.0), surface=floor)


def followed() -> World:
    """A cart that follows another along a curve."""
    return coupled_carts(JointPolynomial("tail", "lead", CURVE, "cam"), speed=(0.0, 0.3))


def turning_ball() -> World:
    """A ball that spins and rolls against friction that turns."""
    return rolling_world(Material(0.5, torsional=1e-3, rolling=2e-3), (0.5, 0.2, 0.0), (1.0, 2.0, 5.0))


SHAKER = Oscillation(SURFACE, (0.01, 0, 0), (0, 0, 0.1), frequency=4.0, phase=0.3)
STEPPER = TimeStepping(1e-3)
MAKES: dict[str, tuple[Callable[[], World], TimeStepping, int]] = {
    **{name: (make, TimeStepping(2e-3), 200) for name, make in WORLDS.items()},
    "tumbling bodies": (
        simulation_scenes.tumble,
        TimeStepping(5e-3, adaptive=True, shrink_factor=0.3, growth_factor=1.1),
        100,
    ),
    "shapes and filters": (shapes_and_filters, TimeStepping(1e-3, edges=4), 300),
    "all rows of joints": (joint_scenes.busy, TimeStepping(2e-3), 100),
    "a plate that is shaken": (lambda: world_with(PLATE, SHAKER, brick((0.1, 0.1, 0.05))), STEPPER, 100),
    "a plane": (lambda: world_of((0.2, 0.1, 0.05), 0.4, (0, 0.2, 0.4), (1.0, 0, 3.0)), STEPPER, 200),
    "what gives way": (soft_ball, TimeStepping(1e-3, cfm=1e-4, gyroscopic="explicit"), 30),
    "restitution by speed": (lambda: two_balls(YIELDING, 0.5, 0.2), STEPPER, 300),
    "springs": (lambda: pair(500.0, 1.0), STEPPER, 30),
    "rods": (lambda: double_pendulum(np.array([0.9, -0.4]), np.array([0.5, 2.0]), coil=True), STEPPER, 20),
    "a joint that follows": (followed, STEPPER, 20),
    "torsional and rolling friction": (turning_ball, STEPPER, 60),
}


@pytest.mark.parametrize("name", MAKES)
def test_a_reopened_world_runs_with_the_same_bits(name: str, tmp_path: Path) -> None:
    """From the start and from the middle; its problems are the same, and it verifies."""
    make, stepper, steps = MAKES[name]
    recording = simulate(make(), stepper, steps=steps, path=tmp_path / "run.npz")
    opened = Recording.open(tmp_path / "run.npz")
    assert opened.stepper == stepper.in_world(recording.world)
    assert opened.environment == recording.environment
    assert opened.world.model.names == recording.world.model.names
    again = simulate(opened.world, opened.stepper, steps=steps)
    for column, rows in recording.rows.items():
        np.testing.assert_array_equal(again.rows[column], rows, err_msg=column)
    rest = simulate(opened.world, opened.stepper, steps=steps - steps // 2, state=opened.state(steps // 2))
    np.testing.assert_array_equal(rest.q, recording.q[steps // 2 :])
    step = int(np.flatnonzero(recording.islands)[-1])
    for one, other in zip(opened.problem(step).blocks(), recording.problem(step).blocks(), strict=True):
        np.testing.assert_array_equal(one, other)
    assert verify(opened, every=10).holds
