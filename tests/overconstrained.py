"""Random mechanisms with redundant loops, closed exactly, and every way to their motion beside dense numpy.

The reference knows the rank rule by singular values alone: rows divided by the sizes of their terms, computed here from
the bodies' Jacobians, singular values below 1e-8 of the largest none.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from contactlab import ConstraintSolver
from contactlab import multibody as mb
from contactlab.constraint_solver import Stabilisation, problem_data_from
from contactlab.multibody.constraints import (
    ConstraintSet,
    LoopConstraint,
    assemble_q,
    assemble_v,
    constraint_impulses,
    forward_dynamics_constraints,
    inverse_dynamics_constraints,
)
from contactlab.multibody.joints import FloatingBase, Prismatic, Revolute, Spherical
from contactlab.simulation import Model, RigidInertia, TimeStepping, Transform, WorldBuilder, simulate
from problem_data import ConstraintVelProblemData

H = 0.01
GRAVITY = (0.0, 0.0, -9.81)
Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Mechanism:
    """A model at q and v, on its loops."""

    name: str
    model: Model
    q: Array
    v: Array
    loops: tuple[LoopConstraint, ...]


def turned(rng: np.random.Generator) -> Transform:
    """Return a frame rotated and moved at random."""
    axis = rng.normal(size=3)
    return Transform.rotation(axis / np.linalg.norm(axis), rng.uniform(0.0, 3.1)) @ Transform(p=rng.normal(size=3))


def bar(rng: np.random.Generator, length: float) -> RigidInertia:
    """A bar of a mass from a gram to a ton."""
    mass = 10.0 ** rng.uniform(-3.0, 3.0)
    size = mass * length**2 / 12.0
    return RigidInertia(mass, (length / 2.0, 0.0, 0.0), np.diag([0.1 * size, size, size]))


def closed(
    model: Model, q: Array, ends: list[tuple[str, Transform, str]], axes: list[Array]
) -> tuple[LoopConstraint, ...]:
    """Loops between frames of successors and what of the predecessors is there at q, along axes (k, 6) each."""
    kin = mb.kinematics(model, q)
    loops = []
    for (successor, X_s, predecessor), rows in zip(ends, axes, strict=True):
        there = mb.body_pose(model, kin, successor) @ X_s
        own = Transform() if predecessor == "world" else mb.body_pose(model, kin, predecessor)
        X_p = own.inverse() @ there
        loops += [LoopConstraint(predecessor, successor, X_p, X_s, row) for row in rows]
    return tuple(loops)


def mixed(rng: np.random.Generator, rows: Array) -> Array:
    """The same rows turned into each other, with some of them again, in units from 1e-6 to 1e6."""
    rotations = np.linalg.qr(rng.normal(size=(len(rows), len(rows))))[0]
    rows = rotations @ rows if rng.random() < 0.5 else rows
    again = rows[rng.integers(len(rows), size=rng.integers(0, 3))]
    rows = np.vstack([rows, again])
    units = 10.0 ** rng.uniform(-6.0, 6.0, size=len(rows)) if rng.random() < 0.5 else np.ones(len(rows))
    return rows * units[:, None]


def subset(rng: np.random.Generator, least: tuple[int, ...], more: tuple[int, ...]) -> Array:
    """Unit rows: the least that are needed, and some of those that ask for nothing else."""
    extra = [row for row in more if rng.random() < 0.7]
    return np.eye(6)[list(least) + extra]


def planar(
    rng: np.random.Generator, base: Transform, n: int, prefix: str, builder: Any, parent: str | None
) -> list[str]:
    """Bodies of an open planar chain about the y axes of ``base``, one of them perhaps sliding."""
    names = []
    slides = rng.integers(n) if rng.random() < 0.3 else -1
    for i in range(n):
        length = rng.uniform(0.2, 1.0)
        joint = Prismatic((1, 0, 0)) if i == slides and i > 0 else Revolute((0, 1, 0))
        how = {} if parent is None else {"parent": parent}
        name = f"{prefix}{i}"
        builder.add_body(name, joint=joint, placement=base, inertia=bar(rng, length), **how)
        names.append(name)
        parent, base = name, Transform(p=(length, 0.0, 0.0))
    return names


def chain_in_the_plane(rng: np.random.Generator) -> Mechanism:
    """Return a planar chain of three to six bodies in a random frame, with its end hinged to the world."""
    builder = mb.ModelBuilder(gravity=GRAVITY)
    names = planar(rng, turned(rng), int(rng.integers(3, 7)), "b", builder, None)
    model = builder.build()
    q = rng.uniform(-1.5, 1.5, size=model.nq)
    # The frame of the end, which rotates about its y axis: the rows of this frame are rows of the plane.
    end = (names[-1], Transform(p=(rng.uniform(0.2, 0.8), 0.0, 0.0)), "world")
    rows = mixed(rng, subset(rng, (3, 5), (0, 2, 4)))
    return moving(rng, "planar chain", model, q, closed(model, q, [end], [rows]))


def two_loops_on_a_body(rng: np.random.Generator) -> Mechanism:
    """A free or turning body that carries two planar linkages, each closed on it, one of them also by a rod."""
    builder = mb.ModelBuilder(gravity=GRAVITY)
    joint = FloatingBase() if rng.random() < 0.5 else Spherical()
    inertia = RigidInertia(10.0 ** rng.uniform(-1, 2), (0.1, 0, 0.1), 0.3 * np.eye(3))
    builder.add_body("base", joint=joint, placement=turned(rng), inertia=inertia)
    ends, axes = [], []
    for k in range(2):
        names = planar(rng, turned(rng), int(rng.integers(3, 5)), f"l{k}_", builder, "base")
        ends.append((names[-1], Transform(p=(rng.uniform(0.2, 0.8), 0.0, 0.0)), "base"))
        axes.append(mixed(rng, subset(rng, (3, 5), (0, 2, 4))))
    model = builder.build()
    q = model.neutral.copy()
    for name in model.names:
        if name.startswith("l"):
            q[model.q_slice(name)] = rng.uniform(-1.5, 1.5)
    return moving(rng, "two loops on a body", model, q, closed(model, q, ends, axes))


def chain_in_space(rng: np.random.Generator) -> Mechanism:
    """A chain of seven or eight hinges and slides in space, its end welded to the world, rows stated again."""
    builder = mb.ModelBuilder(gravity=GRAVITY)
    how: dict[str, str] = {}
    for i in range(int(rng.integers(7, 9))):
        axis = rng.normal(size=3)
        joint = Prismatic(axis) if i and rng.random() < 0.2 else Revolute(axis)
        builder.add_body(f"b{i}", joint=joint, placement=turned(rng), inertia=bar(rng, 0.5), **how)
        how = {"parent": f"b{i}"}
    model = builder.build()
    q = rng.uniform(-1.5, 1.5, size=model.nq)
    end = (model.names[-1], turned(rng), "world")
    return moving(rng, "spatial chain", model, q, closed(model, q, [end], [mixed(rng, np.eye(6))]))


def along_its_own_hinge(rng: np.random.Generator) -> Mechanism:
    """A double pendulum with rows that none of its motions changes, and perhaps one that it does."""
    builder = mb.ModelBuilder(gravity=GRAVITY)
    builder.add_body("one", joint=Revolute((0, 1, 0)), placement=turned(rng), inertia=bar(rng, 0.4))
    builder.add_body(
        "two", parent="one", joint=Revolute((0, 1, 0)), placement=Transform(p=(0.4, 0, 0)), inertia=bar(rng, 0.5)
    )
    model = builder.build()
    q = rng.uniform(-1.5, 1.5, size=2)
    rows = subset(rng, (4,), (0, 2)) if rng.random() < 0.5 else subset(rng, (3,), (0, 2, 4))
    end = ("two", Transform(p=(0.3, 0, 0)), "world")
    return moving(rng, "along its own hinge", model, q, closed(model, q, [end], [mixed(rng, rows)]))


def parallel_links(rng: np.random.Generator) -> Mechanism:
    """Return a parallelogram with one to three redundant links, in a random frame."""
    builder = mb.ModelBuilder(gravity=GRAVITY)
    base, arm, hinge = turned(rng), rng.uniform(0.2, 0.6), Revolute((0, 1, 0))
    places = [0.0, *np.sort(rng.uniform(0.3, 1.5, size=rng.integers(2, 5)))]
    for k, x in enumerate(places):
        builder.add_body(f"crank{k}", joint=hinge, placement=base @ Transform(p=(x, 0, 0)), inertia=bar(rng, arm))
    tip = Transform(p=(arm, 0, 0))
    builder.add_body("coupler", parent="crank0", joint=hinge, placement=tip, inertia=bar(rng, 1.0))
    model = builder.build()
    angle = rng.uniform(0.3, 2.8)
    q = np.array([angle] * len(places) + [-angle])
    if model.names[-1] != "coupler":
        q = np.array([-angle if name == "coupler" else angle for name in model.names])
    ends = [("coupler", Transform(p=(x, 0, 0)), f"crank{k}") for k, x in enumerate(places) if k]
    axes = [mixed(rng, subset(rng, (3, 5), (0, 2, 4))) for _ in ends]
    return moving(rng, "parallel links", model, q, closed(model, q, ends, axes))


def bennett(rng: np.random.Generator) -> Mechanism:
    """Bennett's linkage: four hinges in space that move although six rows of one degree less should hold them."""
    a, twist, b = rng.uniform(0.3, 0.6), rng.uniform(0.4, 0.8), rng.uniform(0.6, 0.9)
    other = np.arcsin(b * np.sin(twist) / a) if b * np.sin(twist) < a else np.arcsin(0.9)
    b = a * np.sin(other) / np.sin(twist)
    base = turned(rng)

    def link(length: float, angle: float) -> Transform:
        return Transform(p=(length, 0, 0)) @ Transform.rotation((1, 0, 0), angle)

    builder, hinge = mb.ModelBuilder(gravity=GRAVITY), Revolute((0, 0, 1))
    builder.add_body("one", joint=hinge, placement=base, inertia=bar(rng, a))
    builder.add_body("two", parent="one", joint=hinge, placement=link(a, twist), inertia=bar(rng, b))
    builder.add_body("three", parent="two", joint=hinge, placement=link(b, other), inertia=bar(rng, a))
    model = builder.build()
    last = base @ link(b, other).inverse()
    rows = np.eye(6)[[0, 1, 3, 4, 5]]
    loops = tuple(LoopConstraint("world", "three", last, link(a, twist), row) for row in rows)
    cs = ConstraintSet(model, list(loops))
    for _ in range(40):
        found = assemble_q(model, rng.uniform(-2.0, 2.0, size=3), cs, np.zeros(3))
        if found.converged and np.linalg.matrix_rank(dense(model, found.q, loops)[0], 1e-8) == 2:
            turned_rows = mixed(rng, rows)
            # An error of X_s: rows that turn with the end see the same closure.
            loops = tuple(LoopConstraint("world", "three", last, link(a, twist), row) for row in turned_rows)
            return moving(rng, "Bennett", model, np.array(found.q), loops)
    return parallel_links(rng)


