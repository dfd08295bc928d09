"""Whole trajectories of a plastic square dropped between two glass plates onto a floor, filmed at 250 Hz.

Data: N. Fazeli, E. Donlon, E. Drumwright, A. Rodriguez, "Empirical Evaluation of Common Contact Models for Planar
Impact", ICRA 2017 (arXiv 1710.04979), as kept in `DAIRLab/ImpactModeling` (BSD-3-Clause).

One `.npz`, SI units, n drops of m samples each:

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

from contactlab.lab.datasets.npz import Arrays, files_with
from contactlab.lab.errors import DatasetError
from contactlab.spatial.arrays import FloatArray, IntArray

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
    path = Path(path)
    files = files_with(path, *_PATHS, "half_width")
    if len(files) > 1:
        names = ", ".join(file.name for file in files)
        raise DatasetError(path, "", f"expected one .npz of square drops, found {names}")
    return files[0] if files else None


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
