"""The report as one page that needs nothing else: no script, no other file, no network."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import jinja2
from markupsafe import Markup, escape

from qops import __version__
from qops.derive.picture import Picture
from qops.render import html_plot, html_topology
from qops.render.clear import clear
from qops.report import HostReport, JobReport, Verdict
from qops.rule import Role, Severity

_TEMPLATES = Path(__file__).parent / "templates"
SERIES = 8  # kinds of lines that the style sheet tells apart


def report(
    hosts: Sequence[HostReport], jobs: Sequence[JobReport] = (), pictures: Mapping[str, Picture] | None = None
) -> str:
    """Return the page. `pictures` holds by the host's name what can be drawn of it."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        finalize=_clear,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    drawn = pictures or {}
    return environment.get_template("report.html.j2").render(
        hosts=hosts,
        jobs=jobs,
        counts={str(v): sum(h.verdict is v for h in hosts) for v in Verdict},
        topologies={name: html_topology.drawing(picture) for name, picture in drawn.items()},
        plots={name: html_plot.plots(picture) for name, picture in drawn.items()},
        marked={name: html_plot.marked(picture.spinning) for name, picture in drawn.items()},
        version=__version__,
        css=Markup((_TEMPLATES / "report.css").read_text(encoding="utf-8")),  # noqa: S704 - our own file
        series=SERIES,
        Role=Role,
        Severity=Severity,
        Verdict=Verdict,
    )


def _clear(value: object) -> object:
    """Write what is shown: a text of a host is cleared, and escaped then."""
    return value if isinstance(value, Markup) else escape(clear(str(value)))
