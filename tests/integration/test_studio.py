"""The studio in a real browser, and what it refuses.

The pages are driven in the machine's chromium; without it, or without NiceGUI or
Playwright, the tests say so and are skipped.
"""

import http.client
import json
import os
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
import pytest
from studio_pages import (
    CANARY,
    COMMAND,
    NAMELESS,
    RELEASE,
    Server,
    addresses_in,
    choose,
    drag,
    environment,
    make_key,
    make_release,
    needs_browser,
    needs_server,
    open_page,
    printed_address,
    save,
    seen_soon,
    set_role,
    take_and_repeat,
    upload,
)

from benchmarks.studio import BAR, Typist
from core_mondrian.datasets import census
from core_mondrian.spec.toml_file import load_spec
from core_mondrian.tables.files.read import read_table
from core_mondrian.tables.files.write import write_table
from core_mondrian.verification.verify import verify

pytestmark = needs_server


def test_without_path_and_cookie_nobody_gets_in(server: Server) -> None:
    for path in ("/", "/?code=", "/?code=wrong", "/_nicegui/x", "/favicon.ico"):
        status, text, _ = server.ask(path)

        assert status == 403, path
        assert "terminal" in text
        assert server.ask(path, cookie=server.cookie)[0] == 403, "the path is missing"
        assert server.ask(server.base_path + path)[0] == 403, "the cookie is missing"
    name = server.cookie.partition("=")[0]
    for wrong in (f"{name}=wrong", f"other={server.cookie.partition('=')[2]}"):
        assert server.ask(f"{server.base_path}/", cookie=wrong)[0] == 403
    polling = "/_nicegui_ws/socket.io/?EIO=4&transport=polling"
    assert server.ask(polling)[0] == 403
    assert server.ask(server.base_path + polling)[0] == 403


def test_an_address_opens_once_and_leaves_nothing_of_its_code(server: Server) -> None:
    address = server.address
    path = address.removeprefix(f"http://127.0.0.1:{server.port}")
    assert server.ask(path, method="HEAD")[0] == 403

    status, _, headers = server.ask(path)

    assert status == 303
    assert headers["location"] == f"{server.base_path}/"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    code = address.partition("code=")[2]
    assert code not in headers["location"] + headers["set-cookie"]
    status, text, headers = server.ask(path)
    assert status == 403
    assert "each opens once" in text
    assert "set-cookie" not in headers
    assert server.address != address, "the next one is printed"


def test_the_cookie_is_for_one_path_of_one_server(server: Server) -> None:
    _, _, headers = server.ask(server.address.partition(str(server.port))[2])

    value, *rest = headers["set-cookie"].split("; ")

    assert rest == [f"Path={server.base_path}/", "HttpOnly", "SameSite=Strict"]
    assert len(server.base_path) > 30
    assert str(server.port) not in value.partition("=")[0]
    assert value.partition("=")[2] not in server.log.read_text()
    # Other servers of 127.0.0.1 may set what they like: ours is still found.
    noise = f'a="x; b={{"y"}}; {server.cookie}; =; z'
    assert server.ask(f"{server.base_path}/", cookie=noise)[0] == 303


@pytest.fixture
def launched(tmp_path: Path) -> Iterator[tuple[Server, Path]]:
    """A studio that starts a browser, and where that notes its command line."""
    log, note, browser = (tmp_path / x for x in ("log.txt", "note.txt", "browser"))
    browser.write_text(f'#!/bin/sh\necho "$@" > {note}.part; mv {note}.part {note}\n')
    browser.chmod(0o755)
    with log.open("wb") as file:
        process = subprocess.Popen(  # noqa: S603
            [*COMMAND, "studio"], stderr=file, env=environment(BROWSER=str(browser))
        )
    first = printed_address(process, log)
    while not note.exists():
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.05)
    yield Server(first, log, tmp_path), note
    process.terminate()
    process.wait(20)


