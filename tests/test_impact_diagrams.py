"""Routh's diagram, comparison tables, Painleve's map, families of impacts, and what impact laws refuse."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from impact_cases import cradle, random_impact, rod
from refusals import assert_fields

from contactlab import impact
from contactlab.impact import (
    ALL_LAWS,
    ChatterjeeRuina,
    ContactMotion,
    ImpactError,
    Newton,
    Poisson,
    Stronge,
    TangentialCompliance,
    impact_map,
)
from contactlab.view.plotting import plot_routh
from problem_data import ConstraintVelProblemData


def test_lines_of_the_diagram_are_where_velocities_vanish():
    """u_t = 0 on the line of sticking, u_n = 0 on the line of compression; at e = 0 the path ends on the latter."""
    diagram = impact.routh_diagram(rod(0.7, 0.4), restitution=0.0)
    W, u = diagram.contact.W, diagram.u_minus
    for p_n in (0.1, 1.0):
        p = np.array([p_n, diagram.sticking_line(p_n)])
        assert (u + W @ p)[1] == pytest.approx(0.0, abs=1e-14)
    for p_t in (-0.3, 0.2):
        p = np.array([diagram.compression_line(p_t), p_t])
        assert (u + W @ p)[0] == pytest.approx(0.0, abs=1e-14)
    end = diagram.path()[-1]
    assert end[0] == pytest.approx(float(diagram.compression_line(end[1])), abs=1e-14)


def test_path_stays_within_the_cone():
    """|dp_t| <= mu dp_n along every stretch, in space too."""
    rng = np.random.default_rng(5)
    for directions in (1, 3):
        for _ in range(20):
            diagram = impact.routh_diagram(random_impact(rng, 1, directions), restitution=0.7)
            steps = np.diff(diagram.path(), axis=0)
            slack = diagram.contact.mu * steps[:, 0] - np.linalg.norm(steps[:, 1:], axis=1)
            assert slack.min() > -1e-9 * steps[:, 0].max()


@pytest.mark.parametrize("law", [law for law in ALL_LAWS if law is not Newton])
def test_a_line_of_slip_may_lie_across_the_tangents(law):
    """Bodies that move along one line, at any angle to the pyramid's directions, have a planar contact, for any mu."""
    rng = np.random.default_rng(7)
    for mu in (0.1, 1.0):
        A, N, row = rng.normal(size=(4, 4)), rng.normal(size=(1, 4)), rng.normal(size=4)
        M = A @ A.T + 0.1 * np.eye(4)
        Mv = M @ (rng.normal(size=4) - 3.0 * N[0])
        planar = ConstraintVelProblemData(M=M, Mv=Mv, N=N, F=[row], mu=[mu], r=[1])
        F = np.cos(np.pi * np.arange(3) / 3.0 - 0.7)[:, None] * row
        spatial = ConstraintVelProblemData(M=M, Mv=Mv, N=N, F=F, mu=[mu], r=[3])
        solved = (law(0.6, "sequential") if law is Poisson else law(0.6)).solve
        np.testing.assert_allclose(solved(spatial).v_plus, solved(planar).v_plus, rtol=1e-9, atol=1e-12)
    assert impact.routh_diagram(spatial).planar
    # A floor that moves across the line makes slip that turns: no planar contact.
    moved = ConstraintVelProblemData(M=M, Mv=Mv, N=N, F=F, mu=[mu], r=[3], kF=[0.1, 0.2, 0.1])
    assert not impact.routh_diagram(moved).planar


def test_a_contact_in_space_has_no_picture(tmp_path):
    """An `ImpactError`, as of a diagram in which no law has an end."""
    diagram = impact.routh_diagram(random_impact(np.random.default_rng(5), 1, 3), restitution=0.7)
    for bad in (diagram, replace(impact.routh_diagram(rod(0.7, 0.4)), impulse_paths={}, failures={"newton": "stuck"})):
        with pytest.raises(ImpactError, match="diagram"):
            plot_routh(tmp_path / "none.png", bad)


def test_painleve_map_follows_the_closed_form():
    """None beyond the threshold at rest in angle, two with enough spin, one below it."""
    angles, mus = np.linspace(0.2, 1.45, 7), np.linspace(0.3, 4.0, 9)
    for spin, beyond in ((0.0, 0), (8.0, 2)):
        found = impact.painleve_scan(angles, mus, spin=spin)
        wanted = np.where(mus[None, :] > impact.painleve_threshold(angles)[:, None], beyond, 1)
        assert np.array_equal(found.solutions, wanted)
    assert impact.painleve_threshold(np.arctan(2.0)) == pytest.approx(4.0 / 3.0)


