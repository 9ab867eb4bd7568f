"""Every schema of ``onnx.defs`` has a kernel, or a reason why not; the page says which."""

from pathlib import Path

import onnx.defs
import pytest

from opcheck.kernels import registered
from opcheck.kernels.exceptions import WITHOUT_KERNEL

ROOT = Path(__file__).parent.parent.parent
KEYS = {
    (s.domain, s.name, s.since_version) for s in onnx.defs.get_all_schemas_with_history()
}  # fmt: skip


def test_every_schema_has_a_kernel_or_a_reason():
    """A new schema version is a gap, and no silent reuse."""
    assert len(KEYS) == 659
    assert registered() | set(WITHOUT_KERNEL) == KEYS
    assert not registered() & set(WITHOUT_KERNEL)


def test_the_exceptions_are_few_and_have_reasons():
    """'Hard' is no reason."""
    assert len(WITHOUT_KERNEL) <= 3
    assert all(len(reason) > 20 for reason in WITHOUT_KERNEL.values())


def test_the_page_is_what_the_registry_says():
    """``python docs/tables/operators.py`` makes it."""
    namespace = {"__name__": "operators", "__file__": str(ROOT / "docs/tables/operators.py")}
    source = (ROOT / "docs/tables/operators.py").read_text()
    exec(compile(source, "operators.py", "exec"), namespace)  # a script, and no module of ours
    assert namespace["page"]() == (ROOT / "docs/operators.md").read_text()
    assert "still missing" not in namespace["page"]()


@pytest.mark.parametrize("domain", ["", "ai.onnx.ml", "ai.onnx.preview.training"])
def test_the_page_names_every_operator(domain):
    """A reader finds an operator in one step."""
    text = (ROOT / "docs/operators.md").read_text()
    names = {name for d, name, _ in KEYS if d == domain}
    assert names
    assert [name for name in sorted(names) if f"\n| {name} |" not in text] == []
