from judging import text

from qops.probes.system import parse, recognise


def test_all_sources_together() -> None:
    found = parse(
        [
            text("Linux node7 6.8.0-45-generic #45-Ubuntu SMP PREEMPT_DYNAMIC x86_64 x86_64 GNU/Linux\n", "uname -a"),
            text('NAME="Ubuntu"\nVERSION_ID="24.04"\nID=ubuntu\n', "/etc/os-release"),
            text(
                "Architecture:   x86_64\nCPU(s):   128\nVendor ID:   AuthenticAMD\n  Socket(s):   2\n"
                "Flags:  fpu hypervisor avx\nHypervisor vendor:   KVM\n",
                "lscpu",
            ),
        ]
    )
    assert found is not None
    assert (found.kernel, found.machine, found.os) == ("6.8.0-45-generic", "x86_64", "ubuntu 24.04")
    assert (found.cpu_vendor, found.cpus, found.sockets, found.hypervisor) == ("AuthenticAMD", 128, 2, "KVM")


def test_a_processor_flag_shows_a_hypervisor() -> None:
    found = parse([text("vendor_id\t: GenuineIntel\nflags\t\t: fpu vme hypervisor lahf_lm\n")])
    assert found is not None
    assert found.cpu_vendor == "GenuineIntel"
    assert found.hypervisor


def test_bare_metal_has_none() -> None:
    found = parse([text("Architecture: aarch64\nVendor ID: ARM\nFlags: fp asimd\n")])
    assert found is not None
    assert found.hypervisor == ""


def test_lsb_release() -> None:
    found = parse([text("Distributor ID:\tDebian\nDescription:\tDebian GNU/Linux 12\nRelease:\t12\n")])
    assert found is not None
    assert found.os == "debian 12"


def test_one_line_that_may_be_anything_is_not_enough() -> None:
    assert not recognise(text("ID=worker\n"))
    assert not recognise(text("Linux is fine here\nKeyError: 'CPU(s)'\n"))
