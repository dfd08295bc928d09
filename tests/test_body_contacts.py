"""Bodies that touch one another in the compiled step: one arithmetic, and mechanics."""

import numpy as np
import pytest
from body_contact_scenes import (
    SCENES,
    ball_on_a_moving_box,
    collision_in_space,
    heap,
    pendulum_and_box,
    stack,
    two_balls,
)
from record_runs import same

from contactlab.collision import edge_directions
from contactlab.multibody import (
    angular_momentum,
    linear_momentum,
    mass_matrix,
    nonlinear_effects,
    point_in_body,
    point_jacobian,
)
from contactlab.simulation import TimeStepping, simulate, step, verify
from contactlab.simulation.stepping import memory, packing
from problem_data import ConstraintVelProblemData

G = 9.81
each_scene = pytest.mark.parametrize("scene", SCENES)


@pytest.fixture(scope="module")
def recordings():
    """Every scene, run once."""
    return {name: simulate(make(), TimeStepping(1e-3), duration) for name, (make, duration) in SCENES.items()}


def steps_between(recording):
    """Return steps to look at: up to 40 in which bodies touch, spread over the run, and every seventh."""
    touching = np.unique(recording.contacts.step[recording.contacts.body_a >= 0])
    chosen = touching[:: max(1, touching.size // 40)]
    assert chosen.size
    return np.union1d(chosen, np.arange(0, recording.n_steps, 7))


def momentum(model, q, v):
    """Linear and angular momentum of a model (6,)."""
    return np.concatenate((linear_momentum(model, q, v), angular_momentum(model, q, v)))


@each_scene
def test_problems_are_those_of_the_public_functions(scene, recordings):
    """A row is the difference of the point Jacobians of its two bodies, along the normal from A into B."""
    recording = recordings[scene]
    model = recording.world.model
    for i in steps_between(recording):
        q, v = recording.q[i], recording.v[i]
        for island in range(recording.islands[i]):
            dofs, rows = recording.dofs(i, island), recording.contacts_at(i)
            rows = rows.rows(rows.island == island)
            normals, edges = [], []
            for a, b, x, normal in zip(rows.body_a, rows.body_b, rows.point, rows.normal, strict=True):
                J = np.zeros((3, model.nv))
                for body, sign in ((a, -1.0), (b, 1.0)):
                    if body >= 0:
                        name = model.names[body]
                        J += sign * point_jacobian(model, q, name, point_in_body(model, q, name, x))
                normals.append(normal @ J[:, dofs])
                edges.append(edge_directions(normal, recording.stepper.edges) @ J[:, dofs])
            M, ours = mass_matrix(model, q), recording.problem(i, island)
            Mv = M @ v - recording.h[i] * nonlinear_effects(model, q, v)
            other = ConstraintVelProblemData(
                M=M[np.ix_(dofs, dofs)], Mv=Mv[dofs], N=np.array(normals), F=np.concatenate(edges),
                mu=rows.mu, r=[recording.stepper.edges // 2] * len(rows), kN=ours.kN,
            ).blocks()  # fmt: skip
            for field in ("J", "Y"):
                scale = max(1.0, np.abs(getattr(other, field)).max())
                np.testing.assert_allclose(getattr(ours.blocks(), field), getattr(other, field), atol=1e-10 * scale)


def test_links_of_one_tree_touch(recordings):
    """A contact within a tree moves its joints and leaves the momentum of the whole alone."""
    recording = recordings["tree that folds"]
    assert set(recording.contacts.body_a) == {0}
    assert set(recording.contacts.body_b) == {2}
    assert recording.contacts.impulse_normal.max() > 0.01
    model, changed = recording.world.model, 0.0
    for i in np.unique(recording.contacts.step):
        before = momentum(model, recording.q[i], recording.v[i])
        after = momentum(model, recording.q[i], recording.v[i + 1])
        # At one configuration: the difference is the step of the bias forces, the same without contacts.
        M, h = mass_matrix(model, recording.q[i]), recording.h[i]
        v_free = recording.v[i] - h * np.linalg.solve(M, nonlinear_effects(model, recording.q[i], recording.v[i]))
        np.testing.assert_allclose(after, momentum(model, recording.q[i], v_free), atol=1e-12)
        changed = max(changed, np.abs(recording.v[i + 1] - v_free).max(), np.abs(after - before).max())
    assert changed > 0.1


def test_a_collision_in_space_keeps_both_momenta():
    """Linear and angular momentum of two free bodies, to rounding, in every step of an impact with friction."""
    recording = simulate(collision_in_space(), TimeStepping(1e-3), 0.3)
    assert recording.contacts.impulse_normal.max() > 0.5
    model = recording.world.model
    both = np.array([momentum(model, q, v) for q, v in zip(recording.q, recording.v, strict=True)])
    assert np.abs(np.diff(both, axis=0)).max() <= 1e-12
    assert np.abs(np.diff(recording.v, axis=0)).max() > 0.5


def test_action_is_reaction():
    """The forces on two bodies that touch only each other are opposite; of a stack, each carries what is above."""
    recording = simulate(collision_in_space(), TimeStepping(1e-3), 0.3)
    assert np.array_equal(recording.force_on("left"), -recording.force_on("right"))
    pile = simulate(stack(3), TimeStepping(1e-3), 0.05)
    for i in range(3):
        assert pile.force_on(f"cube {i}")[-1] == pytest.approx([0.0, 0.0, G], abs=1e-9)
    rows = pile.contacts_at(pile.n_steps - 1)
    for a, weight in ((-1, 3 * G), (0, 2 * G), (1, G)):
        assert rows.impulse[rows.body_a == a].sum(axis=0) / pile.h[-1] == pytest.approx([0, 0, weight], abs=1e-9)


@pytest.mark.parametrize(("count", "seed"), [(6, 0), (15, 2)])
def test_a_heap_of_every_shape_settles(count, seed):
    """Every problem solved, no body through another, energy accounted for and nearly all of it gone."""
    stepper = TimeStepping(2e-3, edges=4, reduce_contacts=True)
    recording = simulate(heap(count, seed), stepper, 1.5)
    assert recording.worst_certificate().scaled <= 1e-9
    assert recording.worst_certificate().mechanical <= 1e-9
    # The smallest body is 0.1 m thick; a linearised step of a turning one errs by millimetres.
    assert recording.contacts.gap.min() > -1e-2
    assert recording.kinetic[-1] < 0.05 * recording.kinetic.max()
    scale = np.abs(recording.potential).max()
    assert np.abs(recording.ledger.residual).max() <= 1e-12 * scale
    assert recording.ledger.friction_sliding.max() <= 1e-14 * scale
    middle = 500
    rest = simulate(recording.world, stepper, steps=recording.n_steps - middle, state=recording.state(middle))
    assert np.array_equal(rest.q, recording.q[middle:])
    between = recording.contacts.rows(recording.contacts.body_a >= 0)
    kinds = {(int(a) % 5, int(b) % 5) for a, b in zip(between.body_a, between.body_b, strict=True)}
    assert len(kinds) > 4


def test_a_pair_enters_by_its_speed_of_approach():
    """At gap <= margin + h max(0, -N v): a ball never jumps over another, however fast."""
    stepper = TimeStepping(1e-2, margin=2e-3)
    world = two_balls(0.0)
    for gap, speed, enters in [
        (1.9e-3, 0.0, True),
        (2.1e-3, 0.0, False),
        (2.1e-3, 0.1, True),
        (2.1e-3, -0.1, False),
        (1.9, 190.0, True),
        (1.9, 180.0, False),
    ]:
        q, v = world.initial_q.copy(), np.zeros(12)
        q[0], v[0] = -0.2 - gap, speed
        result = step(world, stepper, world.initial_state(q=q, v=v))
        assert (len(result.contacts) == 1) is enters


def test_buffers_grow_without_a_trace(monkeypatch):
    """If buffers hold one pair, one contact of a pair and one contact in all, the loop enlarges them within a step."""
    world, stepper = stack(4), TimeStepping(1e-3)
    roomy = simulate(world, stepper, steps=20)
    monkeypatch.setattr(memory, "FIRST_CONTACTS", 1)
    monkeypatch.setattr(memory, "FIRST_ISLAND_CONTACTS", 1)
    monkeypatch.setattr(packing, "PAIRS_PER_SHAPE", 0)
    monkeypatch.setattr(packing, "CONTACTS_OF_A_PAIR", 1)
    assert same(roomy, simulate(world, stepper, steps=20, chunk_steps=3))


SCENES_VERIFIED = {
    "stack": lambda: stack(3),
    "ball on a box": ball_on_a_moving_box,
    "pendulum": pendulum_and_box,
    "collision": collision_in_space,
    "heap": lambda: heap(5, 1),
}


@pytest.mark.parametrize("name", SCENES_VERIFIED)
def test_bodies_in_contact_hold(name):
    """Rows between two bodies, formed a second time, carry the recorded forces."""
    recording = simulate(SCENES_VERIFIED[name](), TimeStepping(0.01, edges=4), steps=60)
    assert np.any(recording.contacts.body_a >= 0)
    report = verify(recording, every=3)
    assert report.holds, str(report)
