"""The workload loops on a control plane with a virtual clock: API, scheduler, garbage collector, a plain kubelet."""

from contextlib import asynccontextmanager

import pytest
from control_plane import control_plane
from kube32_controllers.deployment_controller import DeploymentController
from kube32_controllers.garbage_collector import GarbageCollector
from kube32_controllers.namespace_controller import NamespaceController
from kube32_controllers.serviceaccount_controller import SERVICE_ACCOUNTS, ServiceAccountController
from kube32_controllers.workload_controller import DaemonSetController, JobController

from kube32_sim.api.builtin import builtin_table
from kube32_sim.api.errors import ApiError
from kube32_sim.client import DAEMONSETS, DEPLOYMENTS, EVENTS, JOBS, NAMESPACES, NODES, PODS, Resource
from kube32_sim.runtime.loop import Runner


class World:
    def __init__(self, plane):
        self.plane = plane
        self.client = plane.client
        self.phases = {}
        """How pods end whose name starts so: `{"sum-": "Succeeded"}`."""

    async def add_node(self, name, **labels):
        resources = {"memory": "1Gi", "esp32.io/gpio": "30", "pods": "100"}
        await self.client.create(
            NODES,
            "",
            {
                "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
                "status": {
                    "capacity": resources,
                    "allocatable": resources,
                    "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
                },
            },
        )

    async def kubelet(self):
        """What boards would do now: start what is bound, clear away what is deleted."""
        for pod in (await self.client.list(PODS)).items:
            metadata, phase = pod["metadata"], pod["status"].get("phase")
            if "deletionTimestamp" in metadata:
                if metadata.get("deletionGracePeriodSeconds") != 0:
                    options = {"gracePeriodSeconds": 0}
                    await self.client.delete(PODS, metadata["namespace"], metadata["name"], options=options)
            elif pod["spec"].get("nodeName") and phase == "Pending":
                await self.become(pod, "Running")
            elif phase == "Running":
                end = next((end for start, end in self.phases.items() if metadata["name"].startswith(start)), None)
                if end is not None:
                    await self.become(pod, end)

    async def become(self, pod, phase):
        moment = self.plane.clock.timestamp()
        ready = {"type": "Ready", "status": "True" if phase == "Running" else "False", "lastTransitionTime": moment}
        patch = {"status": {"phase": phase, "conditions": [ready]}}
        metadata = pod["metadata"]
        await self.client.patch(PODS, metadata["namespace"], metadata["name"], patch, subresource="status")

    async def live(self, seconds):
        for _ in range(seconds):
            await self.plane.clock.settle()
            await self.kubelet()
            await self.plane.clock.advance(1)

    async def pods(self, namespace="default"):
        return (await self.client.list(PODS, namespace)).items

    async def reasons(self, kind):
        events = (await self.client.list(EVENTS)).items
        return [(event["reason"], event["message"]) for event in events if event["involvedObject"]["kind"] == kind]


@asynccontextmanager
async def world(*nodes):
    async with control_plane() as plane:
        for loop in (DeploymentController(), DaemonSetController(), JobController()):
            plane.run(loop, 1.0)
        plane.run(ServiceAccountController(), None)
        garbage = GarbageCollector(plane.store, builtin_table())
        namespaces = NamespaceController(plane.store, builtin_table())
        for loop in (garbage, namespaces):
            runner = Runner(loop, loop.source, plane.client, plane.recorder, plane.clock, None)
            runner.start()
            plane._running.append(runner)
        here = World(plane)
        for name in nodes:
            await here.add_node(name)
        yield here


def template(image="app:1", **spec):
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "app", "image": image}], **spec}}


def deployment(replicas, image="app:1"):
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template(image)}
    return {"metadata": {"name": "web"}, "spec": spec}


async def gone(client, resource, name, namespace="default"):
    with pytest.raises(ApiError) as caught:
        await client.get(resource, namespace, name)
    return caught.value.code == 404


async def status_of(client, resource, name):
    return (await client.get(resource, "default", name))["status"]


def conditions(status):
    return {one["type"]: one["status"] for one in status.get("conditions", [])}


