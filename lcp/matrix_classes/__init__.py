"""Matrix classes (Cottle, Pang and Stone 1992, chapter 3): proven, or refuted with a counterexample.

`is_positive_semidefinite` and `is_symmetric` are cheap and use a tolerance; solvers call them before they run. The
other tests decide for the exact doubles and return a `ClassVerdict`.
"""

from lcp.matrix_classes.classify import MatrixClasses, classify
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
    is_symmetric,
)
from lcp.matrix_classes.p_matrix import is_p_matrix
from lcp.matrix_classes.sufficient import is_column_sufficient, is_row_sufficient, is_sufficient
from lcp.matrix_classes.verdict import ClassVerdict, Counterexample
from lcp.matrix_classes.z_matrix import is_h_plus_matrix, is_k_matrix, is_z_matrix

__all__ = [
    "ClassVerdict", "Counterexample", "MatrixClasses", "classify", "congruence", "congruent", "is_column_sufficient",
    "is_copositive", "is_copositive_plus", "is_h_plus_matrix", "is_k_matrix", "is_p_matrix", "is_pd_matrix",
    "is_positive_semidefinite", "is_psd_matrix", "is_row_sufficient", "is_semimonotone", "is_strictly_copositive",
    "is_strictly_semimonotone", "is_sufficient", "is_symmetric", "is_z_matrix",
]  # fmt: skip
