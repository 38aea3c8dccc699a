# %% [markdown]
# # Tune a model together with its masks
#
# You train models on masked data, and want to know which masking costs the least accuracy. A grid search can answer
# that, because masking is a step of a pipeline like any other. The advisor gives the same answer without training a
# model: this tutorial does both and compares.

# %%
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

import aegis_opt as ao

clinic = ao.datasets.clinic(1000, seed=0)
X, y = clinic.frame.drop(columns="health"), clinic.frame["health"]

# %% [markdown]
# ## A pipeline that masks
#
# `MaskingTransformer` takes a configuration. It learns from the training data what its masks need to know, and masks
# whatever comes later in the same way.

# %%
names = ["coarse-age", "life-stages", "young-old", "no-age", "strictest"]
pipeline = Pipeline(
    [
        ("mask", ao.MaskingTransformer(clinic.configurations["coarse-age"])),
        ("encode", OneHotEncoder(handle_unknown="ignore")),
        ("model", LogisticRegression(max_iter=1000)),
    ]
)
pipeline.fit(X, y)
pipeline[:1].transform(X).head(3)

# %% [markdown]
# ## Search over masks and models at once

# %%
search = GridSearchCV(
    pipeline,
    {
        "mask__configuration": [clinic.configurations[name] for name in names],
        "model__C": [0.1, 1.0],
    },
    cv=3,
)
search.fit(X, y)
print(search.best_score_, search.best_params_)
