"""Boxed rows: closed forms, every kind of bounds against enumeration, fields, files and certificates."""

from typing import Any

import numpy as np
import pytest
from boxed import BOUNDS, INF, H, box_fields, dense_box, dense_vector, random_problem, slider, solved
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import assert_messages

import lcp
from contactlab import ConstraintSolveError, ConstraintSolver
from contactlab.constraint_solver.discretized import form_discretized_lcp
from contactlab.constraint_solver.forces import certify_forces
from problem_data import ConstraintVelProblemData, ProblemDataError

# --- one mass in closed form ------------------------------------------------------------------------------------------


@pytest.mark.nojit
@pytest.mark.parametrize(
    ("v", "push", "force", "v_plus"),
    [
        (0.0, 3.0, -3.0, 0.0),  # sticks: friction balances the push
        (0.0, -4.9, 4.9, 0.0),
        (0.0, 9.0, -5.0, 0.04),  # breaks away: (9 - 5) h / m
        (0.0, -9.0, 5.0, -0.04),
        (1.0, 0.0, -5.0, 0.95),  # slides and slows down
        (-1.0, 2.0, 5.0, -0.93),
        (0.04, 0.0, -4.0, 0.0),  # stops within the step
        (0.0, 0.0, 0.0, 0.0),
    ],
)
def test_dry_friction_of_a_joint(v: float, push: float, force: float, v_plus: float) -> None:
    """|fB| <= 5 N: the force that stops the mass if it is less, else 5 N against the motion."""
    solution = ConstraintSolver().solve_discretized_problem(slider(v, push, lo=[-5.0], hi=[5.0]), H)
    np.testing.assert_allclose(solution.forces.fB, [force], atol=1e-14)
    np.testing.assert_allclose(solution.v_plus, [v_plus], atol=1e-15)
    np.testing.assert_allclose(solution.generalized_force, [force], atol=1e-14)
    assert solution.certificate.holds(1e-13)


@pytest.mark.parametrize(("target", "load"), [(0.05, 0.0), (0.5, 0.0), (-0.5, 0.0), (0.02, -12.0), (0.0, 40.0)])
def test_a_drive_of_limited_force(target: float, load: float) -> None:
    """kB = -target: the drive reaches its velocity, or pushes as hard as it can."""
    data = slider(0.0, load, kB=[-target], lo=[-10.0], hi=[10.0])
    solution = ConstraintSolver().solve_discretized_problem(data, H)
    wanted = 2.0 * target / H - load
    np.testing.assert_allclose(solution.forces.fB, [np.clip(wanted, -10.0, 10.0)], atol=1e-13)
    if abs(wanted) <= 10.0:
        np.testing.assert_allclose(solution.v_plus, [target], atol=1e-15)


