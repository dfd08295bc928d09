"""Penetration depth of two overlapping convex shapes, by the expanding polytope."""

from __future__ import annotations

import math

from contactlab.collision.detection.kernels.gjk import ROW, add_corner, corner, triangle_normal
from contactlab.collision.detection.kernels.support import has_curved_core, perpendicular
from contactlab.collision.kernels import EDGES, FACES, MAX_FACES, MAX_VERTICES, Posed, Workspace
from contactlab.multibody.spatial.arrays import FloatArray, IntArray, Vec3
from contactlab.multibody.spatial.kernels import (
    copy,
    cross,
    dot,
    fill,
    opposite,
    put,
    subtract,
    times,
    vector_at,
)
from lcp.kernels import kernel

# Relative accuracy of a curved core. The area of finer faces is too small for a normal, which is then known to 1e-4.
CURVED_TOLERANCE = 1e-8


@kernel
def _normal(work: FloatArray, i: int, j: int, k: int) -> tuple[Vec3, float]:
    """Return the unit normal along (j - i) x (k - i) of three vertices, and the length of this product."""
    n = triangle_normal(work, i, j, k)
    length = math.sqrt(dot(n, n))
    divisor = length if length > 0.0 else 1.0
    return (n[0] / divisor, n[1] / divisor, n[2] / divisor), length


