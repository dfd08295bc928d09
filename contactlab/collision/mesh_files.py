"""Triangle meshes from STL, OBJ and COLLADA files, read by trimesh and pycollada (the extra ``collision``).

A file is read within one folder and within limits of size. Nothing that it refers to is opened.

Convex hulls are cached on disk next to the compiled kernels, under a digest of the file's bytes. An entry consists of
a checksum and numbers, which cannot be executed. A damaged entry is computed again. If the folder is not writable,
hulls are not cached.

COLLADA lengths are scaled by ``<unit meter="...">``. ``<up_axis>`` is ignored, as ROS, coal and pinocchio do.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import io
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from contactlab.collision.shapes.convex_points import MAX_CORNERS, ConvexPoints, Mesh, coarse_hull
from contactlab.multibody.spatial.arrays import (
    ContactError,
    FloatArray,
    IntArray,
    MeshFileError,
    MultibodyError,
    finite_array,
)
from contactlab.multibody.urdf.reading import parse
from problem_data.files import read_bytes

# Increase with every change of the results for a file.
CACHE_VERSION = 1

_DIGEST = 32

_MAX_ENTRY_BYTES = _DIGEST + 24 * MAX_CORNERS


def _cache_entry(data: bytes, kind: str, scale: FloatArray) -> Path | None:
    """Return the entry for a file's bytes, its kind and the factors (3,); None if kernels are not cached either."""
    from lcp.compiler.cache import cache_folder

    kernels = cache_folder()
    digest = hashlib.sha256(f"{CACHE_VERSION} {MAX_CORNERS} {kind} {[x.hex() for x in scale.tolist()]} ".encode())
    digest.update(data)
    return None if kernels is None else Path(kernels) / "hulls" / digest.hexdigest()


def _read_cache(entry: Path) -> FloatArray | None:
    """Return the points (n, 3) of an entry; None if it is missing or damaged."""
    try:
        content = entry.read_bytes() if entry.stat().st_size <= _MAX_ENTRY_BYTES else b""
    except OSError:
        return None
    digest, numbers = content[:_DIGEST], content[_DIGEST:]
    whole = numbers and len(numbers) % 24 == 0 and hashlib.sha256(numbers).digest() == digest
    return np.frombuffer(numbers, dtype="<f8").astype(np.float64).reshape(-1, 3) if whole else None


SUFFIXES = (".stl", ".obj", ".dae")

MAX_BYTES = 256 * 2**20


def load_mesh(
    path: str | os.PathLike[str], *, root: str | os.PathLike[str] | None = None, scale: ArrayLike = (1.0, 1.0, 1.0)
) -> Mesh:
    """Read a triangle mesh from an STL, OBJ or COLLADA file; files that it refers to are not opened.

    Parameters
    ----------
    path
        The file. Several objects in it are joined. For COLLADA (.dae) the unit is applied, ``<up_axis>`` is not, as in
        ROS.
    root
        A folder that must contain the file, with links followed; None for any place.
    scale
        Factors along x, y, z; if their product is negative, the triangles are reversed, so that they face outwards
        again.

    Raises
    ------
    ContactError
        The file does not exist, lies outside the folder, is too large or not a mesh, or trimesh or pycollada is not
        installed.
    """
    vertices, triangles, _ = load_colored_mesh(path, root=root, scale=scale)
    try:
        return Mesh(vertices, triangles)
    except ContactError as error:
        raise MeshFileError("path", f"{Path(path).name}: {error.field} {error.detail}") from error


