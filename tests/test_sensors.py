"""Sensors compared with closed forms and the balance of forces; a run and its record give the same readings."""

import math

import numpy as np
import pytest
from joint_scenes import FAST, four_bar, pendulum
from refusals import assert_messages
from simulation_scenes import G, cube_at_rest, dropped_ball, tumble

from contactlab.multibody import MultibodyError, angular_momentum, center_of_mass, center_of_mass_velocity
from contactlab.multibody.spatial import SpatialError, quaternion
from contactlab.simulation import (
    Batch,
    Box,
    ExternalContact,
    HalfSpace,
    Material,
    ModelBuilder,
    Oscillation,
    PlacedShape,
    PositionDrive,
    RigidInertia,
    Simulation,
    SimulationConfigError,
    Sphere,
    TimeStepping,
    Transform,
    World,
    WorldBuilder,
    joints,
    sensors,
    simulate,
)

H = 1e-3
TURN = Transform.rotation((1, 2, 3), 0.7, (0.1, -0.2, 0.05))


def disc(rate: float) -> World:
    """A disc that turns about z without friction."""
    builder = WorldBuilder((0.0, 0.0, -G), **FAST)
    model = ModelBuilder((0.0, 0.0, -G))
    inertia = RigidInertia(1.0, (0, 0, 0), inertia=np.diag([0.5, 0.5, 1.0]))
    model.add_body("disc", joint=joints.Revolute((0, 0, 1)), inertia=inertia, joint_name="spindle")
    builder.add_model(model.build(), [0.0], [rate])
    return builder.build()


def stack() -> World:
    """A brick of two halves of 3 kg on the ground, and one of 1 kg on its left half."""
    builder = WorldBuilder((0.0, 0.0, -G))
    builder.add_half_space("floor", HalfSpace(), Material(0.5))
    halves = [PlacedShape(Box((0.1, 0.1, 0.1)), Transform(p=(x, 0, 0))) for x in (-0.1, 0.1)]
    low = RigidInertia.solid_box(3.0, (0.2, 0.1, 0.1))
    builder.add_free_body("low", low, halves, Material(0.5), (0, 0, 0.1, 1, 0, 0, 0))
    high = RigidInertia.solid_box(1.0, (0.05, 0.05, 0.05))
    builder.add_free_body("high", high, Box.cube(0.05), Material(0.5), (-0.1, 0, 0.25, 1, 0, 0, 0))
    return builder.build()


def stepped(world: World, n: int, h: float = H) -> Simulation:
    """A run after n steps."""
    run = Simulation(world, TimeStepping(h))
    run.step(n=n)
    return run


def close(found, wanted, atol: float = 1e-9) -> None:
    """Equal to rounding."""
    np.testing.assert_allclose(found, wanted, rtol=0.0, atol=atol)


def test_a_box_at_rest_feels_gravity_from_below_and_its_weight_on_the_ground() -> None:
    run = stepped(cube_at_rest(), 5)
    close(run.read(sensors.Accelerometer("body", TURN)), TURN.R.T @ [0.0, 0.0, G])
    close(run.read(sensors.Gyroscope("body", TURN)), np.zeros(3))
    close(run.read(sensors.ContactForce("body")), [0.0, 0.0, G])
    close(run.read(sensors.ContactWrench("body", "ground", point=(0.1, 0.0, 0.0))), [0, 0.1 * G, 0, 0, 0, G])
    close(run.read(sensors.Accelerometer("world", TURN)), TURN.R.T @ [0.0, 0.0, G])


def test_what_falls_and_turns_feels_nothing_at_its_centre() -> None:
    world = dropped_ball(5.0)
    state = world.initial_state(v=(1, 2, 3, 4, 5, 6))
    recording = simulate(world, TimeStepping(H), steps=50, state=state)
    close(recording.read(sensors.Accelerometer("body")), np.zeros((50, 3)))
    close(recording.read(sensors.ContactForce("body")), np.zeros((50, 3)))
    close(recording.read(sensors.Gyroscope("body")), recording.v[1:, 3:])


