"""INTERIOR_POINT: an island's forces by an interior point, and by a homotopy through the turning points of its curve.

The island is a set of pairs z, w >= 0 with w = M z + q (`complementary_pairs`). The curve begins at z0, w0 > 0. It is
made of the points, for l from 1 to 0 ::

    w - M z - q = l r,    z w = l z0 w0,    r = w0 - M z0 - q                               (disc: b o e = l (t; 0, 0))

Each step factors one matrix K, which gives the tangent, the correction and the direction of the curve.

`solve_mehrotra` is Mehrotra's predictor and corrector (1992), which aims at l = 0 and takes some twenty systems.
Friction makes M indefinite, so it can stall. `solve_homotopy` follows the curve itself, tangent and correction in
turn::

    START --> FACTOR K at l --> far off the curve? --yes--> correct (3 times, then a shorter step from the point before)
                 ^                     | no
                 |                     v
                 +------- go along the tangent; l falls if det K has its first sign, and rises if not --> l = 0: END

The curve can turn back: l grows for a while. The sign of det K, the parity of negative pivots, gives its direction,
because all local pivots are positive inside (Kojima, Megiddo, Noma 1991; Allgower and Georg 1990). Proximal Newton
removes the remaining residual at the end (`polish`).
"""

from __future__ import annotations

import math
from typing import Final

from lcp.compiler.kernels import copy_array
from lcp.contacts.kernels.complementary_pairs import (
    PairState,
    add_step,
    determinant,
    evaluate_point,
    newton_step,
    subtract_second_order,
)
from lcp.contacts.kernels.contact_law import FrictionCone
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.contacts.kernels.elimination import Elimination, upper_panel
from lcp.contacts.kernels.proximal_newton import (
    CONVERGED_RESIDUAL,
    ProximalState,
    continue_proximal_newton,
)
from lcp.contacts.kernels.proximal_points import natural_residual, run_proximal_points
from lcp.contacts.kernels.solver_state import SolverState, copy_rows, recover_velocity
from lcp.kernels import Floats, kernel

# Fraction of the distance to the boundary that a step goes.
FRACTION_TO_BOUNDARY: Final = 0.9
# Mehrotra's method: steps, power of the corrector's target, fraction of the distance to the boundary; number of short
# steps, and mean of z w, at which it ends.
MAX_MEHROTRA_STEPS: Final = 50
CENTERING_POWER: Final = 2.0
MEHROTRA_FRACTION: Final = 0.95
SHORT_STEP: Final = 0.05
MAX_SHORT_STEPS: Final = 6
# The same from the forces of the previous step: after this number of short steps the method starts again without them.
MAX_SHORT_WARM_STEPS: Final = 2
MEHROTRA_END: Final = 1e-14
# The same for compliant contacts: their modes show earlier.
SOFT_END: Final = 1e-10
# Homotopy: l at which it ends, and below which products are rounding; distance from the curve, relative to the
# products, above which a point is corrected; corrections before the step is repeated at this fraction of its length.
HOMOTOPY_END: Final = 1e-13
NOISE: Final = 1e-11
MAX_DISTANCE: Final = 0.9
REJECT_DISTANCE: Final = 30.0
MAX_CORRECTIONS: Final = 3
SHRINK: Final = 0.3
# The relative distance from the curve that a step along the tangent can reach: at first, minimum and maximum. It is
# reduced if the distance at the end of a step was more than FAR_PART of MAX_DISTANCE, and grows if it was less than
# NEAR_PART.
FIRST_ALLOWANCE: Final = 0.5
MIN_ALLOWANCE: Final = 0.05
MAX_ALLOWANCE: Final = 0.7
FAR_PART: Final = 0.8
NEAR_PART: Final = 0.4
LESS_ALLOWANCE: Final = 0.6
MORE_ALLOWANCE: Final = 1.3
# Rounding of rates, as a fraction of the speed.
RATE_ROUNDING: Final = 4e-16
# Starts of the homotopy, one per turn: forces and rates relative to the island's. Far from the boundary the curve has
# fewer turns.
HOMOTOPY_STARTS: Final = (
    (100.0, 1.0),
    (1.0, 10.0),
    (1.0, 100.0),
    (10.0, 1.0),
    (1000.0, 1.0),
    (1.0, 1.0),
    (10.0, 10.0),
    (1.0, 1000.0),
)
# Proximal points of the polish.
POLISH_POINTS: Final = 8


