# %% [markdown]
# # Compare distances and solvers
#
# Masked counts do not determine the table behind them. A solver picks one of the tables that fit: the one closest to
# a starting guess, by some distance. Which distance, and which solver, comes closest to the truth? Here the truth is
# known, so we can look.

# %%
import pandas as pd

import aegis_opt as ao

clinic = ao.datasets.clinic(2000, seed=0)
truth = pd.crosstab(clinic.frame["age"], clinic.frame["health"])
truth.iloc[40:43]

# %% [markdown]
# ## Pose a problem
#
# Suppose that only two facts about this table are known: the counts of ages in groups of 16 years with each state of
# health, and how many people there are of each age.

# %%
problem = ao.Problem.from_table(truth, groups=truth.index // 16)
problem

# %% [markdown]
# ## Solve it in several ways
#
# Every solver has the same interface. The total variation distance (TVD) to the truth is 0 where the table is found
# exactly, and 1 at most.

# %%
solvers = {
    "Kullback-Leibler": {"solver": "ipf"},
    "Hellinger": {"solver": "ipf", "norm": "hellinger"},
    "l2": {"solver": "convex", "norm": "l2"},
    "l1": {"solver": "convex", "norm": "l1"},
    "l2, whole numbers": {"solver": "integer", "norm": "l2"},
    "smooth": {"solver": "smooth"},
    "the paper's baseline": {"solver": "sampling", "seed": 0},
}
found = {name: ao.reconstruct(problem, **options) for name, options in solvers.items()}
pd.DataFrame(
    {
        "distance to the truth": {name: ao.tvd(result.table, truth) for name, result in found.items()},
        "mutual information": {name: ao.mutual_information(result.table) for name, result in found.items()},
        "status": {name: result.status.name for name, result in found.items()},
        "method": {name: result.method for name, result in found.items()},
    }
).round(3).sort_values("distance to the truth")

# %% [markdown]
# The solver `smooth` comes closest, because health changes little from one age to the next and it knows that. The
# distances hardly differ from one another. The status is our own check of the table against the known totals, never
# what a solver says about itself.
#
# The mutual information of the true table is higher than that of any reconstruction but the baseline's, which adds
# noise:

# %%
round(ao.mutual_information(truth), 3)

# %% [markdown]
# ## Compare inside the advisor
#
# A closer table is not the aim: better advice is. `ao.compare` runs each solver through the complete advisor and
# compares its choice with the truth. The *regret* is how much more the chosen configuration loses than the best one.

# %%
results = ao.compare(
    clinic,
    solvers=["ipf", "integer:l2", "smooth", "sampling", "random"],
    measures=["mi"],
    scopes=["single"],
    histograms=[True],
)
results[["variant", "status", "best", "regret", "kendall_tau"]].round(3)

# %% [markdown]
# ## Where to go from here
#
# * [Choose a solver](../choose.md) says which solver is for what.
# * [Which distance is closest](../norms.md) has the same comparison on many tables.
# * [Compare solvers](../compare.md) shows comparisons that take hours, on disk and on several cores.
# * [Extend it](../extend.md) shows how to add your own solver or distance.
