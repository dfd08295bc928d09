"""Bad input is refused before anything is computed, with the field and the value named."""

import re

import numpy as np
import pytest
import simulation_scenes as scenes
from refusals import assert_fields, assert_messages, assert_named

import lcp
from contactlab.multibody.spatial import FieldError
from contactlab.simulation import (
    Box,
    HalfSpace,
    Material,
    RigidInertia,
    SimulationConfigError,
    StepperState,
    TimeStepping,
    WorldBuilder,
    simulate,
    step,
)

pytestmark = pytest.mark.nojit


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("h", 0.0),
        ("h", -1e-3),
        ("h", float("nan")),
        ("h", "fast"),
        ("edges", 7),
        ("edges", 2),
        ("edges", 8.5),
        ("margin", -1.0),
        ("margin", float("inf")),
        ("restitution_threshold", -0.1),
        ("erp", 1.5),
        ("tolerance", 0.0),
        ("warm_start", 3),
        ("solver", lcp.Lemke),
        ("solver", "lemke"),
        ("adaptive", 1),
        ("shrink_factor", 0.0),
        ("shrink_factor", 1.0),
        ("growth_factor", 0.9),
        ("growth_factor", float("inf")),
        ("h_min", 0.0),
        ("h_min", 1),
        ("cfm", -1.0),
        ("cfm", float("inf")),
        ("gyroscopic", "midpoint"),
    ],
)
def test_stepper_options(field, value):
    """Each option out of range."""
    said = "." if isinstance(value, type) else re.escape(str(value))
    assert_named(SimulationConfigError, field, said, lambda: TimeStepping(**{"h": 1e-3, field: value}))


def test_builder_stays_usable():
    """A refused call leaves no trace."""
    builder = WorldBuilder()
    cube = RigidInertia.solid_box(1.0, (0.1,) * 3)
    good = ("cube", cube, Box.cube(0.1), Material(0.5))
    with pytest.raises(SimulationConfigError, match="at least one body"):
        builder.build()
    assert_messages(
        FieldError,
        ("length 2,", lambda: builder.add_free_body(*good, q=(0, 0, 0, 2, 0, 0, 0))),
        (r"entry \[2\].*nan", lambda: builder.add_free_body(*good, v=(0, 0, np.nan, 0, 0, 0))),
    )
    assert_messages(
        SimulationConfigError,
        ("support_points", lambda: builder.add_free_body("cube", cube, "box", Material(0.5))),
        ("RigidInertia", lambda: builder.add_free_body("cube", np.eye(3), Box.cube(0.1), Material(0.5))),
    )
    builder.add_free_body(*good)
    assert_messages(
        SimulationConfigError,
        ("'cube' is used already", lambda: builder.add_free_body(*good)),
        ("HalfSpace", lambda: builder.add_half_space("ground", "floor", Material(0.5))),
        ("non-empty", lambda: builder.add_half_space("", HalfSpace(), Material(0.5))),
        ("gravity", lambda: WorldBuilder((0, 0))),
    )
    builder.add_half_space("ground", HalfSpace(), Material(0.5))
    world = builder.build()
    assert world.model.names == ("cube",)
    assert world.half_space_names == ("ground",)
    builder.add_half_space("second", HalfSpace(), Material(0.5))
    assert world.half_space_names == ("ground",)


def test_arguments_of_a_run():
    """Exactly one length, whole numbers, forces of the right shape."""
    world, stepper = scenes.cube_at_rest(), TimeStepping(1e-3)
    cases = [
        ({}, "duration"),
        ({"duration": 1.0, "steps": 3}, "duration"),
        ({"duration": -1.0}, "duration"),
        ({"duration": float("nan")}, "duration"),
        ({"steps": -1}, "steps"),
        ({"steps": 2.5}, "steps"),
        ({"steps": 3, "chunk_steps": 0}, "chunk_steps"),
        ({"steps": 3, "tau": np.zeros(5)}, "tau"),
        ({"steps": 3, "tau": [0, 0, np.inf, 0, 0, 0]}, "tau"),
        ({"steps": 3, "tau": lambda t, q, v: np.zeros(7)}, "tau"),
    ]
    for arguments, field in cases:
        with pytest.raises(SimulationConfigError) as caught:
            simulate(world, stepper, **arguments)
        assert caught.value.field.startswith(field)


def test_states():
    """A state that does not fit the world or the stepper."""
    world, stepper = scenes.cube_at_rest(), TimeStepping(1e-3, edges=8)
    start = world.initial_state(1e-3)
    assert_messages(
        FieldError,
        ("q", lambda: step(world, stepper, StepperState(q=np.zeros(6), v=start.v))),
        ("length 0,", lambda: world.initial_state(q=np.zeros(7))),
    )
    assert_messages(
        SimulationConfigError,
        ("v: entry", lambda: StepperState(q=start.q, v=[0, 0, np.nan, 0, 0, 0])),
        ("contact_ids", lambda: StepperState(q=start.q, v=start.v, contact_ids=np.array([2, 1]), z=np.zeros((2, 10)))),
        (
            "2 contact ids",
            lambda: StepperState(q=start.q, v=start.v, contact_ids=np.array([1, 2]), z=np.zeros((1, 10))),
        ),
    )
    other = StepperState(q=start.q, v=start.v, contact_ids=np.array([1]), z=np.zeros((1, 6)))
    with pytest.raises(SimulationConfigError, match="without_warm_start"):
        step(world, stepper, other)
    assert other.without_warm_start().contact_ids.size == 0


@pytest.mark.parametrize(
    ("points", "radii", "field"),
    [
        (np.zeros((1, 3)), np.zeros(3), "shape.points"),
        (np.zeros((2, 3)), np.zeros(1), "shape.points"),
        (np.full((1, 3), np.nan), np.zeros(1), "shape.points"),
        (np.zeros((1, 3)), np.array([np.nan]), "shape.radii"),
        (np.zeros((1, 3)), np.array([-0.01]), "shape.radii"),
        (np.zeros((0, 3)), np.zeros(0), "shape"),
    ],
)
def test_a_shape_of_the_users_own_is_checked(points, radii, field):
    """Support points and radii that do not fit together, or are not numbers, never reach the kernels."""

    class Own:
        def support_points(self):
            return points, radii

    builder = WorldBuilder()
    assert_fields(
        SimulationConfigError,
        (field, lambda: builder.add_free_body("own", RigidInertia.solid_sphere(1.0, 0.1), Own(), Material(0.5))),
    )
