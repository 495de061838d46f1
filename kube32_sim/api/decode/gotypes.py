"""What the Go types of k8s.io/api do and the OpenAPI definitions do not say: which fields are pointers.

A pointer keeps a zero value when an object is written back (`replicas: 0`), a plain optional field loses it
(`hostNetwork: false`); an optional struct that is no pointer is always written, at least as `{}` (`status: {}`).
Everything here is keyed by kind and field name; what the tables do not name follows the rule stated above each.
Only zero values and the wording of type errors depend on them.
"""

from __future__ import annotations

from collections.abc import Mapping


def _table(text: str) -> Mapping[str, frozenset[str]]:
    """Lines of `Kind: field …`; several kinds may share a line, and a group stands before a kind as in `core.Event`."""
    found: dict[str, frozenset[str]] = {}
    for line in text.strip().splitlines():
        kinds, _, fields = line.partition(":")
        for kind in kinds.split():
            found[kind] = found.get(kind, frozenset()) | frozenset(fields.split())
    return found


#: Optional structs that are no pointers.  Besides these: metadata everywhere, and spec and status of whole objects.
VALUE_STRUCTS = _table("""
DaemonSetSpec StatefulSetSpec: updateStrategy
DeploymentSpec: strategy
ReplicaSetSpec PodTemplate: template
JobTemplateSpec PodTemplateSpec PersistentVolumeClaimTemplate: spec
Container EphemeralContainer PersistentVolumeClaimSpec: resources
ContainerStatus: state lastState
Event: involvedObject source regarding deprecatedSource
NodeDaemonEndpoints: kubeletEndpoint
NodeStatus: daemonEndpoints nodeInfo
ServiceStatus IngressStatus: loadBalancer
ServiceBackendPort:
IngressServiceBackend: port
NetworkPolicySpec: podSelector
Endpoint: conditions
SelfSubjectReviewStatus: userInfo
TokenReviewStatus: user
ResourceClaimSpec AllocationResult: devices
CustomResourceDefinitionStatus: acceptedNames
APIGroup: preferredVersion
""")

#: Required structs that are pointers all the same: nothing is written where they are missing.
POINTER_STRUCTS = _table("""
DaemonSetSpec DeploymentSpec ReplicaSetSpec StatefulSetSpec: selector
ScaleIOVolumeSource ScaleIOPersistentVolumeSource: secretRef
IPAddressSpec: parentRef
""")

#: Quantities that are no pointers: `"0"` is written where they are missing.
VALUE_QUANTITIES = _table("""
ResourceFieldSelector: divisor
Counter DeviceCapacity: value
""")

#: Times that are no pointers: `null` is written where they are missing (not of metadata, which Go leaves out).
VALUE_TIMES = _table("""
PodCondition JobCondition PersistentVolumeClaimCondition: lastProbeTime lastTransitionTime
NodeCondition: lastHeartbeatTime lastTransitionTime
DeploymentCondition CertificateSigningRequestCondition: lastTransitionTime lastUpdateTime
DaemonSetCondition ReplicaSetCondition ReplicationControllerCondition StatefulSetCondition: lastTransitionTime
NamespaceCondition HorizontalPodAutoscalerCondition APIServiceCondition: lastTransitionTime
CustomResourceDefinitionCondition FlowSchemaCondition PriorityLevelConfigurationCondition: lastTransitionTime
Condition: lastTransitionTime
ContainerStateRunning: startedAt
ContainerStateTerminated: finishedAt startedAt
Event: deprecatedFirstTimestamp deprecatedLastTimestamp eventTime firstTimestamp lastTimestamp
EventSeries: lastObservedTime
VolumeError: time
""")

#: Lists that are written even where nothing is in them: as `null`, for storage does not tell empty from missing.
BARE_LISTS = _table("""
ContainerImage: names
CSINodeDriver: topologyKeys
CSINodeSpec: drivers
EndpointSlice: endpoints ports
LimitRangeSpec: limits
PodFailurePolicy: rules
ProjectedVolumeSource: sources
Role ClusterRole: rules
HorizontalPodAutoscalerStatus: currentMetrics
""")

