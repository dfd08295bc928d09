"""Descriptions as elements with their line numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path

from contactlab.multibody.urdf.errors import UrdfError
from contactlab.multibody.urdf.guarded_xml import MAX_BYTES, Guard, shown
from problem_data.files import content_of

MAX_NAME = 1000
# Everything else (transmissions, simulator settings) is skipped without being kept.
KEPT = ("link", "joint", "material")
_BLANK = "\ufeff \t\r\n"


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
        return _Reader("text", "utf-8", skipped).robot_of(text[: MAX_BYTES + 1].encode("utf-8", "surrogatepass")), None
    if isinstance(path_or_text, str) and ("\n" in path_or_text or "\0" in path_or_text):
        raise UrdfError("XML", "does not begin with <", line=1)
    path = Path(fspath(path_or_text))
    path.stat()  # a FileNotFoundError where there is none, as with `open`
    return _Reader(path.name, None, 0).robot_of(content_of(path, _refused, MAX_BYTES)), path


def _refused(path: Path, field: str, detail: str) -> UrdfError:
    return UrdfError(field or "file", detail, source=path.name)


class _Reader(Guard):
    """One pass over one description, which keeps its links, joints and materials."""

    def __init__(self, source: str, encoding: str | None, skipped: int) -> None:
        super().__init__(source, "robot", encoding=encoding, skipped=skipped)
        self.stack: list[Element] = []
        self.robot: Element | None = None

    def robot_of(self, data: bytes) -> Element:
        self.read(data)
        if self.robot is None:
            raise self.refuse("has no element")
        return self.robot

    def opened(self, tag: str, attributes: dict[str, str], depth: int) -> None:
        if len(self.stack) < depth or (depth == 1 and tag not in KEPT and not tag.startswith("xacro:")):
            return  # it, or what it lies in, is not kept
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

    def closed(self) -> None:
        if len(self.stack) > self.depth:
            self.stack.pop()
