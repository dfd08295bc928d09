"""Drawn parts of bodies: visuals, colliders, or placeholders for their mass; and the colours of pictures."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from contactlab.collision import BodyShape, Box, ContactError, Shape, tangent_frame
from contactlab.collision.shapes import SurfaceMesh, balls
from contactlab.multibody.bodies import WORLD
from contactlab.multibody.spatial.arrays import FloatArray, IntArray
from contactlab.multibody.urdf.reading import warn_of
from contactlab.simulation import OPEN, SLIDE, STICK, World
from contactlab.simulation.world.surface import VisualMesh

Color = tuple[int, int, int]

#: Colours of bodies, in turn; green and vermilion are reserved for contact modes.
BODIES: tuple[Color, ...] = ((86, 180, 233), (240, 228, 66), (204, 121, 167), (0, 114, 178), (230, 159, 0))
UNPAINTED: Color = (196, 198, 202)  # colour of a mesh without a colour
FIXED: Color = (178, 176, 170)
GROUND: Color = (222, 220, 214)
GRID: Color = (176, 174, 168)
EDGE: Color = (40, 40, 40)
MODE_COLORS: dict[int, Color] = {OPEN: (90, 90, 90), STICK: (0, 158, 115), SLIDE: (213, 94, 0)}
MODE_NAMES: dict[int, str] = {OPEN: "open", STICK: "stick", SLIDE: "slide"}


def srgb_to_linear(color: Color) -> Color:
    """Return a colour with linear light intensities from screen values, by a power of 2.2, close to IEC 61966-2-1."""
    red, green, blue = (round(255.0 * (value / 255.0) ** 2.2) for value in color)
    return red, green, blue


def hexadecimal(color: Color) -> str:
    """Return a colour as a hexadecimal web colour."""
    return "#{:02x}{:02x}{:02x}".format(*color)


@contextlib.contextmanager
def require_viz() -> Iterator[None]:
    """Name the extra to install in errors of an import within this context."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{error.name} is not installed: pip install '.[viz]'", name=error.name) from error


# Number of triangles of all meshes of a world, counted for each instance: about a megabyte of a page.
MAX_TRIANGLES = 60_000
FEWEST = 200  # minimum number of triangles of a mesh
CREASE = np.radians(35.0)  # a larger angle between triangles is an edge
MAX_NAMED = 3


class ColoredMesh(NamedTuple):
    """A solid in the axes of its body, and its colour; None for a default colour."""

    solid: SurfaceMesh
    color: Color | None
    opacity: float


#: Coloured meshes of each visual; None for a mesh that cannot be read.
Looks = tuple[tuple[ColoredMesh, ...] | None, ...]

# A world never changes, so its files are read once.
_LOOKS: WeakKeyDictionary[World, Looks] = WeakKeyDictionary()


def visual_meshes(world: World) -> Looks:
    """Return the coloured meshes of each visual of a world; None for a mesh that cannot be read.

    The files are read in the first call for this world. An `UrdfWarning` then names the meshes that cannot be read.
    """
    looks = _LOOKS.get(world)
    if looks is None:
        looks = _LOOKS[world] = _load_visuals(world)
    return looks


def _load_visuals(world: World) -> Looks:
    """Load the visual meshes of a world, thinned to a maximum number of triangles; warn about those that failed."""
    meshes = {_key(one.shape): one.shape for one in world.visuals if isinstance(one.shape, VisualMesh)}
    found = {key: _load(mesh) for key, mesh in meshes.items()}
    loaded = {key: parts for key, parts in found.items() if not isinstance(parts, str)}
    wrong = [words for words in found.values() if isinstance(words, str)]
    if wrong:
        more = f"; and {len(wrong) - MAX_NAMED} more" if len(wrong) > MAX_NAMED else ""
        warn_of(f"visual meshes not drawn, shapes that touch in their place: {'; '.join(wrong[:MAX_NAMED])}{more}")
    uses = [_key(one.shape) for one in world.visuals if isinstance(one.shape, VisualMesh)]
    total = sum(len(loaded[key][1]) for key in uses if key in loaded)
    share = min(1.0, MAX_TRIANGLES / max(total, 1))
    drawn = {key: _by_color(*parts, share) for key, parts in loaded.items()}
    looks: list[tuple[ColoredMesh, ...] | None] = []
    for one in world.visuals:
        given = None if one.rgba is None else _color(np.array(one.rgba[:3]))
        opacity = 1.0 if one.rgba is None else one.rgba[3]
        R, p = one.placement.R, one.placement.p
        if opacity == 0.0:
            looks.append(())
        elif not isinstance(one.shape, VisualMesh):
            looks.append((ColoredMesh(one.shape.surface_mesh().transformed(R, p), given, opacity),))
        elif _key(one.shape) in drawn:
            parts = drawn[_key(one.shape)]
            looks.append(
                tuple(ColoredMesh(s.transformed(R, p), own or given or UNPAINTED, opacity) for s, own in parts)
            )
        else:
            looks.append(None)
    return tuple(looks)


