"""Reader of robot descriptions (URDF) from any source, with limits and checks, into models.

The model keeps the description's data. Masses and inertias with which a model cannot move are refused; impossible ones
are named in a warning.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.bodies import WORLD, JointLimits
from contactlab.multibody.builder import ModelBuilder
from contactlab.multibody.joint_data import ONE_AXIS, JointData, Mimic, followers
from contactlab.multibody.joints import Composite, Fixed, FloatingBase, Joint, Prismatic, Revolute
from contactlab.multibody.model import Model, link_masses, structure
from contactlab.multibody.packing import NegativeMomentError
from contactlab.multibody.spatial.arrays import FloatArray, MultibodyError, close_names, set_fields, unit_axis
from contactlab.multibody.spatial.inertia import RigidInertia
from contactlab.multibody.spatial.transform import Transform
from contactlab.multibody.urdf.geometry import (
    PackageRoots,
    Packages,
    UrdfBox,
    UrdfCapsule,
    UrdfCylinder,
    UrdfGeometry,
    UrdfMesh,
    UrdfShape,
    UrdfSphere,
    geometry_of,
)
from contactlab.multibody.urdf.reading import (
    Element,
    UrdfError,
    UrdfWarning,
    number,
    origin,
    quoted,
    read,
    vector,
    warn_of,
)

__all__ = [
    "UrdfBox",
    "UrdfCapsule",
    "UrdfCylinder",
    "UrdfError",
    "UrdfGeometry",
    "UrdfMesh",
    "UrdfModel",
    "UrdfShape",
    "UrdfSphere",
    "UrdfWarning",
    "load_urdf",
]


@dataclass(frozen=True, eq=False)
class UrdfJoint:
    """One <joint>."""

    element: Element  # for messages
    data: JointData  # its data in the model; its slices of q and v are still empty
    placement: Transform  # pose of the joint frame in the parent link
    joint: Joint  # how the child moves


def joint_of(element: Element) -> UrdfJoint:
    """Return the joint of one <joint>, with its limits; raise an error for an unknown type or a missing link."""
    name, kind = element.text("name"), element.text("type")
    if kind not in KINDS:
        raise element.error(f"has the unknown type {quoted(kind)}; there are {', '.join(KINDS)}")
    parent, child = element.need("parent").text("link"), element.need("child").text("link")
    # The axis of a fixed or floating joint is not read.
    placement, make = origin(element), KINDS[kind]
    joint = make() if kind in ("fixed", "floating") else make(_axis(element))
    data = JointData(name, kind, parent, child, slice(0, 0), slice(0, 0))
    # A fixed joint in a file may have limits from a moving one; they are not kept.
    return UrdfJoint(element, data if kind == "fixed" else _with_limits(data, element), placement, joint)


def _axis(element: Element) -> FloatArray:
    """Return the <axis> (3,) of a joint in the joint frame, x by default; it is not normalised. Raise for zero."""
    given = element.only("axis")
    axis = vector(given, "xyz", 3, (1.0, 0.0, 0.0)) if given is not None else np.array([1.0, 0.0, 0.0])
    if given is not None and not axis.any():
        raise given.error("has no direction: all entries are zero")
    return axis


def planar(axis: FloatArray) -> Composite:
    """Shift in the plane normal to ``axis``, then turn about it: q = (shift along e1, shift along e2, angle).

    With the unit normal n, take the coordinate axis after the one of n's largest entry (the first such), in the cyclic
    order x, y, z. e1 is this axis projected on the plane and normalised, and e2 = n x e1: (x, y) for the axis z, (y, z)
    for x, (z, x) for y. The format leaves the choice open.
    """
    n = unit_axis(axis, "axis", MultibodyError)
    follows = np.eye(3)[(int(np.argmax(np.abs(n))) + 1) % 3]
    e1 = follows - (follows @ n) * n
    e1 = e1 / np.linalg.norm(e1)
    return Composite([Prismatic(e1), Prismatic(np.cross(n, e1)), Revolute(n)])


#: Joint types of the format; "revolute" and "continuous" move in the same way.
KINDS: dict[str, Callable[..., Joint]] = {
    "revolute": Revolute,
    "continuous": Revolute,
    "prismatic": Prismatic,
    "fixed": Fixed,
    "floating": FloatingBase,
    "planar": planar,
}

#: Attributes of <limit>: default and minimum. Some programs write the largest float for "no limit".
LIMITS = {
    "effort": (math.inf, 0.0),
    "velocity": (math.inf, 0.0),
    "lower": (0.0, -math.inf),
    "upper": (0.0, -math.inf),
}


def _with_limits(data: JointData, element: Element) -> JointData:
    """Return ``data`` with <limit>, <dynamics> and <mimic>."""
    changes: dict[str, Any] = {}
    limit, dynamics, mimic = element.only("limit"), element.only("dynamics"), element.only("mimic")
    if limit is not None:
        for name, (default, least) in LIMITS.items():
            if least == 0.0 or data.kind in ("revolute", "prismatic"):
                changes[name] = number(limit, name, default, largest=sys.float_info.max, least=least)
        if changes.get("lower", 0.0) > changes.get("upper", 0.0):
            raise limit.error(f"lower {changes['lower']:g} exceeds upper {changes['upper']:g}")
    if dynamics is not None:
        changes |= {name: number(dynamics, name, 0.0, least=0.0) for name in ("damping", "friction")}
    if mimic is not None:
        if data.kind not in ONE_AXIS:
            raise mimic.error(f"a {data.kind} joint cannot mimic one coordinate")
        offset, multiplier = number(mimic, "offset", 0.0), number(mimic, "multiplier", 1.0)
        changes["mimic"] = Mimic(mimic.text("joint"), multiplier, offset)
    return replace(data, **changes)


def by_name(elements: Iterable[Element]) -> dict[str, Element]:
    """Return the elements by their names, which must differ."""
    named: dict[str, Element] = {}
    for element in elements:
        name = element.text("name")
        if name in named:
            raise element.error(f"the name is taken by the {element.tag} in line {named[name].line}")
        named[name] = element
    return named


def ordered(robot: Element, links: Mapping[str, Element], joints: Sequence[UrdfJoint]) -> tuple[str, list[UrdfJoint]]:
    """Return the root link, and the joints depth first, the children of one link in the order of the file.

    Refuses unknown links, a link with two joints above it, several roots, and cycles.
    """
    above: dict[str, UrdfJoint] = {}
    below: dict[str, list[UrdfJoint]] = {name: [] for name in links}
    for joint in joints:
        for role, link in (("parent", joint.data.parent), ("child", joint.data.body)):
            if link not in links:
                raise joint.element.error(f"its {role} link {quoted(link)} is not there{close_names(link, links)}")
        if joint.data.parent == joint.data.body:
            raise joint.element.error(f"connects {quoted(joint.data.body)} with itself")
        if joint.data.body in above:
            other = above[joint.data.body]
            place = f"joint {quoted(other.data.name)} (line {other.element.line})"
            raise joint.element.error(f"its child link {quoted(joint.data.body)} hangs on {place} already")
        above[joint.data.body] = joint
        below[joint.data.parent].append(joint)
    roots = [name for name in links if name not in above]
    if not links:
        raise robot.error("has no link")
    if len(roots) > 1:
        named = ", ".join(quoted(name) for name in roots[:5]) + (", ..." if len(roots) > 5 else "")
        raise links[roots[1]].error(f"several links are no joint's child, there must be one root: {named}")
    order: list[UrdfJoint] = []
    waiting = [joint for root in roots for joint in reversed(below[root])]
    while waiting:
        joint = waiting.pop()
        order.append(joint)
        waiting.extend(reversed(below[joint.data.body]))
    if len(order) < len(joints):
        reached = {joint.data.name for joint in order}
        start = next(joint for joint in joints if joint.data.name not in reached)
        raise start.element.error(f"belongs to a cycle: {_cycle(start, above)}")
    return roots[0], order


def _cycle(start: UrdfJoint, above: Mapping[str, UrdfJoint]) -> str:
    """Return, as text, the links of the cycle that is found upwards from a joint that no root reaches."""
    seen: dict[str, int] = {}
    link = start.data.body
    while link not in seen:
        seen[link] = len(seen)
        link = above[link].data.parent
    links = [link, *reversed(list(seen)[seen[link] :])]
    return " -> ".join(quoted(name) for name in links[:8]) + (" ..." if len(links) > 8 else "")


def check_mimics(joints: Sequence[UrdfJoint]) -> None:
    """Check that every mimic follows a present one-axis joint, and none follows itself through others."""
    try:
        followers({joint.data.name: joint.data for joint in joints})
    except MultibodyError as error:
        at = next(joint for joint in joints if joint.data.name == error.field)
        raise at.element.error(error.detail) from None


@dataclass(frozen=True, eq=False, repr=False)
class UrdfModel(Model):
    """A `Model` whose bodies are the links of a robot description, with the description's other data.

    Attributes
    ----------
    robot
        Name of the robot, "" for none.
    root
        Name of the root link; "world" if it is the world itself.
    joints
        Every joint of the description, fixed ones included, in the order of the bodies they move. The slices of q and v
        are derived from the bodies.
    geometry
        Shapes for collision and for display, as records.
    """

    robot: str = field(kw_only=True)
    root: str = field(kw_only=True)
    joints: tuple[JointData, ...] = field(kw_only=True)
    geometry: tuple[UrdfGeometry, ...] = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        placed = (replace(one, q=self.q_slice(one.body), v=self.v_slice(one.body)) for one in self.joints)
        set_fields(self, joints=tuple(placed))

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of ``joints``. A floating base, which has no joint in the description, has the name of its link."""
        return tuple(joint.name for joint in self.joints)

    @property
    def joint_data(self) -> dict[str, JointData]:
        """The joints by name: place in q and v, limits, friction, coupling."""
        return {joint.name: joint for joint in self.joints}

    @property
    def mimics(self) -> dict[str, Mimic]:
        """The joints that follow others; see `contactlab.multibody.joint_data.apply_mimic`."""
        return {joint.name: joint.mimic for joint in self.joints if joint.mimic is not None}

    @property
    def collisions(self) -> tuple[UrdfGeometry, ...]:
        """The shapes to collide with."""
        return tuple(shape for shape in self.geometry if shape.role == "collision")

    @property
    def visuals(self) -> tuple[UrdfGeometry, ...]:
        """The shapes to look at."""
        return tuple(shape for shape in self.geometry if shape.role == "visual")


