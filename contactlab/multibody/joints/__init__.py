"""The joints."""

from __future__ import annotations

from contactlab.multibody.joints.composite import Composite
from contactlab.multibody.joints.custom import CustomJoint
from contactlab.multibody.joints.elementary import Joint
from contactlab.multibody.joints.one_axis import Helical, Prismatic, Revolute, Screw
from contactlab.multibody.joints.several_axes import (
    EulerXYZ,
    EulerYXZ,
    EulerZXY,
    EulerZYX,
    Fixed,
    FloatingBase,
    Spherical,
    TranslationXYZ,
)

#: Every joint of the package; tests and documentation are derived from this tuple.
ALL_JOINTS = (
    Revolute,
    Prismatic,
    Helical,
    Screw,
    Spherical,
    EulerZYX,
    EulerXYZ,
    EulerYXZ,
    EulerZXY,
    TranslationXYZ,
    FloatingBase,
    Fixed,
    Composite,
    CustomJoint,
)

__all__ = [
    "ALL_JOINTS",
    "Composite",
    "CustomJoint",
    "EulerXYZ",
    "EulerYXZ",
    "EulerZXY",
    "EulerZYX",
    "Fixed",
    "FloatingBase",
    "Helical",
    "Joint",
    "Prismatic",
    "Revolute",
    "Screw",
    "Spherical",
    "TranslationXYZ",
]
