"""The same scene in other units, or at another scale, has the same verdicts: lengths s, times sqrt(s), masses m."""

import functools
import warnings

import numpy as np
import pytest

from contactlab.simulation import (
    Box,
    Cylinder,
    HalfSpace,
    JointLimit,
    Material,
    ModelBuilder,
    PlacedShape,
    PositionDrive,
    Recording,
    RigidInertia,
    Sphere,
    TimeStepping,
    Transform,
    VelocityDrive,
    World,
    WorldBuilder,
    joints,
    simulate,
    verify,
)
from contactlab.simulation.verification.motion import shifting

# Of places in metres and angles, after some hundred steps with impacts.
FAR = 1e-6


def ground(mu: float = 0.5, e: float = 0.0) -> tuple[WorldBuilder, Material]:
    """Return a builder with a floor, and its material."""
    builder, material = WorldBuilder(), Material(mu, restitution=e)
    builder.add_half_space("floor", HalfSpace(), material)
    return builder, material


def heap(s: float, m: float, bodies: int = 4) -> World:
    """Boxes that fall on one another."""
    builder, material = ground()
    for k in range(bodies):
        half, a = (0.05 * s, 0.04 * s, 0.03 * s), 0.3 + k
        place = (0.01 * s * (k % 3), 0.008 * s * (k % 2), (0.06 + 0.1 * k) * s, np.cos(a), np.sin(a), 0, 0)
        builder.add_free_body(f"g{k}", RigidInertia.solid_box(0.5 * m, half), Box(half), material, q=place)
    return builder.build()


def stack(s: float, m: float) -> World:
    """Balls on a box, dropped, that bounce."""
    builder, material = ground(0.4, 0.6)
    half = (0.06 * s,) * 3
    builder.add_free_body("box", RigidInertia.solid_box(m, half), Box(half), material, q=(0, 0, 0.16 * s, 1, 0, 0, 0))
    for k in range(2):
        inertia = RigidInertia.solid_sphere(0.3 * m, 0.05 * s)
        place = (0.003 * s * k, 0, (0.29 + 0.12 * k) * s, 1, 0, 0, 0)
        builder.add_free_body(f"ball{k}", inertia, Sphere(0.05 * s), material, q=place)
    return builder.build()


def cam(s: float, m: float) -> World:
    """An eccentric cam that a drive turns, under a flat follower: rows of equations and contacts in one island."""
    builder, model, material = WorldBuilder(), ModelBuilder(), Material(0.2)
    inertia = RigidInertia(m, (0, 0, 0), 0.002 * m * s**2 * np.eye(3))
    model.add_body("cam", joint=joints.Revolute((0, 1, 0)), inertia=inertia)
    inertia = RigidInertia(0.5 * m, (0, 0, 0), 0.001 * m * s**2 * np.eye(3))
    model.add_body("follower", joint=joints.Prismatic((0, 0, 1)), inertia=inertia)
    builder.add_model(model.build(), [0.0, 0.07 * s])
    upright = Transform(np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0.0]]), (0.03 * s, 0, 0))
    builder.add_shape("cam", PlacedShape(Cylinder(0.06 * s, 0.02 * s), upright), material)
    builder.add_shape("follower", Box((0.15 * s, 0.03 * s, 0.01 * s)), material)
    builder.add_drive(VelocityDrive("cam", 6.0 / np.sqrt(s)))
    return builder.build()


def gripper(s: float, m: float) -> World:
    """Two fingers with bounded drives that squeeze a box, on a lift that has stops."""
    builder, material = ground(0.6)
    model, weight = ModelBuilder(), m  # newtons go with m, since accelerations stay
    inertia = RigidInertia(3 * m, (0, 0, 0), 0.05 * m * s**2 * np.eye(3))
    model.add_body("lift", joint=joints.Prismatic((0, 0, 1)), inertia=inertia)
    for sign, name in ((1, "left"), (-1, "right")):
        inertia = RigidInertia(0.5 * m, (0, 0, 0), 0.01 * m * s**2 * np.eye(3))
        place = Transform(p=(sign * 0.08 * s, 0, 0))
        model.add_body(name, parent="lift", joint=joints.Prismatic((-sign, 0, 0)), placement=place, inertia=inertia)
    builder.add_model(model.build(), [0.05 * s, 0, 0])
    stiff = weight / s
    damp = weight / np.sqrt(s)
    for name in ("left", "right"):
        builder.add_shape(name, Box((0.01 * s, 0.04 * s, 0.04 * s)), material)
        builder.add_drive(PositionDrive(name, 0.05 * s, 2000.0 * stiff, 200.0 * damp, max_force=40.0 * weight))
    builder.add_drive(PositionDrive("lift", 0.05 * s, 2e4 * stiff, 2e3 * damp, name="up"))
    builder.add_joint_limit(JointLimit("lift", 0.02 * s, 0.12 * s))
    half = (0.04 * s,) * 3
    builder.add_free_body(
        "box", RigidInertia.solid_box(0.2 * m, half), Box(half), material, q=(0, 0, half[2], 1, 0, 0, 0)
    )
    return builder.build()


