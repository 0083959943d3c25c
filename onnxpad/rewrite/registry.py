"""The passes that run: onnxpad's and the users' own, of which a user chooses by their codes.

A user's pass runs after those of onnxpad, and its changes are proved, probed and taken back like
theirs. Passes that are not chosen still find, or reports would tell it as padding without a rule.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from textwrap import shorten
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from onnxpad.arguments import codes_given
from onnxpad.errors import OnnxpadError, UsageError, and_list, let_through, meant
from onnxpad.finding import Page, Severity
from onnxpad.graph import Graph, Tensor, Touched
from onnxpad.graph.model import schema_of
from onnxpad.options import Options
from onnxpad.passes import LATER, PASSES
from onnxpad.proof.term import DiffersError
from onnxpad.reasons import Reason
from onnxpad.rewrite.pass_api import Context, Match, Pass

_CODE = r"(?!PAD)[A-Z]{2,12}[0-9]{3}"
_own: dict[str, type[Pass]] = {}


def add(kind: type[Pass], *, replace: bool = False) -> None:
    """Adds a pass to those that run.

    Raises:
        UsageError: Its code or severity is malformed, or the code is taken by another pass and
            `replace` is not set.
    """
    code, name = getattr(kind, "code", None), _pass_name(kind)
    if not isinstance(code, str) or not re.fullmatch(_CODE, code):
        raise UsageError(
            f"the code of {name} is {code!r}; it must be 2 to 12 capital letters other than PAD, "
            "which is for onnxpad's own, and 3 digits, such as ACME001"
        )
    if kind.find is Pass.find or (kind.rewrites and kind.rewrite is Pass.rewrite):
        raise UsageError(f"{name} needs `find`, and `rewrite` unless `rewrites` is False")
    if not isinstance(kind.severity, Severity):
        raise UsageError(f"the severity of {name} is {kind.severity!r}, no onnxpad.Severity")
    if not replace and _own.get(code, kind) is not kind:
        other = _pass_name(_own[code])
        raise UsageError(f"{code} is the code of {other}; unregister it, or give replace=True")
    _own[code] = kind


def remove(kind: type[Pass]) -> bool:
    """Takes a pass out of those that run; returns whether it was there."""
    code = getattr(kind, "code", "")
    return _own.get(code) is kind and bool(_own.pop(code))


def every_pass() -> tuple[type[Pass], ...]:
    """The passes, in running order: onnxpad's, then the users' in the order of registration."""
    return (*PASSES, *_own.values())


def every_code() -> tuple[str, ...]:
    """The codes of all findings, in order; those of users' own passes too."""
    return tuple(sorted([*(kind.code for kind in every_pass()), *LATER]))


def is_own(pass_: Pass) -> bool:
    """Whether a pass is a user's."""
    return isinstance(pass_, _own.get(pass_.code, ()))


def catalogue() -> Mapping[str, Page]:
    """Every code with its page, the docstring of a pass, in order; users' own have theirs too."""
    places = (place.rpartition(".") for place in LATER.values())
    others = [getattr(importlib.import_module(module), name) for module, _, name in places]
    kinds: Mapping[str, type[Any]] = {kind.code: kind for kind in (*every_pass(), *others)}
    return MappingProxyType({code: _page(kinds[code]) for code in sorted(kinds)})


def with_codes(options: Options) -> Options:
    """Options whose `select` and `ignore` are beginnings of codes that there are."""
    codes = every_code()
    return replace(
        options,
        select=codes_given("select", options.select or (), codes),
        ignore=codes_given("ignore", options.ignore or (), codes),
    )


def failing_of(given: str | Sequence[str]) -> str:
    """What fails a check: severities, codes and prefixes of codes, with commas between them.

    Raises:
        UsageError: One is none of these.
    """
    texts, levels = [given] if isinstance(given, str) else given, [*Severity]
    codes = every_code()
    parts = [part.strip() for text in texts for part in text.split(",")]
    found = [part.lower() if part.lower() in levels else part.upper() for part in parts]
    for part, read in zip(parts, found, strict=True):
        if not part or not any(each.startswith(read) for each in (*levels, *codes)):
            said = meant(part, [*levels, *codes]) or f"; give {and_list(levels, ' or ')}, or codes"
            raise UsageError(f"fail-on {part!r} is no severity and names no code{said}")
    return ",".join(found)


