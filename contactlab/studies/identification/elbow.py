"""The tossed elbow, two blocks joined by a hinge: friction, restitution, inertia, and what the hinge resists with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from contactlab.contact import Box, HalfSpace, Material
from contactlab.contact.shapes import Placed
from contactlab.lab.datasets.elbow_toss import ElbowTosses, load_elbow_tosses
from contactlab.multibody import ModelBuilder, joints
from contactlab.simulation import World, WorldBuilder
from contactlab.spatial import RigidInertia, Transform, quaternion
from contactlab.spatial.arrays import IntArray
from contactlab.studies.identification.problem import Parameter, Problem
from contactlab.studies.identification.recordings import Recordings
from contactlab.studies.identification.tosses import CONTACT, MASS_HIDDEN, Tosses, errors_of, toss_problem

# Each block: half extents [m] and mass [kg]; the hinge turns about y, at a place of the first block, and the second
# one's centre lies along its own x.
HALF, MASS = (0.05, 0.025, 0.025), 0.37
HINGE, ARM = (-0.035, 0.06, 0.0), (0.035, 0.0, 0.0)
GRAVITY = 9.81
# Up to this recording (`toss_id`) the board leans in the frame of the data, by these slopes along x and y: corners turn
# round that much higher on one side, and gravity leans with it; later the board is level (`docs/validation.md`).
LEANS_BEFORE, SLOPES = 324, (0.024, -0.025)
# Every recording was shifted until the body lies at height 0 in the end. Where that is, is not to be looked at: it is
# this long [s] ahead of the start, at the velocity there (least squares over the public tosses, 7 and 9 cm off).
AHEAD = 0.245
# In flight samples lie within 0.2 mm, 2 mrad and 4 mrad of a smooth motion.
BEFORE = np.repeat((2e-4, 3e-3, 5e-3), (3, 3, 1))
AFTER = np.repeat((2e-3, 5e-2), (3, 4))
SAMPLES = (6, 6)
NOISE = "0.2 mm, 3 mrad, 5 mrad of the hinge before the impact, 2 mm and 0.05 rad more after it"
#: What anyone would begin with: solid boxes, rigid, a hinge without friction, mu of the lowest error.
NOMINAL = {"mu": 0.15, "restitution": 0.0}
#: Named numbers: ``rigid`` the nominal ones, ``best`` chosen on the 379 public tosses (`docs/validation.md`).
ELBOW_MODELS: dict[str, dict[str, float]] = {
    "rigid": NOMINAL,
    "best": json.loads(Path(__file__).with_name("elbow_best.json").read_text(encoding="utf-8")),
}
PARAMETERS = (
    *CONTACT,
    Parameter("friction:hinge", 2e-3, 1e-4, 0.0, 1.0, "N m"),
    Parameter("damping:hinge", 1e-3, 1e-5, 0.0, 1.0, "N m s"),
)


def elbow_world() -> World:
    """Return the elbow above the board: solid boxes, rigid, a free hinge."""
    gravity, surface = (0.0, 0.0, -GRAVITY), Material(NOMINAL["mu"])
    box = RigidInertia.solid_box(MASS, HALF)
    model = (
        ModelBuilder(gravity)
        .add_body("first", joint=joints.FloatingBase(), inertia=box)
        .add_body(
            "second",
            parent="first",
            joint=joints.Revolute((0.0, 1.0, 0.0)),
            joint_name="hinge",
            placement=Transform(p=HINGE),
            inertia=RigidInertia(MASS, ARM, box.inertia),
        )
        .build()
    )
    builder = WorldBuilder(gravity)
    builder.add_half_space("board", HalfSpace(), surface)
    builder.add_model(model)
    builder.add_shape("first", Box(HALF), surface)
    builder.add_shape("second", Placed(Box(HALF), Transform(p=ARM)), surface)
    return builder.build()


def elbow_recordings(path: str | Path, *, threads: int | None = None) -> Recordings:
    """Return the tosses of a file."""
    return elbow_tosses(load_elbow_tosses(path), threads=threads)


def elbow_tosses(tosses: ElbowTosses, *, threads: int | None = None) -> Recordings:
    """Return tosses, as read."""
    kept, bare = measured(tosses), elbow_world()

    def problem(parameters: tuple[Parameter, ...], fixed: Mapping[str, float], chosen: IntArray) -> Problem:
        return toss_problem(kept, bare, parameters, fixed, chosen, threads)

    return Recordings(
        title="elbow tosses",
        noise=NOISE,
        parameters=PARAMETERS,
        usual=("mu", "restitution", "inertia", "friction:hinge", "damping:hinge"),
        nominal=NOMINAL,
        groups=kept.groups,
        problem=problem,
        errors=errors_of(kept, lambda values: bare, threads),
        hidden=MASS_HIDDEN,
    )


def measured(tosses: ElbowTosses) -> Tosses:
    """Return the paths and scored starts of all tosses, in axes of the board; hinge angles unwrapped."""
    q = np.concatenate((tosses.pos, tosses.quat_wxyz, np.unwrap(tosses.joint, axis=1)[:, :, None]), axis=2)
    v = np.concatenate((tosses.lin_vel_world, tosses.ang_vel_body, tosses.joint_vel[:, :, None]), axis=2)
    level = quaternion.exp(np.arctan(np.hypot(*SLOPES)) / np.hypot(*SLOPES) * np.array([-SLOPES[1], SLOPES[0], 0.0]))
    turn = quaternion.to_matrix(level).T
    for i in np.flatnonzero(tosses.toss_id < LEANS_BEFORE):
        k = tosses.eval_start[i]
        rest = (q[i, k, :3] + AHEAD * v[i, k, :3]) * (1.0, 1.0, 0.0)
        q[i, :, :3] = (q[i, :, :3] - rest) @ turn + rest
        q[i, :, 3:7] = quaternion.multiply(level, q[i, :, 3:7])
        v[i, :, :3] = v[i, :, :3] @ turn
    starts = tuple((int(k), q[i, k], v[i, k]) for i, k in enumerate(tosses.eval_start))
    return Tosses(tuple(q), starts, np.arange(len(tosses)), tosses.dt, 2.0 * HALF[0], BEFORE, AFTER, SAMPLES)
