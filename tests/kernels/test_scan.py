"""The kernels of Scan, held against the pseudo-code of its pages on nested Python values.

A tensor is a shape and a dictionary from its indices to small whole numbers.
What they stand for in an element type is decided at the end.
"""

import copy
from dataclasses import dataclass

import numpy as np
import onnx.defs
import onnx.parser
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from counting_tensors import Tensor, array, counting, dtype_of, tensor_types, value
from model_calls import run
from opcheck.kernels import Evaluator

#: An opset for each version of Scan but the first, which has a batch axis.
OPSETS = (10, 15, 18, 20, 22, 23, 24, 28)


def scan_version(opset):
    return onnx.defs.get_schema("Scan", opset, "").since_version


# Tensors


def without(index, axis):
    return index[:axis] + index[axis + 1 :]


def indexed(tensor, axis, t):
    """Return T<axis=k>[t], "the sub-tensor of rank one less"."""
    items = {without(i, axis): item for i, item in tensor.items.items() if i[axis] == t}
    return Tensor(without(tensor.shape, axis), items)


def concatenated(tensor, element, axis, *, prepend=False):
    """Append or prepend one element along an axis."""
    size = tensor.shape[axis]
    assert without(tensor.shape, axis) == element.shape
    items = {}
    for index, item in tensor.items.items():
        items[(*index[:axis], index[axis] + prepend, *index[axis + 1 :])] = item
    for index, item in element.items.items():
        items[(*index[:axis], 0 if prepend else size, *index[axis:])] = item
    return Tensor((*tensor.shape[:axis], size + 1, *tensor.shape[axis + 1 :]), items)


def nothing(shape, axis):
    """Return an empty tensor to which elements of a shape can be appended along an axis."""
    return Tensor((*shape[:axis], 0, *shape[axis:]), {})


def assert_same(seen, wanted, dtype):
    """Hold a result against a tensor; what has no item in it is undefined."""
    assert isinstance(seen, np.ndarray)
    assert (seen.dtype, seen.shape) == (dtype, wanted.shape)
    for index, item in wanted.items.items():
        right = np.array(value(item, dtype)).astype(dtype)[()]
        assert seen[index] == right, f"at {index}"


# Programs


@dataclass(frozen=True)
class Program:
    """A whole test. Each source is a pair: ("before" | "after" | "element", which one)."""

    opset: int
    element: int
    #: First values, and the sources of the next ones.
    states: tuple
    next_states: tuple
    scanned: tuple
    #: Sources of the scan outputs.
    outputs: tuple
    attributes: dict
    #: Whether the model declares the sizes of its inputs.
    declared: bool
    sequence_lens: tuple | None = None


def chosen(source, before, after, elements):
    kind, which = source
    return {"before": before, "after": after, "element": elements}[kind][which]


def step(program, states, elements):
    """Run loop-body(st_1, ..., st_n, si_1, ..., si_m)."""
    after = [chosen(source, states, None, elements) for source in program.next_states]
    return after, [chosen(source, states, after, elements) for source in program.outputs]


def element_shape(program, source, in_axes, batch=0):
    kind, which = source
    if kind == "element":
        return without(program.scanned[which].shape, in_axes[which])[batch:]
    return program.states[which].shape[batch:]


def listed(program, name, count):
    """Return an attribute that has one entry for each input or output, 0 by default."""
    return program.attributes.get(name, [0] * count)


def pseudo_code(program):
    """Transcribe the pseudo-code of versions 9 and later."""
    m, k = len(program.scanned), len(program.outputs)
    in_axes = listed(program, "scan_input_axes", m)
    in_axes = [a % len(x.shape) for a, x in zip(in_axes, program.scanned, strict=True)]
    back = listed(program, "scan_input_directions", m)
    prepend = listed(program, "scan_output_directions", k)
    shapes = [element_shape(program, source, in_axes) for source in program.outputs]
    out_axes = listed(program, "scan_output_axes", k)
    out_axes = [a % (len(shape) + 1) for a, shape in zip(out_axes, shapes, strict=True)]

    sequence_length = program.scanned[0].shape[in_axes[0]]
    states = list(program.states)
    outputs = [nothing(*pair) for pair in zip(shapes, out_axes, strict=True)]
    for t in range(sequence_length):
        elements = []
        for x, axis, reverse in zip(program.scanned, in_axes, back, strict=True):
            elements.append(indexed(x, axis, sequence_length - 1 - t if reverse else t))
        states, new = step(program, states, elements)
        for j in range(k):
            outputs[j] = concatenated(outputs[j], new[j], out_axes[j], prepend=prepend[j] == 1)
    return states + outputs


