"""Files that hold secrets, halves, circles or nothing: a clear error with file and line, and no secret anywhere."""

import json

import pytest
from adopting import COMPOSE, RUN, UNIT, adopted, only, planned, reasons
from mangling import mangled

from qops.errors import UsageError
from qops.render import adoption as rendered
from qops.transports.base import clean, decode

PLANTED = "hf_" + "Zq9" * 12
RUN_HEAD = "docker run --gpus all -p 8000:8000 "
IMAGE = "vllm/vllm-openai:v0.33.0"


@pytest.mark.parametrize(
    "text",
    [
        f"{RUN_HEAD} -e HF_TOKEN={PLANTED} {IMAGE} /m",
        f"{RUN_HEAD} --env MY_URL=https://ann:{PLANTED}@example.org {IMAGE} /m",
        f"{RUN_HEAD} --label token={PLANTED} --log-opt gelf-token={PLANTED} {IMAGE} /m",
        f"{RUN_HEAD} {IMAGE} /m --api-key {PLANTED}",
        f"{RUN_HEAD} {IMAGE} /m --api-key={PLANTED} --hf_token {PLANTED}",
        f"KEY={PLANTED}\n{RUN_HEAD} {IMAGE} /m --api-key $KEY",
        f"[Service]\nEnvironment=VLLM_API_KEY={PLANTED}\nExecStart=/v/bin/vllm serve /m --api-key {PLANTED}\n",
        f"[Service]\nExecStartPre=/bin/login --token {PLANTED}\nExecStart=/v/bin/vllm serve /m\n",
        f"curl -H 'Authorization: Bearer {PLANTED}' https://example.org; {RUN_HEAD} {IMAGE} /m",
        f"services:\n  a:\n    image: {IMAGE}\n    environment: {{HF_TOKEN: {PLANTED}}}\n    command: /m\n",
        f"services:\n  a:\n    image: {IMAGE}\n    labels: {{t: {PLANTED}}}\n    command: [/m, --api-key, {PLANTED}]\n",
    ],
)
def test_a_secret_is_named_and_never_shown(text: str) -> None:
    one = only(text)
    for shown in (rendered.text({"": [one]}, {}), rendered.document({"": [one]}, {}, {}), repr(one)):
        assert PLANTED not in shown
    assert one.refused == ()


def test_a_secret_that_only_the_command_line_carries_is_refused() -> None:
    with pytest.raises(
        UsageError, match=r"file:2: a word of the command holds a secret \(Hugging Face token\)"
    ) as told:
        only(f"{RUN_HEAD} \\\n {IMAGE} /m --model-loader-extra-config {PLANTED}")
    assert PLANTED not in told.value.message


def test_sglang_keeps_no_key_in_its_command() -> None:
    one = only(f"docker run --gpus all lmsysorg/sglang:v0.5.23 sglang serve --model-path /m --api-key {PLANTED}")
    assert "put a proxy before it" in reasons(one)["--api-key"] and one.secrets == {}
    assert PLANTED not in rendered.text({"": [one]}, {})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"{RUN_HEAD} \\\n {IMAGE} $MODEL", r"file:2: \$MODEL has no value here"),
        (f"{RUN_HEAD} -v $DIR:/m {IMAGE} /m", r"file:1: \$DIR has no value"),
        (f"{RUN_HEAD} {IMAGE} $(cat model)", r"file:1: \$\(cat model\) has no value"),
        (f'A=(--x 1)\n{RUN_HEAD} {IMAGE} /m "${{B[@]}}"', r"file:2: \$\{B\[@\]\} has no value"),
        ("[Service]\nExecStart=/v/bin/vllm serve /m/%H\n", r"file:2: %H has no value"),
        (f"services:\n  a:\n    image: {IMAGE}\n    command: ${{MODEL:?say it}}\n", r"file:4: \$MODEL has no value"),
        ("services:\n  a: [\n", "file:3: no YAML"),
        ("services:\n  a: {image: x, image: y}\n", "file:2: image stands here twice"),
        ("services:\n  a: &a {b: *a}\n", "file:2"),
        (f"services:\n  a:\n    extends: b\n    image: {IMAGE}\n", "file:3: what a service extends is not followed"),
        ("services:\n  a:\n    build: .\n    command: vllm serve /m\n", "file:3: service a is built here"),
        ("services:\n  a:\n    image: [x]\n    command: {a: b}\n", "file:4: command is a text or a list"),
        ('[{"HostConfig": {}, "Config": {"Cmd": ["vllm"', "file:1: no JSON"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_line(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        adopted(text)


@pytest.mark.parametrize(
    "text", ["", "\n", "echo hello", "services: {}", "[Service]\nExecStart=/bin/true\n", "[]", "{}"]
)
def test_where_there_is_no_engine_none_is_made_up(text: str) -> None:
    assert adopted(text) == []


def test_anchors_that_multiply_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 8)]
    with pytest.raises(UsageError, match="anchors that multiply"):
        adopted("\n".join([*lines, "services: {a: {image: i, command: *a7}}"]))


