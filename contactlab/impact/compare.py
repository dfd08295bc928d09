"""Impact laws side by side on one problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

import lcp
from contactlab.formulation.discretized import form_impact_lcp, recover_forces
from contactlab.formulation.solution import ConstraintSolveError
from contactlab.impact.collision import ImpactProblem
from contactlab.impact.errors import ImpactError
from contactlab.impact.law import ImpactLaw, with_newtons_terms
from contactlab.impact.newton import Newton
from contactlab.impact.outcome import ImpactOutcome
from contactlab.impact.poisson import Poisson
from contactlab.impact.restitution import Restitution
from contactlab.impact.stronge import Stronge
from problem_data import ConstraintVelProblemData


def every_law(restitution: Restitution) -> dict[str, ImpactLaw]:
    """Return every law of the package with one coefficient, by name."""
    return {
        "Newton": Newton(restitution),
        "Newton, sequential": Newton(restitution, "sequential"),
        "Poisson": Poisson(restitution),
        "Poisson, sequential": Poisson(restitution, "sequential"),
        "Stronge, sequential": Stronge(restitution),
    }


@dataclass(frozen=True, eq=False)
class Comparison:
    """Outcomes of several laws on one problem; `str` is a table.

    Parameters
    ----------
    data : ConstraintVelProblemData
        The problem.
    outcomes : dict
        `ImpactOutcome` by the name of the law.
    failures : dict
        What the solver said, by the name of the law that has no outcome.
    solutions : int or None
        Number of solutions of the simultaneous Newton problem, by enumeration; None where it is too large to
        enumerate or softened. More than one velocity among them is what `unique` denies.
    unique : bool or None
        Whether all of them give the same velocity; impulses need not be unique where contacts are redundant.
    """

    data: ConstraintVelProblemData
    outcomes: Mapping[str, ImpactOutcome]
    failures: Mapping[str, str]
    solutions: int | None
    unique: bool | None

    def __getitem__(self, law: str) -> ImpactOutcome:
        """Return the outcome of one law."""
        return self.outcomes[law]

    @property
    def gains(self) -> tuple[str, ...]:
        """Names of the laws that gave the bodies energy."""
        return tuple(name for name, outcome in self.outcomes.items() if outcome.gains_energy)

    def __str__(self) -> str:
        width = max(len(name) for name in (*self.outcomes, *self.failures, "law"))
        lines = [f"{'law':<{width}}  {'energy':>9}  {'normal':>10}  {'friction':>10}  {'collisions':>10}  v+"]
        for name, o in self.outcomes.items():
            v = " ".join(f"{x:.6g}" for x in o.v_plus)
            note = ""
            if o.gains_energy:
                note += "  GAINS ENERGY"
            if not o.solved:
                note += f"  {o.status.name}: {o.message}"
            collisions = len(o.sequence) or "-"
            lines.append(
                f"{name:<{width}}  {o.energy_ratio:>9.6f}  {o.work_normal.sum():>10.3g}  "
                f"{o.work_tangential.sum():>10.3g}  {collisions:>10}  {v}{note}"
            )
        lines += [f"{name:<{width}}  not solved: {reason}" for name, reason in self.failures.items()]
        lines.append("energy: after / before; normal, friction: work [J]")
        if self.solutions is not None:
            what = "one velocity" if self.unique else "SEVERAL VELOCITIES"
            lines.append(f"the simultaneous Newton problem has {self.solutions} solution(s) by enumeration, {what}")
        return "\n".join(lines)


def compare(
    data: ConstraintVelProblemData,
    laws: Mapping[str, ImpactLaw] | Sequence[ImpactLaw] | None = None,
    *,
    restitution: Restitution | None = None,
    max_n: int = 12,
) -> Comparison:
    """Solve one impact by several laws.

    Parameters
    ----------
    data : ConstraintVelProblemData
        Problem with Mv = M v before the impact.
    laws : mapping or sequence of ImpactLaw, optional
        By name, or by their own representation; every law of the package if not given, which needs ``restitution``.
    restitution : float, (nc,) or RestitutionLaw, optional
        For the laws of the package, and for the enumeration.
    max_n : int
        Largest LCP to enumerate the solutions of.

    Raises
    ------
    ImpactError
        Neither laws nor restitution, or data that a law does not fit.
    """
    if laws is None:
        if restitution is None:
            raise ImpactError("restitution", "is missing: give it, or laws that have one")
        laws = every_law(restitution)
    if not isinstance(laws, Mapping):
        laws = {f"{i}: {type(law).__name__}": law for i, law in enumerate(laws)}
    for name, law in laws.items():
        if isinstance(law, type) or not isinstance(law, ImpactLaw):
            raise ImpactError("laws", f"{name!r} is not a law with a method solve(data), got {law!r}")
    outcomes: dict[str, ImpactOutcome] = {}
    failures: dict[str, str] = {}
    for name, law in laws.items():
        try:
            outcomes[name] = law.solve(data)
        except ConstraintSolveError as error:
            failures[name] = str(error)
    solutions, unique = uniqueness(data, restitution, max_n=max_n)
    return Comparison(data, outcomes, failures, solutions, unique)


def uniqueness(
    data: ConstraintVelProblemData, restitution: Restitution | None = None, *, max_n: int = 12
) -> tuple[int | None, bool | None]:
    """Return the number of solutions of Newton's simultaneous problem, and whether they share one velocity.

    Without restitution the data's kN is taken. A continuum of solutions counts by the points enumeration names of it.
    (None, None) where the LCP has more than ``max_n`` variables or enumeration could not decide every basis.
    """
    problem = ImpactProblem(data, "enumeration")
    if restitution is not None:
        data = with_newtons_terms(problem, restitution)
    formed = form_impact_lcp(data)
    if formed.n > max_n:
        return None, None
    listed = lcp.enumerate_solutions(formed.problem, max_n=max_n)
    if not listed.complete:
        return None, None
    velocities = [recover_forces(1.0, formed.rows, data.blocks(), z.copy())[1] for z in listed.solutions]
    size = max((float(np.abs(v).max(initial=0.0)) for v in velocities), default=0.0)
    same = all(np.abs(v - velocities[0]).max(initial=0.0) <= 1e-8 * size for v in velocities)
    return len(velocities), bool(same)
