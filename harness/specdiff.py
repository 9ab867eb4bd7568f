"""How two versions of an operator differ, and whether that breaks nodes of the older one.

A change is breaking where, as far as the schemas show, a node that is valid by the older version
is not by the newer one, or means something else.
The texts are shown, and never judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher, unified_diff
from itertools import combinations
from math import inf
from typing import Any

from .spec import Attribute, Change, Difference, OperatorPage, Parameter


def difference(old: OperatorPage, new: OperatorPage) -> Difference:
    """Return what changed from one version of an operator to a later one."""
    operator = _operator(old, new)
    inputs = _parameters(old.inputs, new.inputs, _types(old), _types(new))
    outputs = _parameters(old.outputs, new.outputs, _types(old), _types(new))
    attributes = _attributes(old.attributes, new.attributes)
    constraints = [*_constraints(old, new), *_ties(old.inputs, new.inputs)]
    similarity, diff = _texts(old, new)
    body = diff[2:]
    return Difference(
        old_version=old.since_version,
        new_version=new.since_version,
        breaking=any(
            change.breaking
            for changes in (operator, inputs, outputs, attributes, constraints)
            for change in changes
        ),
        operator=tuple(operator),
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        attributes=tuple(attributes),
        type_constraints=tuple(constraints),
        similarity=similarity,
        lines_added=sum(line.startswith("+") for line in body),
        lines_removed=sum(line.startswith("-") for line in body),
        diff=tuple(diff),
    )


def _operator(old: OperatorPage, new: OperatorPage) -> list[Change]:
    if old.deprecated == new.deprecated:
        return []
    detail = f"deprecated: {old.deprecated} -> {new.deprecated}"
    return [Change("changed", new.name, (detail,), breaking=new.deprecated)]


def _types(page: OperatorPage) -> dict[str, frozenset[str]]:
    return {c.name: frozenset(c.types) for c in page.type_constraints}


_Types = Mapping[str, frozenset[str]]


def _parameters(
    old: Sequence[Parameter], new: Sequence[Parameter], old_types: _Types, new_types: _Types
) -> list[Change]:
    """Compare inputs or outputs: by name, and those that are left by position, as renamed."""
    pairs = _pairs(old, new)
    changes = []
    for i, parameter in enumerate(new):
        j = pairs.get(i)
        if j is None:
            added = Change("added", parameter.name, _facts(parameter), parameter.minimum > 0)
            changes.append(added)
            continue
        details, breaking = _changed(old[j], parameter, old_types, new_types)
        if i != j:
            details, breaking = [f"position: {j} -> {i}", *details], True
        if details:
            changes.append(Change("changed", old[j].name, tuple(details), breaking))
    gone = [p for j, p in enumerate(old) if j not in pairs.values()]
    changes += [Change("removed", p.name, _facts(p), breaking=True) for p in gone]
    return changes


def _pairs(old: Sequence[Parameter], new: Sequence[Parameter]) -> dict[int, int]:
    """Return which new parameter is which old one, by their positions."""
    before = {p.name: j for j, p in enumerate(old)}
    pairs = {i: before[p.name] for i, p in enumerate(new) if p.name in before}
    for i in range(min(len(old), len(new))):
        if i not in pairs and i not in pairs.values():
            pairs[i] = i
    return pairs


def _facts(parameter: Parameter) -> tuple[str, ...]:
    return (f"type={parameter.type}", f"option={parameter.option}")


def _changed(
    old: Parameter, new: Parameter, old_types: _Types, new_types: _Types
) -> tuple[list[str], bool]:
    """Return how a parameter changed, and whether a node may be valid no more."""
    details, breaking = [], False
    for field in ("name", "type", "option", "minimum", "same_type"):
        before, after = getattr(old, field), getattr(new, field)
        implied = field == "minimum" and old.option != new.option
        if before != after and not implied:
            details.append(f"{field.replace('_', ' ')}: {before} -> {after}")
    if new.minimum > old.minimum or _most(new) < _most(old) or new.same_type > old.same_type:
        breaking = True
    if new.type != old.type:
        before = old_types.get(old.type, frozenset([old.type]))
        lost = sorted(before - new_types.get(new.type, frozenset([new.type])))
        breaking = breaking or bool(lost)
        details += [f"removed types: {lost}"] if lost else []
    return details, breaking


def _most(parameter: Parameter) -> float:
    return inf if parameter.option == "variadic" else 1


def _attributes(old: Sequence[Attribute], new: Sequence[Attribute]) -> list[Change]:
    before, after = {a.name: a for a in old}, {a.name: a for a in new}
    changes = []
    for name in sorted({*before, *after}):
        if name not in before:
            added = after[name]
            changes.append(Change("added", name, _attribute_facts(added), added.required))
        elif name not in after:
            changes.append(Change("removed", name, _attribute_facts(before[name]), breaking=True))
        else:
            changes += _attribute_change(before[name], after[name])
    return changes


def _attribute_facts(attribute: Attribute) -> tuple[str, ...]:
    facts = (f"type={attribute.type}", f"required={attribute.required}")
    default = attribute.default
    return facts if default is None else (*facts, f"default={default_text(default)}")


def default_text(default: Any) -> str:
    """Write the default of an attribute: strings in quotes."""
    return repr(default)


def _attribute_change(old: Attribute, new: Attribute) -> list[Change]:
    details = []
    for field in ("type", "required"):
        before, after = getattr(old, field), getattr(new, field)
        if before != after:
            details.append(f"{field}: {before} -> {after}")
    if old.default != new.default:
        before, after = (
            "none" if a.default is None else default_text(a.default) for a in (old, new)
        )
        details.append(f"default: {before} -> {after}")
    if not details:
        return []
    # A node that leaves it out means something else with another default, and is invalid where
    # it became required.
    omissible = not old.required
    breaking = old.type != new.type or (omissible and (new.required or old.default != new.default))
    return [Change("changed", new.name, tuple(details), breaking)]


def _constraints(old: OperatorPage, new: OperatorPage) -> list[Change]:
    """Compare type parameters by name; what one loses with its name, the parameters tell."""
    before, after = _types(old), _types(new)
    changes = []
    for name in dict.fromkeys([*after, *before]):
        if name not in before:
            changes.append(Change("added", name, (f"types: {sorted(after[name])}",)))
        elif name not in after:
            changes.append(Change("removed", name, (f"types: {sorted(before[name])}",)))
        elif before[name] != after[name]:
            added, lost = sorted(after[name] - before[name]), sorted(before[name] - after[name])
            details = [f"added types: {added}"] if added else []
            details += [f"removed types: {lost}"] if lost else []
            changes.append(Change("changed", name, tuple(details), bool(lost)))
    return changes


def _ties(old: Sequence[Parameter], new: Sequence[Parameter]) -> list[Change]:
    """Return the type parameters that now bind two inputs that were free of each other."""
    before = {p.name: p.type for p in old}
    changes = []
    for first, second in combinations([p for p in new if p.name in before], 2):
        if first.type == second.type and before[first.name] != before[second.name]:
            detail = f"now one type for {first.name!r} and {second.name!r}"
            changes.append(Change("changed", first.type, (detail,), breaking=True))
    return changes


def _texts(old: OperatorPage, new: OperatorPage) -> tuple[float, list[str]]:
    """Return the ratio of the lines that agree, and the unified diff."""
    before, after = lines_of(old.text), lines_of(new.text)
    ratio = SequenceMatcher(None, before, after, autojunk=False).ratio()
    first, second = (f"{page.name} v{page.since_version}" for page in (old, new))
    return ratio, list(unified_diff(before, after, first, second, lineterm=""))


def lines_of(text: str) -> list[str]:
    """Return the lines of a text in Markdown, with a blank one on both sides of fenced blocks.

    Some texts have them and some have not, and it means the same.
    """
    return list(_spaced(line.rstrip() for line in text.splitlines()))


def _spaced(lines: Iterable[str]) -> Iterable[str]:
    inside, after_fence, previous = False, False, ""
    for line in lines:
        is_fence = re.match(r"\s*```", line) is not None
        if previous and line and (after_fence or (is_fence and not inside)):
            yield ""
        yield line
        after_fence = is_fence and inside
        inside = inside != is_fence
        previous = line
