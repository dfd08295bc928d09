"""Worlds and steppers as JSON values. Floats are written with all digits, so that a world is read back exactly."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, NoReturn, get_args

import numpy as np

import lcp
from contactlab.constraints import ContactConstraint, DistanceConstraint, LoopConstraint
from contactlab.contact import BodyShape, HalfSpace, Material, PowerLaw, Shape
from contactlab.contact.shapes import ALL_SHAPES
from contactlab.formulation.discretized import DiscretizedLCP
from contactlab.formulation.friction_backend import VERIFIED, FrictionAnswer, FrictionBackend, law_of, qp_code_objection
from contactlab.formulation.model_problem.options import Drive, JointLimit
from contactlab.formulation.quadratic_programs import ConvexRelaxation, StaggeredProjections
from contactlab.multibody import JointLimits, ModelBuilder, Transform, joints
from contactlab.multibody.model import WORLD
from contactlab.spatial import RigidInertia
from contactlab.spatial.arrays import FloatArray, finite_array, read_only
from contactlab.stepping.time_stepping import TimeStepping
from contactlab.stepping.world_numbers import Sleep
from contactlab.world.builder import WorldBuilder
from contactlab.world.errors import SimulationConfigError
from contactlab.world.joint_actions import Coefficient, JointActions, JointPolynomial, Loop, MimicJoint, PointSpring
from contactlab.world.motion import ConstantVelocity, Conveyor, Oscillation, PrescribedMotion
from contactlab.world.shape_builder import Visual, VisualMesh
from contactlab.world.surface import ALL, Collider
from contactlab.world.world import World
from lcp.contacts.strategies import strategies_of

Json = dict[str, Any]
_fields: Any = dataclasses.fields  # of a class known only at run time


def _by_name(*kinds: Any) -> dict[str, Any]:
    return {kind.__name__: kind for kind in kinds}


_JOINTS = _by_name(*joints.ALL_JOINTS)
_MOTIONS = _by_name(ConstantVelocity, Conveyor, Oscillation)
_DRIVES = _by_name(*get_args(Drive))
_LOOPS = _by_name(LoopConstraint, DistanceConstraint, ContactConstraint, JointPolynomial, PointSpring)
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


def motion_from_json(data: Json) -> PrescribedMotion:
    """Return the motion of a kinematic body; a motion of a user's class becomes a `RecordedMotion`."""
    motion: PrescribedMotion = (
        RecordedMotion(Transform(*data["start"])) if data["type"] == "Motion" else _made("motion", data, _MOTIONS)
    )
    return motion


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
        return tuple(joint_from_json(one) for one in value)
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
            shape, material = _shape_from_json(one["shape"]), _material_from_json(one["material"])
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
    body = world.model.bodies[i]
    surfaces = [s for s, owner in zip(world.surfaces, world.surface_bodies, strict=True) if owner == i]
    inertia, place = body.inertia, body.placement
    motion = dict(world.motions).get(i)
    entry: Json = {
        "name": body.name,
        "mass": None if inertia is None else inertia.mass,
        "com": None if inertia is None else inertia.com.tolist(),
        "inertia": None if inertia is None else inertia.inertia.tolist(),
        "shapes": [_surface_to_json(surface) for surface in surfaces],
        "q": world.initial_q[world.model.q_slice(body.name)].tolist(),
        "v": world.initial_v[world.model.v_slice(body.name)].tolist(),
    }
    if inertia is not None and inertia.physical_fault is not None:
        entry["inertia_as_written"] = True
    if body.parent != WORLD:
        entry["parent"] = body.parent
    if not isinstance(body.joint, joints.FloatingBase):
        entry["joint"] = _named("joint", body.joint, _JOINTS)
    if body.armature.any():
        entry["armature"] = body.armature.tolist()
    if body.joint_name != body.name:
        entry["joint_name"] = body.joint_name
    if limits := limits_to_json(body.limits):
        entry["limits"] = limits
    if motion is not None and type(motion) in _MOTIONS.values():
        entry["motion"] = _named("motion", motion, _MOTIONS)
    elif motion is not None:
        entry["motion"] = {"type": "Motion", "start": _value_to_json(place)}
    visuals = [_visual_to_json(v) for v, owner in zip(world.visuals, world.visual_bodies, strict=True) if owner == i]
    if visuals:
        entry["visuals"] = visuals
    return entry | _placement_to_json(place)


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
    entry: Json = {"shape": _shape_to_json(surface.shape), "material": _material_to_json(surface.material)}
    if not surface.visible:
        entry["shown"] = False
    return entry | _placement_to_json(surface.placement) | _filter_to_json(surface.category, surface.mask)


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
    shape: Shape = _shape_from_json(data)
    return shape


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


def stepper_to_json(stepper: TimeStepping) -> Json:
    """Return the stepper's options as JSON values; a solver that is not one of `lcp`'s by its name."""
    values = {field.name: getattr(stepper, field.name) for field in dataclasses.fields(stepper)}
    if stepper.max_depenetration_velocity == math.inf:
        values["max_depenetration_velocity"] = "inf"
    values["sleep"] = None if stepper.sleep is None else dataclasses.asdict(stepper.sleep)
    values["solver"] = None if stepper.solver is None else _solver_to_json(stepper.solver)
    return values


