"""The joints, one per file."""

from __future__ import annotations

from contactlab.multibody.joints.composite import Composite
from contactlab.multibody.joints.custom import CustomJoint
from contactlab.multibody.joints.elementary import Joint
from contactlab.multibody.joints.euler import EulerXYZ, EulerYXZ, EulerZXY, EulerZYX
from contactlab.multibody.joints.fixed import Fixed
from contactlab.multibody.joints.floating_base import FloatingBase
from contactlab.multibody.joints.helical import Helical
from contactlab.multibody.joints.prismatic import Prismatic
from contactlab.multibody.joints.revolute import Revolute
from contactlab.multibody.joints.screw import Screw
from contactlab.multibody.joints.spherical import Spherical
from contactlab.multibody.joints.translation_xyz import TranslationXYZ

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
