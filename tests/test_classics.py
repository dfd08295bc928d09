"""The classics: each script's claim, by the functions that it is made of."""

import importlib
import math
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "classics"


@pytest.fixture
def classic(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> ModuleType:
    """The script of the test's name, imported from its folder."""
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module(request.node.name.removeprefix("test_").split("__")[0])


def falls_by_half(errors: list[float], within: tuple[float, float] = (1.7, 2.4)) -> bool:
    """Whether every halving of h halves the error."""
    ratios = np.divide(errors[:-1], errors[1:])
    return bool((ratios > within[0]).all() and (ratios < within[1]).all())


def test_eulers_disk__goes_round_as_its_inclination_asks(classic: ModuleType) -> None:
    """First order, and 1 % at h = 0.5 ms; W sqrt(sin alpha) does not depend on alpha."""
    found = classic.errors((1e-3, 5e-4, 2.5e-4))
    assert falls_by_half(found)
    assert found[1] < 1e-2
    kept = [classic.rate(classic.roll(alpha, 2.5e-4)) * math.sqrt(math.sin(alpha)) for alpha in (0.1, 0.4)]
    assert kept[0] == pytest.approx(kept[1], rel=1e-2)


def test_chalk_hop__flies_in_closed_form(classic: ModuleType) -> None:
    """First order above the threshold of friction; below it the end stays on the board."""
    assert falls_by_half(classic.errors((2e-3, 1e-3, 5e-4)))
    assert np.abs(classic.tip(classic.push(1e-3, mu=1.2))).max() < 1e-4


def test_rocking_block__keeps_what_housner_says(classic: ModuleType) -> None:
    """The amplitudes converge to the closed form."""
    found = classic.errors((1e-3, 2.5e-4))
    assert found[0] < 4e-3
    assert found[1] < 0.5 * found[0]


def test_newtons_cradle__is_a_matter_of_the_law(classic: ModuleType) -> None:
    """Each law conserves momentum and energy; swinging balls differ, as published; the step tends to the sequence."""
    found = classic.laws()
    np.testing.assert_allclose(found["at once"], (-0.6, 0.4, 0.4, 0.4, 0.4), atol=1e-6)
    np.testing.assert_allclose(found["one after the other"], (0, 0, 0, 0, 1), atol=1e-6)
    for speeds in found.values():
        assert speeds.sum() == pytest.approx(1.0, abs=1e-4)
        assert speeds @ speeds == pytest.approx(1.0, abs=1e-4)
    errors = classic.errors((2e-3, 5e-4))
    assert errors[1] < 0.4 * errors[0]


@pytest.mark.parametrize("count", [9, 15])
def test_arch__stands_from_its_least_thickness_on(count: int, classic: ModuleType) -> None:
    """Half a per cent thicker it keeps still, thinner it falls; of many stones the least is Milankovitch's."""
    limit = classic.least(count)
    assert classic.fastest(1.005 * limit, count) < 1e-10
    assert classic.fastest(0.995 * limit, count) > 1e-3
    assert classic.least(81) == pytest.approx(classic.MILANKOVITCH, abs=1e-4)


def test_rattleback__turns_back_as_the_differential_equation_does(classic: ModuleType) -> None:
    """First order while it rattles; spun the wrong way it turns back, spun the right way it does not."""
    assert falls_by_half(classic.errors((2.5e-4, 1.25e-4)))
    tilt, spun = classic.GENTLE
    _, wrong = classic.spin(1e-3, (tilt, spun), 4.0)
    _, right = classic.spin(1e-3, (tilt, np.negative(spun)), 4.0)
    assert wrong[-1] > 0.1
    assert right.min() > 4.9


def test_tippe_top__rises_as_the_differential_equation_does(classic: ModuleType) -> None:
    """First order; three times beyond the limit it stands on its head, at half the limit it stays upright."""
    found = classic.errors((4e-4, 2e-4))
    assert falls_by_half(found)
    assert found[1] < 5e-3
    assert classic.drift(classic.spin(2e-4, 2.0, 0.4)) < 5e-4
    assert np.degrees(classic.angle(classic.spin(2e-4, 3.0, 2.5))[-500:].min()) > 170.0
    assert np.degrees(classic.angle(classic.spin(2e-4, 0.5, 1.5)).max()) < 15.0


def test_eulers_disk_end__comes_as_the_square_of_the_time_left(classic: ModuleType) -> None:
    """The error to the differential equation is of first order; exponent and end follow from the balance of energy."""
    assert falls_by_half(classic.errors((2e-4, 1e-4)), within=(1.5, 2.4))
    power, end = classic.exponent(1e-4)
    assert power == pytest.approx(2.0, abs=0.03)
    assert end == pytest.approx(classic.END, rel=5e-3)
    _, kept = classic.roll(1e-4, 0.3, rho=0.0)
    assert abs(kept[-1] - classic.START) < 2e-3


def test_card_house__stands_from_its_least_friction_on(classic: ModuleType) -> None:
    """With 1 % more friction it is at rest, with 1 % less it slides; for two cards the least is the closed form."""
    for degrees in (10.0, 20.0):
        t = math.radians(degrees)
        assert classic.least(t, 1) == pytest.approx(classic.closed_form(t), rel=1e-5)
        assert classic.least(t, 2) == pytest.approx(5 / 7 * math.tan(t), rel=0.02)
        for frames in (1, 2):
            limit = classic.least(t, frames)
            assert classic.fastest(t, 1.01 * limit, frames) < 1e-10
            assert classic.fastest(t, 0.99 * limit, frames) > 1e-2


def test_tippedisk__is_stable_inverted_beyond_its_critical_spin(classic: ModuleType) -> None:
    """The growth of the slow mode converges to the linearized equation; spun faster the disk inverts."""
    assert falls_by_half(classic.errors((2e-3, 1e-3)))
    limit = classic.critical()
    assert classic.growth(5e-4, limit - 2) > 0.1
    assert classic.growth(5e-4, limit + 2) < -0.1
    assert classic.rise(1e-3, 1.5 * limit)[1][-500:].min() > 0.8


@pytest.mark.slow
def test_tippedisk__does_not_invert_below_its_critical_spin(classic: ModuleType) -> None:
    """Spun slower than the critical spin it stays as it was."""
    assert classic.rise(1e-3, 0.8 * classic.critical())[1][-1000:].min() < -0.5


def test_silo__keeps_weight_from_its_floor_and_runs_out_by_width(classic: ModuleType) -> None:
    """The floor carries nearly all of few grains, and two thirds of many; the rate grows faster than the opening."""
    assert classic.carried(10) > 0.8 * classic.masses(10).sum()
    assert classic.carried(45) < 0.7 * classic.masses(45).sum()
    width = 10 * classic.DIAMETER
    at = classic.settled(40, width)
    slow, fast = (classic.rate(at, width, n * classic.DIAMETER, 0.6) for n in (5, 8))
    assert fast > 8 / 5 * slow
