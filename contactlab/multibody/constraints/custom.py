"""User-defined constraints, and their values at one instant, checked for shape and finiteness."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from contactlab.multibody.constraints.rows import Baumgarte, ConstraintError, check_label
from contactlab.multibody.model import Model
from contactlab.multibody.spatial.arrays import FloatArray, finite_array

#: Level of the condition: phi(q, t) = 0, phi(q, v, t) = 0, or rows of the acceleration only.
Level: TypeAlias = Literal["position", "velocity", "acceleration"]


class CustomConstraint(ABC):
    """User-defined rows G a = gamma: derive from this class, set ``rows``, and implement G and gamma.

    A condition phi(q, t) = 0 on the positions is differentiated twice, a condition phi(q, v, t) = 0 on the velocities
    once, until the accelerations a appear. G is their coefficient, and gamma is minus the remainder at a = 0. At
    position level phi' = G v + phi_t and gamma = -(dG/dt) v - d(phi_t)/dt. The package adds stabilisation, from the
    errors. `check_constraint` compares all of these with finite differences.

    The methods get the model, q (nq,) and v (nv,), read-only, and return new arrays. Each can also declare a parameter
    ``t``, the time [s], which is then passed (``t: float = 0.0``). ``jacobian`` can also declare ``v``, if the
    condition is not linear in the velocities. An object with ``rows``, ``jacobian`` and ``gamma`` need not be a
    subclass.

    Optional methods, absent here:

    * ``assembly_position_error(model, q)`` (m,) with ``assembly_position_jacobian(model, q)`` (m, nv), and
      ``assembly_velocity_error(model, q, v)`` with ``assembly_velocity_jacobian(model, q)``: the conditions of
      `assemble_q` and `assemble_v`, if they differ from position_error and velocity_error with G. An example is
      rolling: a condition on velocities, with an assembly condition that the wheel touches the ground.
    * ``wrenches(model, q, forces)``: the effect of the rows' forces (rows,) on bodies, a sequence of `BodyWrench` whose
      frames are poses in the bodies; `group_wrenches` needs it.

    Attributes
    ----------
    rows
        Number of rows, at least 1.
    name, id
        Group of the rows, as for `ContactConstraint`; without a name the rows of the object are a group.
    baumgarte
        None, a time constant [s], a `Baumgarte` pair, or True for the default pair (0.1 s).
    level
        "position", "velocity" or "acceleration". Below position level the position error is zero; at acceleration level
        the velocity error is zero too.
    """

    rows: int
    name: str | None = None
    id: int | None = None
    baumgarte: float | Baumgarte | bool | None = None
    level: Level = "position"

    @abstractmethod
    def jacobian(self, model: Model, q: FloatArray) -> FloatArray:
        """Return G (rows, nv)."""

    @abstractmethod
    def gamma(self, model: Model, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return gamma (rows,), without stabilisation."""

    def position_error(self, model: Model, q: FloatArray) -> FloatArray:
        """Return phi(q, t) (rows,); zeros unless overridden."""
        return np.zeros(self.rows)

    def velocity_error(self, model: Model, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return phi' = G v + phi_t (rows,), or phi(q, v, t) at velocity level; G v unless overridden."""
        return np.asarray(self.jacobian(model, q) @ v)


_NEEDED = ("jacobian", "gamma")
_ERRORS = ("position_error", "velocity_error")
_ASSEMBLY = (
    "assembly_position_error",
    "assembly_position_jacobian",
    "assembly_velocity_error",
    "assembly_velocity_jacobian",
)


@dataclass(frozen=True, eq=False)
class CustomRows:
    """A custom constraint with its rows in a set."""

    constraint: Any  # the user's object
    label: str  # name in error messages
    rows: slice  # its rows in the set
    level: Level
    moving: bool  # whether ``jacobian`` declares ``v``
    _declared: dict[str, tuple[Callable[..., object], frozenset[str]]]

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.rows.stop - self.rows.start)

    def has(self, method: str) -> bool:
        """Return True if the constraint has such a method."""
        return method in self._declared

    def jacobian(self, model: Model, q: FloatArray, v: FloatArray | None, t: float) -> FloatArray:
        """Return G (rows, nv)."""
        if self.moving and v is None:
            raise ConstraintError("v", f"is needed: the Jacobian of {self.label} depends on it")
        return self._call_user("jacobian", (self.n, model.nv), t, (model, q), v)

    def gamma(self, model: Model, q: FloatArray, v: FloatArray, t: float) -> FloatArray:
        """Return gamma (rows,), without stabilisation."""
        return self._call_user("gamma", (self.n,), t, (model, q, v))

    def position_error(self, model: Model, q: FloatArray, t: float) -> FloatArray:
        """Return phi (rows,)."""
        if self.level != "position" or not self.has("position_error"):
            return np.zeros(self.n)
        return self._call_user("position_error", (self.n,), t, (model, q))

    def velocity_error(self, model: Model, q: FloatArray, v: FloatArray, t: float) -> FloatArray:
        """Return phi' at position level, phi at velocity level (rows,)."""
        if self.level == "acceleration":
            return np.zeros(self.n)
        if not self.has("velocity_error"):
            return np.asarray(self.jacobian(model, q, v, t) @ v)
        return self._call_user("velocity_error", (self.n,), t, (model, q, v))

    def assembly_position(self, model: Model, q: FloatArray, t: float) -> tuple[FloatArray, FloatArray]:
        """Return error (m,) and Jacobian (m, nv) of the conditions on q; m = 0 for levels without a method for them."""
        if self.has("assembly_position_error"):
            error = self._call_user("assembly_position_error", (None,), t, (model, q))
            return error, self._call_user("assembly_position_jacobian", (len(error), model.nv), t, (model, q))
        if self.level != "position":
            return np.zeros(0), np.zeros((0, model.nv))
        return self.position_error(model, q, t), self.jacobian(model, q, None, t)

    def assembly_velocity(self, model: Model, q: FloatArray, v: FloatArray, t: float) -> tuple[FloatArray, FloatArray]:
        """Return error (m,) and derivative (m, nv) with respect to v of the conditions on v.

        They are the user's ``assembly_velocity_error``, or the velocity errors and G; m = 0 at acceleration level.
        """
        if self.has("assembly_velocity_error"):
            error = self._call_user("assembly_velocity_error", (None,), t, (model, q, v))
            return error, self._call_user("assembly_velocity_jacobian", (len(error), model.nv), t, (model, q), v)
        if self.level == "acceleration":
            return np.zeros(0), np.zeros((0, model.nv))
        return self.velocity_error(model, q, v, t), self.jacobian(model, q, v, t)

    def wrenches(self, model: Model, q: FloatArray, forces: FloatArray, t: float) -> object:
        """Return the value of the user's ``wrenches`` for ``forces`` (rows,), unchecked; the method must exist."""
        method, declared = self._declared["wrenches"]
        return method(model, q, forces, **({"t": t} if "t" in declared else {}))

    def _call_user(
        self,
        name: str,
        shape: tuple[int | None, ...],
        t: float,
        operands: tuple[Any, ...],
        v: FloatArray | None = None,
    ) -> FloatArray:
        """Call a user's method, with t and v if it declares them, and check the shape of the result."""
        method, declared = self._declared[name]
        more: dict[str, Any] = {}
        if "t" in declared:
            more["t"] = t
        if v is not None and "v" in declared:
            more["v"] = v
        value: Any = method(*operands, **more)
        if value is None:
            raise ConstraintError(f"{self.label}.{name}", "returned None")
        return finite_array(value, f"{self.label}.{name}", shape, ConstraintError)


