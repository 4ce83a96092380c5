"""A key of a spec is declared in one place, and is found everywhere."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from core_mondrian.spec import keys
from website import spec_keys

TOY = """    color: Literal["red", "blue"] = declare(
        "Which color the release has.",
        "red",
        kind=TEXT,
        choices=("red", "blue"),
        flag=Flag("--color", SHOWN),
    )
    exclude: tuple"""
EVERYWHERE = """
import io, json, sys
from contextlib import redirect_stdout, suppress
from pathlib import Path
from types import ModuleType

name = "core_mondrian.spec.keys"
source = Path(sys.argv[1]).read_text("utf-8")
assert source.count("    exclude: tuple") == 1
sys.modules[name] = ModuleType(name)
exec(source.replace("    exclude: tuple", sys.argv[2]), vars(sys.modules[name]))

from core_mondrian import Spec, SpecError
from core_mondrian.cli.main import run
from core_mondrian.cli.options import SpecOptions, build_spec
from core_mondrian.release.manifests import parse_manifest, rebuild_spec
from core_mondrian.spec.json_schema import spec_schema
from core_mondrian.spec.toml_file import load_spec
from core_mondrian.studio.unsupported_keys import names_of, put_back
from website.spec_keys import key_table, signature

def refused(text):
    Path("wrong.toml").write_text(text)
    try:
        load_spec("wrong.toml")
    except SpecError as error:
        return str(error)

start = 'quasi_identifiers = ["age"]\\nk = 2\\n'
Path("blue.toml").write_text(start + 'color = "blue"\\n')
spec = load_spec("blue.toml")
flags = dict.fromkeys(SpecOptions.keys()) | {"color": "red"}
shown = io.StringIO()
with redirect_stdout(shown), suppress(SystemExit):
    run(["anonymize", "--help"])
asked = {"quasi_identifiers": ["age"], "k": 2, "policy": "best"}
print(json.dumps({
    "python": [Spec("age", k=2).color, Spec("age", k=2, color="blue").color],
    "toml": spec.color,
    "a wrong value": refused(start + 'color = "green"\\n'),
    "a wrong kind": refused(start + "color = 1\\n"),
    "schema": spec_schema()["properties"]["color"],
    "manifest": spec.to_json()["color"],
    "manifest read": rebuild_spec(spec.to_json(), {}).color,
    "flag": SpecOptions(Path("blue.toml"), flags).spec().color,
    "--help": "--color" in shown.getvalue(),
    "help()": "Which color" in Spec.__doc__,
    "docs": [line for line in key_table().splitlines() if "`color`" in line],
    "signature": [x.strip() for x in signature().splitlines() if " color:" in x],
    "studio": [names_of(rest := {"color": "blue"}), put_back(asked, rest)["color"]],
}))
"""


def test_a_key_that_is_declared_in_one_place_is_found_everywhere(
    tmp_path: Path,
) -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", EVERYWHERE, str(keys.__file__), TOY]
    done = subprocess.run(  # noqa: S603
        command,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(root), "COLUMNS": "200"},
        check=False,
    )
    assert done.returncode == 0, done.stderr

    assert json.loads(done.stdout.splitlines()[-1]) == {
        "python": ["red", "blue"],
        "toml": "blue",
        "a wrong value": "spec wrong.toml, line 3: color is one of red, blue",
        "a wrong kind": "spec wrong.toml, line 3: color has the wrong kind: int\n"
        "hint: it is a text",
        "schema": {
            "description": "Which color the release has.",
            "enum": ["red", "blue"],
        },
        "manifest": "blue",
        "manifest read": "blue",
        "flag": "red",
        "--help": True,
        "help()": True,
        "docs": [
            '| `color` | `--color` | `"red"` | Which color the release has; `"red"`, '
            '`"blue"` |'
        ],
        "signature": ['color: Literal["red", "blue"] = "red",'],
        "studio": [["color"], "blue"],
    }


def test_what_is_written_of_keys_is_what_their_declaration_says() -> None:
    """`python -m website.spec_keys` writes it anew."""
    page = spec_keys.PAGE.read_text("utf-8")
    module = spec_keys.DECLARATION.read_text("utf-8")

    assert page == spec_keys.written_page(page)
    assert module == spec_keys.with_between(
        module, "# parameters of keys", spec_keys.signature()
    )


def test_a_page_without_the_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="keys"):
        spec_keys.with_between("no marks", "<!-- keys", "")
