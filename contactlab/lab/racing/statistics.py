"""Statistics of a race: performance profiles, shifted geometric means, growth with size, and a summary by solver.

A profile gives, for every ratio to the fastest solver, the fraction of problems that a solver solves within this ratio.
Growth is a power fitted to the measured times, valid only for the measured sizes.
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
    """Step functions rho_s(tau): fraction of problems that solver s solved within tau times the smallest cost.

    Attributes
    ----------
    ratios
        (problems, solvers) cost divided by the smallest cost of any solver on the problem; inf if it was not solved.
    """

    ratios: NDArray[np.float64]

    def share(self, tau: float) -> NDArray[np.float64]:
        """Return the fraction (solvers,) of problems solved within ``tau`` times the smallest cost, 0 without any."""
        if self.ratios.shape[0] == 0:
            return np.zeros(self.ratios.shape[1])
        return np.asarray((self.ratios <= tau).mean(axis=0))

    def steps(self, solver: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the ratios at which the solver's curve rises, ascending, and the fractions reached there."""
        tau, rises = np.unique(self.ratios[np.isfinite(self.ratios[:, solver]), solver], return_counts=True)
        return tau, np.cumsum(rises) / max(1, self.ratios.shape[0])

    @property
    def largest(self) -> float:
        """Largest finite ratio; 1 if there is none."""
        return float(self.ratios[np.isfinite(self.ratios)].max(initial=1.0))


def performance_profile(costs: ArrayLike) -> PerformanceProfile:
    """Return the profile of costs (times, pivots) of every solver on every problem.

    Parameters
    ----------
    costs
        (problems, solvers), each > 0; inf or NaN for a failure, whose ratio is infinite. An unsolved problem is kept:
        all its ratios are infinite.

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
    """Return exp(mean(log(t + shift))) - shift, with ``failed_at`` as the time of a failure.

    Parameters
    ----------
    times
        Seconds (k,); inf or NaN for a failure. Times above ``failed_at`` are replaced by it.
    shift
        Seconds added to each time, so that much smaller differences have no effect. Report a mean with its shift.
    failed_at
        Time of a failure [s]: the time limit.

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
        Parameters of the fit; seconds.
    standard_error
        Standard error of the exponent; inf for two points.
    least_n, largest_n
        Range of the fitted sizes. The fit is not valid outside.
    points
        Number of fitted problems.
    """

    exponent: float
    factor: float
    standard_error: float
    least_n: int
    largest_n: int
    points: int

    def at(self, n: float) -> float:
        """Return the fitted seconds for ``n``."""
        return self.factor * math.pow(n, self.exponent)


def fit_growth(n: ArrayLike, times: ArrayLike, *, least_points: int = 3, least_range: float = 4.0) -> Growth | None:
    """Fit times = factor n^exponent, by least squares of the logarithms.

    Parameters
    ----------
    n, times
        Sizes (k,) and seconds (k,). Failures (inf, NaN) and n = 0 are omitted.
    least_points
        Minimum number of different sizes.
    least_range
        Minimum ratio of the largest to the smallest size.

    Returns
    -------
    Growth or None
        None if there are too few sizes, or if they are too close to each other.
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
    return Growth(
        exponent=float(line.slope),
        factor=math.exp(line.intercept),
        standard_error=float(line.stderr) if sizes.size > 2 else math.inf,
        least_n=int(sizes.min()),
        largest_n=int(sizes.max()),
        points=int(sizes.size),
    )


#: Shift of the geometric mean [s]: differences far below a millisecond have no effect.
SHIFT = 1e-3
#: Times within this factor of the minimum count as the minimum, because repeated runs differ by this much.
NEAR = 1.1


@dataclass(frozen=True, eq=False, repr=False)
class RaceGroup:
    """Solvers of the same problems, and their results.

    Attributes
    ----------
    problem_class
        Class of the problems.
    problems, labels
        Names of the problems, and of the solvers with their settings.
    rows
        One row per problem and solver.
    """

    problem_class: str
    problems: tuple[str, ...]
    labels: tuple[str, ...]
    rows: dict[tuple[str, str], RaceRow]

    def __repr__(self) -> str:
        return f"RaceGroup({self.problem_class}: {len(self.problems)} problems; {', '.join(self.labels)})"

    @property
    def title(self) -> str:
        """The problem class and the law of friction of its problems."""
        return (
            f"{self.problem_class} ({LAWS[self.problem_class]})" if self.problem_class in LAWS else self.problem_class
        )

    @property
    def tolerance(self) -> float:
        """Bound on the residual of a solved problem."""
        return next(iter(self.rows.values())).tolerance

    @property
    def decided(self) -> tuple[str, ...]:
        """Problems that at least one solver solved; times and profiles use only these."""
        solved = {row.problem for row in self.rows.values() if row.solved}
        return tuple(name for name in self.problems if name in solved)

    def times(self, of: str = "time") -> NDArray[np.float64]:
        """Return wall times [s] (decided problems, solvers), or CPU times with "cpu"; inf if not solved."""
        places = {name: i for i, name in enumerate(self.decided)}
        times = np.full((len(places), len(self.labels)), np.inf)
        for (problem, label), row in self.rows.items():
            if row.solved:
                times[places[problem], self.labels.index(label)] = getattr(row, of)
        return times


@dataclass(frozen=True)
class SolverSummary:
    """One solver over a field.

    Attributes
    ----------
    label, origin
        Solver with settings; "contactlab", "peer" or "own".
    met
        Number of problems it was run on.
    solved, proved, wrong
        Numbers of problems that it solved, proved to have no solution, and wrongly claimed to be solved.
    failures
        Every other status, most frequent first.
    mean
        Shifted geometric mean [s] over the decided problems, with failures at the time limit; NaN for none.
    cpu_mean
        Shifted geometric mean of the processor times [s].
    median
        Median [s] over its solved problems; NaN for none.
    best
        Number of problems with the smallest time, or within 10 % of it.
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
    """Return rows by problem class, in their order."""
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
    """Return one summary per solver, sorted by the number of solved problems and then by the mean."""
    times = field.times()
    least = times.min(axis=1, initial=math.inf, keepdims=True)
    best = ((times <= NEAR * least) & np.isfinite(times)).sum(axis=0)
    worked = field.times("cpu")
    lines = []
    for j, label in enumerate(field.labels):
        rows = [row for (_, name), row in field.rows.items() if name == label]
        solved = [row.time for row in rows if row.solved]
        failures = Counter(row.status for row in rows if not row.solved and row.status not in PROVED)
        lines.append(
            SolverSummary(
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
        )
    return sorted(lines, key=lambda one: (-one.solved, -one.proved, one.mean if math.isfinite(one.mean) else math.inf))


def seconds_text(seconds: float) -> str:
    """Return seconds in a suitable unit; "-" for none."""
    if not math.isfinite(seconds):
        return "-"
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1.0:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.2g} us"


def failures_text(one: SolverSummary) -> str:
    """Return the statuses of failures, with counts."""
    return ", ".join(f"{count} {status.lower().replace('_', ' ')}" for status, count in one.failures) or "-"


def summary_table(field: RaceGroup, lines: Sequence[SolverSummary], time_limit: float) -> str:
    """Return a table with one line per solver and a header."""
    width = max([len("solver"), *(len(one.label) for one in lines)])
    decided = len(field.decided)
    text = [
        f"{field.title}: {len(field.problems)} problems, {decided} of them solved by at least one solver; "
        f"mean: shifted geometric (shift {seconds_text(SHIFT)}) over these, failures at {seconds_text(time_limit)}",
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
