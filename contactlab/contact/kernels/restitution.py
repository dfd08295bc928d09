"""Restitution over the speed of approach, as numbers."""

from __future__ import annotations

from typing import Final

from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel

# Places of a law's numbers.
COEFFICIENT: Final = 0
SPEED: Final = 1
EXPONENT: Final = 2
THRESHOLD: Final = 3
LARGEST: Final = 4


@kernel(inline=True)
def restitution_at(law: FloatArray, speed: float) -> float:
    """Coefficient of a law (5,) for a speed of approach [m/s]."""
    e = law[COEFFICIENT]
    if e == 0.0 or speed <= law[THRESHOLD]:
        return 0.0
    if law[EXPONENT] > 0.0:
        e *= (speed / law[SPEED]) ** -law[EXPONENT]
    return min(e, law[LARGEST])


@kernel(inner=True)
def pair_restitution(laws: FloatArray, a: int, b: int, speed: float) -> float:
    """Coefficient of a contact between two materials, by number among ``laws`` (m, 5): the larger of theirs."""
    return max(restitution_at(laws[a], speed), restitution_at(laws[b], speed))
