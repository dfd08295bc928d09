"""The tippedisk: a disk with its mass centre beside its middle, spun fast on its edge, lifts that centre and inverts.

Spinning about the vertical with the mass centre above is stable beyond a critical spin only (S. Sailer, S. R. Eugster,
R. I. Leine, Regular and Chaotic Dynamics 25, 2020; S. Sailer, R. I. Leine, Nonlinear Dynamics 105, 2021, with friction
that grows with the slip). The reference is the growth of the slow mode about this spin, from the linearized
differential equation. The step has no friction; functions give it the force of slip and the contact of a disk without
thickness. The disk has the size of the one in these papers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from measure import BLUE, GREEN, GREY, ORANGE, leave, order, paper, table
from on_a_table import Body, G, sliding_rates
from scipy.optimize import brentq

from contactlab.multibody import ModelBuilder, joints
from contactlab.multibody.spatial import RigidInertia
from contactlab.multibody.spatial.quaternion import from_matrix, to_matrix
from contactlab.simulation import ExternalContact, Recording, TimeStepping, WorldBuilder, simulate

MASS, RADIUS, OFFSET = 0.435, 0.045, 0.0025
INERTIA = 1e-3 * np.diag([0.249, 0.227, 0.468])
DAMPING = 3.0  # force over the load and the speed of slip [s/m]
STEPS = (1e-3, 5e-4, 2.5e-4, 1.25e-4)


def point(n: Any) -> Any:
    """Return the vector from the mass centre (beside the middle along x) to the contact point, in body axes."""
    return np.array((-OFFSET, 0, 0)) - RADIUS * np.array((n[0], n[1], 0)) / math.hypot(n[0], n[1])


def slow_mode(spin: float) -> tuple[complex, Any, Any, Any]:
    """Return the rate of the slow mode [1/s], its inverted spin, its shape, and the row that measures it in a state."""
    rates = sliding_rates(Body(MASS, INERTIA, point), lambda u: -DAMPING * u)
    steady, e = np.array([1.0, 0, 0, 0, 0, 0, spin, 0, 0]), 1e-5
    around = [(rates(0, steady + e * d) - rates(0, steady - e * d))[:9] / (2 * e) for d in np.eye(9)]
    values, right = np.linalg.eig(np.transpose(around))
    k = min((k for k in range(9) if values[k].imag > 0.5), key=lambda k: float(values[k].imag))
    return complex(values[k]), steady, right[:, k].real, np.linalg.inv(right)[k]


def critical() -> float:
    """Return the smallest spin of a stable inversion [rad/s]."""
    return float(brentq(lambda spin: slow_mode(spin)[0].real, 25, 40))


def touch(_time: float, q: Any, _v: Any) -> list[ExternalContact]:
    """Return the contact at the lowest point of the disk."""
    R = to_matrix(q[3:])
    at = q[:3] + R @ point(R[2])
    return [ExternalContact("world", "disk", at, (0, 0, 1), at[2], 0.0)]


def rub(_time: float, q: Any, v: Any) -> dict[str, Any]:
    """Return the friction of slip; the load is the weight, to first order."""
    R = to_matrix(q[3:])
    arm = R @ point(R[2])
    slip = v[:3] + np.cross(R @ v[3:], arm)
    force = -DAMPING * MASS * G * np.array((slip[0], slip[1], 0))
    return {"disk": np.concatenate((np.cross(arm, force), force))}


def spin_up(h: float, state: Any, duration: float) -> Recording:
    """Simulate from vertical, velocity and angular velocity in body axes."""
    n, v, w = state[:3] / np.linalg.norm(state[:3]), state[3:6], state[6:]
    side = np.cross((0, 0, 1), n)
    side /= np.linalg.norm(side)
    R = np.array((np.cross(side, n), side, n))
    v = v - n @ (v + np.cross(w, point(n))) * n
    model, builder = ModelBuilder((0, 0, -G)), WorldBuilder((0, 0, -G))
    model.add_body("disk", joint=joints.FloatingBase(), inertia=RigidInertia(MASS, inertia=INERTIA))
    builder.add_model(model.build(), (0, 0, -n @ point(n), *from_matrix(R)), (*(R @ v), *w))
    return simulate(builder.build(), TimeStepping(h, erp=0.2), duration, contacts=touch, f_ext=rub)


def growth(h: float, spin: float, duration: float = 1.0) -> float:
    """Return the growth rate of the slow mode in the simulation [1/s]."""
    _, steady, shape, reads = slow_mode(spin)
    run, sizes = spin_up(h, steady + 0.01 * shape, duration), []
    for q, v in zip(run.q, run.v, strict=True):
        R = to_matrix(q[3:])
        sizes.append(abs(reads @ (np.concatenate((R[2], R.T @ v[:3], v[3:])) - steady)))
    return float(np.polyfit(run.time, np.log(sizes), 1)[0])


def errors(steps: tuple[float, ...] = STEPS, spin: float = 30.0) -> list[float]:
    """Return errors of the growth."""
    return [abs(growth(h, spin) - slow_mode(spin)[0].real) for h in steps]


def rise(h: float, spin: float, duration: float = 3.0) -> tuple[Any, Any]:
    """Return times, and the cosine of the mass centre's line to the vertical: -1 below the middle, 1 above."""
    n = np.array((-math.cos(0.15), 0, math.sin(0.15)))
    run = spin_up(h, np.concatenate((n, np.zeros(3), spin * n)), duration)
    return run.time, np.array([to_matrix(q)[2, 0] for q in run.q[:, 3:]])


def picture() -> Any:
    """Draw the growth over the spin, and the motion from below to above."""
    figure, (left, right) = paper(2)
    spins = np.linspace(25, 36, 45)
    left.plot(spins, [slow_mode(float(s))[0].real for s in spins], color=GREY, label="differential equation")
    for h, color in ((1e-3, ORANGE), (2.5e-4, BLUE)):
        left.plot(spins[::8], [growth(h, float(s)) for s in spins[::8]], ".", color=color, label=f"h = {1e3 * h:g} ms")
    left.axhline(0, color="black", linewidth=0.5)
    left.set(xlabel="spin [rad/s]", ylabel="growth [1/s]")
    left.legend(frameon=False, fontsize=8)
    for spin, color in ((25.0, ORANGE), (45.0, GREEN)):
        right.plot(*rise(2.5e-4, spin), color=color, label=f"{spin:g} rad/s", linewidth=1)
    right.set(xlabel="time [s]", yticks=(-1, 1), yticklabels=("below", "above"))
    right.legend(fontsize=8, loc="center right")
    return figure


if __name__ == "__main__":
    found = errors()
    table("h [s] | error of the growth at 30 rad/s [1/s]", zip(STEPS, found, strict=True))
    print(f"order {order(STEPS, found):.2f}")
    rows = [(h, float(np.interp(0, [-growth(h, s) for s in (29, 31, 33)], (29, 31, 33)))) for h in STEPS]
    table("h [s] | critical spin [rad/s]", [*rows, ("differential equation", critical())])
    leave(picture(), "tippedisk")
