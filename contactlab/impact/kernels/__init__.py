"""Impacts as compression: of all contacts simultaneously, and of one contact with a normal and a tangential spring.

The time is so short that only velocities change. Contact i has the compression d_i, with d_i' = -u_n,i, and the force
K_i d_i^exponent (3/2: Hertz, 1: a spring). A contact returns e_i^2 of its work, because d_i' = -u_n,i / e_i^2 while the
bodies separate. The energy stored in a contact determines its force (Liu, Zhao and Brogliato 2008). The limit e_i = 0
is `retained_compression`. When the bodies begin to separate, d_i jumps to the value at which their motion reverses, or
to 0 if nothing presses them together again. At every moment friction sticks, or acts against slip with mu times the
force.

`solve_two_springs` integrates one contact. In the unit of time, the normal compression of a contact with decoupled
tangents has the frequency 1: d' = -u_n, F_n = d / W_nn. While the bodies separate, d' = -u_n / e^2, so that F_n does
e^2 of the work. The tangential spring has 1 / eta^2 of the stiffness, moves with the slip, and slides if its force
would exceed mu F_n.
"""

from __future__ import annotations

import math

from contactlab.multibody.spatial.arrays import FloatArray
from contactlab.multibody.spatial.kernels import copy, dot, times, vector
from lcp.kernels import kernel
from lcp.kernels.reductions import largest_size

DONE, STEPS, JAMMED = 0, 1, 2

MAX_SWEEPS = 200

# Change of velocity in a step, relative to the largest before, below which contacts with e = 0 only support one
# another.
NEGLIGIBLE_CHANGE = 1e-9

# Number of parts in which a contact with e = 0 opens; and a small e, for which opening must not begin too fast.
OPENING_STEPS, SMALL_RESTITUTION = 50, 0.1


@kernel(inner=True)
def add_impulse(W: FloatArray, row: int, size: float, u: FloatArray) -> None:
    """Add the velocity change by an impulse along a row to u (n,)."""
    for j in range(u.shape[0]):
        u[j] += W[j, row] * size


@kernel(inner=True)
def compression_rate(u: float, d: float, e: float) -> float:
    """Return the rate of the compression d of a contact with the normal velocity u [m/s], positive if it opens.

    It is -u, but -u / e^2 while a compressed contact opens. If e = 0 it is then 0: `retained_compression` sets d.
    """
    if u <= 0.0 or d <= 0.0:
        return -u
    return 0.0 if e == 0.0 else -u / (e * e)


@kernel(inner=True)
def advance_compression(d: float, step: float, e: float) -> float:
    """Return d + ``step``; if d falls below 0, the part below 0, now a gap, is at the speed -u: times e^2."""
    after = d + step
    return after * e * e if d > 0.0 and after < 0.0 else after


@kernel(inner=True)
def friction_impulses(
    W: FloatArray, mu: FloatArray, push: FloatArray, size: float, widest: FloatArray, u: FloatArray, t: FloatArray
) -> None:
    """Find the friction impulses t (nc, 2) of one step by projected Gauss-Seidel sweeps, and add their effect to u.

    t holds the start values, whose effect is added first; they end within mu times the normal impulses ``push`` (nc,).
    ``widest`` (nc,) are the largest eigenvalues of the tangential blocks of W, 0 without friction. ``size`` is the
    speed that gives the tolerance. u (3 nc,) has the velocities of the contacts.
    """
    # start from the given impulses
    for i in range(mu.shape[0]):
        add_impulse(W, 3 * i + 1, t[i, 0], u)
        add_impulse(W, 3 * i + 2, t[i, 1], u)
    # contact after contact, until nothing changes
    for _ in range(MAX_SWEEPS):
        change = 0.0
        for i in range(mu.shape[0]):
            if widest[i] == 0.0 or push[i] == 0.0:
                continue
            # the impulse that stops slip, projected on the disc
            x = t[i, 0] - u[3 * i + 1] / widest[i]
            y = t[i, 1] - u[3 * i + 2] / widest[i]
            length, bound = math.sqrt(x * x + y * y), mu[i] * push[i]
            if length > bound:
                x, y = x * bound / length, y * bound / length
            # its change
            dx, dy = x - t[i, 0], y - t[i, 1]
            add_impulse(W, 3 * i + 1, dx, u)
            add_impulse(W, 3 * i + 2, dy, u)
            t[i, 0], t[i, 1] = x, y
            change = max(change, (abs(dx) + abs(dy)) * widest[i])
        if change <= 1e-15 * size:
            return


