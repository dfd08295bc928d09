"""The memory of the compiled loop: its arrays by name, and the records that say where it stands.

Everything the loop knows lives in these arrays, so that a stage can be called alone on them. One that needs something
returns to Python with a reason, and runs again when the loop is entered again.

Sizes: nb bodies, nl links, nt trees of links, nq and nv of the model, np support points, ns half-spaces, r = edges/2
friction directions per contact, w = 2 + 2 r LCP variables per contact; within an island nc contacts, nr = r nc,
m = nc + nr rows, n = 2 nc + 2 nr LCP variables.

Links, and with them degrees of freedom, stand tree by tree. The mass matrix has nothing in the rows and columns of a
tree but the tree's own.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Why the loop returned.
OK: Final = -1  # the steps asked for are made, or one that is to be looked at
NEED_SPACE: Final = -2  # something is missing, and control.short says what: supply it, enter again
UNSOLVED: Final = -3  # an island has no forces, or, where control.failure is set, the step cannot be made: see `Driver`

# Pivots after which a solve under way is UNSOLVED, so that Python can heed Ctrl-C.
PIVOT_BUDGET: Final = 256

# Stages of a step: see the diagram in `step`. Each returns the one that follows, or a reason.
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

# Entries of `looks`: whether each step is alone in the chunk, and which of these are to be looked at besides the first:
# those beyond a number, and those after which more islands than a number have gone unsolved; whether the last is one.
ALONE: Final = 0
NEXT: Final = 1
MORE_UNSOLVED: Final = 2
LOOK: Final = 3

# Values of Parameters.solver and gyroscopic, and of Control.failure and short.
SOLVER_EXTERNAL: Final = 0
SOLVER_LEMKE: Final = 1
SOLVER_LEMKE_FIRST: Final = 2  # what the kernel leaves unsolved goes to the rest of a cascade outside
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
FAILURE_INCONSISTENT: Final = 5  # the current island's bilateral equations contradict one another
FAILURE_LARGE: Final = 6  # no forces were selected, and the LCP has too many unknowns to pivot
FAILURE_SPACE: Final = 7  # the island's arrays would take more memory than there is
FAILURE_SINGULAR: Final = 8  # a degree of freedom moves no mass; the last code: `free_motion` adds its number
SHORT_OF_CONTACTS: Final = 0
SHORT_OF_PAIRS: Final = 1
SHORT_OF_PAIR_CONTACTS: Final = 2  # of one pair of shapes
SHORT_OF_ISLAND: Final = 3  # its `IslandProgress` says how large the island is
SHORT_OF_ROWS: Final = 4  # of the chunk: take them, reset the counters
SHORT_OF_CODE: Final = 5  # the part of the loop that has the stage `wanted` is not compiled
#: Unknowns of an LCP that is formed where forces are selected.
MAX_UNKNOWNS: Final = 4000

# Which of the forces that solve an island it has: `contactlab.certificate.ForceChoice`.
CHOICE_ANY: Final = 1
CHOICE_EQUAL_COMPLIANCE: Final = 2
CHOICE_OTHER_SOLUTION: Final = 3
CHOICE_UNCERTIFIED: Final = 4
# The verdict on an answer with exact cones, and on a friction backend's by the law that it states, which
# `formulation.friction_backend` decides.
REFUSED: Final = 0
ANSWERED: Final = 1
NEARLY: Final = 2  # no answer, and near enough to go on with
# Violation and energy that forces without a certificate may have: see `verify_island`.
UNCERTIFIED_TOLERANCE: Final = 1e-4
UNCERTIFIED_RESIDUAL: Final = 3e-4
PASSIVITY_TOLERANCE: Final = 1e-6

# Marks of trees.
AWAKE: Final = 0
ASLEEP: Final = 1
WOKEN: Final = 2  # awake, by something other than a body that has not rested as long

# Whether forces that hold an island at rest were looked for.
REST_UNTRIED: Final = 0
REST_WANTED: Final = 1
REST_TRIED: Final = 2

# Value of IslandProgress.strategies_tried when nothing is left to try.
ALL_TRIED: Final = 2
# Friction cones of a contact at most, where there are moments: of sliding, of spin, of rolling.
CONES: Final = 3

# Times in a step that contacts and stops are looked for again, by v+.
LOOKS: Final = 4

# Contact modes.
OPEN: Final = 0
STICK: Final = 1
SLIDE: Final = 2

# A contact is sticking when its slip speed is below this fraction of the speeds its points would have without contacts.
STICK_FRACTION: Final = 1e-8

# Columns of the trees.
TREE_LINK: Final = 0  # first link
TREE_DOF: Final = 1  # first degree of freedom
TREE_BLOCK: Final = 2  # place of the mass matrix in Work.L
TREE_INTS: Final = 3

# Entries of PackedWorld.free: how a tree moves where no row acts on it, its place in the buffers of trees that are
# models of their own, and its entries of q.
FREE_KIND: Final = 0
FREE_INT: Final = 1
FREE_INT_END: Final = 2
FREE_FLOAT: Final = 3
FREE_FLOAT_END: Final = 4
FREE_Q: Final = 5
FREE_Q_END: Final = 6
FREE_INTS: Final = 7

# Values of FREE_KIND: by Euler's rule; kicked, then free of forces; with weights and applied forces all along.
FREE_EULER: Final = 0
FREE_KICKED: Final = 1
FREE_ALONE: Final = 2

# Columns of the bodies, -1 for one that is fixed to the world.
BODY_TREE: Final = 0
BODY_ROOT: Final = 1  # root link of the tree
BODY_DOF: Final = 2  # the degree of freedom next to it on its way to the root
BODY_INTS: Final = 3

# The ids of contacts from outside the loop begin here. Ids of half-spaces with support points end below, and ids of
# pairs of shapes are negative.
EXTERNAL_ID: Final = 1 << 62
# Bits of a half-space, and of a support point, in the id of their contact.
ID_BITS: Final = 21

# Columns of the current contacts (integers, floats).
BODY_A: Final = 0
BODY_B: Final = 1
HALF_SPACE: Final = 2  # -1 where none of the world's is touched
CONTACT_ID: Final = 3
PREVIOUS: Final = 4  # row of the same contact in the previous step, -1 when new
SHAPE_A: Final = 5  # -1 for a half-space of the world, and for contacts from outside the loop
SHAPE_B: Final = 6
CONTACT_INTS: Final = 7
POINT: Final = 0  # 3
NORMAL: Final = 3  # 3
GAP: Final = 6
MU: Final = 7
RESTITUTION: Final = 8
VN_MINUS: Final = 9
VN_FREE: Final = 10  # normal velocity after the step without contact forces; for islands, like the tangents
TANGENTS: Final = 11  # 6
GAP_CORRECTION: Final = 17  # change of gap + h N v by rotation in the step [m], at most 0
CONTACT_FLOATS: Final = 18

# Shapes whose pairs fit a contact id, next to 31 bits of a feature; and the lowest of all ids. The ids of pairs are
# negative, ids of half-spaces with support points are not.
MAX_SHAPES: Final = 1 << 16
FEATURE_BITS: Final = 31
LOWEST_ID: Final = -(1 << 63)

MEASURES: Final = 8  # lcp.kernels.residuals.SIZE
CERTIFICATE: Final = 24  # of certify, certify_boxed and certify_bilateral, one behind the other
SCRATCH: Final = 64


class StepControl:
    """Progress of a run, what the loop needs, and limits; flags are 0 or 1.

    The class states the fields of a record (`memory.new_record`), which kernels and Python read and write alike.
    """

    stage: int  # of the step, that runs next; one that returned a reason runs again
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
    n_found: int  # with the contacts of bodies asleep; -1: stops were left out that v+ would pass
    again: int  # how often contacts were looked for again, by the velocities that the step led to
    n_islands: int
    island: int  # the one being treated
    failure: int
    allow_uncertified: int  # whether the best forces found may do where nothing is certified
    uncertified: int  # islands so far for which they did, also in failed steps
    # Where the loop returned NEED_SPACE: which buffer is too small, and how many entries are wanted. Where the failure
    # is FAILURE_SINGULAR: the degree of freedom that moves no mass.
    short: int
    wanted: int
    deep: int  # whether anything in the step is deeper than is allowed, and positions are projected


class IslandProgress:
    """Sizes of the island in progress, and how far its forces have come: the fields of a record, like `StepControl`."""

    # Contacts, friction, velocities, rows L, G and B, and the variables of its LCP.
    nc: int
    ncone: int  # friction cones, with the cones of moments; nr are their rows F
    nr: int
    nv: int
    nl: int
    ng: int
    nbox: int
    n: int
    has_z0: int
    pivots: int  # -1 while the LCP is being solved
    warm_hit: int
    attempt: int  # that answered it, of `lcp.contacts.kernels.strategy_loop`, or NO_STRATEGY
    systems: int  # solved in all attempts at it
    strategies_tried: int  # attempts at forces selected that were made in vain: 0 none, 1 the first, ALL_TRIED all
    rest: int  # whether forces that hold it at rest were looked for: REST_UNTRIED, REST_WANTED, REST_TRIED
    choice: int
    answered: int  # the verdict on an answer with exact cones or of a friction backend: REFUSED, ANSWERED or NEARLY


class Parameters:
    """Time, step size and the numbers and options of the stepper: the fields of a record, like `StepControl`."""

    h: float  # the step in progress, or of the next one
    time: float
    last_h: float  # the step that led to the present state
    end: float  # no step begins at this time or later; infinite where Control.target alone decides
    h_max: float  # step wanted, and the factor by which a smaller one grows back to it
    growth_factor: float
    margin: float  # of contacts and stops of lengths, and the speed of their impacts; the same of stops of angles
    more: float  # that contacts are looked for beyond it, where those that take part are listed
    restitution_threshold: float
    angle_margin: float
    angle_restitution_threshold: float
    erp: float
    cfm: float
    allowance: (
        float  # depth [m] that is left alone, and speed [m/s] at which more is undone at most; negative: see `blocks`
    )
    fastest: float
    tolerance: float
    # Options; flags are 0 or 1.
    edges: int  # of a friction pyramid
    exact_cone: int  # whether friction has the exact cone: islands without equal-compliance forces are solved outside
    gyroscopic: int  # torque of single free links
    accurate: int  # whether free trees of several links move by the Runge-Kutta method
    solver: int
    warm_start: int
    use_strategies: int  # whether a proposal may take the place of a solve
    require_equal_compliance: int  # whether strategies look for forces of equal compliance, not near the previous ones
    backend: int  # whether a friction backend solves islands with contacts: they are solved, and judged, outside
    enabled_strategies: int  # bits of the attempts that may be made
    adaptive: int  # whether a failed step is tried again with a smaller h
    reduce: int  # whether a pair of shapes keeps four contacts at most
    projection: int  # whether q is moved out of penetrations after the step
    sleep: int  # whether islands at rest sleep
    sleep_speed: float  # every velocity below which an island rests, and how long it must
    sleep_time: float


class PackedWorld(NamedTuple):
    """Arrays that do not change during a run."""

    ints: IntArray  # the model's buffers: `contactlab.multibody.kernels.layout.tree` cuts them
    floats: FloatArray
    fixed: FloatArray  # (4,) mass of bodies fixed to the world [kg], its first moment [kg m]
    trees: IntArray  # (nt + 1, TREE_INTS) where each tree begins
    bodies: IntArray  # (nb, BODY_INTS) where each body hangs
    dof_parent: IntArray  # (nv,) the next degree of freedom towards the root, -1 for none
    branch: IntArray  # (nv,) the same, counted within the tree
    point_start: IntArray  # (nb + 1,) support points of body b: point_start[b] .. point_start[b + 1]
    points: FloatArray  # (np, 3) m, body axes
    radii: FloatArray  # (np,) m
    normals: FloatArray  # (ns, 3) outward
    offsets: FloatArray  # (ns,) m
    point_shape: IntArray  # (np,) the shape each point is of
    pair_mu: FloatArray  # (shapes, ns), -1 where the two never touch
    plane: FloatArray  # (3,) unit normal of a planar world's plane, 0 in space
    motion: IntArray  # (nb,) row of a kinematic body among their number nk, -1 for any other
    material: IntArray  # (shapes + ns,) number of each surface's material, half-spaces last
    restitution: FloatArray  # (m, 5) laws of the materials: `contactlab.contact.kernels.contact_rows`
    stiffness: FloatArray  # (m, m) N/m by pair of materials, infinite for rigid ones
    dissipation: FloatArray  # (m, m) N s/m
    # (shapes + 1,) m: smallest and largest edge of a shape's box, infinite for grounds; last the least of all.
    extent: FloatArray
    longest: FloatArray
    # (nv,) how positions of single free bodies are projected: along a velocity by this share of its force, 1 / m, and
    # not about one with -1; by the inertia where it is 0.
    shifting: FloatArray
    # (nt, FREE_INTS) trees of several links, each a model of its own; no rows where the world has none.
    free: IntArray
    free_ints: IntArray  # their buffers, one behind the other
    free_floats: FloatArray


class Collision(NamedTuple):
    """Shapes that may touch one another, n of them, shapes of bodies first, of m materials; and workspaces."""

    kind: IntArray  # (n,), and the next four: `contactlab.contact.kernels.layout`
    size: FloatArray
    place: FloatArray
    data: FloatArray
    loops: IntArray
    body: IntArray  # (n,) -1 for the world's half-spaces
    link: IntArray  # (n,) the link it moves with, negative when fixed to the world; shapes of one link never touch
    half_space: IntArray  # (n,) number of the world's half-space, -1 for other shapes
    category: IntArray  # (n,) bits, as `sweep_and_prune.candidates` takes them
    mask: IntArray  # (n,)
    excluded: IntArray  # ascending: the pairs i n + j, i < j, that never touch besides
    material: IntArray  # (n,)
    pair_mu: FloatArray  # (m, m)
    poses: FloatArray  # (n, 12) of the shapes in the world
    boxes: FloatArray  # (n, 6) bounds, moved out by the reach
    predicted: FloatArray  # (n, 12) poses predicted for the end of the step
    deviation: FloatArray  # (n,) m: how far the shape then has left its straight way, at most
    reach: FloatArray  # (n,) m: share in the gap up to which contacts are looked for
    order: IntArray  # (n,) by which the last sweep went
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
    tau_table: FloatArray  # (steps, nv) what tau is in each step; no rows where it is not told so
    W_predicted: FloatArray  # a second head: the poses predicted for the end of the step
    W: FloatArray  # workspace of the multibody kernels; its head holds the kinematics at (q, v) until FINISH
    S: FloatArray  # (nv, 6) motion columns: a view of that head
    origins: FloatArray  # (nl, 3) m, origins of the links: another one
    bias: FloatArray  # (nv,) forces of gravity and velocities, on the left-hand side, until M is factorised
    momentum: FloatArray  # (nv,) M v
    L: FloatArray  # the trees' mass matrices, factorised, one after the other
    centers: FloatArray  # (np, 3) m, support points in world axes
    Mv: FloatArray  # (nv,) M v + h tau_total
    v_free: FloatArray  # (nv,) its velocity: the one after the step if there were no contacts
    v_plus: FloatArray  # (nv,)
    v_seen: FloatArray  # (LOOKS, nv) what it was when contacts were looked for again
    dv_deps: FloatArray  # (nv,) from step to step: by which motion forces that were selected are spread over contacts
    motion_pose: FloatArray  # (nk, 12) kinematic bodies at the start of the step, rotations by rows
    motion_twist: FloatArray  # (nk, 6) in it: angular velocity, velocity of the origin, world axes
    motion_next: FloatArray  # (nk, 12) at its end
    belt_twist: FloatArray  # (nk, 6) twist of the surface relative to its body: 0 but for belts
    projection_displacement: FloatArray  # (nv,) displacement of the position projection
    q_plus: FloatArray  # (nq,) q moved along v_plus and by the shift, and the energies there
    energy: FloatArray  # (2,) kinetic, potential [J]
    contact_int: IntArray  # (capacity, CONTACT_INTS)
    contact_float: FloatArray  # (capacity, CONTACT_FLOATS)
    contact_z: FloatArray  # (capacity, w) LCP variables by contact, see `contactlab.stepping.kernels.moments`
    contact_moment: FloatArray  # (capacity, 3) impulse [N m s] of torsional and rolling friction on body B
    listed: IntArray  # ids of the contacts that take part, ascending, where a step that was recorded is formed again
    external_int: IntArray  # (given, CONTACT_INTS) contacts from outside the loop for this step, ascending in id
    external_float: FloatArray  # (given, CONTACT_FLOATS), VN_MINUS not filled
    previous_id: IntArray  # (capacity,)
    previous_z: FloatArray  # (capacity, w)
    union_find_parent: IntArray  # (nt,) union-find
    island_of: IntArray  # (nt,) -1 without contacts
    tree_offset: IntArray  # (nt,) where the tree's velocities begin in its island
    tree_start: IntArray  # (nt + 1,) trees of island i: island_trees[tree_start[i] : tree_start[i + 1]]
    island_trees: IntArray  # (nt,)
    asleep: IntArray  # (nt,) mark of each tree in the step
    rest: FloatArray  # (nt,) s that each tree has rested
    previous_tau: FloatArray  # (nv,) applied force in the step before
    products: FloatArray  # (nv,) what velocity products have added to Mv, taken off
    parts: IntArray  # (nt,) parts in which the tree was moved by the Runge-Kutta method, 0 where it was not
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
    contact_jacobian_work: FloatArray  # 10 nv scratch: motion of one contact's point, and the response to it
    edge_directions: FloatArray  # (r, 2) cosines and sines of the friction directions
    column_ranges: IntArray  # (m, 4) columns of each row that are filled; the others are while M is assembled
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
    best_z: FloatArray  # n: of the forces that came closest to solving it, and how close
    state: FloatArray  # (STATE,) of lcp.contacts.kernels.island_acceptance
    strategy_float_work: FloatArray  # of lcp.contacts.kernels.strategy_loop
    strategy_int_work: IntArray
    options: FloatArray  # of lcp.kernels.lemke
    float_work: FloatArray
    int_work: IntArray
    info: IntArray


class Chunk(NamedTuple):
    """Rows recorded since the chunk was last taken, by the names that a record has for them (`record_schema`)."""

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
    rest: FloatArray  # (steps, nt) after it
    drive_target: FloatArray  # (steps, nd)
    contact: Any  # (contacts,) records, and the two below
    contact_z: FloatArray  # (contacts, w)
    joint: Any
    island: Any


# Ranks of classes of rows: equations that give way, of FOLLOW and LOOP, are boxed where the stepper has a cfm.
LIMIT: Final = 0
EQUATION: Final = 1
COMPLIANT_EQUATION: Final = 2
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


class JointRows(NamedTuple):
    """Rows and drives of a world, the step in progress and its island.

    A world has a fixed list of rows, in the order of their classes in an island's problem, [L; G; B]. The place in that
    list is the row's persistent number. Stops take part in a step where they may be reached, all others always.

    Sizes: n rows, nd drives, nloop rows of loops; within an island nl rows L, ng rows G, nbox rows B, and m rows in
    all, contact rows included.
    """

    # Constant fields.
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
    empty_floats: FloatArray  # (0,)
    active: IntArray  # (n,) whether the row takes part
    missed: IntArray  # (n,) stops that were left out, and that the step would have passed
    error: FloatArray  # (n,) gap of a stop, position error of others
    row_start: IntArray  # (nt + 1,) rows of island i: island_rows[row_start[i] : row_start[i + 1]]
    island_rows: IntArray  # (n,)
    z: FloatArray  # (n, 2) LCP variables
    was_active: IntArray  # (n,) whether the row took part in the previous step
    previous_z: FloatArray  # (n, 2)
    # The island in progress without its rows G: [N; F; L; B], in flat buffers of at least the size needed, J
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
