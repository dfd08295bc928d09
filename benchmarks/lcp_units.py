"""Verdicts on small problems in units that are powers of two, compared with the truth in rational numbers.

Run: ``python benchmarks/lcp_units.py [--problems 10000] [--seed 0] [--powers 40] [--out benchmarks/results/NAME.md]``.

Plain, mixed and boxed problems have at most six unknowns in small whole numbers: of no class, singular, of contacts,
infeasible and unsolvable ones. Rows and unknowns are put into units of 2^-powers to 2^powers, which changes neither
solvability nor any digit. The truth is found in rational numbers, by a simplex method for every complementary basis,
without code of the package. The counts are false verdicts (SOLVED without a solution, a proof against one, INFEASIBLE
for a feasible problem, a Farkas vector that does not multiply out), missing ones (neither SOLVED nor a proof) and the
longest solve.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import lcp

Row = list[Fraction]
KINDS = ("any", "singular", "contact", "infeasible", "mixed", "boxed", "half boxed")
PROOFS = (lcp.Status.INFEASIBLE, lcp.Status.UNSOLVABLE, lcp.Status.INCONSISTENT)


class Drawn(NamedTuple):
    """w = M z + q in whole numbers between bounds, the first ``free`` unknowns without any."""

    M: np.ndarray
    q: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    free: int


def feasible(rows: list[Row], right: Row) -> bool:
    """Return True if some x >= 0 has rows . x = right: the first phase of the simplex method, by Bland's rule."""
    count, size = len(rows), len(rows[0]) if rows else 0
    table = [[(-a if b < 0 else a) for a in (*row, b)] for row, b in zip(rows, right, strict=True)]
    basis: list[int] = [size + i for i in range(count)]
    while True:
        cost = [sum((table[i][j] for i in range(count) if basis[i] >= size), Fraction(0)) for j in range(size + 1)]
        if cost[size] == 0:
            return True
        enter = next((j for j in range(size) if cost[j] > 0), None)
        if enter is None:
            return False
        _, _, leave = min((table[i][size] / table[i][enter], basis[i], i) for i in range(count) if table[i][enter] > 0)
        pivot = table[leave][enter]
        table[leave] = [a / pivot for a in table[leave]]
        for i in range(count):
            if i != leave and table[i][enter]:
                factor = table[i][enter]
                table[i] = [a - factor * b for a, b in zip(table[i], table[leave], strict=True)]
        basis[leave] = enter


def reachable(drawn: Drawn, state: tuple[str, ...]) -> bool:
    """Return True if some z has this state: "low" or "high" (at a bound), "between" (w = 0), "given" or "any".

    For an unknown in state "any" w has a sign that its bounds admit, without complementarity.
    """
    columns, rows, right, slack = [], [], [], []
    offset = [Fraction(int(a)) for a in drawn.q]
    rooms = []
    for j, (lo, hi, kind) in enumerate(zip(drawn.lo, drawn.hi, state, strict=True)):
        column = [Fraction(int(a)) for a in drawn.M[:, j]]
        bounded, below = np.isfinite([lo, hi]).any(), np.isfinite(lo)
        origin = int(hi if kind == "high" or not below else lo) if bounded else 0
        offset = [a + c * origin for a, c in zip(offset, column, strict=True)]
        if kind in ("between", "any"):
            columns.append(column if below or not bounded else [-a for a in column])
            if not bounded:
                columns.append([-a for a in column])
            elif np.isfinite([lo, hi]).all():
                rooms.append((len(columns) - 1, int(hi - lo)))
    for i, (lo, hi, kind) in enumerate(zip(drawn.lo, drawn.hi, state, strict=True)):
        if kind == "given" or (kind == "any" and np.isfinite([lo, hi]).all()):
            continue
        if kind == "any":
            kind = "low" if np.isfinite(lo) else "high" if np.isfinite(hi) else "between"
        rows.append([column[i] for column in columns])
        right.append(-offset[i])
        slack.append({"between": 0, "low": -1, "high": 1}[kind])
    for j, room in rooms:
        rows.append([Fraction(int(k == j)) for k in range(len(columns))])
        right.append(Fraction(room))
        slack.append(1)
    added = [i for i, sign in enumerate(slack) if sign]
    return feasible([row + [Fraction(slack[i] * (i == k)) for k in added] for i, row in enumerate(rows)], right)


def truth(drawn: Drawn) -> str:
    """Return "solvable", "unsolvable", "infeasible" or "inconsistent"."""
    bounds = list(zip(drawn.lo, drawn.hi, strict=True))
    choices = [
        ("given",) if lo == hi else tuple(
            kind for kind, bound in (("low", lo), ("between", 0.0), ("high", hi)) if np.isfinite(bound)
        )
        for lo, hi in bounds
    ]  # fmt: skip
    if any(reachable(drawn, state) for state in itertools.product(*choices)):
        return "solvable"
    if reachable(drawn, tuple("given" if lo == hi else "any" for lo, hi in bounds)):
        return "unsolvable"
    # Equations, and other unknowns of any sign but the given ones.
    free, given = np.isinf(drawn.lo) & np.isinf(drawn.hi), drawn.lo == drawn.hi
    open_part, right = drawn.M[free][:, ~given], -(drawn.q + drawn.M[:, given] @ drawn.lo[given])[free]
    rows = [[Fraction(int(a)) for a in (*row, *-row)] for row in open_part]
    return "infeasible" if feasible(rows, [Fraction(int(a)) for a in right]) else "inconsistent"


