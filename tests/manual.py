"""`python -m tests.manual` runs the blocks of the manual that the gate does not.

It prints what it skipped, and why. `--write` writes what pages derive from the code, and what their
console sessions print.

A block names its environment: `base` runs in the gate, `torch`, `tf`, `simplifiers`, `optimum` and
`cluster` need these packages, `shell` a shell with `onnxpad`, and `output` is what another block
prints.
"""

import argparse
import os
import re
import shlex
import shutil
import tempfile
import textwrap
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import chdir
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from unittest import mock

import numpy as np
import onnx
import typer

import onnxpad
from onnxpad.cli import COMMANDS, app
from onnxpad.frameworks.conventions.table import CONVENTIONS
from onnxpad.rewrite.registry import catalogue
from onnxpad.targets.known_targets import every
from tests import run_command
from tests.support import BORDER, ROOT, onnxpad_runs, run
from tests.support.manual import DOCS, Block, blocks, pages

BEGIN: Final = "<!-- python -m tests.manual writes from here -->\n"
END: Final = "<!-- to here -->\n"
_SESSION: Final = re.compile(r"(?<=^```console base\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)

NEEDED: Final = {
    "torch": ("torch", "onnxscript"),
    "tf": ("tensorflow", "keras", "tf2onnx"),
    "simplifiers": ("onnxsim", "onnxslim"),
    "optimum": ("optimum.exporters.onnx", "torch", "transformers"),
    "cluster": ("dask.distributed",),
}
"""The packages that an environment needs, by its name."""

FINE: Final = frozenset({0, 1})
"""Exit codes of examples: `check` and `--diff` find something in the model."""

NO_PROVIDER: Final = 4

MODEL: Final = f"""
<ir_version: 9, opset_import: ["" : 17]>
net (float[1, 3, height, width] input) => (float[1, 3, rows, columns] y)
<float[3, 3, 3, 3] w = {{{", ".join(str(i % 5 - 2) for i in range(81))}}}, {BORDER}>
{{
  a = Pad (input, p)
  b = Conv (a, w)
  c = Conv <auto_pad = "SAME_UPPER"> (b, w)
  d = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (c)
  e = Conv <pads = [1, 1, 1, 1]> (d, w)
  y = Conv <pads = [1, 1, 1, 1]> (e, w)
}}
"""
"""The `model.onnx` of the commands, with the sizes that they speak of."""

NAMES: Final = ("pad_3", "stem", "/stem/Conv", "pool1", "conv1", "net/conv1")
"""The names of its nodes, of which the commands speak too."""


def generated() -> dict[str, str]:
    """The generated part of each page that has one."""
    codes = "".join(f"| {e.code} | {e.severity} | {e.title} |\n" for e in catalogue().values())
    codes = f"\n| code | severity | what is found |\n| --- | --- | --- |\n{codes}\n"
    made = {**options_texts(), "targets": targets_text(), "rules": codes}
    return {**made, "explain": f"{_names_text(CONVENTIONS)}\n## Options\n{made['explain']}"}


def targets_text() -> str:
    """The name of each version of each target."""
    return f"{_names_text(each.full_name for each in every())}\n"


def _names_text(names: Iterable[str]) -> str:
    told = ", ".join(f"`{name}`" for name in names)
    return f"\n{textwrap.fill(told, 120, break_on_hyphens=False)}.\n"


@cache
def options_texts() -> dict[str, str]:
    """The options of each command, on its page; those of several are on `commands`."""
    group: Any = typer.main.get_command(app)
    found = {name: group.get_command(None, name) for name in COMMANDS}
    rows = {name: [*map(_row, each.params)] for name, each in found.items()}
    often = Counter(row for each in rows.values() for row in each)
    shared = [row for row, times in often.items() if times > 1]
    made = {"commands": _list(shared)}
    for name, each in found.items():
        own = _list([row for row in rows[name] if row not in shared])
        also = ", ".join(f"`{row.split('`')[1]}`" for row in rows[name] if row in shared)
        also = f"\nAnd [as others](commands.md#options): {also}.\n" if also else ""
        if (DOCS / f"{name}.md").exists() and name != "targets":
            made[name] = f"{own}{also}\n"
        else:
            first, *others = (" ".join(part.split()) for part in each.help.split("\n\n"))
            codes = [part for part in others if part.startswith("Exit codes: ")]
            told = "\n\n".join([first, *codes])
            made["commands"] += f"\n### onnxpad {name}\n\n{told}\n{own}{also}"
    return {**made, "commands": made["commands"] + "\n"}


def _list(rows: Sequence[str]) -> str:
    return f"\n{''.join(rows)}" if rows else ""


def _row(option: Any) -> str:
    return f"- {_names(option)}: {' '.join((option.help or '').split())}\n"


def _names(option: Any) -> str:
    if option.param_type_name == "argument":
        return f"`{option.metavar or option.name.upper()}`"
    if getattr(option.type, "choices", None):
        values = " ".join(f"`{each}`" for each in option.type.choices)
    elif option.is_flag:
        values = ""
    else:
        is_number = option.type.name.startswith(("int", "float"))  # versions of typer differ
        values = f"`{option.metavar or ('NUMBER' if is_number else option.name.upper())}`"
    names = ", ".join(f"`{each}`" for each in (*option.opts, *option.secondary_opts))
    return f"{names} {values}".rstrip()


def written(page: str, made: str) -> str:
    """A page with its generated part made anew."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return before + BEGIN + made + END + after


def recorded(texts: Mapping[str, str]) -> dict[str, str]:
    """Pages by name, with what the commands of their console sessions print now."""
    (target,) = blocks("toml", page="targets")
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        Path("models").symlink_to(ROOT / "models")  # a session may write
        Path("npu.toml").write_text(target.text, encoding="utf-8")
        with mock.patch.dict(os.environ, COLUMNS="80"):
            return {name: _SESSION.sub(_session, text) for name, text in texts.items()}


def _session(match: re.Match[str]) -> str:
    """A session anew; what differs only from machine to machine stays as it was."""
    told = []
    for each in match[0].removeprefix("$ ").split("\n$ "):
        command, _, before = each.rstrip().partition("\n")
        now = onnxpad_runs(*shlex.split(command)[1:]).stdout.rstrip()
        told.append(f"$ {command}\n{before if _measured(before) == _measured(now) else now}\n")
    return "".join(told)


def _measured(text: str) -> str:
    """The text without times and rounding."""
    return re.sub(r"\d+\.\d s\b|\de-0\d\b", "#", text)


def path_of(page: str) -> Path:
    """The file of a page."""
    return ROOT / "README.md" if page == "README" else DOCS / f"{page}.md"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.manual",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--write", action="store_true", help="write pages anew")
    if parser.parse_args(arguments).write:
        derived = {name: written(pages()[name], made) for name, made in generated().items()}
        for name, text in recorded(pages() | derived).items():
            path_of(name).write_text(text, encoding="utf-8")
        return 0
    outcomes = [*in_python(blocks("python")), *in_shell(blocks("sh"))]
    for said in outcomes:
        print(said)
    failed = sum(said.startswith("FAILED") for said in outcomes)
    skipped = sum(said.startswith("skipped") for said in outcomes)
    print(f"{len(outcomes) - failed - skipped} ran, {skipped} skipped, {failed} failed")
    return 1 if failed else 0


def in_python(given: Iterable[Block]) -> Iterator[str]:
    """Runs the blocks that need a package more; those of `base` run in the gate."""
    for block in given:
        if block.environment == "base":
            continue
        missing = [name for name in NEEDED[block.environment] if not _is_installed(name)]
        if missing:
            yield f"skipped {block.page}, {block.environment}: without {', '.join(missing)}"
            continue
        with tempfile.TemporaryDirectory() as folder, chdir(folder), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            make_files(Path("files"))
            try:
                with chdir("files"):
                    exec(block.text, dict(names_for(block.environment)))
            except Exception as error:
                yield f"FAILED {block.page}, {block.environment}: {error}"
            else:
                yield f"ran {block.page}, {block.environment}"


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # a package above it
        return False


def names_for(environment: str) -> Mapping[str, Any]:
    """What an example takes as there: a network, and an image for it."""
    names: dict[str, Any] = {"onnxpad": onnxpad}
    if environment == "torch":
        torch = import_module("torch")
        net = torch.nn.Sequential(torch.nn.ZeroPad2d(1), torch.nn.Conv2d(1, 1, 3)).eval()
        return names | {"net": net, "image": torch.ones(1, 1, 8, 8)}
    if environment != "tf":
        return names
    keras = import_module("keras")
    layers = [keras.layers.ZeroPadding2D(1), keras.layers.DepthwiseConv2D(3)]
    return names | {"net": keras.Sequential([keras.layers.Input((224, 224, 3)), *layers])}


def in_shell(given: Iterable[Block]) -> Iterator[str]:
    """Runs the commands of `onnxpad`; those of a block in one folder, with the files they name."""
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder) / "fresh"
        make_files(fresh)
        for block in given:
            place = Path(folder) / "place"
            shutil.copytree(fresh, place, symlinks=True)
            for line in block.text.replace("\\\n", "").splitlines():
                if not line.startswith("onnxpad "):
                    yield f"skipped {block.page}, shell: it installs or takes long: {line}"
                    continue
                with chdir(place):
                    shown = line.partition("#")[0].strip()
                    yield f"{outcome_of(line)} {block.page}, shell: {shown}"
            shutil.rmtree(place)


def outcome_of(line: str) -> str:
    """Whether a command ran, failed, or lacked a provider."""
    words = shlex.split(line.partition("#")[0].partition(">")[0])[1:]
    result = onnxpad_runs(*words)
    if result.exit_code in FINE:
        return "ran"
    if result.exit_code == NO_PROVIDER:
        return "skipped (no such provider here)"
    return f"FAILED ({result.exit_code}, {result.stderr.strip()})"


def make_files(folder: Path) -> None:
    """The files that the commands of the manual name."""
    folder.mkdir()
    model = onnx.parser.parse_model(MODEL)
    for node, name in zip(model.graph.node, NAMES, strict=True):
        node.name = name
    onnx.save(model, folder / "model.onnx")
    for name in ("model.fixed.onnx", "simplified.onnx"):
        onnxpad.fix(model, validate=False).save(folder / name)
    feeds = {"input": np.random.default_rng(0).normal(size=(1, 3, 224, 224)).astype("f4")}
    (output,) = run(model, feeds)
    arrays: dict[str, Any] = {**feeds, "y": output}
    np.savez(folder / "outputs.npz", **arrays)
    for name in ("exported", "test_data_set_0"):
        (folder / name).mkdir()
    shutil.copy(folder / "model.onnx", folder / "exported")
    tensor = onnx.numpy_helper.from_array(feeds["input"], "input")
    (folder / "test_data_set_0" / "input_0.pb").write_bytes(tensor.SerializeToString())
    (folder / "models").symlink_to(ROOT / "models")
    for name in ("known.json", "padding.json"):
        (folder / name).write_text('{"version": 1, "models": {}}')


if __name__ == "__main__":
    run_command(main)
