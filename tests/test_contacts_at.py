"""Contacts of a configuration without a step: those that a step sees there, and those that geometry says."""

import numpy as np
import pytest
from body_contact_scenes import ball_on_a_moving_box, capsule_on_a_cylinder, collision_in_space, pendulum_and_box, stack

from contactlab.simulation import (
    OPEN,
    Box,
    ConstantVelocity,
    HalfSpace,
    Material,
    RigidInertia,
    SimulationConfigError,
    Sphere,
    TimeStepping,
    Transform,
    WorldBuilder,
    find_contacts,
    simulate,
    step,
)

FOUND = ("island", "body_a", "body_b", "half_space", "id", "shape_a", "shape_b", "point", "normal", "gap", "mu")
SOLVED = (
    "impulse",
    "impulse_normal",
    "impulse_tangential",
    "slip",
    "projection_multiplier",
    "projection_multiplier_tangential",
    "gap_correction",
    "moment",
)
BALL = RigidInertia.solid_sphere(0.5, 0.1)


@pytest.mark.parametrize(
    "world",
    [stack(3), ball_on_a_moving_box(), capsule_on_a_cylinder(), pendulum_and_box(), collision_in_space()],
    ids=["stack", "ball", "capsule", "pendulum", "space"],
)
def test_they_are_what_a_step_from_there_sees(world):
    """Bit for bit, of the states of a run; the step sees what comes nearer within it, too, and far ends."""
    stepper, met = TimeStepping(2e-3, edges=4, margin=0.02), 0
    run = simulate(world, stepper, steps=200)
    for i in range(200):
        seen, found = run.contacts_at(i), find_contacts(world, run.q[i], within=stepper.margin)
        near = seen.rows((seen.gap <= stepper.margin) & np.isin(seen.id, found.id))
        met += len(found)
        for name in FOUND if len(near) == len(seen) else FOUND[1:]:
            assert np.array_equal(getattr(found, name), getattr(near, name)), (i, name)
        assert all(np.isnan(getattr(found, name)).all() for name in SOLVED)
        assert np.all(found.mode == OPEN)
    assert met > 0


def test_of_resting_bodies_they_are_all_that_the_next_step_takes():
    """Without velocities the two rules agree, also islands and restitution."""
    world = stack(3)
    result = step(world, TimeStepping(1e-3), world.initial_state())
    found = find_contacts(world, world.initial_q)
    for name in (*FOUND, "restitution"):
        assert np.array_equal(getattr(found, name), getattr(result.contacts, name)), name


def balls(gap: float):
    """Two balls over a floor, one above the other, each the gap away from what is below it."""
    builder = WorldBuilder()
    builder.add_half_space("floor", HalfSpace(), Material(0.5))
    for i in range(2):
        builder.add_free_body(
            f"ball {i}", BALL, Sphere(0.1), Material(0.2), (0, 0, 0.1 + gap + i * (0.2 + gap), 1, 0, 0, 0)
        )
    return builder.build()


@pytest.mark.parametrize("gap", [0.02, 0.0, -0.01])
def test_gaps_points_and_normals_are_those_of_two_balls(gap):
    """Where they are, and which way: into the upper one, seen from below."""
    world = balls(gap)
    found = find_contacts(world, world.initial_q, within=0.03)
    between, ground = found.between("ball 0", "ball 1").table, found.between("floor", "ball 0").table
    assert len(found) == 2
    np.testing.assert_allclose(found.gap, gap, atol=1e-15)
    np.testing.assert_allclose(found.normal, [[0, 0, 1]] * 2, atol=1e-15)
    np.testing.assert_allclose(between.point, [[0, 0, 0.2 + 1.5 * gap]], atol=1e-15)
    np.testing.assert_allclose(ground.point, [[0, 0, gap]], atol=1e-15)
    np.testing.assert_allclose([*between.mu, *ground.mu], [0.2, np.sqrt(0.1)])
    assert np.isnan(found.between("ball 0", "ball 1").force_on("ball 1")).all()
    assert len(find_contacts(world, world.initial_q, within=0.019)) == (0 if gap > 0.019 else 2)
    # Another q than the world's own, which stays as it was.
    apart = world.initial_q.copy()
    apart[9] += 1.0
    assert len(find_contacts(world, apart, within=0.03)) == 1
    assert len(find_contacts(world, world.initial_q, within=0.03)) == 2


def test_more_contacts_than_there_is_room_for_at_first():
    """Forty boxes lie flat: a hundred and sixty corners."""
    builder = WorldBuilder()
    builder.add_half_space("floor", HalfSpace(), Material(0.5))
    half = (0.1, 0.1, 0.1)
    for i in range(40):
        start = (float(i), 0, 0.1, 1, 0, 0, 0)
        builder.add_free_body(f"box {i}", RigidInertia.solid_box(1.0, half), Box(half), Material(0.5), start)
    world = builder.build()
    found = find_contacts(world, world.initial_q)
    assert len(found) == 160
    assert np.array_equal(found.island, np.repeat(np.arange(40), 4))


def test_kinematic_bodies_stand_where_the_time_says():
    """A plate that rises at 1 m/s is under the ball at 0.5 s, and not before."""
    builder = WorldBuilder()
    rise = ConstantVelocity(Transform(p=(0, 0, -0.5)), velocity=(0, 0, 1))
    builder.add_kinematic_body("plate", Box((1, 1, 0.1)), Material(0.5), rise)
    builder.add_free_body("ball", BALL, Sphere(0.1), Material(0.5), (0, 0, 0.2, 1, 0, 0, 0))
    world = builder.build()
    assert len(find_contacts(world, world.initial_q)) == 0
    np.testing.assert_allclose(find_contacts(world, world.initial_q, time=0.5).gap, 0.0, atol=1e-15)


@pytest.mark.parametrize(
    ("arguments", "field", "said"),
    [
        ({"q": [0.0] * 13}, "q", "13"),
        ({"q": [np.nan] * 14}, "q", "nan"),
        ({"within": -0.25}, "within", "-0.25"),
        ({"within": np.inf}, "within", "inf"),
        ({"time": np.nan}, "time", "nan"),
        ({"reduce": 2}, "reduce", "2"),
        ({"world": "floor"}, "world", "str"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(arguments, field, said):
    world = balls(0.0)
    with pytest.raises(SimulationConfigError) as caught:
        find_contacts(**({"world": world, "q": world.initial_q} | arguments))
    assert caught.value.field == field
    assert said in str(caught.value)
