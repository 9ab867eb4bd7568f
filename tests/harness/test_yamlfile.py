"""YAML is read without surprises: exact numbers, no objects, no bombs, and errors with a line."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from opcheck.harness import yamlfile
from opcheck.harness.errors import CaseError
from opcheck.harness.literals import Real
from opcheck.harness.yamlfile import open_document, read, read_text

EXAMPLES = settings(deadline=None, max_examples=400)


def value(text: str) -> object:
    return read_text(text, "case.yaml")


def mistake(text: str) -> CaseError:
    with pytest.raises(CaseError) as caught:
        value(text)
    assert caught.value.file == "case.yaml"
    return caught.value


@pytest.mark.parametrize(
    "text",
    "no No NO yes on off y n 1:30 190:20:30 1_000 0b1 -0x1F 0o8 0xg 1e 1e+ e3 . .. -.nan +.nan "
    ".Inf1 nAn inf nan 2001-01-01 = << -- + 1.2.3 tRue nuLL 0o 0x .e3 1,000 ５".split(),
)
def test_what_is_no_number_in_yaml_1_2_is_a_string(text):
    """YAML 1.1's booleans, sexagesimals, dates and underscores are plain strings."""
    assert value(f"a: {text}") == {"a": text}


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("true", True), ("True", True), ("TRUE", True), ("false", False), ("False", False),
        ("FALSE", False), ("null", None), ("Null", None), ("NULL", None), ("~", None), ("", None),
    ],
)  # fmt: skip
def test_the_words_of_the_core_schema(text, want):
    """Booleans and null, in the three spellings of the core schema."""
    assert value(f"a: {text}") == {"a": want}
    assert type(value(f"- {text}")[0]) is type(want)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("0", 0), ("-0", 0), ("+12", 12), ("0x1F", 31), ("0xff", 255), ("0o17", 15),
        ("0777", 777), ("9007199254740993", 2**53 + 1), ("18446744073709551615", 2**64 - 1),
        ("-9223372036854775808", -(2**63)),
    ],
)  # fmt: skip
def test_integers_are_exact(text, want):
    """Decimal, hexadecimal and octal integers; a leading zero means nothing, as in YAML 1.2."""
    read = value(f"[{text}]")[0]
    assert type(read) is int
    assert read == want


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("1e3", 1000.0), (".5", 0.5), ("1.", 1.0), ("-.5e-3", -0.0005), ("+1.5E+3", 1500.0),
        ("12e03", 12000.0), (".inf", math.inf), ("-.INF", -math.inf), ("+.Inf", math.inf),
        ("-0.0", -0.0), ("1e400", math.inf), ("0.1000000000000000055511151231257827", 0.1),
    ],
)  # fmt: skip
def test_floats_keep_their_text(text, want):
    """A float remembers its digits, so that it can be rounded once, to the type it is for."""
    read = value(f"[{text}]")[0]
    assert isinstance(read, Real)
    assert read.text == text
    assert float(read) == want
    assert math.copysign(1, read) == math.copysign(1, want)


def test_nan_is_a_float():
    """``.nan`` in its three spellings."""
    assert all(math.isnan(v) and isinstance(v, Real) for v in value("[.nan, .NaN, .NAN]"))


@pytest.mark.parametrize("text", ["1", "1.5", "true", "null", "", "0x1p3", "~", ".nan", "<<"])
@pytest.mark.parametrize("style", ["'{}'", '"{}"'])
def test_quoted_scalars_are_strings(text, style):
    """Quotes make a string of anything, keys included."""
    quoted = style.format(text)
    assert value(f"[{quoted}]") == [text]
    assert value(f"{{{quoted}: 1}}") == {text: 1}


def test_block_scalars_are_strings():
    """Literal and folded blocks are strings, whatever they look like."""
    text = "a: |\n  12\nb: >\n  true\nc: |-\n  1.5\nd: >-\n  null\n"
    assert value(text) == {"a": "12\n", "b": "true\n", "c": "1.5", "d": "null"}


