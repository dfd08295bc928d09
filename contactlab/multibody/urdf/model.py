"""A model that remembers the description it was made from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from contactlab.multibody.joint_data import JointData, Mimic
from contactlab.multibody.model import Model
from contactlab.multibody.urdf.geometry import UrdfGeometry


@dataclass(frozen=True, eq=False, repr=False)
class UrdfModel(Model):
    """A `Model` whose bodies are the links of a robot description, with what else the description says.

    Attributes
    ----------
    robot
        Name of the robot, "" for none.
    root
        Name of the root link; "world" where that is the world itself.
    joints
        Every joint of the description, fixed ones included, in the order of the bodies they move; where their
        coordinates stand follows from the bodies.
    geometry
        Shapes to collide with and to look at, kept as records.
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
        """Names of ``joints``, one by one; a floating base, for which a description has none, goes by its link."""
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
