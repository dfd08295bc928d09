"""Conversion of a robot description to a model that keeps the description's data.

Masses and inertias with which a model cannot move are refused; impossible ones are named in a warning.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.builder import ModelBuilder
from contactlab.multibody.joint_data import JointData, JointLimits, Mimic
from contactlab.multibody.joints import Fixed, FloatingBase
from contactlab.multibody.model import WORLD, Model
from contactlab.multibody.urdf.geometry import PackageRoots, Packages, UrdfGeometry, geometry_of
from contactlab.multibody.urdf.joints import UrdfJoint, by_name, check_mimics, joint_of, ordered
from contactlab.multibody.urdf.reading import Element, number, origin, quoted, read, warn_of
from contactlab.spatial.arrays import FloatArray
from contactlab.spatial.inertia import RigidInertia, round_off
from contactlab.spatial.transform import Transform


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
        object.__setattr__(self, "joints", tuple(placed))

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


def inertia_of(link: Element, *, strict: bool) -> RigidInertia | None:
    """Return the <inertial> of a <link> in link axes, None if there is none or it is all zero.

    An inertia that no mass distribution has is used unchanged, unless ``strict``.
    """
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
    inertia = RigidInertia(mass, frame.p, inertia=turned, physical=False)
    if strict and inertia.physical_fault is not None:
        raise inertial.error(f"inertia belongs to no mass distribution, it has {inertia.physical_fault}")
    return inertia


class RigidGroup:
    """Links joined by fixed joints: one body to the dynamics."""

    def __init__(self) -> None:
        self.mass = 0.0
        self.moment = np.zeros(3)  # mass times centre of mass
        self.inertia = np.zeros((3, 3))  # about the origin of the group's frame

    def add(self, inertia: RigidInertia, R: FloatArray, p: FloatArray) -> None:
        """Join a link whose frame is at (R, p) in the group's."""
        com = R @ inertia.com + p
        self.mass += inertia.mass
        self.moment = self.moment + inertia.mass * com
        about = com @ com * np.eye(3) - np.outer(com, com)
        self.inertia = self.inertia + R @ inertia.inertia @ R.T + inertia.mass * about

    def negative_moment(self) -> float | None:
        """Return the smallest principal moment about the centre of mass if it is negative beyond round-off."""
        com = self.moment / self.mass if self.mass > 0.0 else np.zeros(3)
        about = self.inertia - self.mass * (com @ com * np.eye(3) - np.outer(com, com))
        low, _, high = np.linalg.eigvalsh(about)
        # Terms that cancel leave the rounding error of the largest one.
        zero = round_off(self.mass, max(high, float(np.max(np.abs(self.inertia)))))
        return float(low) if low < -zero or not math.isfinite(low) else None


def load_urdf(
    path_or_text: str | PathLike[str],
    *,
    floating_base: bool = False,
    gravity: ArrayLike = (0.0, 0.0, -9.81),
    package_roots: PackageRoots = None,
    strict_inertia: bool = False,
) -> UrdfModel:
    """Return the model of a robot description; see `Model.from_urdf`."""
    robot, file = read(path_or_text)
    links = by_name(robot.all("link"))
    by_name(robot.all("joint"))
    joints = [joint_of(element) for element in robot.all("joint")]
    root, order = ordered(robot, links, joints)
    check_mimics(joints)
    packages = Packages.of(package_roots, file)
    inertias = {name: inertia_of(element, strict=strict_inertia) for name, element in links.items()}
    odd = {
        name: inertia.physical_fault
        for name, inertia in inertias.items()
        if inertia is not None and inertia.physical_fault
    }
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


def _check_motion(
    root: str,
    order: Sequence[UrdfJoint],
    links: Mapping[str, Element],
    inertias: Mapping[str, RigidInertia | None],
    odd: Mapping[str, str],
    *,
    floating_base: bool,
) -> dict[str, str]:
    """Raise for links that would move with a negative moment; return links without mass, with the reasons.

    The mass of the world and of bodies fixed to it has no effect and is not checked.
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
            above = f"moves by joint {quoted(carriers[head].data.name)}" if head in carriers else "floats"
            loose[head] = f"no mass, nor have the links it carries, but {above}: the mass matrix is singular"
        low = group.negative_moment()
        if low is not None:
            blamed = [quoted(name) for name in names if heads[name] == head and name in odd][:5]
            detail = f"with all that is fixed to it, it has the negative principal moment {low:.4g} kg m^2"
            raise links[head].error(f"{detail}; at fault: {', '.join(blamed) or 'round-off'}")
    return loose
