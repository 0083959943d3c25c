"""Whether an installed package may have entry points of a group is read off the disk."""

import sys
from pathlib import Path

import pytest

from onnxpad.process.entry_points import may_be_any

GROUP = "onnxpad.extensions"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on the path."""
    monkeypatch.setattr(sys, "path", [str(tmp_path / "missing"), str(tmp_path)])
    return tmp_path


def installed(site: Path, folder: str, text: str | None) -> None:
    (site / folder).mkdir()
    if text is not None:
        (site / folder / "entry_points.txt").write_text(text)


@pytest.mark.parametrize("folder", ["acme-1.0.dist-info", "acme.egg-info"])
@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"[console_scripts]\nacme = acme:main\n\n[{GROUP}]\nacme = acme:more\n", True),
        (f"[{GROUP}.others]\nacme = acme:more\n", False),
        ("[console_scripts]\nonnxpad.extensions = acme:main\n", False),
        ("", False),
        (None, False),
    ],
)
def test_a_group_is_found(site: Path, folder: str, text: str | None, found: bool) -> None:
    installed(site, folder, text)
    assert may_be_any(GROUP) is found


def test_only_what_packages_say_of_themselves_is_read(site: Path) -> None:
    installed(site, "acme", f"[{GROUP}]\nacme = acme:more\n")
    assert not may_be_any(GROUP)
    installed(site, "none.dist-info", None)
    installed(site, "other.dist-info", f"[{GROUP}]\nacme = acme:more\n")
    assert may_be_any(GROUP), "the first package has none, the second one has"


def test_an_archive_on_the_path_may_hold_anything(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = site / "packages.zip"
    archive.write_bytes(b"")
    assert not may_be_any(GROUP)
    monkeypatch.setattr(sys, "path", [str(archive)])
    assert may_be_any(GROUP)


def test_an_empty_entry_is_the_working_folder(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(site, "acme.dist-info", f"[{GROUP}]\n")
    monkeypatch.setattr(sys, "path", [""])
    monkeypatch.chdir(site)
    assert may_be_any(GROUP)
