"""What the run does not show, written from the run."""

from __future__ import annotations

from collections.abc import Sequence

from contactlab.lab.racing.race_report import RaceReport
from contactlab.lab.racing.row import PROVED
from contactlab.lab.racing.summary import NEAR, SHIFT, Field, seconds_text

_NAMED = 8


def limitations(report: RaceReport) -> list[str]:
    """Sentences, plain text."""
    bounds = " and ".join(f"{field.tolerance:.0e} ({field.league})" for field in report.fields)
    return [
        f"Solved means: backward error (of friction: residuals) at most {bounds} on the problem's own data, "
        "measured after the solve, not by the solver. At another tolerance the order may "
        "differ: methods that end in a basis gain little from a looser one, first-order methods much.",
        f"Every solver had {seconds_text(report.time_limit)} per problem. A failure counts as that in the means, so "
        "their order depends on it. Those that take no time limit were ended from outside, later; what they would have "
        "found is not known.",
        _load(report),
        f"Times are the least of up to {report.repeats} solves of the same problem from nothing (no warm start), after "
        "a warm-up on problems of three unknowns; solves in which something was compiled do not count. They hold the "
        "solver's set-up, any conversion of the data, and for peers the passage from Python. Solves of more than a "
        "second were timed once or twice.",
        *(sentence for field in report.fields for sentence in _of_field(report, field)),
        *(["Left out: " + "; ".join(report.skipped) + "."] if report.skipped else []),
        "The problems are those that were given: no random sample of anything. Problems of one family resemble one "
        "another, and a family with many members weighs more in every total.",
    ]


def _load(report: RaceReport) -> str:
    before, after = report.load
    where = "the workers of a cluster" if report.cluster else f"{report.jobs} processes side by side"
    load = "The load of the machine is not known."
    if before is not None and after is not None:
        load = f"Its load was {before:.1f} before the race and {after:.1f} at its end"
        busy = before > 0.5 * report.machine.cores and not report.cluster
        load += ": others were computing there, and times may be too long." if busy else "."
    return (
        f"Trials ran on {where}, which share memory and caches ({report.machine.cores} cores). {load}"
        f"{_waiting(report)} Times of less than a tenth of a millisecond move by tens of percent from run to run."
    )


def _waiting(report: RaceReport) -> str:
    """How long solves waited for a core: time by the clock over processor time, of those longer than a time slice."""
    ratios = sorted(row.time / row.cpu for row in report.rows if row.cpu > 1e-3 and row.runs)
    if not ratios or ratios[len(ratios) // 2] < 1.2:
        return ""
    return (
        f" Solves of more than a millisecond took {ratios[len(ratios) // 2]:.1f} times their processor time by the "
        "clock (median), shorter ones hardly more than theirs: the clock is unfair to the slower solvers here, and "
        "processor times are the ones to compare."
    )


def _of_field(report: RaceReport, field: Field) -> list[str]:
    sizes = sorted({row.n for row in field.rows.values()})
    kinds = sorted({row.kind for row in field.rows.values()})
    sentences = [
        f"{field.league.capitalize()} ({', '.join(kinds)}): {len(field.problems)} problems with n from {sizes[0]} to "
        f"{sizes[-1]}; nothing is said about other sizes."
    ]
    undecided = [name for name in field.problems if name not in field.decided]
    if undecided:
        proved = {row.problem for row in field.rows.values() if row.status in PROVED}
        none = [name for name in undecided if name in proved]
        open_ones = [name for name in undecided if name not in proved]
        parts = []
        if none:
            parts.append(f"{len(none)} shown to have no solution ({_listed(none)})")
        if open_ones:
            parts.append(f"{len(open_ones)} that nobody solved ({_listed(open_ones)})")
        sentences.append(f"Profiles, means and medians leave out {' and '.join(parts)}.")
    times = field.times()
    if times.size:
        least = times.min(axis=1, keepdims=True)
        ties = int(((times <= NEAR * least).sum(axis=1) > 1).sum())
        sentences.append(
            f"On {ties} of {len(field.decided)} problems two or more solvers lie within {NEAR - 1:.0%} of the least "
            f"time; all of them count as best there. Below {seconds_text(SHIFT)} (the shift of the means) differences "
            "hardly count."
        )
    crashed = sorted({row.label for row in field.rows.values() if row.status == "CRASHED"})
    if crashed:
        sentences.append(f"Crashes (exceptions, or processes that died) count as failures: {_listed(crashed)}.")
    converted = sorted({row.kind for row in field.rows.values()} - {"LCP"})
    if converted and field.league == "complementarity":
        sentences.append(
            f"Solvers of plain problems met {', '.join(converted)} reduced or converted, which is part of their time."
        )
    return sentences


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
