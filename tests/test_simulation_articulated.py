"""Articulated bodies in the compiled step: links, hinges and fixed bases, next to free bodies."""

import dataclasses

import numpy as np
import pytest
from every_joint import model_with_every_joint
from refusals import assert_fields

from contactlab.multibody import body_pose
from contactlab.multibody.joints import Composite, EulerZYX, Fixed, FloatingBase, Prismatic, Revolute, Spherical
from contactlab.simulation import (
    Box,
    HalfSpace,
    Material,
    Model,
    ModelBuilder,
    RigidInertia,
    SimulationConfigError,
    Sphere,
    TimeStepping,
    Transform,
    World,
    WorldBuilder,
    simulate,
    verify,
)

G = 9.81
ROD = RigidInertia.solid_box(1.2, (0.02, 0.02, 0.25))
BALL = RigidInertia.solid_sphere(0.4, 0.1)


def pendulum(restitution: float = 0.0) -> World:
    """Two rods below a hinge that is fixed to the world, a ball at the lower end, falling onto the ground."""
    model = ModelBuilder()
    model.add_body("stand", joint=Fixed(), placement=Transform(p=(0.0, 0.0, 1.0)))
    model.add_body("upper", parent="stand", joint=Revolute((0, 1, 0)), inertia=ROD)
    model.add_body(
        "lower", parent="upper", joint=Revolute((0, 1, 0.2)), placement=Transform(p=(0, 0, -0.6)), inertia=ROD
    )
    model.add_body("ball", parent="lower", joint=Fixed(), placement=Transform(p=(0, 0, -0.6)), inertia=BALL)
    builder = WorldBuilder()
    builder.add_half_space("ground", HalfSpace(), Material(0.4, restitution))
    builder.add_model(model.build(), q=(1.0, 0.7), v=(0.5, -1.0))
    builder.add_shape("ball", Sphere(0.1), Material(0.4, restitution))
    return builder.build()


def hinged_pair() -> World:
    """A thrown pair of boxes joined by a hinge."""
    box = RigidInertia.solid_box(0.8, (0.15, 0.1, 0.05))
    model = ModelBuilder()
    model.add_body("left", joint=FloatingBase(), inertia=box)
    model.add_body("right", parent="left", joint=Revolute((0, 1, 0)), placement=Transform(p=(0.2, 0, 0)), inertia=box)
    builder, rough = WorldBuilder(), Material(0.5, 0.2)
    builder.add_half_space("ground", HalfSpace((0.1, 0.0, 1.0), 0.0), rough)
    start = np.array([0.0, 0.0, 0.4, 0.9, 0.1, -0.3, 0.3, 0.5])
    start[3:7] /= np.linalg.norm(start[3:7])
    builder.add_model(model.build(), q=start, v=(1.0, 0.2, -1.0, 2.0, -3.0, 1.0, 4.0))
    builder.add_shape("left", Box((0.15, 0.1, 0.05)), rough)
    builder.add_shape("right", Box((0.15, 0.1, 0.05)), rough)
    return builder.build()


def crowd() -> World:
    """Trees of every make, their bodies mixed, and a free cube: sorted by tree when the world is built."""
    model, tilted = ModelBuilder(), Transform.rotation((1, 0, 0), 0.2, (2.0, 0.0, 0.4))
    model.add_body(
        "crane", joint=Composite([Prismatic((1, 0, 0)), Revolute((0, 0, 1))]), placement=tilted, inertia=BALL
    )
    model.add_body("top", joint=Spherical(), placement=Transform(p=(-2, 0, 0.22)), inertia=ROD)
    model.add_body("hook", parent="crane", joint=EulerZYX(), placement=Transform(p=(0, 0.4, -0.1)), inertia=ROD)
    model.add_body("base", joint=FloatingBase(), inertia=BALL)
    model.add_body("weight", parent="hook", joint=Fixed(), placement=Transform(p=(0, 0, -0.3)), inertia=BALL)
    model.add_body("leg", parent="base", joint=Revolute((1, 1, 0)), placement=Transform(p=(0, 0.1, 0)), inertia=ROD)
    builder, rough = WorldBuilder(), Material(0.5, 0.1)
    builder.add_half_space("ground", HalfSpace(), rough)
    built = model.build()
    q = built.neutral.copy()
    q[built.q_slice("base")][:3] = (0.0, 1.0, 0.3)
    q[built.q_slice("hook")] = (0.3, 0.4, 0.2)
    q[built.q_slice("top")] = (np.cos(0.55), np.sin(0.55), 0.0, 0.0)
    v = np.zeros(built.nv)
    v[built.v_slice("base")] = (0.5, 0.0, -1.0, 1.0, 2.0, 3.0)
    builder.add_model(built, q, v, prefix="my ")
    for name, shape in (("top", Box((0.02, 0.02, 0.25))), ("weight", Sphere(0.1)), ("leg", Box((0.02, 0.02, 0.25)))):
        builder.add_shape(f"my {name}", shape, rough)
    cube = RigidInertia.solid_box(1.0, (0.1, 0.1, 0.1))
    builder.add_free_body("cube", cube, Box.cube(0.1), rough, (0, -1, 0.15, 1, 0, 0, 0), (1, 0, 0, 0, 2, 0))
    return builder.build()


