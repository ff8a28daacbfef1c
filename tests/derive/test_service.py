import pytest

from qops.derive.service import said, words_of
from qops.derive.service_unit import quoted


@pytest.mark.parametrize(
    ("command", "engine", "model", "port", "address", "drain"),
    [
        ("/v/bin/vllm serve /m --served-model-name a b --port 9 --host ::1", "vllm", "a", 9, "::1", None),
        ("vllm serve acme/whale --shutdown-timeout=45", "vllm", "acme/whale", None, "", 45),
        ("vllm serve --model /m --served_model_name=a", "vllm", "a", None, "", None),
        ("sglang serve --model-path /m --port 30001", "sglang", "/m", 30001, "", None),
        ("python3 -m sglang.launch_server --model-path /m --served-model-name w", "sglang", "w", None, "", None),
        ("env A=1 vllm serve /m --port 1 --port 2", "vllm", "/m", 2, "", None),
        ("vllm serve /m --port $PORT", "vllm", "/m", None, "", None),
        ("/usr/bin/other --port 9", "", "", None, "", None),
    ],
)
def test_what_a_command_says_of_itself(
    command: str, engine: str, model: str, port: int | None, address: str, drain: int | None
) -> None:
    found = said(words_of(command))
    assert (found.engine, found.model, found.port, found.address, found.drain) == (engine, model, port, address, drain)


def test_a_secret_in_a_command_is_wrong() -> None:
    assert "--api-key would show its secret" in said(words_of("vllm serve /m --api-key=k")).wrong[0]


def test_an_image_whose_entry_point_is_the_engine() -> None:
    assert said(("/m", "--port", "9"), "vllm/vllm-openai:v0.33.0").port == 9


@pytest.mark.parametrize(
    ("word", "written"),
    [
        ("--port=9", "--port=9"),
        ("", "''"),
        ("a b", "'a b'"),
        ('{"method":"mtp"}', """'{"method":"mtp"}'"""),
        ("50%", "50%%"),
        ("$HOME", "$$HOME"),
        ("C:\\x", "'C:\\\\x'"),
        ("it's", '"it\'s"'),
        ('it\'s "so"', '"it\'s \\"so\\""'),
        (";", "';'"),
    ],
)
def test_words_of_a_unit(word: str, written: str) -> None:
    assert quoted(word) == written