def test_a_turning_disc_pulls_towards_its_axis() -> None:
    rate, place = 3.0, Transform(TURN.R, (0.4, 0.0, 0.0))
    recording = simulate(disc(rate), TimeStepping(H), steps=300)
    close(recording.read(sensors.Accelerometer("disc", place)), np.tile(TURN.R.T @ [-0.4 * rate**2, 0, G], (300, 1)))
    close(recording.read(sensors.Gyroscope("disc", place)), np.tile(TURN.R.T @ [0, 0, rate], (300, 1)))
    close(recording.read(sensors.Velocimeter("disc", place)), np.tile(TURN.R.T @ [0, 0.4 * rate, 0], (300, 1)))
    angle = recording.read(sensors.JointPosition("spindle", 0.5))
    close(angle[:, 0], 0.5 + rate * recording.time[1:])
    close(recording.read(sensors.JointVelocity("spindle")), np.full((300, 1), rate))
    out = np.stack([np.cos(angle[:, 0] - 0.5), np.sin(angle[:, 0] - 0.5), 0.0 * angle[:, 0]], axis=1)
    close(recording.read(sensors.FramePosition("disc", place)), 0.4 * out)
    close(recording.read(sensors.LinearVelocity("disc", place)), 0.4 * rate * np.cross((0, 0, 1), out))
    close(recording.read(sensors.AngularVelocity("disc", place)), np.tile([0, 0, rate], (300, 1)))
    turns = quaternion.to_matrix(recording.read(sensors.FrameOrientation("disc", place)))
    close(turns, recording.poses()[0][1:, 0] @ TURN.R)


def test_the_bob_of_a_pendulum_feels_its_rod_alone() -> None:
    """Along the rod L w^2 + g cos(angle), nothing across it; the hinge carries the same force, and no torque."""
    length, mass = 0.8, 2.0
    world = pendulum(1.2, 0.5, mass=mass, length=length).build()
    recording = simulate(world, TimeStepping(H), steps=400)
    angle, rate = recording.q[:-1, 0], recording.v[:-1, 0]
    along = length * rate**2 + G * np.cos(angle)
    wanted = np.stack([0.0 * along, 0.0 * along, along], axis=1)
    close(recording.read(sensors.Accelerometer("rod", Transform(p=(0, 0, -length)))), wanted, 1e-7)
    close(recording.read(sensors.JointForce("rod")), mass * wanted, 1e-7)
    close(recording.read(sensors.JointTorque("rod")), np.zeros((400, 3)))
    # About the bob the rod's force has no arm, at the hinge's side of it one.
    off = recording.read(sensors.JointTorque("rod", Transform(p=(0.1, 0, 0))))
    close(off[:, 1], 0.1 * mass * along, 1e-7)


def test_what_a_drive_does_is_in_the_torque_of_its_joint() -> None:
    """The drive presses the tip of a rod on a table: the reading includes the contact beyond the joint."""
    builder = WorldBuilder((0.0, 0.0, -G))
    model = ModelBuilder((0.0, 0.0, -G))
    rod = RigidInertia(1.0, (0.5, 0, 0), inertia=np.diag([0.01, 0.1, 0.1]))
    model.add_body("rod", joint=joints.Revolute((0, 1, 0)), inertia=rod, placement=Transform(p=(0, 0, 0.05)))
    tip = RigidInertia(0.5, (0, 0, 0.01), inertia=1e-3 * np.eye(3))
    model.add_body("tip", parent="rod", joint=joints.Fixed(), placement=Transform(p=(1, 0, 0)), inertia=tip)
    builder.add_model(model.build())
    builder.add_shape("tip", Sphere(0.05), Material(0.0))
    builder.add_half_space("table", HalfSpace(), Material(0.0))
    builder.add_drive(PositionDrive("rod", 0.3, 100.0, 1.0, name="press"))
    run = stepped(builder.build(), 50)
    normal = 30.0 + (0.5 * 1.0 + 1.0 * 0.5) * G
    close(run.read(sensors.ContactForce("tip", "table"))[2], normal, 1e-6)
    close(run.read(sensors.JointTorque("rod"))[1], 30.0, 1e-6)
    close(run.read(sensors.JointForce("rod"))[2], 1.5 * G - normal, 1e-6)
    close(run.read(sensors.JointForce("tip"))[2], 0.5 * G - normal, 1e-6)


