"""Children of the benchmarks are ended at their limit, and their end is told."""

import sys
from pathlib import Path

import limited
import pytest
from limited import told

FOLDER = Path(limited.__file__).parent
HEAD = f"import sys; sys.path.insert(0, {str(FOLDER)!r}); from limited import allow, tell\n"


@pytest.fixture
def script(tmp_path):
    """A script from its text."""

    def written(text: str) -> Path:
        path = tmp_path / "child.py"
        path.write_text(HEAD + text)
        return path

    return written


@pytest.mark.skipif(sys.platform != "linux", reason="limits of the system")
def test_a_child_that_works_too_long_leaves_what_it_told(script):
    """The limit is one of the processor: nothing of the child's own has to look at a clock."""
    stuck = script("tell(row=1); print('said'); allow(1.0); tell(row=2)\nwhile True: pass")
    found = list(told(stuck, [], 60.0))
    assert found == [{"row": 1}, {"row": 2}, {"died": "stopped at its limit of the processor's seconds"}]


def test_how_a_child_ends_is_told(script):
    """A child ends normally, with an error, or killed after a time."""
    assert list(told(script("tell(a=sys.argv[1])"), ["x"], 60.0)) == [{"a": "x"}]
    assert list(told(script("raise ValueError('no such scene')"), [], 60.0)) == [{"died": "ValueError: no such scene"}]
    asleep = list(told(script("import time; time.sleep(60)"), [], 0.5))
    assert asleep[0]["died"].startswith("died of SIGKILL")
