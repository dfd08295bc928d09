"""Python side of the resumable loop: it enters the loop, does what the loop requests, and enters it again.

Compiled code receives no signal. The driver enters the loop for as many steps as take MAX_BLOCKING_SECONDS, and Ctrl-C
is handled between two entries. If user code must see a step, the loop makes only this step; code that depends on the
end of the step is called again if h shrinks.

A run reuses the last driver of its thread if world and stepper are the same, because a driver's memory takes as long to
allocate as a hundred steps.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import lcp
from contactlab.constraint_solver.strategy_solver import MAX_SECONDS
from contactlab.simulation.stepping import TimeStepping
from contactlab.simulation.stepping.callbacks import Motions, StepCallbacks, Supply, Targets, Tau
from contactlab.simulation.stepping.island_view import IslandView
from contactlab.simulation.stepping.kernels import layout
from contactlab.simulation.stepping.prepared import prepare
from contactlab.simulation.stepping.step_buffers import StepBuffers
from contactlab.simulation.world.errors import check_type
from contactlab.simulation.world.world import StepperState, World
from lcp.interruptible import cpu_seconds, raise_if_cancelled

#: Seconds after which the loop returns to handle Ctrl-C, unless one step takes longer.
MAX_BLOCKING_SECONDS = 0.05


class Driver(StepBuffers):
    """One run of the loop over its own memory.

    Parameters
    ----------
    world, stepper, state
        The world, its stepper and the start.
    first
        Number of the first step, counted from 0.
    steps, end
        Maximum number of steps, earlier ones included; no step begins at the time ``end`` [s] or later. None: no limit.
    h
        Size of the first step to try [s]; None: the stepper's step for this state.
    tau
        See `Tau`.
    supply
        External contacts; see `Supply`.
    targets
        See `Targets`.
    motions
        The motions of the kinematic bodies; None: the world's motions.
    chunk_steps
        Maximum number of steps in one entry.
    external
        Form every problem without solving it: see `form`.
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
        check_type("state", state, StepperState)
        prepared = prepare(world, stepper)
        asked = StepCallbacks(world, tau, targets, supply, prepared.motions if motions is None else motions)
        held = state.contact_ids.size
        super().__init__(prepared, asked, held, chunk_steps=chunk_steps, external=external, steps=steps, end=end)
        self._external = external
        #: the last result of the external solver
        self.last_result: lcp.Result | lcp.FrictionResult | None = None
        #: the memory error of the last step that could not be allocated
        self.no_room: MemoryError | None = None
        # The last step for which user code was called, in a list, because attributes take long to set.
        self._asked_of = [-1]
        # The last step that needed a long solve, and the CPU seconds at its start.
        self._long = -1, 0.0
        # Steps that took less than BRIEF.
        self._portion = 1
        self.restart(state, first=first, h=h)

    def restart(self, state: StepperState, *, first: int = 0, h: float | None = None) -> None:
        """Restart at a state, as a new driver would, with ``first`` and ``h`` as in `Driver`.

        An invalid state raises an error and changes nothing.
        """
        self.set_state(state, first)
        self.restart_step(h)

    def restart_step(self, h: float | None = None) -> None:
        """Return to the beginning of the step in progress, with size h, or by default the stepper's size for the state.

        The state changes only when a step is finished, so a step can be left at any time. Cached kinematics, the cache
        of the solver and a failure are cleared.
        """
        self._stage[0], self._failure[0] = layout.BEGIN, layout.FAILURE_NONE
        self.invalidate_kinematics()
        # An adaptive stepper tries smaller steps before it accepts uncertified forces.
        self._may_go_on[0] = self._stepper.accepts_uncertified and not self._stepper.adaptive
        self._h[0] = self._stepper.next_h(float(self._last_h.item())) if h is None else h
        self.clear_solver_cache()

    def restart_here(self) -> None:
        """Restart from the present state without validating it: drop the rows and reset the step counter."""
        self.clear_chunk()
        self._step[0] = 0
        self.restart_step()

    def clear_solver_cache(self) -> None:
        """Drop the results of the external solver and of user code, because another run begins."""
        self.last_result = None
        self._long = -1, 0.0
        self._asked_of[0] = -1

    def advance(self, steps: int | None = None, reason: int | None = None) -> bool:
        """Run until a chunk is full, the steps are done or one failed; return True if the run can continue.

        After ``steps`` steps the chunk counts as full. ``reason`` is the loop's return code if another caller entered
        it.
        """
        self._run(self._target if steps is None else min(self._target, self.step + steps), reason)
        return not self.failed and self.step < self._target and self.time < self._end

    def advance_alone(self, end: int) -> bool:
        """Step alone up to step ``end``, or up to a step that must be inspected or failed; return True if there is one.

        The chunk must have capacity for one step and no limit, and ``looks`` must be set.
        """
        return self._run(end) != layout.OK or self._flags[layout.LOOK] != 0

    def form(self, island: int) -> IslandView:
        """Form the problem of one island of the next step, without solving any; needs ``external``.

        Raises
        ------
        IndexError
            The step has fewer islands.
        """
        reason = self._run(self._target)
        if reason == layout.UNSOLVED and 0 < island < self.control.n_islands:
            self.control.island = island
            self.control.stage = layout.NEXT_ISLAND
            reason = self._run(self._target)
        if reason != layout.UNSOLVED or not 0 <= island < self.control.n_islands:
            raise IndexError(f"island {island}: the step has {self.control.n_islands}")
        return self.view()

    def view(self) -> IslandView:
        """Return a view of the island in progress."""
        return IslandView(self)

    def compile(self) -> None:
        """Compile every kernel that a run of this world can need, rare ones included, or load it from disk."""
        from contactlab.simulation.stepping.kernels.next_island import hold_at_rest, run_fallback_strategies
        from contactlab.simulation.stepping.kernels.step_stages import STAGE_GROUPS
        from lcp.compiler import compile_for
        from lcp.compiler.bound_call import supports_bound_calls

        for kernel in (run_fallback_strategies, hold_at_rest):
            compile_for(kernel, *self.island_arguments())
        self.bound_loop()
        if supports_bound_calls():
            # Kernels that a run needs last are compiled first: a run in another thread may compile the others
            # meanwhile.
            for group in reversed(STAGE_GROUPS):
                self.compile_stage(group.stages[0])

    def _run(self, limit: int, reason: int | None = None) -> int:
        """Enter the loop and do what it requests, repeatedly; return the first reason that is left to the caller.

        OK means that ``limit`` steps are made, or one step that must be inspected.
        """
        try:
            while True:
                if reason is None:
                    step, asks = self._step[0], self._asked.needs_callback
                    if asks:
                        self._call_users(limit, step)
                    else:
                        self._aim[0] = min(limit, step + self._portion)
                    loop = (self._held or self.bound_loop()).call
                    reason = loop() if asks or limit - step <= 1 else self._enter(loop, step)
                if reason == layout.OK:
                    if self._step[0] >= limit or self._flags[layout.LOOK] or self._clock[0] >= self._end:
                        return reason
                    raise_if_cancelled()
                elif not self._serve(reason):
                    return reason
                reason = None
        except BaseException:
            # User code failed or Ctrl-C came within a step, whose requests may be unfinished.
            self.restart_step()
            raise

    def _enter(self, loop: Callable[[], int], first: int) -> int:
        """Enter the loop at step ``first``, and measure how many steps it makes in MAX_BLOCKING_SECONDS."""
        clock = time.perf_counter()
        reason = loop()
        made, seconds = self.step - first, time.perf_counter() - clock
        if made:
            self._portion = max(1, min(2 * self._portion, int(MAX_BLOCKING_SECONDS * made / max(seconds, 1e-9))))
        return reason

    def _call_users(self, limit: int, step: int) -> None:
        """Call user code for the step after ``step``, at most up to ``limit``; the loop makes only this step."""
        if self._stage[0] == layout.BEGIN:
            full = self._used[0][0] >= self._chunk_steps and not self._flags[layout.ALONE]
            now = self._clock[0]
            if full or step >= limit or now >= self._end:
                self._aim[0] = limit
                return
            if self._asked_of[0] != step:
                work = self._asked.call_at_start(self.work, self.joints, now, self.h)
                if work is not self.work:
                    self.work = work
                self._asked_of[0] = step
        self._aim[0] = step + 1

    def _serve(self, reason: int) -> bool:
        """Do what the loop requests; return False if the caller must do it, or it is impossible."""
        short = self._short[0] if reason == layout.NEED_SPACE else None
        if short == layout.SHORT_OF_ROWS:
            if self._used[0][0]:
                return False
            # The chunk is empty: this step has more contacts than the chunk has rows.
            self.chunk = self._new_chunk(self.work.contact_int.shape[0])
        elif short == layout.SHORT_OF_CODE:
            self.compile_stage(int(self.control.wanted))
        elif short is not None:
            return self._has_room_for(self.grow)
        elif self._external:
            return False
        elif self.failed:
            return self._stepper.adaptive and self._shrink()
        else:
            return self._has_room_for(self._solve)
        return True

    def _solve(self) -> None:
        """Run the fallback strategies for the island in progress, continue its solve, or call the external solver."""
        control, progress = self.control, self.progress
        if control.stage in (layout.FIRST_STRATEGIES, layout.SWEEPS, layout.VERIFY):
            from contactlab.simulation.stepping.kernels.next_island import hold_at_rest, run_fallback_strategies

            run = hold_at_rest if progress.rest == layout.REST_WANTED else run_fallback_strategies
            control.stage = run(*self.island_arguments())
            return
        # A solve in the loop has no time limit: after MAX_SECONDS the external solvers are called instead. After all
        # strategies the number of pivots is limited.
        patient = progress.strategies_tried != 0 or self._has_time()
        if patient and control.stage == layout.SOLVE_LCP and progress.pivots < 0:
            return
        control.stage = layout.VERIFY
        island = self.view()
        answer = island.solve()
        self.last_result = answer.result
        island.write(answer)

    def island_arguments(self) -> tuple[Any, ...]:
        """Return the arguments of the kernels that Python calls for the island in progress."""
        return self.work.tree_start, self.island, self.joints, self.control, self.parameters

    def _has_time(self) -> bool:
        """Return True if there is time for another long solve in the step in progress, or the user named a solver.

        The first call in a step stores its time; the limit is MAX_SECONDS of CPU time from then on.
        """
        if self._long[0] != self.step:
            self._long = self.step, cpu_seconds()
        return self._stepper.solver is not None or cpu_seconds() - self._long[1] < MAX_SECONDS

    def _has_room_for(self, act: Callable[[], None]) -> bool:
        """Call ``act``; return False if memory does not suffice and the step cannot be tried with a smaller h."""
        try:
            act()
        except MemoryError as error:
            if self._external:
                raise
            self.no_room = error
            self.control.failure = layout.FAILURE_SPACE
            return self._stepper.adaptive and self._shrink()
        return True

    def _shrink(self) -> bool:
        """Restart the failed step with a smaller h; return True if the step continues.

        If h would be too small, or time is up, uncertified forces are accepted if they are allowed.
        """
        h, control = self._stepper.shrink_factor * self.h, self.control
        if h < self._stepper.smallest_h or not self._has_time():
            accepts = self._stepper.accepts_uncertified and control.failure == layout.FAILURE_LCP
            if not accepts or control.allow_uncertified:
                return False
            control.failure, control.allow_uncertified = layout.FAILURE_NONE, 1
            return True
        self.parameters.h = h
        control.failure, control.stage = layout.FAILURE_NONE, layout.BEGIN
        self.last_result = None
        # tau and contacts stay valid, because they depend on the start of this step. Targets and motions depend on its
        # end.
        self._asked.call_at_end(self.work, self.joints, self.time, self.h)
        return True


_LAST = threading.local()


def acquire_driver(
    world: World,
    stepper: TimeStepping,
    state: StepperState,
    *,
    first: int,
    steps: int | None,
    end: float | None,
    tau: Tau,
    supply: Supply | None,
    targets: Targets,
    chunk_steps: int,
) -> Driver:
    """Return a driver at a state (see `Driver`): the thread's last one if it is free and fits, otherwise a new one."""
    last: Driver | None = getattr(_LAST, "driver", None)
    _LAST.driver = None
    if last is None or last.prepared.world is not world or last.prepared.stepper is not stepper or supply is not None:
        return Driver(
            world, stepper, state, first=first, steps=steps, end=end, tau=tau, supply=supply, targets=targets,
            chunk_steps=chunk_steps,
        )  # fmt: skip
    last.configure_run(StepCallbacks(world, tau, targets, None, last.prepared.motions), chunk_steps, steps, end)
    last.restart(state, first=first)
    return last


def release_driver(driver: Driver) -> None:
    """Keep a driver whose run has finished for reuse, without rows and user code, unless its memory is large."""
    if driver.is_small:
        driver.drop_run()
        _LAST.driver = driver