async def test_a_deployment_comes_up_scales_rolls_and_goes():
    async with world("a", "b") as here:
        await here.client.create(DEPLOYMENTS, "default", deployment(4))
        await here.live(3)
        status = await status_of(here.client, DEPLOYMENTS, "web")
        assert (status["replicas"], status["availableReplicas"], status["observedGeneration"]) == (4, 4, 1)
        assert conditions(status) == {"Available": "True", "Progressing": "True"}
        names = [pod["metadata"]["name"] for pod in await here.pods()]
        assert len(names) == 4
        marks = {pod["metadata"]["labels"]["pod-template-hash"] for pod in await here.pods()}
        assert all(name.startswith(f"web-{mark}-") for name in names for mark in marks)

        await here.client.patch(DEPLOYMENTS, "default", "web", {"spec": {"replicas": 2}})
        await here.live(2)
        assert len(await here.pods()) == 2

        change = {"spec": {"template": template("app:2")}}
        await here.client.patch(DEPLOYMENTS, "default", "web", change)
        images = []
        for _ in range(6):
            await here.live(1)
            images.append(sorted(pod["spec"]["containers"][0]["image"] for pod in await here.pods()))
        assert images[-1] == ["app:2", "app:2"]
        assert [found.count("app:2") for found in images[:3]] == [1, 2, 2]
        found = await here.client.get(DEPLOYMENTS, "default", "web")
        assert found["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "2"
        assert found["status"]["updatedReplicas"] == found["status"]["availableReplicas"] == 2

        before = found["metadata"]["resourceVersion"]
        await here.live(30)
        assert (await here.client.get(DEPLOYMENTS, "default", "web"))["metadata"]["resourceVersion"] == before

        told = await here.reasons("Deployment")
        assert ("ScalingReplicaSet", "Scaled up deployment web from 0 to 4") in told
        assert ("ScalingReplicaSet", "Scaled down deployment web from 4 to 2") in told

        await here.client.delete(DEPLOYMENTS, "default", "web")
        await here.live(2)
        assert await here.pods() == []


async def test_a_deleted_pod_is_replaced():
    async with world("a") as here:
        await here.client.create(DEPLOYMENTS, "default", deployment(1))
        await here.live(2)
        (first,) = await here.pods()
        await here.client.delete(PODS, "default", first["metadata"]["name"])
        await here.live(3)
        (second,) = await here.pods()
        assert second["metadata"]["uid"] != first["metadata"]["uid"]


async def test_orphaned_pods_stay_and_foreground_waits_for_them():
    async with world("a") as here:
        await here.client.create(DEPLOYMENTS, "default", deployment(2))
        await here.live(2)
        await here.client.delete(DEPLOYMENTS, "default", "web", options={"propagationPolicy": "Orphan"})
        await here.live(2)
        assert await gone(here.client, DEPLOYMENTS, "web")
        pods = await here.pods()
        assert len(pods) == 2
        assert all("ownerReferences" not in pod["metadata"] for pod in pods)

        await here.client.create(DEPLOYMENTS, "default", {**deployment(1), "metadata": {"name": "other"}})
        await here.live(2)
        await here.client.delete(DEPLOYMENTS, "default", "other", options={"propagationPolicy": "Foreground"})
        await here.plane.clock.settle()
        assert (await here.client.get(DEPLOYMENTS, "default", "other"))["metadata"]["deletionTimestamp"]
        await here.live(2)
        assert await gone(here.client, DEPLOYMENTS, "other")
        assert len(await here.pods()) == 2


async def test_a_daemonset_follows_the_nodes():
    async with world("a", "b") as here:
        spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template(nodeSelector={"role": "sensor"})}
        await here.client.patch(NODES, "", "a", {"metadata": {"labels": {"role": "sensor"}}})
        await here.client.create(DAEMONSETS, "default", {"metadata": {"name": "sense"}, "spec": spec})
        await here.live(3)
        assert [pod["spec"]["nodeName"] for pod in await here.pods()] == ["a"]
        await here.client.patch(NODES, "", "b", {"metadata": {"labels": {"role": "sensor"}}})
        await here.live(3)
        assert sorted(pod["spec"]["nodeName"] for pod in await here.pods()) == ["a", "b"]
        status = await status_of(here.client, DAEMONSETS, "sense")
        assert (status["desiredNumberScheduled"], status["numberAvailable"]) == (2, 2)
        await here.client.patch(NODES, "", "a", {"metadata": {"labels": {"role": None}}})
        await here.live(2)
        assert [pod["spec"]["nodeName"] for pod in await here.pods()] == ["b"]
        await here.client.delete(NODES, "", "b")
        await here.live(2)
        assert await here.pods() == []


