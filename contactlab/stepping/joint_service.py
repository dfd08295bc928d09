"""What the loop asks Python for about joints: targets that change with time, and rows of the user's own constraints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contactlab.spatial.arrays import FloatArray, finite_array, finite_number, read_only
from contactlab.spatial.errors import close_names
from contactlab.world.errors import SimulationConfigError

if TYPE_CHECKING:
    from contactlab.constraints.custom import CustomRows
    from contactlab.stepping.kernels.joint_layout import Joints
    from contactlab.world.world import World

NO_DRIVES = "are given for drives, and the world has none: WorldBuilder.add_drive"

#: What a law of all targets returns: an array (nd,), or numbers by name.
Wanted = Mapping[str, float] | ArrayLike
#: Targets of drives by their names, in place of those of the world, each a number or a function of the time at the end
#: of the step; or a law of all, a function of (time, q, v) at its start.
Targets = (
    Mapping[str, float | Callable[[float], float]]
    | FloatArray
    | Callable[[float, FloatArray, FloatArray], Wanted]
    | None
)


def numbers(targets: Targets) -> TypeGuard[Wanted | None]:
    """Whether targets are numbers alone, no function to be asked in every step."""
    return not callable(targets) and not (isinstance(targets, Mapping) and any(map(callable, targets.values())))


class JointService:
    """Serves one run of a world.

    Parameters
    ----------
    world
        Of the run.
    targets
        See `Targets`; an array (nd,) holds them all, in the order of the drives.
    """

    def __init__(self, world: World, targets: Targets) -> None:
        self._world = world
        self._constant = np.array([drive.target for drive in world.joint_actions.drives], dtype=np.float64)
        self._number = {str(drive.name): i for i, drive in enumerate(world.joint_actions.drives)}
        self._functions: dict[int, tuple[str, Callable[[float], float]]] = {}
        self._law: Callable[[float, FloatArray, FloatArray], Wanted] | None = None
        if callable(targets):
            self._law, targets = targets, None
            if not self._constant.size:
                raise SimulationConfigError("targets", NO_DRIVES)
        if targets is not None and not isinstance(targets, Mapping):
            self._constant = self._all(targets, "targets")
            targets = None
        custom = world.loops.packed.custom if world.joint_actions.loops else ()
        self._custom = tuple((one, CustomReach(world, one)) for one in custom)
        for name, value in (targets or {}).items():
            if callable(value):
                self._functions[self._drive(name)] = (name, value)
            else:
                self._constant[self._drive(name)] = finite_number(value, f"targets[{name!r}]", SimulationConfigError)

    def _drive(self, name: str) -> int:
        """Number of the drive of that name."""
        if name not in self._number:
            if not self._number:
                raise SimulationConfigError("targets", NO_DRIVES)
            detail = f"no drive is called {name!r}{close_names(name, list(self._number))}"
            raise SimulationConfigError("targets", detail)
        return self._number[name]

    def _all(self, targets: ArrayLike, field: str) -> FloatArray:
        """Targets of all drives (nd,), as they were given."""
        if not self._number and np.size(targets):
            raise SimulationConfigError(field, NO_DRIVES)
        return finite_array(targets, field, (len(self._number),), SimulationConfigError)

    def constant(self, targets: Wanted | None, when: str = "") -> FloatArray:
        """Targets (nd,) where these are given in place of the world's, as an array of all or as numbers by name.

        ``when`` is what errors say of them.
        """
        if targets is None:
            return self._constant
        if isinstance(targets, Mapping):
            values = self._constant.copy()
            for name, value in targets.items():
                values[self._drive(name)] = finite_number(value, f"targets[{name!r}]{when}", SimulationConfigError)
            return values
        return self._all(targets, f"targets{when}")

    @property
    def asks(self) -> bool:
        """Whether there is something to ask for in every step."""
        return self._law is not None or bool(self._functions) or bool(self._custom)

    def start(self, joints: Joints) -> None:
        """Write the targets that do not change."""
        joints.target[:] = self._constant

    def follow(self, joints: Joints, time: float, q: FloatArray, v: FloatArray) -> None:
        """Ask the law of all targets, where there is one, for those of the step that begins."""
        if self._law is not None:
            wanted, when = self._law(time, q, v), f" at time {time:.9g}"
            if wanted is None:
                raise SimulationConfigError(f"targets{when}", "must be an array of all or numbers by name, got None")
            joints.target[:] = self.constant(wanted, when)

    def serve(self, joints: Joints, time: float, h: float, q: FloatArray, v: FloatArray) -> None:
        """Write targets, at the end of the step, and the user's rows, at its start."""
        for number, (name, function) in self._functions.items():
            field = f"targets[{name!r}] at time {time + h:.9g}"
            joints.target[number] = finite_number(function(time + h), field, SimulationConfigError)
        if not self._custom:
            return
        model, speed = self._world.model, read_only(v)
        at = read_only(q)
        for custom, reach in self._custom:
            G = custom.jacobian(model, at, speed, time)
            reach.check(G, time)
            joints.loop_G[custom.rows] = G
            if custom.level == "acceleration":
                # Over a step such rows ask for G v+ = G v + h gamma.
                joints.loop_rate[custom.rows] = -(G @ v) - h * custom.gamma(model, at, speed, time)
                continue
            joints.loop_error[custom.rows] = custom.position_error(model, at, time)
            joints.loop_rate[custom.rows] = custom.velocity_error(model, at, speed, time) - G @ v


class CustomReach:
    """The columns in which the rows of a custom constraint must be 0: those of trees that they are not about."""

    def __init__(self, world: World, custom: CustomRows) -> None:
        self._world, self._custom = world, custom
        own = {tree for row in world.joint_rows if row.loop_row == custom.rows.start for tree in row.trees}
        self._others = np.ones(world.nv, dtype=np.bool_)
        for tree in own:
            self._others[world.tree_starts[tree] : world.tree_starts[tree + 1]] = False

    def check(self, G: FloatArray, time: float) -> None:
        """Raise where the rows act on another tree: it would not be solved together with them."""
        acts: NDArray[np.bool_] = np.any(G != 0.0, axis=0) & self._others
        if not acts.any():
            return
        model, dof = self._world.model, int(np.flatnonzero(acts)[0])
        body = next(name for name in model.names if model.v_slice(name).start <= dof < model.v_slice(name).stop)
        detail = f"{self._custom.label} acts on {body!r} at time {time:.9g}, whose tree it was not known to be about"
        raise SimulationConfigError("bodies", f"{detail}: name all its bodies, add_loop(..., bodies=)")
