# %% [markdown]
# # Compare distances and solvers
#
# Masked counts do not determine the table behind them. A solver picks one of the tables that fit: the one
# closest to a starting guess, by some distance. Which distance, and which solver, comes closest to the
# truth? Here the truth is known, so we can look.

# %%
import pandas as pd

import aegis_opt as ao

clinic = ao.datasets.clinic(2000, seed=0)
truth = pd.crosstab(clinic.frame["age"], clinic.frame["health"])
truth.iloc[40:43]

# %% [markdown]
# ## Pose a problem
#
# Suppose that only two facts about this table are known: the counts of ages in groups of 16 years with each
# state of health, and how many people there are of each age.

# %%
problem = ao.Problem.from_table(truth, groups=truth.index // 16)
problem

# %% [markdown]
# ## Solve it in several ways
#
# Every solver has the same interface.

# %%
solvers = {
    "least Kullback-Leibler": {"solver": "ipf"},
    "least Hellinger": {"solver": "ipf", "norm": "hellinger"},
    "least l1": {"solver": "convex", "norm": "l1"},
    "least l2, whole numbers": {"solver": "integer", "norm": "l2"},
    "smoothest": {"solver": "smooth"},
    "drawn": {"solver": "ipf", "rounding": "drawn", "seed": 0},
    "the paper's baseline": {"solver": "sampling", "seed": 0},
}
found = {
    name: ao.reconstruct(problem, **chosen) for name, chosen in solvers.items()
}
rows = {
    name: {
        "TVD to the truth": ao.tvd(result.table, truth),
        "mutual information": ao.mutual_information(result.table),
        "status": result.status.name,
        "method": result.method,
    }
    for name, result in found.items()
}
pd.DataFrame.from_dict(rows, orient="index").round(3)

# %% [markdown]
# The total variation distance (TVD) is 0 for the true table and at most 1. The smoothest table comes
# closest: health changes little from one age to the next, and only this solver makes use of that. The other
# distances hardly differ.
#
# The status is the library's own check against the known totals, never what a solver says about itself. The
# baseline misses some of them.
#
# The closest table is not best for everything. These are 2,000 people in 96 ages, so chance alone adds
# mutual information to the true table:

# %%
round(ao.mutual_information(truth), 3)

# %% [markdown]
# Smooth tables lack that part. A *drawn* table varies as real counts do: it lies further from the truth,
# cell by cell, and yet has nearly the right mutual information.
#
# ## Compare inside the advisor
#
# What counts in the end is the advice. `ao.compare` runs each solver through the complete advisor, and
# judges what it recommends by the truth. The *regret* is how much more the chosen configuration loses than
# the best one.

# %%
results = ao.compare(
    clinic,
    solvers=["ipf", "smooth", "sampling", "random"],
    measures=["mi"],
    scopes=["single", "pooled"],
    histograms=[True],
)
results = results.sort_values(["scope", "variant"])
results[["scope", "variant", "status", "best", "regret", "certified"]].round(3)

# %% [markdown]
# The choice of the solver matters less than the *scope*. From the views of all configurations together
# (`pooled`), every solver finds the best configuration, with a proof. From the views of one configuration
# at a time (`single`), as in the paper, the solvers cannot tell the configurations apart and say so. The
# baseline does name a winner, which is not the best one. It needs single views and is skipped elsewhere.
#
# ## Where to go from here
#
# * [Choose a solver](../choose.md) says which solver is for what.
# * [Which distance is closest](../norms.md) has the same comparison on many tables.
# * [Compare solvers](../compare.md) shows comparisons that take hours, on disk and on several cores.
# * [Extend it](../extend.md) shows how to add your own solver or distance.
