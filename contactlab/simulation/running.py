"""One run that keeps its memory: steps one by one, for a controller in Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike

from contactlab.event_driven import EventDriven
from contactlab.recording.failure import simulation_error
from contactlab.recording.recording import Recording
from contactlab.spatial.arrays import FloatArray, finite_array
from contactlab.stepping.contact_table import CertificateTable, ContactScope, ContactTable
from contactlab.stepping.driver import Driver
from contactlab.stepping.joint_table import JointTable
from contactlab.stepping.record_schema import Rows, chunk_rows
from contactlab.stepping.time_stepping import TimeStepping
from contactlab.world.errors import SimulationConfigError, check_type, whole_number
from contactlab.world.state import StepperState
from contactlab.world.world import World


def check_run(world: object, stepper: object) -> None:
    """Refuse what is no world, and what is no stepper of time steps."""
    check_type("world", world, World)
    if isinstance(stepper, EventDriven):
        raise SimulationConfigError("stepper", "is event-driven: call stepper.run(world, duration)")
    check_type("stepper", stepper, TimeStepping)


class Simulation:
    """A run of a world, stepped from Python; the same bits as `simulate` and `TimeStepping.step`.

    It keeps the memory of the compiled step from one to the next, so that a step costs little more than its arithmetic:
    a loop of ``TimeStepping.step`` makes arrays, tables and a state every time. That memory is one thread's at a time.
    A copy (`copy`, `pickle`) has memory of its own, and starts where this one stands.

    Parameters
    ----------
    world, stepper
        What and how.
    state
        Where to start; `World.initial_state` where not given.

    Raises
    ------
    SimulationConfigError
        An argument that cannot be used.

    Examples
    --------
    >>> import contactlab.simulation as cs
    >>> from contactlab.contact import Box, HalfSpace
    >>> builder = cs.WorldBuilder()
    >>> _ = builder.add_body("box", mass=1.0, shape=Box((0.1, 0.1, 0.1)), pose=(0.0, 0.0, 0.1))  # doctest: +SKIP
    >>> run = cs.Simulation(builder.build(), cs.TimeStepping(h=1e-3))  # doctest: +SKIP
    >>> run.step(n=100)  # doctest: +SKIP
    >>> run.q, run.v, run.contacts  # doctest: +SKIP
    """

    def __init__(self, world: World, stepper: TimeStepping, state: StepperState | None = None) -> None:
        check_run(world, stepper)
        self.world = world
        self.stepper = stepper
        self._none = np.zeros(world.nv)
        begin = world.initial_state() if state is None else state
        self._driver = Driver(world, stepper, begin, tau=self._none)
        self._q, self._v = self._driver.work.q.view(), self._driver.work.v.view()
        for values in (self._q, self._v):
            values.flags.writeable = False

    def __reduce__(self) -> tuple[type[Simulation], tuple[World, TimeStepping, StepperState]]:
        # Memory of the compiled step cannot be copied: it holds where its arrays lie.
        return Simulation, (self.world, self.stepper, self.state)

    def __repr__(self) -> str:
        return f"Simulation({self.time:.6g} s, {self._driver.step} steps, {self.world.model.nb} bodies)"

    @property
    def time(self) -> float:
        """Time [s]."""
        return self._driver.time

    @property
    def steps(self) -> int:
        """Steps made since the start, or since `reset`."""
        return self._driver.step

    @property
    def q(self) -> FloatArray:
        """Configuration (nq,): a read-only view that always shows the present one. Copy what is to be kept."""
        return self._q

    @property
    def v(self) -> FloatArray:
        """Velocity (nv,): a read-only view that always shows the present one. Copy what is to be kept."""
        return self._v

    @property
    def state(self) -> StepperState:
        """The present state, from which any other run can go on."""
        return self._driver.state()

    def step(
        self,
        tau: ArrayLike | None = None,
        *,
        targets: Mapping[str, float] | ArrayLike | None = None,
        n: int = 1,
    ) -> None:
        """Make n steps with a constant applied force.

        Parameters
        ----------
        tau
            Applied generalized force (nv,), dual to v; None for none.
        targets
            Of the drives, for these steps: an array of all, in the order of `World.joint_actions`, or numbers by name;
            those not given, and None, are the world's.
        n
            How many.

        Raises
        ------
        SimulationConfigError
            An argument of the wrong shape, name or value. Nothing is stepped.
        SimulationError
            A step that failed. The run stands where that step began, and can go on with other arguments.
        """
        driver = self._driver
        driver.apply(self._none if tau is None else self._force(tau), targets)
        for _ in range(n if type(n) is int and n >= 0 else whole_number("n", n, 0)):
            driver.empty()
            driver.advance(1)
            if driver.failed:
                self._fail()

    def compile(self) -> None:
        """Compile whatever the run may come to, or find it on disk: no step then waits for the compiler.

        Without it each part is compiled when it is first needed, and an island of bodies that calls for the fifth
        attempt at it may do so in the midst of a control loop.  Half a minute, once per machine and version.
        """
        self._driver.compile()

    def _force(self, tau: ArrayLike) -> FloatArray:
        # Without the copy and the messages of `finite_array`, which take as long as a small step.
        if type(tau) is np.ndarray and tau.dtype == np.float64 and tau.shape == self._none.shape:
            given: FloatArray = tau
            if np.isfinite(given).all():
                return given
        return finite_array(tau, "tau", self._none.shape, SimulationConfigError)

    def _fail(self) -> NoReturn:
        driver = self._driver
        recording = Recording.of_run(self.world, self.stepper, driver.state(), [driver.take()])
        try:
            raise simulation_error(driver, recording)
        finally:
            driver.begin_again()

    def reset(self, state: StepperState | None = None) -> None:
        """Go to a state, by default the world's initial one."""
        self._driver.restart(self.world.initial_state() if state is None else state)

    def _rows(self) -> Rows:
        return chunk_rows(self._driver.chunk, self._driver.control)

    @property
    def contacts(self) -> ContactTable:
        """The contacts of the last step, with their impulses; empty before the first."""
        rows = self._rows()
        return ContactTable.from_rows(rows, ContactScope.of(self.world, rows["h"], max(self._driver.step - 1, 0)))

    @property
    def joint_rows(self) -> JointTable:
        """The rows of joints of the last step, with their forces."""
        return JointTable.from_rows(self._rows())

    @property
    def certificate(self) -> CertificateTable:
        """How well each island of the last step was solved."""

        def distance(step: int, island: int) -> float:
            detail = "a Simulation keeps no step to select its forces anew: ask TimeStepping.step(world, state)"
            raise SimulationConfigError("certificate", detail)

        return CertificateTable.from_rows(self._rows(), distance)