def test_the_command_line_of_the_browser_is_of_no_use_to_others(
    launched: tuple[Server, Path],
) -> None:
    server, note = launched
    start = f"http://127.0.0.1:{server.port}"
    shown = note.read_text().strip()
    assert shown.startswith(f"{start}/?code=")
    assert shown not in server.log.read_text(), "what is printed is another code"
    path = shown.removeprefix(start)
    if os.geteuid() == 0 and Path("/proc/net/tcp").exists():
        assert as_another_user(lambda: server.ask(path)[0]) == 403
        forged = {"x_forwarded_for": "192.0.2.1", "forwarded": "for=192.0.2.1"}
        assert as_another_user(lambda: server.ask(path, **forged)[0]) == 403

    assert server.ask(path)[0] == 303, "the browser comes later, and gets in"

    assert server.ask(path)[0] == 403
    assert len(addresses_in(server.log)) == 1, "the printed one is not used yet"
    assert server.ask(server.address.removeprefix(start))[0] == 303


def as_another_user(act: Callable[[], int]) -> int:
    """Return a number below 65,536 that somebody else finds."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setuid(65534)
            os.write(writing, act().to_bytes(2, "big"))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        return int.from_bytes(file.read(2), "big")


def test_a_code_on_a_command_line_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    from core_mondrian.studio import access

    monkeypatch.setattr(access, "_SOCKETS", ())  # as on systems without it
    opened = access.Access(8000, lambda _: None)
    codes = [opened.launch_address().partition("code=")[2] for _ in range(2)]
    assert opened.exchange(codes[0], 0) is not None

    now = time.monotonic()
    monkeypatch.setattr("core_mondrian.studio.access.time.monotonic", lambda: now + 61)

    assert opened.exchange(codes[1], 0) is None


@needs_browser
def test_other_servers_of_this_machine_never_see_the_cookie(
    server: Server, browser: Any, people: Path
) -> None:
    seen: list[str] = []

    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(f"{self.path} {self.headers.get('cookie', '')}")
            self.send_response(200)
            self.send_header("set-cookie", "mark=1")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    other = ThreadingHTTPServer(("127.0.0.1", 0), Other)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    context = browser.new_context()
    try:
        page = open_page(context, server, people)
        names = [cookie["name"] for cookie in context.cookies()]
        assert server.cookie.partition("=")[0] in names
        visitor = context.new_page()
        for path in ("/", "/", "/_nicegui/x"):
            visitor.goto(f"http://127.0.0.1:{other.server_port}{path}")
        page.evaluate(f"fetch('http://127.0.0.1:{other.server_port}/').catch(() => 0)")
        page.reload()
        page.get_by_text("are unique in the table").wait_for()
    finally:
        context.close()
        other.shutdown()
        other.server_close()

    assert "/ mark=1" in seen, "cookies are shared by ports"
    assert [one for one in seen if "core_mondrian" in one] == []
    code = server.address.partition("code=")[2]
    assert code not in "".join(seen)


def test_the_page_may_load_nothing_from_elsewhere(server: Server) -> None:
    status, _, headers = server.ask(f"{server.base_path}/", cookie=server.cookie)
    assert status == 303
    front = f"{server.base_path}/{headers['location']}"
    status, text, headers = server.ask(front, cookie=server.cookie)

    assert status == 200
    assert "default-src 'self'" in headers["content-security-policy"]
    assert headers["referrer-policy"] == "no-referrer"
    assert server.cookie.partition("=")[2] not in text


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"origin": "http://evil.example"}, id="another site"),
        pytest.param({"origin": "http://127.0.0.1:1"}, id="another port"),
        pytest.param({"origin": "null"}, id="a sandboxed page"),
        pytest.param({"host": "evil.example"}, id="a rebound name"),
        pytest.param({"host": "127.0.0.1"}, id="no port"),
    ],
)
def test_foreign_pages_get_nothing_even_with_the_cookie(
    server: Server, headers: dict[str, str]
) -> None:
    inside = f"{server.base_path}/"
    assert server.ask(inside, cookie=server.cookie)[0] == 303
    assert server.ask(inside, cookie=server.cookie, **headers)[0] == 403
    code = server.address.partition("code=")[2]
    assert server.ask(f"/?code={code}", **headers)[0] == 403
    assert code in server.address, "and it is not used up"
    assert upgrade(server, cookie=server.cookie, **headers) == 403


def upgrade(server: Server, **headers: str) -> int:
    """Return the status of a websocket's handshake."""
    key = {
        "sec_websocket_key": "dGhlIHNhbXBsZSBub25jZQ==",
        "sec_websocket_version": "13",
    }
    asked = {"upgrade": "websocket", "connection": "Upgrade", **key, **headers}
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    try:
        path = f"{server.base_path}/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
        connection.putrequest("GET", path, skip_host="host" in headers)
        for name, value in asked.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders()
        return connection.getresponse().status
    finally:
        connection.close()


