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
from peer_probes import HUNG, OFF, arm
from peer_probes import probe as probed
from recipe_plans import COMMIT, LIVE, NONE, RECIPES
from recipe_plans import host as _host

from qops.derive import service_unit
from qops.evidence.container_engine import ContainerEngine, DockerInfo
from qops.evidence.gpu import Gpus, Topology
from qops.evidence.gpu import Path as Way
from qops.evidence.image import Image, Images
from qops.evidence.inference import InferenceServices
from qops.evidence.kernel import Memory
from qops.evidence.model import Models
from qops.evidence.peer_probe import PeerArm, PeerProbe
from qops.evidence.services import Services
from qops.evidence.text import Quote
from qops.flags import shell, sources
from qops.plans.inference_service import PLAN
from qops.plans.service import Options, ServicePlan, make
from qops.recipes import load
from qops.recipes.recipe import Flag, Template
from qops.recipes.recipe import Image as RecipeImage
from qops.render.artefacts import ARTEFACTS, compose, environment, instance, run, unit

GOLDENS = Path(__file__).parent / "goldens/service"
# Hosts that give a container its GPUs in another way.
OTHERWISE = {
    "without-cdi": (
        {ContainerEngine: ContainerEngine(active="active", info=DockerInfo("20.10", ("nvidia",)))},
        "docker",
    ),
    "podman": ({ContainerEngine: ContainerEngine(podman="5.4.2")}, "podman"),
}


def _made(
    name: str, seen: Mapping[type, object] | None = None, class_: str = "", options: Options = NONE
) -> ServicePlan:
    recipe = RECIPES[name]
    return make(
        recipe,
        _host(recipe) if seen is None else seen,
        hosts.hardware(class_ or recipe.hardware.hardware_class),
        options,
    )


UUIDS = tuple(f"GPU-{index}" for index in range(8))
PASSED, FAILED = (arm("as is"), OFF), (HUNG, OFF)


def _probed(name: str, arms: tuple[PeerArm, ...]) -> Mapping[type, object]:
    """Return a recipe's host on which `qops probe p2p` was run."""
    return {**_host(RECIPES[name]), PeerProbe: probed(*arms, driver="590.48.01", gpus=UUIDS)}


def _of(made: ServicePlan, name: str) -> str | None:
    return next(one.value for one in made.choices if one.name == name)


def _why(made: ServicePlan, name: str) -> str:
    return next(one.because for one in made.choices if one.name == name)


@pytest.mark.parametrize("name", LIVE)
def test_each_recipe_is_planned_for_its_own_hardware(name: str) -> None:
    made = _made(name)
    assert (made.refused, made.unseen) == ((), ())
    assert (
        f"/{made.recipe.model.revision or COMMIT}" in " ".join(made.service.words)
        and made.service.environment["HF_HUB_OFFLINE"] == "1"
    )


