"""A moving constraint: the upper end of a swinging rod follows a prescribed path.

The rod moves as a pendulum with an accelerated pivot, and the work of the guide is the change of its energy.
"""

import numpy as np

from contactlab import multibody
from contactlab.multibody import constraints

MASS, LENGTH, G = 1.2, 0.8, 9.81


class Guided(constraints.CustomConstraint):
    """A point of a body follows a path: x(q) = path(t), given with its first and second derivatives."""

    name, rows, baumgarte = "guide", 3, 0.05

    def __init__(self, body, point, path, speed, acceleration):
        self.body, self.point = body, point
        self.path, self.speed, self.acceleration = path, speed, acceleration

    def jacobian(self, model, q):
        """The point's Jacobian (3, nv)."""
        return multibody.point_jacobian(model, q, self.body, self.point)

    def gamma(self, model, q, v, t):
        """phi'' = J a + (dJ/dt) v - path'' = 0, solved for J a."""
        return self.acceleration(t) - multibody.point_bias_acceleration(model, q, v, self.body, self.point)

    def position_error(self, model, q, t):
        """phi = x(q) - path(t)."""
        return multibody.point_position(model, q, self.body, self.point) - self.path(t)

    def velocity_error(self, model, q, v, t):
        """phi' = J v - path'(t)."""
        return self.jacobian(model, q) @ v - self.speed(t)


def path(t):
    """A swing to and fro along x [m]."""
    return np.array([0.3 * np.sin(2.0 * t), 0.0, 0.0])


def speed(t):
    """Its velocity [m/s]."""
    return np.array([0.6 * np.cos(2.0 * t), 0.0, 0.0])


def acceleration(t):
    """Its acceleration [m/s^2]."""
    return np.array([-1.2 * np.sin(2.0 * t), 0.0, 0.0])


def main():
    """The constraint against its finite differences, the motion against the pendulum's, the energy against the work."""
    inertia = MASS * LENGTH**2 / 12.0 * np.diag([1.0, 1.0, 1e-3])
    rod = multibody.RigidInertia(MASS, (0.0, 0.0, -LENGTH / 2), inertia)
    model = multibody.ModelBuilder().add_body("rod", joint=multibody.joints.FloatingBase(), inertia=rod).build()
    guide = Guided("rod", np.zeros(3), path, speed, acceleration)
    print(constraints.check_constraint(model, guide))
    assert constraints.check_constraint(model, guide).ok
    cs = constraints.ConstraintSet(model, [guide])

    # On the path, and moving along it; the rod is inclined by 0.5 rad and does not rotate.
    q = constraints.assemble_q(model, [0.1, 0, 0, np.cos(0.25), 0, np.sin(0.25), 0], cs, np.ones(6)).q
    v = constraints.assemble_v(model, q, np.zeros(6), cs, np.ones(6)).v
    angle, rate, work, h = 0.5, 0.0, 0.0, 1e-3
    before = multibody.kinetic_energy(model, q, v) + multibody.potential_energy(model, q)
    for step in range(3000):  # the midpoint rule, for both
        t = step * h
        half, fast = multibody.integrate(model, q, v, h / 2), v + h / 2 * motion(model, q, v, cs, t).a
        middle = motion(model, half, fast, cs, t + h / 2)
        work += h * middle.forces @ speed(t + h / 2)
        q, v = multibody.integrate(model, q, fast, h), v + h * middle.a
        angle_half, rate_half = angle + h / 2 * rate, rate + h / 2 * pendulum(angle, t)
        angle, rate = angle + h * rate_half, rate + h * pendulum(angle_half, t + h / 2)
    gained = multibody.kinetic_energy(model, q, v) + multibody.potential_energy(model, q) - before
    turned = 2.0 * np.arctan2(q[5], q[3])
    print(f"after 3 s: angle {turned:.6f} rad, pendulum {angle:.6f} rad; gained {gained:.6f} J, work {work:.6f} J")
    assert abs(turned - angle) < 1e-5
    assert abs(gained - work) < 1e-5
    assert np.abs(q[:3] - path(3.0)).max() < 1e-6
    return turned, gained, work


def motion(model, q, v, cs, t):
    """Without any force but the guide's."""
    return constraints.forward_dynamics_constraints(model, q, v, np.zeros(6), cs, t=t)


def pendulum(angle, t):
    """A rod on an accelerated pivot: l s'' / 3 = (x'' cos s - g sin s) / 2, s turning it from -z towards -x."""
    return 1.5 / LENGTH * (acceleration(t)[0] * np.cos(angle) - G * np.sin(angle))


if __name__ == "__main__":
    main()
