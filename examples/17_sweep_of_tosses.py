"""A sweep of tosses: where a cube comes to rest in repeated throws, computed on all cores.

`SceneGrid` has a scene file at every point of a grid of parameters, once per seed; the seeds perturb the throw. Rows
are written to a folder when they are computed, so a stopped sweep continues, and a finished one is only read.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from contactlab.lab import SceneGrid, sweep

SCENE = """
[scene]
name = "throw"
duration = 0.6

[stepper]
h = 2e-3

[[material]]
name = "felt"
mu = 0.2

[[half_space]]
name = "table"
material = "felt"

[[body]]
name = "cube"
shape = "box"
size = [0.1, 0.1, 0.1]
mass = 0.4
material = "felt"
position = [0.0, 0.0, 0.06]
velocity = [1.0, 0.0, 0.0]
"""

# %%
# Three frictions with four throws each: 5 cm/s of scatter in the velocity, with the same four draws for each friction.
FRICTION = [0.2, 0.3, 0.4]


def main() -> None:
    """Worker processes import this file too, so code that must run once is in this function."""
    with tempfile.TemporaryDirectory() as folder:
        scene, out = Path(folder) / "throw.toml", Path(folder) / "rows"
        scene.write_text(SCENE, encoding="utf-8")
        parameters, spread = {"material.felt.mu": FRICTION}, {"body.cube.velocity": 0.05}
        grid = SceneGrid(scene, parameters, range(4), spread)
        result = sweep(grid, out=out)
        again = sweep(grid, out=out)
    print(f"{result}; once more: {again.computed} computed")
    assert not result.failures
    assert again.computed == 0
    assert again.rows == result.rows

    # The distance is about v^2 / (2 mu g), apart from flight and tumbling: less with more friction.
    distance = np.array([np.hypot(*row["q"][:2]) for row in result.rows]).reshape(len(FRICTION), -1)
    for mu, row in zip(FRICTION, distance, strict=True):
        print(f"mu = {mu}: {1e3 * row.mean():6.1f} mm, from {1e3 * row.min():.1f} to {1e3 * row.max():.1f}")
    assert (np.diff(distance, axis=0) < 0.0).all()
    assert max(row["worst_scaled"] for row in result.rows) < 1e-9


if __name__ == "__main__":
    main()
