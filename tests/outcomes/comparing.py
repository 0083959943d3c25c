"""Differences between outcomes, kind by kind, and which of them are wanted."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.outcomes.running import Facts

_ENDS: Final = ("crash", "late", "usage")
"""Kinds beside which no other is told: nothing else can be compared."""


class Difference(NamedTuple):
    """One kind of fact of a case; in `items`, `- ` is before what only the other tree has."""

    case: str
    kind: str
    items: tuple[str, ...]


def differences(case: str, other: Facts, ours: Facts) -> Iterator[Difference]:
    """The differences in a case. Bytes are told only of a model whose text is the same."""
    one, two = ({**f, "usage": f.get("error") == "usage"} for f in (other, ours))
    kinds = [kind for kind in one | two if one.get(kind) != two.get(kind)]
    for kind in [kind for kind in _ENDS if kind in kinds][:1] or kinds:
        if kind != "bytes" or "model" not in kinds:
            yield Difference(case, kind, _items(one.get(kind), two.get(kind)))


def _items(other: Any, ours: Any) -> tuple[str, ...]:
    texts = ([] if e is None else e if isinstance(e, list) else [str(e)] for e in (other, ours))
    one, two = map(Counter, texts)
    gone, new = sorted((one - two).elements()), sorted((two - one).elements())
    return tuple([f"- {each}" for each in gone] + [f"+ {each}" for each in new])


def wanted(path: Path) -> list[tuple[str, str, re.Pattern[str]]]:
    """The wanted differences of a file: in each line a pattern of cases, a kind, and why.

    Tabs are between them. A kind may be `*`, and have a pattern, as in `findings:- PAD602.*`.
    """
    found: list[tuple[str, str, re.Pattern[str]]] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            case, kind, why = (*line.split("\t"), "", "")[:3]
            if not why.strip():
                raise ValueError(f"{path}:{number}: is not a pattern, a kind, and why, with tabs")
            name, _, items = kind.partition(":")
            found.append((case, name, re.compile(items or ".*")))
    return found


def is_wanted(found: Difference, meant: Sequence[tuple[str, str, re.Pattern[str]]]) -> bool:
    return any(
        fnmatchcase(found.case, case)
        and kind in (found.kind, "*")
        and all(map(pattern.fullmatch, found.items))
        for case, kind, pattern in meant
    )


def told(
    cases: Sequence[str], found: Sequence[Difference], meant: Sequence[Difference], command: str
) -> Iterator[str]:
    """The counts by family and kind, and what is not wanted, alike differences together."""
    yield "family      cases     equal    wanted  differing"
    bad = {each.case for each in found}
    good = {each.case for each in meant} - bad
    for family in [*dict.fromkeys(f"{case.partition('/')[0]}/" for case in cases), ""]:
        here = {case for case in cases if case.startswith(family)}
        counts = len(here), len(here - bad - good), len(here & good), len(here & bad)
        yield "{:10}{:7}{:10}{:10}{:11}".format(family.strip("/") or "all", *counts)
    for title, some in (("differing", found), ("wanted", meant)):
        kinds = Counter(each.kind for each in some).most_common()
        yield f"{title}: {', '.join(f'{kind} {count}' for kind, count in kinds) or 'none'}"
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for each in found:
        groups.setdefault((each.kind, each.items), []).append(each.case)
    for (kind, items), names in sorted(groups.items(), key=lambda each: -len(each[1])):
        yield f"\n{kind}: {len(names)}"
        yield from (f"  {item}" for item in items)
        yield from (f"  {command} --case {name}" for name in names[:3])
        yield from [f"  and {len(names) - 3} more"] * (len(names) > 3)
