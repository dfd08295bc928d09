"""Lines through the changes of contacts' modes: where modes end, and forces beyond folds of a branch."""

import numpy as np
import pytest
from test_large_islands import H, bin_of

from contactlab.simulation import TimeStepping, simulate, verify
from lcp.contacts.kernels.contact_law import FrictionCone, mode_of
from lcp.contacts.kernels.pwl_path import facet
from lcp.kernels import kernel


@kernel
def modes_and_facets(r, turns, mu, points, n, modes, worst, beyond):
    """Fill each point's mode, its largest n x, and the mode beyond its nearest facet."""
    across = r // 2
    polygon = FrictionCone(r, modes, across, 0.0, 1.0, turns, False, turns)
    for k in range(points.shape[0]):
        x = points[k]
        modes[k] = mode_of(polygon, mu, 0, x[0], x[1], x[2])
        worst[k] = -1e300
        nearest = 0
        i = 0
        while facet(polygon, mu, modes[k], i, n):
            size = np.sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2])
            value = (n[0] * x[0] + n[1] * x[1] + n[2] * x[2]) / size
            if value > worst[k]:
                worst[k] = value
                nearest = i
            i += 1
        facet(polygon, mu, modes[k], nearest, n)
        size = n[0] * n[0] + n[1] * n[1] + n[2] * n[2]
        step = (n[0] * x[0] + n[1] * x[1] + n[2] * x[2]) / size
        past = 1e-9 / np.sqrt(size) - step
        beyond[k] = mode_of(polygon, mu, 0, x[0] + past * n[0], x[1] + past * n[1], x[2] + past * n[2])


@pytest.mark.parametrize("r", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("mu", [0.0, 0.3, 1.5])
def test_a_mode_is_where_its_inequalities_hold(r, mu):
    turns = np.zeros((2 * max(r, 1) + 1, 2))
    if r > 0:
        angles = np.pi * np.arange(2 * r + 1) / r
        turns[:] = np.column_stack([np.cos(angles), np.sin(angles)])
    points = np.random.default_rng(r).normal(size=(4000, 3))
    if r == 1:
        points[:, 2] = 0.0
    count = points.shape[0]
    modes, beyond = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    worst = np.zeros(count)
    modes_and_facets(r, turns, mu, points, np.zeros(3), modes, worst, beyond)
    assert (worst <= 1e-12).all()
    if r > 0 and mu > 0.0:
        assert set(modes) >= {0, 1, 2}
    # One step past the nearest inequality there is another mode: none is missing, and none is too strict.
    assert (beyond != modes).all()


@pytest.mark.parametrize(
    ("kind", "count", "edges", "seed"), [("boxes", 45, 4, 7), ("boxes", 30, 8, 8), ("spheres", 60, 4, 9)]
)
def test_impacts_of_many_are_selected(kind, count, edges, seed):
    """From free fall through the impacts, where modes of hundreds of contacts change in every step."""
    recording = simulate(bin_of(kind, count, 3, seed), TimeStepping(H, edges=edges), steps=150)
    large = recording.certificates.n_contacts > 60
    assert large.sum() > 10
    assert (recording.certificates.pivots[large] > 0).sum() <= 1
    report = verify(recording, every=50)
    assert report.holds, report