def _load(mesh: VisualMesh) -> tuple[FloatArray, IntArray, FloatArray] | str:
    """Return vertices, triangles and their colours of a mesh, or the reason why it cannot be read."""
    try:
        import trimesh  # noqa: F401  # makes meshes ready
    except ImportError:
        return f"{mesh.name}: trimesh is not installed: pip install '.[viz]'"
    try:
        return mesh.load()
    except ContactError as error:
        return error.detail


def _key(mesh: object) -> object:
    """Return a key that is equal for meshes that look the same."""
    assert isinstance(mesh, VisualMesh)
    return id(mesh) if mesh.triangles is not None else (mesh.name, mesh.path, mesh.scale)


def _color(rgb: FloatArray) -> Color:
    red, green, blue = (int(x) for x in np.round(255.0 * rgb))
    return red, green, blue


def _by_color(
    vertices: FloatArray, triangles: IntArray, colors: FloatArray, share: float
) -> list[tuple[SurfaceMesh, Color | None]]:
    """Return a mesh as one solid for each of its colours, simplified to the fraction ``share`` of its triangles."""
    kinds, which = np.unique(np.nan_to_num(colors, nan=-1.0), axis=0, return_inverse=True)
    solids = []
    for k, rgb in enumerate(kinds):
        mine = triangles[which.reshape(-1) == k]
        solid = _solid(vertices, mine, max(FEWEST, int(share * len(mine))))
        solids.append((solid, None if rgb.min() < 0.0 else _color(rgb)))
    return solids


def _solid(vertices: FloatArray, triangles: IntArray, most: int) -> SurfaceMesh:
    """Return triangles as a solid of at most about ``most`` triangles, with shared vertices on round parts."""
    import trimesh
    from trimesh.graph import connected_component_labels

    mesh = trimesh.Trimesh(vertices, triangles, process=False)
    mesh.merge_vertices(merge_tex=True, merge_norm=True)
    mesh.update_faces(mesh.nondegenerate_faces())
    if len(mesh.faces) > most:
        # Without the library for simplification, pages are larger.
        with contextlib.suppress(ImportError):
            mesh = mesh.simplify_quadric_decimation(face_count=most)
    faces = np.array(mesh.faces, dtype=np.int64)
    smooth = np.asarray(mesh.face_adjacency)[np.asarray(mesh.face_adjacency_angles) < CREASE]
    patch = connected_component_labels(smooth, node_count=len(faces))
    # One vertex for each smooth patch that meets there.
    keys, corner = np.unique((patch[:, None] * len(mesh.vertices) + faces).ravel(), return_inverse=True)
    points = np.array(mesh.vertices, dtype=np.float64)[keys % max(len(mesh.vertices), 1)]
    return SurfaceMesh(points, corner.reshape(-1, 3), np.zeros((0, 2, 3)))


FREE = 6  # degrees of freedom of a free joint


@dataclass(frozen=True, eq=False)
class Part:
    """A solid fixed to a body.

    Attributes
    ----------
    body
        Index of the body.
    solid
        Solid in body axes.
    color, opacity
        Colour and opacity of its surface.
    shape
        Whether it is a collider or a visual; otherwise it is a box for the inertia, or a rod to the parent, of a body
        without shape.
    """

    body: int
    solid: SurfaceMesh
    color: Color
    shape: bool = True
    opacity: float = 1.0

    @property
    def points(self) -> FloatArray:
        """Points (n, 3) in body axes whose hull contains it."""
        return self.solid.vertices if len(self.solid.vertices) else self.solid.lines.reshape(-1, 3)


def solid_of(shape: object) -> SurfaceMesh:
    """Return a shape's surface in its axes; for a custom shape, the balls of its contacts with half-spaces.

    The solid of a half-space is empty; `contactlab.view.drawing.Ground` draws its visible part.
    """
    if isinstance(shape, Shape):
        return shape.surface_mesh()
    if isinstance(shape, BodyShape):
        return balls(*shape.support_points())
    raise TypeError(f"{type(shape).__name__} is no shape")


