"""Single impacts of a plastic ellipse dropped between two glass plates onto a floor, filmed at 250 Hz.

Or of any other body in a plane: what is said of the file holds for impacts of one's own.

Data: N. Fazeli, E. Donlon, E. Drumwright, A. Rodriguez, "Empirical Evaluation of Common Contact Models for Planar
Impact", ICRA 2017 (arXiv 1710.04979), as kept in `DAIRLab/ImpactModeling` (BSD-3-Clause).

One `.npz`, SI units, n impacts:

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
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from contactlab.lab.datasets.npz import Arrays, entry, files_with
from contactlab.lab.errors import DatasetError
from contactlab.spatial.arrays import FloatArray

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
    if not path.is_dir():
        return path
    files = files_with(path, "jac_normal")
    if len(files) != 1:
        names = ", ".join(file.name for file in files) or "none"
        raise DatasetError(path, "", f"expected one .npz with the array jac_normal, found {names}")
    return files[0]


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
    for name, rows, unit in (("jac_normal", normal, (0.0, 1.0)), ("jac_tangent", tangent, (1.0, 0.0))):
        bad = np.flatnonzero(np.any(rows[:, :2] != unit, axis=1))
        if bad.size:
            i = int(bad[0])
            raise DatasetError(path, entry(name, (i,)), f"{rows[i]} does not begin with {unit}")
    still = np.flatnonzero(~np.any(before, axis=1))
    if still.size:
        raise DatasetError(path, entry("pre_vel", (int(still[0]),)), "no motion before the impact")
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
