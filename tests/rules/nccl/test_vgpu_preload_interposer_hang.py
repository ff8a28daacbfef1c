from judging import causes, outcomes
from nccl_pictures import RESULT, spin, start

from qops.rule import RuledOut
from qops.rules.nccl.vgpu_preload_interposer_hang import vgpu_preload_interposer_hang as rule

BANNER = "(Worker_TP1 pid=310) INFO 09-01 10:11:12 [pynccl.py:111] vLLM is using nccl==2.28.9\n"
PRELOAD = {"env.txt": "LD_PRELOAD=/usr/local/vgpu/libvgpu.so\n"}


def test_a_preloaded_library_and_a_log_that_ends_at_nccl() -> None:
    assert causes({"engine.log": BANNER} | PRELOAD)[:1] == ["vgpu-preload-interposer-hang"]


def test_its_own_banner_shows_it_too() -> None:
    log = "[HAMI-core Msg(310:140200111:libvgpu.c:855)]: Initialized\n"
    assert causes({"engine.log": log, "smi.csv": spin()})[:1] == ["vgpu-preload-interposer-hang"]


def test_ranks_that_started_rule_it_out() -> None:
    told = outcomes(rule, {"job.log": start()} | PRELOAD) or ()
    assert [type(o) for o in told] == [RuledOut]


def test_the_library_alone_and_another_preload_are_no_fault() -> None:
    assert causes(PRELOAD | {"job.log": RESULT}) == []
    jemalloc = {"env.txt": "LD_PRELOAD=/usr/lib/x86_64-linux-gnu/libjemalloc.so.2\n"}
    assert "vgpu-preload-interposer-hang" not in causes({"engine.log": BANNER} | jemalloc)


def test_the_switch_of_the_library_rules_it_out() -> None:
    off = {"env.txt": "LD_PRELOAD=/usr/local/vgpu/libvgpu.so\nCUDA_DISABLE_CONTROL=true\n"}
    told = outcomes(rule, {"engine.log": BANNER} | off) or ()
    assert [type(o) for o in told] == [RuledOut]


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(rule, {}) is None
