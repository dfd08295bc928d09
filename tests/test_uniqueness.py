"""Whether a contact problem has one velocity, several or none: closed forms, proofs, and what stays open."""

import numpy as np
import pytest
import simulation_scenes as scenes
from impact_cases import random_impact
from naive import enumerate_bases
from test_selection import grasp

import lcp
from contactlab import impact
from contactlab.constraint_solver import VelocityCount, motion_is_unique
from contactlab.constraint_solver.discretized import form_discretized_lcp, form_impact_lcp
from contactlab.simulation import TimeStepping, simulate
from problem_data import ConstraintVelProblemData

ROD = np.diag([1.0, 1.0, 1.0 / 3.0])  # a rod of 2 m and 1 kg


def rod_on_the_ground(u_n: float, u_t: float, mu: float = 2.0) -> ConstraintVelProblemData:
    """Its one end at (0.5, -sqrt(3/4)) from the centre touches at these velocities, in Painleve's region."""
    y = -np.sqrt(0.75)
    N, F = np.array([[0.0, 1.0, 0.5]]), np.array([[1.0, 0.0, -y]])
    v = np.linalg.lstsq(np.vstack((N, F)), np.array([u_n, u_t]), rcond=None)[0]
    return ConstraintVelProblemData(M=ROD, Mv=ROD @ v, N=N, F=F, mu=[mu], r=[1])


def ladder(angle: float, v: list[float], mu: float, **more) -> ConstraintVelProblemData:
    """A rod that hits floor and wall at once."""
    c, s = np.cos(angle), np.sin(angle)
    N = [[0.0, 1.0, c], [1.0, 0.0, -s]]
    F = [[1.0, 0.0, s], [0.0, 1.0, -c]]
    return ConstraintVelProblemData(M=ROD, Mv=ROD @ v, N=N, F=F, mu=[mu] * 2, r=[1, 1], **more)


def check_solutions(data, found, h=None):
    """The shown solutions solve the LCP, with these velocities."""
    formed = form_impact_lcp(data) if h is None else form_discretized_lcp(data, h)
    for z, v_plus in zip(found.solutions, found.velocities, strict=True):
        assert lcp.residuals(formed.problem, z).solved(1e-9)
        rates = data.blocks().J @ v_plus + data.blocks().k
        assert rates[: data.nc].min() > -1e-9


def test_an_impact_that_ends_at_rest_is_unique():
    """Moreau's projection: the distance is in units of the velocity before, for any velocity after."""
    data = ConstraintVelProblemData(M=ROD, Mv=[0, -1, 0.1], N=[[0, 1, -1], [0, 1, 1], [0, 1, 0.5]])
    for found in (motion_is_unique(data), impact.uniqueness(data, 0.0)):
        assert found.verdict is VelocityCount.ONE
        assert found.unique is True
        assert "monotone" in str(found)
        check_solutions(data, found)
    # By all bases too, where friction forbids the other proof.
    rough = ConstraintVelProblemData(
        M=ROD, Mv=[0.0, -1, 0.1], N=[[0, 1, -1], [0, 1, 1]], F=[[1, 0, 1], [1, 0, 1]], mu=[0.5, 0.5], r=[1, 1]
    )
    found = motion_is_unique(rough)
    assert (found.verdict, found.enumerated is None) == (VelocityCount.ONE, False)
    assert np.abs(found.velocities[0]).max() < 1e-12


@pytest.mark.parametrize("friction", [False, True])
def test_a_wedge_that_closes_has_no_velocity(friction):
    """Two walls that approach a body from both sides at 1 m/s: proven, and not called unique."""
    rows = {"F": [[0, 1], [0, 1]], "mu": [0.5, 0.5], "r": [1, 1]} if friction else {}
    data = ConstraintVelProblemData(M=np.eye(2), Mv=[0.0, -1.0], N=[[1, 0], [-1, 0]], kN=[-1.0, -1.0], **rows)
    found = motion_is_unique(data)
    assert found.verdict is VelocityCount.NONE
    assert found.unique is False
    assert not found.velocities
    assert ("bases" if friction else "Farkas") in found.reason
    table = impact.compare(data, {"Newton": impact.Newton(None)})
    assert table.uniqueness.unique is False
    assert "no solution" in str(table)


