"""What conformance found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


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
    """

    solver: Any
    checks: tuple[Check, ...]
    solved: tuple[str, ...]

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
        """One line in all, then one per failure."""
        lines = [
            f"{type(self.solver).__name__}: {len(self.checks) - len(self.failures)} of {len(self.checks)} checks "
            f"passed, {len(self.solved)} catalog problems solved"
        ]
        return "\n".join([*lines, *(f"  failed: {check.name}: {check.detail}" for check in self.failures)])

    def __repr__(self) -> str:
        return f"ConformanceReport({str(self).splitlines()[0]})"
