"""Fixtures of all tests: compiled kernels, one BLAS thread, the hypothesis profiles, and the folder of shared data."""

import importlib.util
import os
import signal
import subprocess
import sys
from pathlib import Path

# Before numpy is imported: small matrices gain nothing from BLAS threads, and parallel test runs would fight for cores.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
os.environ.setdefault("MPLBACKEND", "Agg")
# Started in the background by a shell, Ctrl-C is ignored, and would be in the processes that tests stop by it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

import pytest  # noqa: E402
import rooms  # noqa: E402
from hypothesis import settings  # noqa: E402

# No deadline: the first example of a test may have to compile a kernel.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Run the tests of one room: ``pytest --room impact``."""
    parser.addoption("--room", choices=[*rooms.order(), rooms.WHOLE], help="only tests about this room (docs/tests.md)")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files about other rooms."""
    room = config.getoption("--room")
    tests = room and collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    return True if tests and rooms.room_of(collection_path) != room else None


def pytest_configure(config: pytest.Config) -> None:
    """Compile the kernels once, before processes that would each compile them take up the whole suite."""
    if importlib.util.find_spec("contactlab") is not None:  # the tests of lcp alone do without
        # Tests go to extremes on purpose; tests/test_notices.py is about these.
        config.addinivalue_line("filterwarnings", "default::contactlab.simulation.recording.notices.ImplausibleWarning")
    own = config.args_source is pytest.Config.ArgsSource.ARGS or config.getoption("--room")
    whole = not own and not os.environ.get("NUMBA_DISABLE_JIT")
    if not whole or hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        return
    # -P: the kernels of the tested package, which can differ from the package in this folder.
    command = [sys.executable, "-P", "-m", "contactlab.cli", "warmup"]
    if subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode:
        pytest.exit("contactlab warmup failed: see above", returncode=pytest.ExitCode.INTERNAL_ERROR)


@pytest.fixture(scope="session")
def shared() -> Path:
    """Give the folder of recorded and textbook problems, which is not part of the repository.

    ``CONTACTLAB_SHARED`` names it; otherwise it is a folder ``shared`` beside the checkout. Tests that need it skip
    where it is absent; a variable that names nothing is an error, for somebody meant something by it.
    """
    named = os.environ.get("CONTACTLAB_SHARED")
    if named:
        folder = Path(named)
        if not folder.is_dir():
            pytest.fail(f"CONTACTLAB_SHARED names no folder: {named}")
        return folder
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("no folder `shared` beside the checkout and CONTACTLAB_SHARED is not set")
    return folder
