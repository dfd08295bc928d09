"""Many runs that pass through one memory within one call, while others pass through those of other threads.

The threads take runs from one line, whose words they share. Who has none left waits for a while, turning, before it
returns: a thread that sleeps takes as long to wake as many runs to pass.
"""

from __future__ import annotations

from typing import Any

from contactlab.stepping.kernels import layout
from contactlab.stepping.kernels.slot_layout import (
    AT_WORK,
    CALLED_OFF,
    DONE,
    HAND,
    LEFT,
    LOAD,
    MADE,
    MOST,
    PAUSED,
    PUTS,
    REASON,
    STEPS,
    STORE,
    TURNS,
    UNSOLVED,
    UNUSUAL,
    WAITS,
    WORKING,
)
from contactlab.stepping.kernels.slots import exchange
from lcp.compiler.held import called, taken
from lcp.compiler.kernels.words import add_to_word, read_word, set_word
from lcp.kernels import Ints, kernel


@kernel
def leave_work(words: Ints) -> int:
    """Be at work no more."""
    before: int = add_to_word(words, WORKING, -1)
    return before


@kernel
def let_pass(held: Any, types: Any) -> int:
    """Make the steps of runs in line until none is left, or one is in memory that needs Python; say why.

    What is held: the words and runs of the line, and of each run of the batch the two addresses of the call that steps
    its world, and the margins and impact speeds in it; then what `exchange` takes. A run is `UNUSUAL` whose loop asks
    for something (``order[REASON]``), or has left islands unsolved (there were ``order[UNSOLVED]`` before it began).
    After ``order[MOST]`` runs it is `PAUSED`.
    ``order[HAND]`` was taken from the line and is not loaded yet.
    """
    words, line, codes, limits, slots, start, order, work, joints, chunk, control, parameters, numbers = taken(
        held, types
    )
    turns = 0
    order[MADE] = 0
    if order[PUTS] > 0:
        # All else that others are to see of these runs was written before.
        set_word(words, LEFT, order[PUTS])
        order[PUTS] = 0
    while True:
        if order[AT_WORK] == 0:
            if read_word(words, LEFT) > 0:
                # Noted before any is taken: whoever finds none left knows who is at work.
                add_to_word(words, WORKING, 1)
                order[AT_WORK] = 1
                order[MADE] = turns = 0
                continue
            over = turns >= order[TURNS] or read_word(words, CALLED_OFF) != 0
            if over or (order[WAITS] != 0 and read_word(words, WORKING) == 0):
                return DONE
            turns += 1
            continue
        i = order[HAND]
        if i < 0 and order[MADE] < order[MOST]:
            place = add_to_word(words, LEFT, -1) - 1
            i = line[place] if place >= 0 else -1
        order[HAND] = i
        order[LOAD] = i
        said = exchange(slots, start, order, work, joints, chunk, control[0], parameters[0], numbers[0])
        if said != DONE:
            return said
        if i < 0:
            if order[MADE] >= order[MOST]:
                return PAUSED
            order[AT_WORK] = 0
            add_to_word(words, WORKING, -1)
            continue
        order[HAND] = -1
        unsolved = control[0].uncertified
        control[0].target = words[STEPS]
        parameters[0].margin = limits[i, 0]
        parameters[0].v_min = limits[i, 1]
        parameters[0].angle_margin = limits[i, 2]
        parameters[0].angle_v_min = limits[i, 3]
        reason = called(codes[i, 0], codes[i, 1])
        order[MADE] += 1
        order[STORE] = i
        if reason != layout.DONE or control[0].uncertified != unsolved:
            order[REASON], order[UNSOLVED] = reason, unsolved
            return UNUSUAL
