"""Events of closed contacts: impacts, and the modes stick, slide or open, from one acceleration-level LCP.

A slipping contact has friction against its slip. A contact at rest gets a friction pyramid, whose solution shows
whether it sticks, starts to slip and in which direction, or separates. A contact that slips in the pyramid but is
inside the cone sticks. Slip starts in the direction of the pyramid's solution; after that, friction opposes the present
slip.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

import lcp
from contactlab.constraint_solver.acceleration import form_acceleration_lcp
from contactlab.constraint_solver.solution import AccelerationSolution, ConstraintSolveError
from contactlab.constraint_solver.solver import ConstraintSolver
from contactlab.event_driven.candidates import Candidate, PairKinematics
from contactlab.event_driven.phase import ContactMode, Instant, Mode, Phase
from contactlab.event_driven.recording import InconsistentContact
from contactlab.impact import ImpactLaw, ImpactProblem, Newton
from contactlab.impact.collision import pyramid_tangents
from contactlab.impact.single import NoSeparationError, single_impact
from contactlab.multibody import Kinematics, Model, mass_matrix
from contactlab.multibody.spatial.arrays import FloatArray
from problem_data import ConstraintAccelProblemData, ConstraintVelProblemData

# Relative to the weight-like load (forces) or the free acceleration (accelerations): smaller values count as zero.
_NEGLIGIBLE = 1e-9

#: A sliding contact is jammed if its normal response is below this fraction of the response without friction.
MIN_RESPONSE = 1e-6

# Distance from the cone below which a force counts as on it, because of an event just before or after.
_ON_CONE = 1e-9

# LCPs up to this size are searched for a second solution if friction may allow one.
_MAX_ENUMERATED = 14

_NO_DIRECTION = np.zeros(2)


def acceleration_problem(
    instant: Instant,
    found: Sequence[PairKinematics],
    mu: FloatArray,
    directions: Sequence[FloatArray | None],
    edges: int,
) -> ConstraintAccelProblemData:
    """Return the acceleration-level problem of closed contacts with coefficients mu.

    Each contact has its unit direction of slip (2,), or None at rest, for a pyramid with ``edges`` edges.
    """
    sliding = np.array([i for i, d in enumerate(directions) if d is not None], dtype=np.int64)
    resting = np.array([i for i, d in enumerate(directions) if d is None], dtype=np.int64)
    spread = pyramid_tangents(edges // 2)
    nv = instant.a_free.size
    return ConstraintAccelProblemData(
        M=instant.M,
        tau=instant.M @ instant.a_free,
        N=np.array([local.L[0] for local in found]).reshape(-1, nv),
        kN=[local.bias[0] for local in found],
        Q=np.array([d @ local.L[1:] for d, local in zip(directions, found, strict=True) if d is not None]).reshape(
            -1, nv
        ),
        mu_sliding=mu[sliding],
        sliding_contacts=sliding,
        F=np.array([spread @ found[i].L[1:] for i in resting]).reshape(-1, nv),
        kF=np.array([spread @ found[i].bias[1:] for i in resting]).reshape(-1),
        mu_non_sliding=mu[resting],
        r=[edges // 2] * len(resting),
        non_sliding_contacts=resting,
    )


def choose_modes(
    phase: Phase,
    t: float,
    y: FloatArray,
    closed: Sequence[int],
    edges: int,
    slip_speed: float,
    slips: Mapping[int, FloatArray],
    *,
    opens: bool = False,
) -> tuple[list[ContactMode], list[int]]:
    """Return the contacts with a force and their modes, and the closed contacts without a force.

    The modes of ``phase`` are not used. In the state (t, y) none of the ``closed`` candidates, given by number,
    approaches. A contact slower than ``slip_speed`` [m/s] is at rest and gets a pyramid with ``edges`` edges. Contacts
    that have just reached their cone and begin to slip are the exception: ``slips`` has their directions (2,) by
    number. No solution, or several different ones, raises `InconsistentContact`; with ``opens`` not if one of several
    solutions has no force at the contacts in question.
    """
    if not closed:
        return [], []
    instant = phase.instant(t, y)
    found = [phase.candidates[i].local(phase.model, instant.kin) for i in closed]
    directions: list[FloatArray | None] = []
    for index, local in zip(closed, found, strict=True):
        speed = float(np.linalg.norm(local.u[1:]))
        if phase.candidates[index].mu == 0.0:
            directions.append(_NO_DIRECTION)  # without friction no contact sticks, and no direction is needed
        else:
            directions.append(local.u[1:] / speed if speed > slip_speed else slips.get(index))
    mu = np.array([phase.candidates[i].mu for i in closed])
    data = acceleration_problem(instant, found, mu, directions, edges)
    solution = _solve(data, directions, [phase.candidates[i].name for i in closed], t, opens)

    sides, unloaded, starting = [], [], set()
    load = _NEGLIGIBLE * float(np.abs(data.tau).max(initial=0.0))
    free = _NEGLIGIBLE * float(np.abs(instant.a_free).max(initial=0.0))
    for i, (index, local) in enumerate(zip(closed, found, strict=True)):
        direction = directions[i]
        if solution.forces.fN[i] <= load:
            if float(local.L[0] @ solution.acceleration) + local.bias[0] <= free:
                unloaded.append(index)
        elif direction is not None:
            sides.append(ContactMode(index, Mode.SLIDE, direction))
        else:
            a_t = local.L[1:] @ solution.acceleration + local.bias[1:]
            length = float(np.linalg.norm(a_t))
            if length <= free:
                sides.append(ContactMode(index, Mode.STICK, np.zeros(2)))
            else:
                starting.add(index)
                sides.append(ContactMode(index, Mode.SLIDE, a_t / length))
    return _refined(phase, t, y, sides, starting), unloaded


def _solve(
    data: ConstraintAccelProblemData, directions: Sequence[FloatArray | None], names: list[str], t: float, opens: bool
) -> AccelerationSolution:
    """Solve for the contact forces; raise `InconsistentContact` if there are none, several, or nearly so."""
    formed = form_acceleration_lcp(data)
    response = formed.MM.diagonal()[: data.nc]
    plain = np.einsum("ij,ij->i", formed.rows.J[: data.nc], formed.rows.Y[: data.nc])
    slips = np.array([direction is not None for direction in directions], dtype=bool)
    # with sliding friction and a response that is not positive, solutions vanish or multiply
    jammed = slips & (response <= MIN_RESPONSE * plain)
    contacts = tuple(name for name, jam in zip(names, jammed, strict=True) if jam)
    count = -1
    if contacts and len(formed.qq) <= _MAX_ENUMERATED:
        enumerated = lcp.enumerate_solutions(formed.problem, max_n=_MAX_ENUMERATED)
        if enumerated.complete and not enumerated.continuum:
            count = len(enumerated.solutions)
            free = [z for z in enumerated.solutions if not z[: data.nc][jammed].any()]
            if opens and count > 1 and free:
                return ConstraintSolver().solve_constraint_problem(data, z0=free[0])
    try:
        solution = ConstraintSolver().solve_constraint_problem(data)
    except ConstraintSolveError as error:
        if count < 0 and error.result.status in (lcp.Status.INFEASIBLE, lcp.Status.UNSOLVABLE):
            count = 0
        message = f"INCONSISTENT at t = {t:.9g} s: rigid friction leaves no acceleration ({error})"
        raise InconsistentContact(
            message, time=t, contacts=contacts or tuple(names), solutions=count, problem=data
        ) from error
    if contacts and (count != 1 or np.any(solution.forces.fN[jammed] > 0.0)):
        how = f"{count} accelerations obey rigid friction" if count > 1 else "the response to the normal force vanishes"
        message = f"INCONSISTENT at t = {t:.9g} s: {how} at {', '.join(contacts)}"
        raise InconsistentContact(message, time=t, contacts=contacts, solutions=count, problem=data)
    return solution


def _refined(phase: Phase, t: float, y: FloatArray, sides: list[ContactMode], starting: set[int]) -> list[ContactMode]:
    """Refine modes from the pyramid to the cone, which is wider: contacts inside the cone stick."""
    if not starting:
        return sides
    still = np.zeros(2)
    held = [ContactMode(side.index, Mode.STICK, still) if side.index in starting else side for side in sides]
    forces = Phase(phase.model, phase.candidates, held, phase.tau, 0.0, phase.slow).forces(t, y)[2]
    bounds = np.array([phase.candidates[side.index].mu for side in sides]) * forces.fN * (1.0 - _ON_CONE)
    begin = np.array([side.index in starting for side in sides])
    if np.all(np.linalg.norm(forces.fT[begin], axis=1) < bounds[begin]):
        return held
    return sides


# Approach speed, relative to the slip, that represents an infinitely small one: the impulse of a jam is independent of
# it.
_APPROACH = 1e-13


def impact_problem(
    model: Model, kin: Kinematics, found: Sequence[PairKinematics], candidates: Sequence[Candidate], edges: int
) -> ConstraintVelProblemData:
    """Return the impact problem of these contacts at the present velocity."""
    M = mass_matrix(model, kin)
    spread = pyramid_tangents(edges // 2)
    assert kin.v is not None
    return ConstraintVelProblemData(
        M=M,
        Mv=M @ kin.v,
        N=np.array([local.L[0] for local in found]),
        F=np.vstack([spread @ local.L[1:] for local in found]),
        mu=[candidate.mu for candidate in candidates],
        r=[edges // 2] * len(found),
    )


def law_of(given: ImpactLaw | None, candidates: Sequence[Candidate]) -> ImpactLaw:
    """Return the impact law of these contacts: Newton's with their restitution by default."""
    law: ImpactLaw = Newton() if given is None else given
    return law.of_materials([candidate.restitution for candidate in candidates])


