r"""Ollama's `server.log`: the Go side of it (`ollama serve`). The llama-server lines between them are read by `llama-server`.

How to get one: `journalctl -u ollama -o short-iso-precise > ollama.log`, `docker logs -t ollama > ollama.log 2>&1`,
`~/.ollama/logs/server.log` (macOS), `%LOCALAPPDATA%\Ollama\server.log` (Windows). `OLLAMA_DEBUG` is not needed.

Versions. `2023/12/03 14:58:42 routes.go:843: ...` (up to 0.1.2x), `time=... level=INFO source=... msg="..."` (since), and the access
lines `[GIN] 2025/05/09 - 15:14:30 | 200 | 6.67s | ... | POST "/api/chat"` of all versions.

Tables
- `requests` (origin server): one row per access line of a generating endpoint (/api/generate, /api/chat, /v1 completions, responses and
  messages). finished_at: the printed time (local, without zone, whole seconds, written after the answer is out). queued_at: that minus
  the printed duration, which counts from receipt: waiting for a model to load or for a free slot is inside. latency_s: the duration.
  started_at stays unknown. resolution_s is 2 where the duration is a minute or more, because it is cut to whole seconds there.
  status: ok (2xx), cancelled (499), failed (the rest; a client that gave up shows as 500 in many versions). Of Ollama's MLX engine, which
  works on one request after the other, prompt_tokens, cached_tokens, drafted_tokens and accepted_tokens too.
- `server_config` keys: slots and slots_source (command line, load request, scheduler, forced, environment, default), n_ctx, n_ctx_slot, n_batch,
  split (layer, only where layers went to two or more cards), layers_offloaded, layers_total, flash_attn, device_model_mib,
  sched_spread, max_queue, version. Where several models were loaded with different values, slots and n_ctx_slot are intervals; the
  others are of the last load.
- `server_events`: loading (a runner started with a model), loaded (value: seconds it took), fallback, error, cancel.
- `gpus`: the cards of the "inference compute" lines and, of a log with OLLAMA_DEBUG, of "updating cuda memory data"; `models`: architecture and file type where Ollama's own engine names them.

Traps
- `OLLAMA_NUM_PARALLEL:0` means automatic in 0.1.49 to 0.9.6: 1 to 4 slots, told by the runner's command line alone. Without that line
  slots is an interval with origin default. 0.9.7 and later print 1.
- Some architectures and all embedding models are forced to one slot, whatever the variable says: without a line of the load, a variable
  of N means 1 to N slots.
- A runner that starts without a model only looks for devices: no load.
- Ollama gives whole layers to cards and knows no other split; a model that fits one card is on one card.
- From 0.30 on a request shows twice: as llama-server's slot lines and as an access line (server `llama.cpp` and `ollama`).
"""

from __future__ import annotations

from ..engine.line_format import Int, Line, LineFormat, Num, Sample, Stamp, Text, go_duration, go_seconds

_HEAD = r'^(?:level=\w+ source=\S+ msg="?|[\w.]+\.go:\d+: (?:(?:TRACE|DEBUG|INFO|WARN|ERROR) )?)$'
_SOME = r"[\d.]*[1-9][\d.]*"  # a share that is not zero
_TWO = rf"(?:[\d.]+[ ,])*?{_SOME}[ ,](?:[\d.]+[ ,])*?{_SOME}"
_PATHS = "/api/generate|/api/chat|/v1/chat/completions|/v1/completions|/v1/responses|/v1/messages"

