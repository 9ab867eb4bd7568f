"""What is drawn of a model: all nodes and values, bodies in their nodes, bounded."""

from __future__ import annotations

from base64 import b64encode

import onnx

from opcheck.reports.graph import MAX_LISTED, MAX_NODES, graph

NESTED = """
<ir_version: 8, opset_import: ["" : 18, "some.domain" : 1]>
g (int64 M, float[2] x) => (float[?] y, seq(float) s) <float[2] w = {1, 2}> {
  y = Loop <body: graph = b (int64 i, bool c, float[2] v) => (bool c_out, float[n] v_out) {
    c_out = Identity(c)
    v_out = If (c_out) <then_branch: graph = t () => (float[2] p) { p = Add(v, w) },
                        else_branch: graph = e () => (float[2] q) { q = Identity(x) }>
  }> (M, , x)
  s = some.domain.Split <axis: int = 1> (y)
}
"""


def of(text: str):
    return graph(b64encode(onnx.parser.parse_model(text).SerializeToString()).decode())


def test_bodies_are_inside_their_nodes():
    """Names, types with shapes, attributes in text, and the bodies at any depth."""
    found = of(NESTED)
    assert found["count"] == 6
    assert found["inputs"] == [["M", "int64[]"], ["x", "float32[2]"]]
    assert found["constants"] == [["w", "float32[2]"]]
    assert found["outputs"] == [["y", "float32[?]"], ["s", "seq(float32)"]]
    loop, split = found["nodes"]
    assert (loop["op"], loop["in"], loop["out"]) == ("Loop", ["M", "", "x"], ["y"])
    assert (split["op"], split["attributes"]) == ("some.domain.Split", ["axis = 1"])
    [(name, body)] = loop["bodies"]
    assert (name, body["outputs"][1]) == ("body", ["v_out", "float32[n]"])
    inner = dict(body["nodes"][1]["bodies"])
    assert [node["op"] for node in inner["then_branch"]["nodes"]] == ["Add"]
    assert inner["else_branch"]["nodes"][0]["in"] == ["x"]


def test_a_large_model_is_listed():
    """With its size, and no more than a reader may want."""
    lines = "\n".join(f"v{i + 1} = Neg(v{i})" for i in range(MAX_LISTED + 5))
    text = f'<ir_version: 8, opset_import: ["" : 18]> g (float v0) => (float v1) {{ {lines} }}'
    found = of(text)
    assert set(found) == {"count", "listed"}
    assert found["count"] == MAX_LISTED + 5 > MAX_NODES
    assert len(found["listed"]) == MAX_LISTED
    assert found["listed"][0] == "Neg(v0) -> (v1)"


def test_what_is_no_model_is_not_drawn():
    """A result file may hold anything."""
    assert graph("") is None
    assert graph("bm8gbW9kZWw=") is None
    assert graph("%%%") is None
