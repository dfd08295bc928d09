"""Joints and contact together: a loop of four bars that comes down on the ground, and a capsule between two pads."""

from __future__ import annotations

import math

import numpy as np

from contactlab.conformance.case import Case, Measure, net_contact_force, path
from contactlab.conformance.scene import Body, Engine, Joint, Pin, Scene, ShapeSpec, box
from contactlab.spatial import quaternion

G, H = 9.81, 1e-3
ARM, LENGTH, LIGHT, HEAVY, PULL = 0.3, 0.4, 0.5, 2.0, 5.0  # m, m, kg, kg, N
START, END = math.radians(-10.0), math.radians(-50.0)


def four_bars() -> Scene:
    """A coupler on two parallel arms, pulled along x, that swings down until it lies on a floor without friction."""
    half = (0.5 * LENGTH, 0.02, 0.02)
    high = half[2] - ARM * math.sin(END)
    # Angles of arms count from x up: a turn about -y.
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
    scene = four_bars()
    track = path(engine, scene, H, 1.0)
    ends = []
    for k, along in ((1, LENGTH), (2, ARM)):
        turns = quaternion.to_matrix(track.poses[:, k, 3:])
        ends.append(track.poses[:, k, :3] + turns @ (0.5 * along, 0.0, 0.0))
    opened = float(np.linalg.norm(ends[0] - ends[1], axis=1).max())
    # Half way down, by energy: both arms turn by a', the coupler shifts by ARM a'.
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
    # Crank, coupler and rocker, all rods in the plane y = 0, between pivots 0.4 m apart; they start at rest.
    crank, coupler, rocker, base = 0.15, 0.4, 0.3, 0.4
    a = np.array((0.0, 0.0, crank))
    # The rocker's upper end is where circles about the crank's end and the far pivot meet.
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
    r, half, pad = 4e-3, 0.02, (5e-3, 0.02, 0.03)
    inertia = (0.045 * half**2 / 3.0, 0.045 * half**2 / 3.0, 0.5 * 0.045 * r * r)
    capsule = Body(ShapeSpec("capsule", (r, half)), 0.045, inertia, (0.0, 0.0, 0.5))
    at = r + pad[0]
    pads = [box(pad, 0.1, (-s * at, 0.0, 0.5), force=(12.0 * s, 0.0, 0.0)) for s in (1.0, -1.0)]
    rails = tuple(Joint("prismatic", i, -1, one.position, (1.0, 0.0, 0.0)) for i, one in enumerate(pads))
    track = path(engine, Scene((*pads, capsule), (), 0.7, joints=rails), H, 2.0)
    # Both pads may drift together along their rails: what counts is the capsule's way down them.
    crept = abs(float(track.poses[-1, 2, 2] - track.poses[-1001, 2, 2]))
    return [Measure("crept down, pinched by 12 N with a weight of 0.44 N, where 0 is asked, at", crept, 1e-6, "m/s")]


CASES = (
    Case("four bars on the ground", "Does a loop of joints stay closed, swing as energy says, and press as virtual "
         "work says?", "Closed forms; limits 0.1 mm, two steps of g, 1 um/s, 0.1 %", _four_bars),
    Case("unequal bars swing", "Does a loop of unequal bars stay closed, and keep its energy?",
         "Conservation; limits 0.1 mm and two steps of g at the highest speed", _unequal),
    Case("pinched capsule", "Does a capsule creep that two pads on rails press with 12 N each?",
         "Coulomb: 0; MuJoCo issue 3328, which tells 50 to 2300 um/s", _pinched),
)  # fmt: skip
