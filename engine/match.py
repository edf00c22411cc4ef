"""Which line is what: one line format over a frame of peeled records. Vectorised; keeps nothing but the state of its streams."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from .line_format import Int, Line, LineFormat, Num, Word
from .peel import read_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from .line_format import Field

FALLBACK_S = 1.0  # a since-start clock that falls back further than this started again; threads print out of order by far less
MAX_REJECTS = 20


def required_literal(pattern: str) -> str | None:
    """The longest literal every match of `pattern` contains, or None: a cheap test before the regex."""
    import re._parser as sre  # type: ignore[import-not-found]

    best, run = "", ""
    for op, arg in sre.parse(pattern):
        if op is sre.LITERAL:
            run += chr(arg)
        else:
            best, run = max(best, run, key=len), ""
    best = max(best, run, key=len)
    return best if len(best) >= 3 else None


@dataclass
class Stream:
    """What is remembered of one process inside a source, from block to block."""

    local_run: int = 0
    last_t: float | None = None
    started: set[int] = field(default_factory=set)  # kinds of start lines seen in this run
    served: bool = False
    context: dict[int, dict[str, object]] = field(default_factory=dict)


class Hits:
    """Which literals every record holds, found in one go for all formats.

    A log has many lines but few kinds of them, so what follows asks about the distinct lists of literals (`code`), not about lines.
    """

    def __init__(self, text: pl.Series, literals: list[str]) -> None:
        import polars as pl

        found = text.str.extract_many(literals, overlapping=True)
        keys = pl.DataFrame({"key": found.list.join("\x1f").hash()})
        first = keys.with_row_index("row").unique("key", keep="first", maintain_order=True).with_row_index("code")
        self.code = keys.join(first, on="key", how="left", maintain_order="left")["code"]
        self.size = first.height
        self.literals = pl.DataFrame({"code": first["code"], "literal": found.gather(first["row"])}).explode("literal").unique()

    def of(self, literals: Sequence[str]) -> pl.DataFrame:
        """The codes that hold any of these, with the literal."""
        import polars as pl

        return self.literals.filter(pl.col("literal").is_in(literals))

    def hold(self, code: pl.Series, literals: Sequence[str]) -> pl.Series:
        """Whether records with these codes hold any of the literals."""
        import polars as pl

        holds = pl.int_range(self.size, dtype=pl.UInt32, eager=True).is_in(self.of(literals)["code"].implode())
        return holds.gather(code)


@dataclass
class Matched:
    """One block seen by one format. `rows` has rec, idx, k, body, cut, t, clk, res, stamped, outer_*, stream (matched rows only)."""

    rows: pl.DataFrame
    fields: dict[int, pl.DataFrame]  # line number k -> rec and the fields
    near: pl.DataFrame  # rec, idx, reason
    noise: pl.Series  # idx
    seen: pl.DataFrame  # every record of this format, for contexts and runs


class Matcher:
    """A line format at work. Patterns are compiled when a line asks for them; `check_format` tries them all."""

    def __init__(self, form: LineFormat) -> None:
        self.form = form
        self.anchors = sorted({a for line in form.lines for a in line.anchors})
        self.contexts = [(k, p, required_literal(p)) for k, p in form.context.items()]
        if any(literal is None for *_, literal in self.contexts):
            raise ValueError(f"{form.name}: a context pattern needs a literal of three characters or more")
        self.marks_service = any(line.serves for line in form.lines)
        self.remembers = bool(form.context) or any(stamp.clock == "since-start" for stamp in form.stamps)
        self.streams: dict[str, Stream] = {}
        self.runs: dict[tuple[str, int], int] = {}

    @cached_property
    def literals(self) -> list[str]:
        """What a line must contain to be looked at."""
        return sorted({*self.wanted, *self.form.noise})

    @cached_property
    def wanted(self) -> list[str]:
        """What a line must contain to be more than noise."""
        return sorted({*self.anchors, *(str(c[2]) for c in self.contexts)})

    def match(self, records: pl.DataFrame, hits: Hits) -> Matched:
        """Stamp, sort out and read the records (rec, idx, text, raw, cut, outer_t, outer_kind, outer_res, stream, code)."""
        import polars as pl

        noise, rest = records.clear(), records
        if self.form.noise:
            quiet = hits.hold(records["code"], self.form.noise)
            noise, rest = records.filter(quiet), records.filter(~quiet)
        seen = rest.filter(hits.hold(rest["code"], self.wanted))
        seen = self._stamped(seen)
        kinds = self._kinds(seen, hits)
        fields, near, good = {}, [], []
        for (k,), rows in kinds.group_by("k", maintain_order=True):
            line = self.form.lines[int(str(k))]
            values, lacking = read_fields(line, rows)
            fields[int(str(k))] = values.filter(lacking == "")
            good.append(rows.filter(lacking == ""))
            bad = rows.select("rec", "idx", reason=pl.concat_str(pl.lit(f"{line.kind}: no "), lacking))
            near.append(bad.filter(lacking != ""))
        rows = pl.concat(good).sort("rec") if good else kinds.clear()
        rejects = pl.concat(near).sort("rec") if near else kinds.clear().select("rec", "idx", reason=pl.lit(""))
        return Matched(rows, fields, rejects, noise["idx"].unique(), seen)

    def _stamped(self, records: pl.DataFrame) -> pl.DataFrame:
        """Adds body, t, clk, res and stamped. A native stamp at the start of the raw line is the program's own, not a wrapper's."""
        import polars as pl

        frame = records.with_columns(
            body=self._peel(records["text"]),
            t=pl.lit(None, pl.Float64),
            clk=pl.lit(None, pl.String),
            res=pl.lit(None, pl.Float64),
            stamped=pl.lit(False),
        )
        for stamp in self.form.stamps:
            for source in ("raw", "body"):
                if source == "raw" and frame["outer_t"].null_count() == frame.height:
                    continue
                text = self._peel(frame["raw"]) if source == "raw" else frame["body"]
                printed = text.str.extract(stamp.pattern, 1)
                if printed.null_count() == frame.height:
                    continue
                t, zoned = read_time(printed, stamp.parse)
                new = t.is_not_null() & frame["t"].is_null()
                frame = frame.with_columns(
                    t=pl.when(new).then(t).otherwise("t"),
                    clk=pl.when(new & zoned).then(pl.lit("utc")).when(new).then(pl.lit(stamp.clock)).otherwise("clk"),
                    res=pl.when(new).then(pl.lit(stamp.resolution_s)).otherwise("res"),
                )
                if not stamp.search:
                    rest = self._peel(text.str.replace(stamp.pattern, ""))
                    frame = frame.with_columns(body=pl.when(new).then(rest).otherwise("body"), stamped=pl.col("stamped") | new)
        return frame

    def _peel(self, text: pl.Series) -> pl.Series:
        for pattern in self.form.peel:
            text = text.str.replace(rf"^(?:{pattern.removeprefix('^')})+", "")
        return text

    def _kinds(self, rows: pl.DataFrame, hits: Hits) -> pl.DataFrame:
        """Rows that are some Line, with its number `k`: the first in declared order whose anchor, `after` and `veto` agree."""
        import polars as pl

        if not rows.height or not self.anchors:
            return rows.with_columns(k=pl.lit(0, pl.Int16)).clear()
        places = rows.select("code", pos=pl.int_range(pl.len(), dtype=pl.UInt32)).join(hits.of(self.anchors), on="code")
        by_anchor = {str(a): part["pos"] for (a,), part in places.partition_by("literal", as_dict=True).items()}
        free, found = pl.repeat(True, rows.height, dtype=pl.Boolean, eager=True), []
        for k, line in enumerate(self.form.lines):
            for anchor in line.anchors:
                if (pos := by_anchor.get(anchor)) is None:
                    continue
                pos = pos.filter(free.gather(pos))
                parts = rows["body"].gather(pos).str.splitn(anchor, 2).struct
                before = parts.field("field_0")
                ok = before.str.contains(line.after) & parts.field("field_1").is_not_null()
                for veto in line.veto:
                    ok = ok & ~before.str.contains(veto, literal=True)
                if (mine := pos.filter(ok)).len():
                    free = free.scatter(mine, False)
                    found.append(pl.DataFrame({"pos": mine}).with_columns(k=pl.lit(k, pl.Int16)))
        if not found:
            return rows.with_columns(k=pl.lit(0, pl.Int16)).clear()
        first = pl.concat(found).sort("pos")
        return rows[first["pos"]].with_columns(first["k"])

    def place(self, block: Matched, rows: pl.DataFrame) -> pl.DataFrame:
        """Adds run and the context columns to the matched `rows` of a block, and carries both on to the next block."""
        import polars as pl

        seen = block.seen.join(rows.select("rec", "k"), on="rec", how="left")
        seen = self._local_runs(seen)
        rows = rows.join(seen.select("rec", "local"), on="rec", how="left", maintain_order="left")
        for number, (_, pattern, literal) in enumerate(self.contexts):
            rows = self._inherit(number, pattern, str(literal), seen, rows)
        pairs = rows.select("stream", "local").unique(maintain_order=True)
        for pair in pairs.rows():
            self.runs.setdefault(pair, len(self.runs))
        ids = pairs.with_columns(run=pl.Series([self.runs[p] for p in pairs.rows()], dtype=pl.Int32))
        return rows.join(ids, on=["stream", "local"], how="left", maintain_order="left")

    def _local_runs(self, seen: pl.DataFrame) -> pl.DataFrame:
        """`local`: number of the run inside its stream. A run begins where a since-start clock falls back, or at a start line.

        Banners have several start lines: one begins a run only if the run before has already served (a line marked `serves`; any
        other matched line where a format marks none) or has already shown a start line of this kind.
        """
        import polars as pl

        starts = [k for k, line in enumerate(self.form.lines) if line.starts_run]
        serves = [k for k, line in enumerate(self.form.lines) if (line.serves if self.marks_service else not line.starts_run)]
        clock = pl.when(pl.col("clk") == "since-start").then("t")
        last = pl.col("stream").replace_strict({s: v.last_t for s, v in self.streams.items()}, default=None, return_dtype=pl.Float64)
        seen = seen.with_columns(since=clock).with_columns(
            prev=pl.col("since").forward_fill().shift(1).over("stream").fill_null(last)
            if self.streams
            else pl.col("since").forward_fill().shift(1).over("stream"),
            start=pl.col("k").is_in(starts).fill_null(False),
            must=pl.col("k").is_in([k for k, line in enumerate(self.form.lines) if line.prefixed]).fill_null(False),
            serve=pl.col("k").is_in(serves).fill_null(False),
        )
        text = pl.col("must") & ~pl.col("stamped") & pl.col("prev").is_not_null()  # see Line.prefixed
        seen = seen.with_columns(
            fall=(pl.col("since") < pl.col("prev") - FALLBACK_S).fill_null(False),
            start=pl.col("start") & ~text,
            serve=pl.col("serve") & ~text,
        )
        new = self._new_runs(seen)
        base = {name: s.local_run for name, s in self.streams.items()}
        seen = seen.with_columns(fresh=pl.col("rec").is_in(new) if new else pl.lit(False)).with_columns(
            local=pl.col("fresh").cum_sum().over("stream").cast(pl.Int32)
            + pl.col("stream").replace_strict(base, default=0, return_dtype=pl.Int32)
        )
        for name, local, since in seen.group_by("stream").agg(pl.col("local").last(), pl.col("since").drop_nulls().last()).rows():
            stream = self.streams.setdefault(name, Stream())
            stream.local_run, stream.last_t = local, stream.last_t if since is None else since
        return seen

    def _new_runs(self, seen: pl.DataFrame) -> list[int]:
        """Records at which a run begins. Loops over start lines and falls only, not over lines."""
        import polars as pl

        marks = seen.filter(pl.col("fall") | pl.col("start") | pl.col("serve"))
        only = ~(pl.col("fall") | pl.col("start"))
        marks = marks.filter(~only | ~only.shift(1, fill_value=False).over("stream"))
        new = []
        for rec, name, k, fall, start, serve in marks.select("rec", "stream", "k", "fall", "start", "serve").rows():
            stream = self.streams.setdefault(name, Stream())
            if fall or (start and (stream.served or k in stream.started)):
                new.append(rec)
                stream.served, stream.started = False, set()
            if start:
                stream.started.add(k)
            stream.served |= serve
        return new

    def _inherit(self, number: int, pattern: str, literal: str, seen: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
        """The columns of one context: a line's own values, or those of the last context line of its stream and run."""
        import polars as pl

        columns = [c for c in re.findall(r"\(\?P<(\w+)>", pattern) if c != "run"]
        hit = seen.filter(pl.col("body").str.contains(literal, literal=True)).filter(pl.col("body").str.contains(pattern))
        groups = hit["body"].str.extract_groups(pattern)
        own = hit.select("rec", "stream", "local").with_columns(
            *(_typed(groups.struct.field(c)).alias(c) for c in columns), ctx=pl.col("rec")
        )
        carried = [{"stream": n, **s.context[number]} for n, s in self.streams.items() if number in s.context]
        if carried:
            own = pl.concat([pl.DataFrame(carried, schema=own.schema), own])
        for row in own.group_by("stream", maintain_order=True).last().to_dicts():
            self.streams[row.pop("stream")].context[number] = {**row, "rec": -1, "ctx": -1}
        heirs = [k for k, line in enumerate(self.form.lines) if set(line.inherit) & set(columns)]
        rows = rows.sort("rec").join_asof(own.sort("rec"), on="rec", by=["stream", "local"], strategy="backward", check_sortedness=False)
        mine = pl.col("k").is_in(heirs) | (pl.col("ctx") == pl.col("rec"))
        return rows.with_columns(pl.when(mine).then(c).alias(c) for c in columns).drop("ctx")


