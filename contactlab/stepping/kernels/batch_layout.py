"""Memory of a batch of runs."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from contactlab.stepping.kernels.layout import FloatArray, IntArray

# Results of an exchange.
DONE: Final = 0
STATE_CAPACITY_EXCEEDED: Final = 1  # the run's contacts do not fit its slot: nothing was stored or loaded
BUFFER_CAPACITY_EXCEEDED: Final = 2  # the slot's contacts do not fit the memory: the old run is stored, none is loaded
NEEDS_PYTHON: Final = 3  # the run in memory cannot continue without Python
PAUSED: Final = 4  # the limit of runs is reached

# Entries of an order:
STORE: Final = 0  # slot to which the memory's run is stored, -1 for none
LOAD: Final = 1  # slot whose run is loaded, -1 for none
ALLOW_UNCERTIFIED: Final = 2  # value of StepControl.allow_uncertified
# Of a queue: the run that is claimed and not loaded, -1 for none; number of runs done, and their limit; the loop's
# request, and the number of unsolved islands before it. Then whether the thread works, whether it waits until all
# others have ended, how often it polls before it returns, and how many runs it publishes, 0 for none.
CLAIMED_RUN: Final = 3
RUNS_DONE: Final = 4
RUN_LIMIT: Final = 5
REASON: Final = 6
UNSOLVED: Final = 7
AT_WORK: Final = 8
WAIT_FOR_ALL: Final = 9
SPIN_LIMIT: Final = 10
PUBLISH_COUNT: Final = 11
COMMAND_SIZE: Final = 12

# Words of the queue, each in a cache line of its own: runs left, threads at work, whether waiting threads must
# return, and the number of steps of each run.
QUEUE_LENGTH: Final = 0
ACTIVE_THREADS: Final = 16
SHUTDOWN: Final = 32
STEPS: Final = 48
WORDS: Final = 64


class BatchState(NamedTuple):
    """B runs: the state of each, the inputs of its next step, and the results of its last one."""

    # The state.
    q: FloatArray  # (B, nq)
    v: FloatArray  # (B, nv)
    time: FloatArray  # (B,)
    last_h: FloatArray  # (B,)
    contacts: IntArray  # (B,) number in the step that led here
    contact_id: IntArray  # (B, capacity)
    contact_z: FloatArray  # (B, capacity, w)
    was_active: IntArray  # (B, n) whether the row of joints took part
    row_z: FloatArray  # (B, n, 2)
    rest: FloatArray  # (B, nt), no columns if nothing sleeps
    previous_tau: FloatArray  # (B, nv), no columns if nothing sleeps
    # Outputs.
    tau: FloatArray  # (B, nv)
    target: FloatArray  # (B, nd)
    # Results of the last step.
    q_before: FloatArray  # (B, nq) the state at its start
    v_before: FloatArray  # (B, nv)
    time_before: FloatArray  # (B,)
    energy: FloatArray  # (B, 2) kinetic and potential after it [J]
    asleep: IntArray  # (B, nt) 1 for trees that slept through it, no columns if nothing sleeps
    steps: IntArray  # (B,) steps since the start of the run
    contact_rows: IntArray  # (B,) number of rows below; 0 before the first step
    contact: Any  # (B, capacity) records
    joint_rows: IntArray  # (B,)
    joint: Any  # (B, n) records


class JointWarmStart(NamedTuple):
    """Arrays of `JointRows` with the previous step's variables, and the targets."""

    was_active: IntArray
    previous_z: FloatArray
    target: FloatArray


class ChunkStart(NamedTuple):
    """The state before the chunk in memory; a run's last step begins there if the chunk has no earlier row."""

    q: FloatArray
    v: FloatArray
    time: FloatArray  # (1,)
