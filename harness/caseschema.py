"""The JSON Schema of the case format, made from the types that decode it.

It accepts all that the loader accepts, and refuses what it can see to be a mistake: a value that
contradicts its types, or another one (an input that the node does not name), is left to the loader.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from .caseformat import PARAMETER, CaseSpec, FileSpec
from .dtypes import ELEMENT_TYPES, SPELLINGS
from .values import FORMS

#: Where the schema stands beside the bundled cases.
FILE = "schema.json"

_Rule = dict[str, Any]
_STRING: _Rule = {"type": "string"}
_NULL: _Rule = {"type": "null"}
_ARRAY: _Rule = {"type": "array"}
_OBJECT: _Rule = {"type": "object"}


def schema() -> str:
    """Return the schema as JSON; ``cases/schema.json`` holds it."""
    types = (FileSpec, CaseSpec)
    _, definitions = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
    for name, rule in _rules().items():
        definitions[name].update(rule)
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"https://github.com/opcheck/opcheck/cases/{FILE}",
        "title": "A case file of opcheck",
        "$ref": "#/$defs/FileSpec",
        "$defs": dict(sorted(definitions.items())),
    }
    _complete_types(document)
    return json.dumps(document, indent=1, ensure_ascii=False).replace("``", "`") + "\n"


def _rules() -> dict[str, _Rule]:
    """Return what one field cannot say, by the name of the type."""
    forms = _one_of(node=_STRING, model=_STRING, model_file=_STRING)
    answers = _one_of(outputs=_OBJECT, error={"not": _NULL}, any_of=_ARRAY)
    alone: _Rule = {"anyOf": [_given(node=_STRING), {"properties": {"attributes": _NULL}}]}
    value: _Rule = {"anyOf": [{"required": [name]} for name in FORMS]}
    values = {"inputs": {"anyOf": [{**_OBJECT, "additionalProperties": value}, _NULL]}}
    inner = {"additionalProperties": {"properties": {"outputs": _NULL}}}
    needs_opset = {"anyOf": [_given(opset={"not": _NULL}), {"properties": {"node": _NULL}}]}
    return {
        "CaseSpec": {"allOf": [forms, answers, alone, {"properties": values}]},
        "Alternative": _one_of(outputs=_OBJECT, error={"not": _NULL}),
        "ToleranceSpec": {"allOf": [{"properties": {"outputs": inner}}]},
        "ValueSpec": {"anyOf": _values()},
        "FileSpec": {
            "anyOf": [
                _given(opset={"not": _NULL}),
                {"properties": {"cases": {"items": needs_opset}}},
            ]
        },
    }


def _given(**fields: _Rule) -> _Rule:
    """Say that fields are there, each as its rule has it."""
    return {"required": list(fields), "properties": fields}


def _one_of(**fields: _Rule) -> _Rule:
    """Say that just one of some fields is there; null is as good as nothing."""
    return {"oneOf": [_given(**{name: rule}) for name, rule in fields.items()]}


def _values() -> list[_Rule]:
    """Return each way to write a value; none has two forms."""
    absent = {name: False if FORMS[name] is msgspec.UNSET else _NULL for name in FORMS}
    sizes = {"anyOf": [{**_ARRAY, "items": {"type": "integer"}}, _NULL]}

    def form(name: str, rule: _Rule | bool = True, **fields: _Rule | bool) -> _Rule:
        given = {**absent, name: rule, **fields}
        return {"required": [name], "properties": {k: v for k, v in given.items() if v is not True}}

    def typed(rule: _Rule) -> _Rule:
        properties = {**rule["properties"], "dtype": _STRING}
        return {"required": [*rule["required"], "dtype"], "properties": properties}

    tensor = {"shape": sizes}
    return [
        typed(form("data", **tensor)),
        typed(form("bits", **tensor)),
        _also_given(typed(form("fill", shape={**_ARRAY, "items": {"type": "integer"}})), "shape"),
        typed(form("npy", _STRING, **tensor)),
        form("sequence", {**_ARRAY, "minItems": 1}, shape=_NULL),
        typed(form("sequence", _ARRAY, shape=_NULL)),
        form("optional", _OBJECT, shape=_NULL),
        typed(form("optional", _NULL, shape=_NULL)),
        typed(form("map", _OBJECT, shape=_NULL)),
        typed(form("shape", _ARRAY)),
    ]


def _also_given(rule: _Rule, name: str) -> _Rule:
    return {**rule, "required": [*rule["required"], name]}


def _complete_types(document: _Rule) -> None:
    """Name the element types: an editor offers them, and ``types`` takes no other."""
    definitions = document["$defs"]
    definitions["ElementType"] = {"enum": list(ELEMENT_TYPES)}
    dtype = definitions["ValueSpec"]["properties"]["dtype"]
    dtype["anyOf"] = [{"$ref": "#/$defs/ElementType"}, *dtype["anyOf"]]
    types = definitions["CaseSpec"]["properties"]["types"]["anyOf"][0]
    types["propertyNames"] = {"pattern": PARAMETER}
    others = sorted(SPELLINGS - set(ELEMENT_TYPES))
    types["additionalProperties"]["items"] = {
        "anyOf": [{"$ref": "#/$defs/ElementType"}, {"enum": others}]
    }
