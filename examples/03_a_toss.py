"""A cube tossed and filmed: the friction of the board is estimated from the film.

`contactlab toss` scores real data. Here the data are simulated, so the true friction is known: tosses are written as a
data file, read back, and simulated again with several friction coefficients.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from contactlab.lab.datasets import load_cube_tosses, save_cube_tosses
from contactlab.lab.studies import TossSettings, run_toss, run_tosses, simulate_toss, synthesize_tosses

TRUE_MU = 0.2

# %%
# Three tosses at 148 Hz, through a file.
with tempfile.TemporaryDirectory() as folder:
    path = save_cube_tosses(Path(folder) / "tosses.npz", synthesize_tosses(3, TossSettings(mu=TRUE_MU)))
    tosses = load_cube_tosses(path)
print(f"{len(tosses)} tosses, {len(tosses[0].position)} scored samples each")

# %%
# The published error: mean distance of the centres in per cent of the block's width, mean angle in degrees.
scores = {}
for mu in (0.1, 0.15, TRUE_MU, 0.25, 0.3):
    report = run_tosses(tosses, TossSettings(mu=mu))
    scores[mu] = report.position_percent[0]
    print(f"mu = {mu:.2f}: {report.position_percent[0]:6.2f} %, {report.rotation_deg[0]:6.2f} deg")
    assert not report.failures
assert min(scores, key=lambda mu: scores[mu]) == TRUE_MU
assert scores[TRUE_MU] < 1e-6

# %%
# Contact modes of one toss, and the accuracy of each step.
recording = simulate_toss(tosses, 0, TossSettings(mu=TRUE_MU))
contacts = recording.contacts
print(f"{recording.n_steps} steps, {len(contacts)} contacts, modes: {np.bincount(contacts.mode)} (open, stick, slide)")
worst = recording.worst_certificate()
print(f"hardest contact impulse {contacts.impulse_normal.max():.3f} N s; worst scaled residual {worst.scaled:.1e}")
friction = np.linalg.norm(contacts.impulse_tangential, axis=1)
assert np.all(friction <= contacts.mu * contacts.impulse_normal + 1e-9)
assert run_toss(tosses, 0, TossSettings(mu=TRUE_MU)).worst_scaled <= 1e-9
