"""Draw the picture of the front page and the README: `make picture`."""

from pathlib import Path

import aegis_opt as ao

PICTURE = Path(__file__).with_name("ranking.svg")


def draw(path: Path) -> None:
    """Rank maskings of a synthetic clinic from a summary, and draw the ranking beside the truth."""
    clinic = ao.datasets.clinic(2000, seed=0)
    summary = ao.summarize(clinic.frame, clinic.label, clinic.configurations, histograms=True)
    truth = ao.harness.true_deviation(clinic, "mi")
    ao.plot_ranking(ao.advise(summary, measure="mi"), path, top=8, truth=dict(truth))


if __name__ == "__main__":
    draw(PICTURE)
