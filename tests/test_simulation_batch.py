"""`simulate` on several threads at once, and batches of the same: the bits of each run alone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import simulation_scenes as scenes
from body_contact_scenes import pendulum_and_box, stack

from contactlab.simulation import Batch, Recording, Sleep, TimeStepping, simulate

STEPPERS = {
    "stabilised": TimeStepping(2e-3, edges=6, margin=5e-3, erp=0.2, cfm=1e-6),
    "projected": TimeStepping(2e-3, edges=4, projection=True, reduce_contacts=True),
    "adaptive, sleeping": TimeStepping(4e-3, edges=4, adaptive=True, sleep=Sleep(1e-2, 0.02)),
    "cold, a solver from outside": TimeStepping(2e-3, edges=4, warm_start=False, solver=scenes.Outside()),
}


def same(one: Recording, alone: Recording) -> None:
    """Every array of the two, bit for bit."""
    for name, rows in alone.rows.items():
        assert np.array_equal(rows, one.rows[name]), name


@pytest.mark.parametrize("name", STEPPERS)
def test_runs_on_threads_and_in_batches_have_the_bits_of_runs_alone(name):
    """Worlds by steppers: contacts of bodies, joints, impacts; from their starts, and going on from a state."""
    worlds, stepper = [scenes.tumble(), stack(3), pendulum_and_box(), scenes.dropped_ball(0.02, 0.6)], STEPPERS[name]
    alone = [simulate(world, stepper, steps=60) for world in worlds]
    with ThreadPoolExecutor(2) as pool:
        for recording, one in zip(
            pool.map(lambda w: simulate(w, stepper, steps=60), worlds * 2), alone * 2, strict=True
        ):
            same(recording, one)
    for world, one in zip(worlds, alone, strict=True):
        for threads in (1, 2):
            batch = Batch(world, stepper, [one.state(k) for k in (0, 30, 10)], threads=threads)
            for n in (1, 9, 20):
                batch.step(n=n)
            assert np.array_equal(batch.q, one.q[[30, 60, 40]])
            assert np.array_equal(batch.v, one.v[[30, 60, 40]])


def test_a_record_is_the_same_whoever_else_runs():
    """Many runs, more than threads."""
    worlds = [scenes.ball(0.2, 1.0 + 0.1 * i) for i in range(5)] + [scenes.block(0.3, 1.0)]
    stepper = TimeStepping(1e-3, edges=4)
    with ThreadPoolExecutor(3) as pool:
        recordings = list(pool.map(lambda world: simulate(world, stepper, steps=40), worlds))
    for world, recording in zip(worlds, recordings, strict=True):
        same(recording, simulate(world, stepper, steps=40))
