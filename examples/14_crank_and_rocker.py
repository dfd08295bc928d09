"""A crank and a rocker: a motor turns one, the other swings; a closed chain, compiled, with stops and dry friction.

Three bars in two trees are closed by a loop. The motor has a limited torque, the rocker's joint has dry friction, and a
stop would end its swing early. The loop stays closed, and the motor keeps its speed if its torque suffices. The energy
balances to rounding: the work of the motor is the loss by friction and the change of the bars' energy.
"""

from __future__ import annotations

import math

import numpy as np

from contactlab.multibody import ModelBuilder, Transform, joints
from contactlab.multibody.constraints import LoopConstraint
from contactlab.multibody.spatial import RigidInertia
from contactlab.simulation import JointLimit, TimeStepping, VelocityDrive, WorldBuilder, simulate

CRANK, COUPLER, ROCKER, BASE = 0.3, 0.8, 0.6, 0.7  # m
SPEED, TORQUE, FRICTION = 2.0, 6.0, 0.2  # rad/s, N m, N m


def bar(mass: float, length: float) -> RigidInertia:
    """A slender bar along x from its origin."""
    inertia = mass * length**2 * np.diag([0.01, 1.0 / 12.0, 1.0 / 12.0])
    return RigidInertia(mass, (0.5 * length, 0.0, 0.0), inertia=inertia)


def main() -> dict[str, float]:
    """Turn the crank three times."""
    y = (0.0, 1.0, 0.0)
    bars = ModelBuilder()
    bars.add_body("crank", joint=joints.Revolute(y), inertia=bar(0.3, CRANK))
    at_end = Transform(p=(CRANK, 0, 0))
    bars.add_body("coupler", parent="crank", joint=joints.Revolute(y), placement=at_end, inertia=bar(0.8, COUPLER))
    bars.add_body("rocker", joint=joints.Revolute(y), placement=Transform(p=(BASE, 0, 0)), inertia=bar(0.6, ROCKER))
    # Position of the joint of coupler and rocker while the crank points along x; rotations about y turn x downwards.
    across = BASE - CRANK
    x = (COUPLER**2 - ROCKER**2 + across**2) / (2.0 * across)
    z = math.sqrt(COUPLER**2 - x**2)
    start = [0.0, -math.atan2(z, x), -math.atan2(z, x - across)]

    builder = WorldBuilder(body_contacts=False)
    builder.add_model(bars.build(), start)
    ends = Transform(p=(COUPLER, 0, 0)), Transform(p=(ROCKER, 0, 0))
    builder.add_loop([LoopConstraint("coupler", "rocker", *ends, axis) for axis in np.eye(6)[[3, 5]]], erp=0.2)
    builder.add_drive(VelocityDrive("crank", SPEED, max_force=TORQUE, name="motor"))
    builder.add_joint_friction("rocker", FRICTION)
    builder.add_joint_limit(JointLimit("rocker", -math.pi, 0.0))
    world = builder.build()

    turn = 2.0 * math.pi / SPEED
    recording = simulate(world, TimeStepping(2e-3), 3.0 * turn)
    rows = {row.label: recording.joint_rows.of(number) for number, row in enumerate(world.joint_rows)}
    opening = max(np.abs(table.error).max() for label, table in rows.items() if label.startswith("loop"))
    late = recording.v[recording.time > turn, 0]
    swing = np.ptp(recording.q[recording.time > turn, 2])
    ledger = recording.ledger
    assert opening < 1e-4
    np.testing.assert_allclose(late, SPEED, atol=1e-9)
    assert np.abs(rows["motor"].force).max() <= TORQUE
    # Two swings per turn, back and forth, against a torque of constant size.
    rubbed = -ledger.joint_friction[recording.time[:-1] > turn].sum()
    assert abs(rubbed - 2 * 2.0 * swing * FRICTION) < 0.02 * rubbed
    assert np.abs(ledger.residual).max() < 1e-12
    print(f"loop open by {opening:.1e} m at most, rocker swings {math.degrees(swing):.1f} degrees")
    print(ledger)
    return {"opening": float(opening), "swing": float(swing), "rubbed": float(rubbed)}


if __name__ == "__main__":
    main()
