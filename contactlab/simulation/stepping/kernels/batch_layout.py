"""Memory of a batch of runs."""

from __future__ import annotations

from typing import ClassVar, Final

from contactlab.simulation.stepping.kernels.layout import RECORDS, Arrays, ArrayTuple, JointRows, floats, ints

# Results of an exchange.
(
    DONE,
    STATE_CAPACITY_EXCEEDED,  # the run's contacts do not fit its slot: nothing was stored or loaded
    BUFFER_CAPACITY_EXCEEDED,  # the slot's contacts do not fit the memory: the old run is stored, none is loaded
    NEEDS_PYTHON,  # the run in memory cannot continue without Python
    PAUSED,  # the limit of runs is reached
) = range(5)

# Entries of an order.
COMMAND_SIZE: Final = 12
(
    STORE,  # slot to which the memory's run is stored, -1 for none
    LOAD,  # slot whose run is loaded, -1 for none
    ALLOW_UNCERTIFIED,  # value of StepControl.allow_uncertified
    # Of a queue: the run that is claimed and not loaded, -1 for none; number of runs done, and their limit; the loop's
    # request, and the number of unsolved islands before it. Then whether the thread works, whether it waits until all
    # others have ended, how often it polls before it returns, and how many runs it publishes, 0 for none.
    CLAIMED_RUN,
    RUNS_DONE,
    RUN_LIMIT,
    REASON,
    UNSOLVED,
    AT_WORK,
    WAIT_FOR_ALL,
    SPIN_LIMIT,
    PUBLISH_COUNT,
) = range(COMMAND_SIZE)

# Words of the queue, each in a cache line of its own: runs left, threads at work, whether waiting threads must
# return, and the number of steps of each run.
WORDS: Final = 64
QUEUE_LENGTH, ACTIVE_THREADS, SHUTDOWN, STEPS = range(0, WORDS, 16)


class BatchState(ArrayTuple):
    """B runs: the state of each, the inputs of its next step, and the results of its last one."""

    arrays: ClassVar[Arrays] = {
        # The state: the arrays of `StateArrays`.
        "time": floats("B"),
        "last_h": floats("B"),
        "contacts": ints("B"),  # number in the step that led here
        "q": floats("B", "nq"),
        "v": floats("B", "nv"),
        "contact_id": ints("B", "contacts"),
        "contact_z": floats("B", "contacts", "w"),
        "was_active": ints("B", "n"),  # whether the row of joints took part
        "row_z": floats("B", "n", 2),
        "rest": floats("B", "sleepers"),  # no columns if nothing sleeps
        "previous_tau": floats("B", "sleeping_nv"),  # no columns if nothing sleeps
        # Outputs.
        "tau": floats("B", "nv"),
        "target": floats("B", "drives"),
        # Results of the last step.
        "q_before": floats("B", "nq"),  # the state at its start
        "v_before": floats("B", "nv"),
        "time_before": floats("B"),
        "energy": floats("B", 2),  # kinetic and potential after it [J]
        "asleep": ints("B", "sleepers"),  # 1 for trees that slept through it, no columns if nothing sleeps
        "steps": ints("B"),  # steps since the start of the run
        "contact_rows": ints("B"),  # number of rows below; 0 before the first step
        "contact": RECORDS,  # (B, contacts)
        "joint_rows": ints("B"),
        "joint": RECORDS,  # (B, n)
    }


class JointWarmStart(ArrayTuple):
    """Arrays of `JointRows` with the previous step's variables, and the targets."""

    arrays: ClassVar[Arrays] = {name: JointRows.arrays[name] for name in ("was_active", "previous_z", "target")}


class ChunkStart(ArrayTuple):
    """The state before the chunk in memory; a run's last step begins there if the chunk has no earlier row."""

    arrays: ClassVar[Arrays] = {"q": floats("nq"), "v": floats("nv"), "time": floats(1)}
