"""Distance of a step's forces from the selected ones: by its table, compared with verification's method."""

import numpy as np
import pytest
import simulation_scenes as scenes
from test_large_islands import bin_of
from test_moments import rolling_world
from test_selection import grasp
from test_verify_selection import balls, claimed, stack

import lcp
from contactlab import ForceChoice
from contactlab.simulation import Box, HalfSpace, Material, RigidInertia, TimeStepping, WorldBuilder, simulate, verify

WORLDS = {
    "four corners": scenes.cube_at_rest,
    "sliding": lambda: scenes.block(0.3, 1.0),
    "stack": lambda: stack(2),
    "grasp": lambda: grasp(1, 10.0),
    "two in a grasp": lambda: grasp(2, 1.5),
}


@pytest.mark.parametrize("world", WORLDS)
def test_it_agrees_with_verification(world):
    """Selected forces are within 1e-6 by both methods; Lemke's method's forces have the same distance by both."""
    recording = simulate(WORLDS[world](), TimeStepping(2e-3), steps=6)
    assert np.all(recording.certificates.choice == ForceChoice.EQUAL_COMPLIANCE)
    assert recording.certificates.selection.max() < 1e-6
    assert verify(recording).selection.distance < 1e-6
    vertex = simulate(WORLDS[world](), TimeStepping(2e-3, solver=lcp.Lemke(), warm_start=False), steps=3)
    far = vertex.certificates.selection
    assert np.all((far > 0.1) & (far < 10.0))
    report = verify(claimed(vertex)).selection
    assert report.distance == pytest.approx(far[report.step], rel=2e-6)
    assert report.distance == pytest.approx(far.max(), rel=2e-6)


def test_where_no_other_forces_make_the_motion_it_is_zero():
    """Balls of one contact each, at rest, rolling and in the air, with any solver; drives without a contact."""
    for stepper in (TimeStepping(2e-3), TimeStepping(2e-3, solver=lcp.Lemke()), TimeStepping(2e-3, friction="cone")):
        recording = simulate(balls(4), stepper, steps=10)
        assert len(recording.certificates) == 20
        assert not recording.certificates.selection.any()
    world = grasp(1, 0.5)
    start = world.initial_state().q.copy()
    start[2] += 1.0
    free = simulate(world, TimeStepping(2e-3), steps=2, state=world.initial_state(q=start))
    assert len(free.certificates) > 0
    assert not free.certificates.selection.any()


def test_exact_cones_have_their_own_selection():
    recording = simulate(grasp(1, 10.0), TimeStepping(2e-3, friction="cone"), steps=4)
    assert recording.certificates.selection.max() < 1e-6
    named = simulate(scenes.cube_at_rest(), TimeStepping(2e-3, friction="cone", solver=lcp.NSGS()), steps=2)
    assert np.all(named.certificates.choice == ForceChoice.ANY)
    assert np.all(np.isfinite(named.certificates.selection))


def test_a_vertex_is_far_from_the_forces_selected():
    """For a box on four corners that resist rolling; the forces of a ball are unique."""
    builder = WorldBuilder()
    builder.add_half_space("floor", HalfSpace(), Material(0.5, rolling=0.01))
    inertia, rough = RigidInertia.solid_box(1.0, (0.1,) * 3), Material(0.5, rolling=0.01)
    builder.add_free_body("box", inertia, Box.cube(0.1), rough, (0, 0, 0.1, 1, 0, 0, 0))
    ball = rolling_world(Material(0.8, rolling=0.01), (0.3, 0.0, 0.0))
    for world, least, most in ((builder.build(), 0.4, np.inf), (ball, 0.0, 0.0)):
        recording = simulate(world, TimeStepping(1e-3, strategies=()), steps=1)
        assert recording.certificates.choice[0] == ForceChoice.OTHER_SOLUTION
        assert least <= recording.certificates.selection[0] <= most


def test_a_pile_says_where_its_forces_are_others():
    """Islands marked as not selected are far, or no selected forces exist; the others are near."""
    recording = simulate(bin_of("boxes", 20, 3, 1), TimeStepping(2e-3), steps=100)
    table = recording.certificates
    missed = table.rows(table.choice == ForceChoice.OTHER_SOLUTION)
    assert np.all(missed.selection > 1e-5)
    some = table.rows(np.flatnonzero(table.choice == ForceChoice.EQUAL_COMPLIANCE)[-5:])
    assert np.median(some.selection) < 1e-5
