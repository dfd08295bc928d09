"""Cases with closed forms of motion: flight, impacts, joints with contact; and reproducibility.

Impacts: heights for a restitution e, momentum, energy. Joints: a four-bar loop that falls on the ground, and a capsule
between two pads. Reproducibility: equal bits in two runs, and equal motion for another order of bodies.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from contactlab.lab.conformance.case import (
    Body,
    Case,
    Engine,
    HalfSpaceSpec,
    Joint,
    Measure,
    Pin,
    Scene,
    ShapeSpec,
    ball,
    box,
    net_contact_force,
    path,
)
from contactlab.multibody.spatial import quaternion

G, H = 9.81, 1e-3


def _projectile(engine: Engine) -> list[Measure]:
    """Measure the distance of a thrown ball from its parabola after 1 s."""
    track = path(engine, Scene((ball(0.1, 1.0, (0.0, 0.0, 10.0), (3.0, 0.0, 4.0)),), ()), H, 1.0)
    off = float(np.linalg.norm(track.poses[-1, 0, :3] - [3.0, 0.0, 10.0 + 4.0 - G / 2.0]))
    return [Measure("missed the parabola after a second by", off, G * H, "m")]


def _top(engine: Engine) -> list[Measure]:
    """Measure the relative drift of energy and of the norm of the angular momentum of a box that tumbles freely."""
    scene = Scene((box((0.1, 0.06, 0.03), 1.0, (0, 0, 0), spin=(0.1, 6.0, 0.1)),), (), gravity=(0.0, 0.0, 0.0))
    track = path(engine, scene, H, 10.0)
    energy, moment = track.energy(scene), np.linalg.norm(track.spin(0) * scene.bodies[0].inertia, axis=1)
    gone, turned = (float(np.abs(one / one[0] - 1.0).max()) for one in (energy, moment))
    return [Measure("energy drifted in 10 s, of it, by", gone, 1e-3),
            Measure("angular momentum drifted, of it, by", turned, 1e-3)]  # fmt: skip


def rod(angle: float) -> Scene:
    """Return the scene of a thin rod, 1 m long, that leans from the vertical by an angle [rad] towards x.

    Its lower end is on a floor without friction.
    """
    half, r, m = 0.5, 0.01, 1.0
    across = m * half * half / 3.0
    turn = (math.cos(angle / 2.0), 0.0, math.sin(angle / 2.0), 0.0)
    shape = ShapeSpec("capsule", (r, half))
    body = Body(shape, m, (across, across, 0.5 * m * r * r), (0.0, 0.0, half * math.cos(angle) + r), turn)
    return Scene((body,), mu=0.0)


def _rod(engine: Engine) -> list[Measure]:
    """Measure the error of a falling rod's angular velocity, on a floor without friction, and its sideways shift."""
    half, start, end = 0.5, 0.3, 1.2
    track = path(engine, rod(start), H, 1.0)
    angle = np.arccos(np.clip((track.poses[:, 0, 2] - 0.01) / half, -1.0, 1.0))
    k = int(np.argmax(angle >= end))
    # m z'^2/2 + I w^2/2 = m g l (cos start - cos angle), z' = -l sin(angle) w, I = m l^2/3.
    drop, a = math.cos(start) - math.cos(float(angle[k])), float(angle[k])
    wanted = math.sqrt(2.0 * G * drop / (half * (math.sin(a) ** 2 + 1.0 / 3.0)))
    off, aside = abs(float(track.velocities[k, 0, 4]) - wanted), float(np.abs(track.poses[: k + 1, 0, 0]).max())
    missed = off if k else math.inf
    return [Measure(f"missed {wanted:.3f} rad/s at {a:.2f} rad by", missed, 2.0 * G / half * H, "rad/s"),
            Measure("its centre went aside by", aside, 1e-6, "m")]  # fmt: skip


def _order(engine: Engine) -> list[Measure]:
    """Measure the ratio of a sliding distance's errors with steps of 1.25 ms and of 5 ms."""
    v, mu = 2.0, 0.5
    scene = Scene((box((0.1, 0.1, 0.02), 1.0, (0.0, 0.0, 0.02), velocity=(v, 0.0, 0.0)),), mu=mu)
    far = 0.3 * v - mu * G * 0.045
    off = [abs(float(path(engine, scene, h, 0.3).poses[-1, 0, 0]) - far) for h in (5e-3, 1.25e-3)]
    return [Measure("a quarter of the step left, of the error,", off[1] / max(off[0], 1e-300), 0.3)]


