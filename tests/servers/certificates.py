"""Certificates for servers with TLS."""

from __future__ import annotations

import os
import subprocess


def certificate(folder: str) -> str:
    """Create a self-signed certificate for 127.0.0.1, and its key ``server.key``; return its file."""
    path = os.path.join(folder, "server.crt")
    key = os.path.join(folder, "server.key")
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    name = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(
        ["openssl", "req", "-x509", *kind, *name, "-keyout", key, "-out", path],
        check=True,
        capture_output=True,
    )
    return path
