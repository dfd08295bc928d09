import numpy as np
import pytest
import simulation_scenes as scenes
from record_runs import stop_run
from scene_texts import SCENES

from contactlab.cli import main
from contactlab.simulation import (
    Box,
    HalfSpace,
    Material,
    ModelBuilder,
    Recording,
    RigidInertia,
    SimulationConfigError,
    Sphere,
    TimeStepping,
    Transform,
    WorldBuilder,
    joints,
    simulate,
    verify,
)
from contactlab.simulation.scene import load_scene


@pytest.fixture(scope="module")
def recording():
    """Three bodies thrown between two planes."""
    return simulate(scenes.tumble(), TimeStepping(2e-3), steps=150)


def tampered(recording, **changes):
    """A record with some entries changed: name of the array to (entry, value)."""
    rows = {name: np.array(array) for name, array in recording.rows.items()}
    for name, (entry, value) in changes.items():
        rows[name][entry] = value
    return Recording(recording.world, recording.stepper, rows, recording.environment, recording.solver_description)


def joints_of_all_kinds():
    """Two trees and two single links with bodies fixed to them, centres of mass anywhere."""
    turned = Transform(np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]]), (0.1, 0.1, 0.2))
    body = RigidInertia(1.0, (0.02, 0.01, -0.03), inertia=np.diag([0.02, 0.03, 0.04]))
    model = ModelBuilder()
    for name, parent, joint in [
        ("base", "world", joints.FloatingBase()),
        ("hinge", "base", joints.Revolute((0, 1, 0))),
        ("slider", "hinge", joints.Prismatic((0, 1, 1))),
        ("ball", "slider", joints.Spherical()),
        ("skew", "ball", joints.Revolute((1, 0, 1))),
        ("welded", "hinge", joints.Fixed()),
        ("top", "world", joints.Spherical()),
        ("on top", "top", joints.Fixed()),
        ("free", "world", joints.FloatingBase()),
        ("on free", "free", joints.Fixed()),
    ]:
        model.add_body(name, parent=parent, joint=joint, placement=turned, inertia=body)
    built = model.build()
    builder = WorldBuilder()
    builder.add_half_space("floor", HalfSpace((0, 0, 1), 0.0), Material(0.5, 0.3))
    builder.add_model(built, built.neutral, np.random.default_rng(0).normal(size=built.nv))
    for name in ("base", "hinge", "ball", "skew", "free"):
        builder.add_shape(name, Box((0.05, 0.04, 0.06)), Material(0.4))
    return builder.build()


@pytest.mark.parametrize("adaptive", [False, True])
def test_honest_records_hold(recording, adaptive):
    """Every condition of every step, to far better than it has to."""
    if adaptive:
        recording = simulate(scenes.block(0.3, 1.0), TimeStepping(1e-3, adaptive=True, erp=0.2), steps=100)
    report = verify(recording)
    assert report.holds, report
    assert report.checked_steps == recording.n_steps
    assert report.contacts == len(recording.contacts) > 0
    # The forces selected are a limit, which is known to less.
    exact = (one for one in report.conditions if one.condition != "choice")
    assert max(one.worst.value for one in exact if one.worst) < 1e-11


def test_all_joints_and_applied_forces_hold():
    """The second arithmetic agrees with the first for trees, midpoint rule and forces from outside."""
    world = joints_of_all_kinds()
    tau = np.random.default_rng(1).normal(size=world.nv)
    recording = simulate(world, TimeStepping(1e-3, erp=0.1), steps=600, tau=tau)
    assert len(recording.contacts) > 0
    report = verify(recording, every=3)
    assert report.holds, report


@pytest.mark.parametrize(
    ("array", "condition"),
    [
        ("contact_impulse", "impulse"),
        ("contact_impulse_normal", "impulse"),
        ("contact_z", "lcp"),
        ("contact_gap", "geometry"),
        ("contact_normal", "geometry"),
        ("contact_mu", "geometry"),
        ("contact_slip", "slip"),
        ("v", "motion"),
        ("q", "integration"),
        ("time", "integration"),
        ("kinetic", "energy"),
        ("potential", "energy"),
        ("island_measures", "solved"),
        ("h", "integration"),
    ],
)
def test_a_changed_number_is_found(recording, array, condition):
    """A change of any number by a millionth is found, with its location."""
    touched = int(np.argmax(recording.contacts.impulse_normal))
    step = int(recording.contacts.step[touched])
    island = int(np.flatnonzero(recording.rows["island_step"] == step)[0])
    row = {"contact": touched, "island": island}.get(
        array.split("_")[0], step + (array in ("q", "v", "time", "kinetic", "potential"))
    )
    entry = (row, *(1 if array == "island_measures" else 0 for _ in recording.rows[array].shape[1:]))
    if array == "contact_impulse":
        entry = (row, int(np.argmax(np.abs(recording.rows[array][row]))))
    value = recording.rows[array][entry]
    report = verify(tampered(recording, **{array: (entry, value + 1e-6 * max(1.0, abs(value)))}))
    assert not report.holds
    found = [failure for failure in report.failures if failure.condition == condition]
    assert found, report
    assert step in {failure.step for failure in found}
    if array.startswith("contact"):
        assert touched in {failure.contact for failure in found}


