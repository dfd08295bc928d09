"""Score the ingredients of the model `best` of cube tosses, added in turn, and the model without each of them.

python benchmarks/toss_ablation.py tosses.npz [--edges K] [--substeps N] [--friction pyramid] [--plot PNG]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from contactlab.lab.datasets import load_cube_tosses
from contactlab.lab.studies import MODELS, TossReport, TossSettings, run_tosses

#: Ingredients in the order in which they are added, with their settings.
INGREDIENTS: dict[str, tuple[str, ...]] = {
    "friction of the best model": ("mu",),
    "corners that give way": ("stiffness", "dissipation"),
    "corner radius": ("corner_radius",),
    "gravity of the data": ("gravity",),
    "exact cone": ("friction",),
    "inertia and board height": ("inertia_scale", "board_height"),
}


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


def main() -> None:
    """Score and print every line, and draw it."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--edges", type=int)
    parser.add_argument("--substeps", type=int)
    parser.add_argument("--friction")
    parser.add_argument("--plot", type=Path)
    arguments = parser.parse_args()
    tosses = load_cube_tosses(arguments.file)
    given = {name: getattr(arguments, name) for name in ("edges", "substeps", "friction")}
    given = {name: value for name, value in given.items() if value is not None}
    rows = [(name, run_tosses(tosses, replace(settings, **given))) for name, settings in ablations().items()]
    print(format_ablation(rows))
    if arguments.plot is not None:
        from error_bars import plot_error_bars

        errors = {}
        for name, report in rows:
            ran = [one for one in report.outcomes if not one.failure]
            position, rotation = (
                np.array([getattr(one, field) for one in ran]) for field in ("position_percent", "rotation_deg")
            )
            errors[name] = position, rotation
        plot_error_bars(arguments.plot, errors)


if __name__ == "__main__":
    main()
