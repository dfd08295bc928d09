"""The installed distribution: light imports, declared names, types, one version, and a README that runs."""

import importlib
import importlib.metadata
import importlib.util
import json
import os
import pkgutil
import re
import statistics
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PACKAGES = ("contactlab", "lcp", "problem_data")
IMPORT_LIMIT = 0.150  # seconds beyond numpy's own import
HEAVY = (
    "numba",
    "llvmlite",
    "cvxpy",
    "osqp",
    "viser",
    "matplotlib",
    "rich",
    "scipy.linalg",
    "scipy.optimize",
    "scipy.sparse.linalg",
)
README = Path(__file__).resolve().parents[1] / "README.md"


def run_python(code: str) -> str:
    """Run code in a new interpreter that cannot see the current folder; return what it prints."""
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def package_folder(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    assert spec is not None, package
    assert spec.origin is not None, package
    return Path(spec.origin).parent


def public_modules(package: str) -> list[str]:
    """Every module of a package but the kernels and what they are made with, which the first solve or step imports."""
    folder = package_folder(package)
    names = [package]
    for module in pkgutil.walk_packages([str(folder)], prefix=f"{package}."):
        kernels = ".kernels" in module.name or module.name in ("lcp.compiler.views", "lcp.compiler.bound_call")
        if not kernels and not module.name.endswith("__main__"):
            names.append(module.name)
    return names


@pytest.mark.parametrize("package", PACKAGES)
def test_import_is_light(package: str) -> None:
    """Importing a package costs less than 150 ms beyond numpy; on a slow machine, than three times numpy's own import.

    Medians of five new interpreters.
    """
    code = (
        "import time; begun = time.perf_counter(); import numpy; there = time.perf_counter(); "
        f"import {package}; print(there - begun, time.perf_counter() - there)"
    )
    run_python(code)  # bytecode and disk cache
    seconds = [[float(number) for number in run_python(code).split()] for _ in range(5)]
    numpy_alone, package_alone = (statistics.median(column) for column in zip(*seconds, strict=True))
    assert package_alone < max(IMPORT_LIMIT, 3.0 * numpy_alone)


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_loads_heavy_libraries(package: str) -> None:
    """No module outside the kernels imports numba, a QP solver, a viewer or scipy's heavy parts when it is loaded.

    What `scipy.sparse` itself loads, up to 1.15 some of these, is not ours to say.
    """
    code = (
        "import importlib, json, sys, scipy.sparse\n"
        "others = set(sys.modules)\n"
        f"for name in {public_modules(package)!r}:\n"
        "    importlib.import_module(name)\n"
        f"print(json.dumps([name for name in {HEAVY!r} if name in sys.modules and name not in others]))"
    )
    assert json.loads(run_python(code)) == []


@pytest.mark.parametrize("package", PACKAGES)
def test_declared_names_exist(package: str) -> None:
    """Every name of every `__all__` is there, once."""
    for module_name in public_modules(package):
        module = importlib.import_module(module_name)
        declared = getattr(module, "__all__", [])
        assert len(declared) == len(set(declared)), module_name
        missing = [name for name in declared if not hasattr(module, name)]
        assert not missing, f"{module_name}: {missing}"
    assert importlib.import_module(package).__all__


@pytest.mark.parametrize("package", PACKAGES)
def test_package_is_typed(package: str) -> None:
    """Each package ships its `py.typed` marker, so that type checkers read its annotations."""
    assert (package_folder(package) / "py.typed").is_file()


def test_releases_with_wrong_results_are_excluded() -> None:
    """numba 0.66 compiles `pointer_add` wrongly, MuJoCo 4.0.0 has a wrong Hessian: no requirement admits them."""
    project = tomllib.loads(README.with_name("pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    lines = [*project["dependencies"], *(line for extra in extras for line in extra)]
    assert all("!=0.66.*" in line for line in lines if re.match(r"numba\b", line))
    assert all("!=4.0.0" in line for line in lines if re.match(r"mujoco\b", line))
    assert {re.match(r"[\w-]+", line)[0] for line in lines} >= {"numba", "mujoco"}  # type: ignore[index]


def test_one_version() -> None:
    """The distribution, the package and the citation file agree on the version."""
    import contactlab

    assert importlib.metadata.version("contactlab") == contactlab.__version__
    citation = README.with_name("CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {contactlab.__version__}\n" in citation


def test_packages_come_from_the_expected_prefix() -> None:
    """Where a prefix is demanded (the project's own checks), the suite tests what was installed there."""
    prefix = os.environ.get("CONTACTLAB_EXPECTED_PREFIX")
    for package in PACKAGES:
        place = package_folder(package).resolve()
        assert prefix is None or place.is_relative_to(Path(prefix).resolve()), place


def test_one_command_line_entry() -> None:
    """The distribution installs the command `contactlab`, and its target can be loaded."""
    (entry,) = importlib.metadata.entry_points(group="console_scripts", name="contactlab")
    assert entry.value == "contactlab.cli:main"
    assert callable(entry.load())


@pytest.mark.parametrize(("page", "count"), [("README.md", 4), ("docs/solvers.md", 2), ("docs/models.md", 2)])
def test_examples_run(
    page: str, count: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The examples run as they stand and print what their comments say; the README is a page of one screen or two."""
    monkeypatch.chdir(README.parent)  # where the install line leaves the reader
    text = (README.parent / page).read_text(encoding="utf-8")
    examples = re.findall(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    assert len(examples) == count
    assert page != "README.md" or len(text.splitlines()) <= 157
    for source in examples:
        exec(compile(source, page, "exec"), {"__name__": "readme"})
        expected = re.findall(r"^# -> (.*)$", source, flags=re.MULTILINE)
        assert expected, "an example must say what it prints"
        assert capsys.readouterr().out.splitlines() == expected
