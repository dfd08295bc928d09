"""Tosses as ensembles: starts drawn from the noise of the measurement, numbers from the region that the data allow.

After an impact two starts that no camera tells apart may lead to two faces. So a prediction is a set of paths: the one
nearest to all others, their medoid, is the path of least expected error, and where they come to rest is a region.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from contactlab.spatial import quaternion
from contactlab.spatial.arrays import FloatArray
from contactlab.studies.toss_settings import TossSettings

#: Half widths of the region of each number, of its value: about what resampled choices range over.
SPREAD = {"mu": 0.03, "corner_radius": 0.5, "stiffness": 0.25, "dissipation": 0.25}
#: What position and rotation errors are measured in where they are added [%, deg].
UNITS = np.array((13.0, 16.0))


@dataclass(frozen=True)
class StartNoise:
    """Standard deviations of a measured start, per axis: what is left of a parabola and a steady turn in flight."""

    position: float = 6e-5  # [m]
    rotation: float = 1e-3  # [rad]
    velocity: float = 1e-3  # [m/s]
    spin: float = 1.4e-2  # [rad/s]


def drawn_starts(
    q: FloatArray, v: FloatArray, members: int, seed: int, noise: StartNoise
) -> tuple[FloatArray, FloatArray]:
    """Return starts (m, 7) and (m, 6) about the measured one, which is the first."""
    normal = np.random.default_rng(seed).standard_normal((members, 4, 3))
    normal[0] = 0.0
    at, turn, velocity, spin = np.moveaxis(normal, 1, 0)
    orientation = [quaternion.multiply(q[3:], quaternion.exp(noise.rotation * one)) for one in turn]
    return (
        np.hstack((q[:3] + noise.position * at, orientation)),
        v + np.hstack((noise.velocity * velocity, noise.spin * spin)),
    )


def drawn_settings(settings: TossSettings, members: int) -> tuple[TossSettings, ...]:
    """Return settings that fill the region about the given ones, which are the first."""
    from scipy.stats import qmc

    names = [name for name in SPREAD if 0.0 < getattr(settings, name) < np.inf]
    unit = 2.0 * qmc.Halton(len(names), seed=0).random(members) - 1.0
    unit[0] = 0.0
    drawn = []
    for row in unit:
        scaled = {name: getattr(settings, name) * (1.0 + SPREAD[name] * x) for name, x in zip(names, row, strict=True)}
        drawn.append(replace(settings, members=1, **scaled))
    return tuple(drawn)


def path_errors(paths: FloatArray, other: FloatArray, width: float) -> FloatArray:
    """Return the position [% of the width] and rotation [deg] errors (..., 2) of paths (..., n, 7) to others."""
    distance = np.linalg.norm(paths[..., :3] - other[..., :3], axis=-1).mean(axis=-1)
    cosine = np.abs((paths[..., 3:7] * other[..., 3:7]).sum(axis=-1)).clip(0.0, 1.0)
    return np.stack((100.0 * distance / width, np.degrees(2.0 * np.arccos(cosine).mean(axis=-1))), axis=-1)


def medoid(paths: FloatArray, width: float) -> int:
    """Return which of the paths (m, n, 7) is nearest to the others; those that are not finite are none of them."""
    kept = np.flatnonzero(np.isfinite(paths).all(axis=(1, 2)))
    if not kept.size:
        return 0
    sums = [(path_errors(paths[kept], paths[i], width) / UNITS).sum() for i in kept]
    return int(kept[np.argmin(sums)])


def energy_scores(paths: FloatArray, measured: FloatArray, width: float) -> FloatArray:
    """Return energy scores (2,) of an ensemble (m, n, 7) [%, deg]: low if near the path and no wider than needed."""
    between = np.array([path_errors(paths, one, width).mean(axis=0) for one in paths]).mean(axis=0)
    return np.asarray(path_errors(paths, measured, width).mean(axis=0) - 0.5 * between)
