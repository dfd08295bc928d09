"""The compiled loop: many steps in one call, resumable at every point where Python is needed.

One step from (q, v) over h, with the applied force tau::

    begin         stop at the target, or with a full chunk; read tau and targets from tables
    detect        M, M^-1, v_free = M^-1 (M v + h (tau - bias)); contacts that may close within h
    label         rows of joints that take part; islands of trees
    make_room     all rows of the step in one chunk
    per island
      next_island   rows J = [N; F; L; G; B], Y = M^-1 J', k, gamma; of joints in `pose`
      attempt       forces that may be found without a solver
      form          where none are: the LCP (M, q)
      solve         0 <= z _|_ M z + q >= 0 by Lemke's method, unless a solver outside is asked
      verdict       residuals of z; forces f and v+ = v_free + h Y f; their certificate; the rows of the record
      project       where anything is too deep: the displacement that ends penetrations
    finish        q+ along v+; energies; the state and the basis of the next step

User code is asked about a step before the loop makes it (`Driver`). The place in it, the island in progress and every
intermediate value live in the arrays and records of `layout`, so returning and entering again continues in mid-step.
A solver outside this loop (UNSOLVED) and the one inside write the same z to the same place, and the same residual
kernel is the judge of both.

Nothing of the state changes before `finish`. A step that failed can therefore be tried again at another h from `detect`
on: contacts, kN, M and q are formed anew for it, and the rows of islands solved already are overwritten.

The loop is compiled in parts, each when a run first comes to it, and calls them by where they lie. Most first steps
need little of it: a body that falls meets no contact, contacts of free bodies no row of joints, and attempts at
forces leave few islands to a solver. So a part is a kernel of its own, and the loop itself knows addresses alone. A
part that is not there yet ends it with NEED_PART; Python has the part compiled, or finds it on disk, and enters
again. Each part holds the arguments that it reads: worlds that differ in others share its code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from contactlab.stepping.kernels.detection import detect, label
from contactlab.stepping.kernels.finish import finish
from contactlab.stepping.kernels.joint_rows import evaluate_loops
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
    Chunk,
    Collision,
    Control,
    Island,
    Joints,
    Moments,
    PackedWorld,
    Parameters,
    Work,
)
from contactlab.stepping.kernels.next_island import attempt, attempt_nearer, form, next_island, pose, solve
from contactlab.stepping.kernels.projection import project
from contactlab.stepping.kernels.verdict import verdict
from lcp.compiler.held import called, taken
from lcp.kernels import kernel


@kernel(short_loops=True)
def move(
    world: PackedWorld,
    work: Work,
    chunk: Chunk,
    control: Control,
    parameters: Parameters,
    collision: Collision | None,
    joints: Joints | None,
) -> int:
    """The stages of every step: from its begin to the islands, and its end."""
    while True:
        place = control.place
        if place == BEGIN:
            reason = begin(work, joints, chunk, control, parameters)
        elif place == DETECT:
            reason = detect(world, work, collision, joints, control, parameters)
        elif place == LABEL:
            reason = label(world, work, joints, control, parameters)
        elif place == ROOM:
            reason = make_room(chunk, joints, control)
        elif place == FINISH:
            reason = finish(world, work, joints, collision, chunk, control, parameters)
        else:
            return GO_ON
        if reason != GO_ON:
            return reason


@kernel(short_loops=True)
def treat(
    world: PackedWorld,
    work: Work,
    island: Island,
    joints: Joints | None,
    moments: Moments | None,
    chunk: Chunk,
    control: Control,
    parameters: Parameters,
) -> int:
    """The stages of every island: its rows, and the verdict on its forces."""
    while True:
        place = control.place
        if place == ISLANDS:
            reason = next_island(world, work, island, joints, moments, control, parameters)
        elif place == VERDICT:
            reason = verdict(world, work, island, joints, moments, chunk, control, parameters, None)
        else:
            return GO_ON
        if reason != GO_ON:
            return reason


@kernel(short_loops=True)
def close_loops(work: Work, control: Control, joints: Joints | None) -> int:
    """Rows of loops, and of the user's own."""
    if joints is not None:
        evaluate_loops(joints, work.W)
    control.place = LABEL
    return GO_ON


