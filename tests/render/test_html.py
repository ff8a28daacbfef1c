"""The page: what it shows, that it needs nothing else, and that no text of a host does anything in it."""

import itertools
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from reports import ENDED, HOSTILE, SUPPRESSED, finding, host

from qops.derive.picture import Picture, picture
from qops.evidence.gpu import Gpu, Gpus, GpuSample, GpuSamples, Pair, Topology
from qops.evidence.gpu import Path as Way
from qops.evidence.text import Quote
from qops.render import html, html_plot, html_topology
from qops.report import JobFinding, JobReport, Verdict
from qops.rule import Role, Severity

Q = Quote("nvidia-smi", 1, "")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
VOID = {"meta", "link", "img", "br", "line", "rect", "polyline"}


def _hang(gpus: int = 2) -> Picture:
    """GPU 0 waits in a kernel from second 2 on; the others stop. Two GPUs of a switch, with a card each."""
    samples = [
        GpuSample(
            float(second),
            index,
            Q,
            utilization=70 if second < 2 else 100 if index == 0 else 0,
            memory_utilization=20 if second < 2 else 0,
            power=400.0 if second < 2 else 121.0,
            memory_used=(40 + index) << 30,
            sm_clock=1900,
        )
        for second in range(13)
        for index in range(gpus)
    ]
    boards = Gpus(tuple(Gpu(index, Q, "Some <b>board</b>", power_limit=600.0) for index in range(gpus)))
    pairs = tuple(Pair(f"GPU{a}", f"GPU{b}", Way.NV, Q, 18) for a in range(gpus) for b in range(a + 1, gpus))
    cards = tuple(Pair(f"NIC{a}", f"GPU{b}", Way.PIX if a == b else Way.SYS, Q) for a in range(2) for b in range(gpus))
    topology = Topology(pairs, cards, (("GPU0", "0"),), (("NIC0", "mlx5_0"),))
    return picture({Gpus: boards, Topology: topology, GpuSamples: GpuSamples(tuple(samples))})


