"""Keeping names, addresses and ids on the machine: allow-list first, pseudonyms for the rest.

A report is made to be attached to a public issue, and so is the trace. A value of privacy class name, path or id is therefore
replaced before it is stored; joins still work, because the same value always gets the same pseudonym inside one analysis. The map
stays in memory. File names keep only words that are known to be harmless ("dmon", "c8", "server.log").
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

# Words that occur in the names of logs, tools, models and settings and say nothing about whose they are.
_WORDS = """
a ab accept access after aggregate aime aiperf all amd and api app args at attempt auto awq b base baseline batch batched batching before bench
benchmark benchmarks benchmarking bf16 block body build busy bytes c cache captures capture card cards case cases chat chunk chunked ci client clients
clock clocks cold collect combined compare completion completions compose compute conc concurrency concurrent conf config configs console container
context cpu csv ctx cuda cumulative curl cut d data date dcgm dcgmi debug decode deepseek default detail detailed detailed dense diff dir dmon docker dp draft
dump duration e eager eagle engine ep error errors eval example exl2 exl3 experiment export exporter f16 fast few fifth file files final find first five flash
float folder for four fp16 fp4 fp8 full g gb gemma gen generate genai ggml gguf glm go gpt gpu gpuverdict given gpumon gpus gpustat graph graphs group guidellm h hello high hot hour
hours http id idle in inf inference info input iq2 iq3 iq4 iteration itl ja jan json jsonl k kernel kernels kimi ktransformers kube kubectl kv latency layer
layers level limit limits line lines linear link list listing listings llama llamacpp llm llmperf lmdeploy lms load local locust log logs long loop low ls m main
make manual max measure measured mem memory message metrics mib min minute minutes missing mistral mix mixed mixtral mode model models moe monitor ms mtp n name new
next night nightly no node none normal notes np nsys nvfp4 nvidia nvitop nvlink nvml nvtop o off ok old ollama on one only openai oss out output outputs p p50 p99
parallel part pass per perf phi pid plain pmon point power pp pre prefill proc process prod profile profiler progress prom prometheus prompt prompts ps q q2 q3 q4
q5 q6 q8 qps query queue quant qwen r random rank rate raw read readme report reports req request requests res resp response responses result results rocm round router
row rps rtx run running runs s sample samples save saved sched scrape second seconds seq sequence series serve server servers serving session set setup sglang shape share
short simple single size slots slow small smi spec speculative speed split sse standard start startup stat stats status stderr stdin stdout step steps stream
streaming streams summary sweep sweeps sys system t table tables tabbyapi tail tar tb tensor test tests text tg tgi third threads three throughput time times timing timings tmp
to token tokens tool topo torch total tp tpot trace traces trial trt trtllm ttft tune turbo two txt u unit up usage user users util utilization v v0 v1 value values
verbose version vllm vram w wait waiting wall warm warmup watch window with worker workers x xml y yaml yml z zero zip three-cards
a100 a10 a10g a6000 b200 b300 gb10 gb200 gh200 h100 h200 h800 l4 l40 l40s mi100 mi250 mi300 mi300x mi325x p40 p100 t4 v100 rtx3090 rtx4090 rtx5090 3090 4090 5090 ti super
instruct think thinking coder vision it a3b a22b 1b 2b 3b 4b 7b 8b 9b 12b 13b 14b 20b 27b 30b 32b 35b 70b 72b 80b 120b 235b 405b
bin dat err notes num seqs sharegpt range rc sig gz zst bz2 xz tgz sqlite duckdb parquet md tsv html log1 sh py toml ini env
three cards blackwell snapshot ddtree healthy canary formats fixtures mon tue wed thu fri sat sun feb mar apr may jun jul aug sep oct nov dec
""".split()
_VOCABULARY = frozenset(_WORDS)
_SECRETS = re.compile(
    r"""(?xi)
    [\w.+-]+@[\w-]+(?:\.[\w-]+)+                                  # mail
    | [0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}  # UUID
    | (?:\d{1,3}[._-]){3}\d{1,3}(?!\d)                             # IPv4, also with dashes as cloud hosts write it
    | (?:[0-9a-f]{1,4}:){2,7}[0-9a-f]{0,4}                         # IPv6, MAC
    | (?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}
    | (?:sk|hf|ghp|gho|xox[bp]|eyj|akia|glpat|nvapi)[-_]?[\w-]{8,} # tokens
    | (?:[a-z0-9-]+\.)+(?:com|net|org|io|ai|dev|lan|local|internal|corp|home|edu|de|fr|uk|cloud)\b # host names
    """
)
_TOKEN = re.compile(r"[A-Za-z0-9]+|[^A-Za-z0-9]+")
_NUMBERED = re.compile(r"([a-z]*)(\d{1,6})([a-z]{0,4})\Z")
_SEPARATORS = set("-_. ()[]+=!,@#/%")


def harmless_word(word: str) -> bool:
    """A word of the vocabulary, a short number, or both joined (c8, np16, 4x, 20260816, run2b)."""
    low = word.lower()
    if low in _VOCABULARY:
        return True
    if re.fullmatch(r"\d{1,6}|20\d{6}|20\d{12}", low):
        return True
    numbered = _NUMBERED.match(low)
    return bool(numbered) and all(not part or part in _VOCABULARY for part in (numbered.group(1), numbered.group(3)))  # type: ignore[union-attr]


@dataclass
class Hider:
    """Stable pseudonyms inside one analysis. `hidden` counts what was replaced, per class; `reveal` names classes left alone."""

    reveal: frozenset[str] = frozenset()
    keep: frozenset[str] = frozenset()  # public names, such as those of the catalogues
    hidden: dict[str, int] = field(default_factory=dict)
    _map: dict[tuple[str, str], str] = field(default_factory=dict)
    _next: dict[str, int] = field(default_factory=dict)
    _words: dict[str, str] = field(default_factory=dict)

    def pseudonym(self, kind: str, value: str, prefix: str) -> str:
        """`host-1`, `uuid-2`: the same value always gives the same one."""
        if kind in self.reveal:
            return value
        key = (prefix, value)
        if key not in self._map:
            self._next[prefix] = self._next.get(prefix, 0) + 1
            self._map[key] = f"{prefix}-{self._next[prefix]}"
            self.hidden[kind] = self.hidden.get(kind, 0) + 1
        return self._map[key]

    def label(self, kind: str, value: str) -> str:
        """A name that is shown to people: harmless words stay, others become x1, x2, ..."""
        if kind in self.reveal or value in self.keep:
            return value
        value = _SECRETS.sub(lambda m: self._word(kind, m.group()), value)
        return "".join(self._piece(kind, piece) for piece in _TOKEN.findall(value))

    def _piece(self, kind: str, piece: str) -> str:
        if piece[0].isalnum() and piece.isascii():
            return piece if harmless_word(piece) else self._word(kind, piece)
        if all(ch in _SEPARATORS for ch in piece):
            return piece
        return self._word(kind, piece)

    def _word(self, kind: str, word: str) -> str:
        if word in self._words.values():
            return word
        if word not in self._words:
            self._words[word] = f"x{len(self._words) + 1}"
            self.hidden[kind] = self.hidden.get(kind, 0) + 1
        return self._words[word]
