"""The kernels of Loop, held against the C code of its page on nested Python values.

A tensor is a shape and a dictionary from its indices to small whole numbers.
What they stand for in an element type is decided at the end.
"""

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnx.defs
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from counting_tensors import Tensor, array, counting, dtype_of, tensor_types
from opcheck.kernels import Evaluator

#: An opset for each version of Loop; the first one serves the opsets 1 to 10.
OPSETS = (1, 10, 12, 15, 18, 20, 22, 23, 24, 28)
INT64, BOOL = np.dtype(np.int64), np.dtype(np.bool_)
#: The longest run of a body in these tests.
LONGEST = 7


def loop_version(opset):
    return onnx.defs.get_schema("Loop", opset, "").since_version


# Tensors


def row(table, t):
    """Return the sub-tensor at position t of the first axis."""
    items = {index[1:]: item for index, item in table.items.items() if index[0] == t}
    return Tensor(table.shape[1:], items)


def appended(first, second):
    """Put the rows of a second tensor behind those of the first."""
    n = first.shape[0]
    items = dict(first.items)
    for (i, *rest), item in second.items.items():
        items[(n + i, *rest)] = item
    return Tensor((n + second.shape[0], *first.shape[1:]), items)


def stacked(elements, shape):
    """Store each element as one row: user_defined_vals[i] = user_defined_val."""
    items = {}
    for i, element in enumerate(elements):
        assert element.shape == shape
        for index, item in element.items.items():
            items[(i, *index)] = item
    return Tensor((len(elements), *shape), items)


def assert_same(seen, wanted, dtype):
    """Hold a result against a tensor, a list of them, or None."""
    if wanted is None:
        assert seen is None
    elif isinstance(wanted, list):
        assert isinstance(seen, list)
        assert len(seen) == len(wanted)
        for pair in zip(seen, wanted, strict=True):
            assert_same(*pair, dtype)
    else:
        assert isinstance(seen, np.ndarray)
        assert (seen.dtype, seen.shape) == (dtype, wanted.shape)
        right = array(wanted, dtype)
        if dtype == np.dtype(object):
            assert seen.tolist() == right.tolist()
        else:
            assert seen.tobytes() == right.tobytes()


# Programs: what the body does, as nodes and as Python


@dataclass(frozen=True)
class Carried:
    """A carried value and what becomes of it: a kind, its first value, and a table of rows.

    keep: stays; table: the row of this iteration; grow: that row is appended, so that the shape
    changes; next: becomes the value carried next to it; seq: the row is appended to a sequence;
    opt: becomes a filled optional of the row.
    """

    kind: str
    first: Any
    table: Tensor


@dataclass(frozen=True)
class Scanned:
    """A scan output: a table's row, a carried value before or after, the number, a condition."""

    kind: str
    which: int = 0
    table: Tensor | None = None


@dataclass(frozen=True)
class Program:
    """A whole test: the modes of the loop, its body, and the element type of all tensors."""

    opset: int
    element: int
    trip_count: int | None
    #: With the shape [] or [1], which is also that of each row of the conditions.
    cond: Tensor | None
    conditions: Tensor
    trip_count_shape: tuple
    carried: tuple
    scanned: tuple


def c_code(program):
    """Transcribe "Sample equivalent C code" and the table of operating modes."""
    carried = [c.first for c in program.carried]
    keepgoing = counting((), 1) if program.cond is None else program.cond
    user_defined_vals = [[] for _ in program.scanned]
    i = 0
    while True:
        if program.trip_count is not None and not i < program.trip_count:
            break
        if program.cond is not None and not any(keepgoing.items.values()):
            break
        keepgoing_in, before = keepgoing, carried
        carried = [changed(program, k, i, before) for k in range(len(before))]
        keepgoing = row(program.conditions, i)
        for vals, scan in zip(user_defined_vals, program.scanned, strict=True):
            vals.append(element(scan, i, keepgoing_in, keepgoing, before, carried))
        i += 1
    shapes = [element_shape(program, scan) for scan in program.scanned]
    return carried, [stacked(*pair) for pair in zip(user_defined_vals, shapes, strict=True)]


def changed(program, k, i, before):
    """Return what becomes of the carried value k in iteration i."""
    kind, table = program.carried[k].kind, program.carried[k].table
    if kind == "grow":
        return appended(before[k], row(table, i))
    if kind == "seq":
        return [*before[k], row(table, i)]
    if kind == "next":
        return before[(k + 1) % len(before)]
    return before[k] if kind == "keep" else row(table, i)


def element(scan, i, keepgoing_in, keepgoing, before, after):
    """Return the value of a scan output at the end of iteration i."""
    if scan.kind == "table":
        return row(scan.table, i)
    if scan.kind == "before":
        return before[scan.which]
    if scan.kind == "after":
        return after[scan.which]
    if scan.kind == "number":
        return Tensor((), {(): i})
    return keepgoing_in if scan.kind == "in" else keepgoing