def test_a_rod_in_painleves_region_has_three_velocities():
    """Leaving untouched, sliding on with an impulse, jamming: closed forms of W = [[1.75, b], [b, 3.25]]."""
    data = rod_on_the_ground(0.1, 1.0)
    found = motion_is_unique(data)
    assert found.verdict is VelocityCount.SEVERAL
    assert found.unique is False
    check_solutions(data, found)
    a, b, c, mu = 1.75, 0.75**0.5 * 1.5, 3.25, 2.0
    p = 0.1 / (mu * b - a)
    stuck = np.linalg.solve([[a, b], [b, c]], [-0.1, -1.0])
    J = data.blocks().J
    wanted = [[0.0, 0.0], [0.0, 1.0 + p * (b - mu * c)], [0.1, 1.0]]
    assert abs(stuck[1]) < mu * stuck[0]
    assert sorted((J @ v).round(9).tolist() for v in found.velocities) == pytest.approx(np.round(wanted, 9), abs=1e-8)
    # Falling, or with half the friction, it has one.
    assert motion_is_unique(rod_on_the_ground(-0.1, 1.0)).unique is True
    assert motion_is_unique(rod_on_the_ground(0.1, 1.0, mu=1.0)).unique is True


@pytest.mark.parametrize("u_n", [0.1, -0.1])
def test_units_and_coordinates_change_no_verdict(u_n):
    """Lengths are in mm and masses in t."""
    data, unit, inverse = rod_on_the_ground(u_n, 1.0), np.diag([1e3, 1e3, 1.0]), np.diag([1e-3, 1e-3, 1.0])
    J, Mv = data.blocks().J @ inverse * 1e3, 1e-3 * inverse @ data.blocks().Mv
    other = ConstraintVelProblemData(M=1e-3 * inverse @ ROD @ inverse, Mv=Mv, N=J[:1], F=J[1:], mu=[2.0], r=[1])
    one, two = motion_is_unique(data), motion_is_unique(other)
    assert one.verdict is two.verdict
    for v in one.velocities:
        assert min(np.abs(unit @ v - w).max() for w in two.velocities) < 1e-6


def test_a_ladder_hits_floor_and_wall_at_once():
    """Halm and Posa: from one state it stops completely, or continues along the floor."""
    data = ladder(1.4, [-0.14, -0.33, 1.22], 1.0)
    assert np.all(data.blocks().J[:2] @ [-0.14, -0.33, 1.22] < 0.0)
    found = motion_is_unique(data)
    assert found.verdict is VelocityCount.SEVERAL
    check_solutions(data, found)
    speeds = sorted(float(np.linalg.norm(v)) for v in found.velocities)
    assert speeds[0] < 1e-9
    assert speeds[-1] > 0.1
    energy = [0.5 * v @ ROD @ v for v in (np.array([-0.14, -0.33, 1.22]), *found.velocities)]
    assert max(energy[1:]) < energy[0]
    # Not by bases: answers of Lemke's method show it, too; with little friction they prove nothing, and say so.
    shown = motion_is_unique(data, max_n=4)
    assert shown.verdict is VelocityCount.SEVERAL
    check_solutions(data, shown)
    assert motion_is_unique(ladder(1.4, [-0.14, -0.33, 1.22], 0.2)).unique is True
    left = motion_is_unique(ladder(1.4, [-0.14, -0.33, 1.22], 0.2), max_n=4)
    assert left.verdict is VelocityCount.NOT_SEARCHED
    assert left.unique is None
    assert "8 variables, more than max_n = 4" in str(left)
    assert len(left.velocities) == 1


def test_forces_that_are_many_leave_one_motion():
    """Continua of forces: redundant corners, edges that span one tangent force, a grasp at rest, nothing at all."""
    angles = np.pi * np.arange(4) / 4
    F = np.column_stack((np.cos(angles), np.sin(angles), np.zeros(4)))
    for Mv in ([0.1, 0.05, -1.0], [0.1, 0.05, 1.0], [0.0, 0.0, 0.0]):
        data = ConstraintVelProblemData(M=np.eye(3), Mv=Mv, N=[[0, 0, 1]], F=F, mu=[0.5], r=[4])
        found = motion_is_unique(data)
        assert found.verdict is VelocityCount.ONE, Mv
    recording = simulate(scenes.cube_at_rest(), TimeStepping(1e-3, edges=4), steps=2)
    found = motion_is_unique(recording.problem(1), recording.h[1])
    assert found.verdict is not VelocityCount.SEVERAL
    assert np.abs(found.velocities[0]).max() < 1e-9


