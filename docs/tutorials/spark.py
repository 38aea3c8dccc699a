# %% [markdown]
# # Mask a table on a Spark cluster
#
# Your table is on a Spark cluster, and it is large. It stays there: Spark counts and Spark masks. Only the
# counts come to your machine. The code is the same as for a small table.
#
# You need `pip install "aegis-opt[spark]"` and Java 17 or newer. Without further settings, Spark runs on
# your own machine; `spark-submit` and `PYSPARK_SUBMIT_ARGS` choose a cluster.

# %%
from pyspark.sql import SparkSession

import aegis_opt as ao

spark = SparkSession.builder.appName("patients").getOrCreate()

# %% [markdown]
# ## The table
#
# A real one would be read with `spark.read.parquet(...)` or `spark.table(...)`. Here it is the synthetic
# clinic.

# %%
clinic = ao.datasets.clinic(20_000, seed=0)
clinic.frame.to_parquet("patients.parquet")
patients = spark.read.parquet("patients.parquet")
patients.printSchema()

# %% [markdown]
# ## Count on the cluster
#
# One scan serves all configurations. Its cost does not grow with their number, and what comes back has the
# size of the counts, not that of the table.

# %%
summary = ao.summarize(
    patients, label="health", configurations=clinic.configurations
)
summary

# %% [markdown]
# The summary does not depend on where the counting was done:

# %%
local = ao.summarize(
    clinic.frame, label="health", configurations=clinic.configurations
)
summary.facts().equals(local.facts())

# %% [markdown]
# ## Ask for advice
#
# From here on, nothing needs the cluster.

# %%
advice = ao.advise(summary, measure="mi")
advice

# %%
advice.plot(top=5)

# %% [markdown]
# ## Mask on the cluster
#
# A Spark DataFrame gives a Spark DataFrame, which is computed when it is used. No row passes through
# Python.

# %%
masked = ao.apply_configuration(patients, clinic.configurations[advice.best])
masked.write.mode("overwrite").parquet("masked.parquet")
spark.read.parquet("masked.parquet").groupBy("age").count().orderBy(
    "age"
).toPandas()

# %%
spark.stop()

# %% [markdown]
# ## Where to go from here
#
# * [Summaries](../summaries.md#sources) lists the other sources.
# * [Releasing masked data](../release.md) shows the same masks as SQL, for databases that are neither Spark
#   nor DuckDB.
# * [Benchmarks](../benchmarks.md#any-size) has the time per record.
