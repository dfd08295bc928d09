"""Kinematic bodies: belts, plates, tables and shakers, compared with closed forms; bodies whose motion changes."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scene_texts import CUBE, write
from test_simulation_two_drivers import check_public_path

from contactlab.simulation import (
    Box,
    ConstantVelocity,
    Conveyor,
    HalfSpace,
    HeightField,
    Material,
    ModelBuilder,
    Motion,
    Oscillation,
    Recording,
    RigidInertia,
    Simulation,
    SimulationConfigError,
    Sphere,
    TimeStepping,
    Transform,
    World,
    WorldBuilder,
    Wrench,
    joints,
    simulate,
    verify,
)
from contactlab.simulation.scene import SceneError, load_scene

G = 9.81
PLATE = Box((3.0, 1.0, 0.1))
SURFACE = Transform(p=(0.0, 0.0, -0.1))  # its upper face at z = 0


def accelerated(a):
    """A plate that sets out from rest along x at the acceleration a."""
    return Motion(lambda t: (Transform(p=(0.5 * a * t * t, 0, -0.1)), (0, 0, 0, a * t, 0, 0)))


def world_with(shape, motion, *bodies, mu=0.5):
    """A kinematic body, and free ones (name, inertia, shape, q)."""
    builder = WorldBuilder((0.0, 0.0, -G))
    builder.add_kinematic_body("told", shape, Material(mu), motion)
    for name, inertia, own, q in bodies:
        builder.add_free_body(name, inertia, own, Material(mu), q)
    return builder.build()


def brick(half, x=0.0, y=0.0, mass=2.0):
    """A brick that lies at (x, y)."""
    return "brick", RigidInertia.solid_box(mass, half), Box(half), (x, y, half[2], 1, 0, 0, 0)


@pytest.mark.parametrize("friction", ["pyramid", "cone"])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_the_end_of_a_belt_neither_pushes_nor_draws_in_a_ball(side, friction):
    """A belt moves along its body: without friction a ball at either end face stays where the body ends."""
    builder = WorldBuilder((0.0, 0.0, -G))
    builder.add_half_space("floor", HalfSpace(), Material(0.0))
    at = Transform(p=(0, 0, 0.1))
    builder.add_kinematic_body("belt", Box((0.5, 0.2, 0.1)), Material(0.0), Conveyor(at, (0.8, 0, 0)))
    inertia, start = RigidInertia.solid_sphere(1.0, 0.05), (0.551 * side, 0, 0.05, 1, 0, 0, 0)
    builder.add_free_body("ball", inertia, Sphere(0.05), Material(0.0), start)
    push = {"ball": Wrench(force=(-side, 0, 0))}
    recording = simulate(builder.build(), TimeStepping(2e-3, friction=friction), 0.4, f_ext=push)
    np.testing.assert_allclose(recording.q[-1, 0], 0.55 * side, atol=1e-9)
    np.testing.assert_allclose(recording.v[-1], 0.0, atol=1e-9)
    assert verify(recording, every=10).holds
    assert np.abs(recording.ledger.residual).max() < 1e-12


def test_a_ball_on_an_accelerating_plate_gets_two_sevenths_of_it():
    """It rolls: a_ball = (2/7) a_plate, and spins backwards relative to its way."""
    a, radius = 2.0, 0.1
    ball = ("ball", RigidInertia.solid_sphere(0.5, radius), Sphere(radius), (0, 0, radius, 1, 0, 0, 0))
    recording = simulate(world_with(PLATE, accelerated(a), ball), TimeStepping(1e-3), 0.5)
    np.testing.assert_allclose(np.diff(recording.v[2:, 0]) / 1e-3, 2.0 / 7.0 * a, rtol=1e-9)
    np.testing.assert_allclose(recording.v[-1, 4], -5.0 / 7.0 * a * 0.5 / radius, rtol=2e-3)
    assert verify(recording, every=20).holds
    assert np.abs(recording.ledger.residual).max() < 1e-12
    _, origins = recording.poses()
    np.testing.assert_allclose(origins[:, 0, 0], 0.5 * a * recording.time**2, rtol=0, atol=1e-14)


@pytest.mark.parametrize("belt", [HalfSpace(), PLATE])
def test_a_block_on_a_belt_slides_until_it_rides(belt):
    """It gains mu g until it has the belt's speed V, after V/(mu g); half the work of the belt ends as heat."""
    mu, speed, mass, h = 0.4, 1.0, 2.0, 1e-3
    start = Transform() if isinstance(belt, HalfSpace) else SURFACE
    world = world_with(belt, Conveyor(start, (speed, 0, 0)), brick((0.1, 0.1, 0.05)), mu=mu)
    recording = simulate(world, TimeStepping(h), 0.4)
    wanted = np.minimum(mu * G * recording.time, speed)
    np.testing.assert_allclose(recording.v[:, 0], wanted, rtol=0, atol=1e-9)
    totals = recording.ledger.totals()
    assert totals["kinematic"] == pytest.approx(mass * speed**2, rel=1e-9)
    assert totals["friction_sliding"] + totals["friction_stopping"] == pytest.approx(-0.5 * mass * speed**2, rel=1e-9)
    assert np.abs(recording.ledger.residual).max() < 1e-13
    assert verify(recording, every=20).holds
    assert check_public_path(recording, every=50) == 8
    assert recording.contacts_at(399).mode.max() == 1


