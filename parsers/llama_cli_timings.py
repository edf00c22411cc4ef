r"""Timing blocks of the llama.cpp family outside `llama-server`'s own log: command line tools, early servers, KoboldCpp, `ollama run`.

What it reads, alone or inside other text:
- `llama_print_timings:` (llama.cpp until 2024-09, llama-cpp-python, ik_llama.cpp, Ollama until 0.1.3x), `llama_perf_context_print:`
  (since), `common_perf_print:` (since 2025-12). Printed by llama-cli, llama-completion, examples and bindings when they end.
- The server of builds 1413 to 2258: `print_timings:` with `slot N is processing [task id: M]` and `slot N released (...)`.
- KoboldCpp's line per reply, `CtxLimit:231/4096, Amt:100/100, Init:0.00s, Process:0.52s (...), Generate:3.01s (...), Total:3.53s`, and
  its shapes of 2023, 2024 and 2026 (`ContextLimit: 231/4096, Processing:0.52s (3.9ms/T), Generation:...`, `Time Taken - Processing:...`).
- The results of KoboldCpp's `--benchmark`, printed or in its file.
- The block that `ollama run --verbose` prints after an answer, and that of KTransformers' `local_chat`: the same lines without a total; the
  same statistics as Open WebUI shows them (`eval_duration: 775000000`), as a piece of an answer of Ollama's API, and as its Python client
  prints an answer; the `timings` of an answer of llama-server, in pieces.
- The totals of `llama-parallel`.

Tables
- `requests`, one row per block. prompt_ms, prompt_tokens (computed ones), decode_ms, decode_steps (what the printed rate divides by).
  output_tokens: the sampled tokens where they are printed (`llama_print_timings`), the generated ones of servers and `ollama run`; NULL for
  newer llama.cpp tools. origin: server, but client for `ollama run` (latency_s: its total duration; queue_ms: what the total holds beside
  load, prompt and eval; NULL for prompts of more than one batch of 512). Times: only KoboldCpp's `[HH:MM:SS]`, the end of a reply.
- `bench_steps`, one row per run of `llama-parallel`: concurrency (its clients), requests, tokens, and the rates over the whole run.
- `server_config`: n_ctx_slot of KoboldCpp; n_ctx_slot and slots of the early servers, where the list of slots is whole.

Traps
- A tool in conversation mode prints one block for the whole conversation: sums over all turns.
- The load time of these blocks contains waiting for the user.
- `eval time ... / N runs` counts the tokens after the first. Sampler lines of newer builds count prompt tokens too and are not read.
- Ollama's runner up to 0.12.6 prints the time of the last batch of a prompt as that of the whole prompt.
- From Ollama 0.30 on the prompt count includes cached tokens while its duration does not.
- Blocks at the end of llama-parallel, llama-batched-bench and llama-perplexity are no request: `eval` counts only the tokens decoded alone,
  and whatever went through in a batch is in the prompt's line. Nor is a block that decoded nothing (`0.00 ms / 1 runs`).
- A block whose printed rate contradicts its own time and count is refused: so are those of Open WebUI 0.5.1, whose durations are in units of 10 us.
"""

from __future__ import annotations

from ..engine.line_format import Field, Int, Line, LineFormat, Num, Sample, Stamp, Text, go_duration, go_seconds

_TOOL = r"^(?:llama_print_timings|llama_perf_context_print|common_perf_print): +$"
_EARLY = r"^print_timings: +$"
_LIST = r"^[\s>*-]*$"
_RATE = Num(r"([\d.]+) tokens per second")
_MS = Num(r"time += +([\d.]+) ms")


def _duration(label: str) -> dict[str, Field]:
    """A Go duration behind a label, in its parts."""
    return go_duration("go", rf"{label}: +", r"\s*$")


def _bench_row() -> dict[str, Field]:
    """The numbers in a row of the file of KoboldCpp's benchmark: they follow each other behind the name of the model."""
    names = ("ctx", "n", "prompt_s", "prompt_rate", "decode_s", "rate", "total_s")
    return {
        name: (Int if name in ("ctx", "n") else Num)(
            "," + ",".join((r"(\d+)" if k < 2 else r"([\d.]+)") if k == at else r"[\d.]+" for k in range(len(names))) + r"(?:,|\s*$)"
        )
        for at, name in enumerate(names)
    }


def _stat(kind: str, key: str, field: str, number: str) -> Line:
    """A line of an answer's statistics as Ollama's API and Open WebUI write them: `key: 12,`, the key quoted or not."""
    value = rf'"?{key}"?: ?{number}[,}}]*\s*(?:#.*)?$'
    return Line(kind, "requests*", key, {field: Num(value) if field != "n" else Int(value)}, need=(field,), after=r'^[\s>*{-]*"?$')


def _timings(who: str, after: str, counted: str) -> tuple[Line, ...]:
    """The two lines of a block: the prompt and what was generated."""
    return tuple(
        Line(
            f"{who} {part}",
            into="requests*",
            anchor=anchor,
            after=after,
            fields={"ms": _MS, "n": Int(rf"ms / +(\d+) {unit}"), "rate": _RATE},
            need=("ms", "n"),
        )
        for part, anchor, unit in (("prompt", "prompt eval time", counted), ("decode", "eval time", "runs"))
    )


