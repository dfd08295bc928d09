"""Kinetic and potential energy of the whole model from the kinematics of one instant."""

from __future__ import annotations

from contactlab.multibody.kernels.centroidal import sum_masses, sum_momenta
from contactlab.multibody.kernels.layout import Tree
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel


@kernel(inline=True)
def energies(
    t: Tree, R: FloatArray, p: FloatArray, V: FloatArray, fixed: FloatArray, sums: FloatArray, out: FloatArray
) -> None:
    """Fill out (2,) with kinetic and potential energy [J], the numbers `kinetic_energy` and `potential_energy` give.

    ``fixed`` (4,) is the mass of the bodies fixed to the world and its first moment, ``sums`` (11,) scratch.
    """
    sum_masses(t, R, p, fixed, sums)
    sum_momenta(t, R, p, V, sums)
    g = t.gravity
    out[0] = sums[10]
    out[1] = -sums[0] * (sums[1] * g[0] + sums[2] * g[1] + sums[3] * g[2])
