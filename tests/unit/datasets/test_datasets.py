import hashlib
import io
import os
import subprocess
import sys
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from core_mondrian import datasets
from core_mondrian.datasets import CENSUS_QUASI_IDENTIFIERS, adult, census
from core_mondrian.errors import DataError, SpecError
from core_mondrian.tables import hashing as draws

CENSUS_1000_DIGEST = "d0f94aa37e1cad5c4df12e5db621561bcfb0c4485d60f1d7d3c299a149ff00c1"
CENSUS_COLUMNS = [
    "person_id",
    "age",
    "sex",
    "marital_status",
    "education",
    "occupation",
    "workclass",
    "native_country",
    "race",
    "hours_per_week",
    "capital_gain",
    "zip_code",
    "income",
]
CENSUS_NUMBERS = {"person_id", "age", "hours_per_week", "capital_gain"}
ADULT_COLUMNS = [
    "age",
    "workclass",
    "education",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
]
ADULT_NUMBERS = {"age", "capital-gain", "capital-loss", "hours-per-week"}
DATA = (
    "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family,"
    " White, Male, 2174, 0, 40, United-States, <=50K\n"
    "18, ?, 226956, HS-grad, 9, Never-married, ?, Own-child,"
    " White, Female, 0, 0, 30, ?, >50K\n\n"
)
TEST = (
    "|1x3 Cross validator\n"
    "25, Private, 226802, 11th, 7, Never-married, Machine-op-inspct, Own-child,"
    " Black, Male, 0, 0, 40, United-States, <=50K.\n"
    "44, Private, 160323, Some-college, 10, Married-civ-spouse, Machine-op-inspct,"
    " Husband, Black, Male, 7688, 12, 40, United-States, >50K.\n\n"
)


def digest(table: pa.Table) -> str:
    """Hash names, types and cells; not buffers, whose padding is Arrow's own matter."""
    total = hashlib.sha256(str(table.schema.names).encode())
    for column in table.itercolumns():
        cells = [f"{column.type}"] + [repr(cell) for cell in column.to_pylist()]
        total.update("\x1f".join(cells).encode())
    return total.hexdigest()


def share(flags: pa.ChunkedArray) -> float:
    return float(pc.mean(flags.cast(pa.float64())).as_py())


def high_income(table: pa.Table, flags: pa.ChunkedArray) -> float:
    return share(pc.equal(table.filter(flags)["income"], ">50K"))


@pytest.fixture(scope="module")
def people() -> pa.Table:
    return census(50_000)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "adult.data").write_text(DATA)
    (tmp_path / "adult.test").write_text(TEST)
    return tmp_path


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "core-mondrian" / "adult"


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    sums = {"adult.data": DATA, "adult.test": TEST}
    checksums = {n: hashlib.sha256(t.encode()).hexdigest() for n, t in sums.items()}
    monkeypatch.setattr(datasets, "_ADULT_CHECKSUMS", checksums)


def archive(**changed: str | None) -> bytes:
    texts = {"data": DATA, "test": TEST} | changed
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as files:
        for name, text in texts.items():
            if text is not None:
                files.writestr(f"adult.{name}", text)
    return output.getvalue()


