"""The rules on a model's files, which are not loaded."""

from pathlib import Path

import model_folders as made
import pytest
from judging import found, judged

from qops.contents.checkpoint import here as read
from qops.derive.checkpoint import compiled
from qops.evidence.checkpoint import Checkpoint
from qops.rule import Confidence, Role, RuledOut
from qops.rules.serve.checkpoint_config_unreadable import checkpoint_config_unreadable
from qops.rules.serve.checkpoint_dtype_differs import checkpoint_dtype_differs
from qops.rules.serve.checkpoint_files_missing import checkpoint_files_missing
from qops.rules.serve.checkpoint_fused_parts_differ import checkpoint_fused_parts_differ
from qops.rules.serve.checkpoint_kv_scales_missing import checkpoint_kv_scales_missing
from qops.rules.serve.checkpoint_lists_disagree import checkpoint_lists_disagree
from qops.rules.serve.checkpoint_needs import checkpoint_needs
from qops.rules.serve.checkpoint_tokenizer_missing import checkpoint_tokenizer_missing
from qops.rules.serve.checkpoint_whole import checkpoint_whole
from qops.rules.serve.checkpoint_without_chat_template import checkpoint_without_chat_template

L = "model.language_model.layers.3"
EXPERT = f"{L}.mlp.experts.17"
GDN = f"{L}.linear_attn"
ALL = (
    checkpoint_files_missing,
    checkpoint_config_unreadable,
    checkpoint_tokenizer_missing,
    checkpoint_without_chat_template,
    checkpoint_lists_disagree,
    checkpoint_fused_parts_differ,
    checkpoint_kv_scales_missing,
    checkpoint_dtype_differs,
)


def _modelopt(*names: str) -> dict:  # type: ignore[type-arg]
    return {"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": list(names)}}


@pytest.fixture
def whole(tmp_path: Path) -> Checkpoint:
    tensors = made.nvfp4(f"{EXPERT}.gate_proj", f"{EXPERT}.up_proj") | made.plain(f"{L}.mlp.gate", "lm_head", "mtp.fc")
    return read(str(made.folder(tmp_path, tensors, config=_modelopt(f"{L}.mlp.gate", "lm_head", "mtp.fc"))))


def test_a_whole_checkpoint_is_left_alone(whole: Checkpoint) -> None:
    assert [o for rule in ALL for o in found(rule, whole)] == []
    (one,) = found(checkpoint_whole, whole)
    assert "are as long as their headers say" in one.message and "modelopt NVFP4" in one.message


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    root = made.folder(tmp_path, made.plain("a", "b"), files=2)
    (root / "model-00002-of-00002.safetensors").unlink()
    cut = read(str(root))
    (one,) = found(checkpoint_files_missing, cut)
    assert (one.subject, one.confidence) == ("model-00002-of-00002.safetensors", Confidence.CERTAIN)
    assert found(checkpoint_whole, cut) == []
    for path in root.glob("*.safetensors*"):
        path.unlink()
    (one,) = found(checkpoint_files_missing, read(str(root)))
    assert "no file with weights" in one.message


def test_a_configuration_without_an_architecture(tmp_path: Path) -> None:
    (one,) = found(checkpoint_config_unreadable, read(str(made.folder(tmp_path, config={"architectures": []}))))
    assert one.message == "config.json says no architectures"
    (tmp_path / "config.json").unlink()
    (one,) = found(checkpoint_config_unreadable, read(str(tmp_path)))
    assert one.message == "config.json: it is not here"


def test_a_tokenizer_that_is_not_there(tmp_path: Path) -> None:
    root = made.folder(tmp_path)
    (root / "tokenizer.json").unlink()
    (root / "vocab.json").write_text("{}")
    (one,) = found(checkpoint_tokenizer_missing, read(str(root)))
    assert one.message == "it has only vocab.json"
    (root / "merges.txt").write_text("")
    assert found(checkpoint_tokenizer_missing, read(str(root))) == []


def test_a_chat_template_that_is_not_there(tmp_path: Path) -> None:
    root = made.folder(tmp_path, template=False)
    (one,) = found(checkpoint_without_chat_template, read(str(root)))
    assert one.confidence is Confidence.LIKELY
    (root / "chat_template.jinja").write_text("{{ messages }}")
    assert found(checkpoint_without_chat_template, read(str(root))) == []
    (root / "chat_template.jinja").unlink()
    (root / "tokenizer_config.json").unlink()
    assert found(checkpoint_without_chat_template, read(str(root))) == []  # nobody knows


def test_a_layer_with_scales_in_the_list(tmp_path: Path) -> None:
    tensors = made.nvfp4(f"{EXPERT}.down_proj", "lm_head")
    separate = {"quant_algo": "NVFP4", "exclude_modules": ["lm_head*"]}
    (one,) = found(checkpoint_lists_disagree, read(str(made.folder(tmp_path, tensors, separate=separate))))
    assert one.subject == "lm_head"
    assert one.message.startswith("hf_quant_config.json leaves out lm_head, and the files hold scales for it")


