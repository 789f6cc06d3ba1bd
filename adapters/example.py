#!/usr/bin/env python3
"""A small diagnostic feedback loop behind the lsp-assay adapter protocol: an example to copy from.

Standard library only. It is naive on purpose, and says so rather than guesses:
- it sends the whole text with every change and waits for a push that names the newest version;
- a push without a version proves nothing to it, and it never pulls: such servers end as `pending`;
- it answers one request at a time, starts a server once, and a server that has ended stays ended;
- a server that stops reading its input can block it for good.

    lsp-assay loop --real --adapter 'python3 adapters/example.py' freshness/
"""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

MESSAGE_BYTES_MAX = 64 * 1024 * 1024
LINES_MAX = 20
SEVERITIES = {1: "error", 2: "warning", 3: "information", 4: "hint"}


class Gone(Exception):
    """The server has ended, or cannot be talked to."""


class Server:
    """One language server: its process, its documents, and what it last said of each."""

    def __init__(self, facts, root):
        self.facts, self.root = facts, root
        self.process, self.gone = None, None
        self.inbox = queue.Queue(maxsize=1000)
        self.versions, self.said, self.requests = {}, {}, 0

    def covers(self, path):
        return any(path.endswith(extension) for extension in self.facts["extensions"])

    def start(self, deadline):
        """Starts the process and initializes it, once. Raises Gone or TimeoutError."""
        if self.gone:
            raise Gone(self.gone)
        if self.process is None:
            try:
                self.process = subprocess.Popen(
                    self.facts["command"], cwd=self.root, start_new_session=True,
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            except OSError as error:
                self.gone = f"could not be started: {error}"
                raise Gone(self.gone) from error
            threading.Thread(target=self.read, daemon=True).start()
            self.initialize_id = self.request("initialize", {
                "processId": os.getpid(),
                "rootUri": self.root.as_uri(),
                "capabilities": {"textDocument": {"publishDiagnostics": {"versionSupport": True}}},
            })
            self.ready = False
        while not self.ready:
            message = self.receive(deadline)
            if message.get("id") == self.initialize_id and "method" not in message:
                if "error" in message:
                    self.gone = "refused to initialize"
                    raise Gone(self.gone)
                self.notify("initialized", {})
                self.ready = True

    def sync(self, path):
        """Tells the server the text on disk; returns the document's URI and version."""
        file = self.root / path
        uri, text = file.as_uri(), read_exactly(file)
        version = self.versions.get(uri, 0) + 1
        if uri in self.versions:
            self.notify("textDocument/didChange", {
                "textDocument": {"uri": uri, "version": version}, "contentChanges": [{"text": text}]})
        else:
            self.notify("textDocument/didOpen", {"textDocument": {
                "uri": uri, "languageId": self.facts["language_id"], "version": version, "text": text}})
        self.versions[uri] = version
        return uri, version

    def diagnostics(self, uri, version, deadline):
        """What the server says of exactly this version. Raises Gone or TimeoutError."""
        while self.said.get(uri, (None, None))[0] != version:
            self.receive(deadline)
        return self.said[uri][1]

    def close(self, path):
        uri = (self.root / path).as_uri()
        self.said.pop(uri, None)
        if self.versions.pop(uri, None) is not None:
            self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def stop(self):
        """Shuts down in order, then by force; bounded."""
        if self.process is None:
            return
        try:
            self.request("shutdown", None)
            self.notify("exit", None)
            self.process.stdin.close()
            self.process.wait(timeout=0.5)
        except (Gone, OSError, subprocess.TimeoutExpired):
            pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    def request(self, method, params):
        self.requests += 1
        self.send({"id": self.requests, "method": method, "params": params})
        return self.requests

    def notify(self, method, params):
        self.send({"method": method, "params": params})

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        try:
            self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            self.process.stdin.flush()
        except (OSError, ValueError) as error:
            self.gone = "ended"
            raise Gone(self.gone) from error

    def receive(self, deadline):
        """The next message, with the server's own requests answered and its pushes noted."""
        try:
            message = self.inbox.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise TimeoutError from None
        if isinstance(message, str):
            self.gone = message
            raise Gone(message)
        method = message.get("method")
        if method == "textDocument/publishDiagnostics":
            params = message["params"]
            self.said[params["uri"]] = (params.get("version"), params["diagnostics"])
        elif method and "id" in message:
            self.answer(message, method)
        return message

    def answer(self, message, method):
        known = {
            "workspace/configuration": lambda: [self.facts.get("settings")] * len(message["params"]["items"]),
            "workspace/workspaceFolders": lambda: None,
            "window/workDoneProgress/create": lambda: None,
            "client/registerCapability": lambda: None,
            "client/unregisterCapability": lambda: None,
        }
        if method in known:
            self.send({"id": message["id"], "result": known[method]()})
        else:
            self.send({"id": message["id"], "error": {"code": -32601, "message": f"no such method: {method}"}})

    def read(self):
        """The reader thread: frames in, messages out; a last string says why it ended."""
        try:
            while True:
                length = None
                while (line := self.process.stdout.readline(4096)) not in (b"\r\n", b"\n"):
                    if not line:
                        return self.inbox.put("ended")
                    name, _, value = line.partition(b":")
                    if name.strip().lower() == b"content-length":
                        length = int(value)
                if length is None or not 0 <= length <= MESSAGE_BYTES_MAX:
                    return self.inbox.put("sent a frame without a usable length")
                message = json.loads(self.process.stdout.read(length))
                if isinstance(message, dict):
                    self.inbox.put(message)
        except (ValueError, OSError) as error:
            self.inbox.put(f"sent what is no message: {error}")


def finding(path, text, diagnostic):
    """One diagnostic as a finding. One that is odd is shown as well as it can be: lost would be worse."""
    if not isinstance(diagnostic, dict):
        diagnostic = {"message": diagnostic}
    line, column = place(text, diagnostic.get("range"))
    severity = diagnostic.get("severity")
    found = {"path": path, "line": line, "column": column, "message": cleaned(diagnostic.get("message", "")),
             "severity": SEVERITIES.get(severity, "error") if isinstance(severity, int) else "error"}
    if "code" in diagnostic:
        found["code"] = cleaned(diagnostic["code"])
    return found


def place(text, span):
    """Line and column from 1, the column in characters rather than UTF-16; 1:1 if there is no telling."""
    try:
        number, character = span["start"]["line"], span["start"]["character"]
        line = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")[number]
        before = line.encode("utf-16-le")[: 2 * character].decode("utf-16-le", "replace")
        return number + 1, len(before) + 1
    except (TypeError, KeyError, IndexError):
        return 1, 1


def cleaned(value):
    """One line of bounded length, without anything that steers a terminal. Markup is an object with a value."""
    text = str(value["value"] if isinstance(value, dict) else value)
    return "".join(c if c.isprintable() else " " for c in text.split("\n")[0])[:300]


def read_exactly(file):
    """The text with its own line ends: Python would make each of them a newline, and the copies would differ."""
    return file.read_bytes().decode("utf-8")


def words(conclusion, errors):
    """Exactly what a model would be given."""
    lines = [f"{e['path']}:{e['line']}:{e['column']}: {e.get('code', 'error')}: {e['message']}" for e in errors]
    more = [f"{len(lines) - LINES_MAX} more"] if len(lines) > LINES_MAX else []
    return "\n".join([conclusion, *lines[:LINES_MAX], *more])


class Loop:
    """The session: one method for each operation."""

    def start(self, request):
        if request["protocol"] != 1:
            raise ValueError(f"protocol {request['protocol']} is not known here, only 1")
        self.root = Path(request["root"])
        self.budget = request["budget_ms"] / 1000
        self.initialize_budget = request.get("initialize_budget_ms", request["budget_ms"]) / 1000
        self.servers = [Server(facts, self.root) for facts in request["servers"]]
        return {"loop": {"name": "example", "version": "1"},
                "can": ["conclusion", "findings", "read", "close", "delete"]}

    def edit(self, request):
        began = time.monotonic()
        path, findings, notes = request["path"], [], []
        covering = [server for server in self.servers if server.covers(path)]
        conclusions = set()
        for server in covering:
            try:
                server.start(began + self.initialize_budget)
                uri, version = server.sync(path)
                diagnostics = server.diagnostics(uri, version, time.monotonic() + self.budget)
                text = read_exactly(self.root / path)
                findings += [finding(path, text, diagnostic) for diagnostic in diagnostics]
            except Gone as error:
                conclusions.add("unavailable")
                notes.append(f"{server.facts['name']}: {error}")
            except TimeoutError:
                conclusions.add("pending")
        findings.sort(key=lambda found: (found["severity"] != "error", found["line"], found["column"]))
        errors = [found for found in findings if found["severity"] == "error"]
        conclusion = ("errors" if errors else "pending" if "pending" in conclusions
                      else "unavailable" if conclusions else "clean" if covering else "uncovered")
        return {"path": path, "conclusion": conclusion, "findings": findings, "errors": len(errors), "notes": notes,
                "text": words(conclusion, errors), "waited_ms": (time.monotonic() - began) * 1000}

    def read(self, request):
        for server in self.servers:
            if server.covers(request["path"]):
                try:
                    server.start(time.monotonic())
                except (Gone, TimeoutError):
                    pass  # The next edit tells.
        return {}

    def close(self, request):
        for server in self.servers:
            if server.process and not server.gone:
                server.close(request["path"])
        return {}

    delete = close

    def stop(self, _request=None):
        for server in getattr(self, "servers", []):
            server.stop()
        return {}


def main():
    loop = Loop()
    try:
        for line in sys.stdin:
            request = json.loads(line)
            operation = getattr(loop, request["op"], None) if not request["op"].startswith("_") else None
            try:
                if operation is None:
                    raise ValueError(f"this loop has no {request['op']}")
                answer = {"ok": True, **operation(request)}
            except Exception as error:  # Whatever goes wrong, the judge gets an answer.
                answer = {"ok": False, "error": f"{type(error).__name__}: {error}"}
            print(json.dumps({"id": request["id"], **answer}), flush=True)
            if request["op"] == "stop":
                break
    finally:
        loop.stop()


if __name__ == "__main__":
    main()
