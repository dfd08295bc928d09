"""Shapes of bodies in a world: several of them, fixed ones, filters, and what is refused."""

import numpy as np
import pytest
from body_contact_scenes import BALL, CUBE, ROUGH
from refusals import assert_fields, assert_messages

from contactlab.multibody.joints import Fixed, FloatingBase, Revolute
from contactlab.simulation import (
    Box,
    Capsule,
    ConvexPoints,
    Cylinder,
    HalfSpace,
    HeightField,
    Material,
    ModelBuilder,
    PlacedShape,
    Recording,
    SimulationConfigError,
    Sphere,
    TimeStepping,
    Transform,
    WorldBuilder,
    simulate,
    step,
    verify,
)
from contactlab.simulation.stepping.prepared import world_arrays

G = 9.81
REST = (0, 0, 0.1, 1, 0, 0, 0)


def resting(builder, name="body", steps=50):
    """Run from rest and return the recording; nothing may have moved."""
    recording = simulate(builder.build(), TimeStepping(1e-3, edges=4), steps=steps)
    assert np.abs(recording.v).max() <= 1e-9
    weight = recording.world.model.bodies[recording.world.model.names.index(name)].inertia.mass * G
    assert recording.force_on(name)[-1] == pytest.approx([0, 0, weight], abs=1e-8)
    return recording


@pytest.mark.parametrize(
    ("shape", "height"),
    [
        (Sphere(0.1), 0.1),
        (Box.cube(0.1), 0.1),
        (Cylinder(0.1, 0.2), 0.2),
        (ConvexPoints(0.1 * np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])), 0.1),
        ([PlacedShape(Capsule(0.1, 0.2), Transform.rotation((1, 0, 0), np.pi / 2))], 0.1),
        ([PlacedShape(Sphere(0.1), Transform(p=(x, y, 0.0))) for x, y in ((0.2, 0), (-0.2, 0.2), (-0.2, -0.2))], 0.1),
    ],
)
@pytest.mark.parametrize("ground", ["half-space", "fixed box", "fixed half-space", "height field"])
def test_every_shape_rests_on_every_ground(shape, height, ground):
    """The contacts carry its weight, and it does not move."""
    builder = WorldBuilder()
    if ground == "half-space":
        builder.add_half_space("ground", HalfSpace(), ROUGH)
    elif ground == "fixed box":
        builder.add_fixed_body("ground", Box((2, 2, 0.5)), ROUGH, Transform(p=(0, 0, -0.5)))
    elif ground == "fixed half-space":
        builder.add_fixed_body("ground", HalfSpace(), ROUGH)
    else:
        builder.add_fixed_body("ground", HeightField(np.zeros((3, 3)), 1.0), ROUGH, Transform(p=(-1, -1, 0)))
    builder.add_free_body("body", CUBE, shape, ROUGH, (0, 0, height, 1, 0, 0, 0))
    recording = resting(builder)
    assert np.all(recording.contacts.normal[:, 2] == pytest.approx(1.0))
    assert set(recording.contacts.body_a) == ({-1} if ground == "half-space" else {0})
    assert set(recording.contacts.half_space) == ({0} if ground == "half-space" else {-1})


def test_placed_shapes_have_materials_and_numbers_of_their_own():
    """A body on an icy and on a rough foot: each contact has the mu of its foot, and shape_b names the foot."""
    builder = WorldBuilder()
    builder.add_half_space("ground", HalfSpace(), Material(1.0))
    model = ModelBuilder()
    model.add_body("body", joint=FloatingBase(), inertia=CUBE)
    builder.add_model(model.build(), REST)
    for y, mu in ((-0.3, 0.04), (0.3, 0.64)):
        builder.add_shape("body", Box.cube(0.1), Material(mu), placement=Transform(p=(0.0, y, 0.0)))
    recording = resting(builder)
    rows = recording.contacts_at(0)
    assert rows.mu == pytest.approx(np.where(rows.shape_b == 0, 0.2, 0.8))
    assert sorted(rows.shape_b) == [0] * 4 + [1] * 4
    assert np.all((rows.point[:, 1] > 0) == (rows.shape_b == 1))


def touching(builder):
    """Whether balls that overlap meet: contacts between bodies in one step."""
    world = builder.build()
    result = step(world, TimeStepping(1e-3, edges=4), world.initial_state())
    return bool(np.any(result.contacts.body_a >= 0)), world


