"""Impact laws at their closed forms, in their energy, and where they differ."""

import numpy as np
import pytest
from impact_cases import cradle, disk, random_impact, rod, spread, two_balls
from refusals import assert_messages
from scipy.integrate import solve_ivp

import lcp
from contactlab import ConstraintSolveError, impact
from contactlab.impact import ChatterjeeRuina, ImpactStatus, Newton, Poisson, PowerLaw, Stronge
from contactlab.impact.ordered_laws import solve_compressed
from problem_data import ConstraintVelProblemData

ORDERED = (Newton, Poisson, Stronge)
ORDERS = [(law, order) for law in ORDERED for order in ("simultaneous", "sequential")]
each_law = pytest.mark.parametrize(("law", "order"), ORDERS, ids=lambda value: getattr(value, "__name__", value))


@each_law
@pytest.mark.parametrize("e", [0.0, 0.3, 1.0])
def test_two_bodies_part_as_newton_wrote(law, order, e):
    """v1' = ((m1 - e m2) v1 + (1 + e) m2 v2) / (m1 + m2), and the other way round; without friction laws agree."""
    m1, m2, v1, v2 = 2.0, 0.7, 3.0, -1.0
    found = law(e, order).solve(two_balls(m1, m2, v1, v2))
    wanted = (
        ((m1 - e * m2) * v1 + (1 + e) * m2 * v2) / (m1 + m2),
        ((m2 - e * m1) * v2 + (1 + e) * m1 * v1) / (m1 + m2),
    )
    np.testing.assert_allclose(found.v_plus, wanted, atol=1e-12)
    lost = 0.5 * (1 - e * e) * m1 * m2 / (m1 + m2) * (v1 - v2) ** 2
    assert found.energy_before - found.energy_after == pytest.approx(lost, abs=1e-12)
    assert -found.work_normal.sum() == pytest.approx(lost, abs=1e-12)


def anitescu_potra(M, v, N, F, mu, e):
    """Velocity after by the LCPs of Anitescu and Potra (1997, section 5), one pair of edges +-F a contact."""
    nc = len(N)
    J, E = np.vstack([N, F, -F]), np.vstack([np.eye(nc), np.eye(nc)])
    W, n = J @ np.linalg.solve(M, J.T), 3 * nc

    def phase(v, given):
        A, q = np.zeros((n + nc, n + nc)), np.concatenate([J @ v, mu * given])
        A[:n, :n], A[nc:n, n:], A[n:, :nc], A[n:, nc:n] = W, E, np.diag(mu), -E.T
        result = lcp.solve(lcp.LCP(A, q))
        assert result.solved
        return result.z[:n]

    compression = phase(v, np.zeros(nc))
    given = e * compression[:nc]
    v = v + np.linalg.solve(M, J.T @ compression + N.T @ given)
    return v + np.linalg.solve(M, J.T @ phase(v, given))


@pytest.mark.parametrize("rests", [False, True])
def test_poissons_law_is_that_of_anitescu_and_potra(rests):
    """Both LCPs written out on dense matrices, a contact at rest that the other one presses included."""
    rng = np.random.default_rng(3)
    for _ in range(25):
        root, N, F = rng.normal(size=(6, 6)), rng.normal(size=(2, 6)), rng.normal(size=(2, 6))
        M, v = root @ root.T + np.eye(6), rng.normal(size=6)
        if rests:
            v = v - np.linalg.pinv(N[1:]) @ (N[1:] @ v)
        v = v * (1.0 if N[0] @ v < 0.0 else -1.0)
        mu, e = rng.uniform(0.0, 0.5, 2), rng.uniform(0.0, 1.0, 2)
        data = ConstraintVelProblemData(M=M, Mv=M @ v, N=N, F=F, mu=mu, r=[1, 1])
        np.testing.assert_allclose(Poisson(e).solve(data).v_plus, anitescu_potra(M, v, N, F, mu, e), atol=1e-12)


def test_the_three_restitutions_part_where_slip_stops_on_the_way():
    """A rod whose slip stops or turns within the impact: three different velocities, each with its own ratio."""
    e, data = 0.8, rod(0.5, 2.0)
    newton, poisson, stronge = (law(e, "sequential").solve(data) for law in ORDERED)
    assert newton.u_plus[0] == pytest.approx(-e * newton.u_minus[0], rel=1e-12)
    course = poisson.sequence[0]
    compression = [s for segment in course.segments for s in segment.states if abs(s.u[0]) < 1e-14]
    assert course.impulse[0] == pytest.approx((1 + e) * compression[0].p[0], rel=1e-12)
    course = stronge.sequence[0]
    compression = [s for segment in course.segments for s in segment.states if abs(s.u[0]) < 1e-14]
    assert course.work_normal == pytest.approx((1 - e * e) * compression[0].work, rel=1e-12)
    assert len({round(o.u_plus[0], 6) for o in (newton, poisson, stronge)}) == 3


