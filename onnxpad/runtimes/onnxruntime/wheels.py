"""Detects several installed wheels of onnxruntime.

All of them own the same folder, and pip unpacks one over the other without a warning: CUDA may be
gone, or half of the files may be of another version.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

MODULE = "onnxruntime"


def warnings(place: Path | None = None) -> tuple[str, ...]:
    """A warning about several wheels in one folder; empty if there is only one.

    Args:
        place: Folder of installed packages; None for that from which onnxruntime is imported.
    """
    wheels = installed(place)
    if len(wheels) < 2:
        return ()
    keep = max(wheels, key=len)  # longer names (onnxruntime-gpu) have more providers
    told = f"{' and '.join(wheels)} are installed in one folder, where each overwrites the others"
    return (f"{told}; keep one: pip uninstall -y {' '.join(wheels)} && pip install {keep}",)


def installed(place: Path | None = None) -> tuple[str, ...]:
    """The distributions that own the folder of onnxruntime, sorted.

    `importlib.metadata` would have to read the metadata of every installed package.
    """
    folder = place or _place()
    if folder is None:
        return ()
    found = []
    try:
        infos = [*folder.glob("onnxruntime*.dist-info"), *folder.glob("ort_*.dist-info")]
    except OSError:
        return ()
    for info in infos:
        name = info.name.split("-")[0].replace("_", "-")
        if len(infos) < 2 or _owns(info):
            found.append(name)
    return tuple(sorted(set(found)))


def _place() -> Path | None:
    """The folder of installed packages from which onnxruntime would be imported."""
    try:
        spec = importlib.util.find_spec(MODULE)
    except (ImportError, ValueError):
        return None
    folders = spec.submodule_search_locations if spec is not None else None
    return Path(next(iter(folders))).parent if folders else None


def _owns(info: Path) -> bool:
    """Whether a distribution has files in onnxruntime's folder; extension packages have none."""
    try:
        with (info / "RECORD").open(encoding="utf-8", errors="replace") as lines:
            return any(line.startswith(f"{MODULE}/") for line in lines)
    except OSError:
        return False
