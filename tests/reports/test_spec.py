"""Operator pages: facts, differences, and their renderings."""

from __future__ import annotations

import io
import re

import msgspec
import onnx.defs
import pytest
from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.parsers.rst import Directive, Parser, directives, roles
from docutils.utils import new_document
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from opcheck.harness.casefile import load
from opcheck.harness.sources import plan_all
from opcheck.harness.spec import (
    Attribute,
    OperatorPage,
    Parameter,
    TypeConstraint,
    UnknownOperator,
    describe,
    find,
    schemas,
)
from opcheck.harness.specdiff import difference, lines_of
from opcheck.reports.markup import (
    markdown_code,
    markdown_escaped,
    markdown_text,
    rst_blocks,
    rst_code,
    rst_escaped,
    rst_line,
    rst_strong,
    visible,
)
from opcheck.reports.spec import as_json, build, change_line, changes, examples
from opcheck.reports.spec_markdown import markdown, markdown_index
from opcheck.reports.spec_rst import rst, rst_index

EVERY = [schema for versions in schemas().values() for schema in versions.values()]


class _Toctree(Directive):
    """Sphinx's directive, which docutils does not have."""

    has_content = True
    option_spec = {"hidden": directives.flag, "glob": directives.flag}  # noqa: RUF012

    def run(self):
        return []


def _doc(name, rawtext, text, lineno, inliner, options=None, content=None):
    """Sphinx's role for links between pages, which docutils does not have."""
    return [nodes.literal(rawtext, text)], []


roles.register_local_role("doc", _doc)
directives.register_directive("toctree", _Toctree)


def parsed_rst(text):
    """Return a document of docutils, and its warnings."""
    options = get_default_settings(Parser)
    options.report_level, options.halt_level = 2, 5
    options.syntax_highlight = "none"
    options.warning_stream = io.StringIO()
    document = new_document("page", options)
    Parser().parse(text, document)
    return document, options.warning_stream.getvalue()


@pytest.fixture(scope="module")
def control_flow():
    """The bundled cases of If, Loop and Scan, by operator and version."""
    found = {}
    for case in plan_all(["cases/controlflow"]).cases:
        found.setdefault((case.domain, case.operator, case.since_version), []).append(case)
    return found


def page_of(schema, found, limit=3):
    return build(schema, found.get((schema.domain, schema.name, schema.since_version), []), limit)


# Facts.


def test_every_schema_has_its_page():
    """No schema is lost, and each says what onnx.defs says."""
    wanted = {(s.domain, s.name, s.since_version) for s in onnx.defs.get_all_schemas_with_history()}
    assert {(s.domain, s.name, s.since_version) for s in EVERY} == wanted
    for schema in onnx.defs.get_all_schemas_with_history():
        page = describe(find(f"{schema.domain or 'ai.onnx'}.{schema.name}-{schema.since_version}"))
        assert (page.name, page.since_version) == (schema.name, schema.since_version)
        assert page.latest == (schema.since_version == find(page.full_name).since_version)
        assert [p.name for p in page.inputs] == [p.name for p in schema.inputs]
        assert [p.type for p in page.outputs] == [p.type_str for p in schema.outputs]
        assert sum(p.minimum for p in page.inputs[-1:]) <= schema.min_input
        assert {a.name: a.required for a in page.attributes} == {
            name: a.required for name, a in schema.attributes.items()
        }
        assert {c.name: set(c.types) for c in page.type_constraints} == {
            c.type_param_str: set(c.allowed_type_strs) for c in schema.type_constraints
        }


