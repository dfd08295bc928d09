"""The rows that act on the joints of a world as the arrays that the compiled loop takes."""

from __future__ import annotations

import math
from dataclasses import fields
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from contactlab.constraints.kernels.wanted import SCRATCH
from contactlab.stepping.kernels.joint_layout import Drive, Joints, Spring
from contactlab.stepping.records import records_of
from contactlab.world.joint_rows import JointRow

if TYPE_CHECKING:
    from contactlab.world.world import World


# What does not change in a run.
OF_A_WORLD = ("damping", "rows", "row_trees", "trees", "drives", "springs", "loop_ints", "loop_floats")


def pack_joints(world: World) -> Joints | None:
    """Lay out what acts on the joints of a checked world; None where nothing does."""
    return None if world.joint_actions.none else all_joints(world)


def all_joints(world: World) -> Joints:
    """Lay out what acts on the joints of a checked world, also where nothing does."""
    actions = world.joint_actions
    rows, nv = world.joint_rows, world.nv
    damping = np.zeros(nv)
    for one in actions.damping:
        damping[world.place_of(one.body, one.coordinate)[0]] += one.value
    springs = []
    for i, drive in actions.springs.items():
        dof, place = world.place_of(drive.joint, drive.coordinate)
        springs.append(SimpleNamespace(dof=dof, place=place, drive=i))
    numbers = {one.name: str(one.type) for one in fields(JointRow) if one.type in ("int", "float")}
    packed = world.loops.packed
    # What a run gives room, `new_joints` and `grow_joints`.
    empty: dict[str, Any] = dict.fromkeys(
        ("error", "J", "Y", "k", "gamma", "f", "v0", "P", "work", "lo", "hi"), np.zeros(0)
    )
    empty |= dict.fromkeys(("active", "row_start", "island_rows", "was", "locked"), np.zeros(0, dtype=np.int64))
    empty |= dict.fromkeys(("z", "previous_z"), np.zeros((0, 2)))
    counts = np.array([len(row.trees) for row in rows], dtype=np.int64)
    return Joints(
        damping=damping,
        rows=records_of({"kind": "int", "rank": "int", **numbers}, rows),
        row_trees=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        trees=np.array([tree for row in rows for tree in row.trees], dtype=np.int64),
        drives=records_of(Drive.__annotations__, actions.drives),
        springs=records_of(Spring.__annotations__, springs),
        loop_ints=packed.model_ints,
        loop_floats=packed.model_floats,
        target=np.array([drive.target for drive in actions.drives], dtype=np.float64),
        target_table=np.zeros((0, len(actions.drives))),
        loop_G=np.zeros((packed.n, nv)),
        loop_error=np.zeros(packed.n),
        loop_rate=np.zeros(packed.n),
        loop_work=np.zeros(SCRATCH),
        nothing=np.zeros(0),
        **empty,
    )


def new_joints(packed: Joints, trees: int) -> Joints:
    """Give packed rows workspaces of their own, those of islands still empty."""
    n = packed.rows.size
    return packed._replace(
        target=packed.target.copy(),
        loop_G=packed.loop_G.copy(),
        loop_error=packed.loop_error.copy(),
        loop_rate=packed.loop_rate.copy(),
        loop_work=packed.loop_work.copy(),
        active=np.zeros(n, dtype=np.int64),
        error=np.zeros(n),
        row_start=np.zeros(trees + 1, dtype=np.int64),
        island_rows=np.zeros(n, dtype=np.int64),
        z=np.zeros((n, 2)),
        was=np.zeros(n, dtype=np.int64),
        previous_z=np.zeros((n, 2)),
    )


def joints_in(held: Joints, packed: Joints) -> Joints:
    """Return packed rows in the workspaces of others, of the same number."""
    return held._replace(**{name: getattr(packed, name) for name in OF_A_WORLD})


def grow_joints(held: Joints, rows: int, nv: int, equations: int) -> Joints:
    """Room for an island of so many rows, velocities and rows G, at least."""
    from contactlab.formulation.kernels.bilateral import bilateral_work_size

    rows, nv = max(rows, held.k.size), max(nv, held.v0.size)
    P = max(equations * equations, held.P.size)
    return held._replace(
        J=np.zeros(rows * nv),
        Y=np.zeros(rows * nv),
        k=np.zeros(rows),
        gamma=np.zeros(rows),
        f=np.zeros(rows),
        locked=np.zeros(rows, dtype=np.int64),
        v0=np.zeros(nv),
        P=np.zeros(P),
        work=np.zeros(int(bilateral_work_size(math.isqrt(P)))),
        lo=np.zeros(rows),
        hi=np.zeros(rows),
    )