@pytest.mark.nojit
def test_filters():
    """All bodies touch by default; not those that ignore each other, nor in a world without such contacts."""

    def balls(**options):
        builder = WorldBuilder(**options)
        for name, x in (("a", 0.0), ("b", 0.15)):
            builder.add_free_body(name, BALL, Sphere(0.1), ROUGH, (x, 0, 0, 1, 0, 0, 0))
        return builder

    assert touching(balls())[0]
    ignoring = balls()
    ignoring.exclude_collision("b", "a")
    for builder in (ignoring, balls(body_contacts=False)):
        meets, world = touching(builder)
        assert not meets
        assert world_arrays(world).collision is None
    with pytest.raises(SimulationConfigError, match="'c'"):
        ignoring.exclude_collision("a", "c")


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("joints", "meet"),
    [((FloatingBase(), Fixed()), set()), ((Fixed(), Fixed()), set()), ((FloatingBase(), Revolute((0, 0, 1))), set())],
)
def test_bodies_that_hang_together_do_not_touch(joints, meet):
    """Those of one weld, fixed to the world or not, and those that a joint joins; a third body touches both."""
    model = ModelBuilder()
    model.add_body("a", joint=joints[0], inertia=BALL)
    model.add_body("b", parent="a", joint=joints[1], placement=Transform(p=(0.1, 0, 0)), inertia=BALL)
    builder = WorldBuilder()
    builder.add_model(model.build())
    for name in "ab":
        builder.add_shape(name, Sphere(0.1), ROUGH)
    assert world_arrays(builder.build()).collision is None
    builder.add_free_body("c", BALL, Sphere(0.1), ROUGH, (0.05, 0.15, 0, 1, 0, 0, 0))
    world = builder.build()
    rows = step(world, TimeStepping(1e-3, edges=4), world.initial_state()).contacts
    assert {(int(a), int(b)) for a, b in zip(rows.body_a, rows.body_b, strict=True)} == {(0, 2), (1, 2)} | meet


def test_a_shape_of_the_users_own_touches_half_spaces_alone():
    """Its support points say nothing of its surface."""

    class Own:
        def support_points(self):
            return np.array([[0.0, 0.0, -0.1], [0.05, 0.0, -0.1], [0.0, 0.05, -0.1]]), np.zeros(3)

    builder = WorldBuilder()
    builder.add_half_space("ground", HalfSpace(), ROUGH)
    builder.add_free_body("own", BALL, Own(), ROUGH, REST)
    builder.add_free_body("ball", BALL, Sphere(0.1), ROUGH, REST)
    assert world_arrays(builder.build()).collision is None


def test_reduced_contacts_with_half_spaces_are_four_of_each_shape():
    """A puck of 40 points in two layers, on the ground and in a corner, verifies and comes to rest."""
    angles = 2 * np.pi * np.arange(20) / 20
    disc = ConvexPoints([(0.1 * np.cos(a), 0.1 * np.sin(a), z) for z in (-0.1, 0.1) for a in angles])
    builder = WorldBuilder()
    builder.add_half_space("ground", HalfSpace(), ROUGH)
    builder.add_half_space("wall", HalfSpace((-1, 0, 0), -1.1), Material(0.0))
    aside = PlacedShape(Box.cube(0.05), Transform(p=(0.0, 0.0, 0.15)))
    q, push = (0.9995, 0, 0.1005, 1, 0, 0, 0), (1.0, 0, 0, 0, 0, 0)
    builder.add_free_body("puck", CUBE, [disc, aside], ROUGH, q, push)
    counts, rests = {}, {}
    for reduce in (False, True):
        recording = simulate(builder.build(), TimeStepping(1e-3, edges=4, reduce_contacts=reduce), steps=200)
        last = recording.contacts_at(199)
        counts[reduce] = int(np.sum(last.half_space == 0))
        assert recording.force_on("puck")[-1] == pytest.approx([0, 0, G], abs=1e-6)
        assert verify(recording, every=20).holds
        rests[reduce] = recording.q[-1]
        assert np.ptp(last.point[last.half_space == 0], axis=0)[:2].min() > 0.15
    assert counts == {False: 20, True: 4}
    assert rests[True] == pytest.approx(rests[False], abs=1e-6)


