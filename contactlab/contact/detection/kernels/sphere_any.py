"""Sphere and box, sphere and cylinder: the closest point to the sphere's centre."""

from __future__ import annotations

import math

from contactlab.contact.detection.kernels.contacts import put
from contactlab.contact.detection.kernels.vectors import relative, turned, turned_back
from contactlab.contact.kernels.layout import Contacts, Posed, Vector
from lcp.kernels import kernel


@kernel
def _leaving(a: Posed, b: Posed, direction: Vector, gap: float, margin: float, out: Contacts) -> int:
    """Contact of a sphere along a unit vector from its centre to B's surface, in B's axes."""
    if not gap <= margin:
        return 0
    normal, radius = turned(b.pose, direction), a.size[0]
    point = (a.pose[9] + radius * normal[0], a.pose[10] + radius * normal[1], a.pose[11] + radius * normal[2])
    return put(point, normal, gap, 0, 0, out)


@kernel
def sphere_box(a: Posed, b: Posed, margin: float, out: Contacts) -> int:
    """Contact of a sphere (A) and a box (B), 0 or 1.

    A centre outside is met by the box's closest point (Ericson 2005, section 5.1.4); one inside leaves through the
    nearest face, the first of equal ones in the order x, y, z.
    """
    cx, cy, cz = turned_back(b.pose, relative(b.pose, a.pose))
    hx, hy, hz = b.size[0], b.size[1], b.size[2]
    radius = a.size[0]
    lx = min(max(cx, -hx), hx) - cx
    ly = min(max(cy, -hy), hy) - cy
    lz = min(max(cz, -hz), hz) - cz
    length = math.sqrt(lx * lx + ly * ly + lz * lz)
    # A centre on the surface up to rounding counts as inside: the difference to the closest point is noise.
    if length > 1e-12 * (hx + hy + hz):
        gap = length - radius
        lx, ly, lz = lx / length, ly / length, lz / length
    else:
        gap, lx, ly, lz = abs(cx) - hx, (-1.0 if cx >= 0.0 else 1.0), 0.0, 0.0
        if abs(cy) - hy > gap:
            gap, lx, ly = abs(cy) - hy, 0.0, (-1.0 if cy >= 0.0 else 1.0)
        if abs(cz) - hz > gap:
            gap, lx, ly, lz = abs(cz) - hz, 0.0, 0.0, (-1.0 if cz >= 0.0 else 1.0)
        gap -= radius
    return _leaving(a, b, (lx, ly, lz), gap, margin, out)


@kernel
def sphere_cylinder(a: Posed, b: Posed, margin: float, out: Contacts) -> int:
    """Contact of a sphere (A) and a cylinder (B), 0 or 1.

    In the half-plane through the axis and the sphere's centre the cylinder is a rectangle, and the closest point is
    found as for a box. A centre inside leaves through the nearer of mantle and cap; one on the axis leaves the mantle
    along the cylinder's x axis.
    """
    cx, cy, cz = turned_back(b.pose, relative(b.pose, a.pose))
    rim, half, radius = b.size[0], b.size[1], a.size[0]
    rho = math.sqrt(cx * cx + cy * cy)
    ex, ey = 1.0, 0.0
    if rho > 1e-150:
        ex, ey = cx / rho, cy / rho
    # Differences to the closest point of the rectangle, radial and axial.
    lr = min(rho, rim) - rho
    lz = min(max(cz, -half), half) - cz
    length = math.sqrt(lr * lr + lz * lz)
    if length > 1e-12 * (rim + half):
        gap = length - radius
        lr, lz = lr / length, lz / length
    elif abs(cz) - half > rho - rim:
        gap, lr, lz = abs(cz) - half - radius, 0.0, (-1.0 if cz >= 0.0 else 1.0)
    else:
        gap, lr, lz = rho - rim - radius, -1.0, 0.0
    return _leaving(a, b, (lr * ex, lr * ey, lz), gap, margin, out)
