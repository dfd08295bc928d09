"""Shift in three directions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from contactlab.multibody.joints.elementary import Elementary
from contactlab.multibody.kernels import codes


@dataclass(frozen=True)
class TranslationXYZ:
    """Shift by q = (x, y, z) [m] in joint axes."""

    nq = 3
    nv = 3

    def chain(self) -> tuple[Elementary, ...]:
        """One shift."""
        return (Elementary(codes.TRANSLATION, np.zeros(3), np.zeros(3)),)
