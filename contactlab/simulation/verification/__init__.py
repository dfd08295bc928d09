"""Independent checks of records: plain numpy from joints and shapes to the certificate, without kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from contactlab.constraint_solver.certificate import VERIFIED_WITHIN
from contactlab.multibody.spatial.arrays import IntArray, finite_number
from contactlab.naming import module_hooks
from contactlab.simulation.recording import Recording
from contactlab.simulation.verification.checks import findings
from contactlab.simulation.verification.equal_compliance_check import EqualComplianceCheck, SelectionReport
from contactlab.simulation.verification.island import COULOMB
from contactlab.simulation.verification.pair_coverage import PairCoverage
from contactlab.simulation.verification.portion import Found, StepSlice, portions, rows_of
from contactlab.simulation.world.errors import SimulationConfigError, whole_number

__all__ = ["CONDITIONS", "ConditionReport", "VerificationFailure", "VerificationReport", "verify"]

#: All checked conditions, with their statements.
CONDITIONS = {
    "form": "everything that the step refers to exists, and its equations can be formed",
    "solved": "every island was solved: its recorded residual is within the stepper's tolerance",
    "choice": "forces recorded as selected are selected, to 1e-3 of the largest; islands of at most 24 contacts",
    "lcp": "0 <= z _|_ M z + q >= 0, M and q formed again",
    "sign": "fN, fF+, fF- >= 0",
    "gap": "N v+ + kN + gammaN fN >= 0; in a relaxed law with -mu max|s| added",
    "complementarity": "fN (N v+ + kN + gammaN fN) = 0; in a relaxed law with -mu max|s| added",
    "cone": "sum(fF+ + fF-) <= mu fN",
    "dissipation": "fF . s + mu fN max|s| = 0, s = F v+",
    "bounds": "lo <= f <= hi of stops, friction and drives",
    "joint_law": "their force is at the bound given by the sign of their rate, or the rate is 0",
    "equations": "G v+ + kG = 0 of loops, mimic joints and drives without bounds",
    "rows": "errors and rates of joint rows agree with the world, and no required row is missing",
    "motion": "M (v+ - v) = h (tau - bias) + J^T impulse",
    "integration": "q+ is q moved along v+ for h, and by the projection's displacement; t+ = t + h",
    "projection": "p >= 0, |h^2 fT + s| <= mu (h^2 fN + p), if any row was too deep; no depth has grown",
    "kinematic": "poses and twists of kinematic bodies agree with their motions",
    "sleep": "sleeping bodies have rested long enough, keep their bits and touch nothing awake",
    "impulse": "the impulses of the contact table are h times the forces of z",
    "geometry": "gap, normal, point and friction of the contact table agree with the world",
    "slip": "slip and mode of the contact table agree with v+ and fN",
    "coverage": "every point within reach of a half-space, and every pair of shapes within reach, is in the table",
    "energy": "kinetic and potential energy agree with q and v",
}

#: Conditions by which a step is certified; the conditions of the LCP come first.
CERTIFIED = ("solved", "lcp", "sign", "gap", "complementarity", "cone", "dissipation", "bounds", "joint_law")

#: Parts of a record that are not compared.
UNCHECKED = (
    "not compared: contacts of meshes that are not convex and of terrain with shapes, numbers of contacts, variables "
    "of joint rows, residuals of islands except the scaled one, their certificates, pivots, warm starts, "
    "times of the run"
)


#: Maximum number of uncertified steps that a report names.
NAMED = 20


@dataclass(frozen=True)
class VerificationFailure:
    """A condition that is not satisfied.

    Attributes
    ----------
    condition
        A key of `CONDITIONS`.
    step, island, contact
        Place of the violation; the contact is a row of the record's contact table. -1: the island or step as a whole.
    value, tolerance
        Violation over scale, and its tolerance.
    bodies
        Names of the touching bodies, A first; empty if it is not a contact of two bodies of the world.
    """

    condition: str
    step: int
    island: int
    contact: int
    value: float
    tolerance: float
    bodies: tuple[str, ...] = ()

    def __str__(self) -> str:
        where = f"step {self.step}"
        where += f", island {self.island}" if self.island >= 0 else ""
        where += f", contact {self.contact}" if self.contact >= 0 else ""
        between = f"; of {' and '.join(self.bodies)}" if self.bodies else ""
        stated = f"{CONDITIONS[self.condition]}{between}"
        return f"{where}: {self.condition}: {self.value:.3g} > {self.tolerance:g} ({stated})"


@dataclass(frozen=True)
class ConditionReport:
    """One condition over all checks; ``worst`` is the violation closest to its tolerance, None if never checked."""

    condition: str
    checked: int
    failed: int
    worst: VerificationFailure | None


@dataclass(frozen=True)
class CoulombMisfit:
    """Violation of Coulomb's law, over its pyramid, by the steps of a friction backend.

    It is not a condition and never fails, because a relaxed law differs from Coulomb's.

    Attributes
    ----------
    law
        The backend's law, to which the conditions apply: ``"coulomb"`` or ``"relaxed"``.
    misfit
        The largest violation over scale of a condition of Coulomb's law, with its step, island and contact.
    """

    law: str
    misfit: float
    step: int
    island: int
    contact: int

    def __str__(self) -> str:
        where = f" (step {self.step}, island {self.island}, contact {self.contact})" if self.step >= 0 else ""
        return f"law stated: {self.law}; Coulomb's law is off by {self.misfit:.1e} of its scale at most{where}"


@dataclass(frozen=True)
class VerificationReport:
    """The result of the verification of a record.

    Attributes
    ----------
    steps, checked_steps, islands, contacts
        Steps of the record, and how many steps, islands and contacts were checked.
    conditions
        The results, in the order of `CONDITIONS`.
    failures
        The failures, in the order found, at most as many as requested; ``failed`` counts all.
    selection
        For steps that select forces (``TimeStepping(solver=None)``, no torsional or rolling friction): the distance of
        the recorded forces from the selected ones; None for others.
    uncertified
        Step and island of all forces that the record marks as accepted without a certificate
        (`contactlab.ForceChoice.UNCERTIFIED`), also in steps that were not checked.
    unexplained_failures
        Number of violated conditions in other steps.
    coulomb
        For a friction backend: the law of the conditions, and the violation of Coulomb's law.
    """

    steps: int
    checked_steps: int
    islands: int
    contacts: int
    conditions: tuple[ConditionReport, ...]
    failures: tuple[VerificationFailure, ...]
    selection: SelectionReport | None = None
    uncertified: tuple[tuple[int, int], ...] = ()
    unexplained_failures: int = 0
    coulomb: CoulombMisfit | None = None

    @property
    def failed(self) -> int:
        """Number of violated conditions, over all steps, islands and contacts."""
        return sum(condition.failed for condition in self.conditions)

    @property
    def holds(self) -> bool:
        """Return True if all checks passed and no forces were accepted without a certificate.

        The law of contact is the solver's: Coulomb's law, unless ``coulomb`` names another.
        """
        return self.failed == 0 and not self.uncertified

    def __str__(self) -> str:
        head = f"{self.checked_steps} of {self.steps} steps, {self.islands} islands, {self.contacts} contacts"
        lines = [head, f"{'condition':<16} {'checked':>8} {'failed':>7} {'worst':>9} {'allowed':>8}  where"]
        for report in self.conditions:
            worst = report.worst
            if worst is None:
                lines.append(f"{report.condition:<16} {0:>8} {0:>7} {'-':>9} {'-':>8}")
                continue
            where = f"step {worst.step}" + (f", contact {worst.contact}" if worst.contact >= 0 else "")
            lines.append(
                f"{report.condition:<16} {report.checked:>8} {report.failed:>7} {worst.value:>9.1e} "
                f"{worst.tolerance:>8.0e}  {where}"
            )
        lines += [UNCHECKED, *(str(one) for one in (self.selection, self.coulomb) if one is not None)]
        if self.uncertified:
            steps = sorted({step for step, _ in self.uncertified})
            named = ", ".join(map(str, steps[:NAMED])) + (", ..." if len(steps) > NAMED else "")
            lines.append(f"not certified, as the record says: {len(self.uncertified)} islands, in steps {named}")
        return "\n".join(lines)


#: Tolerance of a condition's violation over its scale.
ALLOWED = 1e-9
# Factor by which a residual may differ from the certified one, because of different rounding.
REFORMED = 1.001


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
        `contactlab.constraint_solver.certificate.VERIFIED_WITHIN` of the largest.
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
    limit = (
        ALLOWED if tolerance is None else finite_number(tolerance, "tolerance", SimulationConfigError, positive=True)
    )
    count, unsolved = recording.n_steps, recording.uncertified
    steps = np.union1d(np.arange(0, count, stride), np.arange(max(count - 1, 0), count))
    stepper = recording.stepper
    solved = max(limit, REFORMED * stepper.law_tolerance)
    by_solver = CERTIFIED if stepper.asks_backend or tolerance is None else CERTIFIED[:2]
    allowed = {name: solved if name in by_solver else limit for name in CONDITIONS} | {"choice": VERIFIED_WITHIN}
    ledger = _FindingCollector(allowed, keep, unsolved.steps)
    pairs = PairCoverage(recording.world, recording.stepper)
    # Only these steps select forces.
    selects = stepper.solver is None and not recording.world.has_moment_friction
    selections = EqualComplianceCheck() if selects else None
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
    return VerificationReport(count, steps.size, *tables, found, said, ledger.unexplained_failures, misfit)


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


if not TYPE_CHECKING:
    __getattr__, __dir__ = module_hooks(__name__, __all__)
