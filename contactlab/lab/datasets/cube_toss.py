"""Recorded tosses of an acrylic cube onto a flat board, tracked by cameras.

Cube: DAIR Lab, University of Pennsylvania (`DAIRLab/contact-nets`, BSD-3-Clause), the set of 550 tosses scored in B.
Acosta, W. Yang, M. Posa, "Validating Robotics Simulators on Real-World Impacts", IEEE RA-L 7(3), 2022.

The file is one `.npz` in SI units; the rows of toss i are ``offsets[i]:offsets[i + 1]``:

=================  ========  ==========================================================================
``pos``            (N, 3)    cube centre, board frame, z up, board at z = 0 [m]
``quat_wxyz``      (N, 4)    orientation, body to board, real part first, unit
``offsets``        (n + 1,)  row ranges
``toss_id``        (n,)      number in the published set
``eval_start``     (n,)      first row of the scored window, counted from the start of the toss
``eval_ic``        (n, 13)   state at that row: position, quaternion, velocity (board axes), spin (body axes)
``dt``             ()        sampling time [s]
``half_width``     ()        half the edge of the cube [m]
``mass``           ()        [kg]
``inertia``        ()        about each axis through the centre [kg m^2]
``gravity``        ()        [m/s^2]
=================  ========  ==========================================================================

Further arrays of the published file (``lin_vel_world``, ``ang_vel_body``, ``duplicate_group``, ``contactnets_id``,
``eval_ic_fitted``) do not enter the metric. If present, they are checked like the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from contactlab.lab.datasets.files import Arrays, require
from contactlab.lab.errors import DatasetError

QUATERNION_TOLERANCE = 1e-6  # |norm - 1|: looser than float64 so that single-precision exports still read

_ARRAYS = {
    "pos": "float rows 3",
    "quat_wxyz": "float rows 4",
    "lin_vel_world": "optional float rows 3",
    "ang_vel_body": "optional float rows 3",
    "offsets": "int ends",
}
_BY_TOSS = {
    "toss_id": "int n",
    "eval_start": "int n",
    "duplicate_group": "optional int n",
    "contactnets_id": "optional int n",
    "eval_ic_fitted": "optional int n",
    "eval_ic": "float n 13",
    **dict.fromkeys(("dt", "half_width", "mass", "inertia", "gravity"), "positive"),
}


@dataclass(frozen=True)
class Toss:
    """The scored window of one toss.

    Parameters
    ----------
    index
        Index in the file.
    toss_id
        Number in the published set.
    position
        (n, 3) measured cube centres [m], one row per sample; row 0 belongs to the initial state.
    quaternion
        (n, 4) measured orientations, body to board, real part first.
    q
        (7,) initial position and quaternion.
    v
        (6,) initial velocity of the centre (board axes) [m/s] and angular velocity (body axes) [rad/s].
    """

    index: int
    toss_id: int
    position: NDArray[np.float64]
    quaternion: NDArray[np.float64]
    q: NDArray[np.float64]
    v: NDArray[np.float64]


@dataclass(frozen=True)
class CubeTosses:
    """Tosses of a file with the data of their cube; a sequence of `Toss`. Made by `load_cube_tosses`."""

    path: Path
    dt: float
    half_width: float
    mass: float
    inertia: float
    gravity: float
    pos: NDArray[np.float64]
    quat_wxyz: NDArray[np.float64]
    offsets: NDArray[np.int64]
    toss_id: NDArray[np.int64]
    eval_start: NDArray[np.int64]
    eval_ic: NDArray[np.float64]

    def __len__(self) -> int:
        return self.toss_id.size

    def __getitem__(self, index: int) -> Toss:
        if not 0 <= index < len(self):
            raise IndexError(f"toss {index} of {len(self)}")
        rows = slice(int(self.offsets[index] + self.eval_start[index]), int(self.offsets[index + 1]))
        state = self.eval_ic[index]
        return Toss(
            index=index,
            toss_id=int(self.toss_id[index]),
            position=self.pos[rows],
            quaternion=self.quat_wxyz[rows],
            q=np.concatenate((state[:3], state[3:7] / np.linalg.norm(state[3:7]))),
            v=state[7:].copy(),
        )

    def __iter__(self) -> Iterator[Toss]:
        return (self[i] for i in range(len(self)))


def load_cube_tosses(path: str | Path) -> CubeTosses:
    """Read and check a file of tosses.

    Raises
    ------
    DatasetError
        The text names the file, the array and its first offending entry. Reasons are: not an `.npz` or a truncated one,
        a missing array, a wrong shape or dtype, NaN or infinity, a quaternion not of unit length, offsets that do not
        rise from 0 to the number of rows, a window that starts outside its toss, a physical constant that is not
        positive.
    """
    arrays = Arrays(path)
    path = arrays.path
    found = arrays.table(_ARRAYS)
    require_unit(path, "quat_wxyz", found["quat_wxyz"])
    offsets = found["offsets"]
    _require_offsets(path, offsets, len(found["pos"]))
    found |= arrays.table(_BY_TOSS, n=offsets.size - 1)
    start, lengths = found["eval_start"], np.diff(offsets)
    inside = (start >= 0) & (start < lengths)
    require(path, "eval_start", inside, lambda at: f"{start[at]} lies outside the {lengths[at]} rows of its toss")
    require_unit(path, "eval_ic", found["eval_ic"][:, 3:7])
    return CubeTosses(path, **{field.name: found[field.name] for field in fields(CubeTosses) if field.name != "path"})


def require_unit(path: Path, name: str, quaternions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the norms of quaternions (..., 4); raise for the first one that is not of unit length."""
    norms = np.linalg.norm(quaternions, axis=-1)
    unit = np.abs(norms - 1.0) <= QUATERNION_TOLERANCE
    require(path, name, unit, lambda at: f"quaternion {quaternions[at]} has norm {norms[at]:.9g}, not 1")
    return np.asarray(norms)


def _require_offsets(path: Path, offsets: NDArray[np.int64], n_rows: int) -> None:
    """Raise unless the offsets rise strictly from 0 to the number of rows."""
    if offsets.size < 2:
        raise DatasetError(path, "offsets", f"{offsets.size} entries: the file holds no toss")
    if offsets[0] != 0:
        raise DatasetError(path, "offsets[0]", f"{offsets[0]}, expected 0")
    rises = np.diff(offsets, prepend=-1) > 0
    require(
        path, "offsets", rises, lambda at: f"{offsets[at]} does not exceed the entry before it, {offsets[at[0] - 1]}"
    )
    if offsets[-1] != n_rows:
        raise DatasetError(path, f"offsets[{offsets.size - 1}]", f"{offsets[-1]}, expected the {n_rows} rows of pos")


def save_cube_tosses(path: str | Path, tosses: CubeTosses) -> Path:
    """Write tosses to an `.npz` that `load_cube_tosses` reads; the suffix is added if missing."""
    path = Path(path)
    path = path if path.suffix == ".npz" else path.with_name(path.name + ".npz")
    arrays = {field.name: getattr(tosses, field.name) for field in fields(tosses) if field.name != "path"}
    np.savez_compressed(path, **arrays)
    return path