# Go prints minutes and at most nine decimals; Python all of them
_EVAL: dict[str, Field] = {**_duration("eval duration"), "python": Text(r"eval duration: +\d+\.\d{10,}(s)\s*$")}
_TOTAL: dict[str, Int | Num] = {"total_n": Int(r"tokens: +(\d+), speed: "), "speed": Num(r"speed: +([\d.]+) t/s")}
_LINES = (
    # tools that decode many sequences at once, or none
    Line(
        "many",
        into="requests*",
        anchor=("n_kv_max = ", "perplexity: calculating perplexity over "),
        after=r"^(?:\w+: )?$",
    ),
    Line(
        "many clients",
        into="bench_steps*",
        anchor="n_sequences = ",
        after=r"^\w+: n_parallel = \d+, $",
        fields={"clients": Int(r"n_parallel = (\d+),"), "sequences": Int(r"n_sequences = (\d+)")},
        need=("clients", "sequences"),
    ),
    Line(
        "many prompts",
        into="bench_steps*",
        anchor=", speed: ",
        after=r"^Total prompt tokens: +\d+$",  # LM Studio prints the count alone
        fields=_TOTAL,
        need=("total_n", "speed"),
    ),
    Line(
        "many outputs",
        into="bench_steps*",
        anchor=", speed: ",
        after=r"^Total gen tokens: +\d+$",
        fields=_TOTAL,
        need=("total_n", "speed"),
    ),
    Line("tool load", into="requests*", anchor="load time", after=_TOOL),
    Line("tool sample", into="requests*", anchor="sample time", after=r"^llama_print_timings: +$", fields={"n": Int(r"/ +(\d+) runs")}),
    *_timings("tool", _TOOL, "(?:tokens|runs)"),
    *_timings("early", _EARLY, "tokens"),
    Line(
        "early launch",
        into="requests*",
        anchor=" is processing [task id: ",
        after=r"^slot \d+$",
        fields={"slot": Int(r"^slot (\d+) "), "task": Int(r"\[task id: (\d+)\]")},
        need=("slot", "task"),
    ),
    Line(
        "early release",
        into="requests*",
        anchor=" released (",
        after=r"^slot \d+$",
        fields={"slot": Int(r"^slot (\d+) "), "in_cache": Int(r"\((\d+) tokens in cache\)")},
        need=("slot", "in_cache"),
    ),
    Line(
        "early slot",
        into="requests*",
        anchor="-> Slot ",
        after=r"^ *$",
        fields={"slot": Int(r"-> Slot (\d+) - max context: "), "ctx": Int(r" - max context: (\d+)")},
        need=("slot", "ctx"),
    ),
    Line(
        "kobold",
        into="requests*",
        anchor="CtxLimit:",
        after=r"^\s*(?:\[\d\d:\d\d:\d\d\] )?$",
        fields={
            "ctx": Int(r"CtxLimit: ?\d+/(\d+),"),
            "n": Int(r"(?:Amt:|Generated:)(\d+)/\d+"),
            "prompt_n": Int(r"Processed:(\d+) in [\d.]+s"),
            "prompt_s": Num(r"(?:Process:|Processed:\d+ in )([\d.]+)s"),
            "decode_s": Num(r"(?:Generate:|Generated:\d+/\d+ in )([\d.]+)s"),
            "rate": Num(r"(?:Generate:|Generated:\d+/\d+ in )[\d.]+s \([^)]*?([\d.]+)T/s\)"),
            "each_ms": Num(r"Generate:[\d.]+s \((\d+\.\d)ms/T"),
            "total_s": Num(r"Total:([\d.]+)s"),
        },
        need=("decode_s", "total_s"),
    ),
    Line(
        "kobold",
        into="requests*",
        anchor=("Time Taken - Processing:", "ContextLimit: "),
        after=r"^\s*$",
        fields={
            "ctx": Int(r"^\s*ContextLimit: \d+/(\d+), Processing:"),
            "prompt_s": Num(r"Processing:([\d.]+)s[ ,]"),
            "decode_s": Num(r"Generation:([\d.]+)s[ ,]"),
            "each_ms": Num(r"Generation:[\d.]+s \((\d+\.\d)ms/T"),
            "total_s": Num(r"Total:([\d.]+)s"),
        },
        need=("prompt_s", "decode_s", "total_s"),
    ),
    *(
        Line(f"bench {kind}", "requests*", f"{key}: ", {field: value}, need=(field,), after=r"^[\s>]*$")
        for kind, key, field, value in (
            ("ctx", "MaxCtx", "ctx", Int(r"MaxCtx: (\d+)\s*$")),
            ("amount", "GenAmount", "n", Int(r"GenAmount: (\d+)\s*$")),
            ("prompt", "ProcessingTime", "prompt_s", Num(r"Time: ([\d.]+)s\s*$")),
            ("prompt rate", "ProcessingSpeed", "rate", Num(r"Speed: ([\d.]+)T/s\s*$")),
            ("decode", "GenerationTime", "decode_s", Num(r"Time: ([\d.]+)s\s*$")),
            ("rate", "GenerationSpeed", "rate", Num(r"Speed: ([\d.]+)T/s\s*$")),
        )
    ),
    Line(
        "bench row",
        into="requests*",
        anchor="koboldcpp",
        after=r"^[\s>]*\d{4}-\d\d-\d\d \d\d:[\d:.+]+,$",
        fields=_bench_row(),
        need=("ctx", "n", "prompt_s", "decode_s", "rate"),
    ),
    Line("verbose total", into="requests*", anchor="total duration: ", after=_LIST, fields=_duration("total duration")),
    Line("verbose load", into="requests*", anchor="load duration: ", after=_LIST, fields=_duration("load duration")),
    Line(
        "verbose prompt n",
        into="requests*",
        anchor="prompt eval count: ",
        after=_LIST,
        fields={"n": Int(r"count: +(\d+) token")},
        need=("n",),
    ),
    Line("verbose prompt", into="requests*", anchor="prompt eval duration: ", after=_LIST, fields=_EVAL),
    Line(
        "verbose prompt rate", into="requests*", anchor="prompt eval rate: ", after=_LIST, fields={"rate": Num(r"rate: +([\d.]+) tokens/s")}
    ),
    Line("verbose decode n", into="requests*", anchor="eval count: ", after=_LIST, fields={"n": Int(r"count: +(\d+) token")}, need=("n",)),
    Line("verbose decode", into="requests*", anchor="eval duration: ", after=_LIST, fields=_EVAL),
    Line(
        "verbose rate",
        into="requests*",
        anchor="eval rate: ",
        after=_LIST,
        fields={"rate": Num(r"rate: +([\d.]+) tokens/s")},
        need=("rate",),
    ),
    _stat("stat rate", "response_token/s", "rate", r"([\d.]+)"),
    _stat("stat prompt rate", "prompt_token/s", "rate", r"([\d.]+)"),
    _stat("stat total", "total_duration", "go_ns", r"(\d+(?:\.\d+)?)"),
    _stat("stat load", "load_duration", "go_ns", r"(\d+(?:\.\d+)?)"),
    _stat("stat prompt n", "prompt_eval_count", "n", r"(\d+)"),
    _stat("stat prompt", "prompt_eval_duration", "go_ns", r"(\d+(?:\.\d+)?)"),
    _stat("stat decode n", "eval_count", "n", r"(\d+)"),
    _stat("stat decode", "eval_duration", "go_ns", r"(\d+(?:\.\d+)?)"),
    _stat("told prompt n", "prompt_n", "n", r"(\d+)"),
    _stat("told prompt", "prompt_ms", "ms", r"(\d+(?:\.\d+)?)"),
    _stat("told decode n", "predicted_n", "n", r"(\d+)"),
    _stat("told decode", "predicted_ms", "ms", r"(\d+(?:\.\d+)?)"),
    _stat("told rate", "predicted_per_second", "rate", r"(\d+(?:\.\d+)?)"),
    Line(
        "stat all",
        into="requests*",
        anchor="total_duration=",
        after=r"^(?:\w+\()?model='[^']*',? created_at='[^']*',? done=True,? done_reason='?\w*'?,? $",
        fields={
            "total_ns": Num(r" total_duration=(\d+)"),
            "load_ns": Num(r" load_duration=(\d+)"),
            "prompt_n": Int(r" prompt_eval_count=(\d+)"),
            "prompt_ns": Num(r" prompt_eval_duration=(\d+)"),
            "n": Int(r" eval_count=(\d+)"),
            "decode_ns": Num(r" eval_duration=(\d+)"),
        },
        need=("total_ns", "n", "decode_ns"),
    ),
)
# the order of the lines in a block, of `ollama run --verbose`, of the API and of Open WebUI: one that is not behind the line before begins a block
_ORDER = (
    *("stat rate", "stat prompt rate", "verbose total", "stat total", "verbose load", "stat load", "verbose prompt n", "stat prompt n"),
    *(
        "verbose prompt",
        "stat prompt",
        "verbose prompt rate",
        "verbose decode n",
        "stat decode n",
        "verbose decode",
        "stat decode",
        "verbose rate",
    ),
    *("told prompt n", "told prompt", "told decode n", "told decode", "told rate"),
)

