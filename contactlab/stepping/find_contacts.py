"""Contacts of a configuration without a step: the contacts that a step from there would find."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from contactlab.multibody.arguments import check_configuration
from contactlab.spatial.arrays import finite_number
from contactlab.spatial.errors import MultibodyError
from contactlab.stepping.contact_table import OPEN, ContactContext, ContactTable
from contactlab.stepping.driver import Driver
from contactlab.stepping.kernels import layout
from contactlab.stepping.time_stepping import TimeStepping, check_run
from contactlab.world.errors import SimulationConfigError
from contactlab.world.state import StepperState

if TYPE_CHECKING:
    from contactlab.world.world import World

#: A step that is never made needs a size all the same: it says how far what is kinematic comes in it [s].
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
# Columns of what a step would have found, and their further axes.
_UNSOLVED: dict[str, tuple[int, ...]] = {
    "impulse": (3,),
    "impulse_normal": (),
    "impulse_tangential": (2,),
    "slip": (),
    "projection_multiplier": (),
    "projection_multiplier_tangential": (2,),
    "gap_correction": (),
    "moment": (3,),
}


def find_contacts(
    world: World, q: ArrayLike, *, within: float | None = None, time: float = 0.0, reduce: bool = False
) -> ContactTable:
    """Return the contacts of a world whose bodies stand at q, found as a step finds them; none is made.

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
        Where kinematic bodies are asked for [s].
    reduce
        At most four contacts of each pair of shapes, as `TimeStepping.reduce_contacts` says.

    Returns
    -------
    ContactTable
        Rows in a step's order, with bodies, half-spaces, shapes, ids, points, normals, gaps and coefficients (of
        bodies at rest), and islands of what hangs together. Nothing was solved: impulses, slip, push, moments, and the
        forces that `between` computes of them, are NaN; modes are `OPEN`.

    Raises
    ------
    SimulationConfigError
        A q of another length or not finite, a bad distance or time.

    Notes
    -----
    The compiled loop is entered and left where it has found the contacts, so that rows equal a step's from q, bit
    for bit: a step lists of them those with gap <= margin + h max(0, -N v). Contacts from outside the loop are the
    caller's own, and not among them. A call costs about as much as `TimeStepping.step`.
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
    # Room for two steps, of which one counts as there already, and not for one contact more: so the loop comes back for
    # a larger chunk as soon as it has counted the contacts.
    driver = Driver(world, stepper, state, chunk_steps=2)
    driver.control.chunk_steps, driver.control.chunk_contacts = 1, np.iinfo(np.int64).max // 2
    driver.advance()
    if driver.failed:
        raise SimulationConfigError("q", f"no contacts are found at {start.tolist()}: the motion is not finite there")
    return _table(world, driver, stepper.thresholds.margin)


def _stepper(within: float | None, reduce: bool) -> TimeStepping:
    try:
        return TimeStepping(SHORT, margin=within, reduce_contacts=reduce)
    except SimulationConfigError as error:
        field = {"margin": "within", "reduce_contacts": "reduce"}.get(error.field, error.field)
        raise SimulationConfigError(field, error.detail) from error


def _table(world: World, driver: Driver, within: float) -> ContactTable:
    work, count = driver.work, int(driver.control.n_contacts)
    near = np.flatnonzero(work.contact_float[:count, layout.GAP] <= within)
    ints, floats = work.contact_int[near], work.contact_float[near]
    columns: dict[str, Any] = {name: np.array(ints[:, at]) for name, at in _INTS.items()}
    columns |= {name: np.array(floats[:, at]) for name, at in _FLOATS.items()}
    columns |= {name: np.full((near.size, *tail), np.nan) for name, tail in _UNSOLVED.items()}
    columns["step"], columns["mode"] = np.zeros(near.size, dtype=np.int64), np.full(near.size, OPEN)
    columns["island"] = work.island_of[world.body_trees[columns["body_b"]]]
    return ContactTable(**columns, scope=ContactContext.of(world, np.array([np.nan])))
