"""A tree with every joint of the package, joints of the user's own and fixed bodies included."""

import numpy as np

from contactlab.multibody import Model, ModelBuilder, integrate, joints
from contactlab.multibody.spatial import RigidInertia, Transform, quaternion


class Cylindrical(joints.CustomJoint):
    """Turn about z by q0 after a shift along it by q1: a custom joint whose subspace is constant in child axes."""

    nq = 2
    nv = 2

    def transform(self, q: np.ndarray) -> Transform:
        c, s = np.cos(q[0]), np.sin(q[0])
        return Transform([[c, -s, 0], [s, c, 0], [0, 0, 1]], (0, 0, q[1]))

    def motion_subspace(self, q: np.ndarray) -> np.ndarray:
        S = np.zeros((6, 2))
        S[2, 0] = S[5, 1] = 1.0
        return S

    def velocity_product(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.zeros(6)


class Cam(joints.CustomJoint):
    """Turn about z by q while moving along the parabola x = q^2 / 2: the subspace changes in child axes."""

    nq = 1
    nv = 1

    def transform(self, q: np.ndarray) -> Transform:
        c, s = np.cos(q[0]), np.sin(q[0])
        return Transform([[c, -s, 0], [s, c, 0], [0, 0, 1]], (0.5 * q[0] ** 2, 0, 0))

    def motion_subspace(self, q: np.ndarray) -> np.ndarray:
        c, s = np.cos(q[0]), np.sin(q[0])
        return np.array([[0], [0], [1], [c * q[0]], [-s * q[0]], [0]])

    def velocity_product(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        c, s = np.cos(q[0]), np.sin(q[0])
        return np.array([0, 0, 0, c - s * q[0], -s - c * q[0], 0]) * v[0] ** 2


def random_body(rng: np.random.Generator) -> tuple[Transform, RigidInertia]:
    """A placement and a mass distribution."""
    half, mass = rng.uniform(0.05, 0.3, 3), rng.uniform(0.5, 2.0)
    R = quaternion.to_matrix(rng.standard_normal(4))
    inertia = mass / 3.0 * np.diag(np.sum(half**2) - half**2)
    placement = Transform(quaternion.to_matrix(rng.standard_normal(4)), rng.uniform(-0.4, 0.4, 3))
    return placement, RigidInertia(mass, rng.uniform(-0.2, 0.2, 3), inertia=R @ inertia @ R.T)


def model_with_every_joint(*, custom: bool = True) -> Model:
    """Three trees on the world, 40-odd degrees of freedom; the user's own joints on request."""
    rng = np.random.default_rng(11)
    builder = ModelBuilder((0.3, -0.2, -9.7))
    tree: list[tuple[str, str, joints.Joint]] = [
        ("free", "world", joints.FloatingBase()),
        ("hip", "free", joints.Spherical()),
        ("knee", "hip", joints.Revolute((0, 1, 0))),
        ("foot", "knee", joints.Fixed()),
        ("toe", "foot", joints.Helical((1, 2, 2), 0.2)),
        ("slide", "free", joints.TranslationXYZ()),
        ("neck", "slide", joints.EulerZYX()),
        ("head", "neck", joints.Revolute((1, 2, 3))),
        ("eye", "head", joints.Fixed()),
        ("arm", "free", joints.Prismatic((1, 1, 0))),
        ("moon", "arm", joints.FloatingBase()),
        ("ring", "moon", joints.EulerXYZ()),
        ("euler_root", "world", joints.EulerYXZ()),
        ("screw", "euler_root", joints.Screw((0, 0, 1), (0.1, 0.2, 0.3))),
        ("wrist", "screw", joints.EulerZXY()),
        (
            "stack",
            "wrist",
            joints.Composite([joints.Revolute(), joints.Prismatic((0, 1, 0)), joints.Revolute((1, 0, 0))]),
        ),
        ("helix_root", "world", joints.Screw((1, 1, 1), (0.2, -0.1, 0.3))),
        ("leaf", "helix_root", joints.Revolute((1, 0, 0))),
        ("post", "world", joints.Fixed()),
    ]
    if custom:
        tree += [("tube", "helix_root", Cylindrical()), ("cam", "tube", Cam()), ("cam_root", "world", Cam())]
    for name, parent, joint in tree:
        placement, inertia = random_body(rng)
        builder.add_body(name, parent=parent, joint=joint, placement=placement, inertia=inertia)
    return builder.build()


def moved(model: Model, q: np.ndarray, v: np.ndarray, a: np.ndarray, h: float) -> np.ndarray:
    """The configuration after h on a path that starts at q with v and a: right to the second order in h."""
    return integrate(model, q, v + 0.5 * h * a, h)
