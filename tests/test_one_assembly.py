"""The contact LCP is assembled in one place: the public path and the compiled step share every number of it."""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import lcp
from contactlab import ConstraintSolver
from problem_data import ConstraintAccelProblemData, ConstraintVelProblemData

HOME = "formulation/kernels/discretized_lcp.py"
PACKAGES = ("contactlab", "lcp", "problem_data")
BLOCK_BUILDERS = {"block", "bmat", "block_array", "diag", "fill_diagonal", "block_diag", "diags", "diags_array"}


@functools.cache
def sources() -> dict[Path, str]:
    """Return the text of every source file of the installed packages."""
    files: list[Path] = []
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        assert spec is not None
        assert spec.origin is not None
        files += sorted(Path(spec.origin).parent.rglob("*.py"))
    return {file: file.read_text() for file in files}


def mentions(node: ast.AST, *names: str) -> bool:
    """Whether an expression reads one of the names, as a variable or as an attribute."""
    found = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    found |= {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
    return bool(found & set(names))


def states_coulomb_rows(source: str) -> bool:
    """Whether code fills a matrix with the rows of friction: mu beside gammaE or beside the ones of E and -E'.

    It looks for mu written to an entry M[i, j], together with gammaE or with both 1 and -1 written to such an entry,
    and for mu or gammaE handed to a function that builds matrices from blocks or diagonals.
    """
    if re.search(r"\b(mu|gammaE)\b", source) is None:
        return False
    written: list[ast.expr] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(t, ast.Subscript) and isinstance(t.slice, ast.Tuple) for t in targets):
                written.append(node.value)
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in BLOCK_BUILDERS and any(mentions(a, "mu", "gammaE") for a in node.args):
                return True
    constants = {ast.unparse(value) for value in written}
    ones = {"1.0", "-1.0"} <= constants or {"1", "-1"} <= constants
    return any(mentions(v, "mu") for v in written) and (ones or any(mentions(v, "gammaE") for v in written))


def test_only_one_file_states_the_rows_of_friction() -> None:
    """No source file but the assembly kernel writes mu, E and gammaE into a matrix.

    Verification has its separate arithmetic, so that it can find errors of this one.
    """
    own = {file: text for file, text in sources().items() if "verification" not in file.parts}
    found = [str(file) for file, text in own.items() if states_coulomb_rows(text)]
    assert len(found) == 1, found
    assert found[0].endswith(HOME)


@pytest.mark.parametrize(
    "second",
    [
        "def f(M, mu):\n    M[4, 0] = mu[0]\n    M[4, 1] = -1.0\n    M[1, 4] = 1.0\n",
        "def f(M, data):\n    M[s, n] = data.mu\n    M[s, s] += data.gammaE\n",
        "MM = np.block([[W, E], [np.diag(data.mu), -E.T]])\n",
        "MM = scipy.sparse.block_array([[W, E], [mu, gammaE]])\n",
    ],
)
def test_a_second_assembly_would_be_seen(second: str) -> None:
    """The search above finds the usual ways of writing the matrix again."""
    assert states_coulomb_rows(second)


def velocity_data() -> ConstraintVelProblemData:
    return ConstraintVelProblemData(M=np.eye(2), Mv=[0.1, -0.1], N=[[0, 1]], F=[[1, 0]], mu=[0.3], r=[1])


def boxed_data() -> ConstraintVelProblemData:
    return ConstraintVelProblemData(M=np.eye(2), Mv=[0.1, -0.1], N=[[0, 1]], B=[[1, 0]], lo=[-0.05], hi=[0.05])


def acceleration_data() -> ConstraintAccelProblemData:
    return ConstraintAccelProblemData(
        M=np.eye(2),
        tau=[0.1, -0.1],
        N=[[0, 1], [0.1, 1]],
        Q=[[1, 0]],
        mu_sliding=[0.2],
        sliding_contacts=[0],
        F=[[1, 0]],
        mu_non_sliding=[0.3],
        r=[1],
    )


@pytest.mark.parametrize(
    ("module", "name", "run"),
    [
        (
            "discretized_lcp",
            "assemble_lcp",
            lambda solver: solver.solve_discretized_problem(velocity_data(), 0.01),
        ),
        ("discretized_lcp", "assemble_lcp", lambda solver: solver.solve_impact_problem(velocity_data())),
        ("discretized_lcp", "assemble_lcp", lambda solver: solver.solve_impact_problem(boxed_data())),
        (
            "discretized_lcp",
            "assemble_acceleration_lcp",
            lambda solver: solver.solve_constraint_problem(acceleration_data()),
        ),
    ],
    ids=["discretized", "impact", "boxed", "acceleration"],
)
def test_the_solved_lcp_is_the_array_the_kernel_filled(
    monkeypatch: pytest.MonkeyPatch, module: str, name: str, run: Callable[[ConstraintSolver], object]
) -> None:
    """The public path hands the kernel's M and q to the solver, assembled once and not touched again."""
    home = importlib.import_module(f"contactlab.formulation.kernels.{module}")
    assemble = getattr(home, name)
    filled: list[tuple[np.ndarray, np.ndarray]] = []

    def recording(*args: object) -> None:
        assemble(*args)
        M, q = args[-2:]
        assert isinstance(M, np.ndarray)
        assert isinstance(q, np.ndarray)
        filled.append((M.copy(), q.copy()))

    solved: list[lcp.LCP] = []
    solve = lcp.solve

    def watching(problem: lcp.LCP, *args: object, **options: object) -> lcp.Result:
        solved.append(problem)
        return solve(problem, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(home, name, recording)
    monkeypatch.setattr(lcp, "solve", watching)
    run(ConstraintSolver())
    assert len(filled) == len(solved) == 1
    assert np.array_equal(np.asarray(solved[0].M), filled[0][0])
    assert np.array_equal(solved[0].q, filled[0][1])
