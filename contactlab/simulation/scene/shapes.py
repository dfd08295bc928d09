"""Shapes of a scene file: what they are called there, and their keys, which are the fields of their classes."""

from __future__ import annotations

import dataclasses
import inspect
import re
from typing import Any

from contactlab.contact import ConvexPoints, Mesh, Shape
from contactlab.contact.shapes import ALL_SHAPES
from contactlab.simulation.scene.table import Table, suggestion

MOST_POINTS = 1000
MOST_ROWS = 500

#: The shapes of a scene by their names: those of their classes in small letters, but for `ConvexPoints`. Meshes come
#: from files of their own, which a scene does not read.
SHAPES: dict[str, type[Shape]] = {
    "points" if cls is ConvexPoints else re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower(): cls
    for cls in ALL_SHAPES
    if cls is not Mesh
}

#: Fields with a key of another name.
KEYS = {"spacing": "grid"}


def _keys(kind: str) -> dict[str, dataclasses.Field[Any]]:
    """The fields of a kind of shape by their keys."""
    fields: Any = dataclasses.fields
    return {KEYS.get(field.name, field.name): field for field in fields(SHAPES[kind])}


# A box may have whole sides.
SHAPE_KEYS = ("shape", *dict.fromkeys(key for kind in SHAPES for key in _keys(kind)), "size")


def parse_shape(table: Table) -> Shape:
    """Return the shape a table speaks of; keys of another kind of shape are refused."""
    kind = table.text("shape")
    if kind not in SHAPES:
        raise table.error("shape", f"unknown shape '{kind}'{suggestion(kind, SHAPES)}")
    keys = _keys(kind)
    for key in SHAPE_KEYS[1:]:
        if key in table and key not in keys and (kind, key) != ("box", "size"):
            raise table.error(key, f"does not belong to a {kind}")
    if kind == "box" and table.one_of("half_extents", "size") == "size":
        numbers: dict[str, Any] = {"half_extents": tuple(0.5 * value for value in table.vector("size", 3))}
        keys = {}
    else:
        numbers = {}
    for i, (key, field) in enumerate(keys.items()):
        default = inspect.signature(SHAPES[kind]).parameters[field.name].default
        # A shape of no numbers at all is none: the first is always asked for.
        known = None if i == 0 or default is inspect.Parameter.empty else default
        numbers[field.name] = _read(table, key, str(field.type), known)
    with table.blame():
        return SHAPES[kind](**numbers)


def _read(table: Table, key: str, of: str, default: Any) -> Any:
    """Return what stands under a key, read as the type of a field."""
    if of == "float":
        return table.number(key, default)
    if of == "Points":
        return table.vectors(key, 3, MOST_POINTS)
    if of == "Grid":
        columns = len(table.vectors(key, None, MOST_ROWS)[0])
        return table.vectors(key, columns, MOST_ROWS)
    return table.vector(key, 3 if of == "Vector" else 2, default)
