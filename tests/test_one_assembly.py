"""The contact LCP is assembled in one place: the public path and the compiled step share every number of it."""

import importlib
import importlib.util
from collections.abc import Callable

import numpy as np
import pytest

import lcp
from contactlab import ConstraintSolver
from problem_data import ConstraintAccelProblemData, ConstraintVelProblemData


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
