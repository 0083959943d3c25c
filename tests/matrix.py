"""Runs tests in environments that it makes: `python -m tests.matrix [--only NAME,...] [--fresh]`.

`newest-3.12` and `lowest-3.12` have the newest packages that pip finds and the lowest that
pyproject.toml promises, so on each Python that is installed, and run the fast tier; so does `cpu`,
with the newest onnxruntime, whose build for GPUs comes later. `torch`, `tensorflow` and `browser`
run the tests that have these marks. Environments are kept in .matrix/.
The last column of an environment that failed says why; its log is .matrix/NAME.log.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

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

BROWSERS: Final = ("chromium", "chromium-browser", "chrome")
ASKED: Final = (
    "import platform, sys, sysconfig; "
    "assert platform.python_implementation() == 'CPython' and sys.version_info[3] == 'final'; "
    "assert not sysconfig.get_config_var('Py_GIL_DISABLED'); print(platform.python_version())"
)
VERSIONS: Final = (
    "import importlib.metadata as m, json; "
    "print(json.dumps({d.name.replace('_', '-').lower(): d.version for d in m.distributions()}))"
)


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

    @property
    def folder(self) -> Path:
        """Where it is kept."""
        return KEPT / self.name

    @property
    def interpreter(self) -> Path:
        """The Python inside it."""
        windows = os.name == "nt"
        return self.folder / ("Scripts/python.exe" if windows else "bin/python")


@dataclass(frozen=True, slots=True)
class Row:
    """What the tests of an environment said.

    Attributes:
        name: The environment.
        versions: Of the packages inside it and of Python, by name.
        passed, failed, skipped: Numbers of tests.
        seconds: How long they took.
        reasons: Why tests were skipped, and how many.
        notes: What of the environment is not as was promised.
        why: Why it failed; empty if it did not.
    """

    name: str
    versions: Mapping[str, str] = field(default_factory=dict)
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0
    reasons: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    why: str = ""


class NotMadeError(Exception):
    """An environment that could not be made, and why."""


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if the tests pass in all environments, 1 if not, 130 if interrupted."""
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
    try:
        environments, missing = chosen(environments, missing, options.only)
    except ValueError as error:
        parser.error(str(error))
    rows: list[Row] = []
    status = 0
    try:
        for environment in environments:
            if environment.name == "browser" and (lack := no_browser()):
                missing["browser"] = lack
                continue
            rows.append(tried(environment, project, fresh=options.fresh))
    except KeyboardInterrupt:
        print("\ninterrupted")
        status = 130
    print(table(rows, list(bounds(project))))
    print(remarks(rows, missing))
    return status or int(any(row.why for row in rows))


# What there is to run


def bounds(project: Mapping[str, Any]) -> dict[str, str]:
    """The lowest version that is promised of each package that onnxpad needs on this machine."""
    needs = [Requirement(each) for each in project["dependencies"]]
    return {
        need.name: next(each.version for each in need.specifier if each.operator == ">=")
        for need in needs
        if need.marker is None or need.marker.evaluate()
    }


def pythons() -> dict[int, Path]:
    """The newest installed interpreter of each Python 3.x, by x: on PATH, of pyenv and of uv."""
    home = Path.home()
    pyenv = Path(os.environ.get("PYENV_ROOT", home / ".pyenv"))
    uv = Path(os.environ.get("UV_PYTHON_INSTALL_DIR", home / ".local" / "share" / "uv" / "python"))
    candidates = [Path(sys.executable)]
    candidates += filter(None, (found(f"python3.{minor}") for minor in range(8, 40)))
    candidates += (pyenv / "versions").glob("3.*/bin/python")
    candidates += uv.glob("cpython-3.*/bin/python3")
    newest: dict[int, tuple[Version, Path]] = {}
    for path in candidates:
        done = subprocess.run([path, "-c", ASKED], capture_output=True, text=True, check=False)
        if done.returncode == 0:  # pyenv's shims are there for versions that are not
            version = Version(done.stdout.strip())
            before = newest.get(version.minor)
            if before is None or before[0] < version:
                newest[version.minor] = version, path
    return {minor: path for minor, (_, path) in sorted(newest.items())}


