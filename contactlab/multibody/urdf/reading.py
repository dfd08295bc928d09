"""XML from strangers: elements with their line numbers, within limits, and nothing that reaches outside the text."""

from __future__ import annotations

import stat
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from xml.parsers import expat

from contactlab.multibody.urdf.errors import UrdfError

# The largest robots in use take a quarter of a megabyte, three thousand elements and a depth of eight.
MAX_BYTES = 16 * 2**20
MAX_ELEMENTS = 100_000
MAX_DEPTH = 64
MAX_NAME = 1000
# expat knows these itself; any other would be looked up by name among the interpreter's codecs.
ENCODINGS = ("utf-8", "utf-16", "us-ascii", "iso-8859-1")
# Everything else (transmissions, simulator settings, materials) is skipped without being kept.
KEPT = ("link", "joint")
_BLANK = "\ufeff \t\r\n"


def shown(text: str) -> str:
    """``text`` quoted for a message, shortened."""
    return repr(text) if len(text) <= 60 else f"{text[:60]!r}..."


@dataclass(frozen=True, eq=False)
class Element:
    """One element."""

    #: tag, attributes: As written.
    tag: str
    attributes: dict[str, str]
    line: int  # where it begins
    source: str  # the file, for messages
    where: str  # its name in messages: the link or joint it is or belongs to, and its own tag
    children: list[Element] = field(default_factory=list)  # in the order of the file

    def error(self, detail: str) -> UrdfError:
        """Error about this element, at its line."""
        return UrdfError(self.where, detail, line=self.line, source=self.source)

    def all(self, tag: str) -> list[Element]:
        """Its children of one tag."""
        return [child for child in self.children if child.tag == tag]

    def only(self, tag: str) -> Element | None:
        """Its one child of a tag, or None; two would leave open which one counts."""
        children = self.all(tag)
        if len(children) > 1:
            raise children[1].error(f"is there twice, first in line {children[0].line}")
        return children[0] if children else None

    def need(self, tag: str) -> Element:
        """Its one child of a tag, which must be there."""
        child = self.only(tag)
        if child is None:
            raise self.error(f"has no <{tag}>")
        return child

    def text(self, attribute: str) -> str:
        """An attribute that must be there and not be empty."""
        value = self.attributes.get(attribute, "")
        if not value.strip():
            raise self.error(f"has no attribute {attribute!r}")
        if len(value) > MAX_NAME:
            raise self.error(f"attribute {attribute!r} is longer than {MAX_NAME} characters")
        return value


def read(path_or_text: str | PathLike[str]) -> tuple[Element, Path | None]:
    """The <robot> element of a file, or of a text, which begins with "<" after white space; and the file, if any."""
    if isinstance(path_or_text, str) and (text := path_or_text.lstrip(_BLANK)).startswith("<"):
        # XML must begin with its declaration; the lines cut off before it still count.
        skipped = path_or_text[: len(path_or_text) - len(text)].count("\n")
        return _Reader("text", "utf-8", skipped).read(text[: MAX_BYTES + 1].encode("utf-8", "surrogatepass")), None
    if isinstance(path_or_text, str) and ("\n" in path_or_text or "\0" in path_or_text):
        raise UrdfError("XML", "does not begin with <", line=1)
    path = Path(fspath(path_or_text))
    # A pipe or a device could be read for ever.
    if not stat.S_ISREG(path.stat().st_mode):
        raise UrdfError("file", "is not a regular file", source=path.name)
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    return _Reader(path.name, None, 0).read(data), path


class _Reader:
    """One pass over one text."""

    def __init__(self, source: str, encoding: str | None, skipped: int) -> None:
        self.source = source
        self.skipped = skipped
        self.stack: list[Element] = []
        self.robot: Element | None = None
        self.elements = 0
        self.dropped = 0  # depth inside an element that is not kept
        self.parser = expat.ParserCreate(encoding)
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        if encoding is None:
            self.parser.XmlDeclHandler = self.declaration
        # Entities, and through them expansion bombs and reads of other files, can be declared in a DOCTYPE alone.
        self.parser.StartDoctypeDeclHandler = self.doctype

    @property
    def line(self) -> int:
        return self.parser.CurrentLineNumber + self.skipped

    def refuse(self, detail: str, field: str = "XML") -> UrdfError:
        return UrdfError(field, detail, line=self.line, source=self.source)

    def read(self, data: bytes) -> Element:
        if len(data) > MAX_BYTES:
            raise UrdfError("XML", f"is larger than {MAX_BYTES // 2**20} MiB", source=self.source)
        try:
            self.parser.Parse(data, True)
        except expat.ExpatError as cause:
            detail = f"is not well formed: {expat.ErrorString(cause.code)}"
            raise UrdfError("XML", detail, line=cause.lineno + self.skipped, source=self.source) from cause
        if self.robot is None:
            raise self.refuse("has no element")
        return self.robot

    def declaration(self, _version: str, encoding: str | None, _standalone: int) -> None:
        if encoding is not None and encoding.lower() not in ENCODINGS:
            raise self.refuse(f"declares the encoding {shown(encoding)}; it must be one of {', '.join(ENCODINGS)}")

    def doctype(self, *_: object) -> None:
        raise self.refuse("has a DOCTYPE, which is refused: entities could expand without end or read other files")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.elements += 1
        if self.elements > MAX_ELEMENTS:
            raise self.refuse(f"has more than {MAX_ELEMENTS} elements")
        depth = len(self.stack) + self.dropped
        if depth >= MAX_DEPTH:
            raise self.refuse(f"is nested more than {MAX_DEPTH} deep")
        if depth == 0 and tag != "robot":
            raise self.refuse(f"begins with <{tag[:60]}>, must be <robot>")
        if self.dropped or (depth == 1 and tag not in KEPT and not tag.startswith("xacro:")):
            self.dropped += 1
            return
        if tag.startswith("xacro:"):
            raise self.refuse(f"has <{tag[:60]}>: expand it with xacro first")
        element = Element(tag, attributes, self.line, self.source, self.label(tag, attributes))
        if self.stack:
            self.stack[-1].children.append(element)
        else:
            self.robot = element
        self.stack.append(element)

    def label(self, tag: str, attributes: dict[str, str]) -> str:
        if len(self.stack) >= 2:
            return f"{self.stack[-1].where} <{tag[:60]}>"
        return f"{tag} {shown(attributes.get('name', ''))}"

    def end(self, _tag: str) -> None:
        if self.dropped:
            self.dropped -= 1
        else:
            self.stack.pop()
