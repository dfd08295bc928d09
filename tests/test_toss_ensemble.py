"""Ensembles of tosses: draws, the medoid of paths, scores with known closed forms, frozen settings."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from toss_ensembles import SPREAD, drawn_settings, energy_scores, medoid, path_errors
from toss_fit import StartNoise, drawn_starts

from contactlab.cli import main
from contactlab.lab.datasets import save_cube_tosses
from contactlab.studies import TossSettings, synthesize_tosses

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


def test_frozen_settings_score_as_they_did(tmp_path: Path) -> None:
    """What --json wrote is read by --settings: the same settings and scores."""
    data = save_cube_tosses(tmp_path / "tosses.npz", synthesize_tosses(2, TRUTH, samples=60))
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    options = ["--mu", "0.2", "--edges", "8", "--substeps", "3"]
    assert main(["toss", str(data), *options, "--json", str(first)]) == 0
    assert main(["toss", str(data), "--settings", str(first), "--json", str(second)]) == 0
    before, after = json.loads(first.read_text()), json.loads(second.read_text())
    for name in ("settings", "position_percent", "rotation_deg"):
        assert before[name] == after[name]
    assert after["position_percent"] < 1e-6
    assert TossSettings.read(after) == TRUTH


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"friction": 3}, "friction"),
        ({"mu": None}, "mu"),
        ({"mu": True}, "mu"),
        ({"edges": 8.5}, "edges"),
        ({"members": 3}, "members"),
        ({"colour": 1}, "colour"),
        ({"mu": -1.0}, "mu"),
    ],
)
def test_bad_frozen_setting_is_named(change: dict[str, object], word: str) -> None:
    """Settings that do not exist, have the wrong type or are out of range are reported by name."""
    with pytest.raises(ValueError, match=word):
        TossSettings.read({"settings": {**asdict(TRUTH), **change}})
    with pytest.raises(ValueError, match="settings"):
        TossSettings.read([])
