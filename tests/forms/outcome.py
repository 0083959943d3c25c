"""The outcome of fixing a model, in the words of the manual's tables."""

from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, Literal, TypeAlias

import onnx

import onnxpad
from tests.forms.drawing import drawn

Style: TypeAlias = Literal["fold", "pad", "symmetric"]
STYLES: Final[tuple[Style, ...]] = ("fold", "pad", "symmetric")


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """A model with padding in some form, and how it is fixed.

    Attributes:
        model: The model.
        options: The choices of `fix` apart from the style.
    """

    model: onnx.ModelProto
    options: dict[str, Any] = field(default_factory=dict)


@cache
def fixed(form: Form, style: Style = "fold") -> onnxpad.FixResult:
    """The result of `fix` without validation: what the proofs alone allow."""
    return onnxpad.fix(form.model, style=style, validate=False, **form.options)


def refusal(form: Form, style: Style = "fold") -> onnxpad.Finding | None:
    """The first finding that says why padding stays; the one that only names readers comes last."""
    findings = [each for each in fixed(form, style).findings if each.reason]
    return min(findings, key=lambda each: each.code == "PAD206", default=None)


def why(form: Form, style: Style = "fold") -> str:
    """The code of the reason for which padding stays; empty if nothing says so."""
    finding = refusal(form, style)
    return finding.reason_code if finding else ""


def new_form(form: Form, style: Style = "fold") -> str:
    """The form that a model has in a style, as `drawn`; empty if it looks as before."""
    text = drawn(fixed(form, style).model)
    return "" if text == drawn(form.model) else f"`{text}`"


def is_folded(form: Form, style: Style = "fold") -> bool:
    """Whether no `Pad` is left."""
    return "Pad " not in drawn(fixed(form, style).model)
