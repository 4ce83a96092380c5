"""A report that is asked for: where it goes and what it shows besides the usual."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from core_mondrian.errors import SpecError, list_names

if TYPE_CHECKING:
    from core_mondrian.release import Release
    from core_mondrian.spec import Spec


Audience: TypeAlias = Literal["owner", "readers"]


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

    def check(self, spec: "Spec") -> None:
        """Refuse what no report can be, before any work.

        Raises:
            SpecError: the file is no page, or the painting not of two of its columns.
        """
        if self.path.suffix.lower() not in (".html", ".htm"):
            raise SpecError(
                f"{self.path}: a report is a page", hint="name it FILE.html"
            )
        if self.audience not in get_args(Audience):
            raise SpecError(f"a report is for one of {', '.join(get_args(Audience))}")
        if self.painting is not None:
            check_painting(self.painting, spec.quasi_identifiers)

    def page_of(self, release: "Release[Any]") -> bytes:
        """Return what the file holds."""
        page = release.report_html(
            timings=self.timings, painting=self.painting, audience=self.audience
        )
        return page.encode()


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