WORLDS = {"pendulum": pendulum, "hinged pair": hinged_pair, "crowd": crowd}


@pytest.mark.nojit
def test_a_hinged_rod_leans_on_its_end_with_half_its_weight():
    """Moments about the hinge: m g L/2 = N L, at rest on a ball under the free end."""
    length, h = 0.8, 1e-3
    rod = RigidInertia(1.5, (0.5 * length, 0.0, 0.0), inertia=np.diag([1e-4, 0.08, 0.08]))
    model = ModelBuilder().add_body("rod", joint=Revolute((0, 1, 0)), placement=Transform(p=(0, 0, 0.1)), inertia=rod)
    builder = WorldBuilder()
    builder.add_half_space("ground", HalfSpace(), Material(0.0))
    builder.add_model(model.build())
    builder.add_shape("rod", Sphere(0.1, (length, 0.0, 0.0)), Material(0.0))
    recording = simulate(builder.build(), TimeStepping(h, edges=4), steps=4)
    np.testing.assert_allclose(recording.contacts.impulse_normal, 0.5 * h * 1.5 * G, rtol=1e-9)
    np.testing.assert_allclose(recording.q[:, 0], 0.0, atol=1e-12)


@pytest.mark.nojit
def test_a_carriage_stops_at_a_wall_with_all_it_carries():
    """Frictionless and inelastic, the first impulse takes the whole momentum along the rail; the load hangs on."""
    model = ModelBuilder((0, 0, 0))
    model.add_body("carriage", joint=Prismatic((1, 0, 0)), inertia=RigidInertia.solid_box(2.0, (0.1, 0.1, 0.1)))
    model.add_body("load", parent="carriage", joint=Fixed(), inertia=RigidInertia.solid_box(3.0, (0.1, 0.1, 0.1)))
    builder = WorldBuilder((0, 0, 0))
    builder.add_half_space("wall", HalfSpace((-1, 0, 0), -0.1), Material(0.0, 0.5))
    builder.add_model(model.build(), v=[2.0])
    builder.add_shape("load", Sphere(0.1), Material(0.0, 0.5))
    recording = simulate(builder.build(), TimeStepping(1e-3, edges=4), steps=1)
    assert recording.v[1, 0] == pytest.approx(-1.0, rel=1e-12)
    assert recording.contacts.impulse_normal.sum() == pytest.approx(5.0 * 3.0, rel=1e-12)


def test_a_crowd_is_sorted_by_tree_and_keeps_its_start():
    """Bodies of one tree stand together; names, starts and poses are those given."""
    world = crowd()
    model = world.model
    assert model.names == ("my crane", "my hook", "my weight", "my top", "my base", "my leg", "cube")
    assert world.body_trees.tolist() == [0, 0, 0, 1, 2, 2, 3]
    assert world.tree_starts.tolist() == [0, 5, 8, 15, 21]
    assert world.initial_q[model.q_slice("my hook")].tolist() == [0.3, 0.4, 0.2]
    assert world.initial_q[model.q_slice("cube")].tolist() == [0, -1, 0.15, 1, 0, 0, 0]
    recording = simulate(world, TimeStepping(1e-3), 0.4)
    assert recording.islands.max() >= 3
    R, p = recording.poses()
    for i, name in enumerate(model.names):
        pose = body_pose(model, recording.q[-1], name)
        assert np.array_equal(pose.R, R[-1, i])
        assert np.array_equal(pose.p, p[-1, i])
    touching = recording.contacts.body_b
    step = int(recording.contacts.step[touching == 5][0])
    island = int(recording.contacts_at(step).island[recording.contacts_at(step).body_b == 5][0])
    assert recording.bodies(step, island).tolist() == [4, 5]
    assert recording.dofs(step, island).tolist() == list(range(8, 15))