def test_the_socket_wants_cookie_and_origin(server: Server) -> None:
    own = f"http://127.0.0.1:{server.port}"

    assert upgrade(server, cookie=server.cookie, origin=own) == 101
    assert upgrade(server, cookie=server.cookie) == 403
    assert upgrade(server, origin=own) == 403


@pytest.mark.parametrize(
    "path",
    [
        "/files/x/1/spec.toml",
        "/files/x/1/..%2f..%2f..%2fetc%2fpasswd",
        "/files/..%2f..%2fetc/1/passwd",
        "/files/../../etc/passwd",
        "/files/x/one/spec.toml",
        "/_nicegui/3.0/static/..%2f..%2f..%2f..%2fetc/passwd",
    ],
)
def test_paths_lead_nowhere_else(server: Server, path: str) -> None:
    status, text, _ = server.ask(server.base_path + path, cookie=server.cookie)

    assert status in (404, 422)
    assert "root:" not in text


def test_what_is_too_large_is_refused_with_words(server: Server) -> None:
    status, text, _ = server.ask(
        f"{server.base_path}/_nicegui/client/x/upload/1",
        method="POST",
        cookie=server.cookie,
        content_length=str(21 << 20),
    )

    assert status == 413
    assert "20 MB" in text
    assert "--max-upload" in text