def read_custom(constraint: object, number: int, start: int) -> CustomRows:
    """Read a custom constraint once: rows, beginning at ``start``, level, methods and their parameters.

    ``number`` is its index in the list of constraints, for error messages.
    """
    kind = type(constraint).__name__
    field = f"constraints[{number}]"
    if isinstance(constraint, type):
        raise ConstraintError(field, f"is the class {constraint.__name__}, not an object of it")
    missing = [name for name in ("rows", *_NEEDED) if not hasattr(constraint, name)]
    if missing:
        raise ConstraintError(
            field, f"{kind} is no constraint: neither contact nor loop, and it has no {', '.join(missing)}"
        )
    name = getattr(constraint, "name", None)
    check_label(name, getattr(constraint, "id", None))
    label = kind if name is None else f"{kind} {name!r}"
    rows: Any = getattr(constraint, "rows", None)
    if isinstance(rows, bool) or not isinstance(rows, int | np.integer) or rows < 1:
        raise ConstraintError(f"{label}.rows", f"must be a number of rows, at least 1, got {rows!r}")
    level: Any = getattr(constraint, "level", "position")
    if level not in get_args(Level):
        raise ConstraintError(f"{label}.level", f"must be one of {get_args(Level)}, got {level!r}")
    declared = {
        name: (getattr(constraint, name), _parameters(label, constraint, name))
        for name in (*_NEEDED, *_ERRORS, *_ASSEMBLY, "wrenches")
        if _own(constraint, name)
    }
    for quantity in ("position", "velocity"):
        pair = [f"assembly_{quantity}_{what}" in declared for what in ("error", "jacobian")]
        if pair[0] != pair[1]:
            raise ConstraintError(f"{label}.assembly_{quantity}_*", "error and jacobian must be given together")
    moving = "v" in declared["jacobian"][1]
    timed = "position_error" in declared and "t" in declared["position_error"][1]
    if "velocity_error" not in declared and level != "acceleration" and (moving or timed):
        why = "the Jacobian depends on v" if moving else "position_error depends on t"
        raise ConstraintError(f"{label}.velocity_error", f"must be given, for it is not G v: {why}")
    if moving and level == "position":
        raise ConstraintError(f"{label}.jacobian", "must not depend on v at level 'position'")
    return CustomRows(constraint, label, slice(start, start + int(rows)), level, moving, declared)


def _own(constraint: object, name: str) -> bool:
    """Return True if a method exists and is not the default of the base class."""
    usual = getattr(CustomConstraint, name, None)
    inherited = usual is not None and getattr(type(constraint), name, None) is usual
    return callable(getattr(constraint, name, None)) and not inherited


def _parameters(label: str, constraint: object, name: str) -> frozenset[str]:
    """Return which of the parameters ``t`` and ``v`` a method declares in addition to its fixed arguments."""
    try:
        parameters = inspect.signature(getattr(constraint, name)).parameters
    except (TypeError, ValueError):
        return frozenset()
    given = 3 if name in ("gamma", "velocity_error", "assembly_velocity_error", "wrenches") else 2
    positional = [p for p in parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(positional) < given and not any(p.kind is p.VAR_POSITIONAL for p in parameters.values()):
        raise ConstraintError(f"{label}.{name}", f"must take {given} arguments, takes {len(positional)}")
    always = {p.name for p in positional[:given]}
    return frozenset({"t", "v"} & (set(parameters) - always))