def test_newtons_law_with_friction_can_gain_energy_and_is_flagged():
    """Search a family of pendulum tips for the growth Kane found: Newton's law is flagged there, Stronge's never is."""
    rng = np.random.default_rng(7)
    grown = 0
    for _ in range(300):
        data = random_impact(rng)
        newton = Newton(1.0, "sequential").solve(data)
        if newton.energy_ratio > 1.0 + 1e-9:
            grown += 1
            assert newton.gains_energy
            assert "GAINS ENERGY" in str(impact.compare(data, {"Newton": Newton(1.0, "sequential")}))
        assert not Stronge(1.0).solve(data).gains_energy
    assert grown > 5


def check_stronge(rng, impacts, contacts, directions, endless=0, order="sequential"):
    """Stronge's law on random impacts: separating, never more energy, work and energy in balance.

    All end but ``endless`` at most, which a limit on the number of collisions stopped; they gain no energy either.
    """
    stopped = 0
    for _ in range(impacts):
        data = random_impact(rng, contacts, directions)
        found = Stronge(rng.uniform(0.0, 1.0), order).solve(data)
        if found.status is ImpactStatus.SEQUENCE_LIMIT:
            stopped += 1
        else:
            assert found.solved, found.message
            assert found.separates
        assert not found.gains_energy
        work = found.work_normal.sum() + found.work_tangential.sum()
        assert found.energy_after - found.energy_before == pytest.approx(work, abs=1e-9 * found.energy_before)
    assert stopped <= endless


@pytest.mark.parametrize(("impacts", "contacts", "directions"), [(150, 1, 1), (30, 1, 4), (30, 3, 1)])
@pytest.mark.parametrize("order", ["simultaneous", "sequential"])
def test_stronge_never_gains_energy(impacts, contacts, directions, order):
    """One contact and several, in the plane and in space."""
    check_stronge(np.random.default_rng(impacts + directions), impacts, contacts, directions, order=order)


CHAINS = [(3, 1.5, 1.0), (4, 1.0, 1.0), (5, 1.5, 0.2)]
MORE_CHAINS = [(3, 1.0, 1.0), (3, 1.5, 0.2), (4, 1.5, 1.0), (4, 1.5, 0.2), (5, 1.5, 1.0), (5, 1.0, 1.0)]
MORE_CHAINS = [pytest.param(*chain, marks=pytest.mark.slow) for chain in MORE_CHAINS]


@pytest.mark.parametrize(("n", "exponent", "stiffness"), [*CHAINS, *MORE_CHAINS])
def test_chains_of_balls_move_as_their_springs_do(n, exponent, stiffness):
    """Against an integration over positions, in other variables and by another method, to 1e-6."""
    K = np.ones(n - 1)
    K[0] = stiffness

    def motion(_, y):
        pushes = K * np.maximum(y[: n - 1] - y[1:n], 0.0) ** exponent
        return np.concatenate((y[n:], np.diff(pushes, prepend=0.0, append=0.0) * -1.0))

    start = np.zeros(2 * n)
    start[n] = 1.0
    end = solve_ivp(motion, (0.0, 60.0), start, method="DOP853", rtol=1e-11, atol=1e-13, max_step=0.05).y[n:, -1]
    found = Stronge(1.0, stiffness=K, exponent=exponent).solve(cradle(n))
    assert found.solved
    np.testing.assert_allclose(found.v_plus, end, atol=1e-6)
    assert found.energy_ratio == pytest.approx(1.0, abs=1e-7)
    assert found.v_plus.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("n", [3, 4, 5])