async def test_a_daemonset_update_replaces_one_node_after_the_other():
    async with world("a", "b", "c") as here:
        spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template()}
        await here.client.create(DAEMONSETS, "default", {"metadata": {"name": "sense"}, "spec": spec})
        await here.live(2)
        await here.client.patch(DAEMONSETS, "default", "sense", {"spec": {"template": template("app:2")}})
        for _ in range(12):
            await here.live(1)
            assert sum(pod["status"]["phase"] == "Running" for pod in await here.pods()) >= 2
        assert {pod["spec"]["containers"][0]["image"] for pod in await here.pods()} == {"app:2"}
        status = await status_of(here.client, DAEMONSETS, "sense")
        assert status["updatedNumberScheduled"] == status["numberAvailable"] == 3


def job(**spec):
    return {"metadata": {"name": "sum"}, "spec": {"template": template(restartPolicy="Never"), **spec}}


async def test_a_job_runs_to_completion_and_counts_once():
    async with world("a") as here:
        here.phases["sum-"] = "Succeeded"
        await here.client.create(JOBS, "default", job(completions=5, parallelism=2))
        most = 0
        for _ in range(12):
            await here.live(1)
            most = max(most, sum(pod["status"]["phase"] in ("Pending", "Running") for pod in await here.pods()))
        status = await status_of(here.client, JOBS, "sum")
        assert most == 2
        assert status["succeeded"] == len(await here.pods()) == 5
        assert conditions(status) == {"SuccessCriteriaMet": "True", "Complete": "True"}
        assert all("finalizers" not in pod["metadata"] for pod in await here.pods())
        assert ("Completed", "Job completed") in await here.reasons("Job")
        names = [pod["metadata"]["name"] for pod in await here.pods()]
        created = [message for reason, message in await here.reasons("Job") if reason == "SuccessfulCreate"]
        assert sorted(created) == sorted(f"Created pod: {name}" for name in names)
        await here.client.delete(JOBS, "default", "sum")
        await here.live(2)
        assert await here.pods() == []


async def test_a_job_that_keeps_failing_fails():
    async with world("a") as here:
        here.phases["sum-"] = "Failed"
        await here.client.create(JOBS, "default", job(backoffLimit=2))
        await here.live(12)
        status = await status_of(here.client, JOBS, "sum")
        assert status["failed"] == 3
        assert conditions(status) == {"FailureTarget": "True", "Failed": "True"}
        assert [pod["status"]["phase"] for pod in await here.pods()] == ["Failed"] * 3
        message = "Job has reached the specified backoff limit"
        assert ("BackoffLimitExceeded", message) in await here.reasons("Job")


async def test_deleting_a_running_job_leaves_nothing_behind():
    async with world("a") as here:
        await here.client.create(JOBS, "default", job(parallelism=3, completions=3))
        await here.live(2)
        assert len(await here.pods()) == 3
        await here.client.delete(JOBS, "default", "sum", options={"propagationPolicy": "Background"})
        await here.live(3)
        assert await here.pods() == []


async def test_a_finished_job_goes_when_its_time_is_over():
    async with world("a") as here:
        here.phases["sum-"] = "Succeeded"
        await here.client.create(JOBS, "default", job(ttlSecondsAfterFinished=20))
        await here.live(10)
        assert conditions(await status_of(here.client, JOBS, "sum"))["Complete"] == "True"
        await here.live(25)
        assert await gone(here.client, JOBS, "sum")
        assert await here.pods() == []


async def test_a_namespace_empties_itself_and_goes():
    async with world("a") as here:
        await here.client.create(NAMESPACES, "", {"metadata": {"name": "play"}})
        await here.plane.clock.settle()
        assert (await here.client.get(SERVICE_ACCOUNTS, "play", "default"))["metadata"]["name"] == "default"
        await here.client.delete(SERVICE_ACCOUNTS, "play", "default")
        await here.plane.clock.settle()
        await here.client.get(SERVICE_ACCOUNTS, "play", "default")
        await here.client.create(DEPLOYMENTS, "play", deployment(2))
        await here.client.create(JOBS, "play", job())
        await here.live(2)
        assert len(await here.pods("play")) == 3
        await here.client.delete(NAMESPACES, "", "play")
        await here.live(4)
        assert await gone(here.client, NAMESPACES, "play", "")
        assert await here.pods("play") == []


