"""Derivatives of steps by numbers of the world agree with differences and closed forms; the refusals."""

import dataclasses
import re
from dataclasses import replace
from functools import partial

import joint_scenes
import numpy as np
import pytest
import simulation_scenes as scenes
from custom_constraints import Pin
from derivative_scenes import MOTIONS, bounded_drives, soft_floor, tumbling_cube
from linearization_worlds import HALF, G, H, assert_parameters_agree, cube
from refusals import assert_fields, assert_named

from contactlab.collision import PowerLaw
from contactlab.derivatives import Parameter, linearize, parameter
from contactlab.event_driven import EventDriven, transition
from contactlab.simulation import (
    Box,
    HalfSpace,
    Material,
    ModelBuilder,
    PositionDrive,
    RigidInertia,
    SimulationConfigError,
    Sphere,
    TimeStepping,
    VelocityDrive,
    WorldBuilder,
    joints,
)


def smooth_states(motion, stepper, count, of):
    """Some states with no kink near, with contacts."""
    found = 0
    for state in motion.states(stepper, 60):
        linear = linearize(motion.world, stepper, state, None, motion.targets_at(state.time))
        if linear.forces.any() and all(kink.state_distance > 2e-5 for kink in linear.kinks):
            yield state
            found += 1
        if found == count:
            break
    assert found, of


def ball(v=(0, 0, 0), *, height=0.0, material=None, floor=None):
    """A ball of 2 kg that cannot turn, above a floor."""
    gravity = (0, 0, -G)
    model, mass = ModelBuilder(gravity), RigidInertia(2.0, (0, 0, 0), inertia=np.eye(3))
    model.add_body("ball", joint=joints.TranslationXYZ(), inertia=mass)
    builder = WorldBuilder(gravity, **joint_scenes.FAST)
    builder.add_model(model.build(), [0, 0, 0.1 + height], list(v))
    builder.add_shape("ball", Sphere(0.1), material or Material(0.5))
    builder.add_half_space("floor", HalfSpace(), floor or material or Material(0.5))
    return builder.build()


INERTIA = ["mass", "com_x", "com_y", "com_z", "I_xx", "I_yy", "I_zz", "I_xy", "I_xz", "I_yz"]


@pytest.mark.parametrize("friction", ["pyramid", "cone"])
def test_materials_and_inertia_of_a_tumbling_cube(friction):
    """Friction, restitution, mass, centre, moments and gravity of a cube in contact: as differences of worlds."""
    motion = tumbling_cube()
    stepper = motion.stepper(friction)
    wrt = ["cube.mu", "floor.mu", "*.mu", *(f"cube.{name}" for name in INERTIA), "gravity.x", "gravity.y", "gravity.z"]
    for state in smooth_states(motion, stepper, 3, "cube"):
        assert_parameters_agree(motion.world, stepper, state, wrt, tolerance=1e-5 if friction == "cone" else 1e-6)


def test_materials_between_bodies():
    """Friction and masses of two balls on one another: as differences of worlds."""
    motion = MOTIONS["two spheres"]()
    wrt = ["upper.mu", "lower.mu", "floor.mu", "*.mu", "upper.mass", "lower.mass", "upper.com_x"]
    for friction in ("pyramid", "cone"):
        stepper = motion.stepper(friction)
        for state in smooth_states(motion, stepper, 2, "two spheres"):
            assert_parameters_agree(motion.world, stepper, state, wrt, tolerance=1e-5)


def test_springs_of_surfaces():
    """Stiffness and dissipation of a soft floor, for one material and for all: as differences of worlds."""
    motion = soft_floor()
    stepper = motion.stepper()
    wrt = [f"{owner}.{name}" for owner in ("brick", "floor", "*") for name in ("stiffness", "dissipation")]
    for state in smooth_states(motion, stepper, 3, "brick"):
        found = assert_parameters_agree(motion.world, stepper, state, wrt)
        assert found.parameters["*.stiffness"].any()


@pytest.mark.nojit
def test_restitution_of_a_power_law():
    """v+ = -e (v / u)^-p v: by v, and by e as a parameter of the user's own."""
    law, v = PowerLaw(0.5, speed=1.0), 2.0

    def world_of(e):
        return ball((0, 0, -v), height=1e-4, material=Material(0.5, PowerLaw(e, speed=1.0)))

    world = world_of(0.5)
    own = Parameter("e at 1 m/s", 0.5, world_of)
    found = linearize(world, TimeStepping(H, erp=1.0), world.initial_state(), wrt=[own])
    assert found.next.v[2] == pytest.approx(law.at(v) * v, rel=1e-9)
    assert found.A[5, 5] == pytest.approx(-0.75 * law.at(v), rel=1e-6)
    assert found.parameters["e at 1 m/s"][5] == pytest.approx(v * law.at(v) / 0.5, rel=1e-6)
    with pytest.raises(SimulationConfigError, match="not finite"):
        linearize(world, TimeStepping(H), world.initial_state(), wrt=["ball.restitution"])


def arm(q=(0.2, 0.3), v=(0.0, 1.0)):
    """Two links with damping, dry friction, drives with and without bounds, and a soft stop."""
    model, link = ModelBuilder(), RigidInertia(0.5, (0.2, 0.0, 0.0), inertia=np.diag([1e-3, 8e-3, 8e-3]))
    model.add_body("upper", joint=joints.Revolute((0, 1, 0)), inertia=link)
    model.add_body("lower", parent="upper", joint=joints.Revolute((0, 1, 0)), inertia=link)
    builder = WorldBuilder(**joint_scenes.FAST)
    builder.add_model(model.build(), list(q), list(v))
    builder.add_joint_damping("upper", 0.3)
    builder.add_joint_friction("lower", 0.05)
    builder.add_drive(PositionDrive("upper", 0.4, 20.0, 1.0, name="servo"))
    builder.add_drive(PositionDrive("lower", 0.1, 30.0, 2.0, max_force=50.0, name="bounded"))
    builder.add_drive(VelocityDrive("upper", 0.3, max_force=0.2, name="weak"))
    return builder.build()


