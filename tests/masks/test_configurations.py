"""Configurations in memory and in files."""

import datetime as dt
import json
import os

import pytest
from mask_zoo import EVERY_MASK

from aegis_opt.domain import Domain
from aegis_opt.errors import AegisError, ConfigurationError, UnknownMask, UnknownName
from aegis_opt.masks import (
    Bucketize,
    Configuration,
    Configurations,
    EraseDigits,
    Generalize,
    Hierarchy,
    Identity,
    Suppress,
    load_configurations,
    mask_from_spec,
    save_configurations,
)

ENDINGS = pytest.mark.parametrize("ending", ["json", "yaml", "yml"])


def written(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_configurations_are_mappings_in_order():
    configurations = Configurations({"b": {"age": Suppress()}, "a": {}}, label="y")
    assert list(configurations) == ["b", "a"]
    assert configurations["b"].name == "b"
    assert configurations["b"] == Configuration({"age": Suppress()}, "b")
    assert "c" not in configurations
    assert configurations.get("c") is None
    assert configurations["a"].get("age") is None
    assert configurations != Configurations({"a": {}, "b": {"age": Suppress()}}, label="y")
    assert hash(configurations) == hash(Configurations(configurations, label="y"))


def test_an_unknown_name_is_a_key_error_that_suggests_one():
    configurations = Configurations({"config01": {"age": Suppress()}})
    with pytest.raises(KeyError) as caught:
        configurations["config1"]
    assert isinstance(caught.value, UnknownName)
    assert str(caught.value) == ("unknown configuration 'config1': did you mean 'config01'? Known: config01.")
    with pytest.raises(UnknownName, match="unknown attribute 'agee': did you mean 'age'"):
        configurations["config01"]["agee"]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Configurations({"a": {"y": Suppress()}}, label="y"), "'a' suppresses the label 'y'"),
        (lambda: Configurations({"a": {"x": Suppress}}), r"'a', attribute 'x': .* is no mask"),
        (lambda: Configurations({"a": {1: Suppress()}}), "attribute 1 must be a name"),
        (lambda: Configurations({"a": [Suppress()]}), "'a' must map attributes to masks"),
        (lambda: Configurations([]), "must map names"),
        (lambda: Configurations({"": {}}), "non-empty string"),
        (lambda: Configurations({}, label=3), "the label must be the name"),
    ],
)
def test_malformed_configurations_are_refused(make, text):
    with pytest.raises(ConfigurationError, match=text):
        make()


@ENDINGS
def test_every_mask_survives_a_file(tmp_path, ending):
    awkward = Generalize({"yes": ["no", "1e3", "01001", "12:30", "2020-01-01", "", "~", 5, 0.1, None, True]})
    masks = {f"a{i}": mask for i, mask in enumerate([*EVERY_MASK, awkward, Generalize({1: [2], 0.5: ["x"]})])}
    configurations = Configurations({"all": masks, "01": {}, "no": {"a": Suppress()}}, label="true")
    path = tmp_path / "new" / f"masks.{ending}"
    save_configurations(configurations, path)
    assert load_configurations(path) == configurations
    assert os.listdir(path.parent) == [path.name]


def test_a_bare_file_has_no_label(tmp_path):
    path = written(tmp_path, "c.json", '{"one": {"age": {"function": "erase_digits", "digits": 2}}}')
    configurations = load_configurations(path)
    assert configurations.label is None
    assert configurations["one"]["age"] == EraseDigits(2)


