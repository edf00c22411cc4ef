r"""mlx-lm and the servers built on it: what `mlx_lm.generate` prints, and the answer lines of oMLX and vllm-mlx (Rapid-MLX).

**Reads**, alone or between other lines: the three lines behind an answer of `mlx_lm.generate`, `mlx_vlm.generate` and `mlx_lm.chat` (`Prompt: 12
tokens, 83.211 tokens-per-sec`, `Generation: ...`, `Peak memory: ...`); of the servers
`Chat completion: 286 tokens in 152.04s (3.8 tok/s), prompt: 31094` and `Chat completion (stream): 508 tokens in 7.28s (69.8 tok/s)`, and the
counts `running=1 waiting=0` of vllm-mlx. `mlx_lm.server` itself prints no time of an answer.

**`requests`** (origin server). Of generate: prompt_tokens, prompt_ms (tokens over the rate), output_tokens, decode_ms: its rate is that of all
tokens over the time after the first one, so decode_steps is one less. Of the servers: output_tokens, latency_s: the printed seconds, which begin
with the request and hold waiting and the prompt; finished_at and queued_at where the line has a time; prompt_tokens, cached ones among them.
A line that ends in `tok/s decode)` gives decode_ms instead: its seconds begin with the first token. The rate of oMLX is one without the prompt
although its seconds are not: decode_ms is tokens over that rate, from 2.5 tok/s on, below which its one decimal says too little.

**`server_samples`**: running and waiting of vllm-mlx.

**Traps.** A line whose rate is not its tokens over its seconds (oMLX: less than that) is refused. The peak memory is not read. Rates of `[batch_generate]` are those of
a whole batch and are not read.
"""

from __future__ import annotations

from ..engine.line_format import Int, Line, LineFormat, Num, Sample, Stamp, Text

__all__ = ["PARSER"]

_HEAD = r"^(?:- )?(?:omlx[\w.]* - INFO - (?:\[[^\]]{0,40}\] - )?|(?:INFO:)?\w*mlx[\w.]*(?::| - INFO - )|INFO:\s+|INFO\s+)?$"
_LINES = (
    Line(
        "prompt",
        into="requests*",
        anchor="Prompt: ",
        after=r"^[\s>]*$",
        fields={"n": Int(r"Prompt: (\d+) tokens, [\d.]+ tokens-per-sec\s*$"), "rate": Num(r"tokens, ([\d.]+) tokens-per-sec\s*$")},
        need=("n", "rate"),
    ),
    Line(
        "generation",
        into="requests*",
        anchor="Generation: ",
        after=r"^[\s>]*$",
        fields={"n": Int(r"Generation: (\d+) tokens, [\d.]+ tokens-per-sec\s*$"), "rate": Num(r"tokens, ([\d.]+) tokens-per-sec\s*$")},
        need=("n", "rate"),
    ),
    Line(
        "answer",
        into="requests*",
        anchor=("Chat completion: ", "Chat completion (stream): ", "Completion: ", "Completion (stream): "),
        after=_HEAD,
        fields={
            "n": Int(r"ompletion(?: \(stream\))?: (?:model=[^ ,]{1,200}, )?(\d+) tokens in "),
            "seconds": Num(r" tokens in ([\d.]+)s \("),
            "rate": Num(r"s \(([\d.]+) tok/s"),
            "whole": Text(r"(tok/s)\)"),
            "decode": Text(r" tok/s (decode)\)"),
            "prompt_n": Int(r"\), prompt: (\d+)(?:,|\s*$)"),
            "who": Text(r"\b(omlx)\.server"),
        },
        need=("n", "seconds", "rate"),
        serves=True,
    ),
    Line(
        "load",
        into="server_samples*",
        anchor=" running=",
        after=r"^(?:INFO:)?\w*mlx[\w.]*(?::| - INFO - )\[(?:Metal memory|schedule)\] [^'\"]{0,160}$",
        fields={"running": Int(r" running=(\d+) "), "waiting": Int(r" waiting=(\d+)(?: |$)")},
        need=("running", "waiting"),
    ),
)

_REQUESTS = """
WITH pairs AS (
    SELECT *, lag(kind) OVER w AS kind_before, lag(line) OVER w AS line_before, lag(n) OVER w AS n_before, lag(rate) OVER w AS rate_before
    FROM staged WHERE kind IN ('prompt', 'generation') WINDOW w AS (PARTITION BY run ORDER BY line)
), found AS (
    SELECT line_before AS line, run, 'mlx-lm' AS server, NULL AS t, NULL AS res, CAST(n_before AS DOUBLE) AS prompt_tokens,
        CASE WHEN rate_before > 0 THEN n_before / rate_before * 1000 END AS prompt_ms, n,
        CASE WHEN rate > 0 AND n > 1 THEN n / rate * 1000 END AS decode_ms, CASE WHEN n > 1 THEN n - 1 END AS steps, NULL AS seconds
    FROM pairs WHERE kind = 'generation' AND kind_before = 'prompt' AND line - line_before <= 2
    UNION ALL
    SELECT line, run, CASE WHEN who = 'omlx' THEN 'omlx' ELSE 'vllm-mlx' END, t, res, prompt_n, NULL, n,
        CASE WHEN decode IS NOT NULL THEN seconds * 1000
            WHEN who = 'omlx' AND rate >= 2.5 AND n <= (rate + 0.05) * seconds THEN least(n / rate, seconds) * 1000 END,
        CASE WHEN decode IS NOT NULL AND n > 1 THEN n - 1 END, CASE WHEN whole IS NOT NULL THEN seconds END
    FROM staged WHERE kind = 'answer' AND seconds > 0 AND CASE
        WHEN who = 'omlx' THEN n <= (rate + 0.05) * seconds + 0.5 * rate
        ELSE least(abs(n - rate * seconds), abs(n - 1 - rate * seconds)) <= 0.06 * (rate + seconds) + 0.5 END
)
SELECT line, 'server' AS origin, server, run, CAST(run AS VARCHAR) || ':line ' || CAST(line AS VARCHAR) AS request,
    CAST(t - seconds AS DOUBLE) AS queued_at, CAST(t AS DOUBLE) AS finished_at, CAST(CASE WHEN t IS NOT NULL THEN greatest(res, 0.01) END AS DOUBLE) AS resolution_s,
    CAST(prompt_tokens AS DOUBLE) AS prompt_tokens, CAST(prompt_ms AS DOUBLE) AS prompt_ms, CAST(n AS DOUBLE) AS output_tokens,
    CAST(decode_ms AS DOUBLE) AS decode_ms, CAST(steps AS DOUBLE) AS decode_steps, CAST(seconds AS DOUBLE) AS latency_s, 'ok' AS status
FROM found ORDER BY line
"""

