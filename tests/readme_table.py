"""The solver table of docs/solvers.md, derived from `lcp.ALL_SOLVERS`."""

import lcp

CLASSES = {
    lcp.Traits.POSITIVE_DEFINITE: "PD",
    lcp.Traits.POSITIVE_SEMIDEFINITE: "PSD",
    lcp.Traits.P_MATRIX: "P",
    lcp.Traits.COPOSITIVE: "copositive",
    lcp.Traits.SYMMETRIC_POSITIVE_DEFINITE: "symmetric PD",
    lcp.Traits.SYMMETRIC_POSITIVE_SEMIDEFINITE: "symmetric PSD",
    lcp.Traits.H_PLUS: "H+",
    lcp.Traits.BIMATRIX_GAME: "bimatrix games",
    lcp.Traits.FINITE_BOX: "any M within finite bounds",
}
ABILITIES = {
    lcp.Traits.WARM_START: "warm start",
    lcp.Traits.SPARSE: "sparse",
    lcp.Traits.MIXED: "mixed",
    lcp.Traits.BOXED: "boxed",
}


def solver_rows() -> list[str]:
    """One Markdown row per solver, in the order of the tuple."""
    rows = []
    for solver in lcp.ALL_SOLVERS:
        method = (solver.__doc__ or "").split("\n", 1)[0].rstrip(".")
        classes = ", ".join(name for trait, name in CLASSES.items() if trait & solver.traits)
        abilities = ", ".join(name for trait, name in ABILITIES.items() if trait & solver.traits)
        rows.append(f"| `lcp.{solver.__name__}` | {method} | {classes} | {abilities} |")
    return rows
