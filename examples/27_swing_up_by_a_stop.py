"""Swing-up by a stop: a cart runs into it on purpose; iLQR with derivatives of steps through the impact.

After Tassa, Erez, Todorov (2012). `python examples/27_swing_up_by_a_stop.py film.webp` (or .mp4) films it.
"""

import sys

import numpy as np

from contactlab.collision import Box, Material
from contactlab.derivatives import gradient, linearize
from contactlab.multibody import ModelBuilder, RigidInertia, Transform, joints
from contactlab.simulation import JointLimit, Simulation, TimeStepping, WorldBuilder, verify
from contactlab.view.plotting import animation

H, N, STOP, CART, POLE = 0.01, 200, 0.5, (0.1, 0.05, 0.05), (0.015, 0.015, 0.25)  # [s], steps, [m]
EFFORT, END, GOAL = 2e-4, np.diag((10.0, 200.0, 5.0, 10.0)), np.array([0.0, np.pi, 0.0, 0.0])
FRONT = Transform(p=(0, -0.12, 0))  # of the post, which the pole passes
LAW = {"integrator": "euler", "projection": False, "max_depenetration_velocity": np.inf}  # Newton's alone
Rolled = tuple[float, np.ndarray, np.ndarray]
DAMPED, SHARES = (0.0, 1e-6, 1e-5, 1e-4, 1e-3), (1.0, 0.5, 0.25, 0.12, 0.06, 0.03, 0.01)  # tried in this order


def cart_pole(stop: bool, angle: float = 0.0) -> Simulation:
    """A pole hangs from a cart, whose rail may end half a metre to its right."""
    model, builder, half = ModelBuilder(), WorldBuilder(), Transform(p=(0, 0, -POLE[2]))
    model.add_body("cart", joint=joints.Prismatic((1, 0, 0)), inertia=RigidInertia.solid_box(1.0, CART))
    turns, rod = joints.Revolute((0, 1, 0)), RigidInertia.solid_box(0.3, POLE).moved(half)
    model.add_body("pole", parent="cart", placement=FRONT, joint=turns, inertia=rod)
    builder.add_model(model.build(), (0.0, angle))
    for name, box, place in (("cart", CART, Transform()), ("pole", POLE, half)):
        builder.add_visual(name, Box(box), placement=place)
    if stop:
        builder.add_joint_limit(JointLimit("cart", upper=STOP))
        post, at = Box((0.02, 0.1, 0.1)), Transform(p=(STOP + CART[0] + 0.02, 0, 0))
        builder.add_fixed_body("post", post, Material(0.5), at)
    return Simulation(builder.build(), TimeStepping(H, margin=1e-3, restitution_threshold=1e-2, **LAW), record=True)


def roll(run: Simulation, us: np.ndarray, K: np.ndarray, xs: np.ndarray) -> Rolled:
    """Cost, forces and states of a run under forces us, with feedback K about states xs."""
    run.reset()
    x, u = np.array([[*run.q, *run.v]] * (N + 1)), us.copy()
    for i in range(N):
        u[i] += K[i] @ (x[i] - xs[i])
        run.step([u[i], 0.0])
        x[i + 1] = *run.q, *run.v
    return 0.5 * ((x[N] - GOAL) @ END @ (x[N] - GOAL) + EFFORT * u @ u), u, x


def ilqr(run: Simulation) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """The least effort that ends upright: its cost, forces (n,), gains (n, 4) and states (n + 1, 4)."""

    def change(damped: float) -> tuple[np.ndarray, np.ndarray]:
        """Compute the best changes for linear steps: the backward pass."""
        k, K, S, s = np.zeros(N), np.zeros((N, 4)), END, END @ (xs[N] - GOAL)
        for i in reversed(range(N)):
            A, B = steps[i].A, steps[i].B[:, 0]
            by_u, by_uu, by_ux = EFFORT * us[i] + B @ s, EFFORT + B @ S @ B, B @ S @ A
            k[i], K[i] = -by_u / (by_uu + damped), -by_ux / (by_uu + damped)
            s = A.T @ s + K[i] * (by_u + by_uu * k[i]) + by_ux * k[i]
            S = A.T @ S @ A + by_uu * np.outer(K[i], K[i]) + np.outer(K[i], by_ux) + np.outer(by_ux, K[i])
        return k, K

    better: Rolled | None = roll(run, np.full(N, 2.0), np.zeros((N, 4)), np.zeros((N + 1, 4)))
    while better:
        (cost, us, xs), steps = better, []
        run.reset()
        for u in us:
            steps.append(linearize(run.world, run.stepper, run.state, [u, 0.0]))
            run.step([u, 0.0])
        changes = ((us + share * k, K) for k, K in map(change, DAMPED) for share in SHARES)
        better = next((one for us_K in changes if (one := roll(run, *us_K, xs))[0] < (1 - 1e-6) * cost), None)
    return cost, us, change(0.0)[1], xs


def main() -> dict[str, float]:
    """Swing up without the stop and with it, look at the impact, and start elsewhere."""
    run, found = cart_pole(stop=True), {"free": ilqr(cart_pole(stop=False))[0]}
    found["stop"], us, K, xs = ilqr(run)
    way, still = 1e-6 * np.random.default_rng(0).normal(size=N), 0.0 * K
    ends = [roll(run, us + change, still, xs)[2][N] for change in (way, -way, 0.0)]
    record, push = run.recording, H * run.recording.joint_rows.force.sum()
    slope = gradient(record, lambda i, q, v: (q[1], np.array([0.0, 1.0]), np.zeros(2)), at=(-1,)).tau[:, 0] @ way
    found["slope"] = (ends[0] - ends[1])[1] / 2.0 / slope
    print(f"cost {found['free']:.3f}, with a stop {found['stop']:.3f}; the stop gives {push:.2f} N s")
    print(f"differences over the adjoint's slope, through the impact: 1 {found['slope'] - 1.0:+.0e}")
    assert found["stop"] < 0.8 * found["free"] and np.abs(ends[2] - GOAL).max() < 0.03  # noqa: PT018
    assert push > 1.0 and abs(found["slope"] - 1.0) < 1e-4 and verify(record).holds  # noqa: PT018
    for name, gains in (("with gains", K), ("without", still)):
        found[name] = abs(roll(cart_pole(stop=True, angle=0.05), us, gains, xs)[2][N, 1] - np.pi)
        print(f"from 0.05 rad off, {name}: off by {found[name]:.4f} rad")
    assert found["with gains"] < 0.02 < 0.1 < found["without"]
    print(*(f"film: {animation(record, name)}" for name in sys.argv[1:] if name.endswith((".webp", ".mp4"))))
    return found


if __name__ == "__main__":
    main()
