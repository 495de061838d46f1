"""Kubeconfig files: the one that `serve` writes, and how commands find the server they talk to.

Reading follows client-go: files of `$KUBECONFIG` are merged, the first that says something wins, and relative paths
belong to the folder of the file they stand in.  Plugins for credentials (exec, auth-provider) are refused by name.
"""

from __future__ import annotations

import base64
import binascii
import logging
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from kube32_sim.options import KUBECONFIG, CommandError, OptionError
from kube32_sim.special_files import kind_of

JsonObject = dict[str, Any]
NAME = "kube32-sim"

log = logging.getLogger(__name__)


class KubeconfigError(CommandError):
    """A kubeconfig that cannot be used or must not be overwritten; the message names the file."""


@dataclass(frozen=True, slots=True)
class Access:
    """Where a server is and how to call it.

    Certificates and keys are PEM; `ca` None: the system's authorities.  namespace: of the context, "" where not given.
    Secrets are not shown where somebody prints it.
    """

    server: str
    token: str = field(default="", repr=False)
    ca: bytes | None = None
    insecure: bool = False
    server_name: str = ""
    client_certificate: bytes | None = None
    client_key: bytes | None = field(default=None, repr=False)
    username: str = ""
    password: str = field(default="", repr=False)
    namespace: str = ""


def kubeconfig_document(access: Access) -> JsonObject:
    cluster: JsonObject = {"server": access.server}
    if access.ca is not None:
        cluster["certificate-authority-data"] = base64.b64encode(access.ca).decode()
    elif access.server.startswith("http://"):  # there is no TLS to verify, but some clients want to be told: Node's
        cluster["insecure-skip-tls-verify"] = True
    if access.insecure:
        cluster["insecure-skip-tls-verify"] = True
    if access.server_name:
        cluster["tls-server-name"] = access.server_name
    user: JsonObject = {"token": access.token} if access.token else {}
    if access.client_certificate is not None and access.client_key is not None:
        user["client-certificate-data"] = base64.b64encode(access.client_certificate).decode()
        user["client-key-data"] = base64.b64encode(access.client_key).decode()
    if access.username:
        user |= {"username": access.username, "password": access.password}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": NAME, "cluster": cluster}],
        "users": [{"name": NAME, "user": user}],
        "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME}}],
        "current-context": NAME,
        "preferences": {},
    }


def full_path(path: Path) -> Path:
    """From the root on, without `..`; a link at its end stays one."""
    path = path.expanduser().absolute()
    return path.parent.resolve() / path.name if ".." in path.parts else path


def write_kubeconfig(path: Path, access: Access) -> Path:
    """Write the kubeconfig of a running simulator, readable by its owner only; answers the full path.

    A file that holds somebody else's clusters is left alone, as is what is no file: KubeconfigError.
    """
    import yaml

    path = full_path(path)
    if kind := kind_of(path):
        raise KubeconfigError(f"the kubeconfig {path} would be {kind}; name a file with --kubeconfig")
    before = server_of(path)
    if before not in ("", access.server):
        log.warning("%s pointed to %s before; who uses it talks to %s from now on", path, before, access.server)
    text = yaml.safe_dump(kubeconfig_document(access), sort_keys=False)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Renamed into place, so that a reader never sees half a file; mkstemp makes it 0600.
        target = Path(os.path.realpath(path))  # a link stays one
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "w") as file:
                file.write(text)
            os.replace(temporary, target)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise KubeconfigError(
            f"cannot write the kubeconfig {path}: {error.strerror}; choose another with --kubeconfig"
        ) from None
    return path


def server_of(path: Path) -> str:
    """The simulator that the file points to, "" where there is none; KubeconfigError where it holds other clusters."""
    path = path.expanduser()
    if not path.exists():
        return ""
    clusters = _entries(_load(path), "clusters", "cluster", path)
    foreign = [name for name in clusters if name != NAME]
    if foreign:
        raise KubeconfigError(
            f"the kubeconfig {path} holds other clusters ({', '.join(foreign)}) and is not overwritten; "
            "choose another file with --kubeconfig"
        )
    return str(clusters.get(NAME, {}).get("server") or "")


def find_access(server: str = "", kubeconfig: str = "", environ: Mapping[str, str] = os.environ) -> Access:
    """The server to talk to: `--server`, `--kubeconfig`, `$KUBECONFIG`, then the file that `serve` writes."""
    if server:
        return _of_url(server if "://" in server else f"http://{server}")
    if kubeconfig:
        return read_access([Path(kubeconfig).expanduser()])
    listed = [Path(entry).expanduser() for entry in environ.get("KUBECONFIG", "").split(os.pathsep) if entry]
    if listed:
        present = [path for path in listed if path.exists()]
        return read_access(present or listed[:1])
    path = KUBECONFIG.expanduser()
    if not path.exists():
        raise KubeconfigError(
            f"there is no kubeconfig {path}: is a simulator running? --server or --kubeconfig name another cluster"
        )
    return read_access([path])


def find_servers(
    servers: Sequence[str], kubeconfigs: Sequence[str], environ: Mapping[str, str] = os.environ
) -> list[Access]:
    """Several servers of one cluster: each of `--server`, with commas between them too, or of `--kubeconfig`.

    One that is named twice is one; without any it is `find_access`.  OptionError: there is a comma too much.
    """
    urls = [url.strip() for given in servers if given for url in given.split(",")]
    if not all(urls):
        raise OptionError(f"--server: {','.join(servers)!r} has an empty address between its commas")
    found = [find_access(url) for url in urls] or [find_access("", path, environ) for path in kubeconfigs or [""]]
    different: dict[str, Access] = {}
    for access in found:
        different.setdefault(access.server.rstrip("/"), access)
    return list(different.values())