@kernel(inner=True)
def retained_compression(
    W: FloatArray,
    mu: FloatArray,
    exponent: float,
    push: FloatArray,
    size: float,
    widest: FloatArray,
    before: FloatArray,
    i: int,
    opens: float,
    u: FloatArray,
    t: FloatArray,
) -> float:
    """Return the part of d that contact i keeps if e = 0 and a step from ``before`` (3 nc,) adds ``opens`` to its u_n.

    For small e it opens by d' = -u_n / e^2 in a time in which the others do not change. It reverses when the integral
    of the gain of u_n over d is 0. The friction depends on d, so the integral is a sum over parts. The result 0 means
    that it opens completely.
    """
    # reduce the force in parts
    own, gained, last = push[i], 0.0, opens
    for part in range(1, OPENING_STEPS + 1):
        less = own * (1.0 - part / OPENING_STEPS) ** exponent
        t[i, 0] *= less / push[i]
        t[i, 1] *= less / push[i]
        push[i] = less
        # repeat the step with this force
        copy(before, u)
        for j in range(mu.shape[0]):
            add_impulse(W, 3 * j, push[j], u)
        friction_impulses(W, mu, push, size, widest, u, t)
        # the sum of the gain until it reverses
        gain = 0.5 * (last + u[3 * i] - before[3 * i])
        if gained + gain <= 0.0:
            push[i] = own
            return 1.0 - (part - 1 - gained / gain) / OPENING_STEPS
        gained += gain
        last = u[3 * i] - before[3 * i]
    push[i] = own
    return 0.0


@kernel(inner=True)
def shortest_contact_time(
    W: FloatArray, stiffness: FloatArray, exponent: float, u: FloatArray, d: FloatArray, rest: float
) -> float:
    """Return the shortest contact time at the present speeds; 0 if kinetic and stored energy are below ``rest``."""
    # maximum speed, from kinetic or stored energy
    fastest, shortest = 0.0, math.inf
    for i in range(stiffness.shape[0]):
        speed = abs(u[3 * i]) if d[i] > 0.0 or u[3 * i] < 0.0 else 0.0
        if d[i] > 0.0:
            # speed from the stored energy
            stored = 2.0 * stiffness[i] * d[i] ** (exponent + 1.0) / (exponent + 1.0)
            speed = max(speed, math.sqrt(stored * W[3 * i, 3 * i]))
        fastest = max(fastest, speed)
    # time of each contact at this speed
    if fastest <= rest:
        return 0.0
    for i in range(stiffness.shape[0]):
        if W[3 * i, 3 * i] > 0.0:
            way = (fastest * fastest / (stiffness[i] * W[3 * i, 3 * i])) ** (1.0 / (exponent + 1.0))
            shortest = min(shortest, way / fastest)
    return shortest


