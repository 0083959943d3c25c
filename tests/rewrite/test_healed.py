"""What is left of a rewrite that failed is rewritten once more; what was taken back is told."""

from types import SimpleNamespace
from typing import Any

from onnxpad.finding import Finding, Severity
from onnxpad.rewrite.heal import healed
from onnxpad.validation.result import Validation
from tests.rewrite.test_heal_parts import parted
from tests.support.rows import each_row


class Rewriting:
    """A run that makes the changes `a` and `b` unless they are barred."""

    def __init__(self) -> None:
        self.rewrites: list[str] = []
        self.graph = SimpleNamespace(model=SimpleNamespace(changed=True))

    def rewrite(self, leave: Any) -> Any:
        left = [each for each in "ab" if ("PAD201", each) not in leave]
        self.rewrites.append("".join(left))
        self.graph.model.changed = bool(left)
        return outcome(*left)


def outcome(*changes: str) -> Any:
    findings = [Finding("PAD201", Severity.WARNING, name, "Conv", "m") for name in changes]
    made = [SimpleNamespace(key=("PAD201", each.node), finding=each) for each in findings]
    return SimpleNamespace(made=made, changes=changes)


@each_row(
    ("wrong", "rewrites", "back", "said"),
    [
        ("b", ["a", "a"], "b", "PAD201 at 'b'"),
        ("a", ["a", "b", "b"], "a", "PAD201 at 'a'"),
        ("ab", ["a", "b", "", ""], "ab", "PAD201 at 'a', PAD201 at 'b'"),
    ],
)
def test_what_is_left(wrong: str, rewrites: list[str], back: str, said: str) -> None:
    run: Any = Rewriting()
    first = outcome("a", "b")
    fail = Validation(False, (), warnings=("as before",), divergence=parted("b").divergence)

    def validate(found: Any) -> Validation:
        assert found.changes, "the model as it was is not validated"
        return fail if {*wrong} & {*found.changes} else Validation(True, (), warnings=("again",))

    found, verdict, answered = healed(run, validate, first, fail)
    assert run.rewrites == rewrites
    assert "".join(map(str, found.changes)) == "".join(each for each in "ab" if each not in back)
    assert [each.node for each in answered] == [*back]
    for each in answered:
        assert (each.severity, each.reason_code) == (Severity.INFO, "differs")
    about = ("again",) if len(back) == 1 else ("not compared: no change is left",)
    *others, note = verdict.warnings
    assert tuple(others) == about
    assert note.startswith(f"{len(back)} ")
    assert note.endswith(f"{said}; first difference: tensor 'b', far")
    assert verdict.reason == ("" if len(back) == 1 else "no change is left")


def test_a_model_that_fails_in_any_case_keeps_its_changes() -> None:
    run: Any = Rewriting()
    first = outcome("a", "b")
    fail = Validation(False, (), warnings=("as before",))

    def validate(found: Any) -> Validation:
        return fail

    run.rewrite = lambda leave: (run.rewrites.append(dict(leave)), first)[1]
    assert healed(run, validate, first, fail) == (first, fail, ())
    assert run.rewrites[-1] == {}
    nothing = outcome()
    assert healed(run, validate, nothing, fail) == (nothing, fail, ())
