"""A free flyer's momentum: a hull with an arm on a ball joint and a bead on a bent wire; only gravity changes it."""

from __future__ import annotations

import numpy as np

from contactlab import multibody as mb
from contactlab.multibody.joints import CustomJoint, FloatingBase, Spherical


class Wire(CustomJoint):
    """A joint of our own: without turning, the bead slides along x = s, z = s^2 / 2."""

    nq = nv = 1

    def transform(self, q: np.ndarray) -> mb.Transform:
        """Where s puts it."""
        return mb.Transform(p=(q[0], 0.0, 0.5 * q[0] ** 2))

    def motion_subspace(self, q: np.ndarray) -> np.ndarray:
        """S, with which S ds/dt is its velocity, angular first."""
        return np.array([[0.0], [0.0], [0.0], [1.0], [0.0], [q[0]]])

    def velocity_product(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """(dS/dt) ds/dt."""
        return np.array([0.0, 0.0, 0.0, 0.0, 0.0, v[0] ** 2])


def invariants(model: mb.Model, q: np.ndarray, v: np.ndarray, t: float) -> np.ndarray:
    """Linear momentum less gravity's share, angular momentum about the centre of mass, energy: (7,), constant."""
    linear = mb.linear_momentum(model, q, v) - model.mass * model.gravity * t
    energy = mb.kinetic_energy(model, q, v) + mb.potential_energy(model, q)
    return np.array([*linear, *mb.angular_momentum(model, q, v), energy])


def main() -> dict[float, np.ndarray]:
    """Fly for half a second with two steps; return the drift of the invariants for each."""
    box, ball = mb.RigidInertia.solid_box(3.0, (0.3, 0.2, 0.1)), mb.RigidInertia.solid_sphere(0.5, 0.1)
    builder = mb.ModelBuilder().add_body("hull", joint=FloatingBase(), inertia=box)
    builder.add_body("arm", parent="hull", joint=Spherical(), inertia=ball.moved(mb.Transform(p=(0, 0, -0.4))))
    model = builder.add_body("bead", parent="hull", joint=Wire(), inertia=ball).build()
    q0, v0, free = model.neutral, np.array([1.0, 0.0, 4.0, 1.0, 3.0, -2.0, 2.0, -4.0, 1.0, 1.5]), np.zeros(model.nv)
    drift = {}
    for h in (2e-3, 1e-3):
        q, v = q0, v0
        for _ in range(round(0.5 / h)):
            a = mb.forward_dynamics(model, q, v, free)
            assert np.abs(mb.angular_momentum_rate(model, q, v, a)).max() < 1e-9
            middle, v_middle = mb.integrate(model, q, v, 0.5 * h), v + 0.5 * h * a
            q, v = mb.integrate(model, q, v_middle, h), v + h * mb.forward_dynamics(model, middle, v_middle, free)
        drift[h] = np.abs(invariants(model, q, v, 0.5) - invariants(model, q0, v0, 0.0))
        print(f"h = {h:g} s: momenta drift by {drift[h][:6].max():.1e} in SI units, the energy by {drift[h][6]:.1e} J")
    # The model conserves them to rounding, the midpoint rule to second order: half the step, a quarter of the drift.
    assert np.allclose(drift[2e-3] / drift[1e-3], 4.0, rtol=0.05)
    return drift


if __name__ == "__main__":
    main()
