"""A report that is asked for: where it goes and what it shows besides the usual."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from core_mondrian.errors import SpecError, list_names

if TYPE_CHECKING:
    from core_mondrian.release.result import AnyRelease
    from core_mondrian.spec.declaration import Spec


Audience: TypeAlias = Literal["owner", "readers"]
_NEEDED: Final = {
    "altair": "Altair",
    "vl_convert": "vl-convert-python",
    "jinja2": "Jinja2",
}
"""The packages of the extra `report`: by the name they are imported and installed."""


@dataclass(frozen=True)
class Subject:
    """What a report is of, which the release itself does not know."""

    table: str | None = None
    """The name of the table, as people know it."""
    date: str | None = None
    """The day of the report. Without one, the same release has the same report."""


@dataclass(frozen=True)
class ReportFile:
    """A page about a release, as a file."""

    path: Path
    painting: tuple[str, str] | None = None
    """The two quasi-identifiers that are painted; None: those cut most often."""
    timings: bool = False
    """Whether it tells what each stage took, which differs from run to run."""
    audience: Audience = "owner"
    """Readers get what they can compute from the release, and no more."""
    of: Subject = field(default_factory=Subject)

    def check(self, spec: "Spec") -> None:
        """Refuse what no report can be, before any work.

        Raises:
            SpecError: the file is no page, the painting not of two of its columns, or
                the extra is not installed.
        """
        self.check_kind()
        if self.painting is not None:
            check_painting(self.painting, spec.quasi_identifiers)

    def check_kind(self) -> None:
        """Refuse what no report of any spec can be.

        Raises:
            SpecError: the file is no page, it is for nobody known, or the extra is not
                installed.
        """
        require_report("a report")
        if self.path.suffix.lower() not in (".html", ".htm"):
            raise SpecError(
                f"{self.path}: a report is a page", hint="name it FILE.html"
            )
        if self.audience not in get_args(Audience):
            raise SpecError(f"a report is for one of {', '.join(get_args(Audience))}")

    def page_of(self, release: "AnyRelease") -> bytes:
        """Return what the file holds."""
        page = release.report_html(
            timings=self.timings,
            painting=self.painting,
            audience=self.audience,
            of=self.of,
        )
        return page.encode()


def require_report(what: str, extra: str = "report") -> None:
    """Refuse ``what`` where the packages that draw it are not installed.

    It looks for them without loading them: 80 MB that a refused request need not wait
    for.

    Raises:
        SpecError: one of them is not there.
    """
    missing = [title for name, title in _NEEDED.items() if not _is_installed(name)]
    if missing:
        verb = "which is not" if len(missing) == 1 else "which are not"
        raise SpecError(
            f"{what} needs {', '.join(missing)}, {verb} installed",
            hint=f"pip install 'core-mondrian[{extra}]'",
        )


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):  # refused, or stood in for by something else
        return False


def check_painting(asked: Sequence[str], names: Sequence[str]) -> None:
    """Refuse a painting of anything but two different columns of these.

    Raises:
        SpecError: it is.
    """
    if len(asked) != 2 or len({*asked} & {*names}) != 2:
        raise SpecError(
            "a painting is of two quasi-identifiers",
            hint=f"two of {list_names(names)}",
        )