def test_forces_of_contacts_balance_the_readings_of_accelerometers() -> None:
    """At the centre of mass m times the reading is the force, turned into the body, at every step, impacts included."""
    world = tumble()
    recording = simulate(world, TimeStepping(0.01), steps=120)
    rotations, _ = recording.poses()
    assert recording.force_on("tetrahedron").any()
    for i, body in enumerate(world.model.bodies):
        place = Transform(TURN.R, body.inertia.com)
        pushed = recording.read(sensors.ContactForce(body.name))
        close(pushed, recording.force_on(body.name))
        turned = np.einsum("nji,nj->ni", rotations[:-1, i] @ TURN.R, pushed)
        close(body.inertia.mass * recording.read(sensors.Accelerometer(body.name, place)), turned, 1e-7)


def test_noise_is_normal_and_of_seed_time_and_state_alone() -> None:
    """The deviation is right, independent in time, entry and seed; runs of a batch have the noise of single runs."""
    world, stepper = tumble(), TimeStepping(0.01)
    recording = simulate(world, stepper, steps=500)
    true, clear = recording.read(sensors.Gyroscope("cube")), sensors.Gyroscope("cube")
    first, second = (recording.read(sensors.Noisy(clear, (1.0, 2.0, 0.0), seed)) - true for seed in (0, 1))
    np.testing.assert_array_equal(first[:, 2], 0.0)
    np.testing.assert_allclose(first[:, :2].std(axis=0), (1.0, 2.0), rtol=0.15)
    np.testing.assert_allclose(first[:, :2].mean(axis=0), 0.0, atol=0.3)
    signals = (first[:-1, 0], first[1:, 0], first[:-1, 1], second[:-1, 0])
    assert np.abs(np.corrcoef(signals) - np.eye(4)).max() < 0.15
    sensor = sensors.Noisy(clear, 0.1, seed=5)
    starts = [world.initial_state(), world.initial_state(v=world.initial_v + 0.01)]
    for threads in (1, 2):
        batch = Batch(world, stepper, starts, threads=threads)
        batch.step(n=20)
        found = batch.read(sensor)
        for i, start in enumerate(starts):
            run = Simulation(world, stepper, start)
            run.step(n=20)
            np.testing.assert_array_equal(found[i], run.read(sensor))
            np.testing.assert_array_equal(found[i], run.read(sensor))
    errors = found - batch.read(clear)
    assert (errors[0] != errors[1]).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda one: sensors.Noisy(one, -1.0), "std.*must not be negative, got -1"),
        (lambda one: sensors.Noisy(one, 1.0, seed=-1), "seed.*-1"),
        (lambda one: sensors.Noisy("gyro", 1.0), "sensor.*measure.*str"),
        (lambda one: sensors.Clipped(one, 1.0, (0.0, 2.0, 3.0)), "low.*must not exceed high"),
        (lambda one: sensors.Clipped(one, 0.0, np.nan), "high.*nan"),
        (lambda one: sensors.StepView(tumble(), *2 * (np.zeros(1),)).read(sensors.Noisy(one, 1.0)), "time"),
    ],
)
def test_devices_that_cannot_be_are_refused(make, message: str) -> None:
    with pytest.raises(SimulationConfigError, match=message):
        make(sensors.Gyroscope("cube"))


def test_a_subtree_moves_as_its_momentum_says() -> None:
    """All of the world by the functions of the model; a body without mass has no centre."""
    world = tumble()
    run, everything = stepped(world, 3, 0.01), "world"
    close(run.read(sensors.SubtreeCenterOfMass(everything)), center_of_mass(world.model, run.q), 1e-14)
    velocity = run.read(sensors.SubtreeVelocity(everything))
    close(velocity, center_of_mass_velocity(world.model, run.q, run.v), 1e-13)
    close(run.read(sensors.SubtreeAngularMomentum(everything)), angular_momentum(world.model, run.q, run.v), 1e-13)
    builder = WorldBuilder()
    builder.add_fixed_body("step", Box.cube(0.1), Material(0.5))
    builder.add_free_body("ball", RigidInertia.solid_sphere(1.0, 0.1), Sphere(0.1), Material(0.5))
    with pytest.raises(SimulationConfigError, match="needs a mass, but 'step' and its descendants have none"):
        Simulation(builder.build(), TimeStepping(H)).read(sensors.SubtreeCenterOfMass("step"))