def parts_of(world: World, *, collision: bool) -> tuple[tuple[Part, ...], frozenset[int]]:
    """Return the parts of every body, and the bodies without parts that should have some.

    With ``collision`` bodies are drawn by their collision shapes. Otherwise, in a tree with a visual, no body has links
    or axes; a hidden shape replaces a mesh that cannot be read.
    """
    looks = visual_meshes(world) if world.visuals and not collision else ()
    roots = _roots(world)
    color = [FIXED if tree < 0 else BODIES[i % len(BODIES)] for i, tree in enumerate(world.body_trees)]
    owned = list(zip(world.visual_bodies, looks, strict=False))
    dressed, lost = {roots[i] for i, look in owned if look}, {i for i, look in owned if look is None}
    undressed = {roots[i] for i in lost} - dressed
    lost |= {i for i, root in enumerate(roots) if root in undressed}
    parts: list[Part] = []
    for i in range(world.model.nb):
        own = [s for s, body in zip(world.surfaces, world.surface_bodies, strict=True) if body == i]
        seen = [s for s in own if collision or s.visible or i in lost]
        parts += [Part(i, solid_of(s.shape).transformed(s.placement.R, s.placement.p), color[i]) for s in seen]
        for look in (look for body, look in owned if body == i and look is not None):
            parts += [Part(i, one.solid, one.color or color[i], opacity=one.opacity) for one in look]
        if roots[i] not in dressed:
            parts += _placeholder_parts(world, i, color[i], parts)
    drawn = {part.body for part in parts}
    return tuple(parts), frozenset(i for i in range(world.model.nb) if i not in drawn and roots[i] not in dressed)


def _roots(world: World) -> list[int]:
    """Return the root body of each body's tree."""
    roots: list[int] = []
    for i, spec in enumerate(world.model.bodies):
        roots.append(i if spec.parent == WORLD else roots[world.model.index(spec.parent)])
    return roots


def _placeholder_parts(world: World, i: int, color: Color, before: list[Part]) -> list[Part]:
    """Return the parts that stand for missing shapes of body i.

    These are a line from the parent to the body and a rod from its joint to its shapes, if the parts ``before`` do not
    fill the gap, and a box of its inertia if it has no shape.
    """
    spec, parts = world.model.bodies[i], []
    if spec.parent != WORLD and spec.placement.p.any():
        parent = world.model.index(spec.parent)
        if parent not in world.surface_bodies or _offset_box(before, parent, spec.placement.p) is not None:
            none = np.zeros((0, 3))
            bone = np.stack((np.zeros(3), spec.placement.p))[None]
            parts.append(Part(parent, SurfaceMesh(none, none.astype(np.int64), bone), FIXED, shape=False))
    joined = spec.parent != WORLD or spec.joint.nv > 0
    if joined and spec.joint.nv < FREE and (around := _offset_box(before, i, np.zeros(3))) is not None:
        parts.append(Part(i, _rod(*around), color, shape=False))
    if i not in world.surface_bodies and spec.inertia is not None and spec.inertia.mass > 0.0:
        moments, axes = np.linalg.eigh(spec.inertia.inertia)
        # Half sides of the homogeneous box with these principal moments.
        half = np.sqrt(np.maximum(1.5 * (moments.sum() - 2.0 * moments) / spec.inertia.mass, 0.0))
        if half.max() > 0.0:
            axes[:, 2] *= np.sign(np.linalg.det(axes))
            box = solid_of(Box(np.maximum(half, 0.05 * half.max())))
            parts.append(Part(i, box.transformed(axes, spec.inertia.com), color, shape=False, opacity=0.5))
    return parts


def _offset_box(parts: list[Part], body: int, point: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Return the corners of the box of a body's shapes, if it is farther from a point than half its size; else None."""
    shapes = [part.solid.vertices for part in parts if part.body == body and part.shape and len(part.solid.vertices)]
    if not shapes:
        return None
    corners = np.concatenate(shapes)
    low, high = corners.min(axis=0), corners.max(axis=0)
    away = float(np.linalg.norm(point - point.clip(low, high)))
    return (low, high) if away > 0.5 * float(np.linalg.norm(high - low)) else None


def _rod(low: FloatArray, high: FloatArray) -> SurfaceMesh:
    """Return a rod from a body's joint to the middle of a box, thinner than the box."""
    end = 0.5 * (low + high)
    length = float(np.linalg.norm(end))
    axes = np.column_stack((*tangent_frame(end), end / length))
    thick = min(0.15 * float((high - low).min()), 0.03 * length)
    return solid_of(Box((thick, thick, 0.5 * length))).transformed(axes, 0.5 * end)
