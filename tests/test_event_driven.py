"""Event-driven runs compared with closed forms, and their records on disk."""

import math

import numpy as np
import pytest
import simulation_scenes as scenes
from refusals import assert_messages

from contactlab.event_driven import EventDriven, EventError, EventKind, EventRecording, InconsistentContact
from contactlab.impact import Newton, Stronge
from contactlab.simulation import (
    Box,
    ConvexPoints,
    HalfSpace,
    Material,
    RecordError,
    RigidInertia,
    SimulationConfigError,
    Sphere,
    TimeStepping,
    WorldBuilder,
    simulate,
)
from problem_data.files import Source, write_npz

G = scenes.G
BALL = RigidInertia(1.0, inertia=0.4 * 0.01 * np.eye(3))


def dropped(height, e, mu=0.0):
    return scenes.one_body(Sphere(0.1), BALL, mu=mu, q=(0, 0, 0.1 + height, 1, 0, 0, 0), restitution=e)


def cradle(n, speed=1.0):
    """n balls in a row without gravity; all except the first touch."""
    builder = WorldBuilder((0, 0, 0))
    for i in range(n):
        q = (0.2 * i - (0.05 if i == 0 else 0.0), 0, 0, 1, 0, 0, 0)
        v = (speed if i == 0 else 0.0, 0, 0, 0, 0, 0)
        builder.add_free_body(f"ball {i}", BALL, Sphere(0.1), Material(0.0, 1.0), q, v)
    return builder.build()


def rod(angle, mu, speed=-1.0, spin=0.0):
    """A uniform rod of half length 0.5 m whose lower end slides on the ground, away from the centre of the rod."""
    half = 0.5
    q = (half * math.cos(angle), 0, half * math.sin(angle), math.cos(angle / 2), 0, -math.sin(angle / 2), 0)
    v = (speed + spin * half * math.sin(angle), 0, -spin * half * math.cos(angle), 0, spin, 0)
    inertia = RigidInertia(1.0, inertia=half**2 / 3.0 * np.eye(3))
    return scenes.one_body(ConvexPoints([[-half, 0, 0]]), inertia, mu=mu, q=q, v=v)


def times(recording, kind):
    return [event.time for event in recording.of_kind(kind)]


def test_block_slides_to_rest_at_its_time_and_place():
    """It stops after v0 / (mu g) and v0^2 / (2 mu g), up to rounding, and stays at rest."""
    recording = EventDriven().run(scenes.block(0.3, 1.0), 0.5)
    assert times(recording, EventKind.STICK) == pytest.approx([1.0 / (0.3 * G)], abs=1e-12)
    assert recording.q[-1, 0] == pytest.approx(1.0 / (0.6 * G), abs=1e-12)
    assert np.abs(recording.v[-1]).max() < 1e-12
    assert np.abs(recording.gaps[:, ::2]).max() < 1e-12


@pytest.mark.parametrize("ratio", [0.99, 1.01])
def test_brick_on_its_slope(ratio):
    """Friction just below tan theta gives the acceleration g (sin - mu cos); friction just above it gives none."""
    theta = math.radians(20.0)
    mu = ratio * math.tan(theta)
    recording = EventDriven().run(scenes.incline(theta, mu), 0.2)
    wanted = max(0.0, 0.2 * G * (math.sin(theta) - mu * math.cos(theta)))
    assert np.linalg.norm(recording.v[-1, :3]) == pytest.approx(wanted, abs=1e-10)


def test_ball_bounces_as_often_as_it_must_and_rests():
    """Apex n at h e^(2 n); at rest from the Zeno time t0 (1 + e) / (1 - e) on."""
    h, e = 1.0, 0.5
    recording = EventDriven().run(dropped(h, e), 1.6)
    impacts = times(recording, EventKind.IMPACT)
    t0 = math.sqrt(2.0 * h / G)
    wanted = [t0 * (1.0 + 2.0 * sum(e**k for k in range(1, n + 1))) for n in range(8)]
    assert impacts[:8] == pytest.approx(wanted, abs=1e-9)
    for n in range(1, 5):
        between = (recording.time > impacts[n - 1]) & (recording.time < impacts[n])
        assert recording.q[between, 2].max() - 0.1 <= h * e ** (2 * n) + 1e-9
    assert times(recording, EventKind.ZENO) == pytest.approx([t0 * (1 + e) / (1 - e)], abs=1e-4)
    assert np.abs(recording.v[-1]).max() < 1e-9
    assert recording.q[-1, 2] == pytest.approx(0.1, abs=1e-9)


