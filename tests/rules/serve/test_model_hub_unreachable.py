import pytest
from judging import causes, diagnose, outcomes

from qops.rule import RuledOut
from qops.rules.serve.model_hub_unreachable import model_hub_unreachable

POOL = (
    "requests.exceptions.ConnectionError: (MaxRetryError(\"HTTPSConnectionPool(host='huggingface.co', port=443): Max "
)


@pytest.mark.parametrize(
    "text",
    [
        "OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them in the cached "
        "files.\n",
        f"{POOL}retries exceeded with url: /Qwen/Qwen3-8B/resolve/main/config.json (Caused by NameResolutionError(...))\n",
        "huggingface_hub.errors.LocalEntryNotFoundError: An error happened while trying to locate the file on the Hub and "
        "we cannot find the requested files in the local cache.\n",
    ],
)
def test_the_hub_cannot_be_reached(text: str) -> None:
    assert causes({"engine.log": text})[:1] == ["model-hub-unreachable"]


@pytest.mark.parametrize(
    "text",
    [
        "'(ReadTimeoutError(\"HTTPSConnectionPool(host='huggingface.co', port=443): Read timed out. (read timeout=10)\"), "
        "'(Request ID: 1)')' thrown while requesting HEAD https://huggingface.co/Qwen/Qwen3-8B/resolve/main/config.json\n"
        "Retrying in 1s [Retry 1/5].\n",
        "Fetching 4 files: 100%|##########| 4/4 https://huggingface.co/Qwen/Qwen3-8B\n",
    ],
)
def test_a_try_that_is_made_again_is_no_fault(text: str) -> None:
    assert causes({"engine.log": text}) == []


def test_an_engine_that_loaded_the_model_rules_it_out() -> None:
    text = f"{POOL}retries exceeded (Caused by NameResolutionError(...))\nINFO Loading weights took 11.2 seconds\n"
    (outcome,) = outcomes(model_hub_unreachable, {"engine.log": text}) or ()
    assert isinstance(outcome, RuledOut)


def test_a_hub_that_refuses_was_reached() -> None:
    text = f"{POOL}retries exceeded (Caused by NameResolutionError(...))\nCannot access gated repo for url https://x\n"
    assert diagnose({"engine.log": text}).findings[0].cause == "hf-auth-missing"


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(model_hub_unreachable, {}) is None
