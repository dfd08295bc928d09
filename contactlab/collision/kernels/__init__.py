"""Layout in memory of shapes, poses, contacts, feature numbers and workspaces."""

from __future__ import annotations

from typing import Final, NamedTuple

from contactlab.multibody.spatial.arrays import FloatArray, IntArray

# Kinds of shapes. In a pair the shape of lower kind is A, so grounds come first.
HALF_SPACE, HEIGHT_FIELD, MESH, SPHERE, CAPSULE, BOX, CYLINDER, CONVEX = range(8)

# A row of sizes:
#   half-space   outward unit normal 0:3, offset 3
#   height field offset of its heights in `data` 0, points along x 1 and y 2, spacing 3, 4 [m], lowest, highest 5, 6
#   sphere       radius 0
#   capsule      radius 0, half length 1
#   box          half extents 0:3
#   cylinder     radius 0, half length 1
#   convex       number of points 0, their start in `data` 1, number of faces 2, start of the faces' normals in `data`
#                3, start of their loops in `loops` 4 (first where each loop begins, counted from 4, then the corners)
#   mesh         vertices of its hull 0 and their start in `data` 1, as a convex has them; starts in `data` of its
#                triangles 2 (TRIANGLE numbers each), of the boxes of their tree 3 (6 each) and of its corners 5 (3
#                each); starts in `loops` of its header 4 and of the loops of a triangle taken as a hull 6. The header:
#                number of nodes; starts, counted from the header, of the triangles' corners, of where each corner's
#                neighbours begin (counted from the next), of the neighbours; then the nodes, in the order of a walk:
#                the node after its branch, its first triangle, and how many (0 for a fork).
SIZE: Final = 8

# A triangle of a mesh: its corners 0:9, its unit normal and the opposite 9:15.
TRIANGLE: Final = 15

# A pose: the rotation by rows 0:9 (shape axes to world axes), the origin 9:12 [m].
POSE: Final = 12

# A contact: point midway between the surfaces 0:3 [m], unit normal from A into B 3:6, gap 6 [m].
POINT, NORMAL, GAP, CONTACT = 0, 3, 6, 7

# A feature number packs a vertex or an edge of A and one of B, ten bits each; NONE means "not of this shape".
BITS: Final = 10

NONE: Final = (1 << BITS) - 1

CLOSEST_POINT_FEATURE: Final = (NONE << BITS) | NONE

# The feature of a mesh: the triangle's number, two bits for its corner or edge, the other shape's ten.
TRIANGLE_BITS: Final = BITS + 2

MAX_TRIANGLES: Final = 1 << (31 - TRIANGLE_BITS)

# Points of a hull, and corners of one of its faces, that pairs of general convex shapes can take.
MAX_POINTS: Final = NONE

MAX_FACE: Final = 64

# Workspaces. The expanding polytope shares memory with the polygons, because they are never used at the same time.
MAX_VERTICES, MAX_FACES = 128, 512

POLYGON_A: Final = 0

POLYGON_B: Final = POLYGON_A + 3 * MAX_FACE

CLIP_1: Final = POLYGON_B + 3 * MAX_FACE

CLIP_2: Final = CLIP_1 + 6 * MAX_FACE

FACES: Final = 9 * MAX_VERTICES

SCRATCH: Final = FACES + 4 * MAX_FACES

MESH_POSE: Final = SCRATCH + 16

MESH_BOX: Final = MESH_POSE + 12

MESH_SIZE: Final = MESH_BOX + 6

CORNER_POSE: Final = MESH_SIZE + SIZE

CORNER_SIZE: Final = CORNER_POSE + POSE

WORK: Final = CORNER_SIZE + SIZE

ID_A: Final = 0

ID_B: Final = ID_A + MAX_FACE

LABEL_1: Final = ID_B + MAX_FACE

LABEL_2: Final = LABEL_1 + 4 * MAX_FACE

EDGES: Final = 4 * MAX_FACES

INT_WORK: Final = EDGES + 2 * MAX_FACES


class Posed(NamedTuple):
    """One shape at its pose in the world."""

    kind: int
    size: FloatArray  # (SIZE,)
    pose: FloatArray  # (POSE,)
    data: FloatArray  # further numbers of hulls, meshes and height fields
    loops: IntArray


class Workspace(NamedTuple):
    """Workspaces of `collide_pair`, one per thread."""

    work: FloatArray  # (WORK,)
    ints: IntArray  # (INT_WORK,)


class ContactBuffer(NamedTuple):
    """Memory for the contacts of a pair. Contacts beyond its capacity are counted, not stored."""

    rows: FloatArray  # (capacity, CONTACT)
    features: IntArray  # (capacity,)
