"""Matrix classes (Cottle, Pang and Stone 1992, chapter 3): proven, or refuted with a counterexample.

`is_positive_semidefinite` and `is_symmetric` are cheap and use a tolerance; solvers call them before they run. The
other tests decide for the exact doubles and return a `ClassVerdict`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from lcp.arrays import is_symmetric
from lcp.interruptible import interruptible
from lcp.matrix_classes.copositive import (
    is_copositive,
    is_copositive_plus,
    is_semimonotone,
    is_strictly_copositive,
    is_strictly_semimonotone,
)
from lcp.matrix_classes.definite import (
    congruence,
    congruent,
    is_pd_matrix,
    is_positive_semidefinite,
    is_psd_matrix,
)
from lcp.matrix_classes.p_matrix import is_h_plus_matrix, is_k_matrix, is_p_matrix, is_z_matrix
from lcp.matrix_classes.sufficient import is_column_sufficient, is_row_sufficient, is_sufficient
from lcp.matrix_classes.verdict import ClassVerdict, Counterexample, square
from lcp.method import Traits, implied

__all__ = [
    "ClassVerdict", "Counterexample", "MatrixClasses", "classify", "congruence", "congruent", "is_column_sufficient",
    "is_copositive", "is_copositive_plus", "is_h_plus_matrix", "is_k_matrix", "is_p_matrix", "is_pd_matrix",
    "is_positive_semidefinite", "is_psd_matrix", "is_row_sufficient", "is_semimonotone", "is_strictly_copositive",
    "is_strictly_semimonotone", "is_sufficient", "is_symmetric", "is_z_matrix",
]  # fmt: skip


# Transforms are formed in integers throughout.
_TRANSFORMS = 10


@dataclass(frozen=True, slots=True, eq=False)
class MatrixClasses:
    """Verdicts on one matrix; ``symmetric`` is exact as well."""

    symmetric: bool
    psd: ClassVerdict
    pd: ClassVerdict
    p: ClassVerdict
    z: ClassVerdict
    k: ClassVerdict
    h_plus: ClassVerdict
    copositive: ClassVerdict
    strictly_copositive: ClassVerdict
    copositive_plus: ClassVerdict
    semimonotone: ClassVerdict
    strictly_semimonotone: ClassVerdict
    column_sufficient: ClassVerdict
    row_sufficient: ClassVerdict

    @property
    def verdicts(self) -> tuple[ClassVerdict, ...]:
        """All verdicts, in order."""
        values = (getattr(self, entry.name) for entry in fields(self))
        return tuple(verdict for verdict in values if isinstance(verdict, ClassVerdict))

    @property
    def traits(self) -> Traits:
        """Proven classes of M for which solvers are proven, with the classes that contain them."""
        traits = Traits(0)
        for verdict, trait, symmetric in (
            (self.psd, Traits.POSITIVE_SEMIDEFINITE, Traits.SYMMETRIC_POSITIVE_SEMIDEFINITE),
            (self.pd, Traits.POSITIVE_DEFINITE, Traits.SYMMETRIC_POSITIVE_DEFINITE),
            (self.p, Traits.P_MATRIX, Traits.P_MATRIX),
            (self.h_plus, Traits.H_PLUS, Traits.H_PLUS),
            (self.copositive, Traits.COPOSITIVE, Traits.COPOSITIVE),
        ):
            if verdict:
                traits |= symmetric if self.symmetric else trait
        return implied(traits)

    def __str__(self) -> str:
        words = {True: "yes", False: "no", None: "undecided"}
        lines = [f"symmetric: {words[self.symmetric]}"]
        lines += [f"{v.name}: {words[v.member]}{f' ({v.detail})' if v.detail else ''}" for v in self.verdicts]
        return "\n".join(lines)


@interruptible
def classify(M: Any, *, max_n: int = 16) -> MatrixClasses:
    """Decide the classes of M by which solvers are chosen and theorems apply.

    Parameters
    ----------
    M
        Square matrix. The exact doubles are classified: a Gram matrix that rounding made slightly indefinite is not
        positive semidefinite, and ``margin`` of the verdict is the relative size of the violation.
    max_n
        Size up to which 2^n principal blocks are searched; beyond it some verdicts are None.
    """
    matrix = square(M)
    return MatrixClasses(
        symmetric=bool((matrix == matrix.T).all()),
        psd=is_psd_matrix(matrix),
        pd=is_pd_matrix(matrix),
        p=is_p_matrix(matrix, max_n=max_n),
        z=is_z_matrix(matrix),
        k=is_k_matrix(matrix),
        h_plus=is_h_plus_matrix(matrix),
        copositive=is_copositive(matrix, max_n=max_n),
        strictly_copositive=is_strictly_copositive(matrix, max_n=max_n),
        copositive_plus=is_copositive_plus(matrix, max_n=max_n),
        semimonotone=is_semimonotone(matrix, max_n=max_n),
        strictly_semimonotone=is_strictly_semimonotone(matrix, max_n=max_n),
        column_sufficient=is_column_sufficient(matrix, max_n=min(max_n, _TRANSFORMS)),
        row_sufficient=is_row_sufficient(matrix, max_n=min(max_n, _TRANSFORMS)),
    )
