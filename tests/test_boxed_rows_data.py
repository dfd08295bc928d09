"""Boxed rows as data: checks, blocks, packed forces, files; and the helpers that take them apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from boxed import INF, H, box_fields, random_problem, slider, solved

import problem_data
from contactlab import ConstraintSolver
from contactlab.formulation.discretized import form_discretized_lcp
from contactlab.formulation.forces import certify_forces
from problem_data import ConstraintVelProblemData, ProblemDataError

# --- helpers, warm starts, base and update ----------------------------------------------------------------------------


@pytest.mark.parametrize("nb", [0, 2])
def test_base_and_update_carry_boxed_rows(nb: int) -> None:
    """Update equals the direct LCP bit for bit; new bounds, also of other kinds, are taken from the new data."""
    data = random_problem(1, nb=nb)
    base = ConstraintSolver.construct_base_discretized_time_lcp(data)
    bare = {f"gamma{name}": None for name in "NFELB"}
    assert np.array_equal(base.MM, form_discretized_lcp(random_problem(1, nb=nb, **bare), 1.0).MM)
    for changes in ({}, {"lo": [-1.0, -INF, 2.0], "hi": [1.0, INF, 2.0]}):
        other = random_problem(1, nb=nb, **changes)
        updated = ConstraintSolver.update_discretized_time_lcp(base, other, H)
        direct = form_discretized_lcp(other, H)
        assert np.array_equal(updated.MM, direct.MM)
        assert np.array_equal(updated.qq, direct.qq)
    with pytest.raises(ProblemDataError, match="nbox = 1, wanted 3"):
        ConstraintSolver.update_discretized_time_lcp(base, random_problem(1, nb=nb, nbox=1), H)
    given_forces = random_problem(1, nb=nb, lo=[0.0] * 3, hi=[0.0] * 3)
    with pytest.raises(ProblemDataError, match="^discretized: of size"):
        ConstraintSolver.populate_packed_constraint_forces_from_lcp_solution(given_forces, updated, [], H)


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
    with pytest.raises(ProblemDataError, match="variables x, y of the boxed rows, or"):
        populate(data, formed, [1.0], H)
    with pytest.raises(ProblemDataError, match="variables x, y of the boxed rows"):
        ConstraintSolver().solve_discretized_problem(data, H, z0=[1.0])


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


def test_fields_and_their_defaults() -> None:
    """kB and gammaB are zero where missing; vectors are read-only copies; B takes any form of operator."""
    lo = np.array([-1.0, -INF])
    data = ConstraintVelProblemData(M=np.eye(2), Mv=[0.0, 0.0], B=np.eye(2), lo=lo, hi=[INF, 3])
    lo[:] = 7.0
    assert data.nbox == 2
    assert data.lo.tolist() == [-1.0, -INF]
    assert data.kB.tolist() == data.gammaB.tolist() == [0.0, 0.0]
    assert not any(getattr(data, name).flags.writeable for name in ("kB", "gammaB", "lo", "hi"))
    assert "boxed rows=2" in repr(data)
    pair = (lambda v: v[:1], lambda f: np.array([f[0], 0.0]))
    functions = ConstraintVelProblemData(M=np.eye(2), Mv=[0.0, 0.0], B=pair, kB=[0.0], lo=[0.0], hi=[1.0])
    assert functions.blocks().J.tolist() == [[1.0, 0.0]]
    none = ConstraintVelProblemData(M=np.eye(2), Mv=[0.0, 0.0])
    assert none.nbox == none.lo.size == none.hi.size == 0
    assert "boxed" not in repr(none)


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


def test_a_saved_problem_gives_the_same_bits(tmp_path: Any) -> None:
    """Infinite bounds included, and its solution too."""
    data = random_problem(6, nb=2, lo=[-INF, -1.0, 4.0], hi=[INF, INF, 4.0])
    problem_data.save(tmp_path / "boxed.npz", data)
    again = problem_data.load(tmp_path / "boxed.npz")
    assert isinstance(again, ConstraintVelProblemData)
    for name, a, b in zip(data.blocks()._fields, data.blocks(), again.blocks(), strict=True):
        assert np.array_equal(a, b), name
    before, after = (ConstraintSolver().solve_discretized_problem(one, H) for one in (data, again))
    assert np.array_equal(before.forces.packed(), after.forces.packed())
