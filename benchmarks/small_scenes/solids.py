"""Small scenes of bodies that move freely."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from small_scenes.draw import Draw


def numbers(*values: float) -> str:
    """Return numbers as XML text."""
    return " ".join(repr(float(value)) for value in values)


def rough(mu: float) -> str:
    """The attribute of friction."""
    return f'friction="{mu} 0.005 0.0001"'


def floor(mu: float) -> str:
    """A plane z = 0."""
    return f'<geom type="plane" size="0 0 1" {rough(mu)}/>'


def free(kind: str, size: Iterable[float], mass: float, mu: float, at: Iterable[float], more: str = "") -> str:
    """A free body of one geom; ``more`` are attributes of the body."""
    shape = f'type="{kind}" size="{numbers(*size)}"' if kind != "mesh" else f'type="mesh" mesh="{next(iter(size))}"'
    geom = f'<geom {shape} mass="{mass}" {rough(mu)}/>'
    return f'<body pos="{numbers(*at)}" {more}><freejoint/>{geom}</body>'


def scene(mu: float, *bodies: str, v: Iterable[float] = (), before: str = "") -> str:
    """Return a floor, the bodies on it, and velocities at the start."""
    moving = tuple(v)
    key = f'<key name="start" qvel="{numbers(*moving)}"/>' if moving else '<key name="start"/>'
    return f"{before}<worldbody>{floor(mu)}{''.join(bodies)}</worldbody><keyframe>{key}</keyframe>"


def tilted(angle: float, axis: str = "y") -> str:
    """Return a body rotated about an axis."""
    return f'quat="{numbers(np.cos(angle / 2), *(np.sin(angle / 2) * (axis == one) for one in "xyz"))}"'


def ball_of(points: int, radius: float) -> str:
    """Return a mesh of points on a sphere, nearly evenly distributed on a spiral."""
    k = np.arange(points) + 0.5
    z, turn = 1.0 - 2.0 * k / points, np.pi * (1.0 + 5.0**0.5) * k
    across = np.sqrt(1.0 - z * z)
    vertices = radius * np.stack([across * np.cos(turn), across * np.sin(turn), z], axis=1)
    return f'<asset><mesh name="ball" vertex="{numbers(*vertices.ravel())}"/></asset>'


def slope(d: Draw) -> str:
    """A box slides down a slope."""
    a, b, mu, angle = d.size(0.1), d.size(0.05), d.friction(0.2), 0.35
    plane = f'<geom type="plane" size="0 0 1" {tilted(angle)} {rough(mu)}/>'
    at = b * np.sin(angle), 0.0, b * np.cos(angle)
    box = free("box", (a, a, b), d.mass(1.0), mu, at, tilted(angle))
    return f"<worldbody>{plane}{box}</worldbody>"


def leaning(d: Draw) -> str:
    """Two boards lean against each other."""
    half, thin, wide, mu, angle = d.size(0.15), d.size(0.01), d.size(0.1), d.friction(0.8), min(0.6, d.near(0.35))
    up = half * np.cos(angle) + thin * np.sin(angle)
    away = half * np.sin(angle) + thin * np.cos(angle)
    boards = (
        free("box", (thin, wide, half), d.mass(0.5), mu, (-side * away, 0, up), tilted(side * angle))
        for side in (1, -1)
    )
    return scene(mu, *boards)


def rolling(kind: str) -> Callable[[Draw], str]:
    """A round body rolls, with some slip at first."""

    def build(d: Draw) -> str:
        r, half, mu, speed = d.size(0.1), d.size(0.2), d.friction(0.5), d.speed(1.0)
        size = (r,) if kind == "sphere" else (r, half)
        body = free(kind, size, d.mass(1.0), mu, (0, 0, r), tilted(np.pi / 2, "x"))
        # About its axis z, which points along -y of the world.
        return scene(mu, body, v=(speed, 0, 0, 0, 0, -0.7 * speed / r))

    return build


def dominoes(d: Draw) -> str:
    """Six dominoes, the first falls."""
    thin, wide, half, mu = d.size(0.01), d.size(0.03), d.size(0.06), d.friction(0.4)
    gap = d.size(0.05) + 2 * thin
    stones = [free("box", (thin, wide, half), d.mass(0.1), mu, (i * gap, 0, half)) for i in range(6)]
    return scene(mu, *stones, v=(*np.zeros(3), 0.0, d.spin(4.0), 0.0, *np.zeros(30)))


def pile(d: Draw) -> str:
    """Five shapes fall onto one another."""
    r, mu = d.size(0.1), d.friction(0.5)
    kinds = ("box", (r, 0.8 * r, 0.5 * r)), ("sphere", (0.8 * r,)), ("capsule", (0.4 * r, 0.7 * r))
    others = ("cylinder", (0.6 * r, 0.5 * r)), ("mesh", ("ball",))
    bodies = [
        free(
            kind,
            size,
            d.mass(1.0),
            mu,
            (0.2 * r * (i % 2), 0.1 * r * i, r * (1.2 + 2.2 * i)),
            tilted(0.3 * i, "xyz"[i % 3]),
        )
        for i, (kind, size) in enumerate((*kinds, *others))
    ]
    return scene(mu, *bodies, before=ball_of(20, 0.8 * r))


def mesh_rests(d: Draw) -> str:
    """A hull of twelve points lies down."""
    r, mu = d.size(0.1), d.friction(0.6)
    return scene(mu, free("mesh", ("ball",), d.mass(1.0), mu, (0, 0, r)), before=ball_of(12, r))


def spinning(d: Draw) -> str:
    """A disc spins in the air and comes down on its edge."""
    r, thin, mu = d.size(0.1), d.size(0.01), d.friction(0.3)
    disc = free("cylinder", (r, thin), d.mass(0.3), mu, (0, 0, 2 * r), tilted(1.2, "x"))
    return scene(mu, disc, v=(0, 0, 0, d.spin(1.0), d.spin(2.0), d.spin(20.0)))


def bouncing(d: Draw) -> str:
    """A ball falls, and rolls on."""
    r, mu = d.size(0.1), d.friction(0.5)
    return scene(mu, free("sphere", (r,), d.mass(1.0), mu, (0, 0, 3 * r)), v=(d.speed(0.5), 0, 0, 0, 0, 0))


def two_boxes(d: Draw) -> str:
    """A box slides into another that stands."""
    a, b, mu = d.size(0.1), d.size(0.12), d.friction(0.3)
    first = free("box", (a, a, a), d.mass(1.0), mu, (0, 0, a))
    other = free("box", (b, 0.7 * b, b), d.mass(2.0), mu, (a + b + d.size(0.2), d.size(0.05), b))
    return scene(mu, first, other, v=(d.speed(2.0), *np.zeros(11)))


def conveyor(d: Draw) -> str:
    """A box is put down on a plate that moves."""
    a, mu, speed = d.size(0.05), d.friction(0.4), d.speed(0.5)
    plate_mass = d.mass(5.0)
    belt = f'<geom type="box" size="{numbers(40 * a, 4 * a, 0.2 * a)}" mass="{plate_mass}" {rough(mu)}/>'
    plate = f'<body pos="0 0 {a}"><joint name="belt" type="slide" axis="1 0 0"/>{belt}</body>'
    box = free("box", (a, a, a), d.mass(1.0), mu, (0, 0, 2.2 * a))
    servo = f'<actuator><velocity joint="belt" kv="{100 * plate_mass}"/></actuator>'
    key = f'<keyframe><key name="start" ctrl="{speed}"/></keyframe>'
    return f"<worldbody>{floor(mu)}{plate}{box}</worldbody>{servo}{key}"


SOLIDS: dict[str, Callable[[Draw], str]] = {
    "box on a slope": slope,
    "boards leaning": leaning,
    "sphere rolling": rolling("sphere"),
    "capsule rolling": rolling("capsule"),
    "cylinder rolling": rolling("cylinder"),
    "dominoes": dominoes,
    "pile of five shapes": pile,
    "hull lies down": mesh_rests,
    "disc spinning": spinning,
    "ball falling": bouncing,
    "box into box": two_boxes,
    "box on a belt": conveyor,
}
