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
    CHUNK_FULL,
    DETECT,
    DONE,
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
from contactlab.stepping.kernels.next_island import attempt, attempt_nearer, form, pose, solve
from contactlab.stepping.kernels.projection import project
from contactlab.stepping.kernels.step import close_loops, judge, move, treat
from lcp.compiler.held import called, taken
from lcp.kernels import kernel

#: Places in a step. For each a run keeps two addresses: where its part lies, and the arguments of that.
PLACES: Final = 16
# Entries of what tells which steps are to be looked at besides the first: those beyond a number, and those after which
# more islands than a number have gone unsolved.
NEXT: Final = 0
MORE_UNSOLVED: Final = 1


@kernel
def enter(held: Any, types: Any) -> int:
    """Go from part to part, until the steps are made or Python is needed; return the reason (see `layout`)."""
    controls, parts = taken(held, types)
    while True:
        place = controls[0].place
        if parts[place, 0] == 0:
            return NEED_PART
        reason: int = called(parts[place, 0], parts[place, 1])
        if reason != GO_ON:
            return reason


@kernel
def enter_single(held: Any, types: Any) -> int:
    """Step to ``control.target``, or until something is wanted, with a chunk of one step, emptied before each.

    GO_ON: a step was made that is to be looked at. What is held besides what `enter` holds: which are, the state,
    and where the one before the last step goes.
    """
    controls, parts, looks, q, v, q_before, v_before = taken(held, types)
    control = controls[0]
    begins = control.place == BEGIN
    while True:
        place = control.place
        if place == BEGIN:
            step = control.step
            if not begins and (step == 1 or step > looks[NEXT] or control.uncertified > looks[MORE_UNSOLVED]):
                return GO_ON
            if step >= control.target:
                return DONE
            control.chunk_steps = 0
            control.chunk_contacts = 0
            control.chunk_islands = 0
            control.chunk_joints = 0
            for i in range(q.shape[0]):
                q_before[i] = q[i]
            for i in range(v.shape[0]):
                v_before[i] = v[i]
        if parts[place, 0] == 0:
            return NEED_PART
        reason: int = called(parts[place, 0], parts[place, 1])
        begins = False
        # Behind a step that is made the chunk is full, or the target is reached.
        if reason != GO_ON and not (control.place == BEGIN and reason in (CHUNK_FULL, DONE)):
            return reason


@kernel(short_loops=True)
def enter_move(held: Any, types: Any) -> int:
    """What every step needs."""
    world, work, chunk, controls, numbers, collision, joints = taken(held, types)
    return move(world, work, chunk, controls[0], numbers[0], collision, joints)


@kernel(short_loops=True)
def enter_treat(held: Any, types: Any) -> int:
    """What every island needs."""
    world, work, island, joints, moments, chunk, controls, numbers = taken(held, types)
    return treat(world, work, island, joints, moments, chunk, controls[0], numbers[0])


@kernel(short_loops=True)
def enter_loops(held: Any, types: Any) -> int:
    """Rows of loops, and of the user's own."""
    work, controls, joints = taken(held, types)
    return close_loops(work, controls[0], joints)


@kernel(short_loops=True)
def enter_judge(held: Any, types: Any) -> int:
    """What islands need that attempts do not answer, or have not certified whole."""
    world, work, island, joints, moments, chunk, controls, numbers = taken(held, types)
    return judge(world, work, island, joints, moments, chunk, controls[0], numbers[0])


@kernel(short_loops=True)
def enter_attempt(held: Any, types: Any) -> int:
    """The first attempts at forces."""
    work, island, joints, controls, numbers = taken(held, types)
    return attempt(work, island, joints, controls[0], numbers[0])


@kernel(short_loops=True)
def enter_nearer(held: Any, types: Any) -> int:
    """Attempts that few islands need."""
    work, island, joints, controls, numbers = taken(held, types)
    return attempt_nearer(work, island, joints, controls[0], numbers[0])


@kernel(short_loops=True)
def enter_pose(held: Any, types: Any) -> int:
    """Rows of joints."""
    world, work, island, joints, controls, numbers = taken(held, types)
    return pose(world, work, island, joints, controls[0], numbers[0])


@kernel(short_loops=True)
def enter_form(held: Any, types: Any) -> int:
    """The LCP of an island that attempts do not answer."""
    island, joints, controls, numbers = taken(held, types)
    return form(island, joints, controls[0], numbers[0])


@kernel(short_loops=True)
def enter_solve(held: Any, types: Any) -> int:
    """The solver of that LCP."""
    island, controls = taken(held, types)
    return solve(island, controls[0])


@kernel(short_loops=True)
def enter_project(held: Any, types: Any) -> int:
    """What islands need in which something is too deep."""
    world, work, island, joints, chunk, controls, numbers = taken(held, types)
    return project(world, work, island, joints, chunk, controls[0], numbers[0])


class Part(NamedTuple):
    """A part of the loop."""

    stage: Callable[..., int]
    entry: Callable[..., int]  # that takes the arguments of the stage from a buffer
    places: tuple[int, ...]  # in a step, that are its own
    arguments: tuple[int, ...]  # of `run_parts`, that it reads


# The arguments of `run_parts`.
_WORLD, _WORK, _ISLAND, _CHUNK, _CONTROLS, _NUMBERS, _COLLISION, _JOINTS, _MOMENTS = range(9)
_RECORDS: Final = (_CONTROLS, _NUMBERS)
_MOVED: Final = (_WORLD, _WORK, _CHUNK, _CONTROLS, _NUMBERS, _COLLISION, _JOINTS)
_TREATED: Final = (_WORLD, _WORK, _ISLAND, _JOINTS, _MOMENTS, _CHUNK, *_RECORDS)
_TRIED: Final = (_WORK, _ISLAND, _JOINTS, *_RECORDS)
_PROJECTED: Final = (_WORLD, _WORK, _ISLAND, _JOINTS, _CHUNK, *_RECORDS)
PARTS: Final = (
    Part(move, enter_move, (BEGIN, DETECT, LABEL, ROOM, FINISH), _MOVED),
    Part(treat, enter_treat, (ISLANDS, VERDICT), _TREATED),
    Part(close_loops, enter_loops, (LOOPS,), (_WORK, _CONTROLS, _JOINTS)),
    Part(judge, enter_judge, (JUDGE,), _TREATED),
    Part(attempt, enter_attempt, (ATTEMPTS,), _TRIED),
    Part(attempt_nearer, enter_nearer, (NEARER,), _TRIED),
    Part(pose, enter_pose, (POSE,), (_WORLD, *_TRIED)),
    Part(form, enter_form, (FORM,), (_ISLAND, _JOINTS, *_RECORDS)),
    Part(solve, enter_solve, (SOLVE,), (_ISLAND, _CONTROLS)),
    Part(project, enter_project, (PROJECT,), _PROJECTED),
)


def run_parts(*arguments: Any) -> int:
    """`enter` where no arguments are held: Python goes from part to part.

    Parameters
    ----------
    arguments
        World, work, island, chunk, control and parameters as arrays of one record, collision, joints, moments.
        ``collision`` is None where no two shapes can meet: compiled for that, a part contains no collision detection.
        ``moments`` is None where no surface resists turning, ``joints`` where nothing acts on joints and attempts
        answer nearly every island: the parts then know contacts alone.
    """
    given = tuple(one[0] if i in _RECORDS else one for i, one in enumerate(arguments))
    part_at = {place: part for part in PARTS for place in part.places}
    while True:
        part = part_at[given[_CONTROLS].place]
        reason = part.stage(*(given[i] for i in part.arguments))
        if reason != GO_ON:
            return reason