def test_defaults_are_the_shortest_decimals():
    """0.01 is printed as such, and not as the double next to its float32."""
    page = describe(find("LeakyRelu-16"))
    assert page.attributes == (
        Attribute("alpha", "FLOAT", "Coefficient of leakage.", default=0.01),
    )
    assert {a.name: a.default for a in describe(find("Pad-2")).attributes} == {
        "mode": "constant", "pads": None, "value": 0.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("Loop", ("", "Loop", 25)),
        ("Loop-11", ("", "Loop", 11)),
        ("ai.onnx.Loop-1", ("", "Loop", 1)),
        ("ai.onnx::Range-11", ("", "Range", 11)),
        ("Scaler", ("ai.onnx.ml", "Scaler", 1)),
        ("ai.onnx.ml::Scaler-1", ("ai.onnx.ml", "Scaler", 1)),
        ("ai.onnx.preview.training.Adam-1", ("ai.onnx.preview.training", "Adam", 1)),
    ],
)
def test_names(text, key):
    """With and without domain and version."""
    schema = find(text)
    assert (schema.domain, schema.name, schema.since_version) == key


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Lop", "no operator 'Lop'; did you mean Loop or"),
        ("loop", "did you mean Loop?"),
        ("scaler-1", "did you mean ai.onnx.ml.Scaler?"),
        ("ai.onnx.ml.Loop", "did you mean Loop?"),
        ("Loop-12", "Loop has no version 12; in opset 12, Loop-11 is valid; there are Loop-1,"),
        ("Loop-99", "Loop has no version 99; there are Loop-1,"),
        ("Range-3", "Range has no version 3; there are Range-11, Range-27"),
        ("Scaler-2", "in opset 2, ai.onnx.ml.Scaler-1 is valid; there is ai.onnx.ml.Scaler-1"),
        ("", "no operator ''"),
        ("-11", "no operator '-11'"),
        ("\x1b[31m\n" * 100, "no operator "),
    ],
)
def test_near_misses(text, says):
    """What was seen, and what to write in its place."""
    with pytest.raises(UnknownOperator) as caught:
        find(text)
    assert says in str(caught.value)
    assert len(str(caught.value)) < 300


# Differences.


def made(version=1, **facts):
    """A page of an operator with one input ``x``, one output ``y`` and an attribute ``k``."""
    given = {
        "inputs": (Parameter("x", "T", ""),),
        "outputs": (Parameter("y", "T", ""),),
        "attributes": (Attribute("k", "INT", "", default=1),),
        "type_constraints": (TypeConstraint("T", "", ("tensor(float)", "tensor(int8)")),),
        "deprecated": False,
        "text": "One.\nTwo.",
    }
    return OperatorPage(
        name="Op", domain="ai.onnx", since_version=version, family="math", versions=(1, 2),
        **{**given, **facts},
    )  # fmt: skip


X, Y = Parameter("x", "T", ""), Parameter("y", "T", "")
SEVERAL = Parameter("x", "T", "", "variadic", 1)
K = Attribute("k", "INT", "", default=1)


@pytest.mark.parametrize(
    ("old", "new", "breaking", "says"),
    [
        ({}, {}, False, []),
        ({}, {"text": "Three."}, False, []),
        ({}, {"deprecated": True}, True, ["changed 'Op': deprecated: False -> True"]),
        ({}, {"inputs": (X, Parameter("z", "T", "", "optional", 0))}, False,
         ["added 'z': type=T; option=optional"]),
        ({}, {"inputs": (X, Parameter("z", "T", ""))}, True,
         ["added 'z': type=T; option=single"]),
        ({}, {"inputs": (Parameter("z", "T", "", "optional", 0), X)}, True,
         ["position: 0 -> 1"]),
        ({}, {"inputs": ()}, True, ["removed 'x'"]),
        ({}, {"outputs": ()}, True, ["removed 'y'"]),
        ({}, {"inputs": (Parameter("a", "T", ""),)}, False, ["changed 'x': name: x -> a"]),
        ({}, {"inputs": (Parameter("x", "T", "", "optional", 0),)}, False,
         ["changed 'x': option: single -> optional"]),
        ({"inputs": (Parameter("x", "T", "", "optional", 0),)}, {}, True,
         ["changed 'x': option: optional -> single"]),
        ({}, {"inputs": (SEVERAL,)}, False, ["option: single -> variadic"]),
        ({"inputs": (SEVERAL,)}, {}, True, ["option: variadic -> single"]),
        ({"inputs": (SEVERAL,)}, {"inputs": (Parameter("x", "T", "", "variadic", 0),)}, False,
         ["minimum: 1 -> 0"]),
        ({"inputs": (SEVERAL,)}, {"inputs": (Parameter("x", "T", "", "variadic", 2),)}, True,
         ["minimum: 1 -> 2"]),
        ({"inputs": (Parameter("x", "T", "", "variadic", 1, False),)}, {"inputs": (SEVERAL,)},
         True, ["same type: False -> True"]),
        ({}, {"inputs": (Parameter("x", "tensor(float)", ""),)}, True,
         ["type: T -> tensor(float); removed types: ['tensor(int8)']"]),
        ({"inputs": (Parameter("x", "tensor(float)", ""),)}, {}, False,
         ["type: tensor(float) -> T"]),
        ({}, {"attributes": ()}, True, ["removed 'k': type=INT; required=False; default=1"]),
        ({"attributes": ()}, {}, False, ["added 'k': type=INT; required=False; default=1"]),
        ({"attributes": ()}, {"attributes": (Attribute("k", "INT", "", True),)}, True,
         ["added 'k': type=INT; required=True"]),
        ({}, {"attributes": (Attribute("k", "INT", "", default=0),)}, True, ["default: 1 -> 0"]),
        ({}, {"attributes": (Attribute("k", "INT", ""),)}, True, ["default: 1 -> none"]),
        ({}, {"attributes": (Attribute("k", "INT", "", True),)}, True,
         ["required: False -> True"]),
        ({"attributes": (Attribute("k", "INT", "", True),)}, {}, False,
         ["required: True -> False"]),
        ({}, {"attributes": (Attribute("k", "INTS", "", default=1),)}, True, ["INT -> INTS"]),
        ({}, {"attributes": (Attribute("k", "INT", "Other words.", default=1),)}, False, []),
        ({}, {"type_constraints": (TypeConstraint("T", "", ("tensor(float)",)),)}, True,
         ["changed 'T': removed types: ['tensor(int8)']"]),
        ({"type_constraints": (TypeConstraint("T", "", ("tensor(float)",)),)}, {}, False,
         ["changed 'T': added types: ['tensor(int8)']"]),
        ({"inputs": (X, Parameter("z", "tensor(float)", ""))},
         {"inputs": (X, Parameter("z", "T", ""))}, True,
         ["type: tensor(float) -> T", "now one type for 'x' and 'z'"]),
    ],
)  # fmt: skip
def test_what_breaks(old, new, breaking, says):
    """Each rule of docs/spec.md, on a pair made for it."""
    found = difference(made(**old), made(2, **new))
    assert found.breaking == breaking
    lines = [change_line(change) for _, group in changes(found) for change in group]
    assert len(lines) >= len(says) > 0 or lines == says
    for part in says:
        assert any(part in line for line in lines), lines
    assert any(line.endswith("(breaking)") for line in lines) == breaking