def robot(s: float, m: float) -> World:
    """Two links with hinges, stops, dry friction and feet, that falls over."""
    builder, material = ground(0.7)
    model = ModelBuilder()
    trunk = RigidInertia.solid_box(2 * m, (0.1 * s, 0.06 * s, 0.04 * s))
    model.add_body("trunk", joint=joints.FloatingBase(), inertia=trunk)
    for sign, name in ((1, "front"), (-1, "back")):
        inertia = RigidInertia(0.4 * m, (0, 0, -0.08 * s), 0.001 * m * s**2 * np.eye(3))
        place = Transform(p=(sign * 0.09 * s, 0, -0.03 * s))
        model.add_body(name, parent="trunk", joint=joints.Revolute((0, 1, 0)), placement=place, inertia=inertia)
    builder.add_model(model.build(), [0, 0, 0.22 * s, np.cos(0.06), 0, np.sin(0.06), 0, -0.3, 0.2], prefix="r/")
    builder.add_shape("r/trunk", Box((0.1 * s, 0.06 * s, 0.04 * s)), material)
    for name in ("front", "back"):
        foot = PlacedShape(Sphere(0.03 * s), Transform(p=(0, 0, -0.15 * s)))
        builder.add_shape(f"r/{name}", foot, material)
        builder.add_joint_limit(JointLimit(f"r/{name}", -0.8, 0.8))
        builder.add_joint_friction(f"r/{name}", 0.05 * m * s)
    return builder.build()


SCENES = {
    "heap": (heap, {"h": 3e-3}, 120),
    "heap, cones": (functools.partial(heap, bodies=2), {"h": 3e-3, "friction": "cone"}, 120),
    "bounces": (stack, {"h": 2e-3}, 150),
    "cam": (cam, {"h": 2e-3}, 130),
    "gripper": (gripper, {"h": 2e-3}, 200),
    "robot": (robot, {"h": 2e-3}, 200),
}


@functools.cache
def run(scene: str, s: float, m: float) -> Recording:
    """Return the run of a scene at scale s, with masses m times as large."""
    world, options, steps = SCENES[scene]
    stepper = TimeStepping(**{**options, "h": options["h"] * np.sqrt(s)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return simulate(world(s, m), stepper, steps=steps)


@functools.cache
def check_run(scene: str, s: float, m: float) -> Recording:
    """Return the run of a scene; no island of it is uncertified, and `verify` holds."""
    record = run(scene, s, m)
    assert len(record.uncertified.step) == 0
    report = verify(record, every=3)
    assert report.holds, report.failures[:3]
    return record


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("s", [1e-3, *(pytest.param(s, marks=pytest.mark.slow) for s in (1e-2, 30.0)), 1e3])
def test_a_scaled_scene_has_the_verdicts_of_the_first(scene: str, s: float) -> None:
    """No island is uncertified, `verify` holds and the number of contacts is the same, at any scale."""
    first, other = check_run(scene, 1.0, 1.0), check_run(scene, s, s**3)
    assert other.stepper.margin == pytest.approx(s * first.stepper.margin)
    assert other.stepper.restitution_threshold == pytest.approx(np.sqrt(s) * first.stepper.restitution_threshold)
    assert other.rows["contact_step"].size == first.rows["contact_step"].size
    lengths = np.where(shifting(first.world.model)[0], s, 1.0)
    assert np.abs(other.q / lengths - first.q).max() < FAR


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("m", [1e-6, 1e6])
def test_other_masses_have_the_verdicts_of_the_first(scene: str, m: float) -> None:
    """Masses and forces a million times as large or as small leave motion and verdicts as they are."""
    first, other = run(scene, 1.0, 1.0), check_run(scene, 1.0, m)
    assert other.rows["contact_step"].size == first.rows["contact_step"].size
    assert np.abs(other.q - first.q).max() < FAR


def test_numbers_that_are_given_are_taken() -> None:
    """A stepper with a margin and a restitution_threshold has them in every world, for stops of angles as well."""
    stepper, world = TimeStepping(1e-3, margin=2e-3, restitution_threshold=0.0), heap(1.0, 1.0)
    assert stepper.in_world(world) is stepper
    assert stepper.thresholds == (2e-3, 0.0, 2e-3, 0.0)
    record = simulate(world, stepper, steps=1)
    assert (record.stepper.margin, record.stepper.restitution_threshold) == (2e-3, 0.0)


def test_the_defaults_follow_size_weight_and_step() -> None:
    """The margin is |g| h^2 within a hundredth and a tenth of the thinnest body, the threshold is 1.02 |g| h."""
    world = heap(1.0, 1.0)  # 6 cm thick
    for h, margin in ((1e-3, 6e-4), (0.015, 9.81 * 0.015**2), (0.1, 6e-3)):
        found = TimeStepping(h).in_world(world)
        assert found.margin == pytest.approx(margin)
        assert found.restitution_threshold == pytest.approx(1.02 * 9.81 * h)
        assert found.angle_margin == 1e-3
        assert found.angle_restitution_threshold == pytest.approx(1.02 * 9.81 * h / 0.6)
