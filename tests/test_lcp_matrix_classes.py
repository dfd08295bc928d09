"""Matrix classes: verdicts against exact oracles, witnesses checked in rationals, borderline and scaled data."""

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import lcp
from lcp import catalog
from lcp.matrix_classes import (
    ClassVerdict,
    classify,
    is_column_sufficient,
    is_copositive,
    is_copositive_plus,
    is_h_plus_matrix,
    is_k_matrix,
    is_p_matrix,
    is_pd_matrix,
    is_psd_matrix,
    is_row_sufficient,
    is_semimonotone,
    is_strictly_copositive,
    is_strictly_semimonotone,
    is_sufficient,
    is_z_matrix,
)

Matrix = np.ndarray
HORN = np.array(
    [[1, -1, 1, 1, -1], [-1, 1, -1, 1, 1], [1, -1, 1, -1, 1], [1, 1, -1, 1, -1], [-1, 1, 1, -1, 1]], dtype=float
)


def rational(M: Matrix) -> list[list[Fraction]]:
    return [[Fraction(float(a)) for a in row] for row in M]


def image(M: Matrix, x: Matrix) -> list[Fraction]:
    y = [Fraction(float(a)) for a in x]
    return [sum((a * b for a, b in zip(row, y, strict=True)), Fraction(0)) for row in rational(M)]


def form(M: Matrix, x: Matrix) -> Fraction:
    return sum((Fraction(float(a)) * b for a, b in zip(x, image(M, x), strict=True)), Fraction(0))


def minor(M: Matrix, indices: tuple[int, ...]) -> Fraction:
    """Laplace expansion, in rationals."""
    A = [[rational(M)[i][j] for j in indices] for i in indices]

    def expand(rows: list[list[Fraction]]) -> Fraction:
        if not rows:
            return Fraction(1)
        terms = (
            (-1) ** j * rows[0][j] * expand([row[:j] + row[j + 1 :] for row in rows[1:]])
            for j in range(len(rows))
            if rows[0][j]
        )
        return sum(terms, Fraction(0))

    return expand(A)


def subsets(n: int) -> Iterator[tuple[int, ...]]:
    for k in range(1, n + 1):
        yield from itertools.combinations(range(n), k)


def feasible(A: Matrix, b: Matrix, *, total: bool = False) -> bool:
    """Whether some x >= 0, with sum 1 if ``total``, has A x <= b."""
    n = A.shape[1]
    equation = {"A_eq": np.ones((1, n)), "b_eq": [1.0]} if total else {}
    return bool(linprog(np.zeros(n), A_ub=A, b_ub=b, method="highs", **equation).status == 0)


def semimonotone(M: Matrix) -> bool:
    return not any(feasible(M[np.ix_(a, a)], -np.ones(len(a))) for a in subsets(len(M)))


def strictly_semimonotone(M: Matrix) -> bool:
    return not any(feasible(M[np.ix_(a, a)], np.zeros(len(a)), total=True) for a in subsets(len(M)))


def copositive_plus(M: Matrix) -> bool:
    S = M + M.T
    if not semimonotone(S):
        return False
    for a in subsets(len(M)):
        columns = S[:, list(a)]
        k = len(a)
        found = linprog(
            -columns.sum(axis=0),
            A_eq=np.vstack([columns[list(a)], np.ones((1, k))]),
            b_eq=np.concatenate([np.zeros(k), [1.0]]),
            method="highs",
        )
        if found.status == 0 and -found.fun > 1e-7:
            return False
    return True


def column_sufficient(M: Matrix) -> bool:
    """In each orthant, s_i x_i >= 0 and s_i (M x)_i <= 0: no (M x)_k with x_k = s_k may differ from zero."""
    n = len(M)
    for signs in itertools.product((1.0, -1.0), repeat=n):
        s = np.array(signs)
        A = s[:, None] * M * s
        for k in range(n):
            bounds: list[tuple[float, float | None]] = [(0.0, None)] * n
            bounds[k] = (1.0, 1.0)
            # The presolve of HiGHS calls some unbounded programs infeasible.
            options = {"presolve": False}
            found = linprog(A[k], A_ub=A, b_ub=np.zeros(n), bounds=bounds, method="highs", options=options)
            assert found.status in (0, 2, 3), found.message
            if found.status == 3 or (found.status == 0 and found.fun < -1e-7):
                return False
    return True