@pytest.mark.nojit
@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("gamma", [0.0, 0.03])
@pytest.mark.parametrize("v", [-3.0, -0.01, 0.0, 0.004, 3.0])
def test_every_kind_of_bounds(name: str, gamma: float, v: float) -> None:
    """fB = clip(-(v + kB) / (h / m + gammaB), lo, hi), over a step and as an impulse; certified."""
    lo, hi = BOUNDS[name]
    data = slider(v, 0.0, kB=[0.1], gammaB=[gamma], lo=[lo], hi=[hi])
    step = ConstraintSolver().solve_discretized_problem(data, H)
    impact = ConstraintSolver().solve_impact_problem(data)
    for solution, h in ((step, H), (impact, 1.0)):
        force = np.clip(-(v + 0.1) / (h / 2.0 + gamma), lo, hi)
        np.testing.assert_allclose(solution.forces.fB, [force], rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(solution.v_plus, [v + h * force / 2.0], rtol=1e-13, atol=1e-13)
        assert solution.certificate.holds(1e-12)


def test_the_lcp_of_one_row_of_each_kind() -> None:
    """Sizes, signs and places: x of all rows that are not given, then y of those with two bounds or none."""
    kinds = {"B": np.eye(5), "lo": [1.0, -2.0, -INF, -4.0, -INF], "hi": [1.0, INF, 3.0, 6.0, INF]}
    data = ConstraintVelProblemData(M=np.eye(5), Mv=[0.1, 0.2, 0.3, 0.4, 0.5], gammaB=[5.0] * 5, **kinds)
    formed = form_discretized_lcp(data, 2.0)
    MM = np.diag([7.0, 7.0, 7.0, 7.0, 0.0, 7.0])  # h / m + gammaB; x of rows 1 to 4, y of rows 3 and 4
    MM[2, 4], MM[4, 2] = 1.0, -1.0
    MM[3, 5] = MM[5, 3] = -7.0
    assert np.array_equal(formed.MM, MM)
    assert not np.signbit(formed.MM[formed.MM == 0.0]).any()
    np.testing.assert_allclose(formed.qq, [0.2 - 14.0, -(0.3 + 21.0), 0.4 - 28.0, 0.5, 10.0, -0.5], rtol=1e-15)


# --- all classes together, against the dense mixed problem ------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("nb", "soft"), [(0, True), (2, True), (2, False)])
def test_all_classes_solve_the_dense_mixed_problem(seed: int, nb: int, soft: bool) -> None:
    """With contacts, friction, a limit, bilateral and boxed rows the solution satisfies the stated problem."""
    data = random_problem(seed, nb=nb, soft=soft)
    solution = ConstraintSolver().solve_discretized_problem(data, H)
    residuals = lcp.residuals(dense_box(data, H), dense_vector(data, solution))
    assert residuals.scaled < 1e-12
    assert solution.certificate.worst < 1e-10
    assert ((data.lo <= solution.forces.fB) & (solution.forces.fB <= data.hi)).all()


BOUND = st.floats(-30.0, 30.0)
BOX = st.one_of(
    st.tuples(BOUND, BOUND).map(lambda pair: (min(pair), max(pair))),
    BOUND.map(lambda bound: (bound, bound)),
    BOUND.map(lambda bound: (bound, INF)),
    BOUND.map(lambda bound: (-INF, bound)),
    st.just((-INF, INF)),
)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    nc=st.integers(0, 1),
    nl=st.integers(0, 1),
    nb=st.integers(0, 2),
    boxes=st.lists(BOX, min_size=1, max_size=3),
    soft=st.booleans(),
)
def test_enumeration_finds_the_same_forces(
    seed: int, nc: int, nl: int, nb: int, boxes: list[tuple[float, float]], soft: bool
) -> None:
    """Every basis of the dense problem is tried: our solution is among these, and the only one without friction.

    Where a box is so narrow that rounding hides a solution the enumeration says that its list is not complete.
    """
    lo, hi = np.array(boxes).T
    data = random_problem(seed, nc=nc, nl=nl, nb=nb, nbox=len(boxes), soft=soft, lo=lo, hi=hi)
    found = lcp.enumerate_solutions(dense_box(data, H))
    try:
        ours = dense_vector(data, ConstraintSolver().solve_discretized_problem(data, H))
    except ConstraintSolveError:
        # More rows than the bodies have motions may exclude one another.
        assert not found.solutions
        return
    scale = max(1.0, float(np.abs(ours).max()))
    assert lcp.residuals(dense_box(data, H), ours).scaled < 1e-10
    if not found.complete:
        return
    if not found.continuum:
        assert any(np.abs(ours - other).max() < 1e-9 * scale for other in found.solutions)
    if nc == 0:
        assert len(found.solutions) == 1


# --- transformations without effect -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_order_units_and_direction_of_rows_do_not_matter(seed: int) -> None:
    """Rows permuted, scaled by c > 0 (forces by 1/c) or reversed: the same motion and generalised force."""
    data = random_problem(seed, nb=1)
    before, box = solved(data), box_fields(data)
    order = np.array([2, 0, 1])
    c = np.array([1e-3, 7.0, 400.0])
    changes = {
        "permuted": ({name: value[order] for name, value in box.items()}, lambda f: f[order]),
        "scaled": (
            {
                "B": c[:, None] * box["B"],
                "kB": c * box["kB"],
                "gammaB": c**2 * box["gammaB"],
                "lo": box["lo"] / c,
                "hi": box["hi"] / c,
            },
            lambda f: f / c,
        ),
        "reversed": (
            {"B": -box["B"], "kB": -box["kB"], "gammaB": box["gammaB"], "lo": -box["hi"], "hi": -box["lo"]},
            lambda f: -f,
        ),
    }
    for name, (fields, forces) in changes.items():
        after = solved(random_problem(seed, nb=1, **fields))
        np.testing.assert_allclose(after.v_plus, before.v_plus, rtol=1e-9, atol=1e-11, err_msg=name)
        np.testing.assert_allclose(
            after.generalized_force, before.generalized_force, rtol=1e-9, atol=1e-9, err_msg=name
        )
        np.testing.assert_allclose(after.forces.fB, forces(before.forces.fB), rtol=1e-8, atol=1e-8, err_msg=name)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("nb", [0, 2])
