"""The loop of `step` in parts, each compiled when a run first comes to it, and called by where it lies.

Most of the loop is what most first steps do not come to: a body that falls meets no contact, contacts of free bodies
no row of joints, and attempts at forces leave few islands to a solver. So a part is a kernel of its own, and the loop
itself knows addresses alone. One that is not there yet ends it with NEED_PART; Python has the part compiled, or finds
it on disk, and enters again. Each part holds the arguments that it reads: worlds that differ in others share its code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from contactlab.stepping.kernels.layout import (
    ATTEMPTS,
    BEGIN,
    DETECT,
    FINISH,
    FORM,
    GO_ON,
    ISLANDS,
    JUDGE,
    LABEL,
    LOOPS,
    NEARER,
    NEED_PART,
    POSE,
    PROJECT,
    ROOM,
    SOLVE,
    VERDICT,
)
from contactlab.stepping.kernels.next_island import attempt, attempt_nearer, form, pose
from contactlab.stepping.kernels.projection import project
from contactlab.stepping.kernels.solve import solve
from contactlab.stepping.kernels.step import close_loops, judge, move, treat
from lcp.compiler.held import called, taken
from lcp.kernels import kernel

#: Places in a step. For each a run keeps two addresses: where its part lies, and the arguments of that.
PLACES: Final = 16


@kernel
def enter(held: Any, types: Any) -> int:
    """`run`, from part to part."""
    controls, parts = taken(held, types)
    while True:
        place = controls[0].place
        if parts[place, 0] == 0:
            return NEED_PART
        reason: int = called(parts[place, 0], parts[place, 1])
        if reason != GO_ON:
            return reason


@kernel(short_loops=True)
def enter_move(held: Any, types: Any) -> int:
    """What every step needs."""
    world, work, chunk, controls, numbers, collision, joints = taken(held, types)
    return move(world, work, chunk, controls[0], numbers[0], collision, joints)


@kernel(short_loops=True)
def enter_treat(held: Any, types: Any) -> int:
    """What every island needs."""
    world, work, island, chunk, controls, numbers, joints, moments = taken(held, types)
    return treat(world, work, island, chunk, controls[0], numbers[0], joints, moments)


@kernel(short_loops=True)
def enter_loops(held: Any, types: Any) -> int:
    """Rows of loops, and of the user's own."""
    work, controls, joints = taken(held, types)
    return close_loops(work, controls[0], joints)


@kernel(short_loops=True)
def enter_judge(held: Any, types: Any) -> int:
    """What islands need that attempts do not answer, or have not certified whole."""
    world, work, island, chunk, controls, numbers, joints, moments = taken(held, types)
    return judge(world, work, island, chunk, controls[0], numbers[0], joints, moments)


@kernel(short_loops=True)
def enter_attempt(held: Any, types: Any) -> int:
    """The first attempts at forces."""
    work, island, controls, numbers, joints = taken(held, types)
    return attempt(work, island, joints, controls[0], numbers[0])


@kernel(short_loops=True)
def enter_nearer(held: Any, types: Any) -> int:
    """Attempts that few islands need."""
    work, island, controls, numbers, joints = taken(held, types)
    return attempt_nearer(work, island, joints, controls[0], numbers[0])


@kernel(short_loops=True)
def enter_pose(held: Any, types: Any) -> int:
    """Rows of joints."""
    world, work, island, controls, numbers, joints = taken(held, types)
    return pose(world, work, island, joints, controls[0], numbers[0])


@kernel(short_loops=True)
def enter_form(held: Any, types: Any) -> int:
    """The LCP of an island that attempts do not answer."""
    island, controls, numbers, joints = taken(held, types)
    return form(island, joints, controls[0], numbers[0])


@kernel(short_loops=True)
def enter_solve(held: Any, types: Any) -> int:
    """The solver of that LCP."""
    island, controls = taken(held, types)
    return solve(island, controls[0])


@kernel(short_loops=True)
def enter_project(held: Any, types: Any) -> int:
    """What islands need in which something is too deep."""
    world, work, island, chunk, controls, numbers, joints = taken(held, types)
    return project(world, work, island, joints, chunk, controls[0], numbers[0])


class Part(NamedTuple):
    """A part of the loop."""

    entry: Callable[..., int]
    places: tuple[int, ...]  # in a step, that are its own
    arguments: tuple[int, ...]  # of `run_held`, that it reads


# The arguments of `run_held`.
_WORLD, _WORK, _ISLAND, _CHUNK, _CONTROLS, _NUMBERS, _COLLISION, _JOINTS, _MOMENTS = range(9)
_TRIED: Final = (_WORK, _ISLAND, _CONTROLS, _NUMBERS, _JOINTS)
PARTS: Final = (
    Part(
        enter_move,
        (BEGIN, DETECT, LABEL, ROOM, FINISH),
        (_WORLD, _WORK, _CHUNK, _CONTROLS, _NUMBERS, _COLLISION, _JOINTS),
    ),
    Part(
        enter_treat,
        (ISLANDS, VERDICT),
        (_WORLD, _WORK, _ISLAND, _CHUNK, _CONTROLS, _NUMBERS, _JOINTS, _MOMENTS),
    ),
    Part(enter_loops, (LOOPS,), (_WORK, _CONTROLS, _JOINTS)),
    Part(
        enter_judge,
        (JUDGE,),
        (_WORLD, _WORK, _ISLAND, _CHUNK, _CONTROLS, _NUMBERS, _JOINTS, _MOMENTS),
    ),
    Part(enter_attempt, (ATTEMPTS,), _TRIED),
    Part(enter_nearer, (NEARER,), _TRIED),
    Part(enter_pose, (POSE,), (_WORLD, _WORK, _ISLAND, _CONTROLS, _NUMBERS, _JOINTS)),
    Part(enter_form, (FORM,), (_ISLAND, _CONTROLS, _NUMBERS, _JOINTS)),
    Part(enter_solve, (SOLVE,), (_ISLAND, _CONTROLS)),
    Part(
        enter_project,
        (PROJECT,),
        (_WORLD, _WORK, _ISLAND, _CHUNK, _CONTROLS, _NUMBERS, _JOINTS),
    ),
)
