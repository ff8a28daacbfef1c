from judging import outcomes

from qops.rules.host.kernel_option_not_in_force import kernel_option_not_in_force

CHOSEN = '{"qops_role": "pcie_p2p", "hardware_class": "", "settings": {"kernel.iommu": "pt", "kernel.x": "1"}}\n'
WITHOUT = "BOOT_IMAGE=/boot/vmlinuz-6.8.0-60-generic root=/dev/md0 ro quiet\n"
NEXT = "== boot loader\ntool update-grub\nnext root=/dev/md0 ro quiet iommu=pt\n"


def _messages(line: str, intent: str = CHOSEN, **more: str) -> list[str]:
    seen = {"cmdline.txt": line, "intent.json": intent, **more}
    return [o.message for o in outcomes(kernel_option_not_in_force, seen) or ()]  # type: ignore[union-attr]


def test_an_option_that_waits_for_a_reboot() -> None:
    assert _messages(WITHOUT) == ["iommu=pt was chosen and the kernel was started without it"]
    assert _messages(WITHOUT, boot=NEXT)[0].endswith("without it; the next boot has it")


def test_an_option_with_another_value() -> None:
    off = WITHOUT.replace("quiet", "iommu=off")
    assert _messages(off) == ["iommu=pt was chosen and the kernel was started with iommu=off"]


def test_look_alike_in_force() -> None:
    assert _messages(WITHOUT.replace("quiet", "iommu=pt")) == []


def test_look_alike_nobody_chose_it() -> None:
    assert _messages(WITHOUT, CHOSEN.replace("pcie_p2p", "host_tuning")) == []
    assert outcomes(kernel_option_not_in_force, {"cmdline.txt": WITHOUT}) == ()


def test_nothing_seen_is_unknown() -> None:
    assert outcomes(kernel_option_not_in_force, {"intent.json": CHOSEN}) is None
