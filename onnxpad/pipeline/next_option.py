"""The one option that would gain most on the padding that stays, found by trying it.

A trial rewrites the result further, as the option asks, counts what that gains, and is undone.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import lcm
from typing import Any, Final, TypeAlias

from onnxpad.analysis import OpenAxis, open_axes
from onnxpad.arguments import dims_given, shapes_given
from onnxpad.arithmetic.size import Sizes
from onnxpad.errors import ModelError, UsageError
from onnxpad.finding import Counts, Finding, NextOption, Trust
from onnxpad.graph import Graph
from onnxpad.graph.walk import counts_of
from onnxpad.options import Options
from onnxpad.pipeline.run import AtLast, Run
from onnxpad.reasons import BY_SIZE, Reason
from onnxpad.records import NamedTuple
from onnxpad.rewrite.context import Context

Keywords: TypeAlias = Mapping[str, Any]

_MOST: Final = 2
"""Most options tried."""
_USUAL: Final = 224
"""The size tried for an open axis, or the admitted one nearest to it."""
_LAST: Final = 1024
"""The end of a range that is tried, unless the step is so large that it holds few sizes."""
_LARGEST_STEP: Final = 512
_FIRST: Final = 32
"""The begin of a range in which all sizes will do."""

_SIZES: Final = "give your own sizes"
_RANGE: Final = "give your own range"
_IN_STEPS: Final = "give your own range, in the same steps"


class _Candidate(NamedTuple):
    """An option that may gain something.

    Attributes:
        option: As typed.
        keywords: The same for `fix`.
        hint: The user's part where numbers are only an example; else empty.
        most: How many findings it could settle.
    """

    option: str
    keywords: Keywords
    hint: str
    most: int


def next_option(
    graph: Graph,
    options: Options,
    findings: Sequence[Finding],
    limits: Mapping[str, Sizes],
    contexts: list[Context],
    for_targets: Callable[[Run], AtLast | None],
) -> NextOption | None:
    """The option that would gain most; None where none would gain anything.

    An option gains if there are fewer `Pad`s, `auto_pad`s, `ceil_mode`s or nodes, and not more
    `Pad`s or nodes; for targets if they take more of the padding. Of two that gain as much, the one
    that leaves more sizes open is taken.

    Args:
        graph: The result, which is as it was afterwards.
        options: The options with which it was rewritten.
        findings: The padding that stays in it.
        limits: The sizes that open dimensions may have, by name, where they are limited.
        contexts: The graphs of the model as they were left; the first trial that can takes them.
        for_targets: Has a run write for the targets of its options, if it has any, and returns what
            finds the padding that they do not take.
    """
    to_pads = options.style != "fold"
    named = _candidates(graph, findings, limits, to_pads=to_pads)
    candidates = sorted(named, key=lambda each: -each.most)
    before = counts_of(graph) if candidates else None
    untaken = _untaken(findings)
    best, gained = None, 0
    for candidate in candidates[:_MOST]:
        if before is None or gained >= candidate.most:
            break
        option, keywords, hint, _ = candidate
        more = _beside(options, keywords)
        known: list[Context] = []
        if keywords.keys() == {"dynamic"}:  # on which no analysis depends
            known, contexts[:] = contexts[:], []
        tried = _tried(graph, replace(options, **more), known, for_targets)
        if tried is None:
            continue
        after, told = tried
        taken = 0 if told is None else untaken - told
        is_gain = _gains(before, after, to_pads=to_pads) if told is None else taken > 0
        if not is_gain:
            continue
        found = max(before.pads - after.pads, 0) + max(before.auto_pads - after.auto_pads, 0)
        found += max(before.ceil_modes - after.ceil_modes, 0)
        found = taken or found
        if best is None or found > gained:
            best, gained = NextOption(option, more, before, after, hint, taken), found
    return best


def _beside(options: Options, keywords: Keywords) -> dict[str, Any]:
    """Keywords in which sizes are added to those given."""
    given: dict[str, Any] = {
        "shapes": shapes_given(options.shapes),
        "dims": dims_given(options.dims),
    }
    return {
        name: {**given[name], **value} if name in given else value
        for name, value in keywords.items()
    }


def _untaken(findings: Iterable[Finding]) -> int:
    """The number of paddings that targets are said not to take."""
    told = (each for each in findings if each.reason_code == Reason.TARGET)
    return len({(each.node, each.op_type) for each in told})


def _tried(
    graph: Graph,
    options: Options,
    contexts: Sequence[Context],
    for_targets: Callable[[Run], AtLast | None],
) -> tuple[Counts, int | None] | None:
    """The numbers of a graph rewritten further, and with targets how much of it they do not take.

    None where the model does not run so.
    """
    mark = graph.mark()
    still_open = {axis.label for axis in open_axes(graph.inputs)}
    dims = {name: size for name, size in dims_given(options.dims).items() if name in still_open}
    try:
        run = Run(graph, replace(options, dims=dims), contexts=contexts)
        told = for_targets(run)
        run.edit()
        return counts_of(graph), None if told is None else _untaken(told(run.left))
    except (ModelError, UsageError):
        return None
    finally:
        graph.rollback(mark)


def _gains(before: Counts, after: Counts, *, to_pads: bool) -> bool:
    fewer = before.auto_pads - after.auto_pads
    if to_pads and fewer > 0:
        return True
    if after.pads > before.pads or after.nodes > before.nodes:
        return False
    is_down = after.ceil_modes < before.ceil_modes
    return after.pads < before.pads or fewer > 0 or is_down or after.nodes < before.nodes


def _candidates(
    graph: Graph, findings: Sequence[Finding], limits: Mapping[str, Sizes], *, to_pads: bool
) -> Iterator[_Candidate]:
    """The options that findings name, those that leave most sizes open first.

    Without `to_pads`, a computed `Pad` in place of an `auto_pad` gains nothing.
    """
    named = [(finding, _options(finding)) for finding in findings]
    for value in ("auto-pad", "pad")[: 1 + to_pads]:
        option = f"--dynamic {value}"
        if most := sum(option in options for _, options in named):
            yield _Candidate(option, {"dynamic": value}, "", most)
    sized = {by: [each for each, options in named if by in options] for by in BY_SIZE}
    listed = [a for a in open_axes(graph.inputs) if not graph.has_default(a.tensor)]
    if found := sized["--dim"]:
        yield from _by_range(found)
    if found := sized["--shape"]:
        yield _by_shape(graph, found, listed, limits)
    for trust in Trust:
        if most := sum(trust.option in options for _, options in named):
            yield _Candidate(trust.option, {"trust": trust.value}, "", most)


def _options(finding: Finding) -> tuple[str, ...]:
    options = finding.evidence.get("options", ())
    return tuple(options) if isinstance(options, tuple | list) else ()


def _by_range(findings: Sequence[Finding]) -> Iterator[_Candidate]:
    """The multiples at which padding is the same, as ranges of dimensions.

    How a pool rounds needs no multiples, but sizes at which a window fits.
    """
    steps: dict[str, int] = {}
    most = 0
    for finding in findings:
        multiples = finding.evidence.get("multiples")
        if multiples is None and "ceil_mode" in finding.evidence:
            multiples = dict.fromkeys(_dimensions(finding), 1)
        if not isinstance(multiples, Mapping) or not multiples:
            continue
        joined = {name: lcm(step, steps.get(name, 1)) for name, step in multiples.items()}
        if max(joined.values()) <= _LARGEST_STEP:
            steps.update(joined)
            most += 1
    if most:
        last = {name: max(_LAST // step, 8) * step for name, step in steps.items()}
        ranges = {
            name: f"{_FIRST}..{last[name]}" if step == 1 else f"{step}..{last[name]}:{step}"
            for name, step in steps.items()
        }
        typed = " ".join(f"--dim {shlex.quote(f'{name}={each}')}" for name, each in ranges.items())
        hint = _RANGE if max(steps.values()) == 1 else _IN_STEPS
        yield _Candidate(typed, {"dims": ranges}, hint, most)


def _dimensions(finding: Finding) -> list[str]:
    """The names of the open sizes on which padding depends."""
    sizes = finding.evidence.get("sizes")
    return [each["name"] for each in sizes] if isinstance(sizes, Sequence) else []


def _by_shape(
    graph: Graph,
    findings: Sequence[Finding],
    listed: Sequence[OpenAxis],
    limits: Mapping[str, Sizes],
) -> _Candidate:
    """The shapes of inputs that fix the sizes on which padding depends.

    Where that is not known, all sizes are fixed; for a target the first, of the batch, to 1.
    """
    places: set[tuple[str, int]] = set()
    batches: set[tuple[str, int]] = set()
    for finding in findings:
        sizes = finding.evidence.get("sizes")
        if isinstance(sizes, Sequence) and sizes:
            places.update((each["input"], each["axis"]) for each in sizes)
        else:
            if finding.reason_code == Reason.TARGET:
                batches |= {(each.tensor, 0) for each in listed} - places
            places.update((each.tensor, each.axis) for each in listed)
    fixed: dict[str, tuple[int | None, ...]] = {}
    label = {(each.tensor, each.axis): each.label for each in listed}
    for tensor, (_, declared) in graph.inputs.items():
        if any(name == tensor for name, _ in places):
            fixed[tensor] = tuple(
                _near(
                    limits.get(label.get((tensor, axis), "")),
                    1 if (tensor, axis) in batches else _USUAL,
                )
                if (tensor, axis) in places
                else size
                if isinstance(size, int)
                else None
                for axis, size in enumerate(declared or ())
            )
    alone = sum(not graph.has_default(name) for name in graph.inputs) == 1
    typed = []
    for tensor, shape in fixed.items():
        sizes = ",".join("?" if size is None else str(size) for size in shape)
        typed.append(f"--shape {shlex.quote(sizes if alone else f'{tensor}={sizes}')}")
    return _Candidate(" ".join(typed), {"shapes": fixed}, _SIZES, len(findings))


def _near(sizes: Sizes | None, usual: int = _USUAL) -> int:
    """The admitted size nearest to the usual one."""
    if sizes is None:
        return usual
    return sizes.value(min(sizes.from_on(usual), sizes.count - 1))
