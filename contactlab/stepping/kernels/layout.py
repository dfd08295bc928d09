"""The memory of the compiled loop: its arrays by name, and the records of its progress.

These arrays hold the whole state of the loop, so each stage can be called separately on them. A stage that needs
something returns to Python with a reason, and runs again when the loop is entered again.

Sizes: nb bodies, nl links, nt trees of links, nq and nv of the model, np support points, ns half-spaces, r = edges/2
friction directions per contact, w = 2 + 2 r LCP variables per contact; within an island nc contacts, nr = r nc,
m = nc + nr rows, n = 2 nc + 2 nr LCP variables.

Links and degrees of freedom are ordered tree by tree. The mass matrix is block diagonal, with one block per tree.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Reasons for which the loop returns.
OK: Final = -1  # the requested steps are done, or one step must be inspected
NEED_SPACE: Final = -2  # a resource is missing, named by control.short: supply it, enter again
UNSOLVED: Final = -3  # an island has no forces, or, if control.failure is set, the step is impossible: see `Driver`

# Number of pivots after which an unfinished solve is UNSOLVED, so that Python can handle Ctrl-C.
PIVOT_BUDGET: Final = 256

# Stages of a step: see the diagram in `step_stages`. Each returns the next stage, or a reason.
BEGIN: Final = 0
DETECT: Final = 1
LOOPS: Final = 2
FIND_ISLANDS: Final = 3
RESERVE: Final = 4
NEXT_ISLAND: Final = 5
ADD_JOINT_ROWS: Final = 6
FIRST_STRATEGIES: Final = 7
SWEEPS: Final = 8
FORM_LCP: Final = 9
SOLVE_LCP: Final = 10
VERIFY: Final = 11
VERIFY_OTHER: Final = 12
PROJECT: Final = 13
INTEGRATE: Final = 14
N_STAGES: Final = 15

# Entries of `looks`: whether the chunk holds only one step at a time; conditions for inspecting a later step: its
# number exceeds NEXT, or the number of unsolved islands exceeds MORE_UNSOLVED; whether the last step must be inspected.
ALONE: Final = 0
NEXT: Final = 1
MORE_UNSOLVED: Final = 2
LOOK: Final = 3

# Values of Parameters.solver and gyroscopic, and of Control.failure and short.
SOLVER_EXTERNAL: Final = 0
SOLVER_LEMKE: Final = 1
SOLVER_LEMKE_FIRST: Final = 2  # problems that the kernel does not solve go to the external rest of a fallback chain
GYROSCOPIC_IMPLICIT: Final = 0
GYROSCOPIC_EXPLICIT: Final = 1
GYROSCOPIC_OFF: Final = 2
GYROSCOPIC_CODES: Final = {
    "implicit": GYROSCOPIC_IMPLICIT,
    "explicit": GYROSCOPIC_EXPLICIT,
    "off": GYROSCOPIC_OFF,
}
FAILURE_NONE: Final = 0
FAILURE_LCP: Final = 1
FAILURE_NOT_FINITE: Final = 2
FAILURE_INCONSISTENT: Final = 5  # the bilateral equations of the current island are inconsistent
FAILURE_LARGE: Final = 6  # no forces were selected, and the LCP has too many unknowns to pivot
FAILURE_SPACE: Final = 7  # the island's arrays would need more memory than is available
FAILURE_SINGULAR: Final = 8  # a degree of freedom moves no mass; the last code: `free_motion` adds its number
SHORT_OF_CONTACTS: Final = 0
SHORT_OF_PAIRS: Final = 1
SHORT_OF_PAIR_CONTACTS: Final = 2  # of one pair of shapes
SHORT_OF_ISLAND: Final = 3  # its `IslandProgress` says how large the island is
SHORT_OF_ROWS: Final = 4  # of the chunk: copy its rows, reset the counters
SHORT_OF_CODE: Final = 5  # the group of stages with the stage `wanted` is not compiled
#: Maximum number of unknowns of an LCP that is formed if forces are selected.
MAX_UNKNOWNS: Final = 4000

# How an island's forces were selected among all solutions: `contactlab.certificate.ForceChoice`.
CHOICE_ANY: Final = 1
CHOICE_EQUAL_COMPLIANCE: Final = 2
CHOICE_OTHER_SOLUTION: Final = 3
CHOICE_UNCERTIFIED: Final = 4
# Verdicts on forces with exact cones, and on a friction backend's forces by its own law; they come from
# `formulation.friction_backend`.
REFUSED: Final = 0
ANSWERED: Final = 1
NEARLY: Final = 2  # not a solution, but close enough to continue
# Maximum relative violation of forces without a certificate: see `verify_island`.
UNCERTIFIED_TOLERANCE: Final = 1e-4
UNCERTIFIED_RESIDUAL: Final = 3e-4
PASSIVITY_TOLERANCE: Final = 1e-6

# Marks of trees.
AWAKE: Final = 0
ASLEEP: Final = 1
WOKEN: Final = 2  # awake, because of something else than a body that has rested for a shorter time

# Whether forces that keep an island at rest were searched for.
REST_UNTRIED: Final = 0
REST_WANTED: Final = 1
REST_TRIED: Final = 2

# Value of IslandProgress.strategies_tried after all strategies.
ALL_TRIED: Final = 2
# Maximum number of friction cones of a contact with moments: sliding, spin, rolling.
CONES: Final = 3

# Maximum number of repeated searches for contacts and stops in a step, with v+.
LOOKS: Final = 4

# Contact modes.
OPEN: Final = 0
STICK: Final = 1
SLIDE: Final = 2

# A contact sticks if its slip speed is below this fraction of the speeds that its points would have without contacts.
STICK_FRACTION: Final = 1e-8

# Columns of the trees.
TREE_LINK: Final = 0  # first link
TREE_DOF: Final = 1  # first degree of freedom
TREE_BLOCK: Final = 2  # first entry of its mass matrix in Work.L
TREE_INTS: Final = 3

# Entries of PackedWorld.free: motion of a tree without active rows, its index in the buffers of trees that are separate
# models, and its entries of q.
FREE_KIND: Final = 0
FREE_INT: Final = 1
FREE_INT_END: Final = 2
FREE_FLOAT: Final = 3
FREE_FLOAT_END: Final = 4
FREE_Q: Final = 5
FREE_Q_END: Final = 6
FREE_INTS: Final = 7

# Values of FREE_KIND: by Euler's rule; kicked, then free of forces; with weights and applied forces throughout.
FREE_EULER: Final = 0
FREE_KICKED: Final = 1
FREE_ALONE: Final = 2

# Columns of the bodies, -1 for a body fixed to the world.
BODY_TREE: Final = 0
BODY_ROOT: Final = 1  # root link of the tree
BODY_DOF: Final = 2  # the next degree of freedom towards the root
BODY_INTS: Final = 3

# Ids of external contacts begin here. Ids of half-spaces with support points are smaller, and ids of pairs of shapes
# are negative.
EXTERNAL_ID: Final = 1 << 62
# Bits of a half-space, and of a support point, in the id of their contact.
ID_BITS: Final = 21

# Columns of the current contacts (integers, floats).
BODY_A: Final = 0
BODY_B: Final = 1
HALF_SPACE: Final = 2  # -1 if no half-space of the world is touched
CONTACT_ID: Final = 3
PREVIOUS: Final = 4  # row of the same contact in the previous step, -1 when new
SHAPE_A: Final = 5  # -1 for a half-space of the world, and for external contacts
SHAPE_B: Final = 6
CONTACT_INTS: Final = 7
POINT: Final = 0  # 3
NORMAL: Final = 3  # 3
GAP: Final = 6
MU: Final = 7
RESTITUTION: Final = 8
VN_MINUS: Final = 9
VN_FREE: Final = 10  # free normal velocity after the step; filled for islands, like the tangents
TANGENTS: Final = 11  # 6
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


class StepControl:
    """Progress of a run, requests of the loop, and limits; flags are 0 or 1.

    The class declares the fields of a record (`memory.new_record`), which kernels and Python read and write.
    """

    stage: int  # next stage of the step; a stage that returned a reason runs again
    kinematics_valid: int  # whether the head of Work.W holds the kinematics of Work.q_plus and Work.v_plus
    step: int  # steps finished
    target_steps: int  # steps wanted
    # Rows used in the chunk.
    chunk_steps: int
    chunk_contacts: int
    chunk_islands: int
    chunk_joints: int
    # The step in progress.
    n_previous: int  # contacts of the step before
    n_contacts: int
    n_found: int  # including the contacts of sleeping bodies; -1: stops were left out that v+ would pass
    again: int  # number of repeated searches for contacts, with the velocities of the step
    n_islands: int
    island: int  # island in progress
    failure: int
    allow_uncertified: int  # whether the best forces found are accepted if no forces are certified
    uncertified: int  # number of islands so far with such forces, also in failed steps
    # After NEED_SPACE: which buffer is too small, and the number of entries needed. After FAILURE_SINGULAR: the degree
    # of freedom that moves no mass.
    short: int
    wanted: int
    deep: int  # whether any contact or stop is deeper than allowed, so that positions are projected


class IslandProgress:
    """Sizes of the island in progress, and the state of its solution: the fields of a record, like `StepControl`."""

    # Contacts, friction, velocities, rows L, G and B, and the variables of its LCP.
    nc: int
    ncone: int  # friction cones, cones of moments included; nr are their rows F
    nr: int
    nv: int
    nl: int
    ng: int
    nbox: int
    n: int
    has_z0: int
    pivots: int  # -1 while the LCP is being solved
    warm_hit: int
    attempt: int  # strategy that found the forces, of `lcp.contacts.kernels.strategy_loop`, or NO_STRATEGY
    systems: int  # linear systems solved in all strategies
    strategies_tried: int  # strategies for selected forces that failed: 0 none, 1 the first, ALL_TRIED all
    rest: int  # search for forces that keep it at rest: REST_UNTRIED, REST_WANTED, REST_TRIED
    choice: int
    answered: int  # verdict on forces with exact cones or of a friction backend: REFUSED, ANSWERED or NEARLY


class Parameters:
    """Time, step size and the numbers and options of the stepper: the fields of a record, like `StepControl`."""

    h: float  # the step in progress, or of the next one
    time: float
    last_h: float  # the step that led to the present state
    end: float  # no step begins at this time or later; infinite if only Control.target limits the run
    h_max: float  # requested step, and the factor by which a reduced step grows back to it
    growth_factor: float
    margin: float  # of contacts and stops of lengths, and the speed of their impacts; then both for stops of angles
    more: float  # extra margin of the search, if the contacts that take part are listed
    restitution_threshold: float
    angle_margin: float
    angle_restitution_threshold: float
    erp: float
    cfm: float
    allowance: float  # allowed depth [m], and maximum correction speed [m/s]; negative: see `blocks`
    fastest: float
    tolerance: float
    # Options; flags are 0 or 1.
    edges: int  # of a friction pyramid
    exact_cone: int  # whether friction has the exact cone: islands without selected forces are solved externally
    gyroscopic: int  # torque of single free links
    accurate: int  # whether free trees of several links move by the Runge-Kutta method
    solver: int
    warm_start: int
    use_strategies: int  # whether forces of a strategy may replace a solve
    require_equal_compliance: int  # whether strategies look for forces of equal compliance, not near the previous ones
    backend: int  # whether a friction backend solves islands with contacts: they are solved and checked in Python
    enabled_strategies: int  # bits of the enabled strategies
    adaptive: int  # whether a failed step is tried again with a smaller h
    reduce: int  # whether a pair of shapes keeps at most four contacts
    projection: int  # whether q is moved out of penetrations after the step
    sleep: int  # whether islands at rest sleep
    sleep_speed: float  # bound on every velocity of an island at rest, and the time for which it must hold
    sleep_time: float


class PackedWorld(NamedTuple):
    """Arrays that do not change during a run."""

    ints: IntArray  # the model's buffers: `contactlab.multibody.kernels.layout.tree` cuts them
    floats: FloatArray
    fixed: FloatArray  # (4,) mass of bodies fixed to the world [kg], its first moment [kg m]
    trees: IntArray  # (nt + 1, TREE_INTS) where each tree begins
    bodies: IntArray  # (nb, BODY_INTS) the tree and link of each body
    dof_parent: IntArray  # (nv,) the next degree of freedom towards the root, -1 for none
    branch: IntArray  # (nv,) dof_parent, counted within the tree
    point_start: IntArray  # (nb + 1,) support points of body b: point_start[b] .. point_start[b + 1]
    points: FloatArray  # (np, 3) m, body axes
    radii: FloatArray  # (np,) m
    normals: FloatArray  # (ns, 3) outward
    offsets: FloatArray  # (ns,) m
    point_shape: IntArray  # (np,) the shape of each point
    pair_mu: FloatArray  # (shapes, ns), -1 for pairs without contact
    plane: FloatArray  # (3,) unit normal of a planar world's plane, 0 in space
    motion: IntArray  # (nb,) row of a kinematic body among their number nk, -1 for any other
    material: IntArray  # (shapes + ns,) number of each surface's material, half-spaces last
    restitution: FloatArray  # (m, 5) laws of the materials: `contactlab.contact.kernels.contact_rows`
    stiffness: FloatArray  # (m, m) N/m by pair of materials, infinite for rigid ones
    dissipation: FloatArray  # (m, m) N s/m
    # (shapes + 1,) m: smallest and largest edge of a shape's box, infinite for grounds; the last entry is the minimum.
    extent: FloatArray
    longest: FloatArray
    # (nv,) position projection of single free bodies: 1 / m for velocities along which they are shifted, -1 for turns,
    # which are suppressed, and 0 if the inertia decides.
    shifting: FloatArray
    # (nt, FREE_INTS) trees of several links, each as a separate model; no rows if the world has none.
    free: IntArray
    free_ints: IntArray  # their buffers, concatenated
    free_floats: FloatArray


class Collision(NamedTuple):
    """Shapes that may touch one another, n of them with m materials, the shapes of bodies first; and workspaces."""

    kind: IntArray  # (n,), and the next four: `contactlab.contact.kernels.layout`
    size: FloatArray
    place: FloatArray
    data: FloatArray
    loops: IntArray
    body: IntArray  # (n,) -1 for the world's half-spaces
    link: IntArray  # (n,) the link it moves with, negative if fixed to the world; shapes of one link never touch
    half_space: IntArray  # (n,) number of the world's half-space, -1 for other shapes
    category: IntArray  # (n,) bits, as in `sweep_and_prune.candidates`
    mask: IntArray  # (n,)
    excluded: IntArray  # ascending: further pairs i n + j, i < j, that never touch
    material: IntArray  # (n,)
    pair_mu: FloatArray  # (m, m)
    poses: FloatArray  # (n, 12) of the shapes in the world
    boxes: FloatArray  # (n, 6) bounds, enlarged by the reach
    predicted: FloatArray  # (n, 12) poses predicted for the end of the step
    deviation: FloatArray  # (n,) m: maximum deviation of the shape from straight motion by then
    reach: FloatArray  # (n,) m: its contribution to the gap up to which contacts are found
    order: IntArray  # (n,) order of the last sweep
    keys: FloatArray  # (n,)
    pairs: IntArray  # (capacity,) candidates
    work: FloatArray  # of `collide_pair`
    ints: IntArray
    points: FloatArray  # (capacity, 7) contacts of one pair
    features: IntArray  # (capacity,)


class MomentFriction(NamedTuple):
    """Torsional and rolling friction of a world in which any pair of surfaces has it."""

    torsional: FloatArray  # (m, m) lengths [m] by pair of materials
    rolling: FloatArray
    axes: FloatArray  # (rows of moments, 3) their directions, of the island in progress


class StepWork(NamedTuple):
    """State, contacts and islands of the step in progress."""

    q: FloatArray  # (nq,)
    v: FloatArray  # (nv,)
    tau: FloatArray  # (nv,)
    tau_table: FloatArray  # (steps, nv) tau of each step; no rows if tau is not given as a table
    W_predicted: FloatArray  # a second head: poses predicted for the end of the step
    W: FloatArray  # workspace of the multibody kernels; its head holds the kinematics at (q, v) until INTEGRATE
    S: FloatArray  # (nv, 6) motion columns: a view of the head of W
    origins: FloatArray  # (nl, 3) m, origins of the links: another view
    bias: FloatArray  # (nv,) forces of gravity and velocities, on the left-hand side, until M is factorised
    momentum: FloatArray  # (nv,) M v
    L: FloatArray  # the factors of the trees' mass matrices, concatenated
    centers: FloatArray  # (np, 3) m, support points in world axes
    Mv: FloatArray  # (nv,) M v + h tau_total
    v_free: FloatArray  # (nv,) M^-1 Mv: the velocity after the step without contacts
    v_plus: FloatArray  # (nv,)
    v_seen: FloatArray  # (LOOKS, nv) v+ at each repeated search for contacts
    dv_deps: FloatArray  # (nv,) derivative of v by the compliance eps of the selected forces, kept between steps
    motion_pose: FloatArray  # (nk, 12) kinematic bodies at the start of the step, rotations by rows
    motion_twist: FloatArray  # (nk, 6) in the step: angular velocity, velocity of the origin, world axes
    motion_next: FloatArray  # (nk, 12) at the end of the step
    belt_twist: FloatArray  # (nk, 6) twist of the surface relative to its body: 0 except for belts
    projection_displacement: FloatArray  # (nv,) displacement of the position projection
    q_plus: FloatArray  # (nq,) q moved along v_plus and by the projection; then its energies
    energy: FloatArray  # (2,) kinetic, potential [J]
    contact_int: IntArray  # (capacity, CONTACT_INTS)
    contact_float: FloatArray  # (capacity, CONTACT_FLOATS)
    contact_z: FloatArray  # (capacity, w) LCP variables by contact, see `contactlab.stepping.kernels.moments`
    contact_moment: FloatArray  # (capacity, 3) impulse [N m s] of torsional and rolling friction on body B
    listed: IntArray  # ascending ids of the contacts that take part, if a recorded step is formed again
    external_int: IntArray  # (given, CONTACT_INTS) external contacts of this step, ascending in id
    external_float: FloatArray  # (given, CONTACT_FLOATS), VN_MINUS not filled
    previous_id: IntArray  # (capacity,)
    previous_z: FloatArray  # (capacity, w)
    union_find_parent: IntArray  # (nt,) union-find
    island_of: IntArray  # (nt,) -1 without contacts
    tree_offset: IntArray  # (nt,) first velocity of the tree in its island
    tree_start: IntArray  # (nt + 1,) trees of island i: island_trees[tree_start[i] : tree_start[i + 1]]
    island_trees: IntArray  # (nt,)
    asleep: IntArray  # (nt,) AWAKE, ASLEEP or WOKEN
    rest: FloatArray  # (nt,) s for which each tree has rested
    previous_tau: FloatArray  # (nv,) applied force in the previous step
    products: FloatArray  # (nv,) contribution of velocity products to Mv, subtracted
    parts: IntArray  # (nt,) substeps of the tree in the Runge-Kutta method, 0 if it is not used
    free: FloatArray  # memory of that method
    island_nv: IntArray  # (nt,) velocities of island i
    contact_start: IntArray  # (nt + 1,) as tree_start, for contacts
    island_contacts: IntArray  # (capacity,)
    scratch: FloatArray  # (SCRATCH,)


class IslandWork(NamedTuple):
    """Blocks, LCP and solution of the island in progress, in flat buffers of at least the size needed."""

    progress: Any  # (1,) the record `IslandProgress`
    r: IntArray  # ncone
    mu: FloatArray  # ncone
    cone_contacts: IntArray  # ncone
    J: FloatArray  # m nv
    Y: FloatArray  # m nv
    contact_jacobian_work: FloatArray  # 10 nv scratch: Jacobian of one contact's point, and its product with M^-1
    edge_directions: FloatArray  # (r, 2) cosines and sines of the friction directions
    column_ranges: IntArray  # (m, 4) columns of each row that are filled; the others are filled when M is assembled
    tree_starts: IntArray  # trees + 1: first velocity of each tree
    k: FloatArray  # m
    gamma: FloatArray  # m
    gammaE: FloatArray  # ncone
    Mv: FloatArray  # nv
    v_free: FloatArray  # nv
    M: FloatArray  # n n
    q: FloatArray  # n
    z0: FloatArray  # n
    z: FloatArray  # n
    w: FloatArray  # n
    f: FloatArray  # m
    v_plus: FloatArray  # nv
    dv_deps: FloatArray  # nv
    residuals: FloatArray  # (MEASURES,) of lcp.kernels.residuals
    certificate: FloatArray  # (CERTIFICATE,) of the kernels certify... in contactlab.formulation.kernels
    certificate_work: FloatArray  # nv + 1
    best_z: FloatArray  # n: the forces with the smallest residual so far, and this residual
    state: FloatArray  # (STATE,) of lcp.contacts.kernels.island_acceptance
    strategy_float_work: FloatArray  # of lcp.contacts.kernels.strategy_loop
    strategy_int_work: IntArray
    options: FloatArray  # of lcp.kernels.lemke
    float_work: FloatArray
    int_work: IntArray
    info: IntArray


class Chunk(NamedTuple):
    """Rows recorded since the chunk was last emptied, by their names in a record (`record_schema`)."""

    time: FloatArray  # (steps,), and the next three
    kinetic: FloatArray
    potential: FloatArray
    h: FloatArray
    q: FloatArray  # (steps, nq)
    v: FloatArray  # (steps, nv)
    tau: FloatArray  # (steps, nv)
    motion_pose: FloatArray  # (steps, nk, 12) at the end of the step
    motion_twist: FloatArray  # (steps, nk, 6)
    asleep: IntArray  # (steps, nt) 1 for trees that slept through the step; no column without sleep
    rest: FloatArray  # (steps, nt) after the step
    drive_target: FloatArray  # (steps, nd)
    contact: Any  # (contacts,) records, and the two below
    contact_z: FloatArray  # (contacts, w)
    joint: Any
    island: Any


# Ranks of row classes: compliant equations, of FOLLOW and LOOP, are boxed if the stepper has a cfm.
LIMIT: Final = 0
EQUATION: Final = 1
COMPLIANT_EQUATION: Final = 2
BOXED: Final = 3


class Drive:
    """Gains and target speed of a position drive, 0 for other drives: the fields of a record."""

    stiffness: float
    damping: float
    target_velocity: float


class Spring:
    """A position drive without bounds, which is implicit in the mass matrix: the fields of a record."""

    dof: int
    place: int
    drive: int


class JointRows(NamedTuple):
    """Rows and drives of a world, the step in progress and its island.

    A world has a fixed list of rows, in the order of their classes in an island's problem, [L; G; B]. The place in that
    list is the row's persistent number. Stops take part in a step if they may be reached, all other rows always.

    Sizes: n rows, nd drives, nloop rows of loops. Within an island: nl rows L, ng rows G, nbox rows B, and m rows with
    the contact rows.
    """

    # Constant fields.
    damping: FloatArray  # (nv,) viscous [N m s/rad, N s/m]
    rows: Any  # (n,) records with the numbers of a `contactlab.world.JointRow`, its kind and the rank of its class
    row_trees: IntArray  # (n + 1,) trees of row i: trees[row_trees[i] : row_trees[i + 1]], ascending
    trees: IntArray
    drives: Any  # (nd,) records `Drive`
    springs: Any  # (ns,) records `Spring`
    loop_ints: IntArray  # buffers of the model and its loops, as in `constraint_rows`
    loop_floats: FloatArray
    # The step in progress.
    target: FloatArray  # (nd,) targets of the drives, position or speed
    target_table: FloatArray  # (steps, nd) targets of each step, if given as a table
    loop_G: FloatArray  # (nloop, nv)
    loop_error: FloatArray  # (nloop,) position errors
    loop_rate: FloatArray  # (nloop,) prescribed rate of the rows, independent of v
    loop_scale: FloatArray  # (nloop,) sizes of the terms that add up to the rows' entries
    loop_work: FloatArray
    empty_floats: FloatArray  # (0,)
    active: IntArray  # (n,) whether the row takes part
    missed: IntArray  # (n,) stops that were left out, and that v+ would pass
    error: FloatArray  # (n,) gap of a stop, position error of others
    row_start: IntArray  # (nt + 1,) rows of island i: island_rows[row_start[i] : row_start[i + 1]]
    island_rows: IntArray  # (n,)
    z: FloatArray  # (n, 2) LCP variables
    was_active: IntArray  # (n,) whether the row took part in the previous step
    previous_z: FloatArray  # (n, 2)
    # The island in progress without its rows G: [N; F; L; B], in flat buffers of at least the size needed. J and Y are
    # filled in the columns of the island's spans; the others are filled when M is assembled.
    J: FloatArray  # m nv
    Y: FloatArray
    k: FloatArray  # m
    gamma: FloatArray
    f: FloatArray
    locked: IntArray
    posed: FloatArray  # 2 m: see `lcp.contacts.kernels.island_acceptance.Case`
    v0: FloatArray  # nv
    P: FloatArray  # ng ng
    G_scale: FloatArray  # ng, sizes of the terms that add up to the entries of rows G
    G_error: FloatArray  # ng, their position errors
    work: FloatArray
    lo: FloatArray  # nbox
    hi: FloatArray
