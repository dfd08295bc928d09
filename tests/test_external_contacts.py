"""Contacts that the caller supplies: in the step, in the record, warm-started, verified, refused."""

from __future__ import annotations

import numpy as np
import pytest
from test_simulation_two_drivers import check_public_path

from contactlab.contact import Box, HalfSpace, Material, Sphere
from contactlab.simulation import (
    ExternalContact,
    Recording,
    SimulationConfigError,
    TimeStepping,
    WorldBuilder,
    simulate,
    verify,
)
from contactlab.spatial import RigidInertia, quaternion

H = 1e-3
FLOOR = Material(0.5, 0.2)
SHAPE = Box.cube(0.1)


def cube(floor=False):
    """A cube that slides and rocks, on a half-space or on nothing but what is supplied."""
    builder = WorldBuilder()
    if floor:
        builder.add_half_space("floor", HalfSpace(), FLOOR)
    start = (0, 0, 0.1 + 5e-4, np.cos(0.01), np.sin(0.01), 0, 0)
    builder.add_free_body("cube", RigidInertia.solid_box(1.0, (0.1,) * 3), SHAPE, FLOOR, start, (1, 0.3, 0, 0, 0, 2))
    return builder.build()


def corners(_time, q, _v):
    """The corners near the plane z = 0, as contacts with the world."""
    points = SHAPE.support_points()[0] @ quaternion.to_matrix(q[3:]).T + q[:3]
    return [
        ExternalContact("world", "cube", point, (0, 0, 2), point[2], FLOOR, id=i)
        for i, point in enumerate(points)
        if point[2] < 0.05
    ]


def turned(time, q, v):
    """The same in another order, with the world as B."""
    return [
        ExternalContact("cube", "world", c.point, -c.normal, c.gap, c.material, id=c.id) for c in corners(time, q, v)
    ][::-1]


@pytest.fixture(scope="module")
def run():
    """A run of the cube on supplied contacts."""
    return simulate(cube(), TimeStepping(H), steps=300, contacts=corners)


def test_supplied_corners_do_what_the_half_space_does(run):
    """Motion, impulses and table are those of the floor."""
    floor = simulate(cube(floor=True), TimeStepping(H), steps=300)
    assert np.allclose(run.q, floor.q, rtol=0, atol=1e-9)
    assert np.allclose(run.contacts.impulse, floor.contacts.impulse, rtol=0, atol=1e-9)
    assert len(run.contacts) > 600
    assert set(run.contacts.body_a) == {-1}
    assert set(run.contacts.half_space) == {-1}
    assert np.all(run.contacts.restitution == 0.2)
    assert floor.ledger.totals() == pytest.approx(run.ledger.totals(), abs=1e-9)


def test_they_are_asked_for_at_the_start_of_every_step_and_once():
    """Also of a step in whose midst the rows for contacts run out, and of the next one."""
    times = []

    def told(time, q, v):
        times.append(time)
        return corners(time, q, v)

    recording = simulate(cube(), TimeStepping(H), steps=300, contacts=told, chunk_steps=300)
    assert times == recording.time[:-1].tolist()


def test_the_order_in_which_they_come_does_not_matter(run):
    """Sorted by id, and with B the body that moves, they give the same bits."""
    again = simulate(cube(), TimeStepping(H), steps=300, contacts=turned)
    assert np.array_equal(again.q, run.q)
    assert np.array_equal(again.contacts.id, run.contacts.id)


def test_steps_are_posed_again_from_the_record(run, tmp_path):
    """Problem data, warm start and solution of the public path, without the function, from a file as well."""
    assert check_public_path(run, every=20) > 10
    run.save(tmp_path / "run.npz")
    assert check_public_path(Recording.open(tmp_path / "run.npz"), every=60) > 3


def test_they_are_verified_like_all_others(run):
    """Every condition holds, and a record that lies about its restitution or friction does not."""
    report = verify(run, every=10)
    assert report.holds, str(report)
    for name in ("contact_mu", "contact_restitution"):
        rows = {**run.rows, name: run.rows[name] - 1.0}
        assert not verify(Recording(run.world, run.stepper, rows), every=50).holds


