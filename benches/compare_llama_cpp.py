#!/usr/bin/env python3
"""Measures Wick and llama.cpp on one GGUF file, in turns, and prints the ratio of the medians.

    wick bench --random qwen3-0.6b --type q4_k_m --save qwen3.gguf -p 0 -n 1 -r 1
    benches/compare_llama_cpp.py --peer llama.cpp/build/bin --wick build/release/bin/wick qwen3.gguf

Both compute on the CPU with keys and values in f16. Each round runs both programs once per case, the one that goes
first changing from round to round, so that slow moments of the machine hit both. Python's standard library only.
"""

import argparse
import json
import os
import selectors
import statistics
import subprocess
import sys
import time

PROMPT = "The quick brown fox jumps over the lazy dog, and then it rests in the shade of an old tree."


def run(command):
    """Runs a program: its output, the seconds until its first byte (or its end), and its peak memory in bytes."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    first, chunks, errors = None, [], []
    with selectors.DefaultSelector() as waiting:
        waiting.register(process.stdout, selectors.EVENT_READ, chunks)
        waiting.register(process.stderr, selectors.EVENT_READ, errors)
        while waiting.get_map():
            for key, _ in waiting.select():
                data = os.read(key.fd, 65536)
                if not data:
                    waiting.unregister(key.fileobj)
                    continue
                if key.data is chunks and first is None:
                    first = time.monotonic() - start
                key.data.append(data)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)}: failed with {process.returncode}\n{b''.join(errors).decode(errors='replace')}")
    return b"".join(chunks).decode(errors="replace"), first or seconds, usage.ru_maxrss * 1024


class Wick:
    name = "wick"

    def __init__(self, options):
        self.program, self.model = options.wick, options.model
        self.writes = subprocess.run([self.program, "run", "--help"], capture_output=True).returncode == 0

    def rates(self, case, threads):
        prompt, generate, depth = case
        command = [self.program, "bench", self.model, "--json", "-r", "1", "-t", str(threads)]
        out, _, peak = run(command + ["-p", str(prompt), "-n", str(generate), "--depth", str(depth)])
        return json.loads(out)["rows"][0]["median"], peak

    def load_and_read(self, threads):
        """Seconds and memory of a process that loads the model and reads 16 tokens."""
        return run([self.program, "bench", self.model, "--json", "-p", "16", "-n", "0", "-r", "1", "--no-warmup",
                    "-t", str(threads)])[1:]

    def first_token(self, threads):
        if not self.writes:
            return None
        return run([self.program, "run", self.model, "--raw", "-p", PROMPT, "-n", "1", "--temperature", "0",
                    "--threads", str(threads)])[1:]


class LlamaCpp:
    name = "llama.cpp"

    def __init__(self, options):
        self.folder, self.model = options.peer, options.model
        self.bench = os.path.join(self.folder, "llama-bench")
        self.writer, self.simple = (os.path.join(self.folder, name) for name in ("llama-completion", "llama-simple"))

    def rates(self, case, threads):
        prompt, generate, depth = case
        command = [self.bench, "-m", self.model, "-o", "json", "-r", "1", "-t", str(threads), "-ngl", "0"]
        out, _, peak = run(command + ["-p", str(prompt), "-n", str(generate), "-d", str(depth)])
        return json.loads(out)[0]["avg_ts"], peak

    def load_and_read(self, threads):
        return run([self.bench, "-m", self.model, "-o", "json", "-p", "16", "-n", "0", "-r", "1", "--no-warmup",
                    "-ngl", "0", "-t", str(threads)])[1:]

    def first_token(self, threads):
        if os.path.exists(self.writer):
            return run([self.writer, "-m", self.model, "-p", PROMPT, "-n", "1", "--temp", "0", "-no-cnv", "-ngl", "0",
                        "-t", str(threads)])[1:]
        # It always has four threads, which crawl where there are fewer CPUs.
        if os.path.exists(self.simple) and len(os.sched_getaffinity(0)) >= 4:
            return run([self.simple, "-m", self.model, "-ngl", "0", "-n", "1", PROMPT])[1:]
        return None


def progress(text):
    if sys.stderr.isatty():
        print(text, end="", file=sys.stderr, flush=True)


def case_name(case):
    prompt, generate, depth = case
    return (f"pp{prompt}" if prompt else f"tg{generate}") + (f" @ d{depth}" if depth else "")


def median(values):
    return statistics.median(values) if values else None


def collect(options):
    """For each thread count and case: the values of both programs and their peak memory."""
    programs = [Wick(options), LlamaCpp(options)]
    cases = [(128, 0, 0), (512, 0, 0), (0, options.generate, 0)]
    if options.depth:
        cases += [(128, 0, options.depth), (0, options.generate, options.depth)]
    speeds, starts, peaks = {}, {}, {program.name: [] for program in programs}
    for round_ in range(options.rounds):
        order = programs if round_ % 2 == 0 else programs[::-1]
        for threads in options.threads:
            for case in cases:
                for program in order:
                    progress(f"\rround {round_ + 1} of {options.rounds}: {case_name(case)}, {threads} threads, "
                             f"{program.name}\033[K")
                    rate, peak = program.rates(case, threads)
                    speeds.setdefault((threads, case), {}).setdefault(program.name, []).append(rate)
                    peaks[program.name].append(peak)
            for program in order:
                for test, start in (("load + 16 tokens", program.load_and_read(threads)),
                                    ("first token", program.first_token(threads))):
                    if start:
                        starts.setdefault((test, threads), {}).setdefault(program.name, []).append(start)
    progress("\r\033[K")
    return speeds, starts, peaks


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a GGUF file")
    parser.add_argument("--wick", required=True, help="the program wick")
    parser.add_argument("--peer", required=True, help="the folder of llama-bench, and llama-completion or llama-simple")
    parser.add_argument("--threads", default="1,2", help="thread counts (default: 1,2)")
    parser.add_argument("--rounds", type=int, default=5, help="times each program runs each case (default: 5)")
    parser.add_argument("--generate", type=int, default=32, help="tokens to write (default: 32)")
    parser.add_argument("--depth", type=int, default=4096, help="also behind this many tokens; 0: not (default: 4096)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    options.threads = [int(count) for count in options.threads.split(",")]
    speeds, starts, peaks = collect(options)

    rows = []
    for (threads, case), by_name in speeds.items():
        wick, peer = median(by_name["wick"]), median(by_name["llama.cpp"])
        rows.append({"test": case_name(case), "threads": threads, "unit": "tokens/s", "wick": wick,
                     "llama.cpp": peer, "ratio": wick / peer})
    for (test, threads), by_name in starts.items():
        for what, unit, place in ((test, "s", 0), (f"peak memory, {test}", "bytes", 1)):
            values = {name: median([start[place] for start in by_name.get(name, [])]) for name in ("wick", "llama.cpp")}
            ratio = values["llama.cpp"] / values["wick"] if all(values.values()) else None
            rows.append({"test": what, "threads": threads, "unit": unit, **values, "ratio": ratio})
    wick, peer = max(peaks["wick"]), max(peaks["llama.cpp"])
    rows.append({"test": "peak memory, all cases", "threads": None, "unit": "bytes", "wick": wick,
                 "llama.cpp": peer, "ratio": peer / wick})

    if options.json:
        print(json.dumps({"model": options.model, "rounds": options.rounds, "rows": rows}, indent=2))
        return
    print(f"{options.model}, medians of {options.rounds} rounds; a ratio above 1: Wick is better")
    print(f"{'test':<30} {'threads':>7} {'wick':>12} {'llama.cpp':>12} {'ratio':>7}")
    for row in rows:
        cells = []
        for name in ("wick", "llama.cpp"):
            value = row[name]
            cells.append("-" if value is None else f"{value / 2**20:.0f} MiB" if row["unit"] == "bytes"
                         else f"{value * 1000:.0f} ms" if row["unit"] == "s" else f"{value:.2f} t/s")
        ratio = "-" if row["ratio"] is None else f"{row['ratio']:.2f}"
        print(f"{row['test']:<30} {row['threads'] or '':>7} {cells[0]:>12} {cells[1]:>12} {ratio:>7}")


if __name__ == "__main__":
    main()
