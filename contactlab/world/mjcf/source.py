"""A compiled MuJoCo model that is added to a world, with its names and its pose."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from contactlab.multibody.model import WORLD
from contactlab.spatial import Transform, quaternion
from contactlab.spatial.arrays import FloatArray

FREE, BALL, SLIDE, HINGE = range(4)  # mujoco's mjtJoint
SCALAR = (SLIDE, HINGE)


def make_pose(position: Any, turn: Any) -> Transform:
    """Return the pose of a position and a quaternion (w, x, y, z)."""
    return Transform(quaternion.to_matrix(np.asarray(turn) / np.linalg.norm(turn)), np.array(position))


def name_in(m: Any, kind: str, i: int) -> str:
    """Return the name of an element by its kind (mujoco's) and number; one without is called by its number."""
    import mujoco

    return mujoco.mj_id2name(m, getattr(mujoco.mjtObj, f"mjOBJ_{kind.upper()}"), i) or f"{kind} {i}"


@dataclass(frozen=True, eq=False)
class Source:
    """A compiled model, the prefix of its names in the world, and the pose of its own world there.

    Names are those of the file, or kind and number of what has none; those of bodies and joints have the prefix here.
    """

    m: Any
    prefix: str = ""
    pose: Transform = field(default_factory=Transform)

    @cached_property
    def bodies(self) -> list[str]:
        """Names of the bodies by number, in the world; number 0 is the world."""
        return [WORLD, *(self.prefix + name_in(self.m, "body", i) for i in range(1, self.m.nbody))]

    @cached_property
    def joints(self) -> list[str]:
        """Names of the joints by number, as in the file."""
        return [name_in(self.m, "joint", j) for j in range(self.m.njnt)]

    @cached_property
    def moved(self) -> dict[int, str]:
        """The body in the world that each joint moves: an own one for each but the last of a body's joints."""
        m, found = self.m, {}
        for j in range(m.njnt):
            i = int(m.jnt_bodyid[j])
            last = j == m.body_jntadr[i] + m.body_jntnum[i] - 1
            central = m.jnt_type[j] == FREE or not np.any(m.jnt_pos[j])
            found[j] = self.bodies[i] if last and central else f"{self.bodies[i]}/{self.joints[j]}"
        return found

    def handle(self, j: int) -> str:
        """Return the name by which a world builder finds a joint: its own name if joints have names."""
        return self.prefix + self.joints[j]

    def is_static(self, i: int) -> bool:
        """Return True if a body is welded to the world, number 0 included."""
        return bool(self.m.body_weldid[i] == 0)

    def static_pose(self, i: int) -> Transform:
        """Return the pose of a body that is welded to the world, in the world that is built."""
        if i == 0:
            return self.pose
        return self.static_pose(int(self.m.body_parentid[i])) @ make_pose(self.m.body_pos[i], self.m.body_quat[i])

    def is_flag_disabled(self, *flags: str) -> bool:
        """Return True if the file switches off any of these (names of <flag>), as far as this mujoco knows them."""
        import mujoco

        bits = sum(int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{flag.upper()}", 0)) for flag in flags)
        return bool(int(self.m.opt.disableflags) & bits)

    @property
    def gravity(self) -> FloatArray:
        """(3,) of the file."""
        return np.zeros(3) if self.is_flag_disabled("gravity") else np.array(self.m.opt.gravity)
