"""The tool that derivatives of a step are compared with."""

from __future__ import annotations

import numpy as np
import pytest
from derivative_scenes import MOTIONS, settled
from step_differences import Steps, linearized

from contactlab.contact import Box, HalfSpace, Material
from contactlab.simulation import TimeStepping, WorldBuilder
from contactlab.spatial import RigidInertia

H, MASS = 2e-3, 2.0
HALF = (0.1, 0.1, 0.1)


def cube(height, speed=0.0, mu=0.3):
    builder, material = WorldBuilder(), Material(mu)
    builder.add_half_space("floor", HalfSpace(), material)
    start = (0, 0, 0.1 + height, 1, 0, 0, 0)
    inertia = RigidInertia.solid_box(MASS, HALF)
    builder.add_free_body("cube", inertia, Box(HALF), material, start, (speed, 0, 0, 0, 0, 0))
    return builder.build()


def test_free_fall_moves_on_by_its_velocity():
    """A cube far above the floor: q by v is h, v by tau is h over the mass, and nothing is a kink."""
    world = cube(5.0)
    found = linearized(Steps(world, TimeStepping(H)), world.initial_state())
    expected = np.eye(12)
    expected[:6, 6:] = H * np.eye(6)
    np.testing.assert_allclose(found.A, expected, atol=1e-8)
    moments = RigidInertia.solid_box(MASS, HALF).inertia.diagonal()
    force = H / np.concatenate((np.full(3, MASS), moments))
    np.testing.assert_allclose(found.B, np.vstack((H * np.diag(force), np.diag(force))), atol=1e-8)
    assert found.unique
    assert found.kinks == ()


def test_what_slides_keeps_its_differences_and_what_rests_has_two_sides():
    """A cube that slides: its speed passes on. At erp = 0 one that rests has a kink where the gap opens."""
    slides, rests = cube(0.0, 1.0), cube(0.0)
    found = linearized(Steps(slides, TimeStepping(H, erp=1.0)), slides.initial_state())
    assert found.A[6, 6] == pytest.approx(1.0, abs=1e-8)
    assert found.A[8, 2] == pytest.approx(-1.0 / H, abs=1e-5)
    found = linearized(Steps(rests, TimeStepping(H)), rests.initial_state())
    assert not found.unique
    assert {kink.row for kink in found.kinks} >= {2}


def test_a_whole_run_is_the_product_of_its_steps():
    """A sliding cube, 20 steps at once and one by one."""
    world = cube(0.0, 1.0)
    steps = Steps(world, TimeStepping(H, erp=1.0))
    product, state = np.eye(12), world.initial_state()
    for _ in range(20):
        step = linearized(steps, state)
        product, state = step.A @ product, step.next
    ahead, behind = steps.sides(world.initial_state(), np.eye(12), n=20)
    np.testing.assert_allclose(0.5 * (ahead + behind).T, product, atol=1e-6)


@pytest.mark.parametrize("name", ["stops", "drives", "loop"])
def test_targets_and_stops_are_differenced(name):
    """Scenes of joints alone, in mid-motion: a column for each drive, of zeros for one that pushes with all it has."""
    motion = MOTIONS[name]()
    stepper = motion.stepper()
    state = settled(motion, stepper, 40)
    found = linearized(Steps(motion.world, stepper), state, targets=motion.targets_at(state.time))
    assert np.isfinite(found.A).all()
    assert found.targets.shape == (2 * motion.world.nv, len(motion.world.joint_actions.drives))
    felt = np.abs(found.targets).max(axis=0) > 0.0
    assert felt.tolist() == {"stops": [], "drives": [False, True], "loop": [True]}[name]
