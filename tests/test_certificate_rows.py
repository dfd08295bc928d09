"""Every row of the mechanical check in isolation: a force or term changed by a known amount, the violation in its unit.

Each case starts from a solved problem with all softenings and all terms and breaks one thing, so that the expected
violation is known in closed form: gamma times the change of a force, or the change of a term.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from contactlab import ConstraintSolver
from contactlab.constraint_solver.certificate import ACCELERATION_FORMULAS, Certificate
from contactlab.constraint_solver.forces import certify_forces
from problem_data import ConstraintAccelProblemData, ConstraintVelProblemData

H = 0.02


def soft_body(**more: Any) -> ConstraintVelProblemData:
    """A particle in space: a contact that slides along x, a limit in y, a tie in a fourth coordinate, all terms.

    Three more coordinates have boxed rows: one held between its bounds, one whose force is at its upper bound, and one
    held by a force without lower bound.
    """
    fields: dict[str, Any] = {
        "M": np.diag([2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0]),
        "Mv": [2.0, -0.2, -0.4, 0.3, 0.05, -0.4, -0.02],
        "N": [[0, 0, 1, 0, 0, 0, 0]],
        "kN": [0.01],
        "gammaN": [2e-3],
        "F": [[1, 0, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0, 0]],
        "kF": [0.05, 0.02],
        "gammaF": [1e-3, 2e-3],
        "gammaE": [5e-3],
        "L": [[0, 1, 0, 0, 0, 0, 0]],
        "kL": [-0.03],
        "gammaL": [4e-3],
        "G": [[0, 0, 0, 1, 0, 0, 0]],
        "kG": [0.1],
        "B": [[0, 0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 0, 1, 0], [0, 0, 0, 0, 0, 0, 1]],
        "kB": [0.01, 0.02, 0.03],
        "gammaB": [1e-3, 2e-3, 3e-3],
        "lo": [-8.0, -5.0, -np.inf],
        "hi": [8.0, 6.0, 7.0],
        "mu": [0.3],
        "r": [2],
    }
    return ConstraintVelProblemData(**(fields | more))


class Solved:
    """A solved problem whose data, forces or velocity may be changed before it is certified."""

    def __init__(self) -> None:
        self.data = soft_body()
        solution = ConstraintSolver().solve_discretized_problem(self.data, H)
        assert solution.certificate.worst < 1e-13
        self.z = solution.result.z.copy()  # fN, fF+ 2, fF- 2, lambda, fL
        self.packed = solution.forces.packed()
        self.v_plus = solution.v_plus.copy()
        assert (self.z[[0, 3, 5, 6]] > 0.0).all()

    def certificate(self) -> Certificate:
        return certify_forces(self.data, H, self.z, self.packed, self.v_plus)


def test_every_row_is_there() -> None:
    """The softened particle has a scale for each condition: none is idle in this file."""
    assert all(check.scale > 0.0 for check in Solved().certificate().checks().values())


@pytest.mark.parametrize(
    ("field", "condition"),
    [("kN", "normal_gap"), ("gammaN", "normal_gap"), ("kL", "limit_gap"), ("gammaL", "limit_gap"), ("kG", "bilateral")],
)
def test_a_term_that_is_changed_shows_in_its_own_gap(field: str, condition: str) -> None:
    """Lower kN by 1e-3 m/s, or gammaN by a half: the gap is short by that, or by gamma fN / 2; nothing else is."""
    one = Solved()
    assert all(check.violation < 1e-14 for check in one.certificate().checks().values())
    old = getattr(one.data, field)
    soft = field.startswith("gamma")
    one.data = soft_body(**{field: old / 2.0 if soft else old - 1e-3})
    force = one.packed[0] if field == "gammaN" else one.packed[3]
    wanted = float(old[0]) / 2.0 * force if soft else 1e-3
    checks = one.certificate().checks()
    assert checks[condition].violation == pytest.approx(wanted, rel=1e-10)
    related = {condition, condition.replace("gap", "complementarity")}
    assert all(check.scaled < 1e-12 for name, check in checks.items() if name not in related)


@pytest.mark.parametrize("field", ["kN", "kL"])
def test_a_gap_that_opens_under_a_force_shows_in_complementarity(field: str) -> None:
    """Raise kN (kL) by 1e-3: the row is open by that, its force is not zero, their product is a power."""
    one = Solved()
    one.data = soft_body(**{field: getattr(one.data, field) + 1e-3})
    checks = one.certificate().checks()
    name, force = ("normal", one.packed[0]) if field == "kN" else ("limit", one.packed[3])
    assert checks[f"{name}_gap"].violation == 0.0
    assert checks[f"{name}_complementarity"].violation == pytest.approx(force * 1e-3, rel=1e-9)
    assert all(check.scaled < 1e-12 for other, check in checks.items() if not other.startswith(name))


def test_a_slip_term_shows_in_dissipation() -> None:
    """Faster slip by 0.1 m/s: the softened cone leaves room for more. Slip turned around: friction drives."""
    one = Solved()
    s = float((one.data.F @ one.v_plus + one.data.kF)[0])
    assert s > 0.0
    assert one.packed[1] < 0.0
    one.data = soft_body(kF=[one.data.kF[0] + 0.1, one.data.kF[1]])
    checks = one.certificate().checks()
    slack = float(one.z[5])
    assert checks["maximum_dissipation"].violation == pytest.approx(5e-3 * 0.1 * (slack + 0.1), rel=1e-10)
    assert checks["dissipation"].violation == 0.0
    assert all(check.scaled < 1e-12 for name, check in checks.items() if name not in ("maximum_dissipation", "cone"))
    one.data = soft_body(kF=[0.05 - 2.0 * s, 0.02], gammaE=[0.0], gammaF=[0.0, 0.0])
    power = one.packed[1] * -s + one.packed[2] * float((one.data.F @ one.v_plus + one.data.kF)[1])
    assert one.certificate().dissipation.violation == pytest.approx(power, rel=1e-10)


@pytest.mark.parametrize(("field", "factor"), [("gammaE", 0.5), ("gammaF", 0.5)])
def test_softening_of_friction_shows_in_cone_and_dissipation(field: str, factor: float) -> None:
    """Half of gammaE: the cone is overstepped by gammaE lambda / 2. Half of gammaF: the balance of powers is off."""
    one = Solved()
    slack = float(one.z[5])
    one.data = soft_body(**{field: factor * getattr(one.data, field)})
    certificate = one.certificate()
    if field == "gammaE":
        assert certificate.cone.violation == pytest.approx(0.5 * 5e-3 * slack, rel=1e-10)
        wanted = 0.5 * 5e-3 * slack**2
    else:
        gained = 0.5 * 1e-3 * float(one.z[3])  # the slack that the stiffer friction row leaves
        wanted = 5e-3 * gained * (slack + gained)
    assert certificate.maximum_dissipation.violation == pytest.approx(wanted, rel=1e-9)
    touched = ("cone", "maximum_dissipation")
    assert all(check.scaled < 1e-12 for name, check in certificate.checks().items() if name not in touched)


def test_friction_coefficient_shows_in_the_cone() -> None:
    """mu smaller by 0.01: friction is too large by 0.01 fN."""
    one = Solved()
    one.data = soft_body(mu=[0.29])
    assert one.certificate().cone.violation == pytest.approx(0.01 * one.packed[0], rel=1e-10)


@pytest.mark.parametrize(("place", "packed", "value"), [(0, 0, -0.7), (6, 3, -0.2), (1, None, -0.3), (4, None, -0.4)])
def test_a_negative_force_shows_in_the_signs(place: int, packed: int | None, value: float) -> None:
    """fN, fL, an edge fF+ and an edge fF-, each in newtons."""
    one = Solved()
    one.z[place] = value
    if packed is not None:
        one.packed[packed] = value
    assert one.certificate().force_sign.violation == -value


@pytest.mark.parametrize(
    ("field", "row", "change", "condition", "violation"),
    [
        ("lo", 0, 6.0, "box_bounds", lambda fB: -2.0 - fB[0]),
        ("hi", 1, -0.5, "box_bounds", lambda fB: 0.5),
        ("hi", 2, -7.5, "box_bounds", lambda fB: fB[2] + 0.5),
        ("kB", 2, 1e-3, "box_gap", lambda fB: 1e-3),
        ("gammaB", 2, -1e-3, "box_gap", lambda fB: -1e-3 * fB[2]),
        ("kB", 2, -1e-3, "box_complementarity", lambda fB: 1e-3 * (7.0 - fB[2])),
        ("kB", 0, 1e-3, "box_complementarity", lambda fB: 1e-3 * (fB[0] + 8.0)),
        ("kB", 0, -1e-3, "box_complementarity", lambda fB: 1e-3 * (8.0 - fB[0])),
        ("gammaB", 0, 1e-3, "box_complementarity", lambda fB: -1e-3 * fB[0] * (8.0 - fB[0])),
        ("hi", 1, 0.5, "box_complementarity", lambda fB: 0.5 * 0.248),
    ],
)
def test_boxed_rows_show_in_their_own_conditions(
    field: str, row: int, change: float, condition: str, violation: Callable[[np.ndarray], float]
) -> None:
    """A bound, a term or a softening changed: newtons over a bound, a rate nothing may hold, a power."""
    one = Solved()
    fB = one.packed[5:]
    changed = getattr(one.data, field).copy()
    changed[row] += change
    one.data = soft_body(**{field: changed})
    checks = one.certificate().checks()
    assert checks[condition].violation == pytest.approx(violation(fB), rel=1e-9)
    assert checks[condition].scaled > 1e-4
    assert all(check.scaled < 1e-12 for name, check in checks.items() if not name.startswith("box"))


def acceleration_certificate(fields: dict[str, Any], **changes: Any) -> Certificate:
    """Solve the problem, change its data, certify the solution on the changed data."""
    solution = ConstraintSolver().solve_constraint_problem(ConstraintAccelProblemData(**fields))
    changed = ConstraintAccelProblemData(**(fields | changes))
    z, packed = solution.result.z, solution.forces.packed()
    return certify_forces(changed, 1.0, z, packed, solution.acceleration, formulas=ACCELERATION_FORMULAS)


FIELDS: dict[str, Any] = {
    "M": np.eye(4),
    "tau": [3.0, -2.0, -10.0, 1.0],
    "N": [[0, 0, 1, 0], [0, 0, 1, 0.5]],
    "kN": [0.0, 0.2],
    "Q": [[0, 1, 0, 0]],
    "mu_sliding": [0.1],
    "sliding_contacts": [1],
    "F": [[1, 0, 0, 0]],
    "kF": [0.1],
    "mu_non_sliding": [0.2],
    "r": [1],
    "L": [[0, 1, 0, 0]],
    "kL": [0.1],
    "G": [[0, 0, 0, 1]],
    "kG": [0.3],
}


@pytest.mark.parametrize(
    ("field", "change", "condition", "violation"),
    [
        ("kN", [-1e-3, 0.0], "normal_gap", 1e-3),
        ("kL", [-1e-3], "limit_gap", 1e-3),
        ("kG", [1e-3], "bilateral", 1e-3),
        ("kG", [-1e-3], "bilateral", 1e-3),
    ],
)
def test_each_term_at_acceleration_level(field: str, change: list[float], condition: str, violation: float) -> None:
    """A term changed by 1e-3 m/s^2 shows in its own row and in no other."""
    fields = FIELDS | {"kN": [0.0, 0.15]}  # both contacts carry: N1 and N2 agree on a_z = 0
    certificate = acceleration_certificate(fields, **{field: np.add(fields[field], change)})
    assert certificate.checks()[condition].violation == pytest.approx(violation, rel=1e-9)
    related = (condition, condition.replace("gap", "complementarity"))
    assert all(check.scaled < 1e-12 for name, check in certificate.checks().items() if name not in related)


def test_static_friction_and_its_term_at_acceleration_level() -> None:
    """A smaller mu shows in the cone, kF turned around in the sign of the dissipation."""
    solution = ConstraintSolver().solve_constraint_problem(ConstraintAccelProblemData(**FIELDS))
    fN, fF = solution.forces.fN, solution.forces.fF
    assert abs(fF[0]) == pytest.approx(0.2 * fN[0])
    cone = acceleration_certificate(FIELDS, mu_non_sliding=[0.15]).cone
    assert cone.violation == pytest.approx(0.05 * fN[0], rel=1e-10)
    slip = solution.acceleration[0] + 0.1
    checks = acceleration_certificate(FIELDS, kF=[0.1 - 2.0 * slip]).checks()
    assert checks["dissipation"].violation == pytest.approx(abs(slip * fF[0]), rel=1e-10)
    touched = ("dissipation", "maximum_dissipation")
    assert all(check.scaled < 1e-12 for name, check in checks.items() if name not in touched)
