"""Worlds as JSON values. Floats are written with all digits, so that a world is read back exactly."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, NoReturn, cast, get_args

import numpy as np

from contactlab.collision import BodyShape, HalfSpace, Material, PowerLaw, Shape
from contactlab.collision.shapes import ALL_SHAPES
from contactlab.constraint_solver.model_problem.drives import Drive
from contactlab.constraint_solver.model_problem.options import JointLimit
from contactlab.multibody import JointLimits, ModelBuilder, Transform, joints
from contactlab.multibody.bodies import WORLD
from contactlab.multibody.constraints import ContactConstraint, DistanceConstraint, LoopConstraint
from contactlab.multibody.spatial import RigidInertia
from contactlab.multibody.spatial.arrays import FloatArray, finite_array, read_only
from contactlab.simulation.world.builder import WorldBuilder
from contactlab.simulation.world.errors import SimulationConfigError
from contactlab.simulation.world.joint_actions import (
    Coefficient,
    JointActions,
    JointPolynomial,
    Loop,
    MimicJoint,
    PointSpring,
)
from contactlab.simulation.world.motion import ConstantVelocity, Conveyor, Oscillation, PrescribedMotion
from contactlab.simulation.world.surface import ALL, Collider, Visual, VisualMesh
from contactlab.simulation.world.world import World

Json = dict[str, Any]
_fields: Any = dataclasses.fields  # of a class known only at run time


def by_name(*kinds: Any) -> dict[str, Any]:
    """Return classes by their names."""
    return {kind.__name__: kind for kind in kinds}


_JOINTS = by_name(*joints.ALL_JOINTS)
_MOTIONS = by_name(ConstantVelocity, Conveyor, Oscillation)
_DRIVES = by_name(*get_args(Drive))
_LOOPS = by_name(LoopConstraint, DistanceConstraint, ContactConstraint, JointPolynomial, PointSpring)
# Fields of `JointActions` that are plain values: their names in records, and their classes.
_PLAIN: dict[str, tuple[str, Any]] = {
    "limits": ("limits", JointLimit),
    "damping": ("damping", Coefficient),
    "friction": ("friction", Coefficient),
    "mimics": ("followers", MimicJoint),
}


def _named(field: str, value: Any, kinds: Mapping[str, Any]) -> Json:
    """Return the class name and the fields of a value; raise unless its class is one of ``kinds``."""
    name = type(value).__name__
    if kinds.get(name) is not type(value):
        raise SimulationConfigError(field, f"{name} is none of the library's own, a record cannot keep it")
    return {"type": name, **_to_json(value)}


def _made(field: str, data: Json, kinds: Mapping[str, Any]) -> Any:
    """Return the value that `_named` described; raise for an unknown name."""
    if data["type"] not in kinds:
        raise SimulationConfigError(field, f"unknown type {data['type']!r}")
    return _from_json(kinds[data["type"]], data)


def joint_from_json(data: Json) -> joints.Joint:
    """Return the joint; its values are checked again."""
    joint: joints.Joint = _made("joint", data, _JOINTS)
    for field in _fields(joint):
        if field.type == "FloatArray":
            # Another normalisation could change the last bit of a direction.
            object.__setattr__(joint, field.name, read_only(np.array(data[field.name], dtype=np.float64)))
    return joint


def limits_to_json(limits: JointLimits) -> Json:
    """Return a list of each field, with None for infinite entries; fields without finite entries are omitted."""
    return {
        field.name: [float(one) if np.isfinite(one) else None for one in getattr(limits, field.name)]
        for field in dataclasses.fields(limits)
        if np.isfinite(getattr(limits, field.name)).any()
    }


def limits_from_json(data: Json) -> JointLimits:
    """Return the limits written by `limits_to_json`; values are checked again."""
    free = {"lower": -np.inf}
    return JointLimits(
        **{name: [free.get(name, np.inf) if one is None else one for one in value] for name, value in data.items()}
    )


def actions_to_json(actions: JointActions) -> Json:
    """Return joint actions as JSON values; custom constraints raise an error."""
    values: Json = {name: [_to_json(one) for one in getattr(actions, field)] for field, (name, _) in _PLAIN.items()}
    values["drives"] = [_named("drive", one, _DRIVES) for one in actions.drives]
    values["loops"] = [_named("loop", loop.constraint, _LOOPS) | {"erp": loop.erp} for loop in actions.loops]
    for entry in values["loops"]:
        # Loops of worlds do not have this field.
        entry.pop("baumgarte", None)
    return {field: entries for field, entries in values.items() if entries}


def actions_from_json(data: Json) -> JointActions:
    """Return joint actions; values are checked again, and names of bodies by the world."""
    plain = {
        field: tuple(_from_json(kind, entry) for entry in data.get(name, ())) for field, (name, kind) in _PLAIN.items()
    }
    drives = tuple(_made("drive", entry, _DRIVES) for entry in data.get("drives", ()))
    loops = tuple(Loop(_made("loop", entry, _LOOPS), entry["erp"]) for entry in data.get("loops", ()))
    return JointActions(**plain, drives=drives, loops=loops)


class RecordedMotion:
    """A user's motion as stored in a record: its poses in the recorded steps only."""

    def __init__(self, start: Transform) -> None:
        self.start = start

    def pose(self, t: float) -> NoReturn:
        """Raise an error: the record does not contain the function."""
        raise SimulationConfigError("motion", f"is a function that the record does not hold (asked at time {t:.9g})")

    twist = pose


