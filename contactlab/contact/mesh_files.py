"""Meshes from files: STL, OBJ and COLLADA, by the extra ``collision``, within one folder and within limits.

Hulls are kept on disk among the compiled kernels, by what the files contain. An entry is a checksum and numbers,
nothing that could run; the folder of the kernels is this user's alone to write. Whatever is wrong with an entry, it is
computed again; where nothing can be written, nothing is kept.
"""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from contactlab.contact.errors import ContactError, MeshFileError
from contactlab.contact.shapes.convex_points import CORNERS, ConvexPoints, coarse_hull
from contactlab.contact.shapes.mesh import Mesh
from contactlab.spatial.arrays import FloatArray, IntArray, finite_array
from problem_data.files import read_bytes

# To be raised with every change of what is computed of a file.
VERSION = 1
_DIGEST = 32
_MOST = _DIGEST + 24 * CORNERS


def _key_of(data: bytes, kind: str, scale: FloatArray) -> str:
    """Return the name of the entry for a file's bytes, its kind and the factors (3,)."""
    digest = hashlib.sha256(f"{VERSION} {CORNERS} {kind} {[x.hex() for x in scale.tolist()]} ".encode())
    digest.update(data)
    return digest.hexdigest()


def _cached(key: str) -> FloatArray | None:
    """Return the points (n, 3) under a key; None where there are none, or they are damaged."""
    folder = _folder()
    try:
        if folder is None or (folder / key).stat().st_size > _MOST:
            return None
        entry = (folder / key).read_bytes()
    except OSError:
        return None
    digest, numbers = entry[:_DIGEST], entry[_DIGEST:]
    if not numbers or len(numbers) % 24 or hashlib.sha256(numbers).digest() != digest:
        return None
    points = np.frombuffer(numbers, dtype="<f8").astype(np.float64).reshape(-1, 3)
    return points if np.all(np.isfinite(points)) else None


def _keep(key: str, points: FloatArray) -> None:
    """Keep points (n, 3) under a key, if the disk lets us."""
    folder = _folder()
    if folder is None:
        return
    numbers = points.astype("<f8").tobytes()
    try:
        folder.mkdir(0o700, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder)
        try:
            with open(handle, "wb") as file:
                file.write(hashlib.sha256(numbers).digest() + numbers)
            os.replace(name, folder / key)
        except OSError:
            os.unlink(name)
    except OSError:
        return


def _folder() -> Path | None:
    from lcp.compiler.cache import cache_folder

    kernels = cache_folder()
    return None if kernels is None else Path(kernels) / "hulls"


SUFFIXES = (".stl", ".obj", ".dae")
MOST_BYTES = 256 * 2**20


def load_mesh(
    path: str | os.PathLike[str], *, root: str | os.PathLike[str] | None = None, scale: ArrayLike = (1.0, 1.0, 1.0)
) -> Mesh:
    """Read a triangle mesh from an STL, OBJ or COLLADA file; nothing else is opened, whatever the file refers to.

    Parameters
    ----------
    path
        The file. Several objects in it are taken together. Of COLLADA (.dae) the unit is applied, ``<up_axis>`` is not,
        as ROS has it.
    root
        A folder it must lie in, links followed; None for any place.
    scale
        Factors along x, y, z; a product below zero turns the triangles round, so that they look outwards again.

    Raises
    ------
    ContactError
        A file that is not there, lies outside, is too large or no mesh; trimesh or pycollada is not installed.
    """
    vertices, triangles, _ = load_painted(path, root=root, scale=scale)
    try:
        return Mesh(vertices, triangles)
    except ContactError as error:
        raise MeshFileError("path", f"{Path(path).name}: {error.field} {error.detail}") from error