def comparison(M: Matrix) -> Matrix:
    return np.abs(np.diag(np.diag(M))) - np.abs(M - np.diag(np.diag(M)))


def p_matrix(M: Matrix) -> bool:
    return all(minor(M, a) > 0 for a in subsets(len(M)))


def psd(M: Matrix) -> bool:
    return all(minor(M + M.T, a) >= 0 for a in subsets(len(M)))


ORACLES: list[tuple[Callable[[Matrix], ClassVerdict], Callable[[Matrix], bool]]] = [
    (is_p_matrix, p_matrix),
    (is_psd_matrix, psd),
    (is_pd_matrix, lambda M: p_matrix(M + M.T)),
    (is_z_matrix, lambda M: bool((M - np.diag(np.diag(M)) <= 0).all())),
    (is_k_matrix, lambda M: bool((M - np.diag(np.diag(M)) <= 0).all()) and p_matrix(M)),
    (is_h_plus_matrix, lambda M: bool((np.diag(M) > 0).all()) and p_matrix(comparison(M))),
    (is_copositive, lambda M: semimonotone(M + M.T)),
    (is_strictly_copositive, lambda M: strictly_semimonotone(M + M.T)),
    (is_copositive_plus, copositive_plus),
    (is_semimonotone, semimonotone),
    (is_strictly_semimonotone, strictly_semimonotone),
    (is_column_sufficient, column_sufficient),
    (is_row_sufficient, lambda M: column_sufficient(M.T)),
]


def check_witness(M: Matrix, verdict: ClassVerdict) -> None:
    """The witness breaks the condition of its class in rational arithmetic."""
    witness, name = verdict.witness, verdict.name
    assert witness is not None
    x = witness.vector
    if name == "Z" or (name == "K" and x is None):
        i, j = witness.indices
        assert i != j
        assert M[i, j] > 0
        return
    if name == "P":
        assert minor(M, witness.indices) <= 0
    assert x is not None, (M, verdict)
    assert x.any()
    w = image(M, x)
    used = np.flatnonzero(x)
    if name == "P":
        assert all(Fraction(float(x[i])) * w[i] <= 0 for i in used)
    elif name == "PSD":
        assert form(M, x) < 0
    elif name == "PD":
        assert form(M, x) <= 0
    elif name in ("column sufficient", "row sufficient"):
        image_of = image(M if name.startswith("c") else M.T, x)
        products = [Fraction(float(a)) * b for a, b in zip(x, image_of, strict=True)]
        assert max(products) <= 0
        assert min(products) < 0
    elif name in ("K", "H_+"):
        assert (x >= 0).all()
        C = M if name == "K" else comparison(M)
        assert all(v <= 0 for v in image(C, x)) or M[witness.indices[0], witness.indices[0]] <= 0
    elif name in ("semimonotone", "strictly semimonotone"):
        assert (x >= 0).all()
        assert all(w[i] < 0 if name == "semimonotone" else w[i] <= 0 for i in used)
    else:
        assert (x >= 0).all()
        value = form(M, x)
        if name == "copositive":
            assert value < 0
        elif name == "strictly copositive":
            assert value <= 0
        else:
            assert value < 0 or (value == 0 and any(image(M + M.T, x)))


def check(M: Matrix) -> None:
    for test, oracle in ORACLES:
        verdict = test(M)
        assert verdict.member is oracle(M), (verdict, M)
        assert bool(verdict) == verdict.member
        if verdict.member is False:
            check_witness(M, verdict)


@example(seed=9634, n=4, kind="z")  # where a presolve misleads the oracle
@given(seed=st.integers(0, 10**6), n=st.integers(2, 4), kind=st.sampled_from(["any", "gram", "positive", "z", "skew"]))
@settings(max_examples=15, deadline=None)
def test_structured_integer_matrices(seed: int, n: int, kind: str) -> None:
    """The same on matrices that are in some of the classes, or at their border."""
    rng = np.random.default_rng(seed)
    M = rng.integers(-2, 3, (n, n)).astype(float)
    if kind == "gram":
        B = rng.integers(-2, 3, (n, n - 1)).astype(float)
        M = B @ B.T
    elif kind == "positive":
        M[np.diag_indices(n)] = rng.integers(1, 5, n)
    elif kind == "z":
        M = -np.abs(M)
        M[np.diag_indices(n)] = rng.integers(0, 5, n)
    elif kind == "skew":
        B = rng.integers(-1, 2, (n, n - 1)).astype(float)
        M = B @ B.T + M - M.T
    check(M)


