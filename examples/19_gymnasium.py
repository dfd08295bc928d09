"""A gymnasium environment: a cart and a pole, built around one `Simulation`.

The environment passes gymnasium's checker, which also resets it twice with one seed and compares. No policy is trained:
one law does nothing and one catches the pole. Without gymnasium the example prints a message.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from contactlab.multibody import ModelBuilder, joints
from contactlab.multibody.spatial import RigidInertia
from contactlab.simulation import Simulation, StepperState, TimeStepping, World, WorldBuilder

try:
    import gymnasium
    from gymnasium.utils.env_checker import check_env
except ImportError:
    gymnasium = None

H, PUSH, FALLEN = 0.01, 10.0, 0.4  # s, N, rad
GAINS = np.array([1.0, 32.0, 2.4, 7.6])


def cart_and_pole() -> World:
    """A cart of 1 kg on a rail, a pole of 1 m on it."""
    model = ModelBuilder()
    cart = RigidInertia(1.0, (0.0, 0.0, 0.0), inertia=0.01 * np.eye(3))
    pole = RigidInertia(0.2, (0.0, 0.0, 0.5), inertia=np.diag([0.017, 0.017, 1e-4]))
    model.add_body("cart", joint=joints.Prismatic((1, 0, 0)), inertia=cart)
    model.add_body("pole", parent="cart", joint=joints.Revolute((0, 1, 0)), inertia=pole)
    builder = WorldBuilder()
    builder.add_model(model.build())
    return builder.build()


def environment() -> Any:
    """Return the environment; a function, because its base class is gymnasium's."""

    class CartPole(gymnasium.Env):  # type: ignore[name-defined,misc]
        observation_space = gymnasium.spaces.Box(-100.0, 100.0, (4,), np.float64)
        action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float64)

        def __init__(self) -> None:
            self.run = Simulation(cart_and_pole(), TimeStepping(H))

        def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
            super().reset(seed=seed)
            q, v = self.np_random.uniform(-0.05, 0.05, (2, 2))
            self.run.reset(StepperState(q, v))
            return self.seen(), {}

        def step(self, action: Any) -> Any:
            self.run.step([PUSH * float(np.clip(action[0], -1.0, 1.0)), 0.0])
            fallen = bool(abs(self.run.q[1]) > FALLEN)
            return self.seen(), float(not fallen), fallen, self.run.steps >= 500, {}

        def seen(self) -> Any:
            return np.concatenate((self.run.q, self.run.v))

    return CartPole()


def main() -> dict[str, int]:
    """Check the environment and play it."""
    if gymnasium is None:
        print("gymnasium is not installed: pip install gymnasium")
        return {}
    game = environment()
    check_env(game, skip_render_check=True)
    held = {}
    for name, gains in (("nothing", 0.0 * GAINS), ("catching", GAINS)):
        seen, _ = game.reset(seed=4)
        over = False
        while not over:
            seen, _, fallen, out_of_time, _ = game.step([float(gains @ seen) / PUSH])
            over = fallen or out_of_time
        held[name] = game.run.steps
        print(f"{name}: {held[name]} steps upright")
    assert held["nothing"] < 400 <= held["catching"]
    return held


if __name__ == "__main__":
    main()