@pytest.mark.parametrize("name", LIVE)
@pytest.mark.parametrize("kind", list(ARTEFACTS))
def test_goldens(name: str, kind: str) -> None:
    text = ARTEFACTS[kind](_made(name))
    golden = GOLDENS / f"{name}.{kind}"
    if os.environ.get("QOPS_UPDATE_GOLDENS"):
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("case", OTHERWISE)
@pytest.mark.parametrize("kind", ["unit", "compose", "run"])
def test_goldens_of_other_container_engines(case: str, kind: str) -> None:
    over, runtime = OTHERWISE[case]
    recipe = RECIPES["qwen3.5-397b-nvfp4-vllm-4of8"]
    options = Options(name="own", address="::1", runtime=runtime, secrets=("HF_TOKEN",))
    made = make(recipe, {**_host(recipe), **over}, hosts.hardware("rtxpro"), options)
    assert made.refused == () and not any("may not work here" in note for note in made.notes)
    text = ARTEFACTS[kind](made)
    golden = GOLDENS / f"{case}.{kind}"
    if os.environ.get("QOPS_UPDATE_GOLDENS"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def test_a_host_that_cannot_give_gpus_yet_is_planned_for_cdi_and_told() -> None:
    made = _made("qwen3.6-35b-gdn4lm4-spark-vllm", {k: v for k, v in hosts.spark().items() if k is not ContainerEngine})
    assert made.service.gpus_by == "cdi"
    assert "the GPUs are given by CDI, which may not work here: the container engine was not seen" in made.notes


def test_no_golden_is_left_over() -> None:
    others = {f"{case}.{kind}" for case in OTHERWISE for kind in ("unit", "compose", "run")}
    assert {path.name for path in GOLDENS.iterdir()} == {f"{n}.{k}" for n in LIVE for k in ARTEFACTS} | others


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not here (package systemd)")
def test_systemd_finds_nothing_wrong_with_the_units(tmp_path: Path) -> None:
    (tmp_path / "docker.service").write_text("[Service]\nExecStart=/bin/true\n")
    texts = {f"qops-serve-{name}": GOLDENS.joinpath(f"{name}.unit").read_text() for name in (*LIVE, *OTHERWISE)}
    # One that is wrong shows that systemd would say so.
    texts["qops-serve-wrong"] = texts[f"qops-serve-{LIVE[0]}"].replace("Type=exec", "Type=exact")
    for name, text in texts.items():
        # Programs that need not be on the machine that tests.
        there = re.sub(r"/usr/bin/(?:docker|podman|nvidia-smi)", "/bin/echo", text)
        (tmp_path / f"{name}.service").write_text(there)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *sorted(map(str, tmp_path.glob("*.service")))],
        capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, "SYSTEMD_LOG_LEVEL": "warning"},
    )  # fmt: skip
    own = [line for line in done.stderr.splitlines() if str(tmp_path) in line or "qops-" in line]
    assert own and all("qops-serve-wrong" in line for line in own), done.stderr


@pytest.mark.parametrize("name", LIVE)
@pytest.mark.parametrize("write", [unit, compose, run], ids=["unit", "compose", "run"])
def test_every_form_says_the_same(name: str, write: object) -> None:
    made = _made(name)
    text = write(made)  # type: ignore[operator]
    (command,) = sources.read(text, "file").commands
    assert command.engine == made.recipe.engine.name
    assert [command.engine, "serve", *(word.text for word in command.arguments)] == list(made.service.words)
    assert command.image == made.service.image


@pytest.mark.parametrize("name", LIVE)
def test_the_compose_file_holds_what_the_environment_file_does(name: str) -> None:
    made = _made(name)
    (service,) = yaml.safe_load(compose(made))["services"].values()
    lines = [line for line in environment(made).splitlines() if not line.startswith("#")]
    assert service["environment"] == dict(line.split("=", 1) for line in lines) == made.service.environment


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
        assert made.service.image == "vllm/vllm-openai@sha256:" + "b" * 64

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
        assert made.service.words.count("--kv-cache-memory-bytes") == 1

    def test_a_third_while_nobody_knows_the_weights(self) -> None:
        made = _made("qwen3.6-35b-gdn4lm4-spark-vllm", hosts.spark())
        assert _of(made, "--kv-cache-memory-bytes") == str(32 * hosts.GIB)
        assert "not known yet" in _why(made, "--kv-cache-memory-bytes")

    def test_a_fraction_where_the_board_has_its_own(self) -> None:
        made = _made("qwen3.5-35b-nvfp4-rtx5090-vllm")
        assert _of(made, "--gpu-memory-utilization") == "0.95"
        assert made.service.words.count("--gpu-memory-utilization") == 1

    def test_a_desktop_on_the_same_board_is_said(self) -> None:
        made = _made("qwen3.5-35b-nvfp4-rtx5090-vllm", hosts.rtx5090(used=3 << 30))
        assert any("GPU 0 holds 3.0 GiB now" in note for note in made.notes)


