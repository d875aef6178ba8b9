"""A viewer of the live page without a browser: HTTP and WebSocket (RFC 6455) by hand, nothing shared with the program."""
import base64
import json
import os
import re
import signal
import socket
import struct
import subprocess


class Live:
    """`wattrig live` as a process; ends with the block."""

    def __init__(self, wattrig, *arguments, environment=None):
        self.process = subprocess.Popen([wattrig, "live", "--listen", "127.0.0.1:0", *map(str, arguments)], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})})
        line = self.process.stdout.readline()
        found = re.match(r"http://127\.0\.0\.1:(\d+)/", line)
        if not found:
            raise RuntimeError(f"expected the page's address, came {line!r}: {self.process.stderr.read()}")
        self.url, self.port = line.strip(), int(found.group(1))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        return self.process.returncode

    def resident_bytes(self):
        with open(f"/proc/{self.process.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def request(self, text):
        """Status of an HTTP request sent as it is; 0 when the connection was closed instead."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as connection:
            connection.sendall(text)
            answer = b""
            try:
                while b"\r\n\r\n" not in answer and (chunk := connection.recv(65536)):
                    answer += chunk
            except ConnectionResetError:
                pass  # let go without an answer
        return int(answer.split(b" ")[1]) if answer else 0

    def get(self, target="/", host=None, method="GET", more=""):
        return self.request(f"{method} {target} HTTP/1.1\r\nHost: {host or f'127.0.0.1:{self.port}'}\r\n{more}\r\n".encode())


class Viewer:
    def __init__(self, live, small=False, target="/socket"):
        self.socket = socket.socket()
        if small:  # the kernel keeps little for whoever does not read
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.settimeout(20)
        self.socket.connect(("127.0.0.1", live.port))
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{live.port}\r\nOrigin: http://127.0.0.1:{live.port}\r\nConnection: Upgrade\r\n"
                             f"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n").encode())
        self.rest = b""
        while b"\r\n\r\n" not in self.rest:
            chunk = self.socket.recv(4096)
            if not chunk:
                raise RuntimeError("the server closed the connection instead of upgrading it")
            self.rest += chunk
        head, self.rest = self.rest.split(b"\r\n\r\n", 1)
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise RuntimeError(f"no WebSocket: {head[:60]!r}")

    def _take(self, count):
        while len(self.rest) < count:
            chunk = self.socket.recv(1 << 16)
            if not chunk:
                raise EOFError
            self.rest += chunk
        taken, self.rest = self.rest[:count], self.rest[count:]
        return taken

    def _frame(self, code, payload):
        mask = os.urandom(4)
        size = len(payload)
        head = bytes([0x80 | code, 0x80 | size]) if size < 126 else bytes([0x80 | code, 0x80 | 126]) + struct.pack(">H", size)
        self.socket.sendall(head + mask + bytes(b ^ mask[k % 4] for k, b in enumerate(payload)))

    def receive(self):
        """The next message, an object."""
        text = b""
        while True:
            first, second = self._take(2)
            size = second & 127
            if size == 126:
                size = struct.unpack(">H", self._take(2))[0]
            elif size == 127:
                size = struct.unpack(">Q", self._take(8))[0]
            payload = self._take(size)
            if first & 15 == 9:
                self._frame(10, payload)
            elif first & 15 == 8:
                raise EOFError
            elif first & 15 < 8:
                text += payload
                if first & 128:
                    return json.loads(text)

    def send(self, message):
        self._frame(1, message if isinstance(message, bytes) else json.dumps(message).encode())

    def close(self):
        self.socket.close()