def element_shape(program, scan):
    if scan.kind == "table":
        return scan.table.shape[1:]
    if scan.kind in ("before", "after"):
        return program.carried[scan.which].first.shape
    return () if scan.kind == "number" else program.conditions.shape[1:]


def type_proto(kind, element, shape=None):
    tensor = helper.make_tensor_type_proto(element, shape)
    if kind == "seq":
        return helper.make_sequence_type_proto(tensor)
    return helper.make_optional_type_proto(tensor) if kind == "opt" else tensor


def open_shape(value):
    """Return a shape of the right rank and no known size; for a sequence or optional none."""
    return [None] * len(value.shape) if isinstance(value, Tensor) else None


def model_of(program):
    """Write a program as a model with one Loop; return it and what it is fed with."""
    dtype = dtype_of(program.element)
    finals, stacks = c_code(program)
    info = helper.make_tensor_value_info
    nodes, feeds, outer, bodies_in, bodies_out, results = [], {}, [], [], [], []

    def typed(name, kind, value):
        return helper.make_value_info(name, type_proto(kind, program.element, open_shape(value)))

    def table(name, tensor):
        feeds[name] = array(tensor, dtype)
        outer.append(info(name, program.element, open_shape(tensor)))
        nodes.append(helper.make_node("Gather", [name, "i"], [f"row_{name}"], axis=0))
        return f"row_{name}"

    feeds["conditions"] = array(program.conditions, BOOL)
    outer.append(info("conditions", TensorProto.BOOL, program.conditions.shape))
    for k, c in enumerate(program.carried):
        proto = type_proto(c.kind, program.element)
        outer.append(typed(f"first_{k}", c.kind, c.first))
        bodies_in.append(helper.make_value_info(f"v_{k}", proto))
        bodies_out.append(helper.make_value_info(f"w_{k}", proto))
        results.append(typed(f"final_{k}", c.kind, finals[k]))
        feeds[f"first_{k}"] = feed(c.first, dtype)
        out = [f"w_{k}"]
        if c.kind == "keep":
            nodes.append(helper.make_node("Identity", [f"v_{k}"], out))
        elif c.kind == "next":
            nodes.append(helper.make_node("Identity", [f"v_{(k + 1) % len(program.carried)}"], out))
        elif c.kind == "table":
            nodes.append(helper.make_node("Identity", [table(f"t_{k}", c.table)], out))
        elif c.kind == "grow":
            inputs = [f"v_{k}", table(f"t_{k}", c.table)]
            nodes.append(helper.make_node("Concat", inputs, out, axis=0))
        elif c.kind == "seq":
            inputs = [f"v_{k}", table(f"t_{k}", c.table)]
            nodes.append(helper.make_node("SequenceInsert", inputs, out))
        else:
            nodes.append(helper.make_node("Optional", [table(f"t_{k}", c.table)], out))
    nodes.append(helper.make_node("Gather", ["conditions", "i"], ["keepgoing"], axis=0))
    for k, s in enumerate(program.scanned):
        number = {"number": TensorProto.INT64, "in": TensorProto.BOOL, "out": TensorProto.BOOL}
        element = number.get(s.kind, program.element)
        source = {"number": "i", "in": "cond", "out": "keepgoing"}.get(s.kind)
        if source is None:
            source = {"before": f"v_{s.which}", "after": f"w_{s.which}"}.get(s.kind)
        if source is None:
            source = table(f"s_{k}", s.table)
        nodes.append(helper.make_node("Identity", [source], [f"scan_{k}"]))
        bodies_out.append(info(f"scan_{k}", element, None))
        results.append(info(f"scans_{k}", element, open_shape(stacks[k])))
    scalars = [info("i", TensorProto.INT64, []), info("cond", TensorProto.BOOL, None)]
    keepgoing = info("keepgoing", TensorProto.BOOL, None)
    body = helper.make_graph(nodes, "body", scalars + bodies_in, [keepgoing, *bodies_out])
    names = ["", ""]
    if program.trip_count is not None:
        names[0] = "M"
        feeds["M"] = np.full(program.trip_count_shape, program.trip_count, np.int64)
        outer.append(info("M", TensorProto.INT64, program.trip_count_shape))
    if program.cond is not None:
        names[1] = "keep"
        feeds["keep"] = array(program.cond, BOOL)
        outer.append(info("keep", TensorProto.BOOL, program.cond.shape))
    names += [f"first_{k}" for k in range(len(program.carried))]
    loop = helper.make_node("Loop", names, [r.name for r in results], body=body)
    graph = helper.make_graph([loop], "graph", outer, results)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", program.opset)]), feeds


def feed(first, dtype):
    if isinstance(first, list):
        return [array(tensor, dtype) for tensor in first]
    return None if first is None else array(first, dtype)