FLIGHT = (
    Case("projectile", "Is flight the parabola?", "Closed form; limit one step of g", _projectile),
    Case("free top", "Are energy and momentum kept where a body tumbles?", "Euler's equations; 0.1 % in 10 s", _top),
    Case("rod falls without friction", "Does it conserve energy, its centre straight down?",
         "Closed form; limit two steps of g/l", _rod),
    Case("order in h", "Does the error of a sliding brick shrink with the step?",
         "First order: a quarter; limit 0.3", _order),
)  # fmt: skip


def _bounces(e: float, engine: Engine) -> list[Measure]:
    """Measure the error of the height of a ball's first bounce for a restitution e, and the energy gained."""
    v = math.sqrt(2.0 * G)
    scene = Scene((ball(0.1, 1.0, (0.0, 0.0, 1.1)),), restitution=e)
    track = path(engine, scene, H, v / G * (1.0 + 1.5 * e) + 0.1)
    z, energy = track.poses[:, 0, 2] - 0.1, track.energy(scene)
    landed = int(np.argmax(z < 2.0 * v * H))
    return [Measure(f"dropped from 1 m, missed {e * e:g} m by",
                    abs(float(z[landed + 10 :].max()) - e * e), 2.0 * v * H, "m"),
            Measure("gained energy,", float(energy[landed:].max() - energy[0]), G * v * H, "J")]  # fmt: skip


def _row(e: float, engine: Engine) -> list[Measure]:
    """Measure the change of momentum and energy of a ball that hits two touching ones, for a restitution e.

    For e = 0 the error of the common final speed replaces the loss of energy.
    """
    v = 1.0
    balls = tuple(ball(0.1, 1.0, (x, 0.0, 0.0), (u, 0.0, 0.0)) for x, u in ((-0.5, v), (0.0, 0.0), (0.2, 0.0)))
    scene = Scene(balls, (), 0.0, e, (0.0, 0.0, 0.0))
    track = path(engine, scene, H, 0.6)
    after, energy = track.velocities[-1, :, 0], track.energy(scene)
    figures = [Measure("lost momentum,", abs(float(after.sum()) - v), 1e-9, "kg m/s"),
               Measure("gained energy, of it,", float(energy.max() / energy[0] - 1.0), 1e-9)]  # fmt: skip
    if e == 0.0:
        figures.append(Measure("three balls missed v/3 by", float(np.abs(after - v / 3.0).max()), 1e-3 * v, "m/s"))
    else:
        figures.append(Measure("lost energy, of it,", float(1.0 - energy[-1] / energy[0]), 1e-3))
    return figures


def _corner(engine: Engine) -> list[Measure]:
    """Measure the largest entry of a cube's velocity after it slid into a corner of two walls."""
    brick = box((0.1,) * 3, 1.0, (0.3, 0.3, 0.1), velocity=(-1.0, -1.0, 0.0))
    scene = Scene((brick,), (HalfSpaceSpec(), HalfSpaceSpec((1.0, 0.0, 0.0)), HalfSpaceSpec((0.0, 1.0, 0.0))), 0.0)
    track = path(engine, scene, H, 0.6)
    return [
        Measure("moved in the corner, where 0 is asked, at", float(np.abs(track.velocities[-1]).max()), 1e-6, "m/s")
    ]


IMPACTS = (
    Case("drop, e = 0", "Does it stay down?",
         "Newton's law; limit two steps' way", lambda engine: _bounces(0.0, engine)),
    Case("drop, e = 1/2", "Does it rise to e^2 of the height?",
         "Newton's law; limit two steps' way", lambda engine: _bounces(0.5, engine)),
    Case("drop, e = 1", "Does it rise to its height, without energy gained?",
         "Newton's law; limit two steps' way", lambda engine: _bounces(1.0, engine)),
    Case("three balls in a row, e = 0", "Do they go on together at v/3?",
         "Momentum; 0.1 %", lambda engine: _row(0.0, engine)),
    Case("three balls in a row, e = 1", "Are momentum and energy kept?",
         "Conservation", lambda engine: _row(1.0, engine)),
    Case("brick against a corner", "Does it stop at both walls?", "e = 0: no motion is left", _corner),
)  # fmt: skip


def tumble() -> Scene:
    """Return three boxes that fall, rotate and collide."""
    return Scene(tuple(box((0.1, 0.08, 0.06), 1.0 + i, (0.05 * i, 0.03 * i, 0.2 + 0.25 * i), spin=(1.0, 2.0 * i, 0.5))
                       for i in range(3)))  # fmt: skip