def interleaved() -> Model:
    """Two hinged chains whose bodies alternate."""
    builder = ModelBuilder()
    for name, parent in (("a", "world"), ("b", "world"), ("a2", "a"), ("b2", "b")):
        builder.add_body(name, parent=parent, joint=Revolute(), inertia=BALL)
    return builder.build()


@pytest.mark.nojit
def test_models_that_cannot_be_stepped_are_refused():
    """Another gravity, names taken, bodies unknown or shaped twice, trees mixed in a world built by hand."""
    builder, model = WorldBuilder(), pendulum().model
    builder.add_model(model)
    before = builder.build()
    assert_fields(
        SimulationConfigError,
        ("model", lambda: builder.add_model(ModelBuilder((0, 0, 0)).build())),
        ("name", lambda: builder.add_model(model)),
        ("model", lambda: builder.add_model(BALL)),
        ("name", lambda: builder.add_model(ModelBuilder().add_body("ld", joint=Fixed()).build(), prefix="wor")),
        ("prefix", lambda: builder.add_model(model, prefix=3)),
        ("body", lambda: builder.add_shape("tail", Sphere(0.1), Material(0.5))),
        ("shape", lambda: builder.add_shape("ball", "round", Material(0.5))),
        ("model", lambda: dataclasses.replace(before, model=interleaved())),
    )
    assert builder.build().model.names == before.model.names
    builder.add_shape("ball", Sphere(0.1), Material(0.5))
    with pytest.raises(SimulationConfigError, match="'a2' is not"):
        dataclasses.replace(before, model=interleaved())


def test_a_replaced_model_is_what_the_world_steps_and_what_does_not_fit_is_refused():
    """Another gravity, verified; starts, lists and numbers of bodies that contradict it raise, by name."""
    world = pendulum()
    moon = dataclasses.replace(world, model=dataclasses.replace(world.model, gravity=(0, 0, -1.6)))
    recording = simulate(moon, TimeStepping(1e-3), steps=300)
    assert np.abs(recording.ledger.residual).max() < 1e-9
    assert verify(recording, every=50).holds
    assert_fields(
        SimulationConfigError,
        ("initial_q", lambda: dataclasses.replace(world, initial_q=world.initial_q[:-1])),
        ("initial_v", lambda: dataclasses.replace(world, initial_v=np.append(world.initial_v, 0.0))),
        ("half_space_names", lambda: dataclasses.replace(world, half_space_names=("floor", "wall", "roof"))),
        ("half_space_filters", lambda: dataclasses.replace(world, half_space_filters=((1, 1),) * 7)),
        ("surface_bodies", lambda: dataclasses.replace(world, surface_bodies=(0,) * 9)),
        ("model", lambda: dataclasses.replace(world, excluded_pairs=((0, 44),))),
    )


@pytest.mark.nojit
def test_a_world_in_which_nothing_moves_stands_still():
    """With bodies fixed to the world only, steps run, nothing touches, and the energy is constant."""
    builder = WorldBuilder()
    builder.add_half_space("ground", HalfSpace(), Material(0.5))
    builder.add_model(ModelBuilder().add_body("post", joint=Fixed(), inertia=BALL).build())
    builder.add_shape("post", Sphere(0.1), Material(0.5))
    recording = simulate(builder.build(), TimeStepping(1e-2), steps=2)
    assert recording.time[-1] == pytest.approx(2e-2)
    assert len(recording.contacts) == 0
    assert not recording.ledger.change.any()


def test_custom_joints_are_refused():
    """The loop cannot evaluate them; the error says so."""
    every = model_with_every_joint()
    with pytest.raises(SimulationConfigError, match="custom"):
        WorldBuilder(every.gravity).add_model(every)


@pytest.mark.nojit
def test_what_is_fixed_to_the_world_touches_nothing():
    """A shape on a stand does not meet the ground; the ball that moves, away from both, does."""
    model = ModelBuilder()
    model.add_body("stand", joint=Fixed(), placement=Transform(p=(0, 0, 0.05)), inertia=BALL)
    model.add_body("ball", joint=FloatingBase(), placement=Transform(p=(1, 0, 0.1)), inertia=BALL)
    builder = WorldBuilder()
    builder.add_half_space("ground", HalfSpace(), Material(0.5))
    builder.add_model(model.build())
    for name in ("stand", "ball"):
        builder.add_shape(name, Sphere(0.1), Material(0.5))
    recording = simulate(builder.build(), TimeStepping(1e-3, edges=4), steps=3)
    assert recording.contacts.body_b.tolist() == [1, 1, 1]
    assert recording.potential[0] == pytest.approx(0.4 * G * (0.05 + 0.1), rel=1e-12)