def inertia_of(link: Element) -> RigidInertia | None:
    """Return the <inertial> of a <link> in link axes, None if there is none or it is all zero."""
    inertial = link.only("inertial")
    if inertial is None:
        return None
    mass = number(inertial.need("mass"), "value")
    if mass < 0.0:
        raise inertial.error(f"the mass is negative: {mass}")
    element = inertial.need("inertia")
    xx, yy, zz = (number(element, name) for name in ("ixx", "iyy", "izz"))
    xy, xz, yz = (number(element, name, 0.0) for name in ("ixy", "ixz", "iyz"))
    frame = origin(inertial)
    about = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if mass == 0.0 and not about.any():
        return None
    turned = frame.R @ about @ frame.R.T
    turned = 0.5 * (turned + turned.T)
    return RigidInertia(mass, frame.p, inertia=turned, physical=False)


def load_urdf(
    path_or_text: str | PathLike[str],
    *,
    floating_base: bool = False,
    gravity: ArrayLike = (0.0, 0.0, -9.81),
    package_roots: PackageRoots = None,
) -> UrdfModel:
    """Read a robot description (URDF) from any source; see `docs/from_urdf.md`.

    Bodies are named by the links and are in depth-first order, the children of one link in the order of the file. The
    joints, with limits, friction and mimic relations, are in the model's ``joint_data`` by their own names.

    Parameters
    ----------
    path_or_text
        The description itself if it is a string that begins with "<" after white space, else the path of a file.
    floating_base
        Whether the root link floats (the joint `FloatingBase`) or is fixed to the world. A root link called "world" is
        the world itself.
    gravity
        (3,) [m/s^2], world axes.
    package_roots
        Folders that may contain mesh files, in addition to the folder of the description: a mapping from package names,
        or folders whose subfolders are packages. Meshes are located, never loaded.

    Notes
    -----
    An inertia that no mass distribution can have is used unchanged, and one `UrdfWarning` names the links, also those
    that move no mass. Only a motion with a negative moment of inertia is refused.

    Raises
    ------
    UrdfError
        With the line, for anything malformed, ambiguous or dangerous (a DOCTYPE, a mesh outside the folders, a size no
        robot has).
    """
    robot, file = read(path_or_text)
    links = by_name(robot.all("link"))
    by_name(robot.all("joint"))
    joints = [joint_of(element) for element in robot.all("joint")]
    root, order = ordered(robot, links, joints)
    check_mimics(joints)
    packages = Packages.of(package_roots, file)
    inertias = {name: inertia_of(element) for name, element in links.items()}
    odd = {
        name: inertia.physical_fault
        for name, inertia in inertias.items()
        if inertia is not None and inertia.physical_fault
    }
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
    try:
        model = builder.build()
    except NegativeMomentError as error:
        raise links[error.body].error(error.detail) from None
    odd |= _moves_no_mass(model)
    if odd:
        named = "; ".join(f"link {quoted(name)} has {words}" for name, words in list(odd.items())[:10])
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


def _moves_no_mass(model: Model) -> dict[str, str]:
    """Return the bodies that move without mass, nor carry any, with the reasons."""
    tree, (mass, inertia) = structure(model), link_masses(model)
    carried = mass + inertia[:, :3].sum(axis=1)
    for i in reversed(range(len(carried))):
        if tree.parent[i] >= 0:
            carried[tree.parent[i]] += carried[i]
    loose: dict[str, str] = {}
    for body, link in zip(model.bodies, tree.body_link, strict=True):
        if body.joint.nv and carried[link] == 0.0:
            named = f"moves by joint {quoted(body.joint_name)}" if body.joint_name != body.name else "floats"
            loose[body.name] = f"no mass, nor have the links it carries, but {named}: the mass matrix is singular"
    return loose
