"""Conversion of a robot description to a model that keeps the description's data.

Masses and inertias with which a model cannot move are refused; impossible ones are named in a warning.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from os import PathLike

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.builder import ModelBuilder
from contactlab.multibody.joint_data import JointData, JointLimits, Mimic
from contactlab.multibody.joints import Fixed, FloatingBase
from contactlab.multibody.model import WORLD, Model
from contactlab.multibody.packing import NegativeMomentError, link_masses, structure
from contactlab.multibody.urdf.geometry import PackageRoots, Packages, UrdfGeometry, geometry_of
from contactlab.multibody.urdf.joints import by_name, check_mimics, joint_of, ordered
from contactlab.multibody.urdf.reading import Element, number, origin, quoted, read, warn_of
from contactlab.spatial.inertia import RigidInertia


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
    loose = _moves_no_mass(model)
    if strict_inertia and loose:
        name, words = next(iter(loose.items()))
        raise links[name].error(f"has {words}")
    odd |= loose
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
