"""What is installed: the metadata, the list of packages, and what `import onnxpad` costs."""

import importlib.metadata
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import onnxpad
from tests.support import ROOT
from tests.support.manual import pages

SLOW = ("onnxruntime", "pydantic", "rich", "typer")


def configured() -> dict[str, Any]:
    """What pyproject.toml tells setuptools."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found: dict[str, Any] = project["tool"]["setuptools"]
    return found


def folders() -> dict[str, Path]:
    """Folders that are packages, by the name they are imported under."""
    package = ROOT / "onnxpad"
    found = {"onnxpad.passes": ROOT / "passes"}
    for path in package.rglob("__init__.py"):
        parts = path.parent.relative_to(ROOT).parts
        if parts[:2] != ("onnxpad", "passes"):
            found[".".join(parts)] = path.parent
    return found


def test_version() -> None:
    """Written once, in the package; an installed copy has the same."""
    assert re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+|\.dev\d+)?", onnxpad.__version__)
    assert configured()["dynamic"]["version"] == {"attr": "onnxpad.__version__"}
    try:
        installed = importlib.metadata.version("onnxpad")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("onnxpad is not installed: nothing to compare with")
    assert installed == onnxpad.__version__


def test_packages_are_the_folders() -> None:
    assert sorted(configured()["packages"]) == sorted(folders())


def test_every_module_is_in_a_package_and_importing_it_is_cheap() -> None:
    """A folder without `__init__.py` imports from a checkout and is missing once installed."""
    modules = {path.parent for path in (ROOT / "onnxpad").rglob("*.py")}
    modules |= {path.parent for path in (ROOT / "passes").rglob("*.py")}
    assert modules - {ROOT / "onnxpad" / "passes"} <= set(folders().values())
    code = f"import sys, onnxpad; print([name for name in {SLOW} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, cwd=ROOT)
    assert done.stdout.strip() == b"[]"


def test_what_is_built(tmp_path: Path) -> None:
    """Modules, manual, data and py.typed, `passes` inside `onnxpad`: a copy without the link."""
    pytest.importorskip("setuptools")
    source, built = tmp_path / "source", tmp_path / "built"
    unwanted = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "onnxpad", source / "onnxpad", symlinks=True, ignore=unwanted)
    shutil.copytree(ROOT / "passes", source / "passes", ignore=unwanted)
    link = source / "onnxpad" / "passes"
    link.unlink(missing_ok=True)
    link.write_text("../passes")
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, source)
    setup = [sys.executable, "-c", "import setuptools; setuptools.setup()"]
    build = ["--quiet", "build_py", "--build-lib", str(built)]
    subprocess.run([*setup, *build], cwd=source, check=True, capture_output=True)
    files = {str(path.relative_to(built)) for path in built.rglob("*") if path.is_file()}
    expected = {f"onnxpad/docs/{name}.md" for name in pages()}
    expected |= {"onnxpad/py.typed", "onnxpad/graph/schemas.txt", "onnxpad/page/style.css"}
    expected.remove("onnxpad/docs/README.md")
    data = ROOT / "onnxpad" / "targets" / "data"
    expected |= {f"onnxpad/targets/data/{path.name}" for path in data.glob("*.toml")}
    for name, folder in folders().items():
        expected |= {f"{name.replace('.', '/')}/{path.name}" for path in folder.glob("*.py")}
    assert files == expected