def check(program):
    """Run a program both ways."""
    model, feeds = model_of(program)
    before = copy.deepcopy(feeds)
    results = Evaluator(model).run(feeds)
    carried, scans = c_code(program)
    dtype = dtype_of(program.element)
    kinds = {"number": INT64, "in": BOOL, "out": BOOL}
    dtypes = [dtype for _ in carried] + [kinds.get(s.kind, dtype) for s in program.scanned]
    for seen, wanted, each in zip(results, carried + scans, dtypes, strict=True):
        assert_same(seen, wanted, each)
    for name, fed in feeds.items():
        np.testing.assert_equal(fed, before[name], f"the input {name} was changed")


@st.composite
def programs(draw):
    """Draw any program that ends."""
    opset = draw(st.sampled_from(OPSETS))
    version = loop_version(opset)
    dims = st.lists(st.integers(0, 3), max_size=3).map(tuple)
    numbers = st.integers(0, 50)
    kinds = ["keep", "table", "next"] + ["grow"] * (opset >= 4)
    kinds += ["seq"] * (version >= 13) + ["opt"] * (version >= 16)
    carried = []
    for _ in range(draw(st.integers(1 if version == 1 else 0, 3))):
        kind, shape = draw(st.sampled_from(kinds)), draw(dims)
        first = counting(shape, draw(numbers))
        if kind == "grow":
            first = counting((draw(st.integers(0, 2)), *shape), draw(numbers))
            shape = (1, *shape)
        if kind == "seq":
            first = [counting(s) for s in draw(st.lists(dims, max_size=2))]
        if kind == "opt":
            first = draw(st.sampled_from([None, first]))
        carried.append(Carried(kind, first, counting((LONGEST, *shape), draw(numbers))))
    if any(c.kind in ("seq", "opt") for c in carried):
        carried = [c for c in carried if c.kind != "next"]
    steady = [k for k, c in enumerate(carried) if c.kind in ("keep", "table")]
    kinds = ["table", "number", "in", "out"] + ["before", "after"] * bool(steady)
    scanned = []
    for _ in range(draw(st.integers(0 if carried else 1, 3))):
        kind = draw(st.sampled_from(kinds))
        which = draw(st.sampled_from(steady)) if kind in ("before", "after") else 0
        table = counting((LONGEST, *draw(dims)), draw(numbers)) if kind == "table" else None
        scanned.append(Scanned(kind, which, table))
    users = [("Loop", "V"), ("Gather", "T")]
    users += [("SequenceInsert", "T")] * any(c.kind == "seq" for c in carried)
    users += [("Optional", "V")] * any(c.kind == "opt" for c in carried)
    elements = set.intersection(*(tensor_types(operator, opset, p) for operator, p in users))
    trip_count = draw(st.none() | st.integers(0, 6) | st.sampled_from([-1, -(2**63)]))
    cond_shape = draw(st.sampled_from([None, (), (1,)]))
    assume(trip_count is not None or cond_shape is not None)
    cond = None if cond_shape is None else counting(cond_shape, draw(st.sampled_from([0, 1, 1])))
    conditions = counting((LONGEST, *(cond_shape or ())))
    goes_on = draw(st.lists(st.sampled_from([1, 1, 0]), min_size=6, max_size=6))
    items = dict(zip(conditions.items, (*goes_on, 0), strict=True))
    return Program(
        opset=opset,
        element=draw(st.sampled_from(sorted(elements))),
        trip_count=trip_count,
        cond=cond,
        trip_count_shape=draw(st.sampled_from([(), (1,)])),
        conditions=Tensor(conditions.shape, items),
        carried=tuple(carried),
        scanned=tuple(scanned),
    )


@settings(deadline=None, max_examples=600)
@given(programs())
def test_a_loop_does_what_the_c_code_does(program):
    """All modes, versions and kinds of carried values, against the page's C code."""
    check(program)


# Types


EACH_TYPE = [
    pytest.param(opset, element, id=f"{opset}-{TensorProto.DataType.Name(element)}")
    for opset in OPSETS
    for element in sorted(tensor_types("Loop", opset, "V"))
]


@pytest.mark.parametrize(("opset", "element"), EACH_TYPE)
def test_every_element_type_is_carried_and_stacked(opset, element):
    """Three values change places; scan outputs collect what one was and what another became."""
    firsts = [counting((2,), first) for first in (1, 5, 8)]
    check(
        Program(
            opset=opset,
            element=element,
            trip_count=4,
            cond=None,
            conditions=counting((LONGEST,)),
            trip_count_shape=(),
            carried=tuple(Carried("next", first, first) for first in firsts),
            scanned=(Scanned("before", 0), Scanned("after", 1)),
        )
    )


def test_the_versions_of_this_test_are_all_there_are():
    """A new version of Loop needs an opset here."""
    schemas = onnx.defs.get_all_schemas_with_history()
    versions = {s.since_version for s in schemas if s.name == "Loop" and not s.domain}
    assert versions == {loop_version(opset) for opset in OPSETS}
