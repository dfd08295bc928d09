"""Laws of impact on the first impacts of recorded square drops, of one corner each: held-out errors, and intervals.

python benchmarks/square_first_impacts.py FOLDER_OF_PLANAR_IMPACTS
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from square_drops import FALL, SHARED_CALIBRATION, first_impact, load_square_drops, prepare

from contactlab.lab.datasets.recordings import PlanarImpacts
from contactlab.lab.studies.planar_fit import PlanarModel, cross_validate, paired_difference
from contactlab.lab.studies.planar_laws import LAWS


def impacts(folder: Path) -> PlanarImpacts:
    """The clear first impacts of the drops in a folder; rows of velocity in x, z and the angle from x to z."""
    drops = load_square_drops(folder)
    found = [first_impact(drops, one, SHARED_CALIBRATION) for one in prepare(drops, SHARED_CALIBRATION, FALL)]
    r, before, after = (np.array(part) for part in zip(*(one for one in found if one is not None), strict=True))
    nothing, one = np.zeros(len(r)), np.ones(len(r))
    return PlanarImpacts(
        drops.path,
        before,
        after,
        np.stack([nothing, one, -r[:, 0]], axis=1),
        np.stack([one, nothing, r[:, 1]], axis=1),
        np.array([1.0, 1.0, drops.side**2 / 6.0]),
        len(found) - len(r),
    )


def main() -> None:
    """Print a line per law: two numbers (or three), ten folds."""
    data = impacts(Path(sys.argv[1]))
    fits = [cross_validate(data, PlanarModel(law, lever_turned=False), folds=10) for law in LAWS]
    newton = next(fit for fit in fits if fit.model.law == "Newton")
    print(f"{len(data)} impacts on one corner; error: |predicted - measured| / |before|, held out, ten folds")
    for fit in fits:
        below = paired_difference(newton.errors, fit.errors)
        numbers = ", ".join(f"{n} {v:.3g}" for n, v in zip(fit.model.parameters, fit.values, strict=True))
        print(f"{fit.model.law:22} mean {fit.errors.mean():.4f} median {np.median(fit.errors):.4f}  {below}  {numbers}")


if __name__ == "__main__":
    main()
