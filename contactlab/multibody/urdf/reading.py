"""Robot descriptions read from untrusted XML: elements with their line numbers, and numbers in their attributes.

Parsing is limited in size and depth. References to anything outside the text are errors with their line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from xml.parsers import expat

import numpy as np

from contactlab.multibody.spatial import quaternion
from contactlab.multibody.spatial.arrays import FloatArray, MultibodyError, warn_caller
from contactlab.multibody.spatial.transform import Transform
from problem_data.files import read_bytes
from problem_data.validation import FileError


class UrdfError(MultibodyError, FileError):
    """A robot description that cannot be used.

    Attributes
    ----------
    field
        Name of the element at fault, such as ``joint 'elbow' <axis>``.
    detail
        The error in it.
    line
        First line of the element in the file; 0 if the error concerns no line.
    source
        The file, or "text" for a description given as text.
    """

    def __init__(self, field: str, detail: str, *, line: int = 0, source: str = "text") -> None:
        super().__init__(field, detail)
        self.line = line
        self.source = source

    def __str__(self) -> str:
        place = f"{self.source}, line {self.line}" if self.line else self.source
        return f"{place}: {self.field}: {self.detail}"


class UrdfWarning(UserWarning):
    """Warning about an accepted robot description with physically impossible data or unusable mesh files."""


def warn_of(text: str) -> None:
    """Give an `UrdfWarning`, attributed to the caller of the library."""
    warn_caller(text, UrdfWarning)


# The largest robots in use take a quarter of a megabyte, three thousand elements and a depth of eight.
MAX_BYTES = 16 * 2**20

MAX_ELEMENTS = 100_000

MAX_DEPTH = 64

# expat knows these itself; any other would be looked up by name among the interpreter's codecs.
ENCODINGS = ("utf-8", "utf-16", "us-ascii", "iso-8859-1")


def quoted(text: str) -> str:
    """Return ``text`` quoted for a message, shortened."""
    return repr(text) if len(text) <= 60 else f"{text[:60]!r}..."


#: Handles an element by its tag, attributes, depth (0 for the root) and line; returns the reason if it is refused.
OnStart = Callable[[str, dict[str, str], int, int], str | None]


def parse(
    data: bytes,
    source: str,
    on_start: OnStart,
    *,
    root: str | None = None,
    encoding: str | None = None,
    skipped: int = 0,
    most_bytes: int = MAX_BYTES,
    most_elements: int = MAX_ELEMENTS,
    most_depth: int = MAX_DEPTH,
) -> None:
    """Parse a text whose root element has the tag ``root``, and call ``on_start`` for each element in order.

    ``skipped`` is the number of lines before the text. Raise `UrdfError` with the line and the reason of a fault.
    """
    parser, elements, depth = expat.ParserCreate(encoding), 0, 0

    def refused(detail: str) -> UrdfError:
        return UrdfError("XML", detail, line=parser.CurrentLineNumber + skipped, source=source)

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal elements, depth
        elements += 1
        if elements > most_elements:
            raise refused(f"has more than {most_elements} elements")
        if depth >= most_depth:
            raise refused(f"is nested more than {most_depth} deep")
        if depth == 0 and root is not None and tag != root:
            hint = "; MuJoCo's files are read by load_mjcf and WorldBuilder.add_mjcf" if tag == "mujoco" else ""
            raise refused(f"begins with <{tag[:60]}>, must be <{root}>{hint}")
        fault = on_start(tag, attributes, depth, parser.CurrentLineNumber + skipped)
        if fault is not None:
            raise refused(fault)
        depth += 1

    def end(_tag: str) -> None:
        nonlocal depth
        depth -= 1

    def declare(_version: str, declared: str | None, _standalone: int) -> None:
        if encoding is None and declared is not None and declared.lower() not in ENCODINGS:
            raise refused(f"declares the encoding {quoted(declared)}; it must be one of {', '.join(ENCODINGS)}")

    def refuse_doctype(*_: object) -> None:
        # Entities, and through them expansion bombs and reads of other files, can be declared in a DOCTYPE alone.
        raise refused("has a DOCTYPE, which is refused: entities could expand without end or read other files")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.XmlDeclHandler, parser.StartDoctypeDeclHandler = declare, refuse_doctype
    if len(data) > most_bytes:
        raise UrdfError("XML", f"is larger than {most_bytes // 2**20} MiB", source=source)
    try:
        parser.Parse(data, True)
    except expat.ExpatError as cause:
        detail = f"is not well formed: {expat.ErrorString(cause.code)}"
        raise UrdfError("XML", detail, line=cause.lineno + skipped, source=source) from cause


MAX_NAME = 1000

# All other elements (transmissions, simulator settings) are skipped and not kept.
KEPT = ("link", "joint", "material")

_BLANK = "\ufeff \t\r\n"


@dataclass(frozen=True, eq=False)
class Element:
    """One element."""

    #: tag, attributes: As written.
    tag: str
    attributes: dict[str, str]
    line: int  # first line in the file
    source: str  # the file, for messages
    where: str  # its name in messages: the link or joint it is or belongs to, and its own tag
    children: list[Element] = field(default_factory=list)  # in the order of the file

    def error(self, detail: str) -> UrdfError:
        """Return an error about this element, with its line."""
        return UrdfError(self.where, detail, line=self.line, source=self.source)

    def all(self, tag: str) -> list[Element]:
        """Return its children with one tag."""
        return [child for child in self.children if child.tag == tag]

    def only(self, tag: str) -> Element | None:
        """Return its only child with a tag, or None; raise if there are two."""
        children = self.all(tag)
        if len(children) > 1:
            raise children[1].error(f"is there twice, first in line {children[0].line}")
        return children[0] if children else None

    def need(self, tag: str) -> Element:
        """Return its one child of a tag, which is required."""
        child = self.only(tag)
        if child is None:
            raise self.error(f"has no <{tag}>")
        return child

    def text(self, attribute: str) -> str:
        """Return an attribute that must be there and not be empty."""
        value = self.attributes.get(attribute, "")
        if not value.strip():
            raise self.error(f"has no attribute {attribute!r}")
        if len(value) > MAX_NAME:
            raise self.error(f"attribute {attribute!r} is longer than {MAX_NAME} characters")
        return value


def read(path_or_text: str | PathLike[str]) -> tuple[Element, Path | None]:
    """Return the <robot> element and the file, or None for a text, which begins with "<" after white space."""
    if isinstance(path_or_text, str) and (text := path_or_text.lstrip(_BLANK)).startswith("<"):
        # XML must begin with its declaration; the lines cut off before it still count.
        skipped = path_or_text[: len(path_or_text) - len(text)].count("\n")
        data = text[: MAX_BYTES + 1].encode("utf-8", "surrogatepass")
        return _parse_robot(data, "text", encoding="utf-8", skipped=skipped), None
    if isinstance(path_or_text, str) and ("\n" in path_or_text or "\0" in path_or_text):
        raise UrdfError("XML", "does not begin with <", line=1)
    path = Path(fspath(path_or_text))
    path.stat()  # a FileNotFoundError if there is none, as with `open`
    return _parse_robot(read_bytes(path, _unreadable_file, MAX_BYTES), path.name), path


def _unreadable_file(path: Path, field: str, detail: str) -> UrdfError:
    """Return the error of a file that `read_bytes` cannot read."""
    return UrdfError(field or "file", detail, source=path.name)


def _parse_robot(data: bytes, source: str, *, encoding: str | None = None, skipped: int = 0) -> Element:
    """Return the root element, with its links, joints and materials."""
    above: list[Element] = []

    def keep(tag: str, attributes: dict[str, str], depth: int, line: int) -> str | None:
        del above[depth:]
        if len(above) < depth or (depth == 1 and tag not in KEPT and not tag.startswith("xacro:")):
            return None  # the element, or an element around it, is not kept
        if tag.startswith("xacro:"):
            return f"has <{tag[:60]}>: expand it with xacro first"
        place = f"{above[-1].where} <{tag[:60]}>" if depth > 1 else f"{tag} {quoted(attributes.get('name', ''))}"
        element = Element(tag, attributes, line, source, place)
        if above:
            above[-1].children.append(element)
        above.append(element)
        return None

    parse(data, source, keep, root="robot", encoding=encoding, skipped=skipped)
    return above[0]


# Other numbers that `float` accepts ("1_000", "nan", digits of other scripts) are errors in a file.
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")

_LENGTH = 400  # characters of one number

#: Lengths, masses and moments beyond this overflow when they are multiplied together.
LARGEST = 1e50


def number(
    element: Element,
    attribute: str,
    default: float | None = None,
    *,
    largest: float = LARGEST,
    least: float = -math.inf,
) -> float:
    """Return one finite number, not less than ``least`` = 0; without a default the attribute is required."""
    if attribute not in element.attributes and default is not None:
        return default
    value = _parse_number(element, attribute, element.text(attribute).strip(), largest)
    if value < least:
        raise element.error(f"attribute {attribute!r} is negative: {value:g}")
    return value


def vector(element: Element, attribute: str, length: int, default: tuple[float, ...] | None = None) -> FloatArray:
    """Return the finite numbers (length,) of an attribute; without a default it is required."""
    if attribute not in element.attributes and default is not None:
        return np.array(default)
    words = element.text(attribute).split()
    if len(words) != length:
        raise element.error(f"attribute {attribute!r} must be {length} numbers, got {len(words)}")
    return np.array([_parse_number(element, attribute, word, LARGEST) for word in words])


def _parse_number(element: Element, attribute: str, text: str, largest: float) -> float:
    """Return a finite number from text, with a magnitude of at most ``largest``; raise an error of the element."""
    if len(text) > _LENGTH or _NUMBER.fullmatch(text) is None:
        raise element.error(f"attribute {attribute!r}: {quoted(text)} is not a finite number")
    value = float(text)
    if not abs(value) <= largest:
        raise element.error(f"attribute {attribute!r}: {quoted(text)} is too large to compute with")
    return value


def rotation(rpy: FloatArray) -> FloatArray:
    """Return R = Rz(yaw) Ry(pitch) Rx(roll): by roll, pitch, yaw about the fixed axes x, y, z of the parent [rad]."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(rpy), np.sin(rpy)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def origin(element: Element) -> Transform:
    """Return the pose in the <origin> of an element, the identity if there is none.

    Attributes: ``xyz`` [m], and ``rpy`` [rad] or, since version 1.2 of the format, ``quat_xyzw``.
    """
    given = element.only("origin")
    if given is None:
        return Transform()
    p = vector(given, "xyz", 3, (0.0, 0.0, 0.0))
    if "quat_xyzw" not in given.attributes:
        return Transform(rotation(vector(given, "rpy", 3, (0.0, 0.0, 0.0))), p)
    if "rpy" in given.attributes:
        raise given.error("has both 'rpy' and 'quat_xyzw'")
    x, y, z, w = vector(given, "quat_xyzw", 4)
    if not np.any([x, y, z, w]):
        raise given.error("attribute 'quat_xyzw' is zero and turns nowhere")
    return Transform(quaternion.to_matrix([w, x, y, z]), p)
