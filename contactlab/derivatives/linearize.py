"""Derivatives of a step, by the implicit function theorem on its linear piece."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from contactlab.derivatives import kernels as layout
from contactlab.derivatives.linearization import Kink, Linearization, NearbyKinks, Parameter, parameter
from contactlab.derivatives.memory import Differentiator
from contactlab.multibody.spatial.arrays import FloatArray, finite_array
from contactlab.simulation.recording import Recording
from contactlab.simulation.recording.run_reports import SimulationError, simulation_error
from contactlab.simulation.stepping import TimeStepping
from contactlab.simulation.stepping.driver import Driver
from contactlab.simulation.stepping.prepared import check_run
from contactlab.simulation.world.errors import SimulationConfigError, check_type
from contactlab.simulation.world.world import StepperState, World
from lcp.interruptible import available_cpus, map_threads

#: Targets of drives: an array of all, or numbers by name.
Wanted = Mapping[str, float] | ArrayLike | None


@overload
def linearize(
    world: World,
    stepper: TimeStepping,
    state: StepperState,
    tau: ArrayLike | None = None,
    targets: Wanted = None,
    wrt: Sequence[str | Parameter] = (),
) -> Linearization: ...
@overload
def linearize(
    world: World,
    stepper: TimeStepping,
    state: Sequence[StepperState],
    tau: ArrayLike | None = None,
    targets: Wanted = None,
    wrt: Sequence[str | Parameter] = (),
) -> tuple[Linearization, ...]: ...
def linearize(
    world: World,
    stepper: TimeStepping,
    state: StepperState | Sequence[StepperState],
    tau: ArrayLike | None = None,
    targets: Wanted = None,
    wrt: Sequence[str | Parameter] = (),
) -> Linearization | tuple[Linearization, ...]:
    """Return the derivative of the step from a state, or of the steps from several states.

    The equations that the step has solved are differentiated on their linear piece: which contacts are open, stick and
    slide, and which joint rows are active. Forces of redundant contacts are the selected ones, and so are their
    derivatives.

    Parameters
    ----------
    world, stepper, state
        As for `contactlab.simulation.step`; or n states, whose steps are differentiated on as many threads as there are
        cores.
    tau
        Applied force (nv,), None for none. For n states (n, nv), one for each.
    targets
        Targets of the drives, an array of all or numbers by name; the default is the world's. For n states also (n,
        nd).
    wrt
        Names of numbers of the world (`parameter`), or `Parameter` values, by which to differentiate as well.

    Returns
    -------
    Linearization, or a tuple of one for each state
        A and B of the next (dq, dv), the next state, and the nearby kinks.

    Raises
    ------
    SimulationConfigError
        An argument is invalid; or the stepper has a relaxed friction law, or the world custom constraints, for which
        there are no derivatives. For several states the error has the state's number.
    SimulationError
        The step failed.

    Notes
    -----
    If rigid contacts rest with ``erp=0``, any gap is at a kink: s >= -gap/h while open, s >= 0 in penetration. The
    result is the derivative of the first case: closed contacts stay closed.

    If a step corrects depth in the positions, the gaps with a multiplier end at fixed values, and sticking contacts are
    not moved along the surface. This is exact for one contact of a free body with a half-space, and nearly so for
    others. The displacement comes from a relaxation that ends early: all these steps are reported as kinks. A depth
    close to the allowed depth is not reported: there q jumps by a tenth of the allowed depth.

    An impact without restitution closes its gap, and with any restitution it bounces. The derivative by a restitution
    of 0 is the derivative of the bounce without this jump, which is reported as a kink.
    """
    if isinstance(state, Sequence):
        return _linearize_states(world, stepper, state, tau, targets, wrt)
    check_run(world, stepper, state)
    check_type("state", state, StepperState)
    return linearizer_of(world, stepper, wrt).of_state(state, tau, targets)


#: The last linearizer of each thread: allocating its memory takes as long as five steps and their derivatives.
_LAST = threading.local()


def linearizer_of(world: World, stepper: TimeStepping, wrt: Sequence[str | Parameter] = ()) -> StepLinearizer:
    """Return a linearizer for this world and stepper: the thread's last one, or a new one."""
    last: StepLinearizer | None = getattr(_LAST, "linearizer", None)
    if last is None or not last.serves(world, stepper, wrt):
        last = _LAST.linearizer = StepLinearizer(world, stepper, wrt)
    return last


