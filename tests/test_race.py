"""A race from end to end: rows for everybody, verdicts by the data, time limits, resumption, report, command line."""

import csv
import json
import re
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

import lcp
from contactlab.cli import main
from contactlab.lab import RaceError
from contactlab.lab.racing import ALL_PEERS, RaceReport, entrant_of, race
from contactlab.lab.racing.external_solvers import installed
from contactlab.lab.racing.kinds import keep_problem, read_problem
from contactlab.lab.racing.trial import residual_curve, trial

OWN = '''
"""Solvers that misbehave, and one that only counts on its luck."""
import os, time
from dataclasses import dataclass
import numpy as np
import lcp

class Liar:
    def solve(self, problem, *, z0, tolerance, trace):
        return lcp.Claim(np.ones(problem.n), lcp.Status.SOLVED, 1)

class Prophet:
    def solve(self, problem, *, z0, tolerance, trace):
        return lcp.Claim(np.zeros(problem.n), lcp.Status.INFEASIBLE, 0)

class Raiser:
    def solve(self, problem, *, z0, tolerance, trace):
        raise RuntimeError("<b>broken</b>")

class Nan:
    def solve(self, problem, *, z0, tolerance, trace):
        return lcp.Claim(np.full(problem.n, np.nan), lcp.Status.SOLVED, 1)

class Slow:
    def solve(self, problem, *, z0, tolerance, trace):
        time.sleep(0.3)
        return lcp.Claim(np.maximum(-problem.q, 0.0), lcp.Status.SOLVED, 1)

class Quitter:
    def solve(self, problem, *, z0, tolerance, trace):
        if problem.n == 2:
            os._exit(3)
        return lcp.Claim(np.zeros(problem.n), lcp.Status.STALLED, 0)
'''

EASY = lcp.LCP(np.eye(2), [-1.0, 2.0])
NONE = lcp.LCP([[-1.0]], [-1.0])
SLIDING = lcp.FrictionProblem(np.diag([1.0, 2.0, 2.0]), [-1.0, 3.0, 1.0], [0.5])
PROBLEMS = [
    ("easy", EASY),
    ("none", NONE),
    ("mixed", lcp.MLCP([[2.0]], [[-1.0]], [[1.0]], [[0.0]], [0.1962], [0.0])),
    ("box", lcp.BoxLCP(np.eye(2), [-3.0, 0.5], [-1.0, -np.inf], [1.0, np.inf])),
]


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("own") / "mine.py"
    file.write_text(OWN)
    return file


@pytest.fixture(scope="module")
def raced(tmp_path_factory: pytest.TempPathFactory, own: Path) -> tuple[RaceReport, Path]:
    """Return one race of ours and of faulty solvers, by two processes."""
    out = tmp_path_factory.mktemp("race")
    names = f"Lemke,Enumeration,ProjectedGaussSeidel,{own}:Liar,{own}:Raiser,{own}:Quitter"
    report = race(PROBLEMS, names, time_limit=20.0, out=out, jobs=2, repeats=2, curves=1)
    return report, out


def test_everybody_has_a_row_for_everything(raced: tuple[RaceReport, Path]) -> None:
    """Failures keep their rows, and the file holds what the report holds."""
    report, out = raced
    assert len(report.rows) == 6 * len(PROBLEMS)
    with (out / "rows.csv").open(newline="", encoding="utf-8") as file:
        kept = list(csv.DictReader(file))
    assert kept == [{name: str(value) for name, value in asdict(row).items()} for row in report.rows]
    found = {(row.problem, row.solver): row for row in report.rows}
    for problem in ("easy", "mixed", "box"):
        row = found[problem, "Lemke"]
        assert row.solved
        assert row.residual <= 1e-9
        assert 0.0 < row.time < 20.0
        assert row.runs == 2
    assert found["none", "Enumeration"].status == "INFEASIBLE"
    assert found["mixed", "Lemke"].kind == "MLCP"
    assert found["easy", "Lemke"].n == 2


def test_the_verdict_is_not_the_solvers(raced: tuple[RaceReport, Path]) -> None:
    """False claims are not accepted, and they are counted."""
    report, _ = raced
    for row in report.rows:
        if row.solver == "Liar" and row.problem in ("easy", "none"):
            assert row.status == "STALLED"
            assert row.claim == "SOLVED"
            assert row.wrong
    assert next(one for one in report.summary() if one.label == "Liar").wrong >= 2


def test_a_race_says_of_what_data_and_code_it_is(raced: tuple[RaceReport, Path]) -> None:
    """`race.json` has a digest of every problem, its file's name, and one of the sources, which the report shows."""
    report, folder = raced
    facts = json.loads((folder / "race.json").read_text(encoding="utf-8"))
    assert set(facts["problems"]) == {row.problem for row in report.rows}
    for digest in facts["problems"].values():
        assert re.fullmatch("[0-9a-f]{32}", digest)
        assert (folder / "problems" / f"{digest}.npz").is_file()
    assert re.fullmatch("[0-9a-f]{64}", facts["machine"]["sources"])
    assert f"sources {facts['machine']['sources']}" in (folder / "report.html").read_text(encoding="utf-8")
    assert report.machine == facts["machine"]