def load_colored_mesh(
    path: str | os.PathLike[str], *, root: str | os.PathLike[str] | None = None, scale: ArrayLike = (1.0, 1.0, 1.0)
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Read a mesh file for display: vertices (n, 3), triangles (m, 3), their colours (m, 3).

    Red, green and blue are from 0 to 1, and NaN without a colour: only COLLADA files contain their colours.

    Parameters
    ----------
    path, root, scale
        As for `load_mesh`, whose errors it raises.
    """
    real, data, factors = _open_file(path, root, scale)
    vertices, triangles, colors = _parse(real, data)
    if not np.isfinite(vertices).all():
        raise MeshFileError("path", f"{real.name}: has a vertex that is not finite")
    if float(np.prod(factors)) < 0.0:
        triangles = triangles[:, ::-1]
    # Exports often contain triangles that are degenerate to an edge.
    whole = (triangles != np.roll(triangles, 1, axis=1)).all(axis=1)
    return vertices * factors, triangles[whole], colors[whole]


def load_hull(
    path: str | os.PathLike[str], *, root: str | os.PathLike[str] | None = None, scale: ArrayLike = (1.0, 1.0, 1.0)
) -> ConvexPoints:
    """Read the convex hull of a mesh file, or of its 256 farthest corners if there are more.

    Hulls are cached on disk among the compiled kernels, by the contents of the files.

    Parameters
    ----------
    path, root, scale
        As for `load_mesh`, whose errors it raises.
    """
    real, data, factors = _open_file(path, root, scale)
    entry = _cache_entry(data, real.suffix.lower(), factors)
    points = None if entry is None else _read_cache(entry)
    if points is not None:
        return ConvexPoints(points)
    vertices, triangles, _ = _parse(real, data)
    try:
        hull = coarse_hull(finite_array(vertices[np.unique(triangles)] * factors, "points", (None, 3), ContactError))
    except ContactError as error:
        raise MeshFileError("path", f"{real.name}: {error.field} {error.detail}") from error
    if entry is not None:
        numbers = hull.points.astype("<f8").tobytes()
        # An entry that is written in part, or read before its end, has another checksum.
        with contextlib.suppress(OSError):
            entry.parent.mkdir(0o700, exist_ok=True)
            entry.write_bytes(hashlib.sha256(numbers).digest() + numbers)
    return hull


def _open_file(
    path: str | os.PathLike[str], root: str | os.PathLike[str] | None, scale: ArrayLike
) -> tuple[Path, bytes, FloatArray]:
    """Return a file with links followed, its contents, and the factors along x, y, z."""
    factors = finite_array(scale, "scale", (3,), ContactError)
    if not np.all(factors):
        raise ContactError("scale", f"must not have a zero, got {factors.tolist()}")
    real = _inside(Path(path), None if root is None else Path(root))
    return real, read_bytes(real, _unreadable_file, MAX_BYTES), factors


def _inside(path: Path, root: Path | None) -> Path:
    """Return the file with links followed; a `MeshFileError` if it is missing, outside ``root`` or of another kind."""
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        raise MeshFileError("path", f"{path}: cannot be opened ({error})") from error
    if root is not None and not real.is_relative_to(Path(root).resolve()):
        raise MeshFileError("path", f"{path} lies outside {root}")
    if real.suffix.lower() not in SUFFIXES:
        raise MeshFileError("path", f"{path}: files of the kinds {', '.join(SUFFIXES)} are read")
    return real


def _unreadable_file(path: Path, _: str, detail: str) -> MeshFileError:
    """Return the error of a file that `read_bytes` cannot read."""
    return MeshFileError("path", f"{path.name} {detail}")


def _parse(real: Path, data: bytes) -> tuple[FloatArray, IntArray, FloatArray]:
    """Return vertices (n, 3), triangles (m, 3) and their colours (m, 3) of a file's bytes."""
    kind = real.suffix.lower().removeprefix(".")
    try:
        if kind == "dae":
            vertices, triangles, colors = read_collada(data, real.name)
        else:
            # Without a resolver, materials and textures that the file names are not searched for.
            options = {"skip_materials": True} if kind == "obj" else {}
            reader = _extra("trimesh", "trimesh")
            mesh = reader.load(io.BytesIO(data), file_type=kind, force="mesh", process=False, **options)
            vertices, triangles = np.array(mesh.vertices, dtype=np.float64), np.array(mesh.faces, dtype=np.int64)
            colors = np.full((len(triangles), 3), np.nan)
        if len(triangles) == 0:
            raise ValueError("it has no triangle")
        if vertices.shape[1:] != (3,) or triangles.shape[1:] != (3,):
            raise ValueError(f"its vertices and triangles have shapes {vertices.shape}, {triangles.shape}")
        return vertices, triangles, colors
    except ContactError:
        raise
    # some releases of trimesh need a missing module to guess the encoding of text that is not UTF-8
    except (ArithmeticError, AttributeError, ImportError, LookupError, MemoryError, TypeError, ValueError) as error:
        detail = f"{real.name} is no mesh that can be read ({type(error).__name__}: {error})"
        raise MeshFileError("path", detail) from error


def _extra(module: str, name: str) -> Any:
    """Return a module of the extra ``collision``; a `MeshFileError` if it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as cause:
        message = f"these mesh files need {name}, which is not installed: pip install '.[collision]'"
        raise MeshFileError("path", message) from cause


# Limits for a file, and for its scene once instances of nodes are expanded.
MAX_ELEMENTS = 1_000_000

MAX_NODES = 100_000

MAX_TRIANGLES = 10_000_000


# errors that pycollada ignores silently
UNSUPPORTED_TAGS = ("tristrips", "trifans", "instance_controller")


NO_COLOR = np.full(3, np.nan)


def _unsupported(tag: str, *_: object) -> str | None:
    """Return the reason if an element is not read."""
    return f"has <{tag}>, which is not read: export plain triangles, or STL" if tag in UNSUPPORTED_TAGS else None


def read_collada(data: bytes, name: str) -> tuple[FloatArray, IntArray, FloatArray]:
    """Return vertices (n, 3) [m], triangles (m, 3) and their colours (m, 3) of a file's scene.

    Red, green and blue are from 0 to 1, NaN if the file has no colour or a texture. ``name`` is for messages. A
    DOCTYPE, and thus every entity, is refused; files that the file refers to are not opened.
    """
    try:
        parse(data, name, _unsupported, root="COLLADA", most_bytes=len(data), most_elements=MAX_ELEMENTS)
    except MultibodyError as error:
        raise MeshFileError("path", str(error)) from error
    if zipfile.is_zipfile(io.BytesIO(data)):
        raise MeshFileError("path", f"{name} is an archive")
    collada = _extra("collada", "pycollada")
    common = collada.common
    try:
        # Missing materials and images do not matter.
        file = collada.Collada(io.BytesIO(data), ignore=[common.DaeBrokenRefError, common.DaeUnsupportedError])
        for broken in file.errors:
            if "geometry" in str(broken).lower():
                raise broken
        parts = list(_triangles([] if file.scene is None else file.scene.nodes))
        unit = 1.0 if file.assetInfo is None or file.assetInfo.unitmeter is None else float(file.assetInfo.unitmeter)
    except (common.DaeError, SyntaxError, RecursionError) as error:
        raise MeshFileError("path", f"{name} is no COLLADA that can be read ({error})") from error
    if not 0.0 < unit < np.inf:
        raise MeshFileError("path", f"{name}: its unit is {unit} m")
    corners = np.concatenate([np.zeros((0, 3, 3)), *(part for part, _ in parts)])
    colors = np.concatenate([np.zeros((0, 3)), *(np.tile(color, (len(part), 1)) for part, color in parts)])
    return unit * corners.reshape(-1, 3), np.arange(3 * len(corners)).reshape(-1, 3), colors


def _triangles(nodes: Any) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Return the triangles (n, 3, 3) of each primitive in a scene, in its axes, and their colour (3,)."""
    from collada.polylist import Polylist
    from collada.scene import GeometryNode
    from collada.triangleset import TriangleSet

    waiting, visited, total = [(node, np.eye(4)) for node in reversed(list(nodes))], 0, 0
    while waiting:
        node, above = waiting.pop()
        visited += 1
        if visited > MAX_NODES:
            raise MeshFileError("path", f"more than {MAX_NODES} nodes in the scene")
        if isinstance(node, GeometryNode):
            painted = {bound.symbol: _diffuse_color(bound.target) for bound in node.materials}
            for primitive in node.geometry.primitives:
                some = primitive.triangleset() if isinstance(primitive, Polylist) else primitive
                if isinstance(some, TriangleSet) and some.vertex is not None and len(some.vertex_index):
                    total += len(some.vertex_index)
                    if total > MAX_TRIANGLES:
                        raise MeshFileError("path", f"more than {MAX_TRIANGLES} triangles in the scene")
                    corners = np.asarray(some.vertex, dtype=np.float64)[some.vertex_index]
                    yield corners @ above[:3, :3].T + above[:3, 3], painted.get(some.material, NO_COLOR)
        elif getattr(node, "children", None):
            here = above @ np.asarray(node.matrix, dtype=np.float64)
            waiting.extend((child, here) for child in reversed(node.children))


def _diffuse_color(material: Any) -> FloatArray:
    """Return the diffuse colour (3,) of a COLLADA material, each entry from 0 to 1, or `NO_COLOR`."""
    color = getattr(getattr(material, "effect", None), "diffuse", None)
    if not isinstance(color, tuple) or len(color) < 3:
        return NO_COLOR
    return np.clip(np.array(color[:3], dtype=np.float64), 0.0, 1.0)