def test_the_text_is_compared_by_lines():
    """Two of three lines on both sides agree: two thirds."""
    found = difference(made(text="a\nb\nc"), made(2, text="a\nb\nd"))
    assert round(found.similarity, 4) == 0.6667
    assert (found.lines_added, found.lines_removed) == (1, 1)
    assert found.diff == ("--- Op v1", "+++ Op v2", "@@ -1,3 +1,3 @@", " a", " b", "-c", "+d")
    assert difference(made(text="-- a"), made(2, text="")).lines_removed == 1


def test_a_fence_counts_with_blank_lines_around_it():
    """Where they are missing they are added, and nowhere else."""
    wanted = ["a", "", "```", "b", "c", "```", "", "d", "", "```", "```"]
    assert lines_of("a\n```\nb\nc\n```\nd\n```\n```") == wanted
    assert lines_of("\n".join(wanted)) == wanted


@pytest.mark.parametrize(
    ("name", "breaking", "lines"),
    [
        ("Range-27", False, ["added 'stash_type': type=INT; required=False; default=1",
                             "added types: ['tensor(bfloat16)', 'tensor(float16)']"]),
        ("Loop-11", False, ["changed 'v_initial': minimum: 1 -> 0"]),
        ("Scan-11", False, []),
        ("Scan-9", True, ["removed 'sequence_lens'", "removed 'directions'"]),
        ("Softmax-13", True, ["changed 'axis': default: 1 -> -1"]),
        ("Upsample-10", True, ["deprecated: False -> True"]),
        ("QuantizeLinear-19", True, ["now one type for 'x' and 'y_scale'"]),
        ("Add-7", True, ["removed 'axis'", "removed 'broadcast'"]),
        ("Add-14", False, ["added types:"]),
    ],
)  # fmt: skip
def test_known_differences(name, breaking, lines):
    """What is known of some operators' histories."""
    found = build(find(name)).difference
    assert found.breaking == breaking
    shown = [change_line(change) for _, group in changes(found) for change in group]
    assert bool(shown) == bool(lines)
    for part in lines:
        assert any(part in line for line in shown)


def test_the_similarity_of_range():
    """What the specification's own page says: 0.91, six lines more, at line 29."""
    found = build(find("Range-27")).difference
    assert f"{found.similarity:.2f}" == "0.91"
    assert (found.lines_added, found.lines_removed) == (6, 0)
    assert found.diff[:3] == ("--- Range v11", "+++ Range v27", "@@ -29,3 +29,9 @@")


