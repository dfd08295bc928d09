"""What the visuals of a world look like: read when they are first drawn, few enough triangles, creases kept."""

from __future__ import annotations

import contextlib
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from contactlab.contact import ContactError
from contactlab.contact.shapes import Solid
from contactlab.drawing.palette import UNPAINTED, Color
from contactlab.multibody.urdf.guarded_xml import warn_of
from contactlab.simulation import World
from contactlab.spatial.arrays import FloatArray, IntArray
from contactlab.world.visual import VisualMesh

# Of all meshes of a world, a mesh as often as it is seen: about a megabyte of a page.
MOST_TRIANGLES = 60_000
FEWEST = 200  # triangles that a mesh keeps in any case
CREASE = np.radians(35.0)  # a larger angle between triangles is an edge
MOST_NAMED = 3


class Look(NamedTuple):
    """A solid in the axes of its body, and its colour; None for one of the drawing's own."""

    solid: Solid
    color: Color | None
    opacity: float


#: Of each visual, by colours; None for a mesh that cannot be read.
Looks = tuple[tuple[Look, ...] | None, ...]

# A world never changes: its files are read once.
_LOOKS: WeakKeyDictionary[World, Looks] = WeakKeyDictionary()


def looks_of(world: World) -> Looks:
    """Return what each visual of a world looks like, by colours; None for a mesh that cannot be read.

    An `UrdfWarning` names those, the first time.
    """
    looks = _LOOKS.get(world)
    if looks is None:
        looks = _LOOKS[world] = _read(world)
    return looks


def _read(world: World) -> Looks:
    meshes = {_key(one.shape): one.shape for one in world.visuals if isinstance(one.shape, VisualMesh)}
    found = {key: _load(mesh) for key, mesh in meshes.items()}
    loaded = {key: parts for key, parts in found.items() if not isinstance(parts, str)}
    wrong = [words for words in found.values() if isinstance(words, str)]
    if wrong:
        more = f"; and {len(wrong) - MOST_NAMED} more" if len(wrong) > MOST_NAMED else ""
        warn_of(f"visual meshes not drawn, shapes that touch in their place: {'; '.join(wrong[:MOST_NAMED])}{more}")
    uses = [_key(one.shape) for one in world.visuals if isinstance(one.shape, VisualMesh)]
    total = sum(len(loaded[key][1]) for key in uses if key in loaded)
    share = min(1.0, MOST_TRIANGLES / max(total, 1))
    drawn = {key: _by_color(*parts, share) for key, parts in loaded.items()}
    looks: list[tuple[Look, ...] | None] = []
    for one in world.visuals:
        given = None if one.rgba is None else _color(np.array(one.rgba[:3]))
        opacity = 1.0 if one.rgba is None else one.rgba[3]
        R, p = one.placement.R, one.placement.p
        if opacity == 0.0:
            looks.append(())
        elif not isinstance(one.shape, VisualMesh):
            looks.append((Look(one.shape.solid().moved(R, p), given, opacity),))
        elif _key(one.shape) in drawn:
            parts = drawn[_key(one.shape)]
            looks.append(tuple(Look(s.moved(R, p), own or given or UNPAINTED, opacity) for s, own in parts))
        else:
            looks.append(None)
    return tuple(looks)


def _load(mesh: VisualMesh) -> tuple[FloatArray, IntArray, FloatArray] | str:
    """Return vertices, triangles and their colours of a mesh, or what is wrong with it."""
    try:
        import trimesh  # noqa: F401  # makes meshes ready
    except ImportError:
        return f"{mesh.name}: trimesh is not installed: pip install 'contactlab[viz]'"
    try:
        return mesh.load()
    except ContactError as error:
        return error.detail


def _key(mesh: object) -> object:
    """Return what is the same for meshes that look the same."""
    assert isinstance(mesh, VisualMesh)
    return id(mesh) if mesh.triangles is not None else (mesh.name, mesh.path, mesh.scale)


def _color(rgb: FloatArray) -> Color:
    red, green, blue = (int(x) for x in np.round(255.0 * rgb))
    return red, green, blue


def _by_color(
    vertices: FloatArray, triangles: IntArray, colors: FloatArray, share: float
) -> list[tuple[Solid, Color | None]]:
    """Return a mesh as one solid for each of its colours, with this share of its triangles."""
    kinds, which = np.unique(np.nan_to_num(colors, nan=-1.0), axis=0, return_inverse=True)
    solids = []
    for k, rgb in enumerate(kinds):
        mine = triangles[which.reshape(-1) == k]
        solid = _solid(vertices, mine, max(FEWEST, int(share * len(mine))))
        solids.append((solid, None if rgb.min() < 0.0 else _color(rgb)))
    return solids


def _solid(vertices: FloatArray, triangles: IntArray, most: int) -> Solid:
    """Return triangles as a solid of at most about so many, whose vertices are shared where it is round."""
    import trimesh
    from trimesh.graph import connected_component_labels

    mesh = trimesh.Trimesh(vertices, triangles, process=False)
    mesh.merge_vertices(merge_tex=True, merge_norm=True)
    mesh.update_faces(mesh.nondegenerate_faces())
    if len(mesh.faces) > most:
        # Without the library that does it, pages are larger.
        with contextlib.suppress(ImportError):
            mesh = mesh.simplify_quadric_decimation(face_count=most)
    faces = np.array(mesh.faces, dtype=np.int64)
    smooth = np.asarray(mesh.face_adjacency)[np.asarray(mesh.face_adjacency_angles) < CREASE]
    patch = connected_component_labels(smooth, node_count=len(faces))
    # A vertex for each patch that meets there.
    keys, corner = np.unique((patch[:, None] * len(mesh.vertices) + faces).ravel(), return_inverse=True)
    points = np.array(mesh.vertices, dtype=np.float64)[keys % max(len(mesh.vertices), 1)]
    return Solid(points, corner.reshape(-1, 3), np.zeros((0, 2, 3)))