_LINES = (
    Line(
        "gin",
        into="requests*",
        anchor="[GIN] ",
        after=r"^$",
        fields={
            "code": Int(r"\| +(\d{3}) \|"),
            "took": Text(r"\| \d{3} \| +(\d[\dhm.]*[^\s|\d]{0,4}s) \|"),
            **go_duration("took", r"\| \d{3} \| +", r" \|"),
            "method": Text(r"\| (GET|POST|HEAD|PUT|DELETE|OPTIONS|PATCH) "),
            "path": Text(rf'\| POST +"({_PATHS})(?:\?[^"]*)?"'),
        },
        need=("code", "took", "method"),
    ),
    Line(
        "settings",
        into="server_config*",
        anchor="server config",
        after=_HEAD,
        fields={
            "env_n": Int(r"[ \[]OLLAMA_NUM_PARALLEL:(\d+)[ \]]"),
            "spread": Text(r"[ \[]OLLAMA_SCHED_SPREAD:(true|false)[ \]]"),
            "max_queue": Int(r"[ \[]OLLAMA_MAX_QUEUE:(\d+)[ \]]"),
        },
        starts_run=True,
    ),
    Line(
        "version",
        into="server_config*",
        anchor="Listening on ",
        after=_HEAD,
        fields={
            "version": Text(r"\(version (\d+\.\d+\.\d+[\w.+-]*)\)"),
            "major": Int(r"\(version (\d+)\."),
            "minor": Int(r"\(version \d+\.(\d+)\."),
            "patch": Int(r"\(version \d+\.\d+\.(\d+)[\w.+-]*\)"),
        },
        starts_run=True,
    ),
    Line(
        "runner",
        into="server_config*",
        anchor=("starting llama server", "starting llama-server", "starting runner"),
        after=_HEAD,
        fields={
            "with_model": Text(r" (--model|-m) "),
            "parallel": Int(r' (?:--parallel|-np) (\d+)[ "]'),
            "ctx": Int(r' (?:--ctx-size|-c) (\d+)[ "]'),
            "batch": Int(r' (?:--batch-size|-b) (\d+)[ "]'),
            "flash": Text(r' --flash-attn (on|off|auto)[ "]'),
            "flash_flag": Text(r' (--flash-attn)(?:"| -)'),
            "mode": Text(r' (?:--split-mode|-sm) (layer|row|tensor|none)[ "]'),
            "two_cards": Text(rf" (--tensor-split|-ts) {_TWO}"),
        },
    ),
    Line(
        "commit",
        into="server_config*",
        anchor='load request="{Operation:commit ',
        after=r"^level=\w+ source=\S+ msg=$",
        fields={
            "parallel": Int(r" Parallel:(\d+) "),
            "ctx": Int(r" KvSize:(\d+) "),
            "batch": Int(r" BatchSize:(\d+) "),
            "flash": Text(r" FlashAttention:(true|false|Enabled|Disabled|Auto) "),
            "two_cards": Text(r" GPULayers:\d+\[[^\]]*Layers:[1-9][^\]]* (ID:)[^\]]*Layers:[1-9]"),
        },
        need=("parallel",),
    ),
    Line(
        "plan",
        into="server_config*",
        anchor=("offload to ", "offload library="),
        after=_HEAD,
        fields={
            "offloadable": Int(r" layers\.model=(\d+) "),
            "offloaded": Int(r" layers\.(?:offload|real)=(\d+) "),
            "two_cards": Text(rf' (layers\.split)="?\[?{_TWO}'),
        },
        need=("offloaded",),
    ),
    Line(
        "set up",
        into="server_config*",
        anchor='msg="finished setting up" ',
        after=r"^level=\w+ source=\S+ $",
        fields={"parallel": Int(r" runner\.parallel=(\d+) "), "ctx": Int(r" runner\.num_ctx=(\d+)(?: |$)")},
        need=("parallel",),
    ),
    Line(
        "offloaded",
        into="server_config*",
        anchor="offloaded ",
        after=_HEAD,
        fields={"offloaded": Int(r"offloaded (\d+)/"), "offloadable": Int(r"offloaded \d+/(\d+) layers")},
        need=("offloaded", "offloadable"),
    ),
    Line(
        "weights",
        into="server_config*",
        anchor="model weights",
        after=_HEAD,
        fields={
            "device": Text(r' (?:device|buffer)=(\w+) size="'),
            "gib": Num(r' size="([\d.]+) GiB"', scale=1024.0),
            "mib": Num(r' size="([\d.]+) MiB"'),
        },
        need=("device",),
    ),
    Line("forced", into="server_config*", anchor=("model architecture does not currently support parallel", "mllama does"), after=_HEAD),
    Line(
        "started",
        into="server_events*",
        anchor=("llama runner started in ", "llama-server started in "),
        after=_HEAD,
        fields={"seconds": Num(r"started in ([\d.]+) seconds")},
        need=("seconds",),
    ),
    Line("mlx started", into="server_events*", anchor="mlx runner is ready", after=_HEAD),
    Line("mlx starting", into="server_events*", anchor="starting mlx runner subprocess", after=_HEAD),
    Line(
        "mlx prompt",
        into="requests*",
        anchor=('msg="cache hit" total=', 'msg="cache miss" total='),
        after=r"^level=\w+ source=\w+\.go:\d+ $",
        fields={"cached_n": Int(r" cached=(\d+)(?: |$)"), "left_n": Int(r" left=(\d+)(?: |$)"), "whole_n": Int(r" total=(\d+) ")},
        need=("cached_n", "left_n", "whole_n"),
    ),
    Line(
        "mlx draft",
        into="requests*",
        anchor='msg="speculative decode stats" ',
        after=r"^level=\w+ source=\w+\.go:\d+ $",
        fields={"drafted_n": Int(r" drafted=(\d+) "), "accepted_n": Int(r" accepted=(\d+) ")},
        need=("drafted_n", "accepted_n"),
    ),
    Line(
        "mlx done",
        into="requests*",
        anchor="msg=ServeHTTP method=POST path=/v1/completions ",
        after=r"^level=\w+ source=\w+\.go:\d+ $",
        fields={"mlx": Text(r" took=(\d[\dhm.]*[^\s|\d]{0,4}s) "), **go_duration("mlx", r" took=", r" ")},
        need=("mlx",),
    ),
    Line("no-gpu", into="server_events*", anchor="no compatible GPUs were discovered", after=_HEAD),
    Line("runner-ended", into="server_events*", anchor="llama runner process has terminated", after=rf"{_HEAD[:-1]}(?:[^\"]*error=\"?)?$"),
    Line("client-gone", into="server_events*", anchor="aborting completion request due to client closing the connection", after=_HEAD),
    Line(
        "compute",
        into="gpus*",
        anchor="inference compute",
        after=_HEAD,
        fields={
            "library": Text(r" library=(\w+) "),
            "card_device": Text(r" name=((?:CUDA|ROCm|HIP|Vulkan|Metal|SYCL)\d*) "),
            "card_name": Text(r' name="([^"]{1,80})"'),
            "card_description": Text(r' description="?([^"=]{1,80}?)(?:"| \w+=)'),
            "uuid": Text(r" id=(GPU-[0-9a-fA-F]{8}-[0-9a-fA-F-]+) "),
            "bus": Text(r" pci_id=([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-9a-fA-F]) "),
            "gib": Num(r' total="([\d.]+) GiB"', scale=1024.0),
            "mib": Num(r' total="([\d.]+) MiB"'),
        },
        need=("library",),
    ),
    Line(
        "card",
        into="gpus*",
        anchor='msg="updating cuda memory data" ',
        after=r"^level=\w+ source=\S+ $",
        fields={
            "library": Text(r"(cuda)"),
            "card_name": Text(r' name="([^"]{1,80})"'),
            "uuid": Text(r" gpu=(GPU-[0-9a-fA-F]{8}-[0-9a-fA-F-]+) "),
            "gib": Num(r' now\.total="([\d.]+) GiB"', scale=1024.0),
            "mib": Num(r' now\.total="([\d.]+) MiB"'),
        },
        need=("uuid",),
    ),
    Line(
        "architecture",
        into="models*",
        anchor='" architecture=',
        after=r'^level=\w+ source=\S+ msg="$',
        fields={"arch": Text(r" architecture=(\w+) "), "quantisation": Text(r" file_type=([A-Z]\w*) ")},
        need=("arch",),
    ),
)