#: Lists that mean something else when they are empty than when they are missing: no default, or another message.
#: Validation or defaults deal with each, so that none is stored empty.
TELLING_LISTS = _table("""
HPAScalingRules: policies
IngressSpec SuccessPolicy: rules
""")

#: Numbers and strings that are written even where they are missing, though the definitions call them optional.
ALWAYS_WRITTEN = _table("""
core.Event: reportingComponent reportingInstance
PodDisruptionBudgetStatus: currentHealthy desiredHealthy disruptionsAllowed expectedPods
PriorityClass: value
StatefulSetStatus: availableReplicas
""")

#: Required numbers, strings and booleans that are pointers or may be left out.
POINTER_REQUIRED = _table("""
MutatingWebhook ValidatingWebhook: sideEffects
HTTPIngressPath: pathType
TokenReviewSpec: token
""")

#: Optional booleans that are no pointers: `false` is not written.
VALUE_BOOLS = _table("""
AWSElasticBlockStoreVolumeSource AzureFilePersistentVolumeSource AzureFileVolumeSource: readOnly
CSIPersistentVolumeSource CephFSPersistentVolumeSource CephFSVolumeSource CinderPersistentVolumeSource: readOnly
CinderVolumeSource FCVolumeSource FlexPersistentVolumeSource FlexVolumeSource GCEPersistentDiskVolumeSource: readOnly
GlusterfsPersistentVolumeSource GlusterfsVolumeSource NFSVolumeSource PersistentVolumeClaimVolumeSource: readOnly
PortworxVolumeSource QuobyteVolumeSource RBDPersistentVolumeSource RBDVolumeSource: readOnly
StorageOSPersistentVolumeSource StorageOSVolumeSource VolumeMount VolumeMountStatus: readOnly
ISCSIPersistentVolumeSource ISCSIVolumeSource: chapAuthDiscovery chapAuthSession readOnly
ScaleIOPersistentVolumeSource ScaleIOVolumeSource: readOnly sslEnabled
Container EphemeralContainer: stdin stdinOnce tty
DeploymentSpec: paused
TokenReviewStatus: authenticated
SubjectAccessReviewStatus: denied
NodeSpec: unschedulable
PodSpec: hostIPC hostNetwork hostPID
ServiceSpec: publishNotReadyAddresses
ResourcePolicyRule: clusterScope
ResourceSliceSpec:
PriorityClass: globalDefault
CustomResourceDefinitionSpec: preserveUnknownFields
CustomResourceDefinitionVersion: deprecated
JSONSchemaProps: exclusiveMaximum exclusiveMinimum nullable uniqueItems
JSONSchemaProps: x-kubernetes-embedded-resource x-kubernetes-int-or-string
APIServiceSpec: insecureSkipTLSVerify
""")

#: Optional numbers that are no pointers: `0` is not written.
VALUE_INTS = _table("""
ValidatingAdmissionPolicyStatus: observedGeneration
DaemonSetSpec DeploymentSpec ReplicaSetSpec StatefulSetSpec ReplicationControllerSpec: minReadySeconds
DaemonSetStatus: numberAvailable numberUnavailable observedGeneration updatedNumberScheduled
DeploymentStatus: availableReplicas observedGeneration readyReplicas replicas unavailableReplicas updatedReplicas
ReplicaSetStatus ReplicationControllerStatus: availableReplicas fullyLabeledReplicas observedGeneration readyReplicas
StatefulSetOrdinals: start
StatefulSetStatus: currentReplicas observedGeneration readyReplicas updatedReplicas
ScaleSpec: replicas
HorizontalPodAutoscalerStatus: currentReplicas
JobStatus: active failed succeeded
AWSElasticBlockStoreVolumeSource GCEPersistentDiskVolumeSource: partition
ContainerImage: sizeBytes
ContainerPort: hostPort
ContainerStateTerminated: signal
Event: count deprecatedCount
EventSeries: count
PodCondition PodStatus: observedGeneration
Probe: failureThreshold initialDelaySeconds periodSeconds successThreshold timeoutSeconds
ServicePort: nodePort
ServiceSpec: healthCheckNodePort
FlowSchemaSpec: matchingPrecedence
QueuingConfiguration: handSize queueLengthLimit queues
ServiceBackendPort: number
PodDisruptionBudgetStatus: observedGeneration
DeviceSubRequest ExactDeviceRequest: count
CustomResourceColumnDefinition: priority
CustomResourceDefinitionCondition CustomResourceDefinitionStatus Condition: observedGeneration
ObjectMeta: generation
Status: code
StatusDetails: retryAfterSeconds
""")

