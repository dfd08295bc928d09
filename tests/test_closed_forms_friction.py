"""Friction and impacts in closed form: slopes, tipping, facets, rolling; bounces, pairs, rows of balls, rocking."""

import math

import numpy as np
import pytest
from simulation_scenes import G, ball, certified, dropped_ball, one_body

import lcp
from contactlab import ConstraintSolver
from contactlab.collision import edge_directions
from contactlab.multibody.spatial.quaternion import multiply
from contactlab.simulation import (
    SLIDE,
    Box,
    ConstantVelocity,
    Cylinder,
    HalfSpace,
    Material,
    RigidInertia,
    SimulationError,
    Sphere,
    TimeStepping,
    WorldBuilder,
    simulate,
    step,
)

STEPS = (4e-3, 2e-3, 1e-3)
UPRIGHT = (math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0)


def on_slope(shape, inertia, height, theta, mu, speed=0.0, turn=(1.0, 0.0, 0.0, 0.0)):
    """A body at ``height`` above a slope that falls towards +x, sliding down at ``speed``."""
    normal = np.array([math.sin(theta), 0.0, math.cos(theta)])
    tilt = (math.cos(theta / 2), 0.0, math.sin(theta / 2), 0.0)
    q = (*(height * normal), *multiply(tilt, turn))
    v = (speed * math.cos(theta), 0.0, -speed * math.sin(theta), 0.0, 0.0, 0.0)
    return one_body(shape, inertia, mu=mu, q=q, v=v, normal=normal)


def brick_on_slope(half, theta, mu, speed=0.0):
    return on_slope(Box(half), RigidInertia.solid_box(2.0, half), half[2], theta, mu, speed)


def test_ball_slides_then_rolls():
    """It rolls at 5/7 v0 from t = 2 v0 / (7 mu g), x = 12 v0^2 / (49 mu g) on, with 5/7 of its energy."""
    mu, v0 = 0.2, 2.0
    rolling = 2 * v0 / (7 * mu * G)
    errors = []
    for h in STEPS:
        recording = certified(simulate(ball(mu, v0), TimeStepping(h), 2 * rolling))
        exact = 12 * v0**2 / (49 * mu * G) + 5 / 7 * v0 * (recording.time[-1] - rolling)
        errors.append(recording.q[-1, 0] - exact)
        assert recording.v[-1, 0] == pytest.approx(5 / 7 * v0, rel=1e-9)
        assert recording.kinetic[-1] == pytest.approx(5 / 7 * recording.kinetic[0], rel=1e-9)
        at_end = recording.contacts.step == recording.n_steps - 1
        assert recording.contacts.slip[at_end].max() < 1e-12
        assert recording.contacts.mode[5] == SLIDE
    assert np.polyfit(np.log(STEPS), np.log(np.abs(errors)), 1)[0] >= 0.9
    assert abs(errors[-1]) < v0 * STEPS[-1]


@pytest.mark.parametrize(
    ("mu", "slope", "outcome"),
    [(0.8, 0.495, "rests"), (0.8, 0.505, "tips"), (0.3, 0.297, "rests"), (0.3, 0.303, "slides")],
)
def test_a_tall_brick_tips_or_slides_at_its_threshold(mu, slope, outcome):
    """Half-width over half-height is 0.5: it tips there if mu is larger, otherwise slides at tan theta = mu."""
    theta = math.atan(slope)
    recording = certified(simulate(brick_on_slope((0.05, 0.1, 0.1), theta, mu), TimeStepping(2e-3), 0.4))
    speed, spin = np.linalg.norm(recording.v[-1, :3]), np.linalg.norm(recording.v[-1, 3:])
    if outcome == "rests":
        assert np.abs(recording.v).max() < 1e-9
    elif outcome == "tips":
        assert spin > 5e-3
        assert recording.v[-1, 4] > 0.0
    else:
        assert spin < 1e-9
        assert speed == pytest.approx(0.4 * G * (math.sin(theta) - mu * math.cos(theta)), rel=1e-9)


