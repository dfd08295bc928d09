"""The memory in which steps of one driver are differentiated, the calls that use it, and the position projection.

The displacement of the position projection (`stepping.kernels.projection`) changes the derivative of a step. The gaps
with a multiplier end at fixed values for any start, and sticking contacts are not moved along the surface. The
displacement with both properties, at constant rows and masses, is differentiated. This is exact for one contact of a
free body with a half-space, whose normal and mass do not change with q. Neglected terms are of the order of the
displacement: changes of rows and masses, sliding friction, and relaxation that ends before it has solved several rows.
Steps with a displacement are therefore reported as kinks.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from contactlab.derivatives import kernels as layout
from contactlab.derivatives.kernels import FASTEST, FORCE, GAMMA, RATE, DerivativeWork
from contactlab.derivatives.linearization import Parameter
from contactlab.multibody import difference, integrate, mass_matrix
from contactlab.multibody.constraints.kernels import row_rates_size
from contactlab.multibody.kernels import work_size
from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from contactlab.simulation.stepping.kernels.layout import TREE_DOF
from contactlab.simulation.stepping.prepared import layout_difference, prepare, world_arrays
from contactlab.simulation.world.errors import SimulationConfigError
from lcp.compiler import on_first_compilation

if TYPE_CHECKING:
    from contactlab.simulation.stepping.driver import Driver
    from contactlab.simulation.stepping.prepared import WorldArrays
    from lcp.compiler.bound_call import BoundCall


#: Maximum friction of a sticking contact, relative to its bound.
HOLDS = 1.0 - 1e-6


def hold_gaps(driver: Driver, m: DerivativeWork) -> None:
    """Subtract from the dq+ in m.A the change of the projection's displacement, which keeps corrected gaps fixed."""
    world, control, h = driver.prepared.world, driver.control, float(driver.parameters.last_h)
    nv = world.nv
    contacts = driver.chunk.contact[: int(control.n_contacts)]
    joints = driver.chunk.joint[: int(control.chunk_joints)]
    moved = set(contacts["island"][contacts["projection_multiplier"] > 0.0]) | set(
        joints["island"][joints["projection_multiplier"] > 0.0]
    )
    if not moved:
        return
    shifting = _shifting(driver, set(joints["island"]))
    # The rows R of the displacement, and the change of R dq, negated.
    rows, wanted = list[FloatArray](), list[FloatArray]()
    none = np.zeros(m.A.shape[1])
    for c, row in enumerate(contacts):
        own, frame = m.contact[c], m.frame[c, :3] * (shifting >= 0.0)
        if row["island"] not in moved or own[GAMMA] != driver.parameters.cfm:
            continue
        push, bears = row["projection_multiplier"], h * h * own[FORCE]
        if push > 0.0:
            change = h * (m.frame[c, 0] @ m.A[nv:])
            change[:nv] += m.gaps[c] + h * m.changes[c, 0, :nv]
            capped = row["gap"] + h * own[RATE] < -h * own[FASTEST]
            rows.append(frame[0])
            wanted.append(none if capped else change)
        friction = row["projection_multiplier_tangential"] + h * h * own[FORCE + 1 : FORCE + 3]
        if np.linalg.norm(friction) < HOLDS * row["mu"] * (bears + push):
            rows += [frame[1], frame[2]]
            wanted += [none, none]
    for row in joints:
        if row["island"] in moved:
            _add_joint_row(driver, row, m, h, rows, wanted)
    R = np.array(rows)
    inverse = np.linalg.inv(mass_matrix(world.model, m.q))
    alone = shifting != 0.0
    inverse[alone], inverse[:, alone] = 0.0, 0.0
    inverse[alone, alone] = np.maximum(shifting[alone], 0.0)
    Y = inverse @ R.T
    m.A[:nv] -= Y @ np.linalg.lstsq(R @ Y, np.array(wanted), rcond=1e-10)[0]


def _shifting(driver: Driver, joined: set[int]) -> FloatArray:
    """Return a copy of `PackedWorld.shifting` with 0 for trees of islands that have joint rows."""
    packed, work = driver.prepared.arrays.packed, driver.work
    shifting = packed.shifting.copy()
    for i in joined:
        for k in work.island_trees[work.tree_start[i] : work.tree_start[i + 1]]:
            shifting[packed.trees[k, TREE_DOF] : packed.trees[k + 1, TREE_DOF]] = 0.0
    return shifting


