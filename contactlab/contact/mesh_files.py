"""Meshes from files: STL and OBJ, by trimesh (the extra ``collision``), within one folder and within limits."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from contactlab.contact.errors import ContactError
from contactlab.contact.shapes.mesh import Mesh
from contactlab.spatial.arrays import finite_array

SUFFIXES = (".stl", ".obj")
MOST_BYTES = 256 * 2**20


def load_mesh(
    path: str | os.PathLike[str], *, root: str | os.PathLike[str] | None = None, scale: ArrayLike = (1.0, 1.0, 1.0)
) -> Mesh:
    """Read a triangle mesh from an STL or OBJ file; nothing else is opened, whatever the file refers to.

    Parameters
    ----------
    path
        The file. Several objects in it are taken together.
    root
        A folder it must lie in, links followed; None for any place.
    scale
        Factors along x, y, z; a product below zero turns the triangles round, so that they look outwards again.

    Raises
    ------
    ContactError
        A file that is not there, lies outside, is too large or no mesh; trimesh is not installed.
    """
    factors = finite_array(scale, "scale", (3,), ContactError)
    if not np.all(factors):
        raise ContactError("scale", f"must not have a zero, got {factors.tolist()}")
    real = _inside(Path(path), None if root is None else Path(root))
    mesh = _read(real)
    vertices = np.array(mesh.vertices, dtype=np.float64) * factors
    triangles = np.array(mesh.faces, dtype=np.int64)
    if float(np.prod(factors)) < 0.0:
        triangles = triangles[:, ::-1]
    try:
        return Mesh(vertices, triangles)
    except ContactError as error:
        raise ContactError("path", f"{real.name}: {error.field} {error.detail}") from error


def _inside(path: Path, root: Path | None) -> Path:
    """Return the file with links followed, or raise what is wrong with it."""
    try:
        real = path.resolve(strict=True)
        size = real.stat().st_size if real.is_file() else -1
    except (OSError, RuntimeError, ValueError) as error:
        raise ContactError("path", f"{path}: cannot be opened ({error})") from error
    if root is not None and not real.is_relative_to(root.resolve()):
        raise ContactError("path", f"{path} lies outside {root}")
    if size < 0:
        raise ContactError("path", f"{path} is not a file")
    if real.suffix.lower() not in SUFFIXES:
        raise ContactError("path", f"{path}: files of the kinds {', '.join(SUFFIXES)} are read")
    if size > MOST_BYTES:
        raise ContactError("path", f"{path} has {size} bytes, at most {MOST_BYTES} are read")
    return real


def _read(real: Path) -> Any:
    try:
        import trimesh
    except ImportError as cause:
        message = "mesh files need trimesh, which is not installed: pip install 'contactlab[collision]'"
        raise ContactError("path", message) from cause
    # Bytes without a resolver: materials and textures that the file names are not looked for.
    data = io.BytesIO(real.read_bytes())
    kind = real.suffix.lower().removeprefix(".")
    options = {"skip_materials": True} if kind == "obj" else {}
    try:
        mesh = trimesh.load(data, file_type=kind, force="mesh", process=False, **options)
        if len(mesh.faces) == 0:
            raise ValueError("it has no triangle")
    except (ValueError, TypeError, IndexError, KeyError, AttributeError, UnicodeError, MemoryError) as error:
        detail = f"{real.name} is no mesh that can be read ({type(error).__name__}: {error})"
        raise ContactError("path", detail) from error
    return mesh
