"""Planted secrets in contents and file names of every family appear in no output, the database included."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner
from gpuverdict.engine.cli import main

ROOT = Path(__file__).parent.parent
CANARIES = {
    "mail": "canary.person@quetzal-corp.example",
    "path user": "canaryuser",
    "token": "sk-canary0123456789abcdefABCDEF",
    "hf token": "hf_canaryQwErTyUiOpAsDfGhJkLz",
    "address": "203.0.113.77",
    "address 6": "2001:db8:dead:beef::77",
    "uuid": "c0ffee00-1234-4567-89ab-canary000001".replace("canary", "cafe00"),
    "host": "canaryhost17",
    "prompt": "the canary sings at midnight",
    "model": "canary-private-model",
    "process": "canaryproc",
}


def plant(folder: Path) -> None:
    """One file of each family, with every canary somewhere a real file would have it."""
    c = CANARIES
    (folder / f"server-{c['host']}.log").write_text(
        f"2026-02-14T22:56:10.000000Z {c['host']} llama-server[1]: 0.00.041.000 I srv    load_model: loading model '/home/{c['path user']}/models/{c['model']}.gguf'\n"
        "0.00.052.000 I srv    load_model: initializing, n_slots = 4, n_ctx_slot = 16384, kv_unified = 'true'\n"
        f"0.10.000.000 I srv  log_server_r: done request: POST /v1/chat/completions {c['address']} 200\n"
        f"0.10.100.000 I srv    operator(): chat format: peg-native {c['mail']} {c['prompt']}\n"
        "0.21.300.000 I slot launch_slot_: id  0 | task 0 | processing task, is_child = 0\n"
        "0.43.924.951 I slot print_timing: id  0 | task 0 | prompt eval time =      610.00 ms /    62 tokens (    9.84 ms per token,   101.64 tokens per second)\n"
        "0.43.924.951 I slot print_timing: id  0 | task 0 |        eval time =    22014.95 ms /   538 tokens (   40.92 ms per token,    24.44 tokens per second)\n"
        "0.43.925.051 I slot      release: id  0 | task 0 | stop processing: n_tokens = 599, truncated = 0\n"
        f"{c['prompt']} {c['token']} {c['hf token']} {c['address 6']}\n"
    )
    (folder / "smi.csv").write_text(
        "timestamp, index, uuid, name, utilization.gpu [%], power.draw [W]\n"
        + "".join(f"2026/09/06 14:00:{s:02d}.000, 0, GPU-{c['uuid']}, NVIDIA A100-SXM4-80GB, 33 %, 150.00 W\n" for s in range(20))
    )
    (folder / "vllm.log").write_text(
        f"INFO 09-06 14:00:00 [api_server.py:10] non-default args: {{'model': '/home/{c['path user']}/{c['model']}', 'max_num_seqs': 8, 'api_key': ['{c['token']}']}}\n"
        f"INFO 09-06 14:00:01 [logger.py:39] Received request cmpl-{c['uuid']}: prompt: '{c['prompt']} {c['mail']}', params: SamplingParams(n=1)\n"
        "INFO 09-06 14:00:10 [loggers.py:127] Engine 000: Avg prompt throughput: 10.0 tokens/s, Avg generation throughput: 25.0 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 3.0%, Prefix cache hit rate: 0.0%\n"
        f'INFO:     {c["address"]}:51658 - "POST /v1/completions HTTP/1.1" 200 OK\n'
    )
    (folder / "apps.csv").write_text(
        "timestamp, gpu_name, gpu_bus_id, gpu_serial, gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n"
        f"2026/09/06 14:00:00.000, NVIDIA A100-SXM4-80GB, 00000000:01:00.0, 1320000000001, GPU-{c['uuid']}, 4242, /home/{c['path user']}/bin/{c['process']}, 1000 MiB\n"
    )
    (folder / "sweep.md").write_text(
        f"## {c['model']} on {c['host']} for {c['mail']}\n\n| streams | per-stream tok/s | aggregate tok/s | wall s |\n|---|---|---|---|\n| 1 | 25.35 | 22.93 | 8.4 |\n| 4 | 13.37 | 49.14 | 15.6 |\n"
        f"\n## {c['prompt']}\n\n| streams | per-stream tok/s | aggregate tok/s | wall s |\n|---|---|---|---|\n| 1 | 20.35 | 20.93 | 9.4 |\n| 4 | 12.37 | 44.14 | 16.6 |\n"
    )
    names = [f"resp_{c['mail']}.json", f"resp-{c['address']}.json", f"{c['uuid']}.json", f"{c['token']}.json"]
    for number, name in enumerate(names):
        body = {"id": f"chatcmpl-{c['uuid']}", "created": 1_788_700_000 + number, "model": c["model"], "object": "chat.completion",
                "choices": [{"message": {"role": "assistant", "content": c["prompt"]}}], "usage": {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}}  # fmt: skip
        (folder / name).write_text(json.dumps(body))
    (folder / f"{c['host']}-{c['path user']}.unknown").write_text(f"{c['prompt']} {c['mail']}\n")
    (folder / "gpuverdict.toml").write_text(
        f'split = "layer"\n[model]\nname = "{c["model"]}"\n[host]\n"smi.csv" = "{c["host"]}"\n[during]\n"smi.csv" = "c=1"\n'
    )


def leaks(text: str) -> list[str]:
    low = text.lower()
    return [name for name, secret in CANARIES.items() if secret.lower() in low]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("bundle") / CANARIES["path user"]
    folder.mkdir()
    plant(folder)
    out = tmp_path_factory.mktemp("out") / "report"
    result = CliRunner().invoke(main, ["analyze", str(folder), "--out", str(out)])
    assert result.exit_code == 0, result.output
    return out, result.stdout.replace(str(out), "")


def test_the_files_are_really_read(outputs: tuple[Path, str]) -> None:
    result = json.loads((outputs[0] / "findings.json").read_text())
    tables = {t for s in result["sources"] for t in s["rows"]}
    assert {"requests", "gpu_samples", "bench_steps", "server_config"} <= tables


@pytest.mark.parametrize("name", ["report.md", "report.html", "findings.json"])
def test_no_canary_in_a_file(outputs: tuple[Path, str], name: str) -> None:
    assert leaks((outputs[0] / name).read_text()) == []


def test_no_canary_in_charts_or_on_the_terminal(outputs: tuple[Path, str]) -> None:
    out, screen = outputs
    assert leaks(screen) == []
    for chart in (out / "charts").iterdir():
        assert leaks(chart.read_text()) == []


def test_no_canary_in_any_text_column_of_the_trace(outputs: tuple[Path, str], tmp_path: Path) -> None:
    trace = tmp_path / "trace.duckdb"
    shutil.copy(outputs[0] / "trace.duckdb", trace)
    con = duckdb.connect(str(trace), read_only=True)
    columns = con.execute(
        "SELECT table_schema, table_name, column_name FROM information_schema.columns WHERE data_type LIKE '%VARCHAR%'"
    ).fetchall()
    assert len(columns) > 50
    for schema, table, column in columns:
        values = con.execute(f"SELECT DISTINCT {column}::VARCHAR FROM {schema}.{table} WHERE {column} IS NOT NULL").fetchall()
        found = leaks("\n".join(v for (v,) in values))
        assert found == [], f"{schema}.{table}.{column} holds {found}"
    con.close()
    assert leaks(trace.read_bytes().decode("latin-1")) == []


def test_what_was_hidden_is_counted(outputs: tuple[Path, str]) -> None:
    hidden = json.loads((outputs[0] / "findings.json").read_text())["hidden"]
    assert hidden["path"] >= 3 and hidden["id"] >= 1
