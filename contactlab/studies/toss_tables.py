"""Tables of cube-toss errors: compared with the published ones, and for each ingredient of the best model.

Source: Table II of B. Acosta, W. Yang, M. Posa, "Validating Robotics Simulators on Real-World Impacts", IEEE RA-L
7(3), 2022, arXiv 2110.00541: 550 tosses, identified parameters. Quoted from a public project that uses these numbers
as its acceptance bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from contactlab.studies.toss import MODELS, TossReport, TossSettings

#: Ingredients in the order in which they are added, with their settings.
INGREDIENTS: dict[str, tuple[str, ...]] = {
    "friction of the best model": ("mu",),
    "corners that give way": ("stiffness", "dissipation"),
    "corner radius": ("corner_radius",),
    "gravity of the data": ("gravity",),
    "exact cone": ("friction",),
    "inertia and board height": ("inertia_scale", "board_height"),
}


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


def _row(report: TossReport) -> PublishedRow:
    """Return a report as a row like the published ones: its settings as the name, then means and deviations."""
    settings = report.settings
    free = {name: getattr(settings, name) for name in ("edges", "substeps", "friction")}
    best = settings == replace(MODELS["best"], **free)
    model = "best" if best else f"mu {settings.mu:g}"
    directions = "cone" if settings.friction == "cone" else f"k {settings.edges}"
    name = f"contactlab ({model}, {directions}, {settings.substeps} sub-steps)"
    return PublishedRow(name, *report.position_percent, *report.rotation_deg)


def format_table(report: TossReport) -> str:
    """Return the published rows and the report's as plain text."""
    ours = _row(report)
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


def ablations() -> dict[str, TossSettings]:
    """Return settings by name: the rigid model, then the ingredients of the best model added in turn.

    After these follows the best model without one ingredient, for every ingredient except the first and the last.
    """
    rigid, best = MODELS["rigid"], MODELS["best"]
    rows, settings = {"friction alone": rigid}, rigid
    for name, fields in INGREDIENTS.items():
        settings = replace(settings, **{field: getattr(best, field) for field in fields})
        rows[f"+ {name}"] = settings
    # The friction is the rigid model's to 3 per cent. The best model without the last ingredient is the previous line.
    for name, fields in list(INGREDIENTS.items())[1:-1]:
        rows[f"best without {name}"] = replace(best, **{field: getattr(rigid, field) for field in fields})
    return rows


def format_ablation(rows: Sequence[tuple[str, TossReport]]) -> str:
    """Return one line per name and report."""
    width = max(len(name) for name, _ in rows)
    lines = [f"{'model':<{width}}  position, % width   rotation, deg"]
    for name, report in rows:
        position, rotation = report.position_percent, report.rotation_deg
        scores = f"{position[0]:>7.2f} +- {position[1]:>5.2f}  {rotation[0]:>6.2f} +- {rotation[1]:>5.2f}"
        failed = f"  {len(report.failures)} failed" if report.failures else ""
        lines.append(f"{name:<{width}}  {scores}{failed}")
    return "\n".join(lines)
