from judging import text

from qops.probes.modules import parse, recognise


def test_proc_modules() -> None:
    found = parse(
        [text("nvidia_uvm 1830912 0 - Live 0xffffffffc080c000 (O)\nnvidia 14299136 2 nvidia_uvm, Live 0x0 (O)\n")]
    )
    assert found is not None
    assert found.loaded == ("nvidia_uvm", "nvidia")
    assert found.nvidia_for is None


def test_lsmod_table_ends_with_the_table() -> None:
    found = parse(
        [text("Module                  Size  Used by\nnouveau              2000000  0\nmlx5_ib 450560 0\n\nfoo 1 2\n")]
    )
    assert found is not None
    assert found.loaded == ("nouveau", "mlx5_ib")


def test_lsmod_row_without_its_header() -> None:
    found = parse([text("$ lsmod | grep nvidia\nnvidia_drm             94208  4\n")])
    assert found is not None
    assert found.loaded == ("nvidia_drm",)


def test_modules_on_disk() -> None:
    found = parse(
        [
            text(
                "    /lib/modules/6.5.0-18-generic/updates/dkms/nvidia.ko.zst\n"
                "    /lib/modules/6.5.0-18-generic/updates/dkms/nvidia-uvm.ko.zst\n"
                "nvidia/570.86.10, 6.8.0-31-generic, x86_64: installed\n"
                "nvidia, 550.54.14, 6.2.0-26-generic, x86_64: installed (original module exists)\n"
                "nvidia/570.86.10, 6.8.0-40-generic, x86_64: added\n"
            )
        ]
    )
    assert found is not None
    assert found.nvidia_for == ("6.5.0-18-generic", "6.8.0-31-generic", "6.2.0-26-generic")


def test_looked_and_found_none() -> None:
    found = parse([text("== nvidia modules on disk\n")])
    assert found is not None
    assert found.nvidia_for == ()


def test_other_text() -> None:
    assert not recognise(text("rank 0 step 12\n3 4\nnvidia is great"))
