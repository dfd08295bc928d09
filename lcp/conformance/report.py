"""Results of the conformance tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# Number of checks with equal failure that are named; `ConformanceReport.failures` has all.
_NAMED = 3


class ConformanceError(AssertionError):
    """Solver that fails conformance tests; the text lists every failed check."""


@dataclass(frozen=True)
class Check:
    """Result of one check.

    Attributes
    ----------
    name
        Name: ``catalog: murty_3``, ``promise: POSITIVE_DEFINITE``, ``manners: leaves the data alone``.
    passed
        Whether the check passed.
    detail
        The wrong result, or a short text about the right one.
    """

    name: str
    passed: bool
    detail: str = ""


@dataclass(frozen=True, repr=False)
class ConformanceReport:
    """Results of all checks of one solver.

    Attributes
    ----------
    solver
        The solver.
    checks
        In the order of the tests.
    solved
        Names of the solved catalog problems, promised or not.
    solvable
        Number of tested catalog problems with a solution.
    """

    solver: Any
    checks: tuple[Check, ...]
    solved: tuple[str, ...]
    solvable: int

    @property
    def failures(self) -> tuple[Check, ...]:
        """Return the failed checks."""
        return tuple(check for check in self.checks if not check.passed)

    @property
    def passed(self) -> bool:
        """True if all checks passed."""
        return not self.failures

    def raise_for_failures(self) -> None:
        """Raise `ConformanceError`, with a list of failures, unless all checks passed."""
        if not self.passed:
            raise ConformanceError(str(self))

    def __str__(self) -> str:
        """Return one line about all checks, then one per kind of failure, with the first few checks that failed so."""
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
