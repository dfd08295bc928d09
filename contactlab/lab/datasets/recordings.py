"""Recorded motions: tosses of a cube, impacts of bodies in a plane, a robot.

Recorded tosses of an acrylic cube onto a flat board, tracked by cameras.

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

Plastic bodies dropped between two glass plates onto a floor, filmed at 250 Hz; and recordings of robots.

Data: N. Fazeli, E. Donlon, E. Drumwright, A. Rodriguez, "Empirical Evaluation of Common Contact Models for Planar
Impact", ICRA 2017 (arXiv 1710.04979), as kept in `DAIRLab/ImpactModeling` (BSD-3-Clause).

The impacts are one `.npz` in SI units, with n impacts of the ellipse or of any other body in a plane:

===============  ========  =======  =====================================================================
``pre_vel``      (n, 3)    float64  vx, vy, omega before the impact [m/s, rad/s]
``post_vel``     (n, 3)    float64  the same after it
``jac_normal``   (n, 3)    float64  row of the contact's normal velocity, (0, 1, lever) [m]
``jac_tangent``  (n, 3)    float64  row of its tangential velocity, (1, 0, lever)
``flags``        (n, any)  integer  marks of quality; an impact with one that is not 0 is left out
``mass``         ()        float64  [kg]
``inertia``      ()        float64  about the centre [kg m^2]
===============  ========  =======  =====================================================================

`docs/validation.md` converts the public MATLAB file, and `docs/tutorial_impact.md` your own recordings.

The second kind is a user's recording of a robot: time, positions, applied forces, and velocities if measured.

It is an `.npz` with the arrays ``t`` (n,) [s], ``q`` (n, nq), ``tau`` (n, nv) and, if measured, ``v`` (n, nv). Or it is
a `.csv` whose first line names its columns: ``t``, ``q0``, ``q1``, ..., ``tau0``, ... and, if measured, ``v0``, ...
Samples are evenly spaced; the forces tau of a sample act until the next one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from contactlab.lab.datasets.files import Arrays, DatasetError, require
from contactlab.multibody.spatial.arrays import FloatArray
from problem_data.files import read_text

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


_IMPACTS = {
    **dict.fromkeys(("pre_vel", "post_vel", "jac_normal", "jac_tangent"), "float n 3"),
    "flags": "int n any",
    **dict.fromkeys(("mass", "inertia"), "positive"),
}


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


def load_planar_impacts(path: str | Path) -> PlanarImpacts:
    """Read and check a file of impacts.

    Raises `DatasetError`, naming the file, the array and its first offending entry. Reasons are: not an `.npz`, a
    missing array, a wrong shape or dtype, NaN or infinity, a mass that is not positive, a row that is not (0, 1, lever)
    or (1, 0, lever), an impact without velocity before it, fewer than two impacts of good quality.
    """
    arrays = Arrays(path)
    path = arrays.path
    found = arrays.table(_IMPACTS)
    before, normal, tangent = found["pre_vel"], found["jac_normal"], found["jac_tangent"]
    for name, start in (("jac_normal", (0.0, 1.0)), ("jac_tangent", (1.0, 0.0))):
        row = found[name]
        begins = np.all(row[:, :2] == start, axis=1)
        require(path, name, begins, lambda at, row=row, start=start: f"{row[at]} does not begin with {start}")  # type: ignore[misc]
    require(path, "pre_vel", np.any(before, axis=1), lambda at: "no motion before the impact")
    good = ~np.any(found["flags"], axis=1)
    if np.count_nonzero(good) < 2:
        raise DatasetError(
            path, "flags", f"{np.count_nonzero(good)} of {good.size} impacts without a mark: two are needed"
        )
    return PlanarImpacts(
        path=path,
        before=before[good],
        after=found["post_vel"][good],
        normal=normal[good],
        tangent=tangent[good],
        mass=np.array([found["mass"], found["mass"], found["inertia"]]),
        left_out=int(np.count_nonzero(~good)),
    )


#: Largest deviation of a sample time, as a fraction of the sampling time.
UNEVEN = 0.01
LEAST_LOG_SAMPLES = 10
_LOG = {"t": "float n", "q": "float n nq", "tau": "float n nv", "v": "optional float n nv"}


@dataclass(frozen=True, eq=False)
class ArmLog:
    """Arrays of a recording of a robot. Made by `load_arm_log`."""

    path: Path
    t: FloatArray
    q: FloatArray
    tau: FloatArray
    v: FloatArray | None

    @property
    def dt(self) -> float:
        """Time between samples [s]."""
        return float((self.t[-1] - self.t[0]) / (self.t.size - 1))


def load_arm_log(path: str | Path) -> ArmLog:
    """Read and check a recording.

    Raises `DatasetError`, naming the file and the array, or the line and column. Reasons are: a missing array, a wrong
    shape, a value that is not a finite number, samples that are not evenly spaced, fewer than ten samples.
    """
    path = Path(path)
    found = _read_text_log(path) if path.suffix.lower() == ".csv" else Arrays(path).table(_LOG)
    t = found["t"]
    if t.size < LEAST_LOG_SAMPLES:
        raise DatasetError(path, "t", f"{t.size} samples: {LEAST_LOG_SAMPLES} are needed")
    gaps = np.diff(t)
    mean = float(gaps.mean())
    even = np.append(True, np.abs(gaps - mean) <= UNEVEN * mean)
    said = f"s after the one before, others {mean:g} s: resample"
    require(path, "t", even, lambda at: f"comes {gaps[at[0] - 1]:g} {said}")
    return ArmLog(path, t, found["q"], found["tau"], found.get("v"))


def _read_text_log(path: Path) -> Mapping[str, FloatArray]:
    """Return the columns of a CSV log: ``t`` (n,), and q, v and tau stacked from columns q0, q1, ..."""
    head, _, body = read_text(path, DatasetError).partition("\n")
    names = [name.strip() for name in head.split(",")]
    try:
        table = np.loadtxt(body.splitlines() or ["nan"], delimiter=",", comments=None, ndmin=2)
    except ValueError as error:
        raise DatasetError(path, "", str(error)) from None
    if table.shape[1] != len(names):
        raise DatasetError(path, "line 1", f"{len(names)} names over {table.shape[1]} columns")
    require(path, "rows", np.isfinite(table), lambda at: "holds a value that is not a finite number")
    columns = dict(zip(names, table.T, strict=True))
    if len(columns) < len(names) or "t" not in columns:
        raise DatasetError(path, "line 1", f"names {', '.join(names)[:200]}: each once, t among them")
    found = {"t": columns["t"].copy()}
    for kind in ("q", "v", "tau"):
        count = sum(name.removeprefix(kind).isdigit() and name.startswith(kind) for name in names)
        missing = [f"{kind}{k}" for k in range(max(1, count)) if f"{kind}{k}" not in columns]
        if not missing:
            found[kind] = np.stack([columns[f"{kind}{k}"] for k in range(count)], axis=1)
        elif count or kind != "v":
            raise DatasetError(path, "line 1", f"no column {missing[0]}")
    return found
