"""What `kube32-sim serve` prints when it is ready: where it is, and how it is used, from here and from elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

from kube32_sim.arguments import PROGRAM
from kube32_sim.hosts import address_of, bracketed
from kube32_sim.interfaces import is_every_address, own_addresses, own_name
from kube32_sim.options import ServeOptions

MOST_SHOWN = 3


def served_hosts(options: ServeOptions) -> list[str]:
    """Names and addresses for which the made certificate is good: as said, and with `0.0.0.0` all of the machine."""
    machine = [own_name(), *own_addresses()] if is_every_address(options.host) else []
    return [options.host, *options.allowed_hosts, *filter(None, machine)]


def reachable(host: str) -> str:
    """Where this machine itself reaches a server that listens there, as a URL has it."""
    if is_every_address(host):
        host = "::1" if ":" in host else "127.0.0.1"
    return bracketed(host)


def greeting(options: ServeOptions, url: str, port: int, kubeconfig: Path) -> list[str]:
    """Lines.  url: as it was asked for; the first line is what programs wait for."""
    scheme = url.partition("://")[0]
    lines = [
        f"kube32-sim is serving on {url}",
        f"Use it:  export KUBECONFIG={kubeconfig}  and then  kubectl get nodes",
        f"See it:  {scheme}://{reachable(options.host)}:{port}/ui/  in a browser",
    ]
    if is_every_address(options.host):
        lines.append(_for_others(options, scheme, port))
    if options.clock == "virtual":
        program = os.environ.get(PROGRAM) or "kube32-sim"
        lines.append(f"Its clock stands still until it is moved:  {program} clock advance 10s")
    return lines


def _for_others(options: ServeOptions, scheme: str, port: int) -> str:
    """How other machines reach what listens on every address."""
    if options.tls_cert is not None:
        return f"Others reach it by what its certificate is good for, on port {port}"
    version = 6 if ":" in options.host else 4
    own = [text for text in own_addresses() if (found := address_of(text)) and found.version == version]
    named = [*options.allowed_hosts, *own][:MOST_SHOWN]
    where = " or ".join(f"{scheme}://{bracketed(host)}:{port}" for host in named)
    line = f"Others reach it at  {where or f'an address of this machine, port {port}'}"
    if options.tls_self_signed or not options.authenticated:
        return f"{line}  (by another name: --allowed-host NAME)"
    return line
