"""The Python side of the resumable loop: enters it, serves what it asks for, enters it again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contactlab.multibody.states import check_configuration, check_velocity
from contactlab.spatial.arrays import FloatArray, finite_array
from contactlab.stepping.collision_packing import grow_collision, new_collision
from contactlab.stepping.external_contacts import Supply
from contactlab.stepping.island_cones import IslandCones
from contactlab.stepping.island_inertia import IslandInertia
from contactlab.stepping.joint_packing import grow_joints, new_joint_chunk, new_joints
from contactlab.stepping.joint_service import JointService, Targets
from contactlab.stepping.kernels import layout
from contactlab.stepping.kinematic import Motions
from contactlab.stepping.memory import grow_contacts, lcp_width, new_chunk, new_island, new_record, new_work
from contactlab.stepping.prepared import prepare
from contactlab.stepping.record_schema import chunk_rows
from contactlab.world.errors import SimulationConfigError
from contactlab.world.state import StepperState
from problem_data import ConstraintVelProblemData, VelocityBlocks

if TYPE_CHECKING:
    import lcp
    from contactlab.stepping.time_stepping import TimeStepping
    from contactlab.world.world import World

__all__ = ["Driver", "Targets", "Tau"]

#: Applied generalized force (nv,) [N, N m]: none, constant, or a function of (time, q, v) asked once per step.
Tau = ArrayLike | Callable[[float, FloatArray, FloatArray], ArrayLike] | None

# First sizes of the buffers; they grow on demand. 16 contacts pose an LCP of 288 variables with 16 edges.
FIRST_CONTACTS = 64
FIRST_ISLAND_CONTACTS = 16
FIRST_ISLAND_NV = 6


class Driver:
    """One run of the loop over its own memory.

    Parameters
    ----------
    world, stepper, state
        What to step, how, and from where.
    first
        Number of the first step: how many were made before.
    steps, end
        Steps wanted at most, those before included; no step begins at the time ``end`` [s] or later. None: no such
        limit.
    h
        Size of the first step to try [s]; None: what the stepper makes of the state.
    tau
        See `Tau`.
    supply
        Contacts from outside the loop; see `Supply`.
    targets
        See `Targets`.
    motions
        What moves the kinematic bodies; None: their own motions.
    chunk_steps
        Steps after which the loop returns at the latest.
    external
        Pose every problem through NEED_SOLVE even where the solver could run inside.
    """

    def __init__(
        self,
        world: World,
        stepper: TimeStepping,
        state: StepperState,
        *,
        first: int = 0,
        steps: int | None = None,
        end: float | None = None,
        h: float | None = None,
        tau: Tau = None,
        supply: Supply | None = None,
        targets: Targets = None,
        motions: Motions | None = None,
        chunk_steps: int = 1,
        external: bool = False,
    ) -> None:
        prepared = prepare(world, stepper)
        arrays, edges = prepared.arrays, prepared.edges
        width = lcp_width(edges)
        if state.contact_ids.size and state.z.shape[1] != width:
            detail = (
                f"has {state.z.shape[1]} variables per contact, {edges} edges need {width}; see without_warm_start()"
            )
            raise SimulationConfigError("state.z", detail)
        self._prepared = prepared
        self._world = world
        self._stepper = stepper
        self._edges = edges
        self._solver = stepper.lcp_solver
        self._tau = tau
        self._supply = supply
        self._motions = prepared.motions if motions is None else motions
        self._chunk_steps = chunk_steps
        #: what the solver outside the loop answered last
        self.last_result: lcp.Result | lcp.FrictionResult | None = None

        points = arrays.packed.radii.size * arrays.packed.offsets.size
        self.collision = None if arrays.collision is None else new_collision(arrays.collision)
        if self.collision is not None:
            points = max(points, FIRST_CONTACTS)
        contacts = max(state.contact_ids.size, min(points, FIRST_CONTACTS), 1)
        self.work = new_work(world, contacts, edges)
        self.work.q[:] = check_configuration(world.model, state.q)
        self.work.v[:] = check_velocity(world.model, state.v)
        self.work.previous_id[: state.contact_ids.size] = state.contact_ids
        if state.contact_ids.size:
            self.work.previous_z[: state.contact_ids.size] = state.z
        options, inside = stepper.kernel_options
        self.island = new_island(min(points, FIRST_ISLAND_CONTACTS), min(world.nv, FIRST_ISLAND_NV), edges, options)
        self.control = new_record(layout.Control)
        self._target = np.iinfo(np.int64).max if steps is None else steps
        self.control.target = self._target
        self.control.step = first
        self.control.adaptive = stepper.adaptive
        self.control.n_previous = state.contact_ids.size
        self.control.solver = layout.SOLVER_EXTERNAL if external else inside
        self.control.tau_mode = self._first_tau()
        self.control.ask_contacts = supply is not None
        self.control.edges = edges
        self.control.warm_start = stepper.warm_start
        # Who asks for every problem wants them posed, not solved.
        self._cone = stepper.friction == "cone"
        # A proposal is one for a pyramid.
        self.control.propose = not external and not self._cone
        self.control.cone = self._cone
        self.control.reduce = stepper.reduce_contacts
        self.control.sleep = stepper.sleep is not None
        self.control.projection = stepper.projection
        self.control.gyroscopic = layout.GYROSCOPIC_CODES[stepper.gyroscopic]
        self._service = JointService(world, targets)
        self.joints = None if arrays.joints is None else new_joints(arrays.joints, self.work.parent.size)
        if self.joints is not None:
            rows = len(world.joint_rows)
            if np.any((state.row_ids < 0) | (state.row_ids >= rows)):
                detail = f"the world has rows 0 .. {rows - 1}, got {state.row_ids.max()}; see without_warm_start()"
                raise SimulationConfigError("state.row_ids", detail)
            self._service.start(self.joints)
            self.control.ask_joints = self._service.asks
            self.joints.was[state.row_ids] = 1
            self.joints.previous_z[state.row_ids] = state.row_z
        self.chunk = self._new_chunk(contacts)
        self.parameters = new_record(layout.Parameters)
        self.parameters.h = stepper.next_h(state.h) if h is None else h
        self.parameters.h_max = stepper.h
        self.parameters.grow = stepper.grow
        self.parameters.last_h = state.h
        self.parameters.end = np.inf if end is None else end
        self.parameters.margin = stepper.margin
        self.parameters.v_min = stepper.v_min
        self.parameters.erp = stepper.erp
        self.parameters.cfm = stepper.cfm
        if stepper.sleep is not None:
            self.parameters.sleep_speed = stepper.sleep.speed
            self.parameters.sleep_time = stepper.sleep.time
            for field, own, given in (("rest", self.work.rest, state.rest), ("tau", self.work.tau_before, state.tau)):
                if given.size not in (0, own.size):
                    raise SimulationConfigError(f"state.{field}", f"has {given.size} entries, the world {own.size}")
                own[: given.size] = given
        self.parameters.tolerance = stepper.tolerance
        self.parameters.time = state.time

    @property
    def step(self) -> int:
        """Steps finished."""
        return int(self.control.step)

    @property
    def failed(self) -> bool:
        """Whether the step in progress failed for good."""
        return bool(self.control.failure != layout.FAILURE_NONE)

    @property
    def time(self) -> float:
        """Time of the present state [s]."""
        return float(self.parameters.time)

    @property
    def h(self) -> float:
        """Size of the step in progress, or of the next one to try [s]."""
        return float(self.parameters.h)

    def enter(self) -> int:
        """Enter the loop once and return its reason."""
        from contactlab.stepping.kernels.step import run

        work, chunk = self.work, self.chunk
        world, control, parameters = self._prepared.arrays.packed, self.control, self.parameters
        return int(run(world, work, self.island, chunk, control, parameters, self.collision, self.joints))

    def advance(self, steps: int | None = None) -> int:
        """Run until a chunk is full, the steps are done or one failed; return that reason.

        After so many ``steps`` the chunk counts as full.
        """
        limit = self._target if steps is None else min(self._target, self.step + steps)
        self.control.target = limit
        while True:
            reason = self._enter_served()
            if reason == layout.NEED_SOLVE:
                self._solve()
            elif reason == layout.DONE and self.step == limit < self._target and self.time < self.parameters.end:
                return layout.CHUNK_FULL
            elif reason != layout.SHRINK_H:
                return reason
            elif not self._shrink():
                return layout.FAILED

    def take(self) -> dict[str, NDArray[Any]]:
        """Copy the chunk's rows out and make it empty; afterwards any one step fits it."""
        rows = chunk_rows(self.chunk, self.joints, self.control)
        control = self.control
        control.chunk_steps = control.chunk_contacts = control.chunk_islands = control.chunk_joints = 0
        contacts = self.work.contact_int.shape[0]
        if self.chunk.contact_int.shape[0] < contacts:
            self.chunk = self._new_chunk(contacts)
        return rows

    def state(self) -> StepperState:
        """Return the present state (between steps)."""
        count = int(self.control.n_previous)
        none = np.zeros(0, dtype=np.int64)
        row_ids = none if self.joints is None else np.flatnonzero(self.joints.was)
        return StepperState.of_run(
            self.time,
            float(self.parameters.last_h),
            q=self.work.q,
            v=self.work.v,
            contact_ids=self.work.previous_id[:count],
            z=self.work.previous_z[:count],
            row_ids=row_ids,
            row_z=np.zeros((0, 2)) if self.joints is None else self.joints.previous_z[row_ids],
            rest=self.work.rest[: self._prepared.sleepers],
            tau=self.work.tau_before if self._stepper.sleep is not None else np.zeros(0),
        )

    def pose(self, island: int) -> None:
        """Pose the problem of one island of the next step, without solving any; needs ``external``.

        Raises
        ------
        IndexError
            The step has fewer islands.
        """
        reason = self._enter_served()
        if reason == layout.NEED_SOLVE and 0 < island < self.control.n_islands:
            self.control.island = island
            self.control.place = layout.ISLANDS
            reason = self._enter_served()
        if reason != layout.NEED_SOLVE or not 0 <= island < self.control.n_islands:
            raise IndexError(f"island {island}: the step has {self.control.n_islands}")

    def posed(self) -> tuple[ConstraintVelProblemData, FloatArray | None]:
        """Return problem data and warm start of the island in progress, as copies."""
        nc, nv = int(self.control.nc), int(self.control.nv)
        nr = nc * (self._edges // 2)
        nl, nb = int(self.control.nl), int(self.control.ng)
        nbox, n = int(self.control.nbox), int(self.control.n)
        m = nc + nr + nl + nb + nbox
        island = self.island
        lo, hi = (np.zeros(0), np.zeros(0)) if self.joints is None else (self.joints.lo, self.joints.hi)
        blocks = VelocityBlocks(
            nv=nv,
            nc=nc,
            nr=nr,
            nl=nl,
            nb=nb,
            r=island.r[:nc].copy(),
            mu=island.mu[:nc].copy(),
            J=island.J[: m * nv].reshape(m, nv).copy(),
            Y=island.Y[: m * nv].reshape(m, nv).copy(),
            k=island.k[:m].copy(),
            gamma=island.gamma[:m].copy(),
            gammaE=island.gammaE[:nc].copy(),
            Mv=island.Mv[:nv].copy(),
            v_free=island.v_free[:nv].copy(),
            nbox=nbox,
            lo=lo[:nbox].copy(),
            hi=hi[:nbox].copy(),
        )
        data = ConstraintVelProblemData.from_blocks(blocks, solve_inertia=self._inertia())
        return data, island.z0[:n].copy() if self.control.has_z0 else None

    def solve_again(self) -> lcp.Result | lcp.FrictionResult:
        """Solve the island in progress through the public path."""
        if self._cone:
            return self.island_cones().solve(self._solver, self._stepper.tolerance)
        import lcp

        n = int(self.control.n)
        problem = lcp.LCP(self.island.M[: n * n].reshape(n, n).copy(), self.island.q[:n].copy())
        z0 = self.island.z0[:n].copy() if self.control.has_z0 else None
        return lcp.solve(problem, self._solver, z0=z0, tolerance=self._stepper.tolerance)

    def _enter_served(self) -> int:
        """Enter the loop until it wants something else than space, rows for one step, tau or a breath."""
        while True:
            reason = self.enter()
            if reason == layout.NEED_CALLBACK:
                self._ask()
                self._ask_joints()
            elif reason == layout.NEED_SPACE:
                self._grow()
            elif reason == layout.CHUNK_FULL and self.control.chunk_steps == 0:
                # Nothing to take: this one step has more contacts than there are rows.
                self.chunk = self._new_chunk(self.work.contact_int.shape[0])
            elif reason != layout.PAUSED:
                return reason

    def _shrink(self) -> bool:
        """Set the failed step back to its start with a smaller h; False when that would be too small."""
        h = self._stepper.shrink * self.h
        if h < self._stepper.smallest_h:
            return False
        self.parameters.h = h
        self._ask_motions()
        self.control.failure = layout.FAILURE_NONE
        # tau stays: it was asked for at the start of this step, which is still the state.
        self.control.place = layout.DETECT
        self.last_result = None
        self._ask_joints()  # for another end of the step
        return True

    def _solve(self) -> None:
        if self._cone:
            island = self.island_cones()
            answer = island.solve(self._solver, self._stepper.tolerance)
            self.last_result = answer
            self.control.cone_solved = answer.solved
            self.control.pivots = answer.iterations
            island.write(answer, self.island.z, self.island.measures)
            return
        self.last_result = result = self.solve_again()
        self.island.z[: result.z.size] = result.z
        self.control.pivots = result.iterations

    def island_cones(self) -> IslandCones:
        """Return the island in progress as a problem of exact cones."""
        nc, n = int(self.control.nc), int(self.control.n)
        nl = 0 if self.joints is None else int(self.control.nl)
        island = self.island
        z0 = island.z0[:n] if self.control.has_z0 else None
        return IslandCones.of(island.M[: n * n].reshape(n, n), island.q[:n], island.r[:nc], island.mu[:nc], nl, z0)

    def island_trees(self) -> NDArray[np.int64]:
        """Return the numbers of the trees of the island in progress."""
        start, i = self.work.tree_start, int(self.control.island)
        return np.array(self.work.island_trees[int(start[i]) : int(start[i + 1])])

    def _inertia(self) -> IslandInertia:
        starts, packed = self._world.tree_starts, self._prepared.arrays.packed
        parts = []
        for tree in self.island_trees():
            n = int(starts[tree + 1] - starts[tree])
            block = int(packed.trees[tree, layout.TREE_BLOCK])
            # Copies: the operator outlives the buffers.
            factor = self.work.L[block : block + n * n].reshape(n, n).copy()
            parts.append((packed.branch[starts[tree] : starts[tree + 1]], factor))
        return IslandInertia(tuple(parts))

    def _first_tau(self) -> int:
        if self._tau is None:
            return layout.TAU_ZERO
        if callable(self._tau):
            return layout.TAU_CALLBACK
        self.work.tau[:] = finite_array(self._tau, "tau", (self.work.v.size,), SimulationConfigError)
        return layout.TAU_CONSTANT

    def _ask(self) -> None:
        """Ask user code, and kinematic bodies, for their share in the step that begins."""
        self._ask_motions()
        if callable(self._tau):
            value = self._tau(self.time, self.work.q.copy(), self.work.v.copy())
            field = f"tau at time {self.time:.9g}"
            self.work.tau[:] = finite_array(value, field, (self.work.v.size,), SimulationConfigError)
        if self._supply is not None:
            ints, floats = self._supply(self.time, self.work.q.copy(), self.work.v.copy())
            self.work = self.work._replace(given_int=ints, given_float=floats)

    def _ask_joints(self) -> None:
        if self.joints is not None:
            self._service.serve(self.joints, self.time, self.h, self.work.q.copy(), self.work.v.copy())

    def _ask_motions(self) -> None:
        if self._motions is not None:
            pose, twist, after = self._motions(self.time, self.h)
            self.work.motion_pose[:], self.work.motion_twist[:], self.work.motion_next[:] = pose, twist, after

    def _grow(self) -> None:
        """Enlarge what the loop found too small, by half at least so that growth is rare."""
        if self.collision is not None:
            larger = grow_collision(self.collision, self.control)
            if larger is not None:
                self.collision = larger
                return
        wanted = int(self.control.want_contacts)
        if wanted > self.work.contact_int.shape[0]:
            self.work = grow_contacts(self.work, max(wanted, self.work.contact_int.shape[0] * 3 // 2))
            return
        contacts, nv = self.island.r.size, self.island.Mv.size
        more_contacts = int(self.control.want_island_contacts)
        more_nv = int(self.control.want_island_nv)
        if more_contacts > contacts:
            contacts = max(more_contacts, contacts * 3 // 2)
        if more_nv > nv:
            nv = max(more_nv, nv * 3 // 2)
        # Half as much again, as for contacts.
        rows, variables = (
            max(int(wanted), size * 3 // 2) if wanted > size else size
            for wanted, size in (
                (self.control.want_island_rows, self.island.k.size),
                (self.control.want_island_n, self.island.q.size),
            )
        )
        self.island = new_island(contacts, nv, self._edges, self.island.options, rows, variables)
        if self.joints is not None:
            self.joints = grow_joints(self.joints, self.island.k.size, nv, int(self.control.want_island_g))

    def _new_chunk(self, contacts: int) -> layout.Chunk:
        """Rows for chunk_steps steps with a handful of rows each, and for any one step with ``contacts``."""
        trees = self.work.parent.size
        if self.joints is not None:
            self.joints = new_joint_chunk(self.joints, self._chunk_steps)
        return new_chunk(
            self._world,
            self._chunk_steps,
            max(contacts, self._chunk_steps * min(contacts, 8)),
            max(trees, self._chunk_steps * min(trees, 8)),
            self._edges,
            with_tau=self._tau is not None,
            sleepers=self._prepared.sleepers,
        )