@pytest.mark.parametrize("stiffness", [1.0, 0.2])
def test_chains_that_lose_energy_follow_the_distributing_law(n, stiffness):
    """The law of Liu, Zhao and Brogliato integrated over time by another method, contact energies as states: to 1e-6.

    F = c E^(3/5) of the energy E that a contact holds, which falls by F u / e^2 where it opens.
    """
    e, data, K = 0.9, cradle(n), np.ones(n - 1)
    K[0] = stiffness
    N = np.asarray(data.N)

    def motion(_, y):
        u = N @ y[n - 1 :]
        force = 2.5**0.6 * K**0.4 * np.maximum(y[: n - 1], 1e-22) ** 0.6
        return np.concatenate((-force * u * np.where(u < 0.0, 1.0, 1.0 / e**2), N.T @ force))

    start = np.concatenate((np.full(n - 1, 1e-24), np.eye(n)[0]))
    end = solve_ivp(motion, (0.0, 200.0), start, method="LSODA", rtol=1e-10, atol=1e-28).y[n - 1 :, -1]
    found = Stronge(e, stiffness=K).solve(data)
    assert found.solved
    np.testing.assert_allclose(found.v_plus, end, atol=1e-6)


@pytest.mark.parametrize("directions", [1, 4])
def test_the_compression_of_one_contact_is_its_course(directions):
    """Friction of the course that is followed in steps, against Routh's, by straight lines or integrated: to 1e-4."""
    rng = np.random.default_rng(3)
    for _ in range(25):
        data, e = random_impact(rng, 1, directions), float(rng.uniform(0.0, 1.0))
        wanted = Stronge(e, "sequential").solve(data)
        found = solve_compressed(impact.ImpactProblem(data, "steps"), e, np.ones(1), 1.5)
        off = found.v_plus - wanted.v_plus
        assert off @ data.M @ off < (1e-4) ** 2 * 2.0 * wanted.energy_before
        assert found.work_tangential[0] == pytest.approx(wanted.work_tangential[0], abs=1e-3 * wanted.energy_before)


def test_contacts_give_back_the_square_of_their_restitution():
    """A rod that falls flat keeps e^2 of its energy, and contacts that are relabelled change nothing."""
    M = np.diag([1.0, 1.0, 1.0 / 3.0])
    for e in (0.0, 0.3, 0.8):
        for order in ([0, 1], [1, 0]):
            N = np.array([[0.0, 1.0, -1.0], [0.0, 1.0, 1.0]])[order]
            found = Stronge(e).solve(ConstraintVelProblemData(M=M, Mv=M @ [0.0, -1.0, 0.0], N=N))
            assert found.energy_ratio == pytest.approx(e * e, abs=1e-6)
            assert abs(found.v_plus[2]) < 1e-12
            assert found.notice == ""
            np.testing.assert_allclose(found.work_normal, 0.25 * (e * e - 1.0), atol=1e-6)


def test_an_order_that_breaks_a_symmetry_is_told():
    """A flat rod, one end after the other: it leaves turning, the other way round with its contacts relabelled."""
    M = np.diag([1.0, 1.0, 1.0 / 3.0])
    N = np.array([[0.0, 1.0, -1.0], [0.0, 1.0, 1.0]])
    one, two = (
        Stronge(0.5, "sequential").solve(ConstraintVelProblemData(M=M, Mv=M @ [0.0, -1.0, 0.0], N=N[order]))
        for order in ([0, 1], [1, 0])
    )
    assert one.v_plus[2] == pytest.approx(-two.v_plus[2], abs=1e-9)
    assert abs(one.v_plus[2]) > 0.05
    for found in (one, two):
        assert "contacts 0, 1 approached equally fast" in found.notice
    data = ConstraintVelProblemData(M=M, Mv=M @ [0, -1, 0], N=N)
    assert "broke a symmetry" in str(impact.compare(data, restitution=0.5))
    # Equally fast, and of no consequence: two balls on two springs.
    apart = ConstraintVelProblemData(M=np.eye(2), Mv=[-1.0, -1.0], N=np.eye(2))
    assert Stronge(0.5, "sequential").solve(apart).notice == ""


def test_the_course_in_space_is_that_of_its_differential_equation():
    """Against a plain integration over the normal impulse of slip that does not stop: velocity at the end to 1e-8."""
    rng = np.random.default_rng(3)
    compared = 0
    for _ in range(40):
        data = random_impact(rng, 1, 2)
        diagram = impact.routh_diagram(data, restitution=0.5)
        course = diagram.impulse_paths["poisson"]
        if len({segment.phase for segment in course.segments}) > 1 or np.linalg.norm(course.u_plus[1:]) < 0.05:
            continue
        W, mu = diagram.contact.W, diagram.contact.mu
        plain = solve_ivp(
            lambda p, u, W=W, mu=mu: W @ np.concatenate(([1.0], -mu * u[1:] / np.linalg.norm(u[1:]))),
            (0.0, course.impulse[0]),
            diagram.u_minus,
            method="DOP853",
            rtol=1e-12,
            atol=1e-12,
        )
        np.testing.assert_allclose(course.u_plus, plain.y[:, -1], atol=1e-8)
        compared += 1
    assert compared > 5


