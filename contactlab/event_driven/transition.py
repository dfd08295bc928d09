"""Derivatives of event-driven runs: the state transition matrix, through events by saltation matrices.

Along smooth motion x = (q, v) the variation X' = A X is integrated beside it, A exact. An event where g(x) = 0 comes
earlier or later with the state, and X goes through it by (Aizerman and Gantmakher 1958)::

    X+ = [D_x R + (f+ - D_x R f-) (dg/dx) / (dg/dx f-)] X

with the rates f of the motion before and after it and R its jump, the identity where contact sticks, slips or opens.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from contactlab.event_driven.recording import EventRecording
from contactlab.event_driven.sensitivity import EventKink
from contactlab.spatial.arrays import FloatArray, finite_array, read_only
from contactlab.world.errors import SimulationConfigError

Parameter = Literal["tau", "gravity", "mu", "restitution"]
_PARAMETERS = ("tau", "gravity", "mu", "restitution")


@dataclass(frozen=True, eq=False)
class Transition:
    """How the end of a run changes with its start and with parameters.

    Parameters
    ----------
    matrix : ndarray, shape (2 nv, 2 nv)
        d(dq, dv) at the end by (dq, dv) at the start, q along `integrate`.
    parameters : mapping of str to ndarray, shape (2 nv, n)
        By parameters: "tau" (nv columns) and "gravity" (3), constant ones added to what acts; "mu" and "restitution",
        a column for each of ``contacts``.
    contacts : tuple of str
        The run's contacts.
    held : tuple of str
        Contacts closed at the start. The derivative is that of motions that keep them closed.
    kinks : tuple of EventKink
        Where there is no derivative; ``matrix`` is that of the events in their order all the same.
    """

    matrix: FloatArray
    parameters: Mapping[str, FloatArray]
    contacts: tuple[str, ...]
    held: tuple[str, ...]
    kinks: tuple[EventKink, ...]

    @property
    def unique(self) -> bool:
        """Whether there is one derivative, for all directions."""
        return not self.kinks

    def jvp(self, dx: ArrayLike | None = None, parameters: Mapping[str, ArrayLike] | None = None) -> FloatArray:
        """Return the change (2 nv,) of the end for a change dx (2 nv,) of the start and those of parameters."""
        n = len(self.matrix)
        total = np.zeros(n) if dx is None else self.matrix @ finite_array(dx, "dx", (n,), SimulationConfigError)
        for name, change in (parameters or {}).items():
            by = self._by(name)
            total = total + by @ finite_array(change, f"parameters[{name!r}]", (by.shape[1],), SimulationConfigError)
        return np.asarray(total)

    def vjp(self, w: ArrayLike, wrt: str | None = None) -> FloatArray:
        """Return the gradient by the start (2 nv,), or by a parameter, of a cost with the gradient w at the end."""
        by = self.matrix if wrt is None else self._by(wrt)
        return np.asarray(finite_array(w, "w", (len(self.matrix),), SimulationConfigError) @ by)

    def _by(self, name: str) -> FloatArray:
        if name not in self.parameters:
            raise SimulationConfigError("wrt", f"must be one of {tuple(self.parameters)}, got {name!r}")
        return self.parameters[name]


def transition(recording: EventRecording, wrt: Iterable[Parameter] = ()) -> Transition:
    """Differentiate an event-driven run: its end by its start, and by parameters.

    Parameters
    ----------
    recording
        Of `EventDriven.run`; one that stopped with an error up to where it did.
    wrt
        Parameters, of "tau", "gravity", "mu", "restitution".

    Returns
    -------
    Transition
        Exact for Newton's law up to the integrator's tolerances; other laws are differenced, and so are forces that
        are functions, each of whose steps then costs some 8 nv calls. Where there is no derivative `Transition.kinks`
        names why.

    Raises
    ------
    SimulationConfigError
        ``wrt`` or a recording that no run left.

    References
    ----------
    M. A. Aizerman, F. R. Gantmakher, On the stability of periodic motions, J. Appl. Math. Mech. 22 (1958); N. J. Kong,
    J. J. Payne, J. Zhu, A. M. Johnson, Saltation matrices: the essential tool for linearizing hybrid dynamical
    systems, Proc. IEEE 112 (2024).
    """
    names = tuple(wrt)
    if isinstance(wrt, str) or len(set(names)) < len(names) or any(name not in _PARAMETERS for name in names):
        raise SimulationConfigError("wrt", f"must be some of {_PARAMETERS}, each once, got {wrt!r}")
    if recording.course is None:
        raise SimulationConfigError("recording", "has no course: give what `EventDriven.run` returned")
    from contactlab.event_driven.sensitivity import Walk
    from contactlab.event_driven.smooth_rates import Layout

    layout = Layout(recording.world.model, recording.candidates, names)
    walk = Walk(recording, recording.course, layout)
    walk.run()
    n = 2 * layout.model.nv
    by = np.split(walk.X, n + np.cumsum([0, *layout.sizes.values()]), axis=1)
    first = recording.course.arcs[:1]
    closed = sorted({side.index for arc in first for side in arc.sides} | {k for arc in first for k in arc.riding})
    return Transition(
        matrix=read_only(by[0].copy()),
        parameters={name: read_only(one.copy()) for name, one in zip(names, by[1:-1], strict=True)},
        contacts=recording.contact_names,
        held=tuple(recording.contact_names[k] for k in closed),
        kinks=tuple(walk.kinks),
    )