class TestProcessor:
    def test_engines_size_their_own_threads(self) -> None:
        for name in ("qwen3.5-397b-nvfp4-vllm", "qwen3.5-397b-nvfp4-sglang", "qwen3.5-35b-nvfp4-rtx5090-vllm"):
            assert _of(_made(name), "OMP_NUM_THREADS") is None
        spark = _made("qwen3.6-35b-gdn4lm4-spark-vllm")  # 0.26 does not
        assert spark.service.environment["OMP_NUM_THREADS"] == "8"

    def test_workers_stay_next_to_their_gpu_where_there_are_two_sockets(self) -> None:
        made = _made("qwen3.5-397b-fp8-vllm-8gpu")
        assert "--numa-bind" in made.service.words and made.service.capabilities == ("SYS_NICE",)
        assert "0, 0, 0, 0, 1, 1, 1, 1" in _why(made, "--numa-bind")
        sglang = _made("qwen3.5-397b-fp8-sglang-8gpu")
        assert "--numa-node" not in sglang.service.words and sglang.service.capabilities == ("SYS_NICE",)
        assert _made("qwen3.5-397b-nvfp4-vllm").service.capabilities == ()


class TestNccl:
    def test_nothing_is_set_where_the_default_is_right(self) -> None:
        made = _made("qwen3.5-397b-nvfp4-vllm")
        assert {name for name in made.service.environment if name.startswith("NCCL")} == {"NCCL_DEBUG"}
        (level,) = [one for one in made.reviewed if one.name == "NCCL_P2P_LEVEL"]
        assert level.value is None and "forces no NVLink" in level.because
        (ib,) = [one for one in made.reviewed if one.name == "NCCL_IB_DISABLE"]
        assert ib.value is None and "one machine" in ib.because

    def test_a_probe_that_passed_reproduces_phb(self) -> None:
        made = _made("qwen3.5-397b-nvfp4-sglang", _probed("qwen3.5-397b-nvfp4-sglang", PASSED))
        assert made.service.environment["NCCL_P2P_LEVEL"] == "PHB"
        (level,) = [one for one in made.reviewed if one.name == "NCCL_P2P_LEVEL"]
        assert level.value == "PHB" and level.because.startswith("the same is derived")

    def test_broken_peer_to_peer_is_off_in_the_engine_too(self) -> None:
        made = _made("qwen3.5-397b-nvfp4-vllm", _probed("qwen3.5-397b-nvfp4-vllm", FAILED))
        assert (
            made.service.environment["NCCL_P2P_DISABLE"] == "1" and "--disable-custom-all-reduce" in made.service.words
        )
        made = _made("qwen3.5-397b-awq-sglang", _probed("qwen3.5-397b-awq-sglang", FAILED))
        assert made.service.words.count("--disable-custom-all-reduce") == 1

    def test_only_the_gpus_that_serve_count(self) -> None:
        seen = _probed("qwen3.5-397b-nvfp4-vllm-4of8", PASSED)
        topology = seen[Topology]
        assert isinstance(topology, Topology) and any(pair.path is Way.SYS for pair in topology.pairs)
        made = _made("qwen3.5-397b-nvfp4-vllm-4of8", seen)
        assert made.service.environment["NCCL_P2P_LEVEL"] == "PHB"  # SYS is the way to the other four

    def test_a_probe_of_other_gpus_or_under_another_driver_says_nothing(self) -> None:
        name = "qwen3.5-397b-nvfp4-sglang"
        for probe in (probed(*PASSED, gpus=("GPU-0", "GPU-1")), probed(*PASSED, driver="580.65.06", gpus=UUIDS)):
            made = _made(name, {**_host(RECIPES[name]), PeerProbe: probe})
            assert "NCCL_P2P_LEVEL" not in made.service.environment