@pytest.mark.parametrize("turn", [0.1, 3.0, 6.0, 20.0])
@pytest.mark.parametrize("seed", range(6))
def test_bodies_that_spin_fast_hold(seed, turn):
    """The gyroscopic rule is followed also where a step turns the body by radians."""
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    inertia = RigidInertia(1.0, (0.01, 0.0, 0.02), inertia=axes @ np.diag([0.01, 0.1, 0.105]) @ axes.T)
    omega = rng.normal(size=3)
    v = (0, 0, 0, *(turn / 0.01 / np.linalg.norm(omega) * omega))
    world = scenes.one_body(Box.cube(0.1), inertia, mu=0.1, q=(0, 0, 500, 1, 0, 0, 0), v=v)
    report = verify(simulate(world, TimeStepping(0.01), steps=20))
    assert report.holds, report


def test_balls_that_roll_without_load_hold():
    """A slip that is only rounding of v and r omega is not a violation, at any speed."""
    builder = WorldBuilder()
    builder.add_half_space("floor", HalfSpace(), Material(0.5))
    inertia, ball = RigidInertia.solid_sphere(0.5, 0.08), Sphere(0.08)
    for i, speed in enumerate(np.linspace(0.3, 1.7, 30)):
        q, v = (0, i, 0.0807, 1, 0, 0, 0), (speed, 0, 0, 0, speed / 0.08, 0)
        builder.add_free_body(f"ball {i}", inertia, ball, Material(0.5), q=q, v=v)
    report = verify(simulate(builder.build(), TimeStepping(5e-3), steps=3))
    assert report.holds, report


def test_a_missing_certificate_is_found(recording):
    """An island without its row cannot pass for solved."""
    rows = {name: np.array(array) for name, array in recording.rows.items()}
    for name in [name for name in rows if name.startswith("island_")]:
        rows[name] = rows[name][1:]
    report = verify(Recording(recording.world, recording.stepper, rows))
    assert [failure.condition for failure in report.failures] == ["solved"]


@pytest.mark.parametrize("value", [np.nan, *(pytest.param(v, marks=pytest.mark.slow) for v in (np.inf, 1e300))])
@pytest.mark.parametrize(
    "array", ["contact_z", "contact_point", "contact_impulse", "contact_gap", "kinetic", "potential", "v", "q"]
)
def test_numbers_that_are_none_fail(recording, array, value):
    """NaN does not count as a small violation, and no number stops the verification."""
    entry = (20, *(0 for _ in recording.rows[array].shape[1:]))
    assert not verify(tampered(recording, **{array: (entry, value)})).holds


@pytest.mark.parametrize("array", ["contact_body_b", "contact_body_a", "contact_half_space", "contact_island"])
def test_references_to_nothing_fail(recording, array):
    """A body, half-space or island that is not there."""
    assert not verify(tampered(recording, **{array: (20, 99)})).holds


def test_arguments_are_checked(recording):
    """Before any work."""
    for options, field in (({"every": 0}, "every"), ({"tolerance": 0.0}, "tolerance"), ({"every": 1.5}, "every")):
        with pytest.raises(SimulationConfigError) as caught:
            verify(recording, **options)
        assert caught.value.field == field


def test_command_on_honest_tampered_and_broken_files(recording, tmp_path, capsys):
    """Status 0, 1 with step and contact named, 2."""
    good, bad, cut = tmp_path / "good.npz", tmp_path / "bad.npz", tmp_path / "cut.npz"
    recording.save(good)
    assert main(["verify", str(good), "--every", "10"]) == 0
    assert "every certificate holds" in capsys.readouterr().out
    step = int(recording.contacts.step[0])
    tampered(recording, contact_impulse=((0, 2), 9.0)).save(bad)
    assert main(["verify", str(bad)]) == 1
    assert f"failed: step {step}, island 0, contact 0: impulse" in capsys.readouterr().out
    cut.write_bytes(good.read_bytes()[:2000])
    foreign = tmp_path / "foreign.npz"
    np.savez(foreign, a=np.zeros(3))
    for path in (cut, foreign, tmp_path / "absent.npz"):
        assert main(["verify", str(path)]) == 2
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == 1
        assert str(path) in lines[0]


def test_command_on_the_chunks_of_a_run_that_was_stopped(tmp_path, capsys):
    """An unfinished run verifies as far as it came."""
    path = tmp_path / "run.npz"
    scene = load_scene(SCENES / "tumbling_cube.toml")
    stop_run(scene.world, scene.stepper, path, 60, 20)
    assert main(["verify", f"{path}.chunks"]) == 0
    assert "60 of 60 steps" in capsys.readouterr().out
