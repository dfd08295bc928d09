"""What each physical ingredient of the best model of the cube tosses buys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from contactlab.lab.toss import TossReport
from contactlab.lab.toss_settings import MODELS, TossSettings

__all__ = ["INGREDIENTS", "Ablation", "ablations", "format_ablation"]

#: Ingredients in the order in which they are added, with the settings that make them up.
INGREDIENTS: dict[str, tuple[str, ...]] = {
    "friction of the best model": ("mu",),
    "corners that give way": ("stiffness", "dissipation"),
    "corner radius": ("corner_radius",),
    "gravity of the data": ("gravity",),
}


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
