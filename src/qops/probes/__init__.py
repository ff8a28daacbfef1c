"""One module per source of evidence: what is asked, and a total parser for the answer."""

from functools import cache

from qops.evidence.text import Text
from qops.probes import (
    boot_loader,
    cdi,
    cgroups,
    clock,
    clock_locks,
    contacts,
    container_engine,
    container_gpus,
    containers,
    cpu_frequency,
    cuda_libraries,
    cuda_results,
    disks,
    driver,
    driver_params,
    driver_setup,
    engine_logs,
    engine_metrics,
    environment,
    firewall,
    flight_recorder,
    gpu_samples,
    gpus,
    hugepages,
    images,
    inference,
    intent,
    iommu,
    job_results,
    kernel_cmdline,
    kernel_log,
    limits,
    listeners,
    memory,
    messages,
    models,
    modules,
    nccl_log,
    network,
    network_config,
    p2p,
    packages,
    pcie,
    pcie_control,
    peer_probe,
    peer_rates,
    processes,
    ras,
    rdma_ports,
    services,
    shared_memory,
    standing,
    sysctls,
    system,
    topology,
    torch_log,
)
from qops.probes.base import Probe
from qops.probes.scan import automaton

ALL: tuple[Probe, ...] = (
    messages.PROBE,
    gpus.PROBE,
    gpu_samples.PROBE,
    topology.PROBE,
    p2p.PROBE,
    peer_probe.PROBE,
    peer_rates.PROBE,
    driver.PROBE,
    driver_params.PROBE,
    driver_setup.PROBE,
    clock_locks.PROBE,
    pcie.PROBE,
    pcie_control.PROBE,
    network.PROBE,
    network_config.PROBE,
    rdma_ports.PROBE,
    nccl_log.PROBE,
    ras.PROBE,
    torch_log.PROBE,
    flight_recorder.PROBE,
    engine_logs.PROBE,
    engine_metrics.PROBE,
    kernel_log.PROBE,
    kernel_cmdline.PROBE,
    boot_loader.PROBE,
    iommu.PROBE,
    modules.PROBE,
    system.PROBE,
    packages.PROBE,
    sysctls.PROBE,
    services.PROBE,
    cpu_frequency.PROBE,
    hugepages.PROBE,
    intent.PROBE,
    limits.PROBE,
    shared_memory.PROBE,
    memory.PROBE,
    processes.PROBE,
    cgroups.PROBE,
    environment.PROBE,
    cuda_libraries.PROBE,
    containers.PROBE,
    container_gpus.PROBE,
    container_engine.PROBE,
    cdi.PROBE,
    cuda_results.PROBE,
    job_results.PROBE,
    listeners.PROBE,
    firewall.PROBE,
    disks.PROBE,
    clock.PROBE,
    contacts.PROBE,
    standing.PROBE,
    images.PROBE,
    models.PROBE,
    inference.PROBE,
)


@cache
def literals() -> tuple[str, ...]:
    """Return what a line of a very large file must hold to be of use to any parser."""
    return tuple(dict.fromkeys(literal.lower() for probe in ALL for literal in probe.literals))


@cache
def _names_by_literal() -> dict[str, set[str]]:
    """Return which probes have a literal, without those that read every text."""
    names: dict[str, set[str]] = {}
    for probe in ALL:
        for literal in () if probe.every else probe.literals:
            names.setdefault(literal.lower(), set()).add(probe.name)
    return names


def called(text: Text) -> frozenset[str]:
    """Return the names of the probes that have a literal in `text`, without those that read every text."""
    names = _names_by_literal()
    wanted = tuple(names)
    found = {index for index, _ in automaton(wanted)("\n".join(text.lines).lower().encode())}
    return frozenset().union(*(names[wanted[index]] for index in found))
