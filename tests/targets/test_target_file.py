"""Files that say what a runtime does: checked, and each error has its line."""

import re
from pathlib import Path
from typing import get_args

import pytest

from onnxpad.errors import UsageError
from onnxpad.targets.form import Form
from onnxpad.targets.known_targets import Spelling, targets_in
from tests.support.manual import blocks, pages

HEAD = 'title = "NPU"\n'
CELL = '[[cell]]\nverdict = "wrong"\nsource = "s"\n'


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('version = "1"\n', 1),
        ("title = 3\n", 1),
        ('title = "a\n', 1),
        (HEAD + "cell = 3\n", 2),
        (HEAD + '\n# c\ntitel = "b"\n', 4),
        (HEAD + 'spell = ["axes"]\n', 2),
        (HEAD + 'notes = "n"\n', 2),
        (HEAD + CELL, 2),
        (HEAD + CELL + "when = { sized = 1 }\n", 5),
        (HEAD + CELL + "when = { sied = true }\n", 5),
        (HEAD + CELL + 'when = { pads = "ends" }\n', 5),
        (HEAD + CELL + 'when = { dtype = "flaot32" }\n', 5),
        (HEAD + CELL + 'when = { dtype = ["int8", "half"] }\n', 5),
        (HEAD + CELL + "when = { rank = [2, true] }\n", 5),
        (HEAD + CELL + "when = { rank = { mni = 2 } }\n", 5),
        (HEAD + CELL + "when = { rank = { min = false } }\n", 5),
        (HEAD + CELL + "when = { op = [] }\n", 5),
        (HEAD + CELL + "when = { op = [3] }\n", 5),
        (
            HEAD + CELL + 'when = { op = "Conv2D" }\n',
            5,
        ),
        (
            HEAD + CELL + 'when = { op = ["Pad", "Foo"] }\n',
            5,
        ),
        (HEAD + CELL + "when = { rank = {} }\n", 5),
        (HEAD + CELL + "when = { rank = { min = 3, max = 2 } }\n", 5),
        (HEAD + CELL + 'when = {}\nadvice = "--shp"\n', 6),
        (HEAD + CELL + "when = {}\nadvice = 3\n", 6),
        (HEAD + 'cell = ["when"]\n', 2),
        (HEAD + CELL + "when = 3\n", 5),
        (HEAD + CELL + "[cell.when]\nsized = 1\n", 6),
        (HEAD + CELL + "when = {}\nlimit = 1\n", 6),
        (
            HEAD + CELL.replace("wrong", "rigth") + "when = {}\n",
            3,
        ),
        (
            HEAD + CELL + "when = {}\n" + CELL.replace('"s"', '"""\n[[cell]]\n"""') + "when = 3\n",
            11,
        ),
        (HEAD + "[[measured]]\n", 2),
        (HEAD + '[[measured]]\nversion = "1"\ndiffers = []\n', 4),
        (HEAD + CELL + 'when = {}\nlike = ["conv_sane"]\n', 2),
        (HEAD + CELL + 'when = { op = "Pad", pads = "end" }\n', 5),
        (HEAD + CELL + 'when = { op = ["Pad"], pads = "end" }\n', 5),
        (HEAD + CELL + 'when = { op = ["Conv", "Pud"], pads = "end" }\n', 5),
    ],
)
def test_an_error_has_its_line(text: str, line: int) -> None:
    with pytest.raises(UsageError) as error:
        targets_in(Path("npu.toml"), text)
    assert str(error.value).startswith(f"npu.toml:{line}:")


def test_operators_of_other_domains_and_ranges_are_taken() -> None:
    when = (
        '{ op = ["Fft"], domain = "com.acme", rank = { min = 2, max = 2 }, stride = { max = 1 } }'
    )
    text = HEAD + CELL + f'when = {when}\nadvice = "--trust spec"\n'
    assert targets_in(Path("npu.toml"), text)[0].cells


def test_the_example_of_the_manual_is_a_file() -> None:
    (block,) = blocks("toml", page="targets")
    assert targets_in(Path("npu.toml"), block.text)[0].cells
    spelled = re.findall(r"`(\w+)`", block_of_spellings())
    assert set(get_args(Spelling)) <= set(spelled)
    fields = re.findall(r"^\| (`.*?) \|", pages()["targets"], re.MULTILINE)
    assert {*Form.__struct_fields__} <= set(re.findall(r"`(\w+)`", " ".join(fields)))


def block_of_spellings() -> str:
    return pages()["targets"].partition("`spell` lists spellings")[2]
