"""Receivers of webhooks: a server with a certificate of its own, and sockets that do what no server does."""

import socket
import ssl
import subprocess
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def make_certificate(folder):
    """For “localhost” and its address, with the openssl command. Returns the file that has the key, too."""
    file = folder / "own.pem"
    names = "subjectAltName=DNS:localhost,IP:127.0.0.1"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", names, "-keyout", str(folder / "key.pem"), "-out", str(file)]
    subprocess.run(command, check=True, capture_output=True)
    file.write_text(file.read_text() + (folder / "key.pem").read_text())
    return file


class Receiver(ThreadingHTTPServer):
    """Keeps what it gets, and answers with ``codes``, of which the last one stays."""

    daemon_threads = True

    def __init__(self, certificate=None):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.got, self.codes, self.text = [], [200], b"thanks"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.socket = context.wrap_socket(self.socket, server_side=True)
        scheme = "https" if certificate else "http"
        self.url = f"{scheme}://localhost:{self.server_port}/hook?a=1"

    def handle_error(self, *args):
        pass  # a handshake that the other side has broken off


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((self.path, dict(self.headers), body))
        codes = self.server.codes
        self.send_response(codes.pop(0) if len(codes) > 1 else codes[0])
        self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", str(len(self.server.text)))
        self.end_headers()
        self.wfile.write(self.server.text)

    def log_message(self, *args):
        pass


@contextmanager
def receiving(certificate=None):
    server = Receiver(certificate)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def listening(answer):
    """A socket whose first guest is given to a function. Yields its address."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            try:
                guest, _ = server.accept()
                with guest:
                    answer(guest)
            except OSError:
                pass

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"
