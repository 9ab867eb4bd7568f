"""Random nested programs, run by the evaluator and by a direct interpretation in Python.

A program is a tree of statements on whole numbers.
It is written as an ONNX model on one side and interpreted as it stands on the other.
"""

import random
from dataclasses import dataclass

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from opcheck.kernels import Evaluator

DEEPEST = 4


@dataclass(frozen=True)
class Number:
    """A constant: a node, or an initializer of its graph."""

    name: str
    value: int
    is_initializer: bool


@dataclass(frozen=True)
class Operation:
    name: str
    operator: str
    left: str
    right: str


@dataclass(frozen=True)
class Branches:
    """names = then if left < right else other."""

    names: tuple
    left: str
    right: str
    then: "Block"
    other: "Block"


@dataclass(frozen=True)
class Repeat:
    """A Loop over at most three iterations.

    The trip count is ``trips`` cut to 0..3.
    With ``guarded``, the condition is ``left < right``, before the first iteration and at the end
    of each, where ``left`` and ``right`` are read in the body.
    The results are the carried values and the sum of each scan output.
    """

    names: tuple
    trips: str
    guarded: bool
    left: str
    right: str
    first: tuple
    number: str
    carried: tuple
    body: "Block"


@dataclass(frozen=True)
class Block:
    """Statements in order, and what is handed to the outside."""

    statements: tuple
    results: tuple
    #: The names that a Loop's condition compares at the end of its body.
    compared: tuple = ()


# Interpretation

OPERATIONS = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Min": min,
    "Max": max,
}


def wrapped(value):
    """Keep 64 bits, in two's complement."""
    return (value + 2**63) % 2**64 - 2**63


def interpret(block, outer):
    """Return the results of a block, and all that it knows at its end."""
    known = dict(outer)
    for s in block.statements:
        if isinstance(s, Number):
            known[s.name] = s.value
        elif isinstance(s, Operation):
            known[s.name] = wrapped(OPERATIONS[s.operator](known[s.left], known[s.right]))
        elif isinstance(s, Branches):
            chosen = s.then if known[s.left] < known[s.right] else s.other
            known |= zip(s.names, interpret(chosen, known)[0], strict=True)
        else:
            known |= zip(s.names, repeat(s, known), strict=True)
    return [known[name] for name in block.results], known


def repeat(s, known):
    carried = [known[name] for name in s.first]
    collected = [[] for _ in range(len(s.body.results) - len(carried))]
    goes_on = known[s.left] < known[s.right]
    for i in range(min(max(known[s.trips], 0), 3)):
        if s.guarded and not goes_on:
            break
        inner = {**known, s.number: i, **dict(zip(s.carried, carried, strict=True))}
        results, at_end = interpret(s.body, inner)
        left, right = s.body.compared
        goes_on = at_end[left] < at_end[right]
        carried = results[: len(carried)]
        for values, value in zip(collected, results[len(carried) :], strict=True):
            values.append(value)
    return [*carried, *(wrapped(sum(values)) for values in collected)]


# Translation


def info(name, element=TensorProto.INT64, shape=()):
    return helper.make_tensor_value_info(name, element, shape)


def constant(name, value):
    return helper.make_node("Constant", [], [name], value_int=value)


class Translation:
    """Writes blocks as graphs; helper names carry the depth, and are the same in sibling bodies."""

    def __init__(self, depth):
        self.depth = depth
        self.nodes = []
        self.initializers = []
        self.count = 0

    def new(self):
        self.count += 1
        return f"h{self.depth}_{self.count}"

    def add(self, operator, inputs, outputs=None, **attributes):
        outputs = outputs or [self.new()]
        self.nodes.append(helper.make_node(operator, inputs, outputs, **attributes))
        return outputs[0]

    def block(self, block):
        for s in block.statements:
            if isinstance(s, Number) and s.is_initializer:
                tensor = helper.make_tensor(s.name, TensorProto.INT64, [], [s.value])
                self.initializers.append(tensor)
            elif isinstance(s, Number):
                self.nodes.append(constant(s.name, s.value))
            elif isinstance(s, Operation):
                self.add(s.operator, [s.left, s.right], [s.name])
            elif isinstance(s, Branches):
                condition = self.add("Less", [s.left, s.right])
                then, other = (self.body(b, [], []) for b in (s.then, s.other))
                branches = {"then_branch": then, "else_branch": other}
                self.add("If", [condition], list(s.names), **branches)
            else:
                self.repeat(s)

    def repeat(self, s):
        zero, three = self.new(), self.new()
        self.nodes += [constant(zero, 0), constant(three, 3)]
        trips = self.add("Min", [self.add("Max", [s.trips, zero]), three])
        condition = self.add("Less", [s.left, s.right]) if s.guarded else ""
        inputs = [info(s.number), info(f"c{self.depth}", TensorProto.BOOL), *map(info, s.carried)]
        body = self.body(s.body, inputs, [s.body.compared])
        stacks = [self.new() for _ in s.names[len(s.first) :]]
        outputs = [*s.names[: len(s.first)], *stacks]
        self.add("Loop", [trips, condition, *s.first], outputs, body=body)
        for stack, name in zip(stacks, s.names[len(s.first) :], strict=True):
            self.add("ReduceSum", [stack], [name], keepdims=0)

    def body(self, block, inputs, compared):
        """Write a body: each result goes through a node of its own, as the checker wants it."""
        inner = Translation(self.depth + 1)
        inner.block(block)
        results = [inner.add("Less", pair) for pair in compared]
        outputs = [info(name, TensorProto.BOOL) for name in results]
        outputs += [info(inner.add("Identity", [name])) for name in block.results]
        return helper.make_graph(inner.nodes, "body", inputs, outputs, inner.initializers)


