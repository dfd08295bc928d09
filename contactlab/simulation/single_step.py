"""One step from a given state, as a function, and its result; and the contacts of a configuration, without a step."""

from __future__ import annotations

import functools
import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.arguments import check_configuration
from contactlab.multibody.spatial.arrays import MultibodyError, finite_number
from contactlab.simulation.recording import Recording
from contactlab.simulation.recording.run_reports import simulation_error
from contactlab.simulation.stepping import TimeStepping
from contactlab.simulation.stepping.callbacks import (
    FLOAT_COLUMNS,
    INT_COLUMNS,
    Contacts,
    Supply,
    Targets,
    Tau,
    contact_supplier,
    is_constant,
    tau_at,
)
from contactlab.simulation.stepping.contact_table import OPEN, ContactContext, ContactTable
from contactlab.simulation.stepping.driver import Driver
from contactlab.simulation.stepping.island_tables import CertificateTable, JointTable
from contactlab.simulation.stepping.kernels import layout
from contactlab.simulation.stepping.prepared import check_run
from contactlab.simulation.stepping.record_schema import TABLES, Rows, rows_of_chunks
from contactlab.simulation.stepping.wrenches import WrenchLaw, with_wrenches
from contactlab.simulation.world.errors import SimulationConfigError
from contactlab.simulation.world.world import StepperState, World


@dataclass(frozen=True, eq=False)
class StepResult:
    """The result of one step.

    Attributes
    ----------
    state
        The state after the step.
    kinetic, potential
        Energies of ``state`` [J].
    """

    state: StepperState
    kinetic: float
    potential: float
    _world: World = field(repr=False)
    _stepper: TimeStepping = field(repr=False)
    # A state, and the rows of the steps from there, of which this step is the last; and its number.
    _start: StepperState = field(repr=False)
    _chunk: Rows = field(repr=False)
    _number: int = field(repr=False)

    @classmethod
    def of_rows(
        cls, world: World, stepper: TimeStepping, start: StepperState, rows: Rows, state: StepperState, step: int
    ) -> StepResult:
        """Return the result of step ``step``, the last one from ``start``, from a chunk's rows."""
        result = object.__new__(cls)
        result.__dict__.update(
            state=state, kinetic=rows["kinetic"].item(-1), potential=rows["potential"].item(-1), _world=world,
            _stepper=stepper, _start=start, _chunk=rows, _number=step,
        )  # fmt: skip
        return result

    # Tables are made when they are read, because making one takes longer than a small step.

    @functools.cached_property
    def contacts(self) -> ContactTable:
        """The contacts that took part, with their impulses."""
        scope = ContactContext.of(self._world, self._rows["h"][-1:], self._number)
        contacts = ContactTable.from_rows(self._rows, scope)
        return contacts.rows(contacts.step == self._number)

    @functools.cached_property
    def joint_rows(self) -> JointTable:
        """The joint rows that took part, with their forces."""
        rows = JointTable.from_rows(self._rows)
        return rows.rows(rows.step == self._number)

    @functools.cached_property
    def certificate(self) -> CertificateTable:
        """The certificate of each island."""
        certificate = CertificateTable.from_rows(self._rows, self._selection)
        return certificate.rows(certificate.step == self._number)

    @functools.cached_property
    def _rows(self) -> Rows:
        """The rows of the steps as named arrays."""
        return rows_of_chunks([self._chunk])

    def _selection(self, step: int, island: int) -> float:
        """Return the distance of an island's forces from the selected ones."""
        first = self._number + 1 - self._rows["h"].size
        numbers = {name: steps - first for name, steps in self._rows.items() if name.endswith("_step")}
        recording = Recording.of_run(self._world, self._stepper, self._start, [{**self._rows, **numbers}])
        return recording.selection(step - first, island)


def step(
    world: World,
    stepper: TimeStepping,
    state: StepperState,
    tau: Tau = None,
    *,
    contacts: Contacts = None,
    targets: Targets = None,
    f_ext: WrenchLaw = None,
) -> StepResult:
    """Return the result of one step from ``state``, which is not modified.

    Parameters
    ----------
    world, stepper, state
        World, its stepper and the start of the step; `World.initial_state` gives the first state.
    tau
        Applied generalized force (nv,), dual to v; for a free body the force at its origin in world axes [N] and
        the torque in body axes [N m]. Or a function of (time, q, v) that returns it.
    contacts
        External contacts: a function of (time, q, v) that returns a sequence of `ExternalContact`, called once at
        the start of the step. A contact takes part by the same rule: gap <= margin + h max(0, -N v).
    targets
        Targets of drives; see `simulate`.
    f_ext
        Wrenches on bodies, by name: (6,) moment [N m] and force [N] in world axes about the body's origin, or a
        `Wrench`; or a function of (time, q, v) that returns them. They are added to ``tau`` at the start of the
        step, as J^T f, also in the record.

    Raises
    ------
    SimulationError
        An island's LCP was not solved at any permitted h, and the best forces were rejected (``on_unsolved``).
    """
    check_run(world, stepper, state)
    stepper = stepper.in_world(world)
    supply, tau = contact_supplier(world, contacts), with_wrenches(world, tau, f_ext)
    driver = _driver_at(world, stepper, state, tau, supply, targets)
    driver.advance(1)
    if driver.failed:
        raise simulation_error(driver, Recording.of_run(world, stepper, state, []))
    end, rows = driver.state(), driver.step_made()
    if not driver.needs_callback:
        _LAST.run = driver, end
    return StepResult.of_rows(world, stepper, state, rows, end, 0)


