"""The setters take what a real driver takes, answer in its words, and are forgotten by a reboot."""

from __future__ import annotations

from simulated import Host, simulated_host

__all__ = ["simulated_host"]  # the fixture `host`


def test_a_limit_out_of_range_is_refused(host: Host) -> None:
    answer = host.become("h200x2").smi("-i", "1", "-pl", "800")
    assert answer.status == 2
    assert answer.out == (
        "Provided power limit 800.00 W is not a valid power limit which should be between 200.00 W and 700.00 W "
        "for GPU 00000000:00:07.0\nTerminating early due to previous errors.\n"
    )
    assert host.query("power.limit")[1] == ["700.00"]


def test_a_limit_is_set_and_lost_at_boot(host: Host) -> None:
    answer = host.become("h200x2").smi("-i", "0", "-pl", "400")
    assert answer.out == ("Power limit for GPU 00000000:00:06.0 was set to 400.00 W from 700.00 W.\nAll done.\n")
    assert host.query("power.limit") == [["400.00"], ["700.00"]]
    host.run("qops-lab-boot")
    assert host.query("power.limit") == [["700.00"], ["700.00"]]


def test_a_spark_has_no_limit_to_set(host: Host) -> None:
    answer = host.become("spark").smi("-pl", "60")
    assert answer.status == 0
    assert answer.out == (
        "Changing power management limit is not supported for GPU: 0000000F:01:00.0.\n"
        "Treating as warning and moving on.\nAll done.\n"
    )


def test_persistence_mode(host: Host) -> None:
    host.become("rtx5090")
    assert host.query("persistence_mode")[0] == ["Disabled"]
    assert host.smi("-i", "0", "-pm", "1").out == "Enabled persistence mode for GPU 00000000:01:00.0.\nAll done.\n"
    assert host.smi("-i", "0", "-pm", "1").out == (
        "Persistence mode is already Enabled for GPU 00000000:01:00.0.\nAll done.\n"
    )
    assert host.query("persistence_mode") == [["Enabled"], ["Disabled"]]
    assert "Warning: persistence mode is disabled on device 00000000:02:00.0." in host.smi("-pl", "500").out


def test_locked_clocks(host: Host) -> None:
    host.become("h200x2").run("qops-lab-load", "busy")
    answer = host.smi("-i", "0", "-lgc", "1200,1500")
    assert answer.out == 'GPU clocks set to "(gpuClkMin 1200, gpuClkMax 1500)" for GPU 00000000:00:06.0\nAll done.\n'
    assert int(host.query("clocks.sm")[0][0]) <= 1500
    assert host.smi("-i", "0", "-rgc").out == "All done.\n"
    # Above the top nothing is refused; the board stays at its top.
    assert host.smi("-lgc", "9000").status == 0
    assert int(host.query("clocks.sm")[0][0]) == 1980


def test_only_root_may(host: Host) -> None:
    host.become("h200x2").monkeypatch.delenv("QOPS_LAB_AS_ROOT")
    host.monkeypatch.setattr("os.geteuid", lambda: 1000)
    answer = host.smi("-i", "0", "-lgc", "1500")
    assert answer.status == 4
    assert answer.out == (
        "The current user does not have permission to change clocks for GPU 00000000:00:06.0.\n"
        "Terminating early due to previous errors.\n"
    )
    assert host.smi("-pl", "400").status == 4
    assert host.smi("-pm", "0").status == 4