class TestKey:
    OPTIONS = Options(secrets=("VLLM_API_KEY",))

    def test_the_key_is_in_no_file_and_in_no_command(self) -> None:
        made = _made("qwen3.5-397b-nvfp4-vllm", options=self.OPTIONS)
        for kind, write in ARTEFACTS.items():
            text = write(made)
            assert "--api-key" not in text and "VLLM_API_KEY=" not in text
            assert kind in ("env", "instance") or "/etc/qops/serve/qwen3-5-397b-nvfp4-vllm.secret" in text
        assert "dst=/run/qops-secret,readonly" in unit(made) and 'exec "$$@"' in unit(made)
        assert 'exec \\"$$@\\"' in compose(made) and 'exec "$@"' in run(made)
        assert "VLLM_API_KEY: …" in instance(made)

    def test_the_script_reads_the_key_and_keeps_the_words(self, tmp_path: Path) -> None:
        key, engine = tmp_path / "key", tmp_path / "vllm"
        key.write_text("VLLM_API_KEY='a secret'\n")
        engine.write_text('#!/bin/sh\nprintf "%s|" "$VLLM_API_KEY" "$@"\n')
        engine.chmod(0o755)
        words = list(shell.commands(run(_made("qwen3.5-397b-nvfp4-vllm", options=self.OPTIONS))))[-1]
        place = next(n for n, word in enumerate(words) if word.text == "-c")
        script = words[place + 1].text.replace("/run/qops-secret", str(key))
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
        assert _made("qwen3.5-397b-nvfp4-sglang", options=Options(secrets=("HF_TOKEN",))).refused == ()


def test_stopping_is_bounded_and_the_drain_shorter() -> None:
    made = _made("qwen3.5-397b-nvfp4-vllm")
    assert "--shutdown-timeout" in made.service.words and made.service.stop == 90
    text = unit(made)
    for line in ("Restart=always", "RestartPreventExitStatus=2", "TimeoutStopSec=120", "StartLimitIntervalSec=0"):
        assert line in text.splitlines()
    assert "--shutdown-timeout" not in _made("qwen3.5-397b-nvfp4-sglang").service.words


def test_the_store_without_the_overlay_is_said() -> None:
    repository = RECIPES["qwen3.5-397b-nvfp4-vllm"].model.repository
    seen = {**hosts.rtxpro(), Models: hosts.stored(repository, COMMIT, 10**9)}
    assert any("without the recipe's changes" in note for note in _made("qwen3.5-397b-nvfp4-vllm", seen).notes)


def test_time_to_start_follows_the_weights() -> None:
    assert _made("qwen3.5-397b-nvfp4-vllm").service.environment["VLLM_ENGINE_READY_TIMEOUT_S"] == "720"
    assert _made("qwen3.5-397b-nvfp4-vllm", hosts.rtxpro()).service.environment["VLLM_ENGINE_READY_TIMEOUT_S"] == "2640"


def test_shared_memory_is_what_the_source_measured() -> None:
    assert _made("qwen3.5-397b-nvfp4-vllm-vision").service.shared_memory == 16 * hosts.GIB
    assert _made("qwen3.6-35b-gdn4lm4-spark-vllm").service.shared_memory == hosts.GIB


def _extended(**over: object) -> ServicePlan:
    recipe = with_(RECIPES["qwen3.6-35b-gdn4lm4-spark-vllm"], **over)
    return make(recipe, _host(recipe), hosts.hardware("spark"), NONE)


def test_what_the_recipe_says_goes_over_what_is_derived_and_both_are_told() -> None:
    made = _extended(flags=(Flag("--kv-cache-memory-bytes", "8589934592"), Flag("--shutdown-timeout", "60")))
    assert made.service.words.count("--kv-cache-memory-bytes") == made.service.words.count("--shutdown-timeout") == 1
    assert _of(made, "--kv-cache-memory-bytes") == "8589934592"
    assert "the recipe says so; derived would be " in _why(made, "--kv-cache-memory-bytes")
    assert "and the same is derived" in _why(made, "--shutdown-timeout")
    made = _extended(environment={"OMP_NUM_THREADS": "4", "NCCL_DEBUG": "INFO"})
    assert (made.service.environment["OMP_NUM_THREADS"], made.service.environment["NCCL_DEBUG"]) == ("4", "INFO")
    assert "derived would be 8" in _why(made, "OMP_NUM_THREADS")