def pseudo_code_8(program):
    """Transcribe the pseudo-code of version 8, with states that have a batch axis as well."""
    back = listed(program, "directions", len(program.scanned))
    batch_size, max_sequence_length = program.scanned[0].shape[:2]
    in_axes = [1] * len(program.scanned)
    shapes = [element_shape(program, source, in_axes, 1) for source in program.outputs]
    finals = [nothing(x.shape[1:], 0) for x in program.states]
    outputs = [nothing((max_sequence_length, *shape), 0) for shape in shapes]
    for batch in range(batch_size):
        lens = program.sequence_lens
        n = max_sequence_length if lens is None else lens[batch]
        states = [indexed(x, 0, batch) for x in program.states]
        scan_outs = [nothing(shape, 0) for shape in shapes]
        for t in range(n):
            elements = []
            for x, reverse in zip(program.scanned, back, strict=True):
                elements.append(indexed(indexed(x, 0, batch), 0, n - 1 - t if reverse else t))
            states, new = step(program, states, elements)
            scan_outs = [concatenated(*pair, 0) for pair in zip(scan_outs, new, strict=True)]
        # "The remaining values have an undefined value": they have no items.
        padded = [Tensor((max_sequence_length, *x.shape[1:]), x.items) for x in scan_outs]
        finals = [concatenated(*pair, 0) for pair in zip(finals, states, strict=True)]
        outputs = [concatenated(*pair, 0) for pair in zip(outputs, padded, strict=True)]
    return finals + outputs


def model_of(program, results):
    """Write a program as a model with one Scan."""
    version = scan_version(program.opset)

    def info(name, shape):
        return helper.make_tensor_value_info(name, program.element, shape)

    def declared(name, tensor):
        dims = tensor.shape if program.declared else [None] * len(tensor.shape)
        return info(name, dims)

    outer = [declared(f"state_{k}", x) for k, x in enumerate(program.states)]
    outer += [declared(f"scan_{k}", x) for k, x in enumerate(program.scanned)]
    names = {"before": "st_{}", "after": "next_{}", "element": "si_{}"}
    nodes, bodies_out = [], []
    for prefix, sources in (("next", program.next_states), ("out", program.outputs)):
        for k, (kind, which) in enumerate(sources):
            source, name = names[kind].format(which), f"{prefix}_{k}"
            nodes.append(helper.make_node("Identity", [source], [name]))
            bodies_out.append(info(name, None))
    bodies_in = [info(f"st_{k}", None) for k in range(len(program.states))]
    bodies_in += [info(f"si_{k}", None) for k in range(len(program.scanned))]
    inputs = [x.name for x in outer]
    if version == 8:
        inputs.insert(0, "" if program.sequence_lens is None else "lens")
    if program.sequence_lens is not None:
        outer.append(helper.make_tensor_value_info("lens", TensorProto.INT64, [None]))
    scan = helper.make_node(
        "Scan",
        inputs,
        [f"y_{k}" for k in range(len(results))],
        body=helper.make_graph(nodes, "body", bodies_in, bodies_out),
        num_scan_inputs=len(program.scanned),
        **program.attributes,
    )
    out = [info(f"y_{k}", [None] * len(x.shape)) for k, x in enumerate(results)]
    graph = helper.make_graph([scan], "graph", outer, out)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", program.opset)])


def check(program):
    """Run a program both ways."""
    dtype = dtype_of(program.element)
    version = scan_version(program.opset)
    wanted = pseudo_code_8(program) if version == 8 else pseudo_code(program)
    feeds = {f"state_{k}": array(x, dtype) for k, x in enumerate(program.states)}
    feeds |= {f"scan_{k}": array(x, dtype) for k, x in enumerate(program.scanned)}
    if program.sequence_lens is not None:
        feeds["lens"] = np.array(program.sequence_lens, np.int64)
    before = copy.deepcopy(feeds)
    results = Evaluator(model_of(program, wanted)).run(feeds)
    for seen, right in zip(results, wanted, strict=True):
        assert_same(seen, right, dtype)
    for name, fed in feeds.items():
        np.testing.assert_equal(fed, before[name], f"the input {name} was changed")


