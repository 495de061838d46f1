"""The values that fields of a fixed set of values may have, as documents and `kubectl explain` state them.

The schema package comes from a snapshot that leaves them out.  They are those of the types that k8s.io/api marks as
enumerations; fields of another fixed set that it does not mark have none here either.
"""

from __future__ import annotations

from collections.abc import Mapping


def _table(text: str) -> Mapping[tuple[str, str], list[str]]:
    """Lines of `Kind.field …: values`; a group may stand first, and what one line cannot hold the next goes on with."""
    found: dict[tuple[str, str], list[str]] = {}
    for line in text.strip().splitlines():
        fields, _, values = line.partition(":")
        for field in fields.split():
            kind, _, name = field.rpartition(".")
            found.setdefault((kind, name), []).extend(value.strip("'") for value in values.split())
    return {field: sorted(values) for field, values in found.items()}


FIELDS = _table("""
AppArmorProfile.type: Localhost RuntimeDefault Unconfined
AzureDiskVolumeSource.cachingMode: None ReadOnly ReadWrite
AzureDiskVolumeSource.kind: Dedicated Managed Shared
ServiceSpec.sessionAffinity: ClientIP None
Container.imagePullPolicy EphemeralContainer.imagePullPolicy: Always IfNotPresent Never
ImageVolumeSource.pullPolicy: Always IfNotPresent Never
Container.terminationMessagePolicy EphemeralContainer.terminationMessagePolicy: FallbackToLogsOnError File
ContainerPort.protocol ServicePort.protocol PortStatus.protocol NetworkPolicyPort.protocol: SCTP TCP UDP
IngressPortStatus.protocol: SCTP TCP UDP
core.EndpointPort.protocol discovery.EndpointPort.protocol: SCTP TCP UDP
HTTPGetAction.scheme: HTTP HTTPS
HostPathVolumeSource.type: '' BlockDevice CharDevice Directory DirectoryOrCreate File FileOrCreate Socket
Lifecycle.stopSignal ContainerStatus.stopSignal: SIGABRT SIGALRM SIGBUS SIGCHLD SIGCLD SIGCONT SIGFPE SIGHUP SIGILL
Lifecycle.stopSignal ContainerStatus.stopSignal: SIGINT SIGIO SIGIOT SIGKILL SIGPIPE SIGPOLL SIGPROF SIGPWR SIGQUIT
Lifecycle.stopSignal ContainerStatus.stopSignal: SIGRTMAX SIGRTMAX-1 SIGRTMAX-10 SIGRTMAX-11 SIGRTMAX-12 SIGRTMAX-13
Lifecycle.stopSignal ContainerStatus.stopSignal: SIGRTMAX-14 SIGRTMAX-2 SIGRTMAX-3 SIGRTMAX-4 SIGRTMAX-5 SIGRTMAX-6
Lifecycle.stopSignal ContainerStatus.stopSignal: SIGRTMAX-7 SIGRTMAX-8 SIGRTMAX-9 SIGRTMIN SIGRTMIN+1 SIGRTMIN+10
Lifecycle.stopSignal ContainerStatus.stopSignal: SIGRTMIN+11 SIGRTMIN+12 SIGRTMIN+13 SIGRTMIN+14 SIGRTMIN+15
Lifecycle.stopSignal ContainerStatus.stopSignal: SIGRTMIN+2 SIGRTMIN+3 SIGRTMIN+4 SIGRTMIN+5 SIGRTMIN+6 SIGRTMIN+7
Lifecycle.stopSignal ContainerStatus.stopSignal: SIGRTMIN+8 SIGRTMIN+9 SIGSEGV SIGSTKFLT SIGSTOP SIGSYS SIGTERM
Lifecycle.stopSignal ContainerStatus.stopSignal: SIGTRAP SIGTSTP SIGTTIN SIGTTOU SIGURG SIGUSR1 SIGUSR2 SIGVTALRM
Lifecycle.stopSignal ContainerStatus.stopSignal: SIGWINCH SIGXCPU SIGXFSZ
ModifyVolumeStatus.status: InProgress Infeasible Pending
NamespaceStatus.phase: Active Terminating
NodeSelectorRequirement.operator: DoesNotExist Exists Gt In Lt NotIn
NodeStatus.phase: Pending Running Terminated
PersistentVolumeClaimSpec.volumeMode PersistentVolumeSpec.volumeMode: Block Filesystem
PersistentVolumeClaimStatus.phase: Bound Lost Pending
PersistentVolumeSpec.persistentVolumeReclaimPolicy StorageClass.reclaimPolicy: Delete Recycle Retain
PersistentVolumeStatus.phase: Available Bound Failed Pending Released
PodSecurityContext.fsGroupChangePolicy: Always OnRootMismatch
PodSecurityContext.supplementalGroupsPolicy: Merge Strict
PodSpec.dnsPolicy: ClusterFirst ClusterFirstWithHostNet Default None
PodSpec.preemptionPolicy PriorityClass.preemptionPolicy: Never PreemptLowerPriority
PodSpec.restartPolicy: Always Never OnFailure
PodStatus.phase: Failed Pending Running Succeeded Unknown
PodStatus.qosClass: BestEffort Burstable Guaranteed
ScopedResourceSelectorRequirement.operator: DoesNotExist Exists In NotIn
ScopedResourceSelectorRequirement.scopeName: BestEffort CrossNamespacePodAffinity NotBestEffort NotTerminating
ScopedResourceSelectorRequirement.scopeName: PriorityClass Terminating VolumeAttributesClass
SeccompProfile.type: Localhost RuntimeDefault Unconfined
SecurityContext.procMount: Default Unmasked
ServiceSpec.externalTrafficPolicy ServiceSpec.internalTrafficPolicy: Cluster Local
ServiceSpec.ipFamilyPolicy: PreferDualStack RequireDualStack SingleStack
ServiceSpec.type: ClusterIP ExternalName LoadBalancer NodePort
DeviceTaint.effect DeviceToleration.effect: NoExecute NoSchedule None
DeviceToleration.operator: Equal Exists
Toleration.operator: Equal Exists Gt Lt
Taint.effect Toleration.effect: NoExecute NoSchedule PreferNoSchedule
TopologySpreadConstraint.nodeAffinityPolicy TopologySpreadConstraint.nodeTaintsPolicy: Honor Ignore
TopologySpreadConstraint.whenUnsatisfiable: DoNotSchedule ScheduleAnyway
VolumeMount.mountPropagation: Bidirectional HostToContainer None
DaemonSetUpdateStrategy.type StatefulSetUpdateStrategy.type: OnDelete RollingUpdate
DeploymentStrategy.type: Recreate RollingUpdate
StatefulSetPersistentVolumeClaimRetentionPolicy.whenDeleted: Delete Retain
StatefulSetPersistentVolumeClaimRetentionPolicy.whenScaled: Delete Retain
StatefulSetSpec.podManagementPolicy: OrderedReady Parallel
CronJobSpec.concurrencyPolicy: Allow Forbid Replace
JobSpec.completionMode: Indexed NonIndexed
JobSpec.podReplacementPolicy: Failed TerminatingOrFailed
PodFailurePolicyRule.action: Count FailIndex FailJob Ignore
PodFailurePolicyOnExitCodesRequirement.operator: In NotIn
HTTPIngressPath.pathType: Exact ImplementationSpecific Prefix
EndpointSlice.addressType: FQDN IPv4 IPv6
CSIDriverSpec.fsGroupPolicy: File None ReadWriteOnceWithFSType
StorageClass.volumeBindingMode: Immediate WaitForFirstConsumer
MutatingWebhook.failurePolicy ValidatingWebhook.failurePolicy: Fail Ignore
MutatingAdmissionPolicySpec.failurePolicy ValidatingAdmissionPolicySpec.failurePolicy: Fail Ignore
MutatingWebhook.matchPolicy ValidatingWebhook.matchPolicy MatchResources.matchPolicy: Equivalent Exact
MutatingWebhook.reinvocationPolicy MutatingAdmissionPolicySpec.reinvocationPolicy: IfNeeded Never
MutatingWebhook.sideEffects ValidatingWebhook.sideEffects: None NoneOnDryRun Some Unknown
NamedRuleWithOperations.scope RuleWithOperations.scope: * Cluster Namespaced
ParamRef.parameterNotFoundAction: Allow Deny
PodDisruptionBudgetSpec.unhealthyPodEvictionPolicy: AlwaysAllow IfHealthyBudget
Mutation.patchType: ApplyConfiguration JSONPatch
""")

