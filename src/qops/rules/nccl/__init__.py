"""Rules of the nccl family, one file per cause."""

from qops.rule import Rule
from qops.rules.nccl.benign_loading import benign_loading
from qops.rules.nccl.benign_waiting_for_compiler import benign_waiting_for_compiler
from qops.rules.nccl.benign_working import benign_working
from qops.rules.nccl.collective_hang import collective_hang
from qops.rules.nccl.collective_mismatch import collective_mismatch
from qops.rules.nccl.communicator_order_deadlock import communicator_order_deadlock
from qops.rules.nccl.job_failed import job_failed
from qops.rules.nccl.job_finished import job_finished
from qops.rules.nccl.nccl_rank_config_mismatch import nccl_rank_config_mismatch
from qops.rules.nccl.rank_missing_from_collective import rank_missing_from_collective
from qops.rules.nccl.rank_stopped import rank_stopped
from qops.rules.nccl.watchdog_timeout import watchdog_timeout

RULES: tuple[Rule, ...] = (
    rank_missing_from_collective,
    rank_stopped,
    collective_mismatch,
    communicator_order_deadlock,
    nccl_rank_config_mismatch,
    benign_working,
    benign_loading,
    benign_waiting_for_compiler,
    job_finished,
    collective_hang,
    watchdog_timeout,
    job_failed,
)
