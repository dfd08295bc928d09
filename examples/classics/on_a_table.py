"""A rigid body on a table as ordinary differential equations, for scipy: the reference of simulations.

The body touches at one point, r(n) from its mass centre in body axes, with n the vertical there. n . r is its support
function, so n . dr = 0. `rolling` keeps that point at rest, `sliding` has a law of friction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

G = 9.81
Vector = Any


@dataclass(frozen=True)
class Body:
    """Mass [kg], inertia about the mass centre [kg m^2], the point r(n) [m], and a length of rolling friction [m]."""

    mass: float
    inertia: Vector
    point: Callable[[Vector], Vector]
    rolling: float = 0.0

    def rate(self, n: Vector, dn: Vector) -> Vector:
        """Return the rate of the contact point as n changes, by differences."""
        return (self.point(n + 1e-6 * dn) - self.point(n - 1e-6 * dn)) / 2e-6


def cross(w: Vector) -> Vector:
    """Return the matrix of the cross product with a vector."""
    x, y, z = w
    return np.array(((0, -z, y), (z, 0, -x), (-y, x, 0)))


def solve(
    rates: Callable[[float, Vector], Vector], start: Vector, times: Vector, tolerance: float, until: Any = None
) -> Vector:
    """Return the states at the given times, one per row, until a function of time and state falls below zero."""
    if until is not None:
        until.terminal, until.direction = True, -1
    span = (0, times[-1])
    run = solve_ivp(rates, span, start, method="DOP853", t_eval=times, rtol=tolerance, atol=tolerance, events=until)
    return run.y.T


def rolling(body: Body, n: Vector, w: Vector, times: Vector, tolerance: float = 1e-8) -> Vector:
    """Return vertical and angular velocity in body axes, six per row, of rolling without slip.

    With F = m (dv/dt + g n) and v = -w x r, I dw + w x I w = r x F - rho (F . n) s, s the direction of w across n.
    """
    inertia, mass = body.inertia, body.mass

    def rates(_time: float, y: Vector) -> Vector:
        n, w = y[:3], y[3:]
        W = cross(w)
        r, dn = body.point(n), -W @ n
        R = arm = cross(r)
        if body.rolling:
            across = w - (w @ n) * n
            arm = R - body.rolling * np.outer(across / max(np.linalg.norm(across), 1e-12), n)
        known = mass * (G * n - W @ (body.rate(n, dn) + W @ r))
        # F is `known` and mass r x dw.
        dw = np.linalg.solve(inertia - mass * arm @ R, arm @ known - W @ (inertia @ w))
        return np.concatenate((dn, dw))

    return solve(rates, np.concatenate((n, w)), times, tolerance)


def dry(mu: float, speed: float = 1e-3) -> Callable[[Vector], Vector]:
    """Return Coulomb's friction over the load, smoothed below a speed of slip [m/s]."""
    return lambda u: -mu * u / np.sqrt(u @ u + speed**2)


def sliding_rates(body: Body, friction: Callable[[Vector], Vector]) -> Callable[[float, Vector], Vector]:
    """Return the rates of vertical, velocity of the mass centre and angular velocity of a sliding body; and the load.

    The contact has the force N (n + friction(u)), u its velocity; N keeps the gap's second derivative at zero:
    n . (dv + w x v + dw x r + w x (dr + w x r)) = 0, the velocity in body axes.
    """
    mass, inverse = body.mass, np.linalg.inv(body.inertia)

    def rates(_time: float, y: Vector) -> Vector:
        n, v, w = y[:3], y[3:6], y[6:9]
        W = cross(w)
        r, dn = body.point(n), -W @ n
        R = cross(r)
        u = v + W @ r
        along = n + friction(u - (u @ n) * n)
        spun, turned = -inverse @ (W @ (body.inertia @ w)), inverse @ (R @ along)
        free = n @ (W @ (body.rate(n, dn) + W @ r) - R @ spun) - G
        load = -free / (n @ (along / mass - R @ turned))
        return np.concatenate((dn, load / mass * along - G * n - W @ v, spun + load * turned, (load,)))

    return rates


def sliding(
    body: Body, friction: Callable[[Vector], Vector], start: Vector, times: Vector, tolerance: float = 1e-8
) -> Vector:
    """Return vertical, velocity and angular velocity, nine per row, until the body takes off."""
    rates = sliding_rates(body, friction)
    return solve(lambda t, y: rates(t, y)[:9], start, times, tolerance, until=lambda t, y: rates(t, y)[9])
