"""What commands say and write of small models is what is kept, to the letter.

After a change that is meant: `python -m tests.golden`, then read `git diff tests/golden`.
"""

import difflib
from pathlib import Path

import pytest

from tests.golden.kept import FOLDER, file_of, files, kept, said
from tests.golden.lines import lines


@pytest.mark.parametrize("line", lines())
def test_what_a_command_says(line: str, tmp_path: Path) -> None:
    was, now = kept(file_of(line)).get(line, ""), said(line, tmp_path)
    if now != was:
        differs = difflib.unified_diff(
            was.split("\n"), now.split("\n"), "kept", "said", lineterm=""
        )
        pytest.fail("\n".join([*differs, "If it is meant: python -m tests.golden"]), pytrace=False)


def test_nothing_is_kept_of_what_is_not_asked() -> None:
    assert {path: list(kept(path)) for path in FOLDER.iterdir()} == files()
