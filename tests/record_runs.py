"""Runs of records for tests that end them from outside: ``python record_runs.py PATH STEPS [resume]``."""

import sys

import numpy as np
import simulation_scenes as scenes

from contactlab.simulation import TimeStepping, simulate

STEPPER = TimeStepping(1e-3)


def same(a, b):
    """Whether two recordings hold the same bits."""
    return all(np.array_equal(rows, b.rows[name]) for name, rows in a.rows.items())


def says(done, total):
    """Tell the parent how far the run is."""
    print(done, flush=True)


if __name__ == "__main__":
    path, steps, resume = sys.argv[1], int(sys.argv[2]), sys.argv[3:] == ["resume"]
    try:
        simulate(scenes.tumble(), STEPPER, steps=steps, path=path, resume=resume, flush_seconds=0.3, progress=says)
    except KeyboardInterrupt:
        sys.exit(130)