@dataclasses.dataclass(frozen=True)
class ForgottenBackend:
    """A user's friction backend, or one with a user's code, as stored in a record: only these fields."""

    name: str
    law: str
    tolerance: float

    def solve_contacts(self, formed: DiscretizedLCP, *, z0: FloatArray | None = None) -> FrictionAnswer:
        """Raise an error: the record does not contain the code."""
        detail = f"{self.name} is code that the record does not hold; give the stepper one: dataclasses.replace"
        raise SimulationConfigError("solver", detail)


def stepper_from_json(data: Json) -> TimeStepping:
    """Return the stepper; with the default solver if the record's was not one of `lcp`'s.

    The default also replaces quadratic programming solvers, which steppers once accepted for worlds without friction.
    """
    solver = None if data["solver"] is None else _solver_from_json(data["solver"])
    solver = None if qp_code_objection(solver) else solver
    sleep = None if data.get("sleep") is None else Sleep(**data["sleep"])
    # Before schema 8 a run stopped at unsolved islands, and before schema 9 impacts ignored the gap. Records without
    # the integrator used Euler's rule.
    early = {"on_unsolved": "raise", "integrator": "euler", "max_depenetration_velocity": "inf"}
    given = {**early, **data, "solver": solver, "sleep": sleep}
    if given["max_depenetration_velocity"] == "inf":
        given["max_depenetration_velocity"] = math.inf
    # Older records have ``attempts``; each is now a part of one strategy.
    if "attempts" in given:
        given["strategies"] = strategies_of(given.pop("attempts"))
    return TimeStepping(**given)


# Solvers of `lcp`, combinators included, and friction backends.
_SOLVERS = _by_name(
    *lcp.ALL_SOLVERS,
    *lcp.OPTIONAL_SOLVERS,
    *lcp.ALL_FRICTION_SOLVERS,
    *(lcp.Cascade, lcp.Fallback, lcp.Feasibility, lcp.Refined, lcp.Regularized),
    *(ConvexRelaxation, StaggeredProjections),
)
# Friction solvers of old records, and their present replacements.
_RENAMED = {
    "FrictionCascade": "ContactStrategies",
    "ContactAttempts": "ContactStrategies",
    "ProximalPoint": "SemismoothNewton",
}


def _solver_to_json(solver: Any) -> Json:
    """Return the solver's class name and options, options None for one of a user's class.

    Of a friction backend also the law and the tolerance.
    """
    data: Json = {"name": type(solver).__name__, "options": None}
    if _SOLVERS.get(data["name"]) is type(solver):
        data["options"] = {field.name: _option_to_json(getattr(solver, field.name)) for field in _fields(solver)}
    if isinstance(solver, FrictionBackend):
        # Stored for backends, and solvers within them, that a record cannot contain: a step is checked by these values.
        data |= {"law": law_of(solver), "tolerance": getattr(solver, "tolerance", VERIFIED)}
    return data


def _option_to_json(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_option_to_json(item) for item in value]
    return _solver_to_json(value) if hasattr(value, "solve") else value


def _solver_from_json(data: Json) -> Any:
    """Return the solver, or None for one that is not of `lcp`, or contains one.

    For a backend, law and tolerance are always known.
    """
    forgotten = ForgottenBackend(data["name"], data["law"], data["tolerance"]) if "law" in data else None
    if data["options"] is None:
        return forgotten
    options = {name: _option_from_json(value) for name, value in data["options"].items()}
    cls = _SOLVERS[_RENAMED.get(data["name"], data["name"])]
    if cls is lcp.ContactStrategies and "attempts" in options:
        options["strategies"] = strategies_of(options.pop("attempts"))
    if cls is lcp.Fallback:
        solvers = options.pop("solvers")
        return None if None in solvers else lcp.Fallback(*solvers, **options)
    return forgotten if None in (options.get("inner", True), options.get("qp", True)) else cls(**options)


def _option_from_json(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_option_from_json(item) for item in value)
    return _solver_from_json(value) if isinstance(value, dict) else value


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
_SHAPES = _by_name(*ALL_SHAPES, SupportPoints)


def _shape_to_json(shape: Shape | BodyShape) -> Json:
    """Return the class name and fields of a shape; a shape of a user's class is stored as its support points."""
    if not isinstance(shape, tuple(_SHAPES.values())):
        shape = SupportPoints(*shape.support_points())  # type: ignore[union-attr]  # other shapes have this method
    name, cls = next((name, cls) for name, cls in _SHAPES.items() if isinstance(shape, cls))
    values = ((field.name, getattr(shape, field.name)) for field in _fields(cls))
    return {"type": name} | {key: np.asarray(value).tolist() for key, value in values}


def _shape_from_json(data: Json) -> Any:
    """Return the shape from the name of its class and its fields; raise for an unknown name."""
    if data["type"] not in _SHAPES:
        raise SimulationConfigError("shape", f"unknown type {data['type']!r}")
    return _SHAPES[data["type"]](**{name: value for name, value in data.items() if name != "type"})
