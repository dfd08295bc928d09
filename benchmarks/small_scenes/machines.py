"""Small scenes of bodies on joints."""

from __future__ import annotations

from collections.abc import Callable

from small_scenes.draw import Draw
from small_scenes.solids import floor, free, numbers, rough

ARM = ("z", "y", "z", "y", "z", "y", "x")
AXES = {"x": "1 0 0", "y": "0 1 0", "z": "0 0 1"}
NO_CONTACT = 'contype="0" conaffinity="0"'


def hinge(name: str, axis: str, more: str = "") -> str:
    """A hinge about an axis."""
    return f'<joint name="{name}" type="hinge" axis="{AXES[axis]}" {more}/>'


def body(at: tuple[float, float, float], *parts: str) -> str:
    """Return a body at a position in its parent, with joints, geoms and further bodies."""
    return f'<body pos="{numbers(*at)}">{"".join(parts)}</body>'


def block(half: tuple[float, ...], mass: float, more: str = NO_CONTACT) -> str:
    """Return a box, which touches nothing by default."""
    return f'<geom type="box" size="{numbers(*half)}" mass="{mass}" {more}/>'


def rod(length: float, r: float, mass: float, more: str = NO_CONTACT, axis: int = 2) -> str:
    """Return a capsule from the body's origin along an axis, with a negative length in the other direction."""
    ends = numbers(0.0, 0.0, 0.0, *(length * (i == axis) for i in range(3)))
    return f'<geom type="capsule" fromto="{ends}" size="{r}" mass="{mass}" {more}/>'


def world(*parts: str, act: str = "", before: str = "", more: str = "") -> str:
    """Return the world, with its bodies and actuators."""
    return f"{before}<worldbody>{''.join(parts)}</worldbody>{more}<actuator>{act}</actuator>"


def keyed(q: tuple[float, ...] = (), v: tuple[float, ...] = (), ctrl: tuple[float, ...] = ()) -> str:
    """Return the keyframe: the start and the controls."""
    said = "".join(f' {name}="{numbers(*x)}"' for name, x in (("qpos", q), ("qvel", v), ("ctrl", ctrl)) if x)
    return f'<keyframe><key name="start"{said}/></keyframe>'


def chain(d: Draw) -> str:
    """Ten hinges in a row that touch nothing."""
    length, r, text = d.size(0.1), d.size(0.01), ""
    for i in reversed(range(10)):
        text = body((0, 0, -length if i else 0), hinge(f"j{i}", "xy"[i % 2]), rod(-length, r, d.mass(0.2)), text)
    return world(text) + keyed(q=(1.0,) + 9 * (0.2,))


def arm(d: Draw, length: float, end: str, more: str) -> str:
    """Seven hinges in a row, upright."""
    text = end
    for i in reversed(range(7)):
        link = rod(length, 0.2 * length, d.mass(1.0 - 0.1 * i))
        text = body((0, 0, length if i else 0), hinge(f"j{i}", ARM[i], more), link, text)
    return text


def arm_free(d: Draw) -> str:
    """An arm under torques in free space."""
    motors = "".join(f'<motor joint="j{i}"/>' for i in range(7))
    torques = tuple(d.torque(x) for x in (0.5, 0.8, 0.2, 0.4, 0.05, 0.2, 0.01))
    robot = arm(d, d.size(0.15), "", f'damping="{d.damping(0.1)}"')
    return world(robot, act=motors) + keyed(q=7 * (0.3,), ctrl=torques)


def arm_presses(d: Draw) -> str:
    """An arm held by servos presses its end on a wall."""
    length, mu = d.size(0.15), d.friction(0.6)
    end = f'<geom type="sphere" size="{0.3 * length}" pos="0 0 {length}" mass="{d.mass(0.2)}" {rough(mu)}/>'
    robot = arm(d, length, end, f'armature="{d.inertia(0.05)}"')
    servos = "".join(f'<position joint="j{i}" kp="{d.torque(200.0)}" kv="{d.damping(5.0)}"/>' for i in range(7))
    wall = f'<geom type="plane" size="0 0 1" pos="{2.2 * length} 0 0" zaxis="-1 0 0" {rough(mu)}/>'
    start = keyed((0.0, 0.3, 0.0, 0.0, 0.0, 0.0, 0.0), ctrl=(0.0, 0.6, 0.0, 0.0, 0.0, 0.3, 0.0))
    return world(wall, robot, act=servos) + start


