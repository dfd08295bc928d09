"""Families of impacts: every point agrees with its law, failures are reported, maps are drawn."""

from pathlib import Path

import numpy as np
import pytest
from impact_cases import rod
from refusals import assert_fields

from contactlab import impact
from contactlab.formulation import ContactPoint, problem_data_from
from contactlab.impact import ContactMotion, ImpactError, Newton, Stronge, impact_map
from contactlab.simulation import ModelBuilder, RigidInertia, Transform, joints
from problem_data import ConstraintVelProblemData


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


def test_a_mechanism_and_a_law_of_ones_own() -> None:
    """A double pendulum strikes a wall, from its model; separation, and orders that decide, are distinguished."""
    builder = ModelBuilder()
    inertia = RigidInertia(1.0, (0.0, 0.0, -0.5), np.eye(3) / 12.0)
    builder.add_body("upper", joint=joints.Revolute((0, 1, 0)), inertia=inertia)
    builder.add_body(
        "lower",
        parent="upper",
        joint=joints.Revolute((0, 1, 0)),
        placement=Transform(p=(0.0, 0.0, -1.0)),
        inertia=inertia,
    )
    model = builder.build()

    def pendulum(speed: float) -> ConstraintVelProblemData:
        tip = ContactPoint("lower", (0, 0, -1), (-1, 0, 0), frame="body", mu=0.3, name="wall")
        return problem_data_from(model, np.zeros(2), [speed, 0.0], contacts=[tip], h=None).velocity

    found = impact_map(pendulum, {"speed": [-1.0, 1.0]}, restitutions=[0.5], laws=lambda e: {"mine": Stronge(e)})
    assert found.laws == ("mine",)
    assert sorted(found.motion[0, 0].tolist())[0] == ContactMotion.NO_IMPACT
    assert np.nanmin(found.energy_ratio) < 1.0
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
    from contactlab.plotting import plot_impact_map

    found = impact_map(lambda angle, mu: rod(angle, mu, (0.6, -1.0, 0.0)), {"angle": [0.3, 1.2], "mu": [0.1, 2.0]})
    assert plot_impact_map(tmp_path / "map.png", found, 2).read_bytes()[1:4] == b"PNG"
    line = impact_map(lambda mu: rod(0.5, mu), {"mu": [0.1]})
    with pytest.raises(ImpactError, match="needs two"):
        plot_impact_map(tmp_path / "line.png", line)
