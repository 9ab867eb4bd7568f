"""Each mistake in a case file is found, placed exactly, and costs its own case only."""

from __future__ import annotations

import gc

import pytest

GOOD = """\
operator: Add
opset: 14
cases:
  - name: good
    node: Add(a, b) -> (c)
    inputs:
      a: {dtype: float32, data: [1, 2]}
      b: {dtype: float32, data: [3, 4]}
    outputs:
      c: {dtype: float32, data: [4, 6]}
"""
#: Lines 11 to 17, behind ``GOOD``.
BAD = """\
  - name: bad
    node: Add(a, b) -> (c)
    inputs:
      a: {dtype: float32, data: [1, 2]}
      b: {dtype: float32, data: [3, 4]}
    outputs:
      c: {dtype: float32, data: [4, 6]}
"""
#: Lines 11 to 20.
MODEL = """\
  - name: bad
    operator: Neg
    model: |
      g (float[2] a) => (float[2] c) {
        c = Neg(a)
      }
    inputs:
      a: {dtype: float32, data: [1, 2]}
    outputs:
      c: {dtype: float32, data: [-1, -2]}
"""
A = "a: {dtype: float32, data: [1, 2]}"
C = "c: {dtype: float32, data: [4, 6]}"
OUTPUTS = f"    outputs:\n      {C}\n"
NODE = "node: Add(a, b) -> (c)"
FIELDS = (
    "one of name, why, spec, operator, opset, types, node, model, model_file, attributes, inputs, "
    "outputs, error, any_of, tolerance"
)
VALUE_FIELDS = "one of dtype, shape, data, bits, fill, npy, sequence, optional, map"


def check(read_cases, text, line, path, seen, wanted, folder=None):
    """The file has this one mistake, and its good case is still there."""
    loaded = read_cases(GOOD + text, folder)
    assert [case.id for case in loaded.cases] == ["case.yaml::good"]
    (error,) = loaded.errors
    assert (error.file, error.line) == ("case.yaml", line)
    assert error.path == ("cases", 1, *path)
    assert seen in error.seen
    assert wanted in error.wanted
    assert str(error).startswith(f"case.yaml:{line}: cases[1]")
    return error


def edited(text, old, new):
    assert text.count(old) == 1
    return text.replace(old, new)


def mistake(old, new, line, path, seen, wanted, base=BAD):
    """A row: the base with one edit, and the error it must give."""
    steps = tuple(int(p) if p.isdigit() else p for p in path.split("."))
    return pytest.param(
        edited(base, old, new), line, steps if path else (), seen, wanted, id=new.strip()[:50]
    )


def in_a(value, path, seen, wanted):
    """A mistake in the value of the input ``a``."""
    return mistake(A, f"a: {value}", 14, f"inputs.a.{path}".rstrip("."), seen, wanted)


def in_c(value, path, seen, wanted):
    """A mistake in the value of the output ``c``."""
    return mistake(C, f"c: {value}", 17, f"outputs.c.{path}".rstrip("."), seen, wanted)


def with_key(text, path, seen, wanted, line=13):
    """A mistake in one more key of the case."""
    return mistake("    inputs:", f"    {text}\n    inputs:", line, path, seen, wanted)


def instead_of_outputs(text, line, path, seen, wanted):
    return mistake(OUTPUTS, f"    {text}\n", line, path, seen, wanted)


