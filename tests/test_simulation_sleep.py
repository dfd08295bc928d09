"""Islands at rest sleep: held bit for bit, left out of the work, and woken by what should wake them."""

import numpy as np
import pytest
from refusals import assert_fields
from scene_texts import CUBE, write

from contactlab.simulation import (
    Box,
    HalfSpace,
    Material,
    Motion,
    Recording,
    RigidInertia,
    SimulationConfigError,
    Sleep,
    Sphere,
    StepperState,
    TimeStepping,
    Transform,
    WorldBuilder,
    simulate,
    verify,
)
from contactlab.simulation.scene import SceneError, load_scene

H = 2e-3
SLEEPY = TimeStepping(H, sleep=Sleep(speed=1e-3, time=0.02))
CUBE_INERTIA = RigidInertia.solid_box(1.0, (0.1,) * 3)


def cube(builder, name, x, z=0.1, v=(0.0,) * 6):
    """A cube of 1 kg."""
    builder.add_free_body(name, CUBE_INERTIA, Box.cube(0.1), Material(0.5), (x, 0, z, 1, 0, 0, 0), v)


def piles(count=4, *, ball=None):
    """Stacks of two cubes a metre apart on the ground; a ball, where one is given, that rolls with the velocity."""
    builder = WorldBuilder()
    builder.add_half_space("ground", HalfSpace(), Material(0.5))
    for i in range(count):
        cube(builder, f"low {i}", float(i))
        cube(builder, f"high {i}", float(i), 0.3)
    if ball is not None:
        inertia = RigidInertia.solid_sphere(1.0, 0.1)
        start = (-0.5, 0, 0.1, 1, 0, 0, 0)
        builder.add_free_body("ball", inertia, Sphere(0.1), Material(0.5), start, (ball, 0, 0, 0, ball / 0.1, 0))
    return builder.build()


def test_what_rests_long_enough_is_held_to_the_bit_and_costs_nothing():
    """Eight cubes sleep after 0.02 s: no contact, no island, no change of a bit."""
    recording = simulate(piles(), SLEEPY, 0.2)
    first = int(np.argmax(recording.asleep.all(axis=1)))
    # Ten steps of 2 ms add up to 20 ms, or to a bit less.
    assert first in (10, 11)
    assert recording.asleep[first:].all()
    assert np.all(recording.q[first + 1 :] == recording.q[first])
    assert not recording.v[first + 1 :].any()
    assert recording.contacts.step.max() == first - 1
    assert recording.islands[first:].sum() == 0
    assert recording.islands[:first].tolist() == [4] * first
    assert verify(recording).holds
    assert np.abs(recording.ledger.residual).max() < 1e-12


def test_a_body_that_comes_wakes_the_pile_it_touches_and_no_other():
    """The ball hits the first stack; the others sleep on."""
    recording = simulate(piles(3, ball=2.0), SLEEPY, 0.4)
    names = recording.world.model.names
    columns = {name: recording.asleep[:, i] for i, name in enumerate(names)}
    hit = int(np.argmax(np.abs(recording.v[1:, 0]) > 0.1))
    assert columns["low 0"][hit - 10]
    assert not columns["low 0"][hit : hit + 5].any()
    assert not columns["high 0"][hit : hit + 5].any()
    assert columns["low 1"][20:].all()
    assert not columns["ball"].any()
    assert verify(recording, every=5).holds
    assert np.abs(recording.ledger.residual).max() < 1e-12
    without = simulate(piles(3, ball=2.0), TimeStepping(H), 0.4)
    np.testing.assert_allclose(recording.q, without.q, rtol=0, atol=1e-7)
    assert recording.pivots.sum() + len(recording.contacts) < 0.5 * (without.pivots.sum() + len(without.contacts))


def test_a_changed_force_wakes_and_a_constant_one_does_not():
    """Friction holds 2 N; the change to 2 N wakes the cube for as long as it takes to rest again; 8 N move it."""
    builder = WorldBuilder()
    builder.add_half_space("ground", HalfSpace(), Material(0.5))
    cube(builder, "cube", 0.0)

    def push(t, q, v):
        return [0.0 if t < 0.1 else (2.0 if t < 0.2 else 8.0), 0, 0, 0, 0, 0]

    recording = simulate(builder.build(), SLEEPY, 0.3, tau=push)
    asleep = recording.asleep[:, 0]
    at = (45, 51, 75, 95, 125)
    assert [bool(asleep[i]) for i in at] == [True, False, True, True, False]
    assert recording.v[-1, 0] > 0.2
    assert verify(recording).holds
    assert np.abs(recording.ledger.residual).max() < 1e-13


def test_a_plate_that_sets_out_wakes_what_lies_on_it():
    """It moves from 0.1 s on; before, the cube on it sleeps."""
    builder = WorldBuilder()

    def told(t):
        late = max(t - 0.1, 0.0)
        return Transform(p=(0.5 * late**2, 0, -0.1)), (0, 0, 0, late, 0, 0)

    builder.add_kinematic_body("plate", Box((1, 1, 0.1)), Material(0.5), Motion(told))
    cube(builder, "cube", 0.0)
    recording = simulate(builder.build(), SLEEPY, 0.2)
    asleep = recording.asleep[:, 1]
    assert asleep[40]
    assert not asleep[51:].any()
    assert recording.v[-1, 0] == pytest.approx(0.1, rel=0.05)
    assert verify(recording).holds


def test_what_did_not_rest_may_not_sleep():
    """The verification counts the rest."""
    recording = simulate(piles(1), SLEEPY, 0.1)
    rows = dict(recording.rows)
    rows["rest"] = 0.5 * rows["rest"]
    report = verify(Recording(recording.world, recording.stepper, rows))
    assert "sleep" in {failure.condition for failure in report.failures}


def test_scenes_and_bad_values(tmp_path):
    """Named by field."""
    text = CUBE.replace("h = 2e-3", "h = 2e-3\nsleep = { speed = 0.01, time = 0.1 }")
    assert load_scene(write(tmp_path, text)).stepper.sleep == Sleep(0.01, 0.1)
    with pytest.raises(SceneError, match="time"):
        load_scene(write(tmp_path, text.replace("time = 0.1", "time = 0.0")))
    assert_fields(
        SimulationConfigError,
        ("speed", lambda: Sleep(speed=0.0)),
        ("time", lambda: Sleep(time=float("nan"))),
        ("sleep", lambda: TimeStepping(1e-3, sleep=True)),
        ("rest", lambda: StepperState(np.zeros(1), np.zeros(1), rest=[[0.0]])),
        ("state.rest", lambda: simulate(piles(1), SLEEPY, steps=1, state=_with_rest(piles(1), 3))),
    )


def _with_rest(world, count):
    start = world.initial_state()
    return StepperState(start.q, start.v, rest=np.zeros(count))
