"""The error of sweeps."""

from __future__ import annotations

__all__ = ["SweepError"]


class SweepError(ValueError):
    """A sweep that cannot begin or go on: the function, a task, the folder or the cluster is at fault, not one run.

    Rows finished before it stand in the folder; the same call goes on from there.
    """