@kernel
def _tetrahedron(a: Posed, b: Posed, n: int, scale: float, work: FloatArray) -> int:
    """Add vertices to a simplex of n until it is a tetrahedron; return their number, fewer than 4 for flat shapes."""
    tiny = 1e-9 * scale
    # a second vertex along an axis of the world
    if n == 1:
        for i in range(6):
            s = 1.0 if i % 2 == 0 else -1.0
            add_corner(a, b, (s if i // 2 == 0 else 0.0, s if i // 2 == 1 else 0.0, s if i // 2 == 2 else 0.0), 1, work)
            x, y, z = _from_first(1, work)
            if abs(x) + abs(y) + abs(z) > tiny:
                n = 2
                break
    # a third vertex along a normal of the segment
    if n == 2:
        u = _from_first(1, work)
        length = math.sqrt(dot(u, u))
        e = perpendicular(u)
        f = cross(u, e)
        f = (f[0] / length, f[1] / length, f[2] / length)
        for i in range(4):
            add_corner(a, b, times(1.0 if i % 2 == 0 else -1.0, e if i < 2 else f), 2, work)
            if _normal(work, 0, 1, 2)[1] > tiny * length:
                n = 3
                break
    # a fourth vertex along a normal of the triangle
    if n == 3:
        normal, _ = _normal(work, 0, 1, 2)
        for d in (normal, opposite(normal)):
            if add_corner(a, b, d, 3, work) - dot(d, corner(work, 0)) > tiny:
                n = 4
                break
    return n


@kernel
def _from_first(i: int, work: FloatArray) -> Vec3:
    """Return vertex i minus the first."""
    return subtract(corner(work, i), corner(work, 0))


@kernel
def _add_face(i: int, j: int, k: int, face: int, scale: float, work: FloatArray, ints: IntArray) -> None:
    """Store vertices i, j, k of a face, its unit normal and its distance from the origin, infinite for a sliver."""
    normal, length = _normal(work, i, j, k)
    at = FACES + 4 * face
    ints[3 * face], ints[3 * face + 1], ints[3 * face + 2] = i, j, k
    flat = not length > 1e-15 * scale * scale
    put((0.0, 0.0, 0.0) if flat else normal, work[at:])
    work[at + 3] = math.inf if flat else dot(normal, corner(work, i))


@kernel
def _remove_visible_faces(new: int, faces: int, slack: float, work: FloatArray, ints: IntArray) -> tuple[int, int]:
    """Remove the faces visible from vertex ``new``; return the numbers of faces left and of edges around the hole.

    A face is visible if the vertex is more than ``slack`` outside its plane. The edges are stored in ``ints``.
    """
    edges, kept = 0, 0
    x = corner(work, new)
    for face in range(faces):
        at = FACES + 4 * face
        seen = work[at + 3] == math.inf or dot(vector_at(work, at), x) - work[at + 3] > slack
        if not seen:
            # move the face up
            if kept != face:
                copy(ints[3 * face :], ints[3 * kept : 3 * kept + 3])
                copy(work[at:], work[FACES + 4 * kept : FACES + 4 * kept + 4])
            kept += 1
            continue
        # an edge of two visible faces is inside the hole, an edge of one is on its boundary
        for m in range(3):
            i, j = ints[3 * face + m], ints[3 * face + (m + 1) % 3]
            twin = -1
            for e in range(edges):
                if ints[EDGES + 2 * e] == j and ints[EDGES + 2 * e + 1] == i:
                    twin = e
                    break
            if twin >= 0:
                edges -= 1
                ints[EDGES + 2 * twin] = ints[EDGES + 2 * edges]
                ints[EDGES + 2 * twin + 1] = ints[EDGES + 2 * edges + 1]
            elif edges < MAX_FACES:
                ints[EDGES + 2 * edges], ints[EDGES + 2 * edges + 1] = i, j
                edges += 1
    return kept, edges


@kernel
def _four_faces(scale: float, work: FloatArray, ints: IntArray) -> None:
    """Store the four outward faces of the tetrahedron of the first four vertices, by `_add_face`."""
    j, k = (1, 2) if dot(triangle_normal(work, 0, 1, 2), _from_first(3, work)) < 0.0 else (2, 1)
    _add_face(0, j, k, 0, scale, work, ints)
    _add_face(0, k, 3, 1, scale, work, ints)
    _add_face(k, j, 3, 2, scale, work, ints)
    _add_face(j, 0, 3, 3, scale, work, ints)


@kernel
def epa(a: Posed, b: Posed, n: int, scale: float, room: Workspace, weights: FloatArray) -> tuple[float, Vec3, int]:
    """Return the depth of overlapping cores, the unit normal from A to B, and the number of faces left.

    The search begins with the simplex of the first n vertices in ``room``. At the end the three vertices of the nearest
    face come first there, and ``weights`` (4,) are the barycentric weights of its point nearest to the origin. No face
    left is nearer to the origin than the depth.

    If the difference A - B is flat, no face is left, and the normal is a normal of the flat set. If rounding makes the
    polytope inconsistent, or it has too many faces, the depth is the last valid lower bound. In both cases only the
    first vertex has weight.

    G. van den Bergen, Proximity queries and penetration depth computation on 3D game objects, GDC 2001: the polytope
    A - B grows from a simplex inside it, always beyond the face nearest to the origin. Faces point away from the inside
    of the polytope, not from the origin. So cores that are barely apart also get a face, at a negative depth.

    The result is exact for polytopes. For curved cores its error is `CURVED_TOLERANCE` times the scale, or about 1e-6
    if rounding ends the search first.
    """
    work, ints = room
    n = _tetrahedron(a, b, n, scale, work)
    fill(0.0, weights[:4])
    if n < 4:
        # both cores are in one plane, or on one line, and touch: the shortest way out is normal to it
        weights[0], normal = 1.0, (0.0, 0.0, 1.0)
        if n == 3:
            normal, _ = _normal(work, 0, 1, 2)
        elif n == 2:
            normal = perpendicular(_from_first(1, work))
        return dot(normal, corner(work, 0)), normal, 0
    # tolerances: exact for polytopes, coarser for curved cores
    _four_faces(scale, work, ints)
    faces, corners, slack = 4, 4, 1e-13 * scale
    enough = 1e-11 * scale
    if has_curved_core(a.kind) or has_curved_core(b.kind):
        enough, slack = CURVED_TOLERANCE * scale, 1e-4 * CURVED_TOLERANCE * scale
    best, least, shallow = 0, math.inf, (0.0, 0.0, 1.0)
    closed, bound, widest = True, 0.0, 500.0 * slack
    while True:
        # the face nearest to the origin, and the farthest point beyond it
        best = 0
        for face in range(1, faces):
            if work[FACES + 4 * face + 3] < work[FACES + 4 * best + 3]:
                best = face
        at = FACES + 4 * best
        normal, depth = vector_at(work, at), work[at + 3]
        if corners == MAX_VERTICES:
            break
        far = add_corner(a, b, normal, corners, work)
        # every direction bounds the depth from above
        if far < least:
            least, shallow = far, normal
        if far - depth <= enough:
            break
        # replace the faces visible from the new vertex by a fan around the hole
        kept, edges = _remove_visible_faces(corners, faces, slack, work, ints)
        if kept + edges > MAX_FACES:
            faces, closed, bound = kept, False, (depth if closed else bound)
            break
        # Euler: a closed polytope of triangles has 2 V - 4 faces; otherwise rounding has opened it
        if closed and kept + edges != 2 * (corners + 1) - 4:
            if slack < widest:
                # start again with a coarser tolerance for coplanar faces
                slack, enough = 10.0 * slack, max(enough, 20.0 * slack)
                add_corner(a, b, (1.0, 0.0, 0.0), 0, work)
                if _tetrahedron(a, b, 1, scale, work) == 4:
                    _four_faces(scale, work, ints)
                    faces, corners = 4, 4
                    continue
            # nothing is proved from here on, but the faces still lead to directions of less overlap
            closed, bound = False, depth
        for e in range(edges):
            i, j = ints[EDGES + 2 * e], ints[EDGES + 2 * e + 1]
            _add_face(i, j, corners, kept + e, scale, work, ints)
        faces, corners = kept + edges, corners + 1
    if not closed:
        weights[0] = 1.0
        add_corner(a, b, shallow, 0, work)
        return bound, shallow, faces
    _barycentric_weights(depth, normal, ints[3 * best], ints[3 * best + 1], ints[3 * best + 2], work, weights)
    return depth, normal, faces


@kernel
def _barycentric_weights(depth: float, n: Vec3, i: int, j: int, k: int, work: FloatArray, weights: FloatArray) -> None:
    """Move the vertices of a face to the front and set the barycentric weights of the origin's projection on it."""
    for m in range(ROW):
        work[m], work[ROW + m], work[2 * ROW + m] = work[ROW * i + m], work[ROW * j + m], work[ROW * k + m]
    total = 0.0
    for m in range(3):
        # area of the projection with the side opposite to vertex m
        u = subtract(corner(work, (m + 1) % 3), times(depth, n))
        v = subtract(corner(work, (m + 2) % 3), times(depth, n))
        weights[m] = max(dot(n, cross(u, v)), 0.0)
        total += weights[m]
    weights[0] = weights[0] if total > 0.0 else 1.0
    for m in range(3):
        weights[m] /= total if total > 0.0 else 1.0