KINDS: tuple[Callable[[np.random.Generator], Mechanism], ...] = (
    chain_in_the_plane,
    two_loops_on_a_body,
    chain_in_space,
    along_its_own_hinge,
    parallel_links,
    bennett,
)


def dense(model: Model, q: Array, loops: tuple[LoopConstraint, ...]) -> tuple[Array, Array]:
    """Rows G (n, nv) and the sizes (n,) of their terms, from the bodies' Jacobians."""
    kin = mb.kinematics(model, q)
    origins = np.array([mb.body_pose(model, kin, name).p for name in model.names])
    G, sizes = np.zeros((len(loops), model.nv)), np.zeros(len(loops))
    for i, loop in enumerate(loops):
        ends = []
        for body, X in ((loop.predecessor, loop.X_p), (loop.successor, loop.X_s)):
            if body == "world":
                ends.append((X.R, X.p, np.zeros((6, model.nv))))
            else:
                pose = mb.body_pose(model, kin, body) @ X
                ends.append((pose.R, pose.p, mb.point_jacobian_6d(model, kin, body, X.p)))
        (R, x, J_p), (_, _, J_s) = ends
        w, t = R @ loop.axis[:3], R @ loop.axis[3:]
        G[i] = w @ (J_s[:3] - J_p[:3]) + t @ (J_s[3:] - J_p[3:])
        reach = np.linalg.norm(origins - x, axis=1).max()
        turns, moves = (
            np.linalg.norm(J_s[k], axis=0) + np.linalg.norm(J_p[k], axis=0) for k in (slice(3), slice(3, 6))
        )
        lengths = np.linalg.norm(loop.axis[:3]), np.linalg.norm(loop.axis[3:])
        sizes[i] = ((lengths[0] + lengths[1] * reach) * turns + lengths[1] * moves).max()
    return G, np.where(sizes > 0.0, sizes, 1.0)


