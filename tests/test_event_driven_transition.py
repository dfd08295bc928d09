"""Derivatives of event-driven runs: closed forms, cases that others got wrong, differences of runs."""

import math

import numpy as np
import pytest
import simulation_scenes as scenes

from contactlab import multibody as mb
from contactlab.event_driven import EventDriven, EventKind, transition
from contactlab.impact import Newton, Poisson, Stronge
from contactlab.multibody.joints import Revolute
from contactlab.simulation import (
    Box,
    ConvexPoints,
    HalfSpace,
    Material,
    RigidInertia,
    Sphere,
    StepperState,
    WorldBuilder,
)

G = scenes.G
R = 0.1
BALL = RigidInertia(1.0, inertia=0.4 * R**2 * np.eye(3))
SHARP = EventDriven(rtol=1e-12, atol=1e-13)
#: Places and weights of the difference of fourth order.
STENCIL = ((1.0, 8.0), (-1.0, -8.0), (2.0, -1.0), (-2.0, 1.0))
POSITION, LINEAR = slice(0, 3), slice(6, 9)


def ball(q, v, *, mu=0.0, e=1.0, normal=(0.0, 0.0, 1.0)):
    return scenes.one_body(Sphere(R), BALL, mu=mu, q=(*q, 1, 0, 0, 0), v=v, normal=normal, restitution=e)


def differenced(end, h):
    """Fourth-order difference of a function at 0."""
    return sum(weight * end(place * h) for place, weight in STENCIL) / (12.0 * h)


def bounced(x, v, w, g, e, mu, n, slip, duration, impacts):
    """Position and velocity of a ball, in closed form and complex numbers; it sticks at impacts where slip is None."""
    arm, inertia, left = -R * n, 0.4 * R**2, duration
    for _ in range(impacts):
        fall, speed, gap = -n @ g, n @ v, n @ x - R
        t = (speed + np.sqrt(speed**2 + 2.0 * fall * gap)) / fall
        x, v, left = x + t * v + 0.5 * t**2 * g, v + t * g, left - t
        p = -(1.0 + e) * (n @ v)
        u = v + np.cross(w, arm)
        push = -2.0 / 7.0 * (u - (n @ u) * n) if slip is None else -mu * p * slip
        v, w = v + p * n + push, w + np.cross(arm, push) / inertia
    return np.concatenate((x + left * v + 0.5 * left**2 * g, v + left * g))


@pytest.mark.parametrize(
    ("tilt", "mu", "v", "sticks", "duration"),
    [
        (0.0, 0.0, (0.0, 0.0, -0.5, 0.0, 0.0, 0.0), False, 0.75),
        (0.0, 0.9, (1.0, 0.4, 0.0, 0.5, 2.0, 1.0), True, 0.75),
        (0.3, 0.0, (0.5, 0.2, 0.3, 0.0, 1.0, 2.0), False, 0.95),
        (0.3, 0.05, (0.5, 0.0, 0.3, 0.0, 0.0, 0.0), False, 0.95),
        (0.3, 0.9, (1.0, 0.4, 0.0, 0.5, 2.0, 1.0), True, 0.95),
    ],
    ids=["vertical", "oblique, sticking", "tilted", "tilted, slipping", "tilted, sticking"],
)
def test_two_bounces_at_their_closed_form(tilt, mu, v, sticks, duration):
    """End by start, restitution, friction, gravity and force, through two impacts, to 1e-10."""
    n, e = np.array([math.sin(tilt), 0.0, math.cos(tilt)]), 0.8
    slip = None if sticks else np.array([math.cos(tilt), 0.0, -math.sin(tilt)])
    x = np.array([0.02, 0.01, 0.5])
    recording = EventDriven().run(ball(x, v, mu=mu, e=e, normal=n), duration)
    assert [event.kind for event in recording.events] == [EventKind.IMPACT] * 2
    found = transition(recording, ("restitution", "mu", "gravity", "tau"))
    assert found.unique
    at = np.concatenate((x, v, (0.0, 0.0, -G), (e, mu)))

    def by(entry):
        z = at.astype(complex)
        z[entry] += 1e-30j
        return bounced(z[:3], z[3:6], z[6:9], z[9:12], z[12], z[13], n, slip, duration, 2).imag / 1e-30

    wanted = np.array([by(entry) for entry in range(14)]).T
    rows = np.r_[POSITION, LINEAR]
    np.testing.assert_allclose(found.matrix[np.ix_(rows, np.r_[0:3, 6:12])], wanted[:, :9], atol=1e-10)
    np.testing.assert_allclose(found.parameters["gravity"][rows], wanted[:, 9:12], atol=1e-10)
    np.testing.assert_allclose(found.parameters["tau"][rows, :3], wanted[:, 9:12], atol=1e-10)
    np.testing.assert_allclose(found.parameters["restitution"][rows, 0], wanted[:, 12], atol=1e-10)
    if mu > 0.0:
        np.testing.assert_allclose(found.parameters["mu"][rows, 0], wanted[:, 13], atol=1e-10)


