"""Random trees of bodies, as a model of ours and of pinocchio's, and what takes vectors from one to the other."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from contactlab.multibody.spatial import RigidInertia, Transform, quaternion
from contactlab.simulation import Model, ModelBuilder, joints

KINDS = ("x", "y", "z", "revolute", "prismatic", "helical", "spherical", "translation", "floating")


@dataclass(frozen=True, eq=False)
class Pair:
    """One model twice, and the kind of joint of every body."""

    ours: Model
    pin: Any  # the module
    theirs: Any
    kinds: tuple[str, ...]

    def q(self, q: np.ndarray) -> np.ndarray:
        """Quaternions (x, y, z, w)."""
        out = q.copy()
        for name, kind in zip(self.ours.names, self.kinds, strict=True):
            at = self.ours.q_slice(name).stop - 4
            if kind in ("spherical", "floating"):
                out[at : at + 4] = q[[at + 1, at + 2, at + 3, at]]
        return out

    def rotations(self, q: np.ndarray) -> np.ndarray:
        """T (nv, nv), v_ours = T v_theirs: a free body's linear velocity is in parent axes here, in body axes there."""
        T = np.eye(self.ours.nv)
        for name, kind in zip(self.ours.names, self.kinds, strict=True):
            if kind == "floating":
                iv, iq = self.ours.v_slice(name).start, self.ours.q_slice(name).start
                T[iv : iv + 3, iv : iv + 3] = quaternion.to_matrix(q[iq + 3 : iq + 7])
        return T

    def turning(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The part of the acceleration (nv,) that is (dT/dt) v_theirs."""
        out = np.zeros(self.ours.nv)
        for name, kind in zip(self.ours.names, self.kinds, strict=True):
            if kind == "floating":
                iv, iq = self.ours.v_slice(name).start, self.ours.q_slice(name).start
                R = quaternion.to_matrix(q[iq + 3 : iq + 7])
                out[iv : iv + 3] = np.cross(R @ v[iv + 3 : iv + 6], v[iv : iv + 3])
        return out


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    return np.asarray(quaternion.to_matrix(rng.standard_normal(4)))


def random_inertia(rng: np.random.Generator) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass, centre of mass and inertia of a body of a few decimetres."""
    mass = rng.uniform(0.3, 3.0)
    half, R = rng.uniform(0.05, 0.3, 3), random_rotation(rng)
    inertia = mass / 3.0 * np.diag(np.sum(half**2) - half**2)
    return mass, rng.uniform(-0.2, 0.2, 3), R @ inertia @ R.T


def joint_pair(pin: Any, kind: str, axis: np.ndarray, pitch: float) -> tuple[joints.Joint, Any]:
    """The same joint in both libraries."""
    pairs = {
        "x": (joints.Revolute((1, 0, 0)), pin.JointModelRX()),
        "y": (joints.Revolute((0, 1, 0)), pin.JointModelRY()),
        "z": (joints.Revolute((0, 0, 1)), pin.JointModelRZ()),
        "revolute": (joints.Revolute(axis), pin.JointModelRevoluteUnaligned(axis)),
        "prismatic": (joints.Prismatic(axis), pin.JointModelPrismaticUnaligned(axis)),
        "helical": (joints.Helical(axis, pitch), pin.JointModelHelicalUnaligned(axis, pitch)),
        "spherical": (joints.Spherical(), pin.JointModelSpherical()),
        "translation": (joints.TranslationXYZ(), pin.JointModelTranslation()),
        "floating": (joints.FloatingBase(), pin.JointModelFreeFlyer()),
    }
    ours: joints.Joint
    ours, theirs = pairs[kind]
    return ours, theirs


def random_pair(pin: Any, rng: np.random.Generator, nv: int, *, chain: bool = False) -> Pair:
    """A random tree of at least ``nv`` degrees of freedom, bodies added depth-first."""
    builder, theirs = ModelBuilder(), pin.Model()
    path, kinds, count = ["world"], [], 0
    ids = {"world": 0}
    while count < nv:
        if not chain:
            path = path[: rng.integers(max(1, len(path) - 6), len(path) + 1)]
        kind = str(rng.choice(KINDS, p=(0.15, 0.15, 0.15, 0.2, 0.12, 0.08, 0.08, 0.04, 0.03)))
        if count == 0 and rng.uniform() < 0.4:
            kind = "floating"
        axis = rng.standard_normal(3)
        axis /= np.linalg.norm(axis)
        ours, other = joint_pair(pin, kind, axis, rng.uniform(-0.3, 0.3))
        name, R, p = f"b{len(kinds)}", random_rotation(rng), rng.uniform(-0.4, 0.4, 3)
        mass, com, inertia = random_inertia(rng)
        builder.add_body(
            name,
            parent=path[-1],
            joint=ours,
            placement=Transform(R, p),
            inertia=RigidInertia(mass, com, inertia=inertia),
        )
        ids[name] = theirs.addJoint(ids[path[-1]], other, pin.SE3(R, p), name)
        theirs.appendBodyToJoint(ids[name], pin.Inertia(mass, com, inertia), pin.SE3.Identity())
        path.append(name)
        kinds.append(kind)
        count += ours.nv
    return Pair(builder.build(), pin, theirs, tuple(kinds))
