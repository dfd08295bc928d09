"""Read untrusted files: regular ones, of bounded size, with all errors of the type that the reader states."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

#: Makes the reader's error from the path, the faulty part of the file (empty for the whole file) and the reason.
ErrorFactory: TypeAlias = Callable[[Path, str, str], Exception]

#: Bytes of a file of text, and of numbers that are taken into memory at once.
TEXT_BYTES = 1 << 26
ARRAY_BYTES = 1 << 30


def read_bytes(path: Path, error: ErrorFactory, most_bytes: int = TEXT_BYTES) -> bytes:
    """Return the bytes of a regular file of at most `most_bytes` bytes.

    Raises the error built by `error(path, reason)` if the file cannot be read, is not a regular file, or is larger.
    """
    try:
        # A pipe or a device could be read for ever.
        if not stat.S_ISREG(path.stat().st_mode):
            raise error(path, "", "is not a regular file")
        with path.open("rb") as file:
            content = file.read(most_bytes + 1)
    except FileNotFoundError as failure:
        raise error(path, "", "there is no such file") from failure
    except OSError as failure:
        raise error(path, "", f"cannot be read ({failure.strerror})") from failure
    if len(content) > most_bytes:
        raise error(path, "", f"is larger than {size_text(most_bytes)}")
    return content


def size_text(size: int) -> str:
    """Return a number of bytes in words."""
    return f"{size / 2**20:.4g} MiB" if size < 1 << 30 else f"{size / 2**30:.4g} GiB"


def read_text(path: Path, error: ErrorFactory, most_bytes: int = TEXT_BYTES) -> str:
    """Return the text of a file in UTF-8; raises as `read_bytes`."""
    content = read_bytes(path, error, most_bytes)
    try:
        return content.decode()
    except UnicodeDecodeError as failure:
        raise error(path, "", f"is not UTF-8 (byte {failure.start})") from failure
