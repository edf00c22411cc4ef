"""`config.json` of a model in the Hugging Face layout: the shape of the model, and what one token costs in the KV cache.

**Reads** the file as it lies beside the weights (`config.json` of a snapshot folder). Models that also see or hear keep the shape of their
language model in `text_config` (`llm_config`, `language_config`, `thinker_config`): then that part is read.

**`models`**, one row:

| keys | column |
|---|---|
| `model_type`, else the first of `architectures` | `arch` |
| `num_hidden_layers` (`num_layers`, `n_layer`, `n_layers`); `hidden_size` (`n_embd`, `d_model`) | `layers`; `hidden` |
| `num_key_value_heads` (`num_kv_heads`); Llama without one has as many as heads | `kv_heads` |
| `head_dim`, else width over heads for families that define it so | `head_dim` |
| `num_experts`, `n_routed_experts`, `num_local_experts`; 0 for families known to have none | `experts` |
| `num_experts_per_tok`, `num_experts_per_token`, `top_k_experts` | `experts_per_token` |
| `vocab_size`; `tie_word_embeddings` | `vocab`; `tied_embedding` |
| `quantization_config.quant_method` (modelopt: `quant_algo`), without one `torch_dtype` or `dtype` | `quantisation` |

`kv_bytes_per_token` is for a cache of 16 bit: 2 x layers x KV heads x head dimension elements, or with a latent cache (`kv_lora_rank`, MLA)
layers x (`kv_lora_rank` + `qk_rope_head_dim`); halve it for a cache of 8 bit. Layers of linear attention hold no cache that grows and are
left out where `layer_types` names them. Layouts where the cache of a token depends on more (sliding windows, layers that share a cache,
state space layers, unknown keys that hint at such) give NULL and a `kv-irregular` note. The keys of a sparse indexer are not counted.

`params_total_b` is counted from the shape for `llama`, `mistral`, `qwen2`, `qwen3`, `mixtral`, `qwen3_moe`, `deepseek_v3` and `kimi_k2` when
every key of the count is there, without heads for multi-token prediction; `params_active_b` for those with experts, without the input
embedding, of which one token reads one row. NULL for all others.

**Traps.** `name` is NULL: the file does not say under which name the model is served. A key that is missing has the default of a library
version: it is unknown here. `head_dim` is not always width over heads. The draft heads of EAGLE and the like are `section` 1. The server may
have quantised the weights or the cache itself while loading; its own log says so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from ..engine.json_objects import Json, JsonLines, json_keys, json_objects, nested
from ..engine.parser import Claim, Counts, Emit, Head, Readable, Refusal, Sample
from ..engine.send import Row, send_note, send_rows

__all__ = ["PARSER"]

_INNER = (("text_config",), ("llm_config",), ("language_config",), ("thinker_config", "text_config"))
_LAYERS = ("num_hidden_layers", "num_layers", "n_layer", "n_layers")
_HIDDEN = ("hidden_size", "n_embd", "d_model")
_EXPERTS = ("num_experts", "n_routed_experts", "num_local_experts")
_ACTIVE = ("num_experts_per_tok", "num_experts_per_token", "top_k_experts")
_EVEN_HEADS = frozenset(
    ("llama", "mistral", "mixtral", "qwen2", "qwen2_moe", "qwen2_vl", "qwen2_5_vl", "phi3")
)  # width over heads by definition
_DENSE = frozenset(("llama", "mistral", "qwen2", "qwen3"))
_MOE = frozenset(("mixtral", "qwen3_moe"))
_LATENT = frozenset(("deepseek_v3", "kimi_k2"))
_METHODS = frozenset(
    [
        "fp8",
        "fbgemm_fp8",
        "mxfp4",
        "nvfp4",
        "awq",
        "gptq",
        "gptq_marlin",
        "compressed-tensors",
        "modelopt",
        "modelopt_fp4",
        "bitsandbytes",
        "aqlm",
        "hqq",
        "quanto",
        "torchao",
        "eetq",
        "quark",
        "auto-round",
        "exl2",
        "exl3",
        "w4a8_awq",
        "w4a16_awq",
        "bfloat16",
        "float16",
        "float32",
    ]
)
# Keys of layouts in which layers differ in what they keep per token; a layout nobody here has seen is better unknown than wrong.
_IRREGULAR = re.compile(
    r"sliding|window|hybrid|linear_|ssm|mamba|conv_|_conv|recurr|state|compress|block_config|global_|kv_share|shared?_kv|cross_attention|"
    r"attn_layer|layers_block_type|attention_interval|_pattern|rwkv|k_eq_v|multi_query|attention_chunk|cla_share|swa_|attn_type|encoder_decoder"
)
_HARMLESS = frozenset(("max_window_layers", "use_sliding_window", "sliding_window"))  # judged by _windowed


def _whole(config: Json, *keys: str) -> int | None:
    """The first of some keys that holds a count."""
    found = (config.get(k) for k in keys)
    return next((v for v in found if isinstance(v, int) and not isinstance(v, bool) and 0 < v < 10_000_000), None)


def _shape(doc: Json) -> tuple[Json, bool]:
    """The part that holds the shape of the language model, and whether it lies inside a larger model."""
    for path in _INNER:
        inner = nested(doc, *path)
        if _whole(inner, *_LAYERS) or _whole(inner, *_HIDDEN):
            return inner, True
    return doc, False


def _is_config(doc: Json) -> bool:
    """An architecture, a depth and a width."""
    shape, _ = _shape(doc)
    named = isinstance(doc.get("model_type"), str) or isinstance(doc.get("architectures"), list)
    return bool(named and _whole(shape, *_LAYERS) and _whole(shape, *_HIDDEN))


def _arch(doc: Json) -> str | None:
    """One word, or nothing."""
    classes = doc.get("architectures")
    for word in (doc.get("model_type"), *(classes[:1] if isinstance(classes, list) else ())):
        if isinstance(word, str) and re.fullmatch(r"[A-Za-z][A-Za-z0-9_.-]{1,39}", word):
            return word
    return None


def _quantisation(doc: Json, shape: Json) -> str | None:
    """Words that are known only: the rest of such a file is free text."""
    held = nested(doc, "quantization_config") or nested(shape, "quantization_config")
    if not held and (doc.get("quantization_config") or shape.get("quantization_config")):
        return None
    words = (
        (held.get("quant_algo"), held.get("quant_method")) if held else (x.get(k) for x in (shape, doc) for k in ("torch_dtype", "dtype"))
    )
    return next((w.lower() for w in words if isinstance(w, str) and w.lower() in _METHODS), None)


def _windowed(shape: Json) -> bool:
    """Some layers forget: a window shorter than the longest sequence is in use."""
    window, longest = _whole(shape, "sliding_window"), _whole(shape, "max_position_embeddings")
    return window is not None and shape.get("use_sliding_window") is not False and (longest is None or window < longest)


def _growing(shape: Json, layers: int) -> int | None:
    """Layers whose cache grows with every token; None where that is not one number."""
    kinds = shape.get("layer_types")
    if isinstance(kinds, list) and len(kinds) == layers and set(map(str, kinds)) <= {"full_attention", "linear_attention"}:
        known = re.compile(r"linear_|attention_interval|conv_|_conv") if "linear_attention" in kinds else re.compile(r"attention_interval")
        if any(v and _IRREGULAR.search(k) and k not in _HARMLESS and not known.search(k) for k, v in shape.items()):
            return None
        return kinds.count("full_attention") or None
    if kinds or _windowed(shape) or any(v and _IRREGULAR.search(k) and k not in _HARMLESS for k, v in shape.items()):
        return None
    return layers


def _kv_bytes(row: Row, shape: Json) -> float | None:
    """Bytes per token of all layers at 16 bit."""
    growing = _growing(shape, row["layers"])
    if growing is None:
        return None
    latent, rope = _whole(shape, "kv_lora_rank"), _whole(shape, "qk_rope_head_dim")
    if "kv_lora_rank" in shape:
        return 2.0 * growing * (latent + rope) if latent and rope else None
    if not row["kv_heads"] or not row["head_dim"] or shape.get("v_head_dim") not in (None, row["head_dim"]):
        return None
    return 2.0 * 2 * growing * row["kv_heads"] * row["head_dim"]


def _experts(shape: Json, kind: str | None) -> tuple[int | None, int | None]:
    experts = _whole(shape, *_EXPERTS)
    if experts is None and kind in _DENSE and not any("expert" in k for k in shape):
        return 0, None
    return experts, _whole(shape, *_ACTIVE) if experts else None


def _parameters(shape: Json, kind: str | None, row: Row) -> tuple[float | None, float | None]:
    """All parameters and those of one token in 1e9, from the shape alone; None where a key of the count is missing."""
    vocab, heads, tied = _whole(shape, "vocab_size"), _whole(shape, "num_attention_heads"), shape.get("tie_word_embeddings")
    experts, active, width, depth = row["experts"], row["experts_per_token"], row["hidden"], row["layers"]
    if not vocab or not heads or not isinstance(tied, bool) or shape.get("mlp_bias") or (shape.get("attention_bias") and kind != "qwen2"):
        return None, None
    attention = _latent_attention(shape, width, heads) if kind in _LATENT else _attention(shape, kind, row, heads)
    mlp = _mlp(shape, kind, width, depth, experts, active)
    if attention is None or mlp is None:
        return None, None
    embedding = vocab * width
    total = embedding * (1 if tied else 2) + depth * (attention + 2 * width) + width + mlp[0]
    spared = mlp[1] + (0 if tied else embedding)
    return total / 1e9, (total - spared) / 1e9 if experts else None


def _attention(shape: Json, kind: str | None, row: Row, heads: int) -> int | None:
    kv, dim, width = row["kv_heads"], row["head_dim"], row["hidden"]
    if kind not in _DENSE | _MOE or not kv or not dim:
        return None
    extra = (heads + 2 * kv) * dim if kind == "qwen2" else 2 * dim if kind in ("qwen3", "qwen3_moe") else 0
    return int(2 * width * heads * dim + 2 * width * kv * dim + extra)


def _latent_attention(shape: Json, width: int, heads: int) -> int | None:
    sizes = [_whole(shape, k) for k in ("kv_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim", "q_lora_rank")]
    if not all(sizes):
        return None
    latent, rope, nope, value, q = (int(s or 0) for s in sizes)
    query = width * q + q + q * heads * (nope + rope)
    return query + width * (latent + rope) + latent + latent * heads * (nope + value) + heads * value * width


def _mlp(shape: Json, kind: str | None, width: int, depth: int, experts: int | None, active: int | None) -> tuple[int, int] | None:
    """Parameters of all feed-forward parts, and how many of them one token leaves out."""
    inner, wide = _whole(shape, "moe_intermediate_size"), _whole(shape, "intermediate_size")
    if kind in _DENSE:
        return (depth * 3 * width * wide, 0) if wide and experts == 0 else None
    if not experts or not active or active > experts:
        return None
    if kind == "mixtral":
        dense, shared, inner = 0, 0, wide
    elif kind == "qwen3_moe" and shape.get("decoder_sparse_step") == 1 and shape.get("mlp_only_layers") == []:
        dense, shared = 0, 0
    elif kind in _LATENT and shape.get("moe_layer_freq") == 1 and "n_shared_experts" in shape and _whole(shape, "first_k_dense_replace"):
        dense, shared = int(shape["first_k_dense_replace"]), _whole(shape, "n_shared_experts") or 0
    else:
        return None
    if not inner or not wide or dense > depth:
        return None
    biased = experts if kind in _LATENT else 0  # the correction term of the router
    one, sparse = 3 * width * inner, depth - dense
    total = dense * 3 * width * wide + sparse * ((experts + shared) * one + experts * width + biased)
    return total, sparse * (experts - active) * one


def _model(doc: Json, line: int) -> Row:
    """The row of `models`."""
    shape, inside = _shape(doc)
    kind = shape.get("model_type") if isinstance(shape.get("model_type"), str) else None
    family = kind.removesuffix("_text") if kind else None
    heads, classes = _whole(shape, "num_attention_heads", "n_head"), repr(doc.get("architectures"))
    row: Row = {"line": line, "arch": _arch(doc), "layers": _whole(shape, *_LAYERS), "hidden": _whole(shape, *_HIDDEN)}
    row["section"] = 1 if re.search(r"(?i)eagle|medusa|mtp|draft|speculator", classes + str(kind)) else 0
    row["kv_heads"] = _whole(shape, "num_key_value_heads", "num_kv_heads")
    if row["kv_heads"] is None and kind == "llama" and not inside and shape.get("num_key_value_heads") is None:
        row["kv_heads"] = heads
    row["head_dim"] = _whole(shape, "head_dim")
    if row["head_dim"] is None and family in _EVEN_HEADS and heads and shape.get("head_dim") is None and row["hidden"] % heads == 0:
        row["head_dim"] = row["hidden"] // heads
    row["experts"], row["experts_per_token"] = _experts(shape, kind)
    row["kv_bytes_per_token"] = _kv_bytes(row, shape)
    row["quantisation"] = _quantisation(doc, shape)
    row["vocab"] = _whole(shape, "vocab_size")
    tied = {held for part in (doc, shape) if isinstance(held := part.get("tie_word_embeddings"), bool)}
    row["tied_embedding"] = tied.pop() if len(tied) == 1 else None
    if not inside and not row["section"]:
        row["params_total_b"], row["params_active_b"] = _parameters(shape, kind, row)
    return row


class HfConfig:
    """`config.json` of a model; see the module's page."""

    name = "hf-config"
    api = 1

    @property
    def samples(self) -> Sequence[Sample]:
        return SAMPLES

    def claims(self, head: Head) -> Claim | Refusal | None:
        """One JSON object that names an architecture, a depth and a width at its top or in the part of the language model."""
        keys = json_keys(head.text)
        if not keys & {"model_type", "architectures"} or not keys & set(_LAYERS) or not keys & set(_HIDDEN):
            return None
        try:
            doc = json.loads(head.text) if head.complete else None
        except (ValueError, RecursionError):
            doc = None
        if doc is None:
            return Refusal(50, "a config.json of a model that is cut or garbled")
        if isinstance(doc, dict) and _is_config(doc):
            return Claim(85, "config.json of a model")
        return None

    def parse(self, source: Readable, emit: Emit) -> Counts:
        """One row of `models` and one of `clocks`. A cut or garbled object is a near miss."""
        lines = JsonLines(source)
        rows: list[Row] = []
        for first, last, doc in json_objects(lines):
            if doc is None:
                lines.near(first, "a model config that is cut or garbled")
            elif _is_config(doc):
                lines.add(first, last, "matched")
                rows.append(_model(doc, first))
        if rows:
            send_rows(emit, "models", rows)
            send_rows(emit, "clocks", [{"line": rows[0]["line"], "kind": "none"}])
            odd = [r["line"] for r in rows if r["kv_bytes_per_token"] is None]
            if odd:
                send_note(emit, odd[0], "kv-irregular", len(odd), "What one token keeps in the KV cache does not follow from this config.")
        return lines.close()


