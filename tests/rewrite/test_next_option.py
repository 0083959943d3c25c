"""The option to try next: it gains what it is said to gain, and trying it leaves no trace."""

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx
import pytest

import onnxpad
from onnxpad.finding import Counts
from onnxpad.graph import counts_of
from onnxpad.rewrite.scopes import contexts
from tests.rewrite.test_advice import COMPUTED, SAME, net
from tests.support import FEW, MODELS, onnxpad_runs, parsed


@pytest.mark.parametrize(
    ("path", "style"),
    [*((path, "fold") for path in FEW[::4]), *((FEW[0], style) for style in ("pad", "symmetric"))],
    ids=lambda case: getattr(case, "stem", case),
)
def test_the_gain_is_that_of_the_model_fixed_anew(path: Path, style: str, tmp_path: Path) -> None:
    result = onnxpad.fix(path, style=style, validate=False)
    before = result.model.SerializeToString()
    diff = result.diff(("a", "b"))
    changed = result.changed
    result.save(tmp_path / "before.onnx")
    found = result.next
    assert result.next is found
    assert result.model.SerializeToString() == before
    assert result.diff(("a", "b")) == diff
    assert result.changed == changed
    result.save(tmp_path / "after.onnx")
    assert (tmp_path / "after.onnx").read_bytes() == (tmp_path / "before.onnx").read_bytes()
    if found is None:
        return
    assert found.before == counts_of(result._graph)
    fixed = onnxpad.fix(path, style=style, validate=False, **found.keywords)
    followed = counts_of(fixed._graph)
    if style == "fold":
        assert followed == found.after
    # A Pad that the result got for the style may be one that the original need not get.
    assert followed.pads <= found.after.pads
    assert followed.auto_pads <= found.after.auto_pads
    assert followed.nodes <= found.after.nodes
    assert found.before != found.after


GAINS = {
    "timm_same_torchscript": (
        "--dynamic auto-pad would change Pads 3 -> 0, auto_pads 0 -> 3, nodes 274 -> 13"
    ),
}


@pytest.mark.parametrize(("name", "told"), GAINS.items())
def test_the_option_that_would_gain_most(name: str, told: str) -> None:
    found = onnxpad.fix(MODELS / f"{name}.onnx", validate=False).next
    assert found is not None
    assert f"{found.option} would {found.gain}" == told


@pytest.mark.parametrize(
    ("text", "given", "keywords"),
    [
        (COMPUTED, {}, {"dynamic": "auto-pad"}),
        (COMPUTED, {"dynamic": "auto-pad"}, None),
        (COMPUTED, {"dynamic": "pad"}, None),
        (COMPUTED, {"style": "pad"}, None),
        (COMPUTED, {"strict": True}, {"dynamic": "auto-pad"}),
        (SAME, {}, None),
        (COMPUTED, {"ignore": "PAD501"}, None),
    ],
    ids=str,
)
def test_no_option_that_was_given(
    text: str, given: Mapping[str, Any], keywords: Mapping[str, Any] | None
) -> None:
    """Nor one that contradicts it."""
    found = onnxpad.fix(net(text), validate=False, **given).next
    assert (found and found.keywords) == keywords


def test_a_decision_between_the_engines() -> None:
    model = parsed("""
        net (float[1, 1, 9] x) => (float[1, 1, m] y)
        { y = MaxPool <auto_pad = "SAME_UPPER", kernel_shape = [3], pads = [2, 2]> (x) }
    """)
    found = onnxpad.fix(model, validate=False).next
    assert found is not None
    assert found.keywords == {"trust": "onnxruntime"}
    assert found.gain == "change auto_pads 1 -> 0"
    assert onnxpad.fix(model, validate=False, strict=True).next is None


def test_a_trial_uses_the_analysis_of_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is known anew where only the choice for open sizes is another one."""
    result = onnxpad.fix(net(COMPUTED), validate=False)
    analysed: list[object] = []

    def counted(*args: Any, **named: Any) -> Any:
        analysed.append(args)
        return contexts(*args, **named)

    monkeypatch.setattr("onnxpad.rewrite.run.contexts", counted)
    found = result.next
    assert found is not None
    assert found.keywords == {"dynamic": "auto-pad"}
    assert not analysed


def test_bodies_count() -> None:
    model = parsed("""
        net (bool c, float[1, 2, 8] x) => (float[1, 2, 4] y)
        {
          y = If (c) <
            then_branch = a () => (float[1, 2, 4] t)
              { t = MaxPool <auto_pad = "SAME_UPPER", kernel_shape = [3], strides = [2]> (x) },
            else_branch = b () => (float[1, 2, 4] e)
              { e = AveragePool <kernel_shape = [2], strides = [2]> (x) }
          >
        }
    """)
    result = onnxpad.fix(model, validate=False)
    assert result.counts == (Counts(0, 1, 3), Counts(0, 0, 3))
    assert counts_of(result._graph) == result.counts[1]


def test_the_report_has_the_same_counts(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    onnx.save(net(COMPUTED), path)
    report = json.loads(onnxpad_runs("fix", path, "--diff", "--format", "json").stdout)
    before = {"pads": 1, "auto_pads": 0, "nodes": 8, "ceil_modes": 0}
    assert report["counts"] == {"before": before, "after": before}
    assert report["next"]["nodes"]["before"] == before["nodes"]


def test_the_command_tells_the_option_and_the_option_works(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    onnx.save(net(COMPUTED), path)
    option = "--dynamic auto-pad"
    line = f"fix {path} {option} would change Pads 1 -> 0, auto_pads 0 -> 1, nodes 8 -> 1"
    assert f"Next: onnxpad {line} " in " ".join(onnxpad_runs("fix", path).stdout.split())
    report = json.loads(onnxpad_runs("fix", path, "--diff", "--format", "json").stdout)
    assert report["next"] == {
        "option": option,
        "keywords": {"dynamic": "auto-pad"},
        "pads": {"before": 1, "after": 0},
        "auto_pads": {"before": 0, "after": 1},
        "nodes": {"before": 8, "after": 1},
        "text": line.removeprefix(f"fix {path} "),
    }
    followed = onnxpad_runs(
        "fix", path, "--diff", "--format", "json", *shlex.split(report["next"]["option"])
    )
    assert json.loads(followed.stdout)["nodes_after"] == 1
    assert json.loads(followed.stdout)["next"] is None
