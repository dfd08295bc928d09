"""Runs of records for tests that end them from outside: ``python record_runs.py PATH STEPS [resume]``."""

import sys

import numpy as np
import pytest
import simulation_scenes as scenes

from contactlab.simulation import TimeStepping, simulate

STEPPER = TimeStepping(1e-3)
LONG = 10_000_000


def same(a, b):
    """Whether two recordings hold the same bits."""
    return all(np.array_equal(rows, b.rows[name]) for name, rows in a.rows.items())


def stop_run(world, stepper, path, steps, chunk_steps):
    """Write the chunks of a run that is stopped after this many steps."""

    def interrupt(done, total):
        if done >= steps:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(world, stepper, steps=LONG, path=path, chunk_steps=chunk_steps, flush_seconds=0.0, progress=interrupt)


def says(done, total):
    """Tell the parent how far the run is."""
    print(done, flush=True)


if __name__ == "__main__":
    path, steps, resume = sys.argv[1], int(sys.argv[2]), sys.argv[3:] == ["resume"]
    try:
        simulate(scenes.tumble(), STEPPER, steps=steps, path=path, resume=resume, flush_seconds=0.3, progress=says)
    except KeyboardInterrupt:
        sys.exit(130)
