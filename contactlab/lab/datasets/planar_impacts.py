"""Plastic bodies dropped between two glass plates onto a floor, filmed at 250 Hz: an ellipse and a square.

Data: N. Fazeli, E. Donlon, E. Drumwright, A. Rodriguez, "Empirical Evaluation of Common Contact Models for Planar
Impact", ICRA 2017 (arXiv 1710.04979), as kept in `DAIRLab/ImpactModeling` (BSD-3-Clause).

One `.npz`, SI units, n impacts, of the ellipse or of any other body in a plane, one's own among them:

===============  ========  =======  =====================================================================
``pre_vel``      (n, 3)    float64  vx, vy, omega before the impact [m/s, rad/s]
``post_vel``     (n, 3)    float64  the same after it
``jac_normal``   (n, 3)    float64  row of the contact's normal velocity, (0, 1, lever) [m]
``jac_tangent``  (n, 3)    float64  row of its tangential velocity, (1, 0, lever)
``flags``        (n, any)  integer  marks of quality; an impact with one that is not 0 is left out
``mass``         ()        float64  [kg]
``inertia``      ()        float64  about the centre [kg m^2]
===============  ========  =======  =====================================================================

`docs/validation.md` makes one of the public MATLAB file, `docs/tutorial_impact.md` one of impacts of one's own.

One `.npz` of whole trajectories of the square, n drops of m samples each:

==============  ========  ==============================================================================
``x``, ``z``    (n, m)    centre of the square, z up [m]
``theta``       (n, m)    its angle [rad], known up to quarter turns
``traj_id``     (n,)      number of the drop
``dt``          ()        time between frames [s]
``half_width``  ()        half the side [m]
==============  ========  ==============================================================================

The velocities of the published file (``vx``, ``vz``, ``vtheta``) are differences of the positions and are not read.
What has to be put right before use is in `contactlab.studies.square_path`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from contactlab.lab.datasets.npz import Arrays, file_with, require
from contactlab.lab.errors import DatasetError
from contactlab.spatial.arrays import FloatArray, IntArray

#: Of the published ellipse, half axes 35 and 25 mm.
PUBLISHED_MASS = (0.037, 0.037, 0.037 * (0.035**2 + 0.025**2) / 4.0)


@dataclass(frozen=True, eq=False)
class PlanarImpacts:
    """Impacts without a mark of bad quality. Made by `load_planar_impacts`."""

    path: Path
    # (n, 3) vx, vy, omega [m/s, rad/s].
    before: FloatArray
    after: FloatArray
    # (n, 3) rows of the contact's velocity as stored.
    normal: FloatArray
    tangent: FloatArray
    mass: FloatArray  # (3,) diagonal of the inertia matrix: mass, mass, inertia
    left_out: int  # impacts with a mark of bad quality

    def __len__(self) -> int:
        return len(self.before)

    @property
    def published(self) -> bool:
        """Whether the body is the ellipse of the published recordings, by its mass and inertia."""
        return bool(np.allclose(self.mass, PUBLISHED_MASS, rtol=1e-3))


def find_planar_impacts(path: str | Path) -> Path:
    """Return ``path``, or the one `.npz` of impacts in it where it is a folder; none or several: a `DatasetError`."""
    path = Path(path)
    found = file_with(path, "with the array jac_normal", "jac_normal") if path.is_dir() else path
    if found is None:
        raise DatasetError(path, "", "expected one .npz with the array jac_normal, found none")
    return found


def load_planar_impacts(path: str | Path) -> PlanarImpacts:
    """Read and check a file of impacts.

    Raises `DatasetError`, naming the file, the array and its first offending entry: not an `.npz`, a missing array, a
    wrong shape or dtype, NaN or infinity, a mass that is not positive, a row that is not (0, 1, lever) or (1, 0,
    lever), an impact that does not move before it, fewer than two impacts of good quality.
    """
    arrays = Arrays(path)
    path = arrays.path
    before = arrays.floats("pre_vel", None, 3)
    n = len(before)
    after, normal, tangent = (arrays.floats(name, n, 3) for name in ("post_vel", "jac_normal", "jac_tangent"))
    across, along = np.all(normal[:, :2] == (0.0, 1.0), axis=1), np.all(tangent[:, :2] == (1.0, 0.0), axis=1)
    require(path, "jac_normal", across, lambda at: f"{normal[at]} does not begin with (0.0, 1.0)")
    require(path, "jac_tangent", along, lambda at: f"{tangent[at]} does not begin with (1.0, 0.0)")
    require(path, "pre_vel", np.any(before, axis=1), lambda at: "no motion before the impact")
    mass, inertia = arrays.positive("mass"), arrays.positive("inertia")
    good = ~np.any(arrays.integers("flags", n, None), axis=1)
    if np.count_nonzero(good) < 2:
        raise DatasetError(path, "flags", f"{np.count_nonzero(good)} of {n} impacts without a mark: two are needed")
    return PlanarImpacts(
        path=path,
        before=before[good],
        after=after[good],
        normal=normal[good],
        tangent=tangent[good],
        mass=np.array([mass, mass, inertia]),
        left_out=int(n - np.count_nonzero(good)),
    )


#: What a start is fitted to is in the first samples; a drop needs more than those.
LEAST_SAMPLES = 10
_PATHS = ("x", "z", "theta")


@dataclass(frozen=True, eq=False)
class SquareDrops:
    """Recorded drops, as stored. Made by `load_square_drops`; the fields are the arrays of the file."""

    path: Path
    x: FloatArray
    z: FloatArray
    theta: FloatArray
    traj_id: IntArray
    dt: float
    half_width: float

    def __len__(self) -> int:
        return len(self.x)

    @property
    def side(self) -> float:
        """Side of the square [m]."""
        return 2.0 * self.half_width


def find_square_drops(path: str | Path) -> Path | None:
    """Return ``path``, or the one `.npz` in it where it is a folder, if that holds square drops; None if not.

    What is not an `.npz`, and a folder with several files of drops, is a `DatasetError`.
    """
    return file_with(Path(path), "of square drops", *_PATHS, "half_width")


def load_square_drops(path: str | Path) -> SquareDrops:
    """Read and check a file of drops.

    Raises `DatasetError`, naming the file, the array and its first offending entry: not an `.npz`, a missing array, a
    wrong shape or dtype, NaN or infinity, a time step or side that is not positive, no drop, or fewer than ten samples.
    """
    arrays = Arrays(path)
    shape = arrays.numbers("x", None, None).shape
    if shape[0] < 1 or shape[1] < LEAST_SAMPLES:
        detail = f"shape {shape}: at least one drop of {LEAST_SAMPLES} samples is needed"
        raise DatasetError(arrays.path, "x", detail)
    x, z, theta = (arrays.floats(name, *shape) for name in _PATHS)
    dt, half_width = arrays.positive("dt"), arrays.positive("half_width")
    return SquareDrops(arrays.path, x, z, theta, arrays.integers("traj_id", shape[0]), dt, half_width)
