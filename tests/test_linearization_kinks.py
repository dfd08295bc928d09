"""Kinks of a step: each is reported at its position, by name, and one-sided derivatives are derivatives of the step."""

from dataclasses import replace

import joint_scenes
import numpy as np
import pytest
from derivative_scenes import MOTIONS, settled
from linearization_worlds import G, H, assert_agrees, assert_one_sided, cube, later, signed, slider, whys

from contactlab.derivatives import linearize
from contactlab.simulation import JointLimit, SimulationConfigError, TimeStepping, VelocityDrive


@pytest.mark.nojit
@pytest.mark.parametrize("friction", ["pyramid", "cone"])
def test_a_touch_without_load_is_a_kink(friction):
    """Without gravity a body at the floor moves on if it moves away, and stops if it approaches."""
    world = slider(gravity=0.0)
    stepper = TimeStepping(H, friction=friction, erp=1.0)
    state = world.initial_state()
    found = assert_one_sided(world, stepper, state, signed(6, 2, 5))
    assert whys(found) == {("touches without load", 0)}
    assert found.kinks[0].label == "ball on floor"
    assert not found.unique
    np.testing.assert_allclose(found.directional([0, 0, 0, 0, 0, 1.0]), [0, 0, H, 0, 0, 1], atol=1e-9)
    np.testing.assert_allclose(found.directional([0, 0, 0, 0, 0, -1.0]), 0.0, atol=1e-9)
    # Derivatives along two directions do not add: the map is not linear.
    np.testing.assert_allclose(found.directional([0] * 6, [0, 0, 1.0])[5], H, atol=1e-12)
    np.testing.assert_allclose(found.directional([0] * 6, [0, 0, -1.0])[5], 0.0, atol=1e-12)


@pytest.mark.nojit
def test_a_gap_of_zero_is_a_kink_where_penetration_stays():
    """With erp = 0 a body at rest stays; if lifted, it first falls through its gap; if pushed in, it stays in."""
    world = slider()
    found = assert_one_sided(world, TimeStepping(H), world.initial_state(), signed(6, 2))
    assert ("gap at zero: held is given, else it opens", 0) in whys(found)
    np.testing.assert_allclose(found.A[5, 2], -1.0 / H)
    np.testing.assert_allclose(found.directional([0, 0, 1.0, 0, 0, 0])[5], -1.0 / H)
    np.testing.assert_allclose(found.directional([0, 0, -1.0, 0, 0, 0])[5], 0.0, atol=1e-9)
    # A part of a penetration that is taken back makes both sides differ less; all of it, not at all.
    found = linearize(world, TimeStepping(H, erp=0.25), world.initial_state())
    np.testing.assert_allclose(found.directional([0, 0, -1.0, 0, 0, 0])[5], 0.25 / H)
    assert linearize(world, TimeStepping(H, erp=1.0), world.initial_state()).unique


@pytest.mark.nojit
def test_depth_that_is_pushed_out_has_kinks():
    """Where it is pushed out as fast as the bounce wants, and where at the largest speed: on one side it is steeper."""
    pushed = ("depth is pushed out at the largest speed, or as fast as it bounces", 0)
    for v, fastest in ((-1.0, 10.0), (-0.2, 0.5)):
        world = slider((0, 0, v), height=-0.5 * H, restitution=0.5)
        stepper = TimeStepping(H, erp=1.0, projection=False, max_depenetration_velocity=fastest)
        state = world.initial_state()
        assert whys(linearize(world, stepper, state)) == {pushed}
        for away in (1e-5, -1e-5):
            near = replace(state, q=state.q + [0, 0, away])
            found = assert_agrees(world, stepper, near)
            assert found.unique
            # The speed of the deeper side follows the depth at the first kink, and of the other side at the second.
            assert found.A[5, 2] == pytest.approx(-1.0 / H if (away < 0.0) == (fastest > 1.0) else 0.0, abs=1e-9)


@pytest.mark.parametrize(("friction", "planar"), [("pyramid", False), ("cone", False), ("pyramid", True)])
def test_at_the_cone_a_push_slides_and_less_of_it_does_not(friction, planar):
    """At a force of mu times the weight an additional force moves the body, a smaller one does not."""
    world = slider((0, 0) if planar else (0, 0, 0), planar=planar)
    n, stepper = world.nv, TimeStepping(H, friction=friction, erp=1.0)
    tau = np.zeros(n)
    tau[0] = 0.5 * G
    state = world.initial_state()
    found = linearize(world, stepper, state, tau)
    assert whys(found) & {("at the cone, may slide", 0), ("hardly slides, may stick", 0)} or any(
        why.startswith("slips between") for why, _ in whys(found)
    )
    assert not found.unique
    ahead = found.directional(np.zeros(2 * n), np.eye(n)[0])
    behind = found.directional(np.zeros(2 * n), -np.eye(n)[0])
    assert ahead[n] == pytest.approx(H, rel=1e-6)
    assert behind[n] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("planar", [True, False])
