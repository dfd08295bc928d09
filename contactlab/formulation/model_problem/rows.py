"""Meaning of every row of a problem."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from contactlab.formulation.model_problem.errors import BridgeError
from contactlab.spatial.arrays import FloatArray
from contactlab.spatial.errors import close_names

Operator = Literal["N", "F", "Q", "L", "G", "B"]
#: Operators of problem data; Q exists at acceleration level only, B at velocity level only.
OPERATORS: tuple[Operator, ...] = ("N", "F", "Q", "L", "G", "B")


@dataclass(frozen=True, eq=False)
class Row:
    """One row of an operator of problem data.

    Attributes
    ----------
    operator, index
        Its position: row `index` of "N", "F", "Q", "L", "G" or "B".
    kind
        "normal", "friction", "sliding", "lower limit", "upper limit", "loop", "mimic", "dry friction", "drive",
        "torsional friction" or "rolling friction".
    source
        Name of the contact, joint, loop or drive behind it.
    label
        A text that no other row of the problem has, such as "contact foot: edge 1" or "lower limit of knee".
    body_a, body_b
        The bodies of a contact, "" otherwise. The force acts on B along `direction`.
    edge
        Number of the friction edge; None for other rows.
    direction
        (3,) world axes, of a contact's row; None for other rows.
    bounds
        Force [N or N m] that the row can bear; at acceleration level nothing holds it to them, see
        `ModelProblem.overloaded_joints`.
    """

    operator: Operator
    index: int
    kind: str
    source: str
    label: str
    body_a: str = ""
    body_b: str = ""
    edge: int | None = None
    direction: FloatArray | None = None
    bounds: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class RowTable:
    """The rows of a problem by operator, in the order of the operators' rows; `table[label]` finds one."""

    N: tuple[Row, ...] = ()
    F: tuple[Row, ...] = ()
    Q: tuple[Row, ...] = ()
    L: tuple[Row, ...] = ()
    G: tuple[Row, ...] = ()
    B: tuple[Row, ...] = ()

    @classmethod
    def of(cls, rows: dict[Operator, list[Row]]) -> RowTable:
        """Number the rows of each operator, and tell apart those that have one label."""
        count: dict[str, int] = {}
        numbered: dict[str, tuple[Row, ...]] = {}
        for operator, listed in rows.items():
            placed = []
            for index, row in enumerate(listed):
                count[row.label] = count.get(row.label, 0) + 1
                label = row.label if count[row.label] == 1 else f"{row.label} ({count[row.label]})"
                placed.append(replace(row, operator=operator, index=index, label=label))
            numbered[operator] = tuple(placed)
        return cls(**numbered)

    def __iter__(self) -> Iterator[Row]:
        for operator in OPERATORS:
            yield from getattr(self, operator)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of all rows, in the order N, F, Q, L, G, B."""
        return tuple(row.label for row in self)

    def __getitem__(self, label: str) -> Row:
        for row in self:
            if row.label == label:
                return row
        raise BridgeError("label", f"no row is labelled {label!r}{close_names(label, self.labels)}")

    def of_source(self, source: str) -> tuple[Row, ...]:
        """Return the rows of a contact, joint, loop or drive by its name; empty if it has none at this level."""
        return tuple(row for row in self if row.source == source)

    def __str__(self) -> str:
        return "\n".join(f"{row.operator}[{row.index}]  {row.label}" for row in self)
