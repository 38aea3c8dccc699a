"""Noise masks: their channels, what privacy they give, their files, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aegis_opt as ao
from aegis_opt.domain import Domain
from aegis_opt.errors import ConfigurationError, MaskError
from aegis_opt.masks import Configuration, Configurations, load_configurations, mask_from_spec
from aegis_opt.masks._noise import uniforms

COLOURS = ["blue", "green", "red"]
MASKS = [
    ao.RandomizedResponse(p=0.6, domain=COLOURS),
    ao.RandomizedResponse(epsilon=0.5, domain=[*COLOURS, None], seed=7),
    ao.RandomizedResponse(epsilon=1),
    ao.AddNoise("geometric", epsilon=2, low=0, high=9),
    ao.AddNoise("geometric", scale=1.5),
    ao.AddNoise("discrete_gaussian", scale=2.5, low=-3, high=12, seed=1),
    ao.AddNoise("discrete_gaussian", epsilon=0.7, low=3),
    ao.Pram([[0.9, 0.2], [0.1, 0.8]], seed=3),
    ao.Pram(pd.DataFrame([[0.9, 0.2], [0.1, 0.5], [0.0, 0.3]], index=["a", "b", "?"], columns=["a", "b"])),
]


@pytest.mark.parametrize("mask", MASKS, ids=repr)
def test_a_noise_mask_survives_its_file(mask: ao.masks.Mask, tmp_path) -> None:
    assert mask_from_spec(mask.to_spec()) == mask
    for ending in ("json", "yaml"):
        saved = Configurations({"c": {"x": mask}})
        saved.save(tmp_path / f"masks.{ending}")
        assert load_configurations(tmp_path / f"masks.{ending}") == saved


def test_randomised_response_is_the_formula() -> None:
    domain = Domain.of([*COLOURS, None])
    channel = ao.RandomizedResponse(p=0.7, domain=[*COLOURS, None]).channel(domain)
    assert channel.labels == ("blue", "green", "red", None)
    np.testing.assert_allclose(channel.matrix, np.full((4, 4), 0.1) + 0.6 * np.eye(4))
    assert channel.epsilon == pytest.approx(math.log(0.7 / 0.1))
    by_epsilon = ao.RandomizedResponse(epsilon=math.log(7), domain=[*COLOURS, None])
    np.testing.assert_allclose(by_epsilon.channel(domain).matrix, channel.matrix)
    assert by_epsilon.epsilon_for() == pytest.approx(math.log(7))


def test_declared_values_need_not_occur() -> None:
    mask = ao.RandomizedResponse(epsilon=1, domain=[*COLOURS, "teal"])
    channel = mask.channel(Domain.of(["green", "red"]))
    assert channel.matrix.shape == (4, 2)
    assert channel.labels == (*COLOURS, "teal")
    assert mask.epsilon_for() == pytest.approx(1)
    with pytest.raises(MaskError, match="does not say what becomes of 'pink', None"):
        mask.channel(Domain.of(["red", "pink", None]))


@given(
    st.sampled_from(["geometric", "discrete_gaussian"]),
    st.floats(0.05, 8),
    st.integers(-20, 20),
    st.integers(0, 30),
)
@settings(max_examples=60, deadline=None)
def test_added_noise_gives_the_epsilon_that_was_asked_for(
    distribution: str, epsilon: float, low: int, width: int
) -> None:
    mask = ao.AddNoise(distribution, epsilon=epsilon, low=low, high=low + width)
    channel = mask.channel(Domain.of(range(low, low + width + 1)))
    np.testing.assert_allclose(channel.matrix.sum(axis=0), 1)
    assert channel.labels == tuple(range(low, low + width + 1))
    assert channel.epsilon == pytest.approx(epsilon if width else 0.0, rel=1e-6)
    assert mask.epsilon_for() == pytest.approx(epsilon if width else 0.0, rel=1e-6)


@pytest.mark.parametrize("scale", [0.4, 3.0, 990.0, 1010.0])
@pytest.mark.parametrize("width", [1, 7, 500])
def test_gaussian_noise_of_any_scale_is_the_sum_of_its_weights(scale: float, width: int) -> None:
    """Brute force, on both sides of the scale from which tails are a formula."""
    k = np.arange(-int(12 * scale) - width - 2, int(12 * scale) + width + 3)
    weights = np.exp(-((k / scale) ** 2) / 2)
    expected = np.bincount(np.clip(k, -width, width) + width, weights=weights / weights.sum())
    mask = ao.AddNoise("discrete_gaussian", scale=scale, low=0, high=width)
    found = mask.channel(Domain.of([width])).matrix[:, 0]  # noise is cut off at 0 and at the width
    np.testing.assert_allclose(found, [*expected[:width], expected[width:].sum()], rtol=1e-12, atol=1e-15)
    if expected[-1] > 0:
        at_the_end, inside = math.log(found[-1] / expected[-1]), (width - 1) ** 2 / (2 * scale**2)
        assert mask.epsilon_for() == pytest.approx(max(at_the_end, inside), rel=1e-9)


@pytest.mark.parametrize(
    ("epsilon", "width"), [(3e-5, 3), (1e-5, 1), (0.1, 10_000), (5, 10_000), (1e8, 10_000), (0.02, 1000)]
)
def test_the_gaussian_scale_of_an_epsilon_is_found_at_once(epsilon: float, width: int) -> None:
    """Some of these took a minute; the scale is the least one, or 0.001, where the noise is 0."""
    mask = ao.AddNoise("discrete_gaussian", epsilon=epsilon, low=0, high=width)
    scale = mask.noise_scale()
    assert mask.epsilon_for() <= epsilon
    nearby = ao.AddNoise("discrete_gaussian", scale=scale * (1 - 1e-12), low=0, high=width)
    assert nearby.epsilon_for() > epsilon or scale == 1e-3


@pytest.mark.parametrize("scale", [5e-324, 1e-200, 1e-3])
def test_gaussian_noise_of_a_tiny_scale_is_none(scale: float) -> None:
    mask = ao.AddNoise("discrete_gaussian", scale=scale, low=0, high=3)
    assert np.array_equal(mask.channel(Domain.of(range(4))).matrix, np.eye(4))
    assert mask.epsilon_for() > 1e6


@pytest.mark.parametrize(
    ("distribution", "weight"),
    [
        ("geometric", lambda k: np.exp(-np.abs(k) / 1.7)),
        ("discrete_gaussian", lambda k: np.exp(-(k**2) / (2 * 1.7**2))),
    ],
)
def test_added_noise_is_cut_off_at_both_ends(distribution, weight) -> None:
    """Brute force: the noise of a wide range, cut off."""
    k = np.arange(-400, 401)
    noise = weight(k.astype(float)) / weight(k.astype(float)).sum()
    mask = ao.AddNoise(distribution, scale=1.7, low=2, high=6)
    channel = mask.channel(Domain.of([1, 3, 6, 99]))
    for a, value in enumerate([2, 3, 6, 6]):
        expected = np.zeros(5)
        np.add.at(expected, np.clip(value + k, 2, 6) - 2, noise)
        np.testing.assert_allclose(channel.matrix[:, a], expected, atol=1e-12)


def test_the_missing_value_of_numbers_stays_missing() -> None:
    mask = ao.AddNoise("geometric", epsilon=1, low=0, high=2)
    channel = mask.channel(Domain.of([0, 2, None]))
    assert channel.labels[-1] is None
    assert channel.matrix[-1].tolist() == [0, 0, 1]
    assert mask.epsilon_for(Domain.of([0, 2, None])) == math.inf


@pytest.mark.parametrize("mask", [m for m in MASKS if m.declared], ids=repr)
def test_draws_have_the_distribution_of_the_channel(mask) -> None:
    """Counts of 10,000 draws: within 5 standard deviations of the mean, for every masked value."""
    domain = Domain.of(range(-3, 13)) if isinstance(mask, ao.AddNoise) else Domain.of(mask.listed())
    channel, draws = mask.channel(domain), 10_000
    for a in range(len(domain)):
        uniform = uniforms(f"{a}", draws)
        found = np.bincount(mask.drawn(domain, np.full(draws, a), uniform), minlength=len(channel.labels))
        p = channel.matrix[:, a]
        assert (np.abs(found - draws * p) <= 5 * np.sqrt(draws * p * (1 - p)) + 1e-9).all()


def test_fitting_declares_what_the_column_has() -> None:
    frame = pd.DataFrame({"age": [3, 9, 4], "colour": ["red", None, "blue"], "b": [True, False, True]})
    fitted = ao.fit_configuration(
        frame,
        {
            "age": ao.AddNoise("geometric", epsilon=2),
            "colour": ao.RandomizedResponse(epsilon=1),
            "b": ao.Pram([[0.9, 0.2], [0.1, 0.8]]),
        },
    )
    age, colour, b = (vars(fitted[name]) for name in ("age", "colour", "b"))
    assert (age["low"], age["high"]) == (3, 9)
    assert colour["domain"] == ("blue", "red", None)
    assert b["values"] == (False, True)
    assert fitted.epsilon() == pytest.approx(2 + 1 + math.log(8))
    assert ao.fit_configuration(frame, fitted) == fitted


def test_epsilons_add_up_over_the_attributes_with_noise() -> None:
    noise = ao.RandomizedResponse(epsilon=0.5)
    configuration = Configuration({"a": noise, "b": noise, "c": ao.Suppress(), "d": ao.Bucketize(width=5)})
    domains = {"a": Domain.of(COLOURS), "b": Domain.of([1, 2])}
    found = configuration.epsilons(domains)
    assert found == {"a": pytest.approx(0.5), "b": pytest.approx(0.5), "c": 0.0, "d": math.inf}
    assert configuration.epsilon(domains) == pytest.approx(1.0)
    assert Configuration({"c": ao.Suppress()}).epsilon() == math.inf
    with pytest.raises(MaskError, match=r"attribute 'a': .*declare them, or fit the mask"):
        configuration.epsilon()


def test_a_seed_is_not_part_of_what_is_shared() -> None:
    assert ao.RandomizedResponse(epsilon=1, seed=3).without_seed() == ao.RandomizedResponse(epsilon=1)
    mask = ao.RandomizedResponse(epsilon=1, seed=3)
    assert mask.key("a") == mask.key("a") != mask.key("b")
    unseeded = ao.RandomizedResponse(epsilon=1)
    assert unseeded.key("a") != unseeded.key("a")


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: ao.RandomizedResponse(), "either p .* or epsilon"),
        (lambda: ao.RandomizedResponse(p=0.5, epsilon=1), "either p .* or epsilon"),
        (lambda: ao.RandomizedResponse(epsilon=0), "epsilon of RandomizedResponse must be a positive number"),
        (lambda: ao.RandomizedResponse(epsilon=-1), "positive number"),
        (lambda: ao.RandomizedResponse(epsilon=math.inf), "positive number"),
        (lambda: ao.RandomizedResponse(p=1.5), "a probability, at most 1"),
        (lambda: ao.RandomizedResponse(p=0), "positive number"),
        (lambda: ao.RandomizedResponse(p=0.25, domain=COLOURS), r"take p above 0\.3333"),
        (lambda: ao.RandomizedResponse(epsilon=1, domain="abc"), "must be a list of values"),
        (lambda: ao.RandomizedResponse(epsilon=1, domain=["a", "a"]), "more than once"),
        (lambda: ao.RandomizedResponse(epsilon=1, domain=[]), "is empty"),
        (lambda: ao.RandomizedResponse(epsilon=1, seed=-1), "seed"),
        (lambda: ao.AddNoise("laplace", scale=1), "'geometric' or 'discrete_gaussian'"),
        (lambda: ao.AddNoise("geometric"), "either scale or epsilon"),
        (lambda: ao.AddNoise("geometric", scale=0), "scale of AddNoise must be a positive number"),
        (lambda: ao.AddNoise("discrete_gaussian", scale=1e6), "too wide to compute: lower it to 250,000"),
        (
            lambda: ao.AddNoise("discrete_gaussian", epsilon=1e-9, low=0, high=3).noise_scale(),
            "epsilon=1e-09 needs a scale above 250,000 here",
        ),
        (lambda: ao.AddNoise("geometric", epsilon=-0.5), "epsilon of AddNoise must be a positive number"),
        (lambda: ao.AddNoise("geometric", scale=1, low=5, high=2), "low <= high"),
        (lambda: ao.AddNoise("geometric", scale=1, low=0.5), "low of AddNoise must be a whole number"),
        (lambda: ao.AddNoise("geometric", scale=1, low=0, high=10**6), "ranges up to 10,000"),
        (lambda: ao.Pram([[0.9, 0.2], [0.2, 0.8]]), r"value 0 sums to 1\.1"),
        (lambda: ao.Pram([[1.2, 0.2], [-0.2, 0.8]]), "probabilities are from 0 to 1"),
        (lambda: ao.Pram([[0.5, 0.5], [0.5, 0.5]]), "0, 1 have the same probability"),
        (
            lambda: ao.Pram(
                pd.DataFrame([[0.5, 0.5], [0.5, 0.5]], columns=["no", "yes"], index=["no", "yes"])
            ),
            "'no', 'yes' have the same probability",
        ),
        (lambda: ao.Pram([[0.9, 0.2], [0.1, 0.8]], values=["a"]), "2 x 2, for 1 values"),
        (lambda: ao.Pram([[0.9, 0.2], [0.1, 0.5], [0, 0.3]]), "name the masked values"),
    ],
)
def test_parameters_that_are_wrong_are_named(make, text: str) -> None:
    with pytest.raises(MaskError, match=text):
        make()


@pytest.mark.parametrize("values", [["a", "b"], [0.5, 1.5], [True, False]])
def test_added_noise_is_for_whole_numbers(values: list[object]) -> None:
    mask = ao.AddNoise("geometric", scale=1, low=0, high=3)
    with pytest.raises(MaskError, match=r"it fits integer; round reals .* RandomizedResponse or Pram"):
        mask.channel(Domain.of(values))


def test_what_takes_no_noise_says_so() -> None:
    frame = pd.DataFrame({"x": ["a", "b", "a", "b"], "y": [0, 1, 0, 1]})
    noise = ao.RandomizedResponse(epsilon=1)
    with pytest.raises(MaskError, match=r"attribute 'x': .*adds noise.*privacy rules"):
        ao.check_privacy(frame, {"c": {"x": noise}}, [ao.privacy.KAnonymity(1)])
    with pytest.raises(MaskError, match="adds noise"):
        ao.search(
            frame, label="y", candidates={"x": [noise, ao.Suppress()]}, require=ao.privacy.KAnonymity(1)
        )


def test_files_with_mistakes_are_refused() -> None:
    for spec, text in [
        ({"function": "add_noise", "scale": 1}, "needs the parameter distribution"),
        ({"function": "pram"}, "needs the parameter matrix"),
        ({"function": "randomized_response", "epsilon": 1, "q": 2}, "unknown parameter q"),
    ]:
        with pytest.raises(ConfigurationError, match=text):
            mask_from_spec(spec)
    with pytest.raises(MaskError, match="matrix of numbers"):
        mask_from_spec({"function": "pram", "matrix": [["a"]]})
