"""Forces of bodies at rest, or that slide, are held without a system solved where they are surely those selected."""

from dataclasses import replace

import numpy as np
import pytest

from contactlab.simulation import (
    Box,
    HalfSpace,
    Material,
    RigidInertia,
    Simulation,
    TimeStepping,
    World,
    WorldBuilder,
    simulate,
    verify,
)
from lcp.contacts.strategies import RECORDED


def boxes_at_rest(count: int) -> World:
    """Boxes of 1 kg, one on the other."""
    builder, material, half = WorldBuilder(), Material(mu=0.5), (0.1, 0.1, 0.1)
    builder.add_half_space("floor", HalfSpace(), material)
    for i in range(count):
        inertia = RigidInertia.solid_box(1.0, half)
        builder.add_free_body(f"box {i}", inertia, Box(half), material, q=(0, 0, 0.1 + 0.2 * i, 1, 0, 0, 0))
    return builder.build()


def one_box(*, slope: float = 0.0, mu: float = 0.5, sunk: float = 0.0, turn: tuple[float, float] = (0.0, 0.0)) -> World:
    """A box of 1 kg on a slope about y, or on a level floor, sunk and turned a little about x and y."""
    builder, material, half = WorldBuilder(), Material(mu), (0.1, 0.1, 0.1)
    up = np.array([np.sin(slope), 0.0, np.cos(slope)])
    builder.add_half_space("floor", HalfSpace(up), material)
    quaternion = np.array([1.0, 0.5 * turn[0], np.tan(0.5 * slope) + 0.5 * turn[1], 0.0])
    q = (*((0.1 - sunk) * up), *(quaternion / np.linalg.norm(quaternion)))
    builder.add_free_body("box", RigidInertia.solid_box(1.0, half), Box(half), material, q)
    return builder.build()


def contradicting() -> World:
    """Three corners as deep as rounding may leave them, the fourth above the floor by what it would tilt the box."""
    return one_box(sunk=4e-9, turn=(2e-11, 4e-8))


WORLDS = (boxes_at_rest(1), boxes_at_rest(3), one_box(slope=0.35, mu=0.2), contradicting())


@pytest.mark.parametrize("world", WORLDS, ids=["box", "boxes", "slides", "contradicts"])
def test_where_a_run_is_resumed_does_not_show(world: World) -> None:
    """Values kept from step to step are not part of the state: from any state steps have the same bits and counts."""
    stepper = TimeStepping(2e-3)
    whole = simulate(world, stepper, steps=80)
    begun = simulate(world, stepper, steps=60)
    rest = simulate(world, stepper, state=begun.state(60), steps=20)
    for name in ("q", "v"):
        np.testing.assert_array_equal(whole.rows[name][60:], rest.rows[name])
    for name in ("contact_impulse", "contact_z"):
        np.testing.assert_array_equal(whole.rows[name][-len(rest.rows[name]) :], rest.rows[name])
    for name in ("island_attempt", "island_systems"):
        np.testing.assert_array_equal(whole.rows[name][-20:], rest.rows[name])
    assert verify(whole).holds


def test_forces_that_solve_the_problem_but_are_not_those_selected_are_not_held() -> None:
    """A self-stress between the corners of a box changes no motion, and is gone in the next step."""
    run = Simulation(boxes_at_rest(1), TimeStepping(2e-3))
    run.step(n=50)
    state = run.state
    x, y = run.contacts.point[:, 0], run.contacts.point[:, 1]
    z = np.array(state.z)
    quarter = 9.81 / 4.0
    np.testing.assert_allclose(z[:, 0], quarter, rtol=1e-9)
    for share in (1e-3, 0.3):
        strained = z.copy()
        strained[:, 0] += share * quarter * np.sign(x * y)
        run.reset(replace(state, z=strained))
        run.step()
        np.testing.assert_allclose(run.state.z[:, 0], quarter, rtol=1e-9)


@pytest.mark.parametrize("count", [2, 3])
def test_what_has_drifted_from_rounding_is_not_turned_round(count: int) -> None:
    """Boxes at rest are solved for now and then, not in every other step, and the public path has the same bits."""
    stepper = TimeStepping(2e-3)
    recording = simulate(boxes_at_rest(count), stepper, steps=300)
    anew = np.flatnonzero(recording.rows["island_attempt"] != 1 + RECORDED.index("reuse"))
    later = anew[anew >= 100]
    assert 0 < later.size <= 25
    assert np.abs(recording.v[100:]).max() < 1e-14
    for i in later:
        found = stepper.constraint_solver.solve_discretized_problem(
            recording.problem(i), stepper.h, z0=recording.warm_start(i)
        )
        np.testing.assert_array_equal(found.result.z, recording.z(i))
        np.testing.assert_array_equal(found.v_plus, recording.v_plus(i))
    assert verify(recording).holds


def test_forces_between_gaps_that_contradict_one_another_are_held() -> None:
    """They are looked for once; a box that stands on two corners is held, with half of its weight on each."""
    recording = simulate(contradicting(), TimeStepping(2e-3), steps=100)
    answered = recording.certificates.count_by_strategy()
    assert answered["active_set"] + answered["interior_point"] <= 3
    assert answered["reuse"] >= 95
    last = recording.contacts.impulse_normal[-4:]
    np.testing.assert_allclose(np.sort(last), 9.81 * 2e-3 * np.array([0.0, 0.0, 0.5, 0.5]), atol=1e-9)
    assert np.abs(recording.v[5:]).max() < 1e-12
    assert verify(recording).holds


def test_a_box_that_slides_has_the_acceleration_of_friction() -> None:
    """g (sin - mu cos), forces held or not; half a step in which nothing pulls is none."""
    slope, mu, h = 0.35, 0.2, 2e-3
    recording = simulate(one_box(slope=slope, mu=mu), TimeStepping(h), steps=200)
    down = recording.v[-1, 0] * np.cos(slope) - recording.v[-1, 2] * np.sin(slope)
    np.testing.assert_allclose(down, 9.81 * (np.sin(slope) - mu * np.cos(slope)) * 200 * h, rtol=1e-9)
    assert recording.certificates.count_by_strategy()["reuse"] > 100
    assert verify(recording).holds
