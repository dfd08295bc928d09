"""Few contacts that continue to stick are solved in the space of their forces, with equal forces; others are not."""

import numpy as np
import pytest

from contactlab import ConstraintSolver, EqualCompliance
from problem_data import ConstraintVelProblemData

pytestmark = pytest.mark.nojit

H = 0.01


def robot(pull: float, free: int, contacts: int = 3, alone: bool = True) -> ConstraintVelProblemData:
    """Twelve velocities pressed on contacts that ``free`` of them move, pulled aside by a part of what friction holds.

    ``alone``: as one tree; else beside another, of one velocity, that nothing touches.
    """
    random = np.random.default_rng(5)
    nv = 12
    root = random.normal(size=(nv, nv))
    M = root @ root.T + nv * np.eye(nv)
    frames = random.normal(size=(contacts, 3, nv))
    frames[:, :, free:] = 0.0
    turns = np.array([[1, 0], [np.sqrt(0.5), np.sqrt(0.5)], [0, 1], [-np.sqrt(0.5), np.sqrt(0.5)]])
    N, F = frames[:, 0], np.concatenate([turns @ frame[1:] for frame in frames])
    # Forces that press alike, taken back by the load; and a pull along the first contact's tangent.
    load = -N.T @ np.full(contacts, 20.0) - pull * 0.5 * 20.0 * frames[0, 1]
    Mv = H * load
    if not alone:
        M = np.block([[M, np.zeros((nv, 1))], [np.zeros((1, nv)), np.ones((1, 1))]])
        Mv, N, F = np.append(Mv, 0.0), np.pad(N, ((0, 0), (0, 1))), np.pad(F, ((0, 0), (0, 1)))
    starts = [0, nv] if alone else [0, nv, nv + 1]
    mu, r = np.full(contacts, 0.5), np.full(contacts, 4)
    return ConstraintVelProblemData(M=M, Mv=Mv, N=N, F=F, mu=mu, r=r, tree_starts=starts)


@pytest.mark.parametrize("free", [12, 7])
def test_forces_are_those_that_modes_of_velocities_lead_to(free: int) -> None:
    """Regular contacts and redundant ones, from forces that a load of before has left."""
    solver = ConstraintSolver(EqualCompliance())
    start = solver.solve_discretized_problem(robot(0.3, free), H).result.z
    found = solver.solve_discretized_problem(robot(0.5, free), H, z0=start)
    beside = solver.solve_discretized_problem(robot(0.5, free, alone=False), H, z0=start)
    assert [one.result.solver.attempt for one in (found, beside)] == ["active_set", "active_set"]
    np.testing.assert_allclose(found.result.z, beside.result.z, atol=1e-8 * np.abs(beside.result.z).max())
    np.testing.assert_allclose(found.v_plus, beside.v_plus[:-1], atol=1e-14)
    assert found.certificate.holds(1e-12)


def test_contacts_that_begin_to_slide_are_left_to_the_modes_of_velocities() -> None:
    """The same forces as beside another tree, where nothing of the kind is tried."""
    solver = ConstraintSolver(EqualCompliance())
    start = solver.solve_discretized_problem(robot(0.3, 12), H).result.z
    found = solver.solve_discretized_problem(robot(4.0, 12), H, z0=start)
    beside = solver.solve_discretized_problem(robot(4.0, 12, alone=False), H, z0=start)
    assert found.certificate.holds(1e-9)
    assert np.abs(found.v_plus).max() > 1e-4
    np.testing.assert_allclose(found.result.z, beside.result.z, atol=1e-12)
