"""Many runs that pass through one memory within one call: for each its state, its steps, its slot."""

from __future__ import annotations

from typing import Any

from contactlab.stepping.kernels import layout
from contactlab.stepping.kernels.slot_layout import (
    AT,
    DONE,
    END,
    LOAD,
    REASON,
    STEPS,
    STORE,
    UNSOLVED,
    UNUSUAL,
)
from contactlab.stepping.kernels.slots import exchange
from lcp.compiler.held import called, taken
from lcp.kernels import kernel


@kernel
def pass_runs(held: Any, types: Any) -> int:
    """Make the steps of all runs of a queue, until one is in memory that needs Python; say why.

    What is held: the queue, and of each run of the batch the two addresses of the call that steps its world; then what
    `exchange` takes. The place in the queue is ``order[AT]``. A run is `UNUSUAL` whose loop asks for something
    (``order[REASON]``), or has left islands unsolved (there were ``order[UNSOLVED]`` before it began).
    """
    queue, codes, slots, start, order, work, joints, chunk, control, parameters, numbers = taken(held, types)
    while True:
        i = queue[order[AT]] if order[AT] < order[END] else -1
        order[LOAD] = i
        said = exchange(slots, start, order, work, joints, chunk, control[0], parameters[0], numbers[0])
        if said != DONE or i < 0:
            return said
        unsolved = control[0].uncertified
        control[0].target = order[STEPS]
        reason = called(codes[i, 0], codes[i, 1])
        order[AT] += 1
        order[STORE] = i
        if reason != layout.DONE or control[0].uncertified != unsolved:
            order[REASON], order[UNSOLVED] = reason, unsolved
            return UNUSUAL
