"""Files that say what a runtime does: checked, and each error names its key."""

import re
from pathlib import Path
from typing import get_args

import pytest

from onnxpad.errors import UsageError
from onnxpad.targets.form import Form
from onnxpad.targets.known_targets import target_in
from onnxpad.targets.target import Spelling
from tests.support.manual import blocks, pages

HEAD = 'title = "NPU"\n'
CELL = '[[cell]]\nverdict = "wrong"\nsource = "s"\n'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('version = "1"\n', "title"),
        ("title = 3\n", "title"),
        ('title = "a\n', "line 1"),
        (HEAD + "cell = 3\n", "cell"),
        (HEAD + 'titel = "b"\n', "title"),
        (HEAD + 'spell = ["axes"]\n', "no_axes"),
        (HEAD + 'notes = "n"\n', "notes"),
        (HEAD + CELL, "when"),
        (HEAD + CELL + "when = { sized = 1 }\n", "sized"),
        (HEAD + CELL + "when = { sied = true }\n", "sized"),
        (HEAD + CELL + 'when = { pads = "ends" }\n', "did you mean 'end'? known are begin, end, "),
        (HEAD + CELL + "when = { ceil = true }\n", "known are '', dropped, even, open and over"),
        (HEAD + CELL + "when = { ceil_mode = 1 }\n", "did you mean 'ceil'?"),
        (HEAD + CELL + 'when = { dtype = "flaot32" }\n', "float32"),
        (HEAD + CELL + 'when = { dtype = ["int8", "half"] }\n', "half"),
        (HEAD + CELL + "when = { rank = [2, true] }\n", "rank"),
        (HEAD + CELL + "when = { rank = { mni = 2 } }\n", "mni"),
        (HEAD + CELL + "when = { rank = { min = false } }\n", "rank"),
        (HEAD + CELL + "when = { op = [] }\n", "op"),
        (HEAD + CELL + "when = { op = [3] }\n", "op"),
        (HEAD + CELL + 'when = { op = "Conv2D" }\n', "Conv2D"),
        (HEAD + CELL + 'when = { op = ["Pad", "Foo"] }\n', "Foo"),
        (HEAD + CELL + 'when = {}\nadvice = "--shp"\n', "did you mean '--shape'?"),
        (HEAD + CELL + "when = {}\nadvice = 3\n", "advice"),
        (HEAD + 'cell = ["when"]\n', "cell[0]"),
        (HEAD + CELL + "when = 3\n", "when"),
        (HEAD + CELL + "when = {}\nlimit = 1\n", "limit"),
        (HEAD + CELL.replace("wrong", "rigth") + "when = {}\n", "'right'? known are fallback, "),
        (HEAD + CELL + "when = {}\n" + CELL + "when = 3\n", "cell[1].when"),
        (HEAD + '[[measured]]\nversion = "1"\n', "measured"),
        (HEAD + CELL + 'when = {}\nlike = ["conv_sane"]\n', "conv_sane"),
        (HEAD + CELL + 'when = { op = ["Conv", "Pud"], pads = "end" }\n', "Pud"),
    ],
)
def test_an_error_names_the_file_and_the_key(text: str, told: str) -> None:
    with pytest.raises(UsageError) as error:
        target_in(Path("npu.toml"), text)
    assert str(error.value).startswith("npu.toml: ")
    assert "\n" not in str(error.value)
    assert told in str(error.value)


def test_operators_of_other_domains_and_ranges_are_taken() -> None:
    when = (
        '{ op = ["Fft"], domain = "com.acme", rank = { min = 2, max = 2 }, stride = { max = 1 } }'
    )
    text = HEAD + CELL + f'when = {when}\nadvice = "--trust spec"\n'
    assert target_in(Path("npu.toml"), text).cells


def test_the_example_of_the_manual_is_a_file() -> None:
    (block,) = blocks("toml", page="targets")
    assert target_in(Path("npu.toml"), block.text).cells
    spelled = re.findall(r"`(\w+)`", block_of_spellings())
    assert set(get_args(Spelling)) <= set(spelled)
    fields = re.findall(r"^\| (`.*?) \|", pages()["targets"], re.MULTILINE)
    assert {*Form.__struct_fields__} <= set(re.findall(r"`(\w+)`", " ".join(fields)))


def block_of_spellings() -> str:
    return pages()["targets"].partition('`spell = ["no_axes"]`')[2]
