"""What a case is, in text, for the reports of a run."""

from __future__ import annotations

from base64 import b64encode

import msgspec

from .case import Case, Expected, MustFail
from .compare import describe_expected, excerpt
from .record import Detail, Excerpt, utf8

#: Larger models are left out.
MAX_MODEL = 2**16
#: Elements kept of an input or an expected output.
KEPT = 256
#: How an element is written that the specification leaves undefined.
UNDEFINED = "*"


def detail(case: Case, node: str) -> Detail:
    """Return what reports need to show a case; ``node`` is its node as a page prints it."""
    model = case.call.model.SerializeToString() if case.call.model.ByteSize() <= MAX_MODEL else b""
    return Detail(
        case=case.id,
        node=utf8(node),
        inputs=[e for name, v in case.call.inputs.items() for e in excerpt(name, v, KEPT)],
        expected=[
            []
            if isinstance(alternative, MustFail)
            else [
                e
                for name, expected in zip(case.output_names, alternative, strict=True)
                for e in expected_excerpt(name, expected)
            ]
            for alternative in case.alternatives
        ],
        model=b64encode(model).decode(),
    )


def expected_excerpt(name: str, expected: Expected) -> list[Excerpt]:
    """Return the beginning of an expected value, one entry per tensor in it.

    They are named as the differences and the excerpts of what a backend gave.
    """
    if expected.kind == "sequence" and expected.items:
        items = enumerate(expected.items[:100])
        return [e for i, item in items for e in expected_excerpt(f"{name}[{i}]", item)]
    if expected.kind == "optional" and expected.items:
        return expected_excerpt(name, expected.items[0])
    if expected.kind == "map" and expected.items:
        entries = zip(expected.keys, expected.items, strict=True)
        return [e for key, item in entries for e in expected_excerpt(f"{name}[{key!r}]", item)]
    if expected.value is None:
        return [Excerpt(name, describe_expected(expected))]
    [shown] = excerpt(name, expected.value, KEPT)
    if expected.undefined is None:
        return [shown]
    hidden = expected.undefined.reshape(-1)[:KEPT].tolist()
    values = [
        UNDEFINED if gone else value for gone, value in zip(hidden, shown.values, strict=True)
    ]
    return [msgspec.structs.replace(shown, values=values)]