@given(seed=st.integers(0, 10**6), n=st.integers(2, 4))
@settings(max_examples=20, deadline=None)
def test_real_matrices_with_wild_scales(seed: int, n: int) -> None:
    """Rows and columns scaled by up to 1e+-12 change only verdicts on sums; no certain verdict is wrong."""
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((n, n))
    M[np.diag_indices(n)] = np.abs(np.diag(M)) * 2
    d, e = 2.0 ** rng.integers(-40, 41, n), 2.0 ** rng.integers(-40, 41, n)
    wild = d[:, None] * M * e
    for test in (is_p_matrix, is_z_matrix, is_k_matrix, is_h_plus_matrix, is_semimonotone, is_strictly_semimonotone):
        assert test(wild).member is test(M).member
        if test(wild).member is False:
            check_witness(wild, test(wild))
    congruent = d[:, None] * M * d
    for test in (is_psd_matrix, is_pd_matrix, is_copositive, is_strictly_copositive, is_copositive_plus):
        assert test(congruent).member is test(M).member
        if test(congruent).member is False:
            check_witness(congruent, test(congruent))
    assert is_p_matrix(wild).member is p_matrix(M)


@pytest.mark.parametrize("off", [-(2.0**-52), 0.0, 2.0**-52])
def test_a_rounding_from_singular(off: float) -> None:
    """[[1, 1], [1, 1 + off]] is decided exactly: in for off > 0, semidefinite for 0, out below."""
    M = np.array([[1.0, 1.0], [1.0, 1.0 + off]])
    assert is_p_matrix(M).member is (off > 0)
    assert is_pd_matrix(M).member is (off > 0)
    assert is_psd_matrix(M).member is (off >= 0)
    C = np.array([[1.0, -1.0], [-1.0, 1.0 + off]])
    assert is_k_matrix(C).member is (off > 0)
    assert is_strictly_copositive(C).member is (off > 0)
    assert is_copositive(C).member is (off >= 0)
    assert is_semimonotone(C).member is (off >= 0)
    for test in (is_p_matrix, is_pd_matrix, is_k_matrix, is_h_plus_matrix, is_strictly_copositive):
        verdict = test(C)
        if verdict.member is False:
            check_witness(C, verdict)
            assert verdict.margin is not None
            assert verdict.margin < 1e-15


def test_horn_matrix() -> None:
    """Horn's matrix: copositive without being a sum of a semidefinite and a nonnegative one; a shift breaks it."""
    assert is_copositive(HORN).member is True
    assert is_psd_matrix(HORN).member is False
    assert is_strictly_copositive(HORN).member is False
    plus = is_copositive_plus(HORN)
    assert plus.member is False
    check_witness(HORN, plus)
    assert form(HORN, plus.witness.vector) == 0
    for shift in (2.0**-20, 2.0**-45):
        assert is_strictly_copositive(HORN + shift * np.eye(5)).member is True
        refused = is_copositive(HORN - shift * np.eye(5))
        assert refused.member is False
        check_witness(HORN - shift * np.eye(5), refused)


@given(a=st.floats(-1.5, 1.5), b=st.floats(-1.5, 1.5), c=st.floats(-1.5, 1.5))
@settings(max_examples=100, deadline=None)
def test_copositive_of_order_three_by_its_closed_form(a: float, b: float, c: float) -> None:
    """Unit diagonal: a, b, c >= -1 and a + b + c + 1 + sqrt(2 (1 + a)(1 + b)(1 + c)) >= 0 (Hadeler 1983)."""
    S = np.array([[1, a, b], [a, 1, c], [b, c, 1]])
    least = min(a, b, c) + 1.0
    value = least if least < 0 else a + b + c + 1 + np.sqrt(2 * (1 + a) * (1 + b) * (1 + c))
    if abs(value) > 1e-9 and abs(least) > 1e-9:
        assert is_copositive(S).member is bool(value > 0 and least > 0)


