# %% [markdown]
# # Choose a masking and apply it
#
# You have a table of patients. You want to share it for research into what makes people healthy, and you have to
# mask it first. This tutorial compares four maskings, picks the one that keeps the columns most predictive of
# health, and writes the masked file. It trains no model.
#
# The data are a synthetic clinic that the library makes, so you can run every step yourself.

# %%
import aegis_opt as ao

patients = ao.datasets.clinic(2000, seed=0).frame
patients.to_csv("patients.csv", index=False)
patients.head(3)

# %% [markdown]
# ## Write down the maskings
#
# A *configuration* has one mask for each column. Those below differ in what they keep: fine ages, fine weights, or
# fine zip codes. The *label* is the column that others will want to predict.

# %%
configurations = ao.Configurations(
    {
        "fine age": {
            "age": ao.Bucketize(width=5),
            "weight": ao.Bucketize(width=40),
            "zip": ao.Suppress(),
        },
        "fine weight": {
            "age": ao.Bucketize(edges=[18, 40, 65]),
            "weight": ao.Bucketize(width=5),
            "zip": ao.Suppress(),
        },
        "fine zip": {
            "age": ao.Bucketize(width=25),
            "weight": ao.Bucketize(width=40),
            "zip": ao.Prefix(4),
        },
        "a bit of each": {
            "age": ao.Bucketize(width=10),
            "weight": ao.Bucketize(width=20),
            "zip": ao.Prefix(2),
        },
    },
    label="health",
)
ao.save_configurations(configurations, "configurations.yaml")

# %% [markdown]
# ## Summarise the table
#
# One scan counts how often each masked value occurs with each label. The summary is all that the next step sees. It
# holds no rows. `facts` lists everything that a stranger could read in the file; look at it before you share the file.

# %%
summary = ao.summarize("patients.csv", configurations=configurations)
summary.save("summary.json")
summary.facts().tail(4)

# %% [markdown]
# ## Ask for advice

# %%
advice = ao.advise("summary.json", measure="mi")
print(advice.reason)

# %% [markdown]
# The winner is certain: the order is *proved*, although the advisor saw no patient. The picture shows the estimated
# loss of each configuration, with proved bounds where they are known.

# %%
advice.plot()

# %% [markdown]
# Why does it win? The heat map shows what each column loses.

# %%
advice.plot_attributes()

# %% [markdown]
# ## Mask the table
#
# The masked file has the same rows and columns. A column that is not masked, such as the label, stays as it is.

# %%
chosen = configurations[advice.best]
ao.apply_configuration("patients.csv", chosen, output="masked.csv")
ao.apply_configuration(patients, chosen).head(3)

# %% [markdown]
# If the table lives in a database, mask it there: the same configuration can be written as SQL.

# %%
print(chosen.to_sql("postgresql", "patients", domains=ao.source_domains(patients, chosen)))

# %% [markdown]
# ## Where to go from here
#
# * [Masks and configurations](../masks.md) lists all masks, and shows how to draw many configurations at once.
# * [Summaries](../summaries.md) says what a summary discloses, and how to share less.
# * [How it works](../how-it-works.md) explains what is proved, and what is estimated.
