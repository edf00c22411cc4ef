"""The versioned result model: every output (terminal, Markdown, HTML, JSON) renders this and nothing else."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Verdict = Literal["confirmed", "ruled-out", "fits", "cannot-tell", "not-applicable", "error"]
VERDICTS: tuple[Verdict, ...] = ("confirmed", "ruled-out", "fits", "cannot-tell", "not-applicable", "error")


class Model(BaseModel):
    model_config = ConfigDict(populate_by_name=True)


class ScopeRef(Model):
    """Where a finding holds. `from`/`to` are times of day unless absolute times were asked for."""

    kind: str
    label: str
    host: str | None = None
    from_: str | None = Field(default=None, alias="from")
    to: str | None = None
    concurrency: float | None = None


class Evidence(Model):
    """One place that a finding rests on."""

    source: str
    line: int | None
    fact: str


class Missing(Model):
    """What would have been needed, and the command or advice that records it."""

    fact: str
    collect: str


class OpenRival(Model):
    """Another explanation that the evidence does not exclude, and what settles it."""

    name: str
    settle: str


class Next(Model):
    """An experiment: what to run and what its outcomes mean."""

    name: str
    command: str
    tells: str
    cost: int = 1


class Margin(Model):
    """How far a fact is from its line: positive is on the side that the verdict needs."""

    atom: str
    value: float | list[float | None] | str | None
    line: float | str | None
    margin: float | None
    holds: bool | None
    overridden: bool = False


class Finding(Model):
    rule: str
    scope: ScopeRef
    verdict: Verdict
    claim: str
    because: str
    sentence: str
    about: str = ""
    question: str = ""
    numbers: dict[str, Any] = Field(default_factory=dict)
    margin: dict[str, Margin] = Field(default_factory=dict)
    rivals_open: list[OpenRival] = Field(default_factory=list)
    missing: list[Missing] = Field(default_factory=list)
    recorded: bool = False  # some fact that bears on the question is in the files, whatever the verdict
    given: list[str] = Field(default_factory=list)
    origins: dict[str, str] = Field(default_factory=dict)
    evidence: list[Evidence] = Field(default_factory=list)
    next: list[Next] = Field(default_factory=list)
    grade: int | None = None
    means: str = ""
    remedy: str = ""
    not_a_remedy: str = ""


class Answer(Model):
    """What limits throughput, or the speed of one stream, in one scope."""

    rule: str | None = None
    verdict: str = "undetermined"
    sentence: str = ""
    gain: list[float | None] | None = None
    gain_note: str = ""
    budget: list[dict[str, Any]] = Field(default_factory=list)


class Primary(Model):
    scope: str
    concurrency: float | None = None
    throughput: Answer = Field(default_factory=Answer)
    speed: Answer = Field(default_factory=Answer)


class Headline(Model):
    rule: str | None = None
    scope: str | None = None
    verdict: str = "undetermined"
    sentence: str = ""
    question: str | None = None


class SourceRow(Model):
    source: str
    lines: int | None = None
    status: str = "read"
    parsers: list[str] = Field(default_factory=list)
    matched: int = 0
    noise: int = 0
    near_miss: int = 0
    other: int = 0
    rows: dict[str, int] = Field(default_factory=dict)
    note: str | None = None


class Result(Model):
    """All of one analysis. `schema` changes when a field changes its meaning."""

    schema_: int = Field(default=1, alias="schema")
    version: str
    primary: Headline
    primaries: list[Primary] = Field(default_factory=list)
    findings: list[Finding] = Field(default_factory=list)
    symptoms: list[dict[str, Any]] = Field(default_factory=list)
    sources: list[SourceRow] = Field(default_factory=list)
    clocks: list[dict[str, Any]] = Field(default_factory=list)
    quality: list[dict[str, Any]] = Field(default_factory=list)
    rejects: list[dict[str, Any]] = Field(default_factory=list)
    evidence_grades: list[dict[str, Any]] = Field(default_factory=list)
    settings: dict[str, Any] = Field(default_factory=dict)
    hidden: dict[str, int] = Field(default_factory=dict)
    recorder: str | None = None  # the command that records the cards, where it is not one of nvidia-smi
    seconds: float | None = None  # times are not part of the JSON: the same input gives the same bytes
    seconds_per_rule: dict[str, float] = Field(default_factory=dict)

    def to_json(self) -> str:
        return self.model_dump_json(by_alias=True, indent=1, exclude={"seconds", "seconds_per_rule"})
