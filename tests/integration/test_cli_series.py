"""core-mondrian series, and verify --series: from tables in files to files."""

import json
import shutil
import signal
from pathlib import Path

import pytest
from conftest import CANARY, Command

from core_mondrian.series import series

SPEC = """
quasi_identifiers = ["age", "town"]
k = 3
"""


def write_people(path: Path, numbers: range, *, gone: range = range(0)) -> Path:
    rows = ["id,age,town,ill"]
    for i in numbers:
        if i not in gone:
            town, ill = f"{CANARY} t{i % 2}", f"{CANARY} i{i % 4}"
            rows.append(f"{CANARY}{i},{20 + i * 7 % 31},{town},{ill}")
    path.write_text("\n".join(rows) + "\n", "utf-8")
    return path


@pytest.fixture
def begun(cli: Command, tmp_path: Path) -> Path:
    (tmp_path / "spec.toml").write_text(SPEC)
    write_people(tmp_path / "one.csv", range(40))
    write_people(tmp_path / "two.csv", range(60), gone=range(3))
    asked = ("--spec", "spec.toml", "--row-key", "id", "--format", ".csv")
    assert cli("series", "create", "s", *asked).code == 0
    assert cli("series", "release", "s", "one.csv").code == 0
    return tmp_path


@pytest.mark.usefixtures("begun")
def test_releases_are_made_told_and_recounted(cli: Command) -> None:
    done = cli("series", "release", "s", "two.csv", "--json")
    told = json.loads(done.out)
    assert told["release"] == 2
    rows = told["rows"]
    assert rows["in"] == 57
    assert rows["gone"] == 3
    assert rows["in"] == sum(
        rows[x] for x in ("shown", "waiting", "withheld", "withdrawn")
    )

    status = cli("series", "status", "s", "--json")
    assert [x["in"] for x in json.loads(status.out)["releases"]] == [40, 57]
    assert "2 releases" in cli("series", "status", "s").out
    for words in (("series", "verify", "s"), ("verify", "--series", "s")):
        found = cli(*words, "--json")
        assert found.code == 0
        assert json.loads(found.out)["smallest_part"] >= 3
    assert CANARY not in done.err + status.out + status.err


def test_an_interrupt_after_a_release_does_not_deny_it(
    cli: Command, begun: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_found: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("core_mondrian.cli.series.print_verification", interrupt)

    done = cli("series", "release", "s", "two.csv")

    assert (done.code, "nothing was written" in done.err) == (0, False)
    assert "interrupted after the release was written" in done.err
    assert (begun / "s" / "releases" / "r2.csv").exists()


def test_no_interrupt_comes_between_the_state_and_its_release(
    cli: Command, begun: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish = series._publish

    def interrupted(folder: Path, number: int, suffix: str) -> None:
        if number == 2:
            signal.raise_signal(signal.SIGINT)
        publish(folder, number, suffix)

    monkeypatch.setattr(series, "_publish", interrupted)

    done = cli("series", "release", "s", "two.csv")

    assert done.code == 0
    assert (begun / "s" / "releases" / "r2.csv").exists()


def test_a_preview_releases_nothing(cli: Command, begun: Path) -> None:
    done = cli("series", "release", "s", "two.csv", "--preview", "--json")

    assert json.loads(done.out)["preview"] is True
    assert len(list((begun / "s" / "releases").iterdir())) == 2


def test_files_alone_are_enough_to_recount(cli: Command, begun: Path) -> None:
    cli("series", "release", "s", "two.csv")
    shutil.copytree(begun / "s" / "releases", begun / "given")
    shutil.rmtree(begun / "s")

    assert cli("verify", "--series", "given").code == 0
    (begun / "given" / "r1.csv.manifest.json").unlink()
    done = cli("verify", "--series", "given")
    assert done.code == 0
    assert "some releases are not here" in done.err


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("--k", "50"), id="model"),
        pytest.param(("--qid", "sex"), id="columns"),
        pytest.param(("--public-key", "key.pub"), id="signature"),
        pytest.param(("--with", "one.csv", "--redo"), id="input"),
    ],
)
@pytest.mark.usefixtures("begun")
def test_a_series_does_not_pass_what_is_not_recounted(
    cli: Command, words: tuple[str, ...]
) -> None:
    done = cli("verify", "--series", "s", *words)

    assert done.code == 2
    assert "recounted by the manifests" in done.err


def test_a_changed_release_is_found(cli: Command, begun: Path) -> None:
    cli("series", "release", "s", "two.csv")
    file = begun / "s" / "releases" / "r2.csv"
    lines = file.read_text("utf-8").splitlines()
    file.write_text("\n".join(lines[:-1]) + "\n", "utf-8")

    done = cli("verify", "--series", "s")

    assert done.code == 5
    assert "not as it was released" in done.err


def test_manifests_that_are_no_chain_are_found(cli: Command, begun: Path) -> None:
    cli("series", "release", "s", "two.csv")
    file = begun / "s" / "releases" / "r1.csv.manifest.json"
    told = json.loads(file.read_text("utf-8"))
    told["classes"] += 1
    file.write_text(json.dumps(told), "utf-8")

    done = cli("verify", "--series", "s")

    assert done.code == 5
    assert "does not follow r1.csv.manifest.json" in done.err


def test_releases_of_two_series_are_no_series(cli: Command, begun: Path) -> None:
    asked = ("--spec", "spec.toml", "--row-key", "id", "--format", ".csv")
    cli("series", "create", "other", *asked)
    cli("series", "release", "other", "one.csv")
    cli("series", "release", "other", "two.csv")
    for name in ("r2.csv", "r2.csv.manifest.json"):
        shutil.copy(begun / "other" / "releases" / name, begun / "s" / "releases")

    done = cli("verify", "--series", "s")

    assert done.code == 2
    assert "of another series" in done.err


def test_a_folder_without_a_series_is_none(cli: Command, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    assert cli("verify", "--series", "empty").code == 3
    assert cli("series", "status", "empty").code == 3
    assert cli("series", "release", "empty", "x.csv").code == 3


def test_a_column_that_is_missing_is_refused(cli: Command, begun: Path) -> None:
    (begun / "less.csv").write_text("id,age,town\n1,2,3\n")

    done = cli("series", "release", "s", "less.csv")

    assert done.code == 2
    assert "differ from those of the first release" in done.err
    assert len(list((begun / "s" / "releases").iterdir())) == 2