@each_law
def test_bilateral_rows_take_part(law, order):
    """A ball on a massless slider: the row that holds its height lets the impact act along x alone."""
    M = np.diag([2.0, 2.0])
    data = ConstraintVelProblemData(
        M=M, Mv=M @ [-1.0, 0.5], N=[[1.0, 1.0]], G=[[0.0, 1.0]], mu=[0.0], F=[[0.0, 1.0]], r=[1]
    )
    found = law(0.5, order).solve(data)
    np.testing.assert_allclose(found.v_minus, (-1.0, 0.0), atol=1e-14)
    np.testing.assert_allclose(found.v_plus, (0.5, 0.0), atol=1e-12)
    assert (found.energy_before, found.energy_after) == pytest.approx((1.0, 0.25))


def test_limits_stop_without_rebound():
    """A limit is one more collision, with restitution 0."""
    data = ConstraintVelProblemData(M=np.eye(2), Mv=[-1.0, -2.0], N=[[1.0, 0.0]], L=[[0.0, 1.0]])
    found = Stronge(0.5).solve(data)
    np.testing.assert_allclose(found.v_plus, (0.5, 0.0), atol=1e-14)
    assert [single.contact for single in found.sequence] == [1, 0]


def test_restitution_may_differ_by_contact_and_by_speed():
    """One coefficient per contact; a power law of the speed; nothing below its threshold."""
    data = ConstraintVelProblemData(M=np.eye(2), Mv=[-1.0, -16.0], N=np.eye(2))
    np.testing.assert_allclose(Newton([0.25, 0.75]).solve(data).v_plus, (0.25, 12.0), atol=1e-12)
    law = PowerLaw(0.8, speed=1.0, exponent=0.25)
    np.testing.assert_allclose(Poisson(law).solve(data).v_plus, (0.8, 6.4), atol=1e-12)
    np.testing.assert_allclose(Stronge([0.5, law]).solve(data).v_plus, (0.5, 6.4), atol=1e-12)
    assert_messages(
        impact.ImpactError,
        ("3 entries for 2", lambda: Newton([0.5, law, law]).solve(data)),
        ("between 0 and 1", lambda: Newton([1.5, law])),
    )
    law = PowerLaw(0.8, exponent=0.0, threshold=2.0)
    np.testing.assert_allclose(Stronge(law).solve(data).v_plus, (0.0, 12.8), atol=1e-12)


def test_a_ball_between_two_walls_of_bodies_ends():
    """A light ball bounces between heavy ones for long, at e = 0.9 for ever: the sequence ends, momentum is kept."""
    M = np.diag([100.0, 1.0, 100.0])
    data = ConstraintVelProblemData(M=M, Mv=M @ [1.0, 0.0, -1.0], N=[[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]])
    for e in (1.0, 0.9, 0.0):
        found = Newton(e, "sequential").solve(data)
        assert found.solved
        assert M.diagonal() @ found.v_plus == pytest.approx(0.0, abs=1e-10)
    limited = Newton(0.9, "sequential", max_collisions=3).solve(data)
    assert limited.status is ImpactStatus.SEQUENCE_LIMIT
    assert "after 3" in limited.message


@pytest.mark.parametrize("directions", [1, 4])
@pytest.mark.parametrize(("e", "tangential"), [(1.0, 1.0), (0.8, 0.5), (0.6, 0.0)])
def test_a_rubber_ball_turns_its_slip_round(directions, e, tangential):
    """Grip through compression: slip after is -e_T e times the slip before; Garwin's ball keeps its energy.

    Where friction is too weak to grip it is mu times the normal impulse throughout, and a spring has nothing to add.
    """
    M = np.diag([1.0, 1.0, 1.0, 0.4, 0.4])
    v = np.array([1.0, 0.5, -2.0, 0.0, 0.3])
    T = np.array([[1.0, 0.0, 0.0, 0.0, -1.0], [0.0, 1.0, 0.0, 1.0, 0.0]])
    rows = T[:1] if directions == 1 else spread(directions) @ T
    v = v * [1, 0, 1, 0, 1] if directions == 1 else v

    def ball(mu):
        return ConstraintVelProblemData(M=M, Mv=M @ v, N=[[0, 0, 1, 0, 0]], F=rows, mu=[mu], r=[directions])

    found = Poisson(e, tangential=tangential).solve(ball(3.0))
    np.testing.assert_allclose(T @ found.v_plus, -e * tangential * T @ v, atol=1e-9)
    assert found.u_plus[0] == pytest.approx(2.0 * e, abs=1e-9)
    assert not found.gains_energy
    if e == tangential == 1.0:
        assert found.energy_ratio == pytest.approx(1.0, abs=1e-9)
    weak, plain = (Poisson(e, tangential=one).solve(ball(0.02)).v_plus for one in (tangential, 0.0))
    np.testing.assert_allclose(weak, plain, atol=1e-9)


