"""What commands make of a result: files, reports and exit codes, with results given by hand."""

from inspect import signature
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from onnxpad.cli import match_command, repad_command, validate_command
from onnxpad.cli.options import Format
from onnxpad.errors import OutputError, UsageError
from tests.support.rows import each_row


class Result(Struct, frozen=True):
    """What commands use of the results of the library."""

    ok: bool = True
    outcome: str = "outcome"
    reason: str = "reason"
    failure: str = "failure"
    is_changed: bool = False
    is_quiet_success: bool = False
    delivery: Any = None
    html: str = ""
    saved: Any = None

    @property
    def exit_code(self) -> int:
        return 0 if self.ok else 3

    def to_html(self) -> str:
        return "PAGE\n"

    def save(self, path: Path, **options: Any) -> tuple[Path, ...]:
        self.saved.append((path, {k: v for k, v in options.items() if k != "progress"}))
        return (Path("data"),)


class Calls:
    """The library and its reports, replaced by one result and by what is told of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.given: tuple[Any, ...] = ()
        self.options: dict[str, Any] = {}
        self.result = Result()
        self.reports: list[Any] = []
        self._monkeypatch = monkeypatch
        self.tell("tests.cli.test_command_bodies", "Result.text", "TEXT")

    def answer(self, command: str, function: str | None = None) -> None:
        def answered(*given: Any, progress: Any = None, **options: Any) -> Any:
            self.given, self.options = given, options
            return self.result

        self.replace(f"onnxpad.api.{command}", function or command, answered)

    def tell(self, module: str, function: str, text: str) -> None:
        def told(report: Any, _: Any = None, *how: str) -> str:
            self.reports.append(report)
            return f"{' '.join([text, *how])}\n"

        self.replace(module, function, told)

    def replace(self, module: str, name: str, value: Any) -> None:
        self._monkeypatch.setattr(f"{module}.{name}", value, raising=False)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    return Calls(monkeypatch)


TWICE = (False, True)


def asked(command: Any, **given: Any) -> int:
    """The exit code of a command, of which all other options are not typed."""
    code: int = command(**{**dict.fromkeys(signature(command).parameters), **given})
    return code


@each_row(
    ("output", "ok", "changed", "form", "quiet"),
    [*product(TWICE, TWICE, TWICE, Format, TWICE)],
)
def test_match(
    output: bool,
    ok: bool,
    changed: bool,
    form: Format,
    quiet: bool,
    calls: Calls,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    saved: list[Any] = []
    model, target = tmp_path / "m", tmp_path / "out"
    model.touch()
    calls.answer("match")
    calls.tell("onnxpad.report.json", "json_of", "JSON")
    calls.result = Result(
        ok=ok, failure="" if ok else "why", is_changed=changed, is_quiet_success=ok, saved=saved
    )
    code = asked(
        match_command.match, model=model, reference=tmp_path / "r",
        output=target if output else None, inputs=tmp_path / "i",
        seconds=9.0, rtol=0.5, atol=0.25, form=form, quiet=quiet,
    )  # fmt: skip
    assert calls.given == (model, tmp_path / "r")
    assert calls.options == {
        "inputs": tmp_path / "i", "rtol": 0.5, "atol": 0.25, "seconds": 9.0,
    }  # fmt: skip
    written = output and ok
    assert saved == ([(target, {"keep_invalid": False})] if written else [])
    out, err = capsys.readouterr()
    told = "JSON\n" if form is Format.JSON else "" if quiet and ok else "TEXT brief\n"
    assert (out, err) == (told, "" if ok else "error: why\n")
    assert code == (0 if ok else 3)
    if told:
        delivery = calls.reports[-1].delivery
        assert (delivery.written, delivery.data) == (
            (str(target), ("data",)) if written else ("", ())
        )


@each_row(
    ("output", "in_place", "ok", "keep", "changed", "quiet"),
    [each for each in product(TWICE, repeat=6) if not (each[0] and each[1])],
)
def test_repad(
    output: bool,
    in_place: bool,
    ok: bool,
    keep: bool,
    changed: bool,
    quiet: bool,
    calls: Calls,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    saved: list[Any] = []
    model = tmp_path / "m.onnx"
    model.touch()
    target = tmp_path / "out" if output else tmp_path / "m.repadded.onnx"
    target.touch()
    form = Format.JSON if quiet and changed else Format.TEXT
    calls.answer("repad")
    calls.tell("onnxpad.report.json", "json_of", "JSON")
    calls.result = Result(
        ok=ok, failure="" if ok else "failure", is_changed=changed, is_quiet_success=ok, saved=saved
    )
    code = asked(
        repad_command.repad, model=model, to="keras", only=["n"] if ok else None,
        output=target if output else None, in_place=in_place, keep_invalid=keep,
        form=form, quiet=quiet, shapes=["x=1,2"], dims=["h=3"],
    )  # fmt: skip
    assert calls.given == (model, "keras")
    assert calls.options.pop("only", None) == (["n"] if ok else None)
    assert calls.options.pop("shapes")
    assert calls.options.pop("dims")
    assert calls.options == {}
    written = (ok or keep) and (changed or output)
    place = model if in_place else target
    assert saved == ([(place, {"keep_invalid": keep})] if written else [])
    out, err = capsys.readouterr()
    told = "JSON\n" if form is Format.JSON else "" if quiet and ok else "TEXT brief\n"
    assert (out, err, code) == (told, "" if ok else "error: failure\n", 0 if ok else 3)
    if told:
        delivery = calls.reports[-1].delivery
        assert delivery.written == (str(place) if written else "")
        assert delivery.older == ("" if written or in_place else str(target))
        assert delivery.data == (("data",) if written else ())


@each_row(
    ("ok", "outcome", "form", "quiet", "page"),
    [*product(TWICE, ("failed", "nothing compared"), Format, TWICE, TWICE)],
)
def test_validate(
    ok: bool,
    outcome: str,
    form: Format,
    quiet: bool,
    page: bool,
    calls: Calls,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    one, other = tmp_path / "a", tmp_path / "b"
    html = tmp_path / "page.html" if page else None
    (tmp_path / "page.html").unlink(missing_ok=True)
    calls.reports.clear()
    calls.answer("validate")
    calls.tell("onnxpad.report.json", "json_of", "JSON")
    calls.result = Result(ok=ok, outcome=outcome, failure="why", is_quiet_success=ok)
    code = asked(
        validate_command.validate, original=one, rewritten=other,
        provider=None if ok else ["cuda"], samples=2, seed=3, form=form, html=html,
        quiet=quiet, verbose=page, no_fallback=page,
    )  # fmt: skip
    assert calls.given == (one, other)
    assert [*calls.options.pop("providers")] == (["cpu"] if ok else ["cuda"])
    assert calls.options == {"samples": 2, "seed": 3, "fallback": not page}
    out, err = capsys.readouterr()
    silent = quiet and ok
    told = (
        "JSON\n"
        if form is Format.JSON
        else ""
        if silent
        else f"TEXT {'full' if page else 'brief'}\n"
    )
    if html is not None:
        assert html.read_text() == "PAGE\n"
        if form is Format.JSON:  # a text has a line of its own
            assert {each.html for each in calls.reports} <= {str(html)}
    if told.startswith("TEXT") and page:
        assert out.startswith(told)
        assert str(html) in out.removeprefix(told)
    else:
        assert out == told
    what = "validation failed: " if outcome == "failed" else ""
    assert (err, code) == (("", 0) if ok else (f"error: {what}why\n", 3))


def test_a_page_does_not_replace_what_is_given(calls: Calls, tmp_path: Path) -> None:
    given = tmp_path / "m"
    given.touch()
    for number in range(4):
        arguments: list[Any] = [tmp_path / "a", tmp_path / "b", tmp_path / "i", tmp_path / "r"]
        arguments[number] = given
        calls.result = Result()
        with pytest.raises((UsageError, OutputError)):
            asked(
                validate_command.validate, original=arguments[0], rewritten=arguments[1],
                inputs=arguments[2], reference=arguments[3], html=given,
            )  # fmt: skip