_NOISE = (
    "llama_perf_sampler_print: ",
    "llama_print_timings:       total time",
    "llama_perf_context_print:       total time",
    "llama_perf_context_print:    graphs reused",
    "common_perf_print:       total time",
    "common_perf_print:    graphs reused",
    "common_perf_print:    sampling time",
    "common_perf_print:    samplers time",
    "common_perf_print: unaccounted time",
    "print_timings:       total time",
    "Total speed (AVG): ",
)

_REQUESTS = f"""
WITH seconds AS (
    SELECT *, {go_seconds("go")} AS took FROM staged
), tool_blocks AS (
    -- a block begins with the load line; where that is missing, with the line of the prompt
    SELECT *, sum(CASE WHEN kind = 'tool load' THEN 1 ELSE 0 END) OVER w AS b,
        sum(CASE WHEN kind = 'tool prompt' THEN 1 ELSE 0 END) OVER w + CASE WHEN kind = 'tool sample' THEN 1 ELSE 0 END AS p,
        max(CASE WHEN kind LIKE 'many%' THEN line END) OVER w AS many,
        max(CASE WHEN kind = 'tool decode' THEN line END) OVER (w ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS decoded
    FROM seconds WHERE kind LIKE 'tool %' OR kind LIKE 'many%' WINDOW w AS (PARTITION BY run ORDER BY line)
), tools AS (
    -- a prompt of `0.00 ms / 1 tokens` was none: all of it came from the cache
    SELECT run, min(line) AS line, NULL AS slot, NULL AS task,
        max(n) FILTER (kind = 'tool prompt' AND ms > 0) AS prompt_n, max(ms) FILTER (kind = 'tool prompt' AND ms > 0) AS prompt_ms,
        max(n) FILTER (kind = 'tool sample') AS output_n, max(n) FILTER (kind = 'tool decode') AS steps,
        max(ms) FILTER (kind = 'tool decode') AS decode_ms, max(rate) FILTER (kind = 'tool decode') AS rate
    FROM tool_blocks WHERE kind LIKE 'tool %' AND kind <> 'tool load' GROUP BY run, b, p
    HAVING count(*) FILTER (kind = 'tool prompt') = 1 AND count(*) FILTER (kind = 'tool decode') = 1 AND max(line) - min(line) <= 8
        AND NOT coalesce(bool_or(many > coalesce(decoded, 0)) FILTER (kind = 'tool decode'), FALSE) AND max(ms) FILTER (kind = 'tool decode') > 0
), early_blocks AS (
    SELECT *, sum(CASE WHEN kind = 'early prompt' THEN 1 ELSE 0 END) OVER w AS p,
        sum(CASE WHEN kind = 'early release' THEN 1 ELSE 0 END) OVER w AS releases
    FROM seconds WHERE kind LIKE 'early %' AND kind <> 'early slot' WINDOW w AS (PARTITION BY run ORDER BY line)
), early_timed AS (
    SELECT run, p, min(line) AS line, max(line) AS last_line, any_value(releases) AS releases,
        max(n) FILTER (kind = 'early prompt') AS prompt_n, max(ms) FILTER (kind = 'early prompt') AS prompt_ms,
        max(n) FILTER (kind = 'early decode') AS steps, max(ms) FILTER (kind = 'early decode') AS decode_ms,
        max(rate) FILTER (kind = 'early decode') AS rate
    FROM early_blocks WHERE kind IN ('early prompt', 'early decode') GROUP BY run, p
    HAVING count(*) FILTER (kind = 'early prompt') = 1 AND count(*) FILTER (kind = 'early decode') = 1 AND max(line) - min(line) <= 4
), early AS (
    -- the block names no slot: it is that of the release behind it, if no other block stands between
    SELECT e.run, e.line, CASE WHEN alone THEN r.slot END AS slot,
        CASE WHEN alone THEN (SELECT arg_max(l.task, l.line) FROM staged l
            WHERE l.kind = 'early launch' AND l.run = e.run AND l.slot = r.slot AND l.line < e.line) END AS task,
        e.prompt_n, e.prompt_ms, e.steps AS output_n, e.steps, e.decode_ms, e.rate
    FROM (SELECT *, count(*) OVER (PARTITION BY run, releases) = 1 AS alone FROM early_timed) e
    LEFT JOIN (SELECT run, slot, line, releases FROM early_blocks WHERE kind = 'early release') r
        ON r.run = e.run AND r.releases = e.releases + 1 AND r.line - e.last_line <= 6
), kobolds AS (
    SELECT run, line, t, res, prompt_n, prompt_s * 1000 AS prompt_ms, n, decode_s * 1000 AS decode_ms, total_s, rate,
        -- the line of 2023 says no count: it is the time over that of one token, where their rounding leaves no more than 1 % open
        CASE WHEN n IS NULL AND 0.05 / each_ms + 0.005 / decode_s <= 0.01 THEN round(decode_s * 1000 / each_ms) END AS made
    FROM staged
    WHERE kind = 'kobold' AND (n IS NULL OR rate IS NULL OR decode_s < 0.05 OR abs(n / decode_s - rate) <= 0.02 * rate + 0.01
        OR abs((n - 1) / decode_s - rate) <= 0.02 * rate + 0.01)
), bench_parts AS (
    SELECT *, sum(CASE WHEN kind = 'bench prompt' THEN 1 ELSE 0 END) OVER (PARTITION BY run ORDER BY line)
        + CASE WHEN kind IN ('bench ctx', 'bench amount') THEN 1 ELSE 0 END AS b
    FROM staged WHERE kind LIKE 'bench %' AND kind <> 'bench row'
), benches AS (
    -- the same run has its own line above the block, where the console was kept
    SELECT run, min(line) FILTER (kind = 'bench prompt') AS line, max(ctx) AS ctx, max(n) AS amount, max(prompt_s) AS prompt_s, max(decode_s) AS decode_s,
        max(rate) FILTER (kind = 'bench prompt rate') AS prompt_rate, max(rate) FILTER (kind = 'bench rate') AS rate
    FROM bench_parts GROUP BY run, b HAVING count(DISTINCT kind) = count(*) AND max(line) - min(line) <= 12
    UNION ALL SELECT run, line, ctx, n, prompt_s, decode_s, prompt_rate, rate FROM staged
        WHERE kind = 'bench row' AND abs(prompt_s + decode_s - total_s) <= 0.02
), bench_runs AS (
    SELECT run, line, ctx, prompt_s * 1000 AS prompt_ms, decode_s * 1000 AS decode_ms, rate,
        round(prompt_s * prompt_rate) AS prompt_n, coalesce(amount, round(decode_s * rate)) AS n
    FROM benches b WHERE prompt_s > 0 AND decode_s > 0 AND rate > 0
        AND 0.005 / rate + 0.005 / decode_s <= 0.01 AND (amount IS NULL OR abs(amount / decode_s - rate) <= 0.01 * rate + 0.01)
        AND NOT EXISTS (SELECT 1 FROM kobolds k WHERE k.run = b.run AND k.line BETWEEN b.line - 14 AND b.line AND abs(k.decode_ms - b.decode_s * 1000) <= 10)
), ranked AS (
    SELECT *, list_position([{", ".join(f"'{kind}'" for kind in _ORDER)}], kind) AS place, split_part(kind, ' ', 1) AS who
    FROM seconds WHERE kind LIKE 'verbose %' OR kind LIKE 'told %' OR (kind LIKE 'stat %' AND kind <> 'stat all')
), begun AS (
    SELECT *, coalesce(place <= lag(place) OVER w OR who <> lag(who) OVER w OR line - lag(line) OVER w > 3, TRUE) AS begins
    FROM ranked WINDOW w AS (PARTITION BY run ORDER BY line)
), answer_blocks AS (
    SELECT *, substr(kind, length(who) + 2) AS part, sum(CASE WHEN begins THEN 1 ELSE 0 END) OVER (PARTITION BY run ORDER BY line) AS b FROM begun
), answers AS (
    SELECT run, min(line) AS line, any_value(who) AS who, max(took) FILTER (part = 'total') AS total_s, max(took) FILTER (part = 'load') AS load_s,
        max(n) FILTER (part = 'prompt n') AS prompt_n, max(took) FILTER (part = 'prompt') AS prompt_s,
        max(n) FILTER (part = 'decode n') AS output_n, max(took) FILTER (part = 'decode') AS decode_s, max(rate) FILTER (part = 'rate') AS rate, count(python) AS python,
        max(ms) FILTER (part = 'prompt') AS prompt_ms, max(ms) FILTER (part = 'decode') AS decode_ms
    FROM answer_blocks GROUP BY run, b
    UNION ALL
    SELECT run, line, 'stat', total_ns / 1e9, coalesce(load_ns, 0) / 1e9, prompt_n, coalesce(prompt_ns, 0) / 1e9, n, decode_ns / 1e9, NULL, 0, NULL, NULL
    FROM staged WHERE kind = 'stat all'
), chat_blocks AS (
    SELECT *, sum(CASE WHEN kind = 'verbose prompt n' THEN 1 ELSE 0 END) OVER (PARTITION BY run ORDER BY line) AS b
    FROM seconds WHERE kind LIKE 'verbose %'
), chats AS (
    -- the same six lines without a total, in the numbers of Python
    SELECT run, min(line) AS line, max(n) FILTER (kind = 'verbose prompt n') AS prompt_n, max(took) FILTER (kind = 'verbose prompt') AS prompt_s,
        max(n) FILTER (kind = 'verbose decode n') AS output_n, max(took) FILTER (kind = 'verbose decode') AS decode_s,
        max(rate) FILTER (kind = 'verbose rate') AS rate
    FROM chat_blocks WHERE b > 0 GROUP BY run, b HAVING max(line) - min(line) = 5 AND count(*) = 6 AND count(DISTINCT kind) = 6
        AND count(python) = 2
)
SELECT line, 'server' AS origin, 'llama.cpp' AS server, run, CAST(run AS VARCHAR) || ':' || coalesce(CAST(task AS VARCHAR), 'line '
    || CAST(line AS VARCHAR)) AS request, CAST(slot AS INTEGER) AS slot, CAST(NULL AS DOUBLE) AS started_at,
    CAST(NULL AS DOUBLE) AS finished_at, CAST(NULL AS DOUBLE) AS resolution_s, CAST(prompt_n AS DOUBLE) AS prompt_tokens,
    CAST(output_n AS DOUBLE) AS output_tokens, prompt_ms, decode_ms, CAST(steps AS DOUBLE) AS decode_steps,
    CAST(NULL AS DOUBLE) AS queue_ms, CAST(NULL AS DOUBLE) AS latency_s, 'ok' AS status
FROM (FROM tools UNION ALL BY NAME FROM early)
WHERE rate IS NULL OR decode_ms < 5 OR abs(steps * 1000 / decode_ms - rate) <= 0.01 * rate + 0.01
UNION ALL
SELECT line, 'server', 'koboldcpp', run, CAST(run AS VARCHAR) || ':line ' || CAST(line AS VARCHAR), NULL, t - total_s, t,
    CASE WHEN t IS NOT NULL THEN res END, prompt_n, n, prompt_ms, decode_ms,
    CASE WHEN abs((n - 1) * 1000 / decode_ms - rate) < abs(n * 1000 / decode_ms - rate) THEN n - 1 ELSE coalesce(n, made) END, NULL, NULL, 'ok'
FROM kobolds
UNION ALL
SELECT line, 'server', 'koboldcpp', run, CAST(run AS VARCHAR) || ':line ' || CAST(line AS VARCHAR), NULL, NULL, NULL, NULL,
    prompt_n, n, prompt_ms, decode_ms, n, NULL, NULL, 'ok'
FROM bench_runs
UNION ALL
SELECT line, 'client', 'llama.cpp', run, CAST(run AS VARCHAR) || ':line ' || CAST(line AS VARCHAR), NULL, NULL, NULL, NULL,
    prompt_n, output_n, prompt_ms, decode_ms,
    CASE WHEN abs((output_n - 1) * 1000 / decode_ms - rate) < abs(output_n * 1000 / decode_ms - rate) THEN output_n - 1 ELSE output_n END, NULL, NULL, 'ok'
FROM answers WHERE who = 'told' AND output_n > 0 AND decode_ms > 0 AND rate > 0
    AND least(abs(output_n * 1000 / decode_ms - rate), abs((output_n - 1) * 1000 / decode_ms - rate)) <= 0.01 * rate
UNION ALL
SELECT line, 'client', 'ollama', run, CAST(run AS VARCHAR) || ':line ' || CAST(line AS VARCHAR), NULL, NULL, NULL, NULL,
    prompt_n, output_n, prompt_s * 1000, decode_s * 1000, output_n,
    -- runners up to 0.12.6 print the time of the prompt's last batch alone: the rest of a longer prompt would pass for waiting
    CASE WHEN total_s >= load_s + prompt_s + decode_s AND prompt_n <= 512 THEN (total_s - load_s - prompt_s - decode_s) * 1000 END, total_s, 'ok'
FROM answers WHERE who <> 'told' AND python = 0 AND output_n > 0 AND decode_s > 0 AND CASE
    WHEN rate > 0 THEN abs(output_n / decode_s - rate) <= 0.01 * rate + 0.01
    -- statistics without a rate: nanoseconds that fit into their total, and no token faster than a tenth of a millisecond
    ELSE who = 'stat' AND total_s >= coalesce(load_s, 0) + coalesce(prompt_s, 0) + decode_s AND decode_s >= output_n * 1e-4 END
UNION ALL
SELECT line, 'server', 'ktransformers', run, CAST(run AS VARCHAR) || ':line ' || CAST(line AS VARCHAR), NULL, NULL, NULL, NULL,
    prompt_n, output_n, prompt_s * 1000, decode_s * 1000, output_n, NULL, NULL, 'ok'
FROM chats WHERE output_n > 0 AND decode_s > 0 AND rate > 0 AND abs(output_n / decode_s - rate) <= 0.001 * rate
ORDER BY line
"""

