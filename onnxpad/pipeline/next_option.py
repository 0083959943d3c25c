"""The option that most of the padding that stays names, if trying it shows a gain.

The trial rewrites the result further, as the option asks, counts what that gains, and is undone.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import lcm
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from onnxpad.arguments import dims_given, shapes_given
from onnxpad.arithmetic.size import Sizes
from onnxpad.errors import MismatchError, ModelError, UsageError
from onnxpad.facts import OpenAxis, open_axes
from onnxpad.facts.domain import SizeDomain
from onnxpad.finding import Counts, Finding, NextOption
from onnxpad.graph import Graph
from onnxpad.graph.walk import counts_of
from onnxpad.options import Options
from onnxpad.pipeline.run import AtLast, Run
from onnxpad.reasons import BY_DEFAULT, BY_DYNAMIC, BY_TRUST, Reason
from onnxpad.rewrite.context import Context

_USUAL: Final = 224
"""The size tried for an open axis."""
_LAST: Final = 1024
"""The end of a range that is tried, unless the step is so large that it holds few sizes."""
_LARGEST_STEP: Final = 512
_FIRST: Final = 32
"""The begin of a range in which all sizes will do."""


class _Candidate(Struct, frozen=True):
    """An option as typed and as keywords, the user's part in it, and how many findings name it."""

    option: str
    keywords: Mapping[str, Any]
    hint: str
    most: int


def next_option(
    graph: Graph,
    options: Options,
    findings: Sequence[Finding],
    contexts: Sequence[Context],
    for_targets: Callable[[Run], AtLast | None],
) -> NextOption | None:
    """The option that most findings name; None where it gains nothing, or the model refuses it.

    An option gains if there are fewer `Pad`s, `auto_pad`s, `ceil_mode`s or nodes, and not more
    `Pad`s or nodes; for targets if they take more of the padding. Of two that are named as often,
    the one that leaves more sizes open is tried.

    Args:
        graph: The result, which is as it was afterwards.
        options: The options with which it was rewritten.
        findings: The padding that stays in it.
        contexts: The graphs of the model as they were left, which the trial may take.
        for_targets: Has a run write for the targets of its options, if it has any, and returns what
            finds the padding that they do not take.
    """
    to_pads = options.style != "fold"
    candidates = _candidates(graph, findings, to_pads=to_pads)
    found = max(candidates, key=lambda each: each.most)
    if not found.most:
        return None
    before, untaken = counts_of(graph), _untaken(findings)
    more = dict(found.keywords)
    if "shapes" in more:
        more["shapes"] = {**shapes_given(options.shapes), **more["shapes"]}
    if "dims" in more:
        more["dims"] = {**dims_given(options.dims), **more["dims"]}
    asked = replace(options, **more)
    axes = open_axes(graph.inputs)
    labels = {axis.label for axis in axes}
    dims = {name: size for name, size in dims_given(asked.dims).items() if name in labels}
    known = contexts if "dynamic" in more else ()  # on which no analysis depends
    mark = graph.mark()
    try:
        run = Run(graph, replace(asked, dims=dims), contexts=known)
        # What is proved at more sizes is proved at these; only under `strict` it counts where.
        if not asked.strict and asked.dynamic == "keep":
            run.domain = _at(run.domain, axes, contexts[0].domains[-1].domain.needed)
        told = for_targets(run)
        run.edit()
        after = counts_of(graph)
        taken = 0 if told is None else untaken - _untaken(told(run.left))
    except (ModelError, UsageError):
        return None
    finally:
        graph.rollback(mark)
    if taken > 0 or (told is None and _gains(before, after, to_pads=to_pads)):
        return NextOption(found.option, more, before, after, found.hint, taken)
    return None


def _at(domain: SizeDomain, axes: Iterable[OpenAxis], needed: Mapping[str, Sizes]) -> SizeDomain:
    """The sizes of a trial at which the model is known to run.

    Raises:
        MismatchError: There is none.
    """
    found: dict[str, Sizes] = {}
    for axis in axes:
        name = axis.label if domain.by_name else axis.symbol
        size = domain.declared.get(axis.tensor, {axis.axis: None})[axis.axis]
        given = Sizes(size, size) if isinstance(size, int) else domain.given.get(axis.label)
        if name in needed:
            both = needed[name] if given is None else needed[name].common(given)
            if both is None:
                raise MismatchError(f"the model does not run where {name} is {given}")
            found[name] = both
    return replace(domain, needed=found, alone=True)


