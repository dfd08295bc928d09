"""Numbers of a world by name, and worlds in which one of them has another value."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, get_args

import numpy as np

from contactlab.formulation.model_problem.drives import Drive
from contactlab.multibody import RigidInertia
from contactlab.spatial.errors import MultibodyError, close_names
from contactlab.world.errors import SimulationConfigError
from contactlab.world.world import World

#: All bodies and half-spaces together.
ALL = "*"
MATERIAL = ("mu", "restitution", "stiffness", "dissipation", "torsional", "rolling")
INERTIAL = ("mass", "com_x", "com_y", "com_z", "I_xx", "I_yy", "I_zz", "I_xy", "I_xz", "I_yz")
JOINT = ("damping", "friction")
_NUMBERS = [one.name for kind in get_args(Drive) for one in fields(kind) if one.type == "float"]
DRIVE = tuple(dict.fromkeys(name for name in _NUMBERS if name != "target"))
_PLACES = {"x": 0, "y": 1, "z": 2}


@dataclass(frozen=True)
class Parameter:
    """A number of a world by which its motion can be differentiated, and which can be fitted.

    Attributes
    ----------
    name
        Its name in derivatives.
    value
        Its value in the world.
    world
        Function that returns the world with another value. Only numbers may change: masses and inertias, materials,
        gains, bounds, gravity; not the positions of bodies and surfaces.
    scale
        Unit of its changes.
    """

    name: str
    value: float
    world: Callable[[float], World]
    scale: float = 1.0


def parameter(world: World, name: str) -> Parameter:
    """Return a number of a world by its name, ``"owner.quantity"``.

    ========================================  =================================================================
    owner                                     quantities
    ========================================  =================================================================
    a body or half-space, ``*`` for all       ``mu``, ``restitution``, ``stiffness``, ``dissipation``,
                                              ``torsional``, ``rolling``: of its surfaces, which have one in
                                              common
    a body                                    ``mass``, ``com_x`` ... [m, body axes], ``I_xx`` ... ``I_yz``
                                              [kg m^2, about the centre of mass]: one at a time, the others held
    a body or joint                           ``damping``, ``friction`` of the joint that moves it
    a drive                                   ``stiffness``, ``damping``, ``max_force``, ``target_velocity``
    ``gravity``                               ``x``, ``y``, ``z`` [m/s^2]
    ========================================  =================================================================

    Raises
    ------
    SimulationConfigError
        The name is unknown, or the number has no unique value.
    """
    owner, _, quantity = name.rpartition(".")
    if owner == "gravity" and quantity in _PLACES:
        return _gravity(world, name, _PLACES[quantity])
    drives = [str(drive.name) for drive in world.joint_actions.drives]
    if owner in drives and quantity in DRIVE:
        return _of_drive(world, name, drives.index(owner), quantity)
    known = [*world.model.names, *world.half_space_names]
    if quantity in MATERIAL and owner in (*known, ALL):
        return _of_material(world, name, owner, quantity)
    if quantity in INERTIAL and owner in world.model.names:
        return _of_inertia(world, name, owner, quantity)
    if quantity in JOINT:
        return _of_joint(world, name, owner, quantity)
    if owner not in (*known, *drives):
        names = close_names(owner, [*known, *drives])
        raise SimulationConfigError("wrt", f"{name!r} names no body, half-space or drive{names}")
    every = ", ".join(dict.fromkeys((*MATERIAL, *INERTIAL, *JOINT, *DRIVE)))
    raise SimulationConfigError("wrt", f"{name!r} has the unknown quantity {quantity!r}; known are {every}")


def _gravity(world: World, name: str, axis: int) -> Parameter:
    """Return the parameter of one component of gravity [m/s^2]."""
    gravity = np.array(world.model.gravity)

    def changed(value: float) -> World:
        return replace(world, model=replace(world.model, gravity=np.where(np.arange(3) == axis, value, gravity)))

    return Parameter(name, float(gravity[axis]), changed, 9.81)


def _with(items: tuple[Any, ...], number: int, **changes: Any) -> tuple[Any, ...]:
    """Return a tuple of dataclasses in which one has other values."""
    return (*items[:number], replace(items[number], **changes), *items[number + 1 :])


def _of_drive(world: World, name: str, number: int, quantity: str) -> Parameter:
    """Return the parameter of drive ``number``; raise if drives of its kind have no such quantity."""
    drives = world.joint_actions.drives
    if not hasattr(drives[number], quantity):
        raise SimulationConfigError("wrt", f"{name!r}: a {type(drives[number]).__name__} has no {quantity}")

    def changed(value: float) -> World:
        new = _with(drives, number, **{quantity: value})
        return replace(world, joint_actions=replace(world.joint_actions, drives=new))

    value = _finite(name, {getattr(drives[number], quantity)}, "")
    return Parameter(name, value, changed, abs(value) or 1.0)


def _of_material(world: World, name: str, owner: str, quantity: str) -> Parameter:
    """Return the parameter of the materials of a body, of a half-space, or of all; raise if their values differ."""
    owners = [*(world.model.names[body] for body in world.surface_bodies), *world.half_space_names]
    materials = [*(surface.material for surface in world.surfaces), *world.half_space_materials]
    own = [owner in (ALL, one) for one in owners]
    values = {getattr(material, quantity) for mine, material in zip(own, materials, strict=True) if mine}
    value = _finite(name, values, f"{owner!r} has no surface")

    def changed(value: float) -> World:
        given: dict[str, Any] = {quantity: value}
        new = [replace(one, **given) if mine else one for mine, one in zip(own, materials, strict=True)]
        surfaces = tuple(replace(surface, material=one) for surface, one in zip(world.surfaces, new, strict=False))
        return replace(world, surfaces=surfaces, half_space_materials=tuple(new[len(surfaces) :]))

    return Parameter(name, value, changed, max(abs(value), 0.1))


def _of_inertia(world: World, name: str, owner: str, quantity: str) -> Parameter:
    """Return the parameter of a body's mass, or of an entry of its centre of mass or its inertia."""
    number = world.model.names.index(owner)
    inertia = world.model.bodies[number].inertia
    if inertia is None or not inertia.mass > 0.0:
        raise SimulationConfigError("wrt", f"{name!r}: {owner!r} has no mass")
    entries = inertia.inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    numbers = dict(zip(INERTIAL, (inertia.mass, *inertia.com.tolist(), *entries.tolist()), strict=True))
    trace = float(np.trace(inertia.inertia))
    scales = {"mass": inertia.mass, "com": math.sqrt(trace / inertia.mass), "I": trace}

    def changed(value: float) -> World:
        new = numbers | {quantity: value}
        com = [new[f"com_{axis}"] for axis in _PLACES]
        matrix = [[new["I_" + "".join(sorted(i + k))] for k in _PLACES] for i in _PLACES]
        bodies = _with(world.model.bodies, number, inertia=RigidInertia(new["mass"], com, np.array(matrix)))
        return replace(world, model=replace(world.model, bodies=bodies))

    return Parameter(name, float(numbers[quantity]), changed, scales[quantity.partition("_")[0]] or 1.0)


