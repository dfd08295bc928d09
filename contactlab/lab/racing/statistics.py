"""Statistics of a race: profiles, a mean that no single time rules, growth with size; and its summary by solver.

A profile says, for every ratio to the fastest, the share of problems a solver is within. Growth is a power fitted to
what was measured, and no further.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contactlab.lab.racing.kinds import KINDS, LAWS, PROVED, RaceRow


@dataclass(frozen=True, eq=False)
class PerformanceProfile:
    """Step functions rho_s(tau) = share of the problems that solver s solved within tau times the least cost.

    Attributes
    ----------
    ratios
        Cost over the least cost of any solver on that problem, (problems, solvers); inf where it was not solved.
    labels
        Names of the solvers, column by column.
    """

    ratios: NDArray[np.float64]
    labels: tuple[str, ...] = ()

    def share(self, tau: float) -> NDArray[np.float64]:
        """Share (solvers,) of the problems solved within ``tau`` times the least cost; 0 if there are none."""
        if self.ratios.shape[0] == 0:
            return np.zeros(self.ratios.shape[1])
        return np.asarray((self.ratios <= tau).mean(axis=0))

    def steps(self, solver: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Ratios at which the solver's curve rises, ascending, and the share reached there."""
        finite = np.sort(self.ratios[np.isfinite(self.ratios[:, solver]), solver])
        tau, rises = np.unique(finite, return_counts=True)
        return tau, np.cumsum(rises) / max(1, self.ratios.shape[0])

    def __str__(self) -> str:
        """Return a line per solver: the share of problems solved within once, twice and ten times the least cost."""
        shares = np.stack([self.share(tau) for tau in (1.0, 2.0, 10.0)], axis=1).tolist()
        names = self.labels or tuple(f"solver {j}" for j in range(len(shares)))
        wide = max((len(name) for name in names), default=0)
        lines = [f"{self.ratios.shape[0]} problems; share solved within 1, 2, 10 times the least cost"]
        rows = zip(names, shares, strict=True)
        return "\n".join(lines + [f"{name:{wide}} {a:6.3f} {b:6.3f} {c:6.3f}" for name, (a, b, c) in rows])

    @property
    def largest(self) -> float:
        """Largest finite ratio; 1 if there is none."""
        finite = self.ratios[np.isfinite(self.ratios)]
        return float(finite.max(initial=1.0))


def performance_profile(costs: ArrayLike) -> PerformanceProfile:
    """Profile of costs (times, pivots) of every solver on every problem.

    Parameters
    ----------
    costs
        (problems, solvers), each > 0; inf or NaN where the solver failed, which counts as an infinite ratio. A problem
        that nobody solved is kept: all its ratios are infinite.

    Raises
    ------
    ValueError
        If the array is not two-dimensional or a cost is not positive.

    References
    ----------
    E. D. Dolan, J. J. Moré, Benchmarking optimization software with performance profiles, Mathematical Programming 91
    (2002).
    """
    table = np.array(costs, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"costs must have shape (problems, solvers), got {table.shape}")
    table[np.isnan(table)] = np.inf
    if (table <= 0.0).any():
        i, j = (int(k) for k in np.argwhere(table <= 0.0)[0])
        raise ValueError(f"costs[{i}, {j}] = {table[i, j]} is not positive; a failure is inf")
    least = table.min(axis=1, initial=np.inf, keepdims=True)
    ratios = np.full(table.shape, np.inf)
    np.divide(table, least, out=ratios, where=np.isfinite(table))
    return PerformanceProfile(ratios)


def shifted_geometric_mean(times: ArrayLike, *, shift: float, failed_at: float) -> float:
    """exp(mean(log(t + shift))) - shift, a failure counting as ``failed_at``.

    Parameters
    ----------
    times
        Seconds (k,); inf or NaN for a failure. Times above ``failed_at`` count as that.
    shift
        Seconds added to each, so that differences far below it do not count. A mean is stated with its shift.
    failed_at
        Seconds a failure counts for: the time limit.

    Returns
    -------
    float
        Seconds; NaN if there are no times.

    References
    ----------
    T. Achterberg, Constraint Integer Programming, dissertation, TU Berlin (2007), appendix A.3.
    """
    if not (shift >= 0.0 and math.isfinite(shift)):
        raise ValueError(f"shift = {shift} is not a finite number >= 0")
    if not (failed_at > 0.0 and math.isfinite(failed_at)):
        raise ValueError(f"failed_at = {failed_at} is not a finite number > 0")
    given = np.atleast_1d(np.array(times, dtype=np.float64))
    if given.size == 0:
        return math.nan
    if (given < 0.0).any():
        raise ValueError(f"times hold {given.min()}, which is negative")
    counted = np.where(np.isfinite(given), np.minimum(given, failed_at), failed_at) + shift
    if (counted == 0.0).any():
        raise ValueError("a time of 0 needs a shift > 0")
    return float(np.exp(np.log(counted).mean()) - shift)


