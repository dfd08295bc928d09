"""The rows that act on the joints of a world, by name: stops, drives, followers, loops, dry friction."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from contactlab.constraints.custom import CustomRows
from contactlab.formulation.model_problem.options import RowKind
from contactlab.multibody import integrate
from contactlab.multibody.model import WORLD
from contactlab.multibody.overview import joint_axes
from contactlab.spatial.arrays import read_only
from contactlab.world.joint_actions import Loop
from contactlab.world.point_spring import PointSpring

if TYPE_CHECKING:
    from contactlab.world.world import World

__all__ = ["JointRow", "RowKind", "joint_rows"]

SAMPLES = 8
SPREAD = 0.5  # rad or m from the start


@dataclass(frozen=True)
class JointRow:
    """One row.

    Attributes
    ----------
    kind
        Kind of the row; `kind_name` has it in words.
    label
        Kind and joint in words.
    trees
        Numbers of the trees it acts on, ascending.
    dof, place
        Degree of freedom, and index of its position in q; -1 for none.
    sign
        +1 for the lower end of a range, -1 for the upper one, 0 for other rows.
    bound
        Position of a stop [rad, m]; of others the largest force [N m, N].
    factor, offset
        Restitution of a stop; multiplier and offset of a follower.
    stiffness, dissipation
        Of a stop that gives way, and of a spring.
    erp
        Share of the error taken back in a step, NaN for the stepper's.
    other, other_place
        Degree of freedom and position of the joint that is followed.
    drive
        Number of the drive; of a stop, of one on the same coordinate; -1 for none.
    loop_row
        Number of the row among the rows of loops and springs.
    angular
        1 for a stop of an angle.
    """

    kind: RowKind
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
    angular: int = 0

    @property
    def kind_name(self) -> str:
        """Kind of the row in words."""
        return self.kind.label

    @property
    def rank(self) -> int:
        """Place of the class of its kind, see `RowKind`."""
        return self.kind.rank


def joint_rows(world: World) -> tuple[JointRow, ...]:
    """Return the rows of a world in the order of their numbers."""
    actions = world.joint_actions
    drives = {world.place_of(drive.joint, drive.coordinate)[0]: i for i, drive in enumerate(actions.drives)}
    rows = _loop_rows(world)
    for limit in actions.limits:
        dof, place, trees, name = _coordinate(world, limit.joint, limit.coordinate)
        for sign, end, bound in ((1.0, "lower", limit.lower), (-1.0, "upper", limit.upper)):
            if math.isfinite(bound):
                rows.append(
                    JointRow(
                        RowKind.LIMIT,
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
                        angular=_turns(world, limit.joint, limit.coordinate),
                    )
                )
    for one in actions.friction:
        dof, place, trees, name = _coordinate(world, one.body, one.coordinate)
        rows.append(JointRow(RowKind.FRICTION, f"friction of {name}", trees, dof, place, bound=one.value))
    for i, drive in enumerate(actions.drives):
        dof, place, trees, _ = _coordinate(world, drive.joint, drive.coordinate)
        if drive.row_kind is not None:
            rows.append(JointRow(drive.row_kind, str(drive.name), trees, dof, place, bound=drive.max_force, drive=i))
    for follower in actions.mimics:
        dof, place, trees, name = _coordinate(world, follower.body, 0)
        other, other_place, more, _ = _coordinate(world, follower.followed, 0)
        rows.append(
            JointRow(
                RowKind.MIMIC,
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
    return tuple(sorted(rows, key=lambda row: (row.rank, row.kind)))


def _loop_rows(world: World) -> list[JointRow]:
    found = []
    cs, loops = world.loops, world.joint_actions.loops
    customs = {custom.rows.start: custom for custom in cs.packed.custom}
    for loop, place in zip(loops, cs._places, strict=True):
        trees = _trees(world, loop, customs.get(place.start))
        if trees:  # between bodies that do not move there is nothing to hold
            erp = math.nan if loop.erp is None else loop.erp
            if isinstance(spring := loop.constraint, PointSpring):
                found.append(
                    JointRow(
                        RowKind.SPRING,
                        cs.labels[place.start],
                        trees,
                        stiffness=spring.stiffness,
                        dissipation=spring.damping,
                        loop_row=place.start,
                    )
                )
                continue
            found += [
                JointRow(RowKind.LOOP, cs.labels[row], trees, erp=erp, loop_row=row)
                for row in range(place.start, place.stop)
            ]
    return found


def _trees(world: World, loop: Loop, custom: CustomRows | None) -> tuple[int, ...]:
    """Return the trees that a loop joins."""
    if loop.joined is None:
        assert custom is not None
        return trees_acted_on(world, custom)
    trees = {int(world.body_trees[world.model.index(name)]) for name in loop.joined if name != WORLD}
    return tuple(sorted(trees - {-1}))


def trees_acted_on(world: World, custom: CustomRows) -> tuple[int, ...]:
    """Return the trees in whose columns the Jacobian is anywhere other than 0, at the start and at states near it.

    If the Jacobian cannot be evaluated at one of them, or is 0, these are all trees.
    """
    rng = np.random.default_rng(0)
    seen = np.zeros(world.nv, dtype=np.bool_)
    for k in range(SAMPLES):
        v = SPREAD * rng.standard_normal(world.nv) if k else world.initial_v
        q = integrate(world.model, world.initial_q, v, 1.0) if k else world.initial_q
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                seen |= np.any(custom.jacobian(world.model, read_only(q), read_only(v), 0.1 * k) != 0.0, axis=0)
        except Exception:  # noqa: BLE001  # the user's function, at a state that it was perhaps not made for
            return tuple(range(world.tree_starts.size - 1))
    trees = np.flatnonzero(np.logical_or.reduceat(seen, world.tree_starts[:-1])) if seen.any() else ()
    return tuple(int(tree) for tree in trees) or tuple(range(world.tree_starts.size - 1))


def _turns(world: World, body: str, coordinate: int) -> int:
    """Return whether a coordinate is an angle, 0 or 1."""
    joint = world.model.bodies[world.model.index(body)].joint
    return int(joint_axes(joint)[coordinate].startswith("R"))


def _coordinate(world: World, body: str, coordinate: int) -> tuple[int, int, tuple[int, ...], str]:
    """Degree of freedom, place in q (-1), tree and name of a coordinate."""
    dof, place = world.place_of(body, coordinate)
    v = world.model.v_slice(body)
    name = body if v.stop - v.start == 1 else f"{body}[{coordinate}]"
    return dof, place, (int(world.body_trees[world.model.index(body)]),), name
