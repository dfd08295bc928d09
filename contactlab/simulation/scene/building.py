"""From the values of a scene file to a world and a stepper."""

from __future__ import annotations

import functools
import itertools
import warnings

import numpy as np

from contactlab.contact import HalfSpace, Material, Placed
from contactlab.multibody import Model, UrdfModel
from contactlab.multibody.urdf import UrdfMesh
from contactlab.simulation.scene import schema
from contactlab.simulation.scene.parsing import MOST_BODIES
from contactlab.simulation.scene.schema import add_joints, model_arguments
from contactlab.simulation.scene.table import Table, suggestion
from contactlab.spatial import RigidInertia
from contactlab.spatial.arrays import FloatArray
from contactlab.world.builder import WorldBuilder
from contactlab.world.urdf_world import add_visuals, solid_of
from contactlab.world.world import World


def build_world(scene: schema.SceneEntry) -> World:
    """Return the world; descriptions of robots are looked for in the scene's folder only."""
    with scene.table.blame():
        builder = WorldBuilder(scene.gravity, body_contacts=scene.body_contacts, planar=scene.planar)
    number = 0
    for plane in scene.half_spaces:
        material = _material(plane.surface, scene, plane.table)
        with plane.table.blame():
            half_space = HalfSpace.through(plane.point, plane.normal)
            builder.add_half_space(plane.name, half_space, material, **plane.filter)
    for fixed in scene.fixed:
        _add_standing(builder, fixed, scene)
    for body in scene.bodies:
        number += int(np.prod(body.count))
        if number > MOST_BODIES:
            raise body.table.error("count", f"makes {number} bodies, at most {MOST_BODIES} are taken")
        _add_body(builder, body, scene)
    for moving in scene.kinematic:
        _add_standing(builder, moving, scene)
    for robot in scene.robots:
        _add_robot(builder, robot, scene)
    for loop in scene.loops:
        with loop.table.blame():
            builder.add_loop(loop.rows, erp=loop.erp)
    for table in scene.ignored:
        with table.blame("bodies"):
            builder.exclude_collision(*table.texts("bodies"))
    with scene.table.blame():
        return builder.build()


def _add_standing(builder: WorldBuilder, body: schema.FixedEntry, scene: schema.SceneEntry) -> None:
    """Add a body that stands fixed, or moves as it is told."""
    shapes, bits = _placed(body, scene), body.parts[0].filter
    with body.table.blame():
        if isinstance(body, schema.KinematicEntry):
            builder.add_kinematic_body(body.name, *shapes[0], body.motion(), **bits)
        else:
            builder.add_fixed_body(body.name, *shapes[0], body.pose.placement(), **bits)
    _add_further(builder, body, body.name, shapes)


def _add_body(builder: WorldBuilder, body: schema.BodyEntry, scene: schema.SceneEntry) -> None:
    table, shapes = body.table, _placed(body, scene)
    with table.blame("inertia" if "inertia" in table else ""):
        inertia = _inertia(body, [shape for shape, _ in shapes])
    q, v = _pose(body.pose)
    single = body.count == (1, 1, 1)
    for n, place in enumerate(itertools.product(*(range(count) for count in body.count))):
        q_own = q.copy()
        q_own[:3] += np.array(place) * body.spacing
        name = body.name if single else f"{body.name} {n}"
        with table.blame():
            builder.add_free_body(name, inertia, *shapes[0], q_own, v, **body.parts[0].filter)
        _add_further(builder, body, name, shapes)


def _placed(body: schema.FixedEntry, scene: schema.SceneEntry) -> list[tuple[Placed, Material]]:
    """Return the shapes of a body with their materials."""
    shapes = []
    for part in body.parts:
        surface, table = (part.surface, part.table) if part.surface is not None else (body.surface, body.table)
        # The reader has refused a part without a surface in a body without one.
        assert surface is not None
        shapes.append((Placed(part.shape, part.pose.placement()), _material(surface, scene, table)))
    return shapes


def _add_further(
    builder: WorldBuilder, body: schema.FixedEntry, name: str, shapes: list[tuple[Placed, Material]]
) -> None:
    for part, (shape, material) in zip(body.parts[1:], shapes[1:], strict=True):
        with part.table.blame():
            builder.add_shape(name, shape, material, **part.filter)


