"""Scene files that tests write, and the scenes of the examples."""

from pathlib import Path

SCENES = Path(__file__).resolve().parents[1] / "examples" / "scenes"

CUBE = """\
[scene]
name = "cube"
duration = 0.1

[stepper]
h = 2e-3

[[material]]
name = "rubber"
mu = 0.5

[[half_space]]
name = "floor"
material = "rubber"

[[body]]
name = "cube"
shape = "box"
half_extents = [0.1, 0.1, 0.1]
mass = 1.0
material = "rubber"
position = [0.0, 0.0, 0.11]
velocity = [1.0, 0.0, 0.0]
"""

#: The cube as it tumbles: its impacts take more than one pivot.
TUMBLING = CUBE.replace("velocity = [1.0, 0.0, 0.0]", "velocity = [1.0, 0.3, 0.0]\nangular_velocity = [1.0, 2.0, 3.0]")


def write(folder: Path, text: str = CUBE) -> Path:
    """Write a scene and return its path."""
    path = folder / "scene.toml"
    path.write_text(text, encoding="utf-8")
    return path


def line_of(text: str, beginning: str) -> int:
    """The line, from 1, that begins so."""
    return next(i for i, line in enumerate(text.splitlines(), start=1) if line.startswith(beginning))
