"""With every sentence and phrase replaced by random text, all commands do the same."""

import ast
import json
from functools import cache
from typing import Any

import pytest

from tests.behaviour.cases import COMMANDS, planned
from tests.support import forks
from tests.support.rows import one_in
from tests.words.commands import unlike
from tests.words.scrambling import differences, has_random, numbers, scrambled, texts

MODULES = ("numpy", "onnx", "rich.console", "typer")
"""What both sides import that is not of the project."""

Lines = tuple[tuple[str, str], ...]

FEW: Lines = (
    ("aspp_keras", "fix {model} --format json --html page.html"),
    ("aspp_keras", "show {model} --format json --html page.html"),
    ("mobilenet_v1_keras_nhwc", "fix {model} --check --no-validate --html page.html"),
    ("steps_torchscript", "check {model} --format json --html page.html"),
    ("conv1d_keras", "validate {model} other.onnx --html page.html"),
    ("conv1d_keras", "repad {model} --to pytorch --format json"),
    ("begin_conv1d", "match {model} --reference {npz} --format json"),
    ("begin_conv1d", "explain {model} --node {node} --svg drawing.svg"),
)
PARTS = 68
"""Each is one in so many of the cases of recorded behaviour."""


def spread(part: int) -> Lines:
    """A part of the cases of recorded behaviour: all commands, over all models in turn."""
    cases = [case for kind in COMMANDS for case, _ in planned(kind, 1).cases]
    return tuple(
        (case.source.stem if case.source else "", " ".join(map(repr, case.words)))
        for case in cases[part::PARTS]
    )


@cache
def said(lines: Lines, planted: tuple[tuple[str, str, str], ...] | None) -> list[Any]:
    """What commands say and write: with the product's words, or with random text and a fault."""
    asked = json.dumps({"lines": lines, "planted": planted})
    code = "from tests.words.commands import main; main()"
    found = forks.run(code, asked, modules=MODULES)
    assert not found.returncode, found.stderr
    result: list[Any] = json.loads(found.stdout)
    return result


def told(lines: Lines, *planted: tuple[str, str, str]) -> list[str]:
    """What differs where random text is said."""
    both = zip(lines, said(lines, None), said(lines, planted), strict=True)
    return [f"{model}: {line}: {each}" for (model, line), *two in both for each in unlike(*two)]


@pytest.mark.slow
def test_no_words_are_read_back() -> None:
    assert told(FEW) == []


@pytest.mark.slow
@pytest.mark.parametrize("part", one_in(PARTS, ((part,) for part in range(PARTS))))
def test_no_words_are_read_back_by_any_command(part: int) -> None:
    assert told(spread(part)) == []


READ_BACK = [
    pytest.param(
        (("inception_fused", "check {model} --html page.html"),),
        ("onnxpad.report.documents.cards", "return finding.alike or finding.message",
         """return __import__("re").sub(" '[^']*'", "", finding.message)"""),
        id="names in what is found",
    ),
    pytest.param(
        (("nasnet_keras", "fix {model} --check --no-validate"),),
        ("onnxpad.report.documents.fix_document",
         "return finding.brief or finding.general or short_reason(finding)",
         """return __import__("re").sub(" '[^']*'", "", short_reason(finding))"""),
        id="names in reasons",
    ),
    pytest.param(
        FEW[:1],
        ("onnxpad.arithmetic.render", 'chain([subject], repeat(""))',
         'chain([subject if "when " in f"when {subject}" else ""], repeat(""))'),
        id="cases of a size",
    ),
    pytest.param(
        FEW[2:3],
        ("onnxpad.page.pictures.site_graph", "facts) for step in form.steps]",
         'facts) for step in form.steps[:form.text.count(" -> ") + 1]]'),
        id="steps of a change",
    ),
    pytest.param(
        FEW[2:3],
        ("onnxpad.report.documents.fix_in_full", "(made.general or made.statement) + where",
         '"the result" + made.statement.partition(" is computed")[2] + where'),
        id="statement of a proof",
    ),
    pytest.param(
        FEW[4:5],
        ("onnxpad.report.documents.validation_document", "run.drawn[1] or run.inputs",
         'run.inputs[run.inputs.find("seed ") :]'),
        id="inputs of a run",
    ),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("lines", "planted"), READ_BACK)
def test_a_place_that_reads_words_back_is_told(lines: Lines, planted: tuple[str, str, str]) -> None:
    assert told(lines, planted)


@pytest.mark.parametrize(
    ("source", "is_random"),
    [
        ('"a phrase"', True),
        ('"Pad with a fill"', True),
        ('f"{x} of {y}"', True),
        ('", "', True),
        ('" -> "', True),
        ('"word"', False),
        ('"SAME_UPPER"', False),
        ('"Conv MaxPool AveragePool"', False),
        ('"--style pad"', False),
        ('"pads strides".split()', False),
        ('" "', False),
        ('f"M{x} {y}L{x} {y}"', False),
        ("'<p class=\"a b\">'", False),
        ('re.compile("a phrase")', False),
        ('"nothing compared"', False),  # a type lists it
        ('el("path", d=f"M 1 and {x}")', False),
    ],
)
def test_what_is_a_phrase(source: str, is_random: bool) -> None:
    assert has_random(ast.unparse(scrambled(f"x = {source}", "m"))) == is_random


def test_each_place_has_a_text_of_its_own() -> None:
    one, other = ast.unparse(scrambled('x = "a phrase"\ny = "a phrase"', "m")).splitlines()
    assert one.removeprefix("x") != other.removeprefix("y")
    assert ast.unparse(scrambled('x = "a phrase"', "m")) == one
    text = ast.unparse(scrambled('def f():\n    """A docstring."""\n    return f"{1} of 22"', "m"))
    assert "A docstring." in text
    assert numbers(text) == ["1", "22"]


@pytest.mark.parametrize(
    ("plain", "random", "count"),
    [
        ({"a": 1, "b": "two words"}, {"a": 1, "b": "აბ"}, 0),
        ({"a": "3 of 4"}, {"a": "3აბ4"}, 0),
        ({"a": "3 of 4"}, {"a": "3აბ"}, 1),
        ({"a": "code"}, {"a": ""}, 1),
        ({"a": [1, 2]}, {"a": [1]}, 1),
        ({"a": [1, 2]}, {"a": [1, 3]}, 1),
        ({"a": 1}, {"b": 1}, 1),
        ({"two words": 1}, {"აბ": 1}, 0),
        ({"a": None}, {"a": "აბ"}, 1),
    ],
)
def test_differences(plain: Any, random: Any, count: int) -> None:
    assert len([*differences(plain, random)]) == count


def test_elements_of_a_page() -> None:
    page = '<style>p { margin: 1 }</style><p class="a">two 3<b>4</b> of &#x27;5&#x27;</p>'
    assert texts(page) == [("p", "a", ["3"]), ("b", "", ["4"]), ("/b", "", ["5"]), ("/p", "", [])]
    broken = (texts(f"<svg><text>1 2{each} 3</text></svg>") for each in ("", "</text><text>"))
    assert [each[-1] for each in broken] == [("/svg", "", ["1", "2", "3"])] * 2
