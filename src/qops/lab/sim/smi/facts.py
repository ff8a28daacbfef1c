"""The values of nvidia-smi's fields for one GPU, as `-q` prints them, by the keys of the layout."""

from __future__ import annotations

from .. import faults, load
from ..boards import Board
from ..hardware import Gpu
from .snapshot import Snapshot

NA = "N/A"
DEPRECATED = "Requested functionality has been deprecated"


def _watts(value: float | None) -> str:
    return NA if value is None else f"{value:.2f} W"


def _identity(shot: Snapshot, gpu: Gpu) -> dict[str, str]:
    board, at = shot.hardware.board, gpu.slot.address
    platform = ("chassis_serial", "slot_number", "tray_index", "host_id", "peer_type", "fabric_guid")
    facts = {key: board.platform[place] for place, key in enumerate(platform)}
    inforom = ("inforom_image", "inforom_oem", "inforom_ecc")
    facts.update({key: board.inforom[place] for place, key in enumerate(inforom)})
    board_id = at.device if gpu.slot.bare else at.domain << 16 | at.bus << 8
    facts.update(
        name=board.name,
        brand=board.brand,
        architecture=board.architecture,
        vbios=board.vbios,
        display_attached=board.display_attached,
        addressing_mode=board.addressing,
        mig=board.mig,
        persistence="Enabled" if shot.persistence(gpu) else "Disabled",
        serial=gpu.serial if board.brand != "GeForce" and not board.unified else "0",
        uuid=gpu.uuid,
        pdi=gpu.pdi,
        minor=str(gpu.index),
        board_id=f"0x{board_id:x}",
        board_part=board.board_part,
        gpu_part=board.gpu_part,
        module_id=gpu.module,
        c2c="Enabled" if board.unified else "Disabled",
        virtualization=str(shot.hardware.raw.get("virtualization", "None")),
        driver=shot.versions.library,
        bus=f"0x{at.bus:02X}",
        device=f"0x{at.device:02X}",
        domain=f"0x{at.domain:04X}",
        device_id=board.device_id,
        bus_id=at.smi,
        subsystem_id=board.subsystem_id,
        index=str(gpu.index),
        compute_cap=board.compute_cap,
        count=str(len(shot.gpus)),
        egm="disabled",
        replays=str((list(shot.hardware.raw["gpus"].get("replays", [])) + [0] * 99)[gpu.index]),
        atomic_inbound=board.atomics,
        sparse=board.sparse,
        dram_encryption=board.dram_encryption,
    )
    return facts


def _memory(board: Board, reading: load.Reading) -> dict[str, str]:
    keys = ("fb_total", "fb_reserved", "fb_used", "fb_free", "bar1_total", "bar1_used", "bar1_free")
    if board.memory is None:
        return dict.fromkeys(keys, NA)
    # The three are rounded apart: on real cards free is one more than what the others leave.
    free = board.memory - board.reserved - reading.used + 1
    total, rest = board.bar1
    values = (board.memory, board.reserved, reading.used, free, total, rest, total - rest)
    return {key: f"{values[place]} MiB" for place, key in enumerate(keys)}


def _power(shot: Snapshot, gpu: Gpu, reading: load.Reading) -> dict[str, str]:
    board = shot.hardware.board
    low, default, high = board.power or (None, None, None)
    return {
        "power": _watts(reading.power),
        "power_instant": _watts(reading.power_instant),
        "power_memory": _watts(reading.power_memory if board.memory_power else None),
        "limit": _watts(reading.limit),
        "limit_requested": _watts(reading.limit),
        "limit_default": _watts(default),
        "limit_min": _watts(low),
        "limit_max": _watts(high),
    }


def _temperature(board: Board, reading: load.Reading) -> dict[str, str]:
    return {
        "temp": f"{reading.temp} C",
        "tlimit": f"{board.tlimit - reading.temp} C",
        "tlimit_shutdown": board.tlimits[0],
        "tlimit_slowdown": board.tlimits[1],
        "tlimit_max": board.tlimits[2],
        "target_temp": NA,
        "temp_memory": f"{reading.temp_memory} C" if board.memory_temp else NA,
        "tlimit_memory": "0 C" if board.memory_temp else NA,
        "fan": NA if reading.fan is None else f"{reading.fan} %",
    }


