"""Case files as opcheck writes them: exact, valid, and laid out as a person would."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opcheck.harness.case import Expected
from opcheck.harness.caseentry import Beside
from opcheck.harness.casefile import Unfinished, decode
from opcheck.harness.caseformat import ValueSpec
from opcheck.harness.caseyaml import WIDTH, case_file, quoted
from opcheck.harness.dtypes import ELEMENT_TYPES, element_type_of, tensor_type
from opcheck.harness.literals import Real, Todo
from opcheck.harness.spelling import Unspeakable, same_bits, spelled
from opcheck.harness.values import ValueReader
from opcheck.harness.yamlfile import read_text


def tensor(array, undefined=None):
    element = element_type_of(array.dtype)
    proto = tensor_type(element.number, array.shape)
    return Expected("tensor", proto, array.dtype, array.shape, array, undefined)


def written(value, beside):
    return spelled(value, beside.npy("x"), beside.inline)


@st.composite
def any_bits(draw):
    name = draw(st.sampled_from(sorted(set(ELEMENT_TYPES) - {"string", "bool"})))
    element = ELEMENT_TYPES[name]
    size = draw(st.integers(0, 30))
    if element.bits < 8:
        bits = draw(st.lists(st.integers(0, 2**element.bits - 1), min_size=size, max_size=size))
        from opcheck.harness.literals import from_bits

        return from_bits(bits, element)
    width = size * element.dtype.itemsize
    raw = draw(st.binary(min_size=width, max_size=width))
    if draw(st.booleans()) and size:
        raw = raw[: element.dtype.itemsize] * size
    return np.frombuffer(raw, np.uint8).view(element.dtype)


@given(array=any_bits(), inline=st.sampled_from([0, 10, 100]))
@settings(max_examples=300, deadline=None)
def test_every_bit_comes_back(tmp_path_factory, array, inline):
    """Through literals, bits, a fill or a file: any pattern, the payloads of NaN too."""
    folder = tmp_path_factory.mktemp("spelled")
    beside = Beside("data", inline)
    literal = written(tensor(array), beside)
    beside.write(folder)
    entry = {"name": "c", "node": "Identity(x) -> (y)", "inputs": {"x": literal}}
    value = read_text(case_file([entry], "x"), "case.yaml")["cases"][0]["inputs"]["x"]
    found = ValueReader(folder, {}).read(decode(value, ValueSpec), output=False)
    assert same_bits(found.value, array)


@given(texts=st.lists(st.text(st.characters(codec="utf-8"), max_size=9), max_size=40))
@settings(max_examples=200, deadline=None)
def test_every_string_comes_back(texts):
    """Quotes, line ends, control characters, words of YAML."""
    array = np.empty(len(texts), object)
    array[:] = texts
    literal = written(tensor(array), Beside("data", 1000))
    entry = {"name": "c", "why": "".join(texts), "attributes": {t: t for t in texts},
             "inputs": {"x": literal}}  # fmt: skip
    found = read_text(case_file([entry], "x"), "case.yaml")["cases"][0]
    assert found["inputs"] == {"x": literal}
    assert found["attributes"] == entry["attributes"]
    assert found["why"] == entry["why"] or found["why"].split() == entry["why"].split()


@pytest.mark.parametrize("text", ["null", "true", "1", "~", "", "-", "TODO", "a: b", "x #y", "- a",
                                  "a,b", "{", "'", "\u2028", "\x00", "é", "y", "1e3", ".inf",
                                  "a\n b\n", " x", "x ", "x\n", "a\n\nb", "a\r\nb"])  # fmt: skip
def test_strings_stay_strings(text):
    """As a key, as an attribute, as a name, in a list."""
    entry = {"name": text, "node": text, "attributes": {text: text, "l": [text]}, "model": text}
    [found] = read_text(case_file([entry], "x"), "case.yaml")["cases"]
    assert found["name"] == found["node"] == text
    assert found["attributes"] == {text: text, "l": [text]}
    assert found["model"] == text
    assert type(found["name"]) is str


def test_half_a_character_cannot_be_written():
    """YAML has no way to say it."""
    with pytest.raises(Unspeakable, match="surrogate"):
        quoted("\ud800")


def test_the_layout():
    """What fits a line is on one; rows of a tensor are one below the other."""
    wide = np.arange(32, dtype=np.float32).reshape(2, 2, 8) / 8
    beside = Beside("data", 100)
    entry = {
        "name": "shown",
        "operator": "Scan",
        "opset": 11,
        "node": "Scan(X, ) -> (Y)",
        "attributes": {"n": 1, "axes": [0, -1], "mode": "reverse", "body": "g (x) => (y) {\n}\n",
                       "other": Todo("not on the page")},
        "inputs": {"X": written(tensor(wide), beside), "1": {"dtype": "int64", "data": 3}},
        "outputs": {"Y": {"dtype": "string", "shape": [2], "data": ["a", 'b"']}},
        "tolerance": {"rtol": 1e-3, "atol": Real("1e-7")},
    }  # fmt: skip
    assert case_file([entry], "A comment.") == (
        "# A comment.\n"
        "operator: Scan\n"
        "opset: 11\n"
        "cases:\n"
        "  - name: shown\n"
        "    node: Scan(X, ) -> (Y)\n"
        "    attributes:\n"
        "      n: 1\n"
        "      axes: [0, -1]\n"
        '      mode: "reverse"\n'
        "      body: |\n"
        "        g (x) => (y) {\n"
        "        }\n"
        "      other: TODO  # not on the page\n"
        "    inputs:\n"
        "      X:\n"
        "        dtype: float32\n"
        "        shape: [2, 2, 8]\n"
        "        data:\n"
        "          [[[0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875],\n"
        "            [1, 1.125, 1.25, 1.375, 1.5, 1.625, 1.75, 1.875]],\n"
        "           [[2, 2.125, 2.25, 2.375, 2.5, 2.625, 2.75, 2.875],\n"
        "            [3, 3.125, 3.25, 3.375, 3.5, 3.625, 3.75, 3.875]]]\n"
        '      "1": {dtype: int64, data: 3}\n'
        "    outputs:\n"
        '      Y: {dtype: string, shape: [2], data: ["a", "b\\""]}\n'
        "    tolerance: {rtol: 0.001, atol: 1e-7}\n"
    )


def test_large_tensors_go_to_files(tmp_path):
    """Those with one value everywhere stay; names of files are safe and different."""
    beside = Beside("data", 4)
    same = spelled(tensor(np.full(50, 2.5, np.float32)), beside.npy("x"), 4)
    assert same == {"dtype": "float32", "shape": [50], "fill": 2.5}
    names = [
        spelled(tensor(np.arange(5, dtype=ELEMENT_TYPES[dtype].dtype)), beside.npy(name), 4)["npy"]
        for dtype, name in (("int64", "../../a/b"), ("bfloat16", "A"), ("int4", "a"))
    ]
    assert names == ["data/.._.._a_b.npy", "data/A.npy", "data/a_2.npy"]
    beside.write(tmp_path)
    assert sorted(p.name for p in tmp_path.rglob("*.npy")) == [".._.._a_b.npy", "A.npy", "a_2.npy"]


TODO = """\
operator: Loop
opset: 11
cases:
  - name: half
    why: TODO
    node: Loop(n, c, y) -> (z)
    attributes:
      body: TODO  # the page prints a subgraph
    inputs:
      n: {dtype: int64, data: TODO}
      c: {dtype: bool, data: true}
      y: {dtype: float32, data: 1}
    outputs:
      z: {dtype: float32, data: 1}
  - name: whole
    why: TODO
    opset: 14
    operator: Identity
    node: Identity(x) -> (y)
    inputs: {x: {dtype: string, data: "TODO"}}
    outputs: {y: {dtype: string, data: "TODO"}}
"""


def test_a_todo_is_said_clearly(read_cases):
    """File, line, what to fill in, how many more there are; a quoted one is a string."""
    loaded = read_cases(TODO)
    [error] = loaded.errors
    assert isinstance(error, Unfinished)
    assert str(error) == (
        "case.yaml:8: cases[0].attributes.body: seen TODO, and 1 more place in this case, wanted "
        "the value of the attribute, for a body a graph in ONNX's text syntax "
        '(fill it in; if the text TODO is meant, quote it: "TODO")'
    )
    [whole] = loaded.cases
    assert whole.call.inputs["x"].item() == "TODO"


def test_lines_are_not_wider_than_they_must(tmp_path):
    """Only a literal that is wider itself makes a wide line."""
    array = (np.arange(200, dtype=np.float64) ** 7).reshape(2, 10, 10) / 3
    why = " ".join(["It", "says", "why."] * 20)
    entry = {"name": "c", "why": why, "inputs": {"x": written(tensor(array), Beside("d", 1000))}}
    text = case_file([entry], "x")
    assert max(map(len, text.splitlines())) <= WIDTH
    assert not re.search(r"[ \t]$", text, re.MULTILINE)
