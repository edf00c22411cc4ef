"""Are the client's token times the server's?

What it finds
    Clients whose token times are not what the server did: a proxy that buffers the stream, a client that does not stream, pieces of
    several tokens counted as one.

Why it matters
    A buffering proxy turned a first token of 22 ms into 287 ms and a gap of 5.5 ms into 1.6 ms. Rates, first-token times and queues that
    are
    computed from such times are of the proxy.

How it decides
    Confirmed: the client's time per token is under 0.7 of the server's own for the same runs (five requests or more on both sides),
    or nine answers of ten come all at once (less than 0.2 ms per token, or one or two arrivals for 50 tokens and more). Many gaps
    under 2 ms only fit: several tokens per step do that too. Ruled out, for token times: at least 20 arrivals per answer, at most a
    fifth of the gaps under 2 ms, and the time per token within 0.7 to 1.4 of the server's.

Known problems
    Whether a total counts prompts, or a mean holds warm-up requests, is not seen here. Where the server's log has no rates per request
    there is nothing to compare with.
"""

from ..engine.rule import STATE, Experiment, Limit, Rival, Route, Rule

FACTS = """
WITH client AS MATERIALIZED (
    SELECT scope_id, source_id, line, output_tokens, itl_n, itl_under_2ms, 1000 * (latency_s - ttft_s) / (output_tokens - 1) AS itl_ms
    FROM main.client_requests_in_scope
    WHERE origin = 'client' AND output_tokens >= 20 AND ttft_s > 0 AND latency_s >= ttft_s AND coalesce(status, 'ok') = 'ok'
), told AS (
    SELECT
        scope_id, median(itl_ms) AS itl_ms, count(*) AS n, median(itl_n) AS arrivals, median(itl_under_2ms) AS under_2ms,
        avg((itl_ms < 0.2 OR (itl_n <= 2 AND output_tokens >= 50))::INT) AS at_once_share,
        min({'source_id': source_id, 'line': line}, 3) AS ev
    FROM client GROUP BY scope_id
), tables AS (
    SELECT
        sc.scope_id, median(coalesce(b.tpot_p50_ms, b.tpot_mean_ms)) AS itl_ms, sum(coalesce(b.completed, b.requests)) AS n,
        min({'source_id': b.source_id, 'line': b.line}, 2) AS ev
    FROM main.scopes sc
    JOIN main.bench_series bs ON bs.series_key = sc.series_key AND bs.concurrency = sc.concurrency
    JOIN main.bench_steps b ON b.source_id = bs.source_id AND b.line = bs.line AND b.concurrency = bs.concurrency
    WHERE coalesce(b.tpot_p50_ms, b.tpot_mean_ms) >= 0 GROUP BY sc.scope_id
), server AS (
    SELECT
        scope_id, median(decode_ms / decode_steps) AS itl_ms, count(*) AS n, min({'source_id': source_id, 'line': line}, 2) AS ev
    FROM main.requests_in_scope WHERE decode_ms > 0 AND decode_steps >= 20 AND scope_id > 0
        AND how IN ('given', 'matched to the step', 'alone in the server')
    GROUP BY scope_id
)
SELECT
    sc.scope_id,
    coalesce(c.itl_ms, t.itl_ms) AS client_itl_ms, coalesce(c.ev, t.ev) AS client_itl_ms_ev, coalesce(c.n, t.n) AS client_n,
    s.itl_ms AS server_itl_ms, s.ev AS server_itl_ms_ev, s.n AS server_n,
    coalesce(c.itl_ms, t.itl_ms) / s.itl_ms AS itl_ratio, list_concat(coalesce(c.ev, t.ev), s.ev) AS itl_ratio_ev,
    c.at_once_share, c.ev AS at_once_share_ev, c.n AS answers, c.arrivals, c.under_2ms, c.ev AS under_2ms_ev
FROM main.scopes sc LEFT JOIN told c USING (scope_id) LEFT JOIN tables t USING (scope_id) LEFT JOIN server s USING (scope_id)
"""

_CLIENT = "a client that records every token's arrival (vllm bench serve --save-detailed, sglang.bench_serving --output-details)"
_SERVER = "the server's log with its eval time per request"
_AT_ONCE = (
    "Answers come all at once. {at_once_share:share} of {answers:int} answers of 20 tokens and more arrive with less than 0.2 ms per "
    "token or in one piece: nothing streams to this client."
)
_ONCE = ("at_once_share >= nearly_all", "answers >= several")