@st.composite
def bodies(draw, shapes):
    """Draw the shapes of the states, and all sources, for elements of the given shapes."""
    dims = st.lists(st.integers(0, 4), max_size=3).map(tuple)
    states = [draw(st.sampled_from(shapes) | dims) for _ in range(draw(st.integers(0, 3)))]
    next_states = []
    for shape in states:
        sources = [("before", j) for j, other in enumerate(states) if other == shape]
        sources += [("element", j) for j, other in enumerate(shapes) if other == shape]
        next_states.append(draw(st.sampled_from(sources)))
    sources = [("element", j) for j in range(len(shapes))]
    sources += [(kind, j) for kind in ("before", "after") for j in range(len(states))]
    outputs = st.lists(st.sampled_from(sources), min_size=0 if states else 1, max_size=3)
    return states, tuple(next_states), tuple(draw(outputs))


@st.composite
def programs(draw):
    """Draw any program of version 9 or later."""
    opset = draw(st.sampled_from(OPSETS))
    version = scan_version(opset)
    dims = st.lists(st.integers(0, 4), max_size=3).map(tuple)
    shapes = draw(st.lists(dims, min_size=1, max_size=3))
    states, next_states, outputs = draw(bodies(shapes))
    length = draw(st.integers(0, 4))

    def axes(ranks):
        return [draw(st.integers(0 if version == 9 else -r, r - 1)) for r in ranks]

    flags = st.sampled_from([0, 1])
    m, k = len(shapes), len(outputs)
    in_axes = axes([len(shape) + 1 for shape in shapes]) if draw(st.booleans()) else None
    out_ranks = [len((states if s[0] != "element" else shapes)[s[1]]) + 1 for s in outputs]
    attributes = {
        "scan_input_axes": in_axes,
        "scan_output_axes": axes(out_ranks) if k and draw(st.booleans()) else None,
        "scan_input_directions": draw(st.none() | st.lists(flags, min_size=m, max_size=m)),
        "scan_output_directions": draw(st.none() | st.lists(flags, min_size=k, max_size=k)),
    }
    scanned = []
    for j, shape in enumerate(shapes):
        axis = in_axes[j] % (len(shape) + 1) if in_axes else 0
        scanned.append(counting((*shape[:axis], length, *shape[axis:]), draw(st.integers(0, 50))))
    return Program(
        opset=opset,
        element=draw(st.sampled_from(sorted(tensor_types("Scan", opset, "V")))),
        states=tuple(counting(shape, draw(st.integers(0, 50))) for shape in states),
        next_states=next_states,
        scanned=tuple(scanned),
        outputs=outputs,
        attributes={name: entry for name, entry in attributes.items() if entry},
        declared=draw(st.booleans()),
    )


@st.composite
def programs_8(draw):
    """Draw any program of version 8."""
    dims = st.lists(st.integers(0, 3), max_size=2).map(tuple)
    shapes = draw(st.lists(dims, min_size=1, max_size=3))
    states, next_states, outputs = draw(bodies(shapes))
    batch, length = draw(st.integers(0, 3)), draw(st.integers(0, 4))
    m, flags = len(shapes), st.sampled_from([0, 1])
    directions = draw(st.none() | st.lists(flags, min_size=m, max_size=m))
    lens = st.lists(st.integers(0, length), min_size=batch, max_size=batch).map(tuple)
    numbers = st.integers(0, 50)
    return Program(
        opset=8,
        element=draw(st.sampled_from(sorted(tensor_types("Scan", 8, "V")))),
        states=tuple(counting((batch, *shape), draw(numbers)) for shape in states),
        next_states=next_states,
        scanned=tuple(counting((batch, length, *shape), draw(numbers)) for shape in shapes),
        outputs=outputs,
        attributes={"directions": directions} if directions else {},
        declared=draw(st.booleans()),
        sequence_lens=draw(st.none() | lens),
    )


