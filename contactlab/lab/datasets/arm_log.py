"""A user's own recording of a robot: time, positions, applied forces, and velocities where there are any.

An `.npz` with the arrays ``t`` (n,) [s], ``q`` (n, nq), ``tau`` (n, nv) and, if measured, ``v`` (n, nv); or a `.csv`
whose first line names its columns: ``t``, ``q0``, ``q1``, ..., ``tau0``, ... and, if measured, ``v0``, ... Samples are
evenly spaced; tau of a sample acts until the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from contactlab.lab.datasets.npz import Arrays, require
from contactlab.lab.errors import DatasetError
from contactlab.spatial.arrays import FloatArray
from problem_data.files import read_text

#: Part of the sampling time by which a sample may come early or late.
UNEVEN = 0.01
LEAST_SAMPLES = 10


@dataclass(frozen=True, eq=False)
class ArmLog:
    """A recording, as stored. Made by `load_arm_log`."""

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

    Raises `DatasetError`, naming the file and the array, or the line and column, at fault: a missing one, a wrong
    shape, what is no finite number, samples that are not evenly spaced, fewer than ten.
    """
    path = Path(path)
    found = _of_text(path) if path.suffix.lower() == ".csv" else _of_arrays(path)
    t = found["t"]
    if t.size < LEAST_SAMPLES:
        raise DatasetError(path, "t", f"{t.size} samples: {LEAST_SAMPLES} are needed")
    gaps = np.diff(t)
    mean = float(gaps.mean())
    even = np.append(True, np.abs(gaps - mean) <= UNEVEN * mean)
    said = f"s after the one before, others {mean:g} s: resample"
    require(path, "t", even, lambda at: f"comes {gaps[at[0] - 1]:g} {said}")
    return ArmLog(path, t, found["q"], found["tau"], found.get("v"))


def _of_arrays(path: Path) -> Mapping[str, FloatArray]:
    arrays = Arrays(path)
    t = arrays.floats("t", None)
    q, tau = arrays.floats("q", t.size, None), arrays.floats("tau", t.size, None)
    return {"t": t, "q": q, "tau": tau} | ({"v": arrays.floats("v", *tau.shape)} if "v" in arrays else {})


def _of_text(path: Path) -> Mapping[str, FloatArray]:
    lines = read_text(path, DatasetError).split("\n")
    names = [name.strip() for name in lines[0].split(",")]
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        if not line.strip():
            continue
        words = line.split(",")
        if len(words) != len(names):
            raise DatasetError(path, f"line {number}", f"{len(words)} entries under {len(names)} names")
        try:
            rows.append([float(word) for word in words])
        except ValueError as error:
            raise DatasetError(path, f"line {number}", str(error)) from None
        if not np.isfinite(rows[-1]).all():
            raise DatasetError(path, f"line {number}", "holds what is not a finite number")
    table = np.array(rows).reshape(len(rows), len(names))
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
