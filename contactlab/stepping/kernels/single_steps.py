"""Steps each of which is alone in its chunk, many in one call: nothing is kept of them but what the last one left."""

from __future__ import annotations

from typing import Any, Final

from contactlab.stepping.kernels.layout import BEGIN, CHUNK_FULL, DONE, GO_ON, NEED_PART
from lcp.compiler.held import called, taken
from lcp.kernels import kernel

# Entries of what tells which steps are to be looked at besides the first: those beyond a number, and those after which
# more islands than a number have gone unsolved.
NEXT: Final = 0
UNSOLVED: Final = 1


@kernel
def enter_single(held: Any, types: Any) -> int:
    """Step to ``control.target``, or until something is wanted, with a chunk of one step, emptied before each.

    GO_ON: a step was made that is to be looked at. What is held besides what `parts.enter` holds: which are, the state,
    and where the one before the last step goes.
    """
    controls, parts, looks, q, v, q_before, v_before = taken(held, types)
    control = controls[0]
    begins = control.place == BEGIN
    while True:
        place = control.place
        if place == BEGIN:
            step = control.step
            if not begins and (step == 1 or step > looks[NEXT] or control.uncertified > looks[UNSOLVED]):
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
