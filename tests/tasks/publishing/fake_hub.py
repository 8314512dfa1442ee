"""A small server that stands for the Hub: repositories, branches, commits of regular files, downloads."""

import base64
import hashlib
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote


class Hub:
    """repositories: name -> branch -> file -> content. fail: a part of a path whose requests are refused."""

    def __init__(self):
        self.repositories: dict[str, dict[str, dict[str, bytes]]] = {}
        self.private: dict[str, bool] = {}
        self.requests: list[str] = []
        self.fail: str | None = None
        self.address = ""


@contextmanager
def fake_hub():
    hub = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": hub}))
    hub.address = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def _answer(self, content, status=200, headers=None):
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _begin(self):
        path = unquote(self.path.partition("?")[0])
        self.hub.requests.append(f"{self.command} {path}")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.hub.fail and self.hub.fail in path:
            self._answer({"error": "no room left"}, 413)
            return None, body
        return path, body

    def do_POST(self):
        path, body = self._begin()
        if path is None:
            return
        if path == "/api/repos/create":
            given = json.loads(body)
            name = "/".join(filter(None, [given.get("organization"), given["name"]]))
            new = self.hub.repositories.setdefault(name, {"main": {}})
            self.hub.private.setdefault(name, bool(given.get("private") or given.get("visibility") == "private"))
            return self._answer({"url": f"{self.hub.address}/{name}", "id": name, "new": not new})
        if path == "/api/validate-yaml":
            return self._answer({"errors": [], "warnings": []})
        *_, user, name, action, branch = path.split("/")
        files = self.hub.repositories[f"{user}/{name}"]
        if action == "branch":
            files[branch] = dict(files["main"])
            return self._answer({})
        if action == "preupload":
            asked = json.loads(body)["files"]
            modes = [{"path": file["path"], "uploadMode": "regular", "shouldIgnore": False} for file in asked]
            return self._answer({"files": modes})
        if action == "commit":
            for line in map(json.loads, body.splitlines()):
                value = line["value"]
                if line["key"] == "file":
                    files[branch][value["path"]] = base64.b64decode(value["content"])
                elif line["key"] == "deletedFile":
                    del files[branch][value["path"]]
            sha = revision(files[branch])
            commit = {"commitUrl": f"{self.hub.address}/{user}/{name}/commit/{sha}", "commitOid": sha}
            return self._answer(commit)
        return self._answer({"error": "no such path"}, 404)

    def do_GET(self):
        path, _ = self._begin()
        if path is None:
            return
        parts = path.strip("/").split("/")
        if parts[:2] == ["api", "models"] and f"{parts[2]}/{parts[3]}" in self.hub.repositories:
            files = self.hub.repositories[f"{parts[2]}/{parts[3]}"]
            branch = parts[5] if len(parts) > 5 else "main"
            found = files.get(branch, files["main"])
            if len(parts) > 4 and parts[4] == "tree":
                listed = [{"type": "file", "path": name, "size": len(content), "oid": hashlib.sha1(content).hexdigest()}
                          for name, content in found.items()]  # fmt: skip
                return self._answer(listed)
            siblings = [{"rfilename": name} for name in found]
            name = f"{parts[2]}/{parts[3]}"
            return self._answer({"id": name, "modelId": name, "sha": revision(found), "siblings": siblings})
        if len(parts) > 4 and parts[2] == "resolve" and f"{parts[0]}/{parts[1]}" in self.hub.repositories:
            branches = self.hub.repositories[f"{parts[0]}/{parts[1]}"]
            for files in branches.values():
                content = files.get("/".join(parts[4:]))
                if content is not None and parts[3] in (revision(files), "main"):
                    etag = hashlib.sha1(content).hexdigest()
                    return self._answer(content, headers={"X-Repo-Commit": revision(files), "ETag": f'"{etag}"'})
        return self._answer({"error": "Repository not found"}, 404, {"X-Error-Code": "RepoNotFound"})

    do_HEAD = do_GET


def revision(files):
    return hashlib.sha1(
        json.dumps(sorted((name, len(content)) for name, content in files.items())).encode()
    ).hexdigest()
