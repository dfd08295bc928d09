"""Several one-axis joints in a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from contactlab.multibody.joints.elementary import Elementary, Joint
from contactlab.spatial.errors import MultibodyError


@dataclass(frozen=True, eq=False, init=False)
class Composite:
    """One to six one-axis joints, each acting in the frame the one before it left.

    Parameters
    ----------
    joints
        One-axis joints (`Revolute`, `Prismatic`, `Helical`, `Screw`), from parent to child.
    """

    joints: tuple[Joint, ...]

    def __init__(self, joints: Sequence[Joint]) -> None:
        given = tuple(joints)
        if not 1 <= len(given) <= 6:
            raise MultibodyError("Composite.joints", f"must be 1 to 6 joints, got {len(given)}")
        candidates: tuple[object, ...] = given  # whatever the caller's types say
        for i, joint in enumerate(candidates):
            if not isinstance(joint, Joint) or len(joint.chain()) != 1 or joint.nv != 1 or joint.nq != 1:
                raise MultibodyError(f"Composite.joints[{i}]", f"must have one axis, got {joint!r}")
        object.__setattr__(self, "joints", given)

    @property
    def nq(self) -> int:
        """One coordinate per axis."""
        return len(self.joints)

    @property
    def nv(self) -> int:
        """One velocity per axis."""
        return len(self.joints)

    def chain(self) -> tuple[Elementary, ...]:
        """Return the motions of its joints."""
        return tuple(motion for joint in self.joints for motion in joint.chain())
