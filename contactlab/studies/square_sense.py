"""Which way recorded squares turn, from the changes of momentum in impacts on one corner.

A square and its mirror image have corners of the same height at every angle: heights tell whether an angle belongs to a
height, and nothing of the sense. The momentum of an impact does. About y, with (r_x, r_z) the way from the centre to
the corner that strikes and P the measured change of momentum,

    I d_omega = -a r_x P_z + b r_z P_x,

rigid: a = b = 1. Where the angle has the other sense r_x and d_omega turn round together, and b alone changes its sign.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from contactlab.lab.datasets.square_drops import SquareDrops
from contactlab.spatial.arrays import FloatArray
from contactlab.studies.square_path import CLEAR, Calibration, SquarePath, lowest_corner

AFTER = 8  # samples of the flight after the impact
ALONE = 25e-3  # [m] by which the second corner is higher: 30 mm on the corner's point, none on a side
GRAVITY = 9.81
NOISE = (5e-4, 7e-4, 2e-2)  # of samples about the flight fitted to them [m, m, rad]


def rotation_sense(
    drops: SquareDrops, paths: Sequence[SquarePath], calibration: Calibration
) -> tuple[float, float, int]:
    """Return (a, b) of least squares over first impacts on one corner, and how many there are.

    Two at least are needed: (nan, nan, n) for fewer.
    """
    impacts = [impact for path in paths if (impact := first_impact(drops, path, calibration)) is not None]
    if len(impacts) < 2:
        return float("nan"), float("nan"), len(impacts)
    changes = [(r, after - before) for r, before, after in impacts]
    terms = np.array([(drops.side**2 / 6.0 * P[2], -r[0] * P[1], r[1] * P[0]) for r, P in changes])
    a, b = np.linalg.lstsq(terms[:, 1:], terms[:, 0])[0]
    return float(a), float(b), len(impacts)


def first_impact(
    drops: SquareDrops, path: SquarePath, calibration: Calibration
) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Return the way r (2,) to the corner of the first impact and the velocities (3,) before and after it.

    None where it is not a clear one of a single corner.
    """
    half = drops.half_width
    floor = calibration.height + calibration.slope * path.pose[:, 0]
    clear = lowest_corner(path.pose[:, 1], path.pose[:, 2], half) - floor > CLEAR
    rising = np.concatenate(([False], np.diff(path.pose[:, 1]) > 0.0))
    hit = int(np.argmax(~clear | rising))
    first = hit + 1
    rows = slice(first, first + AFTER)
    while first < hit + 5 and not clear[rows].all():
        first += 1
        rows = slice(first, first + AFTER)
    if hit < 5 or not clear[rows].all() or len(path.frame[rows]) < AFTER:
        return None
    if path.frame[first + AFTER - 1] != first + AFTER - 1:
        return None
    # The moment of the impact: the first corner at the floor, on the flight before it.
    times = np.linspace(0.0, path.frame[first] * drops.dt, 400)
    fall = np.array([0.0, -GRAVITY, 0.0])
    flight = path.q + np.outer(times, path.v) + 0.5 * np.outer(times**2, fall)
    height = calibration.height + calibration.slope * flight[:, 0]
    touching = lowest_corner(flight[:, 1], flight[:, 2], half) <= height
    if not touching.any():
        return None
    at = int(np.argmax(touching))
    after = path.frame[rows] * drops.dt - times[at]
    bent = path.pose[rows] - 0.5 * np.outer(after**2, fall)
    slope, value = np.polyfit(after, bent, 1)
    if np.any(np.max(np.abs(bent - value - np.outer(after, slope)), axis=0) > NOISE):
        return None
    c, s = np.cos(flight[at, 2]), np.sin(flight[at, 2])
    corners = half * np.array([(c * i + s * j, c * j - s * i) for i in (-1, 1) for j in (-1, 1)])
    order = np.argsort(corners[:, 1])
    if corners[order[1], 1] - corners[order[0], 1] < ALONE:
        return None
    return corners[order[0]], path.v + fall * times[at], slope