@pytest.mark.parametrize(
    ("text", "line", "path", "seen", "wanted"),
    [
        # Keys.
        mistake("name: bad", "nam: bad", 11, "nam", "the key 'nam'", FIELDS),
        mistake("node:", "nodes:", 12, "nodes", "the key 'nodes'", FIELDS),
        mistake("  - name: bad\n    node", "  - node", 11, "", "no 'name'", "the key 'name'"),
        mistake(f"    {NODE}\n", "", 11, "", "no node", "one of node, model, model_file"),
        mistake(OUTPUTS, "", 11, "", "no outputs", "one of outputs, error, any_of"),
        with_key("1: x", "", "the key 1", FIELDS, line=11),
        with_key("model: g", "", "node and model", "one of node, model, model_file", line=11),
        with_key("error: true", "", "outputs and error", "one of outputs, error, any_of", line=11),
        with_key("any_of: []", "", "outputs and any_of", "one of outputs, error, any_of", line=11),
        in_a("{dtype: float32, dat: [1]}", "dat", "the key 'dat'", VALUE_FIELDS),
        in_a("{dtype: float32, 5: [1]}", "", "the key 5", VALUE_FIELDS),
        with_key("tolerance: {upl: 1}", "tolerance.upl", "the key 'upl'", "one of ulp, rtol, atol"),
        with_key(
            "tolerance: {outputs: {c: {x: 1}}}", "tolerance.outputs.c.x", "the key 'x'", "ulp, rtol"
        ),
        instead_of_outputs("error: {mach: x}", 16, "error.mach", "the key 'mach'", "phase, match"),
        instead_of_outputs(
            "any_of: [{error: true}, {x: 1}]", 16, "any_of.1.x", "the key 'x'", "outputs, error"
        ),
        # Names.
        mistake("name: bad", "name: good", 11, "name", "'good' twice", "each name once"),
        mistake("name: bad", "name: a b", 11, "name", "'a b'", "letters, digits and _ . -"),
        mistake("name: bad", "name: 'a::b'", 11, "name", "'a::b'", "letters, digits and _ . -"),
        mistake("name: bad", "name: 'a[b]'", 11, "name", "'a[b]'", "letters, digits and _ . -"),
        mistake("name: bad", "name: ''", 11, "name", "''", "letters, digits and _ . -"),
        mistake("name: bad", "name: 'bad\n\n'", 11, "name", "'bad\\n'", "letters, digits"),
        mistake("name: bad", "name: é", 11, "name", "'é'", "letters, digits"),
        # Types of values.
        mistake("name: bad", "name: 5", 11, "name", "the number 5", "a string"),
        mistake("name: bad", "name: null", 11, "name", "null", "a string"),
        mistake(NODE, "node: [x]", 12, "node", "the list ['x']", "a string"),
        with_key("why: {a: 1}", "why", "the mapping {'a': 1}", "a string"),
        with_key("types: [int8]", "types", "the list ['int8']", "a mapping"),
        with_key("types: {T: int8}", "types.T", "the string 'int8'", "a list"),
        with_key("types: {T: [8]}", "types.T.0", "the number 8", "a string"),
        with_key("attributes: []", "attributes", "the list []", "a mapping"),
        with_key("attributes: {1: 2}", "attributes", "the number 1 as a key", "a string"),
        with_key("tolerance: 5", "tolerance", "the number 5", "a mapping"),
        with_key("tolerance: {ulp: x}", "tolerance.ulp", "the string 'x'", "a number"),
        with_key("tolerance: {ulp: true}", "tolerance.ulp", "true", "a number"),
        with_key(
            "tolerance: {signed_zero: 1}", "tolerance.signed_zero", "the number 1", "true or false"
        ),
        with_key(f"tolerance: {{ulp: 1{'0' * 400}}}", "tolerance.ulp", "the number 10", "a number"),
        in_a("[1, 2]", "", "the list [1, 2]", "a mapping"),
        in_a("null", "", "null", "a mapping"),
        in_a("{dtype: 5, data: [1]}", "dtype", "the number 5", "a string"),
        in_a("{dtype: int8, shape: 2, data: [1]}", "shape", "the number 2", "a list"),
        in_a("{dtype: int8, shape: [x], data: [1]}", "shape.0", "the string 'x'", "an integer"),
        in_a("{dtype: int8, shape: [1.0], data: [1]}", "shape.0", "the number 1.0", "an integer"),
        in_a("{dtype: int8, shape: [true], data: [1]}", "shape.0", "true", "an integer"),
        in_a("{sequence: 5, dtype: int8}", "sequence", "the number 5", "a list"),
        in_a("{sequence: [5], dtype: int8}", "sequence.0", "the number 5", "a mapping"),
        in_a("{optional: 5, dtype: int8}", "optional", "the number 5", "a mapping"),
        in_a("{map: [], dtype: 'map(int64, int8)'}", "map", "the list []", "a mapping"),
        in_a("{map: {1.5: 1}, dtype: int8}", "map", "the number 1.5 as a key",
            "a string or an int"),
        instead_of_outputs("outputs: []", 16, "outputs", "the list []", "a mapping"),
        instead_of_outputs("error: 'yes'", 16, "error", "the string 'yes'",
            "true or false or a map"),
        instead_of_outputs("any_of: 5", 16, "any_of", "the number 5", "a list"),
        instead_of_outputs("any_of: [5, 5]", 16, "any_of.0", "the number 5", "a mapping"),
        instead_of_outputs("error: {match: 1}", 16, "error.match", "the number 1", "a string"),
        # Tensors.
        in_a("{dtype: float32}", "", "no value", "one of data, bits, fill, npy"),
        in_a("{data: [1, 2]}", "", "no dtype", "dtype, such as float32"),
        in_a("{dtype: float31, data: [1]}", "dtype", "'float31'", "an element type of ONNX"),
        in_a("{dtype: T, data: [1]}", "dtype", "'T'", "or a type parameter"),
        in_a("{dtype: seq(int8), data: [1]}", "dtype", "'seq(int8)'",
            "an element type for a tensor"),
        in_a(f"{{dtype: {'seq(' * 50}int8{')' * 50}, data: 1}}", "dtype", "'seq(", "at most 16"),
        in_a("{dtype: int8, data: 1, fill: 2}", "", "data and fill", "one of them"),
        in_a("{dtype: int8, shape: [3], data: [1, 2]}", "shape", "[3] beside 2 elements", "fits"),
        in_a("{dtype: int8, shape: [2], data: 1}", "shape", "[2] beside 1 element",
            "fits its data"),
        in_a(
            "{dtype: int8, shape: [4], data: [[1, 2], [3, 4]]}", "shape", "data of shape [2, 2]",
            "fits",
        ),
        in_a("{dtype: int8, shape: [2, 0], data: [[], [], []]}", "shape", "of shape [3, 0]",
            "fits"),
        in_a("{dtype: int8, shape: [-1], data: [1]}", "shape.0", "-1", "a size of 0 or more"),
        in_a("{dtype: int8, shape: [null], data: [1]}", "shape.0", "null in an input", "a size"),
        in_a("{dtype: int8, shape: [99999999999], fill: 1}", "shape", "99999999999 elem",
            "at most"),
        in_a(f"{{dtype: int8, shape: [0, {10**30}], data: []}}", "shape", "000 elem", "at most"),
        in_a(f"{{dtype: int8, shape: {[1] * 65}, data: 1}}", "shape", "65 axes", "at most 64"),
        in_a(f"{{dtype: int8, data: {'[' * 80}1{']' * 80}}}", "data", "80 axes", "at most 64"),
        in_a("{dtype: int8, data: [[1, 2], [3]]}", "data.1", "a row of shape [1]",
            "shape [2] like"),
        in_a("{dtype: int8, data: [[1], 2]}", "data.1", "2", "shape [1] like the rows before"),
        in_a("{dtype: int8, data: [1, [2]]}", "data.1", "a row of shape [1]", "shape [] like"),
        in_a("{dtype: int8, data: {x: 1}}", "data", "a mapping", "a number or nested lists"),
        in_a("{dtype: int8, data: [[1], [x]]}", "data.1.0", "'x'", "an integer in [-128, 127]"),
        in_a("{dtype: int8, data: [1, 2.0]}", "data.1", "2.0", "an integer in [-128, 127]"),
        in_a("{dtype: float32, data: [1, 1e39]}", "data.1", "1e39", "a finite float32 number"),
        in_a("{dtype: string, data: [a, 1]}", "data.1", "1", "a string (quote it)"),
        in_a("{dtype: int8, data: [1, null]}", "data.1", "null in an input", "a value"),
        in_a("{dtype: int8, data: [[1, 2], [3, null]]}", "data.1.1", "null in an input", "a value"),
        in_a("{dtype: int8, data: null}", "data", "null in an input", "a value"),
        in_a("{dtype: int8, bits: [1, 256]}", "bits.1", "256", "an integer in [0, 2**8)"),
        in_a("{dtype: bool, bits: [1]}", "bits.0", "bits for bool", "an integer or float type"),
        in_a("{dtype: int8, fill: 1}", "", "fill without shape", "the shape to fill"),
        in_a("{dtype: int8, shape: [2], fill: x}", "fill", "'x'", "an integer in [-128, 127]"),
        in_a("{dtype: int8, shape: [2], fill: null}", "fill", "null", "an integer in [-128, 127]"),
        in_c("{dtype: int8, shape: [null], data: [1]}", "shape", "null beside data", "no data"),
        in_c("{dtype: int8, shape: [2]}", "", "no value", "one of data"),
        # Sequences, optionals and maps.
        in_a("{sequence: []}", "", "an empty sequence without dtype", "the dtype of its elements"),
        in_a(
            "{sequence: [{dtype: int8, data: 1}, {dtype: bool, data: 1}]}", "sequence.1", "bool",
            "int8",
        ),
        in_a("{sequence: [], dtype: int8, shape: [1]}", "shape", "a shape beside sequence",
            "tensor"),
        in_a("{sequence: [], dtype: int8, data: 1}", "", "sequence and data", "one of them"),
        in_a("{optional: null}", "", "no dtype", "dtype, such as float32"),
        in_a("{optional: {dtype: int8, data: 1}, dtype: bool}", "dtype", "'bool'", "int8, as its"),
        in_a("{map: {1: 1}}", "", "no dtype", "dtype, such as"),
        in_a("{map: {1: 1}, dtype: int8}", "dtype", "'int8'", "a map type such as map(int64"),
        in_a("{map: {1: 1}, dtype: 'map(float, int8)'}", "dtype", "map(float",
            "integers or strings"),
        in_a("{map: {1: 1}, dtype: 'map(string, int8)'}", "map", "the key 1", "a string"),
        in_a("{map: {300: 1}, dtype: 'map(int8, int8)'}", "map", "the key 300", "[-128, 127]"),
        in_a("{map: {1: x}, dtype: 'map(int64, int8)'}", "map.1", "'x'", "an integer in [-128"),
        # Inputs and outputs against the node.
        mistake(NODE, "node: Add(a) -> (c)", 15, "inputs.b", "'b', which the node", "one of a"),
        mistake(NODE, "node: Add(a, b, d) -> (c)", 13, "inputs", "no 'd'", "a value for 'd'"),
        mistake(C, f"{C}\n      d: {{dtype: int8, data: 1}}", 18, "outputs.d", "'d', which",
            "of c"),
        mistake(C, "d: {dtype: int8, data: 1}", 17, "outputs.d", "'d', which the node", "one of c"),
        instead_of_outputs("outputs: {}", 16, "outputs", "no 'c'", "a value for 'c'"),
        instead_of_outputs(
            "any_of: [{error: true}, {outputs: {}}]", 16, "any_of.1.outputs", "no 'c'", "for 'c'"
        ),
        instead_of_outputs(
            "any_of: [{error: true}, {outputs: {c: {dtype: x}}}]", 16, "any_of.1.outputs.c.dtype",
            "'x'", "an element type",
        ),
        # What must be.
        instead_of_outputs("error: false", 16, "error", "false", "true, or a mapping"),
        instead_of_outputs("error: {phase: end}", 16, "error.phase", "'end'", "load or run"),
        instead_of_outputs("error: {match: '('}", 16, "error.match", "'(': missing )", "a regular"),
        instead_of_outputs("error: {match: '[[a]'}", 16, "error.match", "'[[a]'", "a regular"),
        instead_of_outputs("error: {match: 'a{99999999999}'}", 16, "error.match", "'a{9",
            "a regular"),
        instead_of_outputs("any_of: []", 16, "any_of", "no entries", "two or more"),
        instead_of_outputs("any_of: [{error: true}]", 16, "any_of", "a single entry",
            "two or more"),
        instead_of_outputs("any_of: [{}, {error: true}]", 16, "any_of.0", "no outputs",
            "either out"),
        instead_of_outputs(
            "any_of: [{error: true, outputs: {}}, {error: true}]", 16, "any_of.0", "both", "either"
        ),
        instead_of_outputs(
            "any_of: [{error: true}, {error: false}]", 16, "any_of.1.error", "false", "true, or"
        ),
        with_key("tolerance: {ulp: -1}", "tolerance.ulp", "-1", "a finite number of 0 or more"),
        with_key("tolerance: {rtol: .nan}", "tolerance.rtol", "nan",
            "a finite number of 0 or more"),
        with_key("tolerance: {atol: .inf}", "tolerance.atol", "inf",
            "a finite number of 0 or more"),
        with_key("tolerance: {outputs: {d: {ulp: 1}}}", "tolerance.outputs.d", "'d'", "one of c"),
        with_key("tolerance: {outputs: {c: {ulp: -2}}}", "tolerance.outputs.c.ulp", "-2",
            "a finite"),
        with_key(
            "tolerance: {outputs: {c: {outputs: {}}}}", "tolerance.outputs.c.outputs",
            "outputs inside outputs", "ulp, rtol or atol",
        ),
        # Nodes, operators, opsets and attributes.
        mistake(NODE, "node: Add(a, b)", 12, "node", "'Add(a, b)'",
            "Operator(inputs) -> (outputs)"),
        mistake(NODE, "node: Add(a b) -> (c)", 12, "node", "'a b'", "names separated by commas"),
        mistake(NODE, "node: Add(a, b) -> (c, c)", 12, "node", "(c, c)", "different names"),
        mistake(NODE, "node: .Add(a, b) -> (c)", 12, "node", "'.Add", "Operator(inputs)"),
        mistake(NODE, "node: Mul(a, b) -> (c)", 12, "node", "a node of Mul", "a node of Add"),
        mistake(
            NODE, "operator: Nix\n    node: Nix(a, b) -> (c)", 13, "node", "Nix at opset 14",
            "an operator that onnx",
        ),
        mistake(NODE, "node: my.Add(a, b) -> (c)", 12, "node", "my.Add at opset 14", "an operator"),
        mistake(NODE, "node: Add(a, b) -> (c, d)", 12, "node", "output size 2", "a valid model"),
        mistake(NODE, "node: Add(a, b) -> ()", 12, "node", "output size 0", "a valid model"),
        mistake(NODE, "node: Add(a, , b) -> (c)", 12, "node", "input size 3", "a valid model"),
        with_key("opset: 99", "opset", "opset 99", "at most"),
        with_key("opset: 0", "opset", "0", "an opset of 1 or more"),
        with_key(f"opset: {2**40}", "opset", "1099511627776", "an opset of 1 or more"),
        with_key("opset: []", "opset", "[]", "one or more opsets, each once"),
        with_key("opset: [14, 14]", "opset", "[14, 14]", "one or more opsets, each once"),
        with_key("opset: [14, -1]", "opset.1", "-1", "an opset of 1 or more"),
        with_key("opset: 14..99", "opset", "'14..99'", "a range such as 11..25"),
        with_key("opset: 20..14", "opset", "'20..14'", "a range such as 11..25"),
        with_key("opset: 1.5", "opset", "the number 1.5", "an integer or a string or a list"),
        with_key("types: {T: []}", "types.T", "[]", "one or more types, each once"),
        with_key("types: {T: [int8, int8]}", "types.T", "['int8', 'int8']", "each once"),
        with_key("types: {T: [float, float32]}", "types.T", "['float', 'float32']", "each once"),
        with_key("types: {T: [int9]}", "types.T.0", "'int9'", "an element type of ONNX"),
        with_key("types: {T: [seq(int8)]}", "types.T.0", "'seq(int8)'", "an element type of ONNX"),
        with_key("types: {'T U': [int8]}", "types", "'T U'", "a type parameter such as T"),
        mistake(
            "    inputs:", f"    types: {{{', '.join(f'T{i}: [int8, bool]' for i in range(99))}}}\n"
            "    inputs:", 11, "", "more than 10000 variants", "fewer types or opsets",
        ),
        with_key("attributes: {axis: 1}", "attributes.axis", "'axis'", "an attribute of Add-14"),
    ],
)  # fmt: skip
def test_a_mistake_is_found_where_it_is(read_cases, text, line, path, seen, wanted):
    """File, line and path are exact, and the message says what was seen and what was wanted."""
    check(read_cases, text, line, path, seen, wanted)