@pytest.mark.parametrize("directions", [1, 4])
def test_chatterjee_and_ruinas_law_has_both_coefficients_and_gains_no_energy(directions):
    """In the cone u_n+ = -e u_n-, u_t+ = -e_t u_t- up to coupling; else cut to the cone, towards (1 + e) P_I."""
    rng = np.random.default_rng(17)
    gripped = 0
    for _ in range(200):
        data, e, tangential = random_impact(rng, 1, directions), rng.uniform(0.0, 1.0), rng.uniform(-1.0, 1.0)
        found = ChatterjeeRuina(e, tangential).solve(data)
        (single,) = found.sequence
        assert single.u_plus[0] == pytest.approx(-e * single.u_minus[0], rel=1e-9)
        assert not found.gains_energy
        bound, push = float(data.mu[0] * single.impulse[0]), float(np.linalg.norm(single.impulse[1:]))
        assert push <= bound * (1.0 + 1e-9)
        collision = impact.ImpactProblem(data, "test").collisions[0]
        smooth = np.eye(len(single.impulse))[0] * -single.u_minus[0] / collision.W[0, 0]
        stop = np.linalg.solve(collision.W, -single.u_minus)
        share = (single.impulse - (1.0 + e) * smooth) @ (stop - smooth) / ((stop - smooth) @ (stop - smooth))
        np.testing.assert_allclose(single.impulse, (1.0 + e) * smooth + share * (stop - smooth), atol=1e-9)
        if push < bound * (1.0 - 1e-6):
            moved = (e - tangential) * collision.W[1:] @ smooth
            np.testing.assert_allclose(single.u_plus[1:], moved - tangential * single.u_minus[1:], atol=1e-9)
            gripped += 1
        else:
            assert share <= (1.0 + tangential) * (1.0 + 1e-9)
    assert 20 < gripped < 190
    # Slip that friction does not stop: the disk's closed form, as of every law. Several contacts, one after the other.
    np.testing.assert_allclose(ChatterjeeRuina(0.5, 1.0).solve(disk(4.0, 0.0, 2.0, 0.1)).v_plus, (3.7, 1.0, -0.6))
    np.testing.assert_allclose(ChatterjeeRuina(1.0).solve(cradle(4)).v_plus, np.eye(4)[-1], atol=1e-12)


def test_without_restitution_the_law_is_the_limit_of_little():
    """Random impacts of two and three contacts with friction: e = 0 beside e = 3e-4, no jump between them."""
    rng, compared = np.random.default_rng(7), 0
    for _ in range(15):
        data = random_impact(rng, int(rng.integers(2, 4)), 1, nv=int(rng.integers(3, 7)))
        nothing, little = Stronge(0.0).solve(data), Stronge(3e-4).solve(data)
        if not (nothing.solved and little.solved):
            continue
        off = nothing.v_plus - little.v_plus
        assert np.sqrt(off @ data.M @ off) < 2e-3 * np.sqrt(2.0 * nothing.energy_before)
        compared += 1
    assert compared > 12


def test_a_restitution_that_is_not_solved_carries_its_problem():
    """The momentum of the second LCP belongs to its velocity, so that the error's problem can be solved again."""

    class Once(lcp.Lemke):
        def solve(self, problem, **options):
            calls.append(problem)
            return (
                super().solve(problem, **options)
                if len(calls) == 1
                else lcp.Claim(problem.q * 0.0, lcp.Status.STALLED, 1)
            )

    calls = []
    with pytest.raises(ConstraintSolveError, match="Poisson") as caught:
        Poisson(0.5, solver=Once()).solve(rod(0.5, 0.3))
    blocks = caught.value.problem.blocks()
    np.testing.assert_allclose(blocks.v_free, caught.value.problem.solve_inertia(blocks.Mv))
