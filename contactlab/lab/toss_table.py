"""The published table of cube-toss errors, with a row of our own.

Source: Table II of B. Acosta, W. Yang, M. Posa, "Validating Robotics Simulators on Real-World Impacts", IEEE RA-L
7(3), 2022, arXiv 2110.00541: 550 tosses, identified parameters. Quoted from a public project that uses these numbers
as its acceptance bound.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from contactlab.lab.toss import TossReport
from contactlab.lab.toss_settings import MODELS

__all__ = ["PUBLISHED", "PublishedRow", "format_table"]


@dataclass(frozen=True)
class PublishedRow:
    """Mean and standard deviation over tosses: position [% of the block width] and rotation [deg]."""

    simulator: str
    position_percent: float
    position_std: float
    rotation_deg: float
    rotation_std: float


PUBLISHED = (
    PublishedRow("Drake", 13.5, 8.2, 16.5, 20.0),
    PublishedRow("Bullet", 14.9, 8.9, 16.5, 20.2),
    PublishedRow("MuJoCo", 25.1, 10.8, 21.7, 21.4),
)


def format_table(report: TossReport) -> str:
    """Return the published rows and the report's, as aligned plain text."""
    settings = report.settings
    best = settings == replace(MODELS["best"], edges=settings.edges, substeps=settings.substeps)
    model = "best" if best else f"mu {settings.mu:g}"
    ours = PublishedRow(
        f"contactlab ({model}, k {settings.edges}, {settings.substeps} sub-steps)",
        *report.position_percent,
        *report.rotation_deg,
    )
    width = len(ours.simulator)
    lines = [f"{'simulator':<{width}}  position, % width  rotation, deg"]
    for row in (*PUBLISHED, ours):
        position = f"{row.position_percent:.1f} +- {row.position_std:.1f}"
        rotation = f"{row.rotation_deg:.1f} +- {row.rotation_std:.1f}"
        lines.append(f"{row.simulator:<{width}}  {position:>17}  {rotation:>13}")
    left_out = f" ({len(report.failures)} failed, left out of the means)" if report.failures else ""
    lines.append(
        f"Published rows: 550 tosses, Acosta, Yang, Posa (RA-L 2022), table II. Ours: {report.tosses} tosses{left_out}."
    )
    return "\n".join(lines)
