"""Stiffness and dissipation of a world's pairs of surfaces, by the numbers of their materials."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from contactlab.contact import Material, combine_compliance
from contactlab.spatial.arrays import FloatArray

if TYPE_CHECKING:
    from contactlab.stepping.contact_table import ContactTable
    from contactlab.world.world import World

__all__ = ["compliance_tables", "contact_compliance", "numbered_materials"]

IntArray = NDArray[np.int64]


def numbered_materials(world: World) -> tuple[list[Material], IntArray]:
    """Return the different materials, and the number of each surface's, those of the half-spaces last."""
    materials = [*(surface.material for surface in world.surfaces), *world.half_space_materials]
    different = list(dict.fromkeys(materials))
    number = {material: i for i, material in enumerate(different)}
    return different, np.array([number[material] for material in materials], dtype=np.int64)


def compliance_tables(world: World) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return each surface's material number, and stiffness [N/m] and dissipation [N s/m] by pair of numbers."""
    different, numbers = numbered_materials(world)
    n = len(different)
    pairs = np.array([combine_compliance(a, b) for a in different for b in different]).reshape(n, n, 2)
    return numbers, np.ascontiguousarray(pairs[:, :, 0]), np.ascontiguousarray(pairs[:, :, 1])


def contact_compliance(world: World, table: ContactTable) -> tuple[FloatArray, FloatArray]:
    """Return stiffness and dissipation of every contact of a table; infinite and 0 without two known surfaces."""
    packed, surfaces = world.packed, len(world.surfaces)
    a = np.where(table.half_space >= 0, surfaces + table.half_space, table.shape_a)
    known = (a >= 0) & (table.shape_b >= 0)
    stiffness, dissipation = np.full(a.size, np.inf), np.zeros(a.size)
    one, other = packed.material[a[known]], packed.material[table.shape_b[known]]
    stiffness[known], dissipation[known] = packed.stiffness[one, other], packed.dissipation[one, other]
    return stiffness, dissipation
