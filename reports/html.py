"""The HTML report: one file that needs neither network nor server.

What backends and case files say reaches the page in two ways only: through jinja2, which escapes
it, and as JSON, which the page's own script puts into text nodes.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ..harness.detail import KEPT
from ..harness.record import Detail, Outcome, Record, Run
from .graph import graph
from .text import headline, visible

TEMPLATES = Path(__file__).parent / "templates"
#: The parts of the page's script, in order.
SCRIPTS = ("data.js", "filter.js", "overview.js", "heat.js", "graph.js", "case.js", "main.js")
#: The columns of the results in the page's data.
FIELDS = (
    "case", "file", "line", "operator", "since", "opset", "types", "backend", "outcome", "seconds",
    "why", "said", "standing", "more",
)  # fmt: skip
#: What the acceptance of an outcome is called in the page and its links.
STANDINGS = ("as it should be", "unexpected", "expected deviation")
#: Options of a run that change what a case comes to: its command repeats them.
REPEATED = ("ulp", "rtol", "atol", "timeout", "memory")


def html(run: Run) -> str:
    """Render ``run`` as one page of HTML."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["visible"] = visible
    environment.filters["share"] = share
    style = (TEMPLATES / "report.css").read_text("utf-8")
    script = "\n".join((TEMPLATES / name).read_text("utf-8") for name in SCRIPTS)
    script = f'"use strict";\n(() => {{\n{script}}})();\n'
    outcomes = [o.value for o in Outcome if any(o.value in by for by in _totals(run).values())]
    return environment.get_template("report.html.j2").render(
        run=run,
        totals=_totals(run),
        outcomes=outcomes,
        policy=f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'",
        style=Markup(style),
        script=Markup(script),
        data=Markup(embedded(page_data(run))),
    )


def share(counts: dict[str, int]) -> str:
    """Return which part of the results passed, those skipped left out; 100 % only for all."""
    counted = sum(n for outcome, n in counts.items() if outcome != Outcome.SKIPPED)
    passed = counts.get(Outcome.PASSED, 0)
    return f"{passed * 1000 // counted / 10:g} %" if counted else "–"


def embedded(data: Any) -> str:
    """Write data as JSON that can stand inside a script element: ASCII, and no markup in it."""
    text = json.dumps(data, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def page_data(run: Run) -> dict[str, Any]:
    """Return the results as the page's script reads them: ``FIELDS`` in each row.

    The unexpected come first, then expected deviations, otherwise the order stays.
    Texts that many results share are numbers in their rows, places in ``strings``.
    What is shown of an opened case only is packed, so that a large run is read at once.
    """
    strings = _Strings()
    records = [_row(record, strings) for record in sorted(run.records, key=_rank)]
    return {
        "outcomes": [outcome.value for outcome in Outcome],
        "standings": STANDINGS,
        "backends": [strings(backend) for backend in _totals(run)],
        "options": [
            [k, visible(run.header.options[k])] for k in REPEATED if k in run.header.options
        ],
        "fields": FIELDS,
        "records": records,
        "details": {strings(case): packed(shown) for case, shown in _details(run).items()},
        "strings": list(strings.places),
    }


class _Strings:
    """The texts of a page, each once."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        """Return the place of a text."""
        return self.places.setdefault(visible(text), len(self.places))


def _totals(run: Run) -> dict[str, dict[str, int]]:
    """Return the totals of every backend, also of one without results."""
    return {**{backend: {} for backend in run.header.backends}, **run.footer.totals}


def _rank(record: Record) -> int:
    return 0 if not record.acceptable else 1 if record.known else 2


def _row(record: Record, strings: _Strings) -> list[Any]:
    domain = f"{record.domain}." if record.domain else ""
    said = headline(record) or ("" if record.acceptable else record.verdict)
    return [
        strings(record.case),
        strings(record.file),
        record.line,
        strings(domain + record.operator),
        record.since_version,
        record.opset,
        strings(", ".join(record.dtypes)),
        strings(record.backend),
        list(Outcome).index(record.outcome),
        record.seconds,
        strings(record.why),
        strings(said),
        2 if record.known else 0 if record.acceptable else 1,
        _more(record),
    ]


def _more(record: Record) -> dict[str, Any]:
    """Return what few results have, without what is empty."""
    return _some(record, ("phase", "message", "verdict", "flaky"))


def _details(run: Run) -> dict[str, dict[str, Any]]:
    """Return what an opened case shows: what it is, and by backend what came."""
    shown: dict[str, dict[str, Any]] = {}
    for case, detail in run.details.items():
        found = _some(detail, ("node", "inputs", "expected", "model"))
        shown[case] = {**found, "graph": _visible(graph(detail.model)), "came": {}}
    for record in run.records:
        found = _some(record, ("differences", "outputs", "printed"))
        for output in found.get("outputs", []):
            output["values"] = output["values"][:KEPT]
        if found:
            shown.setdefault(record.case, {"came": {}})["came"][visible(record.backend)] = found
    return shown


def _some(entry: Record | Detail, names: tuple[str, ...]) -> dict[str, Any]:
    """Return some fields as plain data, texts made visible, without those that are empty."""
    found = {name: getattr(entry, name) for name in names}
    return {name: _visible(msgspec.to_builtins(v)) for name, v in found.items() if v}


def packed(value: Any) -> str:
    """Return data as compressed JSON in base64."""
    return b64encode(zlib.compress(json.dumps(value, separators=(",", ":")).encode())).decode()


def _visible(value: Any) -> Any:
    """Make all of every text in a value visible."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, list):
        return [_visible(item) for item in value]
    return {k: _visible(v) for k, v in value.items()} if isinstance(value, dict) else value


def _hash(text: str) -> str:
    """Return what a content security policy calls a script or style by."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
