"""Servers on the loopback address: one of ranges of files, which counts requests and fails on demand, and one of S3."""

import re
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PATIENCE = 60
"""Seconds to wait for what has to come."""


@dataclass
class Request:
    """One request that was answered: path, bytes sent, and when it began and ended."""

    path: str
    start: int
    nbytes: int
    began: float
    ended: float = 0.0


@dataclass
class RangeServer:
    """
    What a test sets and reads.

    Attributes
    ----------
    url : str
        Where the files are, with a slash at the end.
    files : dict
        Name to content.
    latency : float
        Seconds that pass before each answer.
    bytes_per_second : float
        Speed of all answers together; 0 for no limit.
    fault : callable, optional
        Takes the number of the GET request, from 0, and gives what to do wrong: None, "500" or another status, "cut" (the
        connection ends in the middle), "drop" (it ends before the answer), "short" (fewer bytes than asked for, told as
        such), "long" (more of them), "elsewhere" (other bytes, told as such), "whole" (no ranges), "hang", or "changed" (another ETag).
    requests : list of Request
        The GET requests so far.
    """

    url: str = ""
    files: dict = field(default_factory=dict)
    latency: float = 0.0
    bytes_per_second: float = 0.0
    fault: Callable | None = None
    requests: list = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    line_free: float = 0.0
    stopping: threading.Event = field(default_factory=threading.Event)

    @property
    def nbytes(self) -> int:
        """Bytes sent so far."""
        return sum(request.nbytes for request in self.requests)

    @property
    def most_at_once(self) -> int:
        """The largest number of requests that were being answered at one moment."""
        edges = sorted([(r.began, 1) for r in self.requests] + [(r.ended, -1) for r in self.requests if r.ended])
        running = most = 0
        for _, change in edges:
            running += change
            most = max(most, running)
        return most

    def forget(self):
        """Begin to count anew."""
        self.requests.clear()

    def wait_for_line(self, nbytes):
        """Sleep as long as `nbytes` take when all answers share one line."""
        if not self.bytes_per_second:
            return
        with self.lock:
            begin = max(self.line_free, time.monotonic())
            self.line_free = begin + nbytes / self.bytes_per_second
        time.sleep(max(0.0, self.line_free - time.monotonic()))


def all_together(n):
    """A fault for those who ask one after the other: the first `n` requests are denied unless all come at once."""
    here = threading.Barrier(n, timeout=PATIENCE)

    def fault(number):
        if number < n:
            try:
                here.wait()
            except threading.BrokenBarrierError:
                return "403"
        return None

    return fault


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    @property
    def state(self) -> RangeServer:
        return self.server.state

    def log_message(self, *args):
        pass

    def do_HEAD(self):
        body = self.state.files.get(self.path.lstrip("/"))
        self.begin(404 if body is None else 200, 0 if body is None else len(body))

    def do_GET(self):
        body = self.state.files.get(self.path.lstrip("/"))
        if body is None:
            self.begin(404, 0)
            return
        start, stop = self.wanted(len(body))
        with self.state.lock:
            number = len(self.state.requests)
            request = Request(self.path, start, 0, time.monotonic())
            self.state.requests.append(request)
        fault = self.state.fault(number) if self.state.fault else None
        time.sleep(self.state.latency)
        try:
            self.answer(body, start, stop, fault, request)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            request.ended = request.ended or time.monotonic()

    def wanted(self, size):
        """First byte and the byte after the last that the request asks for."""
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if not match:
            return 0, size
        return int(match[1]), min(int(match[2]) + 1 if match[2] else size, size)

    def answer(self, body, start, stop, fault, request):
        if fault and fault.isdecimal():
            self.begin(int(fault), 0)
            return
        if fault == "drop":
            self.close_connection = True
            return
        if fault == "hang":
            self.state.stopping.wait(PATIENCE)
        if start >= len(body):
            self.begin(416, 0, (0, 0, len(body)))
            return
        if fault == "long":
            stop += min(1000, len(body) - stop)
        if fault == "elsewhere":
            start, stop = start - 1, stop - 1
        if fault == "whole":
            start, stop = 0, len(body)
        if fault == "short":
            stop -= (stop - start + 1) // 2
        partial = "Range" in self.headers and fault != "whole"
        self.begin(206 if partial else 200, stop - start, (start, stop, len(body)) if partial else None, fault == "changed")
        sent = (stop - start) // 2 if fault == "cut" else stop - start
        self.state.wait_for_line(sent)
        request.nbytes, request.ended = sent, time.monotonic()  # before the client can go on
        self.wfile.write(body[start:start + sent])
        if fault == "cut":
            self.close_connection = True

    def begin(self, status, nbytes, content_range=None, changed=False):
        self.send_response(status)
        self.send_header("Content-Length", str(nbytes))
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", '"changed"' if changed else f'"{self.path}"')
        if content_range:
            start, stop, size = content_range
            covered = f"{start}-{stop - 1}" if stop > start else "*"
            self.send_header("Content-Range", f"bytes {covered}/{size}")
        self.end_headers()


class QuietServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        """Connections that clients drop are no news."""


@contextmanager
def range_server(files=None):
    """Serve `files` (name to bytes) as long as the block runs."""
    server = QuietServer(("127.0.0.1", 0), Handler)
    state = RangeServer(f"http://127.0.0.1:{server.server_address[1]}/", dict(files or {}))
    server.state = state
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        state.stopping.set()
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def s3_server(bucket, objects):
    """
    Serve objects (key to bytes) from a bucket as long as the block runs; skips the test without moto.

    Yields
    ------
    (str, client)
        URL of the server, and a boto3 client of it; its keys are "testing" and "testing".
    """
    from support import needs  # not for the benchmarks, which use the other server

    moto = needs.module("moto.server")
    boto3 = needs.module("boto3")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        endpoint = f"http://{host}:{port}"
        keys = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing", "region_name": "us-east-1"}
        client = boto3.client("s3", endpoint_url=endpoint, **keys)
        client.create_bucket(Bucket=bucket)
        for key, content in objects.items():
            client.put_object(Bucket=bucket, Key=key, Body=content, ACL="public-read")
        yield endpoint, client
    finally:
        server.stop()
