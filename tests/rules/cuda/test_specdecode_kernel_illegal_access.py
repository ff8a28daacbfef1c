from judging import causes, outcomes

from qops.rule import Confidence, Found, RuledOut
from qops.rules.cuda.specdecode_kernel_illegal_access import specdecode_kernel_illegal_access


def test_mtp_and_an_illegal_access() -> None:
    files = {
        "job.log": (
            'vllm serve m --speculative-config \'{"method":"mtp","num_speculative_tokens":2}\'\n'
            "CUDA error: an illegal memory access was encountered\n"
        ),
    }
    found = next(f for f in outcomes(specdecode_kernel_illegal_access, files) or () if isinstance(f, Found))
    assert found.confidence is Confidence.LIKELY
    assert found.evidence
    assert causes(files)[0] == "specdecode-kernel-illegal-access"


def test_look_alike_speculation_is_off() -> None:
    assert "specdecode-kernel-illegal-access" not in causes(
        {
            "job.log": (
                "Initializing a V1 LLM engine with config: speculative_config=None, tokenizer='m'\n"
                "CUDA error: an illegal memory access was encountered\n"
            ),
        }
    )


def test_look_alike_speculation_without_a_fault() -> None:
    assert "specdecode-kernel-illegal-access" not in causes(
        {
            "job.log": ('vllm serve m --speculative-config \'{"method":"mtp","num_speculative_tokens":2}\'\nserving\n'),
        }
    )


def test_ruled_out_when_memory_is_broken() -> None:
    files = {
        "job.log": (
            "--speculative-config {}\n"
            "CUDA error: an illegal memory access was encountered\n"
            "NVRM: Xid (PCI:0000:41:00): 95, pid=1, name=python3, Uncontained\n"
        ),
    }
    assert any(isinstance(o, RuledOut) for o in outcomes(specdecode_kernel_illegal_access, files) or ())
    assert "specdecode-kernel-illegal-access" not in causes(files)


def test_nothing_seen_gives_no_finding() -> None:
    assert not outcomes(specdecode_kernel_illegal_access, {})
