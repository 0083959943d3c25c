"""Files that say what a runtime does: checked, and each error has its line."""

import re
from pathlib import Path
from typing import get_args

import pytest

from onnxpad.errors import UsageError
from onnxpad.targets.form import Form
from onnxpad.targets.target import Verdict
from onnxpad.targets.target_file import SPELLINGS, VERDICTS, WORDS, parsed
from tests.support.manual import blocks, pages

HEAD = 'title = "NPU"\n'
CELL = '[[cell]]\nverdict = "wrong"\nsource = "s"\n'


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ('version = "1"\n', 1, "'title' must be given"),
        ("title = 3\n", 1, "'title' must be a text, not 3"),
        ('title = "a\n', 1, "Illegal character '\\n'"),
        (HEAD + "cell = 3\n", 2, "'cell' must be written as [[cell]], once for each"),
        (HEAD + '\n# c\ntitel = "b"\n', 4, "no key 'titel' is known here; did you mean 'title'?"),
        (HEAD + 'spell = ["axes"]\n', 2, "'spell' cannot be \"axes\"; did you mean 'no_axes'?"),
        (HEAD + 'notes = "n"\n', 2, "'notes' must be a list, such as [\"n\"]"),
        (HEAD + CELL, 2, "'when' must be given"),
        (HEAD + CELL + "when = { sized = 1 }\n", 5, "'sized' must be true or false, not 1"),
        (HEAD + CELL + "when = { sied = true }\n", 5, "no key 'sied' is known here; did you mean"),
        (HEAD + CELL + 'when = { pads = "ends" }\n', 5, "'pads' cannot be \"ends\""),
        (HEAD + CELL + 'when = { dtype = "flaot32" }\n', 5, "'dtype' cannot be \"flaot32\"; did"),
        (HEAD + CELL + 'when = { dtype = ["int8", "half"] }\n', 5, "'dtype' cannot be \"half\""),
        (HEAD + CELL + "when = { rank = [2, true] }\n", 5, "'rank' must be a whole number, not tr"),
        (HEAD + CELL + "when = { rank = { mni = 2 } }\n", 5, "no key 'mni' is known here; did you"),
        (HEAD + CELL + "when = { rank = { min = false } }\n", 5, "'rank' must be a whole number"),
        (HEAD + CELL + "when = { op = [] }\n", 5, "'op' has no value that it may be"),
        (HEAD + CELL + "when = { op = [3] }\n", 5, "'op' must be a text, not 3"),
        (
            HEAD + CELL + 'when = { op = "Conv2D" }\n',
            5,
            "ONNX has no operator 'Conv2D'; did you mean",
        ),
        (
            HEAD + CELL + 'when = { op = ["Pad", "Foo"] }\n',
            5,
            "ONNX has no operator 'Foo'; name its",
        ),
        (HEAD + CELL + "when = { rank = {} }\n", 5, "'rank' must be a range, such as { min = 2"),
        (HEAD + CELL + "when = { rank = { min = 3, max = 2 } }\n", 5, "'rank' must be a range"),
        (HEAD + CELL + 'when = {}\nadvice = "--shp"\n', 6, "'advice' cannot be \"--shp\"; did you"),
        (HEAD + CELL + "when = {}\nadvice = 3\n", 6, "'advice' must be a text, not 3"),
        (HEAD + 'cell = ["when"]\n', 2, "'cell' must be a table, such as { about = ... }"),
        (HEAD + CELL + "when = 3\n", 5, "'when' must be a table, such as { op = ... }"),
        (HEAD + CELL + "[cell.when]\nsized = 1\n", 6, "'sized' must be true or false, not 1"),
        (HEAD + CELL + "when = {}\nlimit = 1\n", 6, "'limit' must be true or false, not 1"),
        (
            HEAD + CELL.replace("wrong", "rigth") + "when = {}\n",
            3,
            "'verdict' cannot be \"rigth\"; did you mean 'right'?",
        ),
        (
            HEAD + CELL + "when = {}\n" + CELL.replace('"s"', '"""\n[[cell]]\n"""') + "when = 3\n",
            11,
            "'when' must be a table",
        ),
        (
            HEAD + '[[measured]]\nversion = "1"\ndiffers = [\n  { forms = ["conv_sane"] },\n]\n',
            4,
            "no form 'conv_sane' is known; did you mean 'conv_same'?",
        ),
        (HEAD + "[[measured]]\n", 2, "'version' must be given"),
        (
            HEAD + '[[measured]]\nversion = "1"\nnot_run = ["a:fold"]\n',
            4,
            "no form 'a' is known",
        ),
        (
            HEAD + CELL + 'when = {}\nforms = ["conv_sane"]\n',
            6,
            "no form 'conv_sane' is known; did you mean 'conv_same'?",
        ),
        (HEAD + CELL + 'when = {}\nforms = ["conv_same:flod"]\n', 6, "'forms' cannot be \"flod\""),
        (
            HEAD + '[[measured]]\nversion = "1"\nnot_run = ["conv_same:flod"]\n',
            4,
            "'not_run' cannot be \"flod\"; did you mean 'fold'?",
        ),
        (
            HEAD + '[[measured]]\nversion = "1"\ndiffers = [{ given = "bad", forms = [] }]\n',
            4,
            "'given' cannot be \"bad\"",
        ),
    ],
)
def test_an_error_has_its_line(text: str, line: int, told: str) -> None:
    with pytest.raises(UsageError) as error:
        parsed(Path("npu.toml"), text, ["conv_same"])
    assert str(error.value).startswith(f"npu.toml:{line}: {told}")
    assert "\n" not in str(error.value)


def test_operators_of_other_domains_and_ranges_are_taken() -> None:
    when = (
        '{ op = ["Fft"], domain = "com.acme", rank = { min = 2, max = 2 }, stride = { max = 1 } }'
    )
    text = HEAD + CELL + f'when = {when}\nadvice = "--trust spec"\n'
    assert parsed(Path("npu.toml"), text, ())["cell"]


def test_the_example_of_the_manual_is_a_file() -> None:
    (block,) = blocks("toml", page="targets")
    assert parsed(Path("npu.toml"), block.text, ())["cell"]
    spelled = re.findall(r"`(\w+)`", block_of_spellings())
    assert set(SPELLINGS) <= set(spelled)
    fields = re.findall(r"^\| (`.*?) \|", pages()["targets"], re.MULTILINE)
    assert set(Form._fields) <= set(re.findall(r"`(\w+)`", " ".join(fields)))


def block_of_spellings() -> str:
    return pages()["targets"].partition("`spell` lists spellings")[2]


def test_every_error_is_told() -> None:
    text = 'version = 3\n[[cell]]\nverdict = "rigth"\n'
    with pytest.raises(UsageError) as error:
        parsed(Path("npu.toml"), text, ())
    assert str(error.value).split("; npu") == [
        "npu.toml:1: 'title' must be given",
        ".toml:1: 'version' must be a text, not 3",
        ".toml:2: 'when' and 'source' must be given",
        ".toml:3: 'verdict' cannot be \"rigth\"; did you mean 'right'?",
    ]


def test_words_are_those_of_a_form() -> None:
    assert set(WORDS) < set(Form._fields)
    for name, words in WORDS.items():
        assert Form._field_defaults[name] in words


def test_verdicts() -> None:
    assert get_args(Verdict) == VERDICTS