def test_a_row_given_twice_with_shared_bounds_is_the_row_once(seed: int, nb: int) -> None:
    """Each row twice, with a third and two thirds of the bounds: the same generalised force."""
    data = random_problem(seed, nb=nb, gammaB=[0.0] * 3)
    box = {name: np.concatenate((value, value)) for name, value in box_fields(data).items()}
    share = np.repeat([1.0 / 3.0, 2.0 / 3.0], 3)
    twice = random_problem(seed, nb=nb, **(box | {"lo": share * box["lo"], "hi": share * box["hi"]}))
    before, after = solved(data), solved(twice)
    np.testing.assert_allclose(after.v_plus, before.v_plus, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(after.generalized_force, before.generalized_force, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_limits_and_equations_are_boxed_rows_too(seed: int) -> None:
    """A limit is a row with bounds (0, inf), a bilateral row one without bounds: the same motion and forces."""
    data = random_problem(seed, nl=2, nb=2, nbox=0)
    L, G = np.asarray(data.L @ np.eye(6)), np.asarray(data.G @ np.eye(6))
    boxed = random_problem(
        seed,
        nl=2,
        nb=2,
        nbox=0,
        **{name: None for name in ("L", "kL", "gammaL", "G", "kG")},
        B=np.vstack((L, G)),
        kB=np.concatenate((data.kL, data.kG)),
        gammaB=np.concatenate((data.gammaL, [0.0, 0.0])),
        lo=[0.0, 0.0, -INF, -INF],
        hi=[INF] * 4,
    )
    before, after = solved(data), solved(boxed)
    np.testing.assert_allclose(after.v_plus, before.v_plus, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(after.forces.fB[:2], before.forces.fL, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(after.forces.fB[2:], before.forces.fG, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("box", [{"lo": [-5.0], "hi": [5.0]}, {"lo": [-5.0], "hi": [INF]}, {"lo": [-INF], "hi": [INF]}])
@pytest.mark.parametrize("kB", [-1.0, 1.0])
def test_a_row_that_equations_hold(box: dict[str, list[float]], kB: float) -> None:
    """No motion is possible: a drive pushes with its bound; without a bound an error reports no solution."""
    data = slider(1.0, 0.0, G=[[1.0]], kB=[kB], **box)
    bound = np.array(box["hi"] if kB < 0.0 else box["lo"])
    if np.isinf(bound).any():
        with pytest.raises(ConstraintSolveError) as caught:
            ConstraintSolver().solve_discretized_problem(data, H)
        assert isinstance(caught.value.result, lcp.Result)
        assert caught.value.result.status is lcp.Status.INFEASIBLE
        return
    solution = solved(data)
    np.testing.assert_allclose(solution.forces.fB, bound)
    np.testing.assert_allclose(solution.forces.fG, -100.0 - bound)
    np.testing.assert_allclose(solution.v_plus, [0.0], atol=1e-15)


@pytest.mark.parametrize("bound", [1e3, 1e6])
def test_bounds_far_beyond_the_force_do_not_spoil_it(bound: float) -> None:
    """A friction of 3 N under a bound of a million: relative to that bound it is known to rounding."""
    solution = ConstraintSolver().solve_discretized_problem(slider(0.0, 3.0, lo=[-bound], hi=[bound]), H)
    np.testing.assert_allclose(solution.forces.fB, [-3.0], atol=4.0 * np.finfo(float).eps * bound)


# --- helpers, warm starts, base and update ----------------------------------------------------------------------------


@pytest.mark.parametrize("nb", [0, 2])
def test_forces_unpacked_from_an_lcp_vector(nb: int) -> None:
    """The solver's z gives its forces; they move the body and add up through all rows; wrong lengths are named."""
    data = random_problem(2, nb=nb)
    formed = form_discretized_lcp(data, H)
    solution = solved(data)
    populate = ConstraintSolver.populate_packed_constraint_forces_from_lcp_solution
    forces = populate(data, formed, solution.result.z, H)
    assert np.array_equal(forces.packed(), solution.forces.packed())
    change = H * ConstraintSolver.compute_generalized_velocity_change(data, forces)
    np.testing.assert_allclose(data.solve_inertia(data.Mv) + change, solution.v_plus, atol=1e-12)
    wanted = sum(getattr(data, row).T @ getattr(forces, f"f{row}") for row in "NFLGB")
    np.testing.assert_allclose(solution.generalized_force, wanted, atol=1e-11)
    np.testing.assert_allclose(
        ConstraintSolver.compute_generalized_force_from_constraint_forces(data, forces), wanted, atol=1e-11
    )
    assert_messages(
        ProblemDataError,
        ("variables x, y of the boxed rows, or", lambda: populate(data, formed, [1.0], H)),
        ("variables x, y of the boxed rows", lambda: ConstraintSolver().solve_discretized_problem(data, H, z0=[1.0])),
    )


def test_any_boxed_force_wrong_by_a_millinewton_is_seen() -> None:
    """Each boxed force in turn changed, the motion recomputed: the certificate rises far above rounding."""
    data = random_problem(4)
    solution = solved(data)
    first = data.nc + data.nr + data.nl + data.nb
    for b in range(data.nbox):
        packed = solution.forces.packed()
        packed[first + b] += 1e-3
        v_plus = data.blocks().v_free + H * packed @ data.blocks().Y
        assert certify_forces(data, H, solution.result.z.copy(), packed, v_plus).worst > 1e-6, b


def test_values_that_are_not_finite_are_not_certified() -> None:
    """A NaN in the velocity makes every violation of the boxed rows infinite."""
    data = slider(0.0, 3.0, lo=[-5.0], hi=[5.0])
    solution = solved(data)
    certificate = certify_forces(data, H, solution.result.z.copy(), solution.forces.packed(), np.array([np.nan]))
    assert certificate.box_bounds.violation == certificate.box_complementarity.violation == INF


# --- the data ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "field", "text"),
    [
        ({"lo": None}, "lo", "missing, wanted shape (2,)"),
        ({"hi": None}, "hi", "missing, wanted shape (2,)"),
        ({"lo": [0.0]}, "lo", "shape (1,), wanted (2,): one entry per row of B"),
        ({"hi": [[1.0, 1.0]]}, "hi", "shape (1, 2), wanted (2,)"),
        ({"lo": [0.0, np.nan]}, "lo", "lo[1] = nan, wanted a number or -inf"),
        ({"hi": [np.nan, 1.0]}, "hi", "hi[0] = nan, wanted a number or inf"),
        ({"lo": [INF, 0.0]}, "lo", "lo[0] = inf"),
        ({"hi": [1.0, -INF]}, "hi", "hi[1] = -inf"),
        ({"lo": [0.0, 2.0]}, "lo", "lo[1] = 2.0, wanted <= hi[1] = 1.0"),
        ({"lo": [0.0, -1.5e308], "hi": [1.0, 1.5e308]}, "hi", "overflows, wanted an infinite bound"),
        ({"lo": ["a", "b"]}, "lo", "wanted real numbers"),
        ({"kB": [1.0]}, "kB", "one entry per row of B"),
        ({"gammaB": [0.0, -1.0]}, "gammaB", "gammaB[1] = -1.0, wanted >= 0"),
        ({"B": [[1.0, 0.0, 0.0]] * 2}, "B", "shape (2, 3), wanted"),
        ({"B": [[1.0, 0.0], [0.0, np.nan]]}, "B", "B[1, 1] = nan"),
        ({"B": None}, "lo", "shape (2,), wanted (0,)"),
        ({"B": None, "lo": None, "hi": None, "kB": [1.0]}, "kB", "shape (1,), wanted (0,)"),
    ],
)
def test_bad_boxed_rows_are_named(changes: dict[str, Any], field: str, text: str) -> None:
    """Missing, misshapen, crossed and meaningless bounds are refused with field, entry and value."""
    fields = {"M": np.eye(2), "Mv": [0.0, 0.0], "B": np.eye(2), "lo": [-1.0, -1.0], "hi": [1.0, 1.0]}
    with pytest.raises(ProblemDataError) as caught:
        ConstraintVelProblemData(**(fields | changes))
    assert caught.value.field == field
    assert text in str(caught.value)


def test_blocks_put_boxed_rows_last() -> None:
    """[N; F; L; G; B] in J, k and gamma, the bounds at the end; from_blocks gives the same fields back."""
    data = random_problem(5, nb=2)
    blocks = data.blocks()
    assert blocks._fields[-6:] == ("nbox", "lo", "hi", "tree_starts", "scaleG", "errorG")
    first = data.nc + data.nr + data.nl + data.nb
    assert np.array_equal(blocks.J[first:], np.asarray(data.B @ np.eye(data.nv)))
    assert np.array_equal(blocks.k[first:], data.kB)
    assert np.array_equal(blocks.gamma[first:], data.gammaB)
    assert not blocks.gamma[first - data.nb : first].any()
    again = ConstraintVelProblemData.from_blocks(blocks, solve_inertia=data.solve_inertia)
    for name, value in box_fields(data).items():
        assert np.array_equal(np.asarray(getattr(again, name)), value), name
    assert again.kG.tolist() == data.kG.tolist()
