"""A quadruped stands up: from lying on its belly, by iLQR over its drives' targets, through contacts."""

import numpy as np

from contactlab.collision import Box, Capsule, HalfSpace, Material
from contactlab.derivatives import linearize
from contactlab.multibody import ModelBuilder, RigidInertia, Transform, difference, joints
from contactlab.simulation import PositionDrive, Recording, Simulation, TimeStepping, WorldBuilder, sensors, verify

LEGS = {"fl": (0.3, 0.2), "fr": (0.3, -0.2), "rl": (-0.3, 0.2), "rr": (-0.3, -0.2)}
TRUNK, LINK, FOOT, TALL, H, N = (0.35, 0.15, 0.09), 0.25, 0.03, 0.4, 0.01, 100  # [m], [s], steps
FOLDED, BENT = (np.tile((b, -2.0 * b), 4) for b in np.arccos((np.array((TRUNK[2], TALL)) - FOOT) / (2.0 * LINK)))
GOAL = np.array([0.0, 0.0, TALL, 1.0, 0.0, 0.0, 0.0, *BENT])
END, EFFORT = np.diag([200.0] * 6 + [20.0] * 8 + [5.0] * 6 + [0.5] * 8), 0.02 * np.eye(8)
ON_WAY = np.diag([0.4] * 6 + [0.04] * 8 + [1.0] * 3 + [0.1] * 3 + [0.001] * 8)
DAMPED, SHARES = (0.0, 1e-4, 1e-3, 1e-2, 0.1), (1.0, 0.5, 0.25, 0.1, 0.03, 0.01)


def lying() -> Simulation:
    """The robot on its belly, legs folded under it."""
    model, rubber, builder, hinge = ModelBuilder(), Material(0.8), WorldBuilder(), joints.Revolute((0, 1, 0))
    model.add_body("trunk", joint=joints.FloatingBase(), inertia=RigidInertia.solid_box(10.0, TRUNK))
    middle = Transform(p=(0, 0, -LINK / 2))
    link = RigidInertia.solid_box(0.4, (0.02, 0.02, LINK / 2)).moved(middle)
    for leg, hip in LEGS.items():
        for part, parent, at in (("thigh", "trunk", (*hip, 0)), ("shank", f"{leg}_thigh", (0, 0, -LINK))):
            model.add_body(f"{leg}_{part}", parent=parent, joint=hinge, placement=Transform(p=at), inertia=link)
    builder.add_half_space("floor", HalfSpace(), rubber)
    builder.add_model(model.build(), (0, 0, TRUNK[2], 1, 0, 0, 0, *FOLDED))
    builder.add_shape("trunk", Box(TRUNK), rubber, category=2, mask=1)
    for leg in LEGS:  # which pass one another
        builder.add_shape(f"{leg}_shank", Capsule(FOOT, LINK / 2), rubber, placement=middle, category=2, mask=1)
        for part in ("thigh", "shank"):
            builder.add_drive(PositionDrive(f"{leg}_{part}", 0.0, 100.0, 4.0, max_force=60.0))
    return Simulation(builder.build(), TimeStepping(H, margin=1e-3, restitution_threshold=1e-2), record=True)


def off(run: Simulation, goal: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """How far a state is from a configuration, and its speed."""
    return np.concatenate((difference(run.world.model, goal, q), v))


def roll(run: Simulation, us: np.ndarray, K: np.ndarray, by: Recording | None, push: float = 0.0) -> tuple:
    """Cost, targets and record of a run with feedback about another, pushed aside [N] for 0.1 s on its way."""
    run.reset()
    u, cost = us.copy(), 0.0
    for i in range(N):
        u[i] += K[i] @ off(run, by.q[i], run.q, run.v - by.v[i]) if by else 0.0
        run.step(targets=u[i], f_ext={"trunk": (0, 0, 0, 0, push, 0)} if push and 30 <= i < 40 else None)
        x = off(run, GOAL, run.q, run.v)
        cost += 0.5 * (x @ (END if i == N - 1 else ON_WAY) @ x + (u[i] - BENT) @ EFFORT @ (u[i] - BENT))
    return cost, u, run.recording


def ilqr(run: Simulation) -> tuple[float, np.ndarray, np.ndarray, Recording]:
    """The cost, targets (n, 8), gains (n, 8, 28) and record of the way up."""

    def change(damped: float) -> tuple[np.ndarray, np.ndarray]:  # the backward pass
        k, K, S, s = np.zeros((N, 8)), np.zeros((N, 8, 28)), END, END @ off(run, GOAL, record.q[N], record.v[N])
        for i in reversed(range(N)):
            A, B = steps[i].A, steps[i].targets
            by_u, by_uu, by_ux = EFFORT @ (us[i] - BENT) + B.T @ s, EFFORT + B.T @ S @ B, B.T @ S @ A
            both = np.linalg.solve(by_uu + damped * np.eye(8), -np.column_stack((by_u, by_ux)))
            k[i], K[i] = both[:, 0], both[:, 1:]
            s = A.T @ s + K[i].T @ (by_u + by_uu @ k[i]) + by_ux.T @ k[i]
            s += ON_WAY @ off(run, GOAL, record.q[i], record.v[i])
            S = A.T @ S @ A + K[i].T @ by_uu @ K[i] + K[i].T @ by_ux + by_ux.T @ K[i] + ON_WAY
        return k, K

    better = roll(run, np.tile(FOLDED, (N, 1)), np.zeros((N, 8, 28)), None)
    while better:
        (cost, us, record), steps = better, []
        run.reset()
        for u in us:
            steps.append(linearize(run.world, run.stepper, run.state, targets=u))
            run.step(targets=u)
        changes = ((us + share * k, K) for k, K in map(change, DAMPED) for share in SHARES)
        better = next((one for way in changes if (one := roll(run, *way, record))[0] < (1 - 1e-4) * cost), None)
    return cost, us, change(0.0)[1], record


def main() -> dict[str, float]:
    """Find the way up, look at who bears the weight on it, and be pushed."""
    run = lying()
    cost, us, K, record = ilqr(run)
    feet = np.array([record.read(sensors.ContactForce(f"{leg}_shank"))[:, 2] for leg in LEGS])
    borne = feet.sum(axis=0)[5:-5] / (9.81 * run.world.model.mass)
    found = {"cost": cost, "height": record.q[N, 2], "speed": np.abs(record.v[N]).max()}
    print(f"up to {found['height']:.3f} m in 1 s; feet bear {borne.min():.2f} to {borne.max():.2f} of the weight")
    assert abs(found["height"] - TALL) < 0.01 and found["speed"] < 0.1 and verify(record).holds  # noqa: PT018
    assert (feet[:, 5:-5] > 0.0).all() and abs(borne.mean() - 1.0) < 0.1  # noqa: PT018
    found["with gains"], found["without"] = (roll(run, us, gains, record, push=100.0)[0] for gains in (K, 0.0 * K))
    print(f"pushed aside with 100 N: cost {found['with gains']:.2f} with gains, {found['without']:.2f} without")
    assert found["with gains"] < found["without"]
    return found


if __name__ == "__main__":
    main()
