from judging import outcomes

from qops.rules.cuda.torch_sees_gpu import torch_sees_gpu


def test_both_spellings_of_the_collectors() -> None:
    assert outcomes(torch_sees_gpu, {"env.txt": "Is CUDA available            : True\n"})  # PyTorch, vLLM
    assert outcomes(torch_sees_gpu, {"env.txt": "CUDA available: True\n"})  # SGLang


def test_cuda_that_is_not_there_is_no_sign() -> None:
    assert outcomes(torch_sees_gpu, {"env.txt": "CUDA available: False\n"}) == ()


def test_nothing_seen_is_unknown() -> None:
    assert not outcomes(torch_sees_gpu, {})
