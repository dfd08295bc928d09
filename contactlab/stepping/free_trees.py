"""Trees of several links, each as a model of its own: what moves them where no row acts on them in a step."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from contactlab.multibody.kernels.codes import PRISMATIC, TRANSLATION
from contactlab.multibody.structure import motions, structure
from contactlab.spatial.arrays import IntArray
from contactlab.stepping.kernels.layout import (
    FREE_ALONE,
    FREE_EULER,
    FREE_INT,
    FREE_INT_END,
    FREE_INTS,
    FREE_KICKED,
)

__all__ = ["FREE_ALONE", "FREE_EULER", "acted_on", "free_kinds", "free_size", "moves_accurately", "pack_free_trees"]

if TYPE_CHECKING:
    from contactlab.stepping.kernels.layout import PackedWorld
    from contactlab.stepping.time_stepping import TimeStepping
    from contactlab.world.world import World


def moves_accurately(stepper: TimeStepping) -> bool:
    """Return whether free trees of several links move by the Runge-Kutta method."""
    return stepper.integrator == "rk4" and stepper.gyroscopic != "explicit"


def acted_on(world: World) -> set[int]:
    """Return the trees on which more than weights and applied forces can act: surfaces, and whatever acts on joints."""
    found = {int(world.body_trees[body]) for body in world.surface_bodies}
    found |= {tree for row in world.joint_rows for tree in row.trees}
    actions = world.joint_actions
    names = [one.body for one in actions.damping if one.value != 0.0]
    names += [world.model.body_of_joint(drive.joint) for drive in actions.springs.values()]
    return found | {int(world.body_trees[world.model.index(name)]) for name in names}


def free_kinds(world: World) -> IntArray:
    """Return how each tree (nt,) moves where no row acts on it: a FREE_... of `kernels.layout`.

    By more than one step of Euler's rule do trees whose inertia depends on the configuration: those with two heavy
    links, or with one that turns about several joints.
    """
    model = world.model
    parent = structure(model).parent
    kinds, _ = motions(model)
    first = np.append(np.flatnonzero(parent < 0), parent.size)
    mass = model.packed.floats[3 + 18 * parent.size : 3 + 19 * parent.size]
    acted = acted_on(world)
    out = np.full(first.size - 1, FREE_EULER, dtype=np.int64)
    for tree, (a, b) in enumerate(itertools.pairwise(first.tolist())):
        heavy = int(np.count_nonzero(mass[a:b] > 0.0))
        turning = int(np.count_nonzero(~np.isin(kinds[a:b], (PRISMATIC, TRANSLATION))))
        if b - a > 1 and (heavy > 1 or (heavy == 1 and turning > 1)):
            out[tree] = FREE_KICKED if tree in acted else FREE_ALONE
    return out


def pack_free_trees(world: World) -> dict[str, Any]:
    """Return what `PackedWorld` has of trees of several links, by the names of its fields."""
    model = world.model
    parent, _, iv, dof_parent, dof_link, _ = structure(model)
    kinds, iq = motions(model)
    nl, nv = model.packed.nl, model.nv
    first = np.append(np.flatnonzero(parent < 0), nl)
    none: dict[str, Any] = {
        "free": np.zeros((0, FREE_INTS), dtype=np.int64),
        "free_ints": np.zeros(0, dtype=np.int64),
        "free_floats": np.zeros(0),
    }
    if not (np.diff(first) > 1).any():
        return none
    floats, customs = model.packed.floats, model.packed.ints[10 + 5 * nl : 10 + 6 * nl]
    ways, rows, of_ints, of_floats = free_kinds(world), [], [], []
    sizes = (9, 3, 6, 1, 3, 6)
    starts = 3 + nl * np.cumsum([0, *sizes[:-1]])
    at_ints = at_floats = 0
    for way, a, b in zip(ways, first[:-1], first[1:], strict=True):
        v, q = slice(int(iv[a]), int(iv[b])), slice(int(iq[a]), int(iq[b]))
        if b - a == 1:
            rows.append([way, at_ints, at_ints, at_floats, at_floats, q.start, q.stop])
            continue
        hangs = np.where(dof_parent[v] < 0, -1, dof_parent[v] - v.start)
        ints = [
            [b - a, q.stop - q.start, v.stop - v.start, 0, 0, 0, 0, 0],
            *(np.where(parent[a:b] < 0, -1, parent[a:b] - a), np.zeros(b - a), kinds[a:b]),
            *(iq[a : b + 1] - q.start, iv[a : b + 1] - v.start, customs[a:b], hangs, dof_link[v] - a),
        ]
        # Of kicked trees the weights are in the kick.
        gravity = model.gravity if way == FREE_ALONE else np.zeros(3)
        numbers = [
            gravity,
            *(floats[start + size * a : start + size * b] for start, size in zip(starts, sizes, strict=True)),
            floats[3 + 28 * nl : 3 + 28 * nl + nv][v],
        ]
        of_ints.append(np.concatenate(ints).astype(np.int64))
        of_floats.append(np.concatenate(numbers))
        ends = at_ints + of_ints[-1].size, at_floats + of_floats[-1].size
        rows.append([way, at_ints, ends[0], at_floats, ends[1], q.start, q.stop])
        at_ints, at_floats = ends
    return {
        "free": np.array(rows, dtype=np.int64),
        "free_ints": np.concatenate(of_ints),
        "free_floats": np.concatenate(of_floats),
    }


def free_size(packed: PackedWorld) -> int:
    """Return the numbers of memory that the largest tree of several links takes."""
    from contactlab.multibody.kernels.runge_kutta import runge_kutta_size

    size = 0
    for row in packed.free:
        begin, end = int(row[FREE_INT]), int(row[FREE_INT_END])
        if end > begin:
            nl, nq, nv = packed.free_ints[begin : begin + 3].tolist()
            size = max(size, runge_kutta_size(nl, nv, nq) + 4 * nv)
    return size
