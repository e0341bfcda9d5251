"""A proxy that holds up what goes through it, in each direction: nodes that are far away, on one machine and without root.

It is a process of its own, and ends with the program that started it. Of a port, it makes another one before it.
"""

import asyncio
import json
import os
import subprocess
import sys
import threading

PART_BYTES = 1 << 18


class Proxy:
    """`ports` are those to connect to, one before each of the given ones. At first nothing is held up."""

    def __init__(self, ports):
        self.process = subprocess.Popen([sys.executable, __file__, *map(str, ports)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ports = json.loads(self.process.stdout.readline())

    def delay(self, seconds):
        """From now on, holds up all by so many seconds, in each direction."""
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        self.process.stdout.readline()

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Passing:
    def __init__(self):
        self.delay_s = 0.0

    async def carry(self, reader, writer):
        """Gives on what comes, later, and as fast as it comes."""
        held, loop = asyncio.Queue(), asyncio.get_running_loop()

        async def take():
            part = b"-"
            while part:
                try:
                    part = await reader.read(PART_BYTES)
                except OSError:
                    part = b""
                held.put_nowait((loop.time() + self.delay_s, part))

        taking = asyncio.create_task(take())
        try:
            while True:
                due, part = await held.get()
                if (left := due - loop.time()) > 0:
                    await asyncio.sleep(left)
                if not part:
                    break
                writer.write(part)
                await writer.drain()
        except OSError:
            pass
        finally:
            taking.cancel()
            writer.close()

    async def serve(self, port):
        async def connected(reader, writer):
            try:
                there = await asyncio.open_connection("127.0.0.1", port)
            except OSError:  # the node does not listen yet
                writer.close()
                return
            await asyncio.gather(self.carry(reader, there[1]), self.carry(there[0], writer))

        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        return server, server.sockets[0].getsockname()[1]


def listen_to_input(passing):
    for said in sys.stdin:
        passing.delay_s = float(said)
        print("done", flush=True)
    os._exit(0)


async def main(ports):
    passing = Passing()
    servers = [await passing.serve(int(port)) for port in ports]
    print(json.dumps([port for _, port in servers]), flush=True)
    threading.Thread(target=listen_to_input, args=[passing], daemon=True).start()
    await asyncio.gather(*(server.serve_forever() for server, _ in servers))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
