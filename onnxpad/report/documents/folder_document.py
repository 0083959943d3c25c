"""A command for many models: the outcome of each, a line for it, and how often there is a code."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from textwrap import shorten
from time import perf_counter
from typing import Any

from onnxpad.errors import few
from onnxpad.finding import as_options
from onnxpad.report import FileOutcome, FolderReport
from onnxpad.report.documents import Block, Document, Group, View
from onnxpad.report.documents.fix_document import sized
from onnxpad.report.json import json_of
from onnxpad.report.layout import marked, unmarked
from onnxpad.report.text import configurations, counted, shown, warned

_CODES = {"fix": " changed or left", "check": " found"}


def folder_document(report: FolderReport, view: View = "brief", *, paged: bool = False) -> Document:
    """A line for each model, the worst first, in full with what stays; then how many have what.

    A page is headed by the folder that all are in, and by how many have which outcome.
    """
    files, is_full = report.files, view == "full"
    most = sys.maxsize if is_full else 3
    outcomes = Counter(map(_outcome, files)).items()
    resumed = sum(each.resumed for each in files)
    known = f"; {resumed:,} known from an earlier run" * bool(resumed)
    said = ", ".join(f"{count:,} {shown(outcome)}" for outcome, count in outcomes)
    lines = [_line(each, is_full=is_full) for each in files]
    title, ending = f"{counted(len(files), 'model')}: {said}{known}", list[Block]()
    for code, count in report.codes.items():
        models = sum(code in each.codes for each in files)
        told = f"{count:,}{_CODES.get(report.ran, '')} in {counted(models, 'model')}"
        ending.append(f"  {marked(code, 'strong')} {told}")
    ending += _remarks([] if is_full else files, report.others, most)
    ending += configurations((each.path, each.config) for each in files)
    for option, count in Counter(e.next for e in files if e.next).most_common(1):
        gains = f"would change what stays in {counted(count, 'model')}"
        ending.append(marked(f"Next: {shown(option)} {gains}", "strong"))
    if needing := [each for each in files if each.sizes]:
        where = few((each.path for each in needing), most)
        named = {each.sizes for each in needing}
        sizes = " ".join(*named) if len(named) == 1 else "--dim or per-file-dim"
        told = f"{counted(len(needing), 'model')} with padding that depends on open sizes ({where})"
        ending.append(marked(shown(f"Next: {told}; {sizes} gives it constant amounts"), "strong"))
    each_model = Group("Models" * is_full, lines)
    folder = ""
    with suppress(ValueError):  # of no model, or of paths from different roots
        folder = os.path.commonpath([os.path.dirname(each.path) for each in files])  # noqa: PTH120
    about, head = (shown(folder), title) if paged else ("", "")
    return Document.of(report.ran, about, head, each_model, [*[title] * (not paged), *ending])


def quiet_blocks(report: FolderReport) -> Iterator[Block]:
    """The lines of models that need attention, with their warnings; and files of no model."""
    files = [each for each in report.files if each.needs_attention]
    yield from (_line(each, is_full=False) for each in files)
    yield from _remarks(files, report.others, 3)


def _remarks(files: Sequence[FileOutcome], others: Sequence[str], most: int) -> Iterator[str]:
    """What models are warned of, the most frequent first; and files that are of none."""
    warnings = dict[str, list[str]]()
    for each in files:
        for line in each.warnings:
            warnings.setdefault(line, []).append(each.path)
    told = sorted(warnings.items(), key=lambda each: -len(each[1]))
    for line, paths in told[:most]:
        where = f"{counted(len(paths), 'model')} ({few(paths, 3)})" if paths[1:] else paths[0]
        yield from warned([line], f"warning in {shown(where)}")
    if told[most:]:
        yield f"  and {counted(len(told[most:]), 'more warning')} (--verbose has them)"
    if others:
        yield from warned([few(others, most)], "Of no model of this run")


def _outcome(file: FileOutcome) -> str:
    alone = " in sizes alone" * (file.outcome == "fixed" and not file.changes)
    return f"{file.outcome}{alone}{f' (exit code {file.exit_code})' if file.exit_code else ''}"


def _line(file: FileOutcome, *, is_full: bool) -> Block:
    path = marked(shown(file.path), "strong")
    said = f"{marked(shown(_outcome(file)), 'error')}: " * bool(file.exit_code)
    stays = f", {file.stays:,} stay{'s' * (file.stays == 1)}" if file.stays else ""
    stays += f" ({file.undone:,} undone)" * bool(file.undone)
    rests = "".join(f"; {shown(each)}" for each in file.rests)
    warnings = f", {counted(len(file.warnings), 'warning')}" if file.warnings else ""
    written = f" -> {shown(file.written[0])}" if file.written else ""
    written += ", which held something else" * file.replaced
    older = f"; {shown(file.older)} is an older file and stays" if file.older else ""
    known = " (known)" if file.resumed else ""
    line = shown(file.line.removeprefix("FAILED: "))
    line = f"{path}: {said}{line}{stays}{warnings}{rests}{written}{older}{known}"
    if not is_full:
        return line
    report: Any = file.report or {}
    below = [f"  {each}" for each in warned(file.warnings)]
    parts = [report, *report.get("files", ())]
    kinds = ("findings", "undone", "barred")
    for each in (e for part in parts for kind in kinds for e in part.get(kind, ())):
        where = f"{each['code']} {each['node']} ({each['op_type']})"
        below.append(f"  {shown(where)}: {shown(each['reason'] or each['message'])}")
    if option := file.next or " ".join(file.sizes):
        below.append(f"  Next: {shown(option)}")
    return Group(line, below)


def outcome_of(path: str, report: Any, begin: float) -> FileOutcome:
    """The outcome that the report on a model stands for; it was begun at `time.perf_counter`."""
    files = [report, *getattr(report, "files", ())]
    kinds = ("changes", "findings", "undone")
    told = [e for file in files for kind in kinds for e in getattr(file, kind, ())]
    delivery, option = report.delivery, getattr(report, "next", None)
    line, is_fix = unmarked(report.document().title), report.command == "fix"
    count, sizes = sized(report.findings if is_fix and not option else ())
    dims = [as_options({name: "SIZE"}) for name in sizes] or ["--shape or --dim"] * bool(count)
    changes, undone = (report.changes, report.undone) if is_fix else ((), ())
    ranged = any(each.certificate.within for each in changes)
    rests = [f"holds for {getattr(report, 'ranges', '')} only"] * ranged
    rests += dict.fromkeys(f"assumes {name}" for e in changes for name in e.certificate.assumptions)
    if limits := getattr(getattr(report, "proof", None), "limits", ""):
        rests.append(f"holds for {limits}")
    line = line if report.exit_code == 3 else line.partition("; ")[0]  # where it begins
    if is_fix and report.exit_code == 5:
        line += f"; {shorten(report.failure.partition('; ')[0], 200, placeholder='...')}"
    runs = [file for each in files if (file := getattr(each, "validation", None))]
    warnings = [line for each in (*files, *runs) for line in each.warnings]
    barred = len(getattr(report, "barred", ()))
    warnings += [f"{counted(barred, 'change')} taken back by the validation"] * bool(barred)
    return FileOutcome(
        path,
        report.exit_code,
        str(getattr(report, "outcome", "failed" if report.exit_code else "passed")),
        line,
        Counter(each.code for each in told),
        perf_counter() - begin,
        (*filter(None, [delivery.written]), *delivery.data),
        warnings=(*dict.fromkeys(warnings),),
        stays=len({e.node for e in (*(report.findings if is_fix else ()), *undone)}),
        undone=len({each.node for each in undone}),
        changes=len(changes),
        rests=(*rests,),
        replaced=delivery.replaced,
        next=getattr(option, "option", ""),
        sizes=(*dims,),
        config=next((each.config for each in files if each.config), None),
        text=json_of(report),
    )
