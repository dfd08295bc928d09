"""Damage to files by their structure: arrays of archives, trees of JSON, TOML and XML, words of text, bytes of any.

Every function gets a random generator and the bytes of a valid file, and returns other bytes; the same generator gives
the same bytes.
"""

from __future__ import annotations

import io
import json
import struct
import tomllib
import zipfile
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import numpy as np

Rng = np.random.Generator
Damage = Callable[[Rng, bytes], bytes]

NUMBERS: tuple[Any, ...] = (
    0, -1, 1, 2, 3, 7, 1e-300, -0.0, 1e300, -1e300, 5e-324, float("nan"), float("inf"), float("-inf"), 2**31, 2**63,
    -(2**63), 10**40, 0.5, 1e-9, 255, 65536, 20000,
)  # fmt: skip
WORDS = ("", "nan", "inf", "-inf", "1e400", "0x10", "1_000", "\u0661", "\x00", "a" * 5000, "../../etc/passwd", "true",
         "None", "1,2", "-", ".", "1e", "world", "box", "/dev/zero", "&x;", "<", "\ud7ff", "1 2 3", "\n")  # fmt: skip


def pick(rng: Rng, options: Any) -> Any:
    """One of some options."""
    return options[int(rng.integers(len(options)))]


def of_bytes(rng: Rng, data: bytes) -> bytes:
    """Bits, cuts, holes, repetitions, places exchanged."""
    content = bytearray(data)
    size = len(content)
    if not size:
        return bytes(rng.integers(0, 256, 8, dtype=np.uint8))
    at, length = int(rng.integers(size)), 1 + int(rng.integers(min(size, 64)))
    kind = int(rng.integers(8))
    if kind == 0:
        for _ in range(int(rng.integers(1, 9))):
            content[int(rng.integers(size))] ^= 1 << int(rng.integers(8))
    elif kind == 1:
        del content[at:]
    elif kind == 2:
        del content[at : at + length]
    elif kind == 3:
        content[at:at] = content[at : at + length] * int(rng.integers(1, 30))
    elif kind == 4:
        content[at : at + length] = rng.integers(0, 256, length, dtype=np.uint8).tobytes()
    elif kind == 5:
        value = pick(rng, (0, 1, 0xFFFFFFFF, 0x7FFFFFFF, 0x80000000, 0x10000))
        content[at : at + 4] = struct.pack(pick(rng, ("<I", ">I")), value)
    elif kind == 6:
        other = int(rng.integers(size))
        part = bytes(content[other : other + length])
        content[at : at + length] = part
    else:
        content[at : at + 8] = struct.pack("<d", pick(rng, (np.nan, np.inf, -1.0, 1e300, 0.0)))
    return bytes(content)


def of_tree(rng: Rng, value: Any) -> Any:
    """One node of nested dicts and lists: another type, another value, gone, twice, elsewhere, deep."""
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        entries = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, inner in list(entries):
            places.append((node, key))
            walk(inner)

    walk(value)
    if not places:
        return pick(rng, NUMBERS)
    node, key = pick(rng, places)
    kind = int(rng.integers(9))
    if kind == 0:
        del node[key]
    elif kind == 1:
        node[key] = pick(rng, NUMBERS)
    elif kind == 2:
        node[key] = pick(rng, WORDS)
    elif kind == 3:
        node[key] = pick(rng, (None, True, [], {}, [[]], [{}], {"a": 1}, [1.0, "a"]))
    elif kind == 4:
        other, name = pick(rng, places)
        if name in other if isinstance(other, dict) else True:
            try:
                node[key] = json.loads(json.dumps(other[name]))
            except (LookupError, ValueError):
                node[key] = []
    elif kind == 5 and isinstance(node, dict):
        node[pick(rng, WORDS)] = node.pop(key)
    elif kind == 6 and isinstance(node[key], list):
        node[key] = node[key] * int(rng.integers(2, 5))
    elif kind == 7 and isinstance(node[key], int | float) and not isinstance(node[key], bool):
        node[key] = node[key] * pick(rng, (-1, 0, 1e12, 1e-12, 1e200)) if abs(node[key]) < 1e100 else 0
    else:
        deep: Any = node[key]
        for _ in range(int(rng.integers(1, 200))):
            deep = [deep]
        node[key] = deep
    return value


def of_json(rng: Rng, data: bytes) -> bytes:
    """A node of the document."""
    return json.dumps(of_tree(rng, json.loads(data))).encode()


