"""core-mondrian anonymize: a table in, a verified release and its manifest out."""

import json
import math
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core_mondrian.errors import SpecError
from core_mondrian.progress import show_progress

if TYPE_CHECKING:
    from core_mondrian.measure.groups import GroupMeasures
    from core_mondrian.measure.utility import Measures
    from core_mondrian.measure.verify import Verification
    from core_mondrian.partition.equity import Balance
    from core_mondrian.release import Release
    from core_mondrian.spec import Spec

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
        help="The key of the pseudonyms, else CORE_MONDRIAN_KEY.",
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
        metavar="drop|blank|apart",
        help="Leave those rows out, empty them, or see --suppressed-file.",
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
AsJson = Annotated[
    bool, typer.Option("--json", help="One JSON object on the standard output.")
]


def anonymize_file(
    source: Annotated[Path, typer.Argument(help="CSV, Parquet or Arrow IPC.")],
    target: Annotated[Path, typer.Argument(help="Likewise; its manifest goes beside.")],
    *,
    spec_file: SpecFile = None,
    quasi_identifiers: QuasiIdentifiers = None,
    k: K = None,
    models: ModelTexts = None,
    sensitive: Sensitive = None,
    unit: Unit = None,
    suppress_rows: Suppress = None,
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            metavar="best|paper|original",
            help="Cuts that lose least (default), Core Mondrian's, or the classic.",
        ),
    ] = None,
    effort: Annotated[
        str | None,
        typer.Option(
            "--effort",
            metavar="fast|strong|max",
            help="How long policy best searches. Longer loses less.",
        ),
    ] = None,
    disjoint: Annotated[
        bool,
        typer.Option(
            "--disjoint", help="Policy best: classes that do not overlap; loses more."
        ),
    ] = False,
    equity: Annotated[
        str | None,
        typer.Option(
            "--equity",
            metavar="COLUMN",
            help="Policy best: groups that should lose about as much as each other.",
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            metavar="COLUMN",
            help="Show what each group lost, by its name. Repeat for more.",
        ),
    ] = None,
    missing: Annotated[
        str | None,
        typer.Option(
            "--missing",
            metavar="value|pattern",
            help="One more value (default of best), or kept apart by pattern.",
        ),
    ] = None,
    numbers: Numbers = None,
    nice: Annotated[
        bool,
        typer.Option(
            "--nice", help="Round the bounds of ranges outward, to round numbers."
        ),
    ] = False,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed", metavar="SEED", help="What --numbers sample draws by: 0."
        ),
    ] = None,
    categories: Annotated[
        str | None,
        typer.Option(
            "--categories",
            metavar="label|set",
            help="The lowest label over the values, or all of them.",
        ),
    ] = None,
    suppressed: Suppressed = None,
    suppressed_file: Annotated[
        Path | None,
        typer.Option(
            "--suppressed-file",
            metavar="FILE",
            help="Write the rows left out to FILE, as they are: NOT anonymized. "
            "Keep it as safe as SOURCE.",
        ),
    ] = None,
    class_id: Annotated[
        str | None,
        typer.Option(
            "--class-id", metavar="COLUMN", help="Number the classes in a new column."
        ),
    ] = None,
    shuffle: Annotated[
        int | None,
        typer.Option(
            "--shuffle",
            metavar="SEED",
            help="Order the rows by what they show, not as they came.",
        ),
    ] = None,
    hierarchies: Annotated[
        list[str] | None,
        typer.Option(
            "--hierarchy",
            metavar="COLUMN=FILE|KIND",
            help="A file, or such as zip=prefix:2, age=ranges:5,10. Repeat for more.",
        ),
    ] = None,
    uncovered: Annotated[
        str | None,
        typer.Option(
            "--uncovered",
            metavar="CHOICE",
            help="Values a hierarchy lacks: error, 'own branch' or suppress.",
        ),
    ] = None,
    weights: Annotated[
        list[str] | None,
        typer.Option(
            "--weight",
            metavar="COLUMN=NUMBER",
            help="How much a loss there matters: 1. Repeat for more.",
        ),
    ] = None,
    identifiers: Annotated[
        list[str] | None,
        typer.Option(
            "--identifier",
            metavar="COLUMN",
            help="A column to remove. Repeat for more.",
        ),
    ] = None,
    pseudonyms: Annotated[
        list[str] | None,
        typer.Option(
            "--pseudonym",
            metavar="COLUMN",
            help="A column to replace by keyed pseudonyms. Repeat for more.",
        ),
    ] = None,
    key_file: KeyFile = None,
    weight: Annotated[
        str | None,
        typer.Option(
            "--survey-weight",
            metavar="COLUMN",
            help="How many people a row stands for; only measures use it.",
        ),
    ] = None,
    accept: Annotated[
        list[str] | None,
        typer.Option(
            "--accept",
            metavar="COLUMN",
            help="Whose warnings are known. Repeat for more.",
        ),
    ] = None,
    inline_below: Annotated[
        int | None,
        typer.Option(
            "--inline-below", metavar="ROWS", help="Partitions solved in place: 1000."
        ),
    ] = None,
    null_values: NullValues = None,
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="Default: all cores.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace TARGET if it exists.")
    ] = False,
    as_json: AsJson = False,
    measures: Annotated[
        bool, typer.Option("--measures/--no-measures", help="Measure what was lost.")
    ] = True,
) -> None:
    """Write an anonymized copy of SOURCE to TARGET.

    TARGET is written only after the release has passed verification. Options override
    the spec. No value of the table is ever printed, but for the groups of --by and
    --equity: those that more rows have than a class needs.
    """
    started = time.perf_counter()
    if suppressed_file is not None and suppressed is None:
        suppressed = "apart"
    spec = spec_of(locals())
    key = _read_key(key_file, spec)
    manifest_file = manifest_of(target)
    _check_formats(spec, target, suppressed_file)
    files = [target, *([] if suppressed_file is None else [suppressed_file])]
    _check_targets(source, files, overwrite=overwrite)
    release, schema = _anonymize(source, spec, key, threads, by or [])
    found = release.measures() if measures else None
    groups = _groups(release, by or []) if measures else {}
    manifest = _finite(release.manifest())
    report = manifest if found is None else {**manifest, "measures": found.to_json()}
    if groups:
        report["groups"] = {
            name: [one.to_json() for one in lost] for name, lost in groups.items()
        }
    output = json.dumps(_finite(report), ensure_ascii=False) if as_json else None
    tables = dict(zip(files, (release.data, release.suppressed), strict=False))
    _write(tables, target, schema, manifest, overwrite=overwrite)
    with suppress(KeyboardInterrupt):  # the work is done and stays done
        if output is not None:
            typer.echo(output)
        _summarize(release, found)
        for name, lost in groups.items():
            _tell_groups(name, lost)
        seconds = time.perf_counter() - started
        typer.echo(f"wrote {target} and {manifest_file} in {seconds:.1f} s", err=True)
        if suppressed_file is not None:
            typer.echo(
                f"wrote {suppressed_file}: original rows, NOT anonymized", err=True
            )


