"""The contact table, contact entry, warm starts and islands."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import simulation_scenes as scenes

from contactlab.contact import Box, HalfSpace, Material, tangent_frame
from contactlab.multibody import ModelBuilder, RigidInertia
from contactlab.multibody.joints import Fixed, FloatingBase, Revolute, Spherical
from contactlab.simulation import OPEN, SLIDE, STICK, TimeStepping, WorldBuilder, simulate, verify
from contactlab.stepping import world_arrays
from contactlab.stepping.memory import new_work


def random_trees(random):
    """Up to eight bodies: free, hanging on one another in any order, or fixed to the world."""
    model, names = ModelBuilder(), []
    for i in range(int(random.integers(1, 9))):
        parent = str(random.choice(["world", *names]))
        joint = (FloatingBase(), Revolute((1, 0, 0)), Fixed(), Spherical())[random.integers(4)]
        model.add_body(f"body {i}", parent=parent, joint=joint, inertia=RigidInertia.solid_sphere(1.0, 0.1))
        names.append(f"body {i}")
    builder = WorldBuilder()
    builder.add_model(model.build())
    return builder.build()


@pytest.fixture(scope="module")
def tumble():
    return simulate(scenes.tumble(), TimeStepping(1e-3), 1.0)


def test_rows_are_in_the_order_of_body_half_space_and_point(tumble):
    """And the numbers of contacts ascend with them."""
    for i in range(0, tumble.n_steps, 10):
        rows = tumble.contacts_at(i)
        keys = list(zip(rows.body_b, rows.half_space, rows.id, strict=True))
        assert keys == sorted(set(keys))
        assert np.all(np.diff(rows.id) > 0)
        assert np.all(rows.body_a == -1)
        # One body per island here, numbered by body.
        assert np.array_equal(rows.island, np.unique(rows.body_b, return_inverse=True)[1])


def test_momentum_balances(tumble):
    """Impulses on a body are the change of its momentum beyond gravity's: nothing else acts."""
    model = tumble.world.model
    h = tumble.stepper.h
    for i in range(0, tumble.n_steps, 5):
        rows = tumble.contacts_at(i)
        com_before = _com_momentum(tumble, i)
        com_after = _com_momentum(tumble, i, after=True)
        for b in range(model.nb):
            total = rows.impulse[rows.body_b == b].sum(axis=0) + h * model.bodies[b].inertia.mass * model.gravity
            if not np.allclose(model.bodies[b].inertia.com, 0):
                continue  # the com's momentum at q+ is not the one at q: checked where they agree
            np.testing.assert_allclose(com_after[b] - com_before[b], total, atol=1e-12)


def _com_momentum(recording, i, after=False):
    v = recording.v[i + 1 if after else i].reshape(-1, 6)
    mass = np.array([body.inertia.mass for body in recording.world.model.bodies])
    return mass[:, None] * v[:, :3]


def test_impulses_agree_with_their_parts(tumble):
    """World vector = normal part + tangential parts, within the cone."""
    rows = tumble.contacts
    for n in np.unique(rows.normal, axis=0):
        t1, t2 = tangent_frame(n)
        mask = np.all(rows.normal == n, axis=1)
        chosen = rows.rows(mask)
        rebuilt = chosen.impulse_normal[:, None] * n + chosen.impulse_tangential @ np.array([t1, t2])
        np.testing.assert_allclose(rebuilt, chosen.impulse, atol=1e-14)
        size = np.linalg.norm(chosen.impulse_tangential, axis=1)
        assert np.all(size <= chosen.mu * chosen.impulse_normal * (1 + 1e-9) + 1e-14)


def test_modes(tumble):
    """Open without impulse, stick without slip, slide on the pyramid's boundary."""
    rows = tumble.contacts
    assert np.all(rows.impulse_normal[rows.mode == OPEN] == 0)
    assert np.all(rows.impulse_normal[rows.mode != OPEN] > 0)
    assert rows.slip[rows.mode == STICK].max() < 1e-7
    sliding = rows.rows(rows.mode == SLIDE)
    ratio = np.linalg.norm(sliding.impulse_tangential, axis=1) / (sliding.mu * sliding.impulse_normal)
    assert ratio.min() > np.cos(np.pi / 8) - 1e-9
    # Friction opposes the slip: no energy comes from it.
    assert len(sliding) > 10


def test_no_penetration_grows(tumble):
    """Gaps stay above the error of one linearised step."""
    assert tumble.contacts.gap.min() > -1e-4


def test_margin_decides_who_takes_part():
    """A contact enters at gap <= margin + h max(0, -N v)."""
    stepper = TimeStepping(1e-2, margin=2e-3)
    for gap, speed, enters in [(1.9e-3, 0.0, True), (2.1e-3, 0.0, False), (2.1e-3, -0.1, True), (2.1e-3, 0.1, False)]:
        world = scenes.dropped_ball(gap)
        result = stepper.step(world, world.initial_state(v=(0, 0, speed, 0, 0, 0)))
        assert (len(result.contacts) == 1) is enters


