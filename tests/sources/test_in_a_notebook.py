"""In a notebook DuckDB behaves otherwise; `tests/test_tutorials.py` runs whole notebooks."""

import subprocess
import sys
from pathlib import Path

_NOTEBOOK = """
import sys, types

sys.modules["ipywidgets"] = None  # not installed
shell = types.SimpleNamespace(config={"IPKernelApp": {}})
sys.modules["IPython"] = types.ModuleType("IPython")
sys.modules["IPython"].get_ipython = lambda: shell

import duckdb
import aegis_opt as ao

try:
    duckdb.connect().execute("SET enable_progress_bar = false")
except duckdb.InvalidInputException as error:
    print("refused" if "ipywidgets" in str(error) else error)
masks = {"x": ao.Bucketize(width=2)}
print(ao.summarize("table.csv", "y", {"c": masks}).n_records)
steps = []
report = lambda *step: steps.append(step)
print(ao.apply_configuration("table.csv", masks, output="masked.csv", progress=report))
print(steps[0][1:])
"""


def test_files_are_read_where_duckdb_refuses_its_settings_for_lack_of_ipywidgets(
    tmp_path: Path,
) -> None:
    (tmp_path / "table.csv").write_text("x,y\n1,a\n2,b\n")
    done = subprocess.run([sys.executable, "-c", _NOTEBOOK], cwd=tmp_path, capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.split("\n") == ["refused", "2", "masked.csv", "(0, 100)", ""]