async def test_a_namespace_without_pods_goes_at_once():
    async with world() as here:
        await here.client.create(NAMESPACES, "", {"metadata": {"name": "play"}})
        await here.plane.clock.settle()
        await here.client.delete(NAMESPACES, "", "play")
        await here.plane.clock.settle()
        assert await gone(here.client, NAMESPACES, "play", "")


QUOTAS = Resource("", "v1", "resourcequotas")


async def limit_pods(here, number):
    quota = {"metadata": {"name": "few"}, "spec": {"hard": {"pods": str(number)}}}
    await here.client.create(QUOTAS, "default", quota)


async def test_a_deployment_whose_pods_are_refused_says_so_until_they_come():
    async with world("a") as here:
        await limit_pods(here, 2)
        await here.client.create(DEPLOYMENTS, "default", deployment(3))
        await here.plane.clock.settle()
        status = await status_of(here.client, DEPLOYMENTS, "web")
        assert (status["observedGeneration"], status["unavailableReplicas"]) == (1, 3)
        assert conditions(status) == {"Available": "False", "Progressing": "True", "ReplicaFailure": "True"}
        await here.live(5)
        found = await here.client.get(DEPLOYMENTS, "default", "web")
        assert found["status"]["availableReplicas"] == 2
        failure = found["status"]["conditions"][-1]
        assert (failure["type"], failure["reason"]) == ("ReplicaFailure", "FailedCreate")
        assert (
            "is forbidden: exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2" in failure["message"]
        )
        await here.live(120)
        assert await here.client.get(DEPLOYMENTS, "default", "web") == found, "nothing new is no write"
        await here.client.patch(QUOTAS, "default", "few", {"spec": {"hard": {"pods": "9"}}})
        await here.live(62)
        status = await status_of(here.client, DEPLOYMENTS, "web")
        assert status["availableReplicas"] == 3
        assert conditions(status) == {"Available": "True", "Progressing": "True"}
        told = [message for reason, message in await here.reasons("Deployment") if reason == "ScalingReplicaSet"]
        assert told == ["Scaled up deployment web from 0 to 3"]


async def test_a_rollout_whose_pods_are_refused_tells_of_each_step_once():
    async with world("a") as here:
        await here.client.create(DEPLOYMENTS, "default", deployment(3))
        await here.live(3)
        await limit_pods(here, 0)
        await here.client.patch(DEPLOYMENTS, "default", "web", {"spec": {"template": template("app:2")}})
        await here.live(30)
        told = [event for event in (await here.client.list(EVENTS)).items if event["reason"] == "ScalingReplicaSet"]
        steps = {event["message"]: event["count"] for event in told}
        assert steps == {
            "Scaled up deployment web from 0 to 3": 1,
            "Scaled down old pods of deployment web from 3 to 2": 1,
            "Scaled up new pods of deployment web from 0 to 1": 1,
        }
        assert conditions(await status_of(here.client, DEPLOYMENTS, "web"))["ReplicaFailure"] == "True"


async def test_daemon_sets_and_jobs_whose_pods_are_refused_keep_their_status_right():
    async with world("a", "b") as here:
        await limit_pods(here, 1)
        daemons = {"metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": {"app": "web"}}}}
        await here.client.create(DAEMONSETS, "default", daemons | {"spec": daemons["spec"] | {"template": template()}})
        await here.live(2)
        status = await status_of(here.client, DAEMONSETS, "web")
        assert (status["observedGeneration"], status["desiredNumberScheduled"]) == (1, 2)
        assert (status["currentNumberScheduled"], status["numberUnavailable"]) == (1, 1)
        job = {"metadata": {"name": "sum"}, "spec": {"template": template(restartPolicy="Never")}}
        await here.client.create(JOBS, "default", job | {"spec": job["spec"] | {"activeDeadlineSeconds": 100}})
        await here.live(2)
        status = await status_of(here.client, JOBS, "sum")
        assert (status["ready"], "startTime" in status, "active" in status) == (0, True, False)
        await here.live(101)
        assert conditions(await status_of(here.client, JOBS, "sum"))["Failed"] == "True", "its deadline counts"