def test_forces_are_told_apart_by_body_half_space_and_shape() -> None:
    run = stepped(stack(), 5)
    world = run.world
    down, up = [0.0, 0.0, -G], [0.0, 0.0, G]
    close(run.read(sensors.ContactForce("high")), up)
    close(run.read(sensors.ContactForce("high", "low")), up)
    close(run.read(sensors.ContactForce("low", "high")), down)
    close(run.read(sensors.ContactForce("low")), [0, 0, 3 * G])
    close(run.read(sensors.ContactForce("low", "floor")), [0, 0, 4 * G])
    close(run.read(sensors.ContactForce("low", "world")), [0, 0, 4 * G])
    left, right, top = (world.surface_bodies.index(i) + k for i, k in ((0, 0), (0, 1), (1, 0)))
    close(run.read(sensors.ContactForce("low", shapes=(left, top))), down)
    close(run.read(sensors.ContactForce("low", shapes=(right, top))), np.zeros(3))
    share = [run.read(sensors.ContactWrench("low", "floor", (shape,))) for shape in (left, right)]
    # 1 kg stands 0.1 m left of the middle, so that the ground's reaction is 0.025 m left of it.
    close(share[0] + share[1], [0, 0.1 * G, 0, 0, 0, 4 * G])
    assert share[0][5] > share[1][5] > 0.0
    close(
        run.read(
            sensors.Touch(
                "low",
                Box(
                    (0.3, 0.3, 0.01),
                ),
            )
        ),
        [0.0],
    )
    below = PlacedShape(Box((0.3, 0.3, 0.01)), Transform(p=(0, 0, -0.15)))
    close(run.read(sensors.Touch("low", below)), [4 * G])
    close(run.read(sensors.Touch("low", PlacedShape(Sphere(0.2), Transform(p=(-0.1, 0, 0.1))))), [G])


def test_readings_of_a_kinematic_body() -> None:
    """Its pose and the contacts on it are known; velocities and accelerations are its motion's."""
    motion = Oscillation(Transform(p=(0, 0, -0.1)), (0.0, 0.0, 0.01), frequency=2.0)
    builder = WorldBuilder((0.0, 0.0, -G))
    builder.add_kinematic_body("shaker", Box((1, 1, 0.1)), Material(0.5), motion)
    builder.add_free_body(
        "box", RigidInertia.solid_box(1.0, (0.1,) * 3), Box.cube(0.1), Material(0.5), (0, 0, 0.1, 1, 0, 0, 0)
    )
    world = builder.build()
    recording, run = simulate(world, TimeStepping(H), 0.2), Simulation(world, TimeStepping(H))
    top = sensors.FramePosition("shaker", Transform(p=(0, 0, 0.1)))
    close(run.read(top), [0, 0, 0])
    down = sensors.RangeFinder("box", Transform.rotation((1, 0, 0), math.pi))
    run.step(n=20)
    for one in (top, down, sensors.ContactWrench("shaker", "box"), sensors.ContactForce("box")):
        np.testing.assert_array_equal(run.read(one), recording.read(one)[19])
    close(recording.read(top)[:, 2], 0.01 * np.sin(4.0 * math.pi * recording.time[1:]))
    close(recording.read(down), np.full((200, 1), 0.1), 1e-4)
    close(recording.read(sensors.ContactForce("shaker")), -recording.read(sensors.ContactForce("box")))
    for one in (sensors.Gyroscope("shaker"), sensors.Accelerometer("shaker")):
        with pytest.raises(SimulationConfigError, match="'shaker', which is kinematic"):
            run.read(one)
    alone = sensors.StepView(world, run.q, run.v)
    for one in (top, down):
        with pytest.raises(SimulationConfigError, match="motion is not known"):
            alone.read(one)


