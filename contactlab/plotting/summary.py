"""One page about a recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contactlab.plotting.contact_plot import draw_force_sums, draw_gaps
from contactlab.plotting.effort_plot import draw_certificates, draw_effort
from contactlab.plotting.ledger_plot import draw_energy, draw_ledger
from contactlab.plotting.paper import one_page
from contactlab.simulation import Recording

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["summary"]


def summary(recording: Recording) -> Figure:
    """Return one page: energy, its ledger, contact forces, penetration, effort, certificates, all over time."""
    count = recording.world.model.nb
    title = (
        f"{count} bodies, {recording.n_steps} steps of {recording.stepper.h:g} s, {len(recording.contacts)} contacts"
    )
    figure, axes = one_page([1.9, 1.9, 1.7, 1.3, 1.7, 1.7], title)
    drawn = (draw_energy, draw_ledger, draw_force_sums, draw_gaps, draw_effort, draw_certificates)
    for draw, one in zip(drawn, axes, strict=True):
        draw(one, recording)
    figure.align_ylabels(axes)
    return figure
