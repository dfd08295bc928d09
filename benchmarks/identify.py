"""Coverage of the intervals of `contactlab identify`: known parameters of synthetic recordings, estimated many times.

    python benchmarks/identify.py [--sets 200] [--kinds cube,impacts,arm] [--json OUT]

Of each kind many sets are made, each with separate throws and noise. Each set is identified from a start away from the
true parameters. The fraction of sets whose 95 % interval contains the true value should be 95 %; with 200 sets 92 to 98
is within chance.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from contactlab.lab.datasets.recordings import ArmLog, PlanarImpacts
from contactlab.lab.studies import MODELS, TossSettings, synthesize_tosses
from contactlab.lab.studies.identification import Recordings, fit, with_parameters
from contactlab.lab.studies.identification.report import arm_log
from contactlab.lab.studies.identification.tosses import cube_tosses, planar_impacts
from contactlab.lab.studies.planar_laws import planar_impulses
from contactlab.multibody.spatial import quaternion
from contactlab.simulation import ImplausibleWarning, TimeStepping, load_urdf_world, rollout

FloatArray = NDArray[np.float64]
#: Recordings, their true parameters, and the start of the search.
Made = tuple[Recordings, Mapping[str, float], Mapping[str, float]]

PENDULUM = """<robot name="arm"><link name="hook"/>
<link name="upper"><inertial><origin xyz="0 0 -0.2"/><mass value="1.0"/>
<inertia ixx="0.0134" iyy="0.0134" izz="0.0002" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="lower"><inertial><origin xyz="0 0 -0.3"/><mass value="0.8"/>
<inertia ixx="0.0032" iyy="0.0032" izz="0.0032" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder" type="continuous"><parent link="hook"/><child link="upper"/><axis xyz="0 1 0"/></joint>
<joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/><origin xyz="0 0 -0.4"/>
<axis xyz="0 1 0"/></joint></robot>"""


def cube_set(seed: int, tosses: int = 24, noise: tuple[float, float] = (2e-4, 2e-3)) -> Made:
    """Make cubes on springs and dampers, measured with the same noise [m, rad] in every sample."""
    rng = np.random.default_rng(seed)
    truth = {"mu": 0.2, "stiffness": 15e3, "dissipation": 50.0}
    settings: TossSettings = replace(MODELS["best"], friction="cone", **truth)  # type: ignore[arg-type]
    made = synthesize_tosses(tosses, settings, samples=40, seed=seed)
    pos = made.pos + noise[0] * rng.standard_normal(made.pos.shape)
    turn = quaternion.exp(noise[1] * rng.standard_normal(made.pos.shape))
    seen = replace(made, pos=pos, quat_wxyz=quaternion.multiply(made.quat_wxyz, turn))
    recordings = cube_tosses(seen, before=np.repeat(noise, 3), after=np.zeros(6), threads=1)
    return recordings, truth, {"mu": 0.25, "stiffness": 20e3, "dissipation": 40.0}


PLANTED = {"mu": 0.2, "restitution": 0.55}


def impact_set(seed: int) -> Made:
    """Make an ellipse that hits a floor."""
    return planar_impacts(impacts_of(seed)), PLANTED, {}


def impacts_of(seed: int, impacts: int = 200, noise: float = 0.03) -> PlanarImpacts:
    """Return its impacts: velocities after with noise, velocities before with a fifth of it."""
    rng = np.random.default_rng(seed)
    mass = np.array([0.037, 0.037, 1.7e-5])
    lever = rng.uniform(-0.01, 0.01, impacts), rng.uniform(0.025, 0.035, impacts)
    normal = np.stack((np.zeros(impacts), np.ones(impacts), lever[0]), axis=1)
    tangent = np.stack((np.ones(impacts), np.zeros(impacts), lever[1]), axis=1)
    before = np.stack(
        (rng.uniform(-1.0, 1.0, impacts), rng.uniform(-2.5, -1.0, impacts), rng.uniform(-20.0, 20.0, impacts)), axis=1
    )
    J = np.stack((normal, tangent), axis=1)
    W, u = np.einsum("nij,j,nkj->nik", J, 1.0 / mass, J), np.einsum("nij,nj->ni", J, before)
    p = planar_impulses("Poisson", W, u, PLANTED["mu"], np.full(impacts, PLANTED["restitution"]))
    after = before + np.einsum("nij,ni->nj", J, p) / mass
    unit = np.sqrt((mass * before**2).sum(axis=1))[:, None] / np.sqrt(mass)
    after += noise * unit * rng.standard_normal(after.shape)
    before = before + 0.2 * noise * unit * rng.standard_normal(after.shape)
    stored = tangent * [1.0, 1.0, -1.0]  # as in the published file
    return PlanarImpacts(Path("made"), before, after, normal, stored, mass, 0)


ARM = {"friction:shoulder": 0.2, "damping:shoulder": 0.1, "friction:elbow": 0.05, "damping:elbow": 0.03}
ARM["mass:lower"] = 1.2


def arm_set(seed: int, samples: int = 801) -> Made:
    """Make two links under known torques, with noise in the angles; one link is heavier than described."""
    world = load_urdf_world(PENDULUM, ground=False)
    return arm_log(arm_log_of(seed, samples), world, threads=1), ARM, {}


def arm_log_of(seed: int, samples: int = 801, noise: float = 2e-4) -> ArmLog:
    """Return its recording."""
    rng = np.random.default_rng(seed)
    world = load_urdf_world(PENDULUM, ground=False)
    dt, h = 0.005, 0.001
    t: FloatArray = dt * np.arange(samples, dtype=np.float64)
    phase = rng.uniform(0.0, 2.0 * np.pi, 4)
    first = 4.0 * np.sin(4.4 * t + phase[0]) + 3.0 * np.sin(11.9 * t + phase[1])
    second = 1.5 * np.sin(6.9 * t + phase[2]) + 1.0 * np.sin(14.5 * t + phase[3])
    tau = np.stack((first, second), axis=1)
    start = world.initial_state(h, q=rng.uniform(-0.5, 0.5, 2), v=rng.uniform(-0.5, 0.5, 2))
    taus = np.repeat(tau[:-1], 5, axis=0)[None]
    found = rollout(with_parameters(world, ARM), TimeStepping(h, friction="cone"), [start], taus=taus, threads=1)
    q = found.q[0, ::5] + noise * rng.standard_normal((samples, 2))
    return ArmLog(Path("made"), t, q, tau, None)


KINDS: dict[str, Callable[[int], Made]] = {"cube": cube_set, "impacts": impact_set, "arm": arm_set}


def covered(made: Made) -> dict[str, bool]:
    """Identify a set; return whether the interval of each parameter contains the true value."""
    recordings, truth, start = made
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImplausibleWarning)
        found = fit(recordings, np.arange(len(recordings)), names=tuple(truth), values=start)
    inside = zip(found.parameters, found.intervals, strict=True)
    return {one.name: bool(low <= truth[one.name] <= high) for one, (low, high) in inside} | {
        "found": found.verdict.name == "FOUND"
    }


def main() -> None:
    """Make the sets, identify them, and count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    shares = {}
    for kind in arguments.kinds.split(","):
        began = time.process_time()
        rows = [covered(KINDS[kind](seed)) for seed in range(arguments.sets)]
        shares[kind] = {name: 100.0 * float(np.mean([row[name] for row in rows])) for name in rows[0]}
        seconds = (time.process_time() - began) / arguments.sets
        words = ", ".join(f"{name} {share:.1f} %" for name, share in shares[kind].items())
        print(f"{kind}: {words}; {arguments.sets} sets, {seconds:.2f} s of processor each", flush=True)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps({"sets": arguments.sets, "covered_percent": shares}, indent=1) + "\n")


if __name__ == "__main__":
    main()