_NOISE = (
    "[GIN-debug] ",
    'load request="{Operation:fit ',
    'load request="{Operation:alloc ',
    'load request="{Operation:close ',
    'msg="waiting for server to become available"',
    'msg="waiting for llama runner to start responding"',
    'msg="loaded runners"',
    'msg="key not found"',
    'msg="system memory"',
    'msg="starting go runner"',
    'msg="starting ollama engine"',
    'msg="Prompt processing progress"',
    "msg=ServeHTTP method=GET ",
    'msg="peak memory" ',
    'msg="Server listening on ',
)

_REQUESTS = f"""
WITH timed AS (
    SELECT *, {go_seconds("took")} AS lasted
    FROM staged WHERE kind = 'gin' AND path IS NOT NULL
), mlx_lines AS (
    -- Ollama's MLX runner works on one request after the other: its lines up to the one that ends a request are of that request
    SELECT *, count(*) FILTER (kind = 'mlx done') OVER (PARTITION BY run ORDER BY line) - CASE kind WHEN 'mlx done' THEN 1 ELSE 0 END AS part
    FROM staged WHERE kind LIKE 'mlx %'
), mlx_parts AS (
    SELECT run, max(line) AS end_line, max({go_seconds("mlx")}) AS served, max(whole_n) AS whole_n, max(left_n) AS left_n, max(cached_n) AS cached_n,
        max(drafted_n) AS drafted_n, max(accepted_n) AS accepted_n
    FROM mlx_lines GROUP BY run, part
    HAVING count(*) FILTER (kind = 'mlx done') = 1 AND count(*) FILTER (kind = 'mlx prompt') = 1 AND count(*) FILTER (kind = 'mlx draft') <= 1
        AND max(left_n) + max(cached_n) = max(whole_n)
), mlx AS (
    -- the access line behind it, if its duration holds that of the runner and little else
    SELECT p.*, (SELECT arg_min(g.line, g.line) FROM timed g WHERE g.run = p.run AND g.line > p.end_line) AS gin_line FROM mlx_parts p
)
SELECT timed.line, 'server' AS origin, 'ollama' AS server, timed.run, CAST(timed.run AS VARCHAR) || ':line ' || CAST(timed.line AS VARCHAR) AS request,
    t - lasted AS queued_at, t AS finished_at, CASE WHEN t IS NOT NULL THEN res + CASE WHEN lasted >= 60 THEN 1 ELSE 0 END END
        AS resolution_s,
    lasted AS latency_s,
    CASE WHEN code BETWEEN 200 AND 299 THEN 'ok' WHEN code = 499 THEN 'cancelled' ELSE 'failed' END AS status,
    CAST(m.left_n AS DOUBLE) AS prompt_tokens, CAST(m.cached_n AS DOUBLE) AS cached_tokens,
    CASE WHEN m.accepted_n <= m.drafted_n THEN CAST(m.drafted_n AS DOUBLE) END AS drafted_tokens,
    CASE WHEN m.accepted_n <= m.drafted_n THEN CAST(m.accepted_n AS DOUBLE) END AS accepted_tokens
FROM timed LEFT JOIN (
    SELECT m.*, g.run AS gin_run FROM mlx m JOIN timed g ON g.run = m.run AND g.line = m.gin_line
    WHERE g.lasted BETWEEN m.served - 1 AND m.served + 5
    QUALIFY count(*) OVER (PARTITION BY m.run, m.gin_line) = 1
) m ON m.gin_run = timed.run AND m.gin_line = timed.line
WHERE lasted IS NOT NULL ORDER BY line
"""

