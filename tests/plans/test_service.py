"""What serves a recipe on a host of each class, why it cannot on another, and the files that come of it."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
import serving_hosts as hosts
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace as with_

from qops.derive.nccl_environment import Probed
from qops.evidence.gpu import Gpus, Topology
from qops.evidence.gpu import Path as Way
from qops.evidence.image import Image, Images
from qops.evidence.kernel import Memory
from qops.evidence.model import Models
from qops.evidence.text import Quote
from qops.flags import shell, sources
from qops.plans.inference_service_options import DEFAULTS, services
from qops.plans.service import Options, Service, make
from qops.recipes import load
from qops.recipes.recipe import Flag, Recipe, Template
from qops.recipes.recipe import Image as RecipeImage
from qops.render.artefacts import ARTEFACTS, compose, environment, instance, run, unit

GOLDENS = Path(__file__).parent / "goldens/service"
RECIPES = load()
COMMIT = "0123456789abcdef0123456789abcdef01234567"
NONE = Options()
LIVE = [name for name, recipe in RECIPES.items() if not recipe.retired]


def _host(recipe: Recipe) -> Mapping[type, object]:
    """The host that a recipe asks for, with its model in the store."""
    hardware = recipe.hardware
    if hardware.hardware_class == "spark":
        seen = hosts.spark()
    elif hardware.hardware_class == "rtx5090":
        seen = hosts.rtx5090()
    else:
        eight = hardware.gpus > 4 or max(recipe.gpus, default=0) > 3
        seen = hosts.rtxpro(8, sockets=2) if eight else hosts.rtxpro(4)
    model = recipe.model
    return {**seen, Models: hosts.stored(model.repository, COMMIT, 24 * 10**9, overlay=bool(model.overlays))}


def _made(name: str, seen: Mapping[type, object] | None = None, class_: str = "", options: Options = NONE) -> Service:
    recipe = RECIPES[name]
    return make(
        recipe,
        _host(recipe) if seen is None else seen,
        hosts.hardware(class_ or recipe.hardware.hardware_class),
        options,
    )


def _of(made: Service, name: str) -> str | None:
    return next(one.value for one in made.choices if one.name == name)


def _why(made: Service, name: str) -> str:
    return next(one.because for one in made.choices if one.name == name)


@pytest.mark.parametrize("name", LIVE)
def test_each_recipe_is_planned_for_its_own_hardware(name: str) -> None:
    made = _made(name)
    assert (made.refused, made.unseen) == ((), ())
    assert f"/{COMMIT}" in " ".join(made.arguments) and made.environment["HF_HUB_OFFLINE"] == "1"


@pytest.mark.parametrize("name", LIVE)
@pytest.mark.parametrize("kind", list(ARTEFACTS))
def test_goldens(name: str, kind: str) -> None:
    text = ARTEFACTS[kind](_made(name))
    golden = GOLDENS / f"{name}.{kind}"
    if os.environ.get("QOPS_UPDATE_GOLDENS"):
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def test_no_golden_is_left_over() -> None:
    assert {path.name for path in GOLDENS.iterdir()} == {f"{n}.{k}" for n in LIVE for k in ARTEFACTS}


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze here")
def test_systemd_finds_nothing_wrong_with_the_units(tmp_path: Path) -> None:
    docker = tmp_path / "docker.service"
    docker.write_text("[Service]\nExecStart=/bin/true\n")
    files = []
    for name in LIVE:
        made = _made(name, options=Options(api_key_file="/etc/qops/key" if "vllm" in name else ""))
        file = tmp_path / f"{made.container}.service"
        # Programs that need not be on the machine that tests.
        text = unit(made).replace("/usr/bin/docker", "/bin/echo").replace("/usr/bin/nvidia-smi", "/bin/echo")
        file.write_text(text)
        files.append(str(file))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *files, str(docker)],
        capture_output=True, text=True, check=False, timeout=60,
        env={**os.environ, "SYSTEMD_LOG_LEVEL": "warning"},
    )  # fmt: skip
    own = [line for line in done.stderr.splitlines() if str(tmp_path) in line or "qops-" in line]
    assert own == []


@pytest.mark.parametrize("name", LIVE)
@pytest.mark.parametrize("write", [unit, compose, run], ids=["unit", "compose", "run"])
def test_every_form_says_the_same(name: str, write: object) -> None:
    made = _made(name)
    text = write(made)  # type: ignore[operator]
    (command,) = sources.read(text, "file").commands
    assert command.engine == made.recipe.engine.name
    assert ["serve", *(word.text for word in command.arguments)] == list(made.arguments)
    assert command.image == made.image


@pytest.mark.parametrize("name", LIVE)
def test_the_compose_file_holds_what_the_environment_file_does(name: str) -> None:
    made = _made(name)
    (service,) = yaml.safe_load(compose(made))["services"].values()
    lines = [line for line in environment(made).splitlines() if not line.startswith("#")]
    assert service["environment"] == dict(line.split("=", 1) for line in lines) == made.environment


class TestWhatDoesNotFit:
    def refused(self, name: str, seen: Mapping[type, object], class_: str, **options: object) -> str:
        return "\n".join(_made(name, seen, class_, Options(**options)).refused)  # type: ignore[arg-type]

    def test_another_class(self) -> None:
        assert "is for rtxpro, and this host is spark" in self.refused(
            "qwen3.5-397b-nvfp4-vllm", hosts.spark(), "spark"
        )
        assert "of unknown class" in self.refused("qwen3.5-397b-nvfp4-vllm", hosts.rtxpro(), "unknown")

    def test_too_few_gpus(self) -> None:
        assert "takes 8 GPUs, and this host shows 4" in self.refused(
            "qwen3.5-397b-fp8-vllm-8gpu", hosts.rtxpro(), "rtxpro"
        )
        assert "no GPU 4, 5, 6, 7" in self.refused("qwen3.5-397b-nvfp4-vllm-4of8", hosts.rtxpro(), "rtxpro")
        assert "2 are named" in self.refused("qwen3.5-397b-nvfp4-vllm", hosts.rtxpro(), "rtxpro", gpus=(0, 1))

    def test_too_little_memory(self) -> None:
        seen = hosts.rtxpro()
        boards = seen[Gpus]
        assert isinstance(boards, Gpus)
        small = with_(boards, gpus=tuple(with_(gpu, memory_total=72 << 30) for gpu in boards.gpus))
        told = self.refused("qwen3.5-397b-nvfp4-vllm", {**seen, Gpus: small}, "rtxpro")
        assert "95 GiB of memory, and GPU 0 has 72.0" in told
        told = self.refused("qwen3.6-35b-gdn4lm4-spark-vllm", hosts.spark(total=64 << 30), "spark")
        assert "110 GiB of memory, and the machine has 64.0" in told

    def test_weights_that_leave_no_room_on_a_machine_with_one_memory(self) -> None:
        repository = RECIPES["qwen3.6-35b-gdn4lm4-spark-vllm"].model.repository
        seen = {**hosts.spark(), Models: hosts.stored(repository, COMMIT, 105 << 30)}
        assert "no room for a KV cache" in self.refused("qwen3.6-35b-gdn4lm4-spark-vllm", seen, "spark")

    def test_weights_that_are_more_than_all_memory(self) -> None:
        repository = RECIPES["qwen3.5-35b-nvfp4-rtx5090-vllm"].model.repository
        seen = {**hosts.rtx5090(), Models: hosts.stored(repository, COMMIT, 70 << 30)}
        told = self.refused("qwen3.5-35b-nvfp4-rtx5090-vllm", seen, "rtx5090")
        assert "70 GiB of weights are more than 32 GiB of memory" in told

    def test_a_driver_that_is_too_old_for_the_image(self) -> None:
        told = self.refused("qwen3.5-35b-nvfp4-rtx5090-vllm", hosts.rtx5090(driver="570.172.08"), "rtx5090")
        assert "CUDA 13.0 needs driver 580 or later, and this host has 570.172.08" in told

    def test_the_image_itself_says_better_which_cuda_is_in_it(self) -> None:
        image = Image("sha256:" + "a" * 64, Quote("images", 1, ""), tags=("vllm/vllm-openai:v0.33.0",), cuda="12.9.1",
                      digests=("vllm/vllm-openai@sha256:" + "b" * 64,))  # fmt: skip
        seen = {**hosts.rtx5090(driver="570.172.08"), Images: Images("docker", images=(image,))}
        made = _made("qwen3.5-35b-nvfp4-rtx5090-vllm", seen)
        assert made.refused == ()
        assert made.image == "vllm/vllm-openai@sha256:" + "b" * 64

    def test_a_retired_recipe(self) -> None:
        assert "retired: 0.16 needs its loader patched" in self.refused(
            "qwen3.5-35b-nvfp4-rtx5090-vllm-0.16", hosts.rtx5090(), "rtx5090"
        )

    def test_nothing_that_was_not_seen_passes(self) -> None:
        made = _made("qwen3.5-397b-nvfp4-vllm", {}, "rtxpro")
        assert made.unseen == ("no GPU was seen (nvidia-smi)",)
        made = _made(
            "qwen3.6-35b-gdn4lm4-spark-vllm", {k: v for k, v in hosts.spark().items() if k is not Memory}, "spark"
        )
        assert made.unseen == ("the size of main memory was not seen (/proc/meminfo)",)


class TestMemory:
    def test_bytes_where_gpu_and_processor_share_it(self) -> None:
        made = _made("qwen3.6-35b-gdn4lm4-spark-vllm")
        kv = int(_of(made, "--kv-cache-memory-bytes") or 0)
        assert kv % hosts.GIB == 0 and 60 <= kv // hosts.GIB <= 80
        assert "22 for the weights" in _why(made, "--kv-cache-memory-bytes")
        assert made.arguments.count("--kv-cache-memory-bytes") == 1

    def test_a_third_while_nobody_knows_the_weights(self) -> None:
        made = _made("qwen3.6-35b-gdn4lm4-spark-vllm", hosts.spark())
        assert _of(made, "--kv-cache-memory-bytes") == str(32 * hosts.GIB)
        assert "not known yet" in _why(made, "--kv-cache-memory-bytes")

    def test_a_fraction_where_the_board_has_its_own(self) -> None:
        made = _made("qwen3.5-35b-nvfp4-rtx5090-vllm")
        assert _of(made, "--gpu-memory-utilization") == "0.95"
        assert made.arguments.count("--gpu-memory-utilization") == 1

    def test_a_desktop_on_the_same_board_is_said(self) -> None:
        made = _made("qwen3.5-35b-nvfp4-rtx5090-vllm", hosts.rtx5090(used=3 << 30))
        assert any("GPU 0 holds 3.0 GiB now" in note for note in made.notes)


class TestProcessor:
    def test_engines_size_their_own_threads(self) -> None:
        for name in ("qwen3.5-397b-nvfp4-vllm", "qwen3.5-397b-nvfp4-sglang", "qwen3.5-35b-nvfp4-rtx5090-vllm"):
            assert _of(_made(name), "OMP_NUM_THREADS") is None
        spark = _made("qwen3.6-35b-gdn4lm4-spark-vllm")  # 0.26 does not
        assert spark.environment["OMP_NUM_THREADS"] == "8"

    def test_workers_stay_next_to_their_gpu_where_there_are_two_sockets(self) -> None:
        made = _made("qwen3.5-397b-fp8-vllm-8gpu")
        assert "--numa-bind" in made.arguments and made.capabilities == ("SYS_NICE",)
        assert "0, 0, 0, 0, 1, 1, 1, 1" in _why(made, "--numa-bind")
        sglang = _made("qwen3.5-397b-fp8-sglang-8gpu")
        assert "--numa-node" not in sglang.arguments and sglang.capabilities == ("SYS_NICE",)
        assert _made("qwen3.5-397b-nvfp4-vllm").capabilities == ()


class TestNccl:
    def test_nothing_is_set_where_the_default_is_right(self) -> None:
        made = _made("qwen3.5-397b-nvfp4-vllm")
        assert {name for name in made.environment if name.startswith("NCCL")} == {"NCCL_DEBUG"}
        (level,) = [one for one in made.reviewed if one.name == "NCCL_P2P_LEVEL"]
        assert level.value is None and "forces no NVLink" in level.because
        (ib,) = [one for one in made.reviewed if one.name == "NCCL_IB_DISABLE"]
        assert ib.value is None and "one machine" in ib.because

    def test_a_probe_that_passed_reproduces_phb(self) -> None:
        made = _made("qwen3.5-397b-nvfp4-sglang", options=Options(probed=Probed.PASSED))
        assert made.environment["NCCL_P2P_LEVEL"] == "PHB"
        (level,) = [one for one in made.reviewed if one.name == "NCCL_P2P_LEVEL"]
        assert level.value == "PHB" and level.because.startswith("the same is derived")

    def test_broken_peer_to_peer_is_off_in_the_engine_too(self) -> None:
        made = _made("qwen3.5-397b-nvfp4-vllm", options=Options(probed=Probed.FAILED))
        assert made.environment["NCCL_P2P_DISABLE"] == "1" and "--disable-custom-all-reduce" in made.arguments
        made = _made("qwen3.5-397b-awq-sglang", options=Options(probed=Probed.FAILED))
        assert made.arguments.count("--disable-custom-all-reduce") == 1

    def test_only_the_gpus_that_serve_count(self) -> None:
        seen = _host(RECIPES["qwen3.5-397b-nvfp4-vllm-4of8"])
        topology = seen[Topology]
        assert isinstance(topology, Topology) and any(pair.path is Way.SYS for pair in topology.pairs)
        made = _made("qwen3.5-397b-nvfp4-vllm-4of8", seen, options=Options(probed=Probed.PASSED))
        assert made.environment["NCCL_P2P_LEVEL"] == "PHB"  # SYS is the way to the other four


class TestKey:
    OPTIONS = Options(api_key_file="/etc/qops/secrets/api-key")

    def test_the_key_is_in_no_file_and_in_no_command(self) -> None:
        made = _made("qwen3.5-397b-nvfp4-vllm", options=self.OPTIONS)
        for write in ARTEFACTS.values():
            text = write(made)
            assert "--api-key" not in text and "VLLM_API_KEY=s" not in text
        assert "src=/etc/qops/secrets/api-key,dst=/run/secrets/api-key,readonly" in unit(made)
        assert "$$(cat /run/secrets/api-key)" in unit(made) and "$$(cat" in compose(made) and "$(cat" in run(made)

    def test_the_script_reads_the_key_and_keeps_the_words(self, tmp_path: Path) -> None:
        key, engine = tmp_path / "key", tmp_path / "vllm"
        key.write_text("a secret\n")
        engine.write_text('#!/bin/sh\nprintf "%s|" "$VLLM_API_KEY" "$@"\n')
        engine.chmod(0o755)
        (words,) = [list(one) for one in shell.commands(run(_made("qwen3.5-397b-nvfp4-vllm", options=self.OPTIONS)))]
        place = next(n for n, word in enumerate(words) if word.text == "-c")
        script = words[place + 1].text.replace("/run/secrets/api-key", str(key))
        done = subprocess.run(
            ["/bin/sh", "-c", script, *(word.text for word in words[place + 2 :])],
            capture_output=True, text=True, check=True, env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        )  # fmt: skip
        assert (
            done.stdout.startswith("a secret|serve|") and '|{"method":"mtp","num_speculative_tokens":2}|' in done.stdout
        )

    def test_sglang_has_no_way_to_keep_it(self) -> None:
        made = _made("qwen3.5-397b-nvfp4-sglang", options=self.OPTIONS)
        assert "put a proxy before it" in "\n".join(made.refused)


def test_stopping_is_bounded_and_the_drain_shorter() -> None:
    made = _made("qwen3.5-397b-nvfp4-vllm")
    assert "--shutdown-timeout" in made.arguments and made.stop.value == 90
    text = unit(made)
    for line in ("Restart=always", "RestartPreventExitStatus=2", "TimeoutStopSec=120", "StartLimitIntervalSec=0"):
        assert line in text.splitlines()
    assert "--shutdown-timeout" not in _made("qwen3.5-397b-nvfp4-sglang").arguments


def test_the_store_without_the_overlay_is_said() -> None:
    repository = RECIPES["qwen3.5-397b-nvfp4-vllm"].model.repository
    seen = {**hosts.rtxpro(), Models: hosts.stored(repository, COMMIT, 10**9)}
    assert any("without the recipe's changes" in note for note in _made("qwen3.5-397b-nvfp4-vllm", seen).notes)


def test_time_to_start_follows_the_weights() -> None:
    assert _made("qwen3.5-397b-nvfp4-vllm").environment["VLLM_ENGINE_READY_TIMEOUT_S"] == "720"
    assert _made("qwen3.5-397b-nvfp4-vllm", hosts.rtxpro()).environment["VLLM_ENGINE_READY_TIMEOUT_S"] == "2640"


def test_shared_memory_is_what_the_source_measured() -> None:
    assert _made("qwen3.5-397b-nvfp4-vllm-vision").shared_memory.value == 16 * hosts.GIB
    assert _made("qwen3.6-35b-gdn4lm4-spark-vllm").shared_memory.value == hosts.GIB


def _extended(**over: object) -> Service:
    recipe = with_(RECIPES["qwen3.6-35b-gdn4lm4-spark-vllm"], **over)
    return make(recipe, _host(recipe), hosts.hardware("spark"), NONE)


def test_what_the_recipe_says_goes_over_what_is_derived_and_both_are_told() -> None:
    made = _extended(flags=(Flag("--kv-cache-memory-bytes", "8589934592"), Flag("--shutdown-timeout", "60")))
    assert made.arguments.count("--kv-cache-memory-bytes") == made.arguments.count("--shutdown-timeout") == 1
    assert _of(made, "--kv-cache-memory-bytes") == "8589934592"
    assert "the recipe says so; derived would be " in _why(made, "--kv-cache-memory-bytes")
    assert "and the same is derived" in _why(made, "--shutdown-timeout")
    made = _extended(environment={"OMP_NUM_THREADS": "4", "NCCL_DEBUG": "INFO"})
    assert (made.environment["OMP_NUM_THREADS"], made.environment["NCCL_DEBUG"]) == ("4", "INFO")
    assert "derived would be 8" in _why(made, "OMP_NUM_THREADS")


def test_a_flag_that_the_image_does_not_take_is_refused_before_anything_is_written() -> None:
    made = _extended(flags=(Flag("--swap-space", "4"),))
    assert any("vllm 0.26.0, --swap-space: vLLM 0.26.0 does not know it" in reason for reason in made.refused)


def test_a_chat_template_is_mounted() -> None:
    made = _extended(chat_template=Template("/etc/qops/serve/own.jinja", "tools"))
    assert made.arguments[made.arguments.index("--chat-template") + 1] == "/etc/qops-chat-template.jinja"
    assert "src=/etc/qops/serve/own.jinja,dst=/etc/qops-chat-template.jinja,readonly" in unit(made)


def test_an_image_by_digest_alone_does_not_say_its_release() -> None:
    image = RecipeImage("vllm/vllm-openai@sha256:" + "c" * 64, "pinned")
    made = _extended(image=image)
    assert (made.image, made.version) == (image.name, "0.33.0")
    assert any("does not say its release" in note for note in made.notes)
    both = RecipeImage("vllm/vllm-openai:v0.26.0@sha256:" + "c" * 64, "pinned")
    assert (_extended(image=both).image, _extended(image=both).version) == (both.name, "0.26.0")


@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]) | st.just(" "), min_size=1), max_size=3
    )
)
@settings(max_examples=200, deadline=None)
def test_any_value_comes_through_every_form(values: list[str]) -> None:
    flags = tuple(Flag(f"--a{place}", value) for place, value in enumerate(values) if not value.startswith("-"))
    recipe = with_(RECIPES["qwen3.6-35b-gdn4lm4-spark-vllm"], flags=flags)
    made = make(recipe, _host(recipe), hosts.hardware("spark"), NONE)
    (service,) = yaml.safe_load(compose(made))["services"].values()
    assert [word.replace("$$", "$") for word in service["command"]] == list(made.arguments)
    assert shlex.split(run(made).replace("\\\n", " "))[-len(made.arguments) :] == list(made.arguments)
    start = unit(made).split("ExecStart=")[1].split("\nExecStop=")[0]
    # What systemd makes of it: continued lines, quotes with escapes in them, %% and $$.
    words = [
        _unquoted(word)
        for word in re.findall(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^\s]+", start.replace("\\\n", " "))
    ]
    assert words[-len(made.arguments) :] == list(made.arguments)


def _unquoted(word: str) -> str:
    inner = word[1:-1] if word[0] in "'\"" else word
    return re.sub(r"\\(.)", r"\1", inner).replace("%%", "%").replace("$$", "$")


@pytest.mark.parametrize("name", LIVE)
def test_the_role_takes_the_instance_and_serves_the_same(name: str) -> None:
    made = _made(name)
    said = {key.removeprefix("inference_service_"): value for key, value in yaml.safe_load(instance(made)).items()}
    wanted = services({**DEFAULTS, **said}, _host(made.recipe), made.hardware)
    (taken,) = wanted.services
    assert wanted.refused == []
    assert (taken.name, taken.engine, taken.port, taken.gpus) == (
        made.name,
        made.recipe.engine.name,
        made.port,
        made.gpus,
    )
    assert taken.words == (made.recipe.engine.name, *made.arguments)
    assert (taken.model, taken.image) == (made.recipe.served_name, made.image)


def test_an_instance_of_a_users_recipe_names_its_folder(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("name: own\nextends: qwen3.6-35b-gdn4lm4-spark-vllm\nport: 8100\n")
    recipe = load([tmp_path])["own"]
    made = make(recipe, _host(recipe), hosts.hardware("spark"), NONE)
    assert yaml.safe_load(instance(made))["inference_service_recipes"] == [str(tmp_path)]
