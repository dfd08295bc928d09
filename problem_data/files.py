"""Untrusted files: regular ones of bounded size, and ``.npz`` files, with a writer for these.

All errors have the type that the reader states. ``.npz`` files are read and written piece by piece. Nothing is
unpickled; its members are arrays, stored or deflated; memory is allocated only for numbers for which a member has
bytes, and arrays are returned after their checksum. Any fault raises the reader's error with the path, the faulty array
(empty for the whole file) and the reason.

The format is the one of ``numpy.savez``, and `numpy.load` reads it; members that are not compressed begin
at multiples of 64 bytes, so that they can be mapped into memory and handed to kernels as they are.
"""

from __future__ import annotations

import contextlib
import glob
import io
import math
import os
import stat
import struct
import tokenize
import uuid
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

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


ALIGNMENT = 64
BLOCK_BYTES = 1 << 24

# Bytes of a member's local header before name and extra field, and bytes that zipfile adds for sizes above 4 GB.
_LOCAL_HEADER, _ZIP64_EXTRA = 30, 20
_PADDING_ID = 0xD935

# Errors of numpy and zipfile for a file that is truncated, not a zip file, encrypted, with pickles, with wrong sizes,
# or with a damaged array header (which numpy parses as Python text). Found by changing every byte of a valid file.
_UNREADABLE = (
    ValueError,
    TypeError,
    EOFError,
    LookupError,
    RuntimeError,
    MemoryError,
    OverflowError,
    SyntaxError,
    OSError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)
# The two methods that numpy writes; decoders of other methods have other errors.
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_DENSEST = 1032  # largest number of bytes that one deflated byte represents
_MAX_MEMBERS = 1000


