"""COLLADA files (.dae) by pycollada: triangles alone, of bytes that were looked through before.

Lengths are scaled by the file's ``<unit meter="...">``; its ``<up_axis>`` is not heeded: as coal (hence pinocchio) and
ROS have it, coordinates stand as they are written.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from contactlab.contact.errors import ContactError
from contactlab.multibody.errors import MultibodyError
from contactlab.multibody.urdf.guarded_xml import Guard
from contactlab.spatial.arrays import FloatArray, IntArray

# Of a file, and of its scene once nodes that stand for others are followed.
MOST_ELEMENTS = 1_000_000
MOST_NODES = 100_000
MOST_TRIANGLES = 10_000_000


def read_collada(data: bytes, name: str) -> tuple[FloatArray, IntArray]:
    """Return vertices (n, 3) [m] and triangles (m, 3) of a file's scene; ``name`` is for messages.

    A DOCTYPE, and with it every entity, is refused; nothing that the file refers to is opened.
    """
    try:
        import collada
    except ImportError as cause:
        message = "COLLADA files need pycollada, which is not installed: pip install 'contactlab[collision]'"
        raise ContactError("path", message) from cause
    try:
        Guard(name, "COLLADA", most_bytes=len(data), most_elements=MOST_ELEMENTS).read(data)
    except MultibodyError as error:
        raise ContactError("path", str(error)) from error
    if zipfile.is_zipfile(io.BytesIO(data)):
        raise ContactError("path", f"{name} is an archive")
    # Materials, images and cameras that cannot be used do not matter.
    file = collada.Collada(io.BytesIO(data), ignore=[collada.DaeError])
    if file.scene is None:
        raise ValueError("it has no scene")
    pieces, total = [np.zeros((0, 3, 3))], 0
    for corners in _triangles(file.scene.nodes):
        total += len(corners)
        if total > MOST_TRIANGLES:
            raise ContactError("path", f"{name} has more than {MOST_TRIANGLES} triangles")
        pieces.append(corners)
    unit = 1.0 if file.assetInfo is None or file.assetInfo.unitmeter is None else float(file.assetInfo.unitmeter)
    if not 0.0 < unit < np.inf:
        raise ContactError("path", f"{name}: a unit of {unit} m")
    vertices = unit * np.concatenate(pieces).reshape(-1, 3)
    return vertices, np.arange(len(vertices)).reshape(-1, 3)


def _triangles(nodes: Any) -> Iterator[FloatArray]:
    """The triangles (n, 3, 3) of each primitive in a scene, in its axes."""
    from collada.polylist import Polylist
    from collada.scene import GeometryNode
    from collada.triangleset import TriangleSet

    waiting, visited = [(node, np.eye(4)) for node in reversed(list(nodes))], 0
    while waiting:
        node, above = waiting.pop()
        visited += 1
        if visited > MOST_NODES:
            raise ContactError("path", f"more than {MOST_NODES} nodes in the scene")
        if isinstance(node, GeometryNode):
            for primitive in node.geometry.primitives:
                some = primitive.triangleset() if isinstance(primitive, Polylist) else primitive
                if isinstance(some, TriangleSet) and some.vertex is not None and len(some.vertex_index):
                    corners = np.asarray(some.vertex, dtype=np.float64)[some.vertex_index]
                    yield corners @ above[:3, :3].T + above[:3, 3]
        elif getattr(node, "children", None):
            here = above @ np.asarray(node.matrix, dtype=np.float64)
            waiting.extend((child, here) for child in reversed(node.children))
