"""Codes of the compiled loop, columns of its arrays, and the records of its progress; its arrays are in `arrays`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Reasons for which the loop returns.
(
    OK,  # the requested steps are done, or one step must be inspected
    NEED_SPACE,  # a resource is missing, named by control.short: supply it, enter again
    UNSOLVED,  # an island has no forces, or, if control.failure is set, the step is impossible: see `Driver`
) = range(-1, -4, -1)

# Number of pivots after which an unfinished solve is UNSOLVED, so that Python can handle Ctrl-C.
PIVOT_BUDGET: Final = 256

# Stages of a step: see the diagram in `step_stages`. Each returns the next stage, or a reason.
N_STAGES: Final = 15
(
    BEGIN,
    DETECT,
    LOOPS,
    FIND_ISLANDS,
    RESERVE,
    NEXT_ISLAND,
    ADD_JOINT_ROWS,
    FIRST_STRATEGIES,
    SWEEPS,
    FORM_LCP,
    SOLVE_LCP,
    VERIFY,
    VERIFY_OTHER,
    PROJECT,
    INTEGRATE,
) = range(N_STAGES)

# Entries of `looks`: whether the chunk holds only one step at a time; conditions for inspecting a later step: its
# number exceeds NEXT, or the number of unsolved islands exceeds MORE_UNSOLVED; whether the last step must be inspected.
ALONE, NEXT, MORE_UNSOLVED, LOOK = range(4)

# Values of Parameters.solver and gyroscopic, and of Control.failure and short.
(
    SOLVER_EXTERNAL,
    SOLVER_LEMKE,
    SOLVER_LEMKE_FIRST,  # problems that the kernel does not solve go to the external rest of a fallback chain
) = range(3)
GYROSCOPIC_IMPLICIT, GYROSCOPIC_EXPLICIT, GYROSCOPIC_OFF = range(3)
GYROSCOPIC_CODES: Final = {
    "implicit": GYROSCOPIC_IMPLICIT,
    "explicit": GYROSCOPIC_EXPLICIT,
    "off": GYROSCOPIC_OFF,
}
(
    FAILURE_NONE,
    FAILURE_LCP,
    FAILURE_NOT_FINITE,
    FAILURE_INCONSISTENT,  # the bilateral equations of the current island are inconsistent
    FAILURE_LARGE,  # no forces were selected, and the LCP has too many unknowns to pivot
    FAILURE_SPACE,  # the island's arrays would need more memory than is available
    FAILURE_SINGULAR,  # a degree of freedom moves no mass; the last code: `free_motion` adds its number
) = range(7)
(
    SHORT_OF_CONTACTS,
    SHORT_OF_PAIRS,
    SHORT_OF_PAIR_CONTACTS,  # of one pair of shapes
    SHORT_OF_ISLAND,  # its `IslandProgress` says how large the island is
    SHORT_OF_ROWS,  # of the chunk: copy its rows, reset the counters
    SHORT_OF_CODE,  # the group of stages with the stage `wanted` is not compiled
) = range(6)
#: Maximum number of unknowns of an LCP that is formed if forces are selected.
MAX_UNKNOWNS: Final = 4000

# How an island's forces were selected among all solutions: `contactlab.constraint_solver.certificate.ForceChoice`.
CHOICE_ANY, CHOICE_EQUAL_COMPLIANCE, CHOICE_OTHER_SOLUTION, CHOICE_UNCERTIFIED = range(1, 5)
# Verdicts on forces with exact cones, and on a friction backend's forces by its own law; they come from
# `constraint_solver.friction_backend`. NEARLY is not a solution, but close enough to continue.
REFUSED, ANSWERED, NEARLY = range(3)
# Maximum relative violation of forces without a certificate: see `verify_island`.
UNCERTIFIED_TOLERANCE: Final = 1e-4
UNCERTIFIED_RESIDUAL: Final = 3e-4
PASSIVITY_TOLERANCE: Final = 1e-6

# Marks of trees. WOKEN is awake, because of something else than a body that has rested for a shorter time.
AWAKE, ASLEEP, WOKEN = range(3)

# Whether forces that keep an island at rest were searched for.
REST_UNTRIED, REST_WANTED, REST_TRIED = range(3)

# Value of IslandProgress.strategies_tried after all strategies.
ALL_TRIED: Final = 2
# Maximum number of friction cones of a contact with moments: sliding, spin, rolling.
CONES: Final = 3

# Maximum number of repeated searches for contacts and stops in a step, with v+.
LOOKS: Final = 4

# Contact modes.
OPEN, STICK, SLIDE = range(3)

# A contact sticks if its slip speed is below this fraction of the speeds that its points would have without contacts.
STICK_FRACTION: Final = 1e-8

# Columns of the trees: first link, first degree of freedom, first entry of its mass matrix in Work.L.
TREE_INTS: Final = 3
TREE_LINK, TREE_DOF, TREE_BLOCK = range(TREE_INTS)

# Entries of PackedWorld.free: motion of a tree without active rows, its index in the buffers of trees that are separate
# models, and its entries of q.
FREE_INTS: Final = 7
FREE_KIND, FREE_INT, FREE_INT_END, FREE_FLOAT, FREE_FLOAT_END, FREE_Q, FREE_Q_END = range(FREE_INTS)

# Values of FREE_KIND: by Euler's rule; kicked, then free of forces; with weights and applied forces throughout.
FREE_EULER, FREE_KICKED, FREE_ALONE = range(3)

# Columns of the bodies, -1 for a body fixed to the world.
BODY_INTS: Final = 3
(
    BODY_TREE,
    BODY_ROOT,  # root link of the tree
    BODY_DOF,  # the next degree of freedom towards the root
) = range(BODY_INTS)

# Ids of external contacts begin here. Ids of half-spaces with support points are smaller, and ids of pairs of shapes
# are negative.
EXTERNAL_ID: Final = 1 << 62
# Bits of a half-space, and of a support point, in the id of their contact.
ID_BITS: Final = 21

# Columns of the current contacts (integers, floats).
CONTACT_INTS: Final = 7
(
    BODY_A,
    BODY_B,
    HALF_SPACE,  # -1 if no half-space of the world is touched
    CONTACT_ID,
    PREVIOUS,  # row of the same contact in the previous step, -1 when new
    SHAPE_A,  # -1 for a half-space of the world, and for external contacts
    SHAPE_B,
) = range(CONTACT_INTS)
POINT, NORMAL = 0, 3  # three columns each
(
    GAP,
    MU,
    RESTITUTION,
    VN_MINUS,
    VN_FREE,  # free normal velocity after the step; filled for islands, like the tangents
    TANGENTS,  # six columns
) = range(6, 12)
GAP_CORRECTION: Final = 17  # change of gap + h N v by rotation in the step [m], at most 0
CONTACT_FLOATS: Final = 18

# Maximum number of shapes whose pairs fit a contact id, together with 31 bits of a feature; and the lowest of all ids.
# The ids of pairs are negative, ids of half-spaces with support points are not.
MAX_SHAPES: Final = 1 << 16
FEATURE_BITS: Final = 31
LOWEST_ID: Final = -(1 << 63)

MEASURES: Final = 8  # lcp.kernels.residuals.SIZE
CERTIFICATE: Final = 24  # of certify, certify_boxed and certify_bilateral, in this order
SCRATCH: Final = 64


# Ranks of the row classes "G or B" and B of `RowKind`: compliant equations are boxed if the stepper has a cfm.
COMPLIANT_EQUATION, BOXED = 2, 3

# Results of an exchange of runs in a batch.
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
    UNSOLVED_BEFORE,
    AT_WORK,
    WAIT_FOR_ALL,
    SPIN_LIMIT,
    PUBLISH_COUNT,
) = range(COMMAND_SIZE)

# Words of the queue, each in a cache line of its own: runs left, threads at work, whether waiting threads must
# return, the number of steps of each run, and whether Python makes all of them.
WORDS: Final = 80
QUEUE_LENGTH, ACTIVE_THREADS, SHUTDOWN, STEPS, IN_PYTHON = range(0, WORDS, 16)
#: Reason of a run that was loaded and has made no step yet.
LOADED: Final = 0


class Record:
    """Base of the records below, which kernels and Python read and write. ``fields`` has the type of each entry."""

    fields: ClassVar[dict[str, type]] = {}
    dtype: ClassVar[np.dtype[np.void]]

    def __init_subclass__(cls) -> None:
        cls.dtype = np.dtype((np.record, list(cls.fields.items())))

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...


class StepControl(Record):
    """Progress of a run, requests of the loop, and limits; flags are 0 or 1."""

    fields: ClassVar[dict[str, type]] = {
        "stage": int,  # next stage of the step; a stage that returned a reason runs again
        "kinematics_valid": int,  # whether the head of Work.W holds the kinematics of Work.q_plus and Work.v_plus
        "step": int,  # steps finished
        "target_steps": int,  # steps wanted
        # Rows used in the chunk.
        "chunk_steps": int,
        "chunk_contacts": int,
        "chunk_islands": int,
        "chunk_joints": int,
        # The step in progress.
        "n_previous": int,  # contacts of the step before
        "n_contacts": int,
        "n_found": int,  # including the contacts of sleeping bodies; -1: stops were left out that v+ would pass
        "again": int,  # number of repeated searches for contacts, with the velocities of the step
        "n_islands": int,
        "island": int,  # island in progress
        "failure": int,
        "allow_uncertified": int,  # whether the best forces found are accepted if no forces are certified
        "uncertified": int,  # number of islands so far with such forces, also in failed steps
        # After NEED_SPACE: which buffer is too small, and the number of entries needed. After FAILURE_SINGULAR: the
        # degree of freedom that moves no mass.
        "short": int,
        "wanted": int,
        "deep": int,  # whether any contact or stop is deeper than allowed, so that positions are projected
    }


class IslandProgress(Record):
    """Sizes of the island in progress, and the state of its solution."""

    fields: ClassVar[dict[str, type]] = {
        # Contacts, friction, velocities, rows L, G and B, and the variables of its LCP.
        "nc": int,
        "ncone": int,  # friction cones, cones of moments included; nr are their rows F
        "nr": int,
        "nv": int,
        "nl": int,
        "ng": int,
        "nbox": int,
        "n": int,
        "has_z0": int,
        "pivots": int,  # -1 while the LCP is being solved
        "warm_hit": int,
        "attempt": int,  # strategy that found the forces, of `lcp.contacts.kernels.strategy_loop`, or NO_STRATEGY
        "systems": int,  # linear systems solved in all strategies
        "strategies_tried": int,  # strategies for selected forces that failed: 0 none, 1 the first, ALL_TRIED all
        "rest": int,  # search for forces that keep it at rest: REST_UNTRIED, REST_WANTED, REST_TRIED
        "choice": int,
        "answered": int,  # verdict on forces with exact cones or of a friction backend: REFUSED, ANSWERED or NEARLY
    }


class Parameters(Record):
    """Time, step size and the numbers and options of the stepper."""

    fields: ClassVar[dict[str, type]] = {
        "h": float,  # the step in progress, or of the next one
        "time": float,
        "last_h": float,  # the step that led to the present state
        "end": float,  # no step begins at this time or later; infinite if only Control.target limits the run
        "h_max": float,  # requested step, and the factor by which a reduced step grows back to it
        "growth_factor": float,
        # Of contacts and stops of lengths, and the speed of their impacts; then both for stops of angles.
        "margin": float,
        "more": float,  # extra margin of the search, if the contacts that take part are listed
        "restitution_threshold": float,
        "angle_margin": float,
        "angle_restitution_threshold": float,
        "erp": float,
        "cfm": float,
        "allowance": float,  # allowed depth [m], and maximum correction speed [m/s]; negative: see `blocks`
        "fastest": float,
        "tolerance": float,
        # Options; flags are 0 or 1.
        "edges": int,  # of a friction pyramid
        "exact_cone": int,  # whether friction has the exact cone: islands without selected forces are solved externally
        "gyroscopic": int,  # torque of single free links
        "accurate": int,  # whether free trees of several links move by the Runge-Kutta method
        "solver": int,
        "warm_start": int,
        "use_strategies": int,  # whether forces of a strategy may replace a solve
        "require_equal_compliance": int,  # whether strategies look for these forces, not for ones near the previous
        "backend": int,  # whether a friction backend solves islands with contacts; Python solves and checks them
        "enabled_strategies": int,  # bits of the enabled strategies
        "adaptive": int,  # whether a failed step is tried again with a smaller h
        "reduce": int,  # whether a pair of shapes keeps at most four contacts
        "projection": int,  # whether q is moved out of penetrations after the step
        "sleep": int,  # whether islands at rest sleep
        "sleep_speed": float,  # bound on every velocity of an island at rest, and the time for which it must hold
        "sleep_time": float,
    }


class Spring(Record):
    """A part of a drive without bounds, which is implicit in the mass matrix: see `DriveTerm`."""

    fields: ClassVar[dict[str, type]] = {
        "dof": int,
        "place": int,
        "drive": int,
        **dict.fromkeys(("stiffness", "damping", "speed", "offset"), float),
    }