@pytest.mark.parametrize(
    ("law", "wanted", "digits"),
    [
        (None, (-0.5, 0.5, 0.5, 0.5), 9),
        (Newton(1.0, "sequential"), (0, 0, 0, 1), 9),
        (Stronge(1.0, "sequential"), (0, 0, 0, 1), 9),
        # By an integration, to six digits.
        (Stronge(), (-0.071085, -0.029626, 0.109739, 0.990973), 6),
    ],
)
def test_cradle_follows_its_law(law, wanted, digits):
    """Simultaneous: Moreau's solution, or Hertz's by stiffness; sequential: only the last ball leaves.

    A law without its own restitution uses the materials', 1. All laws keep momentum and energy.
    """
    recording = EventDriven(impact=law).run(cradle(4), 0.2)
    np.testing.assert_allclose(recording.v[-1].reshape(4, 6)[:, 0], wanted, atol=10.0**-digits)
    assert recording.kinetic[-1] == pytest.approx(recording.kinetic[0], rel=1e-12 if digits == 9 else 1e-8)
    assert times(recording, EventKind.IMPACT) == pytest.approx([0.05], abs=1e-10)


def test_a_cube_that_falls_flat_stays_flat():
    """Simultaneous impacts keep e^2 of the energy, no rotation; sequential ones make it tumble, with a warning."""
    half = (0.05, 0.05, 0.05)
    world = scenes.one_body(
        Box(half), RigidInertia.solid_box(1.0, half), mu=0.5, q=(0, 0, 0.15, 1, 0, 0, 0), restitution=0.5
    )
    for law in (Stronge(), Stronge(0.5), None):
        recording = EventDriven(impact=law).run(world, 0.2)
        impact = recording.of_kind(EventKind.IMPACT)[0]
        assert impact.energy_after / impact.energy_before == pytest.approx(0.25, abs=1e-6)
        assert np.abs(impact.v_plus[3:]).max() < 1e-9
        assert recording.notices == ()
    tumbling = EventDriven(impact=Stronge(0.5, "sequential")).run(world, 0.15)
    impact = tumbling.of_kind(EventKind.IMPACT)[0]
    assert impact.energy_after / impact.energy_before < 0.1
    assert np.linalg.norm(impact.v_plus[3:]) > 1.0
    assert "broke a symmetry" in tumbling.notices[0]


def test_event_driven_and_time_stepping_meet():
    """For a spinning ball that slides until it rolls, the difference is proportional to the step: order 1."""
    world = scenes.one_body(Sphere(0.1), BALL, mu=0.3, q=(0, 0, 0.1, 1, 0, 0, 0), v=(2.0, 0.0, 0.0, 0.0, 3.0, 0.0))
    exact = EventDriven().run(world, 0.3)
    sizes, errors = [4e-3, 2e-3, 1e-3], []
    for size in sizes:
        stepped = simulate(world, TimeStepping(size), 0.3)
        errors.append(np.abs(stepped.q[-1, :3] - exact.q[-1, :3]).max())
    order = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert order == pytest.approx(1.0, abs=0.15)
    assert errors[-1] < 2e-3


def test_slip_turns_with_its_direction_in_space():
    """A spinning ball's slip curves and friction always opposes it: the lost energy is friction's work, to 1e-8."""
    world = scenes.one_body(Sphere(0.1), BALL, mu=0.2, q=(0, 0, 0.1, 1, 0, 0, 0), v=(1.0, 0.0, 0.0, 15.0, 0.0, 0.0))
    recording = EventDriven(output_step=1e-3).run(world, 0.35)
    assert recording.energy[-1] < recording.energy[0]
    force = recording.force(recording.contact_names[0])
    stick = times(recording, EventKind.STICK)[0]
    slipping = recording.time < stick - 1e-6
    np.testing.assert_allclose(np.linalg.norm(force[slipping, :2], axis=1), 0.2 * G, rtol=1e-9)
    # Angular momentum about a point of the ground along the path of contact is conserved: v_x + (2/5) r w_y.
    kept = recording.v[:, 0] + 0.4 * 0.1 * recording.v[:, 4]
    assert kept.std() < 0.5