def of_toml(rng: Rng, data: bytes) -> bytes:
    """A node of the document, which is written anew."""
    tree = of_tree(rng, tomllib.loads(data.decode()))
    if not isinstance(tree, dict):
        return b"a"
    return "".join(f"{_key(name)} = {_toml(value)}\n" for name, value in tree.items()).encode("utf-8", "replace")


def _key(name: str) -> str:
    return json.dumps(name)


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(name)} = {_toml(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, bool) or value is None:
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value)
    return repr(value)


def of_xml(rng: Rng, data: bytes) -> bytes:
    """Elements and attributes: gone, twice, renamed, nested, with other values; and what reaches outside."""
    root = ElementTree.fromstring(data)
    ElementTree.register_namespace("", root.tag.partition("}")[0].removeprefix("{") if "}" in root.tag else "x")
    elements = list(root.iter())
    parents = {child: parent for parent in elements for child in parent}
    one = pick(rng, elements)
    kind = int(rng.integers(10))
    if kind <= 3 and one.attrib:
        name = pick(rng, sorted(one.attrib))
        if kind == 0:
            del one.attrib[name]
        elif kind == 1:
            one.attrib[name] = str(pick(rng, NUMBERS)) if rng.random() < 0.5 else pick(rng, WORDS)
        elif kind == 2:
            words = one.attrib[name].split()
            if words:
                words[int(rng.integers(len(words)))] = str(pick(rng, NUMBERS))
            one.attrib[name] = " ".join(words * int(rng.integers(1, 3)))
        else:
            other = pick(rng, elements)
            one.attrib[name] = pick(rng, sorted(other.attrib.values()) or ["x"])
    elif kind == 4 and one in parents:
        parents[one].remove(one)
    elif kind == 5 and one in parents:
        parents[one].append(one)
    elif kind == 6:
        one.tag = pick(rng, elements).tag
    elif kind == 7:
        pick(rng, elements).append(ElementTree.fromstring(ElementTree.tostring(one)))
    elif kind == 8:
        one.text = pick(rng, WORDS) if rng.random() < 0.5 else str(pick(rng, NUMBERS))
    else:
        text = ElementTree.tostring(root)
        entity = b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd"><!ENTITY y "&x;&x;">]>'
        return pick(rng, (entity + text, b"\xff\xfe" + text, text + text, b"<a>" * 300 + text))
    # Characters that XML cannot contain remain: the parser must report them.
    return ElementTree.tostring(root, encoding="unicode").encode("utf-8", "replace")


def of_words(rng: Rng, data: bytes) -> bytes:
    """A word or a line of a text: another, gone, twice, exchanged."""
    lines = data.decode("utf-8", "replace").split("\n")
    i = int(rng.integers(len(lines)))
    kind = int(rng.integers(7))
    cells = lines[i].replace(",", " , ").split(" ")
    j = int(rng.integers(len(cells)))
    if kind == 0:
        cells[j] = str(pick(rng, NUMBERS))
    elif kind == 1:
        cells[j] = pick(rng, WORDS)
    elif kind == 2:
        del cells[j]
    elif kind == 3:
        cells[j:j] = cells[j : j + 3]
    lines[i] = " ".join(cells).replace(" , ", ",")
    if kind == 4:
        del lines[i]
    elif kind == 5:
        lines[i:i] = lines[i : i + 4] * int(rng.integers(1, 20))
    elif kind == 6:
        k = int(rng.integers(len(lines)))
        lines[i], lines[k] = lines[k], lines[i]
    return "\n".join(lines).encode("utf-8", "replace")


def of_array(rng: Rng, array: Any) -> Any:
    """An array of another type, shape, order or with other values."""
    array = np.array(array)
    kind = int(rng.integers(12))
    if kind == 0:
        return array.astype(pick(rng, ("f4", "i4", "i8", "u1", "c16", "?", "U5", "S3", "f2", ">f8", "M8[s]")))
    if kind == 1:
        return array.reshape(-1)
    if kind == 2:
        return array[None]
    if kind == 3:
        return np.asfortranarray(array.T)
    if kind == 4:
        return array[: int(rng.integers(0, 3))] if array.ndim else np.zeros(0)
    if kind == 5:
        return np.concatenate([array, array]) if array.ndim else np.array([array, array])
    if kind == 6:
        return np.zeros(pick(rng, ((), (0,), (0, 3), (1, 1, 1), (3,), (2, 2))))
    if kind == 7:
        return np.array(pick(rng, WORDS))
    if array.size and array.dtype.kind in "fiub":
        flat = array.reshape(-1)
        at = int(rng.integers(flat.size))
        with np.errstate(all="ignore"):
            if kind in (8, 9) or array.dtype.kind != "f":
                value = pick(rng, NUMBERS)
                if array.dtype.kind == "f":
                    flat[at] = float(value) if abs(value) < 1e308 or value != value else np.inf
                elif array.dtype.kind != "b":
                    limits = np.iinfo(array.dtype)
                    flat[at] = int(np.clip(np.nan_to_num(float(value)), limits.min / 2, limits.max / 2))
            else:
                flat[at] *= pick(rng, (-1.0, 1.0 + 1e-12, 1e6, 1e-6))
    return array