def test_what_hardly_slides_may_stick(planar):
    """A body that friction has just stopped: faster it slides on, slower it sticks."""
    v = [0.5 * G * H + 1e-11, 0.0, 0.0]
    world = slider(v[:2] if planar else v, planar=planar)
    n = world.nv
    for friction in ("pyramid",) if planar else ("pyramid", "cone"):
        found = linearize(world, TimeStepping(H, friction=friction, erp=1.0), world.initial_state())
        words = {why for why, contact in whys(found) if contact == 0}
        assert words & {"hardly slides, may stick", "slips between two directions of the polygon"}
        assert not found.unique
        faster = found.directional(np.eye(2 * n)[n])
        slower = found.directional(-np.eye(2 * n)[n])
        assert faster[n] == pytest.approx(1.0, rel=1e-6)
        assert slower[n] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.nojit
def test_at_its_largest_force_a_drive_gives_way():
    """A drive exactly at its bound reaches its target, or is too weak for a larger one."""
    builder = joint_scenes.cart(mass=2.0)
    builder.add_drive(VelocityDrive("cart", 0.5, max_force=2.0 * 0.5 / H))
    world, stepper = builder.build(), TimeStepping(H)
    found = assert_one_sided(world, stepper, world.initial_state(), signed(2, 1))
    assert whys(found, row=True) == {("at the largest force of its row", 0)}
    assert found.kinks[0].contact == -1
    assert found.kinks[0].label == world.joint_rows[0].label
    # Slower at the start it falls short by that; faster it gets there.
    assert found.directional([0.0, -1.0])[1] == pytest.approx(-1.0, rel=1e-6)
    assert found.directional([0.0, 1.0])[1] == pytest.approx(0.0, abs=1e-6)
    assert linearize(world, stepper, replace(world.initial_state(), v=np.array([0.2]))).unique


@pytest.mark.nojit
def test_at_the_speed_from_which_it_bounces_is_a_jump():
    """A kink at the restitution threshold, of the contact whose approach it is; a little off it is near."""
    stepper = TimeStepping(H, erp=1.0, restitution_threshold=0.5)
    world = slider((0, 0, -0.5), restitution=0.5)
    found = linearize(world, stepper, world.initial_state())
    assert ("at the speed from which it bounces", 0) in whys(found)
    off = linearize(world, stepper, replace(world.initial_state(), v=np.array([0, 0, -0.50005])))
    assert off.unique
    assert [kink.reason for kink in off.kinks] == ["at the speed from which it bounces"]
    assert off.kinks[0].state_distance == pytest.approx(5e-5, rel=1e-6)
    assert off.kinks[0].distance == pytest.approx(5e-5, rel=1e-6)


@pytest.mark.nojit
def test_stops_have_kinks_of_their_own():
    """At a stop without load, at erp = 0 in it, and at rest against it."""
    builder = joint_scenes.cart()
    builder.add_joint_limit(JointLimit("cart", -1.0, 0.0))
    world, stepper = builder.build(), TimeStepping(H, erp=1.0)
    found = assert_one_sided(world, stepper, world.initial_state(), signed(2, 0, 1))
    assert whys(found, row=True) == {("touches without load", found.kinks[0].row)}
    assert "cart" in found.kinks[0].label
    pressed = linearize(world, TimeStepping(H), world.initial_state(), [3.0])
    assert ("gap at zero: held is given, else it opens", found.kinks[0].row) in whys(pressed, row=True)
    assert pressed.directional([1.0, 0.0])[1] == pytest.approx(0.0, abs=1e-9)
    assert pressed.directional([-1.0, 0.0])[1] == pytest.approx(1.0 / H)


def test_a_cube_at_rest_goes_its_way_in_every_direction():
    """On four corners, erp = 0: one-sided derivatives in random directions agree with one-sided differences."""
    world, stepper = cube(), TimeStepping(H)
    state = later(world, stepper, 5)
    ways = np.random.default_rng(4).normal(size=(12, 12))
    assert_one_sided(world, stepper, state, ways, step=1e-7, tolerance=2e-4)


def test_faces_on_faces_are_named_and_go_their_way():
    """In a stack of boxes features of parallel faces are kinks by name; random directions agree with differences."""
    motion = MOTIONS["stack"]()
    stepper = motion.stepper()
    state = settled(motion, stepper, 30)
    ways = np.random.default_rng(2).normal(size=(4, 72))
    ways /= np.linalg.norm(ways, axis=1)[:, None]
    found = assert_one_sided(motion.world, stepper, state, ways, step=1e-7, tolerance=1e-3)
    words = {(kink.reason, kink.label) for kink in found.kinks}
    assert ("other features near by, as of parallel faces", "box 1 on box 0") in words


@pytest.mark.xfail(
    strict=True,
    raises=(AssertionError, SimulationConfigError),
    reason="a box tilted in a grip: what its faces ask for its friction forbids, forces of the piece grow as the"
    " inverse of the compliance, and the small complementarity problem is not solved for that",
)
def test_a_tilt_in_a_grip():
    """The one-sided derivative of a box between two fingers, as it begins to tilt, agrees with differences."""
    motion = MOTIONS["grasp"]()
    stepper = motion.stepper()
    state = settled(motion, stepper, 251)
    targets = motion.targets_at(state.time)
    assert_one_sided(motion.world, stepper, state, [np.eye(20)[8], np.eye(20)[9]], targets, step=1e-7, tolerance=1e-3)
