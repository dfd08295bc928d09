"""Redundant mechanisms by every method, compared with dense numpy: the number of right motions.

Run: ``python benchmarks/redundant_mechanisms.py [--seeds 500] [--first 0] [--failed]``

Random mechanisms (`tests/overconstrained.py`) are planar chains, parallelograms with more links than necessary, closed
chains in space, two loops on a free body, Bennett's linkage, and rows along a hinge's axis. All are in randomly rotated
frames; masses are from a gram to a ton. Rows are repeated, combined, and given other units, 1e-6 to 1e6. Each solver's
motion is compared with the motion in the null space of dense rows, to 1e-6. A method that raises counts as wrong. The
last lines compare the two drivers, `simulate` and `ConstraintSolver`, with each other.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from overconstrained import DRIVERS, is_right, mechanism, ways


def main() -> int:
    """Count the right results of every method; exit status 1 if there are others."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=500, help="how many mechanisms")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--failed", action="store_true", help="name the wrong ones")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    right, all_, apart = Counter[str](), Counter[str](), [0.0]
    for seed in range(options.first, options.first + options.seeds):
        one = mechanism(seed)
        for way, run in ways(one).items():
            all_[way] += 1
            try:
                found, wanted = run()
            except (RuntimeError, ValueError, np.linalg.LinAlgError) as error:
                if options.failed:
                    print(f"{seed} {one.name}: {way}: {type(error).__name__}: {str(error)[:200]}")
                continue
            off, size = np.abs(found - wanted).max(initial=0.0), 1.0 + np.abs(wanted).max(initial=0.0)
            if way == DRIVERS:
                apart.append(off / size)
            right[way] += (good := is_right(found, wanted))
            if options.failed and not good:
                print(f"{seed} {one.name}: {way}: off by {off:.2e} of {size:.2e}")
    for way, count in all_.items():
        print(f"{way:<36}{right[way]:>6} of {count}")
    print(f"{'all':<36}{right.total():>6} of {all_.total()}")
    print(f"the two drivers are apart by {max(apart):.1e} of 1 + |v| at most")
    return int(right.total() < all_.total())


if __name__ == "__main__":
    raise SystemExit(main())
