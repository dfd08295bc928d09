"""Position projection: penetrations are undone in q, by the least displacement in the metric of the masses."""

from __future__ import annotations

import numpy as np
import pytest
import simulation_scenes as scenes
from scene_texts import CUBE, write
from test_simulation_two_drivers import check_public_path

import lcp
from contactlab.contact import Box, HalfSpace, Material, Sphere
from contactlab.multibody import ModelBuilder
from contactlab.multibody.joints import Prismatic
from contactlab.simulation import Recording, SimulationConfigError, TimeStepping, WorldBuilder, simulate, verify
from contactlab.simulation.scene import load_scene
from contactlab.spatial import RigidInertia

DEPTH = 3e-3


def sunk_box():
    """A brick at rest, its lower face DEPTH below the ground."""
    half = (0.2, 0.15, 0.04)
    inertia = RigidInertia.solid_box(2.0, half)
    return scenes.one_body(Box(half), inertia, mu=0.5, q=(0, 0, 0.04 - DEPTH, 1, 0, 0, 0))


def crossed_balls():
    """Two balls in space that share DEPTH of the line between them, the second of three times the first's mass."""
    builder = WorldBuilder((0.0, 0.0, 0.0))
    for name, mass, x in (("light", 1.0, -0.1), ("heavy", 3.0, 0.1 - DEPTH)):
        inertia = RigidInertia.solid_sphere(mass, 0.1)
        builder.add_free_body(name, inertia, Sphere(0.1), Material(0.3), (x, 0, 0, 1, 0, 0, 0))
    return builder.build()


def test_one_step_ends_a_penetration_and_brings_no_kinetic_energy():
    """The brick stands on the ground but for a few 1e-8 of its depth, at rest; the lift is in the ledger."""
    recording = simulate(sunk_box(), TimeStepping(1e-3, projection=True), steps=3)
    assert recording.q[1, 2] == pytest.approx(0.04, abs=1e-7 * DEPTH)
    assert np.abs(recording.v[1:]).max() < 1e-12
    np.testing.assert_allclose(recording.q[1:, 3:], np.broadcast_to((1, 0, 0, 0), (3, 4)), atol=1e-9)
    ledger = recording.ledger
    assert ledger.projection[0] == pytest.approx(2.0 * scenes.G * DEPTH, rel=1e-7)
    assert np.abs(ledger.residual).max() < 1e-14
    assert recording.contacts_at(0).push.sum() == pytest.approx(2.0 * DEPTH, rel=1e-7)
    assert verify(recording).holds


def test_velocities_are_those_of_a_step_without_projection():
    """To the last bit, in the first step of a run."""
    one, other = (simulate(sunk_box(), TimeStepping(1e-3, projection=on), steps=1) for on in (True, False))
    assert np.array_equal(one.v, other.v)
    assert np.array_equal(one.contacts.impulse, other.contacts.impulse)
    assert other.q[1, 2] == pytest.approx(0.04 - DEPTH)
    assert not other.contacts.push.any()


def test_bodies_part_in_inverse_proportion_to_their_masses():
    """The displacement of least m dx^2: the light ball takes three quarters, the centre of mass stays."""
    recording = simulate(crossed_balls(), TimeStepping(1e-3, projection=True), steps=1)
    moved = (recording.q[1] - recording.q[0]).reshape(2, 7)
    np.testing.assert_allclose(moved[:, 0], [-0.75 * DEPTH, 0.25 * DEPTH], rtol=1e-7)
    assert not recording.v[1].any()
    assert np.abs(recording.ledger.residual).max() < 1e-15


def test_what_cannot_be_undone_is_shared_out():
    """A ball between walls that leave it no room is moved to the middle; the run goes on."""
    builder = WorldBuilder((0.0, 0.0, 0.0))
    builder.add_half_space("left", HalfSpace((1, 0, 0), 0.0), Material(0.3))
    builder.add_half_space("right", HalfSpace((-1, 0, 0), -0.19), Material(0.3))
    inertia = RigidInertia.solid_sphere(1.0, 0.1)
    builder.add_free_body("ball", inertia, Sphere(0.1), Material(0.3), (0.097, 0, 0, 1, 0, 0, 0))
    recording = simulate(builder.build(), TimeStepping(1e-3, projection=True), steps=2)
    assert recording.q[1, 0] == pytest.approx(0.095, abs=1e-7)
    assert verify(recording).holds