def test_joints_and_bounds_take_part():
    """A firmly gripped box may stay, and may turn or fall; drives and equations without friction leave one motion."""
    recording = simulate(grasp(1, 10.0), TimeStepping(2e-3, edges=4), steps=4)
    problem = recording.problem(3)
    found = motion_is_unique(problem, recording.h[3])
    assert found.verdict is VelocityCount.SEVERAL
    check_solutions(problem, found, recording.h[3])
    assert min(np.abs(v - recording.v_plus(3)).max() for v in found.velocities) < 1e-9
    data = ConstraintVelProblemData(
        M=np.eye(2), Mv=[1.0, -1.0], N=[[0, 1]], G=[[1.0, 1.0]], B=[[1.0, 0.0]], lo=[-0.2], hi=[0.2]
    )
    found = motion_is_unique(data, 0.1)
    assert found.verdict is VelocityCount.ONE
    assert "monotone" in found.reason


def test_verdicts_agree_with_all_bases():
    """300 random impacts in the plane, of one contact or two; some demand too much rebound."""
    rng = np.random.default_rng(7)
    seen = dict.fromkeys(VelocityCount, 0)
    for i in range(300):
        contacts = 2 if i % 10 == 0 else 1
        data = random_impact(rng, contacts, 1, nv=3 * contacts, kN=rng.uniform(-2.0, 2.0, contacts))
        if i % 5 == 1:  # beyond Painleve's threshold, touching as they part
            data = rod_on_the_ground(rng.uniform(-0.2, 0.2), rng.uniform(-1, 1), mu=rng.uniform(1.0, 4.0))
        b = data.blocks()
        speed = (b.Mv @ b.v_free) ** 0.5
        velocities: list = []
        for z in enumerate_bases(form_impact_lcp(data).problem.M, form_impact_lcp(data).qq):
            nc, nr = b.nc, b.nr
            v = b.v_free + np.concatenate((z[:nc], z[nc : nc + nr] - z[nc + nr : nc + 2 * nr])) @ b.Y
            if all((v - w) @ data.M @ (v - w) > (1e-5 * speed) ** 2 for w in velocities):
                velocities.append(v)
        found = motion_is_unique(data)
        wanted = (VelocityCount.NONE, VelocityCount.ONE, VelocityCount.SEVERAL)[min(2, len(velocities))]
        assert found.verdict is wanted, (i, len(velocities), str(found))
        assert len(found.velocities) == len(velocities)
        for v in velocities:
            assert min(np.abs(v - w).max() for w in found.velocities) < 1e-6 * (1.0 + np.abs(v).max())
        seen[found.verdict] += 1
    assert seen[VelocityCount.ONE] > 100
    assert seen[VelocityCount.SEVERAL] > 5


def test_larger_problems_are_decided_by_branches():
    """A box that slides onto its four corners, 24 unknowns: two velocities, and of one corner that it has no other."""

    def box(corners, v, mu):
        N, F = [], []
        for x, y in corners:
            p = np.array([0.1 * x, 0.1 * y, -0.1])
            for rows, d in ((N, (0, 0, 1)), (F, (1, 0, 0)), (F, (0, 1, 0))):
                rows.append(np.concatenate((d, np.cross(p, d))))
        M = np.diag([1, 1, 1, *[0.02 / 3] * 3])
        return ConstraintVelProblemData(M=M, Mv=M @ v, N=N, F=F, mu=[mu] * len(N), r=[2] * len(N))

    four = box([(1, 1), (1, -1), (-1, 1), (-1, -1)], [0.5, 0.2, -1, 0.3, 0.1, 0], 0.3)
    found = motion_is_unique(four)
    assert found.verdict is VelocityCount.SEVERAL
    check_solutions(four, found)
    one = box([(1, 1), (1, -1)], [0.5, 0.2, -1, 0.3, 0.1, 0.2], 0.1)
    assert motion_is_unique(one, max_n=6).verdict is VelocityCount.NOT_SEARCHED