@pytest.mark.parametrize("edges", [4, 8, 16])
@pytest.mark.parametrize("between", [False, True])
def test_the_pyramid_falls_short_of_the_cone_by_its_facets(edges, between):
    """Friction holds mu m g along an edge, cos(pi / k) of it midway between two, and yields along the push."""
    mu, mass, half = 0.4, 2.0, (0.2, 0.2, 0.02)
    world = one_body(Box(half), RigidInertia.solid_box(mass, half), mu=mu, q=(0, 0, half[2], 1, 0, 0, 0))
    directions = edge_directions((0.0, 0.0, 1.0), edges)
    along = directions[0]
    if between:
        along = directions[0] + directions[1]
        along = along / np.linalg.norm(along)
    holds = mu * mass * G * (math.cos(math.pi / edges) if between else 1.0)
    for factor in (0.999, 1.001):
        push = np.zeros(6)
        push[:3] = factor * holds * along
        recording = certified(simulate(world, TimeStepping(1e-3, edges=edges), steps=20, tau=push))
        gained = max(0.0, factor - 1.0) * holds / mass * 0.02
        np.testing.assert_allclose(recording.v[-1, :3], gained * along, atol=1e-11)
        assert np.abs(recording.v[-1, 3:]).max() < 1e-9


ROUND = {
    # shape, inertia (mass 1, radius 0.1), turn that lays it across the slope, share of g sin, least mu over tan
    "ball": (Sphere(0.1), RigidInertia.solid_sphere(1.0, 0.1), (1.0, 0.0, 0.0, 0.0), 5 / 7, 2 / 7),
    "cylinder": (Cylinder(0.1, 0.15), RigidInertia(1.0, inertia=np.diag([0.01, 0.01, 0.005])), UPRIGHT, 2 / 3, 1 / 3),
}


@pytest.mark.parametrize("kind", ROUND)
def test_round_bodies_roll_down_a_slope(kind):
    """At 5/7 (ball) and 2/3 (cylinder) of g sin theta if mu is 2/7 and 1/3 of the slope, slipping below that."""
    shape, inertia, turn, share, least = ROUND[kind]
    theta = math.radians(30.0)
    downhill = np.array([math.cos(theta), 0.0, -math.sin(theta)])
    for mu, slips in ((1.01 * least * math.tan(theta), False), (0.99 * least * math.tan(theta), True)):
        world = on_slope(shape, inertia, 0.1, theta, mu, turn=turn)
        recording = certified(simulate(world, TimeStepping(1e-3), 0.3))
        wanted = G * (math.sin(theta) - mu * math.cos(theta)) if slips else share * G * math.sin(theta)
        assert recording.v[-1, :3] @ downhill == pytest.approx(0.3 * wanted, rel=1e-9)
        at_end = recording.contacts_at(recording.n_steps - 1)
        assert (float(at_end.slip.max()) > 1e-4) is slips


@pytest.mark.parametrize("load", [0.0, 1.0, 1e3])
def test_a_wedge_in_a_groove_holds_whatever_presses_on_it(load):
    """mu > tan(half angle): the forces are not unique, but nothing moves."""
    half_angle, mu = math.radians(15.0), 0.4
    assert mu > math.tan(half_angle)
    builder, material = WorldBuilder(), Material(mu)
    for side in (-1.0, 1.0):
        normal = (side * math.cos(half_angle), 0.0, math.sin(half_angle))
        builder.add_half_space(f"wall {side}", HalfSpace(normal, 0.0), material)
    # A long roll touches each wall along two points.
    place = (0.0, 0.0, 0.1 / math.sin(half_angle))
    ends = [Sphere(0.1, (0.0, y, 0.0)) for y in (-0.2, 0.2)]
    builder.add_free_body("roll", RigidInertia.solid_box(2.0, (0.1, 0.2, 0.1)), ends, material, (*place, 1, 0, 0, 0))
    push = np.array([0.02 * load, 0.05 * load, -load, 0.0, 0.0, 0.0])
    recording = certified(simulate(builder.build(), TimeStepping(1e-3), 0.2, tau=push))
    assert np.abs(recording.v).max() <= 1e-9
    assert recording.contacts.impulse_normal.max() > 0.0
    # Other solvers may find other forces, never another motion.
    found = []
    for solver in (lcp.Lemke(), lcp.BoxLemke(), lcp.ExtendedLemke()):
        solution = ConstraintSolver(solver).solve_discretized_problem(recording.problem(150), 1e-3)
        assert solution.certificate.worst < 1e-9
        assert np.abs(solution.v_plus).max() <= 1e-9
        found.append(solution.forces.packed())
    found.append(recording.forces(150).packed())
    if load == 1e3:
        assert max(np.abs(a - found[-1]).max() for a in found[:-1]) > 1e-3 * load


