"""The error of the simulated tosses over friction coefficient and cone: how sharp the one fitted number is."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from contactlab.lab.datasets.cube_toss import CubeTosses
from contactlab.lab.toss import TossReport, run_tosses
from contactlab.lab.toss_settings import TossSettings

__all__ = ["CURVE_MU", "format_row", "scan_header", "scan_tosses", "write_csv"]

CURVE_MU = (0.14, 0.15, 0.16, 0.165, 0.17, 0.175, 0.18, 0.185, 0.19, 0.2, 0.22)


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


def scan_header() -> str:
    """Return the head of the table `format_row` fills."""
    return "  k      mu  position, % width  rotation, deg  failed  seconds"


def format_row(report: TossReport) -> str:
    """Return one report as a line."""
    settings = report.settings
    position, rotation = report.position_percent, report.rotation_deg
    return (
        f"{settings.edges:>3}  {settings.mu:>6g}  {position[0]:>8.2f} +- {position[1]:>5.2f}  "
        f"{rotation[0]:>5.2f} +- {rotation[1]:>5.2f}  {len(report.failures):>6}  {report.seconds:>7.1f}"
    )


def write_csv(path: str | Path, reports: Sequence[TossReport]) -> Path:
    """Write one line per report."""
    path = Path(path)
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(
            ["edges", "mu", "substeps", "position_percent", "position_std", "rotation_deg", "rotation_std", "failed"]
        )
        for report in reports:
            settings = report.settings
            writer.writerow(
                [
                    settings.edges,
                    settings.mu,
                    settings.substeps,
                    *(f"{value:.6g}" for value in (*report.position_percent, *report.rotation_deg)),
                    len(report.failures),
                ]
            )
    return path