def test_a_gap_is_closed_not_crossed():
    """A slow contact may close its gap within the step: it ends on the surface."""
    world = scenes.dropped_ball(1e-4)
    result = TimeStepping(1e-2).step(world, world.initial_state())
    assert result.state.q[2] == pytest.approx(0.1, abs=1e-15)
    assert result.contacts.mode[0] == STICK


def test_stabilisation_is_asked_for():
    """A penetration stays with erp = 0 and goes by the fraction erp per step otherwise, without projection."""
    sunk = scenes.dropped_ball(-1e-3)
    for erp, left in [(0.0, -1e-3), (0.25, -0.75e-3), (1.0, 0.0)]:
        result = TimeStepping(1e-2, erp=erp, projection=False).step(sunk, sunk.initial_state())
        assert result.state.q[2] - 0.1 == pytest.approx(left, abs=1e-12)


def test_warm_start_maps_contacts_by_number(tumble):
    """z0 of a step is the previous step's z of the same contacts, 0 for new ones, None if none was there."""
    r = 4
    seen_new = seen_none = 0
    for i in range(1, tumble.n_steps, 3):
        before = tumble.contacts_at(i - 1)
        rows = tumble.contacts_at(i)
        for j in range(tumble.islands[i]):
            own = rows.island == j
            z0 = tumble.warm_start(i, j)
            old = [np.flatnonzero(before.id == number) for number in rows.id[own]]
            if not any(len(found) for found in old):
                assert z0 is None
                seen_none += 1
                continue
            first = np.searchsorted(tumble.contacts.step, i - 1)
            nc = int(own.sum())
            table = np.zeros((nc, 2 + 2 * r))
            for c, found in enumerate(old):
                if len(found):
                    table[c] = tumble.rows["contact_z"][first + found[0]]
                else:
                    seen_new += 1
            assert np.array_equal(z0[:nc], table[:, 0])
            assert np.array_equal(z0[nc : nc + nc * r].reshape(nc, r), table[:, 1 : 1 + r])
            assert np.array_equal(z0[-nc:], table[:, -1])
    assert seen_new
    assert seen_none


@pytest.mark.nojit
def test_islands_join_trees_and_not_through_the_world():
    """Against sets joined by hand, over graphs of a few random trees."""
    from contactlab.stepping.kernels.detection import label_islands
    from contactlab.stepping.kernels.layout import BODY_A, BODY_B

    random = np.random.default_rng(5)
    for _ in range(60):
        world = random_trees(random)
        tree, starts = world.body_trees, world.tree_starts
        movers = np.flatnonzero(tree >= 0)
        if not movers.size:
            continue
        work = new_work(world, 10, 4)
        pairs = []
        for _ in range(int(random.integers(0, 10))):
            a, b = int(random.integers(-1, tree.size)), int(random.choice(movers))
            pairs.append((a, b))
            work.contact_int[len(pairs) - 1, [BODY_A, BODY_B]] = a, b
        ends = [tuple(int(tree[body]) if body >= 0 else -1 for body in pair) for pair in pairs]
        sets = [{one} for one in {one for pair in ends for one in pair if one >= 0}]
        for a, b in ends:
            if a >= 0:
                joined = [s for s in sets if a in s or b in s]
                sets = [s for s in sets if s not in joined] + [set(itertools.chain(*joined))]
        expected = sorted(sorted(s) for s in sets)

        count = label_islands(world_arrays(world).packed, work, None, len(pairs))
        found = [work.island_trees[work.tree_start[i] : work.tree_start[i + 1]].tolist() for i in range(count)]
        assert found == expected
        for i, trees in enumerate(found):
            sizes = [int(starts[k + 1] - starts[k]) for k in trees]
            assert [int(work.tree_offset[k]) for k in trees] == [sum(sizes[:n]) for n in range(len(sizes))]
            assert work.island_nv[i] == sum(sizes)
            contacts = work.island_contacts[work.contact_start[i] : work.contact_start[i + 1]].tolist()
            assert contacts == [c for c, (_, b) in enumerate(ends) if b in trees]


def test_what_rests_on_one_another_sticks():
    """Bodies that would fall together have no speed apart: slip that is rounding is none; what slides still does."""
    builder, wood = WorldBuilder(), Material(0.5)
    builder.add_half_space("floor", HalfSpace(), wood)
    for i in range(3):
        box = RigidInertia.solid_box(1.0, (0.1, 0.1, 0.1))
        v = (0.3, 0, 0, 0, 0, 0) if i == 2 else None
        builder.add_free_body(f"box {i}", box, Box.cube(0.1), wood, q=(0, 0, 0.1 + 0.2 * i, 1, 0, 0, 0), v=v)
    recording = simulate(builder.build(), TimeStepping(5e-3), steps=20)
    contacts = recording.contacts
    upper = contacts.body_b == 2
    first, last = contacts.step == 0, contacts.step == 19
    assert (contacts.mode[upper & first] == SLIDE).all()
    assert (contacts.mode[last] == STICK).all()
    assert (contacts.slip[last] < 1e-12).all()
    assert verify(recording).holds
