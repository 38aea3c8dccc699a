# %% [markdown]
# # Tune a model together with its masks
#
# You train models on masked data, and want to know which masking costs the least accuracy. A grid search
# can tell, because masking is a step of a pipeline like any other. The advisor can tell, too, and trains no
# model. This tutorial does both and compares.

# %%
import pandas as pd
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
# `MaskingTransformer` takes a configuration, here one of several by its name. It learns from the training
# data what its masks need to know, and masks whatever comes later in the same way.

# %%
masking = ao.MaskingTransformer(
    "coarse-age", configurations=clinic.configurations
)
pipeline = Pipeline(
    [
        ("mask", masking),
        ("encode", OneHotEncoder(handle_unknown="ignore")),
        ("model", LogisticRegression(max_iter=500)),
    ]
)
masking.fit_transform(X).head(3)

# %% [markdown]
# ## Search over masks and models at once
#
# The name of the configuration is a parameter of the pipeline, and a grid search tries it like any other.

# %%
names = ["coarse-age", "life-stages", "erased-digits", "no-weight", "no-age"]
search = GridSearchCV(
    pipeline, {"mask__configuration": names, "model__C": [0.1, 1.0]}, cv=3
)
search.fit(X, y)
search.best_params_

# %%
tried = pd.DataFrame(search.cv_results_)
accuracy = (
    tried.groupby("param_mask__configuration")["mean_test_score"]
    .max()
    .rename("accuracy")
)
accuracy.sort_values(ascending=False).to_frame().round(3)

# %% [markdown]
# ## Ask the advisor instead
#
# The search trained 31 models. The advisor trains none. It computes from counts how well the masked columns
# predict the label *together*.

# %%
candidates = ao.Configurations(
    {name: clinic.configurations[name] for name in names}, label="health"
)
advice = ao.advise(
    ao.summarize(clinic.frame, configurations=candidates, share="scores")
)
advice.plot()

# %%
compared = advice.ranking.set_index("configuration")[["rank", "score"]].join(
    accuracy
)
compared.round(3)

# %% [markdown]
# Both choose `erased-digits`, and both put `no-age` last. In between they disagree about configurations
# that are nearly equal.
#
# ## Where to go from here
#
# * [Scores](../scores.md) explains what the advisor computes here, and which other scores there are.
# * [Does the advice hold for models](../regret.md) repeats this comparison with five classifiers on several
#   data sets.
# * [Releasing masked data](../release.md#in-a-scikit-learn-pipeline) has the details of the transformer.
