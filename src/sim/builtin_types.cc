#include <map>
#include <sstream>

#include "sim/types.h"

namespace careen::sim {

namespace {

// One type a line: its name, then its fields as name:type. Types: s text, b boolean, i32, i64, f number, time, micro,
// q quantity, ios int or text, any, or another type; {x} a map to it, [x] a list, followed by its merge key, and after
// a slash the keys of server-side apply when they differ; [s]set merges plain values. "!" in front: always there, "*":
// empty is kept, "~": may retain keys. "..." keeps what is not named.
constexpr std::string_view kTypes = R"(
OwnerReference apiVersion:!s kind:!s name:!s uid:!s controller:*b blockOwnerDeletion:*b
ManagedFieldsEntry manager:s operation:s apiVersion:s time:*time fieldsType:s fieldsV1:*any subresource:s
ObjectMeta name:s generateName:s namespace:s selfLink:s uid:s resourceVersion:s generation:i64 creationTimestamp:time deletionTimestamp:*time deletionGracePeriodSeconds:*i64 labels:{s} annotations:{s} ownerReferences:[OwnerReference]uid finalizers:[s]set managedFields:[ManagedFieldsEntry]
Condition type:!s status:!s observedGeneration:i64 lastTransitionTime:!time reason:!s message:!s
ObjectReference kind:s namespace:s name:s uid:s apiVersion:s resourceVersion:s fieldPath:s
LocalObjectReference name:s

Node metadata:!ObjectMeta spec:!NodeSpec status:!NodeStatus
NodeSpec podCIDR:s podCIDRs:[s]set providerID:s unschedulable:b taints:[Taint] configSource:*any externalID:s
Taint key:!s value:s effect:!s timeAdded:*time
NodeStatus capacity:{q} allocatable:{q} phase:s conditions:[NodeCondition]type addresses:[NodeAddress]type daemonEndpoints:!NodeDaemonEndpoints nodeInfo:!NodeSystemInfo images:[ContainerImage] volumesInUse:[s] volumesAttached:[AttachedVolume] config:*any runtimeHandlers:[any] features:*any declaredFeatures:[s]
NodeCondition type:!s status:!s lastHeartbeatTime:!time lastTransitionTime:!time reason:s message:s
NodeAddress type:!s address:!s
NodeDaemonEndpoints kubeletEndpoint:!DaemonEndpoint
DaemonEndpoint Port:!i32
NodeSystemInfo machineID:!s systemUUID:!s bootID:!s kernelVersion:!s osImage:!s containerRuntimeVersion:!s kubeletVersion:!s kubeProxyVersion:!s operatingSystem:!s architecture:!s swap:*any
ContainerImage names:[s] sizeBytes:i64
AttachedVolume name:!s devicePath:!s

Namespace metadata:!ObjectMeta spec:!NamespaceSpec status:!NamespaceStatus
NamespaceSpec finalizers:[s]
NamespaceStatus phase:s conditions:[NamespaceCondition]type
NamespaceCondition type:!s status:!s lastTransitionTime:time reason:s message:s

Lease metadata:!ObjectMeta spec:!LeaseSpec
LeaseSpec holderIdentity:*s leaseDurationSeconds:*i32 acquireTime:*micro renewTime:*micro leaseTransitions:*i32 strategy:*s preferredHolder:*s

Event metadata:!ObjectMeta involvedObject:!ObjectReference reason:s message:s source:!EventSource firstTimestamp:!time lastTimestamp:!time count:i32 type:s eventTime:!micro series:*EventSeries action:s related:*ObjectReference reportingComponent:!s reportingInstance:!s
EventSource component:s host:s
EventSeries count:i32 lastObservedTime:micro

ConfigMap metadata:!ObjectMeta immutable:*b data:{s} binaryData:{s}
Secret metadata:!ObjectMeta immutable:*b data:{s} stringData:{s} type:s

Service metadata:!ObjectMeta spec:!ServiceSpec status:!ServiceStatus
ServiceSpec ports:[ServicePort]port/port,protocol selector:{s} clusterIP:s clusterIPs:[s] type:s externalIPs:[s] sessionAffinity:s loadBalancerIP:s externalName:s ...
ServicePort name:s protocol:s appProtocol:*s port:!i32 targetPort:ios nodePort:i32
ServiceStatus loadBalancer:!any conditions:[Condition]type
Endpoints metadata:!ObjectMeta subsets:[any]

Pod metadata:!ObjectMeta spec:!PodSpec status:!PodStatus
PodSpec volumes:~[Volume]name initContainers:[Container]name containers:![Container]name ephemeralContainers:[Container]name restartPolicy:s terminationGracePeriodSeconds:*i64 activeDeadlineSeconds:*i64 dnsPolicy:s nodeSelector:{s} serviceAccountName:s serviceAccount:s automountServiceAccountToken:*b nodeName:s hostNetwork:b hostPID:b hostIPC:b shareProcessNamespace:*b securityContext:*any imagePullSecrets:[LocalObjectReference]name hostname:s subdomain:s affinity:*any schedulerName:s tolerations:[Toleration] hostAliases:[HostAlias]ip priorityClassName:s priority:*i32 dnsConfig:*any readinessGates:[any] runtimeClassName:*s enableServiceLinks:*b preemptionPolicy:*s overhead:{q} topologySpreadConstraints:[TopologySpreadConstraint]topologyKey/topologyKey,whenUnsatisfiable setHostnameAsFQDN:*b os:*any schedulingGates:[PodSchedulingGate]name resourceClaims:[PodResourceClaim]name ...
Volume name:!s ...
HostAlias ip:!s hostnames:[s]
TopologySpreadConstraint maxSkew:!i32 topologyKey:!s whenUnsatisfiable:!s ...
PodSchedulingGate name:!s
PodResourceClaim name:!s ...
Toleration key:s operator:s value:s effect:s tolerationSeconds:*i64
Container name:!s image:s command:[s] args:[s] workingDir:s ports:[ContainerPort]containerPort/containerPort,protocol envFrom:[any] env:[EnvVar]name resources:!any volumeMounts:[VolumeMount]mountPath volumeDevices:[VolumeDevice]devicePath livenessProbe:*any readinessProbe:*any startupProbe:*any lifecycle:*any terminationMessagePath:s terminationMessagePolicy:s imagePullPolicy:s securityContext:*any stdin:b stdinOnce:b tty:b restartPolicy:*s ...
ContainerPort name:s hostPort:i32 containerPort:!i32 protocol:s hostIP:s
EnvVar name:!s value:s valueFrom:*any
VolumeMount name:!s readOnly:b mountPath:!s subPath:s ...
VolumeDevice name:!s devicePath:!s
PodStatus observedGeneration:i64 phase:s conditions:[PodCondition]type message:s reason:s nominatedNodeName:s hostIP:s hostIPs:[HostIP] podIP:s podIPs:[PodIP]ip startTime:*time initContainerStatuses:[any] containerStatuses:[any] qosClass:s ephemeralContainerStatuses:[any] resize:s resourceClaimStatuses:[any] ...
HostIP ip:!s
PodIP ip:!s
PodCondition type:!s observedGeneration:i64 status:!s lastProbeTime:!time lastTransitionTime:!time reason:s message:s
PodTemplateSpec metadata:ObjectMeta spec:PodSpec

Deployment metadata:!ObjectMeta spec:!WorkloadSpec status:!WorkloadStatus
ReplicaSet metadata:!ObjectMeta spec:!WorkloadSpec status:!WorkloadStatus
StatefulSet metadata:!ObjectMeta spec:!WorkloadSpec status:!WorkloadStatus
DaemonSet metadata:!ObjectMeta spec:!WorkloadSpec status:!WorkloadStatus
Job metadata:!ObjectMeta spec:!WorkloadSpec status:!WorkloadStatus
WorkloadSpec replicas:*i32 selector:*any template:PodTemplateSpec ...
WorkloadStatus conditions:[WorkloadCondition]type ...
WorkloadCondition type:!s status:!s ...
PodDisruptionBudget metadata:!ObjectMeta spec:!PodDisruptionBudgetSpec status:!PodDisruptionBudgetStatus
PodDisruptionBudgetSpec minAvailable:*ios selector:*any maxUnavailable:*ios unhealthyPodEvictionPolicy:*s
Eviction metadata:!ObjectMeta deleteOptions:*DeleteOptions
DeleteOptions kind:s apiVersion:s gracePeriodSeconds:*i64 preconditions:*Preconditions orphanDependents:*b propagationPolicy:*s dryRun:[s] ignoreStoreReadErrorWithClusterBreakingPotential:*b
Preconditions uid:*s resourceVersion:*s
PodDisruptionBudgetStatus observedGeneration:i64 disruptedPods:{time} disruptionsAllowed:!i32 currentHealthy:!i32 desiredHealthy:!i32 expectedPods:!i32 conditions:[Condition]type

CustomResourceDefinition metadata:!ObjectMeta spec:!CustomResourceDefinitionSpec status:!CustomResourceDefinitionStatus
CustomResourceDefinitionSpec group:!s names:!CustomResourceDefinitionNames scope:!s versions:![CustomResourceDefinitionVersion] conversion:*any preserveUnknownFields:b
CustomResourceDefinitionNames plural:!s singular:s shortNames:[s] kind:!s listKind:s categories:[s]
CustomResourceDefinitionVersion name:!s served:!b storage:!b deprecated:b deprecationWarning:*s schema:*any subresources:*any additionalPrinterColumns:[any] selectableFields:[any]
CustomResourceDefinitionStatus conditions:[CustomResourceDefinitionCondition]type acceptedNames:any storedVersions:[s] observedGeneration:i64
CustomResourceDefinitionCondition type:!s status:!s observedGeneration:i64 lastTransitionTime:time reason:s message:s
)";

using Types = std::map<std::string, Type, std::less<>>;

Field read_field(std::string_view word, Types& types) {
  Field field;
  const size_t colon = word.find(':');
  field.name = word.substr(0, colon);
  std::string_view rest = word.substr(colon + 1);
  for (; !rest.empty(); rest.remove_prefix(1)) {
    if (rest[0] == '!') {
      field.presence = Field::Presence::always;
    } else if (rest[0] == '*') {
      field.presence = Field::Presence::pointer;
    } else if (rest[0] == '~') {
      field.retain_keys = true;
    } else {
      break;
    }
  }
  std::string_view of = rest;
  if (rest[0] == '[' || rest[0] == '{') {
    field.container = rest[0] == '[' ? Field::Container::list : Field::Container::map;
    const size_t end = rest.find_first_of("]}");
    of = rest.substr(1, end - 1);
    std::string_view key = rest.substr(end + 1);
    field.set = key == "set";
    if (!key.empty() && !field.set) {
      field.merge_key = key.substr(0, key.find('/'));
      if (key.find('/') != std::string_view::npos) key.remove_prefix(key.find('/') + 1);
      while (!key.empty()) {
        field.apply_keys.emplace_back(key.substr(0, key.find(',')));
        key.remove_prefix(std::min(key.size(), field.apply_keys.back().size() + 1));
      }
    }
  }
  static const std::map<std::string_view, Shape> shapes = {
      {"s", Shape::text},          {"b", Shape::boolean}, {"i32", Shape::int32},  {"i64", Shape::int64},
      {"f", Shape::number},        {"time", Shape::time}, {"q", Shape::quantity}, {"micro", Shape::micro_time},
      {"ios", Shape::int_or_text}, {"any", Shape::any}};
  if (const auto plain = shapes.find(of); plain != shapes.end()) {
    field.shape = plain->second;
  } else {
    field.shape = Shape::structure;
    field.type = &types[std::string(of)];
  }
  return field;
}

Types read_types() {
  Types types;
  std::istringstream lines{std::string(kTypes)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    if (!(words >> word)) continue;
    Type& type = types[word];
    type.name = word;
    while (words >> word) {
      if (word == "...") {
        type.open = true;
      } else {
        type.fields.push_back(read_field(word, types));
      }
    }
  }
  return types;
}

}  // namespace

const Type* builtin_type(std::string_view name) {
  static const Types types = read_types();
  const auto found = types.find(name);
  return found == types.end() ? nullptr : &found->second;
}

}  // namespace careen::sim