@kernel
def compress(
    W: FloatArray,
    mu: FloatArray,
    e: FloatArray,
    stiffness: FloatArray,
    exponent: float,
    resolution: float,
    rest: float,
    most: int,
    u: FloatArray,
    p: FloatArray,
    work: FloatArray,
    scratch: FloatArray,
) -> int:
    """Integrate u (3 nc,), each contact's normal and two tangents, until no contact approaches or has a force.

    Add the impulses to p (3 nc,) and the work of normal force and friction to work (nc, 2). Return DONE, STEPS if
    ``most`` steps were not enough, or JAMMED. W (3 nc, 3 nc) is the response. ``resolution`` is a step in parts of a
    contact's time. ``rest`` is the approach speed that counts as zero. scratch (7, 3 nc), all zero.
    """
    # views, size of the velocities, and largest responses to friction
    nc = mu.shape[0]
    d, push, before, widest, t_flat = scratch[0], scratch[1], scratch[2], scratch[3], scratch[4]
    t, t_less, less = t_flat[: 2 * nc].reshape(nc, 2), scratch[6, : 2 * nc].reshape(nc, 2), scratch[5]
    size = largest_size(u)
    for i in range(nc):
        a, b, c = W[3 * i + 1, 3 * i + 1], W[3 * i + 2, 3 * i + 2], W[3 * i + 1, 3 * i + 2]
        widest[i] = 0.5 * (a + b) + math.sqrt(0.25 * (a - b) ** 2 + c * c) if mu[i] > 0.0 else 0.0
    # steps
    longest, still, last_h = 0.0, False, 0.0
    for step in range(most):
        # limit the step by the shortest contact time
        if step % 64 == 0:
            # Contacts that jam one another come to rest in ever slower oscillations.
            longest = resolution * shortest_contact_time(W, stiffness, exponent, u, d, 1e3 * rest)
            if longest == 0.0 and step > 0:
                return DONE
        # no contact has a force, except at rest
        idle = True
        for i in range(nc):
            idle = idle and (d[i] <= 0.0 or (still and e[i] == 0.0 and u[3 * i] >= -rest))
        # separated bodies move freely until they meet; the next contact has a different time scale
        if idle:
            flight, approach = math.inf, 0.0
            for i in range(nc):
                if u[3 * i] < -rest:
                    flight = min(flight, max(0.0, d[i] / u[3 * i]))
                    approach = max(approach, -u[3 * i])
            if approach == 0.0:
                return DONE
            for i in range(nc):
                d[i] = min(d[i], 0.0) - u[3 * i] * flight
            longest = resolution * shortest_contact_time(W, stiffness, exponent, u, d, 0.0)
            if longest == math.inf:
                return JAMMED
        # length of the step
        slope = 0.0
        for i in range(nc):
            if d[i] > 0.0:
                own = exponent * stiffness[i] * d[i] ** (exponent - 1.0) * W[3 * i, 3 * i]
                slope += own / (e[i] * e[i]) if u[3 * i] > 0.0 and e[i] > 0.0 else own
        h = min(longest, resolution / math.sqrt(slope)) if slope > 0.0 else longest
        for i in range(nc):
            # a contact with small e opens at speeds of order e: a step that ends at u_n = 0 does not overshoot them
            if e[i] < SMALL_RESTITUTION and d[i] > 0.0 and u[3 * i] < 0.0 and u[3 * i] > before[3 * i] and step > 0:
                h = min(h, max(0.1 * max(e[i], 1e-5) * h, -u[3 * i] * last_h / (u[3 * i] - before[3 * i])))
        last_h = h
        # half a step of compression, and the force
        copy(u, before)
        for i in range(nc):
            d[i] = advance_compression(d[i], 0.5 * h * compression_rate(u[3 * i], d[i], e[i]), e[i])
            last = push[i]
            push[i] = h * stiffness[i] * d[i] ** exponent if d[i] > 0.0 else 0.0
            share = push[i] / last if last > 0.0 else 0.0
            t[i, 0] *= share
            t[i, 1] *= share
        for i in range(nc):
            add_impulse(W, 3 * i, push[i], u)
        # friction
        friction_impulses(W, mu, push, size, widest, u, t)
        # contacts with e = 0 that begin to open
        for i in range(nc):
            if e[i] > 0.0 or d[i] <= 0.0 or u[3 * i] < 0.0 or u[3 * i] <= before[3 * i]:
                continue
            for j in range(nc):
                t_less[j, 0], t_less[j, 1] = t[j, 0], t[j, 1]
            opens = u[3 * i] - before[3 * i]
            d[i] *= retained_compression(W, mu, exponent, push, size, widest, before, i, opens, less, t_less)
        # work and impulses, and the second half step
        for i in range(nc):
            work[i, 0] += 0.5 * push[i] * (before[3 * i] + u[3 * i])
            for j in range(2):
                work[i, 1] += 0.5 * t[i, j] * (before[3 * i + 1 + j] + u[3 * i + 1 + j])
                p[3 * i + 1 + j] += t[i, j]
            p[3 * i] += push[i]
            d[i] = advance_compression(d[i], 0.5 * h * compression_rate(u[3 * i], d[i], e[i]), e[i])
        # whether contacts with e = 0 only support one another
        changed = 0.0
        for i in range(3 * nc):
            changed = max(changed, abs(u[i] - before[i]))
        still = changed <= NEGLIGIBLE_CHANGE * size
    return STEPS


