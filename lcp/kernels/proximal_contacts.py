"""Proximal points of contacts between bodies, each by semismooth Newton in the space of the bodies.

With impulses p0 from before and a weight t = rho / weight of each contact, the next ones are

    y = y_free + J' p,      p = P(p0 - t (J y + bias)),

where P cuts xN off at 0 and moves xT into the disc of the exact cone, mu max(0, xN), or into the square |x1| + |x2| of
a pyramid with four edges. A fixed point p = p0 solves Coulomb's problem, whatever the rank of J: contacts that give way
a little, and ever less. P is piecewise smooth; with its slope D at each contact Newton's system is
(1 + J' D J) dy = y_free + J' p - y (`body_blocks`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from lcp.kernels import Floats, kernel
from lcp.kernels.body_blocks import (
    BlockFactors,
    BodySystem,
    add_impulses,
    assemble_blocks,
    contact_motion,
    copy_rows,
    factor_blocks,
    moved_by,
    solve_blocks,
)

# Share of the residual to which a proximal point is found, Newton's steps for it, and halvings of a step.
INNER = 0.03
STEPS = 15
HALVINGS = 6
ROUNDS = 200  # proximal points at most
# Factor of rho where residuals fall slowly, and its inverse after a failure; range of rho.
RAISE = 10.0
LOWER = 0.25
MOST = 1e9
LEAST = 1.0
SLOW = 0.3  # a residual that falls less


class ProximalWork(NamedTuple):
    """Memory of the method."""

    before: Floats  # (nc, 3) p0
    best: Floats
    trial: Floats
    D: Floats  # (nc, 3, 3) slopes in the factors
    slope: Floats  # (3, 3)
    x: Floats  # (3,)
    u: Floats  # (nc, 3)
    u_trial: Floats
    y: Floats  # (nb, 6)
    y_trial: Floats
    F: Floats
    F_trial: Floats


@kernel(inner=True)
def project(x: Floats, mu: float, cone: bool, out: Floats) -> None:
    """Fill out (3,) with P(x)."""
    normal = max(0.0, x[0])
    limit = mu * normal
    out[0] = normal
    first = abs(x[1])
    second = abs(x[2])
    size = math.hypot(first, second) if cone else first + second
    if size <= limit:
        out[1] = x[1]
        out[2] = x[2]
    elif limit <= 0.0:
        out[1] = 0.0
        out[2] = 0.0
    elif cone:
        out[1] = x[1] * limit / size
        out[2] = x[2] * limit / size
    else:
        shift = 0.5 * (size - limit)
        if shift <= min(first, second):
            out[1] = math.copysign(first - shift, x[1])
            out[2] = math.copysign(second - shift, x[2])
        elif first > second:
            out[1] = math.copysign(limit, x[1])
            out[2] = 0.0
        else:
            out[1] = 0.0
            out[2] = math.copysign(limit, x[2])


@kernel(inner=True)
def fill_slope(x: Floats, mu: float, cone: bool, step: float, slope: Floats) -> None:
    """Fill slope (3, 3) = step dP/dx."""
    slope[:] = 0.0
    if x[0] <= 0.0:
        return
    limit = mu * x[0]
    first = abs(x[1])
    second = abs(x[2])
    size = math.hypot(first, second) if cone else first + second
    slope[0, 0] = step
    if limit <= 0.0:
        return
    if size <= limit:
        slope[1, 1] = step
        slope[2, 2] = step
    elif cone:
        c = x[1] / size
        s = x[2] / size
        turn = step * limit / size
        slope[1, 0] = step * mu * c
        slope[2, 0] = step * mu * s
        slope[1, 1] = turn * s * s
        slope[1, 2] = -turn * s * c
        slope[2, 1] = -turn * s * c
        slope[2, 2] = turn * c * c
    elif 0.5 * (size - limit) <= min(first, second):
        sign1 = math.copysign(1.0, x[1])
        sign2 = math.copysign(1.0, x[2])
        slope[1, 0] = 0.5 * step * sign1 * mu
        slope[2, 0] = 0.5 * step * sign2 * mu
        slope[1, 1] = 0.5 * step
        slope[2, 2] = 0.5 * step
        slope[1, 2] = -0.5 * step * sign1 * sign2
        slope[2, 1] = slope[1, 2]
    elif first > second:
        slope[1, 0] = math.copysign(step * mu, x[1])
    else:
        slope[2, 0] = math.copysign(step * mu, x[2])


@kernel(inner=True)
def natural_residual(system: BodySystem, p: Floats, u: Floats, cone: bool, x: Floats, out: Floats) -> float:
    """Largest |p - P(p - u / weight)|, as a velocity."""
    worst = 0.0
    for c in range(p.shape[0]):
        for i in range(3):
            x[i] = p[c, i] - u[c, i] / system.weight[c]
        project(x, system.mu[c], cone, out)
        for i in range(3):
            worst = max(worst, system.weight[c] * abs(p[c, i] - out[i]))
    return worst


@kernel(inner=True)
def evaluate_step(
    system: BodySystem, before: Floats, rho: float, cone: bool, y: Floats, u: Floats, x: Floats, p: Floats, F: Floats
) -> float:
    """Fill u of y, p = P(p0 - t u) and F = y_free + J' p - y; the largest |F| is returned."""
    contact_motion(system, y, True, u)
    for c in range(p.shape[0]):
        for i in range(3):
            x[i] = before[c, i] - rho / system.weight[c] * u[c, i]
        project(x, system.mu[c], cone, p[c])
    copy_rows(system.y_free, F)
    add_impulses(system, p, F)
    largest = 0.0
    for k in range(F.shape[0]):
        for j in range(F.shape[1]):
            F[k, j] -= y[k, j]
            largest = max(largest, abs(F[k, j]))
    return largest


