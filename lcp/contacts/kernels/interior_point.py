"""INTERIOR_POINT: an island's forces by an interior point, and by a homotopy through the turning points of its curve.

The island is a set of pairs z, w >= 0 with w = M z + q (`complementary_pairs`). The curve begins at z0, w0 > 0. It is
made of the points, for l from 1 to 0 ::

    w - M z - q = l r,    z w = l z0 w0,    r = w0 - M z0 - q                               (disc: b o e = l (t; 0, 0))

Each step factors one matrix K; the tangent, the correction and the direction of the curve all come from it.

`descend_centrally` is Mehrotra's predictor and corrector (1992): straight to l = 0, some twenty systems. Friction makes
M indefinite, so that it may stall. `follow_curve` follows the curve itself, tangent and correction in turn::

    START --> FACTOR K at l --> far off the curve? --yes--> correct (3 times, then halve the step from the point before)
                 ^                     | no
                 |                     v
                 +------- go along the tangent; l falls if det K has its first sign, and rises if not --> l = 0: END

The curve may turn back: l grows for a while. Its direction is told by the sign of det K, the parity of negative pivots,
because all local pivots are positive inside (Kojima, Megiddo, Noma 1991; Allgower and Georg 1990). Proximal Newton
removes the misfit that is left at the end (`finish`).
"""

from __future__ import annotations

import math
from typing import Final

from lcp.contacts.kernels.complementary_pairs import Interior, add_step, determinant, measure_point, step_to
from lcp.contacts.kernels.contact_response import Polygon
from lcp.contacts.kernels.contact_system import ContactSystem
from lcp.contacts.kernels.elimination import Elimination, upper_panel
from lcp.contacts.kernels.proximal_newton import ENOUGH, Approach, go_on, natural_misfit, note_forces, put_forces
from lcp.contacts.kernels.proximal_points import harden
from lcp.contacts.kernels.search import Search, recover_velocity
from lcp.kernels import Floats, kernel

# Fraction of the distance to the boundary that a step goes.
BACK: Final = 0.9
# Mehrotra's method: steps, the power of the corrector's aim, the part of the way to the boundary; the number of short
# steps, and the mean of z w, that end it.
CENTRAL_STEPS: Final = 50
POWER: Final = 3.0
TO_BOUNDARY: Final = 0.99
SHORT: Final = 0.05
FAILURES: Final = 6
CENTRAL_END: Final = 1e-14
# The same of contacts that give way: their modes show earlier.
SOFT_END: Final = 1e-10
# Homotopy: l that ends it, and below which products are rounding; how far a point may be off the curve, in parts of its
# products, before it is corrected; corrections before the step is taken back to this fraction; range of the curvature.
END: Final = 1e-13
NOISE: Final = 1e-11
OFF: Final = 0.9
FAR_OFF: Final = 30.0
CORRECTIONS: Final = 3
SHORTER: Final = 0.3
LEAST_CURVE: Final = 0.05
MOST_CURVE: Final = 0.7
# Rounding of rates, in parts of the speed.
ROUNDED: Final = 4e-16
# Starts of the homotopy, one a turn: forces and rates in the island's.
CURVES: Final = ((1.0, 1.0), (1.0, 10.0), (0.1, 1.0), (10.0, 1.0), (1.0, 0.1), (0.1, 0.1), (10.0, 10.0), (1.0, 100.0))
# Proximal points of the polish.
POINTS: Final = 8


