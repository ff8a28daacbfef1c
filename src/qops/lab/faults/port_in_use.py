"""Another server on the port that the engine wants."""

from qops.lab.fault import Fault

FAULT = Fault(
    cause="port-in-use",
    about="a forgotten web server listens on port 8000, and comes back after a reboot",
    plant=(
        "mkdir -p /srv/old-demo",
        "printf '%s\\n' '[Unit]' 'Description=Old demo' '[Service]' 'WorkingDirectory=/srv/old-demo'"
        " 'ExecStart=/usr/bin/python3 -m http.server 8000' 'Restart=always'"
        " '[Install]' 'WantedBy=multi-user.target' >/etc/systemd/system/old-demo.service",
        "systemctl daemon-reload",
        "systemctl enable --quiet --now old-demo.service",
        "for _ in $(seq 50); do ss -Hltn 'sport = :8000' | grep -q . && exit 0; sleep 0.1; done; exit 1",
    ),
    mend=(
        "systemctl disable --quiet --now old-demo.service 2>/dev/null || true",
        "rm -rf /etc/systemd/system/old-demo.service /srv/old-demo",
        "systemctl daemon-reload",
    ),
    check="ss -Hltn 'sport = :8000' | grep -q .",
)
