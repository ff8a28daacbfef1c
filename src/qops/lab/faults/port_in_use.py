"""Another server on the port that the engine wants."""

from qops.lab.fault import Fault

# Only where the engine is meant to run does it lose its port, and gets it back.
_WANTED = "systemctl is-enabled --quiet vllm.service 2>/dev/null"

FAULT = Fault(
    cause="port-in-use",
    about="a forgotten web server listens on port 8000, and comes back after a reboot",
    plant=(
        f"! {_WANTED} || {{ systemctl kill -s KILL vllm.service; systemctl stop vllm.service; }}; true",
        "mkdir -p /srv/old-demo",
        "printf '%s\\n' '[Unit]' 'Description=Old demo' '[Service]' 'WorkingDirectory=/srv/old-demo'"
        " 'ExecStart=/usr/bin/python3 -m http.server 8000' 'Restart=always'"
        " '[Install]' 'WantedBy=multi-user.target' >/etc/systemd/system/old-demo.service",
        "systemctl daemon-reload",
        "systemctl enable --quiet --now old-demo.service",
        "for _ in $(seq 50); do ss -Hltn 'sport = :8000' | grep -q . && exit 0; sleep 0.1; done; exit 1",
        f"! {_WANTED} || {{ qops-lab-engine start && qops-lab-engine failed; }}",
    ),
    mend=(
        "systemctl disable --quiet --now old-demo.service 2>/dev/null || true",
        "rm -rf /etc/systemd/system/old-demo.service /srv/old-demo",
        "systemctl daemon-reload",
        f"! {_WANTED} || {{ qops-lab-engine start && qops-lab-engine ready; }}",
    ),
    check="ss -Hltn 'sport = :8000' | grep -q .",
)
