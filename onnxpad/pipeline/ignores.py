"""Findings that are known: which ones a list of others stands for, and what a model ignores.

A model's metadata may say of findings, with a reason, that they are to be ignored. Each entry is
about a code wherever it is found, or about one place, which is known by its fingerprint.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from onnxpad.finding import Finding, Severity
from onnxpad.graph import Graph
from onnxpad.messages import counted
from onnxpad.pipeline.metadata import EVERYWHERE, IGNORED, Barred, at
from onnxpad.reasons import Reason
from onnxpad.records import NamedTuple

if TYPE_CHECKING:
    from onnxpad.pipeline.run import Run

MOST: Final = 1_000
"""Entries of a model; a code may be ignored wherever it is found."""
LONGEST: Final = 500
"""Characters of a reason."""

_TOLD: Final = 3
_SIZE: Final = 1 << 20

_ALIKE: Final[tuple[Callable[[str], str], ...]] = (
    lambda fingerprint: fingerprint,
    lambda fingerprint: fingerprint[:12],
    lambda fingerprint: fingerprint[:8] + fingerprint[12:],
)
"""Parts that two fingerprints of one place share: an operator that is put in changes one side."""


class Kind(NamedTuple):
    """Like findings, as another file or another export has them.

    Attributes:
        code: Their code.
        fingerprint: That of each.
        severity: The greatest severity that is known.
    """

    code: str
    fingerprint: str
    severity: Severity


def claimed(findings: Sequence[Finding], known: Sequence[Kind], left: list[int]) -> dict[int, int]:
    """The index of the known kind that each finding is of, by place of the finding.

    The most severe come first, and what is alike in all before what has another neighbour.

    Args:
        findings: Those of one model.
        known: What may be among them.
        left: How many of each kind there may be; less those that are found, afterwards.
    """
    found: dict[int, int] = {}
    order = sorted(range(len(findings)), key=lambda place: -findings[place].severity.rank)
    prints = [each.fingerprint for each in findings] if known else []
    for alike in _ALIKE:
        like: dict[tuple[str, str, int], list[int]] = defaultdict(list)
        for index, kind in enumerate(known):
            like[kind.code, alike(kind.fingerprint), kind.severity.rank].append(index)
        for place in order:
            finding = findings[place]
            if place in found or not like:
                continue
            key = finding.code, alike(prints[place])
            for rank in range(finding.severity.rank, len(Severity)):
                kinds = like.get((*key, rank), [])
                while kinds and not left[kinds[-1]]:
                    kinds.pop()
                if kinds:
                    found[place] = kinds[-1]
                    left[kinds[-1]] -= 1
                    break
    return found


class Ignore(NamedTuple):
    """The entries of a model about findings to ignore.

    Attributes:
        code: The code of the findings.
        reason: Why, in the user's words.
        fingerprint: That of one place; empty for all places.
        node: The node of that place, for reading; of places that are alike it says which.
        against: The target or convention that they are about; empty for no such findings.
    """

    code: str
    reason: str
    fingerprint: str = ""
    node: str = ""
    against: str = ""

    @property
    def text(self) -> str:
        """The code with the target or convention, and the place."""
        place = f"at {self.node!r}" if self.fingerprint else ""
        return " ".join(filter(None, (self.code, self.against, place)))


def ignores_of(graph: Graph) -> tuple[tuple[Ignore, ...], str]:
    """The entries of a model, and why its metadata cannot be read, in one line; none then."""
    texts = [
        entry.value for entry in graph.model.skeleton.light.metadata_props if entry.key == IGNORED
    ]
    if len(texts) < 2:
        text = graph.model.metadata(IGNORED)
        texts = [] if text is None else [text]
    try:
        why = "it is there twice" if len(texts) > 1 else ""
        found = [] if why else [*_read(texts[0])] if texts else []
    except ValueError as error:
        found, why = [], str(error)
    if why:
        return (), f"the metadata {IGNORED} is not heeded: {why}"
    return tuple(found), ""


def _read(text: str) -> Iterator[Ignore]:
    """The entries of the metadata.

    Raises:
        ValueError: They are not as they are written; the message says why.
    """
    if len(text) > _SIZE:
        raise ValueError(f"it is longer than {_SIZE:,} characters")
    try:
        items = json.loads(text, object_pairs_hook=_once, parse_int=float)
    except json.JSONDecodeError:
        raise ValueError("it is no JSON") from None
    except RecursionError:
        raise ValueError("it is no JSON that can be read") from None
    if not isinstance(items, list):
        raise ValueError("it is no JSON list")
    if len(items) > MOST:
        raise ValueError(f"it has more than {MOST:,} entries")
    for number, item in enumerate(items, 1):
        says = item if isinstance(item, dict) else {}
        is_right = {"code", "reason"} <= says.keys() <= {*Ignore._fields}
        is_right &= all(isinstance(value, str) for value in says.values())
        if not is_right or not says["code"] or not says["reason"].strip():
            raise ValueError(f"entry {number} is not what onnxpad ignore writes")
        if len(says["reason"]) > LONGEST:
            raise ValueError(f"the reason of entry {number} is longer than {LONGEST} characters")
        yield Ignore(**says)


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an entry has a key twice")
    return found


def write_ignores(graph: Graph, ignores: Sequence[Ignore]) -> None:
    """Replaces what a model ignores."""
    entries = [{name: value for name, value in each._asdict().items() if value} for each in ignores]
    text = json.dumps(entries, ensure_ascii=False) if entries else None
    graph.model.set_metadata(IGNORED, text)


def renew(graph: Graph, ignores: Sequence[Ignore], findings: Sequence[Finding]) -> None:
    """Has a rewritten model know the places that it ignores, where what is next to them changed.

    Args:
        graph: The model.
        ignores: The entry about each finding.
        findings: The findings, each with its form as it is now; without one where it is gone.
    """
    now = {
        entry: entry._replace(fingerprint=finding.fingerprint)
        for entry, finding in zip(ignores, findings, strict=True)
        if entry.fingerprint and finding.form.steps
    }
    before, _ = ignores_of(graph)
    after = [now.get(each, each) for each in before]
    if after != [*before]:
        write_ignores(graph, after)


def ignoring(findings: Sequence[Finding], ignores: Sequence[Ignore]) -> dict[int, Ignore]:
    """The entry that ignores a finding, by the place of each one that is ignored."""
    wide = {(each.code, each.against): each for each in ignores if not each.fingerprint}
    found = {
        place: wide[key]
        for place, each in enumerate(findings)
        if (key := (each.code, each.against)) in wide
    }
    placed = [each for each in ignores if each.fingerprint]
    left = [1] * len(placed)
    named = {(each.code, each.node, each.fingerprint[:8]): i for i, each in enumerate(placed)}
    for place, each in enumerate(findings):
        index = named.get((each.code, each.node, each.fingerprint[:8])) if placed else None
        if index is not None and left[index] and place not in found:
            left[index] = 0
            found[place] = placed[index]
    rest = [place for place in range(len(findings)) if place not in found]
    kinds = [Kind(each.code, each.fingerprint, Severity.ERROR) for each in placed]
    others = claimed([findings[place] for place in rest], kinds, left)
    return {**found, **{rest[place]: placed[index] for place, index in others.items()}}


def heed(run: Run, findings: Sequence[Finding]) -> tuple[dict[int, Ignore], str, str]:
    """Bars the rewrites of what a model ignores.

    Returns:
        What ignores each finding that is ignored, by its place; a note that says so; and why the
        metadata cannot be read. The texts are one line each, or empty.
    """
    ignores, warning = ignores_of(run.graph)
    ignored = ignoring(findings, ignores)
    run.ignored = _barring(findings, ignored)
    return ignored, told([each[:2] for _, each in sorted(ignored.items())]), warning


def _barring(findings: Sequence[Finding], ignored: dict[int, Ignore]) -> Barred:
    """The rewrites of findings that are ignored, so that none is made."""
    keys = {(findings[place].code, at(findings[place].location)) for place in ignored}
    wide = [each for each in ignored.values() if not (each.fingerprint or each.against)]
    return dict.fromkeys([*keys, *((each.code, EVERYWHERE) for each in wide)], Reason.IGNORED)


def told(ignored: Sequence[tuple[str, str]]) -> str:
    """Codes that are ignored, each with its reason, in one line; empty without any."""
    if not ignored:
        return ""
    reasons = Counter(ignored)
    said = [
        f"{code} {reason!r}{f' ({count:,})' if count > 1 else ''}"
        for (code, reason), count in reasons.items()
    ]
    if len(said) > _TOLD:
        said[_TOLD:] = [f"and {counted(len(said) - _TOLD, 'other reason')}"]
    return f"{len(ignored):,} ignored in the model ({IGNORED}): {', '.join(said)}"
