"""Constraints written as users write them, for the tests of what is made of them."""

from collections.abc import Sequence

import numpy as np

from contactlab.multibody import (
    Model,
    body_pose,
    point_bias_acceleration,
    point_jacobian,
    point_position,
    point_velocity,
)
from contactlab.multibody.constraints import BodyWrench, CustomConstraint
from contactlab.multibody.spatial import Transform

A_POINT, B_POINT = np.array([0.2, 0.1, 0.0]), np.array([0.0, 0.3, -0.1])


class Pin(CustomConstraint):
    """Two points coincide: the ball joint, in world axes."""

    rows = 3

    def __init__(self, a: str, b: str, baumgarte: float | None = None) -> None:
        self.a, self.b, self.baumgarte, self.name = a, b, baumgarte, "pin"

    def jacobian(self, model: Model, q: np.ndarray) -> np.ndarray:
        return point_jacobian(model, q, self.b, B_POINT) - point_jacobian(model, q, self.a, A_POINT)

    def gamma(self, model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return point_bias_acceleration(model, q, v, self.a, A_POINT) - point_bias_acceleration(
            model, q, v, self.b, B_POINT
        )

    def position_error(self, model: Model, q: np.ndarray) -> np.ndarray:
        return point_position(model, q, self.b, B_POINT) - point_position(model, q, self.a, A_POINT)

    def wrenches(self, model: Model, q: np.ndarray, forces: np.ndarray) -> Sequence[BodyWrench]:
        one, two = body_pose(model, q, self.a), body_pose(model, q, self.b)
        return [
            BodyWrench(self.a, Transform(one.R.T, A_POINT), np.concatenate([np.zeros(3), -forces])),
            BodyWrench(self.b, Transform(two.R.T, B_POINT), np.concatenate([np.zeros(3), forces])),
        ]


class Driven(CustomConstraint):
    """A point's height follows r sin(t): time-varying, position level."""

    rows = 1
    name = "driven"
    radius = 0.3

    def jacobian(self, model: Model, q: np.ndarray) -> np.ndarray:
        return point_jacobian(model, q, "b1", A_POINT)[2:]

    def gamma(self, model: Model, q: np.ndarray, v: np.ndarray, t: float = 0.0) -> np.ndarray:
        return -point_bias_acceleration(model, q, v, "b1", A_POINT)[2:] - self.radius * np.sin(t)

    def position_error(self, model: Model, q: np.ndarray, t: float = 0.0) -> np.ndarray:
        return point_position(model, q, "b1", A_POINT)[2:] - self.radius * np.sin(t)

    def velocity_error(self, model: Model, q: np.ndarray, v: np.ndarray, t: float = 0.0) -> np.ndarray:
        return point_velocity(model, q, v, "b1", A_POINT)[2:] - self.radius * np.cos(t)


class Linear(CustomConstraint):
    """A linear condition on q, multiplied by a scale: position level."""

    rows = 1

    def __init__(self, scale: float, row: tuple[float, ...], value: float) -> None:
        self.row, self.value = scale * np.array(row), scale * value

    def jacobian(self, model: Model, q: np.ndarray) -> np.ndarray:
        return self.row[None]

    def gamma(self, model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.zeros(1)

    def position_error(self, model: Model, q: np.ndarray) -> np.ndarray:
        return np.array([self.row @ q - self.value])


class Speed(CustomConstraint):
    """A point's squared speed is 1: velocity level, not linear in v."""

    rows = 1
    level = "velocity"

    def jacobian(self, model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:  # type: ignore[override]
        u = point_velocity(model, q, v, "b1", A_POINT)
        return 2.0 * u[None, :] @ point_jacobian(model, q, "b1", A_POINT)

    def gamma(self, model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        u = point_velocity(model, q, v, "b1", A_POINT)
        return np.array([-2.0 * u @ point_bias_acceleration(model, q, v, "b1", A_POINT)])

    def velocity_error(self, model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        u = point_velocity(model, q, v, "b1", A_POINT)
        return np.array([u @ u - 1.0])


class Rolling(CustomConstraint):
    """A disc standing on the ground plane z = 0 rolls without slipping: velocity level, placed on the plane."""

    rows = 3
    level = "velocity"
    name = "rolling"
    radius = 0.5

    def _lowest(self, model: Model, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lowest point relative to the centre, world axes, and the disc's axis."""
        axis = body_pose(model, q, "disc").R[:, 1]
        down = np.array([0.0, 0.0, -1.0])
        along = down - (down @ axis) * axis
        return self.radius * along / np.linalg.norm(along), axis

    def jacobian(self, model: Model, q: np.ndarray) -> np.ndarray:
        pose = body_pose(model, q, "disc")
        return point_jacobian(model, q, "disc", pose.R.T @ self._lowest(model, q)[0])

    def velocity_error(self, model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self.jacobian(model, q) @ v

    def gamma(self, model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        # The velocity x' + w x r of the material point at r: its rate leaves w x r' - (terms of the material point).
        r, axis = self._lowest(model, q)
        pose = body_pose(model, q, "disc")
        w = pose.R @ v[3:6]
        spin = np.cross(w, axis)
        down = np.array([0.0, 0.0, -1.0])
        along = down - (down @ axis) * axis
        change = -(down @ spin) * axis - (down @ axis) * spin
        n = np.linalg.norm(along)
        rate = self.radius * (change / n - along * (along @ change) / n**3)
        material = point_bias_acceleration(model, q, v, "disc", pose.R.T @ r)
        return -(material - np.cross(w, np.cross(w, r)) + np.cross(w, rate))

    def assembly_position_error(self, model: Model, q: np.ndarray) -> np.ndarray:
        return (body_pose(model, q, "disc").p + self._lowest(model, q)[0])[2:]

    def assembly_position_jacobian(self, model: Model, q: np.ndarray) -> np.ndarray:
        # The lowest point moves along the rim, which is level there.
        return self.jacobian(model, q)[2:]


def broken(**changes: object) -> Pin:
    """A pin with some members replaced."""
    return type("Broken", (Pin,), changes)("b0", "b3")  # type: ignore[no-any-return]