@kernel(inner=True)
def departure(x: Interior, s: float, dz: Floats, dw: Floats, l: float) -> float:
    """How far z + s dz, w + s dw are off the curve at l, in parts of their products; infinite outside."""
    far = 0.0
    i = 0
    inside = True
    contacts = x.mu.shape[0] * x.width
    while i < x.z.shape[0] and inside:
        if x.product[i] > 0.0:
            z, w = x.z[i] + s * dz[i], x.w[i] + s * dw[i]
            goal = l * x.product[i]
            if x.disc and i < contacts and i % x.width == 1:
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
def alike(x: Interior, az: Floats, aw: Floats, bz: Floats, bw: Floats) -> float:
    """The product of two steps in the logarithms of z and w; of a disc in the metric of its barrier."""
    total = 0.0
    contacts = x.mu.shape[0] * x.width
    for i in range(x.z.shape[0]):
        if not x.product[i] > 0.0:
            continue
        if x.disc and i < contacts and i % x.width == 1:
            total += in_barrier(x.z[i : i + 3], az[i : i + 3], bz[i : i + 3])
            total += in_barrier(x.w[i : i + 3], aw[i : i + 3], bw[i : i + 3])
        else:
            total += (az[i] / x.z[i]) * (bz[i] / x.z[i]) + (aw[i] / x.w[i]) * (bw[i] / x.w[i])
    return total


@kernel(inline=True)
def in_barrier(x: Floats, a: Floats, b: Floats) -> float:
    """a' P(1 / x) b in Lorentz's cone."""
    det = determinant(x[0], x[1], x[2])
    xa = x[0] * a[0] - (x[1] * a[1] + x[2] * a[2])
    xb = x[0] * b[0] - (x[1] * b[1] + x[2] * b[2])
    return (2.0 * xa * xb / det - (a[0] * b[0] - (a[1] * b[1] + a[2] * b[2]))) / det


@kernel(inner=True)
def aim(x: Interior, goal: float) -> None:
    """Fill the right sides of a correction to l = goal."""
    contacts = x.mu.shape[0] * x.width
    for i in range(x.z.shape[0]):
        if not x.product[i] > 0.0:
            continue
        if x.disc and i < contacts and i % x.width == 1:
            scale = goal * x.product[i] / determinant(x.z[i], x.z[i + 1], x.z[i + 2])
            x.right[i] = scale * x.z[i] - x.w[i]
            x.right[i + 1], x.right[i + 2] = -scale * x.z[i + 1] - x.w[i + 1], -scale * x.z[i + 2] - x.w[i + 2]
        else:
            x.right[i] = goal * x.product[i] - x.z[i] * x.w[i]


@kernel(inner=True)
def aim_along(x: Interior) -> None:
    """Fill the right sides of the tangent."""
    contacts = x.mu.shape[0] * x.width
    for i in range(x.z.shape[0]):
        x.off[i] = -x.start[i]
        if x.disc and i < contacts and i % x.width == 1 and x.product[i] > 0.0:
            scale = x.product[i] / determinant(x.z[i], x.z[i + 1], x.z[i + 2])
            x.right[i] = scale * x.z[i]
            x.right[i + 1], x.right[i + 2] = -scale * x.z[i + 1], -scale * x.z[i + 2]
        elif x.product[i] > 0.0:
            x.right[i] = x.product[i]


@kernel(inner=True)
def positive(trees: Elimination, K: Floats) -> bool:
    """Whether the determinant of the factored K is positive: an even number of negative pivots."""
    even = True
    for k in range(trees.order.shape[0]):
        upper = upper_panel(trees, K, k)
        for p in range(upper.shape[0]):
            if upper[p, p] < 0.0:
                even = not even
    return even


@kernel(inner=True)
def keep_best(rows: ContactSystem, polygon: Polygon, search: Search, near: Approach, least: float) -> float:
    """Keep the forces in the search if their misfit is the least; the least one."""
    misfit = natural_misfit(rows, polygon, search)
    if not misfit < least:
        return least
    note_forces(search, near.best, near.joined[1])
    return misfit