def _linearize_states(
    world: World,
    stepper: TimeStepping,
    states: Sequence[StepperState],
    taus: ArrayLike | None,
    targets: Wanted,
    wrt: Sequence[str | Parameter],
) -> tuple[Linearization, ...]:
    """Return the derivatives of the steps from several states, computed on threads with separate memory.

    ``taus`` has one row per state; ``targets`` are for all states, or one row per state. An error names its state.
    """
    check_run(world, stepper)
    n, drives = len(states), len(world.joint_actions.drives)
    tau = None if taus is None else finite_array(taus, "tau", (n, world.nv), SimulationConfigError)
    aims: list[Wanted] = [targets] * n
    if targets is not None and not isinstance(targets, Mapping) and np.ndim(targets) == 2:
        aims = list(finite_array(targets, "targets", (n, drives), SimulationConfigError))
    threads = min(available_cpus(), n)
    linearizers = [StepLinearizer(world, stepper, wrt) for _ in range(threads)]
    left, found, errors = iter(range(n)), dict[int, Linearization](), dict[int, Exception]()

    def work(thread: int) -> None:
        for i in left:
            try:
                check_run(world, stepper, states[i])
                check_type("state", states[i], StepperState)
                found[i] = linearizers[thread].of_state(states[i], None if tau is None else tau[i], aims[i])
            except (SimulationConfigError, SimulationError) as error:
                errors[i] = error
            if errors:
                return

    for _ in map_threads(work, threads, threads):
        pass
    if errors:
        # All states before it have been started, and have ended.
        i = min(errors)
        error = errors[i]
        if isinstance(error, SimulationConfigError):
            raise SimulationConfigError(error.field, f"state {i}: {error.detail}") from error
        error.args = (f"state {i}: {error}",)
        raise error
    return tuple(found[i] for i in range(n))


class StepLinearizer:
    """Makes steps of a world and differentiates them in the same memory, for one thread at a time.

    ``driver`` makes them; ``differentiator`` has the results for the last one.
    """

    def __init__(self, world: World, stepper: TimeStepping, wrt: Sequence[str | Parameter] = ()) -> None:
        self._world, self._stepper, self._asked = world, stepper, tuple(wrt)
        parameters = parameters_of(world, stepper, wrt)
        self._none = np.zeros(world.nv)
        self.driver = Driver(world, stepper, world.initial_state(), tau=self._none)
        self.differentiator = Differentiator(self.driver, parameters)

    def serves(self, world: World, stepper: TimeStepping, wrt: Sequence[str | Parameter]) -> bool:
        """Return True if it belongs to this world and stepper, and these parameters."""
        return world is self._world and stepper is self._stepper and tuple(wrt) == self._asked

    def of_state(self, state: StepperState, tau: ArrayLike | None = None, targets: Wanted = None) -> Linearization:
        """Differentiate the step from a state."""
        self._stand_at(state, tau, targets)
        return self._made(state, tau, targets)

    def steps(self, state: StepperState, taus: FloatArray, targets: FloatArray) -> Iterator[tuple[int, int]]:
        """Make n steps from a state under ``taus`` (n, nv) and ``targets`` (n, nd); yield each number and kink count.

        The results of a step are in the memory of ``differentiator`` until the next one.
        """
        self.driver.restart(state)
        driver = self.driver
        for k, tau in enumerate(taus):
            driver.clear_chunk()
            driver.work.tau[:] = tau
            if driver.joints is not None:
                driver.joints.target[:] = targets[k]
            yield k, self._counted(self.differentiator(*self._step()))

    def kinks(self, count: int) -> tuple[Kink, ...]:
        """Return the kinks of the last step, the closest first."""
        return near_kinks(self.driver, self.differentiator, count).kinks()

    def along(
        self, state: StepperState, tau: ArrayLike | None, targets: Wanted, dx: FloatArray, du: FloatArray
    ) -> FloatArray:
        """Return the directional derivative of the step (2 nv,) along (dx, du), also on a kink."""
        self._stand_at(state, tau, targets)
        q, v = self._step()
        direction = np.zeros(self.differentiator.columns)
        direction[: dx.size + du.size] = np.concatenate([dx, du])
        if self.differentiator(q, v, direction) < 0:
            detail = "crosses kinks round in circles: no forces that stay finite answer it"
            raise SimulationConfigError("dx", detail)
        return np.asarray(self.differentiator.memory.A @ direction)

    def _stand_at(self, state: StepperState, tau: ArrayLike | None, targets: Wanted) -> None:
        """Restart the driver at a state, with applied forces (nv,) and targets."""
        self.driver.restart(state)
        applied = self._none if tau is None else finite_array(tau, "tau", self._none.shape, SimulationConfigError)
        self.driver.set_inputs(applied, targets)

    def _step(self) -> tuple[FloatArray, FloatArray]:
        """Make the next step, alone in its chunk, and return copies of q and v at its start; raise if it fails."""
        driver = self.driver
        q, v = driver.work.q.copy(), driver.work.v.copy()
        # They may belong to the derivative of the previous step.
        driver.invalidate_kinematics()
        driver.advance(1)
        if driver.failed:
            driver.clear_chunk()
            record = Recording.of_run(self._world, self._stepper, driver.state(), [])
            try:
                raise simulation_error(driver, record)
            finally:
                driver.restart_step()
        return q, v

    @staticmethod
    def _counted(count: int) -> int:
        if count < 0:
            raise SimulationConfigError("state", "is one whose derivative is not finite")
        return count

    def _made(self, state: StepperState, tau: ArrayLike | None, targets: Wanted) -> Linearization:
        """Make the next step, and return its derivative with the nearby kinks and the next state."""
        driver, differentiator, world = self.driver, self.differentiator, self._world
        count = self._counted(differentiator(*self._step()))
        m, nv = differentiator.memory, world.nv
        nc, nj = int(driver.control.n_contacts), int(driver.control.chunk_joints)
        drives = 3 * nv + len(world.joint_actions.drives)
        A = m.A.copy()
        # Copies, because the caller may modify arrays and mappings.
        acting = None if tau is None else np.array(tau)
        aims = dict(targets) if isinstance(targets, Mapping) else None if targets is None else np.array(targets)
        return Linearization(
            A=A[:, : 2 * nv],
            B=A[:, 2 * nv : 3 * nv],
            targets=A[:, 3 * nv : drives],
            parameters={one.name: A[:, drives + i] for i, one in enumerate(differentiator.parameters)},
            forces=m.forces[:nc].copy(),
            joint_forces=m.joint_forces[:nj].copy(),
            next=driver.state(),
            _near=near_kinks(driver, differentiator, count),
            _along=functools.partial(_along, world, self._stepper, state, acting, aims),
        )


