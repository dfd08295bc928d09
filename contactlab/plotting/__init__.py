"""Pictures on paper: PNG plots without a window. Needs the extra `viz` (matplotlib), imported when a plot is drawn."""

from __future__ import annotations

from contactlab.plotting.convergence import plot_convergence
from contactlab.plotting.ledger_plot import plot_ledger
from contactlab.plotting.painleve_plot import plot_painleve
from contactlab.plotting.recording_plot import plot_recording
from contactlab.plotting.routh_plot import plot_routh
from contactlab.plotting.toss_curve import plot_toss_curve

__all__ = ["plot_convergence", "plot_ledger", "plot_painleve", "plot_recording", "plot_routh", "plot_toss_curve"]
