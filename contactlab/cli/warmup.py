"""`contactlab warmup`: compile what the demo and the toss need, ahead of the first run."""

from __future__ import annotations

import argparse
import time

__all__ = ["add_parser", "run"]


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("warmup", help="compile the kernels once, ahead of the first run", description=__doc__)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Take a few steps of a scene that meets every kernel of the compiled loop, and solve one LCP in the open."""
    import numpy as np

    import lcp
    from contactlab.cli.demo_scene import demo_stepper, demo_world
    from contactlab.simulation import simulate

    started = time.perf_counter()
    simulate(demo_world(seed=0), demo_stepper(), steps=3)
    lcp.solve(lcp.LCP(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([-1.0, -1.0]))).raise_for_status()
    print(f"kernels ready after {time.perf_counter() - started:.1f} s")
    return 0
