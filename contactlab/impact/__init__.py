"""Impacts: comparison of restitution laws, the impulse path of a single impact, and Painleve's paradox.

Every law takes one `problem_data.ConstraintVelProblemData`, whose Mv is the momentum before the impact, and returns an
`ImpactOutcome`. No law is right for all impacts: `compare` shows how far they differ, and which of them gain energy.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from contactlab.collision import PowerLaw, RestitutionLaw
from contactlab.constraint_solver.solution import ConstraintSolveError
from contactlab.constraint_solver.uniqueness import Uniqueness, motion_is_unique
from contactlab.impact.collision import Collision, ImpactProblem, Restitution
from contactlab.impact.law import ImpactLaw, ImpactOutcome, ImpactStatus, SequentialLaw, with_newtons_terms
from contactlab.impact.ordered_laws import Newton, Poisson, Stronge
from contactlab.impact.outcome_set import OutcomeSet, outcome_set
from contactlab.impact.painleve import (
    InstantMode,
    PainleveMap,
    painleve_map,
    painleve_scan,
    painleve_threshold,
    parameter_grid,
    problem_at,
)
from contactlab.impact.single import Phase, RouthDiagram, Segment, SingleImpact, State, routh_diagram
from contactlab.impact.single_laws import Brach, ChatterjeeRuina, Smith, TangentialCompliance
from contactlab.multibody.spatial.arrays import FloatArray, ImpactError, IntArray, finite_array
from contactlab.naming import module_hooks
from problem_data import ConstraintVelProblemData

__all__ = [
    "ALL_LAWS", "Brach", "ChatterjeeRuina", "Collision", "Comparison", "ImpactError", "ImpactLaw", "ImpactMap",
    "ImpactOutcome", "ImpactProblem", "ImpactStatus", "InstantMode", "ContactMotion", "Newton", "OutcomeSet",
    "PainleveMap", "Phase", "Poisson", "PowerLaw", "Restitution", "RestitutionLaw", "RouthDiagram", "Segment",
    "SequentialLaw", "SingleImpact", "Smith", "State", "Stronge", "TangentialCompliance", "compare", "all_laws",
    "outcome_set", "painleve_map", "painleve_scan", "painleve_threshold", "routh_diagram", "impact_map", "uniqueness",
]  # fmt: skip


#: All laws, as classes; `all_laws` has the three laws with an order, in both orders.
ALL_LAWS = (Newton, Poisson, Stronge, ChatterjeeRuina, Brach, Smith, TangentialCompliance)


def all_laws(restitution: Restitution) -> dict[str, ImpactLaw]:
    """Return the laws with an order, each in both orders, with one coefficient, by name."""
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
        Error messages of the solver, by name of a law without outcome.
    uniqueness : Uniqueness
        Number of velocities that solve the simultaneous Newton problem; impulses of redundant contacts may vary.
    outcomes_of_orders : OutcomeSet or None
        Velocities for all orders and interleavings of the contacts under Stronge's law, if requested.
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
        """Names of the laws that increased the energy."""
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
    samples: int = 0,
) -> Comparison:
    """Solve one impact by several laws.

    Parameters
    ----------
    data : ConstraintVelProblemData
        Problem with Mv = M v before the impact.
    laws : mapping or sequence of ImpactLaw, optional
        By name, or by their title; default the laws of `all_laws`, which need ``restitution``.
        ``[law(e) for law in ALL_LAWS]`` also has the laws of a single collision.
    restitution : float, (nc,) or RestitutionLaw, optional
        For the laws of `all_laws`, and for the enumeration.
    max_n : int
        Maximum size of an LCP whose solutions are enumerated; see `motion_is_unique`.
    samples : int
        Number of interleavings of single impacts for `outcome_set`; 0 for no such set. Needs ``restitution``.

    Raises
    ------
    ImpactError
        Neither laws nor restitution are given, or a law does not support the data.
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
    unique = uniqueness(data, restitution, max_n=max_n)
    return Comparison(data, outcomes, failures, unique, spread)


