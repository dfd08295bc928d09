"""Contacts of a configuration, as a step from there would find them, without a step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.arguments import check_configuration
from contactlab.multibody.spatial.arrays import finite_number
from contactlab.multibody.spatial.errors import MultibodyError
from contactlab.simulation.stepping.contact_table import OPEN, ContactContext, ContactTable
from contactlab.simulation.stepping.driver import Driver
from contactlab.simulation.stepping.kernels import layout
from contactlab.simulation.stepping.record_schema import TABLES
from contactlab.simulation.stepping.time_stepping import TimeStepping, check_run
from contactlab.simulation.world.errors import SimulationConfigError
from contactlab.simulation.world.state import StepperState

if TYPE_CHECKING:
    from contactlab.simulation.world.world import World

#: The loop needs a step size to place kinematic bodies; it is so short that they do not move [s].
SHORT = 1e-9

_INTS = {
    "body_a": layout.BODY_A,
    "body_b": layout.BODY_B,
    "half_space": layout.HALF_SPACE,
    "id": layout.CONTACT_ID,
    "shape_a": layout.SHAPE_A,
    "shape_b": layout.SHAPE_B,
}
_FLOATS: dict[str, int | slice] = {
    "point": slice(layout.POINT, layout.POINT + 3),
    "normal": slice(layout.NORMAL, layout.NORMAL + 3),
    "gap": layout.GAP,
    "mu": layout.MU,
    "restitution": layout.RESTITUTION,
}


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
    much as `TimeStepping.step`.
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
    columns |= {name: np.array(ints[:, at]) for name, at in _INTS.items()}
    columns |= {name: np.array(floats[:, at]) for name, at in _FLOATS.items()}
    columns["step"], columns["mode"] = np.zeros(near.size, dtype=np.int64), np.full(near.size, OPEN)
    columns["island"] = work.island_of[world.body_trees[columns["body_b"]]]
    return ContactTable(**columns, scope=ContactContext.of(world, np.array([np.nan])))
