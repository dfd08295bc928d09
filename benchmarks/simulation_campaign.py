"""A million steps of a mixed scene, recorded to disk: memory, disk, residuals, certificates.

Run: ``python benchmarks/simulation_campaign.py FOLDER [--steps 1000000] [--out FILE.csv] [--resume]``.

Boxes, balls, a capsule, a cylinder, an octahedron and a driven double pendulum between four walls, on a floor with a
belt that runs and a plate that goes up and down: they are thrown up one after the other every half second of
simulated time, collide, bounce and come to rest on one another. After every hundredth of the way a row is written:
steps, seconds, resident memory of the process (all of it, and what is not mapped from files, from
``/proc/self/status``) and bytes on disk. At the end the largest residual of all islands, and an independent
verification of a sample of the steps. The state is checked for NaN by the record itself.
"""

from __future__ import annotations

import argparse
import csv
import platform
import sys
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from contactlab.collision import Box, Capsule, ConvexPoints, Cylinder, HalfSpace, Material, Sphere
from contactlab.multibody import ModelBuilder
from contactlab.multibody.joints import Fixed, Revolute
from contactlab.multibody.spatial import RigidInertia, Transform
from contactlab.simulation import Conveyor, Oscillation, TimeStepping, World, WorldBuilder, simulate, verify

H = 5e-3
PERIOD, THROW = 0.5, 0.05  # from one throw to the next, and how long it takes [s]
MASS = 0.5
BODIES = 6


def world() -> World:
    """Return the mixed scene."""
    builder, rough = WorldBuilder(), Material(0.5)
    builder.add_half_space("floor", HalfSpace(), rough)
    for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        builder.add_half_space(f"wall {x} {y}", HalfSpace((x, y, 0.0), -0.5), Material(0.2))
    plate, motion = Box((0.15, 0.45, 0.05)), Oscillation(Transform(p=(0.3, 0, -0.04)), (0, 0, 0.03), frequency=0.7)
    builder.add_kinematic_body("belt", plate, rough, Conveyor(Transform(p=(-0.3, 0.0, -0.045)), (0.0, 0.2, 0.0)))
    builder.add_kinematic_body("plate", plate, rough, motion)
    octahedron = ConvexPoints(0.12 * np.concatenate((np.eye(3), -np.eye(3))))
    shapes = (
        Box((0.1, 0.08, 0.06)),
        Sphere(0.09),
        Capsule(0.06, 0.1),
        Cylinder(0.08, 0.07),
        octahedron,
        Box.cube(0.08),
    )
    for i, shape in enumerate(shapes):
        material = Material(0.3, 0.5) if isinstance(shape, Sphere) else rough
        inertia = RigidInertia.solid_box(MASS, (0.09, 0.08, 0.07))
        start = (0.25 * (i % 3 - 1), 0.3 * (i // 3) - 0.15, 0.2, 1, 0, 0, 0)
        builder.add_free_body(f"body {i}", inertia, shape, material, start)
    rod = RigidInertia(0.6, (0, 0, -0.15), inertia=np.diag([5e-3, 5e-3, 2e-4]))
    arm = ModelBuilder()
    arm.add_body("stand", joint=Fixed(), placement=Transform(p=(0.0, 0.0, 0.75)))
    arm.add_body("upper", parent="stand", joint=Revolute((0, 1, 0)), inertia=rod)
    arm.add_body("lower", parent="upper", joint=Revolute((1, 0, 0)), placement=Transform(p=(0, 0, -0.3)), inertia=rod)
    builder.add_model(arm.build(), q=(0.5, 0.2))
    # The arm is compliant: a rigid one wedges bodies against the rising plate (its lower link upright, friction above
    # the tangent of its slant), and then no motion obeys Coulomb's law with rigid surfaces.
    soft = Material(0.5, stiffness=1e5, dissipation=0.1)
    for name in ("upper", "lower"):
        builder.add_shape(name, Capsule(0.03, 0.12), soft, placement=Transform(p=(0, 0, -0.15)))
    return builder.build()


def throws(nv: int) -> object:
    """Return tau: one body after another is thrown up and aside, and the pendulum is pushed back and forth."""

    def tau(t: float, q: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.float64]:
        out = np.zeros(nv)
        number = int(t / PERIOD)
        if t - number * PERIOD < THROW:
            at = 6 * (number % BODIES)
            weight = 9.81 * MASS
            out[at : at + 3] = 6.0 * weight * np.array([0.3 * np.sin(number), 0.3 * np.cos(1.7 * number), 1.0])
            out[at + 3 : at + 6] = 0.2 * np.sin(number * np.array([1.0, 2.0, 3.0]))
        out[-2:] = 0.6 * np.sin(2.0 * t) - 0.05 * v[-2], 0.3 * np.sin(1.3 * t) - 0.05 * v[-1]
        return out

    return tau


def memory() -> tuple[int, int]:
    """Return resident memory in all, and without memory mapped from files [kB]; 0 if the system does not report it."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0, 0
    values = {line.split(":")[0]: line.split()[1] for line in lines if line.startswith(("VmRSS", "RssAnon"))}
    return int(values["VmRSS"]), int(values["RssAnon"])


def stored(path: Path) -> int:
    """Return the size of a record on disk so far [bytes]."""
    files = [path, *path.with_name(path.name + ".chunks").glob("*")]
    return sum(file.stat().st_size for file in files if file.is_file())


def main() -> None:
    """Run, write the table, print the end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--sample", type=int, default=500, help="steps verified independently")
    arguments = parser.parse_args()
    path, scene = arguments.folder / "campaign.npz", world()
    table = (arguments.out or arguments.folder / "campaign.csv").open("w", newline="", encoding="utf-8")
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(["stage", "steps", "seconds", "rss_kB", "anonymous_kB", "disk_MB", "note"])
    started, last = time.perf_counter(), -1

    def say(stage: str, steps: int, note: str = "") -> None:
        seconds = round(time.perf_counter() - started, 1)
        writer.writerow([stage, steps, seconds, *memory(), round(stored(path) / 1e6, 1), note])
        table.flush()

    def progress(done: int, total: int) -> None:
        nonlocal last
        if 100 * done // total > last:
            last = 100 * done // total
            say("run", done)

    say("start", 0, f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}")
    recording = simulate(
        scene,
        TimeStepping(H, edges=4),
        steps=arguments.steps,
        tau=throws(scene.nv),
        path=path,
        resume=arguments.resume,
        progress=progress,
    )
    n = recording.n_steps
    say("packed", n, f"{recording!r}; {recording.environment['cpu']}")
    worst = recording.worst_certificate()
    portions = recording.timings["timing_seconds"]
    say(
        "certificates",
        n,
        f"{len(recording.certificates)} islands, worst scaled {worst.scaled:.1e}, mechanical {worst.mechanical:.1e}; "
        f"{n / portions.sum():.0f} steps/s in the loop",
    )
    report = verify(recording, every=max(1, n // arguments.sample))
    say("verified", report.checked_steps, f"{report.failed} failed of {report.contacts} contacts' conditions")
    print(report)
    table.close()
    sys.exit(0 if report.holds and worst.scaled <= recording.stepper.tolerance else 1)


if __name__ == "__main__":
    main()
