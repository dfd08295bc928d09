"""Derivatives of a step, by the implicit function theorem on the piece that it found."""

from __future__ import annotations

import numpy as np

from contactlab.linearization.linearization import WHY, Kink, Linearization
from contactlab.linearization.memory import Differentiator
from contactlab.spatial.arrays import FloatArray
from contactlab.stepping.driver import Driver
from contactlab.stepping.time_stepping import TimeStepping, check_run
from contactlab.stepping.user_code import Tau
from contactlab.stepping.joint_service import Targets
from contactlab.world.state import StepperState
from contactlab.world.world import World


def linearize(
    world: World,
    stepper: TimeStepping,
    state: StepperState,
    tau: Tau = None,
    targets: Targets = None,
) -> Linearization:
    """Derivative of the step from a state."""
    check_run(world, stepper, state)
    driver = Driver(world, stepper, state, steps=1, tau=tau, targets=targets)
    return step_and_differentiate(driver, Differentiator(driver))


def step_and_differentiate(driver: Driver, differentiator: Differentiator) -> Linearization:
    """Make the driver's next step, and differentiate it."""
    q, v = driver.work.q.copy(), driver.work.v.copy()
    driver.advance(1)
    if driver.failed:
        from contactlab.recording import Recording, simulation_error

        raise simulation_error(driver, None)
    count = differentiator(q, v)
    return result_of(driver, differentiator, count)


def result_of(driver: Driver, differentiator: Differentiator, count: int) -> Linearization:
    world, m = driver.prepared.world, differentiator.memory
    nv = world.nv
    order = np.argsort(m.how_far[:count, 1], kind="stable")
    kinks = []
    for i in order:
        why, contact, row = (int(x) for x in m.kinks[i])
        kinks.append(Kink(WHY[why], contact, row, "", float(m.how_far[i, 0]), float(m.how_far[i, 1])))
    nc = int(driver.control.n_contacts)
    return Linearization(
        A=m.A[:, : 2 * nv].copy(),
        B=m.A[:, 2 * nv : 3 * nv].copy(),
        targets=m.A[:, 3 * nv :].copy(),
        parameters={},
        forces=m.forces[:nc].copy(),
        next=driver.state(),
        kinks=tuple(kinks),
    )
