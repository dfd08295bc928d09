"""Verification of a record, portion by portion, with independent arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from contactlab.certificate import VERIFIED_WITHIN
from contactlab.spatial.arrays import IntArray, finite_number
from contactlab.verification.checks import findings
from contactlab.verification.equal_compliance_check import EqualComplianceCheck
from contactlab.verification.island import COULOMB
from contactlab.verification.pair_coverage import PairCoverage
from contactlab.verification.portion import Found, StepSlice, portions, rows_of
from contactlab.verification.report import (
    CONDITIONS,
    OF_LAW,
    ConditionReport,
    CoulombMisfit,
    VerificationFailure,
    VerificationReport,
)
from contactlab.world.errors import SimulationConfigError, whole_number

if TYPE_CHECKING:
    from contactlab.recording.recording import Recording

#: Tolerance of a condition's violation over its scale.
ALLOWED = 1e-9
# Factor by which a residual may differ from the certified one, because of different rounding.
REFORMED = 1.001
# Conditions by which a step is certified, in addition to its LCP's residual.
CERTIFIED = ("sign", "gap", "complementarity", "cone", "dissipation", "bounds", "joint_law")


def verify(
    recording: Recording,
    *,
    every: int = 1,
    tolerance: float | None = None,
    max_failures: int = 20,
    progress: Callable[[int, int], None] | None = None,
) -> VerificationReport:
    """Verify the steps of a record: solutions, certificates, and motion.

    No kernel of the package is called: kinematics, mass matrix, rows and LCP are formed again, in plain numpy, from the
    world and the recorded states. `Recording.problem` would give the kernels' problem instead. Uncertified forces
    (`TimeStepping.on_unsolved`) are checked like all others, and a record with such forces does not pass. For a
    friction backend, such as `contactlab.ConvexRelaxation`, the conditions and ``holds`` refer to the backend's own
    law. The violation of Coulomb's law is also reported, and never fails.

    Parameters
    ----------
    recording
        Any record, of a complete run or not.
    every
        Check the steps 0, every, 2 every, ... and the last one.
    tolerance
        Bound on each condition's violation over its scale (`CONDITIONS`). For the LCP, and for the law of a friction
        backend, the solver's own tolerance applies if it is larger. None: 1e-9, or the stepper's tolerance if larger
        for all conditions that certify a step. Forces recorded as selected may deviate by
        `contactlab.certificate.VERIFIED_WITHIN` of the largest.
    max_failures
        Maximum number of failures that are stored.
    progress
        Called with (steps checked, steps to check).

    Raises
    ------
    SimulationConfigError
        An argument is invalid.
    """
    stride, keep = whole_number("every", every, 1), whole_number("max_failures", max_failures, 0)
    asked = ALLOWED if tolerance is None else tolerance
    limit = finite_number(asked, "tolerance", SimulationConfigError, positive=True)
    last = recording.n_steps - 1
    steps = np.union1d(np.arange(0, recording.n_steps, stride), np.arange(max(last, 0), recording.n_steps))
    unsolved = recording.uncertified
    stepper = recording.stepper
    solved = max(limit, REFORMED * stepper.law_tolerance)
    by_solver: tuple[str, ...] = ("solved", "lcp")
    if stepper.asks_backend:
        by_solver = OF_LAW
    elif tolerance is None:
        by_solver = (*by_solver, *CERTIFIED)
    allowed = {name: solved if name in by_solver else limit for name in CONDITIONS} | {"choice": VERIFIED_WITHIN}
    ledger = _FindingCollector(allowed, keep, unsolved.steps)
    pairs, selections = PairCoverage(recording.world, recording.stepper), EqualComplianceCheck.of(recording)
    islands = contacts = done = 0
    for portion in portions(recording, steps, len(pairs.pairs)):
        for some in _checked(recording, portion, pairs, selections):
            ledger.add(*some)
        islands += rows_of(recording.rows["island_step"], portion)[0].size
        contacts += rows_of(recording.rows["contact_step"], portion)[0].size
        done += portion.size
        if progress is not None:
            progress(done, steps.size)
    found = None if selections is None else selections.report()
    said = tuple(zip(unsolved.step.tolist(), unsolved.island.tolist(), strict=True))
    tables = islands, contacts, ledger.table(), tuple(_named(recording, failure) for failure in ledger.failures)
    worst = ledger.worst.get(COULOMB, VerificationFailure(COULOMB, -1, -1, -1, 0.0, np.inf))
    place = worst.step, worst.island, worst.contact
    misfit = CoulombMisfit(stepper.law, worst.value, *place) if stepper.asks_backend else None
    return VerificationReport(recording.n_steps, steps.size, *tables, found, said, ledger.unexplained_failures, misfit)


def _checked(
    recording: Recording, steps: IntArray, pairs: PairCoverage, selections: EqualComplianceCheck | None
) -> list[tuple[IntArray, list[Found]]]:
    """Return all findings about steps; if the record has invalid numbers, find the faulty steps by halving."""
    try:
        with np.errstate(all="ignore"):
            return [(steps, list(findings(StepSlice.of(recording, steps), pairs, selections)))]
    except (IndexError, ValueError, np.linalg.LinAlgError):
        if steps.size == 1:
            return [(steps, [("form", np.zeros(1, dtype=np.int64), -1, -1, np.array([np.inf]))])]
        halves = (steps[: steps.size // 2], steps[steps.size // 2 :])
        return [found for half in halves for found in _checked(recording, half, pairs, selections)]


def _named(recording: Recording, failure: VerificationFailure) -> VerificationFailure:
    """Add the names of the contact's bodies to a failure; a failure without a contact stays as it is."""
    if failure.contact < 0:
        return failure
    names = recording.world.model.names
    numbers = [int(recording.rows[f"contact_body_{side}"][failure.contact]) for side in ("a", "b")]
    return replace(failure, bodies=tuple(names[n] for n in numbers if 0 <= n < len(names)))


