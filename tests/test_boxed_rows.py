"""Boxed rows: closed forms, every kind of bounds against enumeration, fields, files and certificates."""

from typing import Any

import numpy as np
import pytest
from boxed import BOUNDS, INF, H, box_fields, dense_box, dense_vector, random_problem, slider, solved
from hypothesis import given, settings
from hypothesis import strategies as st

import lcp
from contactlab import ConstraintSolveError, ConstraintSolver
from contactlab.constraint_solver.forces import certify_forces
from problem_data import ConstraintVelProblemData, ProblemDataError

# --- one mass in closed form ------------------------------------------------------------------------------------------


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


@settings(max_examples=40, deadline=None)
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
