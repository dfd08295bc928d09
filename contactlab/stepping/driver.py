"""The Python side of the resumable loop: enters it, serves what it asks for, enters it again."""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contactlab.formulation.proposal import PATIENCE
from contactlab.spatial.arrays import FloatArray
from contactlab.stepping.collision_packing import collision_in, grow_collision, new_collision
from contactlab.stepping.external_contacts import Supply
from contactlab.stepping.island_view import IslandView
from contactlab.stepping.joint_packing import grow_joints, joints_in, new_joints
from contactlab.stepping.joint_service import Targets
from contactlab.stepping.kernels import layout
from contactlab.stepping.kinematic import Motions
from contactlab.stepping.memory import first_memory, grow_contacts, grow_island, new_moments, new_settings
from contactlab.stepping.prepared import Prepared, checked_state, prepare
from contactlab.stepping.record_schema import chunk_rows, new_chunk
from contactlab.stepping.records import array_of
from contactlab.stepping.user_code import Tau, UserCode
from contactlab.world.errors import check_type
from contactlab.world.state import StepperState
from lcp.hearing import heard, processor_seconds

if TYPE_CHECKING:
    import lcp
    from contactlab.stepping.time_stepping import TimeStepping
    from contactlab.world.world import World
    from lcp.compiler.held import HeldCall

__all__ = ["Driver", "Targets", "Tau"]

