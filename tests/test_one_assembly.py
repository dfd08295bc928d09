"""The contact LCP is assembled in one place: the public path and the compiled step share every number of it."""

from __future__ import annotations

import ast
import importlib
import importlib.util
from pathlib import Path

import numpy as np
import pytest

import lcp
from contactlab import ConstraintSolver
from problem_data import ConstraintVelProblemData

HOME = "formulation/kernels/discretized_lcp.py"
PACKAGES = ("contactlab", "lcp", "problem_data")
BLOCK_BUILDERS = {"block", "bmat", "block_array", "diag", "fill_diagonal", "block_diag", "diags", "diags_array"}


def sources() -> list[Path]:
    """Every source file of the installed packages."""
    files: list[Path] = []
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        assert spec is not None
        assert spec.origin is not None
        files += sorted(Path(spec.origin).parent.rglob("*.py"))
    return files


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
    """No source file but the assembly kernel writes mu, E and gammaE into a matrix."""
    found = [str(file) for file in sources() if states_coulomb_rows(file.read_text())]
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


def test_the_solved_lcp_is_the_array_the_kernel_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The public path hands the kernel's M and q to the solver, assembled once and not touched again."""
    home = importlib.import_module("contactlab.formulation.kernels.discretized_lcp")
    assemble = home.assemble_lcp
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

    monkeypatch.setattr(home, "assemble_lcp", recording)
    monkeypatch.setattr(lcp, "solve", watching)
    data = ConstraintVelProblemData(M=np.eye(2), Mv=[0.1, -0.1], N=[[0, 1]], F=[[1, 0]], mu=[0.3], r=[1])
    ConstraintSolver().solve_discretized_problem(data, 0.01)
    assert len(filled) == len(solved) == 1
    assert np.array_equal(np.asarray(solved[0].M), filled[0][0])
    assert np.array_equal(solved[0].q, filled[0][1])


def test_every_caller_uses_the_same_kernels() -> None:
    """Code that solves contact problems inside the compiled step holds the very kernels of the formulation."""
    kernels = {"assemble_lcp": "discretized_lcp", "recover": "recover", "certify": "certify"}
    for file in sources():
        tree = ast.parse(file.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name in kernels:
                assert file.parts[-3:] == ("formulation", "kernels", f"{kernels[node.name]}.py"), file
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if alias.name in kernels:
                        assert node.module == f"contactlab.formulation.kernels.{kernels[alias.name]}", file
