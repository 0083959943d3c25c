"""Users' own passes: the registry of them, and what keeps an error in one from doing harm.

A user's pass runs after those of onnxpad, and its changes are proved, probed and taken back like
theirs. It may raise whatever it likes: in `rewrite` its change is taken back, and in `find` the run
ends with a message that names the pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from onnxpad.errors import OnnxpadError, UsageError, let_through
from onnxpad.finding import Severity
from onnxpad.passes import PASSES, REPORTS
from onnxpad.proof.certify import UncertifiedError
from onnxpad.reasons import Reason
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.rule import Match, Pass

_CODE: Final = re.compile(r"(?!PAD)[A-Z]{2,12}[0-9]{3}")
_own: dict[str, type[Pass]] = {}


def add(kind: type[Pass], *, replace: bool = False) -> None:
    """Adds a pass to those that run.

    Raises:
        UsageError: Its code or severity is malformed, or the code is taken by another pass and
            `replace` is not set.
    """
    code = getattr(kind, "code", None)
    if not isinstance(code, str) or not _CODE.fullmatch(code):
        raise UsageError(
            f"the code of {_named(kind)} is {code!r}; it must be 2 to 12 capital letters other "
            "than PAD, which is for onnxpad's own, and 3 digits, such as ACME001"
        )
    if kind.find is Pass.find or (kind.rewrites and kind.rewrite is Pass.rewrite):
        raise UsageError(f"{_named(kind)} needs `find`, and `rewrite` unless `rewrites` is False")
    if not isinstance(kind.severity, Severity):
        raise UsageError(
            f"the severity of {_named(kind)} is {kind.severity!r}; it must be an onnxpad.Severity, "
            "such as onnxpad.Severity.WARNING"
        )
    if not replace and _own.get(code, kind) is not kind:
        raise UsageError(
            f"{code} is the code of {_named(_own[code])}; unregister that, or give replace=True"
        )
    _own[code] = kind


def remove(kind: type[Pass]) -> bool:
    """Takes a pass out of those that run; returns whether it was there."""
    found = _own.get(getattr(kind, "code", "")) is kind
    if found:
        del _own[kind.code]
    return found


def every_pass() -> tuple[type[Pass], ...]:
    """The passes, in running order: onnxpad's, then the users' in the order of registration."""
    return (*PASSES, *_own.values())


def every_code() -> tuple[str, ...]:
    """The codes of all findings, in order; those of users' own passes too."""
    return tuple(sorted([*(kind.code for kind in every_pass()), *REPORTS]))


def is_own(rule: Pass) -> bool:
    """Whether a pass is a user's."""
    kind = _own.get(rule.code)
    return kind is not None and isinstance(rule, kind)


def findings(rule: Pass, context: Context) -> Iterator[Match]:
    """The findings of a pass, of which a user's may raise nothing but errors of onnxpad.

    Raises:
        UsageError: A user's pass raised an error, edited the graph, or yielded something else.
    """
    if not is_own(rule):
        yield from rule.find(context)
        return
    found: Iterator[object] | None = None
    while True:
        mark, version = context.mark(), context.graph.version
        try:
            found = iter(rule.find(context)) if found is None else found
            match = next(found)
        except StopIteration:
            return
        except OnnxpadError:
            raise
        except Exception as error:  # whatever a user's code raises
            let_through(error)
            raise UsageError(f"{_named(type(rule))}, find: {_said(error)}") from error
        if context.graph.version != version:
            context.rollback(mark)
            raise UsageError(f"{_named(type(rule))}: find edits the graph, which rewrite alone may")
        if not isinstance(match, Match):
            raise UsageError(f"{_named(type(rule))}: find yields what is no onnxpad.Match")
        if match.plan is None and match.finding.fixable:
            raise UsageError(f"{_named(type(rule))}: what has no plan to rewrite it needs a reason")
        yield match


def failed(rule: Pass, error: Exception) -> UncertifiedError:
    """The reason to take back the change of a user's pass that raised an error, or led to one."""
    name = type(error).__name__
    return UncertifiedError(f"{_named(type(rule))}: {_said(error)}", Reason.PASS_RAISED, error=name)


def _named(kind: type[Pass]) -> str:
    return f"pass {kind.__module__}.{kind.__qualname__}"


def _said(error: Exception) -> str:
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