def gripper(d: Draw) -> str:
    """Two fingers close on a box, and lift it."""
    a, mu, fingers = d.size(0.04), d.friction(1.0), ""
    for side in (-1, 1):
        joint = f'<joint name="finger{side}" type="slide" axis="{-side} 0 0"/>'
        fingers += body((side * 2.2 * a, 0, 0), joint, block((0.2 * a, a, a), d.mass(0.1), rough(mu)))
    palm = f'<geom type="box" size="{numbers(3 * a, a, 0.3 * a)}" pos="0 0 {3 * a}" mass="{d.mass(0.5)}" {NO_CONTACT}/>'
    hand = body((0, 0, a), '<joint name="lift" type="slide" axis="0 0 1"/>', palm, fingers)
    box = free("box", (a, 0.8 * a, a), d.mass(0.2), mu, (0, 0, a))
    stiff, damp = d.force(1000.0) / d.length / d.unit, d.force(50.0) * d.time / d.length / d.unit
    act = '<motor joint="finger-1"/><motor joint="finger1"/>'
    act += f'<position joint="lift" kp="{stiff}" kv="{damp}"/>'
    push = d.force(10.0)
    start = keyed((0.0, 0.0, 0.0, 0.0, 0.0, a, 1.0, 0.0, 0.0, 0.0), ctrl=(push, push, 3 * a))
    return world(floor(mu), hand, box, act=act) + start


def legs(d: Draw, s: float, mu: float) -> tuple[str, list[str]]:
    """Two legs of six hinges each, with feet of two capsules, and the names of the hinges."""
    text, rub = "", rough(mu)
    for name, side in (("l", 1), ("r", -1)):
        soles = ""
        for out in (-0.04 * s, 0.04 * s):
            ends = numbers(-0.07 * s, out, -0.04 * s, 0.14 * s, out, -0.04 * s)
            soles += f'<geom type="capsule" fromto="{ends}" size="{0.03 * s}" mass="{d.mass(0.5)}" {rub}/>'
        foot = body((0, 0, -0.4 * s), hinge(name + "5", "y"), hinge(name + "6", "x"), soles)
        shin = rod(-0.4 * s, 0.04 * s, d.mass(3.0), rub)
        shank = body((0, 0, -0.4 * s), hinge(name + "4", "y"), shin, foot)
        hips = "".join(hinge(f"{name}{i + 1}", axis) for i, axis in enumerate("xzy"))
        text += body((0, side * 0.1 * s, 0), hips, rod(-0.4 * s, 0.05 * s, d.mass(5.0), rub), shank)
    return text, [f"{name}{i}" for name in "lr" for i in range(1, 7)]


def humanoid(stands: bool) -> Callable[[Draw], str]:
    """A trunk with legs of six hinges, arms of three, a neck; held by servos, or slack."""

    def build(d: Draw) -> str:
        s, mu = d.size(1.0), d.friction(0.8)
        low, joints = legs(d, s, mu)
        for name, side in (("a", 1), ("b", -1)):
            elbow = body((0, 0, -0.3 * s), hinge(name + "3", "y"), rod(-0.25 * s, 0.03 * s, d.mass(1.0), rough(mu)))
            shoulder = hinge(name + "1", "y") + hinge(name + "2", "x")
            upper = rod(-0.3 * s, 0.035 * s, d.mass(1.5), rough(mu))
            low += body((0, side * 0.22 * s, 0.45 * s), shoulder, upper, elbow)
            joints += [f"{name}{i}" for i in (1, 2, 3)]
        head = f'<geom type="sphere" size="{0.1 * s}" pos="0 0 {0.12 * s}" mass="{d.mass(4.0)}"/>'
        low += body((0, 0, 0.5 * s), hinge("neck", "y"), head)
        trunk = block((0.08 * s, 0.14 * s, 0.22 * s), d.mass(25.0), f'pos="0 0 {0.25 * s}"')
        kp, kv = d.torque(600.0), d.damping(10.0)
        act = "".join(f'<position joint="{j}" kp="{kp}" kv="{kv}"/>' for j in [*joints, "neck"])
        rotors = f'<default><joint armature="{d.inertia(0.05)}"/></default>'
        man = body((0, 0, 0.87 * s), "<freejoint/>", trunk, low)
        return world(floor(mu), man, act=act if stands else "", before=rotors) + keyed()

    return build


def biped(d: Draw) -> str:
    """Two legs under a box, pushed, fall."""
    s, mu = d.size(1.0), d.friction(0.8)
    low, _ = legs(d, s, mu)
    trunk = block((0.1 * s, 0.15 * s, 0.15 * s), d.mass(15.0), f'pos="0 0 {0.2 * s}"')
    v = (d.speed(0.5), 0.0, 0.0, 0.0, d.spin(0.5), 0.0) + 12 * (0.0,)
    return world(floor(mu), body((0, 0, 0.87 * s), "<freejoint/>", trunk, low)) + keyed(v=v)


