"""The matrix of a step's LCP is formed when it is read: large islands of contacts are solved without it."""

import os

import numpy as np
import pytest
from refusals import assert_fields
from scipy import sparse

import lcp
from contactlab import ConstraintSolver, ConvexRelaxation, EqualCompliance
from contactlab.constraint_solver import discretized
from contactlab.constraint_solver.discretized import form_discretized_lcp
from contactlab.constraint_solver.kernels import discretized_lcp
from contactlab.constraint_solver.strategy_solver import StrategySolver, lcp_matrix, solve_with_strategies
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


def mixed(count: int, seed: int) -> tuple[ConstraintVelProblemData, np.ndarray]:
    """Contacts with 0 to 3 directions between random bodies of six velocities, one that acts on nothing, softened.

    And the spans of their rows.
    """
    random = np.random.default_rng(seed)
    r = random.integers(0, 4, count)
    contact = np.concatenate((np.arange(count), np.repeat(np.arange(count), r)))
    bodies, nv = np.sort(random.integers(0, count, (count, 2)), axis=1), 6 * count
    rows, root = np.zeros((contact.size, count, 6)), random.normal(size=(count, 6, 6))
    for side in range(2):
        rows[np.arange(contact.size), bodies[contact, side]] = random.normal(size=(contact.size, 6))
    rows[0] = 0.0
    rows = rows.reshape(contact.size, nv)
    data = ConstraintVelProblemData(
        M=sparse.block_diag(root @ root.transpose(0, 2, 1) + np.eye(6)).toarray(),
        Mv=random.normal(size=nv),
        N=rows[:count],
        F=rows[count:],
        kN=random.normal(size=count),
        mu=np.where(r > 0, random.uniform(0.0, 1.0, count), 0.0),
        r=r,
        gammaN=random.uniform(0.0, 1.0, count),
        gammaF=random.uniform(0.0, 1.0, r.sum()),
        gammaE=random.uniform(0.0, 1.0, count),
        tree_starts=np.arange(0, nv + 1, 6),
    )
    lower, upper = bodies.T
    second = np.where(lower == upper, upper + 1, upper)
    return data, 6 * np.stack((lower, lower + 1, second, upper + 1), axis=1)[contact]


@pytest.mark.parametrize("seed", range(4))
def test_the_sparse_matrix_is_the_dense_one(seed):
    """Every bit of it, for any joining contacts and softness, with column ranges and without."""
    data, spans = mixed(40, seed)
    formed = form_discretized_lcp(data, H)
    for rows in (formed.kernel_rows, formed.kernel_rows._replace(column_ranges=spans)):
        found = lcp_matrix(formed, rows)
        assert sparse.issparse(found)
        np.testing.assert_array_equal(found.toarray(), formed.MM)


def test_rows_that_all_meet_have_no_sparse_matrix():
    """Forty contacts of one body: a full matrix is dense."""
    random = np.random.default_rng(0)
    data = ConstraintVelProblemData(
        M=np.eye(6), Mv=-np.ones(6), N=random.normal(size=(40, 6)), F=random.normal(size=(80, 6)), mu=np.ones(40),
        r=np.full(40, 2),
    )  # fmt: skip
    formed = form_discretized_lcp(data, H)
    assert lcp_matrix(formed, formed.kernel_rows) is formed.MM


def test_the_backward_error_is_that_of_the_dense_matrix():
    """Forces near the solution, to which both measures give the same error."""
    formed = form_discretized_lcp(tower(40), H)
    result = solve_with_strategies(formed, None, 1e-9, True)
    assert result is not None
    dense = lcp.residuals(formed.problem, result.z)
    assert dense.backward_error == pytest.approx(result.residual.backward_error, abs=1e-14)
    np.testing.assert_allclose(result.w, formed.MM @ result.z + formed.qq, rtol=0, atol=1e-12)


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
    """No bare MemoryError from the depths."""

    def full(rows, MM, qq):
        raise MemoryError

    monkeypatch.setattr(discretized_lcp, "assemble_lcp", full)
    with pytest.raises(ProblemDataError, match="n = 12 variables") as caught:
        ConstraintSolver(lcp.Lemke()).solve_discretized_problem(tower(2), H)
    assert isinstance(caught.value.__cause__, MemoryError)
