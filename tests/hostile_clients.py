"""Clients that take all they can get, as a separate program: ``python hostile_clients.py ATTACK PORT TOKEN COUNT``.

half_open       connect and say nothing
dripping_heads  send a head of one byte a second, without end
slow_bodies     send the body of a submission, one byte a second
deaf            ask for the list of jobs many times over, and read nothing
slow_readers    the same, and read a little each second
streams         follow the events, as often as possible
slow_streams    the same, and read a little each second
idle            ask once, and keep the connection
pipelines       send a hundred requests at a time without waiting for an answer
plans           plan, sixty at a time
lists           read the list of jobs, as fast as possible
outputs         read the output of a job, as fast as possible
strangers       ask without a token, as fast as possible, and for things that do not exist
junk            send four megabytes of meaningless JSON, as fast as possible
bodies          send long bodies without a token

Closed connections are opened again. The program prints a line when all clients have begun, and runs until it is killed.
"""

import asyncio
import contextlib
import json
import resource
import socket
import sys

HOST = "127.0.0.1"
BEGUN = "begun"


class Attack:
    def __init__(self, port, token, count):
        self.port, self.token, self.count = port, token, count

    async def connected(self):
        client = socket.socket()
        client.setblocking(False)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # the service keeps data not read soon
        loop = asyncio.get_running_loop()
        await loop.sock_connect(client, (HOST, self.port))
        return await asyncio.open_connection(sock=client, limit=2**12)

    def head(self, method, path, *more, token=True):
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *more]
        if token:
            lines.append(f"Authorization: Bearer {self.token}")
        return "\r\n".join([*lines, "", ""]).encode()

    def post(self, path, body):
        text = json.dumps(body).encode()
        lines = ["Content-Type: application/json", f"Content-Length: {len(text)}"]
        return self.head("POST", path, *lines) + text

    async def drip(self, reader, writer, first, byte=b"x"):
        writer.write(first)
        while not reader.at_eof():
            writer.write(byte)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(reader.read(2**12), 1)

    async def half_open(self, reader, writer):
        await reader.read(-1)

    async def dripping_heads(self, reader, writer):
        await self.drip(reader, writer, b"GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\nX: ")

    async def slow_bodies(self, reader, writer):
        lines = ("Content-Type: application/json", "Content-Length: 100000")
        await self.drip(reader, writer, self.head("POST", "/v1/jobs", *lines) + b'{"name": "')

    async def deaf(self, reader, writer):
        writer.write(self.head("GET", "/v1/jobs?ended=10000") * 30)
        await asyncio.sleep(1e9)

    async def slow_readers(self, reader, writer, request=None):
        writer.write(request or self.head("GET", "/v1/jobs?ended=10000") * 30)
        while await reader.read(256):
            await asyncio.sleep(1)

    async def streams(self, reader, writer):
        writer.write(self.head("GET", "/v1/events"))
        while await reader.read(2**12):
            pass

    async def slow_streams(self, reader, writer):
        await self.slow_readers(reader, writer, self.head("GET", "/v1/events", "Last-Event-ID: x-1"))

    async def idle(self, reader, writer):
        writer.write(self.head("GET", "/v1/machine"))
        while await reader.read(2**12):
            await asyncio.sleep(4)
            writer.write(self.head("GET", "/v1/machine"))

    async def pipelines(self, reader, writer):
        writer.write(self.head("GET", "/v1/machine") * 100)
        while await reader.read(2**12):
            writer.write(self.head("GET", "/v1/machine") * 5)

    async def plans(self, reader, writer):
        tables = {"speedup": {"model": "amdahl", "sequential_time": 90_000, "serial_fraction": 0.001}}
        await self.again_and_again(reader, writer, self.post("/v1/plan", {"application": tables, "algorithm": "exact"}))

    async def lists(self, reader, writer):
        await self.again_and_again(reader, writer, self.head("GET", "/v1/jobs?ended=10000"))

    async def outputs(self, reader, writer):
        await self.again_and_again(reader, writer, self.head("GET", "/v1/jobs/1/output?limit=16777216"))

    async def strangers(self, reader, writer):
        await self.again_and_again(reader, writer, self.head("GET", "/v1/nothing", token=False))

    async def junk(self, reader, writer):
        await self.again_and_again(reader, writer, self.post("/v1/jobs", {str(n): [n] * 8 for n in range(50_000)}))

    async def bodies(self, reader, writer):
        writer.write(self.head("POST", "/v1/jobs", "Content-Length: 1000000000", token=False))
        while True:
            writer.write(b"x" * 2**16)
            await writer.drain()

    async def again_and_again(self, reader, writer, request):
        while True:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            size = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
            while size:
                size -= len(await reader.read(min(size, 2**16)))
            if b" 429 " in head:
                await asyncio.sleep(0.05)

    async def one(self, what, begun):
        while True:
            with contextlib.suppress(OSError, EOFError, ValueError):
                reader, writer = await self.connected()
                begun.release()
                try:
                    await what(reader, writer)
                finally:
                    writer.close()
            await asyncio.sleep(0.02)

    async def run(self, what):
        begun = asyncio.Semaphore(0)
        everybody = [asyncio.create_task(self.one(getattr(self, what), begun)) for _ in range(self.count)]
        for _ in range(self.count):
            await begun.acquire()
        print(BEGUN, flush=True)
        await asyncio.gather(*everybody)


if __name__ == "__main__":
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    asyncio.run(Attack(int(sys.argv[2]), sys.argv[3], int(sys.argv[4])).run(sys.argv[1]))