def draw(rng: np.random.Generator, kind: str) -> Drawn:
    """Draw one problem in whole numbers."""
    n = int(rng.integers(1, 6))
    M, q = rng.integers(-3, 4, (n, n)), rng.integers(-4, 5, n)
    if kind in ("singular", "mixed") and rng.random() < 0.7:
        r = int(rng.integers(1, n + 1))
        M = rng.integers(-2, 3, (n, r)) @ rng.integers(-2, 3, (r, n))
    elif rng.random() < 0.5:
        M *= rng.random((n, n)) < 0.5
    if kind == "contact":
        # One contact with two or four directions of friction, and v^T M v >= 0 for v >= 0.
        r = int(rng.integers(1, 3))
        J = rng.integers(-1, 2, (1 + r, 2))
        J, E = np.vstack([J, -J[1:]]), np.append(0, np.ones(2 * r, dtype=int))
        corner = np.append(np.append(rng.integers(0, 3), -E[1:]), 0)
        M = np.vstack([np.column_stack([J @ J.T, E]), corner])
        q = np.append(J @ rng.integers(-2, 3, 2), 0)
    elif kind == "infeasible":
        y = rng.integers(0, 3, n)
        y[rng.integers(n)] = 1
        i = int(np.flatnonzero(y == 1)[0])
        # Row i makes y . M <= 0 and y . q < 0.
        M[i] -= y @ M + rng.integers(0, 2, n) * rng.integers(0, 3, n)
        q[i] -= y @ q + 1
    n = len(q)
    lo, hi, free = np.zeros(n), np.full(n, np.inf), 0
    if kind == "mixed":
        free = int(rng.integers(0, n + 1))
        lo[:free] = -np.inf
    elif kind in ("boxed", "half boxed"):
        for i in range(n):
            ends = np.sort(rng.integers(-3, 4, 2)).astype(float)
            open_ends = rng.random(2) < (0.2 if kind == "boxed" else 0.6)
            lo[i], hi[i] = np.where(open_ends, [-np.inf, np.inf], ends)
    return Drawn(M, q, lo, hi, free)


def posed(drawn: Drawn, row: np.ndarray, unit: np.ndarray) -> Any:
    """Return the problem with rows times ``row`` and unknowns in ``unit``: no digit changes."""
    M, q, m = row[:, None] * drawn.M * unit, row * drawn.q, drawn.free
    if m:
        return lcp.MLCP(M[:m, :m], M[:m, m:], M[m:, :m], M[m:, m:], q[:m], q[m:])
    if np.isinf(drawn.hi).all() and not drawn.lo.any():
        return lcp.LCP(M, q)
    return lcp.BoxLCP(M, q, drawn.lo / unit, drawn.hi / unit)


def faults(problem: Any, known: str, result: Any) -> list[str]:
    """Return the faults of a result, compared with the truth."""
    if result.solved:
        return [] if known == "solvable" else ["false SOLVED"]
    if result.status not in PROOFS:
        return ["lost"]
    if known == "solvable" or (known == "unsolvable" and result.status is not lcp.Status.UNSOLVABLE):
        return [f"false {result.status.name}"]
    if result.status is lcp.Status.INCONSISTENT and known != "inconsistent":
        return ["false INCONSISTENT"]
    if isinstance(result.evidence, lcp.Farkas) and not result.evidence.proves_exactly(problem):
        return ["inexact Farkas vector"]
    return []


def main() -> None:
    """Draw, solve, compare, count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--powers", type=int, default=40)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    lines = report(arguments.seed, arguments.problems, arguments.powers)
    print("\n".join(lines))
    if arguments.out:
        arguments.out.write_text("\n".join(lines) + "\n")


def report(seed: int, problems: int, powers: int) -> list[str]:
    """Return the campaign's table, and each fault with its number."""
    counts: Counter[tuple[str, str]] = Counter()
    longest = dict.fromkeys(KINDS, 0.0)
    found = []
    for number in range(problems):
        kind = KINDS[number % len(KINDS)]
        drawn, known, problem = drawn_problem(seed, number, powers)
        start = time.process_time()
        result = lcp.solve(problem)
        seconds = time.process_time() - start
        longest[kind] = max(longest[kind], seconds)
        counts[kind, known] += 1
        wrong = faults(problem, known, result) + (["slow"] if seconds > 2.0 else [])
        for name in wrong:
            counts[kind, name] += 1
            found.append(
                f"{number} ({kind}, n = {len(drawn.q)}, {known}): {name}, {result.status.name}, {seconds:.2f} s"
            )
    names = sorted({name for _, name in counts})
    lines = [f"{problems} problems, seed {seed}, units 2^-{powers} to 2^{powers}", "",
             "| kind | " + " | ".join(names) + " | longest [s] |", "| --- |" + " --- |" * (len(names) + 1)]  # fmt: skip
    for kind in KINDS:
        row = " | ".join(str(counts[kind, name]) for name in names)
        lines.append(f"| {kind} | {row} | {longest[kind]:.2f} |")
    return [*lines, "", *found]


def drawn_problem(seed: int, number: int, powers: int) -> tuple[Drawn, str, Any]:
    """Return the problem of this number in whole numbers, the truth of it, and the problem in other units."""
    rng = np.random.default_rng([seed, number])
    drawn = draw(rng, KINDS[number % len(KINDS)])
    row, unit = (np.exp2(rng.integers(-powers, powers + 1, len(drawn.q))) for _ in range(2))
    return drawn, truth(drawn), posed(drawn, row, unit)


if __name__ == "__main__":
    main()
