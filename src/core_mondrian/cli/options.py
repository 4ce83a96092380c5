"""Options that several commands have, in groups, and the spec that they ask for."""

import inspect
import json
import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Self, get_args

import typer

from core_mondrian.cli.requests import parameter
from core_mondrian.errors import CHECK_PATH, SpecError
from core_mondrian.runtime.plain_values import JsonMapping, JsonObject
from core_mondrian.spec.keys import KEYS
from core_mondrian.spec.metadata import PROTECTION, Key, keys_of
from core_mondrian.spec.policies import BestPolicy

if TYPE_CHECKING:
    from core_mondrian.spec.declaration import Spec

RUNNING: Final = "Running"
OUTPUT: Final = "Output"
_BEST: Final = keys_of(BestPolicy)
"""Options of policy best, of which some are flags."""
_FLAGS: Final = {
    name: one for name, one in {**KEYS, **_BEST}.items() if one.flag is not None
}
"""Keys that the command line knows."""


def option_of(name: str) -> Any:  # noqa: ANN401  # one of typer's
    """Return the option that a key declares."""
    key = _FLAGS[name]
    if key.flag is None:
        raise ValueError(name)
    choices = "|".join(key.choices)
    text = key.flag.help or key.meaning
    if key.choices and key.flag.metavar is not None:
        *first, last = key.choices
        text = f"{text.rstrip('.')}: {', '.join(first)} or {last}."
    is_list = key.kind.option == list[str]
    return typer.Option(
        key.flag.name,
        metavar=key.flag.metavar or choices or None,
        help=f"{text} Repeat for more." if is_list else text,
        rich_help_panel=key.flag.panel,
    )


TableFile = Annotated[Path, typer.Argument(help="CSV, Parquet or Arrow IPC.")]
SpecFile = Annotated[
    Path | None,
    typer.Option(
        "--spec", help="What to protect, as TOML.", rich_help_panel=PROTECTION
    ),
]
QuasiIdentifiers = Annotated[list[str] | None, option_of("quasi_identifiers")]
NullValues = Annotated[list[str] | None, option_of("null_values")]
_Sensitive = Annotated[
    str | None,
    typer.Option(
        "--sensitive",
        metavar="COLUMN",
        help="The sensitive column of every --model that names none.",
        rich_help_panel=PROTECTION,
    ),
]
KeyFile = Annotated[
    Path | None,
    typer.Option(
        "--key-file",
        metavar="FILE",
        help="The secret of the run, 16 bytes or more; or the owner's record of a run "
        "to be made again. [default: CORE_MONDRIAN_KEY, else random]",
        rich_help_panel=OUTPUT,
    ),
]
SignKey = Annotated[
    Path | None,
    typer.Option(
        "--sign-key",
        metavar="FILE",
        help="Sign the manifest by this private key, see keygen.",
        rich_help_panel=OUTPUT,
    ),
]
RecordFile = Annotated[
    Path | None,
    typer.Option(
        "--record",
        metavar="FILE",
        help="The owner's record of the release. [default: that beside it, if any]",
    ),
]
OriginalFile = Annotated[
    Path | None,
    typer.Option(
        "--with",
        metavar="SOURCE",
        help="The input that the release was made of.",
    ),
]
AsJson = Annotated[
    bool,
    typer.Option(
        "--json",
        help="One JSON object on the standard output.",
        rich_help_panel=OUTPUT,
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        min=1,
        help="Threads of the engine. [default: all cores]",
        rich_help_panel=RUNNING,
    ),
]
Preview = Annotated[
    bool,
    typer.Option(
        "--preview",
        help="Say what would become of rows; release nothing.",
        rich_help_panel=OUTPUT,
    ),
]
Overwrite = Annotated[
    bool,
    typer.Option(
        "--overwrite",
        help="Replace the files if they exist.",
        rich_help_panel=OUTPUT,
    ),
]