def uniqueness(
    data: ConstraintVelProblemData, restitution: Restitution | None = None, *, max_n: int = 12
) -> Uniqueness:
    """Count the velocities after an impact by Newton's simultaneous law: one, several or none.

    Without restitution the data's kN is used. For ``max_n``, the limit of the search, see
    `motion_is_unique`.
    """
    if restitution is not None:
        data = with_newtons_terms(ImpactProblem(data, "uniqueness"), restitution)
    return motion_is_unique(data, max_n=max_n)


# Relative to the contact's speed before: smaller slip has stopped, and a smaller separation speed counts as zero.
_NO_SPEED = 1e-7


class ContactMotion(enum.IntEnum):
    """Motion after an impact of the contact with the highest approach speed."""

    #: no contact approached
    NO_IMPACT = -2
    #: the law has no outcome, or did not end
    NOT_SOLVED = -1
    #: slip continues as it was
    CONTINUES_SLIDING = 0
    STICKS = 1
    #: slip has reversed, in space by more than a right angle
    SLIPS_BACK = 2


@dataclass(frozen=True, eq=False)
class ImpactMap:
    """Outcomes over a grid; arrays have the axes (law, restitution, and one for each parameter).

    Parameters
    ----------
    axes : dict
        Values of each parameter, by name, in the order of the array axes.
    restitutions : ndarray, shape (ne,)
        Coefficients.
    laws : tuple of str
        Names of the laws.
    energy_ratio : ndarray
        Energy after over energy before; NaN if the law was not solved.
    motion : ndarray of int
        `ContactMotion` of the contact with the highest approach speed.
    v_plus : ndarray, shape (..., nv)
        Velocity after the impact; NaN if the law was not solved.
    notices : ndarray of bool
        True at points at which the order of contacts decided the outcome.
    """

    axes: dict[str, FloatArray]
    restitutions: FloatArray
    laws: tuple[str, ...]
    energy_ratio: FloatArray
    motion: IntArray
    v_plus: FloatArray
    notices: np.ndarray

    @property
    def energy_gain_mask(self) -> np.ndarray:
        """Return a mask of the points at which a law increased the energy."""
        return np.asarray(self.energy_ratio > 1.0 + 1e-6)

    @property
    def spread(self) -> FloatArray:
        """Maximum difference between the laws' energy ratios, over restitution and parameters."""
        return np.asarray(np.ptp(self.energy_ratio, axis=0))

    def __str__(self) -> str:
        parameter_grid = " x ".join(f"{len(values)} {name}" for name, values in self.axes.items())
        lines = [f"{parameter_grid}, restitution {', '.join(f'{e:g}' for e in self.restitutions)}"]
        lines.append(f"{'law':<22} {'energy':>15}  {'gains':>6}  " + "  ".join(m.name.lower() for m in ContactMotion))
        for i, law in enumerate(self.laws):
            known = self.energy_ratio[i][np.isfinite(self.energy_ratio[i])]
            extent = f"{known.min():.3f} to {known.max():.3f}" if known.size else "-"
            counts = "  ".join(f"{np.count_nonzero(self.motion[i] == m):>{len(m.name)}}" for m in ContactMotion)
            lines.append(f"{law:<22} {extent:>15}  {np.count_nonzero(self.energy_gain_mask[i]):>6}  {counts}")
        return "\n".join(lines)


