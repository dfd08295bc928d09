"""The attempts at an island's forces: each alone, named in the record; and the law of De Saxce's convex problems."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

import lcp
from contactlab import Choice, EqualCompliance
from contactlab.contact import Box, HalfSpace, Material, Sphere
from contactlab.simulation import SimulationConfigError, TimeStepping, World, WorldBuilder, simulate, verify
from contactlab.spatial import RigidInertia
from lcp.contacts.attempts import NAMES, bits_of
from lcp.contacts.kernels import attempts as kernels
from lcp.contacts.kernels.associated import nearest
from lcp.contacts.kernels.contact_response import Polygon


def pile(seed: int = 0) -> World:
    """A dozen boxes and balls dropped on one another."""
    builder, material = WorldBuilder(), Material(mu=0.5)
    builder.add_half_space("floor", HalfSpace(), material)
    rng = np.random.default_rng(seed)
    for i in range(12):
        place = (*(0.05 * rng.standard_normal(2)), 0.06 + 0.11 * i)
        if i % 2:
            inertia, shape = RigidInertia.solid_sphere(0.5, 0.05), Sphere(0.05)
        else:
            inertia, shape = RigidInertia.solid_box(0.6, (0.05, 0.05, 0.05)), Box.cube(0.05)
        builder.add_free_body(f"body {i}", inertia, shape, material, q=(*place, 1, 0, 0, 0))
    return builder.build()


def test_the_table_is_that_of_the_kernels() -> None:
    assert NAMES == kernels.NAMES
    assert len(set(NAMES)) == len(NAMES) <= 8
    assert bits_of(NAMES) == kernels.EVERY
    assert bits_of(()) == 0
    page = (Path(__file__).parents[1] / "docs" / "attempts.md").read_text(encoding="utf-8")
    assert [name for name in NAMES if f"`{name}`" not in page] == []


@pytest.mark.parametrize("friction", ["pyramid", "cone"])
def test_records_name_the_attempt_that_answered(friction: str) -> None:
    recording = simulate(pile(), TimeStepping(5e-3, friction=friction), steps=60)
    answered = recording.certificates.answered()
    contacts = np.count_nonzero(recording.certificates.n_contacts)
    assert sum(answered.values()) == len(recording.certificates)
    assert answered["solver"] == len(recording.certificates) - contacts == 0
    assert verify(recording).holds


@pytest.mark.parametrize("friction", ["pyramid", "cone"])
@pytest.mark.parametrize("alone", ["shifts", "branch", "path"])
def test_one_attempt_answers_what_it_can_alone(alone: str, friction: str) -> None:
    """What is left out is not made: the record names no other."""
    stepper = TimeStepping(5e-3, friction=friction, attempts=(alone, "shifts"))
    recording = simulate(pile(), stepper, steps=40)
    answered = recording.certificates.answered()
    assert {name for name, count in answered.items() if count} <= {alone, "shifts"}
    assert verify(recording).holds
    if alone == "shifts":
        assert (recording.certificates.choice == Choice.NOT_SELECTED).all()
    elif not (alone == "path" and friction == "cone"):
        assert answered[alone] > 0


@pytest.mark.parametrize("friction", ["pyramid", "cone"])
def test_forces_not_selected_are_held_where_they_are_near(friction: str) -> None:
    """With nothing that selects, bodies at rest need no attempt but the forces of the step before."""
    stepper = TimeStepping(5e-3, friction=friction, attempts=("held", "shifts"))
    table = simulate(pile(), stepper, steps=160).certificates
    late = table.rows((table.step >= 140) & (table.n_contacts > 1))
    assert late.answered()["held"] >= 0.9 * len(late) > 0
    assert Choice.NOT_SELECTED in late.choice
    assert table.answered()["shifts"] > 0
    assert np.median(late.systems) <= 4


def test_attempts_left_out_change_no_unique_motion() -> None:
    """A single ball's forces are unique, whoever finds them."""
    builder, material = WorldBuilder(), Material(mu=0.4)
    builder.add_half_space("floor", HalfSpace(), material)
    inertia, q, v = RigidInertia.solid_sphere(0.5, 0.05), (0, 0, 0.06, 1, 0, 0, 0), (1, 0, 0, 0, 0, 3)
    builder.add_free_body("ball", inertia, Sphere(0.05), material, q=q, v=v)
    world = builder.build()
    every, some = (simulate(world, TimeStepping(5e-3, attempts=names), steps=80) for names in (NAMES, ("shifts",)))
    np.testing.assert_allclose(every.v, some.v, atol=1e-11)