def _typed(text: pl.Series) -> pl.Series:
    """Context values are whole numbers; anything else stays a word."""
    import polars as pl

    return text.cast(pl.Int64, strict=False)


def check_format(form: LineFormat) -> None:
    """Raises on a format that cannot work: patterns must compile for the vectorised engine (no look-around), `need` must name fields."""
    import polars as pl

    Matcher(form)
    probe = pl.Series([""])
    for line in form.lines:
        probe.str.contains(line.after)
        for spec in line.fields.values():
            if not isinstance(spec, Word):
                probe.str.extract(spec.pattern, 1)
        unknown = set(line.need) - set(line.fields)
        if unknown:
            raise ValueError(f"{form.name}: line {line.kind} needs {', '.join(sorted(unknown))}, which are no fields of it")


def read_fields(line: Line, rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series]:
    """The fields of one kind of line, typed, and per row the needed ones it lacks (comma-separated, empty when complete).

    On a line that was cut, a value that reaches the very end is unknown: it may have been longer.
    """
    import polars as pl

    cut = bool(rows["cut"].any())
    values = rows.select("rec", **{name: _value(spec, cut) for name, spec in line.fields.items()})
    if not line.need:
        return values, pl.repeat("", rows.height, dtype=pl.String, eager=True)
    words = [pl.when(pl.col(name).is_null()).then(pl.lit(name)) for name in line.need]
    return values, values.select(pl.concat_str(*words, separator=", ", ignore_nulls=True)).to_series()


def _value(spec: Field, cut: bool) -> pl.Expr:
    """One field of the column `body`; with `cut` also checked against the end of rows that are cut."""
    import polars as pl

    if isinstance(spec, Word):
        return pl.lit(spec.value, pl.String)
    body = pl.col("body")
    text = body.str.extract(spec.pattern, 1)
    if cut:
        more = [(body + pl.lit(tail)).str.extract(spec.pattern, 1) for tail in ("0", "x")]
        text = pl.when(~pl.col("cut") | ((text == more[0]) & (text == more[1]))).then(text)
    if isinstance(spec, Int):
        return text.str.replace_all(",", "", literal=True).cast(pl.Int64, strict=False)
    if isinstance(spec, Num):
        number = text.str.replace_all(",", "", literal=True).cast(pl.Float64, strict=False) * spec.scale
        return pl.when(number.is_finite()).then(number)
    return text
