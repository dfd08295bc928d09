"""Laws of one collision: Brach's, Smith's, a tangential spring, and one of the user's, each at its closed form."""

from dataclasses import dataclass

import numpy as np
import pytest
from impact_cases import cradle, disk, random_impact, rod
from scipy.optimize import brentq

from contactlab.event_driven import EventDriven, EventKind
from contactlab.impact import (
    ALL_LAWS,
    Brach,
    ImpactError,
    ImpactLaw,
    Newton,
    SequentialLaw,
    SingleImpact,
    Smith,
    TangentialCompliance,
    all_laws,
    routh_diagram,
)
from contactlab.simulation import HalfSpace, Material, RigidInertia, Sphere, WorldBuilder
from problem_data import ConstraintVelProblemData

LAWS = (Brach, Smith, TangentialCompliance)


def ball(slip, mu, kappa=0.4):
    """A ball of unit mass and radius in the plane that falls at 1 m/s: W_nn = 1, W_tt = 1 + 1 / kappa, W_nt = 0."""
    M = np.diag([1.0, 1.0, kappa])
    return ConstraintVelProblemData(M=M, Mv=M @ [slip, -1, 0], N=[[0, 1, 0]], F=[[1, 0, 1]], mu=[mu], r=[1])


@pytest.mark.parametrize("directions", [1, 4])
@pytest.mark.parametrize("law", LAWS)
def test_energy_is_never_gained_and_friction_stays_within_its_cone(law, directions):
    """Random inertia and rows, a third of them with e = 1, in the plane and in space; every one has a solution."""
    rng = np.random.default_rng(directions)
    for i in range(120):
        data, e = random_impact(rng, 1, directions), 1.0 if i % 3 == 0 else rng.uniform(0.0, 1.0)
        found = law(e).solve(data)
        assert found.solved, found.message
        assert found.separates
        assert not found.gains_energy
        (single,) = found.sequence
        assert np.linalg.norm(single.impulse[1:]) <= data.mu[0] * single.impulse[0] * (1.0 + 1e-9)
        work = found.work_normal.sum() + found.work_tangential.sum()
        assert found.energy_after - found.energy_before == pytest.approx(work, abs=1e-9 * found.energy_before)


@pytest.mark.parametrize("law", LAWS)
def test_slip_that_outlasts_the_impact_is_the_same_under_every_law(law):
    """Friction is mu (1 + e) p all along: the disk's closed form. Several contacts, one after the other."""
    np.testing.assert_allclose(law(0.5).solve(disk(4.0, 0.0, 2.0, 0.1)).v_plus, (3.7, 1.0, -0.6), atol=1e-6)
    np.testing.assert_allclose(law(1.0).solve(cradle(4)).v_plus, np.eye(4)[-1], atol=1e-5)


def test_which_laws_agree_where_slip_neither_stops_nor_turns():
    """One contact: without friction all seven; on a straight course all but Chatterjee and Ruina's and compliance."""
    rng, apart = np.random.default_rng(0), dict.fromkeys(("Chatterjee and Ruina", "Tangential compliance"), 0.0)
    laws = {law.title: law(0.7) for law in ALL_LAWS} | all_laws(0.7)
    kinds = set()
    for k in range(60):
        data = random_impact(rng, nv=3)
        M, rows, v = np.asarray(data.M), np.vstack((data.N, data.F)), np.linalg.solve(data.M, data.Mv)
        if k % 3 == 0:  # no slip before
            v = v - np.linalg.pinv(rows) @ [0.0, rows[1] @ v]
        mu = 0.0 if k % 4 == 0 else float(data.mu[0])
        data = ConstraintVelProblemData(M=M, Mv=M @ v, N=rows[:1], F=rows[1:], mu=[mu], r=[1])
        course = routh_diagram(data, restitution=0.7).impulse_paths["stronge"].segments
        slips = [course[0].states[0].u[1]] if abs(course[0].states[0].u[1]) > 1e-9 else []
        slips += [segment.states[-1].u[1] for segment in course]
        if mu > 0.0 and len(set(np.sign(np.round(slips, 9)))) > 1:
            continue
        kinds.add((mu > 0.0, course[0].phase))
        found = {name: law.solve(data).v_plus for name, law in laws.items()}
        for name, after in found.items():
            off = np.sqrt((after - found["Stronge"]) @ M @ (after - found["Stronge"]) / (v @ M @ v))
            if mu > 0.0 and name in apart:
                apart[name] = max(apart[name], off)
            else:
                assert off < 1e-6, name
    assert len(kinds) == 4  # smooth; slips on, slips from rest, sticks
    assert min(apart.values()) > 0.05


