"""core-mondrian anonymize --engine spark: tables that a cluster reads and writes."""

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core_mondrian.cli.anonymize import (
    check_formats,
    manifest_of,
    read_key,
    release_json,
    tell_more,
)
from core_mondrian.cli.report import report_of
from core_mondrian.cli.summary import (
    measured,
    say_written,
    tell_release,
)
from core_mondrian.errors import SpecError
from core_mondrian.progress import show_progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from core_mondrian.files.place import Content
    from core_mondrian.release import Release
    from core_mondrian.report_file import ReportFile
    from core_mondrian.sources.spark.placing import Placing
    from core_mondrian.sources.spark.tables import Spot
    from core_mondrian.spec import Spec


def anonymize_on_spark(spec: "Spec", options: Mapping[str, Any]) -> None:
    """Do what `anonymize_file` does, on a cluster; its options by their names."""
    from core_mondrian.files.place import record_of
    from core_mondrian.sources.spark.placing import Placing
    from core_mondrian.sources.spark.tables import check_spot, spot_of

    started = time.perf_counter()
    target, overwrite = options["target"], options["overwrite"]
    check_formats(spec, target, options["suppressed_file"])
    page = report_of(options, spec)
    key = read_key(options["key_file"], spec)
    source = spot_of(options["source_name"])
    asked = [options["target_name"], options["suppressed_file"]]
    spots = [spot_of(str(name)) for name in asked if name is not None]
    texts = [manifest_of(target), record_of(target), options["report"]]
    _check_files(source, spots, [path for path in texts if path], overwrite=overwrite)
    with _session(options["master"], options["remote"]) as session:
        _set_up(session, (source, *spots))
        for spot in spots:
            check_spot(spot, session, overwrite=overwrite)
        with Placing(session, spots, overwrite=overwrite) as placing:
            release = _release(session, source, spec, placing, {**options, "key": key})
            found, groups = measured(release, options)
            output = (
                release_json(release, found, groups) if options["as_json"] else None
            )
            placing.texts.update(_texts(release, target, page))
            placing.private.append(record_of(target))
    with suppress(KeyboardInterrupt):  # the work is done and stays done
        tell_release(release, found, groups, output)
        say_written(target, time.perf_counter() - started)
        tell_more(options["report"], options["suppressed_file"])


def _check_files(
    source: "Spot", spots: "list[Spot]", texts: list[Path], *, overwrite: bool
) -> None:
    """Refuse places that are taken, or are one another, before any work."""
    from core_mondrian.files.place import check_apart, check_place

    for file in texts:
        check_place(file, overwrite=overwrite)
    places = [Path(spot.text).resolve() for spot in (source, *spots)]
    places += [file.resolve() for file in texts]
    check_apart("source, target and the files beside it", places)
    if any(place.is_relative_to(places[0]) for place in places[1:]):
        raise SpecError(
            "the target is inside the source", hint="name a folder beside it"
        )


@contextmanager
def _session(master: str | None, remote: str | None) -> "Iterator[SparkSession]":
    """Connect to the cluster that is asked for: as spark-submit says, if to none."""
    if master is not None and remote is not None:
        raise SpecError("--master and --remote are two ways to one cluster: take one")
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise SpecError(
            "Spark is not installed", hint="pip install 'core-mondrian[spark]'"
        ) from None
    from core_mondrian.sources.spark.troubles import working

    with working("starting; it needs Java 17 or newer", SpecError):
        if remote is not None:
            session = SparkSession.builder.remote(remote).create()
        else:
            # Spark logs rows that it cannot read, and they must not be seen.
            builder = SparkSession.builder.config("spark.log.level", "OFF")
            builder = builder if master is None else builder.master(master)
            session = builder.appName("core-mondrian").getOrCreate()
    try:
        yield session
    finally:
        session.stop()


def _set_up(session: "SparkSession", spots: "Sequence[Spot]") -> None:
    """Let Spark read and write files as others do."""
    from core_mondrian.sources.spark.tables import Folder

    if all(isinstance(spot, Folder) for spot in spots):
        # Names in files may differ in case only; those in a catalog do not.
        session.conf.set("spark.sql.caseSensitive", "true")
    # Spark's own choice, INT96, is no moment to others.
    session.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")


def _release(
    session: "SparkSession",
    source: "Spot",
    spec: "Spec",
    placing: "Placing",
    options: Mapping[str, Any],
) -> "Release[Any]":
    """Write the release beside its place, and verify what was written."""
    from core_mondrian.sources.spark.api import DRIVER_TUPLES, Means, draft_release
    from core_mondrian.sources.spark.tables import open_table
    from core_mondrian.stages import Stages

    frame, read = open_table(source, session, spec)
    asked = options["driver_tuples"]
    most = DRIVER_TUPLES if asked is None else asked
    has_report = options["report"] is not None
    means = Means(most, options["key"], options["threads"], has_report)
    with ExitStack() as stack:
        stages = Stages(stack.enter_context(show_progress()))
        drafting = draft_release(
            frame, spec, means, by=options["by"] or (), stages=stages, read=read
        )
        draft = stack.enter_context(drafting)
        stages.report("write")
        frames = (draft.data, draft.suppressed)
        for place, data in zip(placing.drafts, frames, strict=False):
            if data is not None:
                place.write(data)
        stages.end("write")
        written = placing.drafts[0].read_back(session, draft.data)
        return draft.release(draft.verify_written(written))


def _texts(
    release: "Release[Any]", target: Path, report: "ReportFile | None"
) -> "dict[Path, Content]":
    from core_mondrian.files.place import record_of
    from core_mondrian.owner_record import record_text
    from core_mondrian.report.plain import manifest_text
    from core_mondrian.signatures import signature_of

    manifest = manifest_of(target)
    texts: dict[Path, Content] = {
        manifest: manifest_text(release.manifest()).encode(),
        record_of(target): record_text(release.record()),
        signature_of(manifest): None,  # an old one would be of another manifest
    }
    if report is not None:
        texts[report.path] = report.page_of(release)
    return texts