def plastic_impact(data: ConstraintVelProblemData) -> FloatArray:
    """Return the velocity (nv,) after an impact that closes all contacts, without rebound.

    It is the closest motion, in the metric of M, without normal velocity at any contact. If the slip is slower than the
    loss by friction during the approach, there is no tangential velocity either. An impact with e = 0 differs: a block
    that rocks from corner to corner would continue, in ever shorter time.
    """
    blocks = data.blocks()
    u = blocks.J @ blocks.v_free
    approach = float(-u[: data.nc].min(initial=0.0))
    slip = np.abs(u[data.nc : data.nc + data.nr]).reshape(data.nc, -1).max(axis=1, initial=0.0)
    stops = (blocks.mu > 0.0) & (slip <= blocks.mu * approach)
    held = np.concatenate((np.ones(data.nc, dtype=bool), np.repeat(stops, blocks.r)))
    J, Y = blocks.J[: data.nc + data.nr][held], blocks.Y[: data.nc + data.nr][held]
    impulse = np.linalg.lstsq(J @ Y.T, J @ blocks.v_free, rcond=1e-12)[0]
    return np.asarray(blocks.v_free - impulse @ Y)


def jamming_impact(data: ConstraintVelProblemData, contact: int) -> FloatArray | None:
    """Return the velocity after an impact without collision: the impulse of a jammed contact (Genot 1999).

    The normal velocity is 0 before and after; in between, friction presses the bodies together until slip stops. Return
    None if no impulse has this effect.
    """
    problem = ImpactProblem(data, "an impact without collision")
    collision = problem.collisions[contact]
    u = collision.velocity(problem.v_minus)
    u[0] = -_APPROACH * float(np.linalg.norm(u[1:]))
    try:
        single = single_impact(collision, u, 0.0, "newton")
    except NoSeparationError:
        return None
    return np.asarray(problem.v_minus + single.impulse @ collision.Y)