@settings(deadline=None, max_examples=500)
@given(programs())
def test_scan_does_what_its_pseudo_code_does(program):
    """Any ranks, sizes, axes, directions, states and types of the versions from 9 on."""
    check(program)


@settings(deadline=None, max_examples=300)
@given(programs_8())
def test_scan_8_does_what_its_pseudo_code_does(program):
    """Batches, sequence lengths and directions; what lies past a length is not compared."""
    check(program)


# Types, axes and directions one by one


def test_the_versions_of_this_test_are_all_there_are():
    """A new version of Scan needs an opset here."""
    schemas = onnx.defs.get_all_schemas_with_history()
    versions = {s.since_version for s in schemas if s.name == "Scan" and not s.domain}
    assert versions == {8, *(scan_version(opset) for opset in OPSETS)}


EACH_TYPE = [
    pytest.param(opset, element, id=f"{opset}-{TensorProto.DataType.Name(element)}")
    for opset in (8, *OPSETS)
    for element in sorted(tensor_types("Scan", opset, "V"))
]


@pytest.mark.parametrize(("opset", "element"), EACH_TYPE)
def test_every_element_type_is_scanned(opset, element):
    """A state that follows the elements, and both directions, in each type of each version."""
    batched = scan_version(opset) == 8
    shape = (2, 3, 2) if batched else (3, 2)
    check(
        Program(
            opset=opset,
            element=element,
            states=(counting((2, 2) if batched else (2,), 40),),
            next_states=(("element", 0),),
            scanned=(counting(shape, 1), counting(shape, 7)),
            outputs=(("before", 0), ("element", 1)),
            attributes={"directions" if batched else "scan_input_directions": [0, 1]},
            declared=True,
            sequence_lens=(3, 2) if batched else None,
        )
    )


@pytest.mark.parametrize("out_axis", range(-4, 4))
@pytest.mark.parametrize("in_axis", range(-4, 4))
def test_every_pair_of_axes_of_rank_4(in_axis, out_axis):
    """An output axis counts on the rank of the finished output, not on that of its element."""
    shape = [2, 3, 4]
    shape.insert(in_axis % 4, 5)
    check(
        Program(
            opset=15,
            element=TensorProto.INT64,
            states=(),
            next_states=(),
            scanned=(counting(tuple(shape)),),
            outputs=(("element", 0), ("element", 0)),
            attributes={
                "scan_input_axes": [in_axis],
                "scan_output_axes": [out_axis, 0],
                "scan_output_directions": [0, 1],
            },
            declared=True,
        )
    )


def test_a_state_goes_from_one_element_to_the_next():
    """Horner's rule: each state is ten times the one before, and the digit of this step."""
    state, states = run(
        """
        g (int64 zero, int64[5] digits) => (int64 state, int64[5] states) {
          state, states = Scan <num_scan_inputs = 1, body =
            b (int64 s, int64 digit) => (int64 t, int64 out) {
              ten = Constant <value_int = 10> ()
              tens = Mul (s, ten)
              t = Add (tens, digit)
              out = Identity (t)
            }> (zero, digits)
        }""",
        zero=np.array(0),
        digits=np.array([3, 1, 4, 1, 5]),
    )
    assert state.shape == ()
    assert state == 31415
    assert states.tolist() == [3, 31, 314, 3141, 31415]


def test_one_tensor_is_scanned_in_both_directions():
    """ "A bidirectional scan may be performed by specifying the same tensor input twice"."""
    both, prepended = run(
        """
        g (int64[4] x) => (int64[4] both, int64[4] prepended) {
          both, prepended = Scan <num_scan_inputs = 2, scan_input_directions = [0, 1],
            scan_output_directions = [0, 1], body =
            b (int64 forward, int64 backward) => (int64 sum, int64 same) {
              sum = Sub (forward, backward)
              same = Identity (forward)
            }> (x, x)
        }""",
        x=np.array([1, 2, 4, 8]),
    )
    assert both.tolist() == [-7, -2, 2, 7]
    assert prepended.tolist() == [8, 4, 2, 1]


