import pytest
from test_multibody_batch import Slider

from contactlab.multibody import Model, ModelBuilder, body_origins_overview, dof_overview, hierarchy_overview, joints
from contactlab.multibody.spatial import RigidInertia, Transform
from contactlab.multibody.spatial.arrays import MultibodyError

pytestmark = pytest.mark.nojit

BALL = RigidInertia.solid_sphere(1.0, 0.1)


def robot() -> Model:
    builder = ModelBuilder()
    builder.add_body("base", joint=joints.FloatingBase(), inertia=BALL)
    builder.add_body("arm", parent="base", joint=joints.Revolute([0.0, 1.0, 0.0]), inertia=BALL)
    builder.add_body("camera", parent="base", joint=joints.Fixed(), placement=Transform(p=[0.0, 0.0, 1.0]))
    builder.add_body("hand", parent="arm", joint=joints.Spherical(), placement=Transform(p=[2.0, 0, 0]), inertia=BALL)
    builder.add_body("neck", parent="camera", joint=joints.EulerZYX(), inertia=BALL)
    builder.add_body("nut", joint=joints.Helical([0.0, 0.0, 1.0], 0.5), inertia=BALL)
    builder.add_body("rail", joint=joints.Prismatic([0.0, -1.0, 0.0]), inertia=BALL)
    chain = [joints.Prismatic([1.0, 0.0, 0.0]), joints.Revolute([0.6, 0.8, 0.0])]
    builder.add_body("cart", parent="rail", joint=joints.Composite(chain), inertia=BALL)
    builder.add_body("slider", parent="rail", joint=Slider(), inertia=BALL)
    builder.add_body("table", joint=joints.Fixed(), inertia=BALL)
    return builder.build()


def test_hierarchy_shows_the_tree():
    """Every body stands under its parent, siblings in the order added, fixed bodies marked, all axes of each joint."""
    assert hierarchy_overview(robot()).splitlines() == [
        "world",
        "  base [ FloatingBase: TX TY TZ RX RY RZ ]",
        "    arm [ Revolute: RY ]",
        "      hand [ Spherical: RX RY RZ ]",
        "    camera [fixed]",
        "      neck [ EulerZYX: RZ RY RX ]",
        "  nut [ Helical: RZ + T(0 0 0.5) ]",
        "  rail [ Prismatic: T(0 -1 0) ]",
        "    cart [ Composite: TX R(0.6 0.8 0) ]",
        "    slider [ Slider: custom 0 ]",
        "  table [fixed]",
    ]


def test_every_velocity_has_its_line():
    """Entry by entry of v: a spherical joint's are x, y, z of the body, an Euler joint's in the order of its angles."""
    model = robot()
    lines = dof_overview(model).splitlines()
    assert len(lines) == model.nv
    assert [int(line.partition(":")[0]) for line in lines] == list(range(model.nv))
    assert lines[0] == " 0: base TX"
    assert lines[3] == " 3: base RX (body axes)"
    assert lines[6] == " 6: arm RY"
    assert lines[7:10] == [" 7: hand RX (body axes)", " 8: hand RY (body axes)", " 9: hand RZ (body axes)"]
    assert lines[10:13] == ["10: neck RZ", "11: neck RY", "12: neck RX"]
    assert lines[15:17] == ["15: cart TX", "16: cart R(0.6 0.8 0)"]
    assert lines[17] == "17: slider custom 0"


def test_origins_follow_the_configuration():
    """Each body's origin at q, fixed bodies included."""
    model = robot()
    q = model.neutral
    q[model.q_slice("base").start] = 3.0
    q[model.q_slice("rail")] = 0.25
    found = {line.split()[0]: line.split()[1:] for line in body_origins_overview(model, q).splitlines()}
    assert list(found) == [f"{name}:" for name in model.names]
    assert found["camera:"] == ["3", "0", "1"]
    assert found["hand:"] == ["5", "0", "0"]
    assert [float(x) for x in found["cart:"]] == [0.0, -0.25, 0.0]
    with pytest.raises(MultibodyError, match="q"):
        body_origins_overview(model, q[1:])