def test_joints_move_by_their_masses():
    """A table on a vertical guide, in the ground, is lifted along its guide."""
    model = ModelBuilder()
    inertia = RigidInertia.solid_box(1.0, (0.1,) * 3)
    model.add_body("table", joint=Prismatic((0, 0, 1)), inertia=inertia)
    builder = WorldBuilder()
    builder.add_half_space("ground", HalfSpace(), Material(0.5))
    builder.add_model(model.build(), q=(0.1 - DEPTH,))
    builder.add_shape("table", Box.cube(0.1), Material(0.5))
    recording = simulate(builder.build(), TimeStepping(1e-3, projection=True), steps=2)
    assert recording.q[1, 0] == pytest.approx(0.1, abs=1e-7 * DEPTH)


def test_contacts_with_a_spring_keep_their_sag():
    """The penetration of a compliant contact is its force: it is not projected."""
    builder = WorldBuilder()
    builder.add_half_space("ground", HalfSpace(), Material(0.3, stiffness=2e3, dissipation=80.0))
    inertia = RigidInertia.solid_sphere(0.5, 0.1)
    builder.add_free_body("ball", inertia, Sphere(0.1), Material(0.3), (0, 0, 0.1, 1, 0, 0, 0))
    world = builder.build()
    recording = simulate(world, TimeStepping(1e-2, projection=True), 1.0)
    assert 0.1 - recording.q[-1, 2] == pytest.approx(0.5 * 9.81 / 2e3, rel=1e-6)
    assert verify(recording).holds


def test_a_tumble_with_projection_verifies_closes_its_ledger_and_resumes(tmp_path):
    """Impacts, rolling and sliding: no deep penetration; public path, ledger and restart to the bit."""
    world, stepper = scenes.tumble(), TimeStepping(5e-3, projection=True)
    recording = simulate(world, stepper, 1.0, path=tmp_path / "run.npz")
    # Of what the step linearises, nothing stays; the turn of a body within a step is of second order.
    without = simulate(world, TimeStepping(5e-3), 1.0)
    assert recording.contacts.gap.min() > 0.5 * without.contacts.gap.min()
    assert verify(recording, every=3).holds
    assert np.abs(recording.ledger.residual).max() < 1e-13
    assert np.abs(recording.ledger.projection).max() > 0.0
    assert check_public_path(recording, every=7) > 5
    opened = Recording.open(tmp_path / "run.npz")
    again = simulate(opened.world, opened.stepper, steps=20, state=opened.state(100))
    assert np.array_equal(again.q, recording.q[100:121])
    inside, outside = (
        simulate(world, TimeStepping(5e-3, projection=True, solver=solver), 1.0)
        for solver in (lcp.Lemke(), scenes.Outside())
    )
    assert np.array_equal(outside.q, inside.q)


def test_a_changed_push_does_not_verify():
    """Neither as a multiplier nor as a displacement, nor where nothing is projected."""
    recording = simulate(sunk_box(), TimeStepping(1e-3, projection=True), steps=1)
    rows = {**recording.rows, "contact_push": 1.01 * recording.rows["contact_push"]}
    report = verify(Recording(recording.world, recording.stepper, rows))
    assert {failure.condition for failure in report.failures} == {"integration", "projection"}
    report = verify(Recording(recording.world, TimeStepping(1e-3), recording.rows))
    assert {failure.condition for failure in report.failures} == {"projection"}


def test_the_option_is_a_flag(tmp_path):
    """In Python and in scene files."""
    with pytest.raises(SimulationConfigError, match="projection"):
        TimeStepping(1e-3, projection=1.0)
    assert load_scene(write(tmp_path, CUBE.replace("h = 2e-3", "h = 2e-3\nprojection = true"))).stepper.projection
