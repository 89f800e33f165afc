# SPDX-License-Identifier: Apache-2.0
"""Starts a whole cluster (router and two replicas) for a test module, on ports the system chooses."""

import os
import pathlib
import re
import selectors
import signal
import subprocess
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SHOAL = os.environ.get("SHOAL_BINARY", str(ROOT / "build/release/shoal"))
TINY_MODEL = str(ROOT / "tests/golden/models/gqa-bias")
MODEL_NAME = "tiny"
START_SECONDS = 60
STOP_SECONDS = 60
READY = re.compile(r"^shoal_replica_ready\{.*\} 1$", re.MULTILINE)

CONFIG = """\
schema: 1
cluster: clients
models:
  - {{ name: {name}, path: {path} }}
router: {{ http: "127.0.0.1:0", grpc: "127.0.0.1:0", policy: least-work, max_body_bytes: 1MiB }}
replicas:
  - {{ name: chat, model: {name}, count: {count} }}
engine:
  max_context: 2048
  max_batch_tokens: 128
  kv: {{ memory: 64MiB }}
ports: {{ base: 0 }}
drain_seconds: 20
"""


class Cluster:
    """A running `shoal serve`. `http` and `grpc` are its addresses."""

    def __init__(self, count=2, model=TINY_MODEL, name=MODEL_NAME, overrides=()):
        self.folder = tempfile.TemporaryDirectory()
        config = pathlib.Path(self.folder.name) / "cluster.yaml"
        config.write_text(CONFIG.format(name=name, path=model, count=count), encoding="utf-8")
        arguments = [SHOAL, "serve", str(config)]
        for override in overrides:
            arguments += ["--set", override]
        self.process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
        words = self._first_line().split()
        self.http, grpc = words[2], words[3]
        self.grpc = grpc.removeprefix("grpc://")
        self._wait_until_ready(count)

    def _first_line(self):
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            if not selector.select(START_SECONDS):
                self.process.kill()
                raise RuntimeError("the cluster did not start in time")
        line = self.process.stdout.readline()
        if not line.startswith("serving on "):
            raise RuntimeError(f"the cluster did not start: {line!r}")
        return line

    def _wait_until_ready(self, count):
        """Until every replica takes requests; `/ready` answers as soon as one does."""
        deadline = time.monotonic() + START_SECONDS
        while True:
            with urllib.request.urlopen(self.http + "/metrics", timeout=5) as answer:
                metrics = answer.read().decode()
            if len(READY.findall(metrics)) == count:
                return
            if time.monotonic() > deadline:
                self.process.kill()
                raise RuntimeError(f"the replicas were not ready in time:\n{metrics}")
            time.sleep(0.02)

    def stop(self):
        """Drains; returns the exit code."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        finally:
            self.process.stdout.close()
            self.folder.cleanup()