def test_a_flag_that_the_image_does_not_take_is_refused_before_anything_is_written() -> None:
    made = _extended(flags=(Flag("--swap-space", "4"),))
    assert any("vllm 0.26.0, --swap-space: vLLM 0.26.0 does not know it" in reason for reason in made.refused)


def test_a_chat_template_is_mounted() -> None:
    made = _extended(chat_template=Template("/etc/qops/serve/own.jinja", "tools"))
    assert made.service.words[made.service.words.index("--chat-template") + 1] == "/etc/qops-chat-template.jinja"
    assert "src=/etc/qops/serve/own.jinja,dst=/etc/qops-chat-template.jinja,readonly" in unit(made)


def test_an_image_by_digest_alone_does_not_say_its_release() -> None:
    image = RecipeImage("vllm/vllm-openai@sha256:" + "c" * 64, "pinned")
    made = _extended(image=image)
    assert (made.service.image, made.version) == (image.name, "0.33.0")
    assert any("does not say its release" in note for note in made.notes)
    both = RecipeImage("vllm/vllm-openai:v0.26.0@sha256:" + "c" * 64, "pinned")
    assert (_extended(image=both).service.image, _extended(image=both).version) == (both.name, "0.26.0")


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
    arguments = list(made.service.words[1:])
    assert [word.replace("$$", "$") for word in service["command"]] == arguments
    assert shlex.split(run(made).replace("\\\n", " "))[-len(arguments) :] == arguments
    start = unit(made).split("ExecStart=")[1].split("\nExecStop=")[0]
    # What systemd makes of it: continued lines, quotes with escapes in them, %% and $$.
    words = [
        _unquoted(word)
        for word in re.findall(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^\s]+", start.replace("\\\n", " "))
    ]
    assert words[-len(arguments) :] == arguments


def _unquoted(word: str) -> str:
    inner = word[1:-1] if word[0] in "'\"" else word
    return re.sub(r"\\(.)", r"\1", inner).replace("%%", "%").replace("$$", "$")


@pytest.mark.parametrize("name", LIVE)
@pytest.mark.parametrize("options", [NONE, Options(secrets=("HF_TOKEN",), address="0.0.0.0")], ids=["plain", "secret"])
def test_the_role_takes_the_instance_and_writes_the_same_unit(name: str, options: Options) -> None:
    made = _made(name, options=options)
    said = {key.removeprefix("inference_service_"): value for key, value in yaml.safe_load(instance(made)).items()}
    secrets = {made.service.name: dict.fromkeys(options.secrets, "x")} if options.secrets else {}
    lifts = Services({}, Quote("host services", 1, ""), raises_limits=True)
    seen = {**_host(made.recipe), InferenceServices: InferenceServices({}), Services: lifts}
    role = PLAN.make(seen, made.hardware, {**PLAN.defaults, **said, "secrets": secrets})
    assert role.refused == ()
    written = {file["dest"]: file.get("content") for file in role.facts["files"]}
    assert written[service_unit.unit_path(made.service.name)] == service_unit.unit(made.service)
    assert written[service_unit.environment_path(made.service.name)] == environment(made)


def test_the_unit_that_stands_alone_differs_by_what_is_around_its_engine() -> None:
    made = _made("qwen3.5-397b-nvfp4-vllm")
    own, role = (set(text.splitlines()) for text in (unit(made), service_unit.unit(made.service)))
    assert {line.partition("=")[0] for line in own ^ role if not line.startswith("#")} == {
        "ExecCondition", "ExecStartPre", "ExecStopPost",
    }  # fmt: skip
    assert not any("qops-serve-start" in line for line in own)


def test_an_instance_of_a_users_recipe_names_its_folder(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("name: own\nextends: qwen3.6-35b-gdn4lm4-spark-vllm\nport: 8100\n")
    recipe = load([tmp_path])["own"]
    made = make(recipe, _host(recipe), hosts.hardware("spark"), NONE)
    assert yaml.safe_load(instance(made))["inference_service_recipes"] == [str(tmp_path)]