def test_a_body_reads_values_of_the_graph_around_it():
    """Outer inputs, initializers and node outputs are in scope in each iteration."""
    (y,) = run(
        """
        g (int64[3] x, int64 outer) => (int64[3] y) <int64 two = {2}> {
          node = Mul (outer, two)
          y = Scan <num_scan_inputs = 1, body = b (int64 e) => (int64 f) {
            a = Mul (e, two)
            c = Add (a, node)
            f = Add (c, outer)
          }> (x)
        }""",
        x=np.array([1, 2, 3]),
        outer=np.array(100),
    )
    assert y.tolist() == [302, 304, 306]


# Nothing to scan


@pytest.mark.parametrize(
    ("body", "declared", "shape"),
    [
        pytest.param("Identity (e)", "float[2]", (0, 2), id="declared"),
        pytest.param("Concat <axis = 0> (e, e)", "float[D]", (0, 4), id="inferred from the input"),
        pytest.param("Concat <axis = 0> (e, s)", "float[D]", (0, 5), id="inferred from the state"),
        pytest.param("Concat <axis = 0> (e, outer)", "", (0, 6), id="from an outer value"),
        pytest.param("Expand (e, dims)", "", (0, 0, 2), id="a size that nothing tells is 0"),
        pytest.param("Cast <to = 7> (e)", "int64[D]", (0, 2), id="another type"),
    ],
)
@pytest.mark.parametrize("opset", [9, 11, 18, 25])
def test_an_axis_of_length_0_gives_empty_outputs_and_the_first_states(opset, body, declared, shape):
    """The element's shape is as the body declares it, else as inferred, else 0."""
    kind = "int64" if "Cast" in body else "float"
    state, y = run(
        f"""
        g (float[3] first, float[N, L] x, float[K] outer, int64[2] dims) =>
          (float[3] state, {kind}[{", ".join("ABC"[: len(shape)])}] y) {{
          state, y = Scan <num_scan_inputs = 1, body =
            b (float[3] s, float[P] e) => (float[3] t, {declared} f) {{
              t = Add (s, s)
              f = {body}
            }}> (first, x)
        }}""",
        opset=opset,
        first=np.array([1, 2, 3], np.float32),
        x=np.zeros((0, 2), np.float32),
        outer=np.zeros(4, np.float32),
        dims=np.array([5, 2]),
    )
    assert state.tolist() == [1, 2, 3]
    assert y.shape == shape
    assert y.dtype == {"float": np.float32, "int64": np.int64}[kind]


@pytest.mark.parametrize("axis", [-3, -2, -1, 0, 1, 2])
def test_an_empty_output_has_its_length_0_at_its_output_axis(axis):
    """The axis of length 0 is where the elements would have been appended."""
    (y,) = run(
        f"""
        g (string[N, 2, 3] x) => (string[A, B, C] y) {{
          y = Scan <num_scan_inputs = 1, scan_output_axes = [{axis}], body =
            b (string[2, 3] e) => (string[2, 3] f) {{ f = Identity (e) }}> (x)
        }}""",
        x=np.empty((0, 2, 3), object),
    )
    shape = [2, 3]
    shape.insert(axis % 3, 0)
    assert (y.dtype, y.shape) == (np.dtype(object), tuple(shape))


@pytest.mark.parametrize(("batch", "length"), [(0, 0), (0, 4), (2, 0), (2, 4)])
def test_scan_8_without_batches_or_elements(batch, length):
    """A batch of size 0 and sequences of length 0 keep the sizes of all other axes."""
    lens = tuple([0] * batch)
    state, y = run(
        """
        g (int64[B] lens, float[B, 3] first, float[B, N, 2] x) =>
          (float[B, 3] state, float[B, N, 2] y) {
          state, y = Scan <num_scan_inputs = 1, body =
            b (float[3] s, float[2] e) => (float[3] t, float[2] f) {
              t = Add (s, s)
              f = Identity (e)
            }> (lens, first, x)
        }""",
        opset=8,
        lens=np.array(lens, np.int64),
        first=np.ones((batch, 3), np.float32),
        x=np.ones((batch, length, 2), np.float32),
    )
    assert state.tolist() == [[1, 1, 1]] * batch
    assert state.shape == (batch, 3)
    assert (y.dtype, y.shape) == (np.float32, (batch, length, 2))