def test_a_unit_that_breaks_off_is_read_as_far_as_it_goes() -> None:
    assert only("[Service]\nExecStart=/v/bin/vllm serve /m \\").instance["command"][:3] == [
        "/v/bin/vllm",
        "serve",
        "/m",
    ]


def test_a_circle_of_anchors_ends() -> None:
    text = "x-a: &a\n  <<: *a\nservices:\n  a:\n    <<: *a\n    image: i\n"
    with pytest.raises(UsageError):
        adopted(text)


def test_values_that_refer_to_themselves_end() -> None:
    assert adopted("A='$A$A$A'\nB=${B:-${B:-$A}}\ndocker run $B\n") == []


def test_a_volume_at_the_place_of_the_role_and_other_odd_ones() -> None:
    one = only(
        f"{RUN_HEAD} -v /home/ann/.cache:/root/.cache -v /a/../b/./c:/d:rw,Z -v /x -v named:/n"
        f" --mount type=tmpfs,dst=/tmp --mount type=bind,src=/s,dst=/t,readonly -v /dev/shm:/dev/shm {IMAGE} /m"
    )
    assert one.instance["volumes"] == ["/b/c:/d", "/s:/t:ro"]
    left = reasons(one)
    assert "/home/ann/.cache/huggingface:/root/.cache/huggingface" in left["/home/ann/.cache:/root/.cache"]
    assert {"/d: Z", "--volume /x", "--mount /tmp", "volume named at /n", "volume /dev/shm"} <= set(left)


@pytest.mark.parametrize(
    ("given", "port", "address"),
    [
        ("-p 127.0.0.1:8000:8000", 8000, "127.0.0.1"),
        ("-p '[::1]:8001:8000'", 8001, "::1"),
        ("-p localhost:8000:8000/tcp", 8000, "127.0.0.1"),
        ("-p 9000:9000 -p 8002:8000", 8002, "0.0.0.0"),
        ("-p 8000", 8000, "127.0.0.1"),
        ("-p 8000-8010:8000-8010", 8000, "127.0.0.1"),
        ("--network host", 8000, "0.0.0.0"),
        ("", 8000, "127.0.0.1"),
    ],
)
def test_ports(given: str, port: int, address: str) -> None:
    one = only(f"docker run --gpus all {given} {IMAGE} /m")
    assert (one.instance["port"], one.instance["address"]) == (port, address)
    (back,) = planned(one)
    assert back.words[-2:] == ("--host", "0.0.0.0")


@pytest.mark.parametrize("whole", [COMPOSE, RUN, UNIT, json.dumps([{"HostConfig": {}, "Config": {"Cmd": ["vllm"]}}])])
def test_damaged_files_give_an_error_or_an_inventory(whole: str) -> None:
    for data in mangled((whole,), 150):
        try:
            made = adopted(clean(decode(data)))
        except UsageError as error:
            assert error.message
            continue
        rendered.document({"": made}, {}, {})
        # A GPU may have got a name that no host has.
        if made and not any(one.refused or isinstance(one.instance["gpus"], list) for one in made):
            planned(*made)
