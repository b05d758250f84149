"""nginx before the site, configured by the example that operators are given."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.serve.site import ROOT, wait_for

_FRAME = """\
daemon off;
pid {folder}/pid;
error_log {folder}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {server}
}}
"""


class Proxy:
    """A context manager; `address` is where the site is then visited."""

    def __init__(self, folder: Path, *, port: int, site_port: int) -> None:
        self.address = f"https://localhost:{port}"
        self._folder = folder
        self._port, self._site_port = port, site_port
        self._process: subprocess.Popen[bytes] | None = None

    def _configuration(self) -> str:
        example = (ROOT / "deploy/nginx.conf.example").read_text(encoding="utf-8")
        example = example[example.rindex("server {") :]  # the part with TLS
        example = re.sub(r"\n *listen \[::\].*", "", example)
        for there, here in (
            ("listen 443", f"listen 127.0.0.1:{self._port}"),
            ("127.0.0.1:8000", f"127.0.0.1:{self._site_port}"),
            ("SITE", "localhost"),
            ("CERTIFICATE", str(self._folder / "certificate.pem")),
            ("KEY", str(self._folder / "key.pem")),
        ):
            assert there in example
            example = example.replace(there, here)
        return _FRAME.format(folder=self._folder, server=example)

    def __enter__(self) -> Proxy:
        nginx = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin")
        if not nginx:
            pytest.skip("needs nginx: apt install nginx-light")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
             "-subj", "/CN=localhost", "-keyout", self._folder / "key.pem",
             "-out", self._folder / "certificate.pem"],
            check=True, capture_output=True,
        )  # fmt: skip
        configuration = self._folder / "nginx.conf"
        configuration.write_text(self._configuration(), encoding="utf-8")
        self._process = subprocess.Popen([nginx, "-c", configuration, "-p", self._folder])
        wait_for((self._folder / "pid").exists, "nginx")
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(30)