def test_joints_and_drives():
    """Damping, dry friction, gains, bounds and wanted speeds: as differences of worlds, and none without effect."""
    world, stepper = arm(), TimeStepping(H)
    wrt = ["upper.damping", "lower.friction", "servo.stiffness", "servo.damping", "bounded.stiffness"]
    wrt += ["bounded.damping", "bounded.target_velocity", "bounded.max_force", "weak.max_force", "upper.mass"]
    found = assert_parameters_agree(world, stepper, world.initial_state(), wrt)
    assert not found.parameters["bounded.max_force"].any()
    for name in wrt:
        assert name == "bounded.max_force" or found.parameters[name].any(), name


def test_drives_at_their_bounds_in_motion():
    """An arm whose drives are too weak now and then: gains and bounds, along its motion."""
    motion = bounded_drives()
    stepper = motion.stepper()
    names = [drive.name for drive in motion.world.joint_actions.drives]
    wrt = [f"{name}.{quantity}" for name in names for quantity in ("stiffness", "damping", "max_force")]
    acting = np.zeros(len(wrt))
    for state in motion.states(stepper, 12):
        targets = motion.targets_at(state.time)
        if all(kink.state_distance > 5e-5 for kink in linearize(motion.world, stepper, state, None, targets).kinks):
            found = assert_parameters_agree(motion.world, stepper, state, wrt, targets)
            acting += [found.parameters[name].any() for name in wrt]
    assert acting.all()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cubes.mu", "'cube'"),
        ("cube.mass_of", "'mass_of'"),
        ("floor.mass", "'floor.mass'"),
        ("mu", "names no body"),
        ("cub.damping", "cube"),
        ("cube.damping", "add_joint_damping"),
        ("cube.stiffness", "not finite"),
        ("sevro.mass", "'servo'"),
        ("*.mass", "names no body"),
        ("*.mu", "several"),
        ("weak.stiffness", "VelocityDrive has no stiffness"),
        ("weak.max_force", "not finite"),
        ("gravity.w", "gravity"),
    ],
)
def test_unknown_names_are_refused_with_close_ones(name, text):
    """Names of nothing, quantities that an owner has not, numbers that are none: errors about `wrt` that help."""
    builder = joint_scenes.cart()
    builder.add_half_space("floor", HalfSpace(), Material(0.5))
    inertia = RigidInertia.solid_box(1.0, HALF)
    builder.add_free_body("cube", inertia, Box(HALF), Material(0.3), (0, 0, 1, 1, 0, 0, 0))
    builder.add_drive(PositionDrive("cart", 0.4, 20.0, 1.0, name="servo"))
    builder.add_drive(VelocityDrive("cart", 0.3, name="weak"))
    world = replace(builder.build(), model=builder.build().model)
    assert_named(SimulationConfigError, "wrt", re.escape(text), lambda: parameter(world, name))


def test_what_cannot_be_differentiated_says_so():
    """Arguments of other shapes and custom constraints: errors with their field."""
    world, stepper = cube(), TimeStepping(H)
    state = world.initial_state()
    found = linearize(world, stepper, state)
    assert_fields(
        SimulationConfigError,
        ("tau", lambda: linearize(world, stepper, state, np.zeros(5))),
        ("targets", lambda: linearize(world, stepper, state, targets={"arm": 1.0})),
        ("state", lambda: linearize(world, stepper, None)),
        ("stepper", lambda: linearize(world, "stepper", state)),
        ("dx", lambda: found.jvp(np.zeros(6))),
        ("du", lambda: found.jvp(np.zeros(12), np.zeros(12))),
        ("dx", lambda: found.directional(np.zeros(11))),
        ("w", lambda: found.vjp(np.full(12, np.nan))),
        ("tau", lambda: linearize(world, stepper, state, np.zeros(7))),
    )
    builder = WorldBuilder(**joint_scenes.FAST)
    inertia = RigidInertia.solid_box(1.0, HALF)
    for name, x in (("a", 0.0), ("b", 0.0)):
        builder.add_free_body(name, inertia, Box(HALF), Material(0.3), (x, 0, 1, 1, 0, 0, 0))
    builder.add_loop(Pin("a", "b"), bodies=("a", "b"))
    bound = builder.build()
    with pytest.raises(SimulationConfigError, match="custom constraints"):
        linearize(bound, stepper, bound.initial_state())


def test_runs_that_cannot_be_differentiated_are_refused():
    """Parameters and recordings that are none name the field."""
    inertia = RigidInertia(1.0, inertia=0.4 * 0.1**2 * np.eye(3))
    falls = scenes.one_body(Sphere(0.1), inertia, mu=0.0, q=(0, 0, 0.3, 1, 0, 0, 0), v=(0,) * 6, restitution=1.0)
    recording = EventDriven().run(falls, 0.1)
    refused = (("wrt", partial(transition, recording, wrt)) for wrt in ("mu", ("stiffness",), ("mu", "mu")))
    assert_fields(SimulationConfigError, *refused)
    with pytest.raises(SimulationConfigError, match="course"):
        transition(dataclasses.replace(recording, course=None))
    found = transition(recording)
    for call in (lambda: found.vjp(np.ones(12), "mu"), lambda: found.jvp(np.ones(3)), lambda: found.vjp(np.ones(13))):
        with pytest.raises(SimulationConfigError):
            call()