def found(program: str) -> Path | None:
    """Where a program is on the PATH."""
    path = shutil.which(program)
    return Path(path) if path else None


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
            name = f"{kind}-3.{minor}"
            if minor in installed:
                lowest = kind == "lowest"
                environments.append(Environment(name, installed[minor], FAST, lowest=lowest))
            else:
                missing[name] = f"Python 3.{minor} is not installed"
    if environments:
        cpu = Environment("cpu", environments[-1].python, FAST, packages=("onnxruntime",))
        environments.append(replace(cpu, without="onnxruntime-gpu"))
    for mark, packages in HEAVY.items():
        if environments:  # frameworks are slow to come to new Pythons: the lowest one
            environments.append(
                Environment(mark, environments[0].python, ("-m", mark), packages=packages)
            )
    return environments, missing


def chosen(
    environments: Sequence[Environment], missing: Mapping[str, str], only: str | None
) -> tuple[list[Environment], dict[str, str]]:
    """The environments, and those that cannot be made, whose names or parts of them are asked for.

    Raises:
        ValueError: A word names none.
    """
    if only is None:
        return list(environments), dict(missing)
    words = set(only.split(","))
    names = [*(each.name for each in environments), *missing]
    parts = {name: {name, *name.split("-")} for name in names}
    if unknown := sorted(words - set().union(*parts.values())):
        raise ValueError(f"no environment is named {unknown[0]!r}; there are {', '.join(names)}")
    return (
        [each for each in environments if parts[each.name] & words],
        {name: why for name, why in missing.items() if parts[name] & words},
    )


def no_browser() -> str:
    """Why there is no Chromium; empty if there is. Installs Debian's where that is allowed."""
    if not any(map(found, BROWSERS)) and found("apt-get") and os.geteuid() == 0:
        print("browser: installing Debian's package chromium")
        for words in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
            quiet(["apt-get", "-qq", *words])
    if any(map(found, BROWSERS)):
        return ""
    return "there is no Chromium; as root, apt-get brings Debian's"


# One environment


def tried(environment: Environment, project: Mapping[str, Any], *, fresh: bool) -> Row:
    """What the tests say in an environment, which is made if it is not there or no longer right."""
    try:
        notes = made(environment, project, fresh=fresh)
    except NotMadeError as error:
        return Row(environment.name, failed=1, why=f"not made: {error}")
    shown = quiet([environment.interpreter, "-c", VERSIONS]).stdout
    versions = json.loads(shown) if shown else {}
    versions["python"] = quiet([environment.interpreter, "-c", ASKED]).stdout.strip()
    results, log = (KEPT / f"{environment.name}.{end}" for end in ("xml", "log"))
    results.unlink(missing_ok=True)
    options = [*environment.options, "-q", "-p", "no:cacheprovider", f"--junitxml={results}"]
    print(f"{environment.name}: pytest {' '.join(environment.options)}", flush=True)
    start = time.monotonic()
    with log.open("w", encoding="utf-8") as stream:
        subprocess.run(
            [environment.interpreter, "-m", "pytest", *options],
            cwd=ROOT,
            env=apart(),
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            check=False,
        )
    seconds = time.monotonic() - start
    if not results.exists():
        last = log.read_text(encoding="utf-8").strip().splitlines()[-1:]
        return Row(environment.name, versions, failed=1, notes=notes, why=" ".join(last))
    return read(environment.name, results, versions, seconds, notes)


def made(environment: Environment, project: Mapping[str, Any], *, fresh: bool) -> tuple[str, ...]:
    """What of the environment is not as was promised, once it is there.

    Raises:
        NotMadeError: venv or pip failed.
    """
    wanted = bounds(project) if environment.lowest else {}
    asked = [
        *map(str, (environment.python, environment.folder)),
        *environment.packages,
        *map("==".join, wanted.items()),
    ]
    asked += [*project["dependencies"], *project["optional-dependencies"]["test"]]
    stamp = environment.folder / "made.json"
    # Without its interpreter, where that was removed, or a whole stamp, it is made anew.
    with suppress(OSError, ValueError):
        kept = json.loads(stamp.read_text(encoding="utf-8"))
        if not fresh and kept["asked"] == asked and environment.interpreter.exists():
            print(f"{environment.name}: as it was made on {kept['day']}")
            return tuple(kept["notes"])
    print(f"{environment.name}: installing", flush=True)
    KEPT.mkdir(exist_ok=True)
    needed([environment.python, "-m", "venv", "--clear", environment.folder])
    pip: list[str | Path] = [environment.interpreter, "-m", "pip", "--disable-pip-version-check"]
    notes = []
    for name, bound in wanted.items():
        wanted[name] = lowest_wheel(pip, name, bound)
        if wanted[name] != bound:
            notes.append(f"{name} {wanted[name]} in place of {bound}, which has no wheel here")
    constraints = environment.folder / "constraints.txt"
    constraints.write_text("".join(f"{name}=={v}\n" for name, v in wanted.items()))
    options = ("--quiet", "--only-binary", ":all:", "-c", str(constraints))
    needed([*pip, "install", *options, "-e", f"{ROOT}[test]", *environment.packages])
    if environment.without:  # both own one folder
        needed([*pip, "uninstall", "--quiet", "--yes", environment.without])
        again = ("--quiet", "--no-deps", "--force-reinstall")
        needed([*pip, "install", *again, *environment.packages])
    told = {"asked": asked, "notes": notes, "day": time.strftime("%Y-%m-%d")}
    stamp.write_text(json.dumps(told), encoding="utf-8")
    return tuple(notes)