@kernel(inner=True)
def distance_from_curve(x: PairState, s: float, dz: Floats, dw: Floats, l: float) -> float:
    """Return the relative distance of z + s dz, w + s dw from the curve at l, or infinity outside the cone."""
    far = 0.0
    i = 0
    inside = True
    while i < x.z.shape[0] and inside:
        if x.product[i] > 0.0:
            z, w = x.z[i] + s * dz[i], x.w[i] + s * dw[i]
            goal = l * x.product[i]
            if is_disc(x, i):
                b1, b2 = x.z[i + 1] + s * dz[i + 1], x.z[i + 2] + s * dz[i + 2]
                e1, e2 = x.w[i + 1] + s * dw[i + 1], x.w[i + 2] + s * dw[i + 2]
                b, e = determinant(z, b1, b2), determinant(w, e1, e2)
                inside = z > 0.0 and w > 0.0 and b > 0.0 and e > 0.0
                product = z * w + (b1 * e1 + b2 * e2)
                spread = math.sqrt(max(product * product - b * e, 0.0))
                far = max(far, abs((product + spread) / goal - 1.0), abs((product - spread) / goal - 1.0))
            else:
                inside = z > 0.0 and w > 0.0
                far = max(far, abs(z * w / goal - 1.0))
        i += 1
    return far if inside else math.inf


@kernel(inner=True)
def log_inner_product(x: PairState, az: Floats, aw: Floats, bz: Floats, bw: Floats) -> float:
    """Return the inner product of the steps (az, aw) and (bz, bw) in the logarithms of z and w.

    For a disc it is the inner product in the metric of its barrier.
    """
    total = 0.0
    for i in range(x.z.shape[0]):
        if not x.product[i] > 0.0:
            continue
        if is_disc(x, i):
            total += barrier_product(x.z[i : i + 3], az[i : i + 3], bz[i : i + 3])
            total += barrier_product(x.w[i : i + 3], aw[i : i + 3], bw[i : i + 3])
        else:
            total += (az[i] / x.z[i]) * (bz[i] / x.z[i]) + (aw[i] / x.w[i]) * (bw[i] / x.w[i])
    return total


@kernel(inline=True)
def barrier_product(x: Floats, a: Floats, b: Floats) -> float:
    """Return a' P(1 / x) b in Lorentz's cone."""
    det = determinant(x[0], x[1], x[2])
    xa = x[0] * a[0] - (x[1] * a[1] + x[2] * a[2])
    xb = x[0] * b[0] - (x[1] * b[1] + x[2] * b[2])
    return (2.0 * xa * xb / det - (a[0] * b[0] - (a[1] * b[1] + a[2] * b[2]))) / det


@kernel(inner=True)
def fill_right(x: PairState, goal: float, part: float) -> None:
    """Fill ``right`` with the change of the products to the curve's at l = ``goal``, less ``part`` of the present ones.

    ``part`` is 1 for a correction; for the tangent it is 0, with a goal of 1.
    """
    for i in range(x.z.shape[0]):
        if not x.product[i] > 0.0:
            continue
        if is_disc(x, i):
            scale = goal * x.product[i] / determinant(x.z[i], x.z[i + 1], x.z[i + 2])
            x.right[i] = scale * x.z[i] - part * x.w[i]
            x.right[i + 1] = -scale * x.z[i + 1] - part * x.w[i + 1]
            x.right[i + 2] = -scale * x.z[i + 2] - part * x.w[i + 2]
        else:
            x.right[i] = goal * x.product[i] - part * (x.z[i] * x.w[i])