def impact_map(
    problem: Callable[..., ConstraintVelProblemData],
    axes: Mapping[str, ArrayLike],
    *,
    restitutions: Sequence[float] | FloatArray = (0.0, 0.5, 1.0),
    laws: Callable[[float], Mapping[str, ImpactLaw]] = all_laws,
    progress: Callable[[int, int], None] | None = None,
) -> ImpactMap:
    """Solve a family of impacts under several laws.

    Parameters
    ----------
    problem : callable
        Function that returns the impact for parameters given by name. It may be of any mechanism, for example
        ``constraint_solver.problem_data_from(model, q, v, contacts=..., h=None).velocity``.
    axes : mapping
        Values (k,) of each parameter by its name; all combinations are solved.
    restitutions : (ne,)
        Coefficients.
    laws : callable
        Function that returns laws by name for a coefficient; default `all_laws`, which has Newton's, Poisson's and
        Stronge's, each in both orders. ``lambda e: {law.title: law(e) for law in ALL_LAWS}`` has all laws of the
        package.
    progress : callable, optional
        Called with (points done, points in all).

    Raises
    ------
    ImpactError
        An axis has no values, or ``problem`` returns no problem; the error names the parameters.

    Examples
    --------
    >>> def rod(angle, mu):
    ...     M, x, y = np.diag([1.0, 1.0, 1 / 3]), -np.cos(angle), -np.sin(angle)
    ...     return ConstraintVelProblemData(M=M, Mv=M @ [0, -1, 0], N=[[0, 1, x]], F=[[1, 0, -y]], mu=[mu], r=[1])
    >>> found = impact_map(rod, {"angle": [0.5, 1.0], "mu": [0.0, 0.3, 1.0]}, restitutions=[0.5])
    >>> found.energy_ratio.shape, found.laws[0]
    ((6, 1, 2, 3), 'Newton')
    """
    values, points = parameter_grid(axes)
    e = finite_array(restitutions, "restitutions", (None,), ImpactError)
    if not e.size:
        raise ImpactError("restitutions", "are none")
    by_restitution = [laws(float(one)) for one in e]
    found = []
    for _, at in points:
        found.append(solve_point(problem_at(problem, at, ConstraintVelProblemData), by_restitution))
        if progress is not None:
            progress(len(found), len(points))
    # Arrays of a point have the axes (law, restitution), which come first in the map.
    sizes = tuple(given.size for given in values.values())
    energy, motion, notices, v_plus = (
        np.moveaxis(np.reshape(parts, (*sizes, *parts[0].shape)), (len(sizes), len(sizes) + 1), (0, 1)).copy()
        for parts in zip(*found, strict=True)
    )
    return ImpactMap(values, e, tuple(by_restitution[0]), energy, motion, v_plus, notices)


def solve_point(data: ConstraintVelProblemData, by_restitution: Sequence[Mapping[str, ImpactLaw]]) -> tuple[Any, ...]:
    """Return energy ratio, motion, notice (laws, restitutions) and v+ (laws, restitutions, nv) of one impact."""
    shape = (len(by_restitution[0]), len(by_restitution))
    energy, motion = np.full(shape, np.nan), np.full(shape, int(ContactMotion.NOT_SOLVED), dtype=np.int64)
    notices, v_plus = np.zeros(shape, dtype=bool), np.full((*shape, data.nv), np.nan)
    problem = ImpactProblem(data, "a map")
    for (j, by_name), (i, law) in itertools.product(enumerate(by_restitution), enumerate(by_restitution[0])):
        try:
            found = by_name[law].solve(data)
        except ConstraintSolveError:
            continue
        if found.solved:
            energy[i, j], v_plus[i, j] = found.energy_ratio, found.v_plus
            motion[i, j], notices[i, j] = _classify_motion(problem, found), bool(found.notice)
    return energy, motion, notices, v_plus


def _classify_motion(problem: ImpactProblem, found: ImpactOutcome) -> ContactMotion:
    """Classify the tangential motion after the impact, at the contact with the highest approach speed."""
    contacts = problem.collisions[: problem.blocks.nc]
    before = [one.velocity(problem.v_minus) for one in contacts]
    if not before or min(float(u[0]) for u in before) >= 0.0:
        return ContactMotion.NO_IMPACT
    i = int(np.argmin([float(u[0]) for u in before]))
    after = contacts[i].velocity(found.v_plus)
    size = float(np.linalg.norm(before[i]))
    if float(np.linalg.norm(after[1:])) <= _NO_SPEED * size:
        return ContactMotion.STICKS
    return ContactMotion.CONTINUES_SLIDING if float(after[1:] @ before[i][1:]) >= 0.0 else ContactMotion.SLIPS_BACK


if not TYPE_CHECKING:
    __getattr__, __dir__ = module_hooks(__name__, __all__)
