"""Recorded planar impacts: the formulas are the package's laws, a fit finds the truth, the reader refuses bad files."""

import json
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import planar_models
import pytest
from numpy.typing import NDArray

from contactlab.cli import main
from contactlab.impact import Brach, ChatterjeeRuina, Newton, Poisson, Smith, Stronge, TangentialCompliance
from contactlab.lab import DatasetError
from contactlab.lab.datasets.recordings import load_planar_impacts
from contactlab.lab.studies.planar_fit import (
    PlanarModel,
    cross_validate,
    every_model,
    fit_planar,
    momentum_balance,
    paired_difference,
    prediction_errors,
    take,
)
from contactlab.lab.studies.planar_laws import LAWS, planar_impulses
from problem_data import ConstraintVelProblemData

MASS, SEMI = 0.037, (0.035, 0.025)
INERTIA = MASS * (SEMI[0] ** 2 + SEMI[1] ** 2) / 4.0
M = np.array([MASS, MASS, INERTIA])
OWN = {"Chatterjee and Ruina": 0.4, "Tangential compliance": 2.0}
LAW = {
    "Newton": Newton,
    "Newton, sequential": lambda e: Newton(e, "sequential"),
    "Poisson": lambda e: Poisson(e, "sequential"),
    "Stronge": Stronge,
    "Chatterjee and Ruina": lambda e: ChatterjeeRuina(e, 0.4),
    "Brach": Brach,
    "Smith": Smith,
    "Tangential compliance": lambda e: TangentialCompliance(e, 2.0),
}


