"""Islands of contacts from piles and towers: our solvers, pin's and Siconos', with a limit on every solve.

Run: ``python benchmarks/islands.py [FOLDER] [--out benchmarks/results/islands_DATE] [--solver NAME ...] [--limit 10]
[--tolerance 1e-8]``. Writes OUT.csv and OUT.md anew after every solve.

FOLDER has ``.npz`` files, one per island. They have ``nb`` bodies and the step ``h``; for every contact its bodies
``a`` and ``b`` (-1: the ground), its rows ``Ja`` and ``Jb`` (3, 6) (normal, two tangents) on velocities y = M^(1/2) v,
the constant part ``bias`` (3,) of their rates, and ``mu``; and ``y_free`` (nb, 6), y without contact impulses. Without
a folder the islands come from two small piles, of spheres and of boxes, which are simulated first.

Solvers of the exact cone get a `lcp.GlobalFrictionProblem`. Solvers of complementarity problems get the pyramid of four
edges as in a step of `contactlab`, with the time to form it. Missing peers are named and skipped. ``residual`` and
``solved`` are the package's measures on the data, at the same tolerance for all. Seconds are seconds of the processor,
without compilation, in a child process which the system ends at the limit.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sparse
from limited import allow, tell, told
from numpy.typing import NDArray
from simulation_ours import world
from simulation_scenes import Scene, bin_walls, dropped
from tables import markdown, write

import lcp
from contactlab import ConstraintSolveError, ConstraintSolver, EqualCompliance, ForceChoice
from contactlab.lab.racing.entrant import limited
from contactlab.lab.racing.external_solvers import PinADMM, PinPGS, SiconosLCP, installed
from contactlab.lab.racing.trial import measured
from contactlab.simulation import TimeStepping, simulate
from lcp.compiler import count_compilations
from problem_data import ConstraintVelProblemData

Array = NDArray[np.float64]
Answer = tuple[float, bool, str]  # residual, solved, the solver's text

COMPILING, SPOILT = 900.0, 3  # seconds for what is compiled beforehand; solves that compile before one counts
LOADED = 4.0  # limit of a solver in wall time, as a multiple of its limit, because others use the machine
SHORT = 0.1  # seconds of a solve below which it is repeated
TAKEN = 6  # islands from each pile made here


@dataclass(frozen=True, eq=False)
class Island:
    """Impulses p: y = y_free + J' p, u = bias + J y; rows (N, T1, T2) contact by contact, where inertia is 1."""

    name: str
    h: float
    J: Any
    bias: Array
    mu: Array
    y_free: Array

    def cone(self) -> lcp.GlobalFrictionProblem:
        """Return the island with Coulomb's cone."""
        return lcp.GlobalFrictionProblem(sparse.eye_array(self.y_free.size), self.J.T, self.y_free, self.bias, self.mu)

    def pyramid(self) -> ConstraintVelProblemData:
        """Return the island with pyramids of four edges."""
        rows = np.arange(self.bias.size).reshape(-1, 3)
        normal, tangents = rows[:, 0], rows[:, 1:].ravel()
        return ConstraintVelProblemData(
            solve_inertia=lambda B: B,
            Mv=self.y_free,
            N=self.J[normal],
            F=self.J[tangents],
            kN=self.bias[normal],
            kF=self.bias[tangents],
            mu=self.mu,
            r=np.full(self.mu.size, 2),
            tree_starts=np.arange(0, self.y_free.size + 1, 6),
        )


def read(path: Path) -> Island:
    """Read an island from a file."""
    with np.load(path, allow_pickle=False) as file:
        nb, nc = int(file["nb"]), file["mu"].size
        row, column, value = [], [], []
        for bodies, J in ((file["a"], file["Ja"]), (file["b"], file["Jb"])):
            own = np.flatnonzero(bodies >= 0)
            row.append(np.repeat(3 * own[:, None] + np.arange(3), 6))
            column.append(np.tile(6 * bodies[own][:, None] + np.arange(6), (1, 3)).ravel())
            value.append(J[own].ravel())
        entries = (np.concatenate(value), (np.concatenate(row), np.concatenate(column)))
        J = sparse.csr_array(entries, shape=(3 * nc, 6 * nb))
        return Island(
            path.stem, float(file["h"]), J, file["bias"].ravel(), file["mu"].copy(), file["y_free"].ravel()
        )  # fmt: skip


