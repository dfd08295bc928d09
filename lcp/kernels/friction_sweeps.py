"""Nonsmooth block Gauss-Seidel for contacts with Coulomb's cone, on a block-sparse W.

One contact is solved exactly: u = A r + b with K* containing u_hat, K containing r, u_hat . r = 0.

Three modes are tried in turn: open (r = 0), stick (u = 0), slide (u_N = 0, r_T = -mu r_N t with u_T = s t, s >= 0).
With t = (cos a, sin a), u_N = 0 gives r_N. The part of u_T across t must vanish, which is a trigonometric polynomial of
degree two in a, with at most four roots. They are found by Newton's method from the last direction or, if this fails,
between changes of sign on a circle of points. A need not be symmetric. If A is so singular that no mode fits, projected
steps are made, so that a block always moves towards its solution.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from lcp.kernels import Floats, Ints, kernel
from lcp.kernels.cone_measures import in_cone, to_cone

OPEN, STICK, SLIDE = range(3)
# No mode fitted; r was moved by projected steps.
PROJECTED: Final = 3

# Points of the circle between which roots are searched.
POINTS: Final = 48
_NEWTON: Final = 8
_PROJECTIONS: Final = 50


@kernel(inner=True)
def solve_block(A: Floats, b: Floats, mu: float, dim: int, r: Floats) -> int:
    """Replace the force r (3,) of a contact by one that solves Coulomb's law with u = A r + b; return the mode.

    The mode is OPEN, STICK, SLIDE, or PROJECTED if no mode fits and projected steps were made instead. A (3, 3) and
    b (3,) are zero for absent components; ``dim`` is the number of components.
    """
    # The contact opens.
    if b[0] >= 0.0:
        r[0], r[1], r[2] = 0.0, 0.0, 0.0
        return OPEN
    # No friction.
    if dim == 1 or mu == 0.0:
        r[1], r[2] = 0.0, 0.0
        if A[0, 0] > 0.0:
            r[0] = -b[0] / A[0, 0]
            return SLIDE if dim > 1 else STICK
        return PROJECTED
    # Sticking, sliding, or projected steps.
    if _stick(A, b, mu, dim, r):
        return STICK
    if dim == 2:
        if _slide_planar(A, b, mu, r):
            return SLIDE
    elif _slide_from(A, b, mu, r) or _slide_anywhere(A, b, mu, r):
        return SLIDE
    _project_steps(A, b, mu, r)
    return PROJECTED


@kernel(inner=True)
def _stick(A: Floats, b: Floats, mu: float, dim: int, r: Floats) -> bool:
    """Solve u = 0 by Cramer's rule; store the force in r and return True if it is in the cone."""
    # Two components.
    if dim == 2:
        det = A[0, 0] * A[1, 1] - A[0, 1] * A[1, 0]
        if abs(det) <= 1e-14 * (abs(A[0, 0] * A[1, 1]) + abs(A[0, 1] * A[1, 0])):
            return False
        n = (-b[0] * A[1, 1] + A[0, 1] * b[1]) / det
        t = (-A[0, 0] * b[1] + b[0] * A[1, 0]) / det
        if n >= 0.0 and abs(t) <= mu * n:
            r[0], r[1], r[2] = n, t, 0.0
            return True
        return False
    # Three components: cofactors and determinant.
    c00 = A[1, 1] * A[2, 2] - A[1, 2] * A[2, 1]
    c01 = A[1, 2] * A[2, 0] - A[1, 0] * A[2, 2]
    c02 = A[1, 0] * A[2, 1] - A[1, 1] * A[2, 0]
    det = A[0, 0] * c00 + A[0, 1] * c01 + A[0, 2] * c02
    size = abs(A[0, 0] * c00) + abs(A[0, 1] * c01) + abs(A[0, 2] * c02)
    if not abs(det) > 1e-14 * size:
        return False
    # The force, and whether it is in the cone.
    n = -(c00 * b[0] + (A[0, 2] * A[2, 1] - A[0, 1] * A[2, 2]) * b[1] + (A[0, 1] * A[1, 2] - A[0, 2] * A[1, 1]) * b[2])
    s = -(c01 * b[0] + (A[0, 0] * A[2, 2] - A[0, 2] * A[2, 0]) * b[1] + (A[0, 2] * A[1, 0] - A[0, 0] * A[1, 2]) * b[2])
    t = -(c02 * b[0] + (A[0, 1] * A[2, 0] - A[0, 0] * A[2, 1]) * b[1] + (A[0, 0] * A[1, 1] - A[0, 1] * A[1, 0]) * b[2])
    n, s, t = n / det, s / det, t / det
    if n >= 0.0 and math.sqrt(s * s + t * t) <= mu * n:
        r[0], r[1], r[2] = n, s, t
        return True
    return False


