"""Friction problems of other simulators (FCLIB's layout): every friction solver, compared with published robustness.

Run: ``python benchmarks/friction_fclib.py FOLDER [--out benchmarks/results/friction_fclib_DATE] [--limit 20]``.

FOLDER has ``.hdf5`` files. Each solver gets each problem from r = 0 at 1e-4 and at 1e-8, with ``--limit`` seconds. A
problem counts as solved at a tolerance if FCLIB's residual ||r - P_K(r - u_hat)|| / ||q|| of the result is within it,
as in the published comparison. The status, which also requires the residual that does not depend on units, is a
separate column. Global problems are reduced first, within the time.

Published: Acary, Bremond, Huber, INRIA RR-9118 (2018), fraction of each family's set that a solver solved within the
plotted ratio to the fastest. Their sets have hundreds of problems of FCLIB, and the files here are a few members or
relatives. So the columns show the difficulty of a family; they are not a race on the same problems.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

from tables import environment, write_rows

import lcp
from contactlab.lab.datasets import load_fclib

TOLERANCES = (1e-4, 1e-8)

#: Beginning of the file's name, family.
FAMILIES = (
    ("Capsules", "Capsules"),
    ("Box_Stacks", "BoxesStack"),
    ("KaplasTower", "KaplasTower"),
    ("LMGC_100_PR_PerioBox", "100_PR_PerioBox"),
    ("LMGC_GFC3D", "Cubes_H8"),
    ("CubeH8", "Cubes_H8"),
    ("OneObject", "OneObject"),
    ("Spheres", "Spheres"),
    ("NESpheres", "Spheres"),
    ("Confeti", "Confeti"),
    ("Rover", "Rover"),
    ("fc2d_granular", "granular flow 2-D"),
    ("gfc2d_granular", "granular flow 2-D"),
    ("FrictionContactProblem", "spheres in a box 2-D"),
    ("FC2D", "slider-crank"),
    ("ContactBench", "ContactBench cube"),
)

#: Family: ((best solver of the paper, fraction solved) at 1e-4, the same at 1e-8); None if none was published.
PUBLISHED: dict[str, tuple[tuple[str, float] | None, tuple[str, float] | None]] = {
    "Capsules": (None, ("PPA-NSN", 0.98)),
    "BoxesStack": (None, ("PPA-NSN", 1.00)),
    "KaplasTower": (("NSGS", 1.00), ("NSGS", 1.00)),
    "100_PR_PerioBox": (("NSGS", 1.00), ("PPA-NSN", 0.22)),
    "Cubes_H8": (None, ("NSN-AC", 0.99)),
}


def solvers(limit: float) -> dict[str, object]:
    """Return every solver of the list, the default first, and Newton's method with a proximal weight."""
    listed = {made.__name__: replace(made(), time_limit=limit) for made in lcp.ALL_FRICTION_SOLVERS}  # type: ignore[type-var]
    proximal = lcp.SemismoothNewton(alpha=1.0, max_iterations=5_000, time_limit=limit)
    return {**listed, "SemismoothNewton(alpha=1)": proximal}


def family(name: str) -> str:
    """Return the family of a file."""
    return next((found for start, found in FAMILIES if name.startswith(start)), "hand-made")


def rows(folder: Path, limit: float) -> list[dict[str, object]]:
    """Return one row per problem, solver and tolerance."""
    found = []
    files = sorted(folder.glob("*.hdf5"))
    warm = load_fclib(files[0])
    for solver in solvers(limit).values():
        lcp.solve(warm, solver, tolerance=1e-2)  # type: ignore[call-overload]
    for file in files:
        problem = load_fclib(file)
        for name, solver in solvers(limit).items():
            for tolerance in TOLERANCES:
                begun = time.process_time()
                result = lcp.solve(problem, solver, tolerance=tolerance)  # type: ignore[call-overload]
                seconds = time.process_time() - begun
                residual = result.residual
                found.append(
                    {
                        "problem": file.stem,
                        "family": family(file.stem),
                        "contacts": problem.nc,
                        "solver": name,
                        "tolerance": tolerance,
                        "solved": int(residual.fclib <= max(tolerance, residual.fclib_rounding)),
                        "status": result.status.name,
                        "fclib": f"{residual.fclib:.2e}",
                        "scaled": f"{residual.scaled:.2e}",
                        "iterations": result.iterations,
                        "cpu_s": round(seconds, 4),
                    }
                )
        print(file.stem, flush=True)
    return found


def report(found: list[dict[str, object]], limit: float) -> str:
    """Return the table by family."""
    names = list(dict.fromkeys(str(row["solver"]) for row in found))
    families = list(dict.fromkeys(str(row["family"]) for row in found))
    lines = [
        "# Friction problems in FCLIB's layout",
        "",
        f"{environment()}; one core, CPU seconds, limit {limit:g} s of wall time a solve. Solved: FCLIB's residual",
        "within the tolerance. Published: INRIA RR-9118, best solver of the family's set (see the script's head).",
        "",
    ]
    for at, tolerance in enumerate(TOLERANCES):
        lines += [
            f"## Solved at {tolerance:.0e}, per cent",
            "",
            f"| family | problems | {' | '.join(names)} | best here | published best |",
            f"| --- | --- | {' | '.join('---' for _ in names)} | --- | --- |",
        ]
        for name in families:
            chosen = [row for row in found if row["family"] == name and row["tolerance"] == tolerance]
            count = len({row["problem"] for row in chosen})
            share, seconds = {}, {}
            for solver in names:
                own = [row for row in chosen if row["solver"] == solver]
                share[solver] = 100.0 * sum(int(str(row["solved"])) for row in own) / count
                seconds[solver] = sum(float(str(row["cpu_s"])) for row in own) / count
            best = min(names, key=lambda s: (-share[s], seconds[s]))
            published = PUBLISHED.get(name, (None, None))[at]
            said = f"{published[0]} {100.0 * published[1]:.0f}" if published else "-"
            cells = " | ".join(f"{share[solver]:.0f} ({seconds[solver]:.2g} s)" for solver in names)
            lines.append(f"| {name} | {count} | {cells} | {best} {share[best]:.0f} | {said} |")
        lines.append("")
    failed = [row for row in found if not row["solved"]]
    lines += ["## Failures", ""]
    lines += [
        f"- {row['problem']}, {row['solver']} at {row['tolerance']:.0e}: {row['status']} after {row['iterations']} "
        f"iterations, residual {row['fclib']}"
        for row in failed
    ] or ["None."]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run all and write ``.csv`` and ``.md``."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/friction_fclib"))
    parser.add_argument("--limit", type=float, default=20.0)
    options = parser.parse_args()
    found = rows(options.folder, options.limit)
    write_rows(options.out.with_suffix(".csv"), (), found)
    options.out.with_suffix(".md").write_text(report(found, options.limit))


if __name__ == "__main__":
    main()
