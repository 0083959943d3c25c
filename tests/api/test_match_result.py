"""What a result of `match` is by its outcome, and what entry points register, with neither run."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from onnxpad.api import extensions
from onnxpad.api.extensions import register_entry_points
from onnxpad.api.match import MatchResult
from onnxpad.errors import UsageError, ValidationError
from onnxpad.report import IN_MEMORY
from tests.support.rows import each_row


class Fixed:
    """What is used of the result of `fix`."""

    model = "model"

    def __init__(self) -> None:
        self.saved: list[Any] = []

    def as_same_kind(self) -> str:
        return "of its kind"

    def save(self, path: Path, **options: Any) -> tuple[Path, ...]:
        self.saved.append((path, options))
        return (Path("data"),)


@each_row(
    ("outcome", "partial", "ok", "changed"),
    [
        ("matched", False, True, True),
        ("matched", True, True, True),
        ("matches already", False, True, False),
        ("matches already", True, True, False),
        ("partly matched", False, False, False),
        ("partly matched", True, False, True),
        ("not matched", False, False, False),
        ("not matched", True, False, False),
    ],
)
def test_a_result_by_its_outcome(outcome: str, partial: bool, ok: bool, changed: bool) -> None:
    changes: Any = ("c",), ("d",), ("t", "u")
    found: Any = SimpleNamespace(
        outcome=outcome, changes=("c",), distinguishable=("d",), tried=("t", "u"), reason="why",
        first="Conv c", by="keras" if changed else "",
    )  # fmt: skip
    fixed: Any = Fixed()
    result = MatchResult(
        name="m", reference="r", inputs="", matching=found, seconds=1.0, partial=partial,
        delivery=IN_MEMORY, _fixed=fixed,
    )  # fmt: skip
    assert (result.ok, result.is_changed) == (ok, changed)
    assert (result.changes, result.distinguishable, result.tried) == changes
    assert (result.reason, result.first, result.model) == ("why", "Conv c", "model")
    assert result.as_same_kind() == "of its kind"
    by = " by 'keras'" if changed else ""
    assert repr(result) == f"<MatchResult: {outcome}{by}, 1 change: why>"
    if ok:
        result.raise_for_failure()
    else:
        with pytest.raises(ValidationError, match=f"^{outcome}: why$"):
            result.raise_for_failure()
    if ok or changed:
        assert result.save("out", external_data="link") == (Path("data"),)
        assert fixed.saved == [("out", {"external_data": "link", "keep_invalid": True})]
    else:
        with pytest.raises(ValidationError, match=f"^{outcome}: why$"):
            result.save("out")
        assert fixed.saved == []


def test_entry_points_are_registered_once_each(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[Any] = []
    broken = ValueError("broken")

    def point(name: str, found: Any, package: Any = None) -> Any:
        def load() -> Any:
            done.append(f"load {name}")
            if isinstance(found, Exception):
                raise found
            return found

        return SimpleNamespace(name=name, value=f"{name}:X", load=load, dist=package)

    offered = [point("a", "one"), point("b", ["two", "three"]), point("c", ("four",))]
    asked: list[str] = []

    def entry_points(group: str) -> list[Any]:
        asked.append(group)
        return offered

    monkeypatch.setattr(extensions, "entry_points", entry_points)
    monkeypatch.setattr(extensions, "may_have_entry_points", lambda group: bool(offered))
    monkeypatch.setattr(extensions, "register", done.append)
    monkeypatch.setattr(extensions, "_loaded", set())
    register_entry_points()
    expected = ["load a", "one", "load b", "two", "three", "load c", "four"]
    assert (done, asked) == (expected, ["onnxpad"])
    offered.insert(1, point("d", "five"))
    register_entry_points()
    assert done == [*expected, "load d", "five"]
    package = SimpleNamespace(name="acme", version="1.2")
    for given, of in ((None, ""), (package, " of acme 1.2")):
        offered[:] = [point("e", broken, given), point("f", "six")]
        for _ in range(2):  # one that failed is tried again
            with pytest.raises(UsageError) as caught:
                register_entry_points()
            assert str(caught.value) == (
                f"the entry point 'e = e:X'{of} cannot be used (ValueError: broken); mend or "
                "uninstall that package"
            )
    assert done[-1] == "load e"
    offered.clear()
    register_entry_points()
    assert len(asked) == 6