def test_a_named_version():
    """Older or later, the older one is the one before the sign."""
    later, earlier = (build(find(n), other=o).difference for n, o in (("Loop-1", 13), ("Loop", 1)))
    assert (later.old_version, later.new_version) == (1, 13)
    assert (earlier.old_version, earlier.new_version) == (1, 25)
    with pytest.raises(UnknownOperator, match="Loop has no version 12"):
        build(find("Loop"), other=12)
    with pytest.raises(UnknownOperator, match="does not differ from itself"):
        build(find("Loop-11"), other=11)


# Renderings.

HEADINGS = [
    "Range", "**Inputs**", "**Outputs**", "**Attributes**", "**Type Constraints**", "Examples",
    "Differences with previous version (11)", "**Attributes:**", "**Type constraints:**",
    "**Documentation:**", "Version History",
]  # fmt: skip


def test_sections_come_in_order():
    """As on the specification's own page."""
    lines = rst(build(find("Range-27"), plan_all(["cases/generator/range.yaml"]).cases, 2))
    places = [lines.index(f"\n{heading}\n") for heading in HEADINGS]
    assert places == sorted(places)
    assert "\n- **start** (*T*): Scalar. First entry for the range of output values.\n" in lines
    assert "\n  Allowed types: tensor(bfloat16), tensor(double), tensor(float)," in lines
    assert "\n* added 'stash_type': type=INT; required=False; default=1\n" in lines
    assert "\n- :doc:`Version 11 <Range-11>`\n" in lines


def test_an_older_page_leads_to_the_latest(control_flow):
    """Label, heading and link of an older version."""
    text = rst(page_of(find("Loop-11"), control_flow))
    assert text.startswith(
        ":nosearch:\n\n.. _op_ai_onnx_Loop-11:\n\nLoop - version 11\n=================\n"
    )
    assert ":doc:`Loop`" in text
    assert "1) Trip count. Iteration count specified at runtime. Set by\n   specifying" in text
    assert "    Graph body:\n      add_element (int64 iter_count" in text


def test_pages_are_restructuredtext(control_flow):
    """docutils has nothing to say of an even sample, and of all of control flow."""
    texts = {
        f"{schema.name}-{schema.since_version}": rst(page_of(schema, control_flow, 2))
        for i, schema in enumerate(EVERY)
        if i % 12 == 0 or "/controlflow/" in schema.file or schema.name in ("Cast", "Normalizer")
    }
    texts["index"] = rst_index([describe(s) for s in EVERY], onnx.__version__)
    assert len(texts) > 80
    assert {name: said for name, text in texts.items() if (said := parsed_rst(text)[1])} == {}


def test_pages_are_markdown(control_flow):
    """No page has a tag of HTML, but for line breaks; code stands as it is."""
    strict = MarkdownIt("commonmark").enable("table")
    for schema in EVERY[::3]:
        text = markdown(page_of(schema, control_flow, 1))
        for token in strict.parse(text):
            inside = [t.content for t in token.children or [] if t.type == "html_inline"]
            assert all(re.fullmatch(r"<br\s*/?>", tag) for tag in inside), schema.name
            assert token.type != "html_block" or re.match(r"<br\s*/?>", token.content)
    assert "Tensor\\<T>" in markdown(describe(find("Gelu")))
    assert "Constant[value = <Scalar Tensor [3]>]()" in markdown(describe(find("Loop")))
    index = markdown_index([describe(s) for s in EVERY], onnx.__version__)
    assert "- [Loop](ai.onnx/Loop.md): [25](ai.onnx/Loop.md), [24](ai.onnx/Loop-24.md)" in index


def test_json_comes_back_equal(control_flow):
    """msgspec decodes what is written to an equal page."""
    for schema in [s for s in EVERY if s.name in ("Loop", "If", "Cast", "Pad", "TreeEnsemble")]:
        page = page_of(schema, control_flow)
        assert msgspec.json.decode(as_json(page), type=OperatorPage) == page
    assert page.since_version == 5


def test_one_variant_of_each_case_comes_first(tmp_path):
    """With room for three, all three names are there; their order stays."""
    path = tmp_path / "add.yaml"
    path.write_text(ADD)
    cases = load(path, "add.yaml").cases
    assert [c.title for c in cases] == ["a[int32]", "a[int64]", "b", "c"]
    assert [c.title for c in examples(cases, 3)] == ["a[int32]", "b", "c"]
    assert [c.title for c in examples(cases, 4)] == [c.title for c in cases]
    page = build(find("Add-14"), cases, 3, sources=("my cases/add.yaml",))
    assert page.more_examples == 1
    assert "1 more example: ``opcheck list 'my cases/add.yaml' --op Add --opset 14``" in rst(page)


