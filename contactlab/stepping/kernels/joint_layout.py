"""The memory of what acts on joints: stops, dry friction, drives, damping, relations between joints, and loops.

A world has a fixed list of such rows, in the order of their classes in an island's problem, [L; G; B]; the place in
that list is the row's persistent number. Stops take part in a step where they may be reached, all others always.

Sizes: n rows, nd drives, nloop rows of loops; within an island nl rows L, ng rows G, nbox rows B, and m rows in all,
those of contacts included.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from contactlab.stepping.kernels.layout import FloatArray, IntArray

# Ranks of classes of rows: equations that give way, of FOLLOW and LOOP, are boxed where the stepper has a cfm.
LIMIT: Final = 0
EQUATION: Final = 1
GIVES_WAY: Final = 2
BOXED: Final = 3


class Drive:
    """The gains of a position drive and the speed it wants, 0 for others: the fields of a record."""

    stiffness: float
    damping: float
    target_velocity: float


class Spring:
    """A position drive without a bound, which acts within the mass matrix: the fields of a record."""

    dof: int
    place: int
    drive: int


class Joints(NamedTuple):
    """Rows and drives of a world, the step in progress and its island."""

    # What does not change.
    damping: FloatArray  # (nv,) viscous [N m s/rad, N s/m]
    rows: Any  # (n,) records of the numbers of a `contactlab.world.JointRow`, its kind and the rank of its class
    row_trees: IntArray  # (n + 1,) trees of row i: trees[row_trees[i] : row_trees[i + 1]], ascending
    trees: IntArray
    drives: Any  # (nd,) records `Drive`
    springs: Any  # (ns,) records `Spring`
    loop_ints: IntArray  # buffers of the model and its loops, as `constraint_rows` takes them
    loop_floats: FloatArray
    # The step in progress.
    target: FloatArray  # (nd,) wanted by the drives, position or speed
    target_table: FloatArray  # (steps, nd) what they are in each step, where it has any
    loop_G: FloatArray  # (nloop, nv)
    loop_error: FloatArray  # (nloop,) position errors
    loop_rate: FloatArray  # (nloop,) rate of the rows that v does not make
    loop_scale: FloatArray  # (nloop,) sizes of the terms of the rows' entries
    loop_work: FloatArray
    nothing: FloatArray  # (0,)
    active: IntArray  # (n,) whether the row takes part
    missed: IntArray  # (n,) stops that were left out, and that the step would have passed
    error: FloatArray  # (n,) gap of a stop, position error of others
    row_start: IntArray  # (nt + 1,) rows of island i: island_rows[row_start[i] : row_start[i + 1]]
    island_rows: IntArray  # (n,)
    z: FloatArray  # (n, 2) LCP variables
    was: IntArray  # (n,) whether the row took part in the previous step
    previous_z: FloatArray  # (n, 2)
    # The island in progress without its rows G: those of [N; F; L; B], in flat buffers of at least the size needed, J
    # and Y filled in the columns of the island's spans, elsewhere while M is assembled.
    J: FloatArray  # m nv
    Y: FloatArray
    k: FloatArray  # m
    gamma: FloatArray
    f: FloatArray
    locked: IntArray
    posed: FloatArray  # 2 m: see `lcp.contacts.kernels.island_acceptance.Case`
    v0: FloatArray  # nv
    P: FloatArray  # ng ng
    G_scale: FloatArray  # ng, sizes of the terms of the entries of rows G
    G_error: FloatArray  # ng, their position errors
    work: FloatArray
    lo: FloatArray  # nbox
    hi: FloatArray
