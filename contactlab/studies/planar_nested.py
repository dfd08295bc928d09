"""Which model of planar impacts, told by impacts that neither its choice nor its numbers have seen.

Nested: a part of the recordings is left out; the others, in two halves, tell every model's error; the lowest is chosen,
its numbers are fitted to all of the others, and the part is scored. The file knows no sessions: consecutive blocks, in
its order, stand for them. A further part is the fastest fifth by energy before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from contactlab.lab.datasets.planar_impacts import PlanarImpacts
from contactlab.spatial.arrays import FloatArray, IntArray
from contactlab.studies.paired import paired_difference
from contactlab.studies.planar_fit import PlanarModel, cross_validate, prediction_errors, take


@dataclass(frozen=True, eq=False)
class NestedChoice:
    """Errors of impacts in the parts that were left out."""

    models: tuple[PlanarModel, ...]
    errors: FloatArray  # (number of models, n) of every model, fitted without the impact's part
    nested: FloatArray  # (n,) of the model that was chosen without it
    chosen: tuple[PlanarModel, ...]  # by part


def consecutive_blocks(data: PlanarImpacts, count: int = 5) -> list[IntArray]:
    """Return the impacts of each of ``count`` blocks in the order of the file."""
    return [np.asarray(part, dtype=np.int64) for part in np.array_split(np.arange(len(data)), count)]


def fastest_fifth(data: PlanarImpacts) -> list[IntArray]:
    """Return the fifth of the impacts with most energy before."""
    return [np.argsort((data.mass * data.before**2).sum(axis=1))[-(len(data) // 5) :]]


def nested_choice(
    data: PlanarImpacts,
    models: Sequence[PlanarModel],
    parts: Sequence[IntArray],
    *,
    seed: int = 0,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> NestedChoice:
    """Choose and fit without each part in turn, and score it; impacts in no part are only fitted to."""
    errors = np.full((len(models), len(data)), np.nan)
    nested, chosen = np.full(len(data), np.nan), []
    for k, part in enumerate(parts):
        others = take(data, np.setdiff1d(np.arange(len(data)), part))
        inner = np.empty(len(models))
        for i, model in enumerate(models):
            fit = cross_validate(others, model, folds=2, seed=seed)
            inner[i] = fit.errors.mean()
            errors[i, part] = prediction_errors(take(data, part), model, fit.values)[0]
            progress(k * len(models) + i + 1, len(parts) * len(models))
        best = int(np.argmin(inner))
        chosen.append(models[best])
        nested[part] = errors[best, part]
    return NestedChoice(tuple(models), errors, nested, tuple(chosen))


def format_nested(title: str, found: NestedChoice) -> str:
    """Return one line per model: its mean error left out, and how far above that of the nested choice."""
    scored = np.isfinite(found.nested)
    reading = f"model, {found.models[0].reading}"
    lines = [
        f"{title}: nested {found.nested[scored].mean():.4f}; chosen: " + "; ".join(str(one) for one in found.chosen),
        f"{reading:<40} {'left out':>8}  above the nested choice (95 %)",
    ]
    lines += [
        f"{model!s:<40} {errors[scored].mean():>8.4f}  {paired_difference(errors[scored], found.nested[scored])}"
        for model, errors in zip(found.models, found.errors, strict=True)
    ]
    return "\n".join(lines)


def nested_json(found: NestedChoice) -> dict[str, object]:
    """Return the choice and all errors as JSON values; None of impacts in no part."""
    return {
        "chosen": [str(model) for model in found.chosen],
        "nested": [x if np.isfinite(x) else None for x in found.nested.tolist()],
        "models": {
            str(model): [x if np.isfinite(x) else None for x in errors.tolist()]
            for model, errors in zip(found.models, found.errors, strict=True)
        },
    }