#: Optional strings that are pointers: `""` is written.
POINTER_STRINGS = _table("""
AppArmorProfile SeccompProfile: localhostProfile
AzureDiskVolumeSource: cachingMode fsType kind
AzureFilePersistentVolumeSource: secretNamespace
CSIDriverSpec: fsGroupPolicy
CSINodeDriver:
CSIVolumeSource: fsType
CertificateSigningRequestSpec:
ClusterTrustBundleProjection: name signerName
Container EphemeralContainer: restartPolicy
ContainerStatus: stopSignal
CronJobSpec: timeZone
CustomResourceConversion:
CustomResourceDefinitionVersion: deprecationWarning
CustomResourceSubresourceScale: labelSelectorPath
DeviceAttribute: string version
Endpoint: hostname nodeName zone
EndpointAddress: nodeName
EndpointPort: name protocol appProtocol
EphemeralContainer:
ForZone ForNode:
GRPCAction: service
GlusterfsPersistentVolumeSource: endpointsNamespace
HPAScalingRules: selectPolicy
HostPathVolumeSource: type
ISCSIPersistentVolumeSource ISCSIVolumeSource: initiatorName
IngressClassParametersReference: apiGroup namespace
IngressSpec: ingressClassName
JSONSchemaProps: x-kubernetes-list-type x-kubernetes-map-type
JobSpec: completionMode managedBy podReplacementPolicy
LeaseSpec: holderIdentity preferredHolder strategy
Lifecycle: stopSignal
LocalVolumeSource: fsType
MatchResources: matchPolicy
MutatingAdmissionPolicySpec: failurePolicy
ValidatingAdmissionPolicySpec: failurePolicy
MutatingWebhook: failurePolicy matchPolicy reinvocationPolicy
ValidatingWebhook: failurePolicy matchPolicy
NetworkPolicyPort: protocol
ObjectReference:
ParamRef: parameterNotFoundAction
PersistentVolumeClaimSpec: storageClassName volumeAttributesClassName volumeMode
PersistentVolumeClaimStatus: currentVolumeAttributesClassName
PersistentVolumeSpec: volumeAttributesClassName volumeMode
PodDNSConfigOption: value
PodDisruptionBudgetSpec: unhealthyPodEvictionPolicy
PodFailurePolicyOnExitCodesRequirement: containerName
PodResourceClaim: resourceClaimName resourceClaimTemplateName
PodResourceClaimStatus: resourceClaimName
PodSchedulingGroup: podGroupName
PodSecurityContext: fsGroupChangePolicy seLinuxChangePolicy supplementalGroupsPolicy
PodSpec: hostnameOverride preemptionPolicy runtimeClassName
Preconditions: resourceVersion uid
PriorityClass: preemptionPolicy
ResourceSliceSpec: nodeName
Rule: scope
RuleWithOperations NamedRuleWithOperations: scope
SecurityContext: procMount
ServicePort: appProtocol
ServiceReference: path
ServiceSpec: internalTrafficPolicy ipFamilyPolicy loadBalancerClass trafficDistribution
LoadBalancerIngress: ipMode
StorageClass: reclaimPolicy volumeBindingMode
SuccessPolicyRule: succeededIndexes
TopologySpreadConstraint: nodeAffinityPolicy nodeTaintsPolicy
TypedLocalObjectReference: apiGroup
TypedObjectReference: apiGroup namespace
Validation ValidationRule: reason
VolumeAttachmentSource: persistentVolumeName
VolumeMount: mountPropagation recursiveReadOnly
VolumeMountStatus: recursiveReadOnly
WebhookClientConfig: url
WindowsSecurityContextOptions: gmsaCredentialSpec gmsaCredentialSpecName runAsUserName
""")