#: The last driver of each thread without user code, and its state; its memory takes as long to allocate as a hundred
#: steps.
_LAST = threading.local()


def _driver_at(
    world: World, stepper: TimeStepping, state: StepperState, tau: Tau, supply: Supply | None, targets: Targets
) -> Driver:
    """Return a driver at a state: the thread's last one, which is removed from there, or a new one."""
    if supply is not None or not is_constant(targets):
        return Driver(world, stepper, state, tau=tau, supply=supply, targets=targets)
    last: tuple[Driver, StepperState] | None = getattr(_LAST, "run", None)
    _LAST.run = None
    if last is None or last[0].prepared.world is not world or last[0].prepared.stepper is not stepper:
        driver = Driver(world, stepper, state, tau=np.zeros(world.nv))
    else:
        driver, stands_at = last
        if state is stands_at:
            driver.restart_here()
        else:
            driver.restart(state)
    # A function is called once per step, at its start, which is this state.
    driver.set_inputs(tau_at(tau, state.time, state.q, state.v), targets)
    return driver


#: The loop needs a step size to place kinematic bodies; it is so short that they do not move [s].
SHORT = 1e-9


def find_contacts(
    world: World, q: ArrayLike, *, within: float | None = None, time: float = 0.0, reduce: bool = False
) -> ContactTable:
    """Return the contacts of a world at the configuration q, found by a step's kernels without a step.

    Parameters
    ----------
    world
        Bodies and surroundings.
    q
        (nq,).
    within
        Contacts with a gap up to this [m], at least 0; penetrations have negative gaps. None: the margin of
        `TimeStepping` at a short step, a hundredth of the thickness of the thinnest shape that moves.
    time
        Time at which kinematic bodies are placed [s].
    reduce
        Keep at most four contacts of each pair of shapes, see `TimeStepping.reduce_contacts`.

    Returns
    -------
    ContactTable
        Rows in a step's order, with bodies, half-spaces, shapes, ids, points, normals, gaps, islands and coefficients
        (of bodies at rest). Nothing is solved: modes are `OPEN`; impulses, slip, projection multipliers, moments, and
        the forces that `between` computes from them, are NaN.

    Raises
    ------
    SimulationConfigError
        q has a wrong length or is not finite, or a distance or time is invalid.

    Notes
    -----
    The compiled loop is left as soon as it has found the contacts, so rows equal a step's from q, bit for bit. A step
    lists the contacts with gap <= margin + h max(0, -N v). External contacts are not included. A call costs about as
    much as `step`.
    """
    stepper = _stepper(within, reduce)
    check_run(world, stepper)
    stepper = stepper.in_world(world)
    try:
        start = check_configuration(world.model, q)
    except MultibodyError as error:
        raise SimulationConfigError("q", error.detail) from error
    now = finite_number(time, "time", SimulationConfigError)
    state = StepperState(time=now, q=start, v=np.zeros(world.nv), h=0.0)
    # The chunk has two steps, one of them counted as present already, and no capacity for contacts. So the loop returns
    # for a larger chunk as soon as it has counted the contacts.
    driver = Driver(world, stepper, state, chunk_steps=2)
    driver.control.chunk_steps, driver.control.chunk_contacts = 1, np.iinfo(np.int64).max // 2
    driver.advance()
    if driver.failed:
        raise SimulationConfigError("q", f"no contacts are found at {start.tolist()}: the motion is not finite there")
    return _table(world, driver, stepper.thresholds.margin)


def _stepper(within: float | None, reduce: bool) -> TimeStepping:
    """Return a stepper for one search; its errors name the arguments of `find_contacts`."""
    try:
        return TimeStepping(SHORT, margin=within, reduce_contacts=reduce)
    except SimulationConfigError as error:
        field = {"margin": "within", "reduce_contacts": "reduce"}.get(error.field, error.field)
        raise SimulationConfigError(field, error.detail) from error


def _table(world: World, driver: Driver, within: float) -> ContactTable:
    """Return the contacts with a gap of at most ``within`` [m]; columns that only a step can fill are NaN."""
    work, count = driver.work, int(driver.control.n_contacts)
    near = np.flatnonzero(work.contact_float[:count, layout.GAP] <= within)
    ints, floats = work.contact_int[near], work.contact_float[near]
    columns: dict[str, Any] = {
        name: np.full((near.size, *tail), np.nan) for name, (_, *tail) in TABLES["contact"].items()
    }
    columns |= {name: np.array(ints[:, at]) for name, at in INT_COLUMNS.items()}
    columns |= {name: np.array(floats[:, at]) for name, at in FLOAT_COLUMNS.items()}
    columns["step"], columns["mode"] = np.zeros(near.size, dtype=np.int64), np.full(near.size, OPEN)
    columns["island"] = work.island_of[world.body_trees[columns["body_b"]]]
    return ContactTable(**columns, scope=ContactContext.of(world, np.array([np.nan])))
