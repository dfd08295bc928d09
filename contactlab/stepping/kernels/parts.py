"""The loop of `step` in parts, each of which is compiled when a run first comes to it, and called by where it lies.

Most of the loop is what most first steps do not come to: a body that falls meets no contact, contacts of free bodies no
row of joints, and attempts at forces leave few islands to a solver. So a part is a kernel of its own, and the loop itself
knows addresses alone. An address that is not there yet ends it with NEED_PART; Python has the part compiled, or finds it
on disk, and enters again. All parts take the same held arguments as `run_held`, and differ in what they read of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from contactlab.stepping.kernels.layout import (
    ATTEMPTS,
    BEGIN,
    DETECT,
    FINISH,
    FORM,
    GO_ON,
    ISLANDS,
    NEARER,
    NEED_PART,
    POSE,
    PROJECT,
    ROOM,
    SOLVE,
    VERDICT,
)
from contactlab.stepping.kernels.next_island import attempt, attempt_nearer, pose
from contactlab.stepping.kernels.step import move, pivot, treat
from lcp.compiler.held import called, taken
from lcp.kernels import kernel

#: Addresses that a run keeps: of the part for each place in a step, and of the arguments held.
ADDRESSES: Final = 13
OWN: Final = ADDRESSES - 1


@kernel(short_loops=True)
def enter(held: Any, types: Any) -> int:
    """`run`, from part to part."""
    _, _, _, _, controls, _, _, _, _, _, parts = taken(held, types)
    while True:
        code = parts[controls[0].place]
        if code == 0:
            return NEED_PART
        reason: int = called(code, parts[OWN])
        if reason != GO_ON:
            return reason


@kernel(short_loops=True)
def enter_move(held: Any, types: Any) -> int:
    """What every step needs."""
    world, work, _, chunk, controls, numbers, collision, joints, _, _, _ = taken(held, types)
    return move(world, work, chunk, controls[0], numbers[0], collision, joints)


@kernel(short_loops=True)
def enter_treat(held: Any, types: Any) -> int:
    """What every island needs."""
    world, work, island, chunk, controls, numbers, _, joints, moments, _, _ = taken(held, types)
    return treat(world, work, island, chunk, controls[0], numbers[0], joints, moments)


@kernel(short_loops=True)
def enter_attempt(held: Any, types: Any) -> int:
    """The first attempts at forces."""
    _, work, island, _, controls, numbers, _, joints, _, _, _ = taken(held, types)
    return attempt(work, island, joints, controls[0], numbers[0])


@kernel(short_loops=True)
def enter_nearer(held: Any, types: Any) -> int:
    """Attempts that few islands need."""
    _, work, island, _, controls, numbers, _, joints, _, _, _ = taken(held, types)
    return attempt_nearer(work, island, joints, controls[0], numbers[0])


@kernel(short_loops=True)
def enter_pose(held: Any, types: Any) -> int:
    """Rows of joints."""
    world, work, island, _, controls, numbers, _, joints, _, _, _ = taken(held, types)
    return pose(world, work, island, joints, controls[0], numbers[0])


@kernel(short_loops=True)
def enter_pivot(held: Any, types: Any) -> int:
    """What nothing else answers."""
    world, work, island, chunk, controls, numbers, _, joints, _, pivoting, _ = taken(held, types)
    return pivot(world, work, island, chunk, controls[0], numbers[0], joints, pivoting)


#: The parts, each with the places in a step that are its own.
PARTS: Final[tuple[tuple[Callable[..., int], tuple[int, ...]], ...]] = (
    (enter_move, (BEGIN, DETECT, ROOM, FINISH)),
    (enter_treat, (ISLANDS, VERDICT)),
    (enter_attempt, (ATTEMPTS,)),
    (enter_nearer, (NEARER,)),
    (enter_pose, (POSE,)),
    (enter_pivot, (FORM, SOLVE, PROJECT)),
)
