from judging import causes, outcomes

from qops.rules.host.uvm_hmm_conflict import uvm_hmm_conflict

REFUSED = "[   71.20] nvidia-uvm: uvm_pmm_gpu.c:3201 devmem_alloc_pagemap[pid:2114] request_free_mem_region() err -34\n"


def test_the_kernel_gives_no_address_space() -> None:
    files = {"dmesg.txt": REFUSED, "job.log": "RuntimeError: CUDA error: initialization error\n"}
    assert causes(files)[0] == "uvm-hmm-conflict"


def test_another_error_of_the_same_call_is_not_this() -> None:
    assert causes({"dmesg.txt": REFUSED.replace("-34", "-12")}) == []


def test_other_drivers_that_ask_for_space_are_left_alone() -> None:
    line = "nouveau 0000:01:00.0: DRM: request_free_mem_region failed, no device private memory\n"
    assert not outcomes(uvm_hmm_conflict, {"dmesg.txt": line})


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(uvm_hmm_conflict, {}) is None
