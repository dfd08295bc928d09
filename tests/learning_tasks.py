"""Tasks small enough for tests."""

from typing import Any

import numpy as np

from contactlab.learning import Noise, Snapshot, Targets, Task, Torques
from contactlab.multibody import JointLimits
from contactlab.simulation import (
    Box,
    HalfSpace,
    Material,
    ModelBuilder,
    PositionDrive,
    RigidInertia,
    TimeStepping,
    World,
    WorldBuilder,
    joints,
    sensors,
)

H = 0.01


def sledge(mass: float = 2.0, mu: float = 0.5) -> World:
    """A box on the floor, with a weight on a rail on it that a motor pushes to and fro."""
    model = ModelBuilder()
    model.add_body("box", joint=joints.FloatingBase(), inertia=RigidInertia.solid_box(mass, (0.3, 0.2, 0.1)))
    model.add_body(
        "weight",
        parent="box",
        joint=joints.Prismatic((1, 0, 0)),
        inertia=RigidInertia(1.0, (0, 0, 0), inertia=0.01 * np.eye(3)),
        limits=JointLimits(effort=20.0),
    )
    builder = WorldBuilder()
    builder.add_half_space("floor", HalfSpace(), Material(mu))
    builder.add_model(model.build(), (0, 0, 0.13, 1, 0, 0, 0, 0))
    builder.add_shape("box", Box((0.3, 0.2, 0.1)), Material(mu))
    return builder.build()


def cart_and_pole(*, drive: bool = False) -> World:
    """A cart on a rail, a pole on it; the pole between stops, with a servo or without."""
    model, builder = ModelBuilder(), WorldBuilder()
    cart = RigidInertia(1.0, (0, 0, 0), inertia=0.01 * np.eye(3))
    pole = RigidInertia(0.2, (0, 0, 0.5), inertia=np.diag([0.017, 0.017, 1e-4]))
    model.add_body("cart", joint=joints.Prismatic((1, 0, 0)), inertia=cart, limits=JointLimits(effort=10.0))
    model.add_body("pole", parent="cart", joint=joints.Revolute((0, 1, 0)), inertia=pole, limits=JointLimits(-1.0, 1.0))
    builder.add_model(model.build())
    if drive:
        builder.add_drive(PositionDrive("pole", 0.0, 50.0, 5.0, name="servo"))
    return builder.build()


def push() -> Task:
    """Push the box along, with the force of the floor observed."""

    def reward(before: Snapshot, action: np.ndarray, after: Snapshot) -> dict[str, np.ndarray]:
        return {"forward": after.q[:, 0] - before.q[:, 0], "cost": -1e-3 * (action**2).sum(axis=1)}

    world = sledge()
    return Task(
        world,
        TimeStepping(H),
        Torques(world),
        reward,
        start=Noise(q=0.02, v=0.1, v_law="normal"),
        sensors={"floor": sensors.ContactForce("box", "floor"), "where": sensors.FramePosition("weight")},
        frame_skip=3,
        max_steps=20,
    )


def balance(**changes: Any) -> Task:
    """Keep the pole up."""
    world = cart_and_pole()
    fields: dict[str, Any] = {
        "world": world,
        "stepper": TimeStepping(H),
        "actions": Torques(world),
        "reward": lambda before, action, after: np.ones(len(after.q)),
        "terminated": lambda now: np.abs(now.q[:, 1]) > 0.2,
        "start": Noise(0.05, 0.05),
        "max_steps": 40,
    }
    return Task(**fields | changes)


def follow() -> Task:
    """Lead the pole to where a servo is to hold it."""
    world = cart_and_pole(drive=True)
    return balance(world=world, actions=Targets(world), reward=lambda before, action, after: -(after.q[:, 1] ** 2))


class Burst:
    """A push on the cart; at full strength one that no step survives."""

    low, high, depends_on_state = np.array([-1.0]), np.array([1.0]), True

    def inputs(self, actions: np.ndarray, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, None]:
        taus = np.zeros((len(actions), v.shape[1]))
        taus[:, 0] = np.where(actions[:, 0] >= 1.0, 1e308, actions[:, 0] - 0.1 * v[:, 0])
        return taus, None


TASKS = {"torques and contacts": push, "torques and an end": balance, "targets": follow}