class _Page(HTMLParser):
    """Collects the tags, checks that they close, and keeps the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def _shown(*hosts: object, **pictures: Picture) -> _Page:
    return _Page(html.report(hosts, (), {name.replace("_", "-"): one for name, one in pictures.items()}))  # type: ignore[arg-type]


def test_no_text_of_a_host_becomes_a_tag_or_turns_the_direction() -> None:
    bad = finding(subject=HOSTILE, message=HOSTILE, evidence=(Quote(HOSTILE, 1, HOSTILE),), suppressed=ENDED)
    page = html.report([host(bad, name=HOSTILE, reason=HOSTILE)], (), {HOSTILE: _hang()})
    parsed = _Page(page)
    assert not {"script", "img", "iframe", "object", "base", "form"} & {tag for tag, _ in parsed.tags}
    assert not any(name.startswith("on") for _, attributes in parsed.tags for name in attributes)
    assert "\u202e" not in page and "\x1b" not in page
    assert any("\\u202e" in words and "{{7*7}}" in words for words in parsed.words)


def test_it_needs_nothing_else() -> None:
    page = _shown(host(finding()), gpu_01=_hang())
    linked = [v for _, a in page.tags for k, v in a.items() if k in ("src", "href", "srcset", "data", "action")]
    assert linked and all(one is not None and one.startswith("#") for one in linked)
    style = (Path(html.__file__).parent / "templates/report.css").read_text()
    assert "url(" not in style and "@import" not in style
    assert any(a.get("http-equiv") == "Content-Security-Policy" for _, a in page.tags)


def test_a_screen_reader_finds_its_way() -> None:
    page = _shown(host(finding()), host(name="gpu-02", verdict=Verdict.HEALTHY, reason="it serves"), gpu_01=_hang())
    tags = [tag for tag, _ in page.tags]
    assert {"main", "header", "nav", "h1", "caption"} <= set(tags) and tags.count("h1") == 1
    levels = [int(tag[1]) for tag in tags if re.fullmatch(r"h[1-6]", tag)]
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    ids = {a["id"] for _, a in page.tags if "id" in a}
    assert len(ids) == sum("id" in a for _, a in page.tags)
    assert all(a.get("scope") for tag, a in page.tags if tag == "th")
    drawings = [a for tag, a in page.tags if tag == "svg"]
    assert drawings and all(
        a.get("aria-hidden") or (a.get("role") == "img" and a["aria-labelledby"] in ids) for a in drawings
    )
    assert {a["href"] for tag, a in page.tags if tag == "a"} <= {f"#{one}" for one in ids}


def test_it_says_what_was_not_seen_and_what_is_suppressed() -> None:
    words = " ".join(_shown(host(finding(suppressed=SUPPRESSED), finding("HST009", suppressed=ENDED))).words)
    for told in (
        "Topology",
        "no answer within 5 s",
        "7 of 9 rules",
        str(SUPPRESSED),
        str(ENDED),
        "all ranks are there",
    ):
        assert told in words


def test_the_cause_of_a_job_names_its_host() -> None:
    job = JobReport(("a", "b"), "communicator 0x1", Verdict.FAULT, "", (JobFinding("b", finding()),))
    words = " ".join(_Page(html.report([host(finding(role=Role.SYMPTOM))], [job])).words)
    assert "One job on a, b" in words and "on b" in words


def test_the_hang_is_marked_where_the_kernel_waits() -> None:
    made = html_plot.plots(_hang())
    assert [plot.title for plot in made] == ["GPU busy, %", "Power, W", "Memory in use, GiB", "SM clock, MHz"]
    ((x, width),) = made[0].bands
    assert x + width == pytest.approx(made[0].right, abs=1) and made[0].left < x < made[0].left + 0.25 * width
    assert html_plot.marked(_hang().spinning) == ("GPU 0 ran a kernel that moved nothing from 2 to 12 s",)
    for plot in made:
        for curve in plot.curves:
            points = [tuple(map(float, point.split(","))) for point in curve.points.split()]
            assert len(points) == 13
            assert all(plot.left <= px <= plot.right and plot.top <= py <= plot.bottom for px, py in points)


def test_a_single_moment_and_strange_figures_draw_nothing() -> None:
    once = GpuSamples((GpuSample(0.0, 0, Q, utilization=3),))
    assert html_plot.plots(picture({GpuSamples: once})) == ()
    odd = GpuSamples(tuple(GpuSample(float(at), 0, Q, power=float("nan")) for at in range(3)))
    assert html_plot.plots(picture({GpuSamples: odd})) == ()


@pytest.mark.parametrize("gpus", [1, 2, 8, 16])
def test_every_device_is_drawn_inside_and_apart(gpus: int) -> None:
    drawn = html_topology.drawing(_hang(gpus))
    assert drawn is not None
    boxes = [(node.x, node.y) for node in drawn.nodes]
    assert len(set(boxes)) == gpus + 2
    assert all(0 < x < drawn.size and 0 < y < drawn.size for x, y in boxes)
    assert len(drawn.edges) == gpus * (gpus - 1) / 2 + 2
    assert ("nv" in dict(drawn.legend)) is (gpus > 1)


def test_a_host_without_gpus_has_no_drawing() -> None:
    assert html_topology.drawing(Picture()) is None
    assert not any(tag == "svg" for tag, _ in _shown(host(finding(severity=Severity.INFO))).tags)


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")
def test_chromium_finds_no_error_and_asks_for_nothing(tmp_path: Path) -> None:
    bad = finding(subject=HOSTILE, message=HOSTILE, evidence=(Quote(HOSTILE, 1, HOSTILE),))
    page = tmp_path / "report.html"
    page.write_text(html.report([host(bad)], (), {"gpu-01": _hang()}), encoding="utf-8")
    log = tmp_path / "net.json"
    done = subprocess.run(
        [
            *(CHROMIUM or "", "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
            *("--enable-logging=stderr", f"--user-data-dir={tmp_path}/profile", f"--log-net-log={log}"),
            *(f"--screenshot={tmp_path}/page.png", "--window-size=1000,1400", page.as_uri()),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (tmp_path / "page.png").stat().st_size > 10_000, done.stderr
    assert "CONSOLE" not in done.stderr
    assert "evil.example" not in log.read_text(encoding="utf-8", errors="replace")