def impacts(n: int, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rows (n, 2, 3) of ellipses at random angles and velocities (n, 3) with which they approach."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(-np.pi, np.pi, n)
    a, b = SEMI
    height = np.sqrt((a * np.sin(angle)) ** 2 + (b * np.cos(angle)) ** 2)
    lever = -(a * a - b * b) * np.sin(angle) * np.cos(angle) / height
    J = np.zeros((n, 2, 3))
    J[:, 0, 1] = J[:, 1, 0] = 1.0
    J[:, 0, 2], J[:, 1, 2] = lever, height
    v = np.stack((rng.normal(0.0, 1.0, n), rng.uniform(-3.0, -1.5, n), rng.normal(0.0, 15.0, n)), axis=1)
    return J, v


def predicted(law: Any, J: NDArray[np.float64], v: NDArray[np.float64], mu: float, e: float) -> NDArray[np.float64]:
    """Velocities after the impacts, by the formulas."""
    W = np.einsum("nij,j,nkj->nik", J, 1.0 / M, J)
    p = planar_impulses(law, W, np.einsum("nij,nj->ni", J, v), mu, np.full(len(v), e), OWN.get(law, 0.0))
    return np.asarray(v + np.einsum("nij,ni->nj", J, p) / M)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Stronge impacts with mu 0.15, e 0.55; the tangent lever is stored with the wrong sign, two are marked."""
    J, v = impacts(120)
    after = predicted("Stronge", J, v, 0.15, 0.55)
    after[:2] = 7.0
    path = tmp_path / "ellipse.npz"
    flags = np.zeros((120, 6), dtype=np.int64)
    flags[:2, 3] = 1
    np.savez(
        path,
        pre_vel=v,
        post_vel=after,
        jac_normal=J[:, 0],
        jac_tangent=J[:, 1] * [1.0, 1.0, -1.0],
        flags=flags,
        mass=MASS,
        inertia=INERTIA,
    )
    return path


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("mu", [0.0, 0.05, 0.2, 0.8])
def test_formulas_are_the_laws_of_the_package(law: Any, mu: float) -> None:
    """Slip, stick, stop within compression or restitution, and slip from rest: every impact of a sample."""
    J, v = impacts(40, seed=3)
    J[::4, 0, 2] *= 4.0  # levers far off the centre: slip turns round
    v[0, 0] = -v[0, 2] * J[0, 1, 2]  # arrives without slip
    v[:, 1] -= np.abs(J[:, 0, 2] * v[:, 2])  # every one approaches
    for e in (0.0, 0.6):
        for i, after in enumerate(predicted(law, J, v, mu, e)):
            data = ConstraintVelProblemData(M=np.diag(M), Mv=M * v[i], N=J[i, :1], F=J[i, 1:], mu=[mu], r=[1])
            found = LAW[law](e).solve(data).v_plus
            if law == "Tangential compliance":  # followed in coarser steps, where a fit asks for thousands
                assert (found - after) @ (M * (found - after)) < (3e-4) ** 2 * (v[i] @ (M * v[i])), i
            else:
                np.testing.assert_allclose(found, after, rtol=1e-7, atol=1e-7, err_msg=str(i))


def test_fit_finds_the_numbers_and_the_sense_of_rotation(file: Path) -> None:
    """With the corrected lever the fit finds the truth to rounding; as stored a large error remains."""
    data = load_planar_impacts(file)
    assert (len(data), data.left_out) == (118, 2)
    np.testing.assert_allclose(momentum_balance(data).values, [1.0, -1.0, 0.0], atol=1e-9)
    fit = cross_validate(data, PlanarModel("Stronge", lever_turned=True))
    np.testing.assert_allclose(fit.values, [0.15, 0.55], atol=2e-3)
    assert np.median(fit.errors) < 5e-3
    stored = cross_validate(data, PlanarModel("Stronge", lever_turned=False))
    assert np.median(stored.errors) > 0.1


def test_offset_and_speed_dependence_are_found(file: Path) -> None:
    """A normal impulse 1 mm off its point and e ~ v^-0.2 come back."""
    data = load_planar_impacts(file)
    model = PlanarModel("Newton", lever_turned=True, ingredients=("offset", "exponent"))
    truth = np.array([0.1, 0.5, 1e-3, 0.2])
    J = np.stack((data.normal, data.tangent * [1.0, 1.0, -1.0]), axis=1)
    J[:, 0, 2] += truth[2]
    u = np.einsum("nij,nj->ni", J, data.before)
    e = truth[1] * (np.maximum(-u[:, 0], 1e-9) / 2.0) ** -truth[3]
    W = np.einsum("nij,j,nkj->nik", J, 1.0 / data.mass, J)
    p = planar_impulses("Newton", W, u, truth[0], np.clip(e, 0.0, 1.0))
    data.after[:] = data.before + np.einsum("nij,ni->nj", J, p) / data.mass
    assert prediction_errors(data, model, truth)[0].max() < 1e-12
    np.testing.assert_allclose(fit_planar(data, model), truth, rtol=0.05, atol=5e-5)


def rewrite(path: Path, **new: object) -> None:
    """Replace arrays of a file; None drops one."""
    with np.load(path) as data:
        arrays = {name: data[name] for name in data.files}
    np.savez(path, **{name: value for name, value in {**arrays, **new}.items() if value is not None})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "field", "value"),
    [
        (lambda a: {"pre_vel": None}, "pre_vel", "missing"),
        (lambda a: {"post_vel": a["post_vel"][:5]}, "post_vel", "(5, 3)"),
        (lambda a: {"flags": a["flags"] * 1.0}, "flags", "dtype"),
        (lambda a: {"flags": a["flags"] + 1}, "flags", "0 of 120"),
        (lambda a: {"mass": -1.0}, "mass", "-1"),
        (lambda a: {"jac_normal": a["jac_tangent"]}, "jac_normal[0]", "begin with"),
        (lambda a: {"pre_vel": a["pre_vel"] * [[1.0, 1.0, np.nan]]}, "pre_vel[0, 2]", "nan"),
        (lambda a: {"pre_vel": a["pre_vel"] * 0.0}, "pre_vel[0]", "no motion"),
    ],
)
def test_bad_entry_is_named(file: Path, change: Callable[[Any], dict[str, object]], field: str, value: str) -> None:
    """The error names file, array and entry; the command turns it into exit status 2."""
    with np.load(file) as arrays:
        new = change({name: arrays[name] for name in arrays.files})
    rewrite(file, **new)
    with pytest.raises(DatasetError) as caught:
        load_planar_impacts(file)
    assert caught.value.field == field
    assert value in str(caught.value)
    assert main(["impact", str(file)]) == 2


@pytest.mark.parametrize("turned", [True, False])
def test_command_fits_in_the_reading_that_the_balance_supports(
    file: Path, tmp_path: Path, turned: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All laws are fitted there, and the nested choice is made there, whichever sign the tangent lever has."""
    if not turned:
        rewrite(
            file, jac_tangent=np.load(file)["jac_tangent"] * [1.0, 1.0, -1.0], mass=8.0 * MASS, inertia=8.0 * INERTIA
        )
    few = {(turned, "Stronge"), (turned, "Newton"), (not turned, "Newton")}
    assert Counter(model.lever_turned for model in every_model(turned)) == {turned: 24, not turned: 9}
    for module in ("contactlab.cli.recordings", "planar_models"):
        monkeypatch.setattr(
            f"{module}.every_model",
            lambda found: [m for m in every_model(found) if (m.lever_turned, m.law) in few and not m.ingredients],
        )
    out, beyond = tmp_path / "out.json", tmp_path / "beyond.json"
    assert main(["impact", str(file), "--json", str(out), "--plots", str(tmp_path)]) == 0
    monkeypatch.setattr(sys, "argv", ["planar_models.py", str(file), "--nested", "--friction", "--json", str(beyond)])
    planar_models.main()
    printed, reading = capsys.readouterr().out, "lever turned" if turned else "as stored"
    assert f"the lever d_theta of the tangent row has the {'wrong' if turned else 'right'} sign as stored" in printed
    assert printed.count(f"model, {reading}") == 3
    document = json.loads(out.read_text())
    best = min(document["models"], key=lambda row: row["mean"])
    assert (best["law"], best["tangent_row"]) == ("Stronge", reading)
    assert best["above_best"] is None
    low, high = document["models"][0]["above_best"]["interval_95"]
    assert 0.0 < low < document["models"][0]["above_best"]["mean"] < high
    assert {path.name for path in tmp_path.glob("*.png")} == {"restitution.png", "impact_errors.png"}
    assert json.loads(beyond.read_text())["nested, blocks"]["chosen"] == ["Stronge"] * 5


def test_balance_tells_what_cannot_be_rigid(file: Path) -> None:
    """Levers in mm and spin of the other sense are contradicted; hardly any friction, or no lever, gives no verdict."""
    data = load_planar_impacts(file)
    assert momentum_balance(data).contradiction() == ""
    wrong = replace(data, normal=data.normal * [1.0, 1.0, 1e3], tangent=data.tangent * [1.0, 1.0, 1e3])
    assert "a = 0.00 for the lever of the normal row" in momentum_balance(wrong).contradiction()
    spun = replace(data, before=data.before * [1.0, 1.0, -1.0], after=data.after * [1.0, 1.0, -1.0])
    assert "a = -1.00" in momentum_balance(spun).contradiction(friction=False)
    assert "look at signs and units" in str(momentum_balance(spun))
    J = np.stack((data.normal, data.tangent), axis=1)
    noise = 0.05 * np.random.default_rng(3).normal(size=data.before.shape) * [1.0, 1.0, 30.0]
    smooth = replace(data, after=predicted("Stronge", J, data.before, 0.0, 0.5) + noise)
    balance = momentum_balance(smooth)
    assert (balance.is_determined, balance.lever_turned) == (False, False)
    assert "does not determine the sign" in str(balance)
    assert balance.contradiction(friction=False) == ""
    disks = replace(data, normal=data.normal * [1.0, 1.0, 0.0])
    assert np.isinf(momentum_balance(disks).margins[0])
    same = replace(data, normal=np.broadcast_to([0.0, 1.0, 0.01], data.normal.shape))
    np.testing.assert_array_equal(np.isinf(momentum_balance(same).margins), [True, False, True])
    for n in (2, 3):  # as few as the coefficients, which fit any impacts
        few = momentum_balance(take(smooth, range(n)))
        assert (few.is_determined, few.lever_turned, few.contradiction()) == (False, False, "")


def test_paired_intervals_see_what_separate_ones_do_not() -> None:
    """Models whose errors differ by 0.01 on every item (items by 1) are distinguished; equal models are not."""
    rng = np.random.default_rng(2)
    common = rng.exponential(1.0, 300)
    found = paired_difference(common + 0.01 + rng.normal(0.0, 0.01, 300), common)
    assert found.decided
    assert found.low < 0.01 < found.high
    assert not paired_difference(common + rng.normal(0.0, 0.01, 300), common).decided
    lost = np.where(np.arange(300) < 10, np.nan, common)
    assert paired_difference(lost, common).difference == 0.0
    with pytest.raises(ValueError, match="same items"):
        paired_difference(common[1:], common)
