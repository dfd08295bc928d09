"""A custom constraint: a coin rolls without slip, down an incline and, inclined, in a circle.

Rolling is a condition on the velocities. The contact of the coin is a condition on the positions, used for its start.
"""

from __future__ import annotations

import numpy as np

from contactlab import multibody
from contactlab.multibody import constraints

RADIUS, MASS, SLOPE, G, DOWN = 0.1, 0.5, np.radians(20.0), 9.81, np.array([0.0, 0.0, -1.0])


class Rolling(constraints.CustomConstraint):
    """The lowest point of a thin coin's rim, r from its centre, is at rest: v + omega x r = 0."""

    name, rows, level = "rolling", 3, "velocity"

    def rim(self, model, q):
        """The coin's axis, the unit vector from its centre to its lowest point, and the sine between axis and down."""
        axis = multibody.body_pose(model, q, "coin").R[:, 2]
        down = DOWN - axis * (axis @ DOWN)
        return axis, down / np.linalg.norm(down), np.linalg.norm(down)

    def jacobian(self, model, q):
        """That point's Jacobian (3, nv)."""
        R = multibody.body_pose(model, q, "coin").R
        return multibody.point_jacobian(model, q, "coin", RADIUS * R.T @ self.rim(model, q)[1])

    def gamma(self, model, q, v):
        """Minus omega x dr/dt: another point of the rim is the lowest one now."""
        axis, down, sine = self.rim(model, q)
        omega = multibody.point_velocity_6d(model, q, v, "coin", np.zeros(3))[:3]
        turning = np.cross(omega, axis)
        rate = -(turning * (axis @ DOWN) + axis * (turning @ DOWN)) / sine
        return -np.cross(omega, RADIUS * (rate - down * (down @ rate)))

    def assembly_position_error(self, model, q):
        """Height (1,) of the lowest point over the plane z = 0."""
        return [multibody.body_pose(model, q, "coin").p[2] + RADIUS * self.rim(model, q)[1][2]]

    def assembly_position_jacobian(self, model, q):
        """Its derivative: which point is lowest changes nothing to first order."""
        return self.jacobian(model, q)[2:]


def rolling(gravity, q, v):
    """A coin on the plane z = 0: its model, constraint and the nearest state to (q, v) that touches and rolls."""
    inertia = multibody.RigidInertia(MASS, np.zeros(3), np.diag([0.25, 0.25, 0.5]) * MASS * RADIUS**2)
    builder = multibody.ModelBuilder(gravity)
    model = builder.add_body("coin", joint=multibody.joints.FloatingBase(), inertia=inertia).build()
    cs = constraints.ConstraintSet(model, [Rolling()])
    placed = constraints.assemble_q(model, q, cs, [1, 1, 1, 10, 10, 10])
    moving = constraints.assemble_v(model, placed.q, v, cs, [0, 0, 0, 1, 1, 1])
    assert placed.converged
    assert moving.converged
    return model, cs, placed.q, moving.v


def main():
    """Acceleration down the incline against its closed form; energy and contact of the circling coin."""
    upright = [0.0, 0.0, 0.3, np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0]  # axis level, along y; too high: it is put down
    incline = (G * np.sin(SLOPE), 0.0, -G * np.cos(SLOPE))
    model, cs, q, v = rolling(incline, upright, [0.0, 0.0, 0.0, 0.0, 0.0, -4.0])
    report = constraints.check_constraint(model, Rolling(), q=q)
    print(report)
    assert report.ok
    motion = constraints.forward_dynamics_constraints(model, q, v, np.zeros(6), cs)
    expected = G * np.sin(SLOPE) / (1.0 + 0.5)  # g sin / (1 + I / (m r^2)), I = m r^2 / 2
    print(f"down the incline: {motion.a[0]:.9f} m/s^2, closed form {expected:.9f} m/s^2")
    assert abs(motion.a[0] - expected) < 1e-12
    np.testing.assert_allclose(motion.forces, [MASS * (motion.a[0] - incline[0]), 0.0, -MASS * incline[2]], atol=1e-12)

    leaning = [0.0, 0.0, 0.3, np.cos(0.55), np.sin(0.55), 0.0, 0.0]
    model, cs, q, v = rolling((0.0, 0.0, -G), leaning, [0.0, 0.0, 0.0, 0.0, 3.0, -12.0])
    energy = multibody.kinetic_energy(model, q, v) + multibody.potential_energy(model, q)
    h = 5e-4
    for _ in range(2000):  # the midpoint rule
        a = constraints.forward_dynamics_constraints(model, q, v, np.zeros(6), cs).a
        half = multibody.integrate(model, q, v, h / 2)
        a = constraints.forward_dynamics_constraints(model, half, v + h / 2 * a, np.zeros(6), cs).a
        q, v = multibody.integrate(model, q, v + h / 2 * a, h), v + h * a
    drift = multibody.kinetic_energy(model, q, v) + multibody.potential_energy(model, q) - energy
    gap = Rolling().assembly_position_error(model, q)[0]
    print(f"a second in a circle: energy {energy:.4f} J kept to {drift:.1e} J, contact to {gap:.1e} m")
    assert abs(drift) < 1e-4 * energy
    assert abs(gap) < 1e-5
    return expected, drift, gap


if __name__ == "__main__":
    main()
