"""A world with other numbers in it, by name.

=====================  =================================================================================
``mu``                 friction of every pair of surfaces
``restitution``        Newton's coefficient of every pair; surfaces are then rigid
``stiffness``          normal stiffness of every contact [N/m]
``dissipation``        its damper [N s/m]
``gravity``            downward [m/s^2]
``inertia``            factor of every body's inertia about its centre; ``inertia:BODY`` of one's
``mass:BODY``          factor of a body's mass, its inertia with it
``friction:JOINT``     dry friction of a joint [N m, N]
``damping:JOINT``      viscous damping of a joint [N m s, N s/m]
=====================  =================================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf, isinf
from typing import Any

import numpy as np

from contactlab.contact import Material
from contactlab.multibody.model import BodySpec
from contactlab.simulation import World
from contactlab.spatial import RigidInertia
from contactlab.spatial.errors import close_names
from contactlab.studies.identification.problem import IdentificationError
from contactlab.world.joint_actions import Coefficient, JointActions

#: Names of numbers that belong to no body or joint, and of those that do.
WHOLE = ("mu", "restitution", "stiffness", "dissipation", "gravity", "inertia")
KINDS = ("inertia", "mass", "friction", "damping")


def check_names(world: World, names: tuple[str, ...]) -> None:
    """Raise an `IdentificationError` for a name that is none, of a number, body or joint."""
    known = WHOLE + tuple(f"{kind}:{body}" for kind in ("inertia", "mass") for body in world.model.names)
    joints = [body.joint_name for body in world.model.bodies if body.joint.nv]
    known += tuple(f"{kind}:{joint}" for kind in ("friction", "damping") for joint in joints)
    for name in names:
        if name not in known:
            raise IdentificationError("parameters", f"no number is called {name!r}{close_names(name, known)}")


def world_with(world: World, values: Mapping[str, float]) -> World:
    """Return the world with these numbers; those that are not named stay, and a name that is none is refused."""
    check_names(world, tuple(values))
    model, actions = world.model, world.joint_actions
    bodies = tuple(_body(body, values) for body in model.bodies)
    gravity = np.array([0.0, 0.0, -values["gravity"]]) if "gravity" in values else model.gravity
    for kind in ("friction", "damping"):
        told = {model.moved_by(name[len(kind) + 1 :]): x for name, x in values.items() if name.startswith(kind + ":")}
        actions = _with_coefficients(world, actions, kind, told)
    return replace(
        world,
        model=replace(model, bodies=bodies, gravity=gravity),
        surfaces=tuple(replace(one, material=_material(one.material, values)) for one in world.surfaces),
        half_space_materials=tuple(_material(one, values) for one in world.half_space_materials),
        joint_actions=actions,
    )


def _body(body: BodySpec, values: Mapping[str, float]) -> BodySpec:
    mass = values.get(f"mass:{body.name}", 1.0)
    turn = mass * values.get("inertia", 1.0) * values.get(f"inertia:{body.name}", 1.0)
    if body.inertia is None or (mass, turn) == (1.0, 1.0):
        return body
    one = body.inertia
    return replace(body, inertia=RigidInertia(mass * one.mass, one.com, turn * one.inertia, physical=False))


def _material(material: Material, values: Mapping[str, float]) -> Material:
    """Return the surface; springs and dampers of the two surfaces of a contact are in series, and half of each."""
    changes: dict[str, Any] = {name: values[name] for name in ("mu", "restitution") if name in values}
    if "restitution" in values:
        changes |= {"stiffness": inf, "dissipation": 0.0}
    else:
        changes |= {name: 2.0 * values[name] for name in ("stiffness", "dissipation") if name in values}
    if isinf(changes.get("stiffness", material.stiffness)):
        changes["dissipation"] = 0.0
    return replace(material, **changes)


def _with_coefficients(world: World, actions: JointActions, kind: str, told: Mapping[str, float]) -> JointActions:
    """Return what acts in joints with these coefficients, by body moved, in the order of the model."""
    before: tuple[Coefficient, ...] = getattr(actions, kind)
    kept = [one for one in before if one.body not in told]
    new = [
        Coefficient(body, k, told[body])
        for body in told
        for k in range(world.model.bodies[world.model.index_or_world(body)].joint.nv)
    ]
    order = {body.name: i for i, body in enumerate(world.model.bodies)}
    together = tuple(sorted((*kept, *new), key=lambda one: (order[one.body], one.coordinate)))
    return replace(actions, damping=together) if kind == "damping" else replace(actions, friction=together)
