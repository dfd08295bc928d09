"""Errors and warnings about MuJoCo files."""

from __future__ import annotations

from contactlab.spatial.errors import FieldError
from contactlab.world.errors import SimulationConfigError
from problem_data.errors import FileError


class MjcfError(FieldError, FileError):
    """A MuJoCo file that cannot be used; the field is the element at fault."""


class MjcfContentError(MjcfError, SimulationConfigError):
    """A MuJoCo file of which no world can be made."""


class MjcfWarning(UserWarning):
    """A MuJoCo file of which something is not taken."""
