"""Pages opened in Chromium, where there is one: no error, no request, and all sections."""

import os
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar, NamedTuple, TypeAlias

import pytest

from tests.page.read_page import Page
from tests.support import MODELS, onnxpad_runs

CODES = "What the codes mean"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here"),
]


class Opened(NamedTuple):
    """A page as a browser has it.

    Attributes:
        page: Its elements, as the browser understood them.
        console: What it wrote to the console.
        requests: The paths that it asked for.
    """

    page: Page
    console: list[str]
    requests: list[str]


Open: TypeAlias = Callable[[str], Opened]


class Handler(SimpleHTTPRequestHandler):
    """Serves a folder and notes what is asked for."""

    notes: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.notes.append(self.path)
        super().do_GET()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is printed."""


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    """Opens a file of the temporary folder in Chromium, over HTTP, so that requests are seen."""
    asked: list[str] = []

    class Noting(Handler):
        notes = asked

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Noting, directory=str(tmp_path)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()

    def open_(name: str) -> Opened:
        done = subprocess.run(
            [
                str(CHROMIUM),
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-background-networking",
                "--disable-component-update",
                "--no-first-run",
                "--enable-logging=stderr",
                f"--user-data-dir={tmp_path / 'profile'}",
                "--dump-dom",
                f"http://127.0.0.1:{server.server_port}/{name}",
            ],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={**os.environ, "HOME": str(tmp_path)},
        )
        console = re.findall(r"CONSOLE[^\n]*", done.stderr)
        assert done.stdout, done.stderr
        return Opened(Page(done.stdout), console, list(asked))

    yield open_
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    ("command", "model", "sections"),
    [
        pytest.param(
            ["fix", "--dynamic", "auto-pad", "--diff"],
            "timm_same_torchscript",
            ["Changes", "Stays as it is: 3", "Validation", CODES],
            id="fix",
        ),
        pytest.param(["check"], "timm_same_torchscript", [CODES], id="check"),
    ],
)
def test_page(
    opened: Open, command: list[str], model: str, sections: list[str], tmp_path: Path
) -> None:
    path = MODELS / f"{model}.onnx"
    onnxpad_runs(*command, path, "--html", tmp_path / "page.html")
    found: Opened = opened("page.html")
    assert found.console == []
    assert found.requests == ["/page.html"]
    assert [text for level, text in found.page.headings if level == 2][-len(sections) :] == sections
    assert found.page.all("figure")


PHONE = """<!DOCTYPE html><title>t</title><link rel='icon' href='data:,'>
<iframe src='page.html' style='width:340px;height:900px;border:0' onload='measure(this)'></iframe>
<script>
function measure(frame) {
  const page = frame.contentDocument;
  page.querySelectorAll("details").forEach(each => each.open = true);
  document.title = page.documentElement.scrollWidth + " of " + frame.contentWindow.innerWidth;
}
</script>"""


@pytest.mark.parametrize("command", ["fix", "check", "show"])
def test_a_phone_need_not_scroll_sideways(opened: Open, command: str, tmp_path: Path) -> None:
    folder = tmp_path / ("a_folder_without_a_blank_" * 4)
    folder.mkdir()
    models = [folder / f"{name}.onnx" for name in ("timm_same_torchscript", "decoder_keras_open")]
    for model in models:
        shutil.copy(MODELS / model.name, model)
    given = ["--diff", "--no-validate", models[0]] if command == "fix" else models[:1]
    given = models if command == "check" else given
    onnxpad_runs(command, *given, "--html", tmp_path / "page.html")
    (tmp_path / "phone.html").write_text(PHONE, encoding="utf-8")
    found: Opened = opened("phone.html")
    (said,) = re.findall(r"\d+ of \d+", found.page.text)
    needed, room = map(int, said.split(" of "))
    assert room == 340
    assert needed <= room


def test_a_page_that_loads_something_is_noticed(opened: Open, tmp_path: Path) -> None:
    onnxpad_runs("check", MODELS / "unet_torchscript.onnx", "--html", tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    loads = "<link rel='stylesheet' href='away.css'><script>1</script>"
    (tmp_path / "page.html").write_text(text.replace("<main", f"{loads}<main"), encoding="utf-8")
    found: Opened = opened("page.html")
    assert len(found.console) == 2  # the policy refuses both


def test_a_request_is_noticed(opened: Open, tmp_path: Path) -> None:
    page = "<title>t</title><link rel='icon' href='data:,'><link rel='stylesheet' href='a.css'>"
    (tmp_path / "page.html").write_text(f"<!DOCTYPE html>{page}<h1>t</h1>", encoding="utf-8")
    found: Opened = opened("page.html")
    assert found.requests == ["/page.html", "/a.css"]
