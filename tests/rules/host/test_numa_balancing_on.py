from judging import outcomes

from qops.rules.host.numa_balancing_on import numa_balancing_on

H200 = "GPU 0: NVIDIA H200 (UUID: GPU-0a0a0a0a-0000-0000-0000-000000000001)\n"
OTHER = "GPU 0: NVIDIA L40S (UUID: GPU-0a0a0a0a-0000-0000-0000-000000000003)\n"


def test_on() -> None:
    (found,) = outcomes(numa_balancing_on, {"smi.txt": H200, "s.txt": "kernel.numa_balancing = 1\n"}) or ()
    assert "kernel.numa_balancing is 1 and should be 0" in found.message  # type: ignore[union-attr]


def test_look_alike_off() -> None:
    assert outcomes(numa_balancing_on, {"smi.txt": H200, "s.txt": "kernel.numa_balancing = 0\n"}) == ()


def test_look_alike_a_kernel_without_it() -> None:
    without = "sysctl: cannot stat /proc/sys/kernel/numa_balancing: No such file or directory\n"
    assert outcomes(numa_balancing_on, {"smi.txt": H200, "s.txt": without}) == ()


def test_look_alike_the_inventory_chose_it() -> None:
    chosen = '{"qops_role": "host_tuning", "hardware_class": "", "settings": {"kernel.numa_balancing": "1"}}'
    seen = {"smi.txt": H200, "s.txt": "kernel.numa_balancing = 1\n", "i.json": chosen}
    assert outcomes(numa_balancing_on, seen) == ()


def test_hardware_that_is_not_known_is_not_judged() -> None:
    assert outcomes(numa_balancing_on, {"smi.txt": OTHER, "s.txt": "kernel.numa_balancing = 1\n"}) == ()


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(numa_balancing_on, {"smi.txt": H200}) is None
