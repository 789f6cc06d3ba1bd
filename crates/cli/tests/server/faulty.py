"""A small language server that is right but for one named fault: `faulty.py push|pull [FAULT]`.

Findings are lines that hold `ERROR CODE words`. Each fault stands where it acts, as `is_faulty("name")`.
Standard library only.
"""

import json
import os
import re
import signal
import sys
import threading

MODE = sys.argv[1]
FAULT = sys.argv[2] if len(sys.argv) > 2 else ""
LINE_END = re.compile(r"\r\n|\n|\r")
FINDING = re.compile(r"ERROR (\S+) ?(.*)")
UNITS = {
    "utf-8": lambda text: len(text.encode("utf-8")),
    "utf-16": lambda text: len(text.encode("utf-16-le")) // 2,
    "utf-32": len,
}

output_lock = threading.Lock()
phase = "new"
encoding = "utf-16"
document = None
changes_seen = 0
last_findings = []


def is_faulty(name):
    return FAULT == name


class Document:
    def __init__(self, uri, version, text):
        self.uri, self.version, self.text = uri, version, text
        self.before = (version, text)


# --- the base protocol


def send(message):
    if not is_faulty("no-jsonrpc"):
        message = {"jsonrpc": "2.0", **message}
    content = json.dumps(message, ensure_ascii=False).encode("utf-8")
    with output_lock:
        if is_faulty("noise") and "result" in message:
            sys.stdout.buffer.write(b"[info] answered\n")
        sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(content) + content)
        sys.stdout.buffer.flush()


def read_message():
    length = None
    while True:
        line = sys.stdin.buffer.readline()
        if not line:
            return None
        line = line.strip()
        if not line:
            break
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return json.loads(sys.stdin.buffer.read(length))


def answer(request_id, result):
    if is_faulty("ids-as-numbers") and isinstance(request_id, str) and request_id.isdigit():
        request_id = int(request_id)
    send({"id": request_id, "result": result})
    if is_faulty("answers-twice"):
        send({"id": request_id, "result": result})


def refuse(request_id, code, message):
    if is_faulty("ids-as-numbers") and isinstance(request_id, str) and request_id.isdigit():
        request_id = int(request_id)
    send({"id": request_id, "error": {"code": code, "message": message}})


def later(seconds, action, *arguments):
    timer = threading.Timer(seconds, action, arguments)
    timer.daemon = True
    timer.start()


# --- texts and findings


def line_starts(text):
    pattern = re.compile(r"\n") if is_faulty("lf-only") else LINE_END
    return [0] + [match.end() for match in pattern.finditer(text)]


def offset(text, position):
    starts = line_starts(text)
    if position["line"] >= len(starts):
        raise ValueError("no such line")
    start = starts[position["line"]]
    end = LINE_END.search(text, start)
    end = end.start() if end else len(text)
    units = UNITS["utf-8" if is_faulty("bytes-in-changes") else encoding]
    at, counted = start, 0
    while at < end and counted < position["character"]:
        counted += units(text[at])
        at += 1
    if is_faulty("no-clamp") and counted < position["character"]:
        raise ValueError("past the end of the line")
    return at


def apply(text, change):
    if "range" not in change:
        return text if is_faulty("ignores-whole") else change["text"]
    try:
        start, end = offset(text, change["range"]["start"]), offset(text, change["range"]["end"])
    except ValueError:
        return text
    return text[:start] + change["text"] + text[end:]


def findings(text):
    found = []
    units = UNITS["utf-8" if is_faulty("bytes-in-findings") else encoding]
    for number, line in enumerate(LINE_END.split(text)):
        match = FINDING.search(line)
        if not match or is_faulty("blind") or is_faulty("interrupts"):
            continue
        end = units(line) + (9 if is_faulty("past-line-end") else 0)
        number += 99 if is_faulty("line-beyond") else 0
        found.append({
            "range": {
                "start": {"line": number, "character": units(line[: match.start()])},
                "end": {"line": number, "character": end},
            },
            "severity": 1,
            "code": match[1],
            "message": match[2],
        })
    return found


def publish(uri, version, found):
    params = {"uri": uri, "diagnostics": found}
    if version is not None:
        params["version"] = version
    if is_faulty("version-null"):
        params["version"] = None
    send({"method": "textDocument/publishDiagnostics", "params": params})


