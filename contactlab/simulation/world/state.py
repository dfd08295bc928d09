"""The state between two steps: everything on which the next step depends, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contactlab.multibody.spatial.arrays import FloatArray, finite_array, finite_number, read_only, set_fields
from contactlab.simulation.world.errors import SimulationConfigError

#: Empty arrays of ids, pairs of numbers and numbers.
NO_IDS, NO_PAIRS, NO_NUMBERS = (
    read_only(np.zeros(shape, dtype=kind))
    for shape, kind in (((0,), np.int64), ((0, 2), np.float64), ((0,), np.float64))
)


@dataclass(frozen=True, eq=False)
class StepperState:
    """State of a stepper. A step from the same state gives the same bits in any run.

    Parameters
    ----------
    q, v
        Configuration (nq,) and velocity (nv,) of the world's bodies.
    time
        [s].
    h
        Size of the step that led here [s], 0 at a start. An adaptive stepper starts with it; a fixed-step stepper
        ignores it.
    contact_ids
        (nc,) int64, ascending: the contacts of the step that led here.
    z
        (nc, w) their LCP variables, the warm start: normal force [N], r forces along the friction directions and r
        against them [N], slip speed [m/s]; w = 2 + 2 r.
    row_ids, row_z
        (n,) int64, ascending, and (n, 2): the same for the joint rows (`World.joint_rows`) that took part.
    rest, tau
        In runs with sleeping bodies: the time for which each tree has rested [s] (nt,), and the applied force of the
        step that led here (nv,). If empty, both are 0.

    Notes
    -----
    Arrays are copied and read-only; the value can be copied and pickled.
    """

    q: FloatArray
    v: FloatArray
    time: float = 0.0
    h: float = 0.0
    contact_ids: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    z: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    row_ids: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    row_z: FloatArray = field(default_factory=lambda: np.zeros((0, 2)))
    rest: FloatArray = field(default_factory=lambda: np.zeros(0))
    tau: FloatArray = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        ids, row_ids = _ids("contact_ids", self.contact_ids), _ids("row_ids", self.row_ids)
        shapes = {"z": (None, None), "row_z": (row_ids.size, 2)} | dict.fromkeys(("q", "v", "rest", "tau"), (None,))
        checked: dict[str, Any] = {
            "contact_ids": ids,
            "row_ids": row_ids,
            "time": finite_number(self.time, "time", SimulationConfigError),
            "h": finite_number(self.h, "h", SimulationConfigError, least=0.0),
        }
        for name, shape in shapes.items():
            checked[name] = finite_array(getattr(self, name), name, shape, SimulationConfigError)
        if len(checked["z"]) != ids.size:
            raise SimulationConfigError("z", f"has {len(checked['z'])} rows for {ids.size} contact ids")
        set_fields(self, **checked)

    @classmethod
    def of_run(cls, time: float, h: float, **arrays: NDArray[Any]) -> StepperState:
        """Return the state with these values, which the run has already checked.

        Read-only arrays, such as `NO_IDS`, are not copied.
        """
        state = object.__new__(cls)
        held = state.__dict__
        held["time"], held["h"] = time, h
        for name, array in arrays.items():
            own = array
            if array.flags.writeable:
                own = array.copy()
                own.setflags(write=False)
            held[name] = own
        return state

    def without_warm_start(self) -> StepperState:
        """Return the same state without contacts and joint rows: the next step's solver starts cold."""
        none = np.zeros(0, dtype=np.int64)
        return replace(self, contact_ids=none, z=np.zeros((0, 0)), row_ids=none, row_z=np.zeros((0, 2)))


def _ids(name: str, given: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a read-only int64 copy of ids (n,); raise unless they ascend without repetition."""
    ids = np.array(given)
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise SimulationConfigError(name, f"must be whole numbers (n,), got {ids.dtype} {ids.shape}")
    if np.any(ids[1:] <= ids[:-1]):
        raise SimulationConfigError(name, "must ascend without repetition")
    ids = ids.astype(np.int64)
    ids.flags.writeable = False
    return ids
