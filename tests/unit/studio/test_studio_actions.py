"""What the page has done for it, without a page."""

import threading
from pathlib import Path

import pytest

from core_mondrian.api import anonymize
from core_mondrian.datasets import census
from core_mondrian.errors import DataError, SpecError
from core_mondrian.spec.toml_file import load_spec
from core_mondrian.studio.actions import (
    OpenedTable,
    check_suffix,
    make_release,
    open_table,
)
from core_mondrian.studio.draft import draft_of
from core_mondrian.studio.jobs import Cancelled, Job, Progress
from core_mondrian.studio.session import Studio
from core_mondrian.tables.files.read import read_table
from core_mondrian.tables.files.write import write_table
from core_mondrian.verification.verify import verify

CANARY = "CANARY-7f3a"


def quiet(_stage: str, _done: float) -> None:
    """Nobody watches."""


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> OpenedTable:
    path = tmp_path_factory.mktemp("people") / "people.csv"
    people = census(600).drop_columns(["zip_code"])
    write_table(people, path)
    return open_table(path, "people.csv", quiet)


def test_files_of_a_run_say_the_same_as_the_library(
    opened: OpenedTable, tmp_path: Path
) -> None:
    draft = draft_of(opened.guesses)

    run = make_release(opened, draft, 1, quiet)

    spec = load_spec(run.write("spec.toml", tmp_path))
    table = read_table(opened.path, typed=spec.quasi_identifiers)
    assert anonymize(table, spec).digest == run.release.digest
    for name in ("release.csv", "release.parquet"):
        verify(read_table(run.write(name, tmp_path), infer=False), spec)


@pytest.mark.parametrize("name", ["../spec.toml", "secret", "", "manifest.json/.."])
def test_a_run_has_no_other_files(
    opened: OpenedTable, tmp_path: Path, name: str
) -> None:
    run = make_release(opened, draft_of(opened.guesses), 1, quiet)

    with pytest.raises(SpecError):
        run.write(name, tmp_path)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param("bad.parquet", CANARY.encode(), id="not what it says"),
        pytest.param("bad.csv", f"a,b\n{CANARY}\n".encode(), id="ragged"),
        pytest.param("bad.csv", b"", id="empty"),
        pytest.param("bad.csv", b"a,b\n", id="no rows"),
        pytest.param("bad.csv", b"1,2\n3,4\n", id="no header"),
    ],
)
def test_a_wrong_file_is_told_by_the_users_name_and_without_a_cell(
    tmp_path: Path, name: str, content: bytes
) -> None:
    path = tmp_path / name
    path.write_bytes(content)

    with pytest.raises(DataError) as caught:
        open_table(path, "mine.csv", quiet)

    assert CANARY not in str(caught.value)
    assert str(tmp_path) not in str(caught.value)


def test_other_kinds_of_files_are_refused() -> None:
    with pytest.raises(DataError, match="unknown kind"):
        check_suffix("people.xlsx")

    assert check_suffix("people.CSV") == ".csv"


def test_a_cancelled_job_ends_without_a_result() -> None:
    begun, goes_on = threading.Event(), threading.Event()

    def work(progress: Progress) -> int:
        begun.set()
        goes_on.wait(10)
        progress("later", 0.5)
        return 1

    job = Job(work)
    begun.wait(10)
    job.cancel()
    goes_on.set()
    job.wait()

    assert (job.result, job.problem, job.is_running) == (None, None, False)


def test_a_job_cancelled_after_its_last_word_has_no_result_either() -> None:
    jobs: list[Job[int]] = []
    made = threading.Event()

    def work(_progress: Progress) -> int:
        made.wait(10)
        jobs[0].cancel()
        return 1

    jobs.append(Job(work))
    made.set()
    jobs[0].wait()

    assert jobs[0].result is None


def test_a_release_stops_when_progress_raises(opened: OpenedTable) -> None:
    def stop(stage: str, _done: float) -> None:
        if stage == "partition":
            raise Cancelled

    with pytest.raises(Cancelled):
        make_release(opened, draft_of(opened.guesses), 1, stop)


def test_problems_of_others_are_told_without_their_words() -> None:
    def work(_progress: Progress) -> int:
        raise KeyError(CANARY)

    job = Job(work)
    job.wait()

    assert job.problem is not None
    assert "KeyError" in str(job.problem)
    assert CANARY not in str(job.problem)


def test_a_second_tab_goes_on_with_a_copy(opened: OpenedTable, tmp_path: Path) -> None:
    studio = Studio(tmp_path, 1)
    first, second = studio.new_session(), studio.new_session()
    (first.folder / "table-1.csv").write_bytes(opened.path.read_bytes())
    first.take(open_table(first.folder / "table-1.csv", "people.csv", quiet))

    first.copy_to(second)
    second.draft.k = 50
    second.draft.roles["age"] = "carried"
    first.close()

    assert first.draft.k == 5
    assert first.draft.roles["age"] == "quasi-identifier"
    assert second.opened is not None
    assert make_release(second.opened, second.draft, 1, quiet).release.n_rows == 600


def test_tabs_that_are_gone_are_forgotten_with_their_files(tmp_path: Path) -> None:
    studio = Studio(tmp_path, 1)
    gone, here = studio.new_session(), studio.new_session()
    here.is_shown = True

    for _ in range(40):
        studio.forget_idle()

    assert list(studio.sessions) == [here.name]
    assert [path.name for path in tmp_path.iterdir()] == [here.name]
    assert not gone.folder.exists()


def test_the_end_of_the_studio_waits_for_what_is_at_work(tmp_path: Path) -> None:
    studio = Studio(tmp_path / "studio", 1)
    studio.folder.mkdir()
    session = studio.new_session()
    begun = threading.Event()

    def work(progress: Progress) -> None:
        begun.set()
        while True:  # until it is told that nobody waits
            progress("read", 0.0)

    job = Job(work)
    session.jobs.append(job)
    begun.wait()
    studio.close()

    assert not job.is_running
    assert not studio.folder.exists()
