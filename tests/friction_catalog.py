"""Named small friction problems with known solutions; the tests give each of them to every friction solver."""

import math
from dataclasses import dataclass

import numpy as np

from lcp import FrictionProblem, Status
from lcp.arrays import Vector
from lcp.catalog import NamedProblem


@dataclass(frozen=True, eq=False)
class FrictionEntry(NamedProblem[FrictionProblem]):
    """Named problem; the source is the reference of its solution."""

    u: Vector | None  # velocity of every solution, None if there is no solution
    r: Vector | None  # forces, if they are unique
    outcome: Status = Status.SOLVED  # status if a solution exists, otherwise the true statement about the problem


def sliding(W: Vector, mu: float, angle: float, normal: float, speed: float) -> tuple[Vector, Vector, Vector]:
    """Return (q, r, u) of one contact that slides at ``speed`` along ``angle`` under the normal force ``normal``."""
    t = np.array([math.cos(angle), math.sin(angle)])
    r = np.array([normal, *(-mu * normal * t)])
    u = np.array([0.0, *(speed * t)])
    return u - W @ r, r, u


def block_on_plane(mu: float, push: tuple[float, float]) -> FrictionProblem:
    """Return a square block of unit mass on its four corners, pushed by ``push``: W of rank 6 in 12 unknowns."""
    corners = [(0.5, 0.5), (0.5, -0.5), (-0.5, 0.5), (-0.5, -0.5)]
    inertia = np.diag([1.0, 1.0, 1.0, 1.0 / 6.0, 1.0 / 6.0, 1.0 / 6.0])
    rows = []
    for x, y in corners:
        arm = np.array([x, y, -0.5])
        for axis in ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)):
            direction = np.array(axis)
            rows.append(np.concatenate([direction, np.cross(arm, direction)]))
    J = np.array(rows)
    free = np.array([push[0], push[1], -1.0, 0.0, 0.0, 0.0])
    return FrictionProblem(J @ np.linalg.solve(inertia, J.T), J @ free, np.full(4, mu))


def entries() -> tuple[FrictionEntry, ...]:
    """Return all problems, newly built."""
    spd = np.array([[2.0, 0.3, -0.2], [0.3, 3.0, 0.5], [-0.2, 0.5, 1.0]])
    skewed = np.array([[2.0, 0.7, -0.2], [0.1, 3.0, 0.5], [0.3, -0.4, 1.0]])
    listed = [
        FrictionEntry("open", "q_N > 0: no force", FrictionProblem(spd, [1.0, 5.0, -3.0], [0.5]),
                      np.array([1.0, 5.0, -3.0]), np.zeros(3)),
        FrictionEntry("stick", "r = -q within the cone", FrictionProblem(np.eye(3), [-1.0, 0.3, -0.2], [0.5]),
                      np.zeros(3), np.array([1.0, -0.3, 0.2])),
        FrictionEntry("slide", "W = 1: u_T = q_T - mu r_N q_T / |q_T|",
                      FrictionProblem(np.eye(3), [-1.0, 3.0, -4.0], [0.5]), np.array([0.0, 2.7, -3.6]),
                      np.array([1.0, -0.3, 0.4])),
        FrictionEntry("edge_of_slip", "|q_T| = mu |q_N|: sticks with no reserve",
                      FrictionProblem(np.eye(3), [-1.0, 0.3, 0.4], [0.5]), np.zeros(3), np.array([1.0, -0.3, -0.4])),
        FrictionEntry("touching", "q_N = 0: neither force nor gap", FrictionProblem(spd, [0.0, 1.0, 2.0], [0.5]),
                      np.array([0.0, 1.0, 2.0]), np.zeros(3)),
        FrictionEntry("frictionless", "mu = 0: u_T is free",
                      FrictionProblem(spd, [-2.0, 1.0, 1.0], [0.0]), np.array([0.0, 1.3, 0.8]),
                      np.array([1.0, 0.0, 0.0])),
        FrictionEntry("planar_slide", "two components",
                      FrictionProblem([[2.0, 0.5], [0.5, 1.0]], [-2.0, 3.0], [0.5], 2),
                      np.array([0.0, 3.0]), np.array([2.0 / 1.75, -1.0 / 1.75])),
        FrictionEntry("normals_alone", "one component each: a linear complementarity problem",
                      FrictionProblem([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0], [0.0, 0.0], 1), np.zeros(2),
                      np.array([4.0 / 3.0, 7.0 / 3.0])),
        FrictionEntry("mixed_dimensions", "a limit, a planar and a spatial contact, uncoupled",
                      FrictionProblem(np.eye(6), [-2.0, -1.0, 2.0, -1.0, 0.3, 0.0], [0.0, 0.5, 0.5], (1, 2, 3)),
                      np.array([0.0, 0.0, 1.5, 0.0, 0.0, 0.0]), np.array([2.0, 1.0, -0.5, 1.0, -0.3, 0.0])),
        FrictionEntry("nothing_moves", "q = 0", FrictionProblem(spd, np.zeros(3), [0.5]), np.zeros(3), np.zeros(3)),
        FrictionEntry("no_contact", "m = 0", FrictionProblem(np.zeros((0, 0)), (), ()), np.zeros(0), np.zeros(0)),
    ]  # fmt: skip
    for name, W, angle in (("slide_coupled", spd, 0.4), ("slide_backwards", spd, 2.9), ("not_symmetric", skewed, -2.0)):
        q, r, u = sliding(W, 0.4, angle, 1.5, 0.7)
        listed.append(FrictionEntry(name, "made from its answer", FrictionProblem(W, q, [0.4]), u, r))
    q, r, u = sliding(spd, 0.4, 1.0, 2.0, 0.3)
    twice = np.tile(np.eye(3), (2, 1))
    listed.append(
        FrictionEntry("contact_written_twice", "rank 3 of 6; the load is shared in any way",
                      FrictionProblem(twice @ spd @ twice.T, twice @ q, [0.4, 0.4]), twice @ u, None)
    )  # fmt: skip
    # Tangential speed at the corners of a block pushed along its diagonal, after friction 0.3 on a normal impulse of 1.
    left = (2.0 - 0.3) / math.sqrt(2.0)
    moved = np.tile([0.0, left, left], 4)
    listed += [
        FrictionEntry("block_sticks", "pushed within the cone: it stays", block_on_plane(0.5, (0.2, 0.1)),
                      np.zeros(12), None),
        FrictionEntry("block_slides", "all corners slide alike: v_T = (|push| - mu g) push / |push|",
                      block_on_plane(0.3, (math.sqrt(2.0), math.sqrt(2.0))), moved, None),
        FrictionEntry("no_give", "W = 0 under load: no force brings u_N to 0",
                      FrictionProblem(np.zeros((3, 3)), [-1.0, 0.0, 0.0], [0.5]), None, None, Status.INFEASIBLE),
    ]  # fmt: skip
    return tuple(listed)
