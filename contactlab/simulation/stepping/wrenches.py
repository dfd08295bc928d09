"""Wrenches on bodies, and their applied generalized force at a configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody import Model, MultibodyError
from contactlab.multibody.points import ORIGIN, columns
from contactlab.multibody.spatial.arrays import FloatArray, IntArray, finite_array, read_only
from contactlab.simulation.stepping.callbacks import Tau, tau_at
from contactlab.simulation.world.errors import SimulationConfigError
from contactlab.simulation.world.world import World

_ZERO = (0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False, init=False)
class Wrench:
    """A force and a moment on a body.

    Parameters
    ----------
    force
        (3,) [N]; in a batch also (B, 3), in a rollout (B, steps, 3), as are the other two.
    moment
        (3,) [N m] in addition to the moment of the force.
    at
        (3,) [m] point of the force, in body coordinates; default the body's origin.
    axes
        Axes of force and moment: "world", or "body" for axes that turn with the body.

    Raises
    ------
    SimulationConfigError
        An argument is invalid; the error names the field and the value.
    """

    force: FloatArray
    moment: FloatArray
    at: FloatArray
    axes: Literal["world", "body"]

    def __init__(
        self,
        force: ArrayLike = _ZERO,
        moment: ArrayLike = _ZERO,
        at: ArrayLike = _ZERO,
        axes: Literal["world", "body"] = "world",
    ) -> None:
        if axes not in ("world", "body"):
            raise SimulationConfigError("Wrench.axes", f"must be 'world' or 'body', got {axes!r}")
        for name, value in (("force", force), ("moment", moment), ("at", at)):
            shape = (*(None,) * min(max(np.ndim(value) - 1, 0), 2), 3)
            self.__dict__[name] = read_only(finite_array(value, f"Wrench.{name}", shape, SimulationConfigError))
        self.__dict__["axes"] = axes

    def of_runs(self, runs: IntArray) -> Wrench:
        """Return the wrench on the runs with the indices ``runs``; arrays without a batch axis stay as they are."""
        force, moment, at = (x if x.ndim == 1 else x[runs] for x in (self.force, self.moment, self.at))
        return _unchecked(force, moment, at, self.axes)

    def of_step(self, step: int) -> Wrench:
        """Return the wrench in step ``step`` of a rollout; arrays without an axis of steps stay as they are."""
        force, moment, at = (x if x.ndim < 3 else x[:, step] for x in (self.force, self.moment, self.at))
        return _unchecked(force, moment, at, self.axes)


def _unchecked(force: FloatArray, moment: FloatArray, at: FloatArray, axes: Literal["world", "body"]) -> Wrench:
    """Return a wrench of arrays that were already checked."""
    made = object.__new__(Wrench)
    made.__dict__.update(force=force, moment=moment, at=at, axes=axes)
    return made


#: By the name of the body: a `Wrench`, or (6,) its moment and force, in world axes about the body's origin.
Wrenches: TypeAlias = Mapping[str, Wrench | ArrayLike]
#: Wrenches for every step, or a function of (time, q, v) that returns them, called once per step.
WrenchLaw: TypeAlias = Wrenches | Callable[[float, FloatArray, FloatArray], Wrenches] | None


def checked_wrenches(
    model: Model, f_ext: Wrenches, runs: int | None = None, when: str = "", steps: int | None = None
) -> dict[str, Wrench]:
    """Return wrenches by body; raise an error for unknown bodies and wrong shapes.

    ``runs``: arrays are for this number of runs, (B, 6), and entries of a `Wrench` may be. With ``steps`` both may also
    be for this number of steps, (B, steps, 6). ``when`` is appended to field names in errors.
    """
    if not isinstance(f_ext, Mapping):
        detail = f"must map names of bodies to wrenches, got {type(f_ext).__name__}"
        raise SimulationConfigError(f"f_ext{when}", detail)
    found, leading = {}, () if runs is None else (runs,)
    shapes = dict.fromkeys([(3,), (*leading, 3), (*leading, *(() if steps is None else (steps,)), 3)])
    for name, given in f_ext.items():
        field = f"f_ext[{name!r}]{when}"
        try:
            model.index_or_world(name)
        except MultibodyError as error:
            raise SimulationConfigError(field, error.detail) from error
        if not isinstance(given, Wrench):
            by_step = (steps,) if steps is not None and np.ndim(given) == 3 else ()
            rows = finite_array(given, field, (*leading, *by_step, 6), SimulationConfigError)
            found[name] = _unchecked(rows[..., 3:], rows[..., :3], ORIGIN, "world")
            continue
        for entry in ("force", "moment", "at"):
            shape = getattr(given, entry).shape
            if shape not in shapes:
                wanted = " or ".join(map(str, shapes))
                raise SimulationConfigError(field, f"its {entry} must have shape {wanted}, got {shape}")
        found[name] = given
    return found


def applied_by(model: Model, q: FloatArray, wrenches: Mapping[str, Wrench]) -> FloatArray:
    """Return the generalized force (..., nv) of wrenches at configurations q (..., nq): the sum of J^T (moment, force).

    Entries of wrenches are (3,) or (..., 3). The result is the same, bit for bit, for one configuration or many.
    """
    total = np.zeros((*q.shape[:-1], model.nv))
    for name, one in wrenches.items():
        force, moment = one.force, one.moment
        R, _, J = columns(model, q, name, one.at, 0)
        if one.axes == "body":
            force, moment = _turned(R, force), _turned(R, moment)
        # numpy sums fewer than eight terms from left to right; sums by BLAS depend on the memory layout.
        total += np.add.reduce(moment[..., None] * J[..., :3, :], axis=-2)
        total += np.add.reduce(force[..., None] * J[..., 3:, :], axis=-2)
    return total


def _turned(R: FloatArray, x: FloatArray) -> FloatArray:
    """Return R x, with the same order of sums for one vector as for many."""
    return np.asarray(R[..., 0] * x[..., 0, None] + R[..., 1] * x[..., 1, None] + R[..., 2] * x[..., 2, None])


def with_wrenches(world: World, tau: Tau, f_ext: WrenchLaw) -> Tau:
    """Return the applied force of a run: ``tau`` plus the force of the wrenches at the start of every step."""
    if f_ext is None:
        return tau
    model = world.model
    constant = tau if callable(tau) else tau_at(tau, 0.0, world.initial_q, world.initial_v)
    fixed = {} if callable(f_ext) else checked_wrenches(model, f_ext)

    def both(time: float, q: FloatArray, v: FloatArray) -> FloatArray:
        wrenches = fixed
        if callable(f_ext):
            wrenches = checked_wrenches(model, f_ext(time, q.copy(), v.copy()), when=f" at time {time:.9g}")
        return np.asarray(tau_at(constant, time, q, v) + applied_by(model, q, wrenches))

    return both
