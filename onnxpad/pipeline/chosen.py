"""The passes that a user chooses by their codes: the others find as ever, and rewrite nothing.

They still have to find: what they are about is no padding without a rule, which the reports on
the rest would otherwise tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from onnxpad.arguments import codes_given
from onnxpad.finding import Severity
from onnxpad.pipeline.own_passes import every_code, every_pass
from onnxpad.reasons import Reason
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.rule import Match, Pass


class Choice(NamedTuple):
    """Codes that a user chooses, as beginnings of codes.

    Attributes:
        chosen: The codes chosen; all if empty.
        left_out: The codes left out.
    """

    chosen: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    def has(self, code: str) -> bool:
        """Whether a code is chosen."""
        asked = not self.chosen or code.startswith(self.chosen)
        return asked and not (self.left_out and code.startswith(self.left_out))

    def passes(self, passes: Sequence[type[Pass]] | None = None) -> tuple[type[Pass], ...]:
        """The passes, all if None; those that are not chosen leave alone what they find."""
        every = every_pass() if passes is None else passes
        return tuple(
            kind if not kind.rewrites or self.has(kind.code) else _leaving(kind) for kind in every
        )

    @property
    def is_all(self) -> bool:
        """Whether every pass that rewrites is chosen."""
        return all(self.has(kind.code) for kind in every_pass() if kind.rewrites)


def choice(select: str | Sequence[str], ignore: str | Sequence[str]) -> Choice:
    """The codes that `select` and `ignore` name, whole or by prefix.

    Raises:
        UsageError: One names no code.
    """
    given = (("select", select), ("ignore", ignore))
    return Choice(
        *(codes_given(option, codes, every_code()) if codes else () for option, codes in given)
    )


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
