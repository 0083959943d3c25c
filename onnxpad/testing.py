"""Assertions for the tests of an export: what a model pads, and that two compute the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from onnxpad.api.check import CheckResult, check
from onnxpad.api.validate import validate
from onnxpad.arguments import ModelSource
from onnxpad.finding import Severity
from onnxpad.report import ValidationResult


def assert_clean(
    model: ModelSource, *, fail_on: str | Sequence[str] = Severity.WARNING, **options: Any
) -> CheckResult:
    """Fails where `onnxpad check` fails: a model with padding that `fix` would rewrite.

    Args:
        model: As for `onnxpad.fix`.
        fail_on: The least severity that fails, codes or prefixes of codes, with commas.
        options: As for `onnxpad.check`, such as `target="opencv"`, `select`, `ignore` or
            `convention`.

    Returns:
        The result of `check`, with the findings that do not fail.

    Raises:
        AssertionError: There are findings at or above `fail_on`; the message has each with its
            node, its padding and what that is to become.
        UsageError: As for `onnxpad.check`, or there is no such severity.
        ModelError: The model cannot be read.
    """
    __tracebackhide__ = True
    result = check(model, **options)
    failing = result.failing(fail_on)
    if failing:
        told = replace(result, findings=failing, notes=())
        raise AssertionError(told.report(fail_on).text(view="full").rstrip())
    return result


def assert_equivalent(
    original: ModelSource, rewritten: ModelSource, **options: Any
) -> ValidationResult:
    """Fails where `onnxpad validate` fails: two models that do not compute the same.

    Nothing compared fails as well, such as models that no runtime here runs.

    Args:
        original: As for `onnxpad.fix`.
        rewritten: Likewise; another kind may be given.
        options: As for `onnxpad.validate`, such as `providers`, `samples`, `inputs` or `dims`.

    Returns:
        The result of `validate`, with every run; its `proof` is there where they are proved equal.

    Raises:
        AssertionError: The message has what was compared, on which providers and inputs, and the
            first tensor and operator at which the models part.
        UsageError: As for `onnxpad.validate`.
        ModelError: A model cannot be read, or the models have other inputs or outputs.
        ProviderError: An execution provider that was asked for is not here.
    """
    __tracebackhide__ = True
    result = validate(original, rewritten, **options)
    if not result.ok:
        raise AssertionError(str(result))
    return result