def _evidence(finding: Finding, name: str) -> Any:
    """A list or mapping of a finding's evidence; empty where it is not there."""
    return finding.evidence.get(name) or ()


def _untaken(findings: Iterable[Finding]) -> int:
    """The number of paddings that targets are said not to take."""
    told = (each for each in findings if each.reason_code == Reason.TARGET)
    return len({(each.node, each.op_type) for each in told})


def _gains(before: Counts, after: Counts, *, to_pads: bool) -> bool:
    fewer = after.auto_pads < before.auto_pads
    gained = fewer or after.pads < before.pads or after.ceil_modes < before.ceil_modes
    lost = after.pads > before.pads or after.nodes > before.nodes
    return (fewer and to_pads) or (not lost and (gained or after.nodes < before.nodes))


def _candidates(
    graph: Graph, findings: Sequence[Finding], *, to_pads: bool
) -> Iterator[_Candidate]:
    """The options that findings name, those that leave most sizes open first.

    Without `to_pads`, a computed `Pad` in place of an `auto_pad` gains nothing.
    """
    ours = [each for each in findings if each.code.startswith("PAD")]

    def naming(option: str) -> list[Finding]:
        return [each for each in ours if option in _evidence(each, "options")]

    pad, auto_pad = BY_DYNAMIC
    for option in (auto_pad, pad)[: 1 + to_pads]:
        yield _Candidate(option, {"dynamic": option.split()[1]}, "", len(naming(option)))
    yield from _by_range(naming("--dim"))
    yield from _by_shape(graph, naming("--shape"))
    for option in (*BY_TRUST, *BY_DEFAULT):
        yield _Candidate(option, {"trust": option.split()[1]}, "", len(naming(option)))


def _by_range(findings: Sequence[Finding]) -> Iterator[_Candidate]:
    """The multiples at which padding is the same, as ranges of dimensions.

    How a pool rounds needs no multiples, but sizes at which a window fits.
    """
    steps: dict[str, int] = {}
    most = 0
    for finding in findings:
        multiples = _evidence(finding, "multiples") or {}
        if not multiples and "ceil_mode" in finding.evidence:
            multiples = {each["name"]: 1 for each in _evidence(finding, "sizes")}
        joined = {name: lcm(step, steps.get(name, 1)) for name, step in multiples.items()}
        if joined and max(joined.values()) <= _LARGEST_STEP:
            steps.update(joined)
            most += 1
    if most:
        ranges = {
            name: f"{_FIRST}..{_LAST}"
            if step == 1
            else f"{step}..{max(_LAST // step, 8) * step}:{step}"
            for name, step in steps.items()
        }
        typed = " ".join(f"--dim {shlex.quote(f'{name}={each}')}" for name, each in ranges.items())
        hint = "give your own range" + ", in the same steps" * (max(steps.values()) > 1)
        yield _Candidate(typed, {"dims": ranges}, hint, most)


def _by_shape(graph: Graph, findings: Sequence[Finding]) -> Iterator[_Candidate]:
    """The shapes of inputs that fix the sizes on which padding depends.

    Where that is not known, all sizes are fixed; for a target the first, of the batch, to 1.
    """
    listed = [axis for axis in open_axes(graph.inputs) if not graph.has_default(axis.tensor)]
    sizes: dict[tuple[str, int], int] = {}
    for finding in findings:
        decide = _evidence(finding, "sizes")
        for each in decide:
            sizes[each["input"], each["axis"]] = _USUAL
        for axis in () if decide else listed:
            is_batch = finding.reason_code == Reason.TARGET and axis.axis == 0
            sizes.setdefault((axis.tensor, axis.axis), 1 if is_batch else _USUAL)
    fixed = {
        tensor: tuple(
            sizes.get((tensor, axis), size if isinstance(size, int) else None)
            for axis, size in enumerate(declared or ())
        )
        for tensor, (_, declared) in graph.inputs.items()
        if any(name == tensor for name, _ in sizes)
    }
    alone = sum(not graph.has_default(name) for name in graph.inputs) == 1
    typed = []
    for tensor, shape in fixed.items():
        text = ",".join("?" if size is None else str(size) for size in shape)
        typed.append(f"--shape {shlex.quote(text if alone else f'{tensor}={text}')}")
    if typed:
        yield _Candidate(" ".join(typed), {"shapes": fixed}, "give your own sizes", len(findings))
