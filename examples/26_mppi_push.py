"""Pushing by MPPI: a finger brings a box to a place and a yaw; a plan is the mean of rollouts, weighted by their cost.

After Williams et al. (2017). A `Batch` rolls plans out. `python examples/26_mppi_push.py film.webp` (.mp4) films it.
"""

import sys

import numpy as np

from contactlab.collision import Box, HalfSpace, Material, Sphere
from contactlab.multibody import ModelBuilder, joints
from contactlab.multibody.spatial import RigidInertia, Transform
from contactlab.simulation import Batch, Simulation, TimeStepping, VelocityDrive, WorldBuilder, verify
from contactlab.view.plotting import animation

GOAL, YAW, HALF = np.array([0.35, 0.15]), 0.8, (0.1, 0.07, 0.05)  # [m], [rad], [m]
RUNS, KNOTS, HOLD, NOISE, FASTEST = 48, 8, 10, 0.3, 0.4  # rollouts, knots of 10 steps, [m/s]


def far(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How far the box is from its place [m] and its yaw [rad]; the finger has the first two of q."""
    turn = 2.0 * np.arctan2(q[..., 8], q[..., 5]) - YAW
    return np.linalg.norm(q[..., 2:4] - GOAL, axis=-1), np.abs((turn + np.pi) % (2.0 * np.pi) - np.pi)


def main() -> None:
    """Plan and push by turns, until the box is within 2 cm and 0.1 rad."""
    model, builder, material = ModelBuilder(), WorldBuilder(), Material(0.4)
    part, at, ball = RigidInertia.solid_sphere(1.0, 0.03), Transform(p=(0, 0, HALF[2])), Sphere(0.03)
    slides = joints.Composite([joints.Prismatic((1, 0, 0)), joints.Prismatic((0, 1, 0))])
    model.add_body("finger", joint=slides, inertia=part, placement=at)
    builder.add_half_space("floor", HalfSpace(), material)
    builder.add_model(model.build(), (-0.2, 0.0))
    builder.add_shape("finger", ball, material)
    for axis in (0, 1):
        builder.add_drive(VelocityDrive("finger", max_force=40.0, coordinate=axis))
    builder.add_free_body("box", RigidInertia.solid_box(1.0, HALF), Box(HALF), material, q=at)
    world, stepper, plan = builder.build(), TimeStepping(0.01, edges=4), np.zeros((KNOTS, 2))
    run, batch, rng = Simulation(world, stepper, record=True), Batch([world] * RUNS, stepper), np.random.default_rng(4)
    while run.time < 15.0 and (np.array(far(run.q)) > (0.02, 0.1)).any():
        tried = np.clip(plan + NOISE * rng.normal(size=(RUNS, KNOTS, 2)), -FASTEST, FASTEST)
        batch.reset(states=run.state)
        q = batch.rollout(targets=np.repeat(tried, HOLD, axis=1)).q
        (off, turned), away = far(q), np.linalg.norm(q[..., :2] - q[..., 2:4], axis=-1)
        cost = np.mean(5.0 * off + 0.2 * turned + 0.5 * np.maximum(away, 0.13), axis=1)
        weight = np.exp((cost.min() - cost) / (0.1 * cost.std()))
        now, *later = np.einsum("b,bkn->kn", weight / weight.sum(), tried)
        run.step(targets=now, n=HOLD)
        plan = np.array([*later, (0.0, 0.0)])
    run.step(n=50)
    (off, turned), holds = far(run.q), verify(run.recording).holds
    print(f"at {run.time:.1f} s off by {1e3 * off:.1f} mm and {turned:.3f} rad; verified: {holds}")
    assert off < 0.025 and turned < 0.12 and holds  # noqa: PT018
    for film in filter(lambda name: name.endswith((".webp", ".mp4")), sys.argv[1:]):
        print(f"film: {animation(run.recording, film)}")


if __name__ == "__main__":
    main()