@dataclass(frozen=True, slots=True)
class SpecOptions:
    """What a command line says of a spec: a file, and flags that override it."""

    file: Path | None
    flags: JsonMapping
    """What flags say, by the name of the key, as typer reads it."""
    sensitive: str | None = None
    without: ClassVar[tuple[str, ...]] = ()
    """Keys that the command has an option of its own for."""

    @classmethod
    def keys(cls) -> dict[str, Key]:
        """Return the keys that are flags of this command."""
        return {name: one for name, one in _FLAGS.items() if name not in cls.without}

    @classmethod
    def parameters(cls) -> Iterator[inspect.Parameter]:
        """Yield one of typer's parameters for every flag."""
        yield parameter("spec_file", get_args(SpecFile), None)
        for name, key in cls.keys().items():
            kind = key.kind.option
            if kind is bool:
                yield parameter(name, (bool, option_of(name)), default=False)
            else:
                yield parameter(name, (kind | None, option_of(name)), None)
            if name == "models":
                yield parameter("sensitive", get_args(_Sensitive), None)

    @classmethod
    def read(cls, values: JsonMapping) -> Self:
        """Return the options among all those of a command."""
        flags = {name: values[name] for name in [*cls.keys()]}
        return cls(values["spec_file"], flags, values["sensitive"])

    @property
    def is_given(self) -> bool:
        """Tell whether anything is said."""
        return any(
            value not in (None, [], False)
            for value in (self.file, self.sensitive, *self.flags.values())
        )

    @property
    def names_protection(self) -> bool:
        """Tell whether it is said what is protected, and how."""
        flags = (self.flags.get(name) for name in ("quasi_identifiers", "k", "models"))
        return self.file is not None or any(flags)

    def spec(self, **more: object) -> "Spec":
        """Return the spec that is asked for; ``more`` are other keys."""
        if not (self.names_protection or more):
            raise SpecError(
                "nothing says which columns others may know",
                hint="--qid COLUMN for each of them, with --k K; or --spec FILE",
            )
        given = {**self._plain(), **more}
        return build_spec(self.file, given, self.flags.get("hierarchies") or [])

    def _plain(self) -> JsonObject:
        """Return the flags as a spec file has them; what is not said is None."""
        given = {
            name: None if value is False else value
            for name, value in self.flags.items()
        }
        given.pop("hierarchies", None)
        given["models"] = model_tables(given.get("models"), self.sensitive)
        given["policy"] = policy_text(given.get("policy"))
        given["weights"] = dict(map(_split_weight, given.get("weights") or []))
        best = {name: given.pop(name) for name in _BEST if name in given}
        return given | {"best": {name: x for name, x in best.items() if x is not None}}


class RecountOptions(SpecOptions):
    """What a command line says a release is recounted by."""

    __slots__ = ()

    @classmethod
    def keys(cls) -> dict[str, Key]:
        return {name: one for name, one in _FLAGS.items() if one.is_of_release}

    def spec(self, **more: object) -> "Spec":
        """Return the spec without hierarchies: released labels are just values."""
        if not (self.names_protection or more):
            raise SpecError(
                "nothing says which columns others may know",
                hint="--qid COLUMN for each of them, with --k K; or --spec FILE",
            )
        given = {**self._plain(), **more}
        spec = build_spec(self.file, given, None)
        if spec.population is not None:
            spec = build_spec(self.file, given, [])  # whom of it do they cover?
        return spec


def model_tables(
    texts: list[str] | None, sensitive: str | None
) -> list[JsonObject] | None:
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


def load_if_given(file: Path | None) -> "Spec | None":
    """Return the spec in a file, if one is named."""
    if file is None:
        return None
    from core_mondrian.spec.toml_file import load_spec

    return load_spec(file)


def build_spec(
    file: Path | None, flags: Mapping[str, object], hierarchies: list[str] | None
) -> "Spec":
    """Return the spec of ``file`` with what the flags say instead.

    ``hierarchies`` are COLUMN=FILE or COLUMN=KIND:…; None leaves out those of the
    spec as well.
    """
    from core_mondrian.spec.declaration import spec_from_mapping

    read = None
    if file is not None:
        from core_mondrian.spec.toml_file import read_spec_file

        read = read_spec_file(file)
    asked = dict(read.values) if read is not None else {}
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


def read_key(file: Path | None, spec: "Spec | None" = None) -> bytes | None:
    """Return the owner's key, checked before any work; None: one will be drawn."""
    from core_mondrian.tables.files.staging import read_secret
    from core_mondrian.tables.keys import key_for

    key: bytes | None
    if file is not None:
        try:
            key = _key_in(read_secret(file), file)
        except OSError as error:
            raise SpecError(
                f"key file {file}: {error.strerror}", hint=CHECK_PATH
            ) from None
    else:
        variable = os.environ.get("CORE_MONDRIAN_KEY")
        key = None if variable is None else os.fsencode(variable)
    key_for(key, () if spec is None else spec.pseudonyms)
    return key


def _key_in(raw: bytes, file: Path) -> bytes:
    """Return the key that a file holds: as it is, or in the owner's record of a run."""
    from core_mondrian.release.owner_record import parse_record

    if not raw.lstrip().startswith(b"{"):
        return raw.rstrip(b"\r\n")
    try:
        key = parse_record(json.loads(raw)).key
    except ValueError:  # a DataError is one
        return raw.rstrip(b"\r\n")
    if key is None:
        raise SpecError(
            f"key file {file}: the run of this record had a key of yours",
            hint="give the file that it was made with",
        )
    return key