_CONFIG = """
WITH listed AS (
    -- the whole list: it begins with slot 0, and requests follow
    SELECT run, min(line) FILTER (kind = 'early slot') AS line, max(slot) FILTER (kind = 'early slot') + 1 AS slots,
        max(ctx) FILTER (kind = 'early slot') AS ctx
    FROM staged WHERE kind IN ('early slot', 'early launch') GROUP BY run
    HAVING count(DISTINCT slot) FILTER (kind = 'early slot') = slots AND max(line) > max(line) FILTER (kind = 'early slot')
), found AS (
    SELECT min(line) AS line, 'koboldcpp' AS server, run, 'n_ctx_slot' AS key, ctx AS num FROM staged WHERE kind IN ('kobold', 'bench ctx', 'bench row') AND ctx > 0
    GROUP BY run, ctx
    UNION ALL SELECT line, 'llama.cpp', run, 'n_ctx_slot', ctx FROM listed
    UNION ALL SELECT line, 'llama.cpp', run, 'slots', slots FROM listed
)
SELECT line, server, run, key, CAST(num AS VARCHAR) AS value, CAST(num AS DOUBLE) AS num, 'logged' AS origin FROM found ORDER BY line, key
"""

_STEPS = """
WITH told AS (
    SELECT *, max(CASE WHEN kind = 'many clients' THEN line END) OVER w AS began,
        lag(CASE WHEN kind = 'many prompts' THEN total_n END) OVER w AS prompts_n,
        lag(CASE WHEN kind = 'many prompts' THEN speed END) OVER w AS prompt_speed
    FROM staged WHERE kind LIKE 'many %' WINDOW w AS (PARTITION BY run ORDER BY line)
)
SELECT o.line, CAST(row_number() OVER (ORDER BY o.line) AS INTEGER) AS step, CAST(c.clients AS DOUBLE) AS concurrency,
    CAST(c.sequences AS DOUBLE) AS requests, o.speed AS aggregate_tok_s, 'output' AS aggregate_counts, o.speed + o.prompt_speed AS total_tok_s,
    CAST(o.prompts_n AS DOUBLE) AS input_tokens, CAST(o.total_n AS DOUBLE) AS output_tokens
FROM told o JOIN staged c ON c.run = o.run AND c.line = o.began
WHERE o.kind = 'many outputs' AND c.clients > 0 AND o.speed > 0
QUALIFY row_number() OVER (PARTITION BY o.run, o.began ORDER BY o.line) = 1 ORDER BY o.line
"""

