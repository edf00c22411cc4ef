r"""LMDeploy's api_server log: statistics lines (with `--enable-metrics`) and the engine configuration.

How to get one: `lmdeploy serve api_server MODEL --enable-metrics 2>&1 | tee lmdeploy.log`. Without that option there are no statistics:
no data, not an idle server. Nothing is printed while no token moves.

Versions. 0.9.2 to 0.12: `[2025-08-01 10:00:00 DP0] Avg prompt throughput: ..., Finished: N reqs, Unfinished: ...` (vLLM's words; the
time in brackets and `Finished:` tell them apart). Later `Avg thr (in/out): a / b tokens/s, API server (completed/routed/waiting): ...` and
`Server (succeeded/failed/routed/waiting): ...`; `[... Engine 000]` in 2026.

Tables
- `server_samples`: engine: the data-parallel rank. running: requests in the engine. waiting: those waiting in the engine plus those
  waiting in the API server in front of it, where the line names both. kv_usage as a fraction. prompt_tok_s and gen_tok_s: means since
  the line before. prefix_hit where printed.
- `server_config` keys: slots and slots_source (max_batch_size of the engine configuration: per data-parallel rank), tensor_parallel,
  data_parallel, split, n_ctx_slot (session_len), max_prefill_tokens, eager, prefix_caching, kv_quant_policy, cache_max_entry_count.

Traps
- max_batch_size not given and not printed: the default depends on the card; no row is made up.
- The configuration is printed more than once: the last one counts. tp=0 means not set.
"""

from __future__ import annotations

from ..engine.line_format import Int, Line, LineFormat, Num, Sample, Stamp, Text

_TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
_STATS = rf"^\[{_TIME} (?:DP\d+|Engine \d+)\] $"
_LOGGER = r"^(?:lmdeploy - (?:INFO|WARNING) - [\w.]+:\d+ - )(?:input |updated )?(?:backend=\w+, )?$"
_NUMBER = r"(\d+(?:\.\d+)?)"
_ENGINE = {"dp": Int(rf"^\[{_TIME} (?:DP|Engine )(\d+)\] ")}

_LINES = (
    Line(
        "stats",
        into="server_samples*",
        anchor="Avg thr (in/out): ",
        after=_STATS,
        fields={
            **_ENGINE,
            "rate_in": Num(rf"\(in/out\): {_NUMBER} / "),
            "rate_out": Num(rf"\(in/out\): [\d.]+ / {_NUMBER} tokens/s"),
            "running": Num(r"Engine \(running/waiting\): (\d+) / "),
            "engine_waiting": Num(r"Engine \(running/waiting\): \d+ / (\d+)\b"),
            "front_waiting": Num(r"\((?:[a-z]+/)+waiting\): (?:\d+ / ){2,}(\d+)\b"),
            "kv": Num(rf"KV cache: {_NUMBER}%", scale=0.01),
            "hit": Num(rf"Prefix cache hit rate: {_NUMBER}%", scale=0.01),
        },
        need=("running", "engine_waiting"),
        serves=True,
    ),
    Line(
        "stats",
        into="server_samples*",
        anchor="Avg prompt throughput: ",
        after=_STATS,
        fields={
            **_ENGINE,
            "rate_in": Num(rf"Avg prompt throughput: {_NUMBER} tokens/s"),
            "rate_out": Num(rf"Avg generation throughput: {_NUMBER} tokens/s"),
            "unfinished": Num(r"\bUnfinished: (\d+) reqs"),
            "running": Num(r"\bRunning: (\d+) reqs"),
            "engine_waiting": Num(r"\bWaiting: (\d+) reqs"),
            "kv": Num(rf"GPU KV cache usage: {_NUMBER}%", scale=0.01),
            "hit": Num(rf"Prefix cache hit rate: {_NUMBER}%", scale=0.01),
        },
        need=("unfinished", "running"),
        serves=True,
    ),
    Line(
        "config",
        into="server_config*",
        anchor=("backend_config=PytorchEngineConfig(", "backend_config=TurbomindEngineConfig("),
        after=_LOGGER,
        fields={
            "tp": Int(r"[(, ]tp=(\d+)"),
            "dp_size": Int(r"[(, ]dp=(\d+)"),
            "batch": Int(r"[(, ]max_batch_size=(\d+)"),
            "session": Int(r"[(, ]session_len=(\d+)"),
            "prefill": Int(r"[(, ]max_prefill_token_num=(\d+)"),
            "eager": Text(r"[(, ]eager_mode=(True|False)"),
            "prefix": Text(r"[(, ]enable_prefix_caching=(True|False)"),
            "policy": Int(r"[(, ]quant_policy=(\d+)"),
            "entries": Num(r"[(, ]cache_max_entry_count=(\d*\.?\d+)"),
        },
        starts_run=True,
    ),
)

_SAMPLES = """
SELECT line, t AS time, 'lmdeploy' AS server, dp AS engine, 'DP' || CAST(dp AS VARCHAR) AS rank, run, running,
    engine_waiting + coalesce(front_waiting, 0) AS waiting, kv AS kv_usage, rate_in AS prompt_tok_s, rate_out AS gen_tok_s, hit AS \
prefix_hit
FROM staged WHERE kind = 'stats' ORDER BY line
"""

