"""A four-bar linkage: a loop closed by two rows, ten seconds of motion, and the torque that drives its crank."""

from __future__ import annotations

import numpy as np

from contactlab.multibody import ModelBuilder, RigidInertia, Transform, joints, kinetic_energy, potential_energy
from contactlab.multibody.constraints import (
    ConstraintSet,
    LoopConstraint,
    assemble_q,
    assemble_v,
    constraint_position_error,
    forward_dynamics_constraints,
    inverse_dynamics_constraints,
)

CRANK, COUPLER, ROCKER, GROUND = 0.3, 0.8, 0.6, 0.7  # [m]
TURN = joints.Revolute((0.0, -1.0, 0.0))  # from x towards z


def bar(length):
    """A slender bar of 2 kg/m along x."""
    inertia = 2.0 * length**3 / 12.0
    return RigidInertia(2.0 * length, (length / 2, 0.0, 0.0), np.diag([1e-3 * inertia, inertia, inertia]))


def four_bar():
    """Crank and coupler from the left, rocker from the right; the loop closes where coupler and rocker meet."""
    builder = ModelBuilder()
    builder.add_body("crank", joint=TURN, inertia=bar(CRANK))
    end = Transform(p=(CRANK, 0.0, 0.0))
    builder.add_body("coupler", parent="crank", joint=TURN, placement=end, inertia=bar(COUPLER))
    builder.add_body("rocker", joint=TURN, placement=Transform(p=(GROUND, 0.0, 0.0)), inertia=bar(ROCKER))
    model = builder.build()
    ends = Transform(p=(COUPLER, 0.0, 0.0)), Transform(p=(ROCKER, 0.0, 0.0))
    rows = [
        LoopConstraint("coupler", "rocker", *ends, np.eye(6)[3 + axis], baumgarte=0.02, name="pin") for axis in (0, 2)
    ]
    return model, ConstraintSet(model, rows)


def main():
    """Assembly against trigonometry, energy and loop over ten seconds, drive torque against power."""
    model, cs = four_bar()

    # %%
    # The crank is kept at 0.8 rad; the other angles close the loop (law of cosines).
    placed = assemble_q(model, [0.8, 0.0, 1.5], cs, [1.0, 0.0, 0.0])
    moving = assemble_v(model, placed.q, [3.0, 0.0, 0.0], cs, [1.0, 0.0, 0.0])
    q, v = placed.q, moving.v
    tip = CRANK * np.array([np.cos(0.8), np.sin(0.8)]) - [GROUND, 0.0]
    rocker = np.arctan2(tip[1], tip[0]) - np.arccos(
        (ROCKER**2 + tip @ tip - COUPLER**2) / (2 * ROCKER * np.hypot(*tip))
    )
    print(f"assembled in {placed.iterations} iterations: rocker at {q[2]:.9f} rad, by trigonometry {rocker:.9f} rad")
    assert placed.converged
    assert moving.converged
    assert abs(q[2] - rocker) < 1e-9

    # %%
    # The crank must turn at constant speed. The power of its torque is the rate of the linkage's energy.
    drive = np.array([True, False, False])
    driven = inverse_dynamics_constraints(model, q, v, [0.0], cs, drive)
    h = 1e-5
    ahead, behind = (energy(model, q + s * h * v + h * h / 2 * driven.a, v + s * h * driven.a) for s in (1, -1))
    power = (ahead - behind) / (2 * h)
    print(f"torque {driven.tau[0]:.6f} N m; power {driven.tau @ v:.6f} W, by differences {power:.6f} W")
    assert abs(driven.tau @ v - power) < 1e-6

    # %%
    # Without a drive: ten seconds of the classical Runge-Kutta method, with Baumgarte's terms for the loop.
    start, h = energy(model, q, v), 2.5e-3
    worst = 0.0
    for _ in range(4000):
        y, ks = np.array([q, v]), []
        for c in (0.0, 0.5, 0.5, 1.0):
            now = y + c * h * ks[-1] if ks else y
            a = forward_dynamics_constraints(model, now[0], now[1], np.zeros(3), cs).a
            ks.append(np.array([now[1], a]))
        q, v = y + h / 6 * (ks[0] + 2 * ks[1] + 2 * ks[2] + ks[3])
        worst = max(worst, np.abs(constraint_position_error(model, q, cs)).max())
    drift = energy(model, q, v) - start
    print(f"10 s: energy {start:.4f} J, drift {drift:.1e} J, loop open by {worst:.1e} m at most")
    assert abs(drift) < 3e-5
    assert worst < 1e-7
    return worst, drift


def energy(model, q, v):
    """Kinetic and potential [J]."""
    return kinetic_energy(model, q, v) + potential_energy(model, q)


if __name__ == "__main__":
    main()