def _bits(engine: Engine) -> list[Measure]:
    """Count the numbers that differ between two runs of one scene."""
    one = path(engine, tumble(), H, 1.0)
    # Another scene between them, whose memory must not affect the second run.
    path(engine, Scene((box((0.1,) * 3, 1.0, (0.0, 0.0, 0.1)),)), H, 0.05)
    two = path(engine, tumble(), H, 1.0)
    differ = np.count_nonzero(one.poses != two.poses) + np.count_nonzero(one.velocities != two.velocities)
    return [Measure("number of differences between two runs:", float(differ), 0.0)]


def _reversed(engine: Engine) -> list[Measure]:
    """Measure the largest difference of positions between two runs, with the bodies in order and in reverse order."""
    scene = tumble()
    # Until shortly after the first impacts; later, tumbling amplifies any difference.
    one = path(engine, scene, H, 0.3)
    two = path(engine, replace(scene, bodies=scene.bodies[::-1]), H, 0.3)
    apart = float(np.abs(one.poses[:, :, :3] - two.poses[:, ::-1, :3]).max())
    return [Measure("bodies in reverse order deviated by", apart, 1e-6, "m")]


MANNERS = (
    Case("determinism", "Does a scene that is loaded again, after another one, have the same bits?",
         "The same arithmetic: no bit differs", _bits),
    Case("order of bodies", "Is the motion the same for another order of the bodies?",
         "The laws name no order; 1 um", _reversed),
)  # fmt: skip


ARM, LENGTH, LIGHT, HEAVY, PULL = 0.3, 0.4, 0.5, 2.0, 5.0  # m, m, kg, kg, N
START, END = math.radians(-10.0), math.radians(-50.0)


def four_bars() -> Scene:
    """Return a coupler on two parallel arms, pulled along x, that swings down onto a floor without friction."""
    half = (0.5 * LENGTH, 0.02, 0.02)
    high = half[2] - ARM * math.sin(END)
    # Angles of arms are measured from x upwards: rotations about -y.
    turn = (math.cos(START / 2.0), 0.0, -math.sin(START / 2.0), 0.0)
    reach, y = np.array((ARM * math.cos(START), 0.0, ARM * math.sin(START))), (0.0, 1.0, 0.0)

    def arm(x: float) -> Body:
        across = LIGHT * ARM**2 / 12.0
        return Body(None, LIGHT, (1e-4, across, across), tuple(reach / 2.0 + (x, 0.0, high)), turn)

    pin, far = tuple((reach + (0.0, 0.0, high)).tolist()), tuple((reach + (LENGTH, 0.0, high)).tolist())
    coupler = box(half, HEAVY, tuple((reach + (LENGTH / 2.0, 0.0, high)).tolist()), force=(PULL, 0.0, 0.0))
    joints = (Joint("revolute", 0, -1, (0.0, 0.0, high), y), Joint("revolute", 1, 0, pin, y),
              Joint("revolute", 2, -1, (LENGTH, 0.0, high), y))  # fmt: skip
    return Scene((arm(0.0), coupler, arm(LENGTH)), mu=0.0, joints=joints, pins=(Pin(2, 1, far),))


def _four_bars(engine: Engine) -> list[Measure]:
    """Measure the gap of a four-bar loop that falls on the ground, and the errors of its speed, rest and contact force.

    The contact force is left out if the engine does not report contacts.
    """
    track = path(engine, four_bars(), H, 1.0)
    ends = []
    for k, along in ((1, LENGTH), (2, ARM)):
        ends.append(track.poses[:, k, :3] + quaternion.to_matrix(track.poses[:, k, 3:]) @ (0.5 * along, 0.0, 0.0))
    opened = float(np.linalg.norm(ends[0] - ends[1], axis=1).max())
    # Half way down, by energy: both arms rotate by a', the coupler moves by ARM a'.
    x, z = (track.poses[:, 1, k] for k in (0, 2))
    k = int(np.argmax(z < 0.5 * (z[0] + 0.02)))
    work = (HEAVY + LIGHT) * G * (z[0] - z[k]) + PULL * (x[k] - x[0])
    wanted = math.sqrt(2.0 * work / (HEAVY + 2.0 * LIGHT / 3.0))
    missed = abs(float(np.linalg.norm(track.velocities[k, 1, :3])) - wanted) if k else math.inf
    figures = [Measure("the loop opened by", opened, 1e-4, "m"),
               Measure(f"missed {wanted:.3f} m/s half way down by", missed, 2.0 * G * H, "m/s"),
               Measure("moved, on the ground, at", float(np.abs(track.velocities[-1]).max()), 1e-6, "m/s")]  # fmt: skip
    if track.run.contacts() is not None:
        # Virtual work: N cos a = (M + m) g cos a + F sin a at the angle a of the arms.
        told, load = float(net_contact_force(track.contacts(), 1)[2]), (HEAVY + LIGHT) * G + PULL * math.tan(END)
        figures.append(Measure(f"missed the {load:.2f} N of virtual work, of it, by", abs(told / load - 1.0), 1e-3))
    return figures


