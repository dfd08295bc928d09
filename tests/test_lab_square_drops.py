"""Recorded square drops: corrections of the data, a fit that finds the truth, a reader that refuses bad files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from refusals import assert_messages
from square_drops import (
    MODELS,
    SHARED_CALIBRATION,
    Calibration,
    SquareSettings,
    calibrate,
    load_square_drops,
    prepare,
    rotation_sense,
    run_squares,
    score_static_baseline,
    square_world,
)
from square_fit import SquareGrid, fit_squares
from test_lab_planar_impacts import rewrite

from contactlab.lab import DatasetError

SIDE, DT, SAMPLES = 0.06, 0.004, 90
CAMERA = Calibration(angle=-0.03, height=3e-3, slope=2e-3)
TRUTH = SquareSettings(mu=0.1, restitution=0.45)
LOST, WILD, TURNED = 30, 50, 40  # samples: frames are lost before it; it is wild; a quarter turn off from it on


def simulated(settings: SquareSettings, starts: Any) -> NDArray[np.float64]:
    """Poses (drops, SAMPLES + 2, 3)."""
    from contactlab.simulation import TimeStepping, simulate

    world = square_world(settings, CAMERA, SIDE)
    h = DT / settings.substeps
    poses = []
    for q, v in starts:
        state = world.initial_state(h, q=q, v=v)
        steps = settings.substeps * (SAMPLES + 1)
        recording = simulate(
            world, TimeStepping(h, restitution_threshold=settings.impact_speed), steps=steps, state=state
        )
        poses.append(recording.q[:: settings.substeps])
    return np.array(poses)


@pytest.fixture(scope="module")
def starts() -> list[tuple[list[float], list[float]]]:
    """Throws; the second to the fourth strike a corner."""
    angles = (0.3, 0.75, -0.7, 0.65)
    return [([-0.3, 0.13, a], [-0.5 - 0.1 * i, -1.9, 2.0 * i - 3.0]) for i, a in enumerate(angles)]


@pytest.fixture(scope="module")
def poses(starts: Any) -> NDArray[np.float64]:
    return simulated(TRUTH, starts)


@pytest.fixture
def file(tmp_path: Path, poses: NDArray[np.float64]) -> Path:
    """The simulated drops as a camera stores them, and what goes wrong in recordings."""
    stored = poses.copy()
    stored[..., 2] = -stored[..., 2] + CAMERA.angle
    keep = np.r_[0:LOST, LOST + 1 : SAMPLES + 1]  # drop 1 lost a frame
    stored[1, :SAMPLES] = stored[1, keep]
    stored = stored[:, :SAMPLES]
    stored[2, WILD] += [0.02, 0.0, 0.0]
    stored[3, TURNED:, 2] += 0.5 * np.pi
    path = tmp_path / "square.npz"
    x, z, theta = np.moveaxis(stored, 2, 0)
    np.savez(path, x=x, z=z, theta=theta, traj_id=np.arange(7, 11), dt=DT, half_width=0.5 * SIDE)
    return path


def test_fit_finds_the_numbers_the_drops_were_made_with(file: Path) -> None:
    """At the true numbers the paths equal the recorded ones except for the fitted start; the grid chooses the truth."""
    drops = load_square_drops(file)
    paths = prepare(drops, CAMERA, 9.81)
    report = run_squares(drops, paths, TRUTH, CAMERA, threads=1)
    assert not report.failures
    assert np.median(report.early_position) < 2.0
    values = {"mu": (0.02, 0.1, 0.3), "restitution": (0.2, 0.45)}
    seen: list[tuple[int, int]] = []
    grid = SquareGrid.run(
        drops, paths, TRUTH, values, CAMERA, threads=1, progress=lambda done, total: seen.append((done, total))
    )
    assert seen[-1] == (6, 6)
    fit = fit_squares(grid, folds=2, resamples=50)
    assert fit.values == {"mu": 0.1, "restitution": 0.45}
    assert np.all(fit.interval[0] <= [0.1, 0.45])
    assert np.all(fit.interval[1] >= [0.1, 0.45])
    # Held-out errors are errors of points of the grid.
    assert np.all((grid.position == fit.position).any(axis=0))
    assert_messages(
        ValueError,
        ("folds", lambda: fit_squares(grid, folds=5)),
        ("resamples", lambda: fit_squares(grid, folds=2, resamples=0)),
    )


@pytest.mark.parametrize(
    ("change", "field", "value"),
    [
        (lambda a: {"traj_id": None}, "traj_id", "missing"),
        (lambda a: {"z": a["z"][:2]}, "z", "(2, 90)"),
        (lambda a: {"x": a["x"][:, :9]}, "x", "10 samples"),
        (lambda a: {"dt": 0.0}, "dt", "not positive"),
        (lambda a: {"half_width": -1.0}, "half_width", "-1"),
        (lambda a: {"theta": a["theta"] * np.nan}, "theta[0, 0]", "nan"),
        (lambda a: {"traj_id": a["traj_id"] * 1.0}, "traj_id", "dtype"),
    ],
)
def test_bad_entry_is_named(file: Path, change: Callable[[Any], dict[str, object]], field: str, value: str) -> None:
    """The error names file, array and entry."""
    with np.load(file) as arrays:
        new = change({name: arrays[name] for name in arrays.files})
    rewrite(file, **new)
    with pytest.raises(DatasetError) as caught:
        load_square_drops(file)
    assert caught.value.field == field
    assert value in str(caught.value)


def test_recorded_drops(shared: Path) -> None:
    """On the recordings: camera, sense, and every tenth drop simulated nearer than standing still."""
    drops = load_square_drops(shared / "data" / "planar_impacts" / "square_dev.npz")
    found = calibrate(drops)
    assert found.angle == pytest.approx(SHARED_CALIBRATION.angle, abs=1e-4)
    assert found.height == pytest.approx(SHARED_CALIBRATION.height, abs=1e-5)
    paths = prepare(drops, SHARED_CALIBRATION, 9.22)
    a, b, count = rotation_sense(drops, paths, SHARED_CALIBRATION)
    assert count > 90
    assert (a, b) == (pytest.approx(1.1, abs=0.1), pytest.approx(1.15, abs=0.15))
    report = run_squares(drops, paths[::10], MODELS["rigid"], SHARED_CALIBRATION)
    assert not report.failures
    assert report.position.mean() < 0.5 * score_static_baseline(drops, paths[::10]).position.mean()
    assert report.early_position.mean() < 20.0