def load_painted(
    path: str | os.PathLike[str], *, root: str | os.PathLike[str] | None = None, scale: ArrayLike = (1.0, 1.0, 1.0)
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Read a mesh file to be looked at: vertices (n, 3), triangles (m, 3), their colours (m, 3).

    Red, green and blue are from 0 to 1, and not a number where there is none: COLLADA alone holds its colours itself.

    Parameters
    ----------
    path, root, scale
        As for `load_mesh`, whose errors it raises.
    """
    real, data, factors = _given(path, root, scale)
    vertices, triangles, colors = _read(real, data)
    if not np.isfinite(vertices).all():
        raise MeshFileError("path", f"{real.name}: has a vertex that is not finite")
    if float(np.prod(factors)) < 0.0:
        triangles = triangles[:, ::-1]
    # Exports often hold triangles that have shrunk to an edge.
    whole = (triangles != np.roll(triangles, 1, axis=1)).all(axis=1)
    return vertices * factors, triangles[whole], colors[whole]


def load_hull(
    path: str | os.PathLike[str], *, root: str | os.PathLike[str] | None = None, scale: ArrayLike = (1.0, 1.0, 1.0)
) -> ConvexPoints:
    """Read the convex hull of a mesh file, of its 256 farthest corners where there are more.

    Hulls are kept on disk among the compiled kernels, by what the files contain, and found there the next time.

    Parameters
    ----------
    path, root, scale
        As for `load_mesh`, whose errors it raises.
    """
    real, data, factors = _given(path, root, scale)
    key = _key_of(data, real.suffix.lower(), factors)
    points = _cached(key)
    if points is not None:
        return ConvexPoints(points)
    vertices, triangles, _ = _read(real, data)
    try:
        hull = coarse_hull(finite_array(vertices[np.unique(triangles)] * factors, "points", (None, 3), ContactError))
    except ContactError as error:
        raise MeshFileError("path", f"{real.name}: {error.field} {error.detail}") from error
    _keep(key, hull.points)
    return hull


def _given(
    path: str | os.PathLike[str], root: str | os.PathLike[str] | None, scale: ArrayLike
) -> tuple[Path, bytes, FloatArray]:
    """Return a file with links followed, what it holds, and the factors along x, y, z."""
    factors = finite_array(scale, "scale", (3,), ContactError)
    if not np.all(factors):
        raise ContactError("scale", f"must not have a zero, got {factors.tolist()}")
    real = _inside(Path(path), None if root is None else Path(root))
    return real, read_bytes(real, _refused, MOST_BYTES), factors


def _inside(path: Path, root: Path | None) -> Path:
    """Return the file with links followed, or raise what is wrong with it."""
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        raise MeshFileError("path", f"{path}: cannot be opened ({error})") from error
    if root is not None and not real.is_relative_to(root.resolve()):
        raise MeshFileError("path", f"{path} lies outside {root}")
    if real.suffix.lower() not in SUFFIXES:
        raise MeshFileError("path", f"{path}: files of the kinds {', '.join(SUFFIXES)} are read")
    return real


def _refused(path: Path, _: str, detail: str) -> MeshFileError:
    return MeshFileError("path", f"{path.name} {detail}")


def _read(real: Path, data: bytes) -> tuple[FloatArray, IntArray, FloatArray]:
    """Return vertices (n, 3), triangles (m, 3) and their colours (m, 3) of a file's bytes."""
    kind = real.suffix.lower().removeprefix(".")
    try:
        if kind == "dae":
            from contactlab.contact.collada import read_collada

            vertices, triangles, colors = read_collada(data, real.name)
        else:
            mesh = _trimesh(data, kind)
            vertices, triangles = np.array(mesh.vertices, dtype=np.float64), np.array(mesh.faces, dtype=np.int64)
            colors = np.full((len(triangles), 3), np.nan)
        if len(triangles) == 0:
            raise ValueError("it has no triangle")
        if vertices.shape[1:] != (3,) or triangles.shape[1:] != (3,):
            raise ValueError(f"its vertices and triangles have shapes {vertices.shape}, {triangles.shape}")
        return vertices, triangles, colors
    except ContactError:
        raise
    # Some releases of trimesh ask a module that they do not bring along for the encoding of what is no UTF-8.
    except (ArithmeticError, AttributeError, ImportError, LookupError, MemoryError, TypeError, ValueError) as error:
        detail = f"{real.name} is no mesh that can be read ({type(error).__name__}: {error})"
        raise MeshFileError("path", detail) from error


def _trimesh(data: bytes, kind: str) -> Any:
    try:
        import trimesh
    except ImportError as cause:
        message = "mesh files need trimesh, which is not installed: pip install '.[collision]'"
        raise MeshFileError("path", message) from cause
    # Bytes without a resolver: materials and textures that the file names are not looked for.
    options = {"skip_materials": True} if kind == "obj" else {}
    return trimesh.load(io.BytesIO(data), file_type=kind, force="mesh", process=False, **options)
