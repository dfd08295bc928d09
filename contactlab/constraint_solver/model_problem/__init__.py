"""Problem data of both levels from a model, its state and its contacts, and the effect of forces on the model.

`problem_data_from` returns a `ModelProblem`; `delassus` is for problems too large for dense matrices. Rows are sparse,
with entries only on the paths from a body to its root. M is never formed. Its inverse is applied through articulated
bodies, and the Delassus matrix is built from columns L^-T J^T along the branches.
"""
