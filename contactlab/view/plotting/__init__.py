"""Images without a window. Needs the extra `viz` (matplotlib), which is imported by the first drawing.

Functions of a `Recording` return a matplotlib Figure: `picture` in three dimensions, the others over time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contactlab.naming import module_hooks
from contactlab.view.plotting.figures import save_figure
from contactlab.view.plotting.picture import animation, picture
from contactlab.view.plotting.run_plot import certificates, forces, gaps, ledger, modes, solver_effort, summary
from contactlab.view.plotting.studies_plot import (
    plot_convergence,
    plot_error_curves,
    plot_identified,
    plot_impact_map,
    plot_painleve,
    plot_restitution,
    plot_routh,
)

__all__ = [
    "animation", "certificates", "forces", "gaps", "ledger", "modes", "picture", "plot_convergence",
    "plot_error_curves", "plot_identified", "plot_impact_map", "plot_painleve", "plot_restitution", "plot_routh",
    "save_figure", "solver_effort", "summary",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__, __dir__ = module_hooks(__name__, __all__)