class _FindingCollector:
    """Findings by condition; ``allowed`` bounds each one, and ``marked`` are the steps with uncertified forces."""

    def __init__(self, allowed: dict[str, float], keep: int, marked: IntArray) -> None:
        self.allowed = allowed
        self.counts = dict.fromkeys((*CONDITIONS, COULOMB), (0, 0))
        self.worst: dict[str, VerificationFailure] = {}
        self.failures: list[VerificationFailure] = []
        self.keep = keep
        self.marked = marked
        self.unexplained_failures = 0

    def add(self, steps: IntArray, found: list[Found]) -> None:
        """Count the values of findings about some steps; keep the worst of each condition, and the first failures."""
        bad: list[VerificationFailure] = []
        for condition, at, island, contact, values in found:
            if not values.size:
                continue
            # NaN fails; the residual in Coulomb's law is measured only.
            allowed = self.allowed.get(condition, np.inf)
            failed = np.flatnonzero(~(values <= allowed) & (condition != COULOMB))
            checked, before = self.counts[condition]
            self.counts[condition] = (checked + values.size, before + failed.size)
            where = [np.broadcast_to(one, values.shape) for one in (steps[at], island, contact)]
            self.unexplained_failures += int(np.count_nonzero(~np.isin(where[0][failed], self.marked)))
            worst = int(np.argmax(np.where(np.isnan(values), np.inf, values)))
            named = [
                VerificationFailure(condition, int(step), int(own), int(row), float(value), allowed)
                for step, own, row, value in ([one[n] for one in (*where, values)] for n in (worst, *failed))
            ]
            if condition not in self.worst or not values[worst] <= self.worst[condition].value:
                self.worst[condition] = named[0]
            bad += named[1:]
        self.failures += sorted(bad, key=lambda one: one.step)[: max(0, self.keep - len(self.failures))]

    def table(self) -> tuple[ConditionReport, ...]:
        """Return the conditions in their order."""
        return tuple(ConditionReport(name, *self.counts[name], self.worst.get(name)) for name in CONDITIONS)