class Server:
    """Stand in for urlopen, and count the requests."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, answer: bytes | Exception
    ) -> None:
        self.answer = answer
        self.requests: list[str] = []
        monkeypatch.setattr(urllib.request, "urlopen", self.open)

    def open(self, url: str, timeout: float) -> io.BytesIO:
        assert timeout > 0
        self.requests.append(url)
        if isinstance(self.answer, Exception):
            raise self.answer
        return io.BytesIO(self.answer)


def test_census_never_changes() -> None:
    assert digest(census(1000, 0)) == CENSUS_1000_DIGEST


def test_census_has_plain_types_and_all_columns() -> None:
    schema = census(3).schema

    assert schema.names == CENSUS_COLUMNS
    assert set(CENSUS_QUASI_IDENTIFIERS) <= set(schema.names)
    for field in schema:
        expected = pa.int64() if field.name in CENSUS_NUMBERS else pa.string()
        assert field.type == expected


def test_census_agrees_with_splitmix64_in_plain_python() -> None:
    def mix(word: int) -> int:
        word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        word = (word ^ word >> 27) * 0x94D049BB133111EB % 2**64
        return word ^ word >> 31

    rows = np.arange(5, dtype=np.uint64)
    golden = 0x9E3779B97F4A7C15
    seeds = mix((2**64 - 1 + golden) % 2**64)

    assert draws.mix(rows).tolist() == [mix(row) for row in range(5)]
    assert int(draws.mixed_seed(2**64 - 1)) == seeds


@pytest.mark.parametrize("batch_rows", [1, 7, 100, 1000])
def test_census_batches_equal_the_whole(batch_rows: int) -> None:
    whole = census(100, seed=3)

    batches = list(datasets.census_batches(100, 3, batch_rows))

    assert all(batch.num_rows <= batch_rows for batch in batches)
    assert pa.Table.from_batches(batches).equals(whole)


def test_census_of_more_rows_starts_with_the_same_rows() -> None:
    assert census(1000, 5).slice(0, 400).equals(census(400, 5))


def test_census_in_several_default_batches_is_one_table() -> None:
    table = census(262_145)

    assert table.num_rows == 262_145
    assert table["age"].num_chunks == 2
    assert pc.count_distinct(table["person_id"]).as_py() == 262_145


def test_census_of_another_seed_differs_in_every_column() -> None:
    first, second = census(1000, 0), census(1000, 1)

    for name in CENSUS_COLUMNS:
        assert not first[name].equals(second[name])


def test_census_of_no_rows_keeps_its_columns() -> None:
    table = census(0)

    assert table.num_rows == 0
    assert table.schema == census(1).schema


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param({"rows": -1}, id="negative rows"),
        pytest.param({"rows": 2.0}, id="rows as a float"),
        pytest.param({"rows": True}, id="rows as a boolean"),
        pytest.param({"rows": "5"}, id="rows as text"),
        pytest.param({"rows": 2**60}, id="more rows than ids"),
        pytest.param({"rows": 5, "seed": -1}, id="negative seed"),
        pytest.param({"rows": 5, "seed": 2**64}, id="seed of 65 bits"),
        pytest.param({"rows": 5, "seed": None}, id="no seed"),
    ],
)
def test_census_refuses_what_is_not_a_count(arguments: dict[str, int]) -> None:
    with pytest.raises(SpecError, match=r"rows|seed") as caught:
        census(**arguments)

    assert caught.value.hint


def test_census_batches_refuse_at_once_not_when_first_used() -> None:
    with pytest.raises(SpecError, match="batch_rows must be between 1"):
        datasets.census_batches(5, 0, 0)


def test_census_takes_numpy_counts_and_the_largest_seed() -> None:
    assert census(np.int64(3), 2**64 - 1).num_rows == 3  # type: ignore[arg-type]


def test_census_ids_are_unique_and_do_not_follow_the_rows(people: pa.Table) -> None:
    ids = people["person_id"].to_numpy()

    assert len(np.unique(ids)) == len(ids)
    assert ids.min() >= 0
    assert ids.max() < 2**53
    assert abs(np.corrcoef(ids, np.arange(len(ids)))[0, 1]) < 0.02
    assert abs(np.corrcoef(ids[1:], ids[:-1])[0, 1]) < 0.02


@pytest.mark.parametrize(
    ("column", "n_values"),
    [
        ("sex", 2),
        ("marital_status", 7),
        ("education", 16),
        ("occupation", 14),
        ("workclass", 8),
        ("native_country", 41),
        ("race", 5),
        ("income", 2),
    ],
)
def test_census_uses_every_value(people: pa.Table, column: str, n_values: int) -> None:
    assert len(people[column].drop_null().unique()) == n_values


@pytest.mark.parametrize(
    ("column", "least", "most"),
    [("age", 16, 99), ("hours_per_week", 1, 99), ("capital_gain", 0, 99_999)],
)
def test_census_numbers_fill_their_range(
    people: pa.Table, column: str, least: int, most: int
) -> None:
    assert pc.min_max(people[column]).as_py() == {"min": least, "max": most}


def test_census_zip_codes_are_five_digits_with_leading_zeros(people: pa.Table) -> None:
    codes = people["zip_code"]

    assert pc.all(pc.match_substring_regex(codes, r"^[0-9]{5}$")).as_py()
    assert 0.03 < share(pc.starts_with(codes, "0")) < 0.12
    sizes = np.sort(codes.value_counts().field("counts").to_numpy())[::-1]
    assert sizes[: len(sizes) // 10].sum() > 0.3 * people.num_rows


@pytest.mark.parametrize(
    ("column", "least", "most"),
    [
        ("occupation", 0.045, 0.06),
        ("workclass", 0.05, 0.065),
        ("native_country", 0.015, 0.021),
        ("age", 0, 0),
        ("income", 0, 0),
        ("zip_code", 0, 0),
    ],
)
def test_census_misses_values(
    people: pa.Table, column: str, least: float, most: float
) -> None:
    assert least <= people[column].null_count / people.num_rows <= most


def test_census_workclass_is_missing_mostly_with_occupation(people: pa.Table) -> None:
    idle = people["occupation"].is_null()
    unknown = people["workclass"].is_null()

    assert share(pc.equal(idle, unknown)) > 0.99
    assert not idle.equals(unknown)
    never = people.filter(pc.equal(people["workclass"], "Never-worked"))
    assert never.num_rows == never["occupation"].null_count > 0


def test_census_has_ties_and_heavy_tails(people: pa.Table) -> None:
    assert 0.40 < share(pc.equal(people["hours_per_week"], 40)) < 0.55
    assert 0.90 < share(pc.equal(people["capital_gain"], 0)) < 0.94
    assert len(people["capital_gain"].unique()) > 1000
    home = pc.equal(people["native_country"], "United-States")
    assert 0.88 < share(home.drop_null()) < 0.93
    assert 0.20 < share(pc.equal(people["income"], ">50K")) < 0.28


def test_census_columns_depend_on_each_other(people: pa.Table) -> None:
    young = pc.less(people["age"], 20)
    single = pc.equal(people["marital_status"], "Never-married")
    educated = pc.is_in(
        people["education"], pa.array(["Masters", "Doctorate", "Prof-school"])
    )
    busy = pc.greater_equal(people["hours_per_week"], 50)

    assert share(single.filter(young)) > 0.9
    assert share(single.filter(pc.invert(young))) < 0.35
    assert share(educated.filter(young)) == 0
    assert high_income(people, educated) > 2 * high_income(people, pc.invert(educated))
    assert high_income(people, busy) > 1.5 * high_income(people, pc.invert(busy))
    assert high_income(people, young) < 0.05
    hours = people["hours_per_week"]
    teens, others = hours.filter(young), hours.filter(pc.invert(young))
    assert pc.mean(teens).as_py() + 8 < pc.mean(others).as_py()


def test_census_origin_shows_in_race_and_zip_code(people: pa.Table) -> None:
    asian = pc.equal(people["native_country"], "Philippines")
    west = pc.starts_with(people["zip_code"], "9")
    race = pc.equal(people["race"], "Asian-Pac-Islander")

    assert share(west.filter(asian)) > 2 * share(west)
    assert share(race.filter(asian)) > 10 * share(race)


def test_census_is_about_as_diverse_as_adult() -> None:
    table = census(48_842)
    names = list(CENSUS_QUASI_IDENTIFIERS)

    n_tuples = table.group_by(names).aggregate([]).num_rows

    assert 13_000 < n_tuples < 20_000


def test_import_loads_neither_dataframes_nor_network() -> None:
    heavy = "{'pandas', 'polars', 'numba', 'urllib.request', 'zipfile'}"
    code = f"import sys, core_mondrian.datasets; print({heavy} & set(sys.modules))"

    result = subprocess.run(  # noqa: S603  our own interpreter
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert result.stdout.strip() == "set()"


def test_adult_joins_both_files_and_cleans_them(folder: Path) -> None:
    table = adult(folder)

    assert table.column_names == ADULT_COLUMNS
    for field in table.schema:
        expected = pa.int64() if field.name in ADULT_NUMBERS else pa.string()
        assert field.type == expected
    assert table["age"].to_pylist() == [39, 18, 25, 44]
    assert table["workclass"].to_pylist() == ["State-gov", None, "Private", "Private"]
    assert table["native-country"].null_count == 1
    assert table["capital-loss"].to_pylist() == [0, 0, 0, 12]
    assert table["income"].to_pylist() == ["<=50K", ">50K", "<=50K", ">50K"]


def test_adult_takes_text_paths_and_foreign_line_ends(folder: Path) -> None:
    expected = adult(folder)
    (folder / "adult.data").write_bytes(DATA.replace("\n", "\r\n").encode())

    assert adult(str(folder)).equals(expected)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"", "has no rows", id="empty"),
        pytest.param(b"|canary\n\n", "has no rows", id="comment only"),
        pytest.param(b"\xff\xfecanary", "not a text file", id="binary"),
        pytest.param(
            DATA.encode() + b"39, canary\n",
            "line 4: expected 15 fields, found 2",
            id="short line",
        ),
        pytest.param(
            DATA.replace("39,", "canary,").encode(),
            "line 1: expected a whole number in column 'age'",
            id="text as age",
        ),
        pytest.param(
            DATA.replace("2174", "9" * 30).encode(),
            "line 1: expected a whole number in column 'capital-gain'",
            id="number beyond 64 bits",
        ),
        pytest.param(
            DATA.replace(">50K", "canary").encode(),
            "line 2: expected '<=50K' or '>50K' in column 'income'",
            id="other income",
        ),
    ],
)
def test_adult_refuses_bad_files(folder: Path, content: bytes, message: str) -> None:
    (folder / "adult.data").write_bytes(content)

    with pytest.raises(DataError, match=message) as caught:
        adult(folder)

    assert caught.value.hint
    assert "adult.data" in caught.value.message
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("name", ["adult.data", "adult.test"])
def test_adult_says_which_file_is_absent(folder: Path, name: str) -> None:
    (folder / name).unlink()

    with pytest.raises(DataError, match=f"{name}': No such file") as caught:
        adult(folder)

    assert "folder" in (caught.value.hint or "")


@pytest.mark.usefixtures("known")
def test_adult_downloads_once_into_the_cache(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(monkeypatch, archive())

    first, second = adult(), adult()

    assert first.equals(second)
    assert first.num_rows == 4
    assert len(server.requests) == 1
    assert server.requests[0].startswith("https://archive.ics.uci.edu/")
    assert sorted(os.listdir(cache)) == ["adult.data", "adult.test"]  # noqa: PTH208


@pytest.mark.usefixtures("known")
def test_adult_replaces_a_damaged_cache(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(monkeypatch, archive())
    adult()
    (cache / "adult.test").write_text(TEST[:200])

    assert adult().num_rows == 4
    assert len(server.requests) == 2


def test_adult_ignores_a_relative_cache_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.setenv("HOME", str(tmp_path))

    assert datasets._cache_folder() == tmp_path / ".cache"


def test_adult_says_that_there_is_no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def expanduser(path: Path) -> Path:
        raise RuntimeError(str(path))

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "expanduser", expanduser)

    with pytest.raises(DataError, match="no home folder"):
        adult()


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        pytest.param(urllib.error.URLError("offline"), "cannot download", id="offline"),
        pytest.param(TimeoutError(), "cannot download Adult.*Timeout", id="too slow"),
        pytest.param(b"<html>", "not an archive", id="not an archive"),
        pytest.param(archive()[:-40], "not an archive", id="half an archive"),
        pytest.param(archive(test=None), "'adult.test' in it", id="file left out"),
        pytest.param(
            archive(data=DATA + "x"),
            "'adult.data' as downloaded: expected sha256 [0-9a-f]{64}, found",
            id="other content",
        ),
    ],
)
def test_adult_refuses_bad_downloads(
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    answer: bytes | Exception,
    message: str,
) -> None:
    Server(monkeypatch, answer)

    with pytest.raises(DataError, match=message) as caught:
        adult()

    assert "adult(path)" in (caught.value.hint or "")
    assert not cache.exists()


@pytest.mark.usefixtures("known")
def test_adult_says_that_the_cache_cannot_be_written(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Server(monkeypatch, archive())
    cache.parent.mkdir(parents=True)
    cache.write_text("a file where the folder should be")

    with pytest.raises(DataError, match="cannot write Adult to the cache"):
        adult()


def test_a_failed_write_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def replace(path: Path, target: Path) -> Path:
        raise OSError(f"{path} to {target}")

    monkeypatch.setattr(Path, "replace", replace)

    with pytest.raises(OSError, match=r"adult\.data"):
        datasets._write_atomically(tmp_path / "adult.data", b"content")

    assert list(tmp_path.iterdir()) == []


def test_adult_itself_has_the_known_counts() -> None:
    name = "CORE_MONDRIAN_ADULT"
    if name not in os.environ:
        pytest.skip(f"set {name} to the folder of UCI's adult.data and adult.test")
    path = Path(os.environ[name])

    table = adult(path)

    assert table.shape == (48_842, 13)
    missing = {n: table[n].null_count for n in ADULT_COLUMNS if table[n].null_count}
    assert missing == {"workclass": 2799, "occupation": 2809, "native-country": 857}
    assert share(pc.equal(table["income"], ">50K")) == pytest.approx(11_687 / 48_842)
    assert all(datasets._is_intact(path / file) for file in datasets._ADULT_CHECKSUMS)
