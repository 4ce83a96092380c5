"""Another user of the machine: files, folders and links that they made, or read."""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from conftest import Command, files_in

from core_mondrian import KAnonymity, OutputError, Spec, Suppression
from core_mondrian.datasets import census
from core_mondrian.sources.files.run import anonymize_files, count_files
from core_mondrian.tables.files import staging as drafts
from core_mondrian.tables.files.atomic_write import write_files
from core_mondrian.tables.files.read import read_table
from core_mondrian.tables.files.staging import workspace_of
from core_mondrian.tables.files.write import write_table

NOBODY = 65534
SPEC = Spec(
    ("age", "zip_code"),
    (KAnonymity(12),),
    suppress=Suppression(rows=90),
    suppressed="separate",
)
ASKED = ("--qid", "age", "--qid", "zip_code", "--k", "12", "--suppress", "30%")

needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can act as another user"
)
needs_held_folders = pytest.mark.skipif(
    not Path("/proc/self/fd").is_dir(), reason="the system cannot hold on to a folder"
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    write_table(census(300).select(["age", "zip_code", "income"]), path)
    return path


@pytest.fixture
def generous() -> Iterator[None]:
    """A user who lets everybody read new files, unless told otherwise."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that everybody can reach and write to: those of pytest are private."""
    with TemporaryDirectory() as name:
        folder = Path(name).resolve()
        folder.chmod(0o777)
        yield folder


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def as_nobody(act: Callable[[], object]) -> bool:
    """Tell whether another user can do something."""
    child = os.fork()
    if not child:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            act()
        except (OSError, OutputError):
            os._exit(1)
        except BaseException:  # noqa: BLE001
            os._exit(2)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, 1)
    return code == 0


def release(table: Path, folder: Path, **options: object) -> None:
    rows = folder / "rows.csv"
    anonymize_files(table, folder / "out.csv", SPEC, suppressed_file=rows, **options)  # type: ignore[arg-type]


# The folder of a stream


@needs_root
def test_a_workspace_that_another_user_made_is_refused(
    table: Path, shared: Path
) -> None:
    trap = workspace_of(shared / "out.csv")
    trap.mkdir()
    os.chown(trap, NOBODY, NOBODY)
    for bits in (0o777, 0o700):
        trap.chmod(bits)

        with pytest.raises(OutputError, match="belongs to another user") as caught:
            release(table, shared)

        assert "remove it" in caught.value.hint
        assert files_in(trap) == []
    assert files_in(shared) == [trap.name]


@needs_root
def test_a_user_refuses_the_workspace_of_root(shared: Path) -> None:
    trap = shared / "trap"
    trap.mkdir()
    trap.chmod(0o777)

    def enter(path: Path) -> None:
        with drafts.private_folder(path) as folder:
            (folder / "row").write_text("x")

    assert not as_nobody(lambda: enter(trap))
    assert as_nobody(lambda: enter(shared / "own"))
    assert mode(shared / "own") == 0o700


def test_a_workspace_that_is_open_to_others_is_refused(
    table: Path, tmp_path: Path
) -> None:
    trap = workspace_of(tmp_path / "out.csv")
    trap.mkdir()
    trap.chmod(0o770)

    with pytest.raises(OutputError, match="is open to other users"):
        release(table, tmp_path)

    assert files_in(trap) == []


