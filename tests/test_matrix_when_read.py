"""The matrix of a step's LCP is formed when it is read: large islands of contacts are solved without it."""

import os

import numpy as np
import pytest
from refusals import assert_fields
from scipy import sparse

import lcp
from contactlab import ConstraintSolver, ConvexRelaxation, EqualCompliance
from contactlab.constraint_solver import discretized
from contactlab.constraint_solver.kernels import discretized_lcp
from contactlab.constraint_solver.strategy_solver import StrategySolver
from problem_data import ConstraintVelProblemData, ProblemDataError

pytestmark = pytest.mark.nojit

H, M, G = 0.01, 2.0, 9.81


def tower(count: int, pull: float = 0.3, *, trees: bool = True, **fields: object) -> ConstraintVelProblemData:
    """Particles upon one another on the ground, each pulled sideways [N] along x."""
    above = sparse.eye_array(count) - sparse.eye_array(count, k=-1)
    along = [sparse.kron(above, np.eye(3)[[i]]) for i in range(3)]
    tangents = sparse.vstack(along[:2]).tocsr()[np.arange(2 * count).reshape(2, count).T.ravel()]
    return ConstraintVelProblemData(
        solve_inertia=lambda B: B / M,
        Mv=np.tile([H * pull, 0.0, -H * M * G], count),
        N=along[2],
        F=tangents,
        mu=np.full(count, 0.5),
        r=np.full(count, 2),
        tree_starts=np.arange(0, 3 * count + 1, 3) if trees else None,
        **fields,
    )


@pytest.fixture
def matrices(monkeypatch):
    """Sizes of the dense matrices that are assembled."""
    sizes, assemble = [], discretized_lcp.assemble_lcp

    def counting(rows, MM, qq):
        sizes.append(len(MM))
        assemble(rows, MM, qq)

    monkeypatch.setattr(discretized_lcp, "assemble_lcp", counting)
    return sizes


@pytest.mark.parametrize("trees", [True, False])
def test_a_large_island_is_solved_without_a_dense_matrix(matrices, trees):
    """Every contact carries the load above it, and its friction all pulls above; no matrix was formed."""
    # By Python's own arithmetic the attempts at a single tree of sixty take half a minute.
    count = 25 if "NUMBA_DISABLE_JIT" in os.environ else 60
    data = tower(count, trees=trees)
    solution = ConstraintSolver(EqualCompliance()).solve_discretized_problem(data, H)
    assert isinstance(solution.result.solver, StrategySolver)
    above = count - np.arange(count)
    np.testing.assert_allclose(solution.forces.fN, above * M * G, rtol=1e-9)
    np.testing.assert_allclose(solution.forces.fF.reshape(count, 2)[:, 0], -0.3 * above, rtol=1e-9)
    assert solution.certificate.holds(1e-9)
    assert solution.result.residual.backward_error < 1e-9
    # Started at its own forces, under a named solver, it is the answer as well.
    again = ConstraintSolver(lcp.Lemke()).solve_discretized_problem(data, H, z0=solution.result.z)
    assert isinstance(again.result.solver, StrategySolver)
    assert not matrices


@pytest.mark.parametrize("solver", [lcp.Lemke(), None, ConvexRelaxation(), EqualCompliance(fallback=lcp.Lemke())])
def test_a_matrix_that_memory_cannot_hold_is_refused_in_words(monkeypatch, solver):
    """The size, and what to use in its place; forces that need no matrix are found all the same."""
    monkeypatch.setattr(discretized, "_memory", lambda: 1e3)
    # No forces are selected where the slack of friction is soft.
    assert_fields(
        ProblemDataError,
        ("data", lambda: ConstraintSolver(solver).solve_discretized_problem(tower(3, gammaE=np.full(3, 1e-3)), H)),
    )
    assert ConstraintSolver(EqualCompliance()).solve_discretized_problem(tower(60), H).result.solved


def test_a_matrix_that_the_system_refuses_is_the_same_error(monkeypatch):
    """A MemoryError of the assembly becomes the error that names the size."""

    def refuse(*_):
        raise MemoryError

    monkeypatch.setattr(discretized_lcp, "assemble_lcp", refuse)
    with pytest.raises(ProblemDataError, match="n = 12 variables"):
        ConstraintSolver(lcp.Lemke()).solve_discretized_problem(tower(2), H)
