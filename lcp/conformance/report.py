"""What conformance found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# Checks that failed alike and are named; `ConformanceReport.failures` has all.
_NAMED = 3


class ConformanceError(AssertionError):
    """A solver that does not keep what it promises; the text lists every check it failed."""


@dataclass(frozen=True)
class Check:
    """One check.

    Attributes
    ----------
    name
        What was tried: ``catalog: murty_3``, ``promise: POSITIVE_DEFINITE``, ``manners: leaves the data alone``.
    passed
        Whether it was kept.
    detail
        What came instead, or a few words on what was found.
    """

    name: str
    passed: bool
    detail: str = ""


@dataclass(frozen=True, repr=False)
class ConformanceReport:
    """All checks of one solver.

    Attributes
    ----------
    solver
        The solver.
    checks
        In the order of trying.
    solved
        Catalog problems it solved, by name, promised or not.
    solvable
        How many it met that have a solution.
    """

    solver: Any
    checks: tuple[Check, ...]
    solved: tuple[str, ...]
    solvable: int

    @property
    def failures(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if not check.passed)

    @property
    def passed(self) -> bool:
        """Whether all passed."""
        return not self.failures

    def raise_for_failures(self) -> None:
        """Raise `ConformanceError`, listing what failed, unless all passed."""
        if not self.passed:
            raise ConformanceError(str(self))

    def __str__(self) -> str:
        """One line in all, then one per way of failing, with the first few checks that failed so."""
        lines = [
            f"{type(self.solver).__name__}: {len(self.checks) - len(self.failures)} of {len(self.checks)} checks "
            f"passed, {len(self.solved)} of {self.solvable} solvable catalog problems solved"
        ]
        alike: dict[str, list[str]] = {}
        for check in self.failures:
            alike.setdefault(check.detail, []).append(check.name)
        for detail, names in alike.items():
            more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            lines.append(f"  failed: {', '.join(names[:_NAMED])}{more}: {detail}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"ConformanceReport({str(self).splitlines()[0]})"