@pytest.mark.parametrize(("share", "out"), [(0.0, True), (0.95, True), (1.05, False)])
def test_a_wedge_is_squeezed_out_below_the_threshold_and_jams_above(share, out):
    """Walls that close at u push a ball up at u / tan(half angle), mu < tan(half angle); else no motion is possible.

    Upwards 2 N (sin - mu cos) bears the weight: beyond the threshold no N does, and rigid walls cannot go on. The run
    then stops with an error instead of going through.
    """
    half_angle, speed, h, mass = math.radians(30.0), 0.1, 1e-3, 2.0
    mu = share * math.tan(half_angle)
    builder, material = WorldBuilder(), Material(mu)
    for side in (-1.0, 1.0):
        normal = (side * math.cos(half_angle), 0.0, math.sin(half_angle))
        motion = ConstantVelocity(velocity=(side * speed, 0.0, 0.0))
        builder.add_kinematic_body(f"wall {side}", HalfSpace(normal, 0.0), material, motion)
    ball = RigidInertia.solid_sphere(mass, 0.1)
    start = (0.0, 0.0, 0.1 / math.sin(half_angle), 1, 0, 0, 0)
    builder.add_free_body("ball", ball, Sphere(0.1), material, start, (0, 0, speed / math.tan(half_angle), 0, 0, 0))
    if not out:
        with pytest.raises(SimulationError):
            simulate(builder.build(), TimeStepping(h), 0.2)
        return
    recording = certified(simulate(builder.build(), TimeStepping(h), 0.2))
    np.testing.assert_allclose(recording.v[:, 2], speed / math.tan(half_angle), rtol=1e-9)
    pushes = recording.contacts.impulse_normal[recording.contacts.step > 0] / h
    wanted = mass * G / (2.0 * (math.sin(half_angle) - mu * math.cos(half_angle)))
    np.testing.assert_allclose(pushes, wanted, rtol=1e-6)


def test_a_bouncing_ball_rises_to_its_apexes():
    """Bounce n ends at e^(2 n) of the drop, and all of the path is (1 + e^2) / (1 - e^2) of it, to first order."""
    drop, e = 0.5, 0.7
    fall = math.sqrt(2 * drop / G)
    zeno = fall * (1 + e) / (1 - e)
    errors = []
    for h in (2e-3, 1e-3, 5e-4, 2.5e-4):
        recording = simulate(dropped_ball(drop, e), TimeStepping(h), 1.1 * zeno)
        height = recording.q[:, 2] - 0.1
        hits = np.flatnonzero((recording.v[:-1, 2] < 0) & (recording.v[1:, 2] > 0))
        for n in range(1, 5):
            apex = height[hits[n - 1] : hits[n]].max()
            assert abs(apex - drop * e ** (2 * n)) <= 3 * h * math.sqrt(2 * G * drop)
        path = np.abs(np.diff(height)).sum()
        errors.append(abs(path - drop * (1 + e**2) / (1 - e**2)))
        assert errors[-1] <= 6 * h * math.sqrt(2 * G * drop)
        assert np.abs(recording.v[-1]).max() < 1e-12
        # At rest not long before or after the last bounce of infinitely many, and for good: of n bounces until nothing
        # faster than restitution_threshold, or than a step's fall, is left, each shifts those after it by its flight's
        # two roundings to whole steps; those left out would have taken 2 v / (g (1 - e)).
        rest = recording.time[np.flatnonzero(np.abs(recording.v[:, 2]) > 1e-12)[-1]]
        least = max(recording.stepper.restitution_threshold, G * h)
        n = 1.0 + math.log(math.sqrt(2 * G * drop) / least) / math.log(1.0 / e)
        assert rest == pytest.approx(zeno, abs=2 * n * h + 2 * least / (G * (1 - e)))