def _check_formats(spec: "Spec", target: Path, suppressed_file: Path | None) -> None:
    """Refuse what the files cannot hold, before any work."""
    is_apart = spec.suppressed == "apart"
    if is_apart != (suppressed_file is not None):
        raise SpecError(
            "suppressed = 'apart' and --suppressed-file go together",
            hint="the file gets the rows left out, as they are: NOT anonymized",
        )
    columns = spec.quasi_identifiers
    has_structs = any(spec.format_of(name) == "struct" for name in columns)
    if has_structs and target.suffix.lower() == ".csv":
        raise SpecError(
            f"{target}: a CSV file has no structs",
            hint="take numbers = 'bounds', or write Parquet",
        )


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


def spec_of(options: Mapping[str, Any]) -> "Spec":
    """Return what the options of a command ask for, by their names above."""
    best = {
        "effort": options["effort"],
        "disjoint": options["disjoint"] or None,
        "equity": options.get("equity"),
    }
    weights = (_split_weight(text) for text in options["weights"] or [])
    same = (
        *("quasi_identifiers", "identifiers", "unit", "k", "policy", "missing"),
        *("numbers", "categories", "suppressed", "inline_below", "null_values"),
        *("pseudonyms", "weight", "accept"),
        *("seed", "class_id", "shuffle"),
        "uncovered",
    )
    flags = {name: options[name] for name in same} | {
        "models": model_tables(options["models"], options["sensitive"]),
        "suppress": options["suppress_rows"],
        "nice": options["nice"] or None,
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
    from core_mondrian.spec_file import read_spec_file, spec_from_mapping

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


def manifest_of(target: Path) -> Path:
    """Return where the manifest of a release stands."""
    return target.with_name(target.name + ".manifest.json")


def _read_key(file: Path | None, spec: "Spec") -> bytes | None:
    """Return the key of the pseudonyms, checked before any work.

    A key in the environment may be there for other runs; a file is named for this one.
    """
    from core_mondrian.pseudonyms import check_key

    if file is not None:
        try:
            key: bytes | None = file.read_bytes().rstrip(b"\r\n")
        except OSError as error:
            raise SpecError(f"key file {file}: {error.strerror}") from None
    else:
        found = os.environ.get("CORE_MONDRIAN_KEY") if spec.pseudonyms else None
        key = None if found is None else os.fsencode(found)
    check_key(key, spec.pseudonyms)
    return key


def _check_targets(source: Path, files: list[Path], *, overwrite: bool) -> None:
    from core_mondrian.files.place import check_place, check_target

    for file in files:
        check_target(file, overwrite=overwrite, source=source)
    check_place(manifest_of(files[0]), overwrite=overwrite)
    if len({file.resolve() for file in files}) < len(files):
        raise SpecError("TARGET and --suppressed-file are different files")


def _anonymize(
    source: Path, spec: "Spec", key: bytes | None, threads: int | None, by: list[str]
) -> tuple["Release[Any]", Any]:
    from core_mondrian.files.kinds import source_schema
    from core_mondrian.files.read import read_table

    table = read_table(
        source, typed=spec.quasi_identifiers, null_values=spec.null_values
    )
    from core_mondrian.api import anonymize

    tell_compiling(spec)
    with show_progress() as progress:
        release = anonymize(
            table, spec, key=key, by=by, threads=threads, progress=progress
        )
    return release, source_schema(table)


def tell_compiling(spec: "Spec | None" = None) -> None:
    """Say on stderr why the first run on a machine takes longer."""
    from core_mondrian.kernels.exact import find_exact_cuts
    from core_mondrian.kernels.grow import grow_below
    from core_mondrian.kernels.jit import is_ready
    from core_mondrian.kernels.regroup import regroup_classes
    from core_mondrian.partition.best import does_regroup

    if not (is_ready(find_exact_cuts) and is_ready(grow_below)):
        typer.echo("compiling the engine, once: about a minute", err=True)
    elif spec is not None and does_regroup(spec) and not is_ready(regroup_classes):
        typer.echo("compiling more of the engine, once: some 20 seconds", err=True)


def _write(
    tables: Mapping[Path, Any],
    target: Path,
    schema: Any,  # noqa: ANN401
    manifest: dict[str, Any],
    *,
    overwrite: bool,
) -> None:
    from core_mondrian.files.place import write_files
    from core_mondrian.files.write import table_writer

    text = json.dumps(manifest, ensure_ascii=False, indent=2) + "\n"
    write_files(
        {
            **{
                file: table_writer(table, file, source=schema)
                for file, table in tables.items()
            },
            manifest_of(target): text.encode(),
        },
        overwrite=overwrite,
    )


def _finite(value: Any) -> Any:  # noqa: ANN401  # anything JSON knows
    """Replace what JSON has no number for."""
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _summarize(release: "Release[Any]", measures: "Measures | None") -> None:
    from rich.console import Console

    console = Console(stderr=True, markup=False, highlight=False)
    suppressed, budget = release.n_suppressed, release.budget
    released = release.n_rows - suppressed
    console.print(
        f"rows        {release.n_rows} in, {released} released, "
        f"{suppressed} suppressed (budget {budget})"
    )
    if release.n_blanked:
        console.print(f"blanked     {release.n_blanked} cells")
    console.print(f"policy      {policy_text(release)}")
    tell_verification(release.verification)
    if measures is not None:
        console.print(_loss_table(measures))
    if release.balance is not None:
        console.print(f"equity      {_balance_text(release.balance)}", soft_wrap=True)
    console.print(f"digest      {release.digest}", soft_wrap=True)
    for concern in release.warnings:
        if not concern.accepted:
            console.print(f"warning     {spelled(concern.text)}", soft_wrap=True)


def policy_text(release: "Release[Any]") -> str:
    """Return how the cuts were chosen."""
    from core_mondrian.policies import BestPolicy, OriginalPolicy

    policy = release.spec.policy
    if isinstance(policy, BestPolicy):
        disjoint = ", disjoint" if policy.disjoint else ""
        return f"best, effort {policy.effort}{disjoint} (beta {release.beta:g})"
    if isinstance(policy, OriginalPolicy):
        return f"original, variant {policy.variant}"
    return policy.name


def tell_verification(found: "Verification") -> None:
    """Say on stderr what the recount found."""
    typer.echo(
        f"classes     {found.n_classes}, the smallest has {found.smallest_class} rows",
        err=True,
    )
    for model in found.models:
        reached = (
            f"{model.reached:.9g}" if math.isfinite(model.reached) else "vacuously"
        )
        typer.echo(f"verified    {model.name} (reached {reached})", err=True)


def _groups(
    release: "Release[Any]", by: list[str]
) -> "dict[str, tuple[GroupMeasures, ...]]":
    equity = release.spec.equity
    names = dict.fromkeys((*by, *([] if equity is None else [equity])))
    return {name: release.by_group(name) for name in names}


def _balance_text(balance: "Balance") -> str:
    """Return what equity did, and what it cost."""
    text = (
        f"the worst group loses {balance.worst:.4f} (was {balance.worst_before:.4f}), "
        f"all rows {balance.loss:.4f} (was {balance.loss_before:.4f})"
    )
    if balance.is_reached:
        return text
    asked = (balance.bound or 0.0) * balance.loss_before
    return f"{text}; the bound of {asked:.4f} was NOT reached"


def _tell_groups(name: str, groups: "tuple[GroupMeasures, ...]") -> None:
    """Show on stderr what each group lost."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title="lost by group", box=None)
    table.add_column(printable(name))
    for title in ("rows", "suppressed", "NCP", "times all"):
        table.add_column(title, justify="right")
    for one in groups:
        table.add_row(
            *(printable(one.group), str(one.n_rows), f"{one.share_suppressed:.2%}"),
            f"{one.loss:.4f}",
            "-" if one.ratio is None else f"{one.ratio:.2f}",
        )
    Console(stderr=True, markup=False, highlight=False).print(table)


def _loss_table(measures: "Measures") -> Any:  # noqa: ANN401  # a rich table
    from rich.table import Table

    table = Table("column", "kind", title="kept (RILM) and lost (NCP)", box=None)
    weighted = any(column.weight != 1.0 for column in measures.columns)
    for title in ("RILM", "NCP", "weight")[: 2 + weighted]:
        table.add_column(title, justify="right")
    for column in measures.columns:
        values = (column.rilm, column.ncp)
        texts = ["-" if value is None else f"{value:.3f}" for value in values]
        texts += [f"{column.weight:g}"] * weighted
        table.add_row(printable(column.name), column.kind, *texts)
    return table


def printable(name: str) -> Any:  # noqa: ANN401  # a rich text
    """Return a column name as text that cannot move the cursor or be markup."""
    from rich.text import Text

    return Text(spelled(name), overflow="fold")


def spelled(text: str, *, is_plain: bool = False) -> str:
    """Return a text without what acts on a terminal; ``is_plain``: in ASCII."""
    is_safe = text.isprintable() and (text.isascii() or not is_plain)
    return text if is_safe else ascii(text)[1:-1]