_SAMPLE_2023 = """\
llama_print_timings:        load time =   400.00 ms
llama_print_timings:      sample time =    30.00 ms /    64 runs   (    0.47 ms per token,  2133.33 tokens per second)
llama_print_timings: prompt eval time =   900.00 ms /     9 tokens (  100.00 ms per token,    10.00 tokens per second)
llama_print_timings:        eval time =  6300.00 ms /    63 runs   (  100.00 ms per token,    10.00 tokens per second)
llama_print_timings:       total time =  7300.00 ms /    72 tokens
"""

_SAMPLE_2025 = """\
llama_perf_sampler_print:    sampling time =      24.60 ms /   227 runs   (    0.11 ms per token,  9227.64 tokens per second)
llama_perf_context_print:        load time =    3000.00 ms
llama_perf_context_print: prompt eval time =     500.00 ms /    50 tokens (   10.00 ms per token,   100.00 tokens per second)
llama_perf_context_print:        eval time =   14000.00 ms /   175 runs   (   80.00 ms per token,    12.50 tokens per second)
llama_perf_context_print:       total time =   14600.00 ms /   225 tokens
"""

_SAMPLE_2026 = """\
0.20.100.200 I common_perf_print:        load time =    3000.00 ms
0.20.100.210 I common_perf_print: prompt eval time =     800.00 ms /    80 tokens (   10.00 ms per token,   100.00 tokens per second)
0.20.100.220 I common_perf_print:        eval time =    1400.00 ms /    21 runs   (   66.67 ms per token,    15.00 tokens per second)
0.20.100.230 I common_perf_print:       total time =    2300.00 ms /   101 tokens
0.20.100.240 I common_perf_print: unaccounted time =       4.57 ms /   0.2 %      (total - sampling - prompt eval - eval) / (total)
"""

