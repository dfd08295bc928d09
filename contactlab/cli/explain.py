"""`contactlab explain`: say what is known of a step that failed."""

from __future__ import annotations

import argparse
from pathlib import Path

from contactlab.cli import arguments as kinds
from contactlab.cli.verify import stamp_text
from contactlab.formulation.blocks import lcp_size
from contactlab.simulation.explanation import Explanation, explain_failure

EPILOG = """\
FILE is what a failed run leaves, <record>_failed_step<i>.npz, or the record itself; with the record beside it the
problem's step, time and contacts are told, too. The solver is asked again.
Exit status: 0 it is solved this time; 1 it is not; 2 unreadable.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command to its parser."""
    add = parser.add_argument
    add("file", type=Path, metavar="FILE", help="the dumped problem, or the record")
    add("--h", type=kinds.positive, help="step [s] of a problem without its record (default 1e-3)")
    add("--contacts", type=kinds.positive_integer, default=20, metavar="N", help="contacts listed at most")


def run(arguments: argparse.Namespace) -> int:
    """Explain, and say whether it is solved now."""
    explanation = explain_failure(arguments.file, h=arguments.h)
    if explanation.environment:
        print(stamp_text(explanation.environment))
    for line in lines(explanation, arguments.contacts):
        print(line)
    return 0 if explanation.solved else 1


def lines(explanation: Explanation, most: int) -> list[str]:
    """Return the explanation as lines of text, with at most so many contacts."""
    text = []
    if explanation.step is not None:
        when = "" if explanation.time is None else f", time {explanation.time:.9g} s"
        text.append(
            f"step {explanation.step}{when}" + ("" if explanation.h is None else f", h = {explanation.h:.6g} s")
        )
    text.append(explanation.reason)
    problem, result = explanation.problem, explanation.result
    if problem is not None:
        blocks = problem.blocks()
        text.append(
            f"sizes: {blocks.nv} velocities, {blocks.nc} contacts, {blocks.nr} friction rows, {blocks.nl} limits, "
            f"{blocks.nb} bilateral rows, {blocks.nbox} boxed rows; LCP of {lcp_size(blocks)} unknowns"
        )
        text.append(
            f"ranks: normal rows {explanation.rank_normal} of {blocks.nc}, all rows {explanation.rank} of "
            f"{blocks.J.shape[0]}; condition of N M^-1 N^T {explanation.condition:.1e}"
        )
    if result is not None:
        for attempt in result.attempts:
            detail = f": {attempt.detail}" if attempt.detail else ""
            text.append(
                f"tried {type(attempt.solver).__name__}: {attempt.status.name} after {attempt.iterations} iterations, "
                f"scaled residual {attempt.residual.scaled:.1e}{detail}"
            )
    for contact in explanation.contacts[:most]:
        x, y, z = contact.point
        text.append(
            f"contact: {contact.body} on {contact.other} at ({x:.6g}, {y:.6g}, {z:.6g}) m, gap {contact.gap:.3e} m, "
            f"mu {contact.mu:g}"
        )
    if len(explanation.contacts) > most:
        text.append(f"and {len(explanation.contacts) - most} contacts more")
    for joint in explanation.joints[:most]:
        text.append(f"joint: {joint.label}, off by or away from it {joint.error:.3e} rad or m")
    if len(explanation.joints) > most:
        text.append(f"and {len(explanation.joints) - most} rows of joints more")
    return text + [f"advice: {advice}" for advice in explanation.advice]
