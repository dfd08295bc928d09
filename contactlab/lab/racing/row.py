"""One line of a race: what became of one solver on one problem."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import Any

from contactlab.lab.errors import DatasetError
from contactlab.lab.sweeps.store import write_csv
from problem_data.files import read_text

#: Statuses beside those of `lcp.Status`: over the time limit; an exception, or a process that died.
TIMEOUT, CRASHED = "TIMEOUT", "CRASHED"
#: Statuses that are answers too: that there is not a solution, with a proof or after every basis was tried.
PROVED = ("INFEASIBLE", "UNSOLVABLE", "INCONSISTENT")


@dataclass(frozen=True)
class RaceRow:
    """One solver on one problem.

    Attributes
    ----------
    problem, solver
        Names.
    status
        A name of `lcp.Status`, ``TIMEOUT`` or ``CRASHED``. SOLVED is said by the residuals on the original data.
    residual
        The scaled residual there, that of the equations included; of friction the larger of FCLIB's and the scaled one.
        inf where there is no finite answer.
    iterations
        As the solver counts; 0 where it does not tell.
    time
        Seconds: the least of ``runs`` solves, set-up of the solver included, compilation not. Of a trial that was
        ended, the time limit.
    n
        Complementary pairs, unknowns between bounds, or contacts.
    settings
        Of the solver, where they differ from its defaults.
    kind, family
        Class of the problem, and the family its name says.
    natural_map
        max |min(z, w)|, or what stands for it; of friction FCLIB's residual.
    cpu
        Processor seconds of the process, the least likewise: what ``time`` would be if nobody else wanted the cores. 0
        where it is not known.
    runs
        Solves that were timed.
    claim
        What the solver itself said.
    origin
        "contactlab", "peer" or "own".
    tolerance
        Bound on the residual.
    detail
        A few words of the solver, or what it raised.
    deciding_error
        What decides whether it is solved, at ``tolerance`` and below: the backward error; of friction the largest of
        its measures, each by what rounding admits of it. inf where there is no finite answer, or an older race did not
        keep it.
    """

    problem: str
    solver: str
    status: str
    residual: float
    iterations: int
    time: float
    n: int
    settings: str
    kind: str
    family: str
    natural_map: float
    cpu: float
    runs: int
    claim: str
    origin: str
    tolerance: float
    detail: str
    deciding_error: float = math.inf

    @property
    def label(self) -> str:
        """Solver and settings: what tells entrants apart."""
        return f"{self.solver}({self.settings})" if self.settings else self.solver

    @property
    def solved(self) -> bool:
        """Whether the answer is a solution at the race's tolerance."""
        return self.status == "SOLVED"

    @property
    def wrong(self) -> bool:
        """Whether the solver claimed a solution that is wrong."""
        return self.claim == "SOLVED" and self.status not in ("SOLVED", TIMEOUT)


_FAMILY = re.compile(r"[A-Za-z]+(?:[_-][A-Za-z]{2,}(?![A-Za-z0-9]))*")
_OF_A_RUN = re.compile(r"step\d+-island\d+(#\d+)?")


def family_of(name: str) -> str:
    """Family a problem's name begins with: ``contact_random_k2_d8_s502`` is one of ``contact_random``.

    In a folder that is the file's: ``runs/bricks/step000042-island0`` is one of ``bricks``.
    """
    parts = name.split("/")
    known = [part for part in parts if not _OF_A_RUN.fullmatch(part)] or parts
    parts = [match.group() for part in known if (match := _FAMILY.match(part))]
    return parts[-1] if parts else name


def write_rows(path: Path, rows: Iterable[RaceRow]) -> None:
    """Write rows as CSV with heading, at once."""
    write_csv(path, [asdict(row) for row in rows], [field.name for field in fields(RaceRow)])


def read_rows(path: str | Path) -> list[RaceRow]:
    """Rows that `write_rows` wrote; further columns are passed over.

    Raises
    ------
    DatasetError
        For a missing column, or an entry of another type, with its line.
    """
    path = Path(path)
    reader = csv.DictReader(io.StringIO(read_text(path, DatasetError), newline=""))
    try:
        wanted = [field.name for field in fields(RaceRow) if field.default is MISSING]
        missing = [name for name in wanted if name not in (reader.fieldnames or ())]
        if missing:
            raise DatasetError(path, missing[0], "there is no such column; is this the rows.csv of a race?")
        return [_row(path, reader.line_num, line) for line in reader]
    except csv.Error as error:
        raise DatasetError(path, f"line {reader.line_num}", str(error)) from error


def _row(path: str | Path, number: int, line: dict[str, Any]) -> RaceRow:
    values: dict[str, Any] = {}
    for field in fields(RaceRow):
        if field.name not in line:
            continue  # of an older race
        text = line[field.name]
        try:
            value = values[field.name] = {"float": float, "int": int, "str": str}[str(field.type)](text)
        except (TypeError, ValueError):
            raise DatasetError(path, field.name, f"line {number}: {text!r} is no {field.type}") from None
        if isinstance(value, float) and math.isnan(value):
            raise DatasetError(path, field.name, f"line {number}: is not a number")
    return RaceRow(**values)
