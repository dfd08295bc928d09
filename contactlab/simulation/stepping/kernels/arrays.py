"""The memory of the compiled loop: its arrays by name.

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

from contactlab.simulation.stepping.kernels.layout import (
    BODY_INTS,
    CERTIFICATE,
    CONTACT_FLOATS,
    CONTACT_INTS,
    FREE_INTS,
    LOOKS,
    MEASURES,
    SCRATCH,
    TREE_INTS,
)

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
        chosen = {name: cls.arrays[name] for name in cls._fields[begin:end] if cls.arrays[name][0] is not np.void}
        return {
            name: np.zeros(tuple(lengths[axis] if isinstance(axis, str) else axis for axis in axes), kind)
            for name, (kind, *axes) in chosen.items()
        }

    def enlarged(self, axis: str, length: int) -> Self:
        """Return these arrays, but with a longer axis of this name where they have it; new entries are 0."""
        grown = {}
        for name, (_, *axes) in self.arrays.items():
            if axis in axes:
                old = getattr(self, name)
                shape = [length if one == axis else size for one, size in zip(axes, old.shape, strict=True)]
                grown[name] = np.zeros(shape, dtype=old.dtype)
                grown[name][tuple(map(slice, old.shape))] = old
        return self._replace(**grown)

    def with_workspaces(self, held: Self, first: str) -> Self:
        """Return these arrays up to ``first``, and from there the arrays of ``held``."""
        at = self._fields.index(first)
        return type(self)(*self[:at], *held[at:])


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
        "kind": ints("n"),  # and the next four: `contactlab.collision.kernels`
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
        "rows": RECORDS,  # (n,) the numbers of a `JointRow` of the world, its kind and the rank of its class
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
        "contact": (np.void, "B", "contacts"),
        "joint_rows": ints("B"),
        "joint": (np.void, "B", "n"),
    }


class JointWarmStart(ArrayTuple):
    """Arrays of `JointRows` with the previous step's variables, and the targets."""

    arrays: ClassVar[Arrays] = {name: JointRows.arrays[name] for name in ("was_active", "previous_z", "target")}


class ChunkStart(ArrayTuple):
    """The state before the chunk in memory; a run's last step begins there if the chunk has no earlier row."""

    arrays: ClassVar[Arrays] = {"q": floats("nq"), "v": floats("nv"), "time": floats(1)}
