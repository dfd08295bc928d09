"""Untrusted XML: parsed within limits; references outside the text are errors with their line."""

from __future__ import annotations

from xml.parsers import expat

from contactlab.spatial.errors import MultibodyError, warn_caller
from problem_data.errors import FileError


class UrdfError(MultibodyError, FileError):
    """A robot description that cannot be used.

    Attributes
    ----------
    field
        The element at fault, such as ``joint 'elbow' <axis>``.
    detail
        What is wrong with it.
    line
        Where it begins in the file; 0 if no line is to blame.
    source
        The file, "text" for a description given as text.
    """

    def __init__(self, field: str, detail: str, *, line: int = 0, source: str = "text") -> None:
        super().__init__(field, detail)
        self.line = line
        self.source = source

    def __str__(self) -> str:
        place = f"{self.source}, line {self.line}" if self.line else self.source
        return f"{place}: {self.field}: {self.detail}"


class UrdfWarning(UserWarning):
    """A robot description taken although it says something no robot can have, or names meshes that cannot be used."""


def warn_of(text: str) -> None:
    """Give an `UrdfWarning`, attributed to whoever called the library."""
    warn_caller(text, UrdfWarning)


# The largest robots in use take a quarter of a megabyte, three thousand elements and a depth of eight.
MAX_BYTES = 16 * 2**20
MAX_ELEMENTS = 100_000
MAX_DEPTH = 64
# expat knows these itself; any other would be looked up by name among the interpreter's codecs.
ENCODINGS = ("utf-8", "utf-16", "us-ascii", "iso-8859-1")


def quoted(text: str) -> str:
    """``text`` quoted for a message, shortened."""
    return repr(text) if len(text) <= 60 else f"{text[:60]!r}..."


class Guard:
    """One pass over one text, whose root element must be ``root``; it keeps nothing, which `on_start` may change."""

    def __init__(
        self,
        source: str,
        root: str,
        *,
        encoding: str | None = None,
        skipped: int = 0,
        most_bytes: int = MAX_BYTES,
        most_elements: int = MAX_ELEMENTS,
    ) -> None:
        self.source, self.root, self.skipped = source, root, skipped
        self.most_bytes, self.most_elements = most_bytes, most_elements
        self.elements = self.depth = 0
        self.parser = expat.ParserCreate(encoding)
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        if encoding is None:
            self.parser.XmlDeclHandler = self._declaration
        # Entities, and through them expansion bombs and reads of other files, can be declared in a DOCTYPE alone.
        self.parser.StartDoctypeDeclHandler = self._doctype

    @property
    def line(self) -> int:
        """The line the pass has come to."""
        return self.parser.CurrentLineNumber + self.skipped

    def refuse(self, detail: str) -> UrdfError:
        """Return an error about the text, at this line."""
        return UrdfError("XML", detail, line=self.line, source=self.source)

    def read(self, data: bytes) -> None:
        """Parse the whole text; an `UrdfError` has the reason of a fault."""
        if len(data) > self.most_bytes:
            raise UrdfError("XML", f"is larger than {self.most_bytes // 2**20} MiB", source=self.source)
        try:
            self.parser.Parse(data, True)
        except expat.ExpatError as cause:
            detail = f"is not well formed: {expat.ErrorString(cause.code)}"
            raise UrdfError("XML", detail, line=cause.lineno + self.skipped, source=self.source) from cause

    def on_start(self, tag: str, attributes: dict[str, str], depth: int) -> None:
        """Take the begin of an element that has ``depth`` others above it."""

    def on_end(self) -> None:
        """Take the end of the last element that is open."""

    def _declaration(self, _version: str, encoding: str | None, _standalone: int) -> None:
        if encoding is not None and encoding.lower() not in ENCODINGS:
            raise self.refuse(f"declares the encoding {quoted(encoding)}; it must be one of {', '.join(ENCODINGS)}")

    def _doctype(self, *_: object) -> None:
        raise self.refuse("has a DOCTYPE, which is refused: entities could expand without end or read other files")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self.elements += 1
        if self.elements > self.most_elements:
            raise self.refuse(f"has more than {self.most_elements} elements")
        if self.depth >= MAX_DEPTH:
            raise self.refuse(f"is nested more than {MAX_DEPTH} deep")
        if self.depth == 0 and tag != self.root:
            hint = "; MuJoCo's files are read by World.from_mjcf and WorldBuilder.add_mjcf" if tag == "mujoco" else ""
            raise self.refuse(f"begins with <{tag[:60]}>, must be <{self.root}>{hint}")
        self.depth += 1
        self.on_start(tag, attributes, self.depth - 1)

    def _end(self, _tag: str) -> None:
        self.depth -= 1
        self.on_end()
