"""No motion at all."""

from __future__ import annotations

from dataclasses import dataclass

from contactlab.multibody.joints.elementary import Elementary


@dataclass(frozen=True)
class Fixed:
    """A rigid connection: the child's mass joins its parent's, its frame stays addressable by name."""

    nq = 0
    nv = 0

    def chain(self) -> tuple[Elementary, ...]:
        """Nothing moves."""
        return ()
