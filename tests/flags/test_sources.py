"""Commands and variables in units, quadlets, compose files, scripts and environment files."""

from textwrap import dedent

import pytest

from qops.errors import UsageError
from qops.flags import sources


def _read(text: str, engine: str = "") -> list[tuple[str, list[str], list[str], str]]:
    source = sources.read(dedent(text), "file", engine)
    return [
        (
            one.engine,
            [f"{word.line}:{word.text}" for word in one.arguments],
            [f"{own.line}:{own.name}={own.value}" for own in one.environment],
            one.image,
        )
        for one in source.commands
    ]


def test_a_unit_with_a_program_of_the_host() -> None:
    unit = """\
        [Unit]
        Description=x

        [Service]
        Environment=SIZE=2 "EXTRA=--port 9000"
        Environment=VLLM_A=1
        ExecStart=@-/opt/v/bin/vllm serve /models/%i \\
            # not a word
            --tensor-parallel-size ${SIZE} \\
            $EXTRA $UNKNOWN
        Restart=always
    """
    assert _read(unit) == [
        (
            "vllm",
            ["7:/models/${i}", "9:--tensor-parallel-size", "9:2", "10:--port", "10:9000", "10:$UNKNOWN"],
            ["5:SIZE=2", "5:EXTRA=--port 9000", "6:VLLM_A=1"],
            "",
        )
    ]


def test_a_unit_with_a_container_passes_on_what_it_names() -> None:
    unit = """\
        [Service]
        Environment=VLLM_A=1 VLLM_B=2
        ExecStart=/usr/bin/docker run --rm -e VLLM_A -e VLLM_C=3 vllm/vllm-openai:v0.33.0 M
    """
    assert _read(unit) == [("vllm", ["3:M"], ["3:VLLM_A=1", "3:VLLM_C=3"], "vllm/vllm-openai:v0.33.0")]


def test_a_quadlet_gives_arguments_to_its_image() -> None:
    quadlet = """\
        [Container]
        Image=vllm/vllm-openai:v0.33.0
        Environment=VLLM_A=1
        Exec=--model M --port 1
    """
    assert _read(quadlet) == [
        ("vllm", ["4:--model", "4:M", "4:--port", "4:1"], ["3:VLLM_A=1"], "vllm/vllm-openai:v0.33.0")
    ]


def test_a_compose_file_with_every_way_to_write_a_command() -> None:
    compose = """\
        x-shared: &shared
          VLLM_A: "1"
        services:
          database:
            image: postgres:16
            command: postgres -c x=1
          folded:
            image: ${IMAGE:-vllm/vllm-openai:v0.33.0}
            environment:
              <<: *shared
              VLLM_B: 2
            command: >
              --model M
              --hf-overrides '{"a": {"b": 1}}'
              --port ${PORT:-8000}
          listed:
            image: vllm/vllm-openai
            environment: [VLLM_C=3, VLLM_D]
            command:
              - M
              - --port=1
          entry:
            image: example/none
            entrypoint: ["python3", "-m", "sglang.launch_server"]
            command: --model-path M
    """
    assert _read(compose) == [
        (
            "vllm",
            ["13:--model", "13:M", "14:--hf-overrides", '14:{"a": {"b": 1}}', "15:--port", "15:8000"],
            ["2:VLLM_A=1", "11:VLLM_B=2"],
            "vllm/vllm-openai:v0.33.0",
        ),
        ("vllm", ["20:M", "21:--port=1"], ["18:VLLM_C=3", "18:VLLM_D=$"], "vllm/vllm-openai"),
        ("sglang", ["25:--model-path", "25:M"], [], "example/none"),
    ]


def test_a_piece_of_a_compose_file_needs_to_be_told_whose_it_is() -> None:
    piece = """\
        environment:
          - VLLM_A=1
        command: >
          --model M
    """
    assert _read(piece) == []
    assert _read(piece, "vllm") == [("vllm", ["4:--model", "4:M"], ["2:VLLM_A=1"], "")]


def test_a_compose_file_that_is_no_yaml_names_the_line() -> None:
    with pytest.raises(UsageError, match=r"^file:3: "):
        sources.read("services:\n  a: [\n", "file")


def test_a_script_with_exports() -> None:
    script = """\
        #!/bin/bash
        export SGLANG_A=1
        SIZE=2
        SGLANG_B=2 python3 -m sglang.launch_server \\
          --model-path M --tp-size $SIZE &
        docker run -e X=1 lmsysorg/sglang:v0.5.23 sglang serve --model-path N
    """
    assert _read(script) == [
        (
            "sglang",
            ["5:--model-path", "5:M", "5:--tp-size", "5:2"],
            ["2:SGLANG_A=1", "3:SIZE=2", "4:SGLANG_B=2"],
            "",
        ),
        ("sglang", ["6:--model-path", "6:N"], ["6:X=1"], "lmsysorg/sglang:v0.5.23"),
    ]


def test_an_environment_file_has_variables_alone() -> None:
    source = sources.read("# said\nVLLM_A=1\nexport VLLM_B='x y'\nVLLM_C=1 # said\n", "file")
    assert source.commands == []
    assert [(one.line, one.name, one.value) for one in source.variables] == [
        (2, "VLLM_A", "1"), (3, "VLLM_B", "x y"), (4, "VLLM_C", "1"),
    ]  # fmt: skip
