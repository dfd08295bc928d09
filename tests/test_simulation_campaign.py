"""A long run to disk: memory stays where it is, every step is certified, and a sample of them verifies."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.campaign
def test_a_long_run_takes_no_more_memory_than_a_short_one(tmp_path):
    """A hundred thousand steps of `benchmarks/simulation_campaign.py`; the full length is its default."""
    command = [sys.executable, str(ROOT / "benchmarks" / "simulation_campaign.py"), str(tmp_path), "--steps", "100000"]
    found = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    # Status 0: no residual above the tolerance, and the sample verifies; the record holds no NaN or it does not open.
    subprocess.run(command, env={**os.environ, "PYTHONPATH": found}, check=True)
    with (tmp_path / "campaign.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["stage"] == "run"]
    if int(rows[-1]["anonymous_kB"]) == 0:
        pytest.skip("the system does not tell how much memory a process has")
    early = max(int(row["anonymous_kB"]) for row in rows[:20])
    late = max(int(row["anonymous_kB"]) for row in rows[-20:])
    assert late <= 1.05 * early + 4096
