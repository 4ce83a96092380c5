"""anonymize for files that do not fit into memory: in two passes over their rows."""

from typing import TYPE_CHECKING, Final

from core_mondrian.cli.csv_files import requested_dialect, state_dialects
from core_mondrian.cli.options import read_key
from core_mondrian.cli.process import prepare_for
from core_mondrian.cli.release_request import Outcome, ReleaseRequest
from core_mondrian.cli.summary import echo
from core_mondrian.errors import SpecError, is_interrupt
from core_mondrian.runtime.progress import show_progress

if TYPE_CHECKING:
    from core_mondrian.spec.declaration import Spec

_FITS: Final = 4
"""Tables of more than this part of the memory are streamed without being asked."""


def is_streamed(request: ReleaseRequest, spec: "Spec") -> bool:
    """Tell whether rows are streamed: as asked, or since they have to be."""
    from core_mondrian.tables.files.kinds import kind_of
    from core_mondrian.tables.files.sizes import machine_memory, size_of

    source = request.source
    if request.streaming.given():
        return True
    if not source.is_file() or request.target.is_dir():
        # What is not there is said the same way as ever, unless it is a glob.
        return source.exists() or any(letter in str(source) for letter in "*?[")
    is_large = size_of(source) > machine_memory() // _FITS
    needs_rows = spec.shuffle is not None or spec.target is not None
    return is_large and kind_of(source) in ("csv", "parquet") and not needs_rows


def anonymize_in_batches(request: ReleaseRequest, spec: "Spec") -> Outcome:
    """Make a release of files, and say how to go on after an interrupt."""
    from core_mondrian.sources.files.run import anonymize_files
    from core_mondrian.tables.files.staging import workspace_of

    prepare_for(request.source)
    page = request.page(spec)
    key = read_key(request.key_file, spec)
    signer = request.signer()
    asked = request.streaming
    n_bad, dialect = _n_bad(asked.bad_rows), requested_dialect(request.csv)
    state_dialects(request.source, dialect)
    try:
        with show_progress(as_json=request.figures.as_json) as progress:
            release = anonymize_files(
                request.source,
                request.target,
                spec,
                memory=asked.memory,
                resume=asked.resume,
                bad_rows=n_bad,
                csv=dialect,
                save_counts=asked.save_counts,
                add_counts=asked.add_counts,
                key=key,
                by=request.by,
                threads=request.threads,
                progress=progress,
                overwrite=request.overwrite,
                suppressed_file=request.suppressed_file,
                report=page,
                signer=signer,
            )
    except BaseException as error:
        if is_interrupt(error) and workspace_of(request.target).exists():
            echo("what was counted is kept: --resume goes on")
        raise
    return request.outcome_of_files(request.figures.measure(release), signer)


def _n_bad(text: str | None) -> int:
    if text is None or text == "error":
        return 0
    if not text.isdecimal():
        raise SpecError("--bad-rows takes 'error' or a number of rows")
    return int(text)
