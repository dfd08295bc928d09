"""A model of bodies and joints, built once and never changed, and views of its buffers."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from contactlab.multibody.bodies import WORLD, BodySpec, JointLimits, dof_text, joint_mark, positions, tree_text
from contactlab.multibody.joints import FloatingBase, Spherical, evaluated
from contactlab.multibody.kernels import columns_start
from contactlab.multibody.packing import PackedModel, pack
from contactlab.multibody.spatial.arrays import (
    FloatArray,
    IntArray,
    MultibodyError,
    close_names,
    finite_array,
    set_fields,
)
from lcp.result import html_table


@dataclass(frozen=True, eq=False)
class Model:
    """Bodies, joints and gravity. Made by `ModelBuilder.build` or `load_urdf`.

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
        bodies, gravity = tuple(self.bodies), finite_array(self.gravity, "gravity", (3,), MultibodyError)
        set_fields(self, bodies=bodies, gravity=gravity, **pack(bodies, gravity))

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

    @cached_property
    def tree_starts(self) -> IntArray:
        """First velocity of each kinematic tree (nt + 1,); the last entry is nv."""
        parent, _, iv, *_ = structure(self)
        return np.append(iv[:-1][parent < 0], self.nv).astype(np.int64)

    @cached_property
    def body_trees(self) -> IntArray:
        """Number of the kinematic tree of each body (nb,); -1 for a body fixed to the world."""
        parent, root, _, _, _, body_link = structure(self)
        number = np.cumsum(parent < 0) - 1
        return np.array([number[root[link]] if link >= 0 else -1 for link in body_link], dtype=np.int64)

    @cached_property
    def position_index(self) -> IntArray:
        """Entry of q that each entry of v changes at its rate, (nv,); -1 for the entries of orientations."""
        owners = zip(self.bodies, self._q_start, strict=True)
        places = [-1 if at is None else start + at for body, start in owners for at in positions(body.joint)]
        return np.array(places, dtype=np.int64)

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
        return "\n".join([repr(self), tree_text(self.bodies), dof_text(self.bodies)]).rstrip()

    def __repr__(self) -> str:
        return f"Model({self.nb} bodies, nq={self.nq}, nv={self.nv})"

    def _repr_html_(self) -> str:
        """Return the display text of notebooks: a line per body."""
        rows = []
        for body, start in zip(self.bodies, self._v_start, strict=True):
            mass, nv = 0.0 if body.inertia is None else body.inertia.mass, body.joint.nv
            entries = f"{start} .. {start + nv - 1}" if nv > 1 else f"{start}"
            joint = "" if body.joint_name == body.name else body.joint_name
            moved = entries if nv else ""
            rows.append((body.name, body.parent, joint_mark(body.joint).strip("[ ]"), joint, moved, f"{mass:g}"))
        return html_table(repr(self), rows, ("body", "on", "joint", "its name", "in v", "mass [kg]"))


def hierarchy_overview(model: Model) -> str:
    """Return the tree, a line per body indented under its parent, with its joint and axes; fixed bodies are marked.

    >>> print(hierarchy_overview(model))
    world
      base [ FloatingBase: TX TY TZ RX RY RZ ]
        camera [fixed]
        arm [ Revolute: RY ]
    """
    return tree_text(model.bodies)


def dof_overview(model: Model) -> str:
    """Return a line ``index: body axis`` per entry of v.

    R is a rotation, T a shift, in joint axes unless the line says body axes (the angular velocities of `Spherical` and
    `FloatingBase`). Each axis of a joint with several acts in the frame after the previous one. The data of the model
    follow: the joint's own name, the range of the position, bounds of speed and effort, the rotor's inertia.
    """
    return dof_text(model.bodies)


_NO_MASS = np.zeros(4)