def test_names_that_do_not_exist_are_refused() -> None:
    with pytest.raises(lcp.ProblemError, match="'lemke'.*held, modes"):
        EqualCompliance(attempts=("lemke",))
    with pytest.raises(SimulationConfigError, match="attempts.*'lemke'"):
        TimeStepping(1e-3, attempts=("lemke",))


def polygon(r: int, exact: bool) -> Polygon:
    angles = np.pi * np.arange(2 * r + 1) / r
    turns = np.column_stack((np.cos(angles), np.sin(angles)))
    return Polygon(r, r, np.zeros(1, dtype=np.int64), r // 2, 0.0, 1.0, turns, exact, np.zeros((1, 4)))


def nearest_point(
    law: Polygon, mu: float, weights: tuple[float, float], x: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    p, D = np.zeros(3), np.zeros((3, 3))
    nearest(law, mu, *weights, x.copy(), np.zeros(3), np.zeros(3), p, D)
    return p, D


@given(
    r=st.sampled_from([1, 2, 3, 4, 8]),
    exact=st.booleans(),
    mu=st.sampled_from([0.0, 0.1, 0.7, 2.0]),
    weight=st.sampled_from([1.0, 0.3, 4.0]),
    x=st.tuples(*[st.floats(-3.0, 3.0)] * 3),
)
def test_nearest_points_of_cones(r: int, exact: bool, mu: float, weight: float, x: tuple[float, float, float]) -> None:
    """Against nonnegative least squares over the cone's rays, in the metric of the weights."""
    exact = exact and r == 2
    law, weights, point = polygon(r, exact), (1.0, weight), np.array(x)
    if r == 1:
        point[2] = 0.0
    p, _ = nearest_point(law, mu, weights, point)
    count = 720 if exact else 2 * r
    angles = 2.0 * np.pi * np.arange(count) / count
    scale = np.array([1.0, 1.0 / np.sqrt(weight), 1.0 / np.sqrt(weight)])
    rays = np.column_stack((np.ones(count), mu * np.cos(angles), mu * np.sin(angles) * (r > 1)))
    share, distance = nnls((rays * scale).T, point * scale)
    assert np.linalg.norm((p - point) * scale) <= distance + 1e-9
    if exact:
        # Rays are some of the disc's: in the cone, and square to what is left, it is the nearest.
        assert np.hypot(p[1], p[2]) <= mu * p[0] + 1e-12
        assert abs((p - point) * scale @ (p * scale)) < 1e-12
    else:
        np.testing.assert_allclose(p, share @ rays, atol=1e-8)


@given(r=st.sampled_from([1, 2, 4]), exact=st.booleans(), seed=st.integers(0, 10_000))
def test_slopes_of_nearest_points(r: int, exact: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    law, mu, weights, x = (
        polygon(r, exact and r == 2),
        rng.uniform(0.1, 2.0),
        (1.0, rng.uniform(0.2, 5.0)),
        rng.normal(size=3),
    )
    if r == 1:
        x[2] = 0.0
    _, D = nearest_point(law, mu, weights, x)
    away = 1e-6
    for j in range(3 if r > 1 else 2):
        step = np.zeros(3)
        step[j] = away
        ahead, behind = (nearest_point(law, mu, weights, x + sign * step) for sign in (1.0, -1.0))
        if np.allclose(ahead[1], behind[1], atol=1e-3):  # no kink between
            np.testing.assert_allclose((ahead[0] - behind[0]) / (2.0 * away), D[:, j], atol=1e-4)