def findings(pass_: Pass, context: Context) -> Iterator[Match]:
    """The findings of a pass; of a user's all that goes wrong is a UsageError that names it."""
    if not is_own(pass_):
        yield from pass_.find(context)
        return
    name, version = _pass_name(type(pass_)), context.graph.version
    try:
        for match in chain(pass_.find(context), [None]):  # it may edit after its last yield
            if context.graph.version != version:
                raise UsageError(f"{name}: find edits the graph, which rewrite alone may")
            if match is None:
                return
            if not isinstance(match, Match):
                raise UsageError(f"{name}: find yields what is no onnxpad.Match")
            if match.plan is None and match.finding.fixable:
                raise UsageError(f"{name}: what has no plan to rewrite it needs a reason")
            yield match
            version = context.graph.version
    except OnnxpadError:
        raise
    except Exception as error:  # whatever a user's code raises
        let_through(error)
        raise UsageError(f"{name}, find: {_error_text(error)}") from error


def rewritten(
    pass_: Pass, match: Match, context: Context, kept: Sequence[Tensor]
) -> Sequence[Tensor]:
    """The tensors that take the place of those that a pass is to keep, once it has rewritten.

    Whatever reads one of these reads what a user's pass returns in its place.
    """
    graph = context.graph
    readers = [(was, graph.uses(was)) for was in kept if is_own(pass_)]
    found = pass_.rewrite(match, context) or kept
    results = (found,) if isinstance(found, Tensor) else found
    if not isinstance(results, Sequence) or not all(isinstance(e, Tensor) for e in results):
        raise TypeError(f"rewrite returns {shorten(repr(found), 60)}, not tensors or None")
    if readers and len(results) != len(kept):
        raise ValueError(f"rewrite returns {len(results)} tensors in place of {len(kept)}")
    for (was, uses), now in zip(readers, results, strict=False):
        for node, index in uses if now is not was else ():
            if node.alive and index >= 0 and node.operand(index) is was:
                graph.set_input(node, index, now)
        if now is not was and set(uses) <= set(graph.uses(was)):
            said = "is an output, or a body reads it: have its node compute it, and return None"
            raise DiffersError(f"{now.name!r} cannot take the place of {was.name!r}, which {said}")
    return results


def misuse(graph: Graph, touched: Iterable[Touched]) -> Iterator[str]:
    """What the opset does not have of what an edit wrote: operators, attributes, and inputs."""
    for each in touched:
        node, had = each.node, each.was[1] if each.was else {}
        if not node.alive or not graph.names_standard(node):
            continue
        version, _, _, attributes, _ = schema_of(node.op, graph.opset)
        if not version and (each.was is None or each.was[0] != node.op):
            yield f"{node.op} is no operator of opset {graph.opset}"
        for name in (n for n in node.attrs if n not in attributes and n not in had):
            yield f"{node.op} has no attribute {name} in opset {graph.opset}"
        if each.was is None and (why := graph.contradiction(node)):
            yield f"{node.op} as it is written: {why}"


def failed(pass_: Pass, error: Exception) -> DiffersError:
    """Why to take back a change that raised an error, which one of onnxpad's own raises again."""
    if not is_own(pass_):
        raise error
    let_through(error)
    said = f"{_pass_name(type(pass_))}: {_error_text(error)}"
    return DiffersError(said, Reason.PASS_RAISED, error=type(error).__name__)


def _pass_name(kind: type[Pass]) -> str:
    return f"pass {kind.__module__}.{kind.__qualname__}"


def _error_text(error: Exception) -> str:
    """An error in one line, with the last place outside of this package that it came through."""
    from traceback import extract_tb, format_exception_only

    text = format_exception_only(error)[-1].strip()  # it may not even say what it is
    frames, here = extract_tb(error.__traceback__), str(Path(__file__).parents[1])
    places = [f"{Path(e.filename).name}:{e.lineno}" for e in frames if here not in e.filename]
    return f"{text} ({places[-1]})" if places else text


def _page(kind: type[Any]) -> Page:
    """The docstring of a pass, with a blank line before each heading."""
    text = inspect.cleandoc(vars(kind).get("__doc__") or kind.__name__)
    text = re.sub(r"\n+(?=## )", "\n\n", text)
    return Page(kind.code, kind.severity, text.split("\n", 1)[0], text)