def row_basis(G: Array, sizes: Array) -> tuple[Array, Array]:
    """Orthonormal rows (r, nv) that span the rows by the rank rule, and a basis (nv, nv - r) of the free motions."""
    _, s, V = np.linalg.svd(G / sizes[:, None])
    rank = int((s > 1e-8 * max(1.0, s.max(initial=0.0))).sum())
    return V[:rank], V[rank:].T


def clear(G: Array, sizes: Array) -> bool:
    """Whether the rank leaves no doubt: no singular value near the bound, and none so small that digits are lost."""
    s = np.linalg.svd(G / sizes[:, None], compute_uv=False)
    return not ((s > 1e-12) & (s < 1e-3)).any()


def moving(rng: np.random.Generator, name: str, model: Model, q: Array, loops: tuple[LoopConstraint, ...]) -> Mechanism:
    """The mechanism at a random velocity that its loops allow."""
    free = row_basis(*dense(model, q, loops))[1]
    v = free @ rng.normal(size=free.shape[1])
    return Mechanism(name, model, q, v, loops)


def mechanism(seed: int) -> Mechanism:
    """A mechanism whose rank leaves no doubt, of the kind of the seed."""
    rng = np.random.default_rng(seed)
    while True:
        found = KINDS[seed % len(KINDS)](rng)
        if clear(*dense(found.model, found.q, found.loops)):
            return found


