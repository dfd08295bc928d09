"""Reader of robot descriptions (URDF) from any source, with limits and checks, into models."""

from __future__ import annotations

from contactlab.multibody.urdf.geometry import (
    UrdfBox,
    UrdfCapsule,
    UrdfCylinder,
    UrdfGeometry,
    UrdfMesh,
    UrdfShape,
    UrdfSphere,
)
from contactlab.multibody.urdf.loading import UrdfModel, load_urdf
from contactlab.multibody.urdf.reading import UrdfError, UrdfWarning

__all__ = [
    "UrdfBox",
    "UrdfCapsule",
    "UrdfCylinder",
    "UrdfError",
    "UrdfGeometry",
    "UrdfMesh",
    "UrdfModel",
    "UrdfShape",
    "UrdfSphere",
    "UrdfWarning",
    "load_urdf",
]