@pytest.mark.parametrize(("share", "carried"), [(0.9, True), (1.1, False)])
def test_a_turning_table_carries_what_friction_can_hold(share, carried):
    """A block at r stays where r w^2 < mu g: it is given the table's speed at the start."""
    mu, r = 0.5, 0.5
    w = math.sqrt(share * mu * G / r)
    builder = WorldBuilder((0.0, 0.0, -G))
    table = Box((1.5, 1.5, 0.1))
    builder.add_kinematic_body("table", table, Material(mu), ConstantVelocity(SURFACE, angular_velocity=(0, 0, w)))
    half = (0.02, 0.02, 0.01)
    inertia = RigidInertia.solid_box(1.0, half)
    builder.add_free_body("block", inertia, Box(half), Material(mu), (r, 0, 0.01, 1, 0, 0, 0), (0, r * w, 0, 0, 0, w))
    recording = simulate(builder.build(), TimeStepping(1e-3, edges=32), 0.5)
    distance = np.hypot(recording.q[-1, 0], recording.q[-1, 1])
    if carried:
        # The step goes on along the tangent: the circle widens by order h.
        assert distance == pytest.approx(r, rel=5e-3)
        assert np.abs(recording.ledger.friction_sliding).sum() < 1e-3 * recording.kinetic[0]
    else:
        assert distance > 1.02 * r
    assert verify(recording, every=50).holds


def test_a_shaker_throws_what_it_accelerates_beyond_gravity():
    """A block leaves a plate that swings vertically where A w^2 > g, and stays on it below."""
    frequency = 5.0
    w = 2.0 * math.pi * frequency
    for share, leaves in ((0.8, False), (1.3, True)):
        motion = Oscillation(SURFACE, (0, 0, share * G / w**2), frequency=frequency)
        recording = simulate(world_with(PLATE, motion, brick((0.1, 0.1, 0.05))), TimeStepping(5e-4), 0.4)
        lower = recording.q[:, 2] - 0.05 - (recording.rows["motion_pose"][:, 0, 11] + 0.1)
        assert (lower.max() > 1e-3) == leaves
        assert lower.min() > -2e-5
        assert verify(recording, every=100).holds


def test_the_force_of_a_shaken_plate_belongs_to_the_start_of_the_step():
    """A brick that rides gets m times the mean acceleration of t_i - h/2 to t_i + h/2; poses are R by rows, then p."""
    h, amplitude, f, mass = 2e-3, 2e-3, 5.0, 2.0
    shake = Oscillation(SURFACE, translation=(amplitude, 0.0, 0.0), frequency=f)
    world = world_with(PLATE, shake, brick((0.1, 0.1, 0.1), mass=mass))
    # It begins with the velocity of the plate half a step before.
    start = world.initial_state(v=[shake.twist(-h / 2)[3], 0, 0, 0, 0, 0])
    recording = simulate(world, TimeStepping(h), 0.2, state=start)
    force = np.zeros(recording.n_steps)
    np.add.at(force, recording.contacts.step, recording.contacts.impulse[:, 0] / h)
    t = recording.time[:-1]
    speed = np.array([[shake.twist(time + half)[3] for half in (-h / 2, h / 2)] for time in t])
    largest = mass * amplitude * (2 * np.pi * f) ** 2
    np.testing.assert_allclose(force, mass * np.diff(speed, axis=1)[:, 0] / h, atol=1e-8 * largest)
    np.testing.assert_allclose(force, -largest * np.sin(2 * np.pi * f * t), atol=1e-3 * largest)
    in_the_middle = -largest * np.sin(2 * np.pi * f * (t + h / 2))
    assert np.abs(force - in_the_middle).max() > 0.02 * largest
    poses = recording.rows["motion_pose"]
    assert poses.shape == (recording.n_steps + 1, 1, 12)
    np.testing.assert_allclose(poses[:, 0, :9].reshape(-1, 3, 3), np.broadcast_to(np.eye(3), (len(poses), 3, 3)))
    np.testing.assert_allclose(poses[:, 0, 9:], [shake.pose(time).p for time in recording.time])