ADD = """\
opset: 14
cases:
  - name: a
    types: {T: [int32, int64]}
    node: Add(x, y) -> (z)
    inputs: {x: {dtype: T, data: 1}, y: {dtype: T, data: 1}}
    outputs: {z: {dtype: T, data: 2}}
  - name: b
    node: Add(x, x) -> (z)
    inputs: {x: {dtype: int32, data: 1}}
    outputs: {z: {dtype: int32, data: 2}}
  - name: c
    node: Add(x, x) -> (z)
    inputs: {x: {dtype: int32, data: 2}}
    outputs: {z: {dtype: int32, data: 4}}
"""

# Texts of others.

wild = st.text(st.sampled_from("aB1 *_`|\\:<>[]().-+#=~!&\"'/$\n\x1b\x00\ud800\u202e\u20ac"))


def collapsed(text):
    return visible(" ".join(text.split()))


@settings(max_examples=150, deadline=None)
@given(wild)
def test_any_text_stands_for_itself_in_rst(text):
    """One paragraph with the text, and no warning."""
    for render in (rst_escaped, rst_code, rst_strong):
        shown = render(text)
        document, said = parsed_rst(f"Before {shown}" if render is rst_code else shown or "Before")
        assert said == ""
        assert [type(child) for child in document.children] == [nodes.paragraph]
        assert document.astext().removeprefix("Before").strip() == collapsed(text)


@settings(max_examples=150, deadline=None)
@given(wild)
def test_any_text_stands_for_itself_in_markdown(text):
    """One paragraph with the text, whatever reads it."""
    for render in (markdown_escaped, markdown_code):
        tokens = MarkdownIt("commonmark").enable("table").parse(f"**x** {render(text)}")
        assert [t.type for t in tokens] == ["paragraph_open", "inline", "paragraph_close"]
        kinds = {t.type for t in tokens[1].children} - {"strong_open", "strong_close"}
        assert kinds <= {"text", "text_special", "code_inline"}
        assert "".join(t.content for t in tokens[1].children).strip() == (
            f"x {collapsed(text)}".strip()
        )


@settings(max_examples=150, deadline=None)
@given(wild)
def test_any_markdown_becomes_rst(text):
    """Whatever a text of a schema may hold, docutils has nothing to say of it."""
    shown = "\n".join(rst_blocks(visible(text)))
    assert parsed_rst(f"Title\n=====\n\n{shown}\n\nEnd\n===\n")[1] == ""
    assert parsed_rst(f"- **name**: {rst_line(text)}\n")[1] == ""
    assert "\x1b" not in markdown_text(text)


def test_html_in_markdown_is_text():
    """A tag is escaped where it is one; code and line breaks stay; links are absolute."""
    assert markdown_text("[a](IR.md#b)") == (
        "[a](https://github.com/onnx/onnx/blob/main/docs/IR.md#b)"
    )
    shown = markdown_text("A<B> `<C>` ``` `<D>` ``` <br/> ``<E>`<F>\n\n    <G>\n\n<https://x.org>")
    assert shown == ("A\\<B> `<C>` ``` `<D>` ``` <br/> ``\\<E>`\\<F>\n\n    <G>\n\n<https://x.org>")


def test_markdown_becomes_rst():
    """Code, emphasis, links, lists, tables and fences."""
    given_text = (
        "Sets `x`s to *one* or **two_**, see [here](https://x.org/a_b), [IR](IR.md) or T<U>.\n"
        "A_ name<br>\n\n1. a\n   - b\n2. c\n\n```py\nd\n```\n\n| e | f |\n|---|---|\n| -1 | `g` |\n"
    )
    assert rst_blocks(given_text) == [
        r"Sets ``x``\ s to *one* or **two\_**, see `here <https://x.org/a_b>`__, "
        r"`IR <https://github.com/onnx/onnx/blob/main/docs/IR.md>`__ or T<U>.",
        r"A\_ name",
        "", "1. a", "", "   - b", "", "2. c", "", ".. code-block:: py", "", "    d",
        "", ".. list-table::", "   :header-rows: 1", "",
        "   * - e", "     - f", "   * - \\ -1", "     - ``g``",
    ]  # fmt: skip
