"""Ensembles of tosses: draws, the medoid of paths, scores with known closed forms."""

from dataclasses import replace

import numpy as np
from toss_ensembles import SPREAD, drawn_settings, energy_scores, medoid, path_errors
from toss_fit import StartNoise, drawn_starts

from contactlab.lab.studies import TossSettings

TRUTH = TossSettings(mu=0.2, edges=8, substeps=3)


def at(x: float, samples: int = 4) -> np.ndarray:
    """Return the path (n, 7) of a cube that stands at x."""
    return np.tile([x, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], (samples, 1))


def test_medoid_is_nearest_to_the_others_and_finite() -> None:
    """For positions on a line it is the median; a failed path is never chosen."""
    paths = np.stack([at(0.0), at(0.02), at(0.03), at(0.5), np.full((4, 7), np.nan)])
    assert medoid(paths[:3], 0.1) == 1
    assert medoid(paths, 0.1) in (1, 2)
    np.testing.assert_allclose(path_errors(paths[0], paths[1], 0.1), [20.0, 0.0], atol=1e-5)


def test_energy_score_of_two_places() -> None:
    """Mean distance to the measurement less half the mean distance within: 10 - 5 %, wherever it lies between."""
    paths = np.stack([at(0.0), at(0.02)])
    for x in (0.0, 0.01, 0.02):
        np.testing.assert_allclose(energy_scores(paths, at(x), 0.1)[0], 5.0, atol=1e-9)


def test_first_member_is_the_measured_start_under_the_given_settings() -> None:
    """The others scatter by the stated noise, within the stated region."""
    q, v = np.array([0.0, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0]), np.arange(6.0)
    starts, speeds = drawn_starts(q, v, 2000, 0, StartNoise())
    np.testing.assert_array_equal(starts[0], q)
    np.testing.assert_array_equal(speeds[0], v)
    np.testing.assert_allclose(starts[:, :3].std(axis=0), 6e-5, rtol=0.1)
    np.testing.assert_allclose((speeds - v).std(axis=0), np.repeat((1e-3, 1.4e-2), 3), rtol=0.1)
    soft = replace(TRUTH, stiffness=1e4, dissipation=50.0, corner_radius=2e-3)
    drawn = drawn_settings(soft, 16)
    assert drawn[0] == soft
    for name, spread in SPREAD.items():
        ratio = np.array([getattr(one, name) for one in drawn]) / getattr(soft, name)
        assert np.all(np.abs(ratio - 1.0) <= spread)
        assert np.ptp(ratio) > spread
    assert {one.stiffness for one in drawn_settings(TRUTH, 4)} == {np.inf}
