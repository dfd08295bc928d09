"""A model of bodies and joints, built once and never changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.joint_data import JointLimits
from contactlab.multibody.joints import CustomJoint, FloatingBase, Joint, Spherical, evaluated
from contactlab.multibody.spatial.arrays import FloatArray, IntArray, finite_array, set_fields
from contactlab.multibody.spatial.errors import MultibodyError, close_names
from contactlab.multibody.spatial.inertia import RigidInertia
from contactlab.multibody.spatial.transform import Transform

if TYPE_CHECKING:
    from contactlab.multibody.builder import ModelBuilder
    from contactlab.multibody.urdf.geometry import PackageRoots
    from contactlab.multibody.urdf.loading import UrdfModel

#: Name of the world frame of every model.
WORLD = "world"


@dataclass(frozen=True, eq=False)
class BodySpec:
    """One body as it was added.

    Attributes
    ----------
    name, parent
        Name of the body, and name of its parent ("world" if it has none).
    joint
        Motion relative to the parent.
    placement
        Pose of the joint frame in the parent body.
    inertia
        None for a body without mass.
    armature
        (nv,) [kg m^2, kg] terms on the diagonal of M of the rotors of the joint's degrees of freedom.
    joint_name
        Name of the joint, the name of the body if it has none.
    limits
        Data of the joint's degrees of freedom, arrays (nv,).
    """

    name: str
    parent: str
    joint: Joint
    placement: Transform
    inertia: RigidInertia | None
    armature: FloatArray
    joint_name: str
    limits: JointLimits


@dataclass(frozen=True, eq=False)
class PackedModel:
    """Buffers of the kernels; see `contactlab.multibody.kernels.layout`. Not to be modified."""

    #: ints, floats: The model.
    ints: IntArray
    floats: FloatArray
    nl: int  # number of links
    size: int  # length of a workspace
    #: The custom joints with the slices of q and v they own, in the order of their rows.
    custom: tuple[tuple[CustomJoint, slice, slice], ...]
    compact: bool  # whether a workspace fits on the stack


@dataclass(frozen=True, eq=False)
class Model:
    """Bodies, joints and gravity. Made by `ModelBuilder.build` or `Model.from_urdf`.

    `dataclasses.replace` makes a model with other bodies or gravity; all other fields are derived from these.

    Attributes
    ----------
    bodies
        `BodySpec` of every added body, fixed ones included, in the order added, parents before children.
    gravity
        (3,) [m/s^2], world axes.
    nq, nv
        Lengths of q and v.
    packed
        Arguments of the kernels.
    """

    bodies: tuple[BodySpec, ...]
    gravity: FloatArray
    nq: int = field(init=False)
    nv: int = field(init=False)
    packed: PackedModel = field(init=False, repr=False)
    _index: dict[str, int] = field(init=False, repr=False)
    _q_start: tuple[int, ...] = field(init=False, repr=False)
    _v_start: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        from contactlab.multibody.packing import pack

        bodies, gravity = tuple(self.bodies), finite_array(self.gravity, "gravity", (3,), MultibodyError)
        set_fields(self, bodies=bodies, gravity=gravity, **pack(bodies, gravity))

    @classmethod
    def from_urdf(
        cls,
        path_or_text: str | PathLike[str],
        *,
        floating_base: bool = False,
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        package_roots: PackageRoots = None,
        strict_inertia: bool = False,
    ) -> UrdfModel:
        """Read a robot description (URDF) from any source; see `docs/from_urdf.md`.

        Bodies are named by the links and are in depth-first order, the children of one link in the order of the file.
        The joints, with limits, friction and mimic relations, are in the model's ``joint_data`` by their own names.

        Parameters
        ----------
        path_or_text
            The description itself if it is a string that begins with "<" after white space, else the path of a file.
        floating_base
            Whether the root link floats (the joint `FloatingBase`) or is fixed to the world. A root link called "world"
            is the world itself.
        gravity
            (3,) [m/s^2], world axes.
        package_roots
            Folders that may contain mesh files, in addition to the folder of the description: a mapping from package
            names, or folders whose subfolders are packages. Meshes are located, never loaded.
        strict_inertia
            Whether every inertia that `RigidInertia` refuses is an error, and also a link that moves no mass. If not,
            an inertia that no mass distribution can have is used unchanged, and one `UrdfWarning` names the links;
            only a motion with a negative moment of inertia is refused.

        Raises
        ------
        UrdfError
            With the line, for anything malformed, ambiguous or dangerous (a DOCTYPE, a mesh outside the folders, a size
            no robot has).
        """
        from contactlab.multibody.urdf.loading import load_urdf

        return load_urdf(
            path_or_text,
            floating_base=floating_base,
            gravity=gravity,
            package_roots=package_roots,
            strict_inertia=strict_inertia,
        )

    def builder(self) -> ModelBuilder:
        """Return a builder with the bodies and the gravity of this model: to add, change, remove, and build again.

        Other contents of a description than limits (`UrdfModel`) are not in a builder.
        """
        from contactlab.multibody.builder import ModelBuilder

        builder = ModelBuilder(self.gravity)
        for body in self.bodies:
            builder.add_spec(body)
        return builder

    def reduced(self, held: Mapping[str, ArrayLike]) -> Model:
        """Return the model with some of its joints locked: fewer degrees of freedom, the same bodies.

        Parameters
        ----------
        held
            Position of each locked joint, by its name or its body's: one number, or its slice (nq,) of q.

        Raises
        ------
        MultibodyError
            An unknown joint, a joint given twice, or a position of wrong length.
        """
        from contactlab.multibody.builder import reduced

        return reduced(self, held)

    @property
    def nb(self) -> int:
        """Number of added bodies: rows of ``f_ext``."""
        return len(self.bodies)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the bodies, in the order added."""
        return tuple(body.name for body in self.bodies)

    @property
    def mass(self) -> float:
        """Mass of all bodies [kg], those fixed to the world included."""
        return float(sum(body.inertia.mass for body in self.bodies if body.inertia is not None))

    @cached_property
    def without_gravity(self) -> Model:
        """The same model without gravity."""
        return Model(self.bodies, np.zeros(3))

    @property
    def armature(self) -> FloatArray:
        """Armature on the diagonal of M, (nv,) [kg m^2, kg]."""
        return np.concatenate([np.zeros(0), *(body.armature for body in self.bodies)])

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints that move or have names that differ from their bodies', in the order of their bodies."""
        return tuple(one.joint_name for one in self.bodies if one.joint.nv or one.joint_name != one.name)

    @property
    def limits(self) -> JointLimits:
        """Limits of every degree of freedom, arrays (nv,), infinite if there is none: data, never forces."""
        return JointLimits.joined(body.limits for body in self.bodies)

    @property
    def neutral(self) -> FloatArray:
        """Return the configuration (nq,) of zeros and identity rotations, and the neutral one of a `CustomJoint`."""
        q = np.zeros(self.nq)
        q[self.quaternion_starts] = 1.0
        for joint, iq, _ in self.packed.custom:
            q[iq] = evaluated(joint, "neutral", (joint.nq,))
        return q

    @property
    def quaternion_starts(self) -> list[int]:
        """First entries in q of the unit quaternions (w, x, y, z)."""
        return [
            start + (3 if isinstance(body.joint, FloatingBase) else 0)
            for body, start in zip(self.bodies, self._q_start, strict=True)
            if isinstance(body.joint, Spherical | FloatingBase)
        ]

    def index(self, name: str) -> int:
        """Place of a body in ``bodies``, ``names`` and the rows of ``f_ext``.

        Raises
        ------
        MultibodyError
            The name is unknown (the text suggests close ones), or is the world, which has no index (see
            `index_or_world`).
        """
        if name == WORLD:
            raise MultibodyError(
                "body", "the world is none of the bodies: index_or_world gives -1 for it, which must not index a list"
            )
        return self.index_or_world(name)

    def index_or_world(self, name: str) -> int:
        """Return the number of a body for kernels: its `index`, or -1 for the world."""
        if name == WORLD:
            return -1
        place = self._index.get(name)
        if place is None:
            raise MultibodyError("body", f"no body is called {name!r}{close_names(name, [WORLD, *self._index])}")
        return place

    def q_slice(self, name: str) -> slice:
        """Return the entries of a body's joint in q."""
        i = self._moving(name)
        return slice(self._q_start[i], self._q_start[i] + self.bodies[i].joint.nq)

    def v_slice(self, name: str) -> slice:
        """Return the entries of a body's joint in v."""
        i = self._moving(name)
        return slice(self._v_start[i], self._v_start[i] + self.bodies[i].joint.nv)

    def body_of_joint(self, joint: str) -> str:
        """Return the name of the body that a joint moves; an unnamed joint has the name of its body.

        An unknown name raises, with the close ones.
        """
        own = self._joint_body.get(joint)
        if own is not None:
            return own
        if joint in self._index:
            return joint
        known = [*self._joint_body, *self._index]
        raise MultibodyError("joint", f"no joint is called {joint!r}{close_names(joint, known)}")

    def joint_q(self, joint: str) -> slice:
        """Return the entries of a joint in q, by its name: a slice, as in ``q[model.joint_q("knee")][0]``."""
        return self.q_slice(self.body_of_joint(joint))

    def joint_v(self, joint: str) -> slice:
        """Return the entries of a joint in v, by its name, a slice as `joint_q`."""
        return self.v_slice(self.body_of_joint(joint))

    @cached_property
    def _joint_body(self) -> dict[str, str]:
        """Joints with names of their own, and the bodies they move."""
        return {body.joint_name: body.name for body in self.bodies if body.joint_name != body.name}

    def _moving(self, name: str) -> int:
        if name == WORLD:
            raise MultibodyError("body", "the world has no joint")
        return self.index(name)

    def __str__(self) -> str:
        """Return the tree, then a line per entry of v with the joint's name, limits and rotors."""
        from contactlab.multibody.overview import dof_overview, hierarchy_overview

        return "\n".join([repr(self), hierarchy_overview(self), dof_overview(self)]).rstrip()

    def __repr__(self) -> str:
        return f"Model({self.nb} bodies, nq={self.nq}, nv={self.nv})"

    def _repr_html_(self) -> str:
        """Return the display text of notebooks: a line per body."""
        from contactlab.multibody.overview import html_overview

        return html_overview(self)
