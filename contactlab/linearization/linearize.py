"""Derivatives of a step, by the implicit function theorem on the piece that it found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from contactlab.linearization.linearization import Kink, Linearization
from contactlab.linearization.memory import Differentiator
from contactlab.linearization.parameters import Parameter, parameter
from contactlab.spatial.arrays import FloatArray
from contactlab.stepping.driver import Driver
from contactlab.stepping.joint_service import Targets
from contactlab.stepping.time_stepping import TimeStepping, check_run
from contactlab.world.errors import SimulationConfigError
from contactlab.world.state import StepperState
from contactlab.world.world import World

if TYPE_CHECKING:
    from collections.abc import Mapping


def linearize(
    world: World,
    stepper: TimeStepping,
    state: StepperState,
    tau: ArrayLike | None = None,
    targets: Targets = None,
    wrt: Sequence[str | Parameter] = (),
) -> Linearization:
    """Derivative of the step from a state.

    Of the equations that the step has solved, differentiated on the linear piece on which it stands: which contacts are
    open, stick and slide, which rows of joints hold. Forces that redundant contacts share are the selected ones, and
    so are their derivatives.

    Parameters
    ----------
    world, stepper, state
        As for `TimeStepping.step`.
    tau
        Applied force (nv,), None for none.
    targets
        Of the drives, an array of all or numbers by name; those not given are the world's.
    wrt
        Names of numbers of the world (`parameter`), or `Parameter` values, to differentiate by as well.

    Returns
    -------
    Linearization
        A and B of the next (dq, dv), the next state, and the kinks near by.

    Raises
    ------
    SimulationConfigError
        An argument that cannot be used; a stepper with ``projection`` or a world with torsional or rolling friction, of
        which there are no derivatives.
    SimulationError
        The step failed.

    Notes
    -----
    Where rigid contacts rest with ``erp=0``, any gap opens a kink: s >= -gap/h while open, s >= 0 in penetration. The
    piece given is the first, what lies closed stays closed.
    """
    check_run(world, stepper, state)
    driver = Driver(world, stepper, state, steps=1, tau=None if tau is None else np.asarray(tau), targets=targets)
    return step_and_differentiate(driver, Differentiator(driver, parameters_of(world, stepper, wrt)))


def parameters_of(world: World, stepper: TimeStepping, wrt: Sequence[str | Parameter]) -> tuple[Parameter, ...]:
    """Return what is asked for, checked, as is what steps can be differentiated of."""
    if stepper.projection:
        detail = "moves q by a problem of its own, of which there are no derivatives: linearize with False"
        raise SimulationConfigError("projection", detail)
    if world.resists_turning:
        raise SimulationConfigError("world", "has torsional or rolling friction, of which there are no derivatives")
    if any(one.custom for one in (world.loops.packed,) if world.joint_actions.loops):
        raise SimulationConfigError("world", "has custom constraints, of which there are no derivatives")
    if isinstance(wrt, str):
        raise SimulationConfigError("wrt", f"must be a sequence of names, got the one text {wrt!r}")
    found = tuple(one if isinstance(one, Parameter) else parameter(world, one) for one in wrt)
    names = [one.name for one in found]
    if len(set(names)) != len(names):
        raise SimulationConfigError("wrt", f"names one twice: {', '.join(names)}")
    return found


def step_and_differentiate(driver: Driver, differentiator: Differentiator) -> Linearization:
    """Make the driver's next step, alone in its chunk, and differentiate it."""
    q, v = driver.work.q.copy(), driver.work.v.copy()
    driver.advance(1)
    if driver.failed:
        from contactlab.recording import Recording, simulation_error

        prepared = driver.prepared
        driver.empty()
        raise simulation_error(
            driver, Recording.of_run(prepared.world, prepared.stepper, driver.state(), [driver.take()])
        )
    return result_of(driver, differentiator, differentiator(q, v))


def result_of(driver: Driver, differentiator: Differentiator, count: int) -> Linearization:
    """Return what has been computed, with ``count`` kinks."""
    world, m = driver.prepared.world, differentiator.memory
    nv, nc, nj = world.nv, int(driver.control.n_contacts), int(driver.control.chunk_joints)
    drives, columns = 3 * nv + len(world.joint_actions.drives), m.A.shape[1]
    A = m.A.copy()
    by: Mapping[str, FloatArray] = {
        one.name: A[:, drives + number] for number, one in enumerate(differentiator.parameters)
    }
    return Linearization(
        A=A[:, : 2 * nv],
        B=A[:, 2 * nv : 3 * nv],
        targets=A[:, 3 * nv : drives],
        parameters=by,
        forces=m.forces[:nc, :, :columns].copy(),
        joint_forces=m.joint_forces[:nj].copy(),
        next=driver.state(),
        kinks=kinks_of(driver, differentiator, count),
    )


def kinks_of(driver: Driver, differentiator: Differentiator, count: int) -> tuple[Kink, ...]:
    """Return the kinks, the nearest first."""
    if count == 0:
        return ()
    world, m = driver.prepared.world, differentiator.memory
    order = np.argsort(m.how_far[:count, 1], kind="stable")
    touching = driver.work.contact_int
    return tuple(
        Kink.of(world, m.kinks[i].tolist(), touching[m.kinks[i, 1]].tolist(), m.how_far[i].tolist()) for i in order
    )
