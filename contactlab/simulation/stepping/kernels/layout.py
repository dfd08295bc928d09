"""The memory of the compiled loop: its arrays by name, and the records of its progress.

These arrays hold the whole state of the loop, so each stage can be called separately on them. A stage that needs
something returns to Python with a reason, and runs again when the loop is entered again.

Sizes: nb bodies, nl links, nt trees of links, nq and nv of the model, np support points, ns half-spaces, r = edges/2
friction directions per contact, w = 2 + 2 r LCP variables per contact; within an island nc contacts, nr = r nc,
m = nc + nr rows, n = 2 nc + 2 nr LCP variables.

Links and degrees of freedom are ordered tree by tree. The mass matrix is block diagonal, with one block per tree.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

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
# `formulation.friction_backend`. NEARLY is not a solution, but close enough to continue.
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


#: Type of numbers and axes of each array, by name; axes are numbers, or names of lengths.
Arrays = dict[str, tuple[Any, ...]]


class ArrayTuple(tuple[Any, ...]):
    """Base of the named tuples of arrays below."""

    __slots__ = ()
    arrays: ClassVar[Arrays] = {}
    _fields: ClassVar[tuple[str, ...]]

    def __init_subclass__(cls) -> None:
        cls._fields = tuple(cls.arrays)
        for name, getter in vars(namedtuple(cls.__name__, cls._fields)).items():
            if name in cls.arrays:
                setattr(cls, name, getter)

    def __new__(cls, *given: Any, **named: Any) -> Self:
        """Return a tuple of arrays that are given in order, or by name."""
        values = *given, *(named.pop(name) for name in cls._fields[len(given) :])
        if named:
            raise TypeError(f"{cls.__name__} has no {', '.join(named)}")
        return super().__new__(cls, values)

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> NDArray[Any]: ...

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(self._fields, self, strict=True))

    def _replace(self, **changed: Any) -> Self:
        return type(self)(**(self._asdict() | changed))

    @classmethod
    def zeros(cls, lengths: Mapping[str, int], first: str | None = None, last: str | None = None) -> dict[str, Any]:
        """Return new arrays by name, from ``first`` to ``last`` or all, except records.

        ``lengths`` has the lengths of named axes.
        """
        begin = 0 if first is None else cls._fields.index(first)
        end = None if last is None else cls._fields.index(last) + 1
        chosen = {name: cls.arrays[name] for name in cls._fields[begin:end] if cls.arrays[name] != RECORDS}
        return {
            name: np.zeros(tuple(lengths[axis] if isinstance(axis, str) else axis for axis in axes), kind)
            for name, (kind, *axes) in chosen.items()
        }


def floats(*axes: int | str) -> tuple[Any, ...]:
    """Return the entry of an array of numbers in `ArrayTuple.arrays`."""
    return np.float64, *axes


def ints(*axes: int | str) -> tuple[Any, ...]:
    """Return the entry of an array of integers."""
    return np.int64, *axes


#: The entry of an array of records, whose type is elsewhere.
RECORDS: Final = (np.void, "records")


class PackedWorld(ArrayTuple):
    """Arrays that do not change during a run."""

    arrays: ClassVar[Arrays] = {
        "ints": ints("model"),  # the model's buffers: `contactlab.multibody.kernels.layout.tree` cuts them
        "floats": floats("model"),
        "fixed": floats(4),  # mass of bodies fixed to the world [kg], its first moment [kg m]
        "trees": ints("nt + 1", TREE_INTS),  # where each tree begins
        "bodies": ints("nb", BODY_INTS),  # the tree and link of each body
        "dof_parent": ints("nv"),  # the next degree of freedom towards the root, -1 for none
        "branch": ints("nv"),  # dof_parent, counted within the tree
        "point_start": ints("nb + 1"),  # support points of body b: point_start[b] .. point_start[b + 1]
        "points": floats("np", 3),  # m, body axes
        "radii": floats("np"),  # m
        "normals": floats("ns", 3),  # outward
        "offsets": floats("ns"),  # m
        "point_shape": ints("np"),  # the shape of each point
        "pair_mu": floats("shapes", "ns"),  # -1 for pairs without contact
        "plane": floats(3),  # unit normal of a planar world's plane, 0 in space
        "motion": ints("nb"),  # row of a kinematic body among their number nk, -1 for any other
        "material": ints("shapes + ns"),  # number of each surface's material, half-spaces last
        "restitution": floats("m", 5),  # laws of the materials: `contactlab.collision.kernels.contact_rows`
        "stiffness": floats("m", "m"),  # N/m by pair of materials, infinite for rigid ones
        "dissipation": floats("m", "m"),  # N s/m
        # m: smallest and largest edge of a shape's box, infinite for grounds; the last entry is the minimum.
        "extent": floats("shapes + 1"),
        "longest": floats("shapes + 1"),
        # Position projection of single free bodies: 1 / m for velocities along which they are shifted, -1 for turns,
        # which are suppressed, and 0 if the inertia decides.
        "shifting": floats("nv"),
        # Trees of several links, each as a separate model; no rows if the world has none.
        "free": ints("nt", FREE_INTS),
        "free_ints": ints("free"),  # their buffers, concatenated
        "free_floats": floats("free"),
    }


class Collision(ArrayTuple):
    """Shapes that may touch one another, n of them with m materials, the shapes of bodies first; and workspaces."""

    arrays: ClassVar[Arrays] = {
        "kind": ints("n"),  # and the next four: `contactlab.collision.kernels.layout`
        "size": floats("n", "sizes"),
        "place": floats("n", 12),
        "data": floats("data"),
        "loops": ints("loops"),
        "body": ints("n"),  # -1 for the world's half-spaces
        "link": ints("n"),  # the link it moves with, negative if fixed to the world; shapes of one link never touch
        "half_space": ints("n"),  # number of the world's half-space, -1 for other shapes
        "category": ints("n"),  # bits, as in `sweep_and_prune.candidates`
        "mask": ints("n"),
        "excluded": ints("excluded"),  # ascending: further pairs i n + j, i < j, that never touch
        "material": ints("n"),
        "pair_mu": floats("m", "m"),
        # Workspaces.
        "poses": floats("n", 12),  # of the shapes in the world
        "boxes": floats("n", 6),  # bounds, enlarged by the reach
        "predicted": floats("n", 12),  # poses predicted for the end of the step
        "deviation": floats("n"),  # m: maximum deviation of the shape from straight motion by then
        "reach": floats("n"),  # m: its contribution to the gap up to which contacts are found
        "order": ints("n"),  # order of the last sweep
        "keys": floats("n"),
        "pairs": ints("pairs"),  # candidates
        "work": floats(0),  # of `collide_pair`
        "ints": ints(0),
        "points": floats("contacts", 7),  # contacts of one pair
        "features": ints("contacts"),
    }


class MomentFriction(ArrayTuple):
    """Torsional and rolling friction of a world in which any pair of surfaces has it."""

    arrays: ClassVar[Arrays] = {
        "torsional": floats("m", "m"),  # lengths [m] by pair of materials
        "rolling": floats("m", "m"),
        "axes": floats("rows", 3),  # directions of the rows of moments of the island in progress
    }


class StepWork(ArrayTuple):
    """State, contacts and islands of the step in progress; the lengths of contacts are capacities."""

    arrays: ClassVar[Arrays] = {
        "W_predicted": floats("W"),  # a second head: poses predicted for the end of the step
        "W": floats("W"),  # workspace of the multibody kernels; its head has the kinematics at (q, v) until INTEGRATE
        "S": floats("nv", 6),  # motion columns: a view of the head of W
        "origins": floats("nl", 3),  # m, origins of the links: another view
        "q": floats("nq"),
        "v": floats("nv"),
        "tau": floats("nv"),
        "tau_table": floats(0, "nv"),  # (steps, nv) tau of each step; no rows if tau is not given as a table
        "bias": floats("nv"),  # forces of gravity and velocities, on the left-hand side, until M is factorised
        "momentum": floats("nv"),  # M v
        "L": floats("L"),  # the factors of the trees' mass matrices, concatenated
        "inverse_pivots": floats("nv"),  # 1 / L_jj
        "centers": floats("np", 3),  # m, support points in world axes
        "Mv": floats("nv"),  # M v + h tau_total
        "v_free": floats("nv"),  # M^-1 Mv: the velocity after the step without contacts
        "v_plus": floats("nv"),
        "v_seen": floats(LOOKS, "nv"),  # v+ at each repeated search for contacts
        "dv_deps": floats("nv"),  # derivative of v by the compliance eps of the selected forces, kept between steps
        "motion_pose": floats("nk", 12),  # kinematic bodies at the start of the step, rotations by rows
        "motion_twist": floats("nk", 6),  # in the step: angular velocity, velocity of the origin, world axes
        "motion_next": floats("nk", 12),  # at the end of the step
        "belt_twist": floats("nk", 6),  # twist of the surface relative to its body: 0 except for belts
        "projection_displacement": floats("nv"),  # displacement of the position projection
        "q_plus": floats("nq"),  # q moved along v_plus and by the projection; then its energies
        "energy": floats(2),  # kinetic, potential [J]
        "contact_int": ints("contacts", CONTACT_INTS),
        "contact_float": floats("contacts", CONTACT_FLOATS),
        "contact_z": floats("contacts", "w"),  # LCP variables, see `contactlab.simulation.stepping.kernels.moments`
        "contact_island": ints("contacts"),
        "contact_moment": floats("contacts", 3),  # impulse [N m s] of torsional and rolling friction on body B
        "listed": ints(0),  # ascending ids of the contacts that take part, if a recorded step is formed again
        "external_int": ints(0, CONTACT_INTS),  # external contacts of this step, ascending in id
        "external_float": floats(0, CONTACT_FLOATS),  # VN_MINUS is not filled
        "previous_id": ints("contacts"),
        "previous_z": floats("contacts", "w"),
        "union_find_parent": ints("nt"),
        "island_of": ints("nt"),  # -1 without contacts
        "tree_offset": ints("nt"),  # first velocity of the tree in its island
        "tree_start": ints("nt + 1"),  # trees of island i: island_trees[tree_start[i] : tree_start[i + 1]]
        "island_trees": ints("nt"),
        "asleep": ints("nt"),  # AWAKE, ASLEEP or WOKEN
        "rest": floats("nt"),  # s for which each tree has rested
        "previous_tau": floats("nv"),  # applied force in the previous step
        "products": floats("nv"),  # contribution of velocity products to Mv, subtracted
        "parts": ints("nt"),  # substeps of the tree in the Runge-Kutta method, 0 if it is not used
        "free": floats("free"),  # memory of that method
        "island_nv": ints("nt"),  # velocities of island i
        "contact_start": ints("nt + 1"),  # as tree_start, for contacts
        "island_contacts": ints("contacts"),
        "scratch": floats(SCRATCH),
    }


class IslandWork(ArrayTuple):
    """Blocks, LCP and solution of the island in progress, in flat buffers of at least the size needed."""

    arrays: ClassVar[Arrays] = {
        "progress": RECORDS,  # (1,) the record `IslandProgress`
        "options": floats("options"),  # of lcp.kernels.lemke
        "r": ints("ncone"),
        "mu": floats("ncone"),
        "cone_contacts": ints("ncone"),
        "J": floats("m nv"),
        "Y": floats("m nv"),
        "contact_jacobian_work": floats("10 nv"),  # Jacobian of one contact's point, its product with M^-1, scratch
        "edge_directions": floats("r", 2),  # cosines and sines of the friction directions
        "column_ranges": ints("m", "spans"),  # columns of each row that are filled; assembly of M fills the others
        "tree_starts": ints("trees + 1"),  # first velocity of each tree
        "k": floats("m"),
        "gamma": floats("m"),
        "gammaE": floats("ncone"),
        "Mv": floats("nv"),
        "v_free": floats("nv"),
        "M": floats("dense dense"),
        "q": floats("n"),
        "z0": floats("n"),
        "z": floats("n"),
        "w": floats("n"),
        "f": floats("m"),
        "v_plus": floats("nv"),
        "dv_deps": floats("nv"),
        "residuals": floats(MEASURES),  # of lcp.kernels.residuals
        "certificate": floats(CERTIFICATE),  # of the kernels certify... in contactlab.constraint_solver.kernels
        "certificate_work": floats("nv + 1"),
        "best_z": floats("n"),  # the forces with the smallest residual so far, and this residual
        "state": floats("state"),  # of lcp.contacts.kernels.island_acceptance
        "strategy_float_work": floats("strategy floats"),  # of lcp.contacts.kernels.strategy_loop
        "strategy_int_work": ints("strategy ints"),
        "float_work": floats("lemke floats"),  # of lcp.kernels.lemke, like the next two
        "int_work": ints("lemke ints"),
        "info": ints("info"),
    }


class Chunk(ArrayTuple):
    """Rows recorded since the chunk was last emptied, by their names in a record (`record_schema`)."""

    arrays: ClassVar[Arrays] = {
        "time": floats("steps"),
        "kinetic": floats("steps"),
        "potential": floats("steps"),
        "h": floats("steps"),
        "q": floats("steps", "nq"),
        "v": floats("steps", "nv"),
        "tau": floats("taus", "nv"),
        "motion_pose": floats("steps", "motions", 12),  # at the end of the step
        "motion_twist": floats("steps", "motions", 6),
        "asleep": ints("steps", "sleepers"),  # 1 for trees that slept through the step; no column without sleep
        "rest": floats("steps", "sleepers"),  # after the step
        "drive_target": floats("steps", "drives"),
        "contact": RECORDS,
        "contact_z": floats("contacts", "w"),
        "joint": RECORDS,
        "island": RECORDS,
    }


# Ranks of the row classes "G or B" and B of `RowKind`: compliant equations are boxed if the stepper has a cfm.
COMPLIANT_EQUATION, BOXED = 2, 3


class Spring(Record):
    """A part of a drive without bounds, which is implicit in the mass matrix: see `DriveTerm`."""

    fields: ClassVar[dict[str, type]] = {
        "dof": int,
        "place": int,
        "drive": int,
        **dict.fromkeys(("stiffness", "damping", "speed", "offset"), float),
    }


class JointRows(ArrayTuple):
    """Rows and drives of a world, the step in progress and its island.

    A world has a fixed list of rows, in the order of their classes in an island's problem, [L; G; B]. The place in that
    list is the row's persistent number. Stops take part in a step if they may be reached, all other rows always.

    Sizes: n rows, nd drives, nloop rows of loops. Within an island: nl rows L, ng rows G, nbox rows B, and m rows with
    the contact rows.
    """

    arrays: ClassVar[Arrays] = {
        # Constant fields.
        "damping": floats("nv"),  # viscous [N m s/rad, N s/m]
        "rows": RECORDS,  # (n,) the numbers of a `contactlab.simulation.world.JointRow`, its kind and the rank of its class
        "row_trees": ints("n + 1"),  # trees of row i: trees[row_trees[i] : row_trees[i + 1]], ascending
        "trees": ints("trees"),
        "needs_position": ints("nd"),  # whether the drive's target is a position
        "springs": RECORDS,  # (ns,) `Spring`
        "loop_ints": ints("loops"),  # buffers of the model and its loops, as in `constraint_rows`
        "loop_floats": floats("loops"),
        # The step in progress.
        "target": floats("nd"),  # targets of the drives, position or speed
        "target_table": floats(0, "nd"),  # (steps, nd) targets of each step, if given as a table
        "loop_G": floats("nloop", "nv"),
        "loop_error": floats("nloop"),  # position errors
        "loop_rate": floats("nloop"),  # prescribed rate of the rows, independent of v
        "loop_scale": floats("nloop"),  # sizes of the terms that add up to the rows' entries
        "loop_work": floats("loop work"),
        "empty_floats": floats(0),
        "active": ints("n"),  # whether the row takes part
        "missed": ints("n"),  # stops that were left out, and that v+ would pass
        "error": floats("n"),  # gap of a stop, position error of others
        "row_start": ints("nt + 1"),  # rows of island i: island_rows[row_start[i] : row_start[i + 1]]
        "row_island": ints("n"),  # -1 for rows that take no part
        "island_rows": ints("n"),
        "z": floats("n", 2),  # LCP variables
        "was_active": ints("n"),  # whether the row took part in the previous step
        "previous_z": floats("n", 2),
        # The island in progress without its rows G: [N; F; L; B], in flat buffers of at least the size needed. J and Y
        # are filled in the columns of the island's spans; the others are filled when M is assembled.
        "J": floats("m nv"),
        "Y": floats("m nv"),
        "k": floats("m"),
        "gamma": floats("m"),
        "f": floats("m"),
        "locked": ints("m"),
        "posed": floats("2 m"),  # see `lcp.contacts.kernels.island_acceptance.IslandProblem`
        "v0": floats("nv"),
        "P": floats("ng ng"),
        "G_scale": floats("ng"),  # sizes of the terms that add up to the entries of rows G
        "G_error": floats("ng"),  # their position errors
        "work": floats("work"),
        "lo": floats("m"),  # of nbox rows
        "hi": floats("m"),
    }