# one load: from a runner's start with a model to the next; lines of the scheduler's plan come just before it
_LOADS = """
    marked AS (
        SELECT *, sum(CASE WHEN kind = 'runner' AND with_model IS NOT NULL THEN 1 ELSE 0 END) OVER (PARTITION BY run ORDER BY line)
            + CASE WHEN kind IN ('plan', 'forced') THEN 1 ELSE 0 END AS load
        FROM staged
    )"""

_CONFIG = f"""
WITH {_LOADS}, told AS (
    -- the scheduler's own line says `num_ctx` of one slot in some versions and of all in others
    SELECT run, line, parallel AS n, CASE WHEN kind <> 'set up' OR parallel = 1 THEN ctx END AS ctx,
        CASE kind WHEN 'runner' THEN 'command line' WHEN 'set up' THEN 'scheduler' ELSE 'load request' END AS source
    FROM marked WHERE kind IN ('commit', 'set up') OR (kind = 'runner' AND with_model IS NOT NULL)
), versions AS (
    SELECT run, max(line) AS line, arg_max(major * 1000000 + minor * 1000 + patch, line) AS v
    FROM marked WHERE kind = 'version' GROUP BY run
), env AS (
    SELECT run, max(line) AS line, arg_max(env_n, line) AS n FROM marked WHERE kind = 'settings' AND env_n IS NOT NULL GROUP BY run
), defaults AS (
    SELECT v.run, v.line, 1 AS lo, CASE WHEN e.n = 0 AND v.v BETWEEN 1049 AND 9006 THEN 4 ELSE 1 END AS hi
    FROM versions v LEFT JOIN env e USING (run) WHERE v.v > 0 AND (e.n = 0 OR v.v < 1033)
), choices AS (
    SELECT 1 AS rank, run, min(line) AS line, min(n) AS lo, max(n) AS hi, min(source) AS source, 'logged' AS origin
    FROM told WHERE n > 0 GROUP BY run
    UNION ALL SELECT 2, run, min(line), 1, 1, 'forced', 'logged' FROM marked WHERE kind = 'forced' GROUP BY run
    UNION ALL SELECT 3, run, line, 1, n, 'environment', 'logged' FROM env WHERE n > 0
    UNION ALL SELECT 4, run, line, lo, hi, 'default', 'default' FROM defaults
), slots AS (
    FROM choices QUALIFY row_number() OVER (PARTITION BY run ORDER BY rank) = 1
), per_slot AS (
    SELECT run, max(line) AS line, min(ctx // n) AS lo, max(ctx // n) AS hi FROM told WHERE n > 0 AND ctx % n = 0 GROUP BY run
), last_load AS (
    SELECT run, max(load) AS load FROM marked WHERE kind IN ('runner', 'commit', 'plan', 'offloaded', 'weights') GROUP BY run
), last_lines AS (
    SELECT m.* FROM marked m JOIN last_load l ON l.run = m.run AND l.load = m.load
), layers AS (
    SELECT run, arg_max(line, rank) AS line, arg_max(offloaded, rank) AS offloaded, arg_max(offloadable, rank) AS offloadable
    FROM (SELECT *, line + CASE kind WHEN 'offloaded' THEN 1000000000000 ELSE 0 END AS rank FROM last_lines WHERE offloaded IS NOT NULL)
    GROUP BY run
), weights AS (
    SELECT run, device, max(line) AS line, arg_max(coalesce(gib, mib), line) AS mib FROM last_lines
    WHERE kind = 'weights' AND regexp_matches(device, '^(CUDA|ROCm|HIP|Vulkan|SYCL|Metal|MTL)') GROUP BY run, device
    HAVING arg_max(coalesce(gib, mib), line) > 0
), split AS (
    SELECT run, min(line) AS line, coalesce(any_value(mode), 'layer') AS split FROM (
        SELECT run, line, mode FROM last_lines WHERE two_cards IS NOT NULL AND (kind <> 'plan' OR offloaded > 0)
        UNION ALL SELECT run, min(line), NULL FROM weights GROUP BY run HAVING count(*) > 1
    ) GROUP BY run
), numbers AS (
    SELECT run, key, max(line) AS line, arg_max(num, line) AS num FROM (
        UNPIVOT (SELECT run, line, ctx AS n_ctx, batch AS n_batch FROM last_lines WHERE kind = 'commit' OR with_model IS NOT NULL)
        ON n_ctx, n_batch INTO NAME key VALUE num
    ) GROUP BY run, key
), words AS (
    SELECT run, key, max(line) AS line, arg_max(word, line) AS word FROM (
        UNPIVOT (SELECT run, line, version, spread AS sched_spread,
            CASE WHEN flash IN ('on', 'true', 'Enabled') OR flash_flag IS NOT NULL THEN 'enabled'
                 WHEN flash IN ('off', 'false', 'Disabled') THEN 'disabled' WHEN flash IN ('auto', 'Auto') THEN 'auto' END AS flash_attn
            FROM marked WHERE kind IN ('version', 'settings') OR (run, load) IN (SELECT (run, load) FROM last_load))
        ON version, sched_spread, flash_attn INTO NAME key VALUE word
    ) GROUP BY run, key
), found AS (
    SELECT run, line, 'slots' AS key, CASE WHEN lo = hi THEN CAST(lo AS VARCHAR) END AS value, lo AS num,
        CASE WHEN hi > lo THEN hi END AS num_hi, origin FROM slots
    UNION ALL SELECT run, line, 'slots_source', source, NULL, NULL, origin FROM slots
    UNION ALL SELECT run, line, 'n_ctx_slot', CASE WHEN lo = hi THEN CAST(lo AS VARCHAR) END, lo, CASE WHEN hi > lo THEN hi END, 'logged'
        FROM per_slot
    UNION ALL SELECT run, line, key, CAST(num AS VARCHAR), num, NULL, 'logged' FROM numbers
    UNION ALL SELECT run, max(line), 'max_queue', CAST(arg_max(max_queue, line) AS VARCHAR), arg_max(max_queue, line), NULL, 'logged'
        FROM marked WHERE max_queue IS NOT NULL GROUP BY run
    UNION ALL SELECT run, line, key, word, NULL, NULL, 'logged' FROM words
    UNION ALL SELECT run, line, 'layers_offloaded', CAST(offloaded AS VARCHAR), offloaded, NULL, 'logged' FROM layers
    UNION ALL SELECT run, line, 'layers_total', CAST(offloadable AS VARCHAR), offloadable, NULL, 'logged' FROM layers
        WHERE offloadable IS NOT NULL
    UNION ALL SELECT run, line, 'split', split, NULL, NULL, 'logged' FROM split
    UNION ALL SELECT run, line, 'device_model_mib', device, mib, NULL, 'logged' FROM weights
)
SELECT line, 'ollama' AS server, run, key, value, CAST(num AS DOUBLE) AS num, CAST(num_hi AS DOUBLE) AS num_hi, origin
FROM found ORDER BY line, key, value
"""

