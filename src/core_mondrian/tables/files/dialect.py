"""How a CSV file is written: what separates values, what quotes them, its encoding."""

import codecs
import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, cast

import pyarrow as pa

from core_mondrian.errors import SpecError
from core_mondrian.tables.files.kinds import compression_of

_DELIMITERS: Final = ",;\t|"
"""Those that are recognized, the likeliest first."""
_NAMES: Final = {
    "comma": ",",
    "semicolon": ";",
    "tab": "\t",
    "\\t": "\t",
    "pipe": "|",
    "space": " ",
}
_QUOTES: Final = {"double": '"', "single": "'"}
_SAMPLE: Final = 1 << 16
_LONGEST: Final = 1 << 20
_ROWS: Final = 50
_OF_UTF16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_BY_ZEROS: Final[dict[tuple[bool, ...], str]] = {
    (False, True, False, True): "utf-16-le",
    (True, False, True, False): "utf-16-be",
}


class Dialect(NamedTuple):
    """One way of writing CSV; that of this package, unless something is said."""

    delimiter: str = ","
    quote: str = '"'
    encoding: str = "utf-8"

    def describe(self) -> str:
        """Say in words what is not as in this package's own files."""
        names = {letter: name for name, letter in _NAMES.items() if name.isalpha()}
        parts = []
        if self.delimiter != WRITTEN.delimiter:
            name = names.get(self.delimiter, repr(self.delimiter))
            parts.append(f"values separated by a {name}")
        if self.quote != WRITTEN.quote:
            parts.append(f"quoted by {self.quote}")
        if self.encoding != WRITTEN.encoding:
            parts.append(f"encoded as {self.encoding}")
        return ", ".join(parts)

    def open(self, path: Path) -> BinaryIO:
        """Open a file's text from its beginning, decompressed, as UTF-8."""
        compression = compression_of(path)
        if compression is None and self.encoding == WRITTEN.encoding:
            return path.open("rb")
        stream: pa.NativeFile
        if compression is None:
            stream = pa.OSFile(str(path), "rb")
        else:
            stream = pa.input_stream(path, compression=compression)
        return cast("BinaryIO", self.decoded(stream))

    def decoded(self, stream: pa.NativeFile) -> pa.NativeFile:
        """Return a stream of bytes as one of UTF-8."""
        if self.encoding == WRITTEN.encoding:
            return stream
        return pa.transcoding_input_stream(stream, self.encoding, WRITTEN.encoding)

    def rows(self, lines: Iterable[str]) -> Iterable[list[str]]:
        """Take lines apart as Python does it."""
        return csv.reader(lines, delimiter=self.delimiter, quotechar=self.quote)

    @property
    def signs(self) -> tuple[int, int]:
        """The bytes of the delimiter and of the quote."""
        return ord(self.delimiter), ord(self.quote)


WRITTEN: Final = Dialect()
"""That of what is written here."""


def read_dialect(texts: Sequence[str] | None) -> dict[str, str]:
    """Return what ``--csv KEY=VALUE`` says.

    Raises:
        SpecError: it says something else.
    """
    parts = [text.partition("=") for text in texts or ()]
    if not all(sign for _, sign, _ in parts):
        raise _unknown_option()
    return known_options({key.strip(): value for key, _, value in parts})


def known_options(options: Mapping[str, str]) -> dict[str, str]:
    """Return what is said of CSV, as `find_dialect` takes it.

    Raises:
        SpecError: something else is said, or there is no such value.
    """
    if not options.keys() <= _READ.keys():
        raise _unknown_option()
    return {key: _READ[key](value) for key, value in options.items()}


def _unknown_option() -> SpecError:
    return SpecError(
        "--csv takes delimiter=…, quote=… or encoding=…",
        hint="such as --csv 'delimiter=;' --csv encoding=windows-1252",
    )


def _read_delimiter(text: str) -> str:
    sign = _NAMES.get(text, text)
    is_fit = len(sign) == 1 and sign.isascii() and not sign.isalnum()
    if not is_fit or sign in "\"'\r\n.-+\0":
        raise SpecError(
            "--csv delimiter is one sign that stands between values",
            hint="such as ';', '|', tab or space",
        )
    return sign


