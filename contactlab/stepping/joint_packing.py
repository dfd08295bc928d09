"""What acts on the joints of a world as rows, by name and as the arrays that the compiled loop takes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from contactlab.constraints import ContactConstraint, LoopConstraint
from contactlab.constraints.kernels.wanted import SCRATCH
from contactlab.formulation.bridge.joint_actions import PositionDrive
from contactlab.multibody.model import WORLD
from contactlab.stepping.custom_loops import trees_acted_on
from contactlab.stepping.kernels import joint_layout as layout
from contactlab.stepping.kernels.joint_layout import Joints
from contactlab.world.joint_actions import Loop

if TYPE_CHECKING:
    from contactlab.constraints.custom_values import CustomRows
    from contactlab.world.world import World

__all__ = ["KINDS", "JointRow", "grow_joints", "joint_rows", "new_joint_chunk", "new_joints", "pack_joints"]

#: Names of the kinds of rows, by their codes.
KINDS = ("limit", "velocity drive", "mimic", "loop", "friction", "velocity drive", "position drive")


@dataclass(frozen=True)
class JointRow:
    """One row.

    Attributes
    ----------
    kind
        Code of `contactlab.stepping.kernels.joint_layout`; `KINDS` names them.
    label
        What it is, and of which joint.
    trees
        Numbers of the trees it acts on, ascending.
    dof, place
        Degree of freedom, and where its position stands in q; -1 for none.
    sign
        +1 for the lower end of a range, -1 for the upper one, 0 for what is no stop.
    bound
        Position of a stop [rad, m]; of others the largest force [N m, N].
    factor, offset
        Restitution of a stop; multiplier and offset of a follower.
    stiffness, dissipation
        Of a stop that gives way.
    erp
        Share of the error taken back in a step, NaN for the stepper's.
    other, other_place
        Degree of freedom and position of the joint that is followed.
    drive
        Number of the drive; of a stop, of one on the same coordinate; -1 for none.
    loop_row
        Number of the row among those of the loops.
    """

    kind: int
    label: str
    trees: tuple[int, ...]
    dof: int = -1
    place: int = -1
    sign: float = 0.0
    bound: float = math.inf
    factor: float = 0.0
    offset: float = 0.0
    stiffness: float = 0.0
    dissipation: float = 0.0
    erp: float = math.nan
    other: int = -1
    other_place: int = -1
    drive: int = -1
    loop_row: int = -1

    @property
    def kind_name(self) -> str:
        """What kind of row it is, in words."""
        return KINDS[self.kind]


def joint_rows(world: World) -> tuple[JointRow, ...]:
    """Return the rows of a world in the order of their numbers."""
    actions = world.joint_actions
    drives = {world.place_of(drive.joint, drive.coordinate)[0]: i for i, drive in enumerate(actions.drives)}
    stops, holds, followers, boxed, servos = [], [], [], [], []
    for limit in actions.limits:
        dof, place, trees, name = _coordinate(world, limit.joint, limit.coordinate)
        for sign, end, bound in ((1.0, "lower", limit.lower), (-1.0, "upper", limit.upper)):
            if math.isfinite(bound):
                stops.append(
                    JointRow(
                        layout.STOP,
                        f"{end} limit of {name}",
                        trees,
                        dof,
                        place,
                        sign,
                        bound,
                        limit.restitution,
                        stiffness=limit.stiffness,
                        dissipation=limit.dissipation,
                        drive=drives.get(dof, -1),
                    )
                )
    frictions = []
    for one in actions.friction:
        dof, place, trees, name = _coordinate(world, one.body, one.coordinate)
        frictions.append(JointRow(layout.FRICTION, f"friction of {name}", trees, dof, place, bound=one.value))
    for i, drive in enumerate(actions.drives):
        dof, place, trees, _ = _coordinate(world, drive.joint, drive.coordinate)
        bound, label = drive.max_force, str(drive.name)
        if isinstance(drive, PositionDrive):
            if math.isfinite(bound):
                servos.append(JointRow(layout.SERVO, label, trees, dof, place, bound=bound, drive=i))
        elif math.isfinite(bound):
            boxed.append(JointRow(layout.SPEED, label, trees, dof, place, bound=bound, drive=i))
        else:
            holds.append(JointRow(layout.HOLD, label, trees, dof, place, drive=i))
    for follower in actions.followers:
        dof, place, trees, name = _coordinate(world, follower.body, 0)
        other, other_place, more, _ = _coordinate(world, follower.followed, 0)
        followers.append(
            JointRow(
                layout.FOLLOW,
                f"mimic of {name}",
                tuple(sorted({*trees, *more})),
                dof,
                place,
                factor=follower.multiplier,
                offset=follower.offset,
                other=other,
                other_place=other_place,
            )
        )
    return (*stops, *holds, *followers, *_loop_rows(world), *frictions, *boxed, *servos)


def _loop_rows(world: World) -> list[JointRow]:
    found = []
    cs, loops = world.loops, world.joint_actions.loops
    customs = {custom.rows.start: custom for custom in cs.packed.custom}
    for loop, place in zip(loops, cs._places, strict=True):
        trees = _trees(world, loop, customs.get(place.start))
        if trees:  # between bodies that do not move there is nothing to hold
            erp = math.nan if loop.erp is None else loop.erp
            found += [
                JointRow(layout.LOOP, cs.labels[row], trees, erp=erp, loop_row=row)
                for row in range(place.start, place.stop)
            ]
    return found


def _trees(world: World, loop: Loop, custom: CustomRows | None) -> tuple[int, ...]:
    """Return the trees that a loop joins."""
    one = loop.constraint
    if isinstance(one, LoopConstraint):
        named: tuple[str, ...] | None = (one.predecessor, one.successor)
    elif isinstance(one, ContactConstraint):
        named = (one.body,)
    else:
        named = loop.bodies
    if named is None:
        assert custom is not None
        return trees_acted_on(world, custom)
    trees = {int(world.body_trees[world.model.index(name)]) for name in named if name != WORLD}
    return tuple(sorted(trees - {-1}))


def _coordinate(world: World, body: str, coordinate: int) -> tuple[int, int, tuple[int, ...], str]:
    """Degree of freedom, place in q (-1), tree and name of a coordinate."""
    dof, place = world.place_of(body, coordinate)
    v = world.model.v_slice(body)
    name = body if v.stop - v.start == 1 else f"{body}[{coordinate}]"
    return dof, place, (int(world.body_trees[world.model.index(body)]),), name


def pack_joints(world: World) -> Joints | None:
    """Lay out what acts on the joints of a checked world; None where nothing does."""
    actions = world.joint_actions
    if actions.none:
        return None
    rows, nv = world.joint_rows, world.nv
    damping = np.zeros(nv)
    for one in actions.damping:
        damping[world.place_of(one.body, one.coordinate)[0]] += one.value
    ints = [(r.kind, r.dof, r.place, r.other, r.other_place, r.drive, r.loop_row) for r in rows]
    floats = [(r.sign, r.bound, r.factor, r.offset, r.stiffness, r.dissipation, r.erp) for r in rows]
    drives, springs = [], []
    for i, drive in enumerate(actions.drives):
        if not isinstance(drive, PositionDrive):
            drives.append((0.0, 0.0, 0.0))
            continue
        drives.append((drive.stiffness, drive.damping, drive.target_velocity))
        if math.isinf(drive.max_force):
            dof, place, _, _ = _coordinate(world, drive.joint, drive.coordinate)
            springs.append((dof, place, i))
    packed, none = world.loops.packed, np.zeros(0)
    counts = np.array([len(row.trees) for row in rows], dtype=np.int64)
    return Joints(
        damping=damping,
        row_int=np.array(ints, dtype=np.int64).reshape(-1, layout.JOINT_INTS),
        row_float=np.array(floats, dtype=np.float64).reshape(-1, layout.JOINT_FLOATS),
        row_trees=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        trees=np.array([tree for row in rows for tree in row.trees], dtype=np.int64),
        drives=np.array(drives, dtype=np.float64).reshape(-1, layout.DRIVE_FLOATS),
        springs=np.array(springs, dtype=np.int64).reshape(-1, layout.SPRING_INTS),
        loop_ints=packed.model_ints,
        loop_floats=packed.model_floats,
        target=np.array([drive.target for drive in actions.drives], dtype=np.float64),
        loop_G=np.zeros((packed.n, nv)),
        loop_error=np.zeros(packed.n),
        loop_rate=np.zeros(packed.n),
        loop_work=np.zeros(SCRATCH),
        nothing=none,
        active=np.zeros(0, dtype=np.int64),
        error=none,
        row_start=np.zeros(0, dtype=np.int64),
        island_rows=np.zeros(0, dtype=np.int64),
        z=np.zeros((0, 2)),
        was=np.zeros(0, dtype=np.int64),
        previous_z=np.zeros((0, 2)),
        J=none,
        Y=none,
        k=none,
        gamma=none,
        f=none,
        locked=np.zeros(0, dtype=np.int64),
        v0=none,
        P=none,
        work=none,
        lo=none,
        hi=none,
        chunk_int=np.zeros((0, layout.JOINT_ROW_INTS), dtype=np.int64),
        chunk_float=np.zeros((0, layout.JOINT_ROW_FLOATS)),
        chunk_target=np.zeros((0, len(actions.drives))),
    )


def new_joints(packed: Joints, trees: int) -> Joints:
    """Give packed rows workspaces of their own, those of islands and chunks still empty."""
    n = packed.row_int.shape[0]
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


def new_joint_chunk(held: Joints, steps: int) -> Joints:
    """Rows for ``steps`` steps with a few dozen rows each, and for any one step."""
    n = held.row_int.shape[0]
    rows = max(n, steps * min(n, 48))
    return held._replace(
        chunk_int=np.zeros((rows, layout.JOINT_ROW_INTS), dtype=np.int64),
        chunk_float=np.zeros((rows, layout.JOINT_ROW_FLOATS)),
        chunk_target=np.zeros((steps, held.target.size)),
    )


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
