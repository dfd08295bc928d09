"""COLLADA files (.dae) by pycollada: triangles and their colours, of bytes that were looked through before.

Lengths are scaled by the file's ``<unit meter="...">``; its ``<up_axis>`` is not heeded: as ROS has it (coal, and so
pinocchio, heeds neither), coordinates stand as they are written.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from contactlab.contact.errors import MeshFileError
from contactlab.multibody.errors import MultibodyError
from contactlab.multibody.urdf.guarded_xml import Guard
from contactlab.spatial.arrays import FloatArray, IntArray

# Of a file, and of its scene once nodes that stand for others are followed.
MOST_ELEMENTS = 1_000_000
MOST_NODES = 100_000
MOST_TRIANGLES = 10_000_000


# What pycollada passes over without a word.
NOT_READ = ("tristrips", "trifans", "instance_controller")


NO_COLOR = np.full(3, np.nan)


class _Guard(Guard):
    def on_start(self, tag: str, attributes: dict[str, str], depth: int) -> None:
        if tag in NOT_READ:
            raise self.refuse(f"has <{tag}>, which is not read: export plain triangles, or STL")


def read_collada(data: bytes, name: str) -> tuple[FloatArray, IntArray, FloatArray]:
    """Return vertices (n, 3) [m], triangles (m, 3) and their colours (m, 3) of a file's scene.

    Red, green and blue are from 0 to 1, not a number where the file has none, or a picture. ``name`` is for messages. A
    DOCTYPE, and with it every entity, is refused; nothing that the file refers to is opened.
    """
    try:
        _Guard(name, "COLLADA", most_bytes=len(data), most_elements=MOST_ELEMENTS).read(data)
    except MultibodyError as error:
        raise MeshFileError("path", str(error)) from error
    if zipfile.is_zipfile(io.BytesIO(data)):
        raise MeshFileError("path", f"{name} is an archive")
    try:
        import collada
        from collada import common
    except ImportError as cause:
        message = "COLLADA files need pycollada, which is not installed: pip install '.[collision]'"
        raise MeshFileError("path", message) from cause
    try:
        # Materials and images that are not there do not matter.
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
    """The triangles (n, 3, 3) of each primitive in a scene, in its axes, and their colour (3,)."""
    from collada.polylist import Polylist
    from collada.scene import GeometryNode
    from collada.triangleset import TriangleSet

    waiting, visited, total = [(node, np.eye(4)) for node in reversed(list(nodes))], 0, 0
    while waiting:
        node, above = waiting.pop()
        visited += 1
        if visited > MOST_NODES:
            raise MeshFileError("path", f"more than {MOST_NODES} nodes in the scene")
        if isinstance(node, GeometryNode):
            painted = {bound.symbol: _diffuse(bound.target) for bound in node.materials}
            for primitive in node.geometry.primitives:
                some = primitive.triangleset() if isinstance(primitive, Polylist) else primitive
                if isinstance(some, TriangleSet) and some.vertex is not None and len(some.vertex_index):
                    total += len(some.vertex_index)
                    if total > MOST_TRIANGLES:
                        raise MeshFileError("path", f"more than {MOST_TRIANGLES} triangles in the scene")
                    corners = np.asarray(some.vertex, dtype=np.float64)[some.vertex_index]
                    yield corners @ above[:3, :3].T + above[:3, 3], painted.get(some.material, NO_COLOR)
        elif getattr(node, "children", None):
            here = above @ np.asarray(node.matrix, dtype=np.float64)
            waiting.extend((child, here) for child in reversed(node.children))


def _diffuse(material: Any) -> FloatArray:
    color = getattr(getattr(material, "effect", None), "diffuse", None)
    if not isinstance(color, tuple) or len(color) < 3:
        return NO_COLOR
    return np.clip(np.array(color[:3], dtype=np.float64), 0.0, 1.0)
