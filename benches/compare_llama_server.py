#!/usr/bin/env python3
"""Measures `wick serve` and llama-server with many users at once, in turns, and prints the ratio of the medians.

    wick bench --random qwen3-0.6b --type q4_k_m --save qwen3.gguf -p 0 -n 1 -r 1
    benches/compare_llama_server.py --peer llama.cpp/build/bin/llama-server --wick build/release/bin/wick qwen3.gguf

Each of N users sends one prompt of 64 tokens, all at the same moment, and reads an answer of 64 tokens as it comes. The
second workload has a beginning of 1,000 tokens in common: the first request computes it, the ones after it should not.
Servers are started for each case, with as many slots as there are users, and answer one request before. Python's
standard library only.
"""

import argparse
import json
import random
import selectors
import socket
import statistics
import subprocess
import sys
import time

START_SECONDS = 120


class Server:
    def __init__(self, command, port):
        self.port = port
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + START_SECONDS
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > end:
                self.stop()
                sys.exit(f"{' '.join(command)}: does not answer")
            time.sleep(0.05)

    def is_ready(self):
        try:
            self.complete([[1, 2, 3]], 1)
            return True
        except OSError:
            return False

    def stop(self):
        self.process.kill()
        self.process.wait()

    def resident(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS"))

    def complete(self, prompts, tokens):
        """Sends all prompts at once. The times, from the start, at which each answer's pieces came."""
        start = time.monotonic()
        users = {}
        with selectors.DefaultSelector() as waiting:
            for prompt in prompts:
                body = json.dumps({"prompt": prompt, "max_tokens": tokens, "temperature": 0, "ignore_eos": True,
                                   "stream": True, "cache_prompt": True}).encode()
                user = socket.create_connection(("127.0.0.1", self.port))
                user.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                             b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body)
                users[user] = (bytearray(), [])
                waiting.register(user, selectors.EVENT_READ)
            while waiting.get_map():
                for key, _ in waiting.select():
                    text, times = users[key.fileobj]
                    data = key.fileobj.recv(65536)
                    if not data:
                        waiting.unregister(key.fileobj)
                        key.fileobj.close()
                        continue
                    text += data
                    pieces = text.count(b"data: {") - len(times)
                    times += [time.monotonic() - start] * pieces
        for text, times in users.values():
            if b" 200 " not in bytes(text[:40]) or not times:
                raise OSError(bytes(text[:400]).decode(errors="replace"))
        return [times for _, times in users.values()]


def wick(arguments, users, port):
    return Server([arguments.wick, "serve", f"model={arguments.model}", "--port", str(port), "--threads",
                   str(arguments.threads), "--context", "2048", "--max-running", str(users)], port)


def peer(arguments, users, port):
    return Server([arguments.peer, "-m", arguments.model, "--port", str(port), "-t", str(arguments.threads), "-tb",
                   str(arguments.threads), "-np", str(users), "-c", str(2048 * users), "--no-webui"], port)


def some_prompt(seed, count):
    numbers = random.Random(seed)
    return [numbers.randrange(1000, 100000) for _ in range(count)]


def crowd(server, users, round_number):
    prompts = [some_prompt(f"{round_number}/{user}", 64) for user in range(users)]
    answers = server.complete(prompts, 64)
    gaps = sorted(b - a for times in answers for a, b in zip(times, times[1:]))
    return {"tokens/s": 64 * users / max(times[-1] for times in answers),
            "first token s": statistics.mean(times[0] for times in answers),
            "p95 between tokens ms": 1000 * gaps[len(gaps) * 95 // 100]}


def shared_beginning(server, round_number):
    beginning = some_prompt(f"shared/{round_number}", 1000)
    firsts = [server.complete([beginning + some_prompt(f"{round_number}/{i}", 16)], 4)[0][0] for i in range(5)]
    return {"cold s": firsts[0], "known s": statistics.median(firsts[1:]),
            "known / cold": statistics.median(firsts[1:]) / firsts[0]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--wick", default="build/release/bin/wick")
    parser.add_argument("--peer", required=True, help="path of llama-server")
    parser.add_argument("--users", default="1,4,8,16,32")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--port", type=int, default=18080)
    arguments = parser.parse_args()
    port = arguments.port
    cases = [(f"{users} users", users, lambda s, r, n=users: crowd(s, n, r))
             for users in map(int, arguments.users.split(","))]
    cases.append(("1,000 tokens in common", 1, shared_beginning))
    for name, users, measure in cases:
        found = {"wick": [], "peer": []}
        for round_number in range(arguments.rounds):
            sides = [("wick", wick), ("peer", peer)]
            for side, start in sides if round_number % 2 == 0 else reversed(sides):
                port += 1
                server = start(arguments, users, port)
                try:
                    server.complete([some_prompt("before", 64)], 64)  # both are slower in their first second
                    found[side].append(measure(server, round_number))
                finally:
                    server.stop()
        print(name)
        for number in found["wick"][0]:
            a, b = (statistics.median(each[number] for each in found[side]) for side in ("wick", "peer"))
            print(f"  {number:24} wick {a:9.3f}   peer {b:9.3f}   ratio {a / b:6.2f}", flush=True)


if __name__ == "__main__":
    main()
