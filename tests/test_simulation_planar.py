"""Planar worlds: three coordinates per body, one direction of friction per contact, against closed forms."""

import numpy as np
import pytest
from scene_texts import CUBE, write
from test_simulation_two_drivers import check_public_path

from contactlab.multibody.joints import Revolute
from contactlab.simulation import (
    Box,
    HalfSpace,
    Material,
    ModelBuilder,
    RigidInertia,
    SimulationConfigError,
    TimeStepping,
    WorldBuilder,
    simulate,
    verify,
)
from contactlab.simulation.scene import SceneError, load_scene

G = 9.81
PLANE = (0.0, 1.0, 0.0)


def world_of(half, mu, q, v=(0.0, 0.0, 0.0), *, mass=2.0, planar=PLANE):
    """One brick above the ground."""
    builder = WorldBuilder((0.0, 0.0, -G), planar=planar)
    builder.add_half_space("ground", HalfSpace(), Material(mu))
    builder.add_free_body("brick", RigidInertia.solid_box(mass, half), Box(half), Material(mu), q, v)
    return builder.build()


def test_a_block_slides_exactly():
    """v = v0 - mu g t to rounding until it stops; three coordinates, one row of friction per contact."""
    mu, v0, h = 0.37, 1.0, 1e-3
    world = world_of((0.2, 0.1, 0.05), mu, (0, 0.05, 0), (v0, 0, 0))
    recording = simulate(world, TimeStepping(h), 0.4)
    assert (world.nq, world.nv) == (3, 3)
    np.testing.assert_allclose(recording.v[:, 0], np.maximum(v0 - mu * G * recording.time, 0.0), rtol=0, atol=1e-12)
    assert recording.problem(0).blocks().r.tolist() == [1] * 4
    assert verify(recording, every=10).holds
    assert check_public_path(recording, every=40) == 10
    assert np.abs(recording.ledger.residual).max() < 1e-14


def test_models_move_in_their_plane():
    """A pendulum about the normal hits the ground; its record reopens and resumes."""
    builder = WorldBuilder((0.0, 0.0, -G), planar=PLANE)
    builder.add_half_space("ground", HalfSpace((0, 0, 1), -0.3), Material(0.5))
    model = ModelBuilder()
    rod = RigidInertia(1.0, (0.2, 0, 0), inertia=np.diag([1e-3, 0.01, 0.01]))
    model.add_body("rod", joint=Revolute((0, 1, 0)), inertia=rod)
    builder.add_model(model.build(), q=(0.2,))
    builder.add_shape("rod", Box((0.2, 0.02, 0.02)), Material(0.5))
    builder.add_free_body("brick", rod, Box.cube(0.05), Material(0.5), (1.0, 0.0, 0.1))
    recording = simulate(builder.build(), TimeStepping(1e-3), 0.3)
    assert verify(recording, every=20).holds


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: WorldBuilder(planar=(0, 0, 0)), "planar"),
        (lambda: WorldBuilder(planar=(0, 1)), "planar"),
        (lambda: WorldBuilder(planar=PLANE).add_half_space("a", HalfSpace((0, 0.1, 1)), Material(0.5)), "half_space"),
        (lambda: world_of((0.1,) * 3, 0.5, (0, 0, 0, 1, 0)), "q"),
        (lambda: world_of((0.1,) * 3, 0.5, (0, 0, 0, 0.8, 0.6, 0, 0)), "q"),
        (lambda: world_of((0.1,) * 3, 0.5, (0, 0, 0, 2, 0, 0, 0)), "q"),
        (lambda: world_of((0.1,) * 3, 0.5, None, (0, 1e-3, 0, 0, 0, 0)), "v"),
        (lambda: world_of((0.1,) * 3, 0.5, None, (0, 0)), "v"),
    ],
)
def test_what_leaves_the_plane_names_the_field(make, field):
    """At once, with the value."""
    with pytest.raises(SimulationConfigError) as info:
        make()
    assert field in info.value.field


@pytest.mark.nojit
def test_joints_that_leave_the_plane_are_refused():
    """The body is named."""
    model = ModelBuilder()
    model.add_body("arm", joint=Revolute((1, 0, 0)), inertia=RigidInertia.solid_sphere(1.0, 0.1))
    with pytest.raises(SimulationConfigError, match="arm"):
        WorldBuilder((0, 0, -9.81), planar=PLANE).add_model(model.build())


def test_scene_files_know_planar_worlds(tmp_path):
    """`planar` beside gravity; a start out of the plane is an error with its line."""
    text = CUBE.replace("duration = 0.1", "duration = 0.1\nplanar = [0, 1, 0]")
    world = load_scene(write(tmp_path, text)).world
    assert world.nv == 3
    assert world.initial_v.tolist() == [1, 0, 0]
    with pytest.raises(SceneError, match="leaves the plane"):
        load_scene(write(tmp_path, text.replace("[1.0, 0.0, 0.0]", "[1.0, 0.5, 0.0]")))