_CONFIG = """
WITH last_one AS (
    SELECT * FROM staged WHERE kind = 'config' QUALIFY row_number() OVER (PARTITION BY run ORDER BY line DESC) = 1
), found AS (
    SELECT run, line, key, CASE WHEN num = floor(num) THEN CAST(CAST(num AS BIGINT) AS VARCHAR) ELSE CAST(num AS VARCHAR) END AS value, num
    FROM (
        UNPIVOT (
            SELECT run, line, CAST(nullif(tp, 0) AS DOUBLE) AS tensor_parallel, CAST(nullif(dp_size, 0) AS DOUBLE) AS data_parallel,
                CAST(nullif(batch, 0) AS DOUBLE) AS slots, CAST(nullif(session, 0) AS DOUBLE) AS n_ctx_slot,
                CAST(nullif(prefill, 0) AS DOUBLE) AS max_prefill_tokens, CAST(policy AS DOUBLE) AS kv_quant_policy,
                entries AS cache_max_entry_count
            FROM last_one
        ) ON tensor_parallel, data_parallel, slots, n_ctx_slot, max_prefill_tokens, kv_quant_policy, cache_max_entry_count
            INTO NAME key VALUE num
    )
    UNION ALL SELECT run, line, key, word, NULL FROM (
        UNPIVOT (
            SELECT run, line, lower(eager) AS eager, lower(prefix) AS prefix_caching,
                CASE WHEN batch > 0 THEN 'max_batch_size' END AS slots_source,
                CASE WHEN tp > 1 THEN 'tensor' WHEN tp = 1 AND dp_size > 1 THEN 'data' WHEN tp = 1 AND dp_size = 1 THEN 'none' END AS split
            FROM last_one
        ) ON eager, prefix_caching, slots_source, split INTO NAME key VALUE word
    )
)
SELECT line, 'lmdeploy' AS server, run, key, value, num, 'logged' AS origin FROM found ORDER BY line, key
"""

_SAMPLE_OLD = """\
2025-06-01 09:00:00,250 - lmdeploy - INFO - async_engine.py:259 - input backend=pytorch, \
backend_config=PytorchEngineConfig(dtype='auto', tp=2, \
dp=1, session_len=8192, max_batch_size=64, cache_max_entry_count=0.8, max_prefill_token_num=4096, enable_prefix_caching=True, \
eager_mode=False, quant_policy=8)
[2025-06-01 09:01:00 DP0] Avg prompt throughput: 100.5 tokens/s, Avg generation throughput: 800.0 tokens/s, Finished: 3 reqs, \
Unfinished: 70 reqs, Running: 64 reqs, Waiting: 6 reqs, GPU KV cache usage: 33.0%
"""

_SAMPLE_NEW = """\
[2026-02-01 09:00:00 DP1] Avg thr (in/out): 4000.5 / 2000.0 tokens/s, API server (completed/routed/waiting): 1 / 20 / 30, \
Engine (running/waiting): 16 / 4, KV cache: 25.0%,
[2026-03-01 09:00:00 Engine 002] Avg thr (in/out): 10.0 / 20.0 tokens/s, Server (succeeded/failed/routed/waiting): 9 / 8 / 7 / 6, \
Engine (running/waiting): 5 / 2, KV cache: 50.0%, Prefix cache hit rate: 12.5%,
"""

PARSER = LineFormat(
    name="lmdeploy-server",
    server="lmdeploy",
    stamps=(
        Stamp(rf"^\[({_TIME}) (?:DP|Engine )\d+\] ", parse="iso", clock="local-no-zone", resolution_s=1.0, search=True),
        Stamp(rf"^({_TIME},\d+) - ", parse="iso", clock="local-no-zone", resolution_s=1e-3),
    ),
    lines=_LINES,
    assemble={"server_samples": _SAMPLES, "server_config": _CONFIG},
    samples=(
        Sample(
            text=_SAMPLE_OLD,
            versions="0.9.2 to 0.12",
            rows={
                "server_samples": [
                    {
                        "time": 1748768460.0,
                        "engine": 0,
                        "rank": "DP0",
                        "running": 64,
                        "waiting": 6,
                        "kv_usage": 0.33,
                        "prompt_tok_s": 100.5,
                        "gen_tok_s": 800,
                    }
                ],
                "server_config": [
                    {"key": "cache_max_entry_count", "num": 0.8, "value": "0.8"},
                    {"key": "data_parallel", "num": 1},
                    {"key": "eager", "value": "false"},
                    {"key": "kv_quant_policy", "num": 8},
                    {"key": "max_prefill_tokens", "num": 4096},
                    {"key": "n_ctx_slot", "num": 8192},
                    {"key": "prefix_caching", "value": "true"},
                    {"key": "slots", "num": 64, "value": "64"},
                    {"key": "slots_source", "value": "max_batch_size"},
                    {"key": "split", "value": "tensor"},
                    {"key": "tensor_parallel", "num": 2},
                ],
            },
        ),
        Sample(
            text=_SAMPLE_NEW,
            versions="0.12 and later",
            rows={
                "server_samples": [
                    {"engine": 1, "running": 16, "waiting": 34, "kv_usage": 0.25, "prompt_tok_s": 4000.5, "gen_tok_s": 2000},
                    {"engine": 2, "running": 5, "waiting": 8, "kv_usage": 0.5, "prefix_hit": 0.125, "gen_tok_s": 20},
                ]
            },
        ),
    ),
)