@pytest.mark.parametrize("is_there", [True, False])
def test_a_workspace_that_is_a_link_is_refused(
    *, is_there: bool, table: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    if is_there:
        elsewhere.mkdir(mode=0o700)
    workspace_of(tmp_path / "out.csv").symlink_to(elsewhere)

    with pytest.raises(OutputError, match="not a folder"):
        release(table, tmp_path)

    assert not is_there or files_in(elsewhere) == []
    assert not (tmp_path / "out.csv").exists()


@needs_held_folders
@pytest.mark.parametrize("stage", ["count", "write", "verify"])
def test_a_workspace_exchanged_during_the_run_gets_no_row(
    stage: str, table: Path, shared: Path
) -> None:
    own, away = workspace_of(shared / "out.csv"), shared / "away"

    def exchange(now: str, _done: float) -> None:
        if now == stage and not away.exists():
            own.rename(away)
            own.mkdir()
            own.chmod(0o777)

    release(table, shared, progress=exchange)

    assert away.exists()
    assert files_in(away) == []
    assert not own.exists() or files_in(own) == []
    assert mode(shared / "rows.csv") == 0o600


def test_what_a_link_leads_to_is_not_tidied_away(table: Path, tmp_path: Path) -> None:
    mine, shared = tmp_path / "mine", tmp_path / "shared"
    mine.mkdir()
    shared.mkdir()
    for name in ("lock", "counts.arrow", "thesis.txt"):
        (mine / name).write_text("x")
    (shared / ".old.csv.core-mondrian").symlink_to(mine)
    (shared / ".core-mondrian-0.drafts").symlink_to(mine)

    release(table, shared)

    assert files_in(mine) == ["counts.arrow", "lock", "thesis.txt"]


# Files that are for the user alone


@pytest.mark.usefixtures("generous")
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("more", [(), ("--stream",)])
def test_rows_left_out_are_for_the_user_alone(
    suffix: str, more: tuple[str, ...], table: Path, cli: Command
) -> None:
    rows, target = table.parent / f"rows.{suffix}", table.parent / f"out.{suffix}"
    apart = ("--suppressed", "separate", "--suppressed-file", rows)

    done = cli("anonymize", table, target, *ASKED, *apart, *more)

    assert done.code == 0, done.err
    assert len(read_table(rows)) > 0
    assert mode(rows) == 0o600
    assert mode(target) == 0o666, "a release is as the user's umask wants it"
    rows.chmod(0o644)
    done = cli("anonymize", table, target, *ASKED, *apart, *more, "--overwrite")
    assert done.code == 0, done.err
    assert mode(rows) == 0o600


@needs_root
@pytest.mark.usefixtures("generous")
def test_nobody_else_can_open_anything_of_a_run_but_its_release(
    table: Path, shared: Path
) -> None:
    seen: set[str] = set()

    def look(stage: str, _done: float) -> None:
        for path in shared.iterdir():
            seen.add(stage)
            assert not as_nobody(lambda path=path: files_in(path))  # type: ignore[misc]

    release(table, shared, progress=look, save_counts=shared / "counts.arrow")

    assert {"count", "write", "verify"} <= seen
    readable = [
        path.name
        for path in sorted(shared.iterdir())
        if as_nobody(lambda path=path: path.read_bytes())  # type: ignore[misc]
    ]
    assert readable == ["out.csv", "out.csv.manifest.json"]


@pytest.mark.usefixtures("generous")
def test_counts_are_for_the_user_alone(table: Path, tmp_path: Path) -> None:
    count_files(table, SPEC, save_counts=tmp_path / "counts.arrow")

    assert mode(tmp_path / "counts.arrow") == 0o600


@pytest.mark.usefixtures("generous")
def test_a_private_file_is_private_from_its_first_byte(tmp_path: Path) -> None:
    seen: list[int] = []

    def write(file: Path) -> None:
        seen.append(mode(file))
        seen.append(mode(file.parent.parent))
        file.write_bytes(b"secret")

    write_files({tmp_path / "key": write}, private=[tmp_path / "key"])

    assert seen == [0o600, 0o700]
    assert mode(tmp_path / "key") == 0o600


def test_rows_left_out_are_not_written_where_everybody_can_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As on a file system without owners and modes: each folder is open to others.
    monkeypatch.setattr(drafts, "_OTHERS", 0o777)

    with pytest.raises(OutputError, match="not for you alone"):
        write_files({tmp_path / "key": b"secret"}, private=[tmp_path / "key"])

    assert files_in(tmp_path) == []
    write_files({tmp_path / "release": b"public"})
    assert files_in(tmp_path) == ["release"]


@pytest.mark.parametrize("more", [(), ("--stream",)])
def test_rows_left_out_go_through_no_link(
    more: tuple[str, ...], table: Path, cli: Command
) -> None:
    public = table.parent / "public.csv"
    (table.parent / "rows.csv").symlink_to(public)
    apart = ("--suppressed", "separate", "--suppressed-file", "rows.csv")

    done = cli("anonymize", table, "out.csv", *ASKED, *apart, *more, "--overwrite")

    assert done.code == 6
    assert "name the file itself" in done.err
    assert not public.exists()
    assert not (table.parent / "out.csv").exists()


@needs_root
def test_a_target_that_another_user_linked_elsewhere_is_refused(
    table: Path, shared: Path, cli: Command
) -> None:
    precious = table.parent / "precious.csv"
    precious.write_text("mine")
    link = shared / "out.csv"
    link.symlink_to(precious)
    os.lchown(link, NOBODY, NOBODY)

    done = cli("anonymize", table, link, *ASKED, "--overwrite")

    assert done.code == 6
    assert "another user made" in done.err
    assert precious.read_text() == "mine"
    link.unlink()
    link.symlink_to(precious)
    assert cli("anonymize", table, link, *ASKED, "--overwrite").code == 0
    assert link.is_symlink(), "the user's own links are followed"
    assert precious.read_text() != "mine"


# Keys


@pytest.mark.usefixtures("generous")
def test_keys_are_made_for_the_user_alone_and_open_ones_are_warned_of(
    table: Path, cli: Command
) -> None:
    pytest.importorskip("cryptography")
    assert cli("keygen", "sign").code == 0
    assert mode(table.parent / "sign") == 0o600
    assert mode(table.parent / "sign.pub") == 0o666
    (table.parent / "key").write_text("a key of sixteen bytes")
    asked = ("anonymize", table, "out.csv", *ASKED, "--overwrite")
    keys = ("--sign-key", "sign", "--pseudonym", "income", "--key-file", "key")

    warned = cli(*asked, *keys)
    (table.parent / "key").chmod(0o600)
    silent = cli(*asked, *keys)
    (table.parent / "sign").chmod(0o640)
    again = cli(*asked, *keys)

    assert [done.code for done in (warned, silent, again)] == [0, 0, 0], warned.err
    assert "key key: is open to other users; chmod 600" in warned.err
    assert "open to other users" not in silent.err
    assert "key sign: is open to other users; chmod 600" in again.err