@kernel(inner=True)
def _slide_planar(A: Floats, b: Floats, mu: float, r: Floats) -> bool:
    """Fill r (3,) with a force of sliding along one tangent, the last direction first; return False if none fits."""
    # The last direction first.
    first = -1.0 if r[1] > 0.0 else 1.0
    for k in range(2):
        t = first if k == 0 else -first
        # The normal force of sliding, and whether friction opposes it.
        below = A[0, 0] - mu * A[0, 1] * t
        if below > 0.0:
            n = -b[0] / below
            if t * ((A[1, 0] - mu * A[1, 1] * t) * n + b[1]) >= 0.0:
                r[0], r[1], r[2] = n, -mu * n * t, 0.0
                return True
    return False


@kernel(inner=True)
def _across(A: Floats, b: Floats, mu: float, c: float, s: float) -> tuple[float, float]:
    """Return (A_NN - mu A_NT t) times the part of u_T across t, and its derivative by the angle."""
    below = A[0, 0] - mu * (A[0, 1] * c + A[0, 2] * s)
    d_below = -mu * (-A[0, 1] * s + A[0, 2] * c)
    load = b[2] * c - b[1] * s
    d_load = -b[2] * s - b[1] * c
    pull = A[2, 0] * c - A[1, 0] * s - mu * ((A[2, 2] - A[1, 1]) * s * c - A[1, 2] * s * s + A[2, 1] * c * c)
    d_pull = (
        -A[2, 0] * s - A[1, 0] * c - mu * ((A[2, 2] - A[1, 1]) * (c * c - s * s) - 2.0 * (A[1, 2] + A[2, 1]) * s * c)
    )
    return load * below - b[0] * pull, d_load * below + load * d_below - b[0] * d_pull


@kernel(inner=True)
def _speed(A: Floats, b: Floats, mu: float, c: float, s: float) -> tuple[float, float]:
    """Return (r_N, s) for sliding with u_N = 0 along t = (c, s): the normal force and the slip speed u_T . t.

    It is (0, -1) if the normal force does not raise u_N in this direction.
    """
    below = A[0, 0] - mu * (A[0, 1] * c + A[0, 2] * s)
    if not below > 0.0:
        return 0.0, -1.0
    n = -b[0] / below
    u1 = (A[1, 0] - mu * (A[1, 1] * c + A[1, 2] * s)) * n + b[1]
    u2 = (A[2, 0] - mu * (A[2, 1] * c + A[2, 2] * s)) * n + b[2]
    return n, u1 * c + u2 * s


@kernel(inner=True)
def _slide_from(A: Floats, b: Floats, mu: float, r: Floats) -> bool:
    """Find a direction of sliding by Newton's method on its angle; fill r (3,) and return True if it is a solution.

    It starts from the last direction of friction, or from the direction of the load if r has no friction.
    """
    # The first direction.
    size = math.sqrt(r[1] * r[1] + r[2] * r[2])
    if size > 0.0:
        c, s = -r[1] / size, -r[2] / size
    else:
        size = math.sqrt(b[1] * b[1] + b[2] * b[2])
        if not size > 0.0:
            return False
        c, s = b[1] / size, b[2] / size
    # Newton's method on the angle.
    for _ in range(_NEWTON):
        h, d = _across(A, b, mu, c, s)
        if not abs(d) > 0.0:
            return False
        step = -h / d
        if not abs(step) <= 0.5:
            return False
        c, s = _turned(c, s, step)
        if abs(step) <= 1e-8:
            # Convergence is quadratic: this step has reached rounding.
            break
    else:
        return False
    return _accept(A, b, mu, c, s, r)


@kernel(inner=True)
def _turned(c: float, s: float, step: float) -> tuple[float, float]:
    """Return the unit vector (c, s) turned by the angle ``step``."""
    x = math.cos(step)
    y = math.sin(step)
    c, s = c * x - s * y, s * x + c * y
    size = math.sqrt(c * c + s * s)
    return c / size, s / size


@kernel(inner=True)
def _accept(A: Floats, b: Floats, mu: float, c: float, s: float, r: Floats) -> bool:
    """Fill r (3,) with the force of sliding along t = (c, s) if it is a solution; return True if it is."""
    n, speed = _speed(A, b, mu, c, s)
    if not (n > 0.0 and speed >= 0.0):
        return False
    r[0], r[1], r[2] = n, -mu * n * c, -mu * n * s
    return True