def _sample(config: Mapping[str, object], row: Mapping[str, object], versions: str) -> Sample:
    return Sample(json.dumps(config, indent=2) + "\n", {"models": [row], "clocks": [{"kind": "none"}]}, versions, name="config.json")


SAMPLES: tuple[Sample, ...] = (
    _sample(
        {
            "architectures": ["LlamaForCausalLM"],
            "hidden_size": 1024,
            "intermediate_size": 4096,
            "mlp_bias": False,
            "model_type": "llama",
            "num_attention_heads": 16,
            "num_hidden_layers": 10,
            "num_key_value_heads": 4,
            "tie_word_embeddings": False,
            "torch_dtype": "bfloat16",
            "vocab_size": 50000,
        },
        {
            "arch": "llama",
            "layers": 10.0,
            "hidden": 1024.0,
            "vocab": 50000.0,
            "tied_embedding": False,
            "kv_heads": 4.0,
            "head_dim": 64.0,
            "experts": 0.0,
            "kv_bytes_per_token": 10240.0,
            "params_total_b": 0.254465024,
            "quantisation": "bfloat16",
        },
        "a dense model, transformers 4",
    ),
    _sample(
        {
            "architectures": ["DeepseekV3ForCausalLM"],
            "model_type": "deepseek_v3",
            "num_hidden_layers": 12,
            "hidden_size": 2048,
            "kv_lora_rank": 512,
            "qk_rope_head_dim": 64,
            "num_attention_heads": 16,
            "num_key_value_heads": 16,
            "n_routed_experts": 64,
            "num_experts_per_tok": 6,
            "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
        },
        {
            "arch": "deepseek_v3",
            "experts": 64.0,
            "experts_per_token": 6.0,
            "head_dim": None,
            "kv_bytes_per_token": 13824.0,
            "quantisation": "fp8",
        },
        "latent attention",
    ),
    _sample(
        {
            "architectures": ["Qwen3_5MoeForConditionalGeneration"],
            "model_type": "qwen3_5_moe",
            "text_config": {
                "dtype": "bfloat16",
                "full_attention_interval": 4,
                "head_dim": 256,
                "hidden_size": 2048,
                "layer_types": ["linear_attention"] * 3 + ["full_attention"],
                "linear_conv_kernel_dim": 4,
                "model_type": "qwen3_5_moe_text",
                "num_attention_heads": 16,
                "num_experts": 256,
                "num_experts_per_tok": 8,
                "num_hidden_layers": 4,
                "num_key_value_heads": 2,
            },
            "vision_config": {"hidden_size": 1152, "num_hidden_layers": 27},
        },
        {
            "arch": "qwen3_5_moe",
            "layers": 4.0,
            "hidden": 2048.0,
            "kv_heads": 2.0,
            "head_dim": 256.0,
            "experts": 256.0,
            "kv_bytes_per_token": 2048.0,
            "quantisation": "bfloat16",
        },
        "text_config, transformers 5, one layer in four keeps a cache",
    ),
)

PARSER = HfConfig()