def _of_url(url: str) -> Access:
    """Name and password of a URL go their own way: the URL is shown in messages."""
    scheme, _, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    user, at, host = authority.rpartition("@")
    if not at:
        return Access(url)
    name, _, password = user.partition(":")
    return Access(f"{scheme}://{host}{slash}{path}", username=unquote(name), password=unquote(password))


def read_access(paths: list[Path]) -> Access:
    """What the current context of these files, merged, says."""
    documents = [(path, _load(path)) for path in paths]
    where = os.pathsep.join(str(path) for path in paths)
    current = next((name for _, document in documents if (name := document.get("current-context"))), None)
    if not isinstance(current, str):
        raise KubeconfigError(f"the kubeconfig {where} has no current-context")
    _, context = _entry(documents, "contexts", "context", current, where)
    home, cluster = _entry(documents, "clusters", "cluster", context.get("cluster"), where)
    user_home, user = (
        _entry(documents, "users", "user", context.get("user"), where) if context.get("user") else (home, {})
    )
    for key, used_for in UNSUPPORTED.items():
        if key in user or key in cluster:
            raise KubeconfigError(f"the kubeconfig {where} uses {key} {used_for}, which is not supported")
    if not isinstance(cluster.get("server"), str):
        raise KubeconfigError(f"the kubeconfig {where} has no server for its cluster")
    insecure = cluster.get("insecure-skip-tls-verify") or False
    if not isinstance(insecure, bool):
        raise KubeconfigError(f"the kubeconfig {where}: insecure-skip-tls-verify is neither true nor false")
    return Access(
        server=cluster["server"],
        token=_text(user, "token", where) or _token(_bytes(user, "tokenFile", user_home) or b"", where),
        ca=_bytes(cluster, "certificate-authority", home),
        insecure=insecure,
        server_name=_text(cluster, "tls-server-name", where),
        client_certificate=_bytes(user, "client-certificate", user_home),
        client_key=_bytes(user, "client-key", user_home),
        username=_username(user, where),
        password=_text(user, "password", where),
        namespace=_text(context, "namespace", where),
    )


UNSUPPORTED = {
    "exec": "for credentials",
    "auth-provider": "for credentials",
    "as": "to act as somebody else",
    "as-uid": "to act as somebody else",
    "as-groups": "to act as somebody else",
    "proxy-url": "to reach the server",
}


def _text(entry: JsonObject, field: str, where: str) -> str:
    value = entry.get(field)
    if value is not None and not isinstance(value, str):
        raise KubeconfigError(f"the kubeconfig {where}: {field} is no text")
    return value or ""


def _token(content: bytes, where: str) -> str:
    try:
        return content.decode("ascii").strip()
    except UnicodeDecodeError:
        raise KubeconfigError(f"the kubeconfig {where}: there is no token in its tokenFile") from None


def _username(user: JsonObject, where: str) -> str:
    name = _text(user, "username", where)
    if ":" in name:
        raise KubeconfigError(f"the kubeconfig {where}: username has a colon, which cannot be sent")
    return name


def _load(path: Path) -> JsonObject:
    import yaml

    try:
        document = yaml.load(path.read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except OSError as error:
        raise KubeconfigError(f"cannot read the kubeconfig {path}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError):
        raise KubeconfigError(f"the kubeconfig {path} is not YAML") from None
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise KubeconfigError(f"{path} is not a kubeconfig")
    return document


def _entries(document: JsonObject, section: str, key: str, path: Path) -> dict[str, JsonObject]:
    """The named entries of `clusters`, `users` or `contexts`."""
    found: dict[str, JsonObject] = {}
    entries = document.get(section) or []
    if not isinstance(entries, list):
        raise KubeconfigError(f"{path} is not a kubeconfig: {section} is no list")
    for entry in entries:
        if isinstance(entry, dict) and isinstance(entry.get("name"), str):
            value = entry.get(key)
            found.setdefault(entry["name"], value if isinstance(value, dict) else {})
    return found


def _entry(
    documents: list[tuple[Path, JsonObject]], section: str, key: str, name: Any, where: str
) -> tuple[Path, JsonObject]:
    if not isinstance(name, str):
        raise KubeconfigError(f"the kubeconfig {where}: {name!r} is no name of a {key}")
    for path, document in documents:
        entry = _entries(document, section, key, path).get(name)
        if entry is not None:
            return path.parent, entry
    raise KubeconfigError(f"the kubeconfig {where} has no {key} {name!r}")


def _bytes(entry: JsonObject, field: str, home: Path) -> bytes | None:
    """Content given in the file itself (`FIELD-data`) or as the name of another file."""
    inline = entry.get(f"{field}-data")
    if inline:
        try:
            return base64.b64decode(str(inline), validate=True)
        except binascii.Error:
            raise KubeconfigError(f"{field}-data in the kubeconfig is not base64") from None
    if not entry.get(field):
        return None
    path = home / Path(str(entry[field])).expanduser()
    try:
        return path.read_bytes()
    except OSError as error:
        raise KubeconfigError(f"cannot read {field} {path}: {error.strerror}") from None