def test_catalog_matrices_are_in_the_classes_they_are_listed_under() -> None:
    """The traits found contain what the catalog says; frictional matrices are copositive and not copositive-plus."""
    for entry in catalog.entries():
        found = classify(entry.problem.M)
        if entry.matrix_class is not None:
            assert entry.matrix_class & ~found.traits == lcp.Traits(0), entry.name
    friction = classify(catalog.named("block_on_table").problem.M)
    assert friction.copositive
    assert not friction.copositive_plus
    assert not friction.psd
    assert friction.traits == lcp.Traits.COPOSITIVE
    assert not is_sufficient(catalog.named("block_on_table").problem.M)
    assert "copositive: yes" in str(friction)


def test_traits_are_closed_and_symmetric_where_the_matrix_is() -> None:
    """A symmetric positive definite matrix brings every class that contains it."""
    T = lcp.Traits
    found = classify([[2.0, 1.0], [1.0, 2.0]])
    wanted = T.SYMMETRIC_POSITIVE_DEFINITE | T.H_PLUS
    assert found.symmetric
    assert found.traits == lcp.method.implied(wanted)
    skewed = classify([[1.0, 3.0], [-3.0, 1.0]])
    assert skewed.traits == lcp.method.implied(T.POSITIVE_DEFINITE)


def test_large_matrices_are_proven_or_left_open() -> None:
    """Beyond 2^n: definite, H_+ and Z still decide, two-by-two minors refuse, otherwise None with the reason."""
    rng = np.random.default_rng(0)
    B = rng.standard_normal((120, 120))
    definite = B @ B.T + np.eye(120) + 5 * (B - B.T)
    assert is_pd_matrix(definite).member is True
    assert is_p_matrix(definite).member is True
    assert is_strictly_semimonotone(definite).member is True
    assert is_strictly_copositive(definite).member is True
    assert is_k_matrix(catalog.obstacle(300).M).member is True
    assert is_psd_matrix(definite - 2 * np.linalg.norm(definite, 2) * np.eye(120)).member is False
    open_one = np.eye(40) + np.triu(np.full((40, 40), 3.0), 1)
    open_one[30, 2] = 0.1
    verdict = is_p_matrix(open_one)
    assert verdict.member is None
    assert "max_n" in verdict.detail
    open_one[30, 2] = 1.0
    verdict = is_p_matrix(open_one)
    assert verdict.member is False
    assert verdict.witness.indices == (2, 30)
    check_witness(open_one, verdict)
    assert is_copositive(np.eye(40) - 0.9 * np.eye(40, k=1) * 3).member is False
    rings = np.kron(np.eye(9), HORN)
    assert is_copositive(rings).member is True
    assert is_strictly_copositive(rings).member is False
    tied = rings - 1e-3 * np.eye(45, k=5) - 1e-3 * np.eye(45, k=-5)
    verdict = is_copositive(tied + 0.01 * np.eye(45))
    assert verdict.member is None
    assert "exceeds" in verdict.detail


def test_p_matrices_of_middle_size() -> None:
    """n = 14: a P-matrix neither definite nor H_+ is proven by its minors; one negative minor is found."""
    rng = np.random.default_rng(4)
    n = 14
    M = np.tril(rng.standard_normal((n, n)) * 3, -1) + np.eye(n)
    assert is_p_matrix(M + 0.001 * np.triu(rng.random((n, n)), 1)).member is not None
    M[0, n - 1] = 1.0
    M[n - 1, 0] = 1.0 + 2.0**-40
    refused = is_p_matrix(M)
    assert refused.member is False
    check_witness(M, refused)


def test_ill_formed_matrices_are_refused() -> None:
    """An argument that is not a square matrix of finite numbers raises an error that names it."""
    for bad in ([[1.0, 2.0]], [[np.nan]], "text", [[1j]]):
        with pytest.raises(lcp.ProblemError, match="M"):
            classify(bad)
    from scipy import sparse

    assert is_p_matrix(sparse.eye(3, format="csr")).member is True
    assert classify(np.zeros((0, 0))).p.member is True
