"""What `fix --target` writes for each form, as rows of the manual's table."""

from collections.abc import Iterable, Iterator, Mapping
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


def row(form: str, outcomes: Mapping[str, Outcome]) -> str:
    """The row of a form: targets for which it stays, is written otherwise, and is told of.

    >>> found = {"a": Outcome((), ""), "b": Outcome((), "Conv with pads")}
    >>> row("same", found | {"c": Outcome(("PAD703",), ""), "d": found["b"]})
    '| `same` | a | Conv with pads: b, d | PAD703: c |\\n'
    """
    stays = [name for name, (codes, text) in outcomes.items() if not codes and not text]
    written = _grouped(
        (text, name) for name, (codes, text) in outcomes.items() if not codes and text
    )
    told = _grouped((" ".join(codes), name) for name, (codes, _) in outcomes.items() if codes)
    return f"| `{form}` | {', '.join(stays)} | {written} | {told} |\n"


def _grouped(pairs: Iterable[tuple[str, str]]) -> str:
    names: dict[str, list[str]] = {}
    for text, name in pairs:
        names.setdefault(text, []).append(name)
    return "; ".join(f"{text}: {', '.join(each)}" for text, each in names.items())


def shown_targets() -> Iterator[Target]:
    """The newest version of each target on which models were run."""
    return (target for target in map(load, known()) if target.standing.models)


def table() -> str:
    """The generated part of the page: a row for each form."""
    heads = "| form | stays as it came | written otherwise | not mended |\n"
    targets = [*shown_targets()]
    rows = (row(form, {each.name: outcome(each, form) for each in targets}) for form in tables())
    return f"\n{heads}| --- | --- | --- | --- |\n{''.join(rows)}\n"