class Source(NamedTuple):
    """An array to write: its type, its shape, and its parts along the first axis."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    parts: Iterable[NDArray[Any]]

    @classmethod
    def of(cls, array: NDArray[Any]) -> Source:
        """Return the source of an existing array, which is its only part."""
        return cls(array.dtype, array.shape, (array,))


@dataclass(frozen=True)
class Member:
    """An array of a file: type, shape, offset of its numbers (-1: compressed), and their checksum.

    With ``columns`` the numbers are stored column by column. ``head`` is the length of its header, which ends at
    ``start``; ``crc`` is the checksum of header and numbers, ``file_name`` its name within the file.
    """

    file_name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    columns: bool
    start: int
    head: int
    crc: int

    @property
    def nbytes(self) -> int:
        """Size of its numbers in memory."""
        return self.dtype.itemsize * math.prod(self.shape)


class NpzFile:
    """The arrays of one ``.npz`` file by name; opened for each reading, so that any number of files may be held.

    The zip's directory is read once; uncompressed arrays are then read from their known positions. ``error`` makes the
    error that every method raises for a missing, truncated, damaged or foreign file. ``renamed`` maps names of arrays
    in older files to the present names.
    """

    def __init__(self, path: Path, error: ErrorFactory, renamed: Mapping[str, str] | None = None) -> None:
        self.path = path
        self._error = error
        self.members: dict[str, Member] = {}
        with self._reading() as at, path.open("rb") as file:
            if not zipfile.is_zipfile(file):
                raise _ArrayError("", "is not an .npz file, or is cut short")
            with zipfile.ZipFile(file) as archive:
                if len(archive.infolist()) > _MAX_MEMBERS:
                    raise _ArrayError("", f"has {len(archive.infolist())} members, at most {_MAX_MEMBERS} are read")
                for info in archive.infolist():
                    at[0] = info.filename.removesuffix(".npy")
                    self.members[(renamed or {}).get(at[0], at[0])] = _member(file, archive, info)
        self._check_size(member for member in self.members.values() if member.start < 0)

    def read(self, name: str) -> NDArray[Any]:
        """Return an array as a copy in memory, row by row, checked against its checksum."""
        member = self.members[name]
        with self._reading(name):
            array = np.empty(member.shape[::-1] if member.columns else member.shape, member.dtype)
            numbers = array.reshape(-1).view(np.uint8)
            if member.start >= 0:
                with self.path.open("rb", buffering=0) as file:
                    file.seek(member.start - member.head)
                    crc = zlib.crc32(file.read(member.head))
                    _fill(file, numbers, name)
                if zlib.crc32(numbers.data, crc) != member.crc:
                    raise _ArrayError(name, "is damaged: its checksum is another")
            else:
                with zipfile.ZipFile(self.path) as archive, archive.open(member.file_name) as stream:
                    stream.read(member.head)
                    _fill(stream, numbers, name)
                    # The checksum is compared at the end.
                    stream.read(1)
        return np.ascontiguousarray(array.T) if member.columns else array

    def read_all(self) -> dict[str, NDArray[Any]]:
        """Return every array as `read` does, of no more than `ARRAY_BYTES` in all."""
        self._check_size(self.members.values())
        return {name: self.read(name) for name in self.members}

    def iter_chunks(self, name: str) -> Iterator[NDArray[Any]]:
        """Yield an array in parts of some megabytes along its first axis, in order.

        A compressed array, and one that is stored by columns, is read and yielded as a whole.
        """
        member = self.members[name]
        if member.nbytes <= BLOCK_BYTES or member.start < 0 or member.columns:
            yield self.read(name)
            return
        row = member.nbytes // member.shape[0]
        count = max(1, BLOCK_BYTES // row)
        with self.path.open("rb") as file:
            file.seek(member.start)
            for first in range(0, member.shape[0], count):
                rows = min(count, member.shape[0] - first)
                part = np.fromfile(file, member.dtype, rows * (row // member.dtype.itemsize))
                if part.nbytes != rows * row:
                    raise self._error(self.path, name, "is cut short")
                yield part.reshape(rows, *member.shape[1:])

    def memory_map(self, names: Iterable[str]) -> dict[str, NDArray[Any]]:
        """Return arrays by name that are mapped from the file; compressed and unaligned ones are copies in memory."""
        arrays = {}
        with self._reading():
            # A mapped array stays readable when another file replaces this one.
            whole = np.memmap(self.path, np.uint8, "r")
        for name in names:
            member = self.members[name]
            if member.nbytes and member.start >= 0 and member.start % ALIGNMENT == 0 and not member.columns:
                flat = whole[member.start : member.start + member.nbytes].view(member.dtype)
                arrays[name] = np.asarray(flat).reshape(member.shape)
            else:
                arrays[name] = self.read(name)
        return arrays

    def _check_size(self, members: Iterable[Member]) -> None:
        """Refuse arrays too large for memory; uncompressed arrays of any size can be mapped."""
        size = sum(member.nbytes for member in members)
        if size > ARRAY_BYTES:
            most = size_text(ARRAY_BYTES)
            raise self._error(self.path, "", f"unpacks to {size_text(size)}, at most {most} are taken into memory")

    @contextlib.contextmanager
    def _reading(self, name: str = "") -> Iterator[list[str]]:
        """Convert exceptions to the reader's error, with the name of the array that the yielded object has."""
        at = [name]
        try:
            yield at
        except _ArrayError as flaw:
            raise self._error(self.path, *flaw.args) from None
        except _UNREADABLE as failure:
            where = f"{at[0]}: " if at[0] else ""
            detail = f"cannot be read as an .npz file ({where}{type(failure).__name__}: {failure})"
            raise self._error(self.path, "", detail) from failure


class _ArrayError(Exception):
    """Raised for a faulty file: the array at fault, and the reason."""


def write_npz(path: Path, sources: Mapping[str, Source], *, compress: bool) -> None:
    """Write arrays to one file, completely or not at all: after an OSError the previous file is unchanged."""

    def write(file: IO[bytes]) -> None:
        method = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
        with zipfile.ZipFile(file, "w", allowZip64=True) as archive:
            for name, source in sources.items():
                _write_member(file, archive, name, source, method)

    _write(path, write)


def write_atomic(path: Path, content: bytes) -> None:
    """Write a file completely or not at all; raises as `write_npz`."""
    _write(path, lambda file: file.write(content))


