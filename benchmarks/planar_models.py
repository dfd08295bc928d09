"""Planar impacts beyond a fit: friction impact by impact, and the choice of a model by held-out impacts.

    python benchmarks/planar_models.py impacts.npz [--nested] [--friction] [--seed 0] [--json OUT]

Friction by impact: the errors of an impact are assumed normal, with one standard deviation sigma in each of its three
components. Either one mu is used for all impacts; or every impact has a separate mu, drawn from a normal distribution
(truncated at 0), and the likelihood of an impact is its mean over that. Other numbers come from a fit.

Nested: a part of the recordings is left out; the others, in two halves, give every model's error. The model with the
lowest error is chosen and fitted to all of the others, and the part is scored. The file has no sessions: consecutive
blocks, in its order, replace them. A further part is the fastest fifth by energy before.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from contactlab.lab.datasets.files import only_file
from contactlab.lab.datasets.recordings import PlanarImpacts, load_planar_impacts
from contactlab.lab.studies.planar_fit import (
    PlanarFit,
    PlanarModel,
    cross_validate,
    every_model,
    momentum_balance,
    paired_difference,
    prediction_errors,
    take,
)

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
GRID = np.linspace(0.0, 0.6, 121)
#: Twice the decrease of the log-likelihood at the ends of a 95 % interval.
_FALL = 3.841
# Errors that count as zero, in data made by the law itself.
_LEAST = 1e-6


@dataclass(frozen=True, eq=False)
class FrictionByImpact:
    """Likelihoods of one model."""

    model: PlanarModel
    common: float  # the most likely mu for all
    mean: float  # of the distribution of mu
    spread: float
    log_common: FloatArray  # (n,) log-likelihood with one mu
    log_own: FloatArray  # (n,) with one drawn for each impact
    mu: FloatArray  # (n,) most likely, of the impact alone
    low: FloatArray  # (n,) ends of its 95 % interval, within the grid
    high: FloatArray


def friction_by_impact(data: PlanarImpacts, fit: PlanarFit) -> FrictionByImpact:
    """Return the likelihoods of mu, impact by impact and in common."""
    from scipy.optimize import minimize
    from scipy.special import logsumexp

    values = [np.concatenate(([mu], fit.values[1:])) for mu in GRID]
    squares = np.array([prediction_errors(data, fit.model, one)[0] ** 2 for one in values])

    def log_likelihood(sigma: float) -> FloatArray:
        sigma = max(sigma, _LEAST)
        return np.asarray(-3.0 * np.log(sigma) - 1.5 * np.log(2.0 * np.pi) - 0.5 * squares / sigma**2)

    def marginal(x: FloatArray) -> FloatArray:
        weights = -0.5 * ((GRID - x[0]) / np.exp(x[1])) ** 2
        return np.asarray(logsumexp(log_likelihood(np.exp(x[2])) + (weights - logsumexp(weights))[:, None], axis=0))

    best = int(np.argmin(squares.sum(axis=1)))
    sigma = max(float(np.sqrt(squares[best].mean() / 3.0)), _LEAST)
    start = np.array([GRID[best], np.log(0.03), np.log(sigma)])

    def unlikely(x: FloatArray) -> float:
        return -float(marginal(x).sum())

    found = minimize(unlikely, start, method="Nelder-Mead", options={"xatol": 1e-4})
    alone = log_likelihood(float(np.exp(found.x[2])))
    inside = 2.0 * (alone.max(axis=0) - alone) <= _FALL
    return FrictionByImpact(
        model=fit.model,
        common=float(GRID[best]),
        mean=float(found.x[0]),
        spread=float(np.exp(found.x[1])),
        log_common=log_likelihood(sigma)[best],
        log_own=marginal(found.x),
        mu=GRID[alone.argmax(axis=0)],
        low=GRID[inside.argmax(axis=0)],
        high=GRID[len(GRID) - 1 - inside[::-1].argmax(axis=0)],
    )


def format_friction(rows: Sequence[FrictionByImpact]) -> str:
    """Return one line per model, and its distance from the most likely one."""
    best = max(rows, key=lambda row: float(row.log_own.sum()))
    reading = f"model, {best.model.reading}"
    lines = [f"{reading:<40} {'mu':>6} {'log L':>8}  mu by impact: {'log L':>8}  below the likeliest, by impact (95 %)"]
    for row in rows:
        below = "likeliest" if row is best else str(paired_difference(best.log_own, row.log_own))
        lines.append(
            f"{row.model!s:<40} {row.common:>6.3f} {row.log_common.sum():>8.1f}  "
            f"{row.mean:.3f} +- {row.spread:.3f} {row.log_own.sum():>8.1f}  {below}"
        )
    told = (best.low > GRID[0]) & (best.high < GRID[-1])
    quartiles = " ".join(f"{x:.3f}" for x in np.percentile(best.mu[told], [25, 50, 75])) if told.any() else "-"
    lines.append(
        f"errors taken as normal; under the likeliest {100.0 * told.mean():.0f} % of the impacts tell their mu (95 % "
        f"interval within {GRID[0]:g} to {GRID[-1]:g}), quartiles {quartiles}"
    )
    return "\n".join(lines)


def friction_json(rows: Sequence[FrictionByImpact]) -> dict[str, object]:
    """Return the likelihoods as JSON values, impact by impact."""
    arrays = ("log_common", "log_own", "mu", "low", "high")
    return {
        str(row.model): {"common": row.common, "mean": row.mean, "spread": row.spread}
        | {name: getattr(row, name).tolist() for name in arrays}
        for row in rows
    }


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
    """Choose and fit without each part in turn, and score it; impacts in no part are only used for fits."""
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
    """Return one line per model: its held-out mean error, and its excess over the nested choice."""
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
    """Return the choice and all errors as JSON values; None for impacts in no part."""
    return {
        "chosen": [str(model) for model in found.chosen],
        "nested": [x if np.isfinite(x) else None for x in found.nested.tolist()],
        "models": {
            str(model): [x if np.isfinite(x) else None for x in errors.tolist()]
            for model, errors in zip(found.models, found.errors, strict=True)
        },
    }


def main() -> None:
    """Print the requested results, for models in the reading that the balance of momentum supports."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--nested", action="store_true")
    parser.add_argument("--friction", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    data = load_planar_impacts(only_file(Path(arguments.data), "jac_normal"))
    turned = momentum_balance(data).lever_turned
    models = [model for model in every_model(turned) if model.lever_turned is turned]
    document: dict[str, object] = {}
    if arguments.friction:
        rows = [friction_by_impact(data, cross_validate(data, model, seed=arguments.seed)) for model in models]
        print(format_friction(rows))
        document["friction"] = friction_json(rows)
    if arguments.nested:
        for name, parts in (("blocks", consecutive_blocks(data)), ("fastest fifth", fastest_fifth(data))):
            choice = nested_choice(data, models, parts, seed=arguments.seed)
            print(format_nested(name, choice))
            document[f"nested, {name}"] = nested_json(choice)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
