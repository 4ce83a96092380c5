"""Tuples planned on the cluster: the driver has counts, values and summaries.

tuples ─► coded, numbered ─► solved in executors ─► where they go, what is shown
                                      │                  both stay there
what each part shows, to a ledger on the driver's disk ◄─┘
"""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from core_mondrian.encoding.persons import draw_alike
from core_mondrian.recoding.plan import SUPPRESSED
from core_mondrian.runtime.stages import Stages
from core_mondrian.runtime.threads import n_cores
from core_mondrian.sources.part_tasks import Described, TakeArrays
from core_mondrian.sources.parted_plan import (
    DESCRIBED,
    PartedClasses,
    describe_parts,
    join_labels,
)
from core_mondrian.sources.spark.arrow import send, sized, spark_schema
from core_mondrian.sources.spark.coding import NUMBERED, code_tuples
from core_mondrian.sources.spark.relations import Relations
from core_mondrian.sources.spark.store import SparkStore
from core_mondrian.sources.spark.tuples import (
    LABELS,
    LEAF,
    PLACES,
    ROWS,
    SHARES,
    TUPLE,
    CountedTuples,
    PlannedTuples,
)
from core_mondrian.sources.spark.workers import placing, sharing, showing
from core_mondrian.sources.spill import connect
from core_mondrian.sources.tuple_relation import TUPLES
from core_mondrian.sources.tuple_store import PartFiles
from core_mondrian.spec.declaration import Spec
from core_mondrian.tables.keys import Key

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_PLACED: Final = f"{TUPLE} INT, {LEAF} INT"
_SHARED: Final = f"{_PLACED}, {ROWS} BIGINT, piece INT, content BIGINT"
_LEDGER: Final = 256 << 20
"""Bytes of memory for the ledger's DuckDB."""
_LEAVES: Final = 1 << 18
"""Leaves of which labels come here at a time."""


def plan_there(
    counted: CountedTuples, spec: Spec, key: Key, task_tuples: int, stages: Stages
) -> PlannedTuples:
    """Plan on the cluster; parts of so many tuples are solved at a time.

    Raises:
        SpecError: the spec asks for what needs all tuples in memory.
        DataError: a column cannot be encoded.
        InfeasibleError: no release satisfies the models within the budget.
    """
    relations = Relations(counted.frame.sparkSession)
    try:
        stages.report("encode")
        coded = code_tuples(relations, counted, spec)
        stages.end("encode")
        store = SparkStore(relations, coded, task_tuples, stages)
        encoded = coded.codes.with_tuples(coded.n_tuples)
        grown, described = describe_parts(store, encoded, spec, key, stages)
        with tempfile.TemporaryDirectory(prefix="core-mondrian-") as name:
            folder = Path(name)
            connection = connect(folder, _LEDGER, n_cores(), name="ledger.duckdb")
            try:
                files = PartFiles(folder)
                _fetch(store, described, files, len(encoded.table.columns))
                labels, ledger = join_labels(connection, files, described, encoded)
                plan = PartedClasses(
                    encoded=encoded,
                    grown=grown,
                    spec=spec,
                    key=key,
                    described=described,
                    ledger=ledger,
                    labels=labels,
                    files=files,
                    store=store,
                )
                for _ in plan.enter():
                    pass
                _ = plan.digest, plan.measures, plan.shown_schema, plan.salted_digests
                tuples = _Layout(plan, store, counted).run()
                stages.end("describe")
                return tuples
            finally:
                connection.close()
    except BaseException:
        relations.keep_only()
        raise


def _fetch(
    store: SparkStore, described: Sequence[Described], files: PartFiles, n_columns: int
) -> None:
    """Take what classes show to files on the driver's disk, some parts at a time."""
    names = ["index", "leaf_rows", *(f"shown{i}" for i in range(n_columns))]
    for numbers in _bundles(described):
        found = store.fetch(TakeArrays(names), DESCRIBED, numbers)
        for number, arrays in zip(numbers, found, strict=True):
            files.save(DESCRIBED, number, arrays)


def _bundles(described: Sequence[Described]) -> Iterator[range]:
    first = n_leaves = 0
    for number, one in enumerate(described):
        if n_leaves and n_leaves + one.n_leaves > _LEAVES:
            yield range(first, number)
            first, n_leaves = number, 0
        n_leaves += one.n_leaves
    yield range(first, len(described))