def hopping(d: Draw) -> str:
    """A leg on a rail that springs back."""
    s, mu = d.size(0.3), d.friction(0.8)
    spring = f'stiffness="{d.torque(20.0)}" damping="{d.damping(0.3)}"'
    foot = f'<geom type="sphere" size="{0.1 * s}" pos="0 0 {-s}" mass="{d.mass(0.05)}" {rough(mu)}/>'
    knee, hip = hinge("knee", "y", f'{spring} springref="1.2"'), hinge("hip", "y", f'{spring} springref="-0.6"')
    shank = body((0, 0, -s), knee, rod(-s, 0.06 * s, d.mass(0.2)), foot)
    thigh = body((0, 0, 0), hip, rod(-s, 0.07 * s, d.mass(0.4)), shank)
    rail = '<joint type="slide" axis="0 0 1"/><joint type="slide" axis="1 0 0"/>'
    trunk = body((0, 0, 2.4 * s), rail, block(3 * (0.2 * s,), d.mass(2.0)), thigh)
    return world(floor(mu), trunk) + keyed(q=(0.0, 0.0, -0.6, 1.2))


def cart_pole(d: Draw) -> str:
    """A cart with stops, pushed, and its pole."""
    s = d.size(0.5)
    pole = body((0, 0, 0), hinge("pole", "y"), rod(s, 0.04 * s, d.mass(0.3)))
    stops = f'<joint name="cart" type="slide" axis="1 0 0" limited="true" range="{-0.5 * s} {0.5 * s}"/>'
    cart = body((0, 0, 0), stops, block((0.2 * s, 0.1 * s, 0.05 * s), d.mass(1.0)), pole)
    return world(cart, act='<motor joint="cart"/>') + keyed((0.0, 0.1), ctrl=(d.force(4.0),))


def four_bar(d: Draw) -> str:
    """A closed loop of three bars and the ground, driven: up, across, and down to the ground."""
    a = d.size(0.2)
    r, crank, coupler, rocker = 0.01 * a, 0.4 * a, a, 0.8 * a
    end = f'<site name="end" pos="0 0 {-rocker}"/>'
    third = body((coupler, 0, 0), hinge("c", "y"), rod(-rocker, r, d.mass(0.3)), end)
    second = body((0, 0, crank), hinge("b", "y"), rod(coupler, r, d.mass(0.3), axis=0), third)
    first = body((0, 0, 0), hinge("a", "y"), rod(crank, r, d.mass(0.2)), second)
    ground = f'<site name="ground" pos="{coupler} 0 {crank - rocker}"/>'
    loop = '<equality><connect site1="end" site2="ground"/></equality>'
    return world(ground, first, act='<motor joint="a"/>', more=loop) + keyed(ctrl=(d.torque(0.3),))


def rover(d: Draw) -> str:
    """A box on four driven wheels."""
    s, mu = d.size(0.2), d.friction(0.8)
    r, wheels, servos, turned = 0.4 * s, "", "", 'quat="0.70710678 0.70710678 0 0"'
    for i, (x, y) in enumerate(((1, 1), (1, -1), (-1, 1), (-1, -1))):
        tyre = f'<geom type="cylinder" size="{numbers(r, 0.1 * s)}" {turned} mass="{d.mass(0.3)}" {rough(mu)}/>'
        wheels += body((0.7 * s * x, 0.6 * s * y, 0), hinge(f"w{i}", "y"), tyre)
        servos += f'<velocity joint="w{i}" kv="{d.damping(0.1)}"/>'
    trunk = block((s, 0.4 * s, 0.2 * s), d.mass(3.0))
    return world(floor(mu), body((0, 0, r), "<freejoint/>", trunk, wheels), act=servos) + keyed(ctrl=4 * (d.spin(6.0),))


def rope(d: Draw) -> str:
    """Eight links on ball joints fall on the floor."""
    length, r, mu, text = d.size(0.08), d.size(0.015), d.friction(0.5), ""
    for i in reversed(range(8)):
        joint = '<joint type="ball"/>' if i else "<freejoint/>"
        at = (length, 0, 0) if i else (0, 0, 4 * length)
        text = body(at, joint, rod(length, r, d.mass(0.1), rough(mu), 0), text)
    return world(floor(mu), text)


MACHINES: dict[str, Callable[[Draw], str]] = {
    "chain of ten hinges": chain,
    "arm under torques": arm_free,
    "arm presses on a wall": arm_presses,
    "gripper lifts a box": gripper,
    "humanoid stands": humanoid(True),
    "humanoid falls": humanoid(False),
    "biped falls": biped,
    "leg hops": hopping,
    "cart and pole": cart_pole,
    "four bars": four_bar,
    "rover": rover,
    "rope falls": rope,
}
