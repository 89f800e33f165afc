# SPDX-License-Identifier: Apache-2.0
"""`shoal serve` replaces a process that hangs, and what it served goes on elsewhere."""

import json
import os
import pathlib
import signal
import socket
import threading
import time
import unittest
import urllib.request

from serving import MODEL_NAME, READY, Cluster

COPIES = 2
STREAMS = 6
TOKENS = 1500
RECOVERY_SECONDS = 90


def child_of(parent, *words):
    """The pid of the process that `parent` started with all `words` on its command line."""
    children = pathlib.Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    for pid in children:
        line = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
        if all(word in line for word in words):
            return int(pid)
    raise LookupError(words)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Stream(threading.Thread):
    """One streamed completion; `begun` is set with its first text, `text` is whole at the end."""

    def __init__(self, http, seed, tokens=TOKENS):
        super().__init__()
        self.body = {"model": MODEL_NAME, "prompt": f"stream {seed}", "seed": seed, "stream": True,
                     "max_tokens": tokens, "ignore_eos": True}
        self.http, self.begun = http, threading.Event()
        self.text, self.reason, self.error = "", None, None

    def run(self):
        request = urllib.request.Request(self.http + "/v1/completions",
                                         json.dumps(self.body).encode())
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                for line in answer:
                    self.take(line.decode().strip())
        except (OSError, ValueError) as error:
            self.error = error
        self.begun.set()

    def take(self, line):
        if not line.startswith("data: {"):
            return
        event = json.loads(line.removeprefix("data: "))
        if "error" in event:
            raise ValueError(event["error"])
        self.text += event["choices"][0]["text"]
        self.reason = event["choices"][0]["finish_reason"] or self.reason
        self.begun.set()


class Supervision(unittest.TestCase):
    def setUp(self):
        # The router moves what a silent replica has after 1 s; serve replaces it after 3 s.
        # A restarted router takes the same port only when the config names it.
        self.cluster = Cluster(COPIES, overrides=[
            "deadlines.step=1s", "deadlines.hang=3s", f"router.http=127.0.0.1:{free_port()}"])

    def tearDown(self):
        code = self.cluster.stop()
        self.assertEqual(code, 0, "a request or a block was lost")

    def metrics(self):
        with urllib.request.urlopen(self.cluster.http + "/metrics", timeout=10) as answer:
            return answer.read().decode()

    def await_replacement(self, pid, *words):
        """Until another process has its place and all replicas are ready."""
        deadline = time.monotonic() + RECOVERY_SECONDS
        while time.monotonic() < deadline:
            try:
                new = child_of(self.cluster.process.pid, *words)
                if new != pid and len(READY.findall(self.metrics())) == COPIES:
                    return new
            except (LookupError, OSError):
                pass  # not started again yet
            time.sleep(0.05)
        self.fail("the hung process was not replaced")

    def run_streams(self):
        streams = [Stream(self.cluster.http, seed) for seed in range(STREAMS)]
        for stream in streams:
            stream.start()
        return streams

    def test_a_stopped_worker_is_replaced_and_no_stream_notices(self):
        expected = self.run_streams()
        for stream in expected:
            stream.join()
        streams = self.run_streams()
        for stream in streams:
            stream.begun.wait()
        words = ("worker", "--copy=0")
        pid = child_of(self.cluster.process.pid, *words)
        os.kill(pid, signal.SIGSTOP)
        for stream, calm in zip(streams, expected):
            stream.join()
            self.assertIsNone(stream.error)
            self.assertEqual(stream.reason, "length")
            self.assertEqual(stream.text, calm.text)
        new = self.await_replacement(pid, *words)
        self.assertFalse(pathlib.Path(f"/proc/{pid}").exists())
        after = Stream(self.cluster.http, 0, tokens=8)
        after.run()
        self.assertIsNone(after.error)
        self.assertNotEqual(new, child_of(self.cluster.process.pid, "worker", "--copy=1"))

    def test_a_stopped_router_is_replaced(self):
        pid = child_of(self.cluster.process.pid, "router")
        os.kill(pid, signal.SIGSTOP)
        self.await_replacement(pid, "router")


if __name__ == "__main__":
    unittest.main()
