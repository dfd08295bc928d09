"""Cube tosses: the reader refuses what it must, the metric is the published one, the runs are scored and certified."""

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from refusals import assert_messages, assert_named

from contactlab.lab.datasets import CubeTosses, DatasetError, load_cube_tosses, save_cube_tosses
from contactlab.lab.studies import (
    MODELS,
    TossSettings,
    format_table,
    position_error_percent,
    rotation_error_degrees,
    run_toss,
    run_tosses,
    simulate_toss,
    synthesize_tosses,
)
from contactlab.multibody.spatial import quaternion

Arrays = dict[str, NDArray[np.generic]]
SETTINGS = TossSettings(mu=0.2, edges=8, substeps=4)


@pytest.fixture(scope="module")
def tosses() -> CubeTosses:
    """Three tosses of our own making."""
    return synthesize_tosses(3, SETTINGS)


@pytest.fixture
def file(tosses: CubeTosses, tmp_path: Path) -> Path:
    """The same, as a file."""
    return save_cube_tosses(tmp_path / "tosses.npz", tosses)


def rewrite(path: Path, change: Callable[[Arrays], object]) -> None:
    """Apply a change to the arrays of a file."""
    with np.load(path) as data:
        arrays = {name: data[name] for name in data.files}
    change(arrays)
    np.savez(path, **arrays)


def put(name: str, index: int | tuple[int, ...], value: float) -> Callable[[Arrays], object]:
    """Return the change of one entry."""
    return lambda arrays: np.put(
        arrays[name],
        np.ravel_multi_index(np.atleast_1d(index), arrays[name].shape),
        value,  # type: ignore[arg-type]
    )


def replace(name: str, new: Callable[[NDArray[np.generic]], object]) -> Callable[[Arrays], object]:
    """Return the change of one whole array."""
    return lambda arrays: arrays.__setitem__(name, np.asarray(new(arrays[name])))


def test_file_reads_back_what_was_written(file: Path, tosses: CubeTosses) -> None:
    """Every array survives the way through a file."""
    again = load_cube_tosses(file)
    for field in dataclasses.fields(tosses):
        if field.name != "path":
            np.testing.assert_array_equal(getattr(again, field.name), getattr(tosses, field.name))
    assert len(again) == len(list(again)) == 3
    assert again[1].position.shape == (88, 3)


@pytest.mark.parametrize(
    ("change", "field", "value"),
    [
        (lambda arrays: arrays.pop("eval_ic"), "eval_ic", "missing"),
        (lambda arrays: arrays.pop("dt"), "dt", "missing"),
        (replace("pos", lambda pos: pos[:, :2]), "pos", "(270, 2)"),
        (replace("quat_wxyz", lambda quaternions: quaternions[:-1]), "quat_wxyz", "(269, 4)"),
        (replace("eval_ic", lambda states: states[:, :12]), "eval_ic", "(3, 12)"),
        (replace("mass", lambda mass: [mass]), "mass", "(1,)"),
        (replace("toss_id", lambda ids: ids[:2]), "toss_id", "(2,)"),
        (replace("pos", lambda pos: pos.astype(str)), "pos", "dtype"),
        (replace("offsets", lambda offsets: offsets.astype(float)), "offsets", "dtype"),
        (put("pos", (7, 1), np.nan), "pos[7, 1]", "nan"),
        (put("eval_ic", (2, 12), np.inf), "eval_ic[2, 12]", "inf"),
        (put("quat_wxyz", (5, 0), 3.0), "quat_wxyz[5]", "norm 3"),
        (put("eval_ic", (1, 3), 3.0), "eval_ic[1]", "norm 3"),
        (put("offsets", 0, 1), "offsets[0]", "1"),
        (put("offsets", 2, 80), "offsets[2]", "80"),
        (put("offsets", 3, 271), "offsets[3]", "271"),
        (replace("offsets", lambda offsets: offsets[:1]), "offsets", "no toss"),
        (put("eval_start", 1, 90), "eval_start[1]", "90"),
        (put("eval_start", 0, -1), "eval_start[0]", "-1"),
        (replace("half_width", lambda half: -half), "half_width", "-0.0524"),
        (replace("gravity", lambda gravity: gravity * np.nan), "gravity", "nan"),
        (lambda arrays: arrays.update(ang_vel_body=np.zeros((5, 3))), "ang_vel_body", "(5, 3)"),
    ],
)
def test_bad_entry_is_named(file: Path, change: Callable[[Arrays], object], field: str, value: str) -> None:
    """The error names the file, the array with the index of the entry, and the value."""
    rewrite(file, change)
    assert_named(DatasetError, field, f"{re.escape(str(file))}.*{re.escape(value)}", lambda: load_cube_tosses(file))


def test_position_error_is_in_per_cent_of_the_width() -> None:
    """A constant shift of a tenth of the width is ten per cent."""
    path = np.random.default_rng(1).normal(size=(20, 3))
    assert position_error_percent(path + [0.0, 0.006, 0.008], path, 0.1) == pytest.approx(10.0)


def test_rotation_error_is_the_angle_of_the_relative_rotation() -> None:
    """The mean over known angles; a quaternion and its negative are one rotation."""
    random = np.random.default_rng(2)
    a = quaternion.normalize(random.normal(size=(4, 4)))
    angles = np.array([0.0, 1e-3, 1.0, 3.0])
    b = quaternion.multiply(quaternion.exp(angles[:, None] * np.array([0.6, 0.0, 0.8])), a)
    assert rotation_error_degrees(a, b) == pytest.approx(np.degrees(angles).mean())
    assert rotation_error_degrees(a, -b) == pytest.approx(np.degrees(angles).mean())


