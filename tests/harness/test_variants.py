"""Variants: what a comparison calls its solvers."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aegis_opt as ao
from aegis_opt.harness._settings import expand
from aegis_opt.harness._variant import Variant

words = st.from_regex(r"[a-z][a-z0-9-]{0,8}", fullmatch=True)
values = st.one_of(st.integers(), st.booleans(), st.floats(allow_nan=False, allow_infinity=False))


@settings(max_examples=50, deadline=None)
@given(
    words, st.none() | words, st.none() | words.filter(lambda w: w != "none"), st.dictionaries(words, values)
)
def test_a_variant_reads_what_it_writes(solver, norm, rounding, options) -> None:
    variant = Variant.of({"solver": solver, "norm": norm, "rounding": rounding, "options": options})
    assert Variant.parse(str(variant)) == variant


def test_text_mapping_and_configured_solver_mean_the_same_solver() -> None:
    text = Variant.of("integer:l1[engine=cp-sat]")
    mapping = Variant.of({"solver": "integer", "norm": "l1", "engine": "cp-sat"})
    configured = Variant.of(ao.get_reconstructor("integer", norm="l1", engine="cp-sat"))
    assert text == mapping
    assert str(configured) == str(text)
    assert configured.reconstructor(7) == text.reconstructor(7)
    assert text.reconstructor(7).seed == 7


def test_open_norms_and_roundings_are_filled_in_where_they_fit() -> None:
    found = expand(["ipf", "convex", "convex:kl", "integer", "sampling"], ["l1", "l2"], ["none", "nearest"])
    assert list(map(str, found)) == [
        *("ipf", "ipf+nearest"),
        *("convex:l1", "convex:l1+nearest", "convex:l2", "convex:l2+nearest"),
        *("convex:kl", "convex:kl+nearest"),
        *("integer:l1", "integer:l2"),
        "sampling",
    ]


def test_a_default_norm_is_spelled_out() -> None:
    assert str(expand(["convex"])[0]) == "convex:l2"


@pytest.mark.parametrize(
    ("entries", "options", "error", "text"),
    [
        (["ipff"], {}, ao.UnknownSolver, "did you mean 'ipf'.*humanleague.*random"),
        (["ipf:::"], {}, ao.errors.InvalidOption, "cannot read the variant"),
        (["ipf[tolerance]"], {}, ao.errors.InvalidOption, r"\[option=value\]"),
        (["ipf[speed=9]"], {}, ao.errors.InvalidOption, "no option 'speed'"),
        (["ipf+nicely"], {}, ao.errors.InvalidOption, "unknown rounding 'nicely'; known: independent"),
        (["ipf"], {"roundings": ["nicely"]}, ao.errors.InvalidOption, "unknown rounding 'nicely'"),
        (["ipf"], {"norms": ["l1"]}, ao.errors.InvalidOption, "no solver of this comparison minimises.*'l1'"),
        (["ipf"], {"norms": ["l7"]}, ao.errors.InvalidOption, "unknown norm 'l7'; known: chi2"),
        (["ipf:l1"], {}, ao.errors.InvalidOption, "solvers that can: convex, integer"),
        (["convex:lp=1"], {}, ao.errors.InvalidOption, "p must be a number above 1, not 1"),
        (
            ["integer"],
            {"norms": ["neyman"]},
            ao.errors.InvalidOption,
            "minimises none of neyman; it has: kl, chi2, hellinger, l1, l2, linf",
        ),
        (["ipf", "ipf"], {}, ao.errors.InvalidOption, "listed twice"),
        (["ipfn[speed=9]"], {}, ao.errors.InvalidOption, "peer 'ipfn' has no option 'speed'"),
        (["random:l1"], {}, ao.errors.InvalidOption, "takes no norm"),
        ([42], {}, ao.errors.InvalidOption, "not 42"),
        ([{"norm": "l1"}], {}, ao.errors.InvalidOption, "needs a 'solver'"),
        (["nothing"], {}, ao.UnknownSolver, r"For comparison only: humanleague, .*random, sinkhorn\.$"),
        (["convex"], {"norms": [1]}, ao.errors.InvalidOption, "unknown norm 1; .*Give a name or a Distance"),
        (
            [ao.get_reconstructor("sampling", seed=7)],
            {},
            ao.errors.InvalidOption,
            r"seed of its own.*seeds=\[7\]",
        ),
        (["sampling[seed=7]"], {}, ao.errors.InvalidOption, r"seed of its own.*seeds=\[7\]"),
        ([{"solver": "sampling", "seed": 0}], {}, ao.errors.InvalidOption, r"seed of its own.*seeds=\[0\]"),
        (["convex[norm=l1]"], {}, ao.errors.InvalidOption, "norm is no option of a variant: write convex:l1"),
        (["ipf[rounding=nearest]"], {}, ao.errors.InvalidOption, r"write ipf\+nearest"),
    ],
)
def test_a_wrong_variant_is_told_before_any_work(entries, options, error, text) -> None:
    with pytest.raises(error, match=f"(?s){text}"):
        expand(entries, **options)


def test_norms_are_crossed_with_the_solvers_that_take_them_and_named_with_parameters() -> None:
    weighted = ao.distances.Weighted("l2", [1.0, 2.0], name="by-label")
    found = expand(["ipf", "ipf:chi2", "convex", "integer"], ["lp=2.50", "neyman", weighted])
    assert [str(variant) for variant in found] == [
        "ipf",
        "ipf:chi2",
        "convex:lp=2.5",
        "convex:neyman",
        "convex:by-label",
        "integer:lp=2.5",
        "integer:by-label",
    ]
    assert found[4].reconstructor().distance == weighted
    assert [str(variant) for variant in expand(["ipf:kl", "convex:huber"])] == ["ipf", "convex:huber=1"]