_SAMPLE_EARLY = """\
Available slots:
 -> Slot 0 - max context: 2048
 -> Slot 1 - max context: 2048
slot 1 is processing [task id: 7]
slot 1 : kv cache rm - [0, end)

print_timings: prompt eval time =     100.00 ms /    12 tokens (    8.33 ms per token,   120.00 tokens per second)
print_timings:        eval time =    2000.00 ms /   100 runs   (   20.00 ms per token,    50.00 tokens per second)
print_timings:       total time =    2100.00 ms
slot 1 released (112 tokens in cache)
"""

_SAMPLE_KOBOLD = """\
CtxLimit:231/4096, Amt:100/100, Init:0.00s, Process:0.52s (3.9ms/T = 256.10T/s), Generate:3.00s (30.0ms/T = 33.33T/s), Total:3.52s (28.4T/s)
"""

_SAMPLE_KOBOLD_2023 = """\
Time Taken - Processing:45.0s (529ms/T), Generation:120.0s (1500ms/T), Total:165.0s
ContextLimit: 1105/2048, Processing:2.00s (20.0ms/T), Generation:8.00s (40.0ms/T), Total:10.00s (20.00T/s)
"""

_SAMPLE_KOBOLD_TIMED = """\
[18:44:54] CtxLimit:3929/4096, Amt:60/2048, Init:0.24s, Process:6.00s (563.34T/s), Generate:6.00s (10.00T/s), Total:12.00s
[18:45:30] CtxLimit:290/16384, Init:0.15s, Processed:240 in 30.00s (8.00T/s), Generated:50/64 in 2.00s (25.00T/s), Total:32.15s
"""