def test_yaml_reads_dates_and_booleans_but_leaves_yes_and_zip_codes_text(tmp_path):
    path = written(
        tmp_path,
        "c.yaml",
        """
        one:
          day: {function: generalize, mapping: {New Year: [2020-01-01, 2021-01-01]}}
          flag: {function: generalize, mapping: {any: [true, false]}}
          answer: {function: generalize, mapping: {any: [yes, no]}}
          zip: {function: generalize, mapping: {west: [01001, 01002]}}
          since: {function: top_code, top: 2020-01-01}
          visit: {function: bucketize, width: {days: 7}}
        """,
    )
    one = load_configurations(path)["one"]
    days = Domain.of([dt.date(2020, 1, 1), dt.date(2021, 1, 1)])
    assert one["day"].group(days).labels == ("New Year",)
    assert one["flag"].group(Domain.of([True, False])).labels == ("any",)
    assert one["answer"].group(Domain.of(["yes", "no"])).labels == ("any",)
    assert one["zip"].group(Domain.of(["01001", "01002"])).labels == ("west",)
    assert one["since"].group(days).labels == (">=2020-01-01",)
    assert one["visit"] == Bucketize(width=dt.timedelta(days=7))


def test_yaml_may_build_one_configuration_on_another(tmp_path):
    path = written(
        tmp_path,
        "c.yaml",
        """
        one: &one
          age: {function: suppress}
          sex: {function: suppress}
        two:
          <<: *one
          age: {function: identity}
        """,
    )
    two = load_configurations(path)["two"]
    assert dict(two) == {"age": Identity(), "sex": Suppress()}


@ENDINGS
def test_hierarchies_are_found_beside_the_file_and_saved_as_paths(tmp_path, ending, monkeypatch):
    written(tmp_path, "age.csv", "1,low\n2,low\n")
    (tmp_path / "sub").mkdir()
    written(
        tmp_path,
        f"c.{ending}",
        '{"c": {"age": {"function": "generalize", "hierarchy": "age.csv", "level": 1}}}',
    )
    monkeypatch.chdir(tmp_path / "sub")
    configurations = load_configurations(f"../c.{ending}")
    assert configurations["c"]["age"] == Generalize(hierarchy=[["1", "low"], ["2", "low"]], level=1)
    save_configurations(configurations, f"../again.{ending}")
    save_configurations(configurations, f"elsewhere.{ending}")
    assert str(tmp_path) not in (tmp_path / f"again.{ending}").read_text()
    assert str(tmp_path / "age.csv") in (tmp_path / "sub" / f"elsewhere.{ending}").read_text()
    monkeypatch.chdir(tmp_path.parent)
    assert load_configurations(tmp_path / f"again.{ending}") == configurations
    assert load_configurations(tmp_path / "sub" / f"elsewhere.{ending}") == configurations