def partial_files(path: Path) -> list[Path]:
    """Return temporary files of interrupted writings of ``path``."""
    return sorted(path.parent.glob(f".{glob.escape(path.name)}.*.partial"))


def _write(path: Path, fill: Callable[[IO[bytes]], object]) -> None:
    """Write a file by ``fill`` under a temporary name, and rename it to ``path``: readers never find a part of it."""
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}.partial")
    try:
        with partial.open("xb") as file:
            fill(file)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        # The error of a full disk has no file name.
        error.filename = error.filename or os.fspath(path)
        raise
    finally:
        # A disk that cannot be written may fail here, too; the first error is the one to raise.
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


def _member(file: IO[bytes], archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Member:
    """Return where and how an array of an .npz file is stored, from its headers.

    Raise an error for a member that is not a plain numpy array, or whose size contradicts its header.
    """
    if not info.filename.endswith(".npy"):
        raise _ArrayError(info.filename, "is a foreign member: an .npz file holds .npy arrays only")
    if info.compress_type not in _COMPRESSIONS:
        raise ValueError(f"{info.filename} is packed by another method than numpy's")
    with archive.open(info) as stream:
        shape, columns, dtype, length = _array_header(stream)
    if dtype.hasobject:
        raise ValueError(f"{info.filename} holds Python objects, which allow_pickle alone would read")
    if info.file_size != length + dtype.itemsize * math.prod(shape):
        raise ValueError(f"{info.filename} has not the size its header says")
    if info.file_size > _DENSEST * (info.compress_size + 1):
        raise ValueError(f"{info.filename} says it has more numbers than {info.compress_size} bytes can hold")
    start = -1
    if info.compress_type == zipfile.ZIP_STORED:
        file.seek(info.header_offset + _LOCAL_HEADER - 4)
        start = info.header_offset + _LOCAL_HEADER + sum(struct.unpack("<HH", file.read(4))) + length
    return Member(info.filename, dtype, shape, columns, start, length, info.CRC)


def _fill(file: Any, into: NDArray[np.uint8], name: str) -> None:
    """Read the stream until ``into`` is full; raise `_ArrayError` of the array ``name`` if it ends before."""
    done = 0
    while done < into.size:
        got = file.readinto(into[done:].data)
        if not got:
            raise _ArrayError(name, "is cut short")
        done += got


def _array_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Read the header of an .npy stream; return the shape, whether columns are stored first, the dtype and its length.

    The length counts the bytes before the data. Raise `ValueError` for a version other than 1.0 and 2.0.
    """
    version = np.lib.format.read_magic(stream)
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in read:
        raise ValueError(f"format {version} of an array is not known")
    shape, fortran, dtype = read[version](stream)
    # With one axis, or none, both orders are the same.
    return shape, fortran and len(shape) > 1, dtype, stream.tell()


def _write_member(file: IO[bytes], archive: zipfile.ZipFile, name: str, source: Source, method: int) -> None:
    """Write an array to the archive as ``name``.npy, part by part, with its data aligned in the file for `memory_map`.

    ``method`` is the compression of `zipfile`. Raise ValueError if the parts do not have the source's number of rows.
    """
    header = io.BytesIO()
    shape = {"descr": np.lib.format.dtype_to_descr(source.dtype), "fortran_order": False, "shape": source.shape}
    np.lib.format.write_array_header_1_0(header, shape)
    # A fixed date: equal arrays make equal files.
    info = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
    info.compress_type = method
    start = file.tell() + _LOCAL_HEADER + len(info.filename.encode()) + 4 + _ZIP64_EXTRA
    info.extra = struct.pack("<HH", _PADDING_ID, -start % ALIGNMENT) + bytes(-start % ALIGNMENT)
    rows = 0
    with archive.open(info, "w", force_zip64=True) as member:
        member.write(header.getvalue())
        for part in source.parts:
            rows += part.shape[0] if part.ndim else 1
            member.write(np.ascontiguousarray(part).data if part.nbytes else b"")
    if source.shape and rows != source.shape[0]:
        raise ValueError(f"{name}: {rows} rows were given for {source.shape[0]}")
