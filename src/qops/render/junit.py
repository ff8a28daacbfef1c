"""JUnit XML, which build servers show: a suite for each host, a case for its verdict and for everything it was asked.

The form is the one that Jenkins and GitLab read: testsuites, testsuite, testcase with failure, error or skipped.
"""

import re
from collections.abc import Sequence
from xml.etree import ElementTree as Xml

from qops.render.clear import clear
from qops.report import Finding, HostReport, JobReport, Verdict
from qops.rule import Severity

# What XML 1.0 cannot hold in any form.
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def report(hosts: Sequence[HostReport], jobs: Sequence[JobReport] = ()) -> str:
    """Return the report as XML text, ending with a newline."""
    top = Xml.Element("testsuites", name="qops diagnose")
    for host in hosts:
        suite = _suite(top, host.host, host.collected)
        _verdict(suite, host.host, host.verdict, host.reason)
        for finding in host.findings:
            _finding(suite, host.host, finding)
        for excluded in host.ruled_out:
            _case(suite, host.host, f"{excluded.code} {excluded.cause}")
        for code, missing in host.coverage.unknown:
            _add(_case(suite, host.host, code), "skipped", f"not judged, for want of {', '.join(missing)}")
    for job in jobs:
        name = f"job of {', '.join(job.hosts)}"
        suite = _suite(top, name, "")
        _verdict(suite, name, job.verdict, job.reason)
    for suite in top:
        for kind, name in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            suite.set(kind, str(len(list(suite.iter(name)))))
    Xml.indent(top)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(top, encoding="unicode") + "\n"


def _suite(top: Xml.Element, name: str, collected: str) -> Xml.Element:
    suite = Xml.SubElement(top, "testsuite", name=_text(name))
    if collected:
        suite.set("timestamp", _text(collected))
    return suite


def _verdict(suite: Xml.Element, name: str, verdict: Verdict, reason: str) -> None:
    case = _case(suite, name, "verdict")
    if verdict is Verdict.FAULT:
        _add(case, "failure", f"fault: {reason}")
    elif verdict is not Verdict.HEALTHY:
        _add(case, "error", f"{verdict}: {reason}")


def _finding(suite: Xml.Element, host: str, finding: Finding) -> None:
    case = _case(suite, host, f"{finding.code} {finding.cause}{': ' + finding.subject if finding.subject else ''}")
    quotes = "\n".join(str(quote) for quote in finding.evidence)
    if finding.severity is Severity.INFO:
        Xml.SubElement(case, "system-out").text = _text(f"{finding.message}\n{quotes}")
    elif not finding.counts:
        _add(case, "skipped", f"{finding.suppressed}; {finding.message}")
    else:
        ended = f" ({finding.suppressed})" if finding.suppressed else ""
        _add(case, "failure", f"{finding.message}{ended}", str(finding.role)).text = _text(quotes)


def _case(suite: Xml.Element, host: str, name: str) -> Xml.Element:
    return Xml.SubElement(suite, "testcase", classname=_text(host), name=_text(name))


def _add(case: Xml.Element, kind: str, message: str, type_: str = "") -> Xml.Element:
    return Xml.SubElement(case, kind, {"message": _text(message), **({"type": type_} if type_ else {})})


def _text(text: str) -> str:
    return _NO_XML.sub("", clear(text))
