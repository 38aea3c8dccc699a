"""The picture says what the advice says."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.figure import Figure

import aegis_opt as ao
from aegis_opt.report._advice_figure import decimals_for, plot_ranking


def texts(figure: Figure) -> str:
    """All that is written in the picture."""
    (axes,) = figure.axes
    return "\n".join(text.get_text() for text in [*figure.texts, *axes.texts])


def names(figure: Figure) -> list[str]:
    return [label.get_text() for label in figure.axes[0].get_yticklabels()]


def dots(figure: Figure) -> list[float]:
    lines = figure.axes[0].lines
    return [float(line.get_xdata()[0]) for line in lines if line.get_marker() == "o"]  # type: ignore[index]


def test_rows_are_the_ranking_with_its_numbers(summary: ao.Summary) -> None:
    advice = ao.advise(summary, "mi")
    figure = plot_ranking(advice)
    assert names(figure) == [*advice.ranking["configuration"]]
    assert dots(figure) == [*advice.ranking["pud"]]
    for row in advice.ranking.itertuples():
        assert f"{row.pud_low:.4f} to {row.pud_high:.4f}" in texts(figure)
    assert (
        figure.texts[0].get_text() == f"{advice.best} loses the least predictive utility, and that is proved"
    )
    assert "choosing at random" in texts(figure)


def test_top_keeps_the_first_places(summary: ao.Summary) -> None:
    advice = ao.advise(summary, "g3")
    figure = plot_ranking(advice, top=3)
    assert names(figure) == [*advice.ranking["configuration"].head(3)]
    assert "the first 3 of 12" in texts(figure)
    with pytest.raises(ao.errors.InvalidInput, match="top"):
        plot_ranking(advice, top=0)


def test_truth_is_drawn_for_whoever_knows_it(summary: ao.Summary) -> None:
    advice = ao.advise(summary, "mi")
    truth = dict.fromkeys(advice.ranking["configuration"], 0.1234)
    figure = plot_ranking(advice, truth=truth)
    assert texts(figure).count("0.1234") == 12


def test_no_winner_is_drawn_where_none_is_named(summary: ao.Summary) -> None:
    advice = ao.advise(summary, "mi", scope="single")
    figure = plot_ranking(advice)
    assert "No winner" in texts(figure)
    assert "proved wrong" in texts(figure)
    assert "choosing at random" not in texts(figure)


def test_a_random_estimate_without_bounds_shows_its_spread(summary: ao.Summary) -> None:
    """Totals that were repaired prove no bounds."""
    advice = ao.advise(summary, "mi", scope="single", rounding="hypergeometric", replicates=4)
    unknown = advice.ranking.assign(pud_low=float("nan"), pud_high=float("nan"))
    written = texts(plot_ranking(replace(advice, ranking=unknown)))
    assert "by this estimate" in written
    assert "standard deviation" in written
    assert "proved" not in written


@pytest.mark.parametrize("measure", ["cramers_v", "g3_loo", "mi_loo"])
def test_a_measure_that_ranks_by_its_masked_value_shows_scores(summary: ao.Summary, measure: str) -> None:
    advice = ao.advise(summary, measure)
    figure = plot_ranking(advice)
    written = texts(figure)
    better = "less" if measure == "g3_loo" else "more"
    assert "keeps the most predictive utility by this estimate" in written
    assert figure.axes[0].get_xlabel().endswith(f"{better} is better")
    assert "deviation" not in written


def test_bounds_that_end_beyond_the_axis_have_an_arrow(summary: ao.Summary) -> None:
    advice = ao.advise(summary, "mi")

    def arrows(factor: float) -> int:
        far = advice.ranking.assign(pud_high=factor * advice.ranking["pud"].max())
        figure = plot_ranking(replace(advice, ranking=far))
        return sum(line.get_marker() == ">" for line in figure.axes[0].lines)

    assert (arrows(2.0), arrows(9.0)) == (0, 12)


def test_the_file_is_whole_or_not_there(summary: ao.Summary, tmp_path: Path) -> None:
    advice = ao.advise(summary, "mi")
    plot_ranking(advice, tmp_path / "ranking.png")
    assert (tmp_path / "ranking.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    with pytest.raises(ValueError, match="docx"):
        plot_ranking(advice, tmp_path / "ranking.docx")
    assert [path.name for path in tmp_path.iterdir()] == ["ranking.png"]


def test_missing_matplotlib_is_told(summary: ao.Summary, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ao.errors.MissingDependency, match=r"pip install 'aegis-opt\[plot\]'"):
        plot_ranking(ao.advise(summary))


@pytest.mark.parametrize(
    ("values", "usual", "decimals"),
    [([0.5], 4, 4), ([12.0, 3.0], 4, 3), ([123456.0], 3, 0), ([2e-6], 4, 8), ([0.0], 4, 4), ([], 3, 3)],
)
def test_decimals_fit_the_size_of_the_numbers(values: list[float], usual: int, decimals: int) -> None:
    assert decimals_for(values, usual) == decimals