@dataclass(frozen=True)
class _Layout:
    """Says where the tuples of a plan go and what they show, on the cluster."""

    plan: PartedClasses
    store: SparkStore
    counted: CountedTuples

    @property
    def _relations(self) -> Relations:
        return self.store.relations

    def run(self) -> PlannedTuples:
        relations, plan = self._relations, self.plan
        parts = self.store.frame(DESCRIBED)
        placed = parts.mapInArrow(placing(plan.first_leaf), _PLACED)
        relations.put("placed", placed, is_kept=False)
        relations.put(PLACES, self._places())
        relations.put(LABELS, self._labels())
        shares = None
        if plan.n_split:
            shared = parts.mapInArrow(sharing(plan.first_leaf), _SHARED)
            relations.put(SHARES, shared)
            shares = relations[SHARES]
        return PlannedTuples(
            plan,
            relations[PLACES],
            self.counted.n_tuples,
            relations[LABELS],
            shares,
            plan.n_split,
            relations,
        )

    def _places(self) -> "DataFrame":
        """Return where the rows of each counted tuple go."""
        relations = self._relations
        keys = ", ".join(f"t.{key}" for key in self.counted.source.keys)
        tuples = NUMBERED
        if self.plan.spec.unit is not None:
            relations.put("exchanged", self._exchanged(), is_kept=False)
            tuples = "exchanged"
        return relations.session.sql(
            f"SELECT {keys}, p.{TUPLE}, p.{LEAF} FROM {relations.view(tuples)} AS t "
            f"JOIN {relations.view('placed')} AS p ON p.{TUPLE} = t.id"
        )

    def _exchanged(self) -> "DataFrame":
        """Return the tuples as persons drawn by lot have them; see `persons`."""
        shape, relations = self.store.shape, self._relations
        others = [name for name in (*shape.codes, *shape.others) if name != "u"]
        hashes = (
            f"bit_xor(xxhash64({i}, n, {', '.join(others)})) AS h{i}" for i in range(2)
        )
        found = self.store.query(
            f"SELECT u, {', '.join(hashes)} FROM {relations.view(TUPLES)} GROUP BY u"
        )
        n_units = int(self.plan.encoded.table.n_units or 0)
        profiles = np.zeros((3, n_units), dtype=np.int64)
        person = found["u"].to_numpy()
        profiles[:2, person] = [found[f"h{i}"].to_numpy() for i in range(2)]
        profiles[2, -1] = 1  # rows of nobody are like nobody's
        drawn = draw_alike(profiles, self.plan.key.derive("persons"))
        pairs = {"u": np.arange(n_units), "drawn": drawn}
        there = send(
            relations.session,
            pa.table({k: v.astype(np.int32) for k, v in pairs.items()}),
        )
        relations.put("drawn", sized(there, n_units), is_kept=False)
        same = " AND ".join(f"t.{name} = o.{name}" for name in others)
        keys = ", ".join(f"o.{key}" for key in self.counted.source.keys)
        return relations.session.sql(
            f"SELECT {keys}, t.id FROM {relations.view(NUMBERED)} AS o "
            f"JOIN {relations.view('drawn')} AS d ON d.u = o.u "
            f"JOIN {relations.view(TUPLES)} AS t ON t.u = d.drawn AND {same}"
        )

    def _labels(self) -> "DataFrame":
        """Return what each leaf shows; and suppressed rows, if they stay."""
        plan, session = self.plan, self._relations.session
        spec = plan.spec
        shown = [field for field in plan.shown_schema if field.name != spec.class_id]
        fields = [field.with_name(f"s{i}") for i, field in enumerate(shown)]
        schema = spark_schema(pa.schema([pa.field(LEAF, pa.int32()), *fields]))
        show = showing(plan.names, spec, plan.first_leaf)
        labels = self.store.frame(DESCRIBED).mapInArrow(show, schema)
        if not spec.leaves_out:
            blank = [(SUPPRESSED, *(None for _ in fields))]
            labels = labels.unionByName(session.createDataFrame(blank, schema))
        if spec.class_id is not None:
            labels = labels.join(self._class_numbers(f"s{len(fields)}"), LEAF, "left")
        return labels

    def _class_numbers(self, name: str) -> "DataFrame":
        """Return the number of each leaf's class, if it has one."""
        session, first = self._relations.session, 0
        found = session.createDataFrame([], f"{LEAF} INT, {name} BIGINT")
        for numbers in self.plan.ledger.numbers(with_blank=self.plan.spec.leaves_out):
            leaf = np.arange(first, first + numbers.size, dtype=np.int32)
            first += numbers.size
            own = pa.array(numbers, mask=numbers < 0)
            found = found.unionByName(send(session, pa.table({LEAF: leaf, name: own})))
        return found
