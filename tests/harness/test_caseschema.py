"""The JSON Schema of the case format, beside the loader."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from opcheck.harness import yamlfile
from opcheck.harness.casefile import load
from opcheck.harness.caseformat import (
    Alternative,
    CaseSpec,
    ErrorSpec,
    FileSpec,
    ToleranceSpec,
    ValueSpec,
)
from opcheck.harness.caseschema import schema
from opcheck.harness.sources import BUNDLED

DOCUMENT = json.loads(schema())
ROOT = Path(__file__).parents[2]
FOLDERS = sorted(p for p in BUNDLED.iterdir() if p.is_dir())
VALIDATOR = Draft202012Validator(DOCUMENT)


def as_json(value):
    """Return what a YAML file means to a validator of JSON: keys are strings."""
    if isinstance(value, dict):
        return {str(key): as_json(inner) for key, inner in value.items()}
    return [as_json(inner) for inner in value] if isinstance(value, list) else value


def accepted(path: Path) -> bool:
    return VALIDATOR.is_valid(as_json(yamlfile.read(path)))


def test_the_schema_is_the_one_beside_the_cases():
    """``opcheck schema --output cases/schema.json`` makes it anew."""
    assert (BUNDLED / "schema.json").read_text(encoding="utf-8") == schema()
    Draft202012Validator.check_schema(DOCUMENT)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda p: p.name)
def test_every_bundled_file_is_valid(folder):
    """What the loader reads, an editor does not complain about; each file leads to the schema."""
    files = sorted(folder.rglob("*.yaml"))
    assert files
    for path in files:
        hint, _, name = path.read_text().partition("\n")[0].partition("$schema=")
        assert hint == "# yaml-language-server: "
        assert (path.parent / name).resolve() == BUNDLED / "schema.json"
        document = as_json(yamlfile.read(path))
        errors = [f"{path.name}: {e.json_path}" for e in VALIDATOR.iter_errors(document)]
        assert errors == []


@pytest.mark.parametrize(
    "kind", [FileSpec, CaseSpec, Alternative, ErrorSpec, ToleranceSpec, ValueSpec]
)
def test_every_key_is_described(kind):
    """The schema has the keys that are decoded, and says what they are for."""
    found = DOCUMENT["$defs"][kind.__name__]
    assert list(found["properties"]) == list(kind.__struct_fields__)
    assert found["additionalProperties"] is False
    text = (ROOT / "docs" / "case-format.md").read_text()
    for name, field in found["properties"].items():
        assert "description" in json.dumps(field) or "$ref" in json.dumps(field), name
        assert name in text, name


# Mistakes that both refuse ------------------------------------------------------------------------

GOOD = {
    "opset": 14,
    "cases": [
        {
            "name": "good",
            "why": "It is.",
            "node": "Add(a, b) -> (c)",
            "inputs": {
                "a": {"dtype": "float32", "shape": [2], "data": [1, 2]},
                "b": {"dtype": "float32", "shape": [2], "fill": 1},
            },
            "outputs": {"c": {"dtype": "float32", "data": [2, 3]}},
            "tolerance": {"ulp": 1},
        }
    ],
}
A = ("cases", 0, "inputs", "a")
CASE = ("cases", 0)
GONE = object()


def changed(*changes):
    document = copy.deepcopy(GOOD)
    for path, value in changes:
        *way, last = path
        place = document
        for part in way:
            place = place[part]
        if value is GONE:
            del place[last]
        else:
            place[last] = value
    return document


MISTAKES = {
    "no cases": changed((("cases",), [])),
    "cases missing": changed((("cases",), GONE)),
    "an unknown key of the file": changed((("opsets",), 14)),
    "an unknown key of a case": changed(((*CASE, "wyh"), "x")),
    "an unknown key of a value": changed(((*A, "dtpye"), "float32")),
    "no name": changed(((*CASE, "name"), GONE)),
    "a space in the name": changed(((*CASE, "name"), "not good")),
    "no node": changed(((*CASE, "node"), GONE)),
    "a node without outputs": changed(((*CASE, "node"), "Add(a, b)")),
    "a node and a model": changed(((*CASE, "model"), "g () => () {}")),
    "attributes of a model": changed(
        ((*CASE, "node"), GONE), ((*CASE, "model"), "x"), ((*CASE, "attributes"), {"a": 1})
    ),
    "no opset": changed((("opset",), GONE)),
    "an opset of 0": changed((("opset",), 0)),
    "a range with a dash": changed((("opset",), "11-14")),
    "an open range": changed((("opset",), "11..")),
    "an opset twice": changed((("opset",), [14, 14])),
    "no opset in the list": changed((("opset",), [])),
    "an opset in quotes in a list": changed((("opset",), ["14"])),
    "a boolean opset": changed((("opset",), True)),
    "a value without data": changed(((*A, "data"), GONE)),
    "a value without dtype": changed(((*A, "dtype"), GONE)),
    "a bare number as a value": changed((A, 1)),
    "two forms of data": changed(((*A, "fill"), 1)),
    "a fill without shape": changed(((*A, "data"), GONE), ((*A, "shape"), GONE), ((*A, "fill"), 1)),
    "a negative size": changed(((*A, "shape"), [-2])),
    "a size in quotes": changed(((*A, "shape"), ["2"])),
    "an empty sequence without dtype": changed((A, {"sequence": []})),
    "a shape of a sequence": changed((A, {"sequence": [], "dtype": "float32", "shape": [0]})),
    "an empty optional without dtype": changed((A, {"optional": None})),
    "a map without dtype": changed((A, {"map": {}})),
    "any size beside data": changed(
        ((*CASE, "outputs", "c"), {"dtype": "float32", "shape": [None], "data": [2, 3]})
    ),
    "no outputs": changed(((*CASE, "outputs"), GONE)),
    "outputs and an error": changed(((*CASE, "error"), True)),
    "error: false": changed(((*CASE, "outputs"), GONE), ((*CASE, "error"), False)),
    "an unknown phase": changed(((*CASE, "outputs"), GONE), ((*CASE, "error"), {"phase": "save"})),
    "one alternative": changed(((*CASE, "outputs"), GONE), ((*CASE, "any_of"), [{"error": True}])),
    "an alternative that is both": changed(
        ((*CASE, "outputs"), GONE),
        ((*CASE, "any_of"), [{"error": True}, {"error": True, "outputs": {}}]),
    ),
    "an unknown type": changed(((*CASE, "types"), {"T": ["float31"]})),
    "no types": changed(((*CASE, "types"), {"T": []})),
    "a type twice": changed(((*CASE, "types"), {"T": ["int8", "int8"]})),
    "a type parameter with a dash": changed(((*CASE, "types"), {"T-1": ["int8"]})),
    "a negative tolerance": changed(((*CASE, "tolerance"), {"ulp": -1})),
    "a tolerance in quotes": changed(((*CASE, "tolerance"), {"ulp": "1"})),
    "outputs inside outputs": changed(
        ((*CASE, "tolerance"), {"outputs": {"c": {"outputs": {"c": {}}}}})
    ),
    "a list as inputs": changed(((*CASE, "inputs"), [1])),
    "a number as why": changed(((*CASE, "why"), 1)),
    "a case that is a string": changed((CASE, "good")),
}  # fmt: skip


@pytest.fixture
def path(tmp_path):
    return tmp_path / "case.yaml"


def test_what_the_mistakes_are_made_from_is_good(path):
    """Else they would be refused for another reason."""
    path.write_text(json.dumps(GOOD))
    assert load(path, "case.yaml").errors == []
    assert accepted(path)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_seen_by_both(path, mistake):
    """An editor shows it while it is written, the loader when it is run."""
    path.write_text(json.dumps(MISTAKES[mistake]))
    assert load(path, "case.yaml").errors
    assert not accepted(path)


# What the loader accepts, the schema accepts ------------------------------------------------------

FRAGMENTS = [
    None, True, False, 0, 1, 14, -1, "", "T", "float32", "float", "int64", "bool", "11..14",
    " 1 .. 2", [], [1, 2], [None], ["float32", "int64"], [11, 13], {}, {"T": ["float32"]},
    {"dtype": "float32", "data": [1, 2]}, {"dtype": "T", "shape": [2], "fill": 1},
    {"dtype": "float32", "shape": [2]}, {"dtype": "float32", "shape": [None]},
    {"dtype": "int64", "bits": [1, 2]}, {"sequence": [], "dtype": "float32"},
    {"optional": None, "dtype": "float32"}, {"map": {"a": 1}, "dtype": "map(string, float32)"},
    {"sequence": [{"dtype": "float32", "data": 1}]}, {"phase": "load"}, {"match": "x"},
    [{"error": True}, {"outputs": {"c": {"dtype": "float32", "data": [2, 3]}}}],
    {"c": {"dtype": "float32", "data": [2, 3]}}, {"ulp": 2, "outputs": {"c": {"ulp": 0}}},
    "Add(a, b) -> (c)", "Add(a, a) -> (c)", "RandomNormal() -> (c)",
    "g (float[2] a, float[2] b) => (float[2] c) { c = Add(a, b) }",
]  # fmt: skip
KEYS = sorted(
    {"a", "b", "c"}.union(
        *(kind.__struct_fields__ for kind in (FileSpec, CaseSpec, ValueSpec, ToleranceSpec))
    )
)


def places(value, way=()):
    """Return the way to each value inside a document, the document itself left out."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, below in inner:
        yield (*way, key)
        if isinstance(below, dict | list):
            yield from places(below, (*way, key))