def free_projection(M: Array, Z: Array, x: Array) -> Array:
    """Return the vector of the form Z y with the image M x: the part of a motion x that the constraints admit."""
    if Z.shape[1] == 0:
        return np.zeros(len(M))
    scale = 1.0 / np.sqrt(np.diag(Z.T @ M @ Z))
    A = (Z * scale).T @ M @ (Z * scale)
    return (Z * scale) @ np.linalg.solve(A, (Z * scale).T @ (M @ x))


def bias(one: Mechanism, Z: Array) -> Array:
    """dG/dt v of the free motion along v: the acceleration (nv,) that the rows ask for, the shortest one."""
    step = 1e-4
    weights = ((1, 8.0), (-1, -8.0), (2, -1.0), (-2, 1.0))
    rate = sum(
        weight * dense(one.model, mb.integrate(one.model, one.q, one.v, place * step), one.loops)[0]
        for place, weight in weights
    )
    G, sizes = dense(one.model, one.q, one.loops)
    gamma = -(rate / (12.0 * step)) @ one.v / sizes
    rows = row_basis(G, sizes)[0]
    return rows.T @ np.linalg.lstsq(G / sizes[:, None] @ rows.T, gamma, rcond=None)[0]


Pair = tuple[Array, Array]
#: The way that compares the two drivers with each other, not with the reference.
DRIVERS = "simulate beside ConstraintSolver"