def lowest_wheel(pip: Sequence[str | Path], name: str, bound: str) -> str:
    """The lowest version from the bound on that has a wheel for this Python; else the bound."""
    options = ("--quiet", "--dry-run", "--no-deps", "--ignore-installed", "--only-binary", ":all:")

    def is_there(version: str) -> bool:
        asked: list[str | Path] = [*pip, "install", *options, f"{name}=={version}"]
        return quiet(asked).returncode == 0

    if is_there(bound):
        return bound
    shown = re.search("Available versions: (.*)", quiet([*pip, "index", "versions", name]).stdout)
    known = sorted(map(Version, shown[1].split(", "))) if shown else []
    later = (str(version) for version in known if version > Version(bound))
    return next(filter(is_there, later), bound)


def quiet(command: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
    """What a command printed, whether or not it failed."""
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=apart(), cwd=ROOT
    )


def needed(command: Sequence[str | Path]) -> None:
    """Runs a command.

    Raises:
        NotMadeError: It failed, with its last line.
    """
    try:
        done = quiet(command)
    except OSError as error:
        raise NotMadeError(str(error)) from error
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        errors = [line for line in lines if line.startswith("ERROR")] or lines
        raise NotMadeError(errors[-1] if errors else f"exit code {done.returncode}")


def apart() -> dict[str, str]:
    """The variables of this process, without those by which a Python finds another's packages."""
    return {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")
    }


def read(
    name: str,
    results: Path,
    versions: Mapping[str, str],
    seconds: float,
    notes: tuple[str, ...] = (),
) -> Row:
    """The row of what pytest wrote as JUnit's XML."""
    failed: list[str] = []
    reasons: Counter[str] = Counter()
    passed = 0
    for case in ElementTree.parse(results).getroot().iter("testcase"):
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            failed.append(f"{case.get('classname')}::{case.get('name')}")
        elif skipped is not None:
            said = skipped.get("message")  # of a whole module, the reason is in the text
            if said == "collection skipped":
                said = str(skipped.text).strip().rpartition("Skipped: ")[2].rstrip("'\")")
            reasons[str(said)] += 1
        else:
            passed += 1
    why = ", ".join(failed[:3]) + (" ..." if len(failed) > 3 else "")
    return Row(
        name,
        versions,
        passed,
        len(failed),
        reasons.total(),
        seconds,
        reasons,
        notes,
        why or ("" if passed else "no test ran"),
    )


# What is printed


def table(rows: Iterable[Row], packages: Sequence[str]) -> str:
    """The environments with their versions and counts, in columns."""
    heads = ["environment", "python", *packages, "passed", "failed", "skipped", "s", ""]
    lines = [heads]
    for row in rows:
        versions = [row.versions.get(name, "-") for name in heads[1 : 2 + len(packages)]]
        counts = [str(count) for count in (row.passed, row.failed, row.skipped)]
        lines.append([row.name, *versions, *counts, f"{row.seconds:.0f}", row.why])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def remarks(rows: Iterable[Row], missing: Mapping[str, str]) -> str:
    """What was skipped and why, and which versions are not the promised ones."""
    lines = [f"  {name}: {why}" for name, why in missing.items()]
    where: dict[str, list[str]] = {}
    for row in rows:
        lines += [f"  {row.name}: {note}" for note in row.notes]
        for reason, count in row.reasons.items():
            where.setdefault(reason, []).append(f"{count} in {row.name}")
    lines += [f"  {', '.join(names)}: {reason}" for reason, names in where.items()]
    return "\n".join(["Skipped:", *lines]) if lines else "Nothing was skipped."


if __name__ == "__main__":
    run_command(main)
