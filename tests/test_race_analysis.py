"""Results of a race: profiles, means, growth and families agree with values computed by hand."""

import math

import numpy as np
import pytest

from contactlab.lab.racing import (
    RaceRow,
    fit_growth,
    performance_profile,
    shifted_geometric_mean,
)
from contactlab.lab.racing.kinds import family_of
from contactlab.lab.racing.statistics import fields_of, summaries


def row(problem: str, solver: str, status: str = "SOLVED", time: float = 1.0, **other: object) -> RaceRow:
    values: dict[str, object] = {
        "residual": 1e-12,
        "iterations": 3,
        "n": 4,
        "settings": "",
        "kind": "LCP",
        "family": problem[0],
        "natural_map": 1e-13,
        "runs": 2,
        "cpu": 0.5 * time,
        "claim": status,
        "origin": "contactlab",
        "tolerance": 1e-9,
        "detail": "",
    }
    return RaceRow(problem=problem, solver=solver, status=status, time=time, **{**values, **other})  # type: ignore[arg-type]


def test_profile_of_three_problems_by_hand() -> None:
    """Ratios (1, 2), (3, 1), (1, failed): the first solver is fastest on two thirds and solves all within 3."""
    profile = performance_profile([[1.0, 2.0], [6.0, 2.0], [5.0, np.inf]])
    np.testing.assert_array_equal(profile.ratios, [[1.0, 2.0], [3.0, 1.0], [1.0, np.inf]])
    np.testing.assert_allclose(profile.share(1.0), [2 / 3, 1 / 3])
    np.testing.assert_allclose(profile.share(2.0), [2 / 3, 2 / 3])
    np.testing.assert_allclose(profile.share(3.0), [1.0, 2 / 3])
    tau, share = profile.steps(0)
    np.testing.assert_allclose(tau, [1.0, 3.0])
    np.testing.assert_allclose(share, [2 / 3, 1.0])
    assert profile.largest == 3.0


def test_a_problem_nobody_solved_counts_against_everybody() -> None:
    """Its ratios are infinite, and it stays in the number of problems."""
    profile = performance_profile([[1.0, 1.0], [np.inf, np.nan]])
    np.testing.assert_allclose(profile.share(1e9), [0.5, 0.5])


def test_shifted_mean_by_hand() -> None:
    """sqrt((1 + 1)(7 + 1)) - 1 = 3; a failure counts as the limit, and so does a time beyond it."""
    assert shifted_geometric_mean([1.0, 7.0], shift=1.0, failed_at=100.0) == pytest.approx(3.0)
    assert shifted_geometric_mean([1.0, np.inf], shift=1.0, failed_at=7.0) == pytest.approx(3.0)
    assert shifted_geometric_mean([1.0, 50.0], shift=1.0, failed_at=7.0) == pytest.approx(3.0)
    assert shifted_geometric_mean([2.0, 8.0], shift=0.0, failed_at=9.0) == pytest.approx(4.0)
    assert math.isnan(shifted_geometric_mean([], shift=1.0, failed_at=1.0))


def test_growth_finds_the_power_it_was_made_of() -> None:
    """t = 2e-6 n^2.5, exactly; failures are left out; the range is the one of the other trials."""
    n = np.array([10, 20, 40, 80, 160, 1000])
    times = 2e-6 * n**2.5
    times[-1] = np.inf
    fit = fit_growth(n, times)
    assert fit is not None
    assert fit.exponent == pytest.approx(2.5)
    assert fit.factor == pytest.approx(2e-6)
    assert fit.standard_error == pytest.approx(0.0, abs=1e-12)
    assert (fit.least_n, fit.largest_n, fit.points) == (10, 160, 5)
    assert fit.at(80.0) == pytest.approx(times[3])


def test_growth_is_silent_where_sizes_say_nothing() -> None:
    """Too few sizes, or too close to one another, give no exponent."""
    assert fit_growth([10, 10, 10], [1.0, 2.0, 3.0]) is None
    assert fit_growth([10, 20, 39], [1.0, 2.0, 4.0]) is None
    assert fit_growth([10, 20, 40], [1.0, 2.0, 4.0]) is not None
    assert fit_growth([], []) is None
    with pytest.raises(ValueError, match="one length"):
        fit_growth([1, 2], [1.0])


def test_summary_counts_every_kind_of_end() -> None:
    """Solved, proved, claimed wrongly, timed out; means over problems that some solver solved; ties count for each."""
    rows = [
        row("a1", "Fast", time=1e-3),
        row("a1", "Slow", time=1.05e-3),
        row("a2", "Fast", "TIMEOUT", time=2.0, claim=""),
        row("a2", "Slow", time=7e-3),
        row("b1", "Fast", "STALLED", claim="SOLVED"),
        row("b1", "Slow", "INFEASIBLE"),
    ]
    (field,) = fields_of(rows)
    assert field.decided == ("a1", "a2")
    slow, fast = summaries(field, 2.0)
    assert (slow.label, slow.solved, slow.proved, slow.wrong, slow.failures, slow.best) == ("Slow", 2, 1, 0, (), 2)
    assert (fast.solved, fast.proved, fast.wrong, fast.best) == (1, 0, 1, 1)
    assert dict(fast.failures) == {"TIMEOUT": 1, "STALLED": 1}
    # Shift 1 ms: sqrt(2.05e-3 * 8e-3) - 1e-3.
    assert slow.mean == pytest.approx(math.sqrt(2.05e-3 * 8e-3) - 1e-3)
    assert fast.mean == pytest.approx(math.sqrt(2e-3 * 2.001) - 1e-3)
    assert slow.median == pytest.approx((1.05e-3 + 7e-3) / 2)


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("contact_random_k2_d8_s502", "contact_random"),
        ("psd_n120_s500", "psd"),
        ("toss001_k4_003", "toss"),
        ("Capsules-i100-889", "Capsules"),
        ("Box_Stacks-i0035-31-0", "Box_Stacks"),
        ("folder/spd_n4", "spd"),
        ("sequence_toss003_k8/000017", "sequence"),
        ("007", "007"),
        ("bricks/step000042-island0", "bricks"),
        ("runs/brick_wall_2/step000042-island11", "brick_wall"),
        ("step000042-island0", "step"),
    ],
)
def test_families_are_read_off_names(name: str, family: str) -> None:
    """A name begins with its family."""
    assert family_of(name) == family
