"""The loop can stop anywhere and go on: same bits however the work is cut up."""

from __future__ import annotations

import numpy as np
import pytest
import simulation_scenes as scenes
from record_runs import same

import lcp
from contactlab.contact import ConvexPoints, HalfSpace, Material
from contactlab.simulation import TimeStepping, WorldBuilder, simulate
from contactlab.spatial import RigidInertia
from contactlab.stepping import memory
from contactlab.stepping.kernels.layout import PIVOT_BUDGET


@pytest.mark.parametrize("chunk_steps", [1, 7, 1000])
def test_chunks_do_not_change_the_record(chunk_steps):
    """The loop returns after every chunk and is entered again."""
    world, stepper = scenes.tumble(), TimeStepping(2e-3)
    assert same(simulate(world, stepper, steps=300), simulate(world, stepper, steps=300, chunk_steps=chunk_steps))


def test_buffers_grow_without_a_trace(monkeypatch):
    """A run that starts with room for one contact asks for more in mid-step and gives the same bits."""
    world, stepper = scenes.tumble(), TimeStepping(2e-3)
    roomy = simulate(world, stepper, steps=300)
    monkeypatch.setattr(memory, "FIRST_CONTACTS", 1)
    monkeypatch.setattr(memory, "FIRST_ISLAND_CONTACTS", 1)
    assert same(roomy, simulate(world, stepper, steps=300, chunk_steps=5))


def plates(count, points):
    """Flat round plates lying side by side on the ground, each with so many points on its rim."""
    angles = 2 * np.pi * np.arange(points) / points
    rim = np.column_stack([0.3 * np.cos(angles), 0.3 * np.sin(angles), np.full(points, -0.02)])
    builder = WorldBuilder()
    builder.add_half_space("ground", HalfSpace(), Material(0.4))
    for i in range(count):
        plate = RigidInertia(1.0, inertia=np.diag([0.02, 0.02, 0.04]))
        builder.add_free_body(f"plate {i}", plate, ConvexPoints(rim), Material(0.4), (i, 0, 0.02, 1, 0, 0, 0))
    return builder.build()


def test_many_contacts_at_once():
    """Three plates with 30 points each: more contacts than the first buffers hold."""
    recording = simulate(plates(3, 30), TimeStepping(1e-3, edges=4), steps=3)
    assert len(recording.contacts) == 3 * 90
    assert recording.worst_certificate().scaled <= 1e-9
    assert np.abs(recording.v).max() < 1e-12


def test_a_long_solve_pauses_and_goes_on():
    """More pivots than one entry of the loop spends: the loop returns in mid-solve, without effect on the record."""
    world = plates(1, 100)
    state = world.initial_state(v=(0.5, 0.2, -1.0, 1.0, 2.0, 8.0))
    inside = simulate(world, TimeStepping(1e-3, solver=lcp.Lemke()), steps=2, state=state)
    assert inside.pivots.max() > PIVOT_BUDGET
    assert same(inside, simulate(world, TimeStepping(1e-3, solver=scenes.Outside()), steps=2, state=state))


def test_a_step_leaves_its_state_alone():
    """States are values: stepping twice from one gives the same twice."""
    world, stepper = scenes.tumble(), TimeStepping(2e-3)
    state = simulate(world, stepper, steps=100).state(100)
    before = state.q.copy()
    first, second = stepper.step(world, state).state, stepper.step(world, state).state
    assert np.array_equal(first.q, second.q)
    assert np.array_equal(state.q, before)
    with pytest.raises(ValueError, match="read-only"):
        state.q[0] = 1.0


@pytest.mark.nojit
def test_force_from_a_function_equals_the_constant_one():
    """A callable is asked at the start of every step, with the state there."""
    world, stepper = scenes.block(0.3), TimeStepping(1e-3, edges=4)
    push = np.array([8.0, 0, 0, 0, 0, 0])
    asked = []

    def controller(t, q, v):
        asked.append((t, q.copy(), v.copy()))
        q[:] = np.nan  # the function has its own copies
        return push

    constant = simulate(world, stepper, steps=4, tau=push)
    called = simulate(world, stepper, steps=4, tau=controller)
    assert same(constant, called)
    assert len(asked) == 4
    assert [t for t, _, _ in asked] == list(constant.time[:4])
    assert np.array_equal(np.array([v for _, _, v in asked]), constant.v[:4])
    assert np.array_equal(constant.rows["tau"], np.tile(push, (4, 1)))
    # 8 N against mu m g = 5.886 N.
    assert constant.v[-1, 0] == pytest.approx(4e-3 * (8.0 - 0.3 * 2 * scenes.G) / 2.0, rel=1e-9)


def test_recorded_force_takes_part_in_the_problem():
    """`problem` poses the step with the force of that step."""
    world, stepper = scenes.block(0.3), TimeStepping(1e-3)
    recording = simulate(world, stepper, steps=20, tau=lambda t, q, v: (500.0 * t, 0, 0, 0, 0, 0))
    data = recording.problem(15)
    assert data.Mv[0] == 2.0 * recording.v[15, 0] + 1e-3 * (500.0 * recording.time[15])