def in_model(old, new, line, path, seen, wanted):
    return mistake(old, new, line, path, seen, wanted, base=MODEL)


G = "g (float[2] a) => (float[2] c) {"


@pytest.mark.parametrize(
    ("text", "line", "path", "seen", "wanted"),
    [
        in_model(G, "g (float[2] a => (float[2] c) {", 13, "model", "at line 1, column",
            "text syntax"),
        in_model("c = Neg(a)", "c = Neg(a", 13, "model", "at line 3, column", "text syntax"),
        in_model("      }\n", "      } rest\n", 13, "model", "'} rest' at line 4", "text syntax"),
        in_model(f"      {G}\n        c = Neg(a)\n      }}", "", 13, "model", "an empty text",
            "a model"),
        in_model("Neg(a)", f"{'A(' * 200}", 13, "model", "nested more than 32 deep", "a model in"),
        in_model(G, f'<ir_version: 10, opset_import: ["" : 99]> {G}', 13, "model", "opset 99",
            "most"),
        in_model(G, f"<ir_version: 10> {G}", 13, "model", "must specify opset_import",
            "a valid model"),
        in_model("model: |", "model: 5\n    why: |", 13, "model", "the number 5", "a string"),
        in_model("c = Neg(a)", "c = Nix(a)", 13, "model", "No Op registered for Nix",
            "a valid model"),
        in_model("c = Neg(a)", "c = Neg(b)", 13, "model", "input 'b' of node", "a valid model"),
        in_model("=> (float[2] c)", "=> (int8[2] c)", 13, "model", "elem type differs", "a valid"),
        in_model("=> (float[2] c)", "=> (float[3] c)", 13, "model", "dimension 0", "a valid model"),
        in_model("data: [1, 2]", "data: [[1, 2]]", 18, "inputs.a", "shape [1, 2]",
            "[2], as the model"),
        in_model("data: [1, 2]", "data: [1, 2, 3]", 18, "inputs.a", "shape [3]",
            "[2], as the model"),
        in_model("a: {dtype: float32", "a: {dtype: int32", 18, "inputs.a", "int32",
            "float32, as the"),
        in_model("      a: {", "      b: {", 18, "inputs.b", "'b', which the model", "one of a"),
        in_model(f"    inputs:\n      {A}\n", "", 11, "inputs", "no 'a'",
            "'a'"),
        in_model("      c: {", "      d: {", 20, "outputs.d", "'d', which the model", "one of c"),
        in_model("    inputs:", "    attributes: {}\n    inputs:", 17, "attributes", "beside model",
            "inside"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_model_is_found_where_it_is(read_cases, text, line, path, seen, wanted):
    """The same for ``model:``, whose parser counts lines in the author's text."""
    check(read_cases, text, line, path, seen, wanted)


@pytest.mark.parametrize(
    ("node", "attributes", "path", "seen", "wanted"),
    [
        ("Softmax(a) -> (c)", "{axis: 1.0}", "axis", "the number 1.0", "an integer of 64 bits"),
        ("Softmax(a) -> (c)", "{axis: x}", "axis", "the string 'x'", "an integer of 64 bits"),
        ("Softmax(a) -> (c)", "{axis: true}", "axis", "true", "an integer of 64 bits"),
        ("Softmax(a) -> (c)", f"{{axis: {2**63}}}", "axis", str(2**63), "an integer of 64 bits"),
        ("Softmax(a) -> (c)", "{axis: null}", "axis", "null", "an integer of 64 bits"),
        ("Softmax(a) -> (c)", "{axes: 1}", "axes", "'axes'", "an attribute of Softmax-13"),
        ("LeakyRelu(a) -> (c)", "{alpha: x}", "alpha", "'x'", "a number"),
        ("LeakyRelu(a) -> (c)", "{alpha: true}", "alpha", "true", "a number"),
        ("LeakyRelu(a) -> (c)", "{alpha: 1e39}", "alpha", "1e39", "a finite float32 number"),
        ("LeakyRelu(a) -> (c)", f"{{alpha: 1{'0' * 400}}}", "alpha", "1000", "a finite float32"),
        ("Transpose(a) -> (c)", "{perm: 0}", "perm", "the number 0", "a list, for an attribute"),
        ("Transpose(a) -> (c)", "{perm: [0, x]}", "perm.1", "the string 'x'", "an integer"),
        ("Cast(a) -> (c)", "{to: float17}", "to", "'float17'", "or the name of an element type"),
        ("Resize(a) -> (c)", "{mode: 1}", "mode", "the number 1", "a string (quote it)"),
        ("ConstantOfShape(a) -> (c)", "{value: 1}", "value", "of type TENSOR", "numbers, strings"),
        ("If(a) -> (c)", "{then_branch: 5}", "then_branch", "the number 5", "a graph in ONNX's"),
        ("If(a) -> (c)", "{then_branch: ''}", "then_branch", "an empty text", "a graph in ONNX's"),
        ("If(a) -> (c)", "{then_branch: g (}", "then_branch", "at line 1, column",
            "a graph in ONNX's"),
        ("If(a) -> (c)", "{then_branch: 'g () => (float y) { } z'}", "then_branch", "z' at line 1",
            "a g"),
        (
            "If(a) -> (c)", "{then_branch: 'g () => (float y) { } <domain: \"d\"> f () => () { }'}",
            "then_branch", "a function behind the graph", "a graph in ONNX's text syntax",
        ),
        ("If(a) -> (c)", f"{{then_branch: 'g ({'seq(' * 40}'}}", "then_branch", "deep", "a graph"),
    ],
)  # fmt: skip
def test_attributes_have_the_types_of_the_schema(read_cases, node, attributes, path, seen, wanted):
    """A wrong attribute is found even where the model must fail anyway."""
    text = f"  - name: bad\n    operator: {node.partition('(')[0]}\n    node: {node}\n"
    text += f"    attributes:\n      {attributes[1:-1]}\n    inputs:\n      {A}\n    error: true\n"
    steps = [int(p) if p.isdigit() else p for p in path.split(".")]
    check(read_cases, text, 15, ("attributes", *steps), seen, wanted)


@pytest.mark.parametrize(
    ("text", "line", "path", "seen", "wanted"),
    [
        pytest.param("", None, (), "nothing", "a mapping with operator", id="empty"),
        pytest.param("[]", None, (), "the list []", "a mapping with operator", id="a-list"),
        pytest.param("5", None, (), "the number 5", "a mapping with operator", id="a-number"),
        pytest.param("a: [", 1, (), "no node content", "valid YAML", id="not-yaml"),
        pytest.param("opset: 14", None, (), "no 'cases'", "the key 'cases'", id="no-cases"),
        pytest.param(
            "opset: 14\ncase: []", 2, ("case",), "the key 'case'", "one of cases", id="key"
        ),
        pytest.param(
            "x: 1\ncases: []", 1, ("x",), "the key 'x'", "one of cases, op", id="key-first"
        ),
        pytest.param("\ncases: []", 2, ("cases",), "an empty list", "one or more cases", id="none"),
        pytest.param(
            "\ncases: {a: 1}", 2, ("cases",), "the mapping {'a': 1}", "a list", id="mapping"
        ),
        pytest.param("cases: [1]\nopset: x..y", 2, ("opset",), "'x..y'", "a range", id="opset"),
        pytest.param(
            "cases: [1]\nopset: [1, a]", 2, ("opset", 1), "'a'", "an integer", id="opsets"
        ),
        pytest.param("cases: [1]\noperator: 5", 2, ("operator",), "the number 5", "a str", id="op"),
        pytest.param("cases: [1]\n2: 3", None, (), "the key 2", "one of cases", id="number-as-key"),
    ],
)
def test_a_mistake_outside_the_cases_is_reported_once(read_cases, text, line, path, seen, wanted):
    """Without its head a file has no cases; the one error says why."""
    loaded = read_cases(text)
    assert loaded.cases == []
    (error,) = loaded.errors
    assert (error.file, error.line, error.path) == ("case.yaml", line, path)
    assert seen in error.seen
    assert wanted in error.wanted


@pytest.mark.parametrize("entry", ["5", "null", "[]", "[name]", "text"])
def test_an_entry_that_is_no_mapping_costs_itself_only(read_cases, entry):
    """``cases`` may hold anything; what is no case is reported at its line."""
    check(read_cases, f"  - {entry}\n", 11, (), "", "a mapping")


def test_close_names_are_suggested(read_cases):
    """A key that is nearly right comes with the right one."""
    error = check(
        read_cases, edited(BAD, "outputs", "output"), 16, ("output",), "'output'", "outputs"
    )
    assert error.hint == "did you mean 'outputs'?"


def test_each_bad_case_is_reported_and_named(read_cases):
    """Two bad cases are two errors, in order, with the names by which they can be chosen."""
    bad = edited(BAD, "data: [1, 2]", "data: [1, x]")
    typed = edited(
        edited(bad, "name: bad", "name: typed"), "    inputs", "    types: {T: [int8]}\n    inputs"
    )
    loaded = read_cases(GOOD + bad + typed + "  - {nam: 1}\n")
    assert [e.case for e in loaded.errors] == ["bad", "typed[int8]", ""]
    assert [e.line for e in loaded.errors] == [14, 22, 26]
    assert len(loaded.cases) == 1


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("text", [GOOD, GOOD + BAD.replace("[4, 6]", "x"), "cases: ["])
def test_reading_leaves_the_garbage_collector_as_it_was(read_cases, enabled, text):
    """Its pause while a file is read is over afterwards, also behind a mistake."""
    was_enabled = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        read_cases(text)
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if was_enabled else gc.disable)()


def test_cases_share_nothing_that_can_be_changed(read_cases):
    """Facts that are read once for all cases never make one case part of another."""
    loaded = read_cases(GOOD + BAD)
    one, other = (case.call.model for case in loaded.cases)
    (first,), (second,) = (case.alternatives[0] for case in loaded.cases)
    before = other.SerializeToString(), second.type.SerializeToString(), second.value.tolist()
    one.Clear()
    first.type.Clear()
    first.value[:] = 0
    assert before == (
        other.SerializeToString(), second.type.SerializeToString(), second.value.tolist(),
    )  # fmt: skip
    again = read_cases(GOOD).cases[0]
    assert again.call.model.graph.input[0].type.tensor_type.elem_type == 1
    assert again.alternatives[0][0].type.tensor_type.shape.dim[0].dim_value == 2
