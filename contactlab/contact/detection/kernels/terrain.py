"""Signed distance of a point from a height field."""

from __future__ import annotations

import math

from contactlab.contact.kernels.layout import Vector
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel


@kernel
def cell_range(low: float, high: float, spacing: float, n: int) -> tuple[int, int]:
    """First cell and the one after the last of the n - 1 cells along one axis that meet the interval."""
    # Compared as floats: an infinite reach has no integer.
    first = int(min(max(math.floor(low / spacing), 0.0), n - 2.0))
    last = int(min(max(math.floor(high / spacing), 0.0), n - 2.0))
    return first, last + 1


@kernel
def height_at(x: float, y: float, size: FloatArray, data: FloatArray) -> float:
    """Height of the surface at (x, y) in the field's axes; minus infinity outside the grid."""
    start, nx, ny, dx, dy = int(size[0]), int(size[1]), int(size[2]), size[3], size[4]
    if not (0.0 <= x <= dx * (nx - 1) and 0.0 <= y <= dy * (ny - 1)):
        return -math.inf
    i, j = min(int(x / dx), nx - 2), min(int(y / dy), ny - 2)
    s, t = x / dx - i, y / dy - j
    at = start + i * ny + j
    z00, z10, z01, z11 = data[at], data[at + ny], data[at + 1], data[at + ny + 1]
    # Every cell is cut from (0, 0) to (1, 1).
    if s >= t:
        return z00 + s * (z10 - z00) + t * (z11 - z10)
    return z00 + t * (z01 - z00) + s * (z11 - z01)


@kernel
def closest_on_triangle(
    ax: float, ay: float, az: float, bx: float, by: float, bz: float, cx: float, cy: float, cz: float
) -> tuple[float, float, float]:
    """Point of the triangle a, b, c closest to the origin (Ericson 2005, section 5.1.5)."""
    ux, uy, uz, vx, vy, vz = bx - ax, by - ay, bz - az, cx - ax, cy - ay, cz - az
    d1, d2 = -(ux * ax + uy * ay + uz * az), -(vx * ax + vy * ay + vz * az)
    if d1 <= 0.0 and d2 <= 0.0:
        return ax, ay, az
    d3, d4 = -(ux * bx + uy * by + uz * bz), -(vx * bx + vy * by + vz * bz)
    if d3 >= 0.0 and d4 <= d3:
        return bx, by, bz
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        s = d1 / (d1 - d3)
        return ax + s * ux, ay + s * uy, az + s * uz
    d5, d6 = -(ux * cx + uy * cy + uz * cz), -(vx * cx + vy * cy + vz * cz)
    if d6 >= 0.0 and d5 <= d6:
        return cx, cy, cz
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        s = d2 / (d2 - d6)
        return ax + s * vx, ay + s * vy, az + s * vz
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        s = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        return bx + s * (cx - bx), by + s * (cy - by), bz + s * (cz - bz)
    total = va + vb + vc
    s, t = vb / total, vc / total
    return ax + s * ux + t * vx, ay + s * uy + t * vy, az + s * uz + t * vz


@kernel
def signed_distance(p: Vector, within: float, size: FloatArray, data: FloatArray) -> tuple[float, Vector]:
    """Distance of a point from the surface, negative below it, and the unit vector that increases it.

    The solid is all that lies below the surface. Points farther above than ``within`` may get any distance beyond
    ``within``, infinity included. All in the field's axes.
    """
    (x, y, z), start, nx, ny, dx, dy = p, int(size[0]), int(size[1]), int(size[2]), size[3], size[4]
    above = z - height_at(x, y, size, data)
    # Straight up to the surface is never shorter than the shortest way: a search that far finds it.
    near = min(within, abs(above)) if above > 0.0 else -above
    if not near >= 0.0:
        return math.inf, (0.0, 0.0, 1.0)
    if z - near > size[6]:
        return math.inf, (0.0, 0.0, 1.0)
    i0, i1 = cell_range(x - near, x + near, dx, nx)
    j0, j1 = cell_range(y - near, y + near, dy, ny)
    best, qx, qy, qz, mx, my, mz = math.inf, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0
    for i in range(i0, i1):
        for j in range(j0, j1):
            at = start + i * ny + j
            x0, x1, y0, y1 = i * dx - x, (i + 1) * dx - x, j * dy - y, (j + 1) * dy - y
            z00, z10, z01, z11 = data[at] - z, data[at + ny] - z, data[at + 1] - z, data[at + ny + 1] - z
            for half in range(2):
                if half == 0:
                    px, py, pz = closest_on_triangle(x0, y0, z00, x1, y0, z10, x1, y1, z11)
                    ex, ey = -(z10 - z00) / dx, -(z11 - z10) / dy
                else:
                    px, py, pz = closest_on_triangle(x0, y0, z00, x1, y1, z11, x0, y1, z01)
                    ex, ey = -(z11 - z01) / dx, -(z01 - z00) / dy
                length2 = px * px + py * py + pz * pz
                if length2 < best:
                    best, qx, qy, qz, mx, my = length2, px, py, pz, ex, ey
    distance = math.sqrt(best)
    if distance > 1e-9 * (dx + dy):
        sign = -1.0 if above > 0.0 else 1.0
        return -sign * distance, (sign * qx / distance, sign * qy / distance, sign * qz / distance)
    # On the surface the difference to the closest point is noise: the triangle's own normal.
    length = math.sqrt(mx * mx + my * my + mz * mz)
    return (distance if above > 0.0 else -distance), (mx / length, my / length, mz / length)
