"""The contacts of one pair: how they are written, turned round, sorted and reduced to four."""

from __future__ import annotations

import math

from contactlab.contact.kernels.layout import GAP, NORMAL, POINT, Contacts, Vector
from contactlab.spatial.arrays import FloatArray
from lcp.kernels import kernel


@kernel
def put(point: Vector, normal: Vector, gap: float, code: int, count: int, out: Contacts) -> int:
    """Write contact number ``count`` and return ``count`` + 1; one beyond the capacity is counted, not stored.

    ``point`` lies on A's surface and the gap from it on along the normal. The point written is the middle of the
    gap: it is the same whichever of the two shapes comes first, and neither surface is preferred in an overlap.
    """
    if count < out.rows.shape[0]:
        row, (x, y, z), (nx, ny, nz) = out.rows[count], point, normal
        row[POINT], row[POINT + 1], row[POINT + 2] = x + 0.5 * gap * nx, y + 0.5 * gap * ny, z + 0.5 * gap * nz
        row[NORMAL], row[NORMAL + 1], row[NORMAL + 2] = nx, ny, nz
        row[GAP] = gap
        out.features[count] = code
    return count + 1


@kernel
def flip(rows: FloatArray, count: int) -> None:
    """Turn the normals of the first ``count`` contacts: A and B change places."""
    for i in range(min(count, rows.shape[0])):
        for j in range(3):
            # From zero: a zero entry stays a plain zero.
            rows[i, NORMAL + j] = 0.0 - rows[i, NORMAL + j]


@kernel
def _swap(i: int, j: int, out: Contacts) -> None:
    rows, features = out.rows, out.features
    for m in range(rows.shape[1]):
        kept = rows[i, m]
        rows[i, m] = rows[j, m]
        rows[j, m] = kept
    code = features[i]
    features[i] = features[j]
    features[j] = code


@kernel
def sort_contacts(count: int, out: Contacts) -> None:
    """Sort the contacts of one pair by feature: their order does not depend on how they were found."""
    # By selection: rows are long, and each is moved at most once or twice.
    for i in range(count - 1):
        least = i
        for j in range(i + 1, count):
            if out.features[j] < out.features[least]:
                least = j
        if least != i:
            _swap(i, least, out)


@kernel
def distance2(i: int, j: int, rows: FloatArray) -> float:
    """Squared distance of two contacts."""
    x, y, z = rows[i, 0] - rows[j, 0], rows[i, 1] - rows[j, 1], rows[i, 2] - rows[j, 2]
    return x * x + y * y + z * z


@kernel
def _spread(i: int, chosen: int, rows: FloatArray) -> float:
    """What contact i adds to the first ``chosen``: squared distance from one, squared area with two, outside three."""
    if chosen == 1:
        return distance2(i, 0, rows)
    if chosen == 2:
        ax, ay, az = rows[i, 0] - rows[0, 0], rows[i, 1] - rows[0, 1], rows[i, 2] - rows[0, 2]
        bx, by, bz = rows[1, 0] - rows[0, 0], rows[1, 1] - rows[0, 1], rows[1, 2] - rows[0, 2]
        x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        return x * x + y * y + z * z
    nearest = distance2(i, 0, rows)
    for j in range(1, chosen):
        nearest = min(nearest, distance2(i, j, rows))
    return nearest


@kernel
def reduce_contacts(count: int, out: Contacts) -> int:
    """Keep at most four contacts: the deepest, the farthest from it, the one of largest area, the one farthest off.

    Contacts are taken in the order of their features, and a later one must be better by a millionth: of equal ones
    the first stays, step after step, whatever the last bits are. Returns how many stay, sorted by feature.
    """
    if count <= 4:
        return count
    sort_contacts(count, out)
    extent2 = 0.0
    for i in range(1, count):
        extent2 = max(extent2, distance2(i, 0, out.rows))
    for chosen in range(4):
        best, most = chosen, -math.inf
        for i in range(chosen, count):
            if chosen == 0:
                value, slack = -out.rows[i, GAP], 1e-6 * math.sqrt(extent2)
            else:
                value, slack = _spread(i, chosen, out.rows), 1e-6 * abs(most)
            if i == chosen or value > most + slack:
                best, most = i, value
        # Moved by neighbours, so that the rest keep their order.
        for i in range(best, chosen, -1):
            _swap(i, i - 1, out)
    sort_contacts(4, out)
    return 4
