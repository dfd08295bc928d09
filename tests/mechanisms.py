"""Closed-loop mechanisms and a walking machine, for the tests of constraints.

Planar ones move in the x-z plane: bars lie along x at q = 0 and turn from x towards z.
"""

from dataclasses import dataclass

import numpy as np

from contactlab.multibody.constraints import ConstraintSet, ContactConstraint, LoopConstraint
from contactlab.simulation import Model, ModelBuilder, RigidInertia, Transform, joints

#: Revolute joints of planar mechanisms.
UP = (0.0, -1.0, 0.0)
GRAVITY = 9.81


def rod(mass: float, length: float) -> RigidInertia:
    """A slender rod along x from its body's origin."""
    inertia = mass * length**2 / 12.0
    return RigidInertia(mass, (length / 2.0, 0.0, 0.0), np.diag([1e-4 * inertia, inertia, inertia]))


def pin(
    predecessor: str,
    successor: str,
    at_p: tuple[float, float, float],
    at_s: tuple[float, float, float],
    *,
    baumgarte: float | None = None,
    axes: tuple[int, ...] = (0, 2),
    name: str | None = "pin",
) -> list[LoopConstraint]:
    """Two points held together, along x and z unless said otherwise."""
    return [
        LoopConstraint(
            predecessor,
            successor,
            Transform(p=at_p),
            Transform(p=at_s),
            np.eye(6)[3 + axis],
            baumgarte=baumgarte,
            name=name,
        )
        for axis in axes
    ]


@dataclass(frozen=True)
class FourBar:
    """Ground a distance ``d`` apart, crank a, coupler b, rocker c: lengths, masses proportional to them."""

    a: float = 0.3
    b: float = 0.8
    c: float = 0.6
    d: float = 0.7
    density: float = 2.0

    def model(self) -> Model:
        """Crank and coupler from the left pivot, rocker from the right one; q is (crank, coupler on crank, rocker)."""
        builder = ModelBuilder()
        builder.add_body("crank", joint=joints.Revolute(UP), inertia=rod(self.density * self.a, self.a))
        builder.add_body(
            "coupler",
            parent="crank",
            joint=joints.Revolute(UP),
            placement=Transform(p=(self.a, 0.0, 0.0)),
            inertia=rod(self.density * self.b, self.b),
        )
        builder.add_body(
            "rocker",
            joint=joints.Revolute(UP),
            placement=Transform(p=(self.d, 0.0, 0.0)),
            inertia=rod(self.density * self.c, self.c),
        )
        return builder.build()

    def constraints(self, model: Model, baumgarte: float | None = None) -> ConstraintSet:
        """Coupler and rocker meet."""
        return ConstraintSet(
            model, pin("coupler", "rocker", (self.b, 0.0, 0.0), (self.c, 0.0, 0.0), baumgarte=baumgarte)
        )

    def angles(self, crank: float) -> tuple[float, float]:
        """Angles of coupler and rocker against x, rocker up: the triangle of coupler, rocker and diagonal."""
        tip = self.a * np.array([np.cos(crank), np.sin(crank)])
        to_ground = np.array([self.d, 0.0]) - tip
        diagonal = np.hypot(*to_ground)
        inside = np.arccos((self.b**2 + diagonal**2 - self.c**2) / (2.0 * self.b * diagonal))
        coupler = np.arctan2(to_ground[1], to_ground[0]) + inside
        joint = tip + self.b * np.array([np.cos(coupler), np.sin(coupler)]) - [self.d, 0.0]
        return float(coupler), float(np.arctan2(joint[1], joint[0]))

    def configuration(self, crank: float) -> np.ndarray:
        """The assembled q."""
        coupler, rocker = self.angles(crank)
        return np.array([crank, coupler - crank, rocker])

    def rates(self, crank: float) -> tuple[np.ndarray, np.ndarray]:
        """First and second derivatives of (coupler, rocker) angles by the crank's."""
        coupler, rocker = self.angles(crank)

        def along(angle: float) -> np.ndarray:
            return np.array([np.cos(angle), np.sin(angle)])

        def across(angle: float) -> np.ndarray:
            return np.array([-np.sin(angle), np.cos(angle)])

        A = np.column_stack([self.b * across(coupler), -self.c * across(rocker)])
        first = np.linalg.solve(A, -self.a * across(crank))
        centripetal = self.a * along(crank) + self.b * along(coupler) * first[0] ** 2
        return first, np.linalg.solve(A, centripetal - self.c * along(rocker) * first[1] ** 2)

    def velocity(self, crank: float, speed: float) -> np.ndarray:
        """The v of the model for a speed of the crank."""
        first, _ = self.rates(crank)
        return speed * np.array([1.0, first[0] - 1.0, first[1]])

    def crank_acceleration(self, crank: float, speed: float, torque: float = 0.0) -> float:
        """Lagrange's equation of the crank's angle alone: M s'' + M' s'^2 / 2 + V' = torque."""
        coupler, rocker = self.angles(crank)
        (p, r), (pp, rr) = self.rates(crank)
        ma, mb, mc = self.density * self.a, self.density * self.b, self.density * self.c
        a, b, c = self.a, self.b, self.c
        # Coupler: centre at a e(s) + b/2 e(coupler).
        cosine, sine = np.cos(coupler - crank), np.sin(coupler - crank)
        mass = ma * a**2 / 3.0 + mb * (a**2 + b**2 * p**2 / 3.0 + a * b * p * cosine) + mc * c**2 * r**2 / 3.0
        slope = (
            mb * (2.0 * b**2 * p * pp / 3.0 + a * b * (pp * cosine - p * sine * (p - 1.0)))
            + 2.0 * mc * c**2 * r * rr / 3.0
        )
        pull = GRAVITY * (
            ma * a / 2.0 * np.cos(crank)
            + mb * (a * np.cos(crank) + b / 2.0 * np.cos(coupler) * p)
            + mc * c / 2.0 * np.cos(rocker) * r
        )
        return float((torque - slope * speed**2 / 2.0 - pull) / mass)


