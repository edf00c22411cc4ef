"""The JSON that `trtllm-bench ... --report_json F` writes, TensorRT-LLM 0.17 to 1.2: one report per file.

**Reads** the object with `request_info`, `performance` and, where the run streamed, `streaming_metrics`. The same report as it is printed is
read by trtllm-bench-console, whose page says what its figures mean.

**`bench_steps`**: `requests`, `mean_concurrency` (`avg_num_concurrent_requests`, the mean in flight), `wall_s`, `req_s`, lengths,
`aggregate_tok_s` (output), `total_tok_s`, `per_stream_tok_s` (decode: `token_output_speed_tok_s`; without streaming over the whole latency),
`e2e_*`, `ttft_*`, `tpot_*`, `accept_len`. `concurrency` is NULL: the report does not hold what was offered.
**`server_config`** (server tensorrt-llm): tensor_parallel, pipeline_parallel, max_batched_tokens, slots (an interval under tensor
parallelism, see there), slots_source. **`gpus`**: the name of the card, without an index.

**Traps.** `issue_rate` is no offered rate. Percentiles called `tpot_percentiles` and `ttft_percentiles` are in ms, as those of the latency.
Model paths and the name of the data set stay out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..engine.json_objects import Json, JsonLines, json_keys, json_objects, nested, num, pos
from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import Row, send_clock, send_rows
from ..engine.smi_values import product

__all__ = ["PARSER"]


def _spread(kind: str, percentiles: Json, mean: Any, stats: Sequence[str]) -> Row:
    row: Row = {f"{kind}_mean_ms": pos(mean) or pos(percentiles.get("average"))}
    return row | {f"{kind}_{stat}_ms": pos(percentiles.get(stat)) for stat in stats} if row[f"{kind}_mean_ms"] else {}


def _step(doc: Json, line: int) -> Row:
    told, performance, streaming = nested(doc, "request_info"), nested(doc, "performance"), nested(doc, "streaming_metrics")
    row: Row = {"line": line, "requests": num(told.get("num_requests")), "mean_concurrency": pos(told.get("avg_num_concurrent_requests"))}
    row |= {"input_len": pos(told.get("avg_input_length")), "output_len": pos(told.get("avg_output_length"))}
    row |= {"wall_s": pos(performance.get("total_latency_ms"), 1e-3), "req_s": pos(performance.get("request_throughput_req_s"))}
    row |= {"aggregate_tok_s": pos(performance.get("system_output_throughput_tok_s"))}
    row |= {"total_tok_s": pos(performance.get("system_total_throughput_tok_s"))}
    row["aggregate_counts"] = "output" if row["aggregate_tok_s"] else None
    speed, whole = pos(streaming.get("token_output_speed_tok_s")), pos(performance.get("output_throughput_per_user_tok_s"))
    row |= {"per_stream_tok_s": speed or whole, "per_stream_counts": "decode" if speed else "latency" if whole else None}
    latency = nested(performance, "request_latency_percentiles_ms")
    row |= _spread("e2e", latency, performance.get("avg_request_latency_ms"), ("p50", "p99"))
    ttft = _spread("ttft", nested(streaming, "ttft_percentiles"), streaming.get("avg_ttft_ms"), ("p50", "p99"))
    if ttft:
        row |= ttft | _spread("tpot", nested(streaming, "tpot_percentiles"), streaming.get("avg_tpot_ms"), ("p50",))
    accepted = pos(nested(doc, "decoding_stats", "acceptance_length_percentiles").get("average"))
    return row | {"accept_len": accepted if accepted and accepted >= 1 else None}


def _config(doc: Json, line: int) -> list[Row]:
    world = nested(doc, "world_info")
    tp, batch = pos(world.get("tp_size")), pos(world.get("max_batch_size"))
    told = {"tensor_parallel": tp, "pipeline_parallel": pos(world.get("pp_size")), "max_batched_tokens": pos(world.get("max_num_tokens"))}
    rows: list[Row] = [{"key": key, "value": f"{value:g}", "num": value} for key, value in told.items() if value]
    if batch and tp:
        rows.append({"key": "slots", "value": f"{batch:g}" if tp == 1 else None, "num": batch, "num_hi": batch * tp if tp > 1 else None})
        rows.append({"key": "slots_source", "value": "max_batch_size"})
    return [{"line": line, "server": "tensorrt-llm", "run": 0, "origin": "logged"} | row for row in rows]


class TrtllmBench:
    """Reports of trtllm-bench; see the module's page."""

    name = "trtllm-bench"
    api = 1
    inlaid = ("performance",)

    @property
    def samples(self) -> Sequence[Sample]:
        return SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        keys = json_keys(head.text)
        return Claim(92, "a report of trtllm-bench") if {"request_info", "performance", "world_info"} <= keys else None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """Rows of `bench_steps`, `server_config`, `gpus` and one of `clocks`. A cut or garbled report is a near miss."""
        lines, steps = JsonLines(source), 0
        config: list[Row] = []
        for first, last, doc in json_objects(lines):
            if doc is None:
                lines.near(first, "a report that is cut or garbled")
            elif nested(doc, "performance") and nested(doc, "request_info"):
                lines.add(first, last, "matched")
                steps += 1
                send_rows(emit, "bench_steps", [_step(doc, first) | {"step": steps}])
                config = config or _config(doc, first)
                if steps == 1 and (name := product(nested(doc, "machine").get("name"))):
                    send_rows(emit, "gpus", [{"line": first, "name": name}])
        if steps:
            send_rows(emit, "server_config", config)
            send_clock(emit, 1, "none", None, None)
        return lines.close()


