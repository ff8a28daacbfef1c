import pytest
from judging import diagnose, text

from qops.probes.payloads import LEFT_OUT, without
from qops.report import Verdict

UP = (
    "(APIServer pid=1) INFO 11-30 09:00:01 [api_server.py:1884] vLLM API server version 0.30.0\n"
    "(APIServer pid=1) INFO:     Application startup complete.\n"
)
LOGGED = {
    "vllm until 0.11": "INFO 11-30 09:05:39 [logger.py:41] Received request chatcmpl-9: prompt: '{}', params: "
    "SamplingParams(n=1), prompt_token_ids: None, lora_request: None.",
    "vllm": "(APIServer pid=1) DEBUG 11-30 09:05:39 [logger.py:44] Request chatcmpl-9 details: prompt: '{}'",
    "vllm's answer": "(APIServer pid=1) INFO 11-30 09:05:39 [logger.py:69] Generated response chatcmpl-9 (streaming "
    "complete): output: '{}', finish_reason: stop",
    "sglang": "[2026-11-30 09:05:39] Receive: obj=GenerateReqInput(rid='a1', text='{}', sampling_params={{}})",
    "sglang's chat": "[2026-11-30 09:05:39] Receive OpenAI: obj={{'messages': [{{'content': '{}'}}]}}",
    "sglang's answer": "[2026-11-30 09:05:39] Finish: obj=GenerateReqInput(rid='a1'), out={{'text': '{}'}}",
}
QUESTIONS = (
    "RuntimeError: CUDA error: an illegal memory access was encountered",
    "NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus",
    "Failed to initialize NVML: Driver/library version mismatch",
)


@pytest.mark.parametrize("form", LOGGED.values(), ids=LOGGED)
@pytest.mark.parametrize("question", QUESTIONS)
def test_what_a_user_asks_about_is_no_fault_of_the_machine(form: str, question: str) -> None:
    assert diagnose({"engine.log": f"{UP}{form.format(question)}\n"}).verdict is Verdict.HEALTHY


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_same_words_of_a_program_are(question: str) -> None:
    assert diagnose({"engine.log": f"{UP}{question}\n"}).verdict is Verdict.FAULT


def test_the_rest_of_the_line_stays() -> None:
    (line,) = without(text("x Received request r-1: prompt: 'a secret', params: P\n")).lines
    assert line == f"x Received request r-1: prompt: {LEFT_OUT}"


def test_other_texts_are_left_alone() -> None:
    other = text("prompt: $ \nReceived request of 3 bytes\n")
    assert without(other) == other