def test_a_sensor_of_ones_own_is_whatever_measures() -> None:
    class Height:
        def measure(self, view: sensors.StepView) -> np.ndarray:
            return view.pose("body", Transform())[1][..., 2:]

    run = stepped(dropped_ball(1.0), 3)
    assert run.read(Height()) == run.q[2:3]
    with pytest.raises(SimulationConfigError, match="measure"):
        run.read(3)


def test_what_cannot_be_read_says_why() -> None:
    run = Simulation(cube_at_rest(), TimeStepping(H))
    assert run.read(sensors.FramePosition("body"))[2] == 0.1
    for one in (sensors.Accelerometer("body"), sensors.ContactForce("body"), sensors.Touch("body", Sphere(1.0))):
        with pytest.raises(SimulationConfigError, match="none has been made"):
            run.read(one)
    # A wrong name is reported first.
    for wrong in (sensors.Accelerometer("bdoy"), sensors.ContactForce("bdoy"), sensors.JointForce("bdoy")):
        with pytest.raises(MultibodyError, match="'bdoy'; close: 'body'"):
            run.read(wrong)
    with pytest.raises(SimulationConfigError, match="other: no body or half-space is called 'groud'; close: 'ground'"):
        run.read(sensors.ContactWrench("body", "groud"))
    run.step()
    assert_messages(
        MultibodyError,
        ("'body'", lambda: run.read(sensors.Gyroscope("bdoy"))),
        ("no joint", lambda: run.read(sensors.JointPosition("elbow"))),
    )
    assert_messages(
        SimulationConfigError,
        ("'wall'", lambda: run.read(sensors.ContactForce("body", "wall"))),
        (
            r"'ground' is a half-space, .* ContactForce\('body', 'ground'\)",
            lambda: run.read(sensors.ContactForce("ground", "body")),
        ),
        (r"shapes: 7: the world has shapes 0 \.\. 0", lambda: run.read(sensors.ContactForce("body", shapes=(7,)))),
        ("zone", lambda: sensors.Touch("body", 0.1)),
        ("placement", lambda: sensors.Gyroscope("body", (0, 0, 1))),
        ("point", lambda: sensors.ContactWrench("body", point=(0, 0))),
        ("directions", lambda: sensors.RangeFinder("body", directions=(0, 0, 1))),
    )
    with pytest.raises(SpatialError):
        sensors.Gyroscope("body", Transform(p=(0, 0, math.nan)))
    with pytest.raises(SimulationConfigError, match="loops"):
        stepped(four_bar(), 1).read(sensors.JointForce("crank"))


def test_what_has_no_shape_touches_nothing_unless_it_is_told_to() -> None:
    """A bob without a shape, above a floor: the reading names what is missing; a contact of the caller's is read."""
    world = pendulum().build()
    run = stepped(world, 1)
    for one in (sensors.ContactForce("rod"), sensors.ContactWrench("rod"), sensors.Touch("rod", Sphere(1.0))):
        with pytest.raises(SimulationConfigError, match="body: 'rod' has no shape.*add_shape"):
            run.read(one)
    assert run.read(sensors.JointForce("rod")).shape == (3,)
    given = ExternalContact("world", "rod", (0, 0, -1), (0, 0, 1), 0.0, Material(0.5))
    recording = simulate(world, TimeStepping(H), steps=2, contacts=lambda t, q, v: [given])
    assert recording.read(sensors.ContactForce("rod")).shape == (2, 3)
    # Nor has what the caller's contacts have not come to yet.
    builder, foot = pendulum(), ModelBuilder((0.0, 0.0, -G))
    foot.add_body("foot", joint=joints.Revolute((0, 1, 0)), inertia=RigidInertia.solid_sphere(1.0, 0.1))
    builder.add_model(foot.build())
    recording = simulate(builder.build(), TimeStepping(H), steps=2, contacts=lambda t, q, v: [given])
    close(recording.read(sensors.ContactForce("foot")), np.zeros((2, 3)))
    close(recording.read(sensors.Touch("foot", Sphere(1.0))), np.zeros((2, 1)))
