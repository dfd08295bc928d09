"""A world as the arrays that the compiled loop takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from contactlab.contact import Material, combine, combine_compliance, combine_moments
from contactlab.contact.restitution import law_numbers
from contactlab.multibody.structure import structure, world_mass
from contactlab.spatial.arrays import FloatArray
from contactlab.stepping.kernels.layout import BODY_INTS, Moments, PackedWorld
from contactlab.world.touching import may_touch_half_space
from contactlab.world.trees import body_trees, first_dofs

if TYPE_CHECKING:
    from contactlab.world.world import World

IntArray = NDArray[np.int64]


def _motion_rows(world: World) -> IntArray:
    """Row of each body (nb,) among the kinematic ones, -1 for any other."""
    rows = np.full(world.model.nb, -1, dtype=np.int64)
    rows[[body for body, _ in world.motions]] = np.arange(len(world.motions))
    return rows


def pack_world(world: World) -> PackedWorld:
    """Lay a checked world out. The arrays are writable for the compiler's sake alone: never modify them."""
    model, nb = world.model, world.model.nb
    parent, root, iv, dof_parent, dof_link, body_link = structure(model)
    first, roots = first_dofs(model), np.append(np.flatnonzero(parent < 0), parent.size)
    blocks = np.concatenate(([0], np.cumsum(np.diff(first) ** 2)))
    tree_of_body = body_trees(model)
    bodies = [
        (tree, root[link], iv[link + 1] - 1) if link >= 0 else (-1, -1, -1)
        for tree, link in zip(tree_of_body, body_link, strict=True)
    ]
    begins = first[np.searchsorted(roots, dof_link, side="right") - 1]
    supports = [surface.support_points() for surface in world.surfaces]
    counts = np.zeros(nb, dtype=np.int64)
    np.add.at(counts, list(world.surface_bodies), [len(radii) for _, radii in supports])
    pairs = [[combine(ground, own.material)[0] for ground in world.half_space_materials] for own in world.surfaces]
    material, (stiffness, dissipation) = material_pairs(world, combine_compliance)
    pair_array = np.array(pairs, dtype=np.float64).reshape(len(world.surfaces), len(world.half_spaces))
    for i, s in np.ndindex(pair_array.shape):
        if not may_touch_half_space(world, i, s):
            pair_array[i, s] = -1.0
    return PackedWorld(
        ints=model.packed.ints,
        floats=model.packed.floats,
        fixed=world_mass(model).copy(),
        trees=np.stack((roots, first, blocks), axis=1).astype(np.int64),
        bodies=np.array(bodies, dtype=np.int64).reshape(nb, BODY_INTS),
        dof_parent=dof_parent,
        branch=np.where(dof_parent < 0, -1, dof_parent - begins).astype(np.int64),
        point_start=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        points=np.array([p for points, _ in supports for p in points], dtype=np.float64).reshape(-1, 3),
        radii=np.array([radius for _, radii in supports for radius in radii], dtype=np.float64),
        normals=np.array([half_space.normal for half_space in world.half_spaces]).reshape(-1, 3).copy(),
        offsets=np.array([half_space.offset for half_space in world.half_spaces], dtype=np.float64),
        point_shape=np.repeat(np.arange(len(supports)), [len(radii) for _, radii in supports]).astype(np.int64),
        pair_mu=pair_array,
        plane=np.zeros(3) if world.plane is None else world.plane.copy(),
        motion=_motion_rows(world),
        material=material,
        restitution=np.array([law_numbers(one.restitution) for one in different_materials(world)]).reshape(
            -1, law_numbers(0.0).size
        ),
        stiffness=stiffness,
        dissipation=dissipation,
    )


def pack_moments(world: World) -> Moments | None:
    """Lay the lengths of torsional and rolling friction out; None where no surface resists turning."""
    if not world.resists_turning:
        return None
    _, (torsional, rolling) = material_pairs(world, combine_moments)
    if world.plane is not None:
        torsional = np.zeros_like(torsional)  # nothing turns about a normal
    return Moments(torsional, rolling, axes=np.zeros((0, 3)))


def different_materials(world: World) -> list[Material]:
    """Return the materials of a world by their number."""
    return list(dict.fromkeys([*(surface.material for surface in world.surfaces), *world.half_space_materials]))


def material_pairs(
    world: World, combined: Callable[[Material, Material], tuple[float, float]]
) -> tuple[IntArray, FloatArray]:
    """Number the different materials; return that of each surface, half-spaces last, and two numbers (2, n, n) by pair.

    ``combined`` is the rule that makes the two of a pair of materials.
    """
    materials = [*(surface.material for surface in world.surfaces), *world.half_space_materials]
    different = different_materials(world)
    number = {material: i for i, material in enumerate(different)}
    numbers = np.array([number[material] for material in materials], dtype=np.int64)
    pairs = np.array([combined(a, b) for a in different for b in different]).reshape(*2 * (len(different),), 2)
    return numbers, np.ascontiguousarray(np.moveaxis(pairs, 2, 0))


def touching_materials(
    packed: PackedWorld, half_space: IntArray, shape_a: IntArray, shape_b: IntArray
) -> tuple[NDArray[np.bool_], IntArray, IntArray]:
    """Which rows of a contact table have two surfaces, and the numbers of their materials, of those rows alone."""
    a = np.where(half_space >= 0, packed.material.size - packed.offsets.size + half_space, shape_a)
    known = (a >= 0) & (shape_b >= 0)
    return known, packed.material[a[known]], packed.material[shape_b[known]]
