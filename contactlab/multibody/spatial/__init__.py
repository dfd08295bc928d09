"""Poses, rotations and rigid-body inertias."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contactlab.multibody.spatial import quaternion
from contactlab.multibody.spatial.arrays import FieldError, SpatialError
from contactlab.multibody.spatial.inertia import RigidInertia
from contactlab.multibody.spatial.transform import Transform, cross_force, cross_motion
from contactlab.naming import module_hooks

__all__ = ["FieldError", "RigidInertia", "SpatialError", "Transform", "cross_force", "cross_motion", "quaternion"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = module_hooks(__name__, __all__)