@dataclass(frozen=True)
class SliderCrank:
    """Crank a from the origin, rod b, slider along x."""

    a: float = 0.25
    b: float = 0.7
    slider: float = 0.8
    density: float = 2.0

    def model(self) -> Model:
        """q is (crank, rod on crank, slider)."""
        builder = ModelBuilder()
        builder.add_body("crank", joint=joints.Revolute(UP), inertia=rod(self.density * self.a, self.a))
        builder.add_body(
            "rod",
            parent="crank",
            joint=joints.Revolute(UP),
            placement=Transform(p=(self.a, 0.0, 0.0)),
            inertia=rod(self.density * self.b, self.b),
        )
        builder.add_body(
            "slider",
            joint=joints.Prismatic((1.0, 0.0, 0.0)),
            inertia=RigidInertia.solid_box(self.slider, (0.05, 0.05, 0.05)),
        )
        return builder.build()

    def constraints(self, model: Model, baumgarte: float | None = None) -> ConstraintSet:
        """Rod and slider meet."""
        return ConstraintSet(model, pin("rod", "slider", (self.b, 0.0, 0.0), (0.0, 0.0, 0.0), baumgarte=baumgarte))

    def state(self, crank: float, speed: float) -> tuple[np.ndarray, np.ndarray]:
        """Assembled q and v."""
        rod_angle = -np.arcsin(self.a * np.sin(crank) / self.b)
        rate = -self.a * np.cos(crank) / (self.b * np.cos(rod_angle))
        q = np.array([crank, rod_angle - crank, self.a * np.cos(crank) + self.b * np.cos(rod_angle)])
        slide = -self.a * np.sin(crank) - self.b * np.sin(rod_angle) * rate
        return q, speed * np.array([1.0, rate - 1.0, slide])

    def crank_acceleration(self, crank: float, speed: float) -> float:
        """Lagrange's equation of the crank's angle alone."""
        a, b, m = self.a, self.b, self.slider
        ma, mb = self.density * a, self.density * b
        w = -np.arcsin(a * np.sin(crank) / b)
        # b sin w = -a sin s, differentiated twice.
        p = -a * np.cos(crank) / (b * np.cos(w))
        pp = (a * np.sin(crank) + b * np.sin(w) * p**2) / (b * np.cos(w))
        x1 = -a * np.sin(crank) - b * np.sin(w) * p
        x2 = -a * np.cos(crank) - b * np.cos(w) * p**2 - b * np.sin(w) * pp
        cosine, sine = np.cos(w - crank), np.sin(w - crank)
        mass = ma * a**2 / 3.0 + mb * (a**2 + b**2 * p**2 / 3.0 + a * b * p * cosine) + m * x1**2
        slope = mb * (2.0 * b**2 * p * pp / 3.0 + a * b * (pp * cosine - p * sine * (p - 1.0))) + 2.0 * m * x1 * x2
        pull = GRAVITY * (ma * a / 2.0 * np.cos(crank) + mb * (a * np.cos(crank) + b / 2.0 * np.cos(w) * p))
        return float(-(slope * speed**2 / 2.0 + pull) / mass)


