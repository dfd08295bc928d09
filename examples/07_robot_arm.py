"""A robot arm in code: kinematics, forward and inverse dynamics, inverse kinematics, and the balance of energy."""

from __future__ import annotations

import numpy as np

from contactlab import multibody as mb
from contactlab.multibody.joints import Fixed, Revolute

CHAIN = ("world", "base", "upper", "fore", "wrist")
AXES = ((0, 0, 1), (0, 1, 0), (0, 1, 0), (1, 0, 0))


def arm() -> mb.Model:
    """Build four rotating links of 0.4 m, one on the other, and a tool with its own frame, fixed to the last link."""
    builder = mb.ModelBuilder()
    link = mb.RigidInertia(2.0, com=(0, 0, 0.2), inertia=np.diag([0.03, 0.03, 0.004]))
    for parent, name, axis in zip(CHAIN[:-1], CHAIN[1:], AXES, strict=True):
        up = mb.Transform(p=(0, 0, 0.0 if parent == "world" else 0.4))
        builder.add_body(name, parent=parent, joint=Revolute(axis), placement=up, inertia=link)
    tool = mb.RigidInertia.solid_sphere(0.5, 0.05)
    builder.add_body("tool", parent="wrist", joint=Fixed(), placement=mb.Transform(p=(0, 0, 0.4)), inertia=tool)
    return builder.build()


def main() -> dict[str, float]:
    """Check kinematics, dynamics, inverse kinematics and the power balance; return what was found."""
    model, v = arm(), np.array([0.5, -1.0, 0.8, 2.0])
    q = mb.random_configuration(model, 1)
    print(mb.hierarchy_overview(model))

    # Forward and inverse dynamics are inverse to each other, also with a push of 10 N at the tool. One `kinematics`
    # serves both.
    kin = mb.kinematics(model, q, v)
    push = mb.external_forces(model, kin, [mb.PointForce("tool", (0, 0, 0), (0, 10, 0))])
    tau = np.array([1.0, 8.0, 3.0, 0.2])
    a = mb.forward_dynamics(model, kin, kin.v, tau, push)
    residual = np.abs(mb.inverse_dynamics(model, q, v, a, push) - tau).max()
    assert residual < 1e-10

    energies = []  # their rate is the power of the joints and of the push: tau.v + F.v_tool
    for dt in (-1e-4, 1e-4):
        q_then, v_then = mb.integrate(model, q, v + 0.5 * dt * a, dt), v + dt * a
        energies.append(mb.kinetic_energy(model, q_then, v_then) + mb.potential_energy(model, q_then))
    power = tau @ v + 10.0 * mb.point_velocity(model, kin, kin.v, "tool", (0, 0, 0))[1]
    balance = abs((energies[1] - energies[0]) / 2e-4 - power)
    print(f"power {power:.4f} W, off by {balance:.0e} W; inverse after forward dynamics: off by {residual:.0e} N m")
    assert balance < 1e-5

    # Reach a point, then a point that is out of reach: the arm stretches towards it and does not converge.
    near = mb.inverse_kinematics(model, q, [mb.PointTarget("tool", (0, 0, 0), (0.5, 0.3, 0.6))])
    far = mb.inverse_kinematics(model, q, [mb.PointTarget("tool", (0, 0, 0), (3.0, 0, 0.4))])
    print(f"in reach: {near.error:.0e} m off; out of reach: {far.error:.3f} m off")
    assert near.converged
    assert np.isclose(far.error, 3.0 - 1.2)  # three links from the shoulder, which is at the target's height
    return {"residual": residual, "balance": balance, "missed": far.error}


if __name__ == "__main__":
    main()