_SAMPLES = """
SELECT line, 'vllm-mlx' AS server, run, t AS time, CAST(running AS DOUBLE) AS running, CAST(waiting AS DOUBLE) AS waiting
FROM staged WHERE kind = 'load' ORDER BY line
"""

_SAMPLE_GENERATE = """\
==========
Once upon a time
==========
Prompt: 50 tokens, 100.000 tokens-per-sec
Generation: 201 tokens, 40.200 tokens-per-sec
Peak memory: 8.123 GB

> Prompt: 20 tokens, 80.000 tokens-per-sec
> Generation: 1 tokens, 90.000 tokens-per-sec
"""

_SAMPLE_OMLX = """\
2026-06-01 10:00:30,500 - omlx.server - INFO - [-] - Chat completion: 300 tokens in 40.00s (10.0 tok/s), prompt: 4000
2026-06-01 10:01:30,500 - omlx.server - INFO - [-] - Chat completion: model=a-8bit, 100 tokens in 20.00s (5.0 tok/s), prompt: 12, finish_reason=stop
2026-06-01 10:02:30,500 - omlx.server - INFO - [-] - Chat completion: 100 tokens in 20.00s (3.0 tok/s), prompt: 12
"""

_SAMPLE_VLLM_MLX = """\
INFO:vllm_mlx.scheduler:[Metal memory] active=29.7GB peak=58.2GB cache=0.0GB step=58880 running=2 waiting=1
INFO:vllm_mlx.routes.chat:Chat completion (stream): 500 tokens in 10.00s (50.0 tok/s)
INFO:vllm_mlx.server:Chat completion (stream): 101 tokens in 5.00s (20.0 tok/s decode)
"""

_SAMPLE_QUOTED = """\
the model said: Prompt: 50 tokens, 100.000 tokens-per-sec
the model said: Generation: 200 tokens, 40.000 tokens-per-sec
Generation: 200 tokens, 40.000 tokens-per-sec
user: Chat completion: 300 tokens in 30.00s (10.0 tok/s), prompt: 4000
"""

PARSER = LineFormat(
    name="mlx-lm",
    server="mlx-lm",
    stamps=(Stamp(r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) ", parse="iso", clock="local-no-zone", resolution_s=1e-3),),
    lines=_LINES,
    noise=("Peak memory: ",),
    assemble={"requests": _REQUESTS, "server_samples": _SAMPLES},
    samples=(
        Sample(
            text=_SAMPLE_GENERATE,
            versions="mlx_lm.generate 2024 and later",
            rows={
                "requests": [
                    {
                        "line": 4,
                        "origin": "server",
                        "server": "mlx-lm",
                        "prompt_tokens": 50.0,
                        "prompt_ms": 500.0,
                        "output_tokens": 201.0,
                        "decode_ms": 5000.0,
                        "decode_steps": 200.0,
                        "finished_at": None,
                    },
                    {"line": 8, "output_tokens": 1.0, "decode_ms": None, "prompt_ms": 250.0},
                ]
            },
        ),
        Sample(
            text=_SAMPLE_OMLX,
            versions="oMLX 2026; the last line contradicts itself",
            rows={
                "requests": [
                    {"server": "omlx", "queued_at": 1780307990.5, "finished_at": 1780308030.5, "latency_s": 40.0, "output_tokens": 300.0,
                     "prompt_tokens": 4000.0, "decode_ms": 30000.0, "resolution_s": 0.01},
                    {"line": 2, "latency_s": 20.0, "prompt_tokens": 12.0, "decode_ms": 20000.0},
                ],
                "clocks": [{"kind": "local-no-zone"}],
            },
        ),
        Sample(
            text=_SAMPLE_VLLM_MLX,
            versions="vllm-mlx, Rapid-MLX",
            rows={
                "server_samples": [{"running": 2.0, "waiting": 1.0, "time": None}],
                "requests": [
                    {"server": "vllm-mlx", "latency_s": 10.0, "output_tokens": 500.0, "finished_at": None},
                    {"latency_s": None, "decode_ms": 5000.0, "decode_steps": 100.0},
                ],
            },
        ),
        Sample(text=_SAMPLE_QUOTED, versions="any: what is quoted, alone or without its run", rows={"requests": []}),
    ),
)  # fmt: skip