def test_a_hierarchy_in_memory_or_whose_file_changed_is_saved_by_rows(tmp_path):
    file = written(tmp_path, "age.csv", "1,low\n")
    configurations = Configurations(
        {
            "c": {
                "age": Generalize(hierarchy=file, level=1),
                "sex": Generalize(hierarchy=Hierarchy([["F", "*"]]), level=1),
            }
        }
    )
    file.write_text("1,high\n")
    save_configurations(configurations, tmp_path / "c.json")
    assert load_configurations(tmp_path / "c.json") == configurations
    file.unlink()
    save_configurations(configurations, tmp_path / "c.json")
    assert load_configurations(tmp_path / "c.json") == configurations


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("c.json", "", "is empty"),
        ("c.yaml", " \n", "is empty"),
        ("c.json", '{"a":\n {"x" 3}}', "malformed JSON at line 2"),
        ("c.yaml", "a:\n  x: [1\n", "malformed YAML at line 3"),
        ("c.yaml", "a: {x: {function: top_code, top: 2020-02-31}}", "malformed YAML: day is out of range"),
        ("c.json", '{"a": {}, "a": {}}', "'a' is given twice"),
        ("c.json", '{"a": {"x": {}, "x": {}}}', "'x' is given twice"),
        ("c.yaml", "a: {}\nb: {}\na: {}\n", "'a' is given twice in one mapping, at lines 1 and 3"),
        ("c.yaml", "a: {x: {function: blur, width: 1, width: 2}}", "'width' is given twice"),
        ("c.yaml", "? [a, b]\n: {}\n", "line 1: a key must be a name"),
        ("c.json", '{"a": {"x": {"function": "blur", "width": NaN}}}', "NaN is no JSON number"),
        ("c.json", "[1]", "not list"),
        ("c.json", "{}", "holds no configuration"),
        ("c.json", '{"label": "y"}', "'label' must map attributes to masks, not be str"),
        ("c.json", '{"configurations": []}', "'configurations' must map names"),
        ("c.json", '{"configurations": {}}', "holds no configuration"),
        ("c.json", '{"configurations": {"a": {}}, "lable": "y"}', "unknown key lable beside"),
        ("c.json", '{"configurations": {"a": {}}, "label": 1}', "the label must be the name"),
        ("c.yaml", "1: {}", "a configuration's name must be a non-empty string, not 1"),
        ("c.txt", "{}", "must end in .json, .yaml or .yml"),
    ],
)  # fmt: skip
def test_bad_files_are_refused_with_the_place_and_the_way_out(tmp_path, name, text, message):
    with pytest.raises(ConfigurationError, match=message) as caught:
        load_configurations(written(tmp_path, name, text))
    assert str(tmp_path / name) in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("suppress", "a mask is a mapping"),
        ({}, ".* has no 'function'"),
        ({"function": "supress"}, "unknown masking function 'supress': did you mean 'suppress'"),
        ({"function": ["blur"]}, "unknown masking function"),
        ({"function": "blur", "widht": 1}, "unknown parameter widht of 'blur'; accepted: width"),
        ({"function": "blur"}, "'blur' needs the parameter width; accepted: width"),
        ({"function": "suppress", "n": 1}, "accepted: none"),
        ({"function": "blur", "width": 0}, "the width of Blur must be"),
        ({"function": "bucketize", "width": {"weeks": 1}}, "a duration has"),
        ({"function": "generalize", "hierarchy": "no.csv", "level": 1}, ".*no.csv"),
        ({"function": "generalize", "hierarchy": 3, "level": 1}, "the hierarchy must be"),
    ],
)
@ENDINGS
def test_bad_masks_are_refused_with_file_configuration_and_attribute(tmp_path, ending, spec, message):
    path = written(tmp_path, f"c.{ending}", json.dumps({"a": {"x": spec}}))
    with pytest.raises(ConfigurationError, match=rf"{path}': configuration 'a', attribute 'x': .*{message}"):
        load_configurations(path)


def test_a_file_that_removes_its_label_is_refused(tmp_path):
    text = '{"label": "x", "configurations": {"a": {"x": {"function": "suppress"}}}}'
    with pytest.raises(ConfigurationError, match=r"c\.json': configuration 'a' suppresses the label 'x'"):
        load_configurations(written(tmp_path, "c.json", text))


def test_a_file_that_is_not_there_or_not_text_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_configurations(tmp_path / "nope.json")
    (tmp_path / "c.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigurationError, match="UTF-8"):
        load_configurations(tmp_path / "c.json")


def test_saving_with_an_unknown_ending_leaves_nothing_behind(tmp_path):
    with pytest.raises(ConfigurationError, match="must end in"):
        save_configurations(Configurations({"a": {}}), tmp_path / "c.toml")
    assert not list(tmp_path.iterdir())


def test_an_unknown_function_in_memory_lists_the_known_ones():
    with pytest.raises(UnknownMask, match="did you mean 'top_code'"):
        mask_from_spec({"function": "topcode"})
    with pytest.raises(AegisError, match="a mask is a mapping"):
        mask_from_spec("suppress")


def test_a_saved_file_is_wrapped_with_its_label(tmp_path):
    save_configurations(Configurations({"a": {"x": Suppress()}}, label="y"), tmp_path / "c.json")
    assert json.loads((tmp_path / "c.json").read_text()) == {
        "label": "y",
        "configurations": {"a": {"x": {"function": "suppress"}}},
    }