def test_a_wall_that_comes_is_met_in_time():
    """A tilting half-space far from its axis approaches a ball at rest faster than the margin covers."""
    builder = WorldBuilder((0.0, 0.0, 0.0))
    motion = ConstantVelocity(angular_velocity=(0, -2.0, 0))
    builder.add_kinematic_body("ramp", HalfSpace(), Material(0.0), motion)
    inertia = RigidInertia.solid_sphere(1.0, 0.1)
    builder.add_free_body("ball", inertia, Sphere(0.1), Material(0.0), (5.0, 0, 0.12, 1, 0, 0, 0))
    recording = simulate(builder.build(), TimeStepping(5e-3), 0.1)
    normal = recording.rows["motion_pose"][:, 0, [2, 5, 8]]
    gaps = np.einsum("ij,ij->i", recording.q[:, :3], normal) - 0.1
    assert len(recording.contacts) >= 1
    assert recording.v[-1, 2] > 9.0
    assert gaps.min() > -5e-3


def test_a_record_keeps_where_a_function_has_been(tmp_path):
    """The record of a motion given by a function has its poses, and cannot be stepped further."""
    own = simulate(world_with(PLATE, accelerated(1.0), brick((0.1, 0.1, 0.05))), TimeStepping(1e-3), steps=30)
    own.save(tmp_path / "own.npz")
    again = Recording.open(tmp_path / "own.npz")
    assert np.array_equal(again.problem(20).blocks().k, own.problem(20).blocks().k)
    assert again.problem(20).blocks().k.any()
    assert verify(again).holds
    again.save(tmp_path / "twice.npz")
    assert Recording.open(tmp_path / "twice.npz").n_steps == 30
    with pytest.raises(SimulationConfigError, match="motion"):
        simulate(again.world, again.stepper, steps=1)


def test_wrong_poses_and_twists_do_not_verify():
    """Both are part of the record."""
    world = world_with(PLATE, Conveyor(SURFACE, (0.5, 0, 0)), brick((0.1, 0.1, 0.05)))
    recording = simulate(world, TimeStepping(1e-3), steps=10)
    for name in ("motion_pose", "motion_twist"):
        rows = {**recording.rows, name: recording.rows[name] + 1e-6}
        report = verify(Recording(recording.world, recording.stepper, rows))
        assert "kinematic" in {failure.condition for failure in report.failures}


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: ConstantVelocity(velocity=(1.0, 0.0)), "velocity"),
        (lambda: ConstantVelocity((0, 0, 0)), "start"),
        (lambda: Conveyor(angular_velocity=(0, 0, math.nan)), "angular_velocity"),
        (lambda: Oscillation(frequency=0.0), "frequency"),
        (lambda: Motion(3.0), "function"),
        (lambda: WorldBuilder().add_kinematic_body("a", PLATE, Material(0.5), PLATE), "motion"),
        (lambda: WorldBuilder().add_kinematic_body("", PLATE, Material(0.5), Conveyor()), "name"),
        (
            lambda: WorldBuilder().add_kinematic_body(
                "a", HeightField(np.zeros((3, 3)), (1.0, 1.0)), Material(0.5), Conveyor()
            ),
            "shape",
        ),
        (lambda: WorldBuilder().add_kinematic_body("a", PLATE, Material(0.5), Motion(lambda t: (t, t))), "twist"),
    ],
)
def test_bad_motions_name_the_field(make, field):
    """Found where they are given."""
    with pytest.raises(SimulationConfigError) as info:
        make()
    assert field in info.value.field


def test_scene_files_know_kinematic_bodies(tmp_path):
    """A belt, a constant velocity, a swing; and the line of what is wrong."""
    text = CUBE + (
        '[[kinematic]]\nname = "belt"\nshape = "half_space"\nnormal = [0, 0, 1]\nmaterial = "rubber"\n'
        "belt = true\nvelocity = [1, 0, 0]\n"
        '[[kinematic]]\nname = "wall"\nshape = "box"\nsize = [0.1, 1, 1]\nmu = 0.2\nposition = [2, 0, 0.5]\n'
        "velocity = [-1, 0, 0]\n"
        '[[kinematic]]\nname = "shaker"\nshape = "sphere"\nradius = 0.1\nmu = 0.2\nposition = [-2, 0, 0.5]\n'
        "translation = [0, 0, 0.1]\nfrequency = 3.0\n"
    )
    world = load_scene(write(tmp_path, text)).world
    belt, wall, shaker = (motion for _, motion in world.motions)
    assert isinstance(belt, Conveyor)
    assert isinstance(wall, ConstantVelocity)
    assert isinstance(shaker, Oscillation)
    assert belt.velocity.tolist() == [1, 0, 0]
    assert wall.pose(1.0).p.tolist() == [1, 0, 0.5]
    assert shaker.frequency == 3.0
    for old, new, words in (
        ("belt = true", "belt = true\nfrequency = 1.0", "oscillation"),
        ("frequency = 3.0", "frequency = -3.0", "frequency"),
        ('shape = "sphere"', 'shape = "ball"', "ball"),
    ):
        with pytest.raises(SceneError, match=words):
            load_scene(write(tmp_path, text.replace(old, new)))


