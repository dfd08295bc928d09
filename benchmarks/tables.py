"""Tables of the benchmarks: CSV for programs, Markdown for readers."""

from __future__ import annotations

import csv
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any


def environment() -> str:
    """Return one line about the machine, its processor, and the versions of Python, numpy, numba and peers."""
    names = []
    for name in ("numpy", "numba", "mujoco", "drake"):
        try:
            names.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            names.append(f"no {name}")
    machine = f"{platform.machine()}, {processor()}, {os.cpu_count()} cores"
    return f"{machine}, Python {platform.python_version()}, {', '.join(names)}"


def processor() -> str:
    """Return the name of the processor, if the system reports it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return "unknown"
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def markdown(head: Iterable[str], lines: Iterable[Iterable[object]]) -> str:
    """A table in Markdown."""
    head = list(head)
    return "".join("| " + " | ".join(map(str, row)) + " |\n" for row in (head, ["---"] * len(head), *lines))


def write(out: Path, name: str, note: str, head: Sequence[str], lines: Sequence[list[Any]], first: str = "") -> None:
    """Write OUT_name.csv and OUT_name.md, the latter with ``first`` before the table."""
    target = out.with_name(f"{out.name}{name}")
    said = f"{environment()}; {note}" if note else environment()
    with target.with_suffix(".csv").open("w", newline="", encoding="utf-8") as file:
        file.write(f"# {said}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(lines)
    target.with_suffix(".md").write_text(f"{said}\n\n{first}{markdown(head, lines)}", encoding="utf-8")


def write_rows(
    file: Path, notes: Iterable[str], rows: Sequence[Mapping[str, Any]], form: str = "", head: Sequence[str] = ()
) -> None:
    """Write rows as CSV after their notes: numbers in ``form``, columns in the order of ``head`` or the first row."""
    with file.open("w", newline="", encoding="utf-8") as stream:
        stream.writelines(f"# {note}\n" for note in notes)
        writer = csv.DictWriter(stream, head or list(rows[0]), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({name: f"{x:{form}}" if form and isinstance(x, float) else x for name, x in row.items()})