SAMPLES: tuple[Sample, ...] = (
    Sample(
        '{"engine": {"model": "x/y", "model_path": "/a", "version": "1.2.0", "backend": "Pytorch"}, "machine": {"name": "NVIDIA H200",'
        ' "memory.total": 139.8, "clocks.mem": 3.2},\n "world_info": {"tp_size": 2, "pp_size": 1, "ep_size": null, "world_size": 2,'
        ' "max_batch_size": 64, "max_num_tokens": 8192, "issue_rate": 2.1e15},\n "request_info": {"num_requests": 100,'
        ' "avg_num_concurrent_requests": 7.75, "avg_input_length": 128.0, "avg_output_length": 64.0},\n "performance": {"total_latency_ms":'
        ' 20000.0, "avg_request_latency_ms": 1550.5, "request_throughput_req_s": 5.0, "system_output_throughput_tok_s": 320.0,'
        ' "system_total_throughput_tok_s": 960.0, "output_throughput_per_user_tok_s": 41.25, "output_throughput_per_gpu_tok_s": 160.0,'
        ' "request_latency_percentiles_ms": {"p50": 1500.5, "p99": 2500.5, "average": 1550.5}},\n "streaming_metrics":'
        ' {"token_output_speed_tok_s": 42.125, "avg_ttft_ms": 50.5, "avg_tpot_ms": 23.75, "tpot_percentiles": {"p50": 23.5, "average": 23.75},'
        ' "ttft_percentiles": {"p50": 45.5, "p99": 99.5}}, "dataset": {"dataset_path": "/b"}}\n',
        {
            "bench_steps": [
                {
                    "line": 1,
                    "step": 1,
                    "concurrency": None,
                    "rate_rps": None,
                    "requests": 100.0,
                    "mean_concurrency": 7.75,
                    "wall_s": 20.0,
                    "req_s": 5.0,
                    "input_len": 128.0,
                    "output_len": 64.0,
                    "aggregate_tok_s": 320.0,
                    "aggregate_counts": "output",
                    "total_tok_s": 960.0,
                    "per_stream_tok_s": 42.125,
                    "per_stream_counts": "decode",
                    "e2e_mean_ms": 1550.5,
                    "e2e_p50_ms": 1500.5,
                    "e2e_p99_ms": 2500.5,
                    "ttft_mean_ms": 50.5,
                    "ttft_p50_ms": 45.5,
                    "ttft_p99_ms": 99.5,
                    "tpot_mean_ms": 23.75,
                    "tpot_p50_ms": 23.5,
                }
            ],
            "server_config": [
                {"key": "tensor_parallel", "num": 2.0, "server": "tensorrt-llm"},
                {"key": "pipeline_parallel", "num": 1.0},
                {"key": "max_batched_tokens", "num": 8192.0},
                {"key": "slots", "num": 64.0, "num_hi": 128.0},
                {"key": "slots_source", "value": "max_batch_size"},
            ],
            "gpus": [{"name": "NVIDIA H200", "gpu": None}],
        },
        "1.0 to 1.2, streaming",
        name="report.json",
    ),
    Sample(
        '{"engine": {"model": "x"}, "world_info": {"tp_size": 1, "pp_size": 1, "max_batch_size": 4}, "request_info": {"num_requests": 10},'
        ' "performance": {"total_latency_ms": 2000.0, "request_throughput_req_s": 5.0, "output_throughput_per_user_tok_s": 9.5}}',
        {
            "bench_steps": [
                {
                    "requests": 10.0,
                    "wall_s": 2.0,
                    "per_stream_tok_s": 9.5,
                    "per_stream_counts": "latency",
                    "ttft_mean_ms": None,
                    "aggregate_counts": None,
                }
            ],
            "gpus": [],
        },
        "0.17 and later, not streamed",
        name="report.json",
    ),
)

PARSER = TrtllmBench()
