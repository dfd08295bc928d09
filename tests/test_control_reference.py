"""The page of signatures is true: names, arguments, shapes of what is returned, and which way round vectors stand."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

from contactlab import multibody as mb
from contactlab.contact import Box, HalfSpace, Material
from contactlab.multibody import joints
from contactlab.simulation import ConstantVelocity, Simulation, TimeStepping, WorldBuilder, sensors
from contactlab.spatial import RigidInertia, Transform, quaternion
from contactlab.world.surface import ALL

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = (DOCS / "control_reference.md").read_text(encoding="utf-8")
CONTROL = (DOCS / "control.md").read_text(encoding="utf-8")
#: What is given and not called, and what builds a world from another's.
SPECIAL = {"WorldBuilder.gravity", "WorldBuilder.add_actions"}


def signatures():
    """Module, name, arguments (None for what is no call) and what is returned, as written."""
    for block in re.findall(r"^```text\n# (.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL):
        module, _, lines = block.partition("\n")
        for one in re.sub(r"\n +", " ", lines).splitlines():
            call, returned = one.split(" -> ")
            name, bracket, rest = call.partition("(")
            yield module, name, bracket + rest if bracket else None, returned


def found(module, name):
    """What the page names."""
    thing = importlib.import_module(module)
    for part in name.split("."):
        thing = getattr(thing, part)
    return thing


def arguments_of(thing):
    """The arguments of a call as the page writes them."""
    said = inspect.signature(thing)
    own = [one.replace(annotation=inspect.Parameter.empty) for one in said.parameters.values() if one.name != "self"]
    text = str(said.replace(parameters=own, return_annotation=inspect.Signature.empty))
    return text.replace("<factory>", "...").replace(str(ALL), "ALL")


@pytest.mark.parametrize(("module", "name", "arguments", "returned"), list(signatures()), ids=lambda one: str(one)[:40])
def test_signatures_are_as_written(module, name, arguments, returned):
    thing = found(module, name)
    assert returned
    if arguments is None:
        assert not callable(thing)
    else:
        assert arguments_of(thing) == arguments


def test_what_control_calls_is_written():
    """All that a builder and a run do, and whatever `control.md` imports, has its line."""
    written = {name.removeprefix("sensors.") for _, name, _, _ in signatures()}
    for owner in (WorldBuilder, Simulation):
        of_it = {f"{owner.__name__}.{name}" for name in dir(owner) if not name.startswith("_")}
        assert of_it - written <= SPECIAL, owner
    imported = set()
    for block in re.findall(r"^```python\n(.*?)^```$", CONTROL, flags=re.MULTILINE | re.DOTALL):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom):
                imported |= {one.name for one in node.names}
    assert imported - written == {"joints", "multibody", "sensors"}  # packages
    assert set(sensors.__all__) - written == {"Sensor", "StepView"}  # for sensors of one's own


def a_model():
    """A flying trunk with an arm on a ball joint and a hinge."""
    builder, inertia = mb.ModelBuilder(), RigidInertia(2.0, (0.1, 0.2, -0.1), inertia=np.diag([0.2, 0.3, 0.4]))
    builder.add_body("trunk", joint=joints.FloatingBase(), inertia=inertia)
    builder.add_body(
        "arm", parent="trunk", joint=joints.Spherical(), inertia=inertia, placement=Transform(p=(0.3, 0, 0))
    )
    builder.add_body("hand", parent="arm", joint=joints.Revolute((0, 1, 0)), inertia=inertia)
    return builder.build()


def at_random(model, seed=3):
    rng = np.random.default_rng(seed)
    return mb.random_configuration(model, seed), *rng.normal(size=(3, model.nv)), rng.normal(size=(model.nb, 6))


def test_shapes_of_functions_of_models_are_as_written():
    """Each is called with the arguments that it needs, and f_ext."""
    model = a_model()
    q, v, a, tau, f_ext = at_random(model)
    sizes = {"nq": model.nq, "nv": model.nv, "nb": model.nb}
    given = {
        "model": model,
        "q": q,
        "v": v,
        "a": a,
        "tau": tau,
        "f_ext": f_ext,
        "body": "hand",
        "dt": 0.1,
        "forces": [],
    }
    given |= {"q0": q, "q1": mb.integrate(model, q, v, 0.1), "point": (0.1, 0.2, 0.3), "position": (1, 2, 3)}
    checked = 0
    for module, name, _, returned in signatures():
        if module != "contactlab.multibody" or not returned.startswith(("(", "float")):
            continue
        needed = inspect.signature(function := found(module, name)).parameters.values()
        wanted = {p.name: given[p.name] for p in needed if p.default is p.empty or p.name == "f_ext"}
        answer = function(**wanted)
        written = [re.findall(r"\w+", one) for one in re.findall(r"\(([^)]*)\)", returned)]
        shapes = [tuple(sizes.get(word) or int(word) for word in one) for one in written] or [()]
        answers = answer if isinstance(answer, tuple) else (answer,)
        assert [np.shape(one) for one in answers] == shapes, name
        checked += 1
    assert checked > 30


def test_orders_and_axes_of_models():
    """Of v, tau, f_ext, points, bodies and momentum, by what they do."""
    model = a_model()
    q, v, _, tau, _ = at_random(model)
    h, (R, p) = 1e-6, mb.body_poses(model, q, "trunk")
    moved = mb.integrate(model, q, v, h)
    np.testing.assert_allclose((moved[:3] - q[:3]) / h, v[:3], rtol=1e-6)
    np.testing.assert_allclose(p, q[:3])
    np.testing.assert_allclose(R, quaternion.to_matrix(q[3:7]))
    turned = R.T @ mb.body_poses(model, moved, "trunk")[0]
    spin = np.array([turned[2, 1], turned[0, 2], turned[1, 0]]) / h
    np.testing.assert_allclose(spin, v[3:6], rtol=1e-5)
    np.testing.assert_allclose(
        mb.point_velocity_6d(model, q, v, "trunk", (0, 0, 0)), [*(R @ v[3:6]), *v[:3]], rtol=1e-12
    )
    np.testing.assert_allclose(mb.body_spatial_jacobian(model, q, "trunk") @ v, [*v[3:6], *(R.T @ v[:3])], rtol=1e-12)
    # A ball joint: of the arm against the trunk, in the axes of the arm.
    arm = mb.body_pose(model, q, "arm").R
    relative = mb.point_velocity_6d(model, q, v, "arm", (0, 0, 0))[:3] - R @ v[3:6]
    np.testing.assert_allclose(arm.T @ relative, v[6:9], rtol=1e-10)
    # f_ext about the world's origin, and a force at a point.
    point, force, moment = np.array([0.1, 0.2, 0.3]), np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.1, -0.7])
    at = mb.point_position(model, q, "hand", point)
    row = np.zeros((model.nb, 6))
    row[model.index("hand")] = [*(moment + np.cross(at, force)), *force]
    pushed = mb.forward_dynamics(model, q, v, tau, row)
    same = tau + mb.point_jacobian_6d(model, q, "hand", point).T @ [*moment, *force]
    np.testing.assert_allclose(pushed, mb.forward_dynamics(model, q, v, same), rtol=1e-9)
    np.testing.assert_allclose(
        mb.external_forces(model, q, [mb.PointForce("hand", point, force)])[model.index("hand")],
        [*np.cross(at, force), *force],
        rtol=1e-12,
    )
    # Of a free body tau has the force in world axes, at its origin, and the torque in body axes.
    np.testing.assert_allclose(
        mb.point_jacobian_6d(model, q, "trunk", (0, 0, 0)).T[:6] @ [*moment, *force],
        [*force, *(R.T @ moment)],
        atol=1e-12,
    )
    momentum = mb.centroidal_momentum_matrix(model, q) @ v
    np.testing.assert_allclose(momentum[3:], mb.linear_momentum(model, q, v))
    np.testing.assert_allclose(momentum[:3], mb.angular_momentum(model, q, v))


def test_signs_of_contacts_and_sensors():
    """A crate of 2 kg on a plate that moves: the plate bears it, from below."""
    builder, half = WorldBuilder(), (0.2, 0.1, 0.1)
    builder.add_kinematic_body(
        "belt", Box((1, 1, 0.1)), Material(0.0), ConstantVelocity(Transform(p=(0, 0, -0.1)), velocity=(0.1, 0, 0))
    )
    builder.add_free_body("crate", RigidInertia.solid_box(2.0, half), Box(half), Material(0.0), (0, 0, 0.1, 1, 0, 0, 0))
    run = Simulation(builder.build(), TimeStepping(1e-3))
    run.step()
    weight = 2.0 * 9.81
    table = run.contacts
    both = ConstantVelocity(velocity=(1, 2, 3), angular_velocity=(4, 5, 6))
    np.testing.assert_allclose(both.twist(0.0), [4, 5, 6, 1, 2, 3])
    assert np.all(table.body_b == run.world.model.index("crate"))
    np.testing.assert_allclose(table.normal, [[0, 0, 1]] * len(table), atol=1e-12)
    np.testing.assert_allclose(table.impulse.sum(axis=0), [0, 0, weight * 1e-3], atol=1e-10)
    pair = table.between("belt", "crate")
    np.testing.assert_allclose(pair.net_wrench(at=(-1, 0, 0)), [[0, -weight, 0, 0, 0, weight]], atol=1e-6)
    np.testing.assert_allclose(pair.net_wrench(at=(-1, 0, 0), on="belt"), [[0, weight, 0, 0, 0, -weight]], atol=1e-6)
    wrench = run.read(sensors.ContactWrench("crate", point=(-1, 0, 0)))
    np.testing.assert_allclose(wrench, [0, -weight, 0, 0, 0, weight], atol=1e-6)
    # What holds a pendulum at rest hangs it up.
    model = mb.ModelBuilder()
    bob = RigidInertia(2.0, (0, 0, -0.5), inertia=0.1 * np.eye(3))
    model.add_body("bob", joint=joints.Revolute((0, 1, 0)), inertia=bob)
    hanging = WorldBuilder()
    hanging.add_half_space("floor", HalfSpace(offset=-2.0), Material(0.5))
    hanging.add_model(model.build())
    run = Simulation(hanging.build(), TimeStepping(1e-3))
    run.step()
    np.testing.assert_allclose(run.read(sensors.JointForce("bob")), [0, 0, weight], atol=1e-9)
    side = sensors.JointTorque("bob", Transform(p=(-1.0, 0, 0)))
    np.testing.assert_allclose(run.read(side), [0, -weight, 0], atol=1e-9)
