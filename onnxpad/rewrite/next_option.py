"""The option that most of the padding that stays names, if trying it shows a gain.

The trial rewrites the result further, as the option asks, counts what that gains, and is undone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

from msgspec.structs import replace

from onnxpad.arguments import dims_given
from onnxpad.errors import ModelError, UsageError
from onnxpad.facts import open_axes
from onnxpad.facts.recorded import sizes_of
from onnxpad.finding import Counts, Finding, NextOption, as_options, examples
from onnxpad.graph import Graph, counts_of
from onnxpad.options import Options
from onnxpad.reasons import BY_DEFAULT, BY_DYNAMIC, BY_TRUST, Reason
from onnxpad.rewrite.pass_api import Context
from onnxpad.rewrite.run import AtLast, Run


def next_option(
    graph: Graph,
    options: Options,
    findings: Sequence[Finding],
    contexts: Sequence[Context],
    for_targets: Callable[[Run], AtLast | None],
) -> NextOption | None:
    """The option that most findings name, sizes first for targets; None where it gains nothing.

    An option gains if there are fewer `Pad`s, `auto_pad`s, `ceil_mode`s or nodes, and not more
    `Pad`s or nodes; for targets if they take more of the padding. The trial may take the `contexts`
    that a run left; `for_targets` has it write for its targets, as `api.fix` does.
    """
    to_pads = options.style != "fold"
    before, untaken = counts_of(graph), _untaken(findings)
    labels = {axis.label for axis in open_axes(graph.inputs)}

    def tried(typed: str, keywords: dict[str, Any]) -> NextOption | None:
        asked = replace(options, **keywords)
        dims = {axis: size for axis, size in dims_given(asked.dims).items() if axis in labels}
        known = contexts if "dynamic" in keywords else ()  # on which no analysis depends
        mark = graph.mark()
        try:
            run = Run(graph, replace(asked, dims=dims), contexts=known)
            told = for_targets(run)
            run.edit()
            after = counts_of(graph)
            taken = 0 if told is None else untaken - _untaken(told(run.left))
        except (ModelError, UsageError):
            return None
        finally:
            graph.rollback(mark)
        gains = taken > 0 or (told is None and _gains(before, after, to_pads=to_pads))
        return NextOption(typed, keywords, before, after, taken) if gains else None

    found, given, needed = None, dims_given(options.dims), _sizes(findings)
    ranges = {name: str(sizes_of(name, given[name]).first) for name in needed if name in given}
    fresh = {name: size for name, size in needed.items() if name not in ranges}
    for sizes in (fresh, *[needed | ranges] * bool(ranges)):  # of a range, if nothing else helps
        if found is None and sizes:
            found = tried(as_options(sizes), {"dims": {**given, **sizes}})
    if found is None and (typed := _most_named(findings, to_pads=to_pads)):
        found = tried(typed, dict([typed.removeprefix("--").split()]))
    return found


def _most_named(findings: Sequence[Finding], *, to_pads: bool) -> str:
    """The option to try that most findings name.

    Without `to_pads`, a computed `Pad` in place of an `auto_pad` gains nothing.
    """
    pad, auto_pad = BY_DYNAMIC
    tried = [auto_pad, *[pad] * to_pads, *BY_TRUST, *BY_DEFAULT]
    ours: list[Any] = [each.evidence for each in findings if each.code.startswith("PAD")]
    named = Counter(option for each in ours for option in each.get("options") or ())
    most = max(tried, key=lambda option: named[option])
    return most if named[most] else ""


def _sizes(findings: Iterable[Finding]) -> dict[str, str]:
    """An example of a size for each axis on which padding depends that targets do not take."""
    told: list[Any] = [each.evidence for each in findings if each.reason_code == Reason.TARGET]
    sized = (each["sizes"] for each in told if "--dim" in each.get("options", ()))
    return examples(chain.from_iterable(sized))


def _untaken(findings: Iterable[Finding]) -> int:
    return len({(e.node, e.op_type) for e in findings if e.reason_code == Reason.TARGET})


def _gains(before: Counts, after: Counts, *, to_pads: bool) -> bool:
    fewer = after.auto_pads < before.auto_pads
    gained = fewer or after.pads < before.pads or after.ceil_modes < before.ceil_modes
    lost = after.pads > before.pads or after.nodes > before.nodes
    return (fewer and to_pads) or (not lost and (gained or after.nodes < before.nodes))
