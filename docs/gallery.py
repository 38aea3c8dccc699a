# %% [markdown]
# # Gallery
#
# Every figure of the library, with the code that draws it. In a notebook the figures are interactive: point
# at a mark to read its numbers. `chart.save("figure.png")` writes a file; .svg, .pdf and .html work, too.
# They need `pip install "aegis-opt[plot]"`.

# %%
import aegis_opt as ao

clinic = ao.datasets.clinic(2000, seed=0)
summary = ao.summarize(
    clinic.frame, "health", clinic.configurations, histograms=True
)

# %% [markdown]
# ## A ranking
#
# How much each configuration loses, by a measure of single attributes. The line is a proved range of the
# true loss.

# %%
advice = ao.advise(summary, measure="mi")
advice.plot(top=6)

# %% [markdown]
# ## A ranking beside the truth
#
# Where the raw table is known, as in research, the true loss can be drawn, too.

# %%
truth = ao.harness.true_deviation(clinic, "mi")
ao.plot_ranking(advice, top=6, truth=truth)

# %% [markdown]
# ## A ranking by scores
#
# Scores look at all masked attributes together. The line is the interval in which the difference from the
# first lies.

# %%
scores = ao.summarize(
    clinic.frame, "health", clinic.configurations, share="scores"
)
ao.advise(scores).plot(top=6)

# %% [markdown]
# ## What each attribute loses
#
# A row for each configuration and a column for each attribute. Dark cells lose most.

# %%
advice.plot_attributes()

# %% [markdown]
# ## A reconstructed table
#
# Each cell of a reconstructed table against the truth, if it is known, or else against the prior.

# %%
import pandas as pd

table = pd.crosstab(clinic.frame["age"], clinic.frame["health"])
problem = ao.Problem.from_table(table, groups=table.index // 16)
ao.reconstruct(problem, solver="smooth").plot(truth=table)

# %% [markdown]
# ## What privacy costs
#
# The least loss for every k of k-anonymity, with all records or with a few left out.

# %%
candidates = {
    "age": [ao.Bucketize(width=width) for width in (5, 10, 25, 50)],
    "weight": [ao.Bucketize(width=width) for width in (10, 20, 40, 80)],
    "zip": [ao.Prefix(4), ao.Prefix(3), ao.Prefix(2), ao.Suppress()],
}
curve = ao.search_curve(
    clinic.frame, "health", candidates, k=[2, 5, 25, 100], suppression=[0, 0.02]
)
curve.plot()

# %% [markdown]
# ## A comparison of solvers
#
# These need a results folder, or `run_comparison`. First: how long each solver takes, and how far its tables
# are from the truth.

# %%
from aegis_opt.harness import Case, ComparisonSettings, run_comparison

settings = ComparisonSettings(
    solvers=["ipf", "smooth", "integer:l2", "sampling"], measures=["mi"]
)
results = run_comparison([Case.of(ao.datasets.clinic(300))], settings)
results.plot("pareto")

# %%
results.plot("tvd")

# %%
results.plot("regret")

# %%
results.plot("estimate")

# %%
results.plot("ranking")

# %%
results.plot("profile-time")

# %%
results.plot("profile-tvd")