def test_a_run_goes_on_with_the_same_bits_and_a_warm_start(run):
    """From a state of the record, the function given again."""
    rest = simulate(cube(), TimeStepping(H), steps=100, state=run.state(200), contacts=corners)
    assert np.array_equal(rest.q[1:], run.q[201:])
    assert run.warm_start_solves[-50:].sum() > 40
    state = run.state(299)
    after = TimeStepping(H).step(cube(), state, contacts=corners).state
    assert np.array_equal(after.v, run.v[300])


def test_a_solver_outside_the_loop_and_an_adaptive_step_take_them():
    """Both ways to come back to the same step ask for no contacts twice."""
    import lcp

    inside = simulate(cube(), TimeStepping(H, solver=lcp.Lemke()), steps=50, contacts=corners)
    calls = []

    def counted(time, q, v):
        calls.append(time)
        return corners(time, q, v)

    outside = simulate(cube(), TimeStepping(H, solver=lcp.Refined(lcp.Lemke())), steps=50, contacts=counted)
    assert np.allclose(outside.q, inside.q, rtol=0, atol=1e-12)
    adaptive = simulate(cube(), TimeStepping(H, solver=lcp.Lemke(), adaptive=True), steps=50, contacts=counted)
    assert np.array_equal(adaptive.q, inside.q)
    assert len(calls) == 100


def test_contacts_between_bodies_exchange_momentum():
    """Two balls that nothing else lets meet: restitution 0.5 along the normal, momentum kept."""
    builder = WorldBuilder((0, 0, 0), body_contacts=False)
    ball = RigidInertia.solid_sphere(1.0, 0.1)
    for name, x, speed in (("left", -0.1, 1.0), ("right", 0.1001, 0.0)):
        builder.add_free_body(name, ball, Sphere(0.1), FLOOR, (x, 0, 0, 1, 0, 0, 0), (speed, 0, 0, 0, 0, 0))
    world = builder.build()

    def touching(_time, q, _v):
        a, b = q[:3], q[7:10]
        gap = float(np.linalg.norm(b - a)) - 0.2
        return [ExternalContact("left", "right", 0.5 * (a + b), b - a, gap, Material(0.0, 0.5))]

    run = simulate(world, TimeStepping(H), steps=5, contacts=touching)
    assert run.v[-1, 0] == pytest.approx(0.25, abs=1e-12)
    assert run.v[-1, 6] == pytest.approx(0.75, abs=1e-12)
    assert verify(run).holds


@pytest.mark.parametrize(
    ("contacts", "field", "match"),
    [
        ([1], "contacts", "must be a function"),
        (lambda t, q, v: [1], "contacts at time 0", "ExternalContact"),
        (lambda t, q, v: [ExternalContact("world", "moon", (0, 0, 0), (0, 0, 1), 0.0, 0.5)], "contacts", "'moon'"),
        (lambda t, q, v: [ExternalContact("cube", "cube", (0, 0, 0), (0, 0, 1), 0.0, 0.5)], "contacts", "cannot move"),
        (lambda t, q, v: [ExternalContact("world", "world", (0, 0, 0), (0, 0, 1), 0.0, 0)], "contacts", "cannot move"),
        (
            lambda t, q, v: [ExternalContact("world", "cube", (0, 0, 0), (0, 0, 1), 0.0, 0.5, id=4)] * 2,
            "contacts",
            "id 4 is there twice",
        ),
    ],
)
def test_what_cannot_be_used_is_named(contacts, field, match):
    """The function's answer is checked in every step."""
    with pytest.raises(SimulationConfigError, match=match) as caught:
        simulate(cube(), TimeStepping(H), steps=1, contacts=contacts)
    assert caught.value.field.startswith(field)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"body_a": 3}, "body_a"),
        ({"normal": (0, 0, 0)}, "normal"),
        ({"gap": np.nan}, "gap"),
        ({"point": (0, 0)}, "point"),
        ({"material": -1.0}, "mu"),
        ({"id": -1}, "id"),
        ({"id": 1 << 62}, "id"),
        ({"id": 0.5}, "id"),
    ],
)
def test_a_contact_is_checked_where_it_is_made(change, field):
    """Every field, by name."""
    good = dict(body_a="world", body_b="cube", point=(0, 0, 0), normal=(0, 0, 1), gap=0.0, material=0.5)
    ExternalContact(**good)
    with pytest.raises(SimulationConfigError) as caught:
        ExternalContact(**{**good, **change})
    assert caught.value.field == field
