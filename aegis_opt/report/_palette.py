"""Colours and shapes of the variants, the same on the page and in the pictures.

The hues are Okabe and Ito's, told apart with every kind of colour vision; each has a shade for white paper
and one for dark screens. Shapes repeat with another period, so that no two of 42 variants look alike.
"""

VARIANTS = (
    ("#0072B2", "#4FA8E0"),
    ("#D55E00", "#F0813A"),
    ("#00845F", "#2FBF95"),
    ("#BB5F93", "#DE97BF"),
    ("#B97A00", "#E9B13C"),
    ("#2F95CF", "#8CCBF2"),
    ("#5B6472", "#AEB7C4"),
)
HEAT = {
    "heat-low": ("#EEF4FA", "#232B37"),
    "heat-high": ("#08519C", "#7CC0F5"),
    "worse": ("#B34700", "#F08A4B"),  # than a choice at random
}
SHAPES = ("circle", "square", "triangle", "diamond", "cross", "nabla")
MARKERS = dict(zip(SHAPES, ("o", "s", "^", "D", "X", "v"), strict=True))
"""The same shapes as matplotlib calls them."""