def _add_joint_row(
    driver: Driver, entry: np.void, m: DerivativeWork, h: float, rows: list[FloatArray], wanted: list[FloatArray]
) -> None:
    """Append a joint row that position projection acts on to ``rows``, and its prescribed change to ``wanted``.

    Rows are of stops with a multiplier, loops and mimics; nothing is appended for others. The change (columns,) of a
    stop is the derivative of its position in the step; it is zero for equations, and for corrections at the maximum
    speed.
    """
    from contactlab.constraint_solver.kernels import LIMIT, LOOP, MIMIC
    from contactlab.simulation.stepping.kernels.blocks import STOP_PROJECTION_RATE

    joints, nv = driver.joints, m.v.size
    assert joints is not None
    row = joints.rows[int(entry["row"])]
    J, change = np.zeros(nv), np.zeros(m.A.shape[1])
    if row["kind"] == LIMIT and entry["projection_multiplier"] > 0.0:
        J[row["dof"]] = row["sign"]
        fastest = driver.parameters.fastest if driver.parameters.fastest == np.inf else STOP_PROJECTION_RATE
        if entry["error"] + h * entry["rate"] >= -h * fastest:
            change = J @ m.A[:nv]
    elif row["kind"] == LOOP:
        J = joints.loop_G[int(row["loop_row"])].copy()
    elif row["kind"] == MIMIC:
        J[row["dof"]], J[row["other"]] = 1.0, -row["factor"]
    else:
        return
    rows.append(J)
    wanted.append(change)


#: Difference of a parameter, as a fraction of its scale: laws are smooth in it, and most are linear.
STRIDE = 1e-5


@functools.cache
def _announce() -> None:
    """Print once per process why the first derivative takes long; nothing if kernels are read from disk."""
    text = "compiling the derivatives of steps: about a minute, once for each kind of world on this machine"
    print(f"contactlab: {text} (contactlab warmup derivatives compiles them ahead) ...", file=sys.stderr, flush=True)


