"""Report of a verification."""

from __future__ import annotations

import math
from dataclasses import dataclass

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

#: Conditions with the tolerance of an external solver.
OF_LAW = ("solved", "lcp", "sign", "gap", "complementarity", "cone", "dissipation", "bounds", "joint_law")

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
class SelectionReport:
    """Distance of recorded forces from the equal-compliance forces.

    The distance covers all islands. If the branch of compliances ends early, a step uses forces that are not selected.
    The condition ``choice`` covers only islands whose forces are recorded as selected.
    """

    islands: int  # number of islands checked
    unique: int  # number of them in which no other forces give the same velocities
    larger: int  # number of islands with too many contacts to be checked
    lost: int  # number of islands whose selected forces were not found
    # The largest difference of forces over the largest force, over the compared islands, and its place (-1 without
    # any). It is infinite if forces should be compared and none of the selected ones were found.
    distance: float
    step: int
    island: int

    def __str__(self) -> str:
        far = "not selected" if math.isinf(self.distance) else f"{self.distance:.1e} of the largest force"
        where = f" (step {self.step}, island {self.island})" if self.step >= 0 else ""
        left = [f"{self.unique} of {self.islands} islands without a choice"]
        left += [f"{self.larger} larger ones not looked at"] if self.larger else []
        left += [f"{self.lost} not found anew"] if self.lost else []
        return f"selection: {far} off{where}; {', '.join(left)}"


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
