import pytest
from judging import text

from qops.evidence.kernel import Limits
from qops.probes.limits import parse, recognise


def read(content: str) -> tuple[Limits, ...]:
    found = parse([text(content)])
    return found.limits if found else ()


@pytest.mark.parametrize(
    "content",
    [
        "max locked memory           (kbytes, -l) 64\nopen files                          (-n) 1024\n"
        "stack size                  (kbytes, -s) 8192\n",
        "stack(kbytes)        8192\nlocked memory(kbytes) 64\nnofiles(descriptors)     1024\n",
        "-s: stack size (kbytes)             8192\n-n: file descriptors 1024\n-l: locked-in-memory size (kbytes)  64\n",
    ],
)
def test_shells(content: str) -> None:
    (limits,) = read(content)
    assert (limits.owner, limits.memlock, limits.nofile, limits.stack) == ("shell", 65536, 1024, 8 << 20)
    assert "64" in limits.quote.text


def test_proc_limits_of_each_process() -> None:
    content = (
        "== pid 41\nMax locked memory         8388608              unlimited            bytes\n"
        "$ cat /proc/42/limits\nLimit                     Soft Limit           Hard Limit           Units\n"
        "Max open files            1048576              1048576              files\n"
        "Max locked memory         unlimited            unlimited            bytes\n"
    )
    assert [(x.owner, x.memlock, x.nofile) for x in read(content)] == [
        ("pid 41", 8 << 20, None),
        ("pid 42", -1, 1048576),
    ]


def test_value_lines() -> None:
    (limits,) = read("user@node7:~$ ulimit -l\n64\n")
    assert limits.memlock == 65536
    (limits,) = read("# ulimit -n\n1024\n")
    assert limits.nofile == 1024
    (limits,) = read("$ ulimit -l\nunlimited\n")
    assert limits.memlock == -1


def test_what_ucx_says_is_a_measurement() -> None:
    (limits,) = read(
        "ib_log.c:246  UCX  ERROR mlx5_2: ibv_create_cq() failed: Cannot allocate memory. Please set max locked memory "
        "(ulimit -l) to 'unlimited' (current: 64 kbytes)\n"
    )
    assert limits.memlock == 65536


def test_units() -> None:
    (limits,) = read("LimitMEMLOCK=infinity\nLimitNOFILE=65535\n")
    assert (limits.owner, limits.memlock, limits.nofile) == ("unit", -1, 65535)


def test_the_smaller_of_two_values_counts() -> None:
    (limits,) = read("max locked memory (kbytes, -l) unlimited\nmax locked memory (kbytes, -l) 64\n")
    assert limits.memlock == 65536


@pytest.mark.parametrize("line", ["VmLck:\t       0 kB", "set the limit to 64", "ulimit -l unlimited", "stack 1 of 2"])
def test_no_limits(line: str) -> None:
    assert not recognise(text(line))


def test_people_say_what_a_shell_answered() -> None:
    (limits,) = read("# ulimit -l (in the container)\nunlimited\n")
    assert limits.memlock == -1
    (limits,) = read("`ulimit -l` is 8192\n")
    assert limits.memlock == 8 << 20
    assert read("bash -c 'ulimit -l unlimited && ./alltoall_perf'\n") == ()
