"""Closest points of two segments."""

from __future__ import annotations

from lcp.kernels import kernel

__all__ = ["closest_on_segments"]


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