def _along(
    world: World,
    stepper: TimeStepping,
    state: StepperState,
    tau: ArrayLike | None,
    targets: Wanted,
    dx: FloatArray,
    du: FloatArray,
) -> FloatArray:
    # A function of the module, so that a derivative can be pickled like its world.
    return linearizer_of(world, stepper).along(state, tau, targets, dx, du)


def near_kinks(driver: Driver, differentiator: Differentiator, count: int) -> NearbyKinks:
    """Return copies of the first ``count`` kinks in the memory: the kinks near the step just differentiated."""
    m, numbers = differentiator.memory, differentiator.memory.kinks[:count].copy()
    of_rows = numbers[:, layout.ROW] >= 0
    if of_rows.any():
        # The memory has the indices of their records.
        numbers[of_rows, layout.ROW] = driver.chunk.joint["row"][numbers[of_rows, layout.ROW]]
    touching = driver.work.contact_int[: int(driver.control.n_contacts)].copy()
    return NearbyKinks(driver.prepared.world, numbers, touching, m.kink_distances[:count].copy())


def parameters_of(world: World, stepper: TimeStepping, wrt: Sequence[str | Parameter]) -> tuple[Parameter, ...]:
    """Return the checked parameters; raise for worlds and steppers without derivatives."""
    if stepper.law != "coulomb":
        name = type(stepper.solver).__name__
        raise SimulationConfigError(
            "solver", f"{name} relaxes Coulomb's law, and the derivatives are of that law alone"
        )
    if any(one.custom for one in (world.loops.packed,) if world.joint_actions.loops):
        raise SimulationConfigError("world", "has custom constraints, which have no derivatives")
    if isinstance(wrt, str):
        raise SimulationConfigError("wrt", f"must be a sequence of names, got the one text {wrt!r}")
    found = tuple(one if isinstance(one, Parameter) else parameter(world, one) for one in wrt)
    names = [one.name for one in found]
    if len(set(names)) != len(names):
        raise SimulationConfigError("wrt", f"names one twice: {', '.join(names)}")
    return found
