"""One module per figure, each of which makes a chart of altair from numbers computed before."""