def five_bar() -> Model:
    """Two cranks (0.3 m) on pivots 0.4 m apart, each with a coupler (0.55 m); q is (left, on left, right, on right)."""
    builder = ModelBuilder()
    for side, x in (("left", 0.0), ("right", 0.4)):
        builder.add_body(side, joint=joints.Revolute(UP), placement=Transform(p=(x, 0.0, 0.0)), inertia=rod(0.6, 0.3))
        builder.add_body(
            f"{side} coupler",
            parent=side,
            joint=joints.Revolute(UP),
            placement=Transform(p=(0.3, 0.0, 0.0)),
            inertia=rod(1.1, 0.55),
        )
    return builder.build()


def five_bar_constraints(model: Model, baumgarte: float | None = None) -> ConstraintSet:
    """Both couplers meet."""
    tip = (0.55, 0.0, 0.0)
    return ConstraintSet(model, pin("left coupler", "right coupler", tip, tip, baumgarte=baumgarte))


FEET = ("front left", "front right", "rear left", "rear right")


def quadruped() -> Model:
    """A floating trunk with four legs of three joints: hip to the side, hip, knee; the feet are at the shins' ends."""
    builder = ModelBuilder()
    builder.add_body("trunk", joint=joints.FloatingBase(), inertia=RigidInertia.solid_box(12.0, (0.3, 0.15, 0.08)))
    thigh = RigidInertia.solid_box(0.8, (0.03, 0.03, 0.13)).moved(Transform(p=(0.0, 0.0, -0.125)))
    shin = RigidInertia.solid_box(0.3, (0.02, 0.02, 0.13)).moved(Transform(p=(0.0, 0.0, -0.125)))
    for leg in FEET:
        x, y = 0.25 if "front" in leg else -0.25, 0.12 if "left" in leg else -0.12
        hip, upper, lower = f"{leg} hip", f"{leg} thigh", f"{leg} shin"
        place = Transform(p=(x, y, 0.0))
        small = RigidInertia.solid_box(0.5, (0.04, 0.04, 0.04))
        builder.add_body(hip, parent="trunk", joint=joints.Revolute((1.0, 0.0, 0.0)), placement=place, inertia=small)
        builder.add_body(upper, parent=hip, joint=joints.Revolute((0.0, 1.0, 0.0)), inertia=thigh)
        knee = Transform(p=(0.0, 0.0, -0.25))
        builder.add_body(lower, parent=upper, joint=joints.Revolute((0.0, 1.0, 0.0)), placement=knee, inertia=shin)
    return builder.build()


def standing(model: Model) -> np.ndarray:
    """Knees bent, trunk level."""
    q = np.zeros(model.nq)
    q[3] = 1.0
    for leg in FEET:
        q[model.q_slice(f"{leg} thigh")] = 0.7
        q[model.q_slice(f"{leg} shin")] = -1.4
    q[2] = 0.5 * np.cos(0.7)
    return q


def feet(model: Model, legs: tuple[str, ...] = FEET) -> ConstraintSet:
    """Three contact rows for each foot."""
    return ConstraintSet(
        model,
        [ContactConstraint(f"{leg} shin", (0.0, 0.0, -0.25), normal, name=leg) for leg in legs for normal in np.eye(3)],
    )