_EVENTS = """
SELECT min(line) AS line, t AS time, 'ollama' AS server, run,
    CASE WHEN kind IN ('runner', 'mlx starting') THEN 'loading' WHEN kind IN ('started', 'mlx started') THEN 'loaded' WHEN kind = 'no-gpu' THEN 'fallback' WHEN kind = 'runner-ended' THEN 'error'
        ELSE 'cancel' END AS kind,
    seconds AS value, CASE WHEN kind IN ('no-gpu', 'runner-ended') THEN kind END AS detail
FROM staged
WHERE kind IN ('started', 'mlx starting', 'mlx started', 'no-gpu', 'runner-ended', 'client-gone') OR (kind = 'runner' AND with_model IS NOT NULL)
-- a model with a projector says twice that it has started
GROUP BY run, t, kind, seconds, CASE WHEN t IS NULL OR kind = 'client-gone' THEN line END ORDER BY 1
"""

_GPUS = """
SELECT min(line) AS line, any_value(card_device) AS device, coalesce(card_description, card_name) AS name, uuid, bus AS bus_id,
    any_value(coalesce(gib, mib)) AS memory_mib
FROM staged WHERE kind IN ('compute', 'card') AND lower(library) NOT IN ('cpu') AND coalesce(card_description, card_name, uuid, bus) IS NOT NULL
GROUP BY run, name, uuid, bus, CASE WHEN uuid IS NULL AND bus IS NULL THEN line END
-- the cards of the last start are the cards
QUALIFY run = max(run) OVER () ORDER BY 1
"""

_MODELS = """
SELECT min(line) AS line, run, 0 AS section, arch, quantisation FROM staged WHERE kind = 'architecture' GROUP BY run, arch, quantisation
ORDER BY 1
"""

_SAMPLE_2023 = """\
2023/12/20 10:00:05 llama.go:436: starting llama runner
2023/12/20 10:00:14 llama.go:492: llama runner started in 9.200880 seconds
[GIN] 2023/12/20 - 10:00:30 | 200 | 25.100000000s |       127.0.0.1 | POST     "/api/generate"
[GIN] 2023/12/20 - 10:00:31 | 200 |      50.263µs |       127.0.0.1 | GET      "/api/tags"
"""