def _clocks(board: Board, reading: load.Reading) -> dict[str, str]:
    def mhz(value: int) -> str:
        return f"{value} MHz" if value else NA

    high = (board.memory_clock or (0, 0))[1]
    apps = (mhz(board.app_clocks[0]), mhz(board.app_clocks[1])) if board.app_clocks else (DEPRECATED, DEPRECATED)
    facts = {
        "clock_graphics": mhz(reading.sm),
        "clock_sm": mhz(reading.sm),
        "clock_memory": mhz(reading.memory_clock),
        "clock_video": mhz(reading.video),
        "app_graphics": apps[0],
        "app_memory": apps[1],
        "max_graphics": mhz(board.sm[1]),
        "max_memory": mhz(high),
        "max_video": mhz(board.video[1]),
        "pstate": reading.pstate,
        "reasons": f"0x{reading.reasons:016X}",
    }
    for name, bit in load.REASONS.items():
        facts["reason_" + name] = "Active" if reading.reasons & bit else "Not Active"
    for name in ("sw_power_cap", "sync_boost", "sw_thermal", "hw_thermal", "hw_power_brake"):
        thermal = "thermal" in name
        facts["counter_" + name] = f"{reading.throttled if thermal else 0} us"
    return facts


def _errors(shot: Snapshot, gpu: Gpu) -> dict[str, str]:
    """ECC and row remapping. The planted hardware fault is uncorrectable DRAM errors and remapped rows."""
    board = shot.hardware.board
    enabled = board.ecc == "Enabled"
    bad = shot.faults.hits(faults.ECC, gpu.index, 0)
    zero = "0" if enabled else NA
    facts = {"ecc": board.ecc}
    kinds = (
        "sram_correctable",
        "sram_uncorrectable_parity",
        "sram_uncorrectable_secded",
        "dram_correctable",
        "dram_uncorrectable",
    )
    for kind in kinds:
        facts["ecc_v_" + kind] = facts["ecc_a_" + kind] = zero
    for kind in ("l2", "sm", "microcontroller", "pcie", "other"):
        facts["ecc_s_sram_" + kind] = zero
    no = "No" if enabled else NA
    facts.update(
        ecc_a_sram_threshold_exceeded=no,
        ecc_channel_repair_pending=no,
        ecc_tpc_repair_pending=no,
        ecc_unrepairable_memory=no,
        recovery="None",
    )
    rows = board.rows is not None
    none, bank = ("0", "0 bank(s)") if rows else (NA, NA)
    for kind in (
        "correctable_error",
        "inactive_correctable_error",
        "uncorrectable_error",
        "inactive_uncorrectable_error",
    ):
        facts["remap_" + kind] = none
    for kind in ("high", "partial", "low", "none"):
        facts["remap_" + kind] = bank
    facts.update(
        remap_max=f"{board.rows} bank(s)" if rows else NA,
        remap_pending="No" if rows else NA,
        remap_remapping_failure_occurred="No" if rows else NA,
    )
    if bad:
        errors = str(shot.faults.value(faults.ECC, "uncorrectable", 1))
        remapped = int(shot.faults.value(faults.ECC, "remapped", 2))
        reset = bool(shot.faults.value(faults.ECC, "reset", False))
        facts.update(
            ecc_v_dram_uncorrectable="0" if reset else errors,
            ecc_a_dram_uncorrectable=errors,
            remap_uncorrectable_error=str(remapped),
            remap_pending="No" if reset else "Yes",
            recovery="None" if reset else "Reset",
            remap_max=f"{(board.rows or remapped) - remapped} bank(s)",
            remap_high=f"{remapped} bank(s)",
        )
        if shot.faults.value(faults.ECC, "failed", False):
            facts.update(remap_remapping_failure_occurred="Yes")
    return facts


def _fabric(shot: Snapshot) -> dict[str, str]:
    keys = ("fabric_state", "fabric_status", "fabric_clique", "fabric_cluster")
    values = ("Completed", "Success", "0", "00000000-0000-0000-0000-000000000000")
    if not (shot.hardware.board.fabric and shot.hardware.nvlinks):
        values = (NA, NA, NA, NA)
    elif shot.unmanaged:
        values = ("In Progress", NA, NA, NA)
    return {key: values[place] for place, key in enumerate(keys)}


def facts(shot: Snapshot, gpu: Gpu) -> dict[str, str]:
    """Return every value of one GPU."""
    board, reading = shot.hardware.board, shot.readings[gpu.index]
    width = f"{board.link[1]}x"
    return {
        **_identity(shot, gpu),
        **_memory(board, reading),
        **_power(shot, gpu, reading),
        **_temperature(board, reading),
        **_clocks(board, reading),
        **_errors(shot, gpu),
        **_fabric(shot),
        "gen": str(reading.gen),
        "gen_max": str(board.link[0]),
        "gen_host": board.host_gen,
        "width": width,
        "width_max": width,
        "tx": f"{reading.tx} KB/s",
        "rx": f"{reading.rx} KB/s",
        "util": f"{reading.util} %",
        "util_memory": f"{reading.util_memory} %",
    }
