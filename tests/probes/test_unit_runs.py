"""A start that failed before the service served is past; a crash, and what another service said, is not."""

from judging import causes

TAKEN = "Dec 01 11:00:0{n} h vllm[{n}]: OSError: [Errno 98] Address already in use\n"
FAILED = "Dec 01 11:00:0{n} h systemd[1]: {unit}: Failed with result 'exit-code'.\n"
ENDED = "Dec 01 11:00:0{n} h systemd[1]: {unit}: Deactivated successfully.\n"
SERVES = "Dec 01 11:00:0{n} h vllm[{n}]: (APIServer pid={n}) INFO:     Application startup complete.\n"
UNIT = "vllm.service"


def _journal(*lines: str, unit: str = UNIT) -> dict[str, str]:
    return {"journal.txt": "".join(line.format(n=n, unit=unit) for n, line in enumerate(lines, 1))}


def test_what_failed_before_a_later_start_served_is_past() -> None:
    assert "port-in-use" not in causes(_journal(TAKEN, FAILED, TAKEN, FAILED, SERVES))


def test_so_it_is_where_the_service_had_served_and_was_stopped_before() -> None:
    assert "port-in-use" not in causes(_journal(SERVES, ENDED, TAKEN, FAILED, SERVES))


def test_what_failed_last_is_the_cause() -> None:
    assert causes(_journal(SERVES, ENDED, TAKEN, FAILED))[0] == "port-in-use"


def test_a_start_that_has_not_served_yet_mends_nothing() -> None:
    assert causes(_journal(TAKEN, FAILED, "Dec 01 11:00:0{n} h vllm[{n}]: INFO starting\n"))[0] == "port-in-use"


def test_why_a_service_ended_that_served_is_kept_though_it_serves_again() -> None:
    crash = "Dec 01 11:00:0{n} h vllm[{n}]: RuntimeError: NCCL error: unhandled system error\n"
    assert causes(_journal(SERVES, crash, FAILED, SERVES)) == causes(_journal(SERVES, crash, FAILED))


def test_of_two_services_nobody_knows_which_one_serves() -> None:
    other = FAILED.format(n=9, unit="sglang.service")
    assert causes(_journal(TAKEN, FAILED, other, SERVES))[0] == "port-in-use"


def test_a_log_that_systemd_did_not_keep_is_not_cut() -> None:
    assert causes(_journal(TAKEN, SERVES))[0] == "port-in-use"
