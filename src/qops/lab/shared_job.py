"""A job over all hosts of a scenario, one rank on each: a stand-in for one on GPUs (`sim/shared_job.py`)."""

from qops.lab.docker import Container, Docker
from qops.lab.errors import LabError

UNIT = "qops-lab-job.service"
PORT = 29500  # where rank 0 waits for the others, as torchrun has it


def hosts(docker: Docker, container: Container) -> tuple[Container, ...]:
    """Return the hosts of the scenario of `container`, in the order of their ranks."""
    return tuple(one for one in docker.containers(container.lab) if one.scenario == container.scenario)


def start(docker: Docker, ranks: tuple[Container, ...]) -> None:
    """Start the job where it does not run, and wait until every rank has summed; LabError when one has not."""
    for rank, one in enumerate(ranks):
        words = f"--nnodes {len(ranks)} --node-rank {rank} --master-addr {ranks[0].address} --master-port {PORT}"
        command = (
            f"systemctl is-active --quiet {UNIT} || {{ systemctl reset-failed {UNIT} 2>/dev/null; "
            f"systemd-run --quiet --unit={UNIT} qops-lab-job {words}; }}"
        )
        docker.call("exec", one.name, "sh", "-c", command)
    for rank, one in enumerate(ranks):
        begun = f"journalctl -q -u {UNIT} | grep -q 'rank {rank}: 1 sums'"
        wait = f"for i in $(seq 60); do {begun} && exit; sleep 0.5; done; exit 1"
        if docker.call("exec", one.name, "sh", "-c", wait, check=False).returncode != 0:
            raise LabError(f"rank {rank} of the job on {one.host} has not begun", f"journalctl -u {UNIT} there")


def stop(docker: Docker, ranks: tuple[Container, ...]) -> None:
    """End the job on all its hosts; a rank that is stopped ends too."""
    for one in ranks:
        docker.call("exec", one.name, "sh", "-c", f"systemctl kill -s KILL {UNIT}; systemctl stop {UNIT}", check=False)