class Differentiator:
    """Differentiates the steps of one driver, each immediately after it is made.

    Parameters
    ----------
    driver
        Driver of the steps.
    parameters
        Parameters of its world by which steps are differentiated.
    """

    def __init__(self, driver: Driver, parameters: Sequence[Parameter] = ()) -> None:
        self._driver = driver
        self.parameters = tuple(parameters)
        self._near = [near for one in parameters for near in _perturbed_worlds(driver, one)]
        self._sizes = (-1, -1)
        self._directed = np.zeros(1, dtype=np.int64)
        self._of_held: tuple[Any, ...] = ()
        self._held: BoundCall | None = None
        self.memory: DerivativeWork

    def __call__(self, q: FloatArray, v: FloatArray, direction: FloatArray | None = None) -> int:
        """Differentiate the step from (q, v), which is alone in the chunk; return the number of its kinks.

        With a ``direction`` (columns,), use the piece along it.
        """
        driver = self._driver
        contacts, joints = int(driver.control.n_contacts), int(driver.control.chunk_joints)
        if contacts > self._sizes[0] or joints > self._sizes[1]:
            self._sizes = max(contacts * 3 // 2, self._sizes[0]), max(joints, self._sizes[1])
            self.memory = self._new(*self._sizes)
        memory, work = self.memory, driver.work
        memory.q[:], memory.v[:], memory.v_plus[:] = q, v, work.v
        memory.direction[:] = 0.0 if direction is None else direction
        self._directed[0] = direction is not None
        q_plus, parts = work.q.copy(), work.parts.copy()
        try:
            with nullcontext() if self._held is not None else on_first_compilation(_announce):
                self._fill_parameter_differences()
                kinks = int(self._entered()())
                if kinks >= 0 and driver.control.deep:
                    hold_gaps(driver, memory)
                if kinks >= 0 and parts.any():
                    self._differentiate_free_trees(parts)
                return kinks
        finally:
            work.q[:], work.v[:] = q_plus, memory.v_plus

    @property
    def columns(self) -> int:
        """Number of columns: by q, v, tau, targets and parameters."""
        world = self._driver.prepared.world
        return 3 * world.nv + len(world.joint_actions.drives) + len(self.parameters)

    def _fill_parameter_differences(self) -> None:
        """Fill ``by_parameter``, ``by_law`` and ``by_row`` by differences between worlds with nearby parameters."""
        if not self._near:
            return
        from contactlab.derivatives.kernels.impulse_rates import add_parameter_difference

        driver, memory = self._driver, self.memory
        for sums in (memory.by_parameter, memory.by_law, memory.by_row):
            sums[:] = 0.0
        for number, (arrays, weight) in enumerate(self._near):
            collision, joints = driver.collision, driver.joints
            if collision is not None and arrays.collision is not None:
                collision = arrays.collision.with_workspaces(collision, "poses")
            if joints is not None and arrays.joints is not None:
                joints = arrays.joints.with_workspaces(joints, "target")
            records = driver.control, driver.parameters
            add_parameter_difference(
                arrays.packed, driver.work, driver.chunk, *records, collision, joints, _lengths(arrays), memory,
                number // 2, weight
            )  # fmt: skip

    def _differentiate_free_trees(self, parts: IntArray) -> None:
        """Replace the rows of free trees of several links in A, moved in ``parts`` (nt,) substeps.

        Differences are central: by one coordinate of each tree at a time, for all such trees together.
        """
        from contactlab.derivatives.kernels.impulse_rates import STRIDE, move_again

        driver, m, parameters = self._driver, self.memory, self._driver.parameters
        work, joints, h, nv = driver.work, driver.joints, float(parameters.last_h), m.v.size
        packed, model, tau = driver.prepared.arrays.packed, driver.prepared.world.model, driver.work.tau.copy()
        # The velocities of these trees; first velocity and number of velocities of their trees.
        starts = packed.trees[:, TREE_DOF]
        sizes = np.diff(starts)
        rows = np.flatnonzero(np.repeat(parts > 0, sizes))
        first, size = np.repeat(starts[:-1], sizes)[rows], np.repeat(sizes, sizes)[rows]
        still, q_base = np.zeros(nv), m.q
        m.A[rows], m.A[nv + rows] = 0.0, 0.0

        def add_end(own: IntArray, columns: Any, weight: float, arrays: Any, joints: Any, *start: FloatArray) -> None:
            # Repeat the motion from q, v and a change of tau, and add its end to these columns.
            work.q[:], work.v[:], change = start
            work.tau[:] = tau + change
            move_again(arrays, work, joints, parameters, h, parts)
            work.tau[:] = tau
            m.A[own, columns] += weight * difference(model, q_base, work.q_plus)[own]
            m.A[nv + own, columns] += weight * work.v_plus[own]

        add_end(rows, 0, 0.0, packed, joints, m.q, m.v, still)
        q_base = work.q_plus.copy()
        for each in range(size.max(initial=0)):
            own, columns = rows[size > each], first[size > each] + each
            for stride in (STRIDE, -STRIDE):
                shift = still.copy()
                shift[columns] = stride
                turned = integrate(model, m.q, shift, 1.0)
                for part, start in enumerate(((turned, m.v, still), (m.q, m.v + shift, still), (m.q, m.v, shift))):
                    add_end(own, part * nv + columns, 0.5 / stride, packed, joints, *start)
        # By targets of drives, and by parameters.
        targets = still[:0] if joints is None else joints.target
        for drive, target in enumerate(targets.tolist()):
            for stride in (STRIDE, -STRIDE):
                targets[drive] = target + stride
                add_end(rows, 3 * nv + drive, 0.5 / stride, packed, joints, m.q, m.v, still)
            targets[drive] = target
        for number, (arrays, weight) in enumerate(self._near):
            near = joints
            if joints is not None and arrays.joints is not None:
                near = arrays.joints.with_workspaces(joints, "target")
            column = self.columns - len(self.parameters) + number // 2
            add_end(rows, column, weight, arrays.packed, near, m.q, m.v, still)

    def _entered(self) -> BoundCall:
        """Return the kernel bound to the driver's present arrays; bind it again after they have changed."""
        driver = self._driver
        arrays = driver.prepared.arrays.packed
        now = arrays, driver.work, driver.chunk, driver.collision, driver.joints, self.memory
        if self._held is None or not all(a is b for a, b in zip(self._of_held, now, strict=True)):
            from contactlab.derivatives.kernels.linearize import enter
            from lcp.compiler.bound_call import BoundCall

            _, work, chunk, collision, joints, memory = now
            arguments = (arrays, work, chunk, *driver.records, collision, joints, memory, self._directed)
            self._held = BoundCall(enter, arguments)
            self._of_held = now
        return self._held

    def _new(self, contacts: int, joints: int) -> DerivativeWork:
        """Allocate the arrays for steps with this number of contacts and of joint rows."""
        driver = self._driver
        world = driver.prepared.world
        nv, nq, nl = world.nv, world.nq, world.model.packed.nl
        p, r, columns = len(self.parameters), driver.prepared.stepper.edges_in(world) // 2, self.columns
        islands = max(1, world.tree_starts.size)
        loops = 0 if driver.joints is None else driver.joints.loop_G.shape[0]
        moments = driver.prepared.arrays.moments
        cones, axes, changing = (1, 3, nv) if moments is None else (layout.CONES, layout.NAXES, 2 * nv)
        # The maximum numbers.
        m, kinks = (1 + 2 * cones) * contacts + joints, (11 + 4 * cones) * contacts + 5 * joints
        size = max(work_size(nl, nv), row_rates_size(nl, nv), 256)
        floats: dict[str, tuple[int, ...]] = {
            "q": (nq,), "v": (nv,), "v_plus": (nv,), "W": (size,), "V": (size,),
            "dynamics": (3, nv, nv), "wrenches": (world.model.nb, 6),
            "loops": (4, loops, nv), "carried": (nv, nv), "points": (2, 4, 6, nv), "loop_forces": (loops,),
            "frame": (contacts, axes, nv), "changes": (contacts, axes, changing), "before": (contacts, nv),
            "compliance_rates": (contacts, axes, changing),
            "rolling_axis_rates": (0 if moments is None else contacts, changing, 3),
            "force_rates": (contacts, 3, nv), "contact": (contacts, layout.PER_CONTACT),
            "rates": (contacts, 7, 6), "gaps": (contacts, nv), "columns": (2, nv, 6),
            "H": (m, nv), "G": (m, nv), "Y": (m, nv), "D": (m,), "f": (m,), "S": (m * m,),
            "X": (nv, columns), "right": (m, columns), "solved": (m, columns), "moved": (nv, columns),
            "H_island": (m * nv,), "Y_own": (m * nv,), "X_own": (nv * columns,),
            "right_own": (m * columns,), "forces_own": (m * columns,), "island_compliance_terms": (m * columns,),
            "base": (3, m), "compliance_velocity": (nv,), "kink_distances": (kinks, 3), "towards": (kinks,),
            "direction": (columns,), "way": (columns,),
            "near": (contacts, 4, 7), "by_parameter": (nv, p), "by_law": (contacts, 1 + cones, p),
            "by_row": (joints, 2, p), "row_slope": (joints, 2),
            "A": (2 * nv, columns), "forces": (contacts, 3, columns), "joint_forces": (joints, columns),
        }  # fmt: skip
        ints: dict[str, tuple[int, ...]] = {
            "mode": (contacts, cones), "first": (contacts, cones + 2), "dofs": (nv,), "own_columns": (columns,),
            "perm": (m,),
            "on_kink": (contacts, 3), "row_mode": (joints,), "owner": (m, 2), "nearly": (islands,),
            "friction_released": (islands,), "kinks": (kinks, layout.KINK_INTS),
        }  # fmt: skip
        arrays: dict[str, Any] = {name: np.zeros(shape) for name, shape in floats.items()}
        arrays |= {name: np.zeros(shape, dtype=np.int64) for name, shape in ints.items()}
        turns, line = (np.pi * np.arange(2 * count + 1) / count for count in (r, 1))
        return DerivativeWork(
            **arrays,
            exact=np.array([driver.parameters.exact_cone], dtype=np.int64),
            turns=np.stack([np.cos(turns), np.sin(turns)], axis=1),
            line=np.stack([np.cos(line), np.sin(line)], axis=1),
            lengths=_lengths(driver.prepared.arrays),
        )


def _lengths(arrays: WorldArrays) -> FloatArray:
    """Return the lengths (2, n, n) of torsional and rolling friction by pair of materials; n = 0 without friction."""
    moments = arrays.moments
    return np.zeros((2, 0, 0)) if moments is None else np.stack([moments.torsional, moments.rolling])


def _perturbed_worlds(driver: Driver, one: Parameter) -> list[tuple[Any, float]]:
    """Return the arrays of two worlds with nearby values of a parameter, with the weights of their difference quotient.

    The values are slightly larger and smaller, or the present one if only one side is valid.
    """
    own, way = driver.prepared, STRIDE * one.scale
    near, refused = [], None
    for place in (one.value + way, one.value - way):
        try:
            near.append((place, one.world(place)))
        except ValueError as error:
            refused = error
    if not near:
        raise SimulationConfigError("wrt", f"{one.name!r}: no world exists for a nearby value: {refused}") from refused
    if refused is not None:
        # One-sided at the end of its range.
        near.append((one.value, own.world))
    weight = 1.0 / (near[0][0] - near[1][0])
    found = []
    for (_, world), share in zip(near, (weight, -weight), strict=True):
        differs = layout_difference(own, prepare(world, own.stepper))
        if differs:
            raise SimulationConfigError("wrt", f"{one.name!r}: the world of another value has other {differs}")
        found.append((world_arrays(world), share))
    return found
