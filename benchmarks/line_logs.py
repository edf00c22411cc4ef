"""How fast line logs are read, beside a plain `re` loop over the same file in the same run.

    python benchmarks/line_logs.py [MB]

Writes a llama-server log and a vLLM log of that size (default 200) into a temporary folder, reads each with all parsers, and prints
MB/s by the wall clock and by processor time, the ratio to the loop, and the largest memory so far. The loop tries eight patterns on
every line and keeps nothing: what somebody would write by hand. Ratios compare across machines, MB/s do not.
"""

from __future__ import annotations

import re
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from gpuverdict.engine.collect import collect
from gpuverdict.engine.parse import read
from gpuverdict.engine.plugins import load_registry

PATTERNS = [
    re.compile(p)
    for p in (
        r"slot \S+: id +(\d+) \| task (-?\d+) \| processing task",
        r"task (\d+) \| prompt eval time = +([\d.]+) ms / +(\d+) tokens",
        r"task (\d+) \| +eval time = +([\d.]+) ms / +(\d+) tokens",
        r"task (\d+) \| stop processing: n_tokens = (\d+)",
        r"n_gen = +(\d+), tg = +([\d.]+) t/s",
        r"Running: (\d+) reqs, Waiting: (\d+) reqs",
        r"generation throughput: ([\d.]+) tokens/s",
        r'"(GET|POST) (\S+) HTTP/1\.1" (\d+)',
    )
]


def _stamp(t: float) -> str:
    micros = round(t * 1e6)
    return f"{micros // 60_000_000}.{micros // 1_000_000 % 60:02d}.{micros // 1000 % 1000:03d}.{micros % 1000:03d} I "


def _llama() -> Iterator[str]:
    """One request after the other, with live lines, health checks and a few lines that nobody reads."""
    yield f"{_stamp(1)}srv    load_model: initializing, n_slots = 4, n_ctx_slot = 8192, kv_unified = 'false'\n"
    number = 0
    while True:
        number += 1
        t, who = 10.0 + 5 * number, f"id  {number % 4} | task {number * 37} |"
        lines = [
            "srv    operator(): chat format: peg-native",
            f"slot launch_slot_: {who} processing task, is_child = 0",
            f"slot   operator(): {who} new prompt, n_ctx_slot = 8192, n_keep = 0, task.n_tokens = 500",
            *(f"slot print_timing: {who} n_gen = {100 + 30 * i:6d}, tg =  40.00 t/s, tg_3s =  40.00 t/s" for i in range(6)),
            f"slot print_timing: {who} prompt eval time =    1000.00 ms /   400 tokens (    2.50 ms per token,   400.00 tokens per second)",
            f"slot print_timing: {who}        eval time =    3000.00 ms /    31 tokens (  100.00 ms per token,    10.00 tokens per second)",
            f"slot print_timing: {who}       total time =    4000.00 ms /   431 tokens",
            f"slot      release: {who} stop processing: n_tokens = 530, truncated = 0",
            *(["srv  update_slots: all slots are idle"] * 4),
            *(["srv  log_server_r: done request: GET /health 127.0.0.1 200"] * 6),
            *(["srv  some_thing: a line that no parser knows, with a few more words in it so that it is as long as others"] * 3),
        ]
        yield "".join(f"{_stamp(t + 0.2 * i)}{line}\n" for i, line in enumerate(lines))


def _vllm() -> Iterator[str]:
    """One line of statistics and two access lines every ten seconds, and what nobody reads."""
    number = 0
    while True:
        number += 1
        s = number * 10
        at = f"{6 + s // 2_419_200:02d}-{1 + s // 86400 % 28:02d} {s // 3600 % 24:02d}:{s // 60 % 60:02d}:{s % 60:02d}"
        yield (
            f"(EngineCore_0 pid=12) INFO {at} [loggers.py:123] Engine 000: Avg prompt throughput: {number % 977}.5 tokens/s, Avg generation "
            f"throughput: {number % 1999}.5 tokens/s, Running: {number % 64} reqs, Waiting: 0 reqs, GPU KV cache usage: 12.3%, Prefix cache hit "
            "rate: 4.5%\n"
        )
        yield '(APIServer pid=11) INFO:     127.0.0.1:40000 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n' * 2
        yield f"(APIServer pid=11) INFO {at} [utils.py:56] something else is said here that no parser knows, number {number}\n" * 8


def _write(path: Path, pieces: Iterator[str], size: int) -> None:
    with path.open("w", encoding="utf-8") as out:
        written = 0
        while written < size:
            written += out.write(next(pieces))


def _loop(path: Path) -> None:
    found = 0
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            found += any(pattern.search(line) for pattern in PATTERNS)


def _read(path: Path) -> None:
    (source,) = collect([str(path)]).sources
    read(source, load_registry().parsers, lambda table, frame: None)


def _speeds(run: Callable[[Path], None], path: Path) -> tuple[float, float]:
    """MB/s by the wall clock and by processor time."""
    wall, cpu = time.perf_counter(), time.process_time()
    run(path)
    size = path.stat().st_size / 1e6
    return size / (time.perf_counter() - wall), size / (time.process_time() - cpu)


def main(megabytes: int) -> None:
    """Print one line per log."""
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "warm.log"
        _write(small, _llama(), 2_000_000)
        _read(small)  # imports, compiled patterns and the order of the formats are paid once per process
        for name, pieces in (("llama-server", _llama()), ("vllm", _vllm())):
            path = Path(folder) / f"{name}.log"
            _write(path, pieces, megabytes * 1_000_000)
            (wall, cpu), (_, loop) = _speeds(_read, path), _speeds(_loop, path)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            speed = f"{wall:6.1f} MB/s wall, {cpu:6.1f} MB/s cpu, {cpu / loop:5.2f} x a re loop ({loop:.1f} MB/s cpu)"
            print(f"{name:12s} {speed}, peak {peak:.0f} MiB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