def test_score_does_not_depend_on_the_yaw_of_the_data(tosses: CubeTosses) -> None:
    """All data turned about the vertical: the same scores, though the friction pyramid has four edges only."""
    turn = quaternion.exp((0.0, 0.0, 0.7))
    R = quaternion.to_matrix(turn)
    states = tosses.eval_ic
    turned = dataclasses.replace(
        tosses,
        pos=tosses.pos @ R.T,
        quat_wxyz=quaternion.multiply(turn, tosses.quat_wxyz),
        eval_ic=np.hstack(
            (states[:, :3] @ R.T, quaternion.multiply(turn, states[:, 3:7]), states[:, 7:10] @ R.T, states[:, 10:])
        ),
    )
    settings = TossSettings(mu=0.15, edges=4, substeps=4)
    before, after = run_tosses(tosses, settings), run_tosses(turned, settings)
    assert before.position_percent[0] > 0.1
    np.testing.assert_allclose(after.position_percent, before.position_percent, rtol=1e-4)
    np.testing.assert_allclose(after.rotation_deg, before.rotation_deg, rtol=1e-4)


def test_tosses_of_known_friction_are_met_exactly(file: Path) -> None:
    """Simulated with the truth, from the truth's own initial states, the error is rounding; otherwise it is not."""
    tosses = load_cube_tosses(file)
    report = run_tosses(tosses, SETTINGS)
    assert report.tosses == 3
    assert not report.failures
    assert report.position_percent[0] < 1e-6
    assert report.rotation_deg[0] < 1e-6
    assert report.worst_scaled <= 1e-9
    assert report.steps == 3 * 87 * SETTINGS.substeps
    assert run_tosses(tosses, dataclasses.replace(SETTINGS, mu=0.3)).position_percent[0] > 1.0


def test_failed_toss_is_an_outcome(tosses: CubeTosses, monkeypatch: pytest.MonkeyPatch) -> None:
    """A simulation that stops is counted and listed with its reason, and stays out of the means."""
    from contactlab.simulation import Recording, SimulationError

    def fail_on_the_second(source: CubeTosses, index: int, *rest: Any) -> Recording:
        recording = simulate_toss(source, index, *rest)
        if index == 1:
            raise SimulationError(
                "no luck", step=5, time=0.1, h=0.02, problem=None, problem_path=None, result=None, recording=recording
            )
        return recording

    monkeypatch.setattr("contactlab.lab.studies.simulate_toss", fail_on_the_second)
    report = run_tosses(tosses, SETTINGS)
    assert [outcome.index for outcome in report.failures] == [1]
    assert "step 5" in report.failures[0].failure
    assert "no luck" in report.failures[0].failure
    assert report.position_percent[0] < 1e-6
    assert "1 failed" in format_table(report)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mu", -0.1),
        ("mu", np.nan),
        ("edges", 7),
        ("edges", 2),
        ("substeps", 0),
        ("restitution", 1.5),
        ("impact_speed", -1.0),
        ("corner_radius", np.inf),
        ("board_height", np.nan),
        ("gravity", 0.0),
        ("inertia_scale", -1.0),
        ("stiffness", 0.0),
        ("dissipation", -1.0),
    ],
)
def test_bad_setting_is_named(name: str, value: float) -> None:
    """A setting outside its meaning is refused by name."""
    with pytest.raises(ValueError, match=name):
        dataclasses.replace(SETTINGS, **{name: value})  # type: ignore[arg-type]


def test_ingredients_act_and_are_met_exactly() -> None:
    """Tosses made with every ingredient are met with all of them, and not with one of them left out."""
    truth = dataclasses.replace(MODELS["best"], edges=8, substeps=4, board_height=-1e-3, inertia_scale=1.1)
    made = synthesize_tosses(2, truth)
    assert run_tosses(made, truth).position_percent[0] < 1e-6
    rigid = MODELS["rigid"]
    for names in (
        ("mu",),
        ("corner_radius",),
        ("stiffness", "dissipation"),
        ("gravity",),
        ("board_height",),
        ("inertia_scale",),
    ):
        changed = dataclasses.replace(truth, **{name: getattr(rigid, name) for name in names})
        assert run_tosses(made, changed).position_percent[0] > 1e-3, names


def test_restitution_acts_above_its_speed() -> None:
    """Fast impacts rebound; with a threshold above every speed of approach nothing does."""
    truth = dataclasses.replace(SETTINGS, restitution=0.4, impact_speed=0.3)
    made = synthesize_tosses(1, truth)
    assert run_tosses(made, truth).position_percent[0] < 1e-6
    assert run_tosses(made, dataclasses.replace(truth, impact_speed=50.0)).position_percent[0] > 1.0


def test_springs_exclude_what_they_replace() -> None:
    """No restitution beside a stiffness, no damper without a spring."""
    assert_messages(
        ValueError,
        ("restitution", lambda: TossSettings(restitution=0.1, stiffness=1e4)),
        ("dissipation", lambda: TossSettings(dissipation=1.0)),
    )


def test_measured_toss_is_followed(shared: Path) -> None:
    """A few real tosses stay as close to the measured path as the published simulators do on average."""
    tosses = load_cube_tosses(shared / "data" / "cube_toss" / "tosses_dev.npz")
    assert len(tosses) == 385
    outcomes = [run_toss(tosses, index, TossSettings()) for index in range(0, 40, 8)]
    assert not any(outcome.failure for outcome in outcomes)
    assert np.mean([outcome.position_percent for outcome in outcomes]) < 25.0
    assert max(outcome.worst_scaled for outcome in outcomes) <= 1e-9
