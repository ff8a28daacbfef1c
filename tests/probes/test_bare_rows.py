from judging import diagnose, text

from qops.evidence.gpu import Gpus
from qops.probes.gpus import PROBE
from qops.report import Verdict

ROWS = "0, NVIDIA GeForce RTX 5090, 590.44.01\n1, NVIDIA GeForce RTX 5090, 590.44.01\n"


def seen(content: str) -> Gpus | None:
    return PROBE.parse([text(content)]) if PROBE.recognise(text(content)) else None  # type: ignore[no-any-return]


def test_rows_whose_command_was_not_pasted() -> None:
    gpus = seen(ROWS)
    assert gpus is not None and gpus.bare and gpus.driver == "590.44.01"
    assert [(g.index, g.name) for g in gpus.gpus] == [(0, "NVIDIA GeForce RTX 5090"), (1, "NVIDIA GeForce RTX 5090")]


def test_cells_of_an_unmistakable_shape_are_read() -> None:
    gpus = seen("3, NVIDIA L40S, 00000000:C1:00.0, 8.9, GPU-1f2e3d4c-0000-0000-0000-000000000003, 46068 MiB\n")
    assert gpus is not None
    (one,) = gpus.gpus
    assert one.bus_id.endswith("c1:00.0") and one.compute_capability == "8.9" and one.uuid.startswith("GPU-1f2e")


def test_a_sentence_is_no_row() -> None:
    assert seen("2, NVIDIA says, is not enough\n") is None
    assert seen("NVIDIA RTX PRO 6000, two of them, in one box\n") is None


def test_a_better_answer_leaves_them_out() -> None:
    gpus = seen("index, name, driver_version\n0, NVIDIA L4, 580.10.01\n" + ROWS)
    assert gpus is not None and not gpus.bare


def test_naming_boards_does_not_make_a_host_healthy() -> None:
    assert diagnose({"smi.txt": ROWS}).verdict is Verdict.UNDETERMINED


def test_a_unit_behind_an_index_and_a_name_tells_a_board() -> None:
    gpus = seen("2, NVIDIA GeForce RTX 5090, 32607 MiB\n")
    assert gpus is not None and gpus.bare
    assert [(g.index, g.name, g.memory_total) for g in gpus.gpus] == [(2, "NVIDIA GeForce RTX 5090", None)]
    assert seen("NVIDIA GeForce RTX 5090, 32607 MiB\n") is None