def test_comparison_counts_solutions_and_prints_every_law():
    """Three laws in both orders, and every class; the impact LCP of one planar contact has one velocity."""
    assert len(impact.compare(rod(0.5, 1.0), [law(0.8) for law in ALL_LAWS]).outcomes) == len(ALL_LAWS)
    table = impact.compare(rod(0.5, 1.0), restitution=0.8)
    assert len(table.outcomes) == 6
    assert table.uniqueness.unique is True
    for name in table.outcomes:
        assert name in str(table)
    assert impact.compare(cradle(20), restitution=1.0).uniqueness.enumerated is None


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: Newton(1.5), "restitution"),
        (lambda: Poisson(-0.1), "restitution"),
        (lambda: Stronge(float("nan")), "restitution"),
        (lambda: Stronge("much"), "restitution"),
        (lambda: Stronge([[0.5]]), "restitution"),
        (lambda: Newton(0.5, "one by one"), "order"),
        (lambda: Stronge(0.5, "together"), "order"),
        (lambda: Stronge(0.5, stiffness=[1.0, -1.0]), "stiffness"),
        (lambda: Stronge(0.5, exponent=0.5), "exponent"),
        (lambda: Stronge().solve(cradle(3)), "restitution"),
        (lambda: Stronge(1.0, stiffness=[1.0]).solve(cradle(3)), "stiffness"),
        (lambda: Newton(order="sequential").solve(cradle(3)), "restitution"),
        (lambda: Newton(0.5, max_collisions=0), "max_collisions"),
        (lambda: impact.compare(cradle(3)), "restitution"),
        (lambda: impact.compare(cradle(3), {"law": Newton}), "laws"),
        (lambda: impact.routh_diagram(cradle(3), 2), "contact"),
        (lambda: impact.routh_diagram(cradle(3), 1), "contact"),
        (lambda: impact.painleve_scan([2.0], [1.0]), "angles"),
        (lambda: impact.painleve_scan([1.0], [-1.0]), "mus"),
        (lambda: Newton([0.5, 0.5, 0.5]).solve(cradle(3)), "restitution"),
        (lambda: Stronge(0.5).solve("data"), "data"),
        (lambda: Poisson(0.5, tangential=1.5), "tangential"),
        (lambda: Poisson(0.5, "sequential", tangential=0.5), "tangential"),
        (lambda: ChatterjeeRuina(0.5, 1.5), "tangential"),
        (lambda: ChatterjeeRuina(0.5, "much"), "tangential"),
        (lambda: TangentialCompliance(0.5, 0.0), "stiffness_ratio"),
        (lambda: TangentialCompliance(0.5, "soft"), "stiffness_ratio"),
    ],
)
def test_faults_name_their_field(make, field):
    """An `ImpactError`, before anything is solved."""
    assert_fields(
        ImpactError,
        (field, make),
    )


@pytest.mark.parametrize("law", ALL_LAWS)
def test_rigid_laws_refuse_soft_and_boxed_rows(law):
    """Softening and boxed rows belong to the impact LCP with kN from the data."""
    for more in ({"gammaN": [0.1]}, {"B": [[0.0, 1.0]], "lo": [-1.0], "hi": [1.0]}):
        data = ConstraintVelProblemData(M=np.eye(2), Mv=[-1.0, 0.0], N=[[1.0, 0.0]], **more)
        with pytest.raises(ImpactError, match="data"):
            law(restitution=0.5).solve(data)
        if law in (Newton, Poisson, Stronge):
            with pytest.raises(ImpactError, match="data"):
                law(0.5, "sequential").solve(data)
        assert Newton().solve(data).solved


def test_irregular_directions_are_refused_where_tangents_are_needed():
    """Three directions that are not a regular pyramid have no two tangents."""
    F = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 2.0, 0.0]]
    data = ConstraintVelProblemData(M=np.eye(3), Mv=[1.0, 0.0, -1.0], N=[[0.0, 0.0, 1.0]], F=F, mu=[0.5], r=[3])
    with pytest.raises(ImpactError, match="regular pyramid"):
        Stronge(0.5).solve(data)


