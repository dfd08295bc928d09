"""The memory of many runs side by side."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from contactlab.stepping.kernels.layout import FloatArray, IntArray

# Results of an exchange.
DONE: Final = 0
STATE_CAPACITY_EXCEEDED: Final = 1  # the run's contacts do not fit its slot: nothing was stored or loaded
BUFFER_CAPACITY_EXCEEDED: Final = 2  # those in the slot do not fit the memory: the run before is stored, nothing loaded
NEEDS_PYTHON: Final = 3  # of runs that pass, the one in memory is not finished without Python
PAUSED: Final = 4  # of runs that pass, so many have passed

# Entries of an order: what is to be exchanged,
STORE: Final = 0  # slot that the memory's run goes to, -1 for none
LOAD: Final = 1  # slot whose run comes into the memory, -1 for none
ALLOW_UNCERTIFIED: Final = 2  # value of StepControl.allow_uncertified
# of runs that pass: the one taken and not loaded, -1 for none; how many have passed, and may; what the loop asked for
# in one, and the islands that nothing had solved before it; whether the thread is at work, waits until all others have
# ended theirs, how often it looks for more before it returns, and how many runs it puts in line, 0 for none.
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

# Words of a line of runs that pass, each in a part of memory that processors hold by itself: runs left, threads at
# work, whether nobody is to wait for more, and the steps that each run is to make.
QUEUE_LENGTH: Final = 0
ACTIVE_THREADS: Final = 16
SHUTDOWN: Final = 32
STEPS: Final = 48
WORDS: Final = 64


class BatchState(NamedTuple):
    """B runs: the state of each, what is told for its next step, and what its last one left."""

    # The state.
    q: FloatArray  # (B, nq)
    v: FloatArray  # (B, nv)
    time: FloatArray  # (B,)
    last_h: FloatArray  # (B,)
    contacts: IntArray  # (B,) how many the step that led here had
    contact_id: IntArray  # (B, capacity)
    contact_z: FloatArray  # (B, capacity, w)
    was_active: IntArray  # (B, n) whether the row of joints took part
    row_z: FloatArray  # (B, n, 2)
    rest: FloatArray  # (B, nt), without columns where nothing sleeps
    previous_tau: FloatArray  # (B, nv), likewise
    # Outputs.
    tau: FloatArray  # (B, nv)
    target: FloatArray  # (B, nd)
    # Results of the last step.
    q_before: FloatArray  # (B, nq) the state that it began with
    v_before: FloatArray  # (B, nv)
    time_before: FloatArray  # (B,)
    energy: FloatArray  # (B, 2) kinetic and potential after it [J]
    asleep: IntArray  # (B, nt) 1 for trees that slept through it, without columns where nothing sleeps
    steps: IntArray  # (B,) made since the run began
    contact_rows: IntArray  # (B,) rows below; 0 where no step was made
    contact: Any  # (B, capacity) records
    joint_rows: IntArray  # (B,)
    joint: Any  # (B, n) records


class JointWarmStart(NamedTuple):
    """Arrays of `JointRows` with the step before, and the targets."""

    was_active: IntArray
    previous_z: FloatArray
    target: FloatArray


class ChunkStart(NamedTuple):
    """The state before the chunk in memory, in which a run's last step begins if the chunk has no other."""

    q: FloatArray
    v: FloatArray
    time: FloatArray  # (1,)