@kernel(inner=True)
def slopes_differ(system: BodySystem, work: ProximalWork, rho: float, cone: bool) -> bool:
    """Fill D at y; False where it is the one in the factors already."""
    changed = False
    x = work.x
    for c in range(work.D.shape[0]):
        step = rho / system.weight[c]
        for i in range(3):
            x[i] = work.before[c, i] - step * work.u[c, i]
        fill_slope(x, system.mu[c], cone, step, work.slope)
        for i in range(3):
            for j in range(3):
                if work.D[c, i, j] != work.slope[i, j]:
                    changed = True
                    work.D[c, i, j] = work.slope[i, j]
    return changed


@kernel
def proximal_points(
    system: BodySystem,
    factors: BlockFactors,
    work: ProximalWork,
    cone: bool,
    tolerance: float,
    budget: int,
    rho: float,
    p: Floats,
) -> tuple[int, float]:
    """Move p (nc, 3) until its residual (a velocity) is within the tolerance; factorisations, and the residual left."""
    spent = 0
    work.D[:] = -1.0
    before, best, y, u, F, x = work.before, work.best, work.y, work.u, work.F, work.x
    motion = 0.0
    for k in range(y.shape[0]):
        for j in range(y.shape[1]):
            motion = max(motion, abs(system.y_free[k, j]))
    copy_rows(p, before)
    copy_rows(p, best)
    moved_by(system, p, y, u)
    least = natural_residual(system, p, u, cone, x, work.slope[0])
    last = least
    slow = 0
    for _ in range(ROUNDS):
        if not (least > tolerance and spent < budget):
            break
        size = evaluate_step(system, before, rho, cone, y, u, x, p, F)
        enough = INNER * least + 1e-15 * motion
        steps = 0
        while size > enough and steps < STEPS and spent < budget:
            steps += 1
            if slopes_differ(system, work, rho, cone):
                assemble_blocks(system, work.D, factors)
                factor_blocks(system, factors)
                spent += 1
            solve_blocks(system, factors, F)
            share = 1.0
            trial = size
            for _ in range(HALVINGS):
                for k in range(y.shape[0]):
                    for j in range(y.shape[1]):
                        work.y_trial[k, j] = y[k, j] + share * F[k, j]
                trial = evaluate_step(
                    system, before, rho, cone, work.y_trial, work.u_trial, x, work.trial, work.F_trial
                )
                if trial < size:
                    break
                share *= 0.5
            if not trial < size:
                break
            copy_rows(work.y_trial, y)
            copy_rows(work.u_trial, u)
            copy_rows(work.trial, p)
            copy_rows(work.F_trial, F)
            size = trial
        moved_by(system, p, work.y_trial, work.u_trial)
        residual = natural_residual(system, p, work.u_trial, cone, x, work.slope[0])
        if residual < least:
            least = residual
            copy_rows(p, best)
        if size <= enough or residual <= last:
            copy_rows(p, before)
            copy_rows(work.y_trial, y)
            slow = slow + 1 if residual > SLOW * last else 0
            if slow >= 2 or (steps <= 2 and residual > 0.1 * last):
                rho = min(RAISE * rho, MOST)
                slow = 0
            last = residual
        else:
            rho *= LOWER
            copy_rows(best, before)
            moved_by(system, best, y, u)
            last = least
            slow = 0
            if rho < LEAST:
                break
    copy_rows(best, p)
    return spent, least