def _unequal(engine: Engine) -> list[Measure]:
    """Measure the largest gap [m] and energy drift [J] of a loop of bars of unequal length that swings for 2 s."""
    # Crank, coupler and rocker, all rods in the plane y = 0, between pivots 0.4 m apart; they start at rest.
    crank, coupler, rocker, base = 0.15, 0.4, 0.3, 0.4
    a = np.array((0.0, 0.0, crank))
    # The rocker's upper end is the intersection of circles about the crank's end and the far pivot.
    to, far = np.array((base, 0.0, 0.0)) - a, math.hypot(base, crank)
    along = (coupler**2 - rocker**2 + far**2) / (2.0 * far)
    up = np.array((-to[2], 0.0, to[0])) / far
    b = a + along * to / far + math.sqrt(coupler**2 - along**2) * up
    ends = ((np.zeros(3), a), (a, b), (np.array((base, 0.0, 0.0)), b))
    bodies = []
    for (p, q), m in zip(ends, (0.3, 1.0, 0.6), strict=True):
        angle, across = math.atan2(q[2] - p[2], q[0] - p[0]), m * float((q - p) @ (q - p)) / 12.0
        turn = (math.cos(angle / 2.0), 0.0, -math.sin(angle / 2.0), 0.0)
        bodies.append(Body(None, m, (1e-4, across, across), tuple(((p + q) / 2.0).tolist()), turn))
    joints = tuple(Joint("revolute", i, other, tuple(ends[i][0].tolist()), (0.0, 1.0, 0.0))
                   for i, other in ((0, -1), (1, 0), (2, -1)))  # fmt: skip
    scene = Scene(tuple(bodies), (), joints=joints, pins=(Pin(2, 1, tuple(b.tolist())),))
    track = path(engine, scene, H, 2.0)
    tips = [track.poses[:, i, :3] + quaternion.to_matrix(track.poses[:, i, 3:]) @ (0.5 * size, 0.0, 0.0)
            for i, size in ((1, coupler), (2, rocker))]  # fmt: skip
    opened, energy = float(np.linalg.norm(tips[0] - tips[1], axis=1).max()), track.energy(scene)
    fastest = float(np.linalg.norm(track.velocities[:, :, :3], axis=2).max())
    step = sum(body.mass for body in bodies) * G * fastest * H
    return [Measure("the loop opened in 2 s by", opened, 1e-4, "m"),
            Measure("energy drifted by", float(np.abs(energy - energy[0]).max()), 2.0 * step, "J")]  # fmt: skip


def _pinched(engine: Engine) -> list[Measure]:
    """Measure the speed at which a capsule between two pads on rails creeps down, over the last second."""
    r, half, pad = 4e-3, 0.02, (5e-3, 0.02, 0.03)
    inertia = (0.045 * half**2 / 3.0, 0.045 * half**2 / 3.0, 0.5 * 0.045 * r * r)
    capsule = Body(ShapeSpec("capsule", (r, half)), 0.045, inertia, (0.0, 0.0, 0.5))
    at = r + pad[0]
    pads = [box(pad, 0.1, (-s * at, 0.0, 0.5), force=(12.0 * s, 0.0, 0.0)) for s in (1.0, -1.0)]
    rails = tuple(Joint("prismatic", i, -1, one.position, (1.0, 0.0, 0.0)) for i, one in enumerate(pads))
    track = path(engine, Scene((*pads, capsule), (), 0.7, joints=rails), H, 2.0)
    # Both pads may drift together along their rails; the relevant quantity is the capsule's motion relative to them.
    crept = abs(float(track.poses[-1, 2, 2] - track.poses[-1001, 2, 2]))
    return [Measure("crept down, pinched by 12 N with a weight of 0.44 N, where 0 is asked, at", crept, 1e-6, "m/s")]


LINKAGES = (
    Case("four bars on the ground", "Does a loop of joints stay closed, swing as energy says, and press as virtual "
         "work says?", "Closed forms; limits 0.1 mm, two steps of g, 1 um/s, 0.1 %", _four_bars),
    Case("unequal bars swing", "Does a loop of unequal bars stay closed, and keep its energy?",
         "Conservation; limits 0.1 mm and two steps of g at the highest speed", _unequal),
    Case("pinched capsule", "Does a capsule creep that two pads on rails press with 12 N each?",
         "Coulomb: 0; MuJoCo issue 3328, which reports 50 to 2300 um/s", _pinched),
)  # fmt: skip