NO_RESTITUTION = 1e-6


@kernel
def solve_two_springs(
    W: FloatArray,
    mu: float,
    e: FloatArray,
    eta2: float,
    resolution: float,
    most: int,
    u: FloatArray,
    p: FloatArray,
    work: FloatArray,
) -> int:
    """Integrate the impacts of n separate contacts, and update u, p and work; return the number of unfinished ones.

    u (n, 3) are the contact velocities, p (n, 3) the impulses, and work (n,) the work of the normal impulses. Contacts
    that do not approach are skipped. W (n, 3, 3) is the response, e (n,) the restitution, and eta2 the stiffness of the
    normal spring over the tangential one. ``resolution`` is a step in units of the time of the faster spring, ``most``
    the maximum number of steps.
    """
    lost = 0
    for i in range(u.shape[0]):
        if u[i, 0] >= 0.0:
            continue
        # stiffness of both springs
        stiff = 1.0 / W[i, 0, 0]
        shear = stiff / eta2
        fast = 1.0 + (W[i, 1, 1] + W[i, 2, 2]) * shear
        d, x, y, parts = 0.0, 0.0, 0.0, False
        lost += 1
        for _ in range(most):
            # end of the impact
            parts = u[i, 0] > 0.0
            if (parts and d <= 0.0) or (e[i] <= NO_RESTITUTION and u[i, 0] >= 0.0):
                lost -= 1
                break
            # half a step of both springs
            h = resolution / math.sqrt(fast / (e[i] * e[i]) if parts else fast)
            d -= 0.5 * h * (u[i, 0] / (e[i] * e[i]) if parts else u[i, 0])
            push = d * stiff if d > 0.0 else 0.0
            x += 0.5 * h * u[i, 1]
            y += 0.5 * h * u[i, 2]
            # sliding friction
            pull, bound = shear * math.sqrt(x * x + y * y), mu * push
            if pull > bound:
                x, y = x * bound / pull, y * bound / pull
            # impulses of the step
            impulse = (h * push, -h * shear * x, -h * shear * y)
            before, change = u[i, 0], dot(vector(W[i, 0]), impulse)
            # without restitution the impact ends with the approach
            ends = e[i] <= NO_RESTITUTION and before + change >= 0.0
            if ends:
                impulse = times(-before / change, impulse)
            for j in range(3):
                u[i, j] += dot(vector(W[i, j]), impulse)
                p[i, j] += impulse[j]
            if ends:
                u[i, 0] = 0.0
            # work, and the second half step
            work[i] += 0.5 * impulse[0] * (before + u[i, 0])
            d -= 0.5 * h * (u[i, 0] / (e[i] * e[i]) if u[i, 0] > 0.0 and e[i] > 0.0 else u[i, 0])
            x += 0.5 * h * u[i, 1]
            y += 0.5 * h * u[i, 2]
    return lost