def test_a_layer_without_scales_that_no_list_names(tmp_path: Path) -> None:
    tensors = made.nvfp4(f"{EXPERT}.down_proj") | made.plain(
        f"{L}.self_attn.o_proj", "mtp.fc", "lm_head", "visual.merger"
    )
    wrong, lenient = found(
        checkpoint_lists_disagree, read(str(made.folder(tmp_path, tensors, config=_modelopt("mtp.layers.0*"))))
    )
    assert (wrong.subject, wrong.confidence) == (f"{L}.self_attn.o_proj", Confidence.LIKELY)
    assert (lenient.subject, lenient.role) == ("mtp.fc", Role.CONTRIBUTING)
    assert "newer engines" in lenient.message


@pytest.mark.parametrize(
    "ignore",
    [
        [f"re:.*{name}$" for name in ("self_attn.o_proj", "mtp.fc")],
        [f"{L}.self_attn", "mtp"],
        ["*o_proj", "mtp*"],
        ["re:(a+)+$"],  # a pattern that could take for ever is not judged, and neither is the list
    ],
)
def test_lists_in_every_form(tmp_path: Path, ignore: list[str]) -> None:
    tensors = made.nvfp4(f"{EXPERT}.down_proj") | made.plain(f"{L}.self_attn.o_proj", "mtp.fc")
    assert found(checkpoint_lists_disagree, read(str(made.folder(tmp_path, tensors, config=_modelopt(*ignore))))) == []


def test_awq_leaves_out_by_what_is_stored(tmp_path: Path) -> None:
    tensors = {f"{EXPERT}.down_proj.qweight": ("I32", [4, 4])} | made.plain(f"{L}.self_attn.o_proj")
    awq = read(str(made.folder(tmp_path, tensors, config={"quantization_config": {"quant_method": "awq"}})))
    assert found(checkpoint_lists_disagree, awq) == []
    assert any("no --quantization" in one.message for one in found(checkpoint_needs, awq))


def test_parts_of_a_fused_layer_that_differ(tmp_path: Path) -> None:
    tensors = made.nvfp4(f"{L}.self_attn.q_proj", f"{L}.self_attn.v_proj") | made.plain(f"{L}.self_attn.k_proj")
    (one,) = found(checkpoint_fused_parts_differ, read(str(made.folder(tmp_path, tensors, config=_modelopt()))))
    assert one.subject == f"{L}.self_attn.qkv_proj"
    assert "q_proj, v_proj is quantised where k_proj is not" in one.message


def _groups(*targets: str) -> dict:  # type: ignore[type-arg]
    groups = {
        "group_0": {"targets": ["Linear"], "input_activations": {"num_bits": 4}},
        "group_2": {"targets": list(targets), "input_activations": None},
    }
    return {"quantization_config": {"quant_method": "compressed-tensors", "config_groups": groups}}


def test_targets_that_name_the_parts_and_not_the_fused_layer(tmp_path: Path) -> None:
    parts = [rf"re:.*linear_attn\.{name}$" for name in ("in_proj_qkv", "in_proj_z", "out_proj")]
    tensors = made.nvfp4(f"{GDN}.in_proj_qkv", f"{GDN}.in_proj_z", f"{GDN}.out_proj")
    root = made.folder(tmp_path, tensors, config=_groups(*parts))
    (one,) = found(checkpoint_fused_parts_differ, read(str(root)))
    assert one.subject == "in_proj_qkvz"
    assert "it falls to group_0, and comes out as garbage" in one.message
    made.folder(tmp_path, tensors, config=_groups(*parts, r"re:.*linear_attn\.in_proj_qkvz$"))
    assert found(checkpoint_fused_parts_differ, read(str(root))) == []


def test_scales_of_the_kv_cache(tmp_path: Path) -> None:
    promised = _modelopt()
    promised["quantization_config"]["kv_cache_scheme"] = {"num_bits": 8, "type": "float"}
    root = made.folder(tmp_path, made.nvfp4(f"{EXPERT}.down_proj"), config=promised)
    (one,) = found(checkpoint_kv_scales_missing, read(str(root)))
    assert "engines take 1.0" in one.message
    scale = {f"{L}.self_attn.k_proj.k_scale": ("F32", [])}
    made.folder(tmp_path, made.nvfp4(f"{EXPERT}.down_proj") | scale, config=promised)
    (out,) = judged(checkpoint_kv_scales_missing, read(str(root))) or ()
    assert isinstance(out, RuledOut)


def test_weights_that_are_wider_than_the_configuration_says(tmp_path: Path) -> None:
    root = made.folder(tmp_path, made.plain("a", "b", dtype="F32") | made.plain("c"))
    (one,) = found(checkpoint_dtype_differs, read(str(root)))
    assert "config.json says bfloat16" in one.message and "are F32" in one.message
    assert found(checkpoint_dtype_differs, read(str(made.folder(tmp_path / "b", made.plain("a", "b"))))) == []


def test_a_hybrid_model_says_what_it_needs(whole: Checkpoint) -> None:
    said = " ".join(one.message for one in found(checkpoint_needs, whole))
    assert "--mamba-radix-cache-strategy extra_buffer" in said and "--language-model-only" in said


def test_patterns_that_could_take_for_ever_are_not_tried() -> None:
    assert [compiled(p) for p in ("re:(a|a)*$", "re:a*b*c*d*e", "re:(", "*" * 9)] == [None] * 4
    assert compiled(r"re:.*mlp\.gate$") is not None


@pytest.mark.parametrize("rule", (*ALL, checkpoint_needs, checkpoint_whole), ids=lambda rule: rule.code)
def test_without_a_model_nothing_is_known(rule) -> None:  # type: ignore[no-untyped-def]
    assert judged(rule) is None