@dataclass(frozen=True)
class Growth:
    """time = factor * n ** exponent, by least squares on logarithms.

    Attributes
    ----------
    exponent, factor
        Of the fit; seconds.
    standard_error
        Of the exponent; inf for two points, which any line meets.
    least_n, largest_n
        Range of sizes it rests on. It says nothing beyond.
    points
        Problems it rests on.
    """

    exponent: float
    factor: float
    standard_error: float
    least_n: int
    largest_n: int
    points: int

    def at(self, n: float) -> float:
        """Seconds the fit gives for ``n``."""
        return self.factor * math.pow(n, self.exponent)


def fit_growth(n: ArrayLike, times: ArrayLike, *, least_points: int = 3, least_range: float = 4.0) -> Growth | None:
    """Fit a power of n to times.

    Parameters
    ----------
    n, times
        Sizes (k,) and seconds (k,). Failures (inf, NaN) and n = 0 are left out.
    least_points
        Different sizes that a fit needs.
    least_range
        Largest over smallest size that a fit needs.

    Returns
    -------
    Growth or None
        None if there are too few sizes, or too close to one another.
    """
    from scipy.stats import linregress

    sizes, seconds = np.asarray(n, dtype=np.float64), np.asarray(times, dtype=np.float64)
    if sizes.shape != seconds.shape or sizes.ndim != 1:
        raise ValueError(f"n and times must be vectors of one length, got shapes {sizes.shape} and {seconds.shape}")
    kept = np.isfinite(seconds) & (seconds > 0.0) & (sizes > 0.0)
    sizes, seconds = sizes[kept], seconds[kept]
    if np.unique(sizes).size < max(2, least_points) or sizes.max() < least_range * sizes.min():
        return None
    line = linregress(np.log(sizes), np.log(seconds))
    error = float(line.stderr) if sizes.size > 2 else math.inf
    factor = math.exp(line.intercept)
    return Growth(float(line.slope), factor, error, int(sizes.min()), int(sizes.max()), int(sizes.size))


#: Shift of the geometric mean [s]: differences far below a millisecond do not count.
SHIFT = 1e-3
#: Times within this factor of the least count as the least: repeated runs differ by that much.
NEAR = 1.1


@dataclass(frozen=True, eq=False, repr=False)
class RaceGroup:
    """Solvers that met the same problems, and their results.

    Attributes
    ----------
    problem_class
        Of the problems.
    problems, labels
        Names; of solvers with their settings.
    rows
        One per problem and solver that met.
    """

    problem_class: str
    problems: tuple[str, ...]
    labels: tuple[str, ...]
    rows: dict[tuple[str, str], RaceRow]

    def __repr__(self) -> str:
        return f"RaceGroup({self.problem_class}: {len(self.problems)} problems; {', '.join(self.labels)})"

    @property
    def title(self) -> str:
        """The problem class, and the law of friction that its problems have."""
        return (
            f"{self.problem_class} ({LAWS[self.problem_class]})" if self.problem_class in LAWS else self.problem_class
        )

    @property
    def tolerance(self) -> float:
        """Bound on the residual under which they solved."""
        return next(iter(self.rows.values())).tolerance

    @property
    def decided(self) -> tuple[str, ...]:
        """Problems that somebody solved: what times and profiles are taken over."""
        solved = {row.problem for row in self.rows.values() if row.solved}
        return tuple(name for name in self.problems if name in solved)

    def times(self, of: str = "time") -> NDArray[np.float64]:
        """Seconds (decided problems, solvers), by the clock or, with "cpu", of the processor; inf where not solved."""
        times = [[self._time(name, label, of) for label in self.labels] for name in self.decided]
        return np.array(times, dtype=np.float64).reshape((-1, len(self.labels)))

    def _time(self, problem: str, label: str, of: str) -> float:
        row = self.rows.get((problem, label))
        return float(getattr(row, of)) if row is not None and row.solved else math.inf