_SAMPLE_KOBOLD_BENCH = """\
Benchmark Completed - v1.79.1 Results:
======
Timestamp: 2024-12-14 20:41:03.368064+00:00
Layers: 59
MaxCtx: 8192
GenAmount: 100
-----
ProcessingTime: 20.230s
ProcessingSpeed: 400.00T/s
GenerationTime: 25.000s
GenerationSpeed: 4.00T/s
TotalTime: 45.230s

ProcessingTime: 10.000s
ProcessingSpeed: 809.20T/s
GenerationTime: 5.000s
GenerationSpeed: 20.00T/s
Timestamp,Backend,Layers,Model,MaxCtx,GenAmount,ProcessingTime,ProcessingSpeed,GenerationTime,GenerationSpeed,TotalTime,Output
2024-07-14 14:42:20.687625+00:00,koboldcpp_cublas.dll,81,a-70b.q6_k,4096,100,40.00,99.90,12.50,8.00,52.50,11111
"""

_SAMPLE_OLLAMA = """\
total duration:       1m2.5s
load duration:        100.5ms
prompt eval count:    21 token(s)
prompt eval duration: 2.0s
prompt eval rate:     10.50 tokens/s
eval count:           600 token(s)
eval duration:        1m0s
eval rate:            10.00 tokens/s
"""

_SAMPLE_CHAT = """\
prompt eval count:    16 token(s)
prompt eval duration: 3.2000000476837158s
prompt eval rate:     4.999999925494195 tokens/s
eval count:           300 token(s)
eval duration:        120.00000190734863s
eval rate:            2.4999999602635707 tokens/s
"""

_SAMPLE_OPEN_WEBUI = """\
response_token/s: 40
prompt_token/s: 105.0
total_duration: 62500000000
load_duration: 100500000
prompt_eval_count: 21
prompt_tokens: 21
prompt_eval_duration: 200000000
eval_count: 2000
completion_tokens: 2000
eval_duration: 50000000000
approximate_total: "0h1m2s"

response_token/s: 4000
total_duration: 858553.61
eval_count: 16
eval_duration: 40000
"""

_SAMPLE_API = """\
the answer's end:
  "total_duration":5000000000,  # 5 s
  "load_duration": 500000000,
  "prompt_eval_count": 26,
  "eval_count": 80,
  "eval_duration": 4000000000
model='a:8b' created_at='2026-01-01T00:00:00Z' done=True done_reason='stop' total_duration=3000000000 load_duration=20000000 \
prompt_eval_count=30 prompt_eval_duration=180000000 eval_count=70 eval_duration=2800000000 message=Message(role='assistant', content='x')
"""

_SAMPLE_TOLD = """\
    "prompt_n": 20,
    "prompt_ms": 100.5,
    "prompt_per_token_ms": 5.025,
    "predicted_n": 51,
    "predicted_ms": 1000.0,
    "predicted_per_second": 50.0
prompt_n: 20
predicted_n: 50
predicted_ms: 1000.0
predicted_per_second: 80.0
"""

_SAMPLE_PARALLEL = """\
main: n_parallel = 4, n_sequences = 64, cont_batching = 1, system tokens = 270
Client   3, seq   63, junk =    0, prompt = 10, started decoding ...

Total prompt tokens:    900, speed: 30.00 t/s
Total gen tokens:      6000, speed: 200.00 t/s
Total speed (AVG):           speed: 230.00 t/s
Cache misses:             0

llama_perf_context_print:        load time =    1800.00 ms
llama_perf_context_print: prompt eval time =   29000.00 ms /  7100 tokens (    4.08 ms per token,   244.83 tokens per second)
llama_perf_context_print:        eval time =      20.00 ms /     4 runs   (    5.00 ms per token,   200.00 tokens per second)
llama_perf_context_print:       total time =   30000.00 ms /  7104 tokens
"""

_SAMPLE_QUOTED = """\
> they printed llama_print_timings:        eval time =  6300.00 ms /    63 runs
the eval rate:            10.00 tokens/s
"""

