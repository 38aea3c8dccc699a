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
