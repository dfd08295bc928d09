"""Sets of constraints: groups, labels, stabilisation, systems, models that cannot move, and what is refused."""

from typing import get_args

import numpy as np
import pytest
from every_joint import model_with_every_joint
from random_rows import random_set
from refusals import assert_messages
from trees import random_tree, state

from contactlab.multibody import (
    Model,
    ModelBuilder,
    MultibodyError,
    PointForce,
    external_forces,
    inverse_dynamics,
    joints,
    kinematics,
    mass_matrix,
    nonlinear_effects,
    point_velocity,
    random_configuration,
)
from contactlab.multibody.constraints import (
    Baumgarte,
    ConstraintError,
    ConstraintSet,
    ContactConstraint,
    CustomConstraint,
    DistanceConstraint,
    LoopConstraint,
    baumgarte_term,
    constrained_system,
    constraint_gamma,
    constraint_jacobian,
    constraint_position_error,
    constraint_velocity_error,
    forward_dynamics_constraints,
)
from contactlab.multibody.constraints.forward_dynamics import Method
from contactlab.multibody.spatial import RigidInertia, Transform

X, Y, Z = np.eye(3)
SIX = np.eye(6)


class Frozen(CustomConstraint):
    """The first two degrees of freedom stand still."""

    rows = 2

    def __init__(self, name: str | None = None, id: int | None = None, baumgarte: float | None = None) -> None:
        self.name, self.id, self.baumgarte = name, id, baumgarte

    def jacobian(self, model: Model, q: np.ndarray) -> np.ndarray:
        return np.eye(2, model.nv)

    def gamma(self, model: Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.zeros(2)


@pytest.fixture(scope="module")
def model() -> Model:
    return random_tree(3)


def contact(
    name: str | None = None, id: int | None = None, body: str = "b1", normal: np.ndarray = Z
) -> ContactConstraint:
    return ContactConstraint(body, (0.1, 0.2, 0.3), normal, name=name, id=id)


def loop(name: str | None = None, id: int | None = None, **others: object) -> LoopConstraint:
    return LoopConstraint("b0", "b2", None, None, SIX[3], name=name, id=id, **others)  # type: ignore[arg-type]


def test_rows_of_one_name_are_a_group(model: Model) -> None:
    """Groups keep the order of their first rows, hold rows from anywhere, and are found by name and by id."""
    rows = [contact("foot", 7), loop("hinge"), contact("foot", 8, normal=X), Frozen("own", 12), contact("hand", 3)]
    cs = ConstraintSet(model, rows)
    assert len(cs) == cs.n_rows == 6
    assert [group.name for group in cs.groups] == ["foot", "hinge", "own", "hand"]
    assert [group.kind for group in cs.groups] == ["contact", "loop", "custom", "contact"]
    assert [group.id for group in cs.groups] == [7, None, 12, 3]
    assert [group.rows.tolist() for group in cs.groups] == [[0, 2], [1], [3, 4], [5]]
    assert [len(group) for group in cs.groups] == [2, 1, 2, 1]
    assert cs.labels == ("foot[0]", "hinge", "foot[1]", "own[0]", "own[1]", "hand")
    assert cs.group("foot") is cs.group(7) is cs.group(8) is cs.groups[0]
    assert cs.group(np.int64(12)) is cs.group("own")
    np.testing.assert_array_equal(cs.rows("foot"), [0, 2])
    assert cs.rows("own") == slice(3, 5)
    assert repr(cs) == "ConstraintSet(6 rows; foot: 2 contact, hinge: 1 loop, own: 2 custom, hand: 1 contact)"


def test_contact_rows_of_one_point_are_one_group(model: Model) -> None:
    """Groups are as in RBDL; each of their names finds all rows; another point, body or id is another group."""
    names = ("normal", "along", "across")
    rows = [contact(name, normal=n) for name, n in zip(names, (Z, X, Y), strict=True)]
    rows += [
        contact("other id", 4),
        contact("other body", body="b2"),
        ContactConstraint("b1", (0, 0, 0), Z, name="far"),
    ]
    cs = ConstraintSet(model, [rows[0], rows[4], rows[1], rows[5], rows[2], rows[3]])
    assert [group.rows.tolist() for group in cs.groups] == [[0, 2, 4], [1], [3], [5]]
    assert [group.name for group in cs.groups] == ["normal", "other body", "far", "other id"]
    assert cs.groups[0].names == names
    for name in names:
        assert cs.group(name) is cs.groups[0]
        np.testing.assert_array_equal(cs.rows(name), [0, 2, 4])
    assert cs.labels == ("normal", "other body", "along", "far", "across", "other id")
    assert cs.labels.index("across") == 4
    assert [cs.group_of_row(row).name for row in range(6)] == [
        "normal",
        "other body",
        "normal",
        "far",
        "normal",
        "other id",
    ]
    assert [group.assigned_id for group in cs.groups] == [0, 1, 3, 5]
    # Rows without a name, too, and a row that links two groups by its name and its point.
    cs = ConstraintSet(model, [contact(), contact("a", body="b2"), contact(normal=X), contact("a", normal=Y)])
    assert [group.rows.tolist() for group in cs.groups] == [[0, 1, 2, 3]]
    assert cs.labels == ("a[0]", "a[1]", "a[2]", "a[3]")
    for row in (-1, 4, True, 1.0):
        with pytest.raises(ConstraintError, match="row: must be a row of the set, 0 to 3"):
            cs.group_of_row(row)  # type: ignore[arg-type]


def test_stabilisation_is_set_per_group(model: Model) -> None:
    """A number is the time constant, a pair stays a pair; `with_baumgarte` changes one group of a new set only."""
    cs = ConstraintSet(
        model, [loop("a", baumgarte=0.1), loop("b", baumgarte=Baumgarte(2.0, 3.0)), loop("c"), Frozen("d")]
    )
    assert [group.baumgarte for group in cs.groups] == [Baumgarte(10.0, 10.0), Baumgarte(2.0, 3.0), None, None]
    other = cs.with_baumgarte("c", 0.5).with_baumgarte("a", None).with_baumgarte("d", (Baumgarte(1.0, 4.0)))
    assert [group.baumgarte for group in other.groups] == [
        None,
        Baumgarte(2.0, 3.0),
        Baumgarte(2.0, 2.0),
        Baumgarte(1.0, 4.0),
    ]
    assert cs.group("c").baumgarte is None
    q, v, _ = state(model, 1)
    assert baumgarte_term(model, q, v, cs)[2] == 0.0
    assert baumgarte_term(model, q, v, other)[2] != 0.0
    np.testing.assert_allclose(baumgarte_term(model, q, v, other)[3:], -2.0 * v[:2])
    feet = ConstraintSet(model, [contact("foot")])
    stabilised = feet.with_baumgarte("foot", 0.25)
    term = -2.0 / 0.25 * point_velocity(model, q, v, "b1", (0.1, 0.2, 0.3))[2:]
    np.testing.assert_allclose(baumgarte_term(model, q, v, stabilised), term, rtol=1e-12)


def test_terms_of_given_errors(model: Model) -> None:
    """`Baumgarte.term` of a group's errors is what a set computes by itself; with beta = 0 drift is only stopped."""
    q, v, _ = state(model, 1)
    for pair in (Baumgarte(10.0, 0.0), Baumgarte(0.0, 4.0), Baumgarte()):
        cs = ConstraintSet(model, [loop("a", baumgarte=pair), Frozen("own", baumgarte=pair)])
        phi, phid = constraint_position_error(model, q, cs), constraint_velocity_error(model, q, v, cs)
        term = baumgarte_term(model, q, v, cs)
        np.testing.assert_allclose(pair.term(phi, phid), term, rtol=1e-15)
        np.testing.assert_allclose(term, -2.0 * pair.alpha * phid - pair.beta**2 * phi, rtol=1e-15)
        plain = ConstraintSet(model, [loop("a"), Frozen("own")])
        added = constraint_gamma(model, q, v, cs) - constraint_gamma(model, q, v, plain)
        np.testing.assert_allclose(added, term, atol=1e-12)
    with pytest.raises(ConstraintError, match=r"velocity_error: must have shape \(2,\), got \(1,\)"):
        Baumgarte().term([0.0, 1.0], [0.0])


@pytest.mark.parametrize("value", [0.0, -0.1, float("nan"), float("inf"), "fast"])
def test_time_constants_that_are_none(value: object) -> None:
    """A time constant must be a finite number > 0; no stabilisation is None."""
    with pytest.raises(ConstraintError, match="baumgarte"):
        loop(baumgarte=value)


@pytest.mark.parametrize("pair", [(0.0, 0.0), (1.0, -1.0), (-1.0, 1.0), (1.0, float("nan"))])
def test_pairs_that_are_none(pair: tuple[float, float]) -> None:
    """Both numbers of a pair must be finite and >= 0, and not both 0."""
    with pytest.raises(ConstraintError, match="alpha|beta"):
        Baumgarte(*pair)


def test_bad_contacts_and_loops_are_refused() -> None:
    """An invalid row is refused where it is made, and the error has the wrong number."""
    cases = [
        ("normal: must be a unit vector, has length 2", lambda: ContactConstraint("b1", (0, 0, 0), (0, 0, 2))),
        ("normal: must be a unit vector, has length 0", lambda: ContactConstraint("b1", (0, 0, 0), (0, 0, 0))),
        (r"normal: must have shape \(3,\)", lambda: ContactConstraint("b1", (0, 0, 0), (0, 1))),
        (r"point: entry \[1\] is nan", lambda: ContactConstraint("b1", (0, np.nan, 0), Z)),
        ("body: a contact needs a body that can move, got 'world'", lambda: ContactConstraint("world", (0, 0, 0), Z)),
        ("body: must be the name of a body, got 3", lambda: ContactConstraint(3, (0, 0, 0), Z)),  # type: ignore[arg-type]
        ("acceleration: the value is inf", lambda: ContactConstraint("b1", (0, 0, 0), Z, acceleration=np.inf)),
        ("name: must be a non-empty string", lambda: contact("")),
        ("id: must be an integer", lambda: contact(id=1.5)),  # type: ignore[arg-type]
        ("axis: has no direction", lambda: LoopConstraint("b0", "b1", None, None, np.zeros(6))),
        ("axis: is needed", lambda: LoopConstraint("b0", "b1")),
        (r"axis: must have shape \(6,\)", lambda: LoopConstraint("b0", "b1", None, None, Z)),
        ("X_s: must be a Transform", lambda: LoopConstraint("b0", "b1", Transform(), np.eye(4), SIX[0])),  # type: ignore[arg-type]
        ("successor: must be the name", lambda: LoopConstraint("b0", None, axis=SIX[0])),  # type: ignore[arg-type]
        ("body_b: is body_a too, 'b0'", lambda: DistanceConstraint("b0", Z, "b0", Z, 1.0)),
        ("body_a: must be the name", lambda: DistanceConstraint("", Z, "b0", Z, 1.0)),
        (r"point_b: must have shape \(3,\)", lambda: DistanceConstraint("b0", Z, "b1", Z[:2], 1.0)),
        ("length: must be > 0, got -1; three", lambda: DistanceConstraint("b0", Z, "b1", Z, -1.0)),
        ("length: must be > 0, got 0; three", lambda: DistanceConstraint("b0", Z, "b1", Z, 0)),
        ("baumgarte: the time constant must be > 0", lambda: DistanceConstraint("b0", Z, "b1", Z, 1.0, 0.0)),
    ]
    assert_messages(ConstraintError, *cases)


def test_bad_sets_are_refused(model: Model) -> None:
    """An invalid set is refused when it is made, and the error names the row or the group."""
    other = LoopConstraint("b0", "b22", None, None, SIX[0])
    rod = DistanceConstraint("b0", Z, "b22", Z, 1.0)
    cases = [
        (r"constraints\[1\].successor: no body is called 'b22'; close: 'b2'", [contact(), other]),
        (r"constraints\[1\].body_b: no body is called 'b22'; close: 'b2'", [contact(), rod]),
        (r"constraints\[0\].body: no body is called 'tol'; close: 'tool'", [contact(body="tol")]),
        (r"name: rows of the group 'a' must be of one kind, they are \['contact', 'loop'\]", [contact("a"), loop("a")]),
        ("baumgarte: must be the same for all rows of the group 'a'", [loop("a"), loop("a", baumgarte=0.1)]),
        ("id: 4 stands for both 'a' and 'b'", [loop("a", 4), contact("b", 4)]),
        (r"constraints\[0\]: int is no constraint: .* no rows, jacobian, gamma", [3]),
        (r"constraints\[1\]: is the class Frozen, not an object of it", [contact(), Frozen]),
    ]
    for message, constraints in cases:
        with pytest.raises(ConstraintError, match=message):
            ConstraintSet(model, constraints)
    with pytest.raises(ConstraintError, match="model: must be a Model"):
        ConstraintSet("model", [])  # type: ignore[arg-type]


def test_unknown_groups_suggest_close_ones(model: Model) -> None:
    """A name that no group has raises with the close names, or with those there are."""
    cs = ConstraintSet(model, [contact("left_foot", 5), contact("right_foot")])
    assert_messages(
        ConstraintError,
        ("no group is called 'left_fot'; close: 'left_foot', 'right_foot'", lambda: cs.group("left_fot")),
        ("no group is called 6; there are 'left_foot', 'right_foot'", lambda: cs.rows(6)),
        ("group", lambda: cs.with_baumgarte("knee", 0.1)),
        ("no group is called True", lambda: cs.group(True)),
        ("there are none", lambda: ConstraintSet(model, []).group("a")),
    )


DOWN = ContactConstraint("post", (0, 0, 1), (0, 0, 1))


def post():
    """A body that is fixed to the world."""
    builder = ModelBuilder()
    return builder.add_body("post", joint=joints.Fixed(), inertia=RigidInertia(1.0, inertia=np.eye(3))).build()


@pytest.mark.parametrize("method", get_args(Method))
def test_a_model_that_cannot_move_does_not(method) -> None:
    """Empty lists are vectors of length 0; rows on fixed bodies have no effect and no force."""
    model = post()
    rows = [DOWN] if method == "kokkevis" else [DOWN, LoopConstraint("post", "world", axis=(0, 0, 0, 1, 0, 0))]
    found = forward_dynamics_constraints(model, [], [], [], ConstraintSet(model, rows), method=method)
    assert found.a.shape == (0,)
    assert not found.forces.any()
    assert (found.rank, found.residual) == (0, 0.0)


def test_constrained_system_is_made_of_the_public_functions() -> None:
    """H, C (f_ext taken off), G and gamma are what the functions of each give, from q or from kinematics."""
    model = model_with_every_joint()
    q, v, _ = state(model, 6)
    cs = random_set(model, np.random.default_rng(6))
    f_ext = external_forces(
        model, q, [PointForce("eye", (0.1, 0, 0), (1, 2, 3)), PointForce("cam", (0, 0, 1), (5, 0, 0))]
    )
    tau = np.ones(model.nv)
    for at, speed in ((q, v), (kinematics(model, q, v), None), (kinematics(model, q), v)):
        system = constrained_system(model, at, speed, tau, cs, f_ext)
        np.testing.assert_array_equal(system.H, mass_matrix(model, q))
        np.testing.assert_allclose(system.C, nonlinear_effects(model, q, v, f_ext), rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(system.C, inverse_dynamics(model, q, v, 0 * v, f_ext), rtol=1e-13, atol=1e-13)
        np.testing.assert_array_equal(system.G, constraint_jacobian(model, q, cs))
        np.testing.assert_array_equal(system.gamma, constraint_gamma(model, q, v, cs))
    assert_messages(
        MultibodyError,
        ("tau", lambda: constrained_system(model, q, v, tau[1:], cs)),
        ("v: is needed", lambda: constrained_system(model, q, None, tau, cs)),
        ("computed without velocities", lambda: constrained_system(model, kinematics(model, q), None, tau, cs)),
    )


def tree(branches: int, length: int) -> Model:
    """A floating body with branches of revolute joints."""
    rng = np.random.default_rng(0)
    builder = ModelBuilder().add_body(
        "base", joint=joints.FloatingBase(), inertia=RigidInertia.solid_box(2.0, (0.3, 0.2, 0.1))
    )
    for branch in range(branches):
        parent = "base"
        for k in range(length):
            name = f"{branch}.{k}"
            builder.add_body(
                name,
                parent=parent,
                joint=joints.Revolute(rng.standard_normal(3)),
                placement=Transform(np.eye(3), rng.uniform(-0.3, 0.3, 3)),
                inertia=RigidInertia.solid_box(1.0, (0.1, 0.2, 0.3)),
            )
            parent = name
    return builder.build()


@pytest.mark.parametrize(
    ("branches", "length", "bodies"),
    [
        (2, 3, ["0.2"]),
        (2, 3, ["0.2", "0.2", "1.2", "0.2", "1.2", "base"]),  # interleaved
        (2, 6, ["0.5"] * 6 + ["1.5"] * 3),  # more rows of a link than a vector has lanes
        (4, 9, [f"{k % 4}.{8 - k // 12}" for k in range(30)]),  # too many for the plain solver
        (5, 20, [f"{k % 5}.19" for k in range(12)]),  # too long for the stack
    ],
)
def test_unit_forces_agree_with_the_null_space_method(branches: int, length: int, bodies: list[str]) -> None:
    """Accelerations, forces and rank, with Baumgarte and wanted accelerations."""
    model, rng = tree(branches, length), np.random.default_rng(1)
    rows = []
    for body in bodies:
        normal = rng.standard_normal(3)
        normal /= np.linalg.norm(normal)
        rows.append(ContactConstraint(body, rng.uniform(-0.3, 0.3, 3), normal, acceleration=rng.standard_normal()))
    cs = ConstraintSet(model, rows)
    for group in cs.groups[::2]:
        cs = cs.with_baumgarte(group.name, 0.1)
    q, v, tau = random_configuration(model, rng), rng.standard_normal(model.nv), rng.standard_normal(model.nv)
    one = forward_dynamics_constraints(model, q, v, tau, cs, method="kokkevis")
    two = forward_dynamics_constraints(model, q, v, tau, cs, method="null_space")
    assert one.rank == two.rank == len(bodies)
    assert one.residual < 1e-11
    np.testing.assert_allclose(one.a, two.a, rtol=1e-8, atol=1e-8 * np.abs(two.a).max())
    np.testing.assert_allclose(one.forces, two.forces, rtol=1e-8, atol=1e-8 * np.abs(two.forces).max())