def of_npz(rng: Rng, data: bytes) -> bytes:
    """An array of the archive, or the archive: members gone, added, renamed, twice, of lying sizes, or a bomb."""
    with np.load(io.BytesIO(data)) as archive:
        arrays: dict[str, Any] = {name: archive[name] for name in archive.files}
    name = pick(rng, sorted(arrays)) if arrays else "a"
    kind = int(rng.integers(12))
    if kind <= 5:
        arrays[name] = of_array(rng, arrays.get(name, 0))
    elif kind == 6:
        arrays.pop(name, None)
    elif kind == 7:
        arrays[pick(rng, ("a", "meta", "M", "../x", "x" * 300))] = arrays.pop(name, np.zeros(1))
    elif kind == 8:
        arrays[pick(rng, ("extra", "n", "lo", "format"))] = of_array(rng, arrays.get(name, 0))
    elif kind == 9:
        return _rewritten(rng, data, name)
    elif kind == 10:
        # More than any program should unpack.
        arrays[name] = np.zeros(int(rng.integers(1, 40)) << 16)
    else:
        other = pick(rng, sorted(arrays))
        arrays[name] = arrays[other]
    buffer = io.BytesIO()
    (np.savez_compressed if rng.random() < 0.5 or kind == 10 else np.savez)(buffer, **arrays)
    return buffer.getvalue()


def _rewritten(rng: Rng, data: bytes, name: str) -> bytes:
    """Rewrite the archive with one member's bytes damaged and a right checksum; or twice; or packed otherwise."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w") as new:
        for info in old.infolist():
            content = old.read(info)
            if info.filename == f"{name}.npy":
                content = pick(rng, (of_bytes, _header))(rng, content)
            new.writestr(info.filename, content, pick(rng, (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)))
            if rng.random() < 0.02:
                new.writestr(pick(rng, ("x.txt", "y.npy", "z/")), content, zipfile.ZIP_BZIP2)
    return buffer.getvalue()


def _header(rng: Rng, content: bytes) -> bytes:
    """Put another array header before the same numbers."""
    shape = pick(rng, ("(2**62,)", "(-1,)", "(1,)", "()", "(1, 2", "[3]", "(10**12,)", "(3,)*40", "(True,)"))
    descr = pick(rng, ("'<f8'", "'|O'", "[('a', '<f8')]", "'<U9'", "'<f99'", "lambda: 0", "'V0'"))
    order = pick(rng, ("True", "False", "1"))
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + content[128:]


def of_hdf5(rng: Rng, data: bytes) -> bytes:
    """A data set of the file: another array, gone, a group, a link."""
    import h5py

    buffer = io.BytesIO(data)
    with h5py.File(buffer, "r+") as file:
        names: list[str] = []
        file.visit(names.append)
        name = pick(rng, names)
        kind = int(rng.integers(6))
        old = file[name]
        if kind <= 3 and isinstance(old, h5py.Dataset) and old.dtype.kind in "fiu":
            array = of_array(rng, old[()])
            del file[name]
            if array.dtype.kind in "fiuc":
                file[name] = array
            else:
                file[name] = "text"
        elif kind == 4:
            del file[name]
            if rng.random() < 0.5:
                file.create_group(name)
        else:
            file[name + "_"] = old if isinstance(old, h5py.Dataset) else "text"
            del file[name]
            file[name] = pick(rng, (h5py.SoftLink("/fclib_local"), h5py.ExternalLink("/etc/passwd", "/")))
    return buffer.getvalue()


def damaged(rng: Rng, data: bytes, structure: Damage) -> bytes:
    """Apply one to three of these; damage bytes if the structure of a file is gone."""
    for _ in range(int(pick(rng, (1, 1, 1, 2, 3)))):
        if rng.random() < 0.25:
            data = of_bytes(rng, data)
            continue
        try:
            data = structure(rng, data)
        except Exception:  # noqa: BLE001  the structure is gone
            data = of_bytes(rng, data)
    return data
