"""Rigid-body models: state, inertia, energy."""

from __future__ import annotations

from contactlab.multibody.errors import MultibodyError
from contactlab.multibody.free_bodies import FreeBodies, PackedBodies

__all__ = ["FreeBodies", "MultibodyError", "PackedBodies"]