# From so many on a step may take a good part of a second.
MANY_TREES, MANY_CONTACTS = 100, 300
# Seconds that Ctrl-C may well wait for.
BRIEF = 0.05


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
        Form every problem and solve none: see `form`.
    aside
        Enter the loop on a thread of its own where it may take long, so that Ctrl-C is heard at once. Who is
        interrupted then must not touch the driver again: what was left behind may still write to its memory.
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
        aside: bool = False,
    ) -> None:
        check_type("state", state, StepperState)
        prepared = prepare(world, stepper)
        arrays, edges = prepared.arrays, prepared.edges
        resists = arrays.moments is not None
        self._prepared = prepared
        self._world = world
        self._stepper = stepper
        self._edges = edges
        self._external = external
        # The projection of positions poses LCPs of its own in the same place.
        selects = stepper.solver is None and stepper.friction == "pyramid"
        self._selects = selects and not (external or stepper.projection)
        self._asked = UserCode(world, tau, targets, supply, prepared.motions if motions is None else motions)
        self._chunk_steps = chunk_steps
        #: what the solver outside the loop answered last
        self.last_result: lcp.Result | lcp.FrictionResult | None = None
        #: what the last step that memory did not suffice for met
        self.no_room: MemoryError | None = None
        # The last step that came to a long solve, and the processor's seconds then.
        self._long = -1, 0.0

        self.collision = None if arrays.collision is None else new_collision(arrays.collision)
        held = state.contact_ids.size
        self.work, self.island, self.moments = first_memory(world, stepper, edges, held, selects=self._selects)
        self.control, self.parameters = new_settings(stepper, edges, moments=resists)
        # The same memory as arrays of one record, whose fields are read and written in a tenth of the time.
        self._control, self._parameters = array_of(self.control), array_of(self.parameters)
        self._used = [self._control[f"chunk_{rows}"] for rows in ("steps", "contacts", "islands", "joints")]
        self._step, self._aim, self._failure, self._uncertified = (
            self._control[name] for name in ("step", "target", "failure", "uncertified")
        )
        self._now, self._end = self._parameters["time"], np.inf if end is None else end
        # The call of the loop, and the buffers that it holds.
        self._held: HeldCall | None = None
        self._of_held: tuple[Any, ...] = ()
        # Of the worlds that were turned from, what is theirs.
        self._others: dict[Prepared, tuple[Any, ...]] = {}
        if external:
            # Who asks for every problem wants them formed, neither solved nor proposed for.
            self.control.solver, self.control.propose, self.control.select = layout.SOLVER_EXTERNAL, False, False
        self._target = np.iinfo(np.int64).max if steps is None else steps
        self.control.tau_mode = self._asked.first_tau(self.work)
        self.control.ask_contacts = supply is not None
        self.joints = None if arrays.joints is None else new_joints(arrays.joints, self.work.parent.size)
        if self.joints is not None:
            self._asked.of_joints.start(self.joints)
            self.control.ask_joints = self._asked.of_joints.asks
        self._aside = aside
        # Of a step, as the last ones were.
        self._seconds = np.inf
        # Where proposals answer nearly every island, pivoting is not part of the loop.
        proposals = self._selects and self.joints is None and self.moments is None and stepper.cfm == 0.0
        self._pivoting = None if proposals else 1
        self.chunk = self._new_chunk(self.work.contact_int.shape[0])
        self.parameters.end = self._end
        self.restart(state, first=first, h=h)

    def restart(self, state: StepperState, *, first: int = 0, h: float | None = None) -> None:
        """Go to a state, as if nothing had run before; ``first`` and ``h`` as in the beginning.

        One that does not fit is refused, and nothing changes.
        """
        q, v = checked_state(self._prepared, state)
        work, count = self.work, state.contact_ids.size
        work.q[:], work.v[:] = q, v
        if count:
            self.make_room(count)
            work = self.work
            work.previous_id[:count] = state.contact_ids
            work.previous_z[:count] = state.z
        if self.joints is not None:
            self.joints.was[:] = 0
            self.joints.was[state.row_ids] = 1
            self.joints.previous_z[state.row_ids] = state.row_z
        if self._stepper.sleep is not None:
            for own, given in ((work.rest, state.rest), (work.tau_before, state.tau)):
                own[:] = 0.0
                own[: given.size] = given
        self.control.target, self.control.step, self.control.n_previous = self._target, first, count
        self.empty()
        self.parameters.last_h, self.parameters.time = state.h, state.time
        self.begin_again(h)

    def begin_again(self, h: float | None = None) -> None:
        """Go to the beginning of the step in progress, at the size that a state from here would have, or at h.

        Nothing of the state changes before a step is finished, so that any may be left for another.
        """
        self.control.place, self.control.failure = layout.BEGIN, layout.FAILURE_NONE
        # An adaptive stepper tries smaller steps first.
        self.control.go_on = self._stepper.goes_on and not self._stepper.adaptive
        self.parameters.h = self._stepper.next_h(float(self.parameters.last_h)) if h is None else h
        self.forget()

    def make_room(self, contacts: int) -> None:
        """Make sure that a state with so many contacts fits the memory."""
        if contacts > self.work.contact_int.shape[0]:
            self.work = grow_contacts(self.work, contacts)
            self.chunk = self._new_chunk(contacts)

    def turn_to(self, prepared: Prepared) -> None:
        """Step another world from here on, of the layout of the one before (`differing_layout`), with its own motions.

        The memory is the same; what the kernels take of a world is its own, and kept for the next time.
        """
        if prepared is self._prepared:
            return
        own = self._asked, self.collision, self.joints, self.moments, self._held, self._of_held
        self._others[self._prepared] = own
        self._prepared, self._world = prepared, prepared.world
        if prepared in self._others:
            known = self._others[prepared]
            self._asked, self.collision, self.joints, self.moments, self._held, self._of_held = known
            return
        arrays = prepared.arrays
        self._asked = UserCode(prepared.world, None, None, None, prepared.motions)
        self._held = None
        if arrays.collision is not None and self.collision is not None:
            self.collision = collision_in(self.collision, arrays.collision)
        if arrays.joints is not None and self.joints is not None:
            self.joints = joints_in(self.joints, arrays.joints)
        if arrays.moments is not None and self.moments is not None:
            self.moments = arrays.moments._replace(axes=self.moments.axes)

    def schedule(self, taus: FloatArray | None, targets: FloatArray | None) -> None:
        """Take tau (steps, nv) and targets (steps, nd) of every step from tables; None: they do not change.

        Of a driver that was given a constant tau.
        """
        nv = self.work.v.size
        self.work = self.work._replace(tau_table=np.zeros((0, nv)) if taus is None else taus)
        self.control.tau_mode = layout.TAU_CONSTANT if taus is None else layout.TAU_TABLE
        if self.joints is not None:
            none = np.zeros((0, self.joints.target.size))
            self.joints = self.joints._replace(target_table=none if targets is None else targets)
            self._others.clear()

    def forget(self) -> None:
        """Forget what the solver outside answered, and how long it took: another run begins."""
        self.last_result = None
        self._long = -1, 0.0

    def apply(self, tau: FloatArray, targets: Mapping[str, float] | ArrayLike | None) -> None:
        """Set the applied force, and the drives' targets, for the steps from here on."""
        self.work.tau[:] = tau
        wanted = self._asked.of_joints.constant(targets)
        if self.joints is not None:
            self.joints.target[:] = wanted

    def empty(self) -> None:
        """Forget the rows of the chunk."""
        for used in self._used:
            used[0] = 0

    @property
    def step(self) -> int:
        """Steps finished."""
        return int(self._step.item())

    @property
    def contact_rows(self) -> int:
        """Rows of contacts in the chunk."""
        return int(self._used[1].item())

    @property
    def failed(self) -> bool:
        """Whether the step in progress failed for good."""
        return bool(self._failure.item() != layout.FAILURE_NONE)

    @property
    def uncertified(self) -> int:
        """Islands so far of which the best forces found were taken uncertified, those of steps that failed included."""
        return int(self._uncertified.item())

    @property
    def time(self) -> float:
        """Time of the present state [s]."""
        return float(self._now.item())

    @property
    def h(self) -> float:
        """Size of the step in progress, or of the next one to try [s]."""
        return float(self.parameters.h)

    def advance(self, steps: int | None = None) -> int:
        """Run until a chunk is full, the steps are done or one failed; return that reason.

        After so many ``steps`` the chunk counts as full.
        """
        first = self.step
        limit = self._target if steps is None else min(self._target, first + steps)
        self._aim[0] = limit
        if self._aside:
            clock = time.perf_counter()
            reason = self._run(limit - first)
            self._seconds = (time.perf_counter() - clock) / max(1, self.step - first)
        else:
            reason = self._run()
        if self.failed:
            return layout.FAILED
        goes_on = reason == layout.DONE and limit < self._target and self.step == limit and self.time < self._end
        return layout.CHUNK_FULL if goes_on else reason

    def form(self, island: int) -> IslandView:
        """Form the problem of one island of the next step, without solving any; needs ``external``.

        Raises
        ------
        IndexError
            The step has fewer islands.
        """
        reason = self._run()
        if reason == layout.NEED_SOLVE and 0 < island < self.control.n_islands:
            self.control.island = island
            self.control.place = layout.ISLANDS
            reason = self._run()
        if reason != layout.NEED_SOLVE or not 0 <= island < self.control.n_islands:
            raise IndexError(f"island {island}: the step has {self.control.n_islands}")
        return self.view()

    def view(self) -> IslandView:
        """Return a look at the island in progress."""
        return IslandView(self._prepared, self.work, self.island, self.control, self.joints)

    def take(self) -> dict[str, NDArray[Any]]:
        """Copy the chunk's rows out and make it empty; afterwards any one step fits it."""
        rows = chunk_rows(self.chunk, self.control)
        self.empty()
        contacts = self.work.contact_int.shape[0]
        if self.chunk.contact.size < contacts:
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

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What the loop is called with."""
        mechanics = (self._prepared.arrays.packed, self.work, self.island, self.chunk, self.control, self.parameters)
        return (*mechanics, self.collision, self.joints, self.moments, self._pivoting)

    def compile(self) -> None:
        """Compile whatever a run of this world may come to, or find it on disk: also what most runs never need."""
        from contactlab.stepping.kernels.outside import later, pivots
        from lcp.compiler import compile_for

        # The loop asks for both by itself; see `outside`.
        compile_for(later, self.island, self.joints, 1, self.control, self.parameters)
        compile_for(pivots, self.island, self.control)
        self._entered()

    def _takes_long(self, steps: int) -> bool:
        """Whether the loop may be away for longer than Ctrl-C should wait: a thread costs about as much as a step."""
        if self.work.parent.size >= MANY_TREES or self.work.contact_int.shape[0] >= MANY_CONTACTS:
            return True
        # Entered anew for each step, or for the first one, it is not.
        return not self._asked.asks and steps > 1 and steps * self._seconds > BRIEF

    def _run(self, steps: int = 1) -> int:
        """Enter the loop, serve what it asks for, and enter it again; return what it asks for that is not served."""
        aside = self._aside and self._takes_long(steps)
        entered = False
        try:
            while True:
                call, entered = self._entered(), aside
                reason = int(heard(call) if aside else call())
                entered = False
                if reason == layout.DONE or not self._serve(reason):
                    return reason
        except BaseException:
            # User code or Ctrl-C in the midst of a step, which may have asked for what was not answered. Of a loop that
            # goes on aside nobody asks any more.
            if not entered:
                self.begin_again()
            raise

    def _entered(self) -> HeldCall:
        """Return the call of the loop, made anew where buffers have grown."""
        now = self.work, self.island, self.chunk, self.collision, self.joints, self.moments
        if self._held is None or not all(map(operator.is_, self._of_held, now)):
            from contactlab.stepping.kernels.step import enter, run_held
            from lcp.compiler.held import HeldCall

            # Records as arrays of one.
            work, island, chunk, collision, joints, moments = self._of_held = now
            mechanics = self._prepared.arrays.packed, work, island, chunk, self._control, self._parameters
            self._held = HeldCall(run_held, enter, (*mechanics, collision, joints, moments, self._pivoting))
        return self._held

    def _serve(self, reason: int) -> bool:
        """Do what the loop asks for; False where that is for the caller, or cannot be done."""
        if reason == layout.NEED_CALLBACK:
            self.work = self._asked.ask(self.work, self.joints, self.time, self.h)
        elif reason == layout.NEED_SPACE:
            return self._has_room_for(self._grow)
        elif reason == layout.CHUNK_FULL and self.control.chunk_steps == 0:
            # Nothing to take: this one step has more contacts than there are rows.
            self.chunk = self._new_chunk(self.work.contact_int.shape[0])
        elif reason == layout.NEED_SOLVE and not self._external:
            self._begin()
            return self._has_room_for(self._solve)
        elif reason == layout.NEED_LATER:
            from contactlab.stepping.kernels.outside import later

            trees = self.work.tree_start[self.control.island + 1] - self.work.tree_start[self.control.island]
            later(self.island, self.joints, int(trees), self.control, self.parameters)
        elif reason == layout.NEED_PIVOTS:
            from contactlab.stepping.kernels.outside import pivots

            reason = int(pivots(self.island, self.control))
            return reason == layout.GO_ON or self._serve(reason)
        elif reason == layout.SHRINK_H and not self._external:
            return self._shrink()
        else:
            return reason == layout.PAUSED and self._go_on()
        return True

    def _solve(self) -> None:
        """Ask the solver outside the loop."""
        island = self.view()
        self.last_result = island.solve()
        island.write(self.last_result)

    def _begin(self) -> bool:
        """Note when the step in progress came to its first long solve; whether there is patience left for another.

        A solver that is named has limits of its own.
        """
        if self._long[0] != self.step:
            self._long = self.step, processor_seconds()
        return self._stepper.solver is not None or processor_seconds() - self._long[1] < PATIENCE

    def _go_on(self) -> bool:
        """Go on with a solve in the loop, which knows no time: after too long those outside are asked instead."""
        # What is pivoted after all attempts is limited in pivots.
        if self.control.tried or self._begin() or self._external:
            return True
        if self.control.place == layout.PROJECT:
            self.control.failure = layout.FAILURE_PROJECTION
            return bool(self.control.adaptive) and self._shrink()
        self.control.place = layout.VERDICT
        self._solve()
        return True

    def _has_room_for(self, act: Callable[[], None]) -> bool:
        """Act; False where memory does not suffice, for a step that cannot be tried with a smaller h."""
        try:
            act()
        except MemoryError as error:
            if self._external:
                raise
            self.no_room = error
            self.control.failure = layout.FAILURE_SPACE
            return bool(self.control.adaptive) and self._shrink()
        return True

    def _shrink(self) -> bool:
        """Set the failed step back to its start with a smaller h; False when that would be too small."""
        h = self._stepper.shrink * self.h
        if h < self._stepper.smallest_h or not self._begin():
            return self._take_best()
        self.parameters.h = h
        self.control.failure = layout.FAILURE_NONE
        self.control.place = layout.DETECT
        self.last_result = None
        # tau and contacts stay: they were asked for at the start of this step, which is still the state. What depends
        # on its end does not.
        self._asked.ask_of_end(self.work, self.joints, self.time, self.h)
        return True

    def _take_best(self) -> bool:
        """Let the best forces found for the island in progress do, as no smaller h is left; False where they do not."""
        if not self._stepper.goes_on or self.control.failure != layout.FAILURE_LCP or self.control.go_on:
            return False
        self.control.failure, self.control.go_on = layout.FAILURE_NONE, True
        return True

    def _grow(self) -> None:
        """Enlarge what the loop found too small, by half at least so that growth is rare."""
        # Other worlds are to have what there is then.
        self._others.clear()
        if self.collision is not None:
            larger = grow_collision(self.collision, self.control)
            if larger is not None:
                self.collision = larger
                return
        wanted = int(self.control.want_contacts)
        if wanted > self.work.contact_int.shape[0]:
            self.work = grow_contacts(self.work, max(wanted, self.work.contact_int.shape[0] * 3 // 2))
            return
        resists, trees = self.moments is not None, self.work.parent.size
        contacts, nv, self.island = grow_island(
            self.island, self.control, self._edges, trees, moments=resists, selects=self._selects
        )
        if self.moments is not None:
            self.moments = new_moments(self.moments, contacts, self._edges)
        if self.joints is not None:
            self.joints = grow_joints(self.joints, self.island.k.size, nv, int(self.control.want_island_g))

    def _new_chunk(self, contacts: int) -> layout.Chunk:
        """Rows for chunk_steps steps with a handful of rows each, and for any one step with ``contacts``."""
        return new_chunk(
            self._world, self._stepper, self._chunk_steps, contacts, with_tau=self.control.tau_mode != layout.TAU_ZERO
        )
