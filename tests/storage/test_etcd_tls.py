"""etcd behind TLS: known by its authority, and wanting a certificate."""

from __future__ import annotations

from pathlib import Path

import pytest

from kube32_sim.api.builtin import builtin_table
from kube32_sim.clock import RealClock
from kube32_sim.etcd_access import EtcdAccess
from kube32_sim.options import OptionError, ServeOptions
from kube32_sim.storage.etcd.store import EtcdStore
from kube32_sim.storage.interface import StoreError
from tests.server.test_access_certificates import Maker
from tests.storage.test_etcd_store import config_map
from tests.storage.test_store_model import MAPS
from tests.support.certificates import certificates_for
from tests.support.etcd import running_etcd


async def test_etcd_and_its_callers_know_each_other_by_certificates(tmp_path: Path) -> None:
    authority, certificate, key = certificates_for("127.0.0.1")
    for name, content in (("authority", authority), ("certificate", certificate), ("key", key)):
        (tmp_path / name).write_bytes(content)
    callers = Maker(tmp_path, "callers")
    ours = callers.client("kube32-sim")
    options = ("--cert-file", tmp_path / "certificate", "--key-file", tmp_path / "key")
    wanted = ("--client-cert-auth", "--trusted-ca-file", callers.file)

    async def opened(access: EtcdAccess) -> EtcdStore:
        return await EtcdStore.open(builtin_table(), RealClock(), [etcd.endpoint], "/x", access=access)

    good = EtcdAccess(etcd_cafile=tmp_path / "authority", etcd_certfile=ours, etcd_keyfile=ours)
    with running_etcd(tmp_path, [str(word) for word in (*options, *wanted)]) as etcd:
        store = await opened(good)
        await store.create(MAPS, "a/x", config_map("x"))
        await store.close()
        for bad in (
            EtcdAccess(),
            EtcdAccess(etcd_cafile=tmp_path / "authority"),
            EtcdAccess(etcd_cafile=callers.file, etcd_certfile=ours, etcd_keyfile=ours),
        ):
            with pytest.raises(StoreError, match=r"--store: etcd at 127\.0\.0\.1:[0-9]+ cannot be reached: "):
                await opened(bad)
        with pytest.raises(StoreError, match="--etcd-cafile /nowhere: No such file or directory"):
            await opened(EtcdAccess(etcd_cafile=Path("/nowhere")))


def test_options_that_do_not_go_together() -> None:
    file = Path("x.pem")
    with pytest.raises(ValueError, match="--etcd-certfile and --etcd-keyfile: give both or neither"):
        EtcdAccess(etcd_cafile=file, etcd_certfile=file)
    with pytest.raises(ValueError, match="--etcd-certfile: needs --etcd-cafile"):
        EtcdAccess(etcd_certfile=file, etcd_keyfile=file)
    with pytest.raises(OptionError, match="--etcd-cafile: --store memory is no etcd; say etcd://HOST:PORT"):
        ServeOptions(etcd=EtcdAccess(etcd_cafile=file))
