# %% [markdown]
# # Choose a masking and apply it
#
# You have a table of patients. You want to share it for research into what makes people healthy, and you
# have to mask it first. This tutorial compares four maskings, picks the one that keeps the columns most
# predictive of health, and writes the masked file. It trains no model.
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
# A *configuration* has one mask for each column. The four below differ in what they keep. The *label* is
# the column that others will want to predict.

# %%
configurations = ao.Configurations(
    {
        "fine age": {
            "age": ao.Bucketize(width=5),
            "weight": ao.Suppress(),
            "zip": ao.Suppress(),
        },
        "fine weight": {
            "age": ao.Suppress(),
            "weight": ao.Bucketize(width=5),
            "zip": ao.Prefix(2),
        },
        "fine zip": {
            "age": ao.Bucketize(width=50),
            "weight": ao.Bucketize(width=50),
            "zip": ao.Prefix(4),
        },
        "a bit of each": {
            "age": ao.Bucketize(edges=[18, 40, 65]),
            "weight": ao.Bucketize(width=10),
            "zip": ao.Prefix(3),
        },
    },
    label="health",
)
configurations.save("configurations.yaml")

# %% [markdown]
# ## Summarise the table
#
# One scan counts how often each masked value occurs with each label. The summary is all that the next step
# sees.

# %%
summary = ao.summarize("patients.csv", configurations=configurations)
summary.save("summary.json")
summary

# %% [markdown]
# `facts` lists all that a stranger could read in the file. Look at it before you share the file. Its last
# lines say what is *not* there:

# %%
facts = summary.facts()
for text in facts.loc[facts["about"] == "not in the file", "content"]:
    print("-", text)

# %% [markdown]
# Several tables together tell more than each of them. `audit` finds out which counts of the unmasked
# columns follow from all of them:

# %%
ao.audit(summary)

# %% [markdown]
# ## Ask for advice

# %%
advice = ao.advise("summary.json", measure="mi")
advice

# %% [markdown]
# The order is *proved*, although the advisor saw no patient. The warning is about `zip`: so few patients
# share a zip code that some of its mutual information is chance. The measure `mi_loo` leaves that part out.
# It picks the same configuration:

# %%
ao.advise("summary.json", measure="mi_loo").best

# %% [markdown]
# The picture shows how much of its mutual information with health a column loses on average.

# %%
advice.plot()

# %% [markdown]
# Why does this one win? The heat map shows what each column loses under each configuration.

# %%
advice.plot_attributes()

# %% [markdown]
# If somebody has to sign the decision, write the decision record: one page with the conclusion, the
# evidence, what the summary discloses, and how to make it again.

# %%
advice.report("advice.html")

# %% [markdown]
# ## Check its privacy
#
# What keeps more also shows more. A common rule is *k-anonymity*: each combination of masked values belongs
# to at least k patients.

# %%
checked = ao.check_privacy(
    "patients.csv", configurations, ao.privacy.KAnonymity(5)
)
checked[["configuration", "private", "smallest_class", "suppressed"]]

# %% [markdown]
# None of the four is 5-anonymous. The last column says how many patients stand in the way: without these
# the rule holds. (`ao.search` finds the best configuration of all that satisfy a rule.)
#
# ## Mask the table
#
# So these patients are left out, and the rest is masked. A column that is not masked, such as the label,
# stays as it is.

# %%
chosen = configurations[advice.best]
ao.apply_configuration(
    "patients.csv", chosen, output="masked.csv", suppress_below=5
)
masked = ao.apply_configuration(patients, chosen, suppress_below=5)
len(patients) - len(masked)

# %%
masked.head(3)

# %% [markdown]
# If the table lives in a database, mask it there: the same configuration can be written as SQL.

# %%
print(
    chosen.to_sql(
        "postgresql", "patients", domains=ao.source_domains(patients, chosen)
    )
)

# %% [markdown]
# ## Where to go from here
#
# * [Masks and configurations](../masks.md) lists all masks, and shows how to draw many configurations at
#   once.
# * [Summaries](../summaries.md) says what a summary discloses, and how to share less.
# * [Privacy](../privacy.md) has more rules, and [search](../search.md) looks through all combinations.
# * [Advice](../advice.md) shows what else an advice can tell.
# * [How it works](../how-it-works.md) explains what is proved, and what is estimated.
