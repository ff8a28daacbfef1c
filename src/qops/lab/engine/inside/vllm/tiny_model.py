"""Make the practice engine's models on the spot: random weights, and a tokenizer of their own. Nothing is fetched.

Run inside the engine layer, whose packages it needs: `python tiny_model.py FOLDER KIND…`. A model answers at
random; it is there so that the engine does everything that it does with a real one.
"""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

SEED = 7
WORDS = 512  # tokens: the 256 bytes, the marks below, and what is learned from TEXT
MARKS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>", "</tool_call>")
END, TURN_END = MARKS[0], MARKS[2]

# What the merges are learned from. It need not be good prose, but it must be there without a network.
TEXT = """
The engine takes a request, runs the prompt through the model once, and then makes one token after another.
Each token needs the keys and the values of all tokens before it; they are kept in a cache, in blocks.
When the cache is full, a request waits, or another one is put aside and computed anew later.
With tensor parallelism, each rank holds a part of every layer, and after each layer all ranks add up what they
have. A rank that stops makes all the others wait, and nobody says so: the port still answers, the health check
still says that all is well, and not a single token comes. Look at the counters, not at the health check.
Zero, one, two, three, four, five, six, seven, eight, nine, ten. Monday, Tuesday, Wednesday, Thursday, Friday.
The host has a driver, a kernel, a bus, a fan, a disk and a clock; any of them may be the reason why it is slow.
"""

# ChatML, with the switch that Qwen's templates have: without thinking, the answer begins after an empty thought.
TEMPLATE = (
    "{%- for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)

# Keys and values as large as the weights allow: a full context of one request then needs more cache than the
# gigabyte that the practice engine has, with one rank and with two, as a fault of the lab wants it.
SIZES: dict[str, Any] = {
    "vocab_size": WORDS,
    "hidden_size": 32,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "max_position_embeddings": 262144,
    "tie_word_embeddings": True,
}
EXPERTS: dict[str, Any] = {
    "moe_intermediate_size": 32,
    "shared_expert_intermediate_size": 32,
    "num_experts": 4,
    "num_experts_per_tok": 2,
}
# Three layers with linear attention and one with full attention, as the hybrid family has them.
LINEAR: dict[str, Any] = {
    "num_hidden_layers": 4,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 2,
    "linear_key_head_dim": 128,  # vLLM's CPU kernel refuses 32
    "linear_value_head_dim": 128,
}
KINDS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "tiny-qwen3": (
        "Qwen3Config",
        "Qwen3ForCausalLM",
        {**SIZES, "num_hidden_layers": 4, "intermediate_size": 64},
    ),
    "tiny-qwen3-5-moe": (
        "Qwen3_5MoeTextConfig",
        "Qwen3_5MoeForCausalLM",
        {**SIZES, **LINEAR, **EXPERTS, "num_key_value_heads": 2},
    ),
}


def tokenizer(folder: Path) -> tuple[int, int]:
    """Write a byte-level BPE and its chat template; return the ids that end a text and a turn."""
    tokenizers = importlib.import_module("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=WORDS,
        special_tokens=list(MARKS),
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(TEXT.splitlines(), trainer)
    made.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": TURN_END,
        "pad_token": END,
        "model_max_length": SIZES["max_position_embeddings"],
        "clean_up_tokenization_spaces": False,
        "chat_template": TEMPLATE,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=1), encoding="utf-8")
    return made.token_to_id(END), made.token_to_id(TURN_END)


def weights(folder: Path, kind: str, ends: tuple[int, int]) -> None:
    """Write config.json and random weights in bfloat16."""
    torch = importlib.import_module("torch")
    transformers = importlib.import_module("transformers")
    config_name, model_name, sizes = KINDS[kind]
    torch.manual_seed(SEED)
    config = getattr(transformers, config_name)(
        **sizes, bos_token_id=None, pad_token_id=ends[0], eos_token_id=ends[1], dtype="bfloat16"
    )
    model = getattr(transformers, model_name)(config).to(torch.bfloat16)
    model.generation_config = transformers.GenerationConfig(eos_token_id=list(ends), pad_token_id=ends[0])
    model.save_pretrained(folder)


def main(arguments: list[str]) -> int:
    """Make each of the named models below a folder."""
    for kind in arguments[1:]:
        folder = Path(arguments[0], kind)
        folder.mkdir(parents=True, exist_ok=True)
        weights(folder, kind, tokenizer(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