def _of_joint(world: World, name: str, owner: str, quantity: str) -> Parameter:
    """Return the parameter of a joint's actions of one kind; raise if it has none, or several values."""
    try:
        body = world.model.body_of_joint(owner)
    except MultibodyError as error:
        raise SimulationConfigError("wrt", f"{name!r}: {error.detail}") from error
    entries = getattr(world.joint_actions, quantity)
    values = {one.value for one in entries if one.body == body}
    value = _finite(name, values, f"{owner!r} has none: add_joint_{quantity} gives it one")

    def changed(value: float) -> World:
        new = tuple(replace(one, value=value) if one.body == body else one for one in entries)
        given: dict[str, Any] = {quantity: new}
        return replace(world, joint_actions=replace(world.joint_actions, **given))

    return Parameter(name, value, changed, abs(value) or 1.0)


def _finite(name: str, values: set[Any], none: str) -> float:
    """Return the only value; raise with the text ``none`` if there is none, and for several or infinite values."""
    if len(values) != 1:
        owner = name.rpartition(".")[0]
        detail = f"{owner!r} has several: {sorted(values, key=str)}" if values else none
        raise SimulationConfigError("wrt", f"{name!r}: {detail}")
    value = values.pop()
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise SimulationConfigError("wrt", f"{name!r} is {value!r}, not finite")
    return float(value)