def concluded(opened):
    """The newest text is known: push what is to be pushed."""
    global last_findings
    uri, version, found = document.uri, document.version, findings(document.text)
    old_version, old_text = document.before
    if is_faulty("sticky") and not opened:
        found = found or last_findings
    last_findings = found
    if MODE == "pull":
        if is_faulty("pushes-other"):
            publish(uri, version, [dict(one, message="other") for one in found])
        return
    if is_faulty("version-ahead"):
        version += 1
    if is_faulty("names-previous"):
        version = old_version
    if is_faulty("stale-last-word") and not opened:
        found = findings(old_text)
    if is_faulty("old-content-new-version"):
        publish(uri, version, findings(old_text))
        later(0.02, publish, uri, version, found)
        return
    if is_faulty("loads-first") and opened:
        publish(uri, version, [])
        later(1.5, publish, uri, version, found)
        return
    publish(uri, version, found)
    if is_faulty("interrupts"):
        later(1.5, os.kill, os.getppid(), signal.SIGINT)
    if is_faulty("version-back"):
        publish(uri, old_version, found)
    if is_faulty("flickers"):
        later(1.2, flicker, version)


def flicker(version):
    if document and document.version == version:
        publish(document.uri, version, [{"range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}, "message": "late"}])


def report(params):
    previous = params.get("previousResultId")
    if is_faulty("no-kind"):
        return {"items": findings(document.text)}
    if is_faulty("baseless-unchanged"):
        return {"kind": "unchanged", "resultId": "r"}
    result_id = str(hash(document.text))
    if previous and (previous == result_id or is_faulty("always-unchanged")):
        return {"kind": "unchanged", "resultId": previous}
    text = document.before[1] if is_faulty("last-build") else document.text
    return {"kind": "full", "resultId": result_id, "items": findings(text)}


# --- messages


def initialize(params):
    global encoding
    offered = params["capabilities"].get("general", {}).get("positionEncodings", ["utf-16"])
    encoding = offered[0]
    capabilities = {
        "positionEncoding": "utf-7" if is_faulty("announces-utf-7") else encoding,
        "textDocumentSync": {"openClose": True, "change": 2},
    }
    if MODE == "pull":
        options = {"interFileDependencies": False, "workspaceDiagnostics": False}
        capabilities["diagnosticProvider"] = {} if is_faulty("no-options") else options
    return {} if is_faulty("no-capabilities") else {"capabilities": capabilities}


def on_request(request_id, method, params):
    global phase
    if method == "initialize":
        if is_faulty("eager"):
            send({"id": "eager", "method": "workspace/configuration", "params": {"items": []}})
        phase = "running"
        answer(request_id, initialize(params))
    elif phase == "new":
        answer(request_id, None) if is_faulty("answers-early") else refuse(request_id, -32002, "not initialized")
    elif phase == "shut down":
        answer(request_id, None) if is_faulty("works-after-shutdown") else refuse(request_id, -32600, "shut down")
    elif method == "shutdown":
        phase = "shut down"
        answer(request_id, {} if is_faulty("shutdown-object") else None)
    elif method == "textDocument/diagnostic" and MODE == "pull":
        answer(request_id, report(params))
    elif method == "textDocument/hover":
        answer(request_id, None)
    elif is_faulty("null-for-unknown"):
        answer(request_id, None)
    else:
        refuse(request_id, -32600 if is_faulty("wrong-code") else -32601, "unknown " + method)


def on_notification(method, params):
    global document, changes_seen
    if method == "exit":
        if is_faulty("deaf-before-initialize") and phase == "new":
            return
        code = 0 if phase == "shut down" else 1
        if is_faulty("exits-1"):
            code = 1
        if is_faulty("exits-0"):
            code = 0
        os._exit(code)
    if phase != "running":
        return
    if method == "textDocument/didOpen":
        item = params["textDocument"]
        remembered = last_findings
        document = Document(item["uri"], item["version"], item["text"])
        if is_faulty("remembers") and remembered:
            publish(document.uri, document.version, remembered)
        else:
            concluded(True)
    elif method == "textDocument/didChange":
        changes_seen += 1
        document.before = (document.version, document.text)
        document.version = params["textDocument"]["version"]
        if not (is_faulty("drops-a-change") and changes_seen % 5 == 0):
            for change in params["contentChanges"]:
                document.text = apply(document.text, change)
        concluded(False)
    elif method == "textDocument/didClose":
        if MODE == "push" and not is_faulty("keeps-on-close"):
            publish(params["textDocument"]["uri"], None, [])
    elif is_faulty("answers-notifications") and "nknown" in method:
        send({"id": None, "error": {"code": -32601, "message": "unknown " + method}})


while True:
    message = read_message()
    if message is None:
        if is_faulty("outlives-input"):
            threading.Event().wait()
        os._exit(0 if phase == "shut down" else 1)
    if "method" not in message:
        continue
    if "id" in message:
        on_request(message["id"], message["method"], message.get("params"))
    else:
        on_notification(message["method"], message.get("params"))