def piles() -> Iterator[Island]:
    """Yield the largest islands of some steps of small piles."""
    kinds: dict[str, tuple[float, ...]] = {"sphere": (0.1,), "box": (0.1, 0.1, 0.1)}
    for kind, size in kinds.items():
        scene = Scene(kind, 400, dropped(kind, size, 12, 2, 0.25, 0.1), bin_walls(0.25))
        recording = simulate(world(scene), TimeStepping(scene.h, edges=4), steps=scene.steps)
        certificates = recording.certificates
        for step in np.linspace(100, recording.n_steps - 1, TAKEN).astype(int):
            own = certificates.rows(certificates.step == step)
            if not own.n_contacts.size:
                continue
            blocks = recording.problem(int(step), int(own.island[np.argmax(own.n_contacts)])).blocks()
            # W = J M^-1 J' = (J L) (J L)': L converts rows to rows of y.
            inverse = recording.problem(int(step), int(own.island[np.argmax(own.n_contacts)])).solve_inertia(
                np.eye(blocks.nv)
            )
            L = np.linalg.cholesky(0.5 * (inverse + inverse.T))
            nc = blocks.nc
            order = np.column_stack((np.arange(nc), nc + 2 * np.arange(nc), nc + 2 * np.arange(nc) + 1)).ravel()
            y_free = np.linalg.solve(L, blocks.v_free)
            J = sparse.csr_array(blocks.J[order] @ L)
            yield Island(f"{kind}12_{step}", scene.h, J, blocks.k[order], blocks.mu.copy(), y_free)


def tiny() -> Island:
    """Return one sliding contact, for compilation."""
    return Island("tiny", 1e-2, sparse.csr_array(np.eye(6)[:3]), np.zeros(3), np.array([0.5]), -np.ones(6))


def by_cone(solver: Any) -> Callable[[Island, float, float], Answer]:
    """Run a friction solver on an island."""

    def solve(island: Island, tolerance: float, limit: float) -> Answer:
        problem = island.cone()
        result: Any = lcp.solve(problem, limited(solver, LOADED * limit), tolerance=tolerance)
        found = measured(problem, result)
        return found.residual, found.solved, result.status.name

    return solve


def by_pyramid(solver: Any) -> Callable[[Island, float, float], Answer]:
    """Run a solver of complementarity problems, or the step's selection, on an island."""

    def solve(island: Island, tolerance: float, limit: float) -> Answer:
        said = ""
        try:
            solution = ConstraintSolver(limited(solver, LOADED * limit), tolerance).solve_discretized_problem(
                island.pyramid(), island.h
            )  # fmt: skip
            result = solution.result
            said = ", not selected" if solution.choice is ForceChoice.OTHER_SOLUTION else ""
        except ConstraintSolveError as error:
            result = error.result
        return result.residual.scaled, result.status is lcp.Status.SOLVED, result.status.name + said

    return solve


#: Name: (friction, required package, solve).
SOLVERS: dict[str, tuple[str, type[Any] | None, Callable[[Island, float, float], Answer]]] = {
    "ContactStrategies": ("cone", None, by_cone(lcp.ContactStrategies())),
    "EqualCompliance (default)": ("pyramid", None, by_pyramid(EqualCompliance())),
    "Lemke": ("pyramid", None, by_pyramid(lcp.Lemke())),
    "PinADMM": ("cone", PinADMM, by_cone(PinADMM())),
    "PinPGS": ("cone", PinPGS, by_cone(PinPGS())),
    "SiconosLCP": ("pyramid", SiconosLCP, by_pyramid(SiconosLCP())),
}


@dataclass(frozen=True)
class Row:
    """A solver on an island."""

    island: str
    bodies: int
    contacts: int
    solver: str
    friction: str
    cpu_s: float = math.nan
    residual: float = math.nan
    solved: bool = False
    status: str = ""

    def line(self) -> list[str]:
        """Return a line of the table."""
        numbers = ["" if math.isnan(x) else f"{x:.{n}}" for x, n in ((self.cpu_s, "3g"), (self.residual, "1e"))]
        head = [self.island, str(self.bodies), str(self.contacts), self.solver, self.friction]
        return [*head, *numbers, str(int(self.solved)), self.status]


HEAD = ("island", "bodies", "contacts", "solver", "friction", "cpu_s", "residual", "solved", "status")