def test_crashes_stop_nothing(raced: tuple[RaceReport, Path]) -> None:
    """An exception and a dead process are rows, with what was said."""
    report, _ = raced
    raised = [row for row in report.rows if row.solver == "Raiser"]
    assert [row.status for row in raised] == ["CRASHED"] * len(PROBLEMS)
    assert all("RuntimeError: <b>broken</b>" in row.detail for row in raised)
    died = next(row for row in report.rows if row.solver == "Quitter" and row.problem == "easy")
    assert died.status == "CRASHED"
    assert "3" in died.detail


@pytest.mark.slow
def test_a_finished_race_is_not_run_again(raced: tuple[RaceReport, Path], own: Path) -> None:
    """The same call computes nothing and gives the same rows; a further solver is all that is run."""
    report, out = raced
    names = f"Lemke,Enumeration,ProjectedGaussSeidel,{own}:Liar,{own}:Raiser,{own}:Quitter"
    again = race(PROBLEMS, names, time_limit=20.0, out=out, jobs=2, repeats=2, curves=1)
    assert again.computed == 0
    assert again.rows == report.rows
    assert again.curves == report.curves
    more = race(PROBLEMS, names + ",Murty", time_limit=20.0, out=out, jobs=2, repeats=2, curves=0)
    assert more.computed == len(PROBLEMS)


def test_the_report_is_one_file_that_fetches_nothing(raced: tuple[RaceReport, Path]) -> None:
    """Charts drawn inside, every name escaped, nothing from elsewhere, limitations from the run."""
    report, out = raced
    text = (out / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"\s(src|href)\s*=", text)
    assert text.count("<svg") == text.count("</svg>") >= 2
    assert "<b>broken" not in text
    assert "&lt;b&gt;broken" in text
    assert not re.search(r"(https?:)?//[a-z]", text.partition("<script>")[0])
    assert "default-src 'none'" in text
    limits = re.search(r"<h2>Limitations</h2>\s*<p>(.*?)</p>", text, re.DOTALL)
    assert limits is not None
    said = " ".join(limits.group(1).split())
    for words in ("1e-09", "20 s", "load", "warm-up", "n from 1 to 2", "none", "Crashes", "MLCP"):
        assert words in said
    for row in report.rows:
        assert row.label in text


def test_times_against_residuals(raced: tuple[RaceReport, Path]) -> None:
    """Solvers with an iteration limit run with more and more iterations; the curve ends in a solution."""
    report, _ = raced
    curve = next(curve for curve in report.curves if curve.label == "ProjectedGaussSeidel")
    assert curve.by == "iterations"
    assert curve.points[-1].residual <= 1e-9
    slow = lcp.LCP([[2.0, -1.9], [-1.9, 2.0]], [-1.0, -1.0])
    entrant = entrant_of("ProjectedGaussSeidel(relaxation=1.0)")
    found = residual_curve("slow", slow, entrant, tolerance=1e-9, time_limit=30.0)
    residuals = [point.residual for point in found.points]
    assert residuals == sorted(residuals, reverse=True)
    assert residuals[0] > 1e-3
    assert residuals[-1] <= 1e-9
    assert residual_curve("e", EASY, entrant_of("Lemke"), tolerance=1e-9, time_limit=30.0).by == "tolerance"


@pytest.mark.parametrize(
    ("name", "status"), [("Prophet", "STALLED"), ("Nan", "NOT_FINITE"), ("Slow", "TIMEOUT"), ("Raiser", "CRASHED")]
)
def test_what_a_trial_makes_of_misbehaviour(own: Path, name: str, status: str) -> None:
    """A status needs a proof; NaN is not a result; a late result does not count."""
    row = trial("easy", EASY, entrant_of(f"{own}:{name}"), tolerance=1e-9, time_limit=0.1, repeats=3)
    assert row.status == status
    assert row.time <= 0.1


