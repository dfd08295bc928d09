"""The memory of what acts on joints: stops, dry friction, drives, damping, relations between joints, and loops.

A world has a fixed list of such rows, in the order of their classes in an island's problem, [L; G; B]; the place in
that list is the row's persistent number. Stops take part in a step where they may be reached, all others always.

Sizes: n rows, nd drives, nloop rows of loops; within an island nl rows L, ng rows G, nbox rows B, and m rows in all,
those of contacts included.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from contactlab.stepping.kernels.layout import FloatArray, IntArray

# Kinds of rows.
STOP: Final = 0  # L: the end of a joint's range
HOLD: Final = 1  # G: a velocity drive that nothing stops
FOLLOW: Final = 2  # G: a joint that follows another
LOOP: Final = 3  # G: a row of a loop, or of the user's own
FRICTION: Final = 4  # B: dry friction
SPEED: Final = 5  # B: a velocity drive
SERVO: Final = 6  # B: a position drive

# Columns of the rows (integers, floats).
KIND: Final = 0
DOF: Final = 1  # -1 for a row of a loop
PLACE: Final = 2  # of the position in q, -1 for none
OTHER: Final = 3  # degree of freedom and position of the joint that is followed
OTHER_PLACE: Final = 4
DRIVE: Final = 5  # number of the drive (of a stop: one that acts on the same coordinate), -1 for none
LOOP_ROW: Final = 6
JOINT_INTS: Final = 7
SIGN: Final = 0  # of a stop: +1 at the lower end
BOUND: Final = 1  # position of a stop [rad, m]; largest force [N m, N]
FACTOR: Final = 2  # restitution of a stop; multiplier of a joint that follows
OFFSET: Final = 3  # of a joint that follows
STIFFNESS: Final = 4  # of a stop that gives way
DISSIPATION: Final = 5
OWN_ERP: Final = 6  # share of the error taken back in a step, NaN for the stepper's
JOINT_FLOATS: Final = 7

# Columns of the drives.
DRIVE_STIFFNESS: Final = 0
DRIVE_DAMPING: Final = 1
DRIVE_SPEED: Final = 2  # speed wanted by a position drive
DRIVE_FLOATS: Final = 3

# Columns of the position drives without a bound, which act within the mass matrix.
SPRING_DOF: Final = 0
SPRING_PLACE: Final = 1
SPRING_DRIVE: Final = 2
SPRING_INTS: Final = 3


class Joints(NamedTuple):
    """Rows and drives of a world, the step in progress and its island."""

    # What does not change.
    damping: FloatArray  # (nv,) viscous [N m s/rad, N s/m]
    row_int: IntArray  # (n, JOINT_INTS)
    row_float: FloatArray  # (n, JOINT_FLOATS)
    row_trees: IntArray  # (n + 1,) trees of row i: trees[row_trees[i] : row_trees[i + 1]], ascending
    trees: IntArray
    drives: FloatArray  # (nd, DRIVE_FLOATS)
    springs: IntArray  # (ns, SPRING_INTS)
    loop_ints: IntArray  # buffers of the model and its loops, as `constraint_rows` takes them
    loop_floats: FloatArray
    # The step in progress.
    target: FloatArray  # (nd,) wanted by the drives, position or speed
    loop_G: FloatArray  # (nloop, nv)
    loop_error: FloatArray  # (nloop,) position errors
    loop_rate: FloatArray  # (nloop,) rate of the rows that v does not make
    loop_work: FloatArray
    nothing: FloatArray  # (0,)
    active: IntArray  # (n,) whether the row takes part
    error: FloatArray  # (n,) gap of a stop, position error of others
    row_start: IntArray  # (nt + 1,) rows of island i: island_rows[row_start[i] : row_start[i + 1]]
    island_rows: IntArray  # (n,)
    z: FloatArray  # (n, 2) LCP variables
    was: IntArray  # (n,) whether the row took part in the previous step
    previous_z: FloatArray  # (n, 2)
    # The island in progress without its rows G: those of [N; F; L; B], in flat buffers of at least the size needed.
    J: FloatArray  # m nv
    Y: FloatArray
    k: FloatArray  # m
    gamma: FloatArray
    f: FloatArray
    locked: IntArray
    v0: FloatArray  # nv
    P: FloatArray  # ng ng
    work: FloatArray
    lo: FloatArray  # nbox
    hi: FloatArray