def _read_quote(text: str) -> str:
    sign = _QUOTES.get(text, text)
    if sign not in _QUOTES.values():
        raise SpecError("--csv quote is single or double")
    return sign


def _read_encoding(text: str) -> str:
    try:
        codec = codecs.lookup(text)
        "".encode(text)  # and not one of bytes to bytes
    except (LookupError, ValueError, TypeError):
        raise SpecError(
            "--csv encoding is none that is known here",
            hint="such as utf-8, utf-16, windows-1252 or iso-8859-1",
        ) from None
    return codec.name.removesuffix("-sig")


_READ: Final = {
    "delimiter": _read_delimiter,
    "quote": _read_quote,
    "encoding": _read_encoding,
}


def find_dialect(path: Path, asked: Mapping[str, str] | None = None) -> Dialect:
    """Say how a CSV file is written, by its first rows and by what is declared.

    The delimiter is the first of comma, semicolon, tab and pipe by which most of these
    rows have as many values as the header, two at least. Of encodings, only UTF-8 and
    UTF-16 can be recognized: all others look alike.
    """
    options = dict(asked or {})
    try:
        encoding = options.setdefault("encoding", _find_encoding(path))
        sample, is_whole = _read_sample(path, Dialect(encoding=encoding))
    except (OSError, UnicodeError, pa.ArrowException):
        return Dialect(**options)  # reading it says what is wrong
    quote = options.get("quote") or _find_quote(sample)
    delimiter = options.get("delimiter") or _find_delimiter(sample, quote, is_whole)
    return Dialect(delimiter, quote, encoding)


def _find_encoding(path: Path) -> str:
    """Take UTF-16 for it by its mark, or by the zeros in two Latin letters."""
    with Dialect().open(path) as file:
        head = file.read(4)
    if head[:2] in _OF_UTF16:
        return "utf-16"
    zeros = [byte == 0 for byte in head]
    return _BY_ZEROS.get(tuple(zeros), WRITTEN.encoding)


def _read_sample(path: Path, dialect: Dialect) -> tuple[str, bool]:
    """Return the text that a file begins with, and whether that is all of it."""
    with dialect.open(path) as file:
        raw = file.read(_SAMPLE)
        while b"\n" not in raw and b"\r" not in raw and len(raw) < _LONGEST:
            more = file.read(_SAMPLE)
            if not more:
                break
            raw += more
        is_whole = not file.read(1)
    return raw.decode("utf-8-sig", errors="replace"), is_whole


def _find_quote(sample: str) -> str:
    """Take apostrophes for quotes only if every name of the header stands in them."""
    header = next((line for line in sample.splitlines() if line), "")
    if '"' in sample or not header.startswith("'"):
        return WRITTEN.quote
    for delimiter in _DELIMITERS:
        names = header.split(delimiter)
        if all(len(name) > 1 and name[0] == name[-1] == "'" for name in names):
            return "'"
    return WRITTEN.quote


def _find_delimiter(sample: str, quote: str, is_whole: bool) -> str:  # noqa: FBT001
    """Take what fits all rows, or else most of them: reading says which do not."""
    shares = {
        delimiter: _share_that_fits(sample, Dialect(delimiter, quote), is_whole)
        for delimiter in _DELIMITERS
    }
    best = max(shares, key=shares.__getitem__)  # the first of equals
    return best if shares[best] > 0.5 else WRITTEN.delimiter  # most


def _share_that_fits(sample: str, dialect: Dialect, is_whole: bool) -> float:  # noqa: FBT001
    """Return how many of the rows have as many values as the first, two or more."""
    rows: list[list[str]] = []
    try:
        for row in dialect.rows(io.StringIO(sample, newline="")):
            rows.append(row)
            if len(rows) > _ROWS:
                break
    except csv.Error:
        return 0.0
    if not is_whole and len(rows) > 1:
        rows.pop()  # which may be cut off
    lengths = [len(row) for row in rows if row]
    if not lengths or lengths[0] < 2:  # nothing is separated
        return 0.0
    return lengths.count(lengths[0]) / len(lengths)
