"""Derivatives of steps and of event-driven runs that there are not: errors that name the field, or the state."""

from __future__ import annotations

import dataclasses
from dataclasses import replace

import joint_scenes
import numpy as np
import pytest
import simulation_scenes as scenes
from custom_constraints import Pin
from derivative_scenes import bounded_drives
from linearization_worlds import HALF, H, cube

from contactlab.contact import Box, Material, Sphere
from contactlab.simulation import (
    EventDriven,
    Simulation,
    SimulationConfigError,
    SimulationError,
    TimeStepping,
    WorldBuilder,
    linearize,
    transition,
)
from contactlab.spatial import RigidInertia


def test_what_is_wrong_with_one_of_several_states_names_it():
    """A state of another world, one that is none and one whose step fails, by number; the first where several are."""
    world, stepper = cube(1.0), TimeStepping(H)
    good, other = world.initial_state(), bounded_drives().world.initial_state()
    with pytest.raises(SimulationConfigError, match="state 3: ") as caught:
        linearize(world, stepper, [good, good, good, other, good, other])
    assert caught.value.field == "state.q"
    for error, message, call in (
        (SimulationConfigError, "state 1: must be a StepperState", lambda: linearize(world, stepper, [good, None])),
        (SimulationConfigError, "tau", lambda: linearize(world, stepper, [good] * 2, np.zeros(6))),
        (SimulationError, "^state 1: ", lambda: linearize(world, stepper, [good, replace(good, v=np.full(6, 1e200))])),
    ):
        with pytest.raises(error, match=message):
            call()


def test_what_cannot_be_differentiated_says_so():
    """Arguments of other shapes and custom constraints: errors with their field."""
    world, stepper = cube(), TimeStepping(H)
    state = world.initial_state()
    found = linearize(world, stepper, state)
    for call, field in (
        (lambda: linearize(world, stepper, state, np.zeros(5)), "tau"),
        (lambda: linearize(world, stepper, state, targets={"arm": 1.0}), "targets"),
        (lambda: linearize(world, stepper, None), "state"),
        (lambda: linearize(world, "stepper", state), "stepper"),
        (lambda: found.jvp(np.zeros(6)), "dx"),
        (lambda: found.jvp(np.zeros(12), np.zeros(12)), "du"),
        (lambda: found.directional(np.zeros(11)), "dx"),
        (lambda: found.vjp(np.full(12, np.nan)), "w"),
        (lambda: Simulation(world, stepper).linearize(np.zeros(7)), "tau"),
    ):
        with pytest.raises(SimulationConfigError) as caught:
            call()
        assert caught.value.field == field
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
    for wrt in ("mu", ("stiffness",), ("mu", "mu")):
        with pytest.raises(SimulationConfigError) as caught:
            transition(recording, wrt)
        assert caught.value.field == "wrt"
    with pytest.raises(SimulationConfigError, match="course"):
        transition(dataclasses.replace(recording, course=None))
    found = transition(recording)
    for call in (lambda: found.vjp(np.ones(12), "mu"), lambda: found.jvp(np.ones(3)), lambda: found.vjp(np.ones(13))):
        with pytest.raises(SimulationConfigError):
            call()
