"""config.json: shapes of real models, caches that are no single number, nesting, damage."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest
from gpuverdict.engine.parser import Refusal
from gpuverdict.engine.source import Source
from gpuverdict.engine.testing import check_samples
from gpuverdict.parsers.hf_config import PARSER
from open_ended import document_tests, read

LLAMA = json.loads(PARSER.samples[0].text)
LATENT = json.loads(PARSER.samples[1].text)
NESTED = json.loads(PARSER.samples[2].text)

facts = partial(read, PARSER)


def model(config: dict[str, Any]) -> dict[str, Any]:
    return facts(json.dumps(config))[0]["models"][0]


def shape(kind: str, depth: int, width: int, heads: int, vocab: int, **more: Any) -> dict[str, Any]:
    return {
        "model_type": kind,
        "num_hidden_layers": depth,
        "hidden_size": width,
        "num_attention_heads": heads,
        "vocab_size": vocab,
        "tie_word_embeddings": False,
        **more,
    }


def test_samples() -> None:
    check_samples(PARSER)


test_samples_are_claimed_and_blocks_do_not_matter, test_a_cut_invents_nothing, test_a_garbled_byte_raises_nothing = document_tests(PARSER)

DEEPSEEK = shape(
    "deepseek_v3", 61, 7168, 128, 129280, num_key_value_heads=128, intermediate_size=18432, moe_intermediate_size=2048,
    n_routed_experts=256, num_experts_per_tok=8, n_shared_experts=1, first_k_dense_replace=3, moe_layer_freq=1, q_lora_rank=1536,
    kv_lora_rank=512, qk_rope_head_dim=64, qk_nope_head_dim=128, v_head_dim=128,
)  # fmt: skip
QWEN_MOE = shape(
    "qwen3_moe", 48, 2048, 32, 151936, num_key_value_heads=4, head_dim=128, intermediate_size=6144, moe_intermediate_size=768,
    num_experts=128, num_experts_per_tok=8, decoder_sparse_step=1, mlp_only_layers=[], sliding_window=None, use_sliding_window=False,
)  # fmt: skip


@pytest.mark.parametrize(
    ("config", "total", "active", "elements"),
    [
        (shape("llama", 32, 4096, 32, 128256, num_key_value_heads=8, intermediate_size=14336), 8.03, None, 65_536),
        (shape("qwen2", 64, 5120, 40, 152064, num_key_value_heads=8, intermediate_size=27648), 32.76, None, 131_072),
        (shape("qwen3", 64, 5120, 64, 151936, num_key_value_heads=8, head_dim=128, intermediate_size=25600), 32.76, None, 131_072),
        (
            shape(
                "mixtral", 32, 4096, 32, 32000, num_key_value_heads=8, intermediate_size=14336, num_local_experts=8, num_experts_per_tok=2
            ),
            46.7,
            12.75,
            65_536,
        ),
        (QWEN_MOE, 30.53, 3.04, 49_152),
        (DEEPSEEK, 671.0, 36.6, 35_136),
    ],
)
def test_the_counts_of_known_models(config: dict[str, Any], total: float, active: float | None, elements: int) -> None:
    row = model(config)
    assert row["params_total_b"] == pytest.approx(total, rel=1e-3)
    assert row.get("params_active_b") == (active and pytest.approx(active, rel=2e-3))
    assert row["kv_bytes_per_token"] == 2 * elements


@pytest.mark.parametrize("key", ["vocab_size", "tie_word_embeddings", "intermediate_size", "num_attention_heads", "num_key_value_heads"])
def test_a_count_with_a_missing_key_is_unknown(key: str) -> None:
    assert model({k: v for k, v in QWEN_MOE.items() if k != key}).get("params_total_b") is None


def test_other_families_have_no_count() -> None:
    assert model(LLAMA | {"model_type": "new_thing"}).get("params_total_b") is None
    assert model(LLAMA | {"model_type": "new_thing"}).get("experts") is None


@pytest.mark.parametrize(
    "more",
    [
        {"sliding_window": 4096, "max_position_embeddings": 32768},
        {"layer_types": ["sliding_attention", "full_attention"] * 5},
        {"hybrid_override_pattern": "M-M*"},
        {"num_kv_shared_layers": 4},
        {"block_configs": [{"attention": {}}]},
        {"kv_lora_rank": 512},
        {"num_key_value_heads": [4] * 10},
        {"head_dim": "64"},
        {"head_dim": 64, "v_head_dim": 32},
        {"swa_num_key_value_heads": 2},
        {"attn_type_list": [0, 1] * 5},
        {"is_encoder_decoder": True},
    ],
)
def test_a_cache_that_is_no_single_number_is_unknown(more: dict[str, Any]) -> None:
    rows, _ = facts(json.dumps(LLAMA | more))
    assert rows["models"][0].get("kv_bytes_per_token") is None and rows["quality"][0]["kind"] == "kv-irregular"


@pytest.mark.parametrize(
    "more", [{"sliding_window": 4096, "use_sliding_window": False}, {"sliding_window": None}, {"is_encoder_decoder": False}]
)
def test_a_window_that_is_not_in_use_changes_nothing(more: dict[str, Any]) -> None:
    assert model(LLAMA | more)["kv_bytes_per_token"] == 10240.0


def test_head_dim_is_not_guessed_for_families_that_set_it() -> None:
    bare = {k: v for k, v in QWEN_MOE.items() if k != "head_dim"}
    assert model(bare).get("head_dim") is None and model(bare).get("kv_bytes_per_token") is None


def test_the_language_model_is_read_and_its_parameters_are_not_those_of_the_whole() -> None:
    row = model({"model_type": "pair", "text_config": LLAMA, "vision_config": {"num_hidden_layers": 27, "hidden_size": 1152}})
    assert (row["arch"], row["layers"], row.get("params_total_b")) == ("pair", 10.0, None)


def test_a_draft_head_is_not_the_model() -> None:
    row = model(LLAMA | {"architectures": ["LlamaForCausalLMEagle3"]})
    assert row["section"] == 1 and row.get("params_total_b") is None and model(LLAMA)["section"] == 0


@pytest.mark.parametrize(
    ("held", "word"),
    [
        ({"quant_method": "awq", "bits": 4}, "awq"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "nvfp4"),
        ({"quant_method": "CANARY"}, None),
        ("CANARY", None),
    ],
)
def test_quantisation_is_a_known_word(held: Any, word: str | None) -> None:
    assert model(LLAMA | {"quantization_config": held}).get("quantisation") == word


def test_no_text_leaves() -> None:
    config = LLAMA | {"_name_or_path": "/home/CANARY/model", "model_type": "CANARY spoke", "architectures": ["CANARY spoke"]}
    assert "CANARY" not in repr(facts(json.dumps(config)))


def test_a_cut_config_says_so() -> None:
    text = json.dumps(LLAMA)[:-5]
    rows, counts = facts(text)
    assert rows == {} and counts.near_miss == 1
    assert isinstance(PARSER.claims(Source.from_text(text).head()), Refusal)


@pytest.mark.parametrize(
    "text", ['{"model_type": "x"}', "[]", '{"result": {"model_type": "llama", "hidden_size": 4, "num_hidden_layers": 2}}', "no"]
)
def test_other_files_are_not_claimed(text: str) -> None:
    assert PARSER.claims(Source.from_text(text).head()) is None
    assert facts(text)[0] == {}