def model_of(block, inputs):
    translation = Translation(0)
    translation.block(block)
    graph = helper.make_graph(
        translation.nodes,
        "main",
        [info(name) for name in inputs],
        [info(name) for name in block.results],
        translation.initializers,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


# Generation


class Writer:
    """Draws programs. Names are numbered from 0 in each body, so that siblings share them."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def block(self, depth, visible, own, outputs):
        """Draw a block that sees some names and has own inputs among them."""
        names = [*visible, *own]
        statements = []
        count = 0
        for _ in range(self.random.randint(1, 4 if depth == 0 else 3)):
            kinds = ["number", "operation"] + ["branches", "repeat", "repeat"] * (depth < DEEPEST)
            kind = self.random.choice(kinds)
            size = self.random.randint(1, 2) if kind in ("branches", "repeat") else 1
            new = tuple(f"v{depth}_{count + k}" for k in range(size))
            count += size
            statements.append(getattr(self, kind)(depth, names, new))
            names += new
        results = tuple(self.name(names) for _ in range(outputs))
        return Block(tuple(statements), results, (self.name(names), self.name(names)))

    def name(self, names):
        """Choose a name, often a late one."""
        return self.random.choice(self.random.choice([names, names[-3:]]))

    def number(self, depth, names, new):
        return Number(new[0], self.random.randint(-3, 5), self.random.random() < 0.5)

    def operation(self, depth, names, new):
        operator = self.random.choice(sorted(OPERATIONS))
        return Operation(new[0], operator, self.name(names), self.name(names))

    def branches(self, depth, names, new):
        left, right = self.name(names), self.name(names)
        then, other = (self.block(depth + 1, names, [], len(new)) for _ in range(2))
        return Branches(new, left, right, then, other)

    def repeat(self, depth, names, new):
        carried = self.random.randint(0, len(new))
        own = [f"i{depth}", *(f"s{depth}_{k}" for k in range(carried))]
        return Repeat(
            names=new,
            trips=self.name(names),
            guarded=self.random.random() < 0.5,
            left=self.name(names),
            right=self.name(names),
            first=tuple(self.name(names) for _ in range(carried)),
            number=own[0],
            carried=tuple(own[1:]),
            body=self.block(depth + 1, names, own, len(new)),
        )


INPUTS = ("a", "b", "c")


def program(seed):
    return Writer(seed).block(0, list(INPUTS), [], 3)


def depth_of(block):
    inner = [0]
    for s in block.statements:
        if isinstance(s, Branches):
            inner += [1 + depth_of(s.then), 1 + depth_of(s.other)]
        elif isinstance(s, Repeat):
            inner.append(1 + depth_of(s.body))
    return max(inner)


seeds = st.integers(0, 2**32)


@settings(deadline=None, max_examples=250)
@given(seeds, st.lists(st.integers(-3, 5), min_size=3, max_size=3))
def test_names_mean_the_same_in_any_nesting(seed, numbers):
    """If and Loop in one another, reading names of all scopes around them."""
    block = program(seed)
    feeds = dict(zip(INPUTS, numbers, strict=True))
    evaluator = Evaluator(model_of(block, INPUTS))
    for _ in range(2):  # the second run finds nothing left over from the first
        seen = evaluator.run({name: np.array(value) for name, value in feeds.items()})
        assert all(y.dtype == np.int64 and y.shape == () for y in seen)
        assert [int(y) for y in seen] == interpret(block, feeds)[0]


def test_the_programs_of_this_test_nest_as_deep_as_they_may():
    """The property above is about deep nesting only if deep programs are common."""
    depths = [depth_of(program(seed)) for seed in range(100)]
    assert set(depths) == set(range(DEEPEST + 1))
    assert depths.count(DEEPEST) >= 20


def test_most_results_of_the_programs_depend_on_what_is_fed():
    """Programs of constants alone would agree whatever the names mean."""
    feeds = [dict(zip(INPUTS, numbers, strict=True)) for numbers in [(0, 1, 2), (3, -1, 1)]]
    results = [[interpret(program(seed), each)[0] for each in feeds] for seed in range(100)]
    assert sum(first != second for first, second in results) >= 50
