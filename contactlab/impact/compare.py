"""Impact laws side by side on one problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contactlab.formulation.solution import ConstraintSolveError
from contactlab.formulation.uniqueness import Uniqueness, motion_is_unique
from contactlab.impact.collision import ImpactProblem
from contactlab.impact.law import ImpactLaw, with_newtons_terms
from contactlab.impact.newton import Newton
from contactlab.impact.outcome import ImpactOutcome
from contactlab.impact.outcome_set import OutcomeSet, outcome_set
from contactlab.impact.poisson import Poisson
from contactlab.impact.restitution import Restitution
from contactlab.impact.stronge import Stronge
from contactlab.spatial.errors import ImpactError
from problem_data import ConstraintVelProblemData


def all_laws(restitution: Restitution) -> dict[str, ImpactLaw]:
    """Return the laws that have an order, each in both, with one coefficient, by name."""
    return {
        "Newton": Newton(restitution),
        "Newton, sequential": Newton(restitution, "sequential"),
        "Poisson": Poisson(restitution),
        "Poisson, sequential": Poisson(restitution, "sequential"),
        "Stronge": Stronge(restitution),
        "Stronge, sequential": Stronge(restitution, "sequential"),
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
        Messages of the solver, by the name of the law that has no outcome.
    uniqueness : Uniqueness
        Whether the simultaneous Newton problem has one velocity; impulses need not be unique where contacts are
        redundant.
    outcomes_of_orders : OutcomeSet or None
        What orders and interleavings of the contacts leave open under Stronge's law, where it was asked for.
    """

    data: ConstraintVelProblemData
    outcomes: Mapping[str, ImpactOutcome]
    failures: Mapping[str, str]
    uniqueness: Uniqueness
    outcomes_of_orders: OutcomeSet | None = None

    def __getitem__(self, law: str) -> ImpactOutcome:
        """Return the outcome of one law."""
        return self.outcomes[law]

    @property
    def gains(self) -> tuple[str, ...]:
        """Names of the laws that gave the bodies energy."""
        return tuple(name for name, outcome in self.outcomes.items() if outcome.gains_energy)

    @property
    def unique(self) -> bool | None:
        """Whether the simultaneous Newton problem has exactly one velocity; None if that is not known."""
        return self.uniqueness.unique

    @property
    def solutions(self) -> int | None:
        """How many solutions enumeration lists, None if it was not needed or the problem is too large for it."""
        return self.uniqueness.enumerated

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
            lines.append(
                f"{name:<{width}}  {o.energy_ratio:>9.6f}  {o.work_normal.sum():>10.3g}  "
                f"{o.work_tangential.sum():>10.3g}  {o.collisions or '-':>10}  {v}{note}"
            )
        lines += [f"{name}: {o.notice}" for name, o in self.outcomes.items() if o.notice]
        lines += [f"{name:<{width}}  not solved: {reason}" for name, reason in self.failures.items()]
        lines.append(
            "energy: after / before; normal, friction: work [J], of laws without a course along a straight chord"
        )
        lines.append(f"the simultaneous Newton problem: {self.uniqueness}")
        if self.outcomes_of_orders is not None:
            lines.append(f"orders and interleavings under Stronge's law: {self.outcomes_of_orders}")
        return "\n".join(lines)


def compare(
    data: ConstraintVelProblemData,
    laws: Mapping[str, ImpactLaw] | Sequence[ImpactLaw] | None = None,
    *,
    restitution: Restitution | None = None,
    max_n: int = 12,
    max_nodes: int = 0,
    samples: int = 0,
) -> Comparison:
    """Solve one impact by several laws.

    Parameters
    ----------
    data : ConstraintVelProblemData
        Problem with Mv = M v before the impact.
    laws : mapping or sequence of ImpactLaw, optional
        By name, or by their title; by default the laws of `all_laws`, which need ``restitution``.
        ``[law(e) for law in ALL_LAWS]`` has the laws of one collision, too.
    restitution : float, (nc,) or RestitutionLaw, optional
        For the laws of `all_laws`, and for the enumeration.
    max_n, max_nodes : int
        Largest LCP to enumerate the solutions of, and nodes of the search of larger ones; see `motion_is_unique`.
    samples : int
        Interleavings of single impacts for `outcome_set`; 0 for no such set. Needs ``restitution``.

    Raises
    ------
    ImpactError
        Neither laws nor restitution, or data that a law does not fit.
    """
    if laws is None:
        if restitution is None:
            raise ImpactError("restitution", "is missing: give it, or laws that have one")
        laws = all_laws(restitution)
    if not isinstance(laws, Mapping):
        laws = {f"{i}: {law.title}": law for i, law in enumerate(laws)}
    for name, law in laws.items():
        if isinstance(law, type) or not isinstance(law, ImpactLaw):
            raise ImpactError(
                "laws", f"{name!r} is not a law with title, solve(data) and of_materials(restitution), got {law!r}"
            )
    if samples and restitution is None:
        raise ImpactError("restitution", "is missing: the set of outcomes needs it")
    outcomes: dict[str, ImpactOutcome] = {}
    failures: dict[str, str] = {}
    for name, law in laws.items():
        try:
            outcomes[name] = law.solve(data)
        except ConstraintSolveError as error:
            failures[name] = str(error)
    spread = None
    if samples and restitution is not None:
        spread = outcome_set(data, restitution, samples=samples)
    unique = uniqueness(data, restitution, max_n=max_n, max_nodes=max_nodes)
    return Comparison(data, outcomes, failures, unique, spread)


def uniqueness(
    data: ConstraintVelProblemData, restitution: Restitution | None = None, *, max_n: int = 12, max_nodes: int = 0
) -> Uniqueness:
    """Return whether Newton's simultaneous problem has one velocity, several or none; see `motion_is_unique`.

    Without restitution the data's kN is taken.
    """
    if restitution is not None:
        data = with_newtons_terms(ImpactProblem(data, "uniqueness"), restitution)
    return motion_is_unique(data, max_n=max_n, max_nodes=max_nodes)
