"""The LCP of each level is the reduction of the mixed problem that the rows state, bilateral rows of any rank."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mixed import random_acceleration_problem

import lcp
from contactlab import ConstraintSolver
from contactlab.formulation.acceleration import form_acceleration_lcp
from contactlab.formulation.discretized import form_discretized_lcp, form_impact_lcp
from problem_data import ConstraintAccelProblemData, ConstraintVelProblemData

RANKS = [(0, 0), (1, 1), (3, 3), (4, 2), (6, 1)]


def velocity_level(data: ConstraintAccelProblemData, *, soft: bool = True) -> ConstraintVelProblemData:
    """The same rows at velocity level, every contact with as many directions as fit, softened."""
    rng = np.random.default_rng(9)
    N, F, L, G = (np.asarray(op @ np.eye(data.nv)) for op in (data.N, data.F, data.L, data.G))
    r = np.array([1, 0, 1, data.nr - 2])
    gammas: dict[str, Any] = {}
    if soft:
        gammas = {
            "gammaN": rng.uniform(size=4),
            "gammaF": rng.uniform(size=data.nr),
            "gammaE": rng.uniform(size=4),
            "gammaL": rng.uniform(size=2),
        }
    return ConstraintVelProblemData(
        M=data.M,
        Mv=data.tau,
        N=N,
        F=F,
        L=L,
        G=G,
        r=r,
        mu=np.where(r > 0, rng.uniform(0.1, 0.5, 4), 0.0),
        kN=data.kN,
        kF=data.kF,
        kL=data.kL,
        kG=data.kG,
        **gammas,
    )


def mixed(data: Any, h: float, R: np.ndarray, cones: list[int], mu: np.ndarray, gamma: np.ndarray) -> lcp.MLCP:
    """A = [[M, -G'], [G, 0]] with free (motion, h fG); y = [fN | fF+ | fF- | lambda | fL]."""
    N, F, L, G = (np.asarray(op @ np.eye(data.nv)) for op in (data.N, data.F, data.L, data.G))
    nc, nr, ns, nl, nb = data.nc, data.nr, len(cones), data.nl, data.nb
    E = np.zeros((nr, ns))
    E[np.arange(nr), np.repeat(np.arange(ns), data.r)] = 1.0
    X3 = np.zeros((nc + 2 * nr + ns + nl,) * 2)
    edges, slack = slice(nc, nc + 2 * nr), slice(nc + 2 * nr, nc + 2 * nr + ns)
    X3[edges, slack] = np.vstack((E, E))
    X3[slack, edges] = -np.vstack((E, E)).T
    X3[slack, cones] = np.diag(mu)
    X3 += np.diag(gamma)
    load = data.tau if isinstance(data, ConstraintAccelProblemData) else data.Mv
    no_force = np.zeros((ns, data.nv))
    return lcp.MLCP(
        A=np.block([[data.M, -G.T], [G, np.zeros((nb, nb))]]),
        X1=np.vstack((-h * np.vstack((R, F, -F, no_force, L)).T, np.zeros((nb, len(X3))))),
        X2=np.hstack((np.vstack((N, F, -F, no_force, L)), np.zeros((len(X3), nb)))),
        X3=X3,
        a=np.concatenate((-load, data.kG)),
        x4=np.concatenate((data.kN, data.kF, -data.kF, np.zeros(ns), data.kL)),
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("nb", "rank"), RANKS)
def test_acceleration_level(seed: int, nb: int, rank: int) -> None:
    """Forces of sliding contacts along R, cones of the others: MM and qq are those of the reduction."""
    data = random_acceleration_problem(seed, nb=nb, rank=rank)
    R = np.asarray(data.N_minus_muQ_T.T @ np.eye(data.nv))
    gamma = np.zeros(data.nc + 2 * data.nr + data.nns + data.nl)
    problem = mixed(data, 1.0, R, list(data.non_sliding_contacts), data.mu_non_sliding, gamma)
    reduced = lcp.reduce(problem).lcp
    formed = form_acceleration_lcp(data)
    np.testing.assert_allclose(formed.MM, reduced.M, atol=1e-11 * np.abs(reduced.M).max())
    np.testing.assert_allclose(formed.qq, reduced.q, atol=1e-11 * np.abs(reduced.q).max())


@pytest.mark.parametrize("h", [1.0, 0.01])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("nb", "rank"), RANKS)
def test_velocity_level(seed: int, nb: int, rank: int, h: float) -> None:
    """Softened rows over a step, and at h = 1 the impact problem."""
    data = velocity_level(random_acceleration_problem(seed, nb=nb, rank=rank))
    N = np.asarray(data.N @ np.eye(data.nv))
    gamma = np.concatenate((data.gammaN, data.gammaF, data.gammaF, data.gammaE, data.gammaL))
    reduced = lcp.reduce(mixed(data, h, N, list(range(data.nc)), data.mu, gamma)).lcp
    formed = form_impact_lcp(data) if h == 1.0 else form_discretized_lcp(data, h)
    np.testing.assert_allclose(formed.MM, reduced.M, atol=1e-11 * np.abs(reduced.M).max())
    np.testing.assert_allclose(formed.qq, reduced.q, atol=1e-11 * np.abs(reduced.q).max())


@pytest.mark.parametrize("nb", [0, 2])
def test_the_base_of_a_step_is_the_impact_problem_where_nothing_is_soft(nb: int) -> None:
    """The LCP before any step size, bit for bit."""
    data = velocity_level(random_acceleration_problem(3, nb=nb), soft=False)
    base = ConstraintSolver.construct_base_discretized_time_lcp(data)
    impact = form_impact_lcp(data)
    assert np.array_equal(base.MM, impact.MM)
    assert np.array_equal(base.qq, impact.qq)


def test_bilateral_rows_carry_what_both_could() -> None:
    """A weight on a contact and on a bilateral row at once rests on the latter alone: it is eliminated first."""
    data = ConstraintAccelProblemData(M=[[2.0]], tau=[-20.0], N=[[1.0]], G=[[1.0]])
    forces = ConstraintSolver().solve_constraint_problem(data).forces
    assert forces.fN.tolist() == [0.0]
    np.testing.assert_allclose(forces.fG, [20.0])