@kernel(inner=True)
def follow_curve(
    rows: ContactSystem, polygon: Polygon, search: Search, x: Interior, near: Approach, eps: float, most: int
) -> tuple[int, float]:
    """Follow the curve from the point in memory; systems factored, and the least misfit, of the forces kept."""
    n = x.z.shape[0]
    l, way, curve, kept_l, step = 1.0, -1.0, 0.5, 1.0, 0.0
    kept, corrections, systems = False, 0, 0
    last, base, least = math.inf, True, math.inf
    measure_point(rows, polygon, search, x, eps)
    for i in range(n):
        x.start[i] = x.miss[i] if x.product[i] > 0.0 or x.disc else 0.0
    for i in range(rows.r.shape[0] * x.width, n):
        x.start[i] = x.miss[i]
    while systems < most and l > END:
        far = departure(x, 0.0, x.tz, x.tw, l)
        exact = l > NOISE
        # Too far off the curve, and no nearer for a correction: a shorter step from the point before.
        lost = corrections >= CORRECTIONS or (corrections > 0 and far > 0.9 * last) or far > FAR_OFF
        if kept and exact and far > OFF and lost:
            step *= SHORTER
            for i in range(n):
                x.z[i], x.w[i] = x.kept[0, i] + step * x.kept[1, i], x.kept_w[0, i] + step * x.kept_w[1, i]
            l = kept_l + step * way
            corrections, last = 0, math.inf
            if step < 1e-5 * kept_l:
                break
            measure_point(rows, polygon, search, x, eps)
            continue
        # One factorisation: the correction C at this l, and the tangent T.
        systems += 1
        aim(x, l)
        for i in range(n):
            x.off[i] = x.miss[i] - l * x.start[i]
            if abs(x.off[i]) < ROUNDED * search.speed and not (x.disc is False and i % x.width == x.width - 1):
                x.off[i] = 0.0
        if not step_to(rows, polygon, search, x, eps, True, x.cz, x.cw):
            break
        aim_along(x)
        step_to(rows, polygon, search, x, eps, False, x.tz, x.tw)
        ahead = positive(search.trees, search.K)
        if systems == 1:
            base = ahead
        # C moves at right angles to the curve, in logarithms.
        square = alike(x, x.tz, x.tw, x.tz, x.tw) + 1.0 / (l * l)
        share = -alike(x, x.cz, x.cw, x.tz, x.tw) / square
        if not math.isfinite(share):
            break
        for i in range(n):
            x.cz[i] += share * x.tz[i]
            x.cw[i] += share * x.tw[i]
        part = 1.0 if share >= -BACK * l else -BACK * l / share
        while departure(x, part / BACK, x.cz, x.cw, l) == math.inf and part > 1e-10:
            part *= 0.8
        add_step(x, part, x.cz, x.cw)
        l += part * share
        left = departure(x, 0.0, x.tz, x.tw, l)
        if far > OFF and left > 0.5 and exact and kept:
            corrections += 1
            last = far
            measure_point(rows, polygon, search, x, eps)
            least = keep_best(rows, polygon, search, near, least)
            continue
        # Along the tangent, as far as its curvature allows; the determinant says which way.
        way = -1.0 if ahead == base else 1.0
        if far > 0.8 * OFF:
            curve = max(LEAST_CURVE, 0.6 * curve)
        elif far < 0.4 * OFF:
            curve = min(MOST_CURVE, 1.3 * curve)
        step = BACK * l if way < 0.0 else 2.0 * l
        while departure(x, way * step, x.tz, x.tw, l + way * step) > curve + min(left, 1.0) and step > 1e-12 * l:
            step *= 0.8
        for i in range(n):
            x.kept[0, i], x.kept_w[0, i] = x.z[i], x.w[i]
            x.kept[1, i], x.kept_w[1, i] = way * x.tz[i], way * x.tw[i]
        kept, kept_l, corrections, last = True, l, 0, math.inf
        add_step(x, way * step, x.tz, x.tw)
        l += way * step
        measure_point(rows, polygon, search, x, eps)
        least = keep_best(rows, polygon, search, near, least)
        if least <= ENOUGH * search.speed:
            break
    return systems, least


