"""Tutorials are scripts in cells (`# %%`): run as notebooks, shown as pages with what they print and draw.

`mkdocs.yml` names this file under `hooks`. Each script becomes a page, its figures, and a notebook with its
outputs to download, all made when the site is built. The tests run the same scripts with `run`.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

DOCS = Path(__file__).resolve().parent
SCRIPTS = (DOCS / "gallery.py", *sorted((DOCS / "tutorials").glob("*.py")))

_SET_UP = """\
import altair, vl_convert

def draw(chart, **_):
    return {"image/svg+xml": vl_convert.vegalite_to_svg(chart), "text/plain": chart["description"]}

altair.renderers.register("picture", draw)
altair.renderers.enable("picture");
"""
_SPARK = (
    "--conf spark.ui.enabled=false --conf spark.ui.showConsoleProgress=false --conf spark.log.level=ERROR "
    "--conf spark.driver.host=127.0.0.1 --conf spark.driver.bindAddress=127.0.0.1 "
    "--conf spark.sql.shuffle.partitions=2 pyspark-shell"
)
_NO_JAVA = "!!! note\n    The outputs are missing: the site was built without Java, which Spark needs.\n\n"


class NotebookError(Exception):
    """A cell of a notebook warns, or shows what a page cannot."""


def on_files(files: Any, config: Any) -> Any:
    """Add a page, its figures and a notebook for each script (an event of mkdocs)."""
    from mkdocs.structure.files import File

    for script in SCRIPTS:
        place = script.relative_to(DOCS).with_suffix("")
        if needs_spark(script) and shutil.which("java") is None:
            notebook, note = jupytext.read(script), _NO_JAVA
        else:
            notebook, note = run(script), ""
        text, figures = to_markdown(notebook, place.name)
        made = {f"{place}.md": note + text, f"{place}.ipynb": nbformat.writes(notebook)}
        made |= {str(place.parent / name): drawn for name, drawn in figures.items()}
        for name, content in made.items():
            files.append(File.generated(config, name, content=content))
    return files


def needs_spark(script: Path) -> bool:
    """Say whether a script works on a Spark cluster."""
    return "import SparkSession" in script.read_text(encoding="utf-8")


def run(script: Path, spark_options: str = "") -> nbformat.NotebookNode:
    """Run a script as a notebook, in a kernel of its own and an empty folder.

    Parameters
    ----------
    script : Path
        The script, in cells.
    spark_options : str
        What Spark is started with besides, such as the cluster to use.

    Raises
    ------
    CellExecutionError
        If a cell raises.
    NotebookError
        If a cell writes to its error stream, as warnings do.
    """
    notebook = jupytext.read(script)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(_SET_UP))
    variables = {"PYSPARK_SUBMIT_ARGS": f"{spark_options} {_SPARK}", "SPARK_LOCAL_IP": "127.0.0.1"}
    variables |= {"PYTHONWARNINGS": "ignore:PySpark does not yet fully support pandas:FutureWarning"}
    variables |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # of small matrices more are slower
    # by sockets in a folder, not by ports, which others could reach
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as sockets:
        client = NotebookClient(
            notebook,
            config=Config(AsyncKernelManager={"transport": "ipc", "ip": f"{sockets}/kernel"}),
            kernel_name="python3",
            timeout=300,
            startup_timeout=300,
            resources={"metadata": {"path": folder}},
            # What a Java process writes is not what a cell shows.
            extra_arguments=["--IPKernelApp.capture_fd_output=False"],
        )
        client.execute(env=os.environ | variables)
    del notebook.cells[0]
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.get("name") == "stderr":
                raise NotebookError(f"{script.name}: {output['text']}\nwritten by the cell\n{cell.source}")
    return notebook


def to_markdown(notebook: nbformat.NotebookNode, name: str) -> tuple[str, dict[str, str]]:
    """Return a page in Markdown, and its figures by the names that the page has for them."""
    figures: dict[str, str] = {}
    parts: list[str] = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for data in _shown(cell):
            if "image/svg+xml" in data:
                file = f"{name}-{len(figures) + 1}.svg"
                figures[file] = str(data["image/svg+xml"])
                said = re.sub(r"([\\[\]])", r"\\\1", str(data["text/plain"]))  # a bracket would end it
                parts.append(f"![{said}]({file})")
            elif "text/html" in data:
                parts.append(f'<div class="output">\n{_table(str(data["text/html"]))}\n</div>')
            else:
                parts.append(f'<div class="output">\n<pre>{escape(str(data["text/plain"]))}</pre>\n</div>')
    title, *rest = "\n\n".join(parts).split("\n", 1)
    return f"{title}\n\n[Download this page as a notebook]({name}.ipynb)\n{''.join(rest)}\n", figures


def _shown(cell: nbformat.NotebookNode) -> Iterator[Mapping[str, Any]]:
    for output in cell.get("outputs", []):
        yield {"text/plain": output["text"].rstrip()} if output.output_type == "stream" else output["data"]


def _table(html: str) -> str:
    """Leave the look of a frame of pandas to the site."""
    html = re.sub(r"<style scoped>.*?</style>", "", html, flags=re.DOTALL)
    return html.replace(' border="1" class="dataframe"', "").replace(' style="text-align: right;"', "")