def test_lists_mappings_and_aliases():
    """An alias is the value it names, also twice and inside others."""
    assert value("a: &x [1, {b: c}]\nd: *x\ne: {f: *x}\n&k g: *k\n") == {
        "a": [1, {"b": "c"}],
        "d": [1, {"b": "c"}],
        "e": {"f": [1, {"b": "c"}]},
        "g": "g",
    }


@pytest.mark.parametrize("text", ["", "\n\n", "# a comment\n", "---\n...\n", "~", "\x85"])
def test_an_empty_document_is_null(text):
    """Nothing, a comment, or an explicit null."""
    assert value(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "!!python/object/apply:os.system [id]", "!!python/name:os.system ''", "!!str 12",
        "!!int '1'", "!!float 1", "!!binary aGk=", "!!set {a, b}", "!!omap [a: 1]",
        "!local x", "!!null ''", "!<tag:example.org,2000:x> y", "!!map {a: 1}", "!!seq [1]",
    ],
)  # fmt: skip
def test_tags_are_refused(text):
    """A tag may neither build an object nor be ignored silently: ``!!str 12`` would be 12."""
    for place, path in ((f"a:\n  - {text}", ("a", 0)), (f"a:\n  ? {text}\n  : 1", ("a",))):
        if text[-1] not in "]}" or path == ("a", 0):
            error = mistake(place)
            assert error.seen.startswith("the tag ")
            assert error.wanted == "a value without a tag"
            assert (error.path, error.line) == (path, 2)


@pytest.mark.parametrize(
    ("text", "line", "path", "seen"),
    [
        pytest.param("a: 1\nb: 2\na: 3", 3, (), "the key 'a' twice", id="duplicate-key"),
        pytest.param("x:\n- {a: 1, a: 2}", 2, ("x", 0), "the key 'a' twice", id="duplicate-inside"),
        pytest.param("1: a\n0x1: b", 2, (), "the key 1 twice", id="duplicate-number"),
        pytest.param("1: a\ntrue: b", 2, (), "the key true twice", id="equal-keys"),
        pytest.param("a: 1\n? [1]\n: 2", 2, (), "a list or mapping as a key", id="list-as-key"),
        pytest.param("? {a: b}\n: 2", 1, (), "a list or mapping as a key", id="mapping-as-key"),
        pytest.param("a: &a {b: 1}\nc:\n  <<: *a", 3, ("c",), "a merge key <<", id="merge-key"),
        pytest.param("a: 1\n\tb: 2", 2, (), "a tab in the indentation", id="tab"),
        pytest.param("a:\n \t- 1", 2, (), "a tab in the indentation", id="tab-after-space"),
        pytest.param("a: 1\n---\nb: 2", 2, (), "a second document", id="two-documents"),
        pytest.param("a: 1\nb: [1, 2", 2, (), "no ',' or ']'", id="open-list"),
        pytest.param("a: 1\nb: *c", 2, (), "undefined alias", id="undefined-alias"),
        pytest.param("a: 1\nb: c: d", 2, (), "mapping values are not allowed", id="two-colons"),
        pytest.param("\n\na: @b", 3, (), "character that cannot start any token", id="at-sign"),
        pytest.param("a: 1\n\nb: \x07", 3, (), "the character U+0007", id="control-character"),
        pytest.param("ä: 1\nb: \x00", 2, (), "the character U+0000", id="nul"),
        pytest.param("a: 1\nb: &b [2, *b]", 2, (), "an alias inside the value", id="own-alias"),
        pytest.param("&a {b: {c: *a}}", 1, (), "an alias inside the value", id="own-alias-deeper"),
        pytest.param(f"a:\n  b: [1, 0x{'f' * 2000}]", 2, ("a", "b", 1), "'0xff", id="huge-hex"),
        pytest.param("a: 1" + "0" * 5000, 1, ("a",), "'1000", id="huge-integer"),
    ],
)  # fmt: skip
def test_mistakes_have_a_line_and_say_what_was_seen(text, line, path, seen):
    """Each mistake names its line, and the place inside the document where there is one."""
    error = mistake(text)
    assert error.line == line
    assert error.path == path
    assert error.seen.startswith(seen)
    assert error.wanted
    assert len(str(error)) < 250