PARSER = LineFormat(
    name="llama-cli-timings",
    server="llama.cpp",
    stamps=(
        Stamp(r"^(\d+\.\d\d\.\d{3}\.\d{3}) (?:[IWED] )?", parse="m.s.ms.us", clock="since-start", resolution_s=1e-6),
        Stamp(r"^\[(\d\d:\d\d:\d\d)\] ", parse="clock", clock="local-no-zone", resolution_s=1.0, search=True),
    ),
    lines=_LINES,
    noise=_NOISE,
    assemble={"requests": _REQUESTS, "server_config": _CONFIG, "bench_steps": _STEPS},
    samples=(
        Sample(
            text=_SAMPLE_2023,
            versions="llama.cpp until 2024-09, llama-cpp-python",
            rows={
                "requests": [
                    {
                        "line": 2,
                        "prompt_tokens": 9.0,
                        "prompt_ms": 900.0,
                        "output_tokens": 64.0,
                        "decode_ms": 6300.0,
                        "decode_steps": 63.0,
                        "finished_at": None,
                    }
                ]
            },
        ),
        Sample(
            text=_SAMPLE_2025,
            versions="llama.cpp 2024-09 to 2025-12",
            rows={"requests": [{"prompt_tokens": 50.0, "decode_ms": 14000.0, "decode_steps": 175.0, "output_tokens": None}]},
        ),
        Sample(
            text=_SAMPLE_2026,
            versions="llama.cpp 2025-12 and later",
            rows={"requests": [{"prompt_ms": 800.0, "decode_steps": 21.0, "decode_ms": 1400.0, "origin": "server"}]},
        ),
        Sample(
            text=_SAMPLE_EARLY,
            versions="llama.cpp's server b1413 to b2258",
            rows={
                "requests": [{"slot": 1, "request": "0:7", "prompt_tokens": 12.0, "output_tokens": 100.0, "decode_ms": 2000.0}],
                "server_config": [{"key": "n_ctx_slot", "num": 2048.0}, {"key": "slots", "num": 2.0}],
            },
        ),
        Sample(
            text=_SAMPLE_KOBOLD,
            versions="KoboldCpp 2024",
            rows={
                "requests": [{"server": "koboldcpp", "output_tokens": 100.0, "decode_ms": 3000.0, "prompt_ms": 520.0, "finished_at": None}],
                "server_config": [{"key": "n_ctx_slot", "num": 4096.0}],
            },
        ),
        Sample(
            text=_SAMPLE_KOBOLD_2023,
            versions="KoboldCpp 2023",
            rows={
                "requests": [
                    {"prompt_ms": 45000.0, "decode_ms": 120000.0, "decode_steps": None, "output_tokens": None, "finished_at": None},
                    {"prompt_ms": 2000.0, "decode_ms": 8000.0, "decode_steps": 200.0, "prompt_tokens": None},
                ],
                "server_config": [{"key": "n_ctx_slot", "num": 2048.0}],
            },
        ),
        Sample(
            text=_SAMPLE_KOBOLD_TIMED,
            versions="KoboldCpp 2025 and 2026",
            rows={
                "requests": [
                    {"output_tokens": 60.0, "decode_steps": 60.0, "finished_at": 67494.0, "started_at": 67482.0, "resolution_s": 1.0},
                    {"prompt_tokens": 240.0, "prompt_ms": 30000.0, "output_tokens": 50.0, "decode_ms": 2000.0},
                ],
                "clocks": [{"kind": "local-no-zone", "resolution_s": 1.0}],
            },
        ),
        Sample(
            text=_SAMPLE_KOBOLD_BENCH,
            versions="KoboldCpp --benchmark, 2024 and later, whole, in part, and its file",
            rows={
                "requests": [
                    {
                        "line": 8,
                        "server": "koboldcpp",
                        "prompt_tokens": 8092.0,
                        "prompt_ms": 20230.0,
                        "output_tokens": 100.0,
                        "decode_ms": 25000.0,
                    },
                    {"line": 14, "prompt_tokens": 8092.0, "output_tokens": 100.0, "decode_ms": 5000.0},
                    {"line": 19, "prompt_tokens": 3996.0, "output_tokens": 100.0, "decode_ms": 12500.0},
                ],
                "server_config": [{"key": "n_ctx_slot", "num": 8192.0}, {"key": "n_ctx_slot", "num": 4096.0}],
            },
        ),
        Sample(
            text=_SAMPLE_OLLAMA,
            versions="ollama run --verbose, any",
            rows={
                "requests": [
                    {
                        "origin": "client",
                        "server": "ollama",
                        "latency_s": 62.5,
                        "prompt_ms": 2000.0,
                        "prompt_tokens": 21.0,
                        "output_tokens": 600.0,
                        "decode_ms": 60000.0,
                        "queue_ms": 399.5,
                    }
                ]
            },
        ),
        Sample(
            text=_SAMPLE_CHAT,
            versions="KTransformers 0.2, local_chat",
            rows={
                "requests": [
                    {
                        "origin": "server",
                        "server": "ktransformers",
                        "prompt_tokens": 16.0,
                        "output_tokens": 300.0,
                        "prompt_ms": 3200.0000476837158,
                        "decode_ms": 120000.00190734863,
                        "queue_ms": None,
                        "latency_s": None,
                    }
                ]
            },
        ),
        Sample(
            text=_SAMPLE_OPEN_WEBUI,
            versions="Open WebUI's information on an answer; of 0.5.1 in units of its own, which its rate shows",
            rows={
                "requests": [
                    {
                        "line": 1,
                        "origin": "client",
                        "server": "ollama",
                        "latency_s": 62.5,
                        "prompt_tokens": 21.0,
                        "prompt_ms": 200.0,
                        "output_tokens": 2000.0,
                        "decode_ms": 50000.0,
                        "queue_ms": 12199.5,
                    }
                ]
            },
        ),
        Sample(
            text=_SAMPLE_API,
            versions="pieces of an answer of Ollama's API, and what its Python client prints",
            rows={
                "requests": [
                    {"line": 2, "latency_s": 5.0, "output_tokens": 80.0, "decode_ms": 4000.0, "prompt_ms": None, "queue_ms": None},
                    {"line": 7, "latency_s": 3.0, "prompt_tokens": 30.0, "prompt_ms": 180.0, "output_tokens": 70.0, "decode_ms": 2800.0},
                ]
            },
        ),
        Sample(
            text=_SAMPLE_TOLD,
            versions="pieces of the timings of llama-server's answers; the second contradicts itself",
            rows={
                "requests": [
                    {
                        "line": 1,
                        "origin": "client",
                        "server": "llama.cpp",
                        "prompt_tokens": 20.0,
                        "prompt_ms": 100.5,
                        "output_tokens": 51.0,
                        "decode_ms": 1000.0,
                        "decode_steps": 50.0,
                        "latency_s": None,
                    }
                ]
            },
        ),
        Sample(
            text=_SAMPLE_PARALLEL,
            versions="llama-parallel, any",
            rows={
                "requests": [],
                "bench_steps": [
                    {
                        "concurrency": 4.0,
                        "requests": 64.0,
                        "aggregate_tok_s": 200.0,
                        "aggregate_counts": "output",
                        "total_tok_s": 230.0,
                        "input_tokens": 900.0,
                        "output_tokens": 6000.0,
                    }
                ],
            },
        ),
        Sample(text=_SAMPLE_QUOTED, versions="any: what is quoted or alone gives nothing", rows={"requests": []}),
    ),
)
