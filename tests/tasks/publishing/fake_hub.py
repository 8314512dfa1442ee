"""A small server that stands for the Hub: repositories, branches, commits, uploads of large files, downloads."""

import base64
import hashlib
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

import huggingface_hub.hf_api
import transformers.utils.hub

TOKEN = "hf_secret"
UNGUARDED = ("/api/validate-yaml", "/large/")  # asked for without a token


class Hub:
    """repositories: name -> branch -> file -> content; large: what the large file storage holds, by SHA-256.

    fail: a part of a path whose requests are refused. Weights are wanted as large files, as by the Hub itself.
    """

    def __init__(self):
        self.repositories: dict[str, dict[str, dict[str, bytes]]] = {}
        self.large: dict[str, bytes] = {}
        self.private: dict[str, bool] = {}
        self.requests: list[str] = []
        self.fail: str | None = None
        self.address = ""

    def environment(self, home):
        """Variables for a client that comes here, logged in, with a home of its own."""
        return {
            "HF_ENDPOINT": self.address,
            "HF_TOKEN": TOKEN,
            "HF_HOME": str(home),
            "HF_HUB_OFFLINE": "0",
            "HF_HUB_DISABLE_XET": "1",  # which needs a second kind of server
        }


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

    def _answer(self, content, status=200, **headers):
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _refuse(self, status, message, code=None):
        self._answer({"error": message}, status, **({"X_Error_Code": code} if code else {}))

    def _begin(self):
        """The path and the body of a request; None if it has been refused."""
        path = unquote(self.path.partition("?")[0])
        self.hub.requests.append(f"{self.command} {path}")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.hub.fail and self.hub.fail in path:
            self._refuse(413, "no room left")
        elif (
            self.command in ("POST", "PUT")
            and not path.startswith(UNGUARDED)
            and self.headers.get("Authorization") != f"Bearer {TOKEN}"
        ):
            self._refuse(401, "Invalid username or password.")
        else:
            return path, body
        return None

    def do_PUT(self):
        if begun := self._begin():
            path, body = begun
            name = path.removeprefix("/large/")
            if hashlib.sha256(body).hexdigest() != name:
                return self._refuse(400, "other content")
            self.hub.large[name] = body
            self._answer({})

    def do_POST(self):
        if begun := self._begin():
            path, body = begun
            if path == "/api/repos/create":
                return self._create(json.loads(body))
            if path == "/api/validate-yaml":
                return self._answer({"errors": [], "warnings": []})
            if path.endswith(".git/info/lfs/objects/batch"):
                return self._offer(json.loads(body)["objects"])
            *_, user, name, action, branch = path.split("/")
            branches = self.hub.repositories[f"{user}/{name}"]
            if action == "branch":
                if branch in branches:
                    return self._refuse(409, "Reference already exists")
                branches[branch] = dict(branches["main"])
                return self._answer({})
            if action == "preupload":
                return self._answer({"files": [mode_of(file["path"]) for file in json.loads(body)["files"]]})
            assert action == "commit", path
            self._commit(branches[branch], [json.loads(line) for line in body.splitlines()])
            sha = revision(branches[branch])
            return self._answer({"commitUrl": f"{self.hub.address}/{user}/{name}/commit/{sha}", "commitOid": sha})
        return None

    def _create(self, given):
        name = "/".join(filter(None, [given.get("organization"), given["name"]]))
        if name in self.hub.repositories:
            return self._answer({"error": "You already created this repo", "url": f"{self.hub.address}/{name}"}, 409)
        self.hub.repositories[name] = {"main": {".gitattributes": b"*.safetensors filter=lfs\n"}}
        self.hub.private[name] = bool(given.get("private") or given.get("visibility") == "private")
        return self._answer({"url": f"{self.hub.address}/{name}", "id": name})

    def _offer(self, objects):
        """Where to put large files."""
        places = [
            {**each, "actions": {"upload": {"href": f"{self.hub.address}/large/{each['oid']}"}}} for each in objects
        ]
        self._answer({"transfer": "basic", "objects": places})

    def _commit(self, files, lines):
        for line in lines:
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                files[value["path"]] = self.hub.large[value["oid"]]
            elif line["key"] == "deletedFile":
                del files[value["path"]]

    def do_GET(self):
        if begun := self._begin():
            parts = begun[0].strip("/").split("/")
            of_api = parts[:2] == ["api", "models"]
            name = "/".join(parts[2:4] if of_api else parts[:2])
            branches = self.hub.repositories.get(name)
            if branches is None:
                return self._refuse(404, "Repository not found", "RepoNotFound")
            wanted = (parts[5:6] if of_api else parts[3:4]) or ["main"]
            found = [files for branch, files in branches.items() if wanted[0] in (branch, revision(files))]
            if not found:
                return self._refuse(404, "Invalid rev id", "RevisionNotFound")
            if not of_api:
                return self._send(found[0], "/".join(parts[4:]))
            if parts[4:5] == ["tree"]:
                return self._answer([described(path, content) for path, content in found[0].items()])
            siblings = [{"rfilename": path} for path in found[0]]
            return self._answer({"id": name, "modelId": name, "sha": revision(found[0]), "siblings": siblings})
        return None

    do_HEAD = do_GET

    def _send(self, files, path):
        if path not in files:
            return self._refuse(404, "Entry not found", "EntryNotFound")
        return self._answer(files[path], X_Repo_Commit=revision(files), ETag=f'"{described(path, files[path])["oid"]}"')


def mode_of(path):
    mode = "lfs" if path.endswith(".safetensors") else "regular"
    return {"path": path, "uploadMode": mode, "shouldIgnore": False}


def described(path, content):
    return {"type": "file", "path": path, "size": len(content), "oid": hashlib.sha1(content).hexdigest()}


def revision(files):
    names = sorted((path, described(path, content)["oid"]) for path, content in files.items())
    return hashlib.sha1(json.dumps(names).encode()).hexdigest()


def log_in(hub, monkeypatch):
    """Makes the client of this process, whatever it has imported, reach the server with a token."""
    send_to(hub.address, monkeypatch)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setenv("HF_TOKEN", TOKEN)


def send_to(address, monkeypatch):
    """Requests of this process's client go to this address; the library reads HF_ENDPOINT but once."""
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", address)
    template = address + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(huggingface_hub.constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    for api in (huggingface_hub.hf_api.api, transformers.utils.hub.hf_api()):
        monkeypatch.setattr(api, "endpoint", address)
