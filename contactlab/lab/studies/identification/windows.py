"""Windows of recordings as a least-squares problem, and worlds with named parameter values.

=====================  =================================================================================
``mu``                 friction of every pair of surfaces
``restitution``        Newton's coefficient of every pair; surfaces are then rigid
``stiffness``          normal stiffness of every contact [N/m]
``dissipation``        its damper [N s/m]
``gravity``            downward [m/s^2]
``inertia``            factor of every body's inertia about its centre; ``inertia:BODY`` of one's
``mass:BODY``          factor of a body's mass, its inertia with it
``friction:JOINT``     dry friction of a joint [N m, N]
``damping:JOINT``      viscous damping of a joint [N m s, N s/m]
=====================  =================================================================================

A window is simulated from an unknown start and compared with samples. A toss is chaotic after contact: the error of a
whole path has thousands of local minima over friction. A window has a few samples, about one impact, within which the
path depends smoothly on the parameters and on the start of the window. The start (q, v) is not measured accurately
enough, so it is an unknown of the window, determined by the samples before the impact.

Noise model: errors of samples are independent and normal, in each direction of v, with the standard deviations of the
problem. A common factor of these may be wrong, and errors within a window may be correlated, because intervals are
estimated from the differences between windows (`identify`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import inf, isinf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contactlab.collision import Material
from contactlab.lab.studies.identification.problem import IdentificationError, Parameter, Problem, differences
from contactlab.multibody.bodies import BodySpec
from contactlab.multibody.configuration import difference, integrate
from contactlab.multibody.spatial import RigidInertia
from contactlab.multibody.spatial.arrays import FloatArray, close_names
from contactlab.simulation import ImplausibleWarning, TimeStepping, World, rollout
from contactlab.simulation.world.joint_actions import Coefficient, JointActions

#: Names of parameters without a body or joint, and prefixes of the others.
WHOLE = ("mu", "restitution", "stiffness", "dissipation", "gravity", "inertia")
KINDS = ("inertia", "mass", "friction", "damping")


def check_names(world: World, names: tuple[str, ...]) -> None:
    """Raise an `IdentificationError` for an invalid name of a parameter, body or joint."""
    known = WHOLE + tuple(f"{kind}:{body}" for kind in ("inertia", "mass") for body in world.model.names)
    joints = [body.joint_name for body in world.model.bodies if body.joint.nv]
    known += tuple(f"{kind}:{joint}" for kind in ("friction", "damping") for joint in joints)
    for name in names:
        if name not in known:
            raise IdentificationError("parameters", f"no number is called {name!r}{close_names(name, known)}")


def with_parameters(world: World, values: Mapping[str, float]) -> World:
    """Return the world with these parameter values; other parameters stay, and an invalid name raises."""
    check_names(world, tuple(values))
    model, actions = world.model, world.joint_actions
    bodies = tuple(_body(body, values) for body in model.bodies)
    gravity = np.array([0.0, 0.0, -values["gravity"]]) if "gravity" in values else model.gravity
    for kind in ("friction", "damping"):
        told = {
            model.body_of_joint(name[len(kind) + 1 :]): x for name, x in values.items() if name.startswith(kind + ":")
        }
        actions = _with_coefficients(world, actions, kind, told)
    return replace(
        world,
        model=replace(model, bodies=bodies, gravity=gravity),
        surfaces=tuple(replace(one, material=_material(one.material, values)) for one in world.surfaces),
        half_space_materials=tuple(_material(one, values) for one in world.half_space_materials),
        joint_actions=actions,
    )


def _body(body: BodySpec, values: Mapping[str, float]) -> BodySpec:
    """Return a body with its mass and inertia scaled by the factors in ``values``.

    The factor of the mass also scales the inertia.
    """
    mass = values.get(f"mass:{body.name}", 1.0)
    turn = mass * values.get("inertia", 1.0) * values.get(f"inertia:{body.name}", 1.0)
    if body.inertia is None or (mass, turn) == (1.0, 1.0):
        return body
    one = body.inertia
    return replace(body, inertia=RigidInertia(mass * one.mass, one.com, turn * one.inertia, physical=False))


def _material(material: Material, values: Mapping[str, float]) -> Material:
    """Return the surface with the given mu, restitution, or stiffness and dissipation of its contacts.

    It has twice the stiffness and dissipation, because two surfaces act in series. A restitution makes it rigid.
    """
    changes: dict[str, Any] = {name: values[name] for name in ("mu", "restitution") if name in values}
    if "restitution" in values:
        changes |= {"stiffness": inf, "dissipation": 0.0}
    else:
        changes |= {name: 2.0 * values[name] for name in ("stiffness", "dissipation") if name in values}
    if isinf(changes.get("stiffness", material.stiffness)):
        changes["dissipation"] = 0.0
    return replace(material, **changes)


def _with_coefficients(world: World, actions: JointActions, kind: str, told: Mapping[str, float]) -> JointActions:
    """Return the joint actions with these coefficients of one ``kind``, "damping" or "friction", by moved body.

    They replace all coefficients of these bodies; the result is in the order of the model.
    """
    before: tuple[Coefficient, ...] = getattr(actions, kind)
    kept = [one for one in before if one.body not in told]
    new = [
        Coefficient(body, k, told[body])
        for body in told
        for k in range(world.model.bodies[world.model.index_or_world(body)].joint.nv)
    ]
    order = {body.name: i for i, body in enumerate(world.model.bodies)}
    together = tuple(sorted((*kept, *new), key=lambda one: (order[one.body], one.coordinate)))
    return replace(actions, damping=together) if kind == "damping" else replace(actions, friction=together)


@dataclass(frozen=True, eq=False)
class Windows:
    """Windows of recordings of one kind of world.

    Parameters
    ----------
    q, v
        (W, nq) and (W, nv) initial guesses of the start, at the time of the first sample.
    measured
        (W, n, nq) the samples.
    noise
        (n, nv) their standard deviations in each direction of v.
    every
        Number of time steps per sample.
    groups
        (W,) recording of each window.
    taus
        (W, (n - 1) * every, nv) applied forces; None for none.
    """

    q: FloatArray
    v: FloatArray
    measured: FloatArray
    noise: FloatArray
    every: int
    groups: NDArray[np.int64]
    taus: FloatArray | None = None

    def at(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> Windows:
        """Return the windows of the given rows: indices, or a mask (W,)."""
        taus = None if self.taus is None else self.taus[rows]
        return Windows(self.q[rows], self.v[rows], self.measured[rows], self.noise, self.every, self.groups[rows], taus)


def window_problem(
    windows: Windows,
    parameters: tuple[Parameter, ...],
    world_of: Callable[[Mapping[str, float]], World],
    stepper: TimeStepping,
    *,
    fixed: Mapping[str, float] | None = None,
    threads: int | None = None,
) -> Problem:
    """Return the problem of fitting windows by the parameters of a world and by the start of each window.

    Parameters
    ----------
    windows
        The samples.
    parameters, world_of
        The identified parameters, and a function from all values by name to their world.
    stepper
        Stepper of the simulations.
    fixed
        Values of the other parameters.
    threads
        Number of threads; None for one per core.
    """
    W, n = windows.measured.shape[:2]
    steps, nv, names = (n - 1) * windows.every, windows.v.shape[1], [one.name for one in parameters]
    # Units of the unknowns: the noise of position, and for velocities this noise over the duration of the window.
    reach = (n - 1) * windows.every * stepper.h
    unit = np.concatenate((windows.noise[0], 2.0 * windows.noise[0] / reach))

    def residuals(values: FloatArray, local: FloatArray) -> FloatArray:
        world = world_of({**(fixed or {}), **dict(zip(names, values.tolist(), strict=True))})
        off = local * unit
        q = integrate(world.model, windows.q, off[:, :nv], 1.0)
        v = windows.v + off[:, nv:]
        states = [world.initial_state(stepper.h, q=a, v=b) for a, b in zip(q, v, strict=True)]
        with warnings.catch_warnings():
            # Trials have other parameters than the result.
            warnings.simplefilter("ignore", ImplausibleWarning)
            found = rollout(world, stepper, states, taus=windows.taus, steps=steps, threads=threads)
        sampled = found.q[:, :: windows.every]
        lost = ~np.isfinite(sampled).all(axis=(1, 2))
        sampled[lost] = windows.measured[lost]
        out = difference(world.model, sampled, windows.measured) / windows.noise
        out[lost] = np.nan
        return np.asarray(out.reshape(W, n * nv))

    local_steps = np.full(2 * nv, 0.05)
    return Problem(parameters, windows.groups, residuals, differences(residuals, parameters, local_steps), 2 * nv)