def two_balls(mu):
    """A ball and another, whose centre of mass is off its centre, that meet while both turn."""
    builder = WorldBuilder((0, 0, -G))
    other = RigidInertia(2.0, com=(0.01, 0.0, 0.02), inertia=np.diag([0.01, 0.012, 0.015]))
    material = Material(mu, 0.6)
    builder.add_free_body("a", BALL, Sphere(0.1), material, (0, 0, 0, 1, 0, 0, 0), (1, 0.1, 0, 0.5, 1, 0))
    builder.add_free_body("b", other, Sphere(0.15), material, (0.5, 0.08, 0.02, 1, 0, 0, 0), (-0.5, 0, 0.1, 0, 2, 1))
    return builder.build()


def arm():
    """Two links, the last with a ball at its end that strikes the ground again and again."""
    link = RigidInertia(1.0, com=(0.2, 0, 0), inertia=np.diag([0.001, 0.05, 0.05]))
    model = mb.ModelBuilder()
    model.add_body("upper", joint=Revolute((0, 1, 0)), placement=mb.Transform(p=(0, 0, 0.5)), inertia=link)
    there = mb.Transform(p=(0.4, 0, 0))
    model.add_body("lower", parent="upper", joint=Revolute((0, 1, 0)), placement=there, inertia=link)
    builder, material = WorldBuilder((0, 0, -G)), Material(0.1, 0.6)
    builder.add_half_space("ground", HalfSpace((0, 0, 1), 0.0), material)
    builder.add_model(model.build(), (0.3, 0.2), (0.0, 0.5))
    builder.add_shape("lower", Sphere(0.05), material, placement=there)
    return builder.build()


@pytest.mark.parametrize(
    ("world", "duration", "h"),
    [
        (two_balls(0.5), 0.3, 1e-4),
        (two_balls(0.02), 0.3, 1e-5),
        (ball((0, 0, 0.4), (1.0, 0.3, 0, 0, 3, 1), mu=0.05, e=0.7, normal=(0.2, 0.1, 1)), 0.5, 1e-3),
        (arm(), 0.9, 1e-4),
    ],
    ids=["balls, sticking", "balls, slipping", "tilted, slipping", "an arm that bounces to rest"],
)
def test_collisions_against_differences_of_runs(world, duration, h):
    """Bodies that turn, centres of mass off their centres, links, through one to 22 impacts: as near runs differ."""
    dx = np.random.default_rng(3).normal(size=2 * world.nv)
    model, start, nv = world.model, world.initial_state(), world.model.nv
    middle = SHARP.run(world, duration)

    def end(s):
        q, v = mb.integrate(model, start.q, s * dx[:nv], 1.0), start.v + s * dx[nv:]
        run = SHARP.run(world, duration, state=StepperState(q=q, v=v, time=0.0))
        assert [event.kind for event in run.events] == [event.kind for event in middle.events]
        return np.concatenate((mb.difference(model, middle.q[-1], run.q[-1]), run.v[-1]))

    wanted, found = differenced(end, h), transition(middle)
    assert found.unique
    np.testing.assert_allclose(found.jvp(dx), wanted, atol=1e-8 * np.abs(found.matrix).max())
    assert found.vjp(wanted) @ dx == pytest.approx(wanted @ found.jvp(dx), rel=1e-12)


def test_sliding_to_rolling_at_its_closed_form():
    """x = v t - mu g t^2 / 2 + (5 / 7) v (T - t) with t = 2 v / (7 mu g): by v and by mu."""
    v, mu, duration = 1.0, 0.2, 0.3
    found = transition(SHARP.run(ball((0, 0, R), (v, 0, 0, 0, 0, 0), mu=mu), duration), ("mu",))
    t = 2.0 * v / (7.0 * mu * G)
    assert found.unique
    # dx/dt = v - mu g t - 5 v / 7 = 0: the time itself does not count.
    assert found.matrix[0, 6] == pytest.approx(t + 5.0 / 7.0 * (duration - t), abs=1e-9)
    assert found.matrix[6, 6] == pytest.approx(5.0 / 7.0, abs=1e-9)
    assert found.parameters["mu"][0, 0] == pytest.approx(-0.5 * G * t**2, abs=1e-9)
    assert found.parameters["mu"][6, 0] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("direction", ["along", "up"])
def test_a_growing_force_starts_slip_or_lifts(direction):
    """A mass under a force k t starts when k t = mu g, or g: it goes k (T - t)^3 / 6, and differs by (T - t)^2 / 2."""
    mu, k, duration = 0.5, 200.0, 0.1
    axis = 0 if direction == "along" else 2
    world = scenes.one_body(ConvexPoints([[0, 0, 0]]), BALL, mu=mu, q=(0, 0, 0, 1, 0, 0, 0))
    push = np.eye(6)[axis]
    recording = SHARP.run(world, duration, tau=lambda time, q, v: k * time * push)
    found = transition(recording, ("tau", "mu"))
    start = (mu if axis == 0 else 1.0) * G / k
    assert found.unique
    assert recording.q[-1, axis] == pytest.approx(k * (duration - start) ** 3 / 6.0, abs=1e-9)
    assert found.parameters["tau"][axis, axis] == pytest.approx((duration - start) ** 2 / 2.0, abs=1e-8)
    assert found.parameters["mu"][0, 0] == pytest.approx(-G * (duration - start) ** 2 / 2.0 * (axis == 0), abs=1e-7)