def test_without_nicegui_the_command_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "nicegui.py").write_text("raise ModuleNotFoundError('nicegui')\n")
    done = subprocess.run(  # noqa: S603
        [*COMMAND, "studio", "--no-browser"],
        env=environment(PYTHONPATH=f"{tmp_path}:{':'.join(p for p in sys.path if p)}"),
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert "core-mondrian[studio]" in done.stderr


def test_a_table_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    done = subprocess.run(  # noqa: S603
        [*COMMAND, "studio", "--no-browser", str(tmp_path / "none.csv")],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 3
    assert "no such file" in done.stderr


@needs_browser
def test_from_a_csv_file_to_a_release_and_the_command_line_makes_the_same(
    server: Server, context: Any, people: Path, tmp_path: Path
) -> None:
    page = context.new_page()
    page.goto(server.address)
    upload(page, people)
    page.get_by_text("people.csv: 400 rows, 12 columns").wait_for()
    before = page.get_by_text("are unique in the table").inner_text()

    set_role(page, "remarks", "remove it")
    set_role(page, "occupation", "keep as it is")
    page.get_by_text("these 7 columns").wait_for()
    assert page.get_by_text("are unique in the table").inner_text() != before
    make_release(page, 1)
    page.get_by_label("k: rows that look alike, at least").fill("10")
    make_release(page, 2)

    runs = page.get_by_role("region", name="runs", exact=True)
    lines = runs.locator("tbody tr").all_inner_texts()
    assert [line.split()[:2] for line in lines] == [["2", "10"], ["1", "5"]]
    titles = {RELEASE: "csv", "Spec": "toml", "Manifest": "json"}
    files = {kind: save(page, title, tmp_path) for title, kind in titles.items()}
    assert CANARY not in save(page, "Report", tmp_path).read_text()
    spec = load_spec(files["toml"])
    assert spec.min_rows == 10
    verify(read_table(files["csv"], infer=False), spec)
    files["owner"] = save(page, "Owner's record", tmp_path)
    make_what_is_shown(page, people, files)
    told = json.loads(files["json"].read_text())
    assert told["digests"]["release"][:12] in lines[0]


def make_what_is_shown(page: Any, people: Path, files: dict[str, Path]) -> None:
    """Run the command that the page shows: it makes the files that were saved."""
    page.get_by_role("tab", name="Spec").click()
    shown = page.get_by_text("core-mondrian anonymize").last.inner_text()
    program, *words = shlex.split(shown)
    assert program == "core-mondrian"
    folder = files["csv"].parent / "again"  # where the user puts what was taken away
    folder.mkdir()
    for file in (people, files["toml"]):
        shutil.copy(file, folder)
    done = [*COMMAND, *words]
    subprocess.run(done, cwd=folder, check=True, capture_output=True)  # noqa: S603
    assert {file.name for file in folder.iterdir()} == {
        "people.csv",
        *(file.name for file in files.values()),
    }
    for kind in ("csv", "json"):
        again = folder / files[kind].name
        assert again.read_bytes() == files[kind].read_bytes()


@needs_browser
def test_a_csv_file_for_a_spreadsheet_has_no_formulas(
    server: Server, context: Any, tmp_path: Path
) -> None:
    table = census(200).select(["age", "sex", "income"])
    notes = [("=1+1", "-5", "@home", "'=x", f"{CANARY} {i}")[i % 5] for i in range(200)]
    source = tmp_path / "notes.csv"
    write_table(table.append_column("=note", pa.array(notes)), source)
    page = context.new_page()
    page.goto(server.address)
    upload(page, source)
    page.get_by_text("notes.csv: 200 rows").wait_for()
    set_role(page, "=note", "keep as it is")
    make_release(page, 1)
    plain = save(page, RELEASE, tmp_path).read_bytes()

    page.get_by_role("switch", name="CSV for a spreadsheet").click()
    guarded = page.get_by_role("switch", name="CSV for a spreadsheet", checked=True)
    guarded.wait_for()
    page.get_by_role("tab", name="Spec").click()
    page.get_by_text("guard_formulas = true").last.wait_for()
    files, again = take_and_repeat(page, source, tmp_path)

    assert again.read_bytes() == files["csv"].read_bytes() != plain
    cells = read_table(files["csv"], infer=False).column("'=note").to_pylist()
    assert sorted({cell for cell in cells if CANARY not in cell}) == sorted(
        ["'=1+1", "-5", "'@home", "''=x"]
    )
    assert read_table(files["csv"], guarded=True, infer=False).column_names[-1] == (
        "=note"
    )
    guarded.hover()
    page.get_by_text("takes text that begins with").wait_for()
    guarded.click()
    page.get_by_role("switch", name="CSV for a spreadsheet", checked=False).wait_for()
    assert save(page, RELEASE, tmp_path).read_bytes() == plain


@needs_browser
@pytest.mark.slow
def test_pseudonyms_have_a_key_that_is_nowhere_else(
    server: Server, context: Any, people: Path, tmp_path: Path
) -> None:
    frames: list[str] = []
    page = context.new_page()
    page.on(
        "websocket",
        lambda socket: socket.on("framereceived", lambda one: frames.append(str(one))),
    )
    page.goto(server.address)
    upload(page, people)
    set_role(page, "remarks", "replace it by a pseudonym")
    page.get_by_text("There is no key yet.").wait_for()
    page.get_by_role("button", name="Make the release").click()
    page.get_by_role("alert").get_by_text("need a key").wait_for()
    page.get_by_label("Key, 16 signs or more").fill("short")
    page.get_by_role("alert").get_by_text("the key has 5 bytes").wait_for()
    key = make_key(page, tmp_path)
    page.get_by_text("A key was made and saved").wait_for()
    make_release(page, 2)

    files, again = take_and_repeat(page, people, tmp_path, "--key-file", str(key))
    secret = key.read_text().strip()
    assert len(secret) == 64
    report = save(page, "Report", tmp_path).read_text()
    for text in (*(file.read_text() for file in files.values()), report):
        assert secret not in text
        assert CANARY not in text
    assert sum(secret in frame for frame in frames) <= 1  # the download itself
    assert secret not in server.log.read_text()
    assert secret not in page.content()
    assert load_spec(files["toml"]).pseudonyms == ("remarks",)
    assert again.read_bytes() == files["csv"].read_bytes()
    page.get_by_label("Key, 16 signs or more").fill("another key of mine")
    make_release(page, 3)
    other = save(page, RELEASE, tmp_path).read_bytes()
    assert other != again.read_bytes()


@needs_browser
@pytest.mark.slow
def test_another_model_and_a_hierarchy_file(
    server: Server, context: Any, people: Path, tmp_path: Path
) -> None:
    jobs = sorted(set(read_table(people).column("occupation").to_pylist()) - {None})
    lines = [f"{job};{'AB'[i % 2]}-jobs;*" for i, job in enumerate(jobs)]
    page = context.new_page()
    page.goto(server.address)
    upload(page, people)
    set_role(page, "income", "sensitive")
    set_role(page, "remarks", "remove it")
    choose(page, "Nobody learns income from their group:", "entropy-l-diversity")
    page.get_by_label("l: values, at least").fill("1.2")
    page.get_by_text("Groups of values: how").click()
    page.wait_for_timeout(500)  # until it has unfolded
    choose(page, "groups of occupation", "from a file: CSV, TOML or JSON")
    alert = page.get_by_role("alert")
    for name, content, told in (
        ("jobs.txt", CANARY, "unknown kind of file"),
        ("bad.csv", f"{CANARY};x\n{CANARY};y;*\n", "bad.csv"),
        ("few.csv", lines[0], "occupation"),
    ):
        (tmp_path / name).write_text(content)
        page.locator("input[type=file]").last.set_input_files(str(tmp_path / name))
        alert.get_by_text(told).first.wait_for()
        assert CANARY not in alert.first.inner_text()
        assert str(server.folder) not in alert.first.inner_text()
    (tmp_path / "jobs.csv").write_text("\n".join(lines))
    page.locator("input[type=file]").last.set_input_files(str(tmp_path / "jobs.csv"))
    page.get_by_text("A-jobs (").wait_for()
    assert alert.count() == 0
    make_release(page, 1)

    files, again = take_and_repeat(page, people, tmp_path)
    spec = load_spec(files["toml"])
    kinds = [type(model).__name__ for model in spec.models]
    assert kinds == ["KAnonymity", "EntropyLDiversity"]
    assert again.read_bytes() == files["csv"].read_bytes()
    assert "A-jobs" in spec.hierarchies["occupation"].labels  # type: ignore[union-attr]


@needs_browser
def test_wrong_files_are_told_and_the_page_goes_on(
    server: Server, context: Any, people: Path, tmp_path: Path
) -> None:
    page = context.new_page()
    page.goto(server.address)
    alert = page.get_by_role("alert")
    for name, content, told in (
        ("people.xlsx", CANARY.encode(), "unknown kind of file"),
        ("people.parquet", CANARY.encode(), "people.parquet: not a Parquet file"),
        ("people.csv", b"a,b\n1,2\n" + CANARY.encode() + b"\n", "people.csv"),
        ("large.csv", b"a\n" + b"1\n" * (11 << 20), "larger than the studio takes"),
    ):
        path = tmp_path / name
        path.write_bytes(content)

        upload(page, path)

        alert.get_by_text(told).first.wait_for()
        assert CANARY not in alert.inner_text()
        assert str(server.folder) not in alert.inner_text()

    upload(page, people)
    page.get_by_text("people.csv: 400 rows").wait_for()
    assert alert.count() == 0


@needs_browser
def test_a_run_can_be_cancelled_and_leaves_nothing(
    server: Server, context: Any, tmp_path: Path
) -> None:
    large = tmp_path / "large.parquet"
    write_table(census(1_000_000), large)
    page = context.new_page()
    page.goto(server.address)
    upload(page, large)
    page.get_by_text("1,000,000 rows, 13 columns").wait_for()

    page.get_by_text("The spec: your choices").click()
    before = set(server.folder.rglob("*"))
    page.get_by_role("button", name="Make the release").click()
    taken = Typist(page).type_until("Cancel", 5)
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("cancelled; nothing was kept").wait_for()

    assert page.get_by_text("verified").count() == 0
    assert set(server.folder.rglob("*")) <= before
    assert median(taken) < BAR, "the page does not wait for the engine"
    assert page.get_by_role("button", name="Make the release").is_enabled()


@needs_browser
def test_two_tabs_do_not_disturb_each_other_and_reloading_keeps_the_work(
    server: Server, context: Any, people: Path
) -> None:
    first, second = context.new_page(), context.new_page()
    first.goto(server.address)
    second.goto(server.address)
    upload(first, people)
    first.get_by_text("people.csv: 400 rows").wait_for()
    for path in server.folder.rglob("*"):
        assert not path.stat().st_mode & 0o077, "uploads are for the user alone"

    assert second.get_by_text("What is each column?").is_hidden()
    second.get_by_role("button", name="Try it with a made-up census").click()
    second.get_by_text("census.csv: 20,000 rows").wait_for()
    second.get_by_label("k: rows that look alike, at least").fill("33")
    second.get_by_text("fewer than 33 rows").wait_for()
    first.get_by_text("people.csv: 400 rows").wait_for()
    assert first.get_by_label("k: rows that look alike, at least").input_value() == "5"

    second.reload()
    second.get_by_text("census.csv: 20,000 rows").wait_for()
    field = second.get_by_label("k: rows that look alike, at least")
    assert field.input_value() == "33"
    assert first.url != second.url
    third = context.new_page()
    third.goto(first.url)  # in the same browser no new address is needed
    third.get_by_text("people.csv: 400 rows").wait_for()
    assert "code=" not in first.url
    assert first.evaluate("history.length") == 2


@needs_browser
def test_groups_are_made_by_dragging_and_the_release_shows_them(
    server: Server, context: Any, people: Path, tmp_path: Path
) -> None:
    page = open_page(context, server, people)
    page.get_by_text("Groups of values: how they become coarser").click()
    choose(page, "groups of occupation", "my own: drag values into groups")
    rooms = page.locator(".studio-drop")
    page.get_by_text("Add a group").wait_for()
    value = rooms.first.locator(".studio-value").first.inner_text()

    moved = rooms.nth(1).get_by_role("button", name=value, exact=True)

    drag(page, rooms.first.locator(".studio-value").first, rooms.nth(1), moved)

    for _ in range(10):  # the server may still be showing the groups anew
        page.get_by_label("name of group 2", exact=True).fill("office")
        page.keyboard.press("Enter")
        if seen_soon(page.get_by_label("name of office", exact=True)):
            break
    moved.click()  # and back to the first one with the keyboard's way
    page.get_by_role("menuitem", name="move to group 1").click()
    rooms.first.get_by_role("button", name=value, exact=True).wait_for()
    make_release(page, 1)
    spec = load_spec(save(page, "Spec", tmp_path))
    tree = spec.hierarchies["occupation"].tree  # type: ignore[union-attr]
    assert "office" in tree.labels
    parent = tree.labels[tree.parents[tree.labels.index(value)]]
    assert parent == "group 1"


@needs_browser
def test_k_is_chosen_on_the_curve_and_groups_and_rows_are_shown(
    server: Server, context: Any, people: Path
) -> None:
    page = open_page(context, server, people)

    page.get_by_role("button", name="What would each k cost?").click()
    page.get_by_role("button", name="k = 20").click()
    picture = page.locator(".studio-chart")
    assert picture.is_visible()
    set_role(page, "race", "keep as it is")
    picture.wait_for(state="hidden")  # it was drawn for other columns
    page.get_by_text("More choices").click()
    choose(page, "groups", "sex")
    make_release(page, 1)

    assert "k = 20" in page.get_by_text("quasi_identifiers = ").first.text_content()
    page.get_by_role("tab", name="Loss by group").click()
    page.get_by_text("times all").wait_for()
    page.get_by_role("tab", name="Before and after").click()
    page.get_by_text("age (released)").wait_for()
    rows = page.get_by_role("region", name="Rows before and after")
    assert rows.get_by_text(f"{CANARY} 0").count() == 1  # for the local user's eyes


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_a_telephone_and_every_field_has_a_name(
    server: Server, context: Any, people: Path, scheme: Any
) -> None:
    page = context.new_page()
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 400, "height": 800})
    page.goto(server.address)
    upload(page, people)
    page.get_by_text("are unique in the table").wait_for()
    make_release(page, 1)

    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    is_dark = page.evaluate("document.body.classList.contains('body--dark')")
    assert is_dark == (scheme == "dark")
    page.get_by_label("dark or light").click()
    page.wait_for_function(
        f"document.body.classList.contains('body--dark') === {str(not is_dark).lower()}"
    )
    unnamed = page.evaluate(NAMELESS)
    assert unnamed == []


def test_a_table_can_be_named_and_a_terminated_studio_leaves_nothing(
    people: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log.txt"
    spool = tmp_path / "spool"
    spool.mkdir()
    with log.open("wb") as file:
        process = subprocess.Popen(  # noqa: S603
            [*COMMAND, "studio", str(people), "--no-browser"],
            stderr=file,
            env=environment(TMPDIR=str(spool)),
        )
    server = Server(printed_address(process, log), log, spool)
    front = server.ask(f"{server.base_path}/", cookie=server.cookie)[2]["location"]
    server.ask(f"{server.base_path}/{front}", cookie=server.cookie)
    assert len(list(spool.iterdir())) == 1

    process.terminate()

    assert process.wait(20) == 143
    assert list(spool.iterdir()) == []
    assert CANARY not in log.read_text()
