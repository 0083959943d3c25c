"""What a result of `match` is by its outcome, without a run."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from onnxpad.api.match import MatchResult
from onnxpad.errors import ValidationError
from tests.support.rows import each_row


class Graph:
    """What is used of the graph of a result."""

    def __init__(self) -> None:
        self.saved: list[Any] = []
        self.model = self

    def to_proto(self) -> str:
        return "model"

    def write(self, path: Path, **options: Any) -> tuple[Path, ...]:
        self.saved.append((path, options["external_data"]))
        return (Path("data"),)


@each_row(("outcome", "ok"), [("matched", True), ("matches already", True), ("not matched", False)])
def test_a_result_by_its_outcome(outcome: str, ok: bool) -> None:
    changed = outcome == "matched"
    found: Any = SimpleNamespace(
        outcome=outcome, changes=("c",), reason="why", by="keras" if changed else ""
    )
    graph: Any = Graph()
    result = MatchResult(
        name="m", reference="r", inputs="", matching=found, seconds=1.0,
        _graph=graph, _same_kind=graph.to_proto,
    )  # fmt: skip
    assert (result.ok, result.is_changed) == (ok, changed)
    told: Any = result.changes, result.reason, result.model
    assert told == (("c",), "why", "model")
    if ok:
        result.raise_for_failure()
    else:
        with pytest.raises(ValidationError, match=f"^{outcome}: why$"):
            result.raise_for_failure()
    if ok:
        assert result.save("out", external_data="inline") == (Path("data"),)
        assert graph.saved == [("out", "inline")]
    else:
        with pytest.raises(ValidationError, match=f"^{outcome}: why; keep_invalid=True"):
            result.save("out")
        assert graph.saved == []