@pytest.mark.parametrize("angle", [0.4, 0.8, 1.2])
@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_a_rods_slip_stops_at_brachs_ratio(angle, e):
    """A rod of half length 1: mu_0 = (s W_nn + (1 + e) W_nt) / (s W_nt + (1 + e) W_tt); below it mu is the ratio."""
    c, s = np.cos(angle), np.sin(angle)
    W_nn, W_tt, W_nt = 1.0 + 3.0 * c * c, 1.0 + 3.0 * s * s, -3.0 * c * s
    slip = 0.4  # to the right, while the end falls at 1 m/s
    critical = (slip * W_nn + (1.0 + e) * W_nt) / (slip * W_nt + (1.0 + e) * W_tt)
    for mu in (0.3 * abs(critical), 3.0 * abs(critical)):
        (single,) = Brach(e).solve(rod(angle, mu, (slip, -1.0, 0.0))).sequence
        lossless = single.work_normal + single.work_tangential > -1e-12
        ratio = -single.impulse[1] / single.impulse[0]
        assert lossless or ratio == pytest.approx(np.clip(critical, -mu, mu), rel=1e-12)
        if not lossless and mu > abs(critical):
            assert single.u_plus[1] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("slip", [0.05, 0.3, 1.0, 3.0])
def test_smiths_ball_is_a_root_of_a_cubic(slip):
    """Slip after, s, of a ball: (s - a) (a^2 + s^2) = -k (a^2 - s^2) while it turns round, k = mu (1 + e) W_tt."""
    mu, e = 0.2, 0.7
    k = mu * (1.0 + e) * 3.5
    (single,) = Smith(e).solve(ball(slip, mu)).sequence
    after = slip - k
    if after < 0.0:
        roots = np.roots([1.0, -slip - k, slip * slip, -slip * slip * (slip - k)])
        (after,) = roots[(np.abs(roots.imag) < 1e-12) & (roots.real < 0.0)].real
    assert single.u_plus[1] == pytest.approx(after, rel=1e-9)


def test_a_superball_is_one_whose_springs_swing_together():
    """eta^2 = W_tt / W_nn, e = 1, no sliding: fall and slip turn round and all energy is kept (Garwin 1969)."""
    for kappa in (0.4, 2.0 / 3.0):
        found = TangentialCompliance(1.0, 1.0 + 1.0 / kappa).solve(ball(0.5, 1.0, kappa))
        (single,) = found.sequence
        np.testing.assert_allclose(single.u_plus, -single.u_minus, atol=1e-6)
        assert found.energy_ratio == pytest.approx(1.0, abs=1e-7)


@pytest.mark.parametrize("e", [1.0, 0.6])
@pytest.mark.parametrize("slip", [0.05, 0.2])
def test_a_rough_ball_that_slides_at_the_end_only(slip, e):
    """It sticks until Omega t_s, then slides: s = s_0 cos Omega t_s + W_tt mu (the remaining normal impulse).

    Stronge's solution of a ball, eta^2 = 1.21: F_n = sin t, then cos((t - pi/2) / e) in restitution;
    F_t = s_0 sin(Omega t) Omega / W_tt.
    """
    mu, W_tt = 0.3, 3.5
    omega = np.sqrt(W_tt / 1.21)
    end = 0.5 * np.pi * (1.0 + e)

    def push(t):
        return np.sin(t) if t < 0.5 * np.pi else np.cos((t - 0.5 * np.pi) / e)

    def margin(t):  # of friction, while it holds
        return mu * push(t) - abs(slip * np.sin(omega * t) * omega / W_tt)

    times = np.linspace(1e-3, end, 4000)
    first = int(np.flatnonzero([margin(t) < 0.0 for t in times])[0])
    t = brentq(margin, times[first - 1], times[first])
    left = e * (1.0 - np.sin((t - 0.5 * np.pi) / e)) if t > 0.5 * np.pi else np.cos(t) + e
    after = slip * np.cos(omega * t) - W_tt * mu * left * np.sign(slip * np.sin(omega * t))
    (single,) = TangentialCompliance(e, 1.21).solve(ball(slip, mu)).sequence
    assert single.u_plus[0] == pytest.approx(e, abs=1e-6)
    assert single.u_plus[1] == pytest.approx(after, abs=2e-5)


def test_a_law_of_ones_own_takes_the_restitution_of_materials():
    """One of a single collision writes `collide`; one that takes nothing of materials writes `solve`."""

    @dataclass(frozen=True, eq=False)
    class Smooth(SequentialLaw):
        title = "Smooth"

        def collide(self, collision, u, e):
            P = np.zeros(len(u))
            P[0] = -(1.0 + e) * u[0] / collision.W[0, 0]
            return SingleImpact.of_impulse(collision, u, e, P)

    class Plastic(ImpactLaw):
        title = "Plastic"

        def solve(self, data):
            return Newton(0.0).solve(data)

    builder = WorldBuilder((0.0, 0.0, -9.81))
    builder.add_half_space("floor", HalfSpace(), Material(0.3, 0.5))
    inertia = RigidInertia.solid_sphere(1.0, 0.1)
    builder.add_free_body("ball", inertia, Sphere(0.1), Material(0.3, 0.5), (0, 0, 0.2, 1, 0, 0, 0))
    for law, e in ((Smooth(), 0.5), (Smooth(0.25), 0.25), (Plastic(), 0.0), (TangentialCompliance(), 0.5)):
        event = EventDriven(impact=law).run(builder.build(), 0.2).of_kind(EventKind.IMPACT)[0]
        assert event.v_plus[2] == pytest.approx(-e * event.v_minus[2], rel=1e-5, abs=1e-12)
    with pytest.raises(ImpactError, match="was given none"):
        Smooth().solve(ball(1.0, 0.3))
