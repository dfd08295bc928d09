"""Closest points of two segments; distance of a segment from a box."""

from __future__ import annotations

import math

from contactlab.contact.detection.kernels.vectors import relative, turned, turned_back
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel


@kernel
def closest_on_segments(du: float, dw: float, cosine: float, half_a: float, half_b: float) -> tuple[float, float]:
    """Parameters s, t of the closest points a + s u and b + t w, |s| <= half_a, |t| <= half_b, u and w unit vectors.

    ``du`` and ``dw`` are the parts of b - a along u and w, ``cosine`` is u . w. Ericson 2005, section 5.1.9; of two
    parallel segments, any pair is returned whose distance is smallest.
    """
    sine2 = 1.0 - cosine * cosine
    s = 0.0
    if sine2 > 1e-14:
        s = (du - dw * cosine) / sine2
    s = min(max(s, -half_a), half_a)
    t = min(max(s * cosine - dw, -half_b), half_b)
    # With t fixed, s is best where t projects to; a second round settles what a clamp has moved.
    s = min(max(t * cosine + du, -half_a), half_a)
    t = min(max(s * cosine - dw, -half_b), half_b)
    return s, t


@kernel
def _slope(t: float, c: FloatArray, u: FloatArray, half: FloatArray) -> float:
    """Half the derivative, along the segment, of the squared distance of c + t u from the box."""
    total = 0.0
    for i in range(3):
        x = c[i] + t * u[i]
        if x > half[i]:
            total += (x - half[i]) * u[i]
        elif x < -half[i]:
            total += (x + half[i]) * u[i]
    return total


@kernel
def segment_box(
    half_length: float, pose_a: FloatArray, half: FloatArray, pose_b: FloatArray, work: FloatArray
) -> tuple[float, float, float, float, float]:
    """Signed distance of a capsule's axis (A) from a box (B), the unit normal from A to B, where it is on the axis.

    Returns (distance, nx, ny, nz, t), world axes; t from -half_length to half_length.

    The squared distance is convex along the axis and quadratic between the planes of the box's faces, so its slope is
    monotonic and piecewise linear: the breakpoints bracket its zero, and one linear interpolation gives it exactly. An
    axis that enters the box leaves along the shortest of the 6 + 6 directions of the separating axis theorem: face
    normals, and the axis crossed with an edge (S. Gottschalk, M. C. Lin, D. Manocha, OBBTree, SIGGRAPH 1996).
    """
    c, u = work[0:3], work[3:6]
    c[0], c[1], c[2] = turned_back(pose_b, relative(pose_b, pose_a))
    u[0], u[1], u[2] = turned_back(pose_b, (pose_a[2], pose_a[5], pose_a[8]))
    low, high = -half_length, half_length
    at_low, at_high = _slope(low, c, u, half), _slope(high, c, u, half)
    if at_low >= 0.0:
        t = low
    elif at_high <= 0.0:
        t = high
    else:
        for i in range(3):
            for side in range(2):
                if u[i] != 0.0:
                    knot = ((half[i] if side == 1 else -half[i]) - c[i]) / u[i]
                    if low < knot < high:
                        slope = _slope(knot, c, u, half)
                        if slope < 0.0:
                            low, at_low = knot, slope
                        else:
                            high, at_high = knot, slope
        t = low - at_low * (high - low) / (at_high - at_low)
    n, best = work[6:9], work[9:12]
    length2 = 0.0
    for i in range(3):
        x = c[i] + t * u[i]
        n[i] = min(max(x, -half[i]), half[i]) - x
        length2 += n[i] * n[i]
    distance = math.sqrt(length2)
    if distance > 1e-9 * (half[0] + half[1] + half[2] + half_length):
        for i in range(3):
            n[i] /= distance
    else:
        distance, t = _overlap(half_length, c, u, half, n, best)
    nx, ny, nz = turned(pose_b, (n[0], n[1], n[2]))
    return distance, nx, ny, nz, t


@kernel
def _overlap(
    half_length: float, c: FloatArray, u: FloatArray, half: FloatArray, n: FloatArray, best: FloatArray
) -> tuple[float, float]:
    """Largest separation (at most zero) over the candidate directions; fills the normal n, returns (separation, t)."""
    largest = -math.inf
    for i in range(3):
        separation = abs(c[i]) - half[i] - half_length * abs(u[i])
        if separation > largest:
            largest = separation
            for j in range(3):
                best[j] = 0.0
            best[i] = -1.0 if c[i] >= 0.0 else 1.0
    edge, slack = -1, 1e-9 * (half[0] + half[1] + half[2])
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        length = math.sqrt(u[j] * u[j] + u[k] * u[k])
        if length > 1e-6:
            # The direction u x e_i has the parts u_k on j and -u_j on k.
            along = (u[k] * c[j] - u[j] * c[k]) / length
            separation = abs(along) - (abs(u[k]) * half[j] + abs(u[j]) * half[k]) / length
            if separation > largest + slack:
                largest, edge = separation, i
                sign = -1.0 if along >= 0.0 else 1.0
                best[i], best[j], best[k] = 0.0, sign * u[k] / length, -sign * u[j] / length
    for i in range(3):
        n[i] = best[i]
    if edge < 0:
        # Through a face the end that lies deeper leads; an axis along the face lies equally deep all over.
        along = u[0] * n[0] + u[1] * n[1] + u[2] * n[2]
        if abs(along) * half_length <= slack:
            return largest, 0.0
        return largest, (half_length if along > 0.0 else -half_length)
    # Through an edge: the axis' point closest to the edge of the box that faces it.
    j, k = (edge + 1) % 3, (edge + 2) % 3
    ej = half[j] if n[j] < 0.0 else -half[j]
    ek = half[k] if n[k] < 0.0 else -half[k]
    t = ((ej - c[j]) * u[j] + (ek - c[k]) * u[k]) / (u[j] * u[j] + u[k] * u[k])
    return largest, min(max(t, -half_length), half_length)
