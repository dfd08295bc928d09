"""The memory of one run of the resumable loop: its state, and the growth of its arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from contactlab.multibody.spatial.arrays import FloatArray
from contactlab.simulation.stepping.callbacks import StepCallbacks, Wanted
from contactlab.simulation.stepping.kernels import layout
from contactlab.simulation.stepping.kernels.arrays import Chunk
from contactlab.simulation.stepping.memory import (
    LITTLE,
    allocate_buffers,
    grow_island,
    new_moments,
    new_settings,
    write_numbers,
)
from contactlab.simulation.stepping.packing import (
    all_joints,
    as_array,
    grow_collision,
    grow_joints,
    new_collision,
    new_joints,
)
from contactlab.simulation.stepping.prepared import Prepared, StateArrays, checked_state
from contactlab.simulation.stepping.record_schema import (
    CONTACTS_PER_STEP,
    USED,
    StepRows,
    array_offsets,
    new_chunk,
    used_of_chunk,
)
from contactlab.simulation.world.world import NO_NUMBERS, NO_PAIRS, StepperState

if TYPE_CHECKING:
    from lcp.compiler.bound_call import BoundCall

NO_ROWS = np.zeros(0, dtype=np.int64)


#: Attributes with arguments of the loop.
HELD = frozenset(("work", "island", "chunk", "collision", "joints", "moments"))


class StepBuffers:
    """The arrays of a run, and the bound call of the loop.

    Parameters
    ----------
    prepared
        World and stepper.
    asked
        The user's code that the loop requests.
    held
        Number of contacts of the first state.
    chunk_steps
        Number of steps for which the chunk has rows.
    external
        Form every problem without solving it.
    steps, end
        Maximum number of steps, earlier ones included, and the time from which no step begins [s]; None: no limit.
    """

    def __init__(
        self,
        prepared: Prepared,
        asked: StepCallbacks,
        held: int,
        *,
        chunk_steps: int,
        external: bool,
        steps: int | None,
        end: float | None,
    ) -> None:
        world, stepper = prepared.world, prepared.stepper
        arrays, edges = prepared.arrays, stepper.edges_in(world)
        #: the world and the stepper
        self.prepared = prepared
        self._stepper = stepper
        self._edges = edges
        selects = stepper.solver is None and stepper.friction == "pyramid"
        self._selects = selects and not external

        # The bound call of the loop, and the types of its arguments.
        self._held: BoundCall | None = None
        # Rows and callbacks of a driver that no run uses; made when a run is first dropped.
        self._unused: tuple[Chunk, StepCallbacks] | None = None
        self._known: dict[int, tuple[Any, Any]] = {}
        # The data of worlds that were switched away from.
        self._others: dict[Prepared, tuple[Any, ...]] = {}
        self.collision = None if arrays.collision is None else new_collision(arrays.collision)
        self.work, self.island, self.moments = allocate_buffers(world, stepper, edges, held, selects=self._selects)
        self.control, self.parameters = new_settings(stepper, edges)
        # The same memory as arrays of one record and as views of single numbers, which are much faster from Python.
        self.records = self._control, self._parameters = as_array(self.control), as_array(self.parameters)
        # numpy declares no buffer before Python 3.12.
        self._used = [memoryview(self._control[f"chunk_{rows}"]) for rows in USED]  # type: ignore[arg-type]
        names = "step", "target_steps", "failure", "uncertified", "stage", "allow_uncertified", "kinematics_valid"
        self._step, self._aim, self._failure, self._uncertified, self._stage, self._may_go_on, self._filled = (
            memoryview(self._control[name])  # type: ignore[arg-type]
            for name in names
        )
        self._short = memoryview(self._control["short"])  # type: ignore[arg-type]
        self._places: tuple[Chunk | None, dict[str, Any]] = None, {}
        self._now = self._parameters["time"]
        self._clock: Any = memoryview(self._now)  # type: ignore[arg-type]
        self._h: Any = memoryview(self._parameters["h"])  # type: ignore[arg-type]
        self._last_h, self._previous = self._parameters["last_h"], self._control["n_previous"]
        #: whether each step is alone in its chunk, and which of these must be inspected: see `kernels.layout`
        self.looks = np.zeros(4, dtype=np.int64)
        self._flags = memoryview(self.looks)  # type: ignore[arg-type]
        #: configuration (nq,) and velocity (nv,) before the last step alone
        self.q_before, self.v_before = np.zeros(world.nq), np.zeros(world.nv)
        #: replaced by another object whenever an array has grown
        self.growth = object()
        #: contacts per step for which a chunk has capacity
        self._crowd = CONTACTS_PER_STEP
        if external:
            # Every problem is only formed, neither solved nor tried by strategies.
            unsolved = {"solver": layout.SOLVER_EXTERNAL, "use_strategies": 0, "require_equal_compliance": 0}
            write_numbers(self.parameters, unsolved)
        # If strategies solve nearly every island, the loop is compiled without joints. Otherwise it has joints, so
        # there is one loop less to compile for each kind of world; absent joints take hardly any time.
        proposals = self._selects and arrays.joints is None and self.moments is None and stepper.cfm == 0.0
        trees = self.work.union_find_parent.size
        self.joints = None if proposals else new_joints(arrays.joints or all_joints(world), trees)
        self.configure_run(asked, chunk_steps, steps, end)

    def configure_run(self, asked: StepCallbacks, chunk_steps: int, steps: int | None, end: float | None) -> None:
        """Prepare for another run of the same world and stepper; the parameters are the constructor's."""
        self._asked, self._chunk_steps, self._with_tau = asked, chunk_steps, asked.with_tau
        self._target, self._end = np.iinfo(np.int64).max if steps is None else steps, np.inf if end is None else end
        self.parameters.end = self._end
        asked.write_constants(self.work, self.joints)
        self._uncertified[0] = 0
        self.chunk = self._new_chunk(self.work.contact_int.shape[0])

    def drop_run(self) -> None:
        """Drop the rows and the user code of a finished run; `configure_run` must prepare the next one."""
        if self._unused is None:
            world, stepper = self.prepared.world, self._stepper
            rows = new_chunk(world, stepper, 1, 0, with_tau=False)
            self._unused = rows, StepCallbacks(world, None, None, None, self.prepared.motions)
        self.chunk, self._asked = self._unused

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; an argument of the loop is also exchanged in its bound call.

        Bound calls of other worlds have the old argument, so they must be made again.
        """
        before = self.__dict__.get(name)
        self.__dict__[name] = value
        if name in HELD and value is not before:
            self._others.clear()
            if self._held is not None and before is not None:
                self._held.replace_argument(before, value)
                self._known.pop(id(before), None)

    @property
    def held_state(self) -> StateArrays:
        """The arrays with the present state."""
        work, joints, sleeps = self.work, self.joints, self._stepper.sleep is not None
        return StateArrays(
            time=self._now,
            last_h=self._last_h,
            contacts=self._previous,
            q=work.q,
            v=work.v,
            contact_id=work.previous_id,
            contact_z=work.previous_z,
            was_active=NO_ROWS if joints is None else joints.was_active,
            row_z=NO_PAIRS if joints is None else joints.previous_z,
            rest=work.rest if sleeps else NO_NUMBERS,
            previous_tau=work.previous_tau if sleeps else NO_NUMBERS,
        )

    def set_state(self, state: StepperState, first: int) -> None:
        """Set a state, as in a new run; ``first`` is the number of the next step.

        An invalid state raises an error and changes nothing.
        """
        q, v = checked_state(self.prepared, state)
        self.reserve_contacts(state.contact_ids.size)
        self.held_state.write(state, q, v)
        self._aim[0], self._step[0] = self._target, first
        self.clear_chunk()

    def reserve_contacts(self, contacts: int) -> None:
        """Enlarge the memory, if needed, for a state with this number of contacts."""
        if contacts > self.work.contact_int.shape[0]:
            self.work = self.work.enlarged("contacts", contacts)
            self.chunk = self._new_chunk(contacts)

    def switch_world(self, prepared: Prepared, *, keep: bool = True) -> None:
        """Step another world from now on, with the same layout (`layout_difference`) and its own motions.

        The memory stays the same. The arrays of the old world are stored for the next time if ``keep`` is True.
        """
        if prepared is self.prepared:
            return
        own = self._asked, self.collision, self.joints, self.moments, self._held, self._known
        if keep:
            self._others[self.prepared] = own
        following = self._others.get(prepared)
        if following is None:
            arrays, (_, collision, joints, moments, _, _) = prepared.arrays, own
            if arrays.collision is not None and collision is not None:
                collision = arrays.collision.with_workspaces(collision, "poses")
            if arrays.joints is not None and joints is not None:
                joints = arrays.joints.with_workspaces(joints, "target")
            if arrays.moments is not None and moments is not None:
                moments = arrays.moments._replace(axes=moments.axes)
            asked = StepCallbacks(prepared.world, None, None, None, prepared.motions)
            following = asked, collision, joints, moments, None, {}
        # Together, because Ctrl-C may come in any call. The bound call is replaced as a whole, so nothing is exchanged
        # in it.
        names = "_asked", "collision", "joints", "moments", "_held", "_known", "prepared"
        self.__dict__.update(zip(names, (*following, prepared), strict=True))
        write_numbers(self.parameters, prepared.stepper.thresholds._asdict())
        self.invalidate_kinematics()

    def set_input_tables(self, taus: FloatArray | None, targets: FloatArray | None) -> None:
        """Set tables of tau (steps, nv) and targets (steps, nd) for every step; None: they are constant.

        The driver must have a constant tau.
        """
        nv = self.work.v.size
        self.work = self.work._replace(tau_table=np.zeros((0, nv)) if taus is None else taus)
        if self.joints is not None:
            none = np.zeros((0, self.joints.target.size))
            self.joints = self.joints._replace(target_table=none if targets is None else targets)

    def set_inputs(self, tau: FloatArray, targets: Wanted | None) -> None:
        """Set the applied force (nv,) and the drives' targets of all later steps; None: the world's targets."""
        self.work.tau[:] = tau
        wanted = self._asked.constant_targets(targets)
        if self.joints is not None:
            self.joints.target[:] = wanted

    def invalidate_kinematics(self) -> None:
        """Mark the cached kinematics as invalid, because another run has used the memory; the state is unchanged."""
        self._filled[0] = 0

    def clear_chunk(self) -> None:
        """Drop the rows of the chunk."""
        for used in self._used:
            used[0] = 0

    @property
    def is_small(self) -> bool:
        """Return True if the memory is small enough to be kept for another run."""
        return not self.work.external_int.size and sum(one.nbytes for one in (*self.work, *self.island)) <= LITTLE

    @property
    def needs_callback(self) -> bool:
        """Return True if the loop must return to Python in every step."""
        return self._asked.needs_callback

    @property
    def progress(self) -> layout.IslandProgress:
        """Sizes of the island in progress, and the state of its solution."""
        return self.island.progress[0]  # type: ignore[no-any-return]

    @property
    def step(self) -> int:
        """Number of finished steps."""
        return self._step[0]

    @property
    def contact_rows(self) -> int:
        """Number of contact rows in the chunk."""
        return self._used[1][0]

    @property
    def failed(self) -> bool:
        """Return True if the step in progress has failed."""
        return self._failure[0] != layout.FAILURE_NONE

    @property
    def uncertified(self) -> int:
        """Number of islands so far with uncertified forces, also in steps that failed."""
        return self._uncertified[0]

    @property
    def time(self) -> float:
        """Time of the present state [s]."""
        return float(self._clock[0])

    @property
    def h(self) -> float:
        """Size of the step in progress, or of the next one to try [s]."""
        return float(self._h[0])

    def copied(self) -> dict[str, NDArray[Any]]:
        """Copy the chunk's rows as records, which takes a third of the time of separate columns (`rows_of_chunks`)."""
        # Empty arrays, often half of them, need no copy.
        rows = used_of_chunk(self.chunk, [used[0] for used in self._used])
        return {name: array.copy() if array.size else array for name, array in rows.items()}

    def step_made(self) -> StepRows:
        """Copy the rows of a one-step chunk; they become arrays when they are read."""
        if self._places[0] is not self.chunk:
            self._places = self.chunk, array_offsets(self.chunk)
        return StepRows(self.chunk, self._places[1], [used[0] for used in self._used])

    def detach_chunk(self, *, away: bool = False, goes_on: bool = True) -> dict[str, NDArray[Any]]:
        """Return the rows of the chunk as records (for `rows_of_chunks`) and clear it.

        ``away``: do not copy them; the run gets a new chunk if it ``goes_on``.
        """
        rows = used_of_chunk(self.chunk, [used[0] for used in self._used]) if away else self.copied()
        if away and self.control.chunk_steps:
            # The next chunk, of this run or of the driver's next run, gets the same capacity.
            self._crowd = max(CONTACTS_PER_STEP, -(-self.control.chunk_contacts // self.control.chunk_steps) + 1)
        if away and goes_on:
            self.chunk = self._new_chunk(self.work.contact_int.shape[0])
        self.clear_chunk()
        contacts = self.work.contact_int.shape[0]
        if self.chunk.contact.size < contacts:
            self.chunk = self._new_chunk(contacts)
        return rows

    def state(self) -> StepperState:
        """Return the present state (between steps)."""
        return self.held_state.read()

    def bound_loop(self) -> BoundCall:
        """Return the entry kernel of the loop, bound to the run's arrays; it is made on the first call."""
        if self._held is None:
            from contactlab.simulation.stepping.kernels.step_stages import advance
            from lcp.compiler.bound_call import BoundCall, supports_bound_calls

            parts = np.zeros((layout.N_STAGES, 2), dtype=np.int64 if supports_bound_calls() else object)
            state = self.work.q, self.work.v, self.q_before, self.v_before
            # Without the compiler, Python calls group after group.
            entry = advance if supports_bound_calls() else getattr(advance, "py_func", advance)
            self._held = BoundCall(entry, (self._control, parts, self.looks, *state))
        return self._held

    def compile_stage(self, stage: int) -> None:
        """Compile the group of stages that has a stage, or load it from disk."""
        from contactlab.simulation.stepping.kernels.step_stages import STAGE_GROUPS
        from lcp.compiler.bound_call import BoundCall

        held, group = self.bound_loop(), next(group for group in STAGE_GROUPS if stage in group.stages)
        world = self.prepared.arrays.packed
        arguments = tuple(world if name == "world" else getattr(self, name) for name in group.arguments)
        part = BoundCall(group.entry, arguments, self._known)
        held.keeps.append(part)
        held.arguments[1][list(group.stages)] = part.addresses

    def grow(self) -> None:
        """Enlarge the buffer that was too small, by at least half, so that growth is rare."""
        self.growth = object()
        short, wanted = int(self.control.short), int(self.control.wanted)
        if short == layout.SHORT_OF_CONTACTS:
            self.work = self.work.enlarged("contacts", max(wanted, self.work.contact_int.shape[0] * 3 // 2))
            return
        if self.collision is not None and short != layout.SHORT_OF_ISLAND:
            pairs, contacts = (wanted, 0) if short == layout.SHORT_OF_PAIRS else (0, wanted)
            self.collision = grow_collision(self.collision, pairs, contacts)
            return
        resists, trees = self.moments is not None, self.work.union_find_parent.size
        contacts, nv, self.island = grow_island(self.island, self._edges, trees, moments=resists, selects=self._selects)
        if self.moments is not None:
            self.moments = new_moments(self.moments, contacts, self._edges)
        if self.joints is not None:
            self.joints = grow_joints(self.joints, self.island.k.size, nv, int(self.progress.ng))

    def _new_chunk(self, contacts: int) -> Chunk:
        """Allocate rows for chunk_steps steps with a few rows each, and for any one step with ``contacts``."""
        steps, with_tau = self._chunk_steps, self._with_tau
        return new_chunk(self.prepared.world, self._stepper, steps, contacts, with_tau=with_tau, crowd=self._crowd)