@pytest.mark.nojit
def test_what_is_refused():
    """Grounds that would move, and objects that are not shapes, are refused; the builder is unchanged."""
    builder = WorldBuilder()
    cases = [([], "empty"), ([Sphere(0.1), 3], "int")]
    for shape, said in cases:
        with pytest.raises(SimulationConfigError, match=said) as caught:
            builder.add_free_body("body", BALL, shape, ROUGH)
        assert caught.value.field == "shape"
    for ground in (HeightField(np.zeros((2, 2)), 1.0), HalfSpace()):
        moving = WorldBuilder()
        moving.add_free_body("body", BALL, ground, ROUGH)
        with pytest.raises(SimulationConfigError, match="'body' moves"):
            moving.build()
    builder.add_fixed_body("table", Box.cube(1.0), ROUGH)
    assert_messages(
        SimulationConfigError,
        ("placement", lambda: builder.add_shape("table", Sphere(0.1), ROUGH, placement=(0, 0, 1))),
        ("reduce_contacts", lambda: TimeStepping(1e-3, reduce_contacts=2)),
    )


ALL = 0xFFFFFFFF


def world(first=(1, ALL), second=(1, ALL), ground=(1, ALL), shape=None):
    """A ball above another on the ground."""
    builder = WorldBuilder()
    builder.add_half_space("ground", HalfSpace(), ROUGH, category=ground[0], mask=ground[1])
    own = Sphere(0.1) if shape is None else shape
    for name, z, (category, mask) in (("low", 0.1, first), ("high", 0.3, second)):
        builder.add_free_body(name, BALL, own, ROUGH, (0, 0, z, 1, 0, 0, 0), category=category, mask=mask)
    return builder.build()


def heights(made, steps=60):
    """Where both are in the end."""
    recording = simulate(made, TimeStepping(1e-3), steps=steps)
    assert verify(recording, every=20).holds
    return recording.q[-1, [2, 9]]


FALLEN = 0.5 * 9.81 * 0.06**2


@pytest.mark.parametrize("shape", [Sphere(0.1), Cylinder(0.1, 0.1)], ids=["sphere", "cylinder"])
@pytest.mark.parametrize(
    ("first", "second", "ground", "expected"),
    [
        ((1, ALL), (1, ALL), (1, ALL), (0.1, 0.3)),
        ((1, ALL), (2, 4), (4, ALL), (0.1, 0.3 - FALLEN)),
        ((1, ALL & ~2), (2, ALL), (1, ALL), (0.1, 0.3 - FALLEN)),
        ((8, ALL), (1, ALL), (1, ALL & ~8), (0.1 - FALLEN, 0.3 - FALLEN)),
        ((1, 0), (1, ALL), (1, ALL), (0.1 - FALLEN, 0.3 - FALLEN)),
    ],
)
def test_a_pair_needs_both_masks(first, second, ground, expected, shape):
    """Filters of bodies, and of a body and a half-space: bodies that do not collide fall freely.

    A cylinder's contacts with the ground come from the narrow phase.
    """
    # The step is first order: a free fall is off by g h t / 2.
    assert heights(world(first, second, ground, shape)) == pytest.approx(expected, abs=4e-4)


def test_several_shapes_of_a_body_have_filters_of_their_own(tmp_path):
    """A body rests on the one of its shapes that may touch the ground; a file keeps that."""
    builder = WorldBuilder()
    builder.add_half_space("ground", HalfSpace(), ROUGH, category=2, mask=2)
    builder.add_free_body("body", BALL, Sphere(0.2), ROUGH, (0, 0, 0.1, 1, 0, 0, 0))
    builder.add_shape("body", Capsule(0.05, 0.05), ROUGH, category=2, mask=2)
    made = builder.build()
    recording = simulate(made, TimeStepping(1e-3), steps=20)
    assert recording.q[-1, 2] == pytest.approx(0.1, abs=1e-9)
    recording.save(tmp_path / "filters.npz")
    opened = Recording.open(tmp_path / "filters.npz")
    assert opened.world.half_space_filters == ((2, 2),)
    assert [(s.category, s.mask) for s in opened.world.surfaces] == [(1, ALL), (2, 2)]
    assert np.array_equal(simulate(opened.world, opened.stepper, steps=20).q, recording.q)


@pytest.mark.parametrize(
    ("category", "mask", "field"), [(-1, 1, "category"), (1, 1 << 32, "mask"), (0.5, 1, "category")]
)
def test_filters_are_checked(category, mask, field):
    """32 bits, whole numbers."""
    builder = WorldBuilder()
    assert_fields(
        SimulationConfigError,
        (field, lambda: builder.add_fixed_body("table", Box.cube(1.0), ROUGH, category=category, mask=mask)),
        (field, lambda: builder.add_half_space("ground", HalfSpace(), ROUGH, category=category, mask=mask)),
    )