_SAMPLE_2024 = """\
2024/07/19 18:21:38 routes.go:1096: INFO server config env="map[CUDA_VISIBLE_DEVICES: OLLAMA_MAX_QUEUE:512 OLLAMA_NUM_PARALLEL:0 \
OLLAMA_SCHED_SPREAD:false OLLAMA_TMPDIR:]"
time=2024-07-19T18:21:38.100+02:00 level=INFO source=routes.go:1143 msg="Listening on 127.0.0.1:11434 (version 0.2.7)"
time=2024-07-19T18:21:38.700+02:00 level=INFO source=types.go:105 msg="inference compute" id=GPU-00000000-1111-2222-3333-444444444444 \
library=cuda compute=8.9 driver=12.4 name="NVIDIA GeForce RTX 4090" total="23.6 GiB" available="23.2 GiB"
[GIN] 2024/07/19 - 18:22:09 | 499 |         1m22s |       127.0.0.1 | POST     "/v1/chat/completions"
"""

_SAMPLE_2025 = """\
time=2025-05-12T12:56:50.000Z level=INFO source=routes.go:1200 msg="server config" env="map[OLLAMA_MAX_QUEUE:512 OLLAMA_NUM_PARALLEL:4 \
OLLAMA_SCHED_SPREAD:true]"
time=2025-05-12T12:56:50.100Z level=INFO source=routes.go:1259 msg="Listening on [::]:11434 (version 0.6.8)"
time=2025-05-12T12:56:57.100Z level=INFO source=server.go:138 msg=offload library=cuda layers.requested=-1 layers.model=49 \
layers.offload=48 layers.split=25,23 memory.available="[22.7 GiB 22.7 GiB]"
time=2025-05-12T12:56:57.792Z level=INFO source=server.go:410 msg="starting llama server" cmd="/usr/bin/ollama runner --ollama-engine \
--model /models/blobs/sha256-00 --ctx-size 32768 --batch-size 512 --n-gpu-layers 48 --flash-attn --parallel 4 --tensor-split 25,23 \
--port 40000"
time=2025-05-12T12:57:10.000Z level=INFO source=server.go:628 msg="llama runner started in 12.21 seconds"
[GIN] 2025/05/12 - 12:57:20 | 200 |  6.674368042s |       127.0.0.1 | POST     "/api/chat"
[GIN] 2025/05/12 - 12:57:20 | 200 |  626.242118ms |       127.0.0.1 | POST     "/api/embed"
"""

_SAMPLE_OWN_ENGINE = """\
time=2026-02-21T14:14:40.000-06:00 level=INFO source=server.go:431 msg="starting runner" cmd="/usr/bin/ollama runner --port 4"
time=2026-02-21T14:14:45.842-06:00 level=INFO source=server.go:431 msg="starting runner" cmd="/usr/bin/ollama runner --ollama-engine \
--model /models/blobs/sha256-00 --port 44001"
time=2026-02-21T14:14:45.875-06:00 level=INFO source=runner.go:1284 msg=load request="{Operation:fit LoraPath:[] Parallel:2 \
BatchSize:512 FlashAttention:Enabled KvSize:8192 KvCacheType: NumThreads:4 GPULayers:[] MultiUserCache:false}"
time=2026-02-21T14:14:45.919-06:00 level=INFO source=ggml.go:136 msg="" architecture=gptoss file_type=MXFP4 name="" description="" \
num_tensors=471 num_key_values=30
time=2026-02-21T14:14:46.875-06:00 level=INFO source=runner.go:1284 msg=load request="{Operation:commit LoraPath:[] Parallel:2 \
BatchSize:512 FlashAttention:Enabled KvSize:8192 KvCacheType: NumThreads:4 GPULayers:25[ID:GPU-00000000-1111-2222-3333-444444444444 \
Layers:13(0..12) ID:GPU-00000000-1111-2222-3333-555555555555 Layers:12(13..24)] MultiUserCache:false}"
time=2026-02-21T14:14:46.900-06:00 level=INFO source=ggml.go:494 msg="offloaded 25/25 layers to GPU"
time=2026-02-21T14:14:46.901-06:00 level=INFO source=device.go:240 msg="model weights" device=CUDA0 size="6.0 GiB"
time=2026-02-21T14:14:46.902-06:00 level=INFO source=device.go:240 msg="model weights" device=CUDA1 size="5.5 GiB"
time=2026-02-21T14:14:46.903-06:00 level=INFO source=device.go:245 msg="model weights" device=CPU size="1.1 GiB"
"""

