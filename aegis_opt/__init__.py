"""Choose the data masking that keeps features predictive, from summaries alone."""