class Structure(NamedTuple):
    """Views of the integer buffer; the same as in `contactlab.multibody.kernels.layout.Tree`. Not to be modified."""

    parent: IntArray  # (nl,) parent link, -1 for the world
    root: IntArray  # (nl,) root link of the link's tree
    iv: IntArray  # (nl + 1,) first entry of v
    dof_parent: IntArray  # (nv,) the degree of freedom next below, -1
    dof_link: IntArray  # (nv,)
    body_link: IntArray  # (nb,) link an added body is fixed to, -1 for the world


def structure(model: Model) -> Structure:
    """Return the structure of the tree of links as views of the model's integer buffer, the same that kernels use."""
    ints, nl, nv, nb = model.packed.ints, model.packed.nl, model.nv, model.nb
    dofs = 8 + 6 * nl + 2
    return Structure(
        parent=ints[8 : 8 + nl],
        root=ints[8 + nl : 8 + 2 * nl],
        iv=ints[8 + 4 * nl + 1 : 8 + 5 * nl + 2],
        dof_parent=ints[dofs : dofs + nv],
        dof_link=ints[dofs + nv : dofs + 2 * nv],
        body_link=ints[dofs + 2 * nv : dofs + 2 * nv + nb],
    )


def motions(model: Model) -> tuple[IntArray, IntArray]:
    """Return the code of the motion of each link (nl,), and first entry of q of each (nl + 1,)."""
    ints, nl = model.packed.ints, model.packed.nl
    return ints[8 + 2 * nl : 8 + 3 * nl], ints[8 + 3 * nl : 8 + 4 * nl + 1]


def link_masses(model: Model) -> tuple[FloatArray, FloatArray]:
    """Return the mass (nl,) of each link and its inertia about the centre of mass, (nl, 6), as views."""
    floats, nl = model.packed.floats, model.packed.nl
    return floats[3 + 18 * nl : 3 + 19 * nl], floats[3 + 22 * nl : 3 + 28 * nl].reshape(nl, 6)


def body_frames(model: Model) -> tuple[FloatArray, FloatArray]:
    """Return poses of the added bodies in their links, last in their buffer: R (nb, 3, 3) and p (nb, 3)."""
    nb = model.nb
    floats = model.packed.floats[model.packed.floats.size - 12 * nb :]
    return floats[: 9 * nb].reshape(nb, 3, 3), floats[9 * nb :].reshape(nb, 3)


def world_mass(model: Model) -> FloatArray:
    """Return the mass of the bodies fixed to the world and its first moment, (4,) [kg, kg m]."""
    links = structure(model).body_link.tolist()
    if -1 not in links:
        return _NO_MASS
    R, p = body_frames(model)
    out = np.zeros(4)
    for i, body in enumerate(model.bodies):
        if links[i] < 0 and body.inertia is not None:
            out[0] += body.inertia.mass
            out[1:] += body.inertia.mass * (R[i] @ body.inertia.com + p[i])
    return out


def head_views(W: FloatArray, model: Model) -> tuple[FloatArray, ...]:
    """Return S (nv, 6), R (nl, 9), p (nl, 3), V (nl, 6) and C (nl, 6) of links in the head of a workspace.

    They are cut as `contactlab.multibody.kernels.layout.frames` cuts them.
    """
    nl, nv = model.packed.nl, model.nv
    start, views = columns_start(nl), []
    for n, width in ((nv, 6), (nl, 9), (nl, 3), (nl, 6), (nl, 6)):
        views.append(W[start : start + n * width].reshape(n, width))
        start += n * width
    return tuple(views)


def workspace(model: Model) -> FloatArray:
    """Return a buffer, flat and zeroed, long enough for every kernel of ``model``; one per thread.

    The public functions need none. A compiled loop that calls `contactlab.multibody.kernels` itself (``rnea``,
    ``crba``, ``aba``, ...) passes this buffer at every call, with ``model.packed.ints`` and ``model.packed.floats``.
    """
    return np.zeros(model.packed.size)
