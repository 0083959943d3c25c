"""The passes that a user chooses by their codes: the others find as ever, and rewrite nothing.

They still have to find: what they are about is no padding without a rule, which the reports on
the rest would otherwise tell.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from onnxpad.arguments import codes_given
from onnxpad.finding import Severity
from onnxpad.options import Options
from onnxpad.pipeline.own_passes import every_code, every_pass
from onnxpad.reasons import Reason
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.rule import Match, Pass


def with_codes(options: Options) -> Options:
    """Options whose `select` and `ignore` are beginnings of codes that there are.

    Raises:
        UsageError: One names no code.
    """
    given = {"select": options.select, "ignore": options.ignore}
    codes = {
        name: codes_given(name, some, every_code()) if some else () for name, some in given.items()
    }
    return replace(options, **codes)  # type: ignore[arg-type]  # codes are no other field


def passes_of(options: Options) -> tuple[type[Pass], ...]:
    """All passes; those that are not chosen leave alone what they find."""
    return tuple(
        kind if not kind.rewrites or options.chooses(kind.code) else _leaving(kind)
        for kind in every_pass()
    )


def chooses_all(options: Options) -> bool:
    """Whether every pass that rewrites is chosen."""
    return all(options.chooses(kind.code) for kind in every_pass() if kind.rewrites)


def _leaving(kind: type[Pass]) -> type[Pass]:
    """A pass that finds the same, and leaves it alone."""

    class Leaving(kind):  # type: ignore[misc, valid-type]
        def find(self, context: Context) -> Iterator[Match]:
            for match in super().find(context):
                if getattr(match, "plan", None) is None:
                    yield match
                    continue
                finding = replace(
                    match.finding,
                    severity=Severity.INFO,
                    reason="its code is not chosen (--select, --ignore)",
                    reason_code=Reason.NOT_CHOSEN,
                )
                yield match._replace(finding=finding, plan=None)

    Leaving.__module__, Leaving.__qualname__ = kind.__module__, kind.__qualname__  # for messages
    return Leaving