def ways(one: Mechanism) -> dict[str, Callable[[], Pair]]:
    """Return every method for the motion of a mechanism by its name, with its result and the right one."""
    model, q, v, nv = one.model, one.q, one.v, one.model.nv
    cs = ConstraintSet(model, list(one.loops))
    G, sizes = dense(model, q, one.loops)
    rows, Z = row_basis(G, sizes)
    M, C = mb.mass_matrix(model, q), mb.nonlinear_effects(model, q, v)
    a_free = np.linalg.solve(M, -C)
    step = free_projection(M, Z, v + H * a_free)
    along = bias(one, Z)
    wanted = along + free_projection(M, Z, a_free - along)
    solver, rng = ConstraintSolver(), np.random.default_rng(0)
    free = rng.normal(size=nv)
    raw = rng.normal(size=(len(rows) + 3, len(rows))) @ rows if len(rows) else np.zeros((3, nv))
    units = 10.0 ** rng.uniform(-6.0, 6.0, size=len(raw))

    def stepped(erp: float) -> Any:
        how = {"loops": Stabilisation(erp=erp)}
        data = problem_data_from(model, q, v, loops=cs, h=H, stabilisation=how).velocity
        return solver.solve_discretized_problem(data, H)

    def simulated(beside: Array) -> Pair:
        world = WorldBuilder(gravity=GRAVITY)
        world.add_model(model, q=q, v=v)
        for loop in one.loops:
            world.add_loop(loop)
        built = world.build()
        # A world has its bodies in another order.
        order = np.concatenate([np.arange(nv)[model.v_slice(name)] for name in built.model.names])
        return simulate(built, TimeStepping(h=H), duration=H).v[-1], beside[order]

    def forces() -> Pair:
        lengths = np.array([np.linalg.norm(loop.axis) for loop in one.loops])
        if np.ptp(lengths) > 1e-9:
            return np.zeros(1), np.zeros(1)  # of minimum norm in units that hide all others' digits
        # Of minimum norm along the rows as the rule reads them, in units of their size.
        clean = G @ rows.T @ rows
        shortest = np.linalg.pinv(clean.T, rcond=1e-7) @ (M @ (step - v - H * a_free)) / H
        found = stepped(0.0).forces.fG
        size = 1.0 + np.abs(shortest).max(initial=0.0)
        return found / size, shortest / size

    def raw_step(given: Array) -> Pair:
        data = ConstraintVelProblemData(M=M, Mv=M @ (v + H * a_free), G=given)
        return solver.solve_discretized_problem(data, H).v_plus, step

    def dynamics(**how: Any) -> Pair:
        return forward_dynamics_constraints(model, q, v, np.zeros(nv), cs, **how).a, wanted

    impact = problem_data_from(model, q, v, loops=cs)
    drives = np.ones(nv, dtype=bool)
    return {
        "step": lambda: (stepped(0.0).v_plus, step),
        "step, erp 0.2": lambda: (stepped(0.2).v_plus, step),
        "forces of a step": forces,
        "simulate": lambda: simulated(step),
        DRIVERS: lambda: simulated(stepped(0.0).v_plus),
        "impact": lambda: (solver.solve_impact_problem(impact.velocity).v_plus, free_projection(M, Z, v)),
        "acceleration": lambda: (solver.solve_constraint_problem(impact.acceleration).acceleration, wanted),
        "forward dynamics, direct": lambda: dynamics(method="direct"),
        "forward dynamics, range space": lambda: dynamics(method="range_space_sparse"),
        "forward dynamics, null space": lambda: dynamics(method="null_space"),
        "forward dynamics, svd": lambda: dynamics(linear_solver="svd"),
        "impulses": lambda: (constraint_impulses(model, q, free, cs).v_after, free_projection(M, Z, free)),
        "inverse dynamics": lambda: (
            inverse_dynamics_constraints(model, q, v, free, cs, drives).a,
            along + Z @ (Z.T @ (free - along)),
        ),
        "assembly of velocities": lambda: (assemble_v(model, q, free, cs, np.ones(nv)).v, Z @ (Z.T @ free)),
        "assembly of positions": lambda: (np.array(assemble_q(model, q, cs, np.ones(nv)).q), q),
        "raw rows": lambda: raw_step(raw),
        "raw rows, in other units": lambda: raw_step(units[:, None] * raw),
    }


def is_right(found: Array, wanted: Array) -> bool:
    """Whether a motion is the wanted one, to 1e-6 of its size."""
    return bool(np.allclose(found, wanted, rtol=0.0, atol=1e-6 * (1.0 + np.abs(wanted).max(initial=0.0))))
