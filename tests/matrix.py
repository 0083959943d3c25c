"""Runs tests in environments that it makes: `python -m tests.matrix [--only NAME,...] [--fresh]`.

`newest-3.12` and `lowest-3.12` have the newest packages that pip finds and the lowest that
pyproject.toml promises, so on each Python that is installed, and run the fast tier; so does `cpu`,
with the newest onnxruntime, whose build for GPUs comes later. `torch`, `tensorflow` and `browser`
run the tests that have these marks. Environments, and the log of each run, are kept in .matrix/.
"""

import argparse
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from tests import run_command

ROOT: Final = Path(__file__).resolve().parents[1]
KEPT: Final = ROOT / ".matrix"
NEWEST_PYTHON: Final = 14
"""Pythons up to this 3.x are named as skipped where they are not installed; later ones run too."""
FAST: Final = ("-n", "auto", "--dist", "loadfile", "-m", "not slow")
HEAVY: Final = {
    "torch": ("torch==2.13.0", "onnxscript"),
    "tensorflow": ("tensorflow-cpu==2.21.0", "keras==3.15.1", "tf2onnx==1.17.0"),
    "browser": (),
}
"""Marks of tests, with the packages that these tests need; the browser is the system's."""


@dataclass(frozen=True, slots=True)
class Environment:
    """What is installed for some tests, and which.

    Attributes:
        name: Also that of its folder.
        python: The interpreter that it is made with.
        options: The options of pytest that choose the tests.
        lowest: Whether the packages are the lowest that are promised; else the newest.
        packages: What is installed besides.
        without: What they take the place of.
    """

    name: str
    python: Path
    options: tuple[str, ...]
    lowest: bool = False
    packages: tuple[str, ...] = ()
    without: str = ""


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if the tests pass in all environments, 1 if not."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.matrix",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", help="such as torch,browser or lowest or newest-3.12")
    parser.add_argument("--fresh", action="store_true", help="make the environments anew")
    options = parser.parse_args(arguments)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    environments, missing = planned(project, pythons())
    words = {*options.only.split(",")} if options.only else set()
    names = {name: {name, *name.split("-")} for name in (*missing, *(e.name for e in environments))}
    if unknown := words.difference(*names.values()):
        parser.error(f"no environment is named {min(unknown)!r}; there are {', '.join(names)}")
    said = [
        f"{each.name}: {tried(each, project, fresh=options.fresh)}"
        for each in environments
        if not words or words & names[each.name]
    ]
    said += [
        f"{name}: skipped, {why}" for name, why in missing.items() if not words or words & {name}
    ]
    print("\n".join(said))
    return int(any("failed" in each for each in said))


def bounds(project: Mapping[str, Any]) -> dict[str, str]:
    """The lowest version that is promised of each package that onnxpad needs on this machine."""
    needs = [Requirement(each) for each in project["dependencies"]]
    return {
        need.name: next(each.version for each in need.specifier if each.operator == ">=")
        for need in needs
        if need.marker is None or need.marker.evaluate()
    }


def pythons() -> dict[int, Path]:
    """The interpreter of each Python 3.x that is installed, by x: on the PATH, or of pyenv."""
    found = {sys.version_info.minor: Path(sys.executable)}
    for minor in range(8, 40):
        kept = sorted((Path.home() / ".pyenv" / "versions").glob(f"3.{minor}.*/bin/python"))
        path = kept[-1] if kept else shutil.which(f"python3.{minor}")
        if path and minor not in found:
            found[minor] = Path(path)
    return dict(sorted(found.items()))


def planned(
    project: Mapping[str, Any], installed: Mapping[int, Path]
) -> tuple[list[Environment], dict[str, str]]:
    """All environments, and why others cannot be made, by name."""
    promised = SpecifierSet(project["requires-python"])
    environments: list[Environment] = []
    missing: dict[str, str] = {}
    for minor in range(max(NEWEST_PYTHON, *installed) + 1):
        if f"3.{minor}" not in promised:
            continue
        for kind in ("newest", "lowest"):
            name, lowest = f"{kind}-3.{minor}", kind == "lowest"
            if minor in installed:
                environments.append(Environment(name, installed[minor], FAST, lowest=lowest))
            else:
                missing[name] = f"Python 3.{minor} is not installed"
    if environments:
        newest, oldest = environments[-1].python, environments[0].python
        cpu = Environment("cpu", newest, FAST, packages=("onnxruntime",), without="onnxruntime-gpu")
        environments.append(cpu)
        for mark, packages in HEAVY.items():  # frameworks are slow to come to new Pythons
            environments.append(Environment(mark, oldest, ("-m", mark), packages=packages))
    return environments, missing


def tried(environment: Environment, project: Mapping[str, Any], *, fresh: bool) -> str:
    """What the tests say in an environment, which is made if it is not there: their last line."""
    folder, log = KEPT / environment.name, KEPT / f"{environment.name}.log"
    interpreter = folder / "bin" / "python"
    pip: list[str | Path] = [interpreter, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    lowest = bounds(project) if environment.lowest else {}
    install = [*pip, "install", "--only-binary", ":all:", "-e", f"{ROOT}[test]"]
    steps: list[list[str | Path]] = [
        [environment.python, "-m", "venv", "--clear", folder],
        [*install, *environment.packages, *(f"{name}=={at}" for name, at in lowest.items())],
    ]
    if environment.without:  # both own one folder
        again = ("--no-deps", "--force-reinstall", *environment.packages)
        steps.append([*pip, "uninstall", "--yes", environment.without])
        steps.append([*pip, "install", *again])
    steps = [] if interpreter.exists() and not fresh else steps
    steps.append([interpreter, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rs"])
    steps[-1] += environment.options
    KEPT.mkdir(exist_ok=True)
    print(f"{environment.name}: {log}", flush=True)
    with log.open("w", encoding="utf-8") as stream:
        for step in steps:
            done = subprocess.run(step, cwd=ROOT, stdout=stream, stderr=stream, check=False)
            if done.returncode and step is not steps[-1]:
                shutil.rmtree(folder, ignore_errors=True)
                return f"failed: not made, as {log} says"
    last = (log.read_text(encoding="utf-8").strip().splitlines() or ["nothing was said"])[-1]
    return f"failed: {last}" if done.returncode else last


if __name__ == "__main__":
    run_command(main)
