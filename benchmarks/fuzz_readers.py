"""Every reader of files on damaged files: each ends with a `FileError` or reads, in bounded memory and time.

Run: ``python benchmarks/fuzz_readers.py [--inputs 20000] [--kind NAME ...] [--seed 0] [--keep FOLDER] [--out
benchmarks/results/fuzz_DATE]``. Writes OUT.csv and OUT.md: inputs of each kind, how many raised the typed error, were
accepted, or ended otherwise, and the largest memory and time of one. Each kind has a separate process with limited
memory. If an input ends it, this is reported, and another process continues after that input. ``--keep`` stores the
inputs that ended otherwise.

`reader_kinds` has the valid files that are damaged (`damage`), and their readers.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from damage import damaged
from reader_kinds import KINDS, Kind
from tables import markdown, write

MEMORY = 6 << 30  # bytes of addresses a process may have
PATIENCE = 20  # s for one input
HEAD = ("kind", "inputs", "typed", "accepted", "escaped", "slow", "died", "most MB", "slowest s")


@dataclass(frozen=True)
class Outcome:
    """Outcome of one input: ``typed``, ``accepted``, ``escaped`` or ``slow``; with text and time."""

    word: str
    seconds: float
    detail: str = ""


@functools.cache
def seeds_of(kind: Kind) -> list[bytes]:
    return kind.seeds()


def content(kind: Kind, seed: int, i: int) -> bytes:
    """Return input i of a kind; the first ones are the valid files."""
    good = seeds_of(kind)
    if i < len(good):
        return good[i]
    rng = np.random.default_rng([seed, zlib.crc32(kind.name.encode()), i])
    return damaged(rng, good[int(rng.integers(len(good)))], kind.damage)


def tried(kind: Kind, data: bytes) -> Outcome:
    """Read one input, in a separate folder."""
    from problem_data import FileError

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / kind.file
        path.write_bytes(data)
        begun = time.perf_counter()
        try:
            with warnings.catch_warnings(), limited(PATIENCE):
                warnings.simplefilter("ignore")
                kind.read(path)
        except FileError as error:
            # The error must have a text.
            word, detail = ("typed", "") if str(error).strip() else ("escaped", "an error without words")
        except TooSlow:
            word, detail = "slow", "".join(traceback.format_exc(limit=-4))
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            word, detail = "escaped", "".join(traceback.format_exception(error, limit=-4))
        else:
            word, detail = "accepted", ""
        return Outcome(word, time.perf_counter() - begun, detail)


class TooSlow(BaseException):
    """Error of an input that takes longer than the limit."""


@contextlib.contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raise `TooSlow` after this many seconds, if the system has alarms."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def ring(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def child(name: str, seed: int, first: int, last: int) -> None:
    """Try inputs of one kind and report each one, before and after."""
    import resource

    kind = next(one for one in KINDS if one.name == name)
    for i in range(len(seeds_of(kind))):
        tried(kind, content(kind, seed, i))  # imports and compiles
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for i in range(first, last):
        print(json.dumps({"begins": i}), file=out, flush=True)
        data = content(kind, seed, i)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        outcome = tried(kind, data)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        told = {"i": i, "word": outcome.word, "seconds": outcome.seconds, "grown": grown, "detail": outcome.detail}
        print(json.dumps(told), file=out, flush=True)


def campaign(kind: Kind, seed: int, inputs: int, keep: Path | None) -> dict[str, Any]:
    """Run the inputs of one kind; return its row."""
    row: dict[str, Any] = dict.fromkeys(HEAD, 0) | {"kind": kind.name, "inputs": inputs}
    first = 0
    seen: set[str] = set()

    def told(i: int, word: str, detail: str) -> None:
        if keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
            (keep / f"{kind.name.replace(' ', '_')}_{i}_{kind.file}").write_bytes(content(kind, seed, i))
        lines = detail.strip().splitlines() or [""]
        # Where it was raised, and its class.
        line = (
            next((one for one in reversed(lines) if one.lstrip().startswith("File ")), "") + lines[-1].partition(":")[0]
        )
        if line not in seen:
            seen.add(line)
            print(f"{kind.name} {i} {word}: {detail}", file=sys.stderr, flush=True)

    while first < inputs:
        command = [sys.executable, __file__, "--child", kind.name, str(seed), str(first), str(inputs)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert process.stdout is not None
        at = first
        for line in process.stdout:
            found = json.loads(line)
            if "begins" in found:
                at = found["begins"]
                continue
            row[found["word"]] += 1
            row["most MB"] = max(row["most MB"], found["grown"] // 1024)
            row["slowest s"] = max(row["slowest s"], round(found["seconds"], 2))
            if found["word"] in ("escaped", "slow"):
                told(found["i"], found["word"], found["detail"])
            at = found["i"] + 1
        if process.wait() != 0:
            row["died"] += 1
            told(at, "died", f"exit status {process.returncode}")
            at += 1
        first = at
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=20_000, help="of all kinds together")
    parser.add_argument("--kind", action="append", help="only these")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="folder for inputs that ended otherwise")
    parser.add_argument("--out", type=Path, help="path of the tables, without ending")
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], *map(int, sys.argv[3:]))
        return
    arguments = parser.parse_args()
    kinds = [kind for kind in KINDS if not arguments.kind or kind.name in arguments.kind]
    each = math.ceil(arguments.inputs / len(kinds))
    rows = []
    for kind in kinds:
        rows.append(campaign(kind, arguments.seed, each, arguments.keep))
        print(rows[-1], flush=True)
    numbers = [name for name in HEAD if name != "kind"]
    total = {name: (max if name in ("most MB", "slowest s") else sum)(row[name] for row in rows) for name in numbers}
    rows.append({"kind": "all", **total})
    lines = [[row[name] for name in HEAD] for row in rows]
    print(markdown(HEAD, lines))
    if arguments.out is not None:
        write(arguments.out, "", f"seed {arguments.seed}, {MEMORY >> 30} GiB of addresses a process", HEAD, lines)
    sys.exit(1 if total["escaped"] or total["slow"] or total["died"] else 0)


if __name__ == "__main__":
    main()
