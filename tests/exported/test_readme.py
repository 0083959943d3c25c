"""The tables of models/README.md, and the numbers of README.md that sum them up.

Its rows come from `python models/scripts/remaining.py`. Those of a model are asked for by its item
of test_each_style.py.
"""

import re
import runpy
from functools import cache
from typing import Any

from tests.exported.results import NAMES, fixed, original
from tests.support import MODELS, ROOT

README = (MODELS / "README.md").read_text(encoding="utf-8")


@cache
def script() -> dict[str, Any]:
    return runpy.run_path(str(MODELS / "scripts" / "remaining.py"))


@cache
def tables() -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """The README's two tables: a row by model, and what remains."""
    section = README.split("\n## What onnxpad makes of them\n")[1].split("\n## ")[0]
    rows = [
        tuple(line[2:-2].split(" | ")) for line in section.splitlines() if line.startswith("| `")
    ]
    return rows[: len(NAMES)], rows[len(NAMES) :]


def its_rows_are_in_the_readme(name: str) -> None:
    """Holds what is made of a model in style `fold` against both tables."""
    changed, stays = script()["rows"](name, original(name), fixed(name, "fold"))
    told = [[row for row in table if row[0] == f"`{name}`"] for table in tables()]
    assert told == [[changed], stays], "python models/scripts/remaining.py writes them anew"


def test_the_tables_have_all_models_and_nothing_else() -> None:
    changed, stays = tables()
    assert [row[0].strip("`") for row in changed] == NAMES
    assert {row[0].strip("`") for row in stays} <= {*NAMES}
    assert script()["BEGIN"] + script()["section"](changed, stays) + script()["END"] in README
    assert "| unreported |" not in README


def test_every_model_has_its_situation_told() -> None:
    section = README.split("\n## The situations\n")[1].split("\n## ")[0]
    cells = [line.split(" | ")[0] for line in section.splitlines() if line.startswith("| `")]
    assert sorted(re.findall(r"`(\w+)`", " ".join(cells))) == NAMES


def test_the_readme_of_the_project_counts_what_is_left() -> None:
    changed, _ = tables()
    counts = [[int(n) for cell in row[3:5] for n in cell.split(" to ")] for row in changed]
    pads, pads_left, sames, sames_left = map(sum, zip(*counts, strict=True))
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"on the {len(NAMES)} exports in [models/](models/)" in text
    assert f"| | `Pad` left, of {pads} | SAME left, of {sames} | " in text
    assert f"| `onnxpad fix` | {pads_left} | {sames_left} | none |" in text