def _motion_to_json(motion: PrescribedMotion, start: Transform) -> Json:
    """Return a motion of the library as JSON values; for any other motion only its start."""
    if type(motion) not in _MOTIONS.values():
        return {"type": "Motion", "start": _value_to_json(start)}
    return _named("motion", motion, _MOTIONS)


def motion_from_json(data: Json) -> PrescribedMotion:
    """Return the motion of a kinematic body; a motion of a user's class becomes a `RecordedMotion`."""
    if data["type"] == "Motion":
        return RecordedMotion(Transform(*data["start"]))
    return cast("PrescribedMotion", _made("motion", data, _MOTIONS))


def _to_json(value: Any) -> Json:
    """Return the fields of a value."""
    return {field.name: _value_to_json(getattr(value, field.name)) for field in _fields(value)}


def _from_json(kind: Any, data: Json) -> Any:
    """Return an instance of a class from its fields; the class rejects unknown names."""
    types = {field.name: field.type for field in _fields(kind)}
    values = {name: value for name, value in data.items() if name not in ("type", "erp")}
    return kind(**{name: _value_from_json(types.get(name, ""), value) for name, value in values.items()})


def _value_to_json(value: Any) -> Any:
    """Return the value of a field as JSON: arrays and transforms as lists, infinite numbers as text."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Transform):
        return [value.R.tolist(), value.p.tolist()]
    if isinstance(value, tuple):
        return [_named("joint", one, _JOINTS) for one in value]
    # JSON has no infinity.
    return str(value) if isinstance(value, float) and math.isinf(value) else value


def _value_from_json(kind: str, value: Any) -> Any:
    """Return the value of a field, converted from JSON for the type named ``kind``."""
    if kind == "Transform":
        return Transform(*value)
    if kind == "FloatArray":
        return np.array(value, dtype=np.float64)
    if kind.startswith("tuple"):
        return tuple(joint_from_json(one) if isinstance(one, dict) else one for one in value)
    return float(value) if kind == "float" and isinstance(value, str) else value


def world_to_json(world: World) -> Json:
    """Return the world as JSON values.

    A shape of a user's class is stored as its support points and radii.
    """
    return {
        "gravity": world.model.gravity.tolist(),
        "half_spaces": [
            {
                "name": name,
                "normal": half_space.normal.tolist(),
                "offset": half_space.offset,
                "material": _material_to_json(material),
                **_filter_to_json(*(world.half_space_filters[i] if world.half_space_filters else (1, ALL))),
            }
            for i, (name, half_space, material) in enumerate(
                zip(world.half_space_names, world.half_spaces, world.half_space_materials, strict=True)
            )
        ],
        "body_contacts": world.body_contacts,
        **({} if world.plane is None else {"planar": world.plane.tolist()}),
        "ignored": [list(pair) for pair in world.excluded_pairs],
        "bodies": [_body_to_json(world, i) for i in range(world.model.nb)],
        "joints": actions_to_json(world.joint_actions),
    }


def world_from_json(data: Json) -> World:
    """Build the world again; every value is checked again."""
    builder = WorldBuilder(data["gravity"], body_contacts=data["body_contacts"], planar=data.get("planar"))
    for entry in data["half_spaces"]:
        half_space = HalfSpace(entry["normal"], entry["offset"])
        builder.add_half_space(entry["name"], half_space, _material_from_json(entry["material"]), **_filter(entry))
    bodies = ModelBuilder(data["gravity"])
    for entry in data["bodies"]:
        # A free body has no entry for its joint, as in records from before there were other joints.
        bodies.add_body(
            entry["name"],
            parent=entry.get("parent", WORLD),
            joint=joint_from_json(entry.get("joint", {"type": "FloatingBase"})),
            placement=_placement(entry),
            inertia=None if entry["mass"] is None else _inertia(entry),
            armature=entry.get("armature", 0.0),
            joint_name=entry.get("joint_name"),
            limits=limits_from_json(entry.get("limits", {})),
        )
    q, v = ([number for entry in data["bodies"] for number in entry[name]] for name in "qv")
    # The actions below contain the stops.
    builder.add_model(bodies.build(), q, v, limits=None)
    for entry in data["bodies"]:
        for one in entry["shapes"]:
            shape, material = _made("shape", one["shape"], _SHAPES), _material_from_json(one["material"])
            shown = one.get("shown", True)
            builder.add_shape(entry["name"], shape, material, placement=_placement(one), shown=shown, **_filter(one))
        for one in entry.get("visuals", ()):
            builder.add_visual(entry["name"], _visual_from_json(one), placement=_placement(one), rgba=one.get("rgba"))
    for pair in data["ignored"]:
        builder.exclude_collision(*(data["bodies"][i]["name"] for i in pair))
    builder.add_actions(actions_from_json(data.get("joints", {})))
    world, moving = builder.build(), [entry for entry in data["bodies"] if "motion" in entry]
    motions = ((world.model.names.index(entry["name"]), motion_from_json(entry["motion"])) for entry in moving)
    return dataclasses.replace(world, motions=tuple(motions))


def _body_to_json(world: World, i: int) -> Json:
    """Return one body with its surface and its part of the initial state."""
    body, motion = world.model.bodies[i], dict(world.motions).get(i)
    inertia, place = body.inertia, body.placement
    visuals = zip(world.visuals, world.visual_bodies, strict=True)
    surfaces = zip(world.surfaces, world.surface_bodies, strict=True)
    # Entries that are left out if they have the default value.
    optional: Json = {
        "inertia_as_written": inertia is not None and inertia.physical_fault is not None,
        "parent": body.parent if body.parent != WORLD else None,
        "joint": None if isinstance(body.joint, joints.FloatingBase) else _named("joint", body.joint, _JOINTS),
        "armature": body.armature.tolist() if body.armature.any() else None,
        "joint_name": body.joint_name if body.joint_name != body.name else None,
        "limits": limits_to_json(body.limits),
        "motion": None if motion is None else _motion_to_json(motion, place),
        "visuals": [_visual_to_json(visual) for visual, owner in visuals if owner == i],
    }
    return {
        "name": body.name,
        "mass": None if inertia is None else inertia.mass,
        "com": None if inertia is None else inertia.com.tolist(),
        "inertia": None if inertia is None else inertia.inertia.tolist(),
        "shapes": [_surface_to_json(surface) for surface, owner in surfaces if owner == i],
        "q": world.initial_q[world.model.q_slice(body.name)].tolist(),
        "v": world.initial_v[world.model.v_slice(body.name)].tolist(),
        **{name: value for name, value in optional.items() if value},
        **_placement_to_json(place),
    }


def _material_to_json(material: Material) -> Json:
    """Return a material; rigid ones without the infinite stiffness, and ones without moments without their lengths."""
    soft = material.stiffness < np.inf
    said = {"mu": True, "restitution": True, "stiffness": soft, "dissipation": soft}
    return {name: value for name, value in dataclasses.asdict(material).items() if said.get(name, value)}


def _material_from_json(data: Json) -> Material:
    law = data.get("restitution")
    return Material(**data | ({"restitution": PowerLaw(**law)} if isinstance(law, dict) else {}))


def _surface_to_json(surface: Collider) -> Json:
    """Return shape, material, placement and filter of a collider; entries with the default value are left out."""
    return {
        "shape": _shape_to_json(surface.shape),
        "material": _material_to_json(surface.material),
        **({} if surface.visible else {"shown": False}),
        **_placement_to_json(surface.placement),
        **_filter_to_json(surface.category, surface.mask),
    }


def _visual_to_json(visual: Visual) -> Json:
    """Return a visual; for a mesh only name and scale, because a record contains neither meshes nor paths."""
    seen = visual.shape
    shape = {"mesh": seen.name, "scale": list(seen.scale)} if isinstance(seen, VisualMesh) else _shape_to_json(seen)
    color = {} if visual.rgba is None else {"rgba": list(visual.rgba)}
    return {"shape": shape, **color, **_placement_to_json(visual.placement)}


def _visual_from_json(entry: Json) -> Shape | VisualMesh:
    """Return the shape of a visual; for a mesh its name and scale, without a path."""
    data = entry["shape"]
    if "mesh" in data:
        x, y, z = (float(factor) for factor in data["scale"])
        return VisualMesh(str(data["mesh"]), None, (x, y, z))
    if data["type"] == SupportPoints.__name__:
        raise SimulationConfigError("visuals", f"{data['type']!r} is not a visual")
    return cast("Shape", _made("shape", data, _SHAPES))


def _filter_to_json(category: int, mask: int) -> Json:
    """Return a filter; an empty mapping if it excludes nothing."""
    return {} if (category, mask) == (1, ALL) else {"category": category, "mask": mask}


def _filter(entry: Json) -> Json:
    return {name: entry[name] for name in ("category", "mask") if name in entry}


def _placement_to_json(place: Transform) -> Json:
    if place.p.any() or not np.array_equal(place.R, np.eye(3)):
        return {"placement": [place.R.tolist(), place.p.tolist()]}
    return {}


def _placement(entry: Json) -> Transform | None:
    return Transform(*entry["placement"]) if "placement" in entry else None


def _inertia(entry: Json) -> RigidInertia:
    physical = not entry.get("inertia_as_written", False)
    return RigidInertia(entry["mass"], entry["com"], entry["inertia"], physical=physical)


@dataclasses.dataclass(frozen=True, eq=False)
class SupportPoints:
    """Shape that was recorded by its support points only: points (n, 3) [m] in body axes, radii (n,) [m]."""

    points: FloatArray
    radii: FloatArray

    def __post_init__(self) -> None:
        for name, shape in (("points", (None, 3)), ("radii", (len(self.points),))):
            object.__setattr__(self, name, finite_array(getattr(self, name), name, shape, SimulationConfigError))
        if np.any(self.radii < 0.0):
            raise SimulationConfigError("radii", f"a radius is negative: {self.radii.min()}")

    def support_points(self) -> tuple[FloatArray, FloatArray]:
        """Return the points (n, 3) and radii (n,), as new arrays."""
        return self.points.copy(), self.radii.copy()


#: The shapes of records, by name.
_SHAPES = by_name(*ALL_SHAPES, SupportPoints)


def _shape_to_json(shape: Shape | BodyShape) -> Json:
    """Return the class name and fields of a shape; a shape of a user's class is stored as its support points."""
    if not isinstance(shape, tuple(_SHAPES.values())):
        shape = SupportPoints(*shape.support_points())  # type: ignore[union-attr]  # other shapes have this method
    name, cls = next((name, cls) for name, cls in _SHAPES.items() if isinstance(shape, cls))
    values = ((field.name, getattr(shape, field.name)) for field in _fields(cls))
    return {"type": name} | {key: np.asarray(value).tolist() for key, value in values}
