"""The progress bar, on a stderr that says it is a terminal."""

import io
import sys

import pytest

from onnxpad.report.progress import ProgressBar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_shows_the_stage_the_count_and_the_time_since_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("COLUMNS", "60")
    with ProgressBar() as bar:
        assert bar is not None
        bar._show()  # what the timer calls
        assert bar._shown is not None
        shown, _ = bar._shown
        (task,) = shown.tasks
        assert (task.description, task.total, task.fields) == ("reading", None, {"count": ""})
        assert task.start_time == bar._begun
        assert shown.live.transient
        assert shown.live.is_started
        assert not shown.finished
        tables = [each.get_table_column() for each in shown.columns if not isinstance(each, str)]
        assert [each.no_wrap for each in tables] == [True, False, True, True]
        assert tables[0].max_width == 24
        for done, total, count in ((0, 2000, "0/2,000"), (7, 0, "7"), (9, 10, "9/10")):
            bar("the \n stage", done, total)
            assert "\n" not in task.description
            assert (task.completed, task.total) == (done, total or None)
            assert task.fields == {"count": count}
        text = io.StringIO()
        shown.console.file = text
        shown.console.print("[b]")
    assert not shown.live.is_started
    bar._show()
    assert bar._shown[0] is shown  # none after the end


@pytest.mark.parametrize("hidden", [True, False])
def test_no_bar_without_a_terminal_or_where_it_is_hidden(
    hidden: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal() if hidden else io.StringIO())
    bar = ProgressBar(hidden=hidden)
    with bar as counting:
        assert counting is None
        assert not bar._timer.is_alive()
        bar._show()
        assert bar._shown is None