def test_rods_paradox_is_named_at_its_threshold():
    """mu = 4/3 at 63.4 degrees: below, an acceleration; above, none: the rod continues by an impulse."""
    angle = math.atan(2.0)
    below = EventDriven().run(rod(angle, 4.0 / 3.0 - 1e-5), 1e-4)
    assert below.force(below.contact_names[0])[0, 2] > 1e4
    with pytest.raises(InconsistentContact, match="INCONSISTENT") as caught:
        EventDriven().run(rod(angle, 4.0 / 3.0 + 1e-5), 1e-4)
    assert caught.value.solutions == 0
    assert caught.value.contacts == (below.contact_names[0],)
    assert caught.value.recording is not None

    jammed = EventDriven(on_inconsistency="impulse").run(rod(angle, 1.5), 5e-3)
    jam = jammed.of_kind(EventKind.JAM)[0]
    assert jam.energy_after < jam.energy_before
    stepped = simulate(rod(angle, 1.5), TimeStepping(1e-4, edges=16), 5e-3)
    np.testing.assert_allclose(stepped.v[1, [0, 2, 4]], jam.v_plus[[0, 2, 4]], atol=5e-3)


def test_of_two_accelerations_the_open_one_may_be_taken():
    """Beyond the threshold, rotating fast enough to lift its end, it leaves or jams; below, there is no choice."""
    angle = math.atan(2.0)
    turning = rod(angle, 1.5, spin=8.0)
    with pytest.raises(InconsistentContact, match="2 accelerations") as caught:
        EventDriven().run(turning, 1e-3)
    assert caught.value.solutions == 2
    left = EventDriven(on_inconsistency="open").run(turning, 1e-2)
    assert not left.force(left.contact_names[0]).any()
    assert left.gaps[-1, 0] > 0.0
    np.testing.assert_allclose(left.v[-1, [2, 4]], [left.v[0, 2] - G * 1e-2, 8.0], rtol=1e-9)
    jammed = EventDriven(on_inconsistency="impulse").run(turning, 1e-3)
    assert jammed.of_kind(EventKind.JAM)
    # If there is none, the impulse.
    assert EventDriven(on_inconsistency="open").run(rod(angle, 1.5), 1e-3).of_kind(EventKind.JAM)


def test_energy_never_grows_while_bodies_tumble():
    """A box thrown on the ground loses energy: at impacts by the law, between them only by friction."""
    half = (0.1, 0.08, 0.05)
    world = scenes.one_body(
        Box(half),
        RigidInertia.solid_box(1.0, half),
        mu=0.4,
        q=(0, 0, 0.3, 0.9, 0.3, 0.3, math.sqrt(0.01)),
        v=(0.5, 0.2, 0.0, 1.0, 2.0, 0.5),
        restitution=0.3,
    )
    recording = EventDriven(impact=Stronge(0.3)).run(world, 0.3)
    assert len(recording.of_kind(EventKind.IMPACT)) >= 1
    assert np.diff(recording.energy).max() < 1e-8 * recording.energy[0]


def test_output_step_and_repeatability():
    """Rows are at the requested times and at events; the same run twice gives the same bits."""
    runs = [EventDriven(output_step=0.05).run(dropped(0.5, 0.4), 0.6) for _ in range(2)]
    np.testing.assert_array_equal(runs[0].q, runs[1].q)
    assert set(np.round(0.05 * np.arange(13), 12)) <= set(np.round(runs[0].time, 12))
    assert runs[0].state().time == pytest.approx(0.6)


