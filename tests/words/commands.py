"""Command lines run in this process, with the product's words or with random text for them."""

import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from tests.words.scrambling import differences, has_random, install, numbers, texts

_WIDE: Final = "5000"
"""Columns of the screen, in which no line of a report is broken."""


def main() -> None:
    """Runs the command lines that the argument has as JSON, and prints what they say as JSON."""
    asked = json.loads(sys.argv[1])
    if asked["planted"] is not None:
        install({name: (old, new) for name, old, new in asked["planted"]})
    from onnxpad.page.pictures import graph_svg
    from tests.behaviour import cases

    graph_svg._LETTERS = int(_WIDE)  # type: ignore[misc]  # lines break where words do
    models = {path.stem: path for path in cases.subjects()}
    found = [_run(line, models.get(stem)) for stem, line in asked["lines"]]
    sys.stdout.write(json.dumps(found))


def _run(line: str, model: Path | None) -> Any:
    from tests.behaviour.cases import case
    from tests.behaviour.recording import contents, invoked, normalised, prepare

    asked = case("words", line, model)
    with tempfile.TemporaryDirectory(prefix="behaviour-") as name:
        folder = Path(name).resolve()
        prepare(folder, asked)
        screen = {**asked.environment, "COLUMNS": _WIDE}
        code, out, err = invoked(asked.words, screen, folder)
        files = {
            path: (kind, None if data is None else normalised(data.decode("latin-1"), folder))
            for path, (kind, data) in contents(folder).items()
        }
        return code, normalised(out, folder), normalised(err, folder), files


def unlike(plain: Sequence[Any], random: Sequence[Any]) -> Iterator[str]:
    """What a command does differently where it says random text, other than in words."""
    code, out, err, files = plain
    other_code, other_out, other_err, other_files = random
    if code != other_code:
        yield f"exit code {code} against {other_code}: {other_err[-300:]}"
    for name, one, other in (("stdout", out, other_out), ("stderr", err, other_err)):
        if one.startswith("{") and other.startswith("{"):
            yield from differences(json.loads(one), json.loads(other), name)
        elif numbers(one) != numbers(other):
            yield f"{name} has other numbers: {one!r} against {other!r}"
    if [*files] != [*other_files]:
        yield f"files {[*files]} against {[*other_files]}"
    for name, (kind, text) in files.items():
        other_kind, other = other_files.get(name, (kind, text))
        if text == other and kind == other_kind:
            continue
        if not name.endswith((".html", ".svg")):
            if kind != other_kind or not has_random(other):
                yield f"{name}: other bytes"
        elif texts(text) != texts(other):
            parts = zip(texts(text), texts(other), strict=False)
            where = next((pair for pair in parts if pair[0] != pair[1]), "its length")
            yield f"{name}: other elements, or other numbers in them: {where}"
