"""Progress for programs: lines of JSON, no more than one a second."""

import json

import pytest

from core_mondrian.runtime.progress import Throughput, show_progress


def test_lines_for_a_program_say_how_much_and_how_long(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr("time.perf_counter", lambda: now)
    with show_progress(as_json=True) as progress:
        assert progress is not None
        throughput = Throughput(lambda done: progress("count", done), 8_000)
        for i in range(1, 9):
            now += 0.5
            throughput.step(1_000, i / 8)
        progress("verify", 0.0)

    lines = [
        json.loads(line)["progress"] for line in capsys.readouterr().err.splitlines()
    ]
    assert [line["done"] for line in lines] == [0.25, 0.5, 0.75, 1.0]
    assert lines[1] == {
        "stage": "count",
        "done": 0.5,
        "rows": 4_000,
        "rows_per_second": 2_000,
        "bytes": 4_000,
        "bytes_per_second": 2_000,
        "seconds_left": 2,
    }


def test_short_runs_and_people_without_a_terminal_get_no_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with show_progress() as nothing:
        assert nothing is None
    with show_progress(as_json=True) as progress:
        assert progress is not None
        progress("count", 0.5)

    assert capsys.readouterr().err == ""