@kernel(short_loops=True)
def judge(
    world: PackedWorld,
    work: Work,
    island: Island,
    joints: Joints | None,
    moments: Moments | None,
    chunk: Chunk,
    control: Control,
    parameters: Parameters,
) -> int:
    """The verdict on forces that attempts have not answered, or not certified."""
    return verdict(world, work, island, joints, moments, chunk, control, parameters, 1)


@kernel(inline=True)
def begin(work: Work, joints: Joints | None, chunk: Chunk, control: Control, parameters: Parameters) -> int:
    """Stop where the run or the chunk ends; otherwise read what tables say about the step."""
    if control.step >= control.target or parameters.time >= parameters.end:
        return DONE
    if control.chunk_steps >= chunk.time.shape[0]:
        return CHUNK_FULL
    control.place = DETECT
    control.again = 0
    if work.tau_table.shape[0] > 0:
        for i in range(work.tau.shape[0]):
            work.tau[i] = work.tau_table[control.step, i]
    if joints is not None and joints.target_table.shape[0] > 0:
        for i in range(joints.target.shape[0]):
            joints.target[i] = joints.target_table[control.step, i]
    return GO_ON


@kernel(inline=True)
def make_room(chunk: Chunk, joints: Joints | None, control: Control) -> int:
    """Make sure that all rows of the step go into one chunk."""
    contacts = control.chunk_contacts + control.n_contacts
    islands = control.chunk_islands + control.n_islands
    if contacts > chunk.contact.shape[0] or islands > chunk.island.shape[0]:
        return CHUNK_FULL
    if joints is not None:
        of_joints = control.chunk_joints + joints.row_start[control.n_islands]
        if of_joints > chunk.joint.shape[0]:
            return CHUNK_FULL
    control.place = ISLANDS if control.n_islands > 0 else FINISH
    return GO_ON


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
    island, controls, numbers = taken(held, types)
    return solve(island, controls[0], numbers[0])


@kernel(short_loops=True)
def enter_project(held: Any, types: Any) -> int:
    """What islands need in which something is too deep."""
    world, work, island, joints, chunk, controls, numbers = taken(held, types)
    return project(world, work, island, joints, chunk, controls[0], numbers[0])


class Part(NamedTuple):
    """A part of the loop."""

    entry: Callable[..., int]  # takes its arguments from a buffer
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
    Part(enter_move, (BEGIN, DETECT, LABEL, ROOM, FINISH), _MOVED),
    Part(enter_treat, (ISLANDS, VERDICT), _TREATED),
    Part(enter_loops, (LOOPS,), (_WORK, _CONTROLS, _JOINTS)),
    Part(enter_judge, (JUDGE,), _TREATED),
    Part(enter_attempt, (ATTEMPTS,), _TRIED),
    Part(enter_nearer, (NEARER,), _TRIED),
    Part(enter_pose, (POSE,), (_WORLD, *_TRIED)),
    Part(enter_form, (FORM,), (_ISLAND, _JOINTS, *_RECORDS)),
    Part(enter_solve, (SOLVE,), (_ISLAND, *_RECORDS)),
    Part(enter_project, (PROJECT,), _PROJECTED),
)


def run_parts(held: None, arguments: tuple[Any, ...]) -> int:
    """`enter` where no arguments are held: Python goes from part to part.

    Parameters
    ----------
    arguments
        World, work, island, chunk, control and parameters as arrays of one record, collision, joints, moments.
        ``collision`` is None where no two shapes can meet: compiled for that, a part contains no collision detection.
        ``moments`` is None where no surface resists turning, ``joints`` where nothing acts on joints and attempts
        answer nearly every island: the parts then know contacts alone.
    """
    part_at = {place: part for part in PARTS for place in part.places}
    while True:
        part = part_at[arguments[_CONTROLS][0].place]
        reason = part.entry(None, tuple(arguments[i] for i in part.arguments))
        if reason != GO_ON:
            return reason