RULE = Rule(
    id="measurement-artefact",
    claim=STATE,
    about="the client's token times",
    question="Are the client's token times an artefact?",
    scopes=("trace", "step", "regime"),
    facts=FACTS,
    limits={
        "too_fast": Limit(
            0.7,
            "of the server's time per token",
            "a client cannot see tokens faster than the server makes them; 0.7 leaves room for different requests",
        ),
        "too_slow": Limit(1.4, "of the server's time per token", "a network adds to the first token, hardly to the gaps"),
        "enough": Limit(5, "requests", "fewer may be of different lengths and loads"),
        "several": Limit(10, "answers", "fewer may be errors or one-word answers"),
        "nearly_all": Limit(0.9, "of the answers", "a few short answers may fit one packet"),
        "bursts": Limit(0.5, "of the gaps", "a stream of single tokens has none; two tokens per step give half"),
        "few_bursts": Limit(0.2, "of the gaps", "the gate behind which client times count"),
        "arrivals_min": Limit(20, "arrivals", "fewer pieces than that are not a stream"),
    },
    confirmed=(
        Route(
            "the client sees tokens faster than the server makes them",
            when=("itl_ratio < too_fast", "client_n >= enough", "server_n >= enough"),
            uses=("server",),
            says="The client's token times are not the server's. {client_itl_ms:ms} per token at the client ({client_n:int} requests), "
            "{server_itl_ms:ms} at the server ({server_n:int}), "
            "a ratio of {itl_ratio:}: something between them buffers.",
        ),
        Route("answers come all at once", when=_ONCE, uses=("server",), says=_AT_ONCE),
        Route("the answers of the run come all at once", when=_ONCE, uses=("bench",), says=_AT_ONCE),
        Route("the answers of this client come all at once", when=_ONCE, uses=("client",), says=_AT_ONCE),
    ),
    ruled_out=(
        Route(
            "the client's token times agree with the server's",
            when=(
                "itl_ratio >= too_fast",
                "itl_ratio <= too_slow",
                "under_2ms <= few_bursts",
                "arrivals >= arrivals_min",
                "client_n >= enough",
                "server_n >= enough",
            ),
            uses=("server",),
            says=(
                "The client's token times are the server's. {client_itl_ms:ms} and {server_itl_ms:ms} per token, {arrivals:int} "
                "arrivals per answer, {under_2ms:share} of the gaps under 2 ms."
            ),
        ),
    ),
    fits=(
        Route(
            "many tokens arrive in bursts",
            when=("under_2ms > bursts", "answers >= enough"),
            uses=("bench",),
            rivals=("several_tokens",),
            says="Tokens arrive in bursts. {under_2ms:share} of the gaps are under 2 ms in the median of {answers:int} answers.",
        ),
        Route(
            "the client's time per token is well above the server's",
            when=("itl_ratio > too_slow", "client_n >= enough", "server_n >= enough"),
            uses=("server",),
            rivals=("other_requests",),
            says=(
                "The client's time per token is above the server's. {client_itl_ms:ms} and {server_itl_ms:ms}, a ratio of "
                "{itl_ratio:}: pieces of several tokens may be counted as one."
            ),
        ),
    ),
    rivals={
        "several_tokens": Rival(
            "several tokens per step (speculative decoding), or a server that really is that fast",
            closed=("itl_ratio < too_fast",),
            settle=_SERVER + ", and the same client without the proxy in between",
        ),
        "other_requests": Rival(
            "requests of other lengths or loads on the two sides, or a slow client",
            closed=(),
            settle="the same requests on both sides, by id or by time",
        ),
    },
    collect={
        "itl_ratio": _CLIENT + "; " + _SERVER,
        "client_n": _CLIENT,
        "server_n": _SERVER,
        "at_once_share": _CLIENT,
        "answers": _CLIENT,
        "under_2ms": _CLIENT,
        "arrivals": _CLIENT,
    },
    means="Where it is confirmed, every verdict from client times is open, and the server's log decides.",
    remedy="Turn buffering off (nginx: proxy_buffering off), stream, count tokens and not pieces, and measure past the proxy once.",
    not_a_remedy="Tuning the server does not change what the proxy does to its stream.",
    next=(
        Experiment(
            "the same client against the server itself, without proxy and router",
            "vllm bench serve --base-url http://SERVER:PORT --save-result --save-detailed ...",
            "first token and gaps change: the path between them made the numbers",
            cost=1,
        ),
    ),
)