@kernel(inner=True)
def descend_centrally(
    rows: ContactSystem, polygon: Polygon, search: Search, x: Interior, near: Approach, eps: float, unit: float
) -> tuple[int, float]:
    """Mehrotra's predictor and corrector from the point in memory, polygons; systems, and the least misfit."""
    z, w, n = x.z, x.w, x.z.shape[0]
    pairs = 0
    for i in range(n):
        pairs += 1 if x.product[i] > 0.0 else 0
        x.product[i] = unit if x.product[i] > 0.0 else 0.0
    systems, failures, least = 0, 0, math.inf
    while systems < CENTRAL_STEPS and failures < FAILURES:
        measure_point(rows, polygon, search, x, eps)
        least = keep_best(rows, polygon, search, near, least)
        mean = mean_product(x, 0.0, pairs)
        if mean <= (CENTRAL_END if eps == 0.0 else SOFT_END) * unit or (eps == 0.0 and least <= ENOUGH * search.speed):
            break
        systems += 1
        # Predictor: straight to the solution.
        aim(x, 0.0)
        for i in range(n):
            x.off[i] = x.miss[i]
        if not step_to(rows, polygon, search, x, eps, True, x.tz, x.tw):
            break
        share = mean_product(x, longest(x), pairs) / mean
        # Corrector: to what the predictor leaves, with its second order; to the middle where that is too short.
        goal = mean * min(1.0, max(1e-12, share)) ** POWER
        for attempt in range(2):
            for i in range(n):
                if x.product[i] > 0.0:
                    x.right[i] = goal - z[i] * w[i]
                    x.right[i] -= x.tz[i] * x.tw[i] if attempt == 0 else 0.0
            step_to(rows, polygon, search, x, eps, False, x.cz, x.cw)
            for i in range(n):
                x.tz[i], x.tw[i] = x.cz[i], x.cw[i]
            if longest(x) >= 0.2:
                break
            goal = 0.7 * mean
        step = min(1.0, TO_BOUNDARY * longest(x))
        failures += 1 if step < SHORT else 0
        if not step > 0.0:
            break
        add_step(x, step, x.tz, x.tw)
    return systems, least


@kernel(inner=True)
def longest(x: Interior) -> float:
    """The part of the step in tz, tw that leads to the boundary, 1 at most; 0 of one that is not finite."""
    part = 1.0
    for i in range(x.z.shape[0]):
        if x.product[i] > 0.0:
            if not (math.isfinite(x.tz[i]) and math.isfinite(x.tw[i])):
                return 0.0
            if x.tz[i] < 0.0:
                part = min(part, -x.z[i] / x.tz[i])
            if x.tw[i] < 0.0:
                part = min(part, -x.w[i] / x.tw[i])
    return part


@kernel(inner=True)
def mean_product(x: Interior, s: float, pairs: int) -> float:
    """Mean of z w, a part s of the step in tz, tw on."""
    total = 0.0
    for i in range(x.z.shape[0]):
        if x.product[i] > 0.0:
            dz, dw = (s * x.tz[i], s * x.tw[i]) if s > 0.0 else (0.0, 0.0)
            total += (x.z[i] + dz) * (x.w[i] + dw)
    return total / pairs


@kernel(inner=True)
def finish(
    rows: ContactSystem, polygon: Polygon, search: Search, near: Approach, least: float, most: int
) -> tuple[int, float]:
    """Bring the forces kept, of this misfit, nearer to the rigid problem; systems, and the misfit of what is kept then.

    By proximal Newton in ``most`` systems, then by proximal points of the modes that the forces show.
    """
    put_forces(search, near.best, near.joined[1])
    systems = 0
    if most > 0:
        misfit = natural_misfit(rows, polygon, search)
        systems, least = go_on(rows, polygon, search, near, misfit, most)
        note_forces(search, near.best, near.joined[1])
    systems += harden(rows, polygon, search, 0.0, POINTS)
    misfit = natural_misfit(rows, polygon, search)
    if misfit < least:
        note_forces(search, near.best, near.joined[1])
        return systems, misfit
    # The next round continues from the forces before these points.
    put_forces(search, near.best, near.joined[1])
    recover_velocity(rows, polygon, search)
    return systems, least