def _inertia(body: schema.BodyEntry, shapes: list[Placed]) -> RigidInertia:
    """Return the inertia as given, or that of homogeneous shapes of one density, overlaps counted twice."""
    solids = [shape.shape.inertia() for shape in shapes]
    if None in solids:
        if body.mass is None or body.inertia is None:
            kind = body.parts[solids.index(None)].table.text("shape")
            raise body.table.error("inertia", f"{kind} has no volume here: give 'mass' and 'inertia'")
        return RigidInertia(body.mass, body.com, inertia=body.inertia)
    parts = [own.moved(shape.pose) for own, shape in zip(solids, shapes, strict=True) if own is not None]
    whole = functools.reduce(RigidInertia.join, parts)
    mass = body.mass if body.mass is not None else (body.density or 0.0) * whole.mass
    given = body.inertia is not None
    com = body.com if given or "com" in body.table else whole.com
    return RigidInertia(mass, com, inertia=body.inertia if given else mass / whole.mass * whole.inertia)


def _add_robot(builder: WorldBuilder, robot: schema.RobotEntry, scene: schema.SceneEntry) -> None:
    table, path = robot.table, robot.table.beside("urdf", robot.urdf, "the scene's folder", file=True)
    with table.blame("urdf"), warnings.catch_warnings():
        # What the reader warns of is in the file, not in the scene.
        warnings.simplefilter("ignore")
        model = Model.from_urdf(path, floating_base=robot.floating_base, gravity=scene.gravity)
    if model.nb > MOST_BODIES:
        raise table.error("urdf", f"has {model.nb} links, at most {MOST_BODIES} are taken")
    prefix = f"{robot.name}/"
    q, v = _start(model, robot, "q"), _start(model, robot, "v")
    with table.blame():
        builder.add_model(model, q, v, prefix=prefix, **model_arguments(robot.joints, table, model))
    add_joints(builder, robot.joints, prefix, model)
    dressed = add_visuals(builder, model, prefix)
    if robot.collisions:
        material = _material(robot.surface, scene, table)
        for geometry in model.collisions:
            if isinstance(geometry.shape, UrdfMesh):
                detail = f"link '{geometry.body}' collides as a mesh, which is not taken yet"
                raise table.error("collisions", f"{detail}; give [[robot.shape]]")
            with table.blame("collisions"):
                link, shown, at = prefix + geometry.body, geometry.body not in dressed, geometry.placement
                builder.add_shape(link, solid_of(geometry), material, placement=at, shown=shown, **robot.filter)
    for one in robot.shapes:
        if one.body not in model.names:
            raise one.table.error("body", f"no link is called '{one.body}'{suggestion(one.body, model.names)}")
        material = _material(one.surface, scene, one.table)
        with one.table.blame():
            place = one.pose.placement()
            builder.add_shape(prefix + one.body, one.shape, material, placement=place, **one.filter)


def _start(model: UrdfModel, robot: schema.RobotEntry, key: str) -> FloatArray:
    """Return q or v of a robot from a whole vector, or from numbers by joint and the pose of its base."""
    given = robot.q if key == "q" else robot.v
    length = model.nq if key == "q" else model.nv
    if isinstance(given, tuple):
        if len(given) != length:
            raise robot.table.error(key, f"must have {length} numbers, got {len(given)}")
        return np.array(given)
    start = model.neutral.copy() if key == "q" else np.zeros(model.nv)
    if robot.floating_base:
        base = _pose(robot.pose)[0 if key == "q" else 1]
        start[: base.size] = base
    for name, value in given.items():
        if name not in model.joint_data:
            raise robot.table.error(key, f"no joint is called '{name}'{suggestion(name, model.joint_data)}")
        joint = model.joint_data[name]
        where = joint.q if key == "q" else joint.v
        if where.stop - where.start != 1:
            raise robot.table.error(
                key, f"joint '{name}' has {where.stop - where.start} numbers; give the whole vector"
            )
        start[where] = value
    return start


def _pose(pose: schema.PoseEntry) -> tuple[FloatArray, FloatArray]:
    """Return q (7,) and v (6,) of a free body."""
    return np.array((*pose.position, *pose.quaternion)), np.array((*pose.velocity, *pose.angular_velocity))


def _material(surface: schema.Surface, scene: schema.SceneEntry, table: Table) -> Material:
    if isinstance(surface, Material):
        return surface
    if surface not in scene.materials:
        detail = f"there is no [[material]] '{surface}'{suggestion(surface, scene.materials)}"
        raise table.error("material", detail)
    return scene.materials[surface]