_SAMPLE_LLAMA_SERVER = """\
time=2026-09-02T16:52:00.000Z level=INFO source=types.go:32 msg="inference compute" id=0 filter_id=0 library=CUDA compute=8.6 name=CUDA0 \
description="NVIDIA GeForce RTX 3090" libdirs=ollama,cuda_v13 driver=13.0 pci_id=0000:01:00.0 type=discrete total="24.0 GiB" \
available="23.5 GiB"
time=2026-09-02T16:52:34.500Z level=WARN source=sched.go:509 msg="model architecture does not currently support parallel requests" \
architecture=qwen35
time=2026-09-02T16:52:34.600Z level=INFO source=llama_server.go:433 msg="starting llama-server" cmd="/usr/lib/ollama/llama-server \
--model /models/blobs/sha256-00 --port 44067 --host 127.0.0.1 -c 8192 -np 1 --log-verbosity 4 --flash-attn auto -b 1024 -ub 1024"
time=2026-09-02T16:52:40.600Z level=INFO source=llama_server.go:1362 msg="llama-server started in 6.00 seconds"
"""

_SAMPLE_MLX = """\
time=2026-08-01T10:00:00.000+02:00 level=INFO source=client.go:391 msg="starting mlx runner subprocess" model=a:27b-mlx port=50000
time=2026-08-01T10:00:09.000+02:00 level=INFO source=client.go:106 msg="mlx runner is ready" port=50000
time=2026-08-01T10:00:10.000+02:00 level=INFO source=prefix_cache.go:124 msg="cache miss" total=3000 matched=0 cached=0 left=3000
time=2026-08-01T10:00:16.000+02:00 level=INFO source=pipeline.go:200 msg="Prompt processing progress" processed=2048 total=3000
time=2026-08-01T10:00:30.000+02:00 level=INFO source=server.go:225 msg=ServeHTTP method=POST path=/v1/completions took=20.25s status="200 OK"
[GIN] 2026/08/01 - 10:00:30 | 200 | 20.350000000s |       127.0.0.1 | POST     "/api/chat"
time=2026-08-01T10:00:31.000+02:00 level=INFO source=server.go:225 msg=ServeHTTP method=GET path=/v1/status took=40.5\u00b5s status="200 OK"
time=2026-08-01T10:00:40.000+02:00 level=INFO source=prefix_cache.go:124 msg="cache hit" total=3100 matched=3050 cached=3050 left=50
time=2026-08-01T10:00:50.000+02:00 level=INFO source=speculate_stats.go:62 msg="speculative decode stats" iterations=30 drafted=90 accepted=60 \
acceptance=0.67
time=2026-08-01T10:00:50.100+02:00 level=INFO source=server.go:225 msg=ServeHTTP method=POST path=/v1/completions took=10.1s status="200 OK"
[GIN] 2026/08/01 - 10:00:50 | 200 | 10.200000000s |       127.0.0.1 | POST     "/v1/responses"
"""

_SAMPLE_DEBUG = """\
time=2025-08-14T08:00:00.000 level=DEBUG source=gpu.go:441 msg="updating cuda memory data" gpu=GPU-00000000-1111-2222-3333-444444444444 \
name="NVIDIA A40" overhead="0 B" before.total="44.3 GiB" before.free="40.0 GiB" now.total="44.3 GiB" now.free="43.9 GiB" now.used="400.0 MiB"
time=2025-08-14T08:00:09.000 level=DEBUG source=sched.go:495 msg="finished setting up" runner.name=registry.ollama.ai/library/a:8b \
runner.inference=cuda runner.devices=1 runner.size="6.5 GiB" runner.vram="6.5 GiB" runner.parallel=2 runner.pid=77 runner.num_ctx=8192
"""

_SAMPLE_QUOTED = """\
time=2026-09-02T16:52:40.600Z level=DEBUG source=routes.go:1 msg="completion request" prompt="[GIN] 2025/05/12 - 12:57:20 | 200 | 1s | POST"
user asked about [GIN] 2025/05/09 - 15:14:30 | 200 |  6.674368042s |       127.0.0.1 | POST     "/api/chat"
"""