def test_ten_billion_laughs_are_refused_before_they_unfold():
    """Aliases count as often as they are used; the measuring itself takes one look at each."""
    levels = [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]
    error = mistake("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "\n".join(levels))
    assert error.seen == "more than 5000000 values, aliases counted"
    assert error.line == 7  # here it would pass five million
    doubled = [f"b{i}: &b{i} {{x: *b{i - 1}, y: *b{i - 1}}}" for i in range(1, 90)]
    assert "5000000" in mistake("b0: &b0 1\n" + "\n".join(doubled)).seen


def test_the_limit_of_values_counts_every_value(monkeypatch):
    """A mapping counts as itself, its keys and its values; an alias as what it names."""
    text = "a: &a [1, 2]\nb: *a"  # 1 + (1 + 3) + (1 + 3)
    monkeypatch.setattr(yamlfile, "MAX_NODES", 9)
    assert value(text) == {"a": [1, 2], "b": [1, 2]}
    monkeypatch.setattr(yamlfile, "MAX_NODES", 8)
    assert mistake(text).seen == "more than 8 values, aliases counted"


@pytest.mark.parametrize(
    "bomb",
    [
        pytest.param("[" * 101 + "]" * 101, id="lists"),
        pytest.param("{a: " * 101 + "1" + "}" * 101, id="mappings"),
        pytest.param("- " * 101 + "1", id="blocks"),
        pytest.param("- " * 990 + "1", id="as-deep-as-the-parser-goes"),
        pytest.param(f"a: &a {'[' * 60}{']' * 60}\nb: {'[' * 60}*a{']' * 60}", id="by-alias"),
    ],
)  # fmt: skip
def test_deep_nesting_is_refused(bomb):
    """A hundred levels are enough; deeper ones would end the recursion of everything behind."""
    assert mistake(bomb).seen == "lists and mappings nested more than 100 deep"


def test_a_hundred_levels_are_read():
    """The limit itself is fine."""
    read = value("[" * 100 + "]" * 100)
    for _ in range(99):
        (read,) = read
    assert read == []


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? ", "&a [", "[[{a: "])
def test_bombs_of_brackets_are_refused(opening):
    """A hundred thousand open brackets neither crash the parser nor take long."""
    assert mistake(opening * 100_000).file == "case.yaml"


def test_a_byte_order_mark_is_no_content(tmp_path):
    """Files of some Windows editors begin with one."""
    path = tmp_path / "bom.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert read(path) == {"a": 1}


def test_windows_line_ends_are_line_ends(tmp_path):
    """Values end before them, and lines are counted by them."""
    path = tmp_path / "dos.yaml"
    path.write_bytes(b"a: x\r\nb: |\r\n  one\r\n  two\r\na: 2\r\n")
    with pytest.raises(CaseError, match="the key 'a' twice") as caught:
        read(path)
    assert caught.value.line == 5
    path.write_bytes(b"a: x\r\nb: |\r\n  one\r\n  two\r\n")
    assert read(path) == {"a": "x", "b": "one\ntwo\n"}


@pytest.mark.parametrize(
    "content", [b"a: 1\nb: \xff\n", b"a: 1\nb: \xed\xa0\x80\n", b"a: 1\nb: \xe4"]
)
def test_text_must_be_utf_8(tmp_path, content):
    """Other encodings are refused, with the line and the byte."""
    path = tmp_path / "latin.yaml"
    path.write_bytes(content)
    with pytest.raises(CaseError) as caught:
        read(path)
    error = caught.value
    assert (error.file, error.line, error.wanted) == (str(path), 2, "text in UTF-8")
    assert error.seen == f"the byte 0x{content[8]:02x}"


def test_utf_16_is_not_guessed(tmp_path):
    """A file in UTF-16 is no UTF-8, although YAML would allow it."""
    path = tmp_path / "wide.yaml"
    path.write_bytes("a: 1\n".encode("utf-16"))
    with pytest.raises(CaseError, match="wanted text in UTF-8"):
        read(path)


def test_large_files_are_refused_unread(tmp_path):
    """The limit is looked up before the file is; a sparse file costs nothing."""
    path = tmp_path / "large.yaml"
    with path.open("wb") as file:
        file.truncate(yamlfile.MAX_BYTES + 1)
    with pytest.raises(CaseError, match="npy files") as caught:
        read(path)
    assert caught.value.seen == f"{yamlfile.MAX_BYTES + 1} bytes"


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    """Missing files and folders are mistakes too, not crashes."""
    for path, why in ((tmp_path / "none.yaml", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(CaseError, match=why) as caught:
            read(path)
        assert caught.value.file == str(path)


DOCUMENT = """\
operator: Add
cases:
  - name: first
    inputs: {a: 1, 2: b}
  -
    name: second
    data:
      - [1,
         2]
shared: &s
  deep: [x]
other: *s
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ((), 1), (("operator",), 1), (("cases",), 2), (("cases", 0), 3),
        (("cases", 0, "inputs"), 4), (("cases", 0, "inputs", 2), 4), (("cases", 1), 6),
        (("cases", 1, "name"), 6),
        (("cases", 1, "data", 0, 0), 8), (("cases", 1, "data", 0, 1), 9),
        (("cases", 1, "data", 0, 7), 8), (("cases", 1, "nothing", "here"), 6), (("none",), 1),
        (("other", "deep", 0), 11), (("cases", "name"), 2), (("operator", 0, 0), 1),
    ],
)  # fmt: skip
def test_lines_of_paths(tmp_path, path, line):
    """The line of a value is that of its key; where a path ends early, that of the last step."""
    file = tmp_path / "lines.yaml"
    file.write_text(DOCUMENT)
    assert open_document(file).line_of(path) == line


def test_an_empty_document_has_no_lines(tmp_path):
    """There is nothing to point at."""
    file = tmp_path / "empty.yaml"
    file.write_text("")
    assert open_document(file).line_of(("a",)) is None


yaml_like = st.text("ab01.-+:?[]{},&*!|>'\"%@`#\\ \n\t~<=xoeE_\x00\x85\u2028é\ufeff", max_size=60)


@EXAMPLES
@given(text=st.one_of(yaml_like, st.text(max_size=60)))
@example(text="\ud800")
@example(text='a: "\\ud800"')
@example(text="? ? ? a")
@example(text="&a : *a")
@example(text="%YAML 9.9\n---\n")
@example(text="- &a\n  <<: *a")
def test_any_text_is_read_or_is_a_case_error(text):
    """No text makes the reader raise anything else."""
    with suppress(CaseError):
        read_text(text, "case.yaml")


@EXAMPLES
@given(content=st.one_of(st.binary(max_size=60), yaml_like.map(str.encode)))
@example(content=b"\xff\xfea\x00")
@example(content=b"\xef\xbb\xbf")
def test_any_bytes_are_read_or_are_a_case_error(content, tmp_path_factory):
    """No file makes the reader raise anything else, and every error names the file."""
    path = Path(tmp_path_factory.getbasetemp()) / "any.yaml"
    path.write_bytes(content)
    try:
        read(path)
    except CaseError as error:
        named = error.file == str(path)
        assert named


#: JSON writes characters past U+FFFF as two escapes, which YAML does not join.
words = st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"]), max_size=8)
json_like = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=12,
)


@EXAMPLES
@given(json_like)
def test_json_is_yaml(document):
    """A JSON document means the same here, integers of any size included."""
    assert value(json.dumps(document)) == document