@kernel(inner=True)
def has_positive_determinant(trees: Elimination, K: Floats) -> bool:
    """Return True if the determinant of the factored K is positive: an even number of negative pivots."""
    even = True
    for k in range(trees.order.shape[0]):
        upper = upper_panel(trees, K, k)
        for p in range(upper.shape[0]):
            if upper[p, p] < 0.0:
                even = not even
    return even


@kernel(inner=True)
def keep_best(
    rows: ContactSystem, polygon: FrictionCone, search: SolverState, near: ProximalState, least: float
) -> float:
    """Compute the natural residual of the state's forces; save them in ``near`` if it is below ``least``.

    Return the smaller one of both residuals.
    """
    misfit = natural_residual(rows, polygon, search)
    if not misfit < least:
        return least
    copy_rows(search.contacts.p, near.best)
    return misfit


@kernel(inner=True)
def solve_homotopy(
    rows: ContactSystem,
    polygon: FrictionCone,
    search: SolverState,
    x: PairState,
    near: ProximalState,
    eps: float,
    most: int,
) -> tuple[int, float]:
    """Follow the curve from the point in memory, by predictor and corrector steps in at most ``most`` systems.

    ``near`` gets the forces of the least natural residual. Return the number of systems factored, and this residual,
    infinite if there is none.
    """
    n = x.z.shape[0]
    l, way, allowed, kept_l, step = 1.0, -1.0, FIRST_ALLOWANCE, 1.0, 0.0
    kept, corrections, systems = False, 0, 0
    last, base, least = math.inf, True, math.inf
    evaluate_point(rows, polygon, search, x, eps)
    for i in range(n):
        x.start[i] = x.miss[i] if x.product[i] > 0.0 or x.disc else 0.0
    for i in range(rows.r.shape[0] * x.width, n):
        x.start[i] = x.miss[i]
    while systems < most and l > HOMOTOPY_END:
        far = distance_from_curve(x, 0.0, x.tz, x.tw, l)
        exact = l > NOISE
        # Too far from the curve, and corrections do not reduce the distance: a shorter step from the previous point.
        lost = corrections >= MAX_CORRECTIONS or (corrections > 0 and far > 0.9 * last) or far > REJECT_DISTANCE
        if kept and exact and far > MAX_DISTANCE and lost:
            step *= SHRINK
            for i in range(n):
                x.z[i], x.w[i] = x.kept[0, i] + step * x.kept[1, i], x.kept_w[0, i] + step * x.kept_w[1, i]
            l = kept_l + step * way
            corrections, last = 0, math.inf
            if step < 1e-5 * kept_l:
                break
            evaluate_point(rows, polygon, search, x, eps)
            continue
        # One factorisation: the correction C at this l, and the tangent T.
        systems += 1
        fill_right(x, l, 1.0)
        for i in range(n):
            x.off[i] = x.miss[i] - l * x.start[i]
            if abs(x.off[i]) < RATE_ROUNDING * search.speed and not (x.disc is False and i % x.width == x.width - 1):
                x.off[i] = 0.0
        if not newton_step(rows, polygon, search, x, eps, True, x.cz, x.cw):
            break
        fill_right(x, 1.0, 0.0)
        for i in range(n):
            x.off[i] = -x.start[i]
        newton_step(rows, polygon, search, x, eps, False, x.tz, x.tw)
        ahead = has_positive_determinant(search.trees, search.K)
        if systems == 1:
            base = ahead
        # C moves orthogonally to the curve, in logarithms.
        square = log_inner_product(x, x.tz, x.tw, x.tz, x.tw) + 1.0 / (l * l)
        share = -log_inner_product(x, x.cz, x.cw, x.tz, x.tw) / square
        if not math.isfinite(share):
            break
        for i in range(n):
            x.cz[i] += share * x.tz[i]
            x.cw[i] += share * x.tw[i]
        part = 1.0 if share >= -FRACTION_TO_BOUNDARY * l else -FRACTION_TO_BOUNDARY * l / share
        while distance_from_curve(x, part / FRACTION_TO_BOUNDARY, x.cz, x.cw, l) == math.inf and part > 1e-10:
            part *= 0.8
        add_step(x, part, x.cz, x.cw)
        l += part * share
        left = distance_from_curve(x, 0.0, x.tz, x.tw, l)
        if far > MAX_DISTANCE and left > 0.5 and exact and kept:
            corrections += 1
            last = far
            evaluate_point(rows, polygon, search, x, eps)
            least = keep_best(rows, polygon, search, near, least)
            continue
        # Follow the tangent up to the allowed distance from the curve; the determinant gives the direction.
        way = -1.0 if ahead == base else 1.0
        if far > FAR_PART * MAX_DISTANCE:
            allowed = max(MIN_ALLOWANCE, LESS_ALLOWANCE * allowed)
        elif far < NEAR_PART * MAX_DISTANCE:
            allowed = min(MAX_ALLOWANCE, MORE_ALLOWANCE * allowed)
        step = FRACTION_TO_BOUNDARY * l if way < 0.0 else 2.0 * l
        while (
            distance_from_curve(x, way * step, x.tz, x.tw, l + way * step) > allowed + min(left, 1.0)
            and step > 1e-12 * l
        ):
            step *= 0.8
        for i in range(n):
            x.kept[0, i], x.kept_w[0, i] = x.z[i], x.w[i]
            x.kept[1, i], x.kept_w[1, i] = way * x.tz[i], way * x.tw[i]
        kept, kept_l, corrections, last = True, l, 0, math.inf
        add_step(x, way * step, x.tz, x.tw)
        l += way * step
        evaluate_point(rows, polygon, search, x, eps)
        least = keep_best(rows, polygon, search, near, least)
        if least <= CONVERGED_RESIDUAL * search.speed:
            break
    return systems, least