PARSER = LineFormat(
    name="ollama-server",
    server="ollama",
    stamps=(
        Stamp(r"^time=(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)) ", parse="iso", clock="utc", resolution_s=0.001),
        Stamp(r"^time=(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?) ", parse="iso", clock="local-no-zone", resolution_s=0.001),
        Stamp(r"^\[GIN\] (\d{4}/\d\d/\d\d - \d\d:\d\d:\d\d) ", parse="slash", clock="local-no-zone", resolution_s=1.0, search=True),
        Stamp(r"^(\d{4}/\d\d/\d\d \d\d:\d\d:\d\d) ", parse="slash", clock="local-no-zone", resolution_s=1.0),
    ),
    lines=_LINES,
    noise=_NOISE,
    assemble={"requests": _REQUESTS, "server_config": _CONFIG, "server_events": _EVENTS, "gpus": _GPUS, "models": _MODELS},
    samples=(
        Sample(
            text=_SAMPLE_2023,
            versions="up to 0.1.2x",
            rows={
                "requests": [{"finished_at": 1703066430.0, "queued_at": 1703066404.9, "latency_s": 25.1, "status": "ok"}],
                "server_events": [{"kind": "loaded", "value": 9.20088, "time": 1703066414.0}],
            },
        ),
        Sample(
            text=_SAMPLE_2024,
            versions="0.1.33 to 0.4",
            rows={
                "requests": [{"latency_s": 82.0, "resolution_s": 2.0, "status": "cancelled", "started_at": None}],
                "gpus": [{"name": "NVIDIA GeForce RTX 4090", "memory_mib": 23.6 * 1024}],
                "server_config": [
                    {"key": "max_queue", "num": 512.0},
                    {"key": "sched_spread", "value": "false"},
                    {"key": "slots", "num": 1.0, "num_hi": 4.0, "origin": "default"},
                    {"key": "slots_source", "value": "default"},
                    {"key": "version", "value": "0.2.7"},
                ],
            },
        ),
        Sample(
            text=_SAMPLE_2025,
            versions="0.4 to 0.11",
            rows={
                "requests": [{"finished_at": 1747054640.0, "latency_s": 6.674368042, "resolution_s": 1.0, "server": "ollama"}],
                "server_events": [{"kind": "loading", "time": 1747054617.792}, {"kind": "loaded", "value": 12.21}],
                "server_config": [
                    {"key": "max_queue"},
                    {"key": "sched_spread", "value": "true"},
                    {"key": "version", "value": "0.6.8"},
                    {"key": "layers_offloaded", "num": 48.0},
                    {"key": "layers_total", "num": 49.0},
                    {"key": "split", "value": "layer", "origin": "logged"},
                    {"key": "flash_attn", "value": "enabled"},
                    {"key": "n_batch", "num": 512.0},
                    {"key": "n_ctx", "num": 32768.0},
                    {"key": "n_ctx_slot", "num": 8192.0},
                    {"key": "slots", "num": 4.0, "num_hi": None, "origin": "logged"},
                    {"key": "slots_source", "value": "command line"},
                ],
            },
        ),
        Sample(
            text=_SAMPLE_OWN_ENGINE,
            versions="0.11 to 0.29, own engine",
            rows={
                "server_events": [{"line": 2, "kind": "loading"}],
                "models": [{"arch": "gptoss", "quantisation": "MXFP4"}],
                "server_config": [
                    {"key": "flash_attn", "value": "enabled"},
                    {"key": "n_batch", "num": 512.0},
                    {"key": "n_ctx", "num": 8192.0},
                    {"key": "n_ctx_slot", "num": 4096.0},
                    {"key": "slots", "num": 2.0, "origin": "logged"},
                    {"key": "slots_source", "value": "load request"},
                    {"key": "split", "value": "layer"},
                    {"key": "layers_offloaded", "num": 25.0},
                    {"key": "layers_total", "num": 25.0},
                    {"key": "device_model_mib", "value": "CUDA0", "num": 6144.0},
                    {"key": "device_model_mib", "value": "CUDA1", "num": 5632.0},
                ],
            },
        ),
        Sample(
            text=_SAMPLE_LLAMA_SERVER,
            versions="0.30 and later",
            rows={
                "gpus": [{"device": "CUDA0", "name": "NVIDIA GeForce RTX 3090", "bus_id": "0000:01:00.0", "memory_mib": 24576.0}],
                "server_events": [{"kind": "loading"}, {"kind": "loaded", "value": 6.0}],
                "server_config": [
                    {"key": "flash_attn", "value": "auto"},
                    {"key": "n_batch", "num": 1024.0},
                    {"key": "n_ctx", "num": 8192.0},
                    {"key": "n_ctx_slot", "num": 8192.0},
                    {"key": "slots", "num": 1.0},
                    {"key": "slots_source", "value": "command line"},
                ],
            },
        ),
        Sample(
            text=_SAMPLE_MLX,
            versions="0.20 and later, MLX engine",
            rows={
                "requests": [
                    {"line": 6, "latency_s": 20.35, "prompt_tokens": 3000.0, "cached_tokens": 0.0, "drafted_tokens": None},
                    {"line": 11, "prompt_tokens": 50.0, "cached_tokens": 3050.0, "drafted_tokens": 90.0, "accepted_tokens": 60.0},
                ],
                "server_events": [{"kind": "loading"}, {"kind": "loaded", "value": None}],
            },
        ),
        Sample(
            text=_SAMPLE_DEBUG,
            versions="0.6 to 0.12, OLLAMA_DEBUG; the zone was taken out",
            rows={
                "gpus": [{"name": "NVIDIA A40", "memory_mib": 44.3 * 1024}],
                "server_config": [{"key": "slots", "num": 2.0}, {"key": "slots_source", "value": "scheduler"}],
                "clocks": [{"kind": "local-no-zone", "resolution_s": 0.001}],
            },
        ),
        Sample(text=_SAMPLE_QUOTED, versions="any: lines quoted in prompts give nothing", rows={"requests": []}),
    ),
)