def test_every_point_is_its_law() -> None:
    """Energies, velocities and motions of a grid, against one impact at a time."""
    axes = {"angle": [0.3, 0.8, 1.2], "mu": [0.0, 0.4, 2.0]}
    seen = []
    found = impact_map(
        lambda angle, mu: rod(angle, mu, (0.6, -1.0, 0.0)),
        axes,
        restitutions=[0.2, 0.9],
        progress=lambda k, n: seen.append((k, n)),
    )
    assert seen[-1] == (9, 9)
    assert found.energy_ratio.shape == found.motion.shape == (6, 2, 3, 3)
    for j, e in enumerate((0.2, 0.9)):
        for a, angle in enumerate(axes["angle"]):
            for m, mu in enumerate(axes["mu"]):
                data = rod(angle, mu, (0.6, -1.0, 0.0))
                for i, law in enumerate(found.laws):
                    one = impact.all_laws(e)[law].solve(data)
                    assert found.energy_ratio[i, j, a, m] == one.energy_ratio
                    np.testing.assert_array_equal(found.v_plus[i, j, a, m], one.v_plus)
                    slip = (np.asarray(data.F) @ one.v_plus)[0]
                    before = (np.asarray(data.F) @ np.linalg.solve(data.M, data.Mv))[0]
                    wanted = ContactMotion.STICKS if abs(slip) < 1e-9 else ContactMotion(int(slip * before < 0.0) * 2)
                    assert found.motion[i, j, a, m] == wanted
    assert found.energy_gain_mask[found.laws.index("Newton")].any()
    assert "Stronge, sequential" in str(found)
    assert not found.notices.any()


def test_a_law_of_ones_own_and_what_maps_tell() -> None:
    """Separation, orders that decide and impacts that are not solved are distinguished."""
    apart = impact_map(
        lambda speed: rod(0.7, 0.3, (0.0, speed, 0.0)),
        {"speed": [-1.0, 1.0]},
        restitutions=[0.5],
        laws=lambda e: {"mine": Stronge(e)},
    )
    assert apart.laws == ("mine",)
    assert apart.motion[0, 0, 1] == ContactMotion.NO_IMPACT
    assert np.nanmin(apart.energy_ratio) < 1.0
    M = np.diag([1.0, 1.0, 1.0 / 3.0])
    flat = ConstraintVelProblemData(M=M, Mv=M @ [0, -1, 0], N=[[0, 1, -1], [0, 1, 1]])
    wedge = ConstraintVelProblemData(M=np.eye(2), Mv=[0, -1.0], N=[[1, 0], [-1, 0]], kN=[-1.0, -1.0])
    both = impact_map(lambda which: (flat, wedge)[int(which)], {"which": [0.0]}, restitutions=[0.5])
    assert both.notices[both.laws.index("Stronge, sequential")].all()
    none = impact_map(lambda which: wedge, {"which": [0.0]}, restitutions=[0.5], laws=lambda e: {"kN": Newton(None)})
    assert (none.motion == ContactMotion.NOT_SOLVED).all()
    assert np.isnan(none.energy_ratio).all()


def test_bad_families_are_refused() -> None:
    """They are refused by name, with the parameters."""
    assert_fields(
        ImpactError,
        ("axes", lambda: impact_map(rod, {})),
        ("axes", lambda: impact_map(rod, {"angle": [], "mu": [0.1]})),
        ("restitutions", lambda: impact_map(rod, {"angle": [0.1], "mu": [0.1]}, restitutions=[])),
        ("problem", lambda: impact_map(lambda mu: mu, {"mu": [0.1]})),
    )


def test_maps_are_drawn(tmp_path: Path) -> None:
    """Maps of two parameters are drawn; others are refused."""
    pytest.importorskip("matplotlib")
    from contactlab.view.plotting import plot_impact_map

    found = impact_map(lambda angle, mu: rod(angle, mu, (0.6, -1.0, 0.0)), {"angle": [0.3, 1.2], "mu": [0.1, 2.0]})
    assert plot_impact_map(tmp_path / "map.png", found, 2).read_bytes()[1:4] == b"PNG"
    line = impact_map(lambda mu: rod(0.5, mu), {"mu": [0.1]})
    with pytest.raises(ImpactError, match="needs two"):
        plot_impact_map(tmp_path / "line.png", line)