#: Types with a name of their own, as type errors print them: `Kind.field` -> Go type.
NAMED_TYPES: Mapping[str, str] = dict(
    line.split()
    for line in """
Container.imagePullPolicy v1.PullPolicy
Container.terminationMessagePolicy v1.TerminationMessagePolicy
Container.restartPolicy v1.ContainerRestartPolicy
ContainerPort.protocol v1.Protocol
ServicePort.protocol v1.Protocol
EndpointPort.protocol v1.Protocol
NetworkPolicyPort.protocol v1.Protocol
PodSpec.restartPolicy v1.RestartPolicy
PodSpec.dnsPolicy v1.DNSPolicy
PodSpec.preemptionPolicy v1.PreemptionPolicy
PodStatus.phase v1.PodPhase
PodStatus.qosClass v1.PodQOSClass
PodCondition.type v1.PodConditionType
PodCondition.status v1.ConditionStatus
NodeCondition.type v1.NodeConditionType
NodeCondition.status v1.ConditionStatus
DeploymentCondition.type v1.DeploymentConditionType
DeploymentCondition.status v1.ConditionStatus
JobCondition.type v1.JobConditionType
JobCondition.status v1.ConditionStatus
Condition.status v1.ConditionStatus
NodeAddress.type v1.NodeAddressType
NamespaceStatus.phase v1.NamespacePhase
NamespaceSpec.finalizers []v1.FinalizerName
ServiceSpec.type v1.ServiceType
ServiceSpec.sessionAffinity v1.ServiceAffinity
ServiceSpec.externalTrafficPolicy v1.ServiceExternalTrafficPolicy
ServiceSpec.internalTrafficPolicy v1.ServiceInternalTrafficPolicy
ServiceSpec.ipFamilies []v1.IPFamily
ServiceSpec.ipFamilyPolicy v1.IPFamilyPolicy
Taint.effect v1.TaintEffect
Toleration.effect v1.TaintEffect
Toleration.operator v1.TolerationOperator
NodeSelectorRequirement.operator v1.NodeSelectorOperator
LabelSelectorRequirement.operator v1.LabelSelectorOperator
Secret.type v1.SecretType
PersistentVolumeClaimSpec.accessModes []v1.PersistentVolumeAccessMode
PersistentVolumeClaimSpec.volumeMode v1.PersistentVolumeMode
PersistentVolumeSpec.accessModes []v1.PersistentVolumeAccessMode
PersistentVolumeSpec.volumeMode v1.PersistentVolumeMode
PersistentVolumeSpec.persistentVolumeReclaimPolicy v1.PersistentVolumeReclaimPolicy
PersistentVolumeSpec.capacity v1.ResourceList
ResourceRequirements.limits v1.ResourceList
ResourceRequirements.requests v1.ResourceList
VolumeResourceRequirements.limits v1.ResourceList
VolumeResourceRequirements.requests v1.ResourceList
NodeStatus.capacity v1.ResourceList
NodeStatus.allocatable v1.ResourceList
ResourceQuotaSpec.hard v1.ResourceList
LimitRangeItem.type v1.LimitType
EmptyDirVolumeSource.medium v1.StorageMedium
HostPathVolumeSource.type v1.HostPathType
HTTPGetAction.scheme v1.URIScheme
DeploymentStrategy.type v1.DeploymentStrategyType
DaemonSetUpdateStrategy.type v1.DaemonSetUpdateStrategyType
StatefulSetUpdateStrategy.type v1.StatefulSetUpdateStrategyType
StatefulSetSpec.podManagementPolicy v1.PodManagementPolicyType
JobSpec.completionMode v1.CompletionMode
CronJobSpec.concurrencyPolicy v1.ConcurrencyPolicy
NetworkPolicySpec.policyTypes []v1.PolicyType
HTTPIngressPath.pathType v1.PathType
EndpointSlice.addressType v1.AddressType
ObjectMeta.uid types.UID
OwnerReference.uid types.UID
ObjectReference.uid types.UID
Capabilities.add []v1.Capability
Capabilities.drop []v1.Capability
SecurityContext.procMount v1.ProcMountType
""".strip().splitlines()
)