@kernel(inner=True)
def solve_mehrotra(
    rows: ContactSystem,
    polygon: FrictionCone,
    search: SolverState,
    x: PairState,
    near: ProximalState,
    eps: float,
    unit: float,
    most_short: int,
) -> tuple[int, float, bool]:
    """Run Mehrotra's predictor-corrector method from the point in memory, with contacts of compliance eps.

    It ends when it has converged, or when ``most_short`` steps were short or a limit is reached. ``unit`` is the result
    of `fill_start`. ``near`` gets the forces of the least natural residual. Returns the systems solved, this residual,
    and whether the method converged.
    """
    n = x.z.shape[0]
    pairs = 0
    for i in range(n):
        pairs += 1 if x.product[i] > 0.0 else 0
        x.product[i] = unit if x.product[i] > 0.0 else 0.0
    systems, failures, least, converged = 0, 0, math.inf, False
    while systems < MAX_MEHROTRA_STEPS and failures < most_short:
        evaluate_point(rows, polygon, search, x, eps)
        least = keep_best(rows, polygon, search, near, least)
        mean = duality_measure(x, 0.0, pairs)
        if mean <= (MEHROTRA_END if eps == 0.0 else SOFT_END) * unit or (
            eps == 0.0 and least <= CONVERGED_RESIDUAL * search.speed
        ):
            converged = True
            break
        systems += 1
        # Predictor: straight to the solution.
        fill_right(x, 0.0, 1.0)
        copy_array(x.miss, x.off)
        if not newton_step(rows, polygon, search, x, eps, True, x.tz, x.tw):
            break
        share = duality_measure(x, step_to_boundary(x), pairs) / mean
        # Corrector: to the predictor's target, with its second-order term; to the middle if that step is too short.
        goal = mean * min(1.0, max(1e-12, share)) ** CENTERING_POWER
        for attempt in range(2):
            fill_right(x, goal / unit, 1.0)
            for i in range(n if attempt == 0 else 0):
                if x.product[i] > 0.0 and is_disc(x, i):
                    subtract_second_order(x, i - 1)
                elif x.product[i] > 0.0:
                    x.right[i] -= x.tz[i] * x.tw[i]
            newton_step(rows, polygon, search, x, eps, False, x.cz, x.cw)
            for i in range(n):
                x.tz[i], x.tw[i] = x.cz[i], x.cw[i]
            if step_to_boundary(x) >= 0.2:
                break
            goal = 0.7 * mean
        step = min(1.0, MEHROTRA_FRACTION * step_to_boundary(x))
        failures += 1 if step < SHORT_STEP else 0
        if not step > 0.0:
            break
        add_step(x, step, x.tz, x.tw)
    return systems, least, converged