@st.composite
def mutants(draw):
    """Return the good document with one to three values replaced, removed or added."""
    document = copy.deepcopy(GOOD)
    for _ in range(draw(st.integers(1, 3))):
        *way, last = draw(st.sampled_from(list(places(document))))
        place = document
        for part in way:
            place = place[part]
        action = draw(st.sampled_from(["replace", "remove", "add"]))
        if action == "replace":
            place[last] = copy.deepcopy(draw(st.sampled_from(FRAGMENTS)))
        elif action == "remove":
            del place[last]
        elif isinstance(place, dict):
            place[draw(st.sampled_from(KEYS))] = copy.deepcopy(draw(st.sampled_from(FRAGMENTS)))
        if not list(places(document)):
            break
    return document


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(mutants())
def test_the_schema_accepts_what_the_loader_accepts(path, document):
    """A file that runs is never red in an editor."""
    path.write_text(json.dumps(document))
    if not load(path, "case.yaml").errors:
        assert accepted(path)


FORMS = {
    "text of YAML": "opset: 0xd\ncases: [{name: a, node: 'Add(x, x) -> (y)', inputs: {x: {dtype: "
    "float, data: .nan}}, outputs: {y: {dtype: float, data: .nan}}, tolerance: {rtol: 1e-3}}]",
    "keys of maps": "opset: 1\ncases: [{name: a, node: 'ai.onnx.ml.ZipMap(x) -> (y)', attributes: "
    "{classlabels_int64s: [1, 2]}, inputs: {x: {dtype: float32, data: [[1, 2]]}}, outputs: "
    "{y: {sequence: [{map: {1: 1, 2: 2}, dtype: 'map(int64, float32)'}]}}}]",
    "random": "opset: 1\ncases: [{name: a, node: 'RandomNormal() -> (y)', attributes: {shape: [2]},"
    " inputs: {}, outputs: {y: {dtype: float32, shape: [2]}}}]",
    "nulls": "opset: 13\nspec: ''\noperator: null\ncases: [{name: a, model: null, types: null, "
    "node: 'Neg(x) -> (y)', inputs: {x: {dtype: float32, npy: null, data: [1]}}, error: null, "
    "outputs: {y: {dtype: float32, data: [null], sequence: null}}, any_of: null}]",
}


@pytest.mark.parametrize("form", FORMS)
def test_unusual_forms_are_accepted_by_both(path, form):
    """What YAML and the loader allow beside the usual."""
    path.write_text(FORMS[form])
    assert [str(error) for error in load(path, "case.yaml").errors] == []
    assert accepted(path)