def test_two_bodies_part_as_newton_says():
    """v1' = ((m1 - e m2) v1 + (1 + e) m2 v2) / (m1 + m2), and the same formula holds for the other body."""
    (m1, v1), (m2, v2), e = (0.3, 1.5), (2.0, -0.4), 0.6
    builder = WorldBuilder((0.0, 0.0, 0.0))
    for name, mass, x, v in (("left", m1, -0.2, v1), ("right", m2, 0.1, v2)):
        inertia, q = RigidInertia.solid_sphere(mass, 0.1), (x, 0, 0, 1, 0, 0, 0)
        builder.add_free_body(name, inertia, Sphere(0.1), Material(0.5, e), q, (v, 0, 0, 0, 0, 0))
    found = simulate(builder.build(), TimeStepping(1e-3), 0.2).v[-1, [0, 6]]
    wanted = [(m1 - e * m2) * v1 + (1 + e) * m2 * v2, (m2 - e * m1) * v2 + (1 + e) * m1 * v1]
    np.testing.assert_allclose(found, np.divide(wanted, m1 + m2), rtol=0, atol=1e-13)


def rocking_block(b, h, *, gravity=G, angle=0.0, rate=0.0):
    """A block (half-width b, half-height h) standing on its left lower edge, turned by ``angle`` towards it."""
    builder, material, half = WorldBuilder((0.0, 0.0, -gravity)), Material(5.0), (b, 0.2, h)
    builder.add_half_space("ground", HalfSpace(), material)
    # About -y the block tips towards -x, over its left edge, from which its centre is at (b, h) in body axes.
    c, s = math.cos(angle), math.sin(angle)
    x, z = c * b - s * h, s * b + c * h
    q = (x, 0.0, z, math.cos(angle / 2), 0.0, -math.sin(angle / 2), 0.0)
    v = (-rate * z, 0.0, rate * x, 0.0, -rate, 0.0)
    builder.add_free_body("block", RigidInertia.solid_box(1.0, half), Box(half), material, q, v)
    return builder.build()


@pytest.mark.parametrize(("b", "h"), [(0.1, 0.5), (0.1, 0.3), (0.1, 0.15)])
def test_a_rocking_block_changes_corners_as_housner_says(b, h):
    """It continues about the other corner at 1 - 3/2 sin^2 alpha of its rate, to rounding."""
    eta = 1 - 1.5 * math.sin(math.atan(b / h)) ** 2
    world = rocking_block(b, h, gravity=0.0, rate=-0.5)
    result = step(world, TimeStepping(1e-4), world.initial_state())
    assert result.state.v[4] == pytest.approx(0.5 * eta, rel=1e-12)
    # About the right lower edge, which stays where it is.
    np.testing.assert_allclose(result.state.v[[0, 2]], (0.5 * eta * h, 0.5 * eta * b), rtol=1e-12)


@pytest.mark.parametrize(("factor", "rocks"), [(0.98, False), (1.02, True)])
def test_a_block_starts_to_rock_at_its_threshold(factor, rocks):
    """Pushed at its centre by more than m g b / h; the same as ground that accelerates at g b / h."""
    b, h = 0.1, 0.3
    recording = simulate(rocking_block(b, h), TimeStepping(1e-3), 0.2, tau=[factor * G * b / h, 0, 0, 0, 0, 0])
    assert (abs(float(recording.v[-1, 4])) > 1e-3) is rocks
    if not rocks:
        assert np.abs(recording.v).max() < 1e-9