LISTS = _table("""
NamedRuleWithOperations.operations RuleWithOperations.operations: * CONNECT CREATE DELETE UPDATE
NetworkPolicySpec.policyTypes: Egress Ingress
PersistentVolumeClaimSpec.accessModes: ReadOnlyMany ReadWriteMany ReadWriteOnce ReadWriteOncePod
PersistentVolumeClaimStatus.accessModes: ReadOnlyMany ReadWriteMany ReadWriteOnce ReadWriteOncePod
PersistentVolumeSpec.accessModes: ReadOnlyMany ReadWriteMany ReadWriteOnce ReadWriteOncePod
ResourceQuotaSpec.scopes: BestEffort CrossNamespacePodAffinity NotBestEffort NotTerminating PriorityClass Terminating
ResourceQuotaSpec.scopes: VolumeAttributesClass
ServiceSpec.ipFamilies: '' IPv4 IPv6
CSIDriverSpec.volumeLifecycleModes: Ephemeral Persistent
ValidatingAdmissionPolicyBindingSpec.validationActions: Audit Deny Warn
""")


def of_field(group: str, kind: str, name: str) -> list[str] | None:
    """The values of a field of type string, None where any will do.  group: `core` of `io.k8s.api.core.v1.Event`."""
    return FIELDS.get((kind, name)) or FIELDS.get((f"{group}.{kind}", name))


def of_items(kind: str, name: str) -> list[str] | None:
    """The values of the items of a list."""
    return LISTS.get((kind, name))
