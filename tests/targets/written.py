"""What `fix --target` writes for each form, as the manual's table has it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

import onnx

import onnxpad
from onnxpad.graph import Graph
from onnxpad.options import Options
from onnxpad.rewrite.run import Run
from onnxpad.targets.form import forms_of
from onnxpad.targets.known_targets import known, load
from onnxpad.targets.target import Target
from tests.targets.forms import tables

CODES: Final = ("PAD703", "PAD704", "PAD705", "PAD706")


class Outcome(NamedTuple):
    """What becomes of a form at a target: codes of what stays untaken, and the form written.

    Attributes:
        codes: Codes of findings about the result; empty if the target computes it rightly.
        text: The form that was written; empty where the model stays as it came.
    """

    codes: tuple[str, ...]
    text: str


@cache
def models() -> Mapping[str, onnx.ModelProto]:
    """The model of each form as it is given."""
    return {name: onnx.parser.parse_model(table["model"]) for name, table in tables().items()}


def outcome(target: Target, form: str) -> Outcome:
    """What `fix --target` makes of a form."""
    result = onnxpad.fix(models()[form], target=target.full_name, validate=False)
    codes = {each.code for each in result.findings} & {*CODES}
    text = ""
    if result.changed:
        run = Run(Graph.read(result.model), Options())
        written = (placed.form.text for placed in forms_of(run.analysed()))
        text = "; ".join(dict.fromkeys(written)) or "no padding"
    return Outcome(tuple(sorted(codes)), text)


def cells(outcomes: Mapping[str, Outcome]) -> tuple[str, str]:
    """What a row has: targets for which a form is written otherwise, and those told of.

    >>> found = {"a": Outcome((), ""), "b": Outcome((), "Conv: pads end")}
    >>> cells(found | {"c": Outcome(("PAD703",), ""), "d": found["b"]})
    ('pads end: b, d', 'PAD703: c')
    """
    mended = {name: text for name, (codes, text) in outcomes.items() if text and not codes}
    written = ((_details(text), name) for name, text in mended.items())
    told = ((" ".join(codes), name) for name, (codes, _) in outcomes.items() if codes)
    return _grouped(written, [*outcomes]), _grouped(told, [*outcomes])


def _details(text: str) -> str:
    """The forms that were written, without the operators."""
    each = (form.partition(": ")[2] or "unpadded" for form in text.split("; "))
    return " / ".join(dict.fromkeys(each))


def _grouped(pairs: Iterable[tuple[str, str]], every: Sequence[str]) -> str:
    names: dict[str, list[str]] = {}
    for text, name in pairs:
        names.setdefault(text, []).append(name)
    told = {text: "all" if each == every else ", ".join(each) for text, each in names.items()}
    return "; ".join(f"{text}: {each}" for text, each in told.items())


def shown_targets() -> Iterator[Target]:
    """The newest version of each target on which models were run."""
    return (target for target in map(load, known()) if target.standing.models)


def table() -> str:
    """The generated part of the page: a row for forms that fare alike, unless all stay."""
    targets, rows = [*shown_targets()], dict[tuple[str, str], list[str]]()
    for form in tables():
        found = cells({each.name: outcome(each, form) for each in targets})
        rows.setdefault(found, []).append(f"`{form}`")
    rows.pop(("", ""), None)
    told = (f"| {', '.join(names)} | {' | '.join(found)} |\n" for found, names in rows.items())
    heads = "| form | written otherwise | not mended |\n"
    return f"\n{heads}| --- | --- | --- |\n{''.join(told)}\n"