def test_what_cannot_be_run_is_refused():
    """Wrong options, unknown shapes, and a run that would not end are refused with a reason."""
    for field, value in {
        "rtol": 0.0,
        "max_step": -1.0,
        "edges": 5,
        "on_inconsistency": "ignore",
        "impact": Newton,
    }.items():
        with pytest.raises(SimulationConfigError) as caught:
            EventDriven(**{field: value})
        assert caught.value.field == field
    builder = WorldBuilder()
    for i in range(2):
        builder.add_free_body(f"box {i}", RigidInertia.solid_box(1.0, (0.1,) * 3), Box.cube(0.1), Material(0.5))
    assert_messages(
        SimulationConfigError,
        ("balls against balls", lambda: EventDriven().run(builder.build(), 0.1)),
        ("run", lambda: simulate(scenes.cube_at_rest(), EventDriven(), 0.1)),
    )
    builder = WorldBuilder()
    builder.add_half_space("floor", HalfSpace((0, 0, 1), 0.0), Material(0.5, stiffness=1e4))
    builder.add_free_body("ball", BALL, Sphere(0.1), Material(0.5), (0, 0, 0.1, 1, 0, 0, 0))
    with pytest.raises(SimulationConfigError, match="stiffness"):
        EventDriven().run(builder.build(), 0.1)
    with pytest.raises(EventError, match="more than 3 events"):
        EventDriven(max_events=3).run(dropped(0.2, 0.9), 2.0)


@pytest.fixture(scope="module")
def bounces():
    return EventDriven(output_step=2e-3).run(dropped(0.3, 0.6), 0.8)


def test_a_run_is_read_back_bit_for_bit(bounces, tmp_path):
    """States, events, their problems, and quantities computed from the world."""
    bounces.save(tmp_path / "run.npz")
    again = EventRecording.open(tmp_path / "run.npz")
    for name in ("time", "q", "v", "kinetic", "potential", "forces", "gaps"):
        np.testing.assert_array_equal(getattr(again, name), getattr(bounces, name))
    assert (again.contact_names, again.notices) == (bounces.contact_names, bounces.notices)
    assert len(again.events) == len(bounces.events) > 2
    for one, other in zip(again.events, bounces.events, strict=True):
        assert (one.time, one.kind, one.contacts) == (other.time, other.kind, other.contacts)
        assert (one.energy_before, one.energy_after) == (other.energy_before, other.energy_after)
        np.testing.assert_array_equal(one.impulses, other.impulses)
        assert (one.problem is None) == (other.problem is None)
        if one.problem is not None:
            np.testing.assert_array_equal(one.problem.blocks().J, other.problem.blocks().J)
            np.testing.assert_array_equal(one.problem.Mv, other.problem.Mv)
    np.testing.assert_array_equal(again.contacts.impulse, bounces.contacts.impulse)
    np.testing.assert_array_equal(again.sample([0.1, 0.3])[0], bounces.sample([0.1, 0.3])[0])


def test_contacts_carry_the_momentum(bounces):
    """At each impact, the impulses of a ball's contacts and its weight equal its change of momentum."""
    table, n = bounces.contacts, len(bounces.time) - 1
    given = np.zeros((n, 3))
    np.add.at(given, table.step, table.impulse_on(0))
    weight = np.array([0.0, 0.0, -scenes.G]) * np.diff(bounces.time)[:, None]
    np.testing.assert_allclose(given + weight, np.diff(bounces.v[:, :3], axis=0), atol=1e-9)
    impact = table.rows(table.impulse_normal > 0.1)
    np.testing.assert_allclose(impact.normal, [[0.0, 0.0, 1.0]] * len(impact), atol=1e-12)
    np.testing.assert_allclose(impact.point[:, 2], 0.0, atol=1e-9)
    np.testing.assert_allclose(impact.restitution, 0.6)
    assert table.between("body", "ground").touching.any()


@pytest.mark.parametrize(
    ("name", "array", "said"),
    [
        ("q", np.zeros((2, 2)), "q: has shape"),
        ("v", None, "v: is missing"),
        ("meta", np.array("{"), "meta: is missing, or no JSON"),
        ("meta", np.array('{"format": "contactlab.Recording"}'), "Recording.open"),
        ("event_impulses", np.zeros((0, 1, 3)), "event_impulses: has shape"),
        ("shape_Mv", np.array([[99, 6, -1]]), "tells of problem 99"),
    ],
)
def test_damaged_files_are_refused_by_name(bounces, tmp_path, name, array, said):
    """A `RecordError` with file and field."""
    path = tmp_path / "run.npz"
    bounces.save(path)
    arrays = dict(np.load(path))
    arrays.pop(name)
    if array is not None:
        arrays[name] = array
    write_npz(path, {key: Source.of(value) for key, value in arrays.items()}, compress=False)
    with pytest.raises(RecordError, match=said):
        EventRecording.open(path)
