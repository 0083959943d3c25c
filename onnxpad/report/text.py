"""Pieces of every text report: names made safe, counts, times, remarks, groups of like ones."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TypeVar

from onnxpad.errors import UsageError, and_list, few, shortened
from onnxpad.errors import counted as counted
from onnxpad.finding import Change, Finding
from onnxpad.options import Configured
from onnxpad.report import Delivery, FileReport, Noted
from onnxpad.report.documents import Block, Group, Rows, Table
from onnxpad.report.layout import UNBREAKABLE, marked


def shown(name: str) -> str:
    r"""A name made safe for one line of a terminal: names in a model may hold any character.

    >>> print(shown("features.0/畳み込み"), shown("a\nb\x1b[2J"))
    features.0/畳み込み a\nb\x1b[2J
    """
    name = shortened(name)
    if name.isprintable():
        return name
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in name)


def command(text: str) -> str:
    """A command to type, in one piece, which pages let a reader copy."""
    return marked(shown(text).replace(" ", UNBREAKABLE), "command")


def for_targets(names: Sequence[str]) -> str:
    """Targets in the versions that they mean, and how these are known; empty without any.

    >>> for_targets(["trt", "opencv@4"])
    ', for tensorrt@10.1 (read, trt means it) and opencv@4.14.0 (run)'
    """
    said = dict[str, None]()
    for name in names:
        from onnxpad.targets.known_targets import ALIASES, load

        with suppress(UsageError):  # a file of the user's that is gone, or not where this is told
            found = load(name)
            known = "run" if found.measured else "read" if found.cells else "no cell: not known"
            known += f", {name} means it" * (name.partition("@")[0].lower() in ALIASES)
            name = f"{found.full_name} ({known})"
        said[shown(name)] = None
    return f", for {and_list([*said])}" if said else ""


def more(items: Sequence[object], most: int | None, where: str = "--format json") -> list[str]:
    """The number of items that are not listed, if any."""
    rest = len(items) - len(items[:most])
    return [f"  and {rest:,} more ({where})"] if rest else []


def listed(
    head: str, lines: Sequence[str], most: int | None, where: str = "--format json"
) -> Group:
    """The first lines as a section, and the number of others."""
    return Group(head, [*lines[:most], *more(lines, most, where)])


def first_rows(
    heads: Sequence[str], rows: Rows, most: int | None, where: str = "--format json"
) -> list[Block]:
    """The first rows as a table, and the number of others; nothing without any, nor of just one."""
    most = None if most is not None and len(rows) == most + 1 else most
    return [Table(heads, rows[:most]), *more(rows, most, where)] if rows else []


def warned(lines: Iterable[str], what: str = "warning", role: str = "warning") -> Iterator[str]:
    """Lines, each with what it is."""
    return (f"{marked(what, role)}: {shown(line)}" for line in lines)


def remarks(report: Noted) -> Iterator[str]:
    """The warnings and notes of a report."""
    yield from warned(report.warnings)
    yield from (f"note: {shown(line)}" for line in report.notes)
    if not isinstance(report, FileReport):  # a check has several, which may share one
        yield from configurations([("", report.config)])


def configurations(configs: Iterable[tuple[str, Configured | None]]) -> Iterator[str]:
    """A line for all that a configuration says of models, which are named if others differ."""
    models = [*configs]
    held = [(path, found) for path, found in models if found]
    for alike in grouped(held, lambda each: repr(each[1])):
        file, options = alike[0][1].path, alike[0][1].options
        told = (f"{key} {e if isinstance(e, str) else ' '.join(e)}" for key, e in options.items())
        is_all = all(it and (it.path != file or it == alike[0][1]) for _, it in models)
        names = "" if is_all else f" ({few((path for path, _ in alike), 3)})"
        many = f" for {counted(len(alike), 'model')}{names}" if names or alike[1:] else ""
        yield f"note: configured{shown(many)} by {shown(file)}: {shown(', '.join(told))}"


def delivered(
    done: Delivery, seconds: float, *, changed: bool, invalid: bool, option: str = ""
) -> str:
    """The last line of a report: the file that was written, what is beside it, and the time."""
    written, told = shown(done.written), "Nothing written"
    if written:
        told = f"Wrote {marked(written, 'strong')}" if changed else f"Copied to {written}"
        told += " although it is invalid (--keep-invalid)" * invalid
    elif invalid or (changed and done.in_memory):
        call = f"in Python, save(path{', keep_invalid=True' * invalid})"
        told += f"; {call if done.in_memory else option or call} writes it"
    told += f"; {shown(done.older)} is an older file and stays" * bool(done.older)
    if done.data:
        told += f", its external data to {few(map(shown, done.data), 8)}"
    return f"{told} ({seconds:.1f} s)"


def declared(shapes: Mapping[str, Sequence[int | str | None]]) -> Iterator[str]:
    """A line for each input whose sizes a result declares."""
    for name, shape in shapes.items():
        sizes = "x".join("?" if size is None else str(size) for size in shape)
        yield f"  declares input {shown(repr(name))} as {shown(sizes)}"


def labelled(item: Finding | Change) -> str:
    """The node of a change or finding with its operator: `conv1 (Conv)`."""
    return f"{shown(item.node)} ({shown(item.op_type)})"


_T = TypeVar("_T")


def grouped(items: Iterable[_T], key: Callable[[_T], Hashable]) -> list[list[_T]]:
    """The items grouped by key; groups and items in the order of first appearance."""
    groups: dict[Hashable, list[_T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.values())