def solve_all(name: str, folder: Path, first: int, limit: float, tolerance: float) -> None:
    """Report the rows of one solver from the island with this number on."""
    allow(COMPILING)
    friction, _, solve = SOLVERS[name]
    for _ in range(2):
        solve(tiny(), tolerance, limit)
    for number, path in list(enumerate(sorted(folder.glob("*.npz"))))[first:]:
        island = read(path)
        row = Row(island.name, island.y_free.size // 6, island.mu.size, name, friction)
        tell(begun=number, row=asdict(row))
        try:
            for _ in range(SPOILT):
                allow(limit)
                with count_compilations() as watch:
                    start, wall = time.process_time(), time.perf_counter()
                    residual, solved, status = solve(island, tolerance, limit)
                    seconds, wall = time.process_time() - start, time.perf_counter() - wall
                if not watch.compiled:
                    break
            if wall < SHORT:
                # The processor's clock may tick in hundredths of a second.
                count, start = math.ceil(SHORT / wall), time.process_time()
                for _ in range(count):
                    solve(island, tolerance, limit)
                seconds = (time.process_time() - start) / count
            row = replace(row, cpu_s=seconds, residual=residual, solved=solved, status=status)
        except Exception as error:  # noqa: BLE001  whatever a solver raises is its row
            seconds = time.process_time() - start
            row = replace(row, cpu_s=seconds, status=f"{type(error).__name__}: {' '.join(str(error).split())}"[:200])
        tell(row=asdict(row))


def rows_of(name: str, folder: Path, limit: float, tolerance: float) -> Iterator[Row]:
    """Yield the rows of one solver; an island that ends the child is a row, and the next child continues after it."""
    first, count = 0, len(list(folder.glob("*.npz")))
    while first < count:
        row, died = None, ""
        arguments = [str(folder), "--one", name, "--first", str(first), "--limit", str(limit)]
        arguments += ["--tolerance", str(tolerance)]
        for message in told(Path(__file__), arguments, COMPILING + 10.0 * limit * (count - first)):
            died = message.get("died", "")
            first = message.get("begun", first)
            if "row" in message:
                row = Row(**message["row"])
                if "begun" not in message:
                    yield row
        if not died:
            return
        if row is None:
            print(f"{name}: {died}", flush=True)
            return
        yield replace(row, status=died)
        first += 1


def save(folder: Path) -> None:
    """Save islands made here, in the form of a folder's; contacts and bodies in one file."""
    for island in piles():
        J, nb = island.J.toarray().reshape(island.mu.size, 3, -1), island.y_free.size // 6
        touched = [np.flatnonzero(np.abs(one.reshape(3, nb, 6)).max(axis=(0, 2)) > 0.0) for one in J]
        a = np.array([own[0] if own.size > 1 else -1 for own in touched])
        b = np.array([own[-1] for own in touched])
        parts = {"Ja": a, "Jb": b}
        rows = {
            side: np.stack(
                [one[:, 6 * n : 6 * n + 6] if n >= 0 else np.zeros((3, 6)) for one, n in zip(J, own, strict=True)]
            )
            for side, own in parts.items()
        }
        np.savez(
            folder / island.name, nb=nb, h=island.h, a=a, b=b, **rows, bias=island.bias.reshape(-1, 3), mu=island.mu,
            y_free=island.y_free.reshape(nb, 6),
        )  # fmt: skip


def summary(rows: list[Row]) -> str:
    """Return the number of solved islands of each solver, and its seconds, in Markdown."""
    lines = []
    for name in dict.fromkeys(row.solver for row in rows):
        own = [row for row in rows if row.solver == name]
        solved = [row.cpu_s for row in own if row.solved]
        median = f"{np.median(solved):.3g}" if solved else ""
        lines.append([name, own[0].friction, f"{len(solved)} of {len(own)}", median, f"{sum(solved):.3g}"])
    return markdown(("solver", "friction", "solved", "median s of these", "sum"), lines)


def main() -> None:
    """Print and keep the table."""
    import tempfile

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--out", type=Path, help="results without suffix: OUT.csv and OUT.md")
    parser.add_argument("--solver", nargs="*", choices=list(SOLVERS), help="only these")
    parser.add_argument("--limit", type=float, default=10.0, help="seconds of the processor for an island and solver")
    parser.add_argument("--tolerance", type=float, default=1e-8)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one is not None:
        solve_all(arguments.one, arguments.folder, arguments.first, arguments.limit, arguments.tolerance)
        return
    with tempfile.TemporaryDirectory() as own:
        folder = arguments.folder
        if folder is None:
            folder = Path(own)
            save(folder)
        rows: list[Row] = []
        absent = [name for name, (_, peer, _) in SOLVERS.items() if peer is not None and not installed(peer)]
        note = f"limit {arguments.limit:g} s of the processor, tolerance {arguments.tolerance:g}"
        note += f"; not installed: {', '.join(absent)}" if absent else ""
        print(note, flush=True)
        for name in SOLVERS:
            if name in absent or (arguments.solver is not None and name not in arguments.solver):
                continue
            for row in rows_of(name, folder, arguments.limit, arguments.tolerance):
                rows.append(row)
                print(*row.line(), sep=" | ", flush=True)
                if arguments.out is not None:
                    write(arguments.out, "", note, HEAD, [one.line() for one in rows], summary(rows) + "\n")
        print(summary(rows))


if __name__ == "__main__":
    main()