def test_a_ball_that_has_come_to_rest_forgets_how_high_it_was():
    """After the accumulation of impacts height and its speed depend on nothing; along the ground all is conserved."""
    recording = EventDriven().run(ball((0, 0, 0.3), (0.2, 0, 0, 0, 0, 0), e=0.3), 1.0)
    assert recording.of_kind(EventKind.ZENO)
    found = transition(recording)
    np.testing.assert_allclose(found.matrix[[2, 8]], 0.0, atol=1e-6)
    np.testing.assert_allclose(found.matrix[0, [0, 2, 6, 8]], [1.0, 0.0, 1.0, 0.0], atol=1e-12)


@pytest.mark.parametrize("law", [Stronge(0.8), Poisson(0.8), Newton(0.8, "sequential"), Poisson(), Newton([0.8])])
def test_laws_that_agree_have_one_derivative(law):
    """Without friction every law equals Newton's, also in its derivatives by the start and by restitution."""
    world = ball((0, 0, 0.5), (0.3, 0, -0.5, 0, 1, 0), e=0.8, normal=(0.2, 0, 1))
    wanted, found = (transition(EventDriven(impact=one).run(world, 0.6), ("restitution",)) for one in (None, law))
    np.testing.assert_allclose(found.matrix, wanted.matrix, atol=1e-9)
    np.testing.assert_allclose(found.parameters["restitution"], wanted.parameters["restitution"], atol=1e-9)


def whys(recording):
    found = transition(recording)
    assert np.isfinite(found.matrix).all()
    assert not found.unique
    return {kink.reason: kink for kink in found.kinks}


def test_what_has_no_derivative_is_named():
    """Impacts at once, at the start, at the end and grazing ones, modes about to change, slip from rest, a jam."""
    fall = math.sqrt(2.0 * 0.4 / G)
    dropped = ball((0, 0, 0.5), (0,) * 6, e=0.5)
    flat = scenes.one_body(Box.cube(0.1), RigidInertia.solid_box(1.0, (0.1,) * 3), mu=0.5, q=(0, 0, 0.3, 1, 0, 0, 0))
    found = whys(EventDriven().run(flat, 0.3))["at once"]
    assert found.contacts == tuple(f"body[{i}] on ground" for i in (0, 2, 4, 6))
    assert found.time == pytest.approx(math.sqrt(2 * 0.2 / G))
    assert whys(EventDriven().run(dropped, fall))["at the end"].distance < 1e-9
    assert "at the start" in whys(EventDriven().run(ball((0, 0, R), (0, 0, -1.0, 0, 0, 0), e=0.5), 0.1))
    # At the apex of its flight, a ceiling that it touches, in a step that sees it or not.
    for above, steps in ((5e-8, {"max_step": 5e-5}), (0.0, {})):
        builder = WorldBuilder((0, 0, -G))
        builder.add_half_space("ceiling", HalfSpace((0, 0, -1), -1.0), Material(0.0, 1.0))
        up, drop = 0.01 * G, 0.5 * G * 0.01**2
        q = (0, 0, 1.0 - R - drop + above, 1, 0, 0, 0)
        builder.add_free_body("ball", BALL, Sphere(R), Material(0.0, 1.0), q, (2000, 0, up, 0, 0, 0))
        recording = EventDriven(**steps).run(builder.build(), 0.02)
        assert bool(recording.events) == bool(above)
        assert whys(recording)["grazing"].distance < 1e-6
    # Slip that friction stops within the impact, to rounding: 7 / 2 mu (1 + e) u_n.
    speed, mu, e = G * fall, 0.1, 0.5
    skid = ball((0, 0, 0.5), (3.5 * mu * (1 + e) * speed, 0, 0, 0, 0, 0), mu=mu, e=e)
    assert whys(EventDriven().run(skid, 0.4))["mode"].distance < 1e-6
    # Beyond the threshold of Painleve's paradox, by the impulse that stops the slip.
    angle, half = math.atan(2.0), 0.5
    q = (half * math.cos(angle), 0, half * math.sin(angle), math.cos(angle / 2), 0, -math.sin(angle / 2), 0)
    inertia = RigidInertia(1.0, inertia=half**2 / 3.0 * np.eye(3))
    jammed = scenes.one_body(ConvexPoints([[-half, 0, 0]]), inertia, mu=1.5, q=q, v=(-1.0, 0, 0, 0, 0, 0))
    assert "jam" in whys(EventDriven(on_inconsistency="impulse").run(jammed, 5e-3))
    steep = ball((0, 0, R), (0,) * 6, mu=0.1)
    pushed = EventDriven().run(steep, 0.1, tau=np.array([5.0, 0, 0, 0, 0, 0]))
    assert whys(pushed)["from rest"].contacts == ("body[0] on ground",)
