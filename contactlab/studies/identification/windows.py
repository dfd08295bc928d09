"""Windows of recordings as a least-squares problem: simulated from a start that is itself unknown, held to samples.

A toss is chaotic once it has touched: whole paths have thousands of valleys over friction. A window spans a few
samples, about one impact, within which the path depends smoothly on the parameters and on where the window starts. That
start (q, v) is not measured well enough to be given, so that it is an unknown of the window: the samples before the
impact tell it.

Noise model: samples err independently, by a normal error of q in each direction of v, of the standard deviations that
the problem says; one factor common to all may be wrong, and errors within a window may be correlated, since intervals
are taken from how windows differ (`gauss_newton`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contactlab.multibody.configuration import difference, integrate
from contactlab.simulation import ImplausibleWarning, TimeStepping, World, rollout
from contactlab.spatial.arrays import FloatArray
from contactlab.studies.identification.problem import Function, Parameter, Problem, differences


@dataclass(frozen=True, eq=False)
class Windows:
    """Pieces of recordings of one kind of world.

    Parameters
    ----------
    q, v
        (W, nq) and (W, nv) guesses of the start, which is the time of the first sample.
    measured
        (W, n, nq) the samples.
    noise
        (n, nv) their standard deviation in each direction of v, from sample to sample.
    every
        Steps from one sample to the next.
    groups
        (W,) which windows are of one recording.
    taus
        (W, (n - 1) * every, nv) applied forces; None for none.
    """

    q: FloatArray
    v: FloatArray
    measured: FloatArray
    noise: FloatArray
    every: int
    groups: NDArray[np.int64]
    taus: FloatArray | None = None

    def at(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> Windows:
        """Return some of the windows."""
        taus = None if self.taus is None else self.taus[rows]
        return Windows(self.q[rows], self.v[rows], self.measured[rows], self.noise, self.every, self.groups[rows], taus)


#: From a problem's residuals, parameters and the steps of a window's unknowns to their Jacobian.
Jacobian = Callable[..., Function]


def window_problem(
    windows: Windows,
    parameters: tuple[Parameter, ...],
    world_of: Callable[[FloatArray], World],
    stepper: TimeStepping,
    *,
    threads: int | None = None,
    jacobian: Jacobian = differences,
) -> Problem:
    """Return the problem of explaining windows by the parameters of a world and by where each window starts.

    Parameters
    ----------
    windows
        The samples.
    parameters, world_of
        The numbers, and the world that has them.
    stepper
        How it is simulated.
    threads
        Of the rollouts; None for one per core.
    jacobian
        What makes the Jacobian; by default centred differences through the rollouts.
    """
    W, n = windows.measured.shape[:2]
    steps, nv = (n - 1) * windows.every, windows.v.shape[1]
    # Unknowns are in noises of the samples: of position, and of what position gains over the window.
    reach = (n - 1) * windows.every * stepper.h
    unit = np.concatenate((windows.noise[0], 2.0 * windows.noise[0] / reach))

    def residuals(values: FloatArray, local: FloatArray) -> FloatArray:
        world = world_of(values)
        off = local * unit
        q = integrate(world.model, windows.q, off[:, :nv], 1.0)
        v = windows.v + off[:, nv:]
        states = [world.initial_state(stepper.h, q=a, v=b) for a, b in zip(q, v, strict=True)]
        with warnings.catch_warnings():
            # Of trials, whose numbers are not what is found.
            warnings.simplefilter("ignore", ImplausibleWarning)
            found = rollout(world, stepper, states, taus=windows.taus, steps=steps, threads=threads)
        sampled = found.q[:, :: windows.every]
        lost = ~np.isfinite(sampled).all(axis=(1, 2))
        sampled[lost] = windows.measured[lost]
        out = difference(world.model, sampled, windows.measured) / windows.noise
        out[lost] = np.nan
        return np.asarray(out.reshape(W, n * nv))

    local_steps = np.full(2 * nv, 0.05)
    return Problem(parameters, windows.groups, residuals, jacobian(residuals, parameters, local_steps), 2 * nv)