@dataclass(frozen=True)
class SolverSummary:
    """One solver over a field.

    Attributes
    ----------
    label, origin
        Solver with settings; "contactlab", "peer" or "own".
    met
        Problems it was put to.
    solved, proved, wrong
        How many it solved; showed to have no solution; claimed solved that it had not.
    failures
        Every other status, most frequent first.
    mean
        Shifted geometric mean [s] over the problems that somebody solved, failures at the time limit; NaN for none.
    cpu_mean
        The same of processor times.
    median
        Median [s] over what it solved; NaN for none.
    best
        Problems on which its time was the least, or within 10 % of it.
    """

    label: str
    origin: str
    met: int
    solved: int
    proved: int
    wrong: int
    failures: tuple[tuple[str, int], ...]
    mean: float
    cpu_mean: float
    median: float
    best: int


def fields_of(rows: Iterable[RaceRow]) -> list[RaceGroup]:
    """Return rows by problem class, in the order of arrival."""
    leagues = {kind.name: kind.problem_class for kind in KINDS}
    sorted_rows: dict[str, list[RaceRow]] = {}
    for row in rows:
        sorted_rows.setdefault(leagues.get(row.kind, row.kind), []).append(row)
    return [
        RaceGroup(
            league,
            tuple(dict.fromkeys(row.problem for row in some)),
            tuple(dict.fromkeys(row.label for row in some)),
            {(row.problem, row.label): row for row in some},
        )
        for league, some in sorted_rows.items()
    ]


def summaries(field: RaceGroup, time_limit: float) -> list[SolverSummary]:
    """One line per solver, who solved most first, then by the mean."""
    times = field.times()
    least = times.min(axis=1, initial=math.inf, keepdims=True)
    best = ((times <= NEAR * least) & np.isfinite(times)).sum(axis=0)
    worked = field.times("cpu")
    lines = []
    for j, label in enumerate(field.labels):
        rows = [row for (_, name), row in field.rows.items() if name == label]
        solved = [row.time for row in rows if row.solved]
        failures = Counter(row.status for row in rows if not row.solved and row.status not in PROVED)
        summary = SolverSummary(
            label=label,
            origin=rows[0].origin,
            met=len(rows),
            solved=len(solved),
            proved=sum(row.status in PROVED for row in rows),
            wrong=sum(row.wrong for row in rows),
            failures=tuple(failures.most_common()),
            mean=shifted_geometric_mean(times[:, j], shift=SHIFT, failed_at=time_limit),
            cpu_mean=shifted_geometric_mean(worked[:, j], shift=SHIFT, failed_at=time_limit),
            median=float(np.median(solved)) if solved else math.nan,
            best=int(best[j]),
        )
        lines.append(summary)
    return sorted(lines, key=lambda one: (-one.solved, -one.proved, one.mean if math.isfinite(one.mean) else math.inf))


def seconds_text(seconds: float) -> str:
    """Seconds in a unit that reads well; "-" for none."""
    if not math.isfinite(seconds):
        return "-"
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1.0:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.2g} us"


def failures_text(one: SolverSummary) -> str:
    """Statuses other than solved, with counts."""
    return ", ".join(f"{count} {status.lower().replace('_', ' ')}" for status, count in one.failures) or "-"


def summary_table(field: RaceGroup, lines: Sequence[SolverSummary], time_limit: float) -> str:
    """One line per solver, with a heading."""
    width = max([len("solver"), *(len(one.label) for one in lines)])
    decided = len(field.decided)
    text = [
        f"{field.title}: {len(field.problems)} problems, {decided} of them solved by somebody; mean: shifted "
        f"geometric (shift {seconds_text(SHIFT)}) over those, failures at {seconds_text(time_limit)}",
        f"{'solver':{width}}  {'solved':>7}  {'proved':>6}  {'wrong':>5}  {'mean':>9}  {'cpu mean':>9}  "
        f"{'median':>9}  {'best on':>7}  "
        "failures",
    ]
    text += [
        f"{one.label:{width}}  {one.solved:3d}/{one.met:<3d}  {one.proved:6d}  {one.wrong:5d}  "
        f"{seconds_text(one.mean):>9}  {seconds_text(one.cpu_mean):>9}  "
        f"{seconds_text(one.median):>9}  {one.best:7d}  {failures_text(one)}"
        for one in lines
    ]
    return "\n".join(text)
