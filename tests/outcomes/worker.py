"""Runs command lines of onnxpad in one process: a line of JSON comes in, its outcome goes out.

It has to work with any tree of onnxpad. So it imports nothing of the tests, and of onnxpad only the
command line, from the tree that PYTHONPATH names first.
"""

import contextlib
import hashlib
import io
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import onnx

_LONGEST: Final = 4096
"""Bytes of a tensor beyond which it is not in the text of a model."""

_LEFT: Final = {"Pad": r" = Pad [<(]", "auto_pad": r'\bauto_pad: string = "(?!NOTSET)'}
"""What padding is in the text of a model."""


def outcome(job: Mapping[str, Any], app: Callable[..., Any]) -> dict[str, Any]:
    """The facts of a command line in a folder of its own; where it has a name, all stays in it."""
    folder = Path(job.get("folder") or tempfile.mkdtemp(prefix="outcome-")).resolve()
    out, err = io.StringIO(newline=""), io.StringIO(newline="")
    code: int | str = "none"
    try:
        (folder / "sub").mkdir()
        for name, source in job["files"].items():
            shutil.copyfile(source, folder / name)  # without its mode: it may be read-only
        before = _contents(folder)
        streams = contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)
        with contextlib.chdir(folder), streams[0], streams[1]:
            try:
                app(list(job["words"]), prog_name="onnxpad")
            except SystemExit as left:
                code = left.code if isinstance(left.code, int) else str(left.code)
            except Exception as error:  # a traceback is an outcome
                code = f"raises {type(error).__name__}"
        facts = {"exit": code, **_of_report(out.getvalue(), code)}
        facts |= _of_files(before, _contents(folder))
        if "folder" in job:
            for name, said in ("stdout", out), ("stderr", err):
                (folder / name).write_text(said.getvalue(), encoding="utf-8")
    finally:
        if "folder" not in job:
            shutil.rmtree(folder, ignore_errors=True)
    return {name: fact for name, fact in facts.items() if fact not in ("", [], None)}


def _contents(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def _of_files(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> dict[str, Any]:
    """Files that were written: names, checksums, and the padding that is left in models."""
    written = [name for name in sorted(after) if before.get(name) != after[name]]
    texts = [text_of(after[name]) for name in written if name.endswith(".onnx")]
    return {
        "files": written + [f"{name} is gone" for name in sorted(before.keys() - after.keys())],
        "bytes": [checksum(after[name]) for name in written if not name.endswith(".html")],
        "model": [checksum(text.encode()) for text in texts],
        "left": [f"{len(re.findall(a, t))} {name}" for t in texts for name, a in _LEFT.items()],
    }


def text_of(data: bytes) -> str:
    """A model as ONNX text, with its bodies and functions, and without large tensors."""
    try:
        model = onnx.ModelProto.FromString(data)
        small = [each for each in model.graph.initializer if each.ByteSize() <= _LONGEST]
        del model.graph.initializer[:]
        model.graph.initializer.extend(small)
        return str(onnx.printer.to_text(model))
    except Exception as error:  # its kind depends on the version of protobuf
        return f"no text: {type(error).__name__}"


def _of_report(out: str, code: int | str) -> dict[str, Any]:
    """Facts of the JSON, without words, times and sizes."""
    report: dict[str, Any] = {}
    with contextlib.suppress(ValueError):
        report = json.loads(out) if out.startswith("{") else {}
    parts = [*_parts(report)]
    error = report.get("error")  # `match` has numbers there
    names = ("node", "scope", "kind", "pads", "own_pads", "fixable", "stays")
    sites = [[each.get(name) for name in names] for each in report.get("sites") or ()]
    numbers = sites or (report.get("command") == "explain" and report.get("conventions"))
    return {
        "error": error.get("kind") if isinstance(error, dict) else "usage" if code == 2 else "",
        "outcome": report.get("outcome"),
        "validation": (report.get("validation") or {}).get("outcome"),
        "summary": report.get("summary"),
        "findings": _about(parts, r"(.*\.)?findings\[\]"),
        "undone": _about(parts, r"(undone|barred)\[\]"),
        "changes": _about(parts, r"changes\[\]"),
        "told": checksum(json.dumps(numbers).encode()) if numbers else "",
        "keys": sorted({place for place, _ in parts if not place.endswith("[]")}),
    }


def _parts(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """All values of a report, with their keys, as `findings[].code`."""
    for each in value if isinstance(value, list) else ():
        yield f"{place}[]", each
        yield from _parts(each, f"{place}[]")
    for key, each in value.items() if isinstance(value, dict) else ():
        path = f"{place}.{key}".removeprefix(".")
        yield path, each
        yield from _parts(each, path)


def _about(parts: list[tuple[str, Any]], pattern: str) -> list[str]:
    """Code, code of the reason, and node of all that has such a key."""
    found = [v for place, v in parts if re.fullmatch(pattern, place) and isinstance(v, dict)]
    names = ("code", "severity", "reason_code", "node")
    return sorted(" ".join(str(each.get(name) or "-") for name in names) for each in found)


def checksum(data: bytes) -> str:
    """The first digits of a SHA-256."""
    return hashlib.sha256(data).hexdigest()[:16]


def main() -> None:
    """Answers each line of stdin in one of stdout, to which nothing else can write."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    for stream in 1, 2:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    for name in [n for n in os.environ if re.match("ONNXPAD|NO_COLOR|TERM$", n)]:
        del os.environ[name]
    os.environ |= {"COLUMNS": "80", "OPENBLAS_NUM_THREADS": "1"}
    import onnxpad
    from onnxpad.cli import app

    print(json.dumps({"tree": str(Path(onnxpad.__file__).parents[1])}), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(outcome(json.loads(line), app)), file=answers, flush=True)


if __name__ == "__main__":
    main()
