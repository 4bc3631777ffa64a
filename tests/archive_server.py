"""A real HTTP server on this machine in place of the archive, including its failures."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class ArchiveServer:
    """Answers a path with its entry of `files`: bytes, or a function of the request's handler."""

    def __init__(self):
        self.files = {}
        self.asked = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                server.asked.append(self.path)
                answer = server.files.get(self.path)
                if answer is None:
                    self.send_error(404)
                elif callable(answer):
                    answer(self)
                else:
                    self.send(answer)

            def send(self, body, *, promised=None, **headers):
                self.send_response(200)
                self.send_header("Content-Length", str(promised or len(body)))
                for key, value in headers.items():
                    self.send_header(key.replace("_", "-"), value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        self.base = f"http://127.0.0.1:{self._server.server_port}/labs/parallel/workload"

    def put(self, log, answer):
        """Set the answer for the file of a log."""
        self.files[f"/labs/parallel/workload/{log.folder}/{log.file}"] = answer

    def close(self):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
