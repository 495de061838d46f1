"""How etcd is spoken to: options of `serve`, with kube-apiserver's names."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field, fields
from pathlib import Path

from kube32_sim.option_fields import flag


@dataclass(frozen=True, slots=True, kw_only=True)
class EtcdAccess:
    """Each field is an option of the same name; without any, etcd is spoken to without TLS.  Raises ValueError."""

    etcd_cafile: Path | None = field(
        default=None, metadata={"text": "speak TLS with etcd, whose certificate is of these authorities (PEM)"}
    )
    etcd_certfile: Path | None = field(default=None, metadata={"text": "and show etcd this certificate (PEM)"})
    etcd_keyfile: Path | None = field(default=None, metadata={"text": "the certificate's private key (PEM)"})

    def __post_init__(self) -> None:
        if (self.etcd_certfile is None) != (self.etcd_keyfile is None):
            raise ValueError("--etcd-certfile and --etcd-keyfile: give both or neither")
        if self.etcd_certfile is not None and self.etcd_cafile is None:
            raise ValueError("--etcd-certfile: needs --etcd-cafile, by which etcd is known")

    @property
    def given(self) -> bool:
        return self.etcd_cafile is not None


def add_etcd_access(group: argparse._ArgumentGroup) -> None:
    for option in fields(EtcdAccess):
        group.add_argument(flag(option.name), type=Path, metavar="FILE", help=option.metadata["text"])


PLAIN = EtcdAccess()
