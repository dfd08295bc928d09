"""Quadratic programs in the loop: results of each backend and code for a slide, a stack and a robot on its feet.

Run: ``python benchmarks/qp_in_the_loop.py [--out benchmarks/results/qp_in_the_loop_DATE] [--only NAME]``. Writes
OUT.csv, OUT.md.

A box of 1 kg slides at 1 m/s with friction 0.5, and should stop at v^2 / (2 mu g); three boxes rest on one another; the
quadruped of ``examples/scenes`` lands on its feet. For each run the table has its error, the residual of the backend's
law, the violation of Coulomb's law, both over their scales, islands without a certificate, and whether `verify` holds.
Codes that are not installed are left out. Times are not measured.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from tables import markdown, write

import lcp
from contactlab import ConvexRelaxation, StaggeredProjections
from contactlab.collision import Box, HalfSpace, Material
from contactlab.multibody.spatial import RigidInertia
from contactlab.simulation import Recording, SimulationError, TimeStepping, World, WorldBuilder, simulate, verify
from contactlab.simulation.scene import load_scene

G, MU, SPEED, H = 9.81, 0.5, 1.0, 5e-3
SCENES = Path(__file__).parent.parent / "examples" / "scenes"
HEAD = ("scene", "backend", "code", "off", "residual", "Coulomb's misfit", "not certified", "verify")


def boxes(count: int, speed: float) -> World:
    """Boxes of 1 kg and 0.2 m on one another on the ground."""
    half, material = (0.1, 0.1, 0.1), Material(MU)
    builder = WorldBuilder()
    builder.add_half_space("ground", HalfSpace(), material)
    for k in range(count):
        q, v = (0.0, 0.0, 0.1 + 0.2 * k, 1.0, 0.0, 0.0, 0.0), (speed, 0.0, 0.0, 0.0, 0.0, 0.0)
        builder.add_free_body(f"box {k}", RigidInertia.solid_box(1.0, half), Box(half), material, q=q, v=v)
    return builder.build()


def codes() -> dict[str, Any]:
    """Return the installed codes for quadratic programs, by name."""
    import cvxpy

    installed = cvxpy.installed_solvers()
    engines = {f"CVXPY {name}": lcp.CVXPY(name) for name in ("OSQP", "CLARABEL", "SCS", "PIQP", "PROXQP")}
    found = {"OSQP": lcp.OSQP(), "Clarabel": lcp.Clarabel(), "PIQP": lcp.PIQP(), "ProxQP": lcp.ProxQP()}
    probe = lcp.LCP([[1.0]], [-1.0])
    found = {name: code for name, code in found.items() if lcp.solve(probe, code).solved}
    found |= {name: code for name, code in engines.items() if name.partition(" ")[2] in installed}
    return found | {"Lemke": lcp.Lemke()}


def solvers(codes: dict[str, Any]) -> list[tuple[str, str, Any]]:
    """Return backend, code and solver of each row; the first two without a program, for comparison."""
    rows: list[tuple[str, str, Any]] = [("none", "by default", None)]
    for kind in (ConvexRelaxation, StaggeredProjections):
        rows += [(kind.__name__, name, kind(code)) for name, code in codes.items()]
    return rows


def slide(recording: Recording) -> str:
    """Return the error of the distance from v^2 / (2 mu g) [m], and relative to it."""
    wanted = SPEED**2 / (2.0 * MU * G)
    off = float(recording.q[-1, 0]) - wanted
    return f"{1e3 * off:+.2f} mm ({100.0 * off / wanted:+.1f} %)"


def stack(recording: Recording) -> str:
    """Return the largest displacement of a body that should rest [m]."""
    return f"{np.abs(recording.q[-1] - recording.q[0]).max():.1e} m"


def stand(recording: Recording) -> str:
    """Return the mean load on the feet at the end, as a fraction of the weight."""
    weight = G * sum(body.inertia.mass for body in recording.world.model.bodies if body.inertia is not None)
    carried = -float(recording.force_on("ground")[-30:, 2].mean())
    return f"base at {recording.q[-1, 2]:.4f} m, feet carry {100.0 * carried / weight:.1f} %"


def main() -> None:
    """Run, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="results without suffix: OUT.csv and OUT.md")
    parser.add_argument("--only", help="scenes whose name begins so")
    options = parser.parse_args()
    scenes: dict[str, tuple[World, float, int, Any]] = {
        "slide": (boxes(1, SPEED), H, 50, slide),
        "stack": (boxes(3, 0.0), H, 100, stack),
        "quadruped": (load_scene(SCENES / "quadruped.toml").world, 2e-3, 300, stand),
    }
    lines: list[list[Any]] = []
    for scene, (world, h, steps, measure) in scenes.items():
        if options.only and not scene.startswith(options.only):
            continue
        for backend, code, solver in solvers(codes()):
            said = "holds"
            with warnings.catch_warnings():
                # Islands without a certificate are in the table.
                warnings.simplefilter("ignore")
                try:
                    recording = simulate(world, TimeStepping(h, solver=solver), steps=steps)
                except SimulationError as error:
                    recording, said = error.recording, f"stopped at step {error.step}"
            if said == "holds" and not verify(recording, every=5).holds:
                said = "does not hold"
            solved, misfit = recording.certificates.scaled, recording.coulomb_misfit
            numbers = [f"{values.max(initial=0.0):.1e}" for values in (solved, misfit)]
            lines.append([scene, backend, code, measure(recording), *numbers, len(recording.uncertified), said])
            print(markdown(HEAD, lines[-1:]).splitlines()[-1], flush=True)
    if options.out is not None:
        write(options.out, "", "", HEAD, lines)


if __name__ == "__main__":
    main()
