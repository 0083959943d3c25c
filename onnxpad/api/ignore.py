"""Findings that a model ignores: written into its metadata with a reason, or taken out."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Unpack

from onnxpad.api.check import check
from onnxpad.errors import ModelError, UsageError
from onnxpad.finding import Finding
from onnxpad.graph import Graph
from onnxpad.options import OptionKeywords
from onnxpad.pipeline.ignores import LONGEST, MOST, Ignore, ignores_of, ignoring, write_ignores


def ignored_in(model: Path) -> tuple[Ignore, ...]:
    """The findings that a model ignores.

    Raises:
        ModelError: It cannot be read, or its metadata cannot.
    """
    return _ignores(Graph.load(model), model)


def ignore(
    model: Path,
    to: Path,
    code: str,
    reason: str,
    *,
    nodes: Collection[str] = (),
    convention: str | None = None,
    **options: Unpack[OptionKeywords],
) -> tuple[Finding, ...]:
    """Writes a model that ignores findings, everywhere or about some nodes.

    Args:
        model: The model.
        to: The file to write.
        code: Their code.
        reason: Why, in one line.
        nodes: Names of nodes or of their outputs; none for all places, also those to come.
        convention: As for `check`.
        options: As for `check`, so that it finds them.

    Returns:
        The findings that are ignored for that.

    Raises:
        UsageError: There is no such finding, or the reason is empty or too long.
        ModelError: The model cannot be read, or its metadata cannot.
        OutputError: It cannot be written.
    """
    reason = " ".join(reason.split())
    if not reason:
        raise UsageError("--reason is empty; say why, for those who read the report")
    if len(reason) > LONGEST:
        raise UsageError(f"--reason is longer than {LONGEST} characters; say it in fewer")
    graph = Graph.load(model)
    before = _ignores(graph, model)
    findings = check(model, convention=convention, isolated=True, **options).findings
    like = [each for each in findings if each.code == code]
    if not like:
        there = ", ".join(sorted({each.code for each in findings}))
        raise UsageError(f"{model}: has no finding {code}; it has {there or 'none at all'}")
    chosen = [each for each in like if not nodes or _names(each) & {*nodes}]
    for name in nodes:
        if not any(name in _names(each) for each in chosen):
            some = ", ".join(repr(each.node) for each in like[:3])
            more = f" and {len(like) - 3:,} more" if len(like) > 3 else ""
            raise UsageError(f"{model}: has no finding {code} about {name!r}, but of {some}{more}")
    if nodes:
        own = ignoring(chosen, [each for each in before if each.fingerprint])
        kept = [each for each in before if each not in own.values()]
        added = [Ignore(code, reason, e.fingerprint, e.node, e.against) for e in chosen]
    else:
        added = [Ignore(code, reason, against=each) for each in sorted({e.against for e in like})]
        wide = {(each.code, each.against) for each in added}
        kept = [each for each in before if (each.code, each.against) not in wide]
    if len(kept) + len(added) > MOST:
        raise UsageError(
            f"{model}: would ignore over {MOST:,} places; leave out --node to ignore a code"
        )
    write_ignores(graph, [*kept, *added])
    graph.model.write(to)
    return tuple(chosen)


def heed_again(
    model: Path, to: Path, code: str = "", nodes: Collection[str] = ()
) -> tuple[Ignore, ...]:
    """Writes a model that no longer ignores what it did.

    Args:
        model: The model.
        to: The file to write.
        code: The code; empty for all that is ignored, even if it cannot be read.
        nodes: The nodes; none for all places.

    Returns:
        What was ignored.

    Raises:
        UsageError: It ignores no such thing.
        ModelError: The model cannot be read, or, with a code, its metadata.
        OutputError: It cannot be written.
    """
    graph = Graph.load(model)
    before, why = ignores_of(graph)
    if why and code:
        raise _unread(model, why)
    gone = [
        each for each in before if code in {"", each.code} and (not nodes or each.node in nodes)
    ]
    lacking = [name for name in nodes if name not in {each.node for each in gone}]
    if lacking or not (gone or why):
        what = " ".join((code, *(f"at {name!r}" for name in lacking[:1])))
        listed = ", ".join(each.text for each in before[:3]) or "nothing"
        more = f" and {len(before) - 3:,} more" if len(before) > 3 else ""
        raise UsageError(
            f"{model}: does not ignore {what or 'anything'}; it ignores {listed}{more}"
        )
    write_ignores(graph, [each for each in before if each not in gone])
    graph.model.write(to)
    return tuple(gone)


def _ignores(graph: Graph, model: Path) -> tuple[Ignore, ...]:
    found, why = ignores_of(graph)
    if why:
        raise _unread(model, why)
    return found


def _unread(model: Path, why: str) -> ModelError:
    return ModelError(f"{model}: {why}; onnxpad ignore {model} --remove takes it out")


def _names(finding: Finding) -> set[str]:
    """By what a user may name the node of a finding."""
    return {finding.node, finding.location.name, finding.location.output} - {""}