@kernel(inner=True)
def step_to_boundary(x: PairState) -> float:
    """Return the fraction, at most 1, of the step tz, tw that keeps z and w in their cones; 0 if it is not finite."""
    part = 1.0
    for i in range(x.z.shape[0]):
        if x.product[i] > 0.0:
            if not (math.isfinite(x.tz[i]) and math.isfinite(x.tw[i])):
                return 0.0
            if is_disc(x, i):
                part = min(part, disc_step_to_boundary(x.z[i : i + 3], x.tz[i : i + 3]))
                part = min(part, disc_step_to_boundary(x.w[i : i + 3], x.tw[i : i + 3]))
                continue
            if x.tz[i] < 0.0:
                part = min(part, -x.z[i] / x.tz[i])
            if x.tw[i] < 0.0:
                part = min(part, -x.w[i] / x.tw[i])
    return part


@kernel(inline=True)
def is_disc(x: PairState, i: int) -> bool:
    """Return True if pair i is the first of a disc."""
    return x.disc and i < x.mu.shape[0] * x.width and i % x.width == 1


@kernel(inner=True)
def disc_step_to_boundary(x: Floats, d: Floats) -> float:
    """Return the fraction s at which x + s d, from x inside Lorentz's cone, reaches its boundary: det(x + s d) = 0."""
    a, b = determinant(d[0], d[1], d[2]), x[0] * d[0] - (x[1] * d[1] + x[2] * d[2])
    c = determinant(x[0], x[1], x[2])
    square = b * b - a * c
    if not square >= 0.0:
        return math.inf
    below = math.sqrt(square) - b
    return c / below if below > 0.0 else math.inf


@kernel(inner=True)
def duality_measure(x: PairState, s: float, pairs: int) -> float:
    """Return the mean of z w after a fraction s of the step in tz, tw."""
    total = 0.0
    for i in range(x.z.shape[0]):
        if x.product[i] > 0.0:
            for j in range(i, i + 3 if is_disc(x, i) else i + 1):
                dz, dw = (s * x.tz[j], s * x.tw[j]) if s > 0.0 else (0.0, 0.0)
                total += (x.z[j] + dz) * (x.w[j] + dw)
    return total / pairs


@kernel(inner=True)
def polish(
    rows: ContactSystem, polygon: FrictionCone, search: SolverState, near: ProximalState, least: float, most: int
) -> tuple[int, float]:
    """Improve the forces stored in ``near``, of residual ``least``, as forces of the rigid problem.

    Proximal Newton steps solve at most ``most`` systems; proximal points in the modes of the forces follow. The state
    and ``near`` then have the forces of least residual. Return the number of systems, and this residual.
    """
    copy_rows(near.best, search.contacts.p)
    systems = 0
    if most > 0:
        misfit = natural_residual(rows, polygon, search)
        systems, least = continue_proximal_newton(rows, polygon, search, near, misfit, most)
        copy_rows(search.contacts.p, near.best)
    systems += run_proximal_points(rows, polygon, search, 0.0, POLISH_POINTS)
    misfit = natural_residual(rows, polygon, search)
    if misfit < least:
        copy_rows(search.contacts.p, near.best)
        return systems, misfit
    # The next round continues from the forces before these points.
    copy_rows(near.best, search.contacts.p)
    recover_velocity(rows, polygon, search)
    return systems, least
