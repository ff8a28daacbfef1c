"""Finding the engine's command and its words, however it is wrapped."""

import pytest

from qops.flags import Command, find, shell
from qops.flags.shell import Word


def _found(text: str, image: str = "") -> Command | None:
    return find(shell.words(text), image)


def _shown(command: Command | None) -> tuple[str, str, str, str]:
    assert command is not None
    environment = " ".join(f"{one.name}={one.value}" for one in command.environment)
    return command.engine, command.entry, environment, " ".join(one.text for one in command.arguments)


@pytest.mark.parametrize(
    ("text", "engine", "entry", "environment", "arguments"),
    [
        ("vllm serve M -tp 2", "vllm", "vllm serve", "", "M -tp 2"),
        ("A=1 B='x y' exec /opt/v/bin/vllm serve M", "vllm", "vllm serve", "A=1 B=x y", "M"),
        ("env -i A=1 numactl --cpunodebind=0 -m 0 vllm serve M", "vllm", "vllm serve", "A=1", "M"),
        ("sglang serve --model-path M", "sglang", "sglang serve", "", "--model-path M"),
        ("python3 -m sglang.launch_server --tp 2", "sglang", "-m sglang.launch_server", "", "--tp 2"),
        (
            "python -m vllm.entrypoints.openai.api_server --model M",
            "vllm",
            "-m vllm.entrypoints.openai.api_server",
            "",
            "--model M",
        ),
        ("bash -lc 'C=3 vllm serve M --port 1'", "vllm", "vllm serve", "C=3", "M --port 1"),
        (
            "docker run -d --gpus all -p 1:2 --shm-size=16g -e A=1 --env B=2 -v /x:/y vllm/vllm-openai:v0.33.0 M --port 1",
            "vllm",
            "vllm serve",
            "A=1 B=2",
            "M --port 1",
        ),
        (
            "sudo docker run -it --rm --ulimit memlock=-1 lmsysorg/sglang:v0.5.23 sglang serve --model-path M",
            "sglang",
            "sglang serve",
            "",
            "--model-path M",
        ),
        ("podman run --entrypoint vllm quay.io/x/y:1 serve M", "vllm", "vllm serve", "", "M"),
        ("docker run -eA=1 -dit example/vllm-custom:1 --model M", "vllm", "vllm serve", "A=1", "--model M"),
    ],
)
def test_the_engine_is_found_in(text: str, engine: str, entry: str, environment: str, arguments: str) -> None:
    assert _shown(_found(text)) == (engine, entry, environment, arguments)


@pytest.mark.parametrize(
    "text",
    [
        "ls -la",
        "vllm bench serve",
        "docker run -it lmsysorg/sglang:dev bash",
        "docker pull vllm/vllm-openai",
        "docker run",
    ],
)
def test_what_starts_no_engine_is_none(text: str) -> None:
    assert _found(text) is None


def test_the_hosts_variables_reach_no_container_unless_passed_on() -> None:
    found = _found("VLLM_A=1 HF_TOKEN=x docker run -e HF_TOKEN -e VLLM_B=2 vllm/vllm-openai:v0.33.0 M")
    assert found is not None
    assert [(one.name, one.value) for one in found.environment] == [("HF_TOKEN", "x"), ("VLLM_B", "2")]
    assert (found.image, found.tag) == ("vllm/vllm-openai:v0.33.0", "0.33.0")


@pytest.mark.parametrize(
    ("image", "tag"),
    [
        ("vllm/vllm-openai:v0.32.0-cu129", "0.32.0"),
        ("lmsysorg/sglang:v0.5.10.post1-runtime", "0.5.10.post1"),
        ("vllm/vllm-openai:nightly", ""),
        ("registry:5000/vllm", ""),
    ],
)
def test_a_tag_may_name_the_release(image: str, tag: str) -> None:
    assert Command("vllm", "vllm serve", (), image=image).tag == tag


def test_words_keep_their_lines_and_lose_their_quotes() -> None:
    text = 'A=1 vllm serve \\\n  \'a b\' "c\\"d $X" \\\n  e\\ f # said\n\ng; h && i'
    assert shell.commands(text, 10) == [
        [Word("A=1", 10), Word("vllm", 10), Word("serve", 10), Word("a b", 11), Word('c"d $X', 11), Word("e f", 12)],
        [Word("g", 14)],
        [Word("h", 14)],
        [Word("i", 14)],
    ]


@pytest.mark.parametrize("text", ["'open", '"open', "a\\", "${open", "$(open", "'", '"', "", "''"])
def test_text_that_ends_too_early_ends_there(text: str) -> None:
    assert len(shell.words(text)) <= 1
