"""Tables of cube-toss errors: beside the published ones, ingredient by ingredient, over friction and cone.

Source: Table II of B. Acosta, W. Yang, M. Posa, "Validating Robotics Simulators on Real-World Impacts", IEEE RA-L
7(3), 2022, arXiv 2110.00541: 550 tosses, identified parameters. Quoted from a public project that uses these numbers
as its acceptance bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from contactlab.lab.datasets.cube_toss import CubeTosses
from contactlab.lab.sweeps.store import write_csv as write_rows
from contactlab.studies.toss import TossReport, run_tosses
from contactlab.studies.toss_settings import MODELS, TossSettings

#: Ingredients in the order in which they are added, with the settings that make them up.
INGREDIENTS: dict[str, tuple[str, ...]] = {
    "friction of the best model": ("mu",),
    "corners that give way": ("stiffness", "dissipation"),
    "corner radius": ("corner_radius",),
    "gravity of the data": ("gravity",),
    "exact cone": ("friction",),
    "inertia and board height": ("inertia_scale", "board_height"),
}

#: Head of the table `format_scan_row` fills.
SCAN_HEADER = "  k      mu  position, % width  rotation, deg  failed  seconds"
#: Friction coefficients of the curve.
CURVE_MU = (0.14, 0.15, 0.16, 0.165, 0.17, 0.175, 0.18, 0.185, 0.19, 0.2, 0.22)


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
    """Return a report as a row of the table."""
    settings = report.settings
    same = replace(settings, members=MODELS["best"].members)
    best = same == replace(MODELS["best"], edges=same.edges, substeps=same.substeps, friction=same.friction)
    model = "best" if best else f"mu {settings.mu:g}"
    directions = "cone" if settings.friction == "cone" else f"k {settings.edges}"
    medoid = f", medoid of {settings.members}" if settings.members > 1 else ""
    name = f"contactlab ({model}, {directions}, {settings.substeps} sub-steps{medoid})"
    return PublishedRow(name, *report.position_percent, *report.rotation_deg)


def format_table(report: TossReport, single: TossReport | None = None) -> str:
    """Return the published rows and the report's as plain text; before a medoid's, that of the single paths."""
    reports = [report] if single is None or single is report else [single, report]
    ours = [_row(one) for one in reports]
    width = max(len(row.simulator) for row in ours)
    lines = [f"{'simulator':<{width}}  position, % width  rotation, deg"]
    for row in (*PUBLISHED, *ours):
        position = f"{row.position_percent:.1f} +- {row.position_std:.1f}"
        rotation = f"{row.rotation_deg:.1f} +- {row.rotation_std:.1f}"
        lines.append(f"{row.simulator:<{width}}  {position:>17}  {rotation:>13}")
    left_out = f" ({len(report.failures)} failed, left out of the means)" if report.failures else ""
    lines.append(
        f"Published rows: 550 tosses, Acosta, Yang, Posa (RA-L 2022), table II. Ours: {report.tosses} tosses{left_out}."
    )
    return "\n".join(lines)


@dataclass(frozen=True)
class Ablation:
    """A line of the table and its settings."""

    name: str
    settings: TossSettings


def ablations() -> tuple[Ablation, ...]:
    """Return the rigid model, the ingredients of the best added in turn, and the best without each of them."""
    rigid, best = MODELS["rigid"], MODELS["best"]
    rows = [Ablation("friction alone", rigid)]
    settings = rigid
    for name, fields in INGREDIENTS.items():
        settings = replace(settings, **{field: getattr(best, field) for field in fields})
        rows.append(Ablation(f"+ {name}", settings))
    # The friction is the rigid model's to 3 per cent; without the last ingredient it is the line before the best.
    for name, fields in list(INGREDIENTS.items())[1:-1]:
        rows.append(Ablation(f"best without {name}", replace(best, **{f: getattr(rigid, f) for f in fields})))
    return tuple(rows)


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


def scan_tosses(
    tosses: CubeTosses,
    settings: TossSettings,
    frictions: Sequence[float],
    cones: Sequence[int],
    *,
    workers: int | None = None,
) -> Iterator[TossReport]:
    """Yield the report of each (k, mu), k by k, the other settings kept."""
    for edges in cones:
        for mu in frictions:
            yield run_tosses(tosses, replace(settings, mu=mu, edges=edges), workers=workers)


def format_scan_row(report: TossReport) -> str:
    """Return one report as a line."""
    settings = report.settings
    position, rotation = report.position_percent, report.rotation_deg
    return (
        f"{settings.edges:>3}  {settings.mu:>6g}  {position[0]:>8.2f} +- {position[1]:>5.2f}  "
        f"{rotation[0]:>5.2f} +- {rotation[1]:>5.2f}  {len(report.failures):>6}  {report.seconds:>7.1f}"
    )


def write_csv(path: str | Path, reports: Sequence[TossReport]) -> Path:
    """Write one line per report."""
    measures = ("position_percent", "position_std", "rotation_deg", "rotation_std")
    settings = ("edges", "mu", "substeps")
    rows = []
    for report in reports:
        scores = (f"{value:.6g}" for value in (*report.position_percent, *report.rotation_deg))
        chosen = {name: getattr(report.settings, name) for name in settings}
        rows.append({**chosen, **dict(zip(measures, scores, strict=True)), "failed": len(report.failures)})
    return write_rows(path, rows, (*settings, *measures, "failed"))