@kernel(inner=True)
def _slide_anywhere(A: Floats, b: Floats, mu: float, r: Floats) -> bool:
    """Find the directions of sliding by bisection on a circle of points; fill r (3,) for the one of greatest slip.

    Return False if no direction can slide.
    """
    # The first point of the circle.
    angle = 2.0 * math.pi / POINTS
    turn_c, turn_s = math.cos(angle), math.sin(angle)
    c0, s0 = 1.0, 0.0
    h0 = _across(A, b, mu, c0, s0)[0]
    best_c, best_s, best = 0.0, 0.0, -1.0
    for _ in range(POINTS):
        # The next point.
        c1 = c0 * turn_c - s0 * turn_s
        s1 = s0 * turn_c + c0 * turn_s
        h1 = _across(A, b, mu, c1, s1)[0]
        if h0 == 0.0 or (h0 < 0.0) != (h1 < 0.0):
            # Bisect a change of sign.
            low_c, low_s, high_c, high_s = c0, s0, c1, s1
            for _ in range(60):
                c, s = 0.5 * (low_c + high_c), 0.5 * (low_s + high_s)
                size = math.sqrt(c * c + s * s)
                c, s = c / size, s / size
                if (_across(A, b, mu, c, s)[0] < 0.0) == (h0 < 0.0) and h0 != 0.0:
                    low_c, low_s = c, s
                else:
                    high_c, high_s = c, s
            # Keep the fastest direction.
            n, speed = _speed(A, b, mu, high_c, high_s)
            if n > 0.0 and speed > best:
                best_c, best_s, best = high_c, high_s, speed
        c0, s0, h0 = c1, s1, h1
    # No direction can slide.
    if best < 0.0:
        return False
    return _accept(A, b, mu, best_c, best_s, r)


@kernel(inner=True)
def _project_steps(A: Floats, b: Floats, mu: float, r: Floats) -> None:
    """Make `_PROJECTIONS` steps r <- P_K(r - rho u_hat) of De Saxce's form, with rho = 1 / |A|; r stays in the cone."""
    # The length of the steps.
    size = 0.0
    for i in range(3):
        for j in range(3):
            size += A[i, j] * A[i, j]
    if not size > 0.0:
        return
    rho = 1.0 / math.sqrt(size)
    for _ in range(_PROJECTIONS):
        # A step along the velocity, projected to the cone.
        u0 = A[0, 0] * r[0] + A[0, 1] * r[1] + A[0, 2] * r[2] + b[0]
        u1 = A[1, 0] * r[0] + A[1, 1] * r[1] + A[1, 2] * r[2] + b[1]
        u2 = A[2, 0] * r[0] + A[2, 1] * r[1] + A[2, 2] * r[2] + b[2]
        r[0] -= rho * (u0 + mu * math.sqrt(u1 * u1 + u2 * u2))
        r[1] -= rho * u1
        r[2] -= rho * u2
        if not in_cone(mu, r[0], r[1], r[2]):
            r[0], r[1], r[2] = to_cone(mu, r[0], r[1], r[2])


class ContactBlocks(NamedTuple):
    """Contacts and their W: row a has blocks ``block[k]`` at contact ``column[k]``, k in pointer[a]:pointer[a + 1].

    Components that a contact lacks are zeros.
    """

    pointer: Ints  # (nc + 1,)
    column: Ints
    block: Floats  # (count, 3, 3) off the diagonal
    diagonal: Floats  # (nc, 3, 3)
    mu: Floats  # (nc,)
    dims: Ints  # (nc,)


@kernel
def friction_sweeps(
    contacts: ContactBlocks,
    shift: Floats,
    q: Floats,
    order: Ints,
    relaxation: float,
    r: Floats,
    work: Floats,
    moved: Floats,
) -> int:
    """Make as many sweeps of r (nc, 3) as ``moved`` has entries, which become the lengths of their steps.

    ``shift`` (nc,) is the diagonal of a proximal term (q includes the rest of it). ``order`` is the order of the
    contacts, ``work`` (5, 3). Returns the number of blocks without a fitting mode in the last sweep.
    """
    # Views of the workspace.
    pointer, column, block, diagonal, mu, dims = contacts
    A = work[:3]
    b = work[3]
    new = work[4]
    projected = 0
    for sweep in range(moved.shape[0]):
        total = 0.0
        projected = 0
        for at in range(order.shape[0]):
            a = order[at]
            # The velocity of the contact without its own force.
            b0, b1, b2 = q[a, 0], q[a, 1], q[a, 2]
            for k in range(pointer[a], pointer[a + 1]):
                c = column[k]
                r0, r1, r2 = r[c, 0], r[c, 1], r[c, 2]
                b0 += block[k, 0, 0] * r0 + block[k, 0, 1] * r1 + block[k, 0, 2] * r2
                b1 += block[k, 1, 0] * r0 + block[k, 1, 1] * r1 + block[k, 1, 2] * r2
                b2 += block[k, 2, 0] * r0 + block[k, 2, 1] * r1 + block[k, 2, 2] * r2
            # Its block and last force.
            for i in range(3):
                for j in range(3):
                    A[i, j] = diagonal[a, i, j]
            for i in range(dims[a]):
                A[i, i] += shift[a]
            b[0], b[1], b[2] = b0, b1, b2
            new[0], new[1], new[2] = r[a, 0], r[a, 1], r[a, 2]
            # Solve the block, and relax the step.
            if solve_block(A, b, mu[a], dims[a], new) == PROJECTED:
                projected += 1
            for i in range(3):
                step = relaxation * (new[i] - r[a, i])
                total += step * step
                r[a, i] += step
        moved[sweep] = math.sqrt(total)
    return projected
