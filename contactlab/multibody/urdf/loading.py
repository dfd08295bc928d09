"""From a description to a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.builder import ModelBuilder
from contactlab.multibody.joints import Fixed, FloatingBase
from contactlab.multibody.limits import JointLimits
from contactlab.multibody.model import WORLD
from contactlab.multibody.urdf.errors import warn_of
from contactlab.multibody.urdf.geometry import geometry_of
from contactlab.multibody.urdf.guarded_xml import shown
from contactlab.multibody.urdf.inertial import RigidGroup, inertia_of
from contactlab.multibody.urdf.joints import UrdfJoint, joint_of
from contactlab.multibody.urdf.model import UrdfModel
from contactlab.multibody.urdf.packages import PackageRoots, Packages
from contactlab.multibody.urdf.reading import Element, read
from contactlab.multibody.urdf.tree import by_name, check_mimics, ordered
from contactlab.spatial.inertia import RigidInertia
from contactlab.spatial.transform import Transform


def load_urdf(
    path_or_text: str | PathLike[str],
    *,
    floating_base: bool = False,
    gravity: ArrayLike = (0.0, 0.0, -9.81),
    package_roots: PackageRoots = None,
    strict_inertia: bool = False,
) -> UrdfModel:
    """Make a model of a robot description; `Model.from_urdf` says how."""
    robot, file = read(path_or_text)
    links = by_name(robot.all("link"))
    by_name(robot.all("joint"))
    joints = [joint_of(element) for element in robot.all("joint")]
    root, order = ordered(robot, links, joints)
    check_mimics(joints)
    packages = Packages.of(package_roots, file)
    inertias = {name: inertia_of(element, strict=strict_inertia) for name, element in links.items()}
    odd = {name: inertia.oddity for name, inertia in inertias.items() if inertia is not None and inertia.oddity}
    loose = _check_motion(root, order, links, inertias, odd, floating_base=floating_base)
    if strict_inertia and loose:
        name, words = next(iter(loose.items()))
        raise links[name].error(f"has {words}")
    odd |= loose
    builder = ModelBuilder(gravity)
    if root == WORLD:
        if floating_base:
            raise links[root].error("the root is the world itself, which cannot float; floating_base must be False")
    else:
        builder.add_body(root, joint=FloatingBase() if floating_base else Fixed(), inertia=inertias[root])
    for joint in order:
        if joint.data.body == WORLD:
            raise links[WORLD].error("a link called 'world' is the world itself and must be the root")
        builder.add_body(
            joint.data.body,
            parent=joint.data.parent,
            joint=joint.joint,
            placement=joint.placement,
            inertia=inertias[joint.data.body],
            joint_name=joint.data.name,
            limits=JointLimits(joint.data.lower, joint.data.upper, joint.data.velocity, joint.data.effort),
        )
    model = builder.build()
    if odd:
        named = "; ".join(f"link {shown(name)} has {words}" for name, words in list(odd.items())[:10])
        more = f"; and {len(odd) - 10} more" if len(odd) > 10 else ""
        text = f"{robot.source}: inertias used as they are: {named}{more}"
        warn_of(text)
    return UrdfModel(
        model.bodies,
        model.gravity,
        robot=robot.attributes.get("name", ""),
        root=root,
        joints=tuple(joint.data for joint in order),
        geometry=tuple(geometry_of(robot, links.values(), packages)),
    )


def _check_motion(
    root: str,
    order: Sequence[UrdfJoint],
    links: Mapping[str, Element],
    inertias: Mapping[str, RigidInertia | None],
    odd: Mapping[str, str],
    *,
    floating_base: bool,
) -> dict[str, str]:
    """Refuse what would move with a negative moment; the links that move no mass at all, with words for it.

    The world's own mass, and that of everything fixed to it, moves nothing and is not looked at.
    """
    heads = {root: root}  # the first link of the rigid group each link belongs to
    frames = {root: Transform()}  # each link in its group's frame
    groups = {root: RigidGroup()}
    carriers: dict[str, UrdfJoint] = {}
    names = [root]
    for joint in order:
        names.append(joint.data.body)
        if joint.data.kind == "fixed":
            heads[joint.data.body] = heads[joint.data.parent]
            frames[joint.data.body] = frames[joint.data.parent] @ joint.placement
        else:
            heads[joint.data.body], frames[joint.data.body] = joint.data.body, Transform()
            groups[joint.data.body], carriers[joint.data.body] = RigidGroup(), joint
    for name in names:
        inertia, group = inertias[name], groups[heads[name]]
        if inertia is None or (heads[name] == root and not floating_base):
            continue
        group.add(inertia, frames[name].R, frames[name].p)
    carried = {name: group.mass + float(np.trace(group.inertia)) for name, group in groups.items()}
    for joint in reversed(order):
        if joint.data.kind != "fixed":
            carried[heads[joint.data.parent]] += carried[joint.data.body]
    loose: dict[str, str] = {}
    for head, group in groups.items():
        if head == root and not floating_base:
            continue
        if carried[head] == 0.0:
            above = f"moves by joint {shown(carriers[head].data.name)}" if head in carriers else "floats"
            loose[head] = f"no mass, nor has what it carries, but {above}: the mass matrix is singular"
        low = group.negative_moment()
        if low is not None:
            blamed = [shown(name) for name in names if heads[name] == head and name in odd][:5]
            detail = f"with all that is fixed to it, it has the negative principal moment {low:.4g} kg m^2"
            raise links[head].error(f"{detail}; at fault: {', '.join(blamed) or 'round-off'}")
    return loose
