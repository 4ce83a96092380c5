"""Options that several commands have, and the spec that they ask for."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core_mondrian.errors import SpecError

if TYPE_CHECKING:
    from core_mondrian.spec.declaration import Spec

SpecFile = Annotated[
    Path | None, typer.Option("--spec", help="What to protect, as TOML.")
]
QuasiIdentifiers = Annotated[
    list[str] | None,
    typer.Option(
        "--qid", metavar="COLUMN", help="A quasi-identifier. Repeat for more."
    ),
]
K = Annotated[
    int | None, typer.Option("--k", metavar="K", help="Rows a class needs, such as 5.")
]
ModelTexts = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="'NAME KEY=VALUE …'",
        help="A privacy model, ours or FILE.py:CLASS. Repeat for more.",
    ),
]
Sensitive = Annotated[
    str | None,
    typer.Option(
        "--sensitive",
        metavar="COLUMN",
        help="The sensitive column of every --model that names none.",
    ),
]
Unit = Annotated[
    str | None,
    typer.Option(
        "--unit", metavar="COLUMN", help="Whose row it is: K counts persons, not rows."
    ),
]
KeyFile = Annotated[
    Path | None,
    typer.Option(
        "--key-file",
        metavar="FILE",
        help="The secret of the run, 16 bytes or more; or the owner's record of a run "
        "to be made again. Default: CORE_MONDRIAN_KEY, else random.",
    ),
]
RecordFile = Annotated[
    Path | None,
    typer.Option(
        "--record",
        metavar="FILE",
        help="The owner's record of the release. Default: beside it, if it is there.",
    ),
]
Suppress = Annotated[
    str | None,
    typer.Option(
        "--suppress",
        metavar="1%|ROWS",
        help="Rows that may be left out. Policy best: if that costs less.",
    ),
]
Suppressed = Annotated[
    str | None,
    typer.Option(
        "--suppressed",
        metavar="HOW",
        help="Rows that are left out: drop, blank or separate.",
    ),
]
Numbers = Annotated[
    str | None,
    typer.Option(
        "--numbers",
        metavar="HOW",
        help="Numbers as interval, bounds, struct, mean, median, midpoint or sample.",
    ),
]
NullValues = Annotated[
    list[str] | None,
    typer.Option(
        "--null", metavar="TEXT", help="What is missing in a CSV file. Repeat for more."
    ),
]
GuardFormulas = Annotated[
    bool,
    typer.Option(
        "--guard-formulas",
        help="CSV: an apostrophe before text that a spreadsheet would run.",
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="One JSON object on the standard output.")
]

Engine = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="local|spark",
        help="Where the work is done: on this machine, or on a cluster.",
    ),
]
Master = Annotated[
    str | None,
    typer.Option(
        "--master", metavar="URL", help="Spark: the cluster, such as spark://HOST:7077."
    ),
]
Remote = Annotated[
    str | None,
    typer.Option(
        "--remote", metavar="URL", help="Spark: a Connect server, such as sc://HOST."
    ),
]
DriverTuples = Annotated[
    int | None,
    typer.Option(
        "--driver-tuples",
        metavar="N",
        min=0,
        help="Spark: distinct tuples planned on the driver; more stay on the cluster "
        "[default: 1000000].",
    ),
]


def model_tables(
    texts: list[str] | None, sensitive: str | None
) -> list[dict[str, Any]] | None:
    """Return the models of the command line as a spec file has them."""
    if texts is None:
        return None
    from core_mondrian.models.load import has_field, parse_model

    tables = [parse_model(text) for text in texts]
    for table in tables:
        if ":" in table["name"]:
            table["name"] = str(Path.cwd() / table["name"])
        for key in ("hierarchy", "population"):
            if key in table:
                table[key] = str(Path.cwd() / str(table[key]))
        if sensitive is not None and has_field(table["name"], "sensitive"):
            table.setdefault("sensitive", sensitive)
    return tables


def policy_text(text: str | None) -> str | None:
    """Return a policy of the command line as a spec file has it."""
    if text is None or ":" not in text:
        return text
    # Relative to where the user is, also if there is a spec somewhere else.
    name, *given = shlex.split(text)
    return shlex.join([str(Path.cwd() / name), *given])


def runs_on_spark(options: Mapping[str, Any]) -> bool:
    """Tell whether a cluster is asked for; its options go with no other engine."""
    from core_mondrian.spec.declaration import check_choice

    check_choice("engine", options["engine"], ("local", "spark"))
    if options["engine"] == "spark":
        return True
    for name in ("master", "remote", "driver_tuples"):
        if options[name] is not None:
            flag = f"--{name.replace('_', '-')}"
            raise SpecError(f"{flag} is for clusters", hint="add --engine spark")
    return False


def spec_of(options: Mapping[str, Any]) -> "Spec":
    """Return what the options of a command ask for, by their names above."""
    best = {
        "effort": options["effort"],
        "disjoint": options["disjoint"] or None,
        "equity": options.get("equity"),
    }
    weights = (_split_weight(text) for text in options["weights"] or [])
    same = (
        *("quasi_identifiers", "identifiers", "unit", "k", "missing"),
        "small_patterns",
        *("numbers", "categories", "suppressed", "inline_below", "null_values"),
        *("pseudonyms", "weight", "accept"),
        *("class_id", "shuffle", "uncovered"),
    )
    flags = {name: options[name] for name in same} | {
        "models": model_tables(options["models"], options["sensitive"]),
        "policy": policy_text(options["policy"]),
        "suppress": options["suppress_rows"],
        "nice": options["nice"] or None,
        "guard_formulas": options.get("guard_formulas") or None,
        "best": {key: value for key, value in best.items() if value is not None},
        "weights": dict(weights),
    }
    return build_spec(options["spec_file"], flags, options["hierarchies"] or [])


def build_spec(
    file: Path | None, flags: Mapping[str, object], hierarchies: list[str] | None
) -> "Spec":
    """Return the spec of ``file`` with what the flags say instead.

    ``hierarchies`` are COLUMN=FILE or COLUMN=KIND:…; None leaves out those of the
    spec as well.
    """
    from core_mondrian.spec.toml_file import read_spec_file, spec_from_mapping

    read = read_spec_file(file) if file is not None else None
    asked = dict(read.asked) if read is not None else {}
    given = {key: value for key, value in flags.items() if value not in (None, [], {})}
    for key, value in given.items():
        if isinstance(value, dict) and isinstance(asked.get(key), dict):
            asked[key] = asked[key] | value
        else:
            asked[key] = value
    if hierarchies is None:
        asked.pop("hierarchies", None)
    elif hierarchies:
        known = asked.get("quasi_identifiers", [])
        files = dict(_split_hierarchy(text, known) for text in hierarchies)
        given["hierarchies"] = files
        asked["hierarchies"] = {**asked.get("hierarchies", {}), **files}
    if read is None:
        return spec_from_mapping(asked)
    with read.located(given):
        return spec_from_mapping(asked, read.path.parent)


def _split_hierarchy(text: str, columns: list[str]) -> tuple[str, Any]:
    """Split COLUMN=FILE, either of which may hold an equals sign."""
    from core_mondrian.hierarchies.load import parse_short

    places = [i for i, letter in enumerate(text) if letter == "="]
    if not places:
        raise SpecError("--hierarchy takes COLUMN=FILE", hint="join them by '='")
    fitting = [i for i in places if text[:i] in columns]
    place = (fitting or places)[0]
    asked = parse_short(text[place + 1 :])
    if asked is None:
        return text[:place], str(Path.cwd() / text[place + 1 :])
    if "file" in asked:
        asked["file"] = str(Path.cwd() / asked["file"])
    return text[:place], asked


def _split_weight(text: str) -> tuple[str, float]:
    try:
        name, number = text.rsplit("=", 1)  # a number holds no equals sign
        return name, float(number)
    except ValueError:
        raise SpecError(
            "--weight takes COLUMN=NUMBER", hint="such as --weight age=3"
        ) from None