PUSH = ConstantVelocity(Transform(p=(-0.3, 0, 0.1)), velocity=np.array((0.5, 0, 0)))


def paddle(by_hand: bool) -> World:
    """A paddle that comes towards a cube on the ground: fixed, then moved; or kinematic at once."""
    builder = WorldBuilder()
    builder.add_half_space("floor", HalfSpace(), Material(0.3))
    builder.add_free_body(
        "cube", RigidInertia.solid_box(1.0, (0.1,) * 3), Box.cube(0.1), Material(0.3), (0, 0, 0.1, 1, 0, 0, 0)
    )
    if by_hand:
        builder.add_fixed_body("paddle", Box.cube(0.1), Material(0.3), Transform(p=(5, 5, 5)))
        builder.move_body("paddle", PUSH)
    else:
        builder.add_kinematic_body("paddle", Box.cube(0.1), Material(0.3), PUSH)
    return builder.build()


def test_a_fixed_body_that_is_moved_is_a_kinematic_one() -> None:
    one, other = (simulate(paddle(by_hand), TimeStepping(0.005), 0.6) for by_hand in (True, False))
    np.testing.assert_array_equal(one.q, other.q)
    assert one.v[-1, 0] == pytest.approx(0.5, abs=1e-6)
    assert verify(one).holds


def test_another_motion_is_taken_under_way() -> None:
    """The paddle stops: the cube slides on and stops."""
    run = Simulation(paddle(True), TimeStepping(0.005))
    run.step(n=100)
    ((number, motion),) = run.world.motions
    run.switch_world(replace(run.world, motions=((number, Conveyor(motion.pose(run.time))),)))
    run.step(n=100)
    place = run.q[0]
    run.step(n=20)
    assert abs(run.v[0]) < 1e-12
    assert run.q[0] == pytest.approx(place, abs=1e-12)
    assert place - 0.1 > motion.pose(0.5).p[0] + 0.1 - 1e-6


def test_mocap_bodies_of_a_file_push(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    file = tmp_path / "mocap.xml"
    file.write_text("""<mujoco><worldbody><geom name="floor" type="plane" size="0 0 1" friction=".3"/>
        <body name="cube" pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" friction=".3"/></body>
        <body name="paddle" mocap="true" pos="-.3 0 .1"><geom type="box" size=".1 .1 .1" friction=".3"/></body>
        </worldbody></mujoco>""")
    builder = WorldBuilder()
    with pytest.warns(match="'paddle'"):
        builder.add_mjcf(file)
    builder.move_body("paddle", PUSH)
    run = Simulation(builder.build(), TimeStepping(0.005))
    run.step(n=120)
    assert run.v[0] == pytest.approx(0.5, abs=1e-6)
    assert run.q[0] == pytest.approx(PUSH.pose(0.6).p[0] + 0.2, abs=1e-5)


def test_what_cannot_be_moved_is_refused() -> None:
    builder, model = WorldBuilder(), ModelBuilder()
    model.add_body("post", joint=joints.Fixed())
    model.add_body("vane", parent="post", joint=joints.Revolute((0, 0, 1)), inertia=RigidInertia.solid_sphere(1.0, 0.1))
    builder.add_model(model.build())
    builder.add_free_body("ball", RigidInertia.solid_sphere(1.0, 0.1), Sphere(0.1), Material(0.5))
    builder.add_fixed_body("land", HeightField(np.zeros((3, 3)), (1.0, 1.0)), Material(0.5))
    for body, message in (
        ("pots", "no body is called 'pots'"),
        ("ball", "'ball' does not stand fixed"),
        ("vane", "'vane' does not stand fixed"),
        ("post", "'vane' hangs on 'post'"),
        ("land", "HeightField must stand still"),
    ):
        with pytest.raises(SimulationConfigError, match=message):
            builder.move_body(body, PUSH)
    with pytest.raises(SimulationConfigError, match="motion.*must offer pose"):
        builder.move_body("land", "north")  # type: ignore[arg-type]