@pytest.mark.slow
def test_a_hanging_solver_is_ended(own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process is killed, the row has TIMEOUT, and the next trial runs."""
    file = tmp_path / "hang.py"
    file.write_text(
        "import time\nclass Hang:\n    def solve(self, problem, **_):\n"
        "        time.sleep(120.0 if problem.n == 2 else 0.0)\n"
    )
    monkeypatch.setattr("contactlab.lab.racing.KILL_DELAY_SECONDS", 8.0)
    begun = time.monotonic()
    report = race([("easy", EASY)], f"{file}:Hang,Lemke", time_limit=0.5, jobs=1, curves=0)
    assert [row.status for row in report.rows] == ["TIMEOUT", "SOLVED"]
    assert report.rows[0].time == 0.5
    assert time.monotonic() - begun < 100.0


def test_friction_races_in_a_league_of_its_own() -> None:
    """Exact-cone solvers get friction problems, others their class; named ones for other classes are UNSUITABLE."""
    still = lcp.GlobalFrictionProblem(np.eye(3), np.eye(3), [-1.0, 0.1, 0.0], np.zeros(3), [0.5])
    held = lcp.FrictionProblem(np.zeros((3, 3)), [-1.0, 0.0, 0.0], [0.5])
    problems = [("slide_1", SLIDING), ("stick_1", still), ("none_1", held), ("easy", EASY)]
    report = race(problems, "NSGS,ContactStrategies,Lemke", time_limit=20.0, jobs=1, curves=0)
    found = {(row.problem, row.solver): row for row in report.rows}
    assert len(found) == 12
    for solver in ("NSGS", "ContactStrategies"):
        assert found["slide_1", solver].solved
        assert found["stick_1", solver].solved
        assert found["slide_1", solver].n == 1
        assert found["slide_1", solver].tolerance == 1e-8
        assert found["easy", solver].status == "UNSUITABLE"
    assert found["none_1", "ContactStrategies"].status == "INFEASIBLE"
    assert found["slide_1", "Lemke"].status == "UNSUITABLE"
    assert found["easy", "Lemke"].tolerance == 1e-9
    assert [field.problem_class for field in report.fields] == ["friction", "complementarity"]


def test_peers_are_put_the_same_question() -> None:
    """Every installed peer solves an easy problem of its class, and is judged like all others."""
    rows = []
    for peer in ALL_PEERS:
        entrant = entrant_of(peer)
        if installed(peer):
            problem = SLIDING if entrant.problem_class == "friction" else EASY
            rows.append(trial("easy", problem, entrant, tolerance=1e-8, time_limit=60.0, repeats=2))
    if not rows:
        pytest.skip("no peer is installed (extra `peers`)")
    assert [row.status for row in rows] == ["SOLVED"] * len(rows)
    assert all(row.origin == "peer" for row in rows)


def test_problems_survive_their_files(tmp_path: Path) -> None:
    """Every kind, sparse data and infinite bounds come back bit for bit; the same problem is one file."""
    from scipy.sparse import csr_array

    sparse = lcp.LCP(csr_array([[2.0, 0.0], [1.0, 3.0]]), [-1.0, 2.0])
    for problem in (*(problem for _, problem in PROBLEMS), sparse, SLIDING):
        file = keep_problem(tmp_path, problem)
        assert keep_problem(tmp_path, problem) == file
        again = read_problem(str(file))
        assert type(again) is type(problem)
        for given, found in zip(problem.__reduce__()[1], again.__reduce__()[1], strict=True):
            dense = [x.toarray() if hasattr(x, "toarray") else x for x in (given, found)]
            np.testing.assert_array_equal(*dense)
    assert read_problem(str(keep_problem(tmp_path, sparse))).sparse
    assert len(list(tmp_path.iterdir())) == len(PROBLEMS) + 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"tolerance": 2.0}, "tolerance"),
        ({"time_limit": 0.0}, "time_limit"),
        ({"repeats": 0}, "repeats"),
        ({"solvers": "Nobody"}, "there are: Lemke"),
        ({"problems": []}, "no problems"),
        ({"problems": [3]}, "int"),
    ],
)
def test_a_race_that_cannot_begin_says_why(arguments: dict[str, object], words: str) -> None:
    """Before anything is run."""
    given = {"problems": PROBLEMS, "solvers": "Lemke", **arguments}
    with pytest.raises(RaceError, match=words):
        race(given.pop("problems"), given.pop("solvers"), **given)  # type: ignore[arg-type]


def _files(folder: Path) -> Path:
    folder.mkdir()
    np.savez(folder / "easy_1.npz", M=EASY.M, q=EASY.q)
    np.savez(folder / "none_1.npz", M=NONE.M, q=NONE.q)
    (folder / "text_1.npz").write_text("no archive")
    return folder


@pytest.mark.slow
def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Folder in, table and files out; a bad name is one line and status 2; nothing solved is status 1."""
    problems = _files(tmp_path / "problems")
    out = tmp_path / "out"
    common = ["race", str(problems), "--time-limit", "20", "--workers", "1", "--curves", "0"]
    assert main([*common, "--solvers", "lemke,Murty", "--tolerance", "1e-8", "--out", str(out)]) == 0
    said = capsys.readouterr()
    assert "4 trials (4 run now)" in said.out
    assert "left out: " in said.out
    assert "text_1.npz" in said.out
    assert "race: " in said.err
    with (out / "rows.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["problem"], row["solver"]) for row in rows] == [
        ("easy_1", "Lemke"),
        ("easy_1", "Murty"),
        ("none_1", "Lemke"),
        ("none_1", "Murty"),
    ]
    assert (out / "report.html").is_file()
    assert main([*common, "--solvers", "Lemmke"]) == 2
    assert "no solver 'Lemmke', did you mean Lemke?" in capsys.readouterr().err
    assert main(["race", str(tmp_path / "nowhere"), "--solvers", "Lemke"]) == 2
    assert "nowhere" in capsys.readouterr().err
    assert main(["race", str(problems / "none_1.npz"), "--solvers", "Lemke", "--workers", "1", "--curves", "0"]) == 1
