// The tables of the types: Go name, JSON name and type of every field of a core/v1 Node, and of the data of a message.
#include "templates/types.h"

namespace careen::templates {

namespace types {

namespace {

constexpr Type named_text(std::string_view name) { return {.kind = Kind::text, .name = name}; }
constexpr Type list_of(const Type& element, std::string_view name) {
  return {.kind = Kind::list, .name = name, .element = &element};
}
constexpr Type pointer_to(const Type& element, std::string_view name) {
  return {.kind = Kind::pointer, .name = name, .element = &element};
}
constexpr Type object_of(std::span<const Field> fields, std::string_view name) {
  return {.kind = Kind::object, .name = name, .fields = fields};
}

}  // namespace

constexpr Type boolean{.kind = Kind::boolean, .name = "bool"};
constexpr Type integer{.kind = Kind::integer, .name = "int"};
constexpr Type int32{.kind = Kind::integer, .name = "int32"};
constexpr Type int64{.kind = Kind::integer, .name = "int64"};
constexpr Type byte{.kind = Kind::unsigned_integer, .name = "uint8"};
constexpr Type float64{.kind = Kind::floating, .name = "float64"};
constexpr Type text{.kind = Kind::text, .name = "string"};
constexpr Type time{.kind = Kind::object, .name = "time.Time", .nature = Nature::time, .methods = Methods::time};
constexpr Type duration{
    .kind = Kind::integer, .name = "time.Duration", .nature = Nature::duration, .methods = Methods::duration};
constexpr Type month{
    .kind = Kind::integer, .name = "time.Month", .nature = Nature::month, .methods = Methods::named_number};
constexpr Type weekday{
    .kind = Kind::integer, .name = "time.Weekday", .nature = Nature::weekday, .methods = Methods::named_number};
// There is but one: all times are in UTC.
constexpr Type location{
    .kind = Kind::object, .name = "*time.Location", .nature = Nature::location, .methods = Methods::location};
// A quantity stays the text that the API has.
constexpr Type quantity{
    .kind = Kind::text, .name = "resource.Quantity", .nature = Nature::quantity, .methods = Methods::quantity};
constexpr Type scale{.kind = Kind::integer, .name = "resource.Scale"};

namespace {
constexpr Field kApiTimeFields[] = {{"Time", "", &time, false}};
}
constexpr Type api_time{.kind = Kind::object,
                        .name = "v1.Time",
                        .nature = Nature::api_time,
                        .fields = kApiTimeFields,
                        .methods = Methods::api_time};
constexpr Type optional_time = pointer_to(api_time, "*v1.Time");

namespace {

constexpr Type kUid = named_text("types.UID");
constexpr Type kManagedOperation = named_text("v1.ManagedFieldsOperationType");
constexpr Type kTaintEffect = named_text("v1.TaintEffect");
constexpr Type kPhase = named_text("v1.NodePhase");
constexpr Type kConditionType = named_text("v1.NodeConditionType");
constexpr Type kConditionStatus = named_text("v1.ConditionStatus");
constexpr Type kAddressType = named_text("v1.NodeAddressType");
constexpr Type kVolumeName = named_text("v1.UniqueVolumeName");

constexpr Type kOptionalBoolean = pointer_to(boolean, "*bool");
constexpr Type kOptionalInt64 = pointer_to(int64, "*int64");
constexpr Type kTexts = list_of(text, "[]string");
constexpr Type kTextMap{.kind = Kind::map, .name = "map[string]string", .element = &text};
constexpr Type kResources{
    .kind = Kind::map, .name = "v1.ResourceList", .element = &quantity, .methods = Methods::resources};

constexpr Field kTypeMetaFields[] = {{"Kind", "kind", &text}, {"APIVersion", "apiVersion", &text}};
constexpr Type kTypeMeta = object_of(kTypeMetaFields, "v1.TypeMeta");

constexpr Field kOwnerFields[] = {{"APIVersion", "apiVersion", &text},
                                  {"Kind", "kind", &text},
                                  {"Name", "name", &text},
                                  {"UID", "uid", &kUid},
                                  {"Controller", "controller", &kOptionalBoolean},
                                  {"BlockOwnerDeletion", "blockOwnerDeletion", &kOptionalBoolean}};
constexpr Type kOwner = object_of(kOwnerFields, "v1.OwnerReference");
constexpr Type kOwners = list_of(kOwner, "[]v1.OwnerReference");

constexpr Field kManagedFields[] = {{"Manager", "manager", &text},       {"Operation", "operation", &kManagedOperation},
                                    {"APIVersion", "apiVersion", &text}, {"Time", "time", &optional_time},
                                    {"FieldsType", "fieldsType", &text}, {"Subresource", "subresource", &text}};
constexpr Type kManaged = object_of(kManagedFields, "v1.ManagedFieldsEntry");
constexpr Type kManagedList = list_of(kManaged, "[]v1.ManagedFieldsEntry");

constexpr Field kObjectMetaFields[] = {{"Name", "name", &text},
                                       {"GenerateName", "generateName", &text},
                                       {"Namespace", "namespace", &text},
                                       {"SelfLink", "selfLink", &text},
                                       {"UID", "uid", &kUid},
                                       {"ResourceVersion", "resourceVersion", &text},
                                       {"Generation", "generation", &int64},
                                       {"CreationTimestamp", "creationTimestamp", &api_time},
                                       {"DeletionTimestamp", "deletionTimestamp", &optional_time},
                                       {"DeletionGracePeriodSeconds", "deletionGracePeriodSeconds", &kOptionalInt64},
                                       {"Labels", "labels", &kTextMap},
                                       {"Annotations", "annotations", &kTextMap},
                                       {"OwnerReferences", "ownerReferences", &kOwners},
                                       {"Finalizers", "finalizers", &kTexts},
                                       {"ManagedFields", "managedFields", &kManagedList}};
constexpr Type kObjectMeta{.kind = Kind::object, .name = "v1.ObjectMeta", .fields = kObjectMetaFields, .getters = true};

constexpr Field kTaintFields[] = {{"Key", "key", &text},
                                  {"Value", "value", &text},
                                  {"Effect", "effect", &kTaintEffect},
                                  {"TimeAdded", "timeAdded", &optional_time}};
constexpr Type kTaint{.kind = Kind::object, .name = "v1.Taint", .fields = kTaintFields, .methods = Methods::taint};
constexpr Type kTaints = list_of(kTaint, "[]v1.Taint");

constexpr Field kConfigMapFields[] = {{"Namespace", "namespace", &text},
                                      {"Name", "name", &text},
                                      {"UID", "uid", &kUid},
                                      {"ResourceVersion", "resourceVersion", &text},
                                      {"KubeletConfigKey", "kubeletConfigKey", &text}};
constexpr Type kConfigMap = object_of(kConfigMapFields, "v1.ConfigMapNodeConfigSource");
constexpr Type kOptionalConfigMap = pointer_to(kConfigMap, "*v1.ConfigMapNodeConfigSource");
constexpr Field kConfigSourceFields[] = {{"ConfigMap", "configMap", &kOptionalConfigMap}};
constexpr Type kConfigSource = object_of(kConfigSourceFields, "v1.NodeConfigSource");
constexpr Type kOptionalConfigSource = pointer_to(kConfigSource, "*v1.NodeConfigSource");

constexpr Field kSpecFields[] = {{"PodCIDR", "podCIDR", &text},
                                 {"PodCIDRs", "podCIDRs", &kTexts},
                                 {"ProviderID", "providerID", &text},
                                 {"Unschedulable", "unschedulable", &boolean},
                                 {"Taints", "taints", &kTaints},
                                 {"ConfigSource", "configSource", &kOptionalConfigSource},
                                 {"DoNotUseExternalID", "externalID", &text}};
constexpr Type kSpec = object_of(kSpecFields, "v1.NodeSpec");

constexpr Field kConditionFields[] = {{"Type", "type", &kConditionType},
                                      {"Status", "status", &kConditionStatus},
                                      {"LastHeartbeatTime", "lastHeartbeatTime", &api_time},
                                      {"LastTransitionTime", "lastTransitionTime", &api_time},
                                      {"Reason", "reason", &text},
                                      {"Message", "message", &text}};
constexpr Type kCondition = object_of(kConditionFields, "v1.NodeCondition");
constexpr Type kConditions = list_of(kCondition, "[]v1.NodeCondition");

constexpr Field kAddressFields[] = {{"Type", "type", &kAddressType}, {"Address", "address", &text}};
constexpr Type kAddress = object_of(kAddressFields, "v1.NodeAddress");
constexpr Type kAddresses = list_of(kAddress, "[]v1.NodeAddress");

constexpr Field kEndpointFields[] = {{"Port", "Port", &int32}};
constexpr Type kEndpoint = object_of(kEndpointFields, "v1.DaemonEndpoint");
constexpr Field kEndpointsFields[] = {{"KubeletEndpoint", "kubeletEndpoint", &kEndpoint}};
constexpr Type kEndpoints = object_of(kEndpointsFields, "v1.NodeDaemonEndpoints");

constexpr Field kSwapFields[] = {{"Capacity", "capacity", &kOptionalInt64}};
constexpr Type kSwap = object_of(kSwapFields, "v1.NodeSwapStatus");
constexpr Type kOptionalSwap = pointer_to(kSwap, "*v1.NodeSwapStatus");
constexpr Field kInfoFields[] = {{"MachineID", "machineID", &text},
                                 {"SystemUUID", "systemUUID", &text},
                                 {"BootID", "bootID", &text},
                                 {"KernelVersion", "kernelVersion", &text},
                                 {"OSImage", "osImage", &text},
                                 {"ContainerRuntimeVersion", "containerRuntimeVersion", &text},
                                 {"KubeletVersion", "kubeletVersion", &text},
                                 {"KubeProxyVersion", "kubeProxyVersion", &text},
                                 {"OperatingSystem", "operatingSystem", &text},
                                 {"Architecture", "architecture", &text},
                                 {"Swap", "swap", &kOptionalSwap}};
constexpr Type kInfo = object_of(kInfoFields, "v1.NodeSystemInfo");

constexpr Field kImageFields[] = {{"Names", "names", &kTexts}, {"SizeBytes", "sizeBytes", &int64}};
constexpr Type kImage = object_of(kImageFields, "v1.ContainerImage");
constexpr Type kImages = list_of(kImage, "[]v1.ContainerImage");

constexpr Type kVolumeNames = list_of(kVolumeName, "[]v1.UniqueVolumeName");
constexpr Field kVolumeFields[] = {{"Name", "name", &kVolumeName}, {"DevicePath", "devicePath", &text}};
constexpr Type kVolume = object_of(kVolumeFields, "v1.AttachedVolume");
constexpr Type kVolumes = list_of(kVolume, "[]v1.AttachedVolume");

constexpr Field kConfigStatusFields[] = {{"Assigned", "assigned", &kOptionalConfigSource},
                                         {"Active", "active", &kOptionalConfigSource},
                                         {"LastKnownGood", "lastKnownGood", &kOptionalConfigSource},
                                         {"Error", "error", &text}};
constexpr Type kConfigStatus = object_of(kConfigStatusFields, "v1.NodeConfigStatus");
constexpr Type kOptionalConfigStatus = pointer_to(kConfigStatus, "*v1.NodeConfigStatus");

constexpr Field kHandlerFeatureFields[] = {{"RecursiveReadOnlyMounts", "recursiveReadOnlyMounts", &kOptionalBoolean},
                                           {"UserNamespaces", "userNamespaces", &kOptionalBoolean}};
constexpr Type kHandlerFeatures = object_of(kHandlerFeatureFields, "v1.NodeRuntimeHandlerFeatures");
constexpr Type kOptionalHandlerFeatures = pointer_to(kHandlerFeatures, "*v1.NodeRuntimeHandlerFeatures");
constexpr Field kHandlerFields[] = {{"Name", "name", &text}, {"Features", "features", &kOptionalHandlerFeatures}};
constexpr Type kHandler = object_of(kHandlerFields, "v1.NodeRuntimeHandler");
constexpr Type kHandlers = list_of(kHandler, "[]v1.NodeRuntimeHandler");

constexpr Field kFeatureFields[] = {{"SupplementalGroupsPolicy", "supplementalGroupsPolicy", &kOptionalBoolean}};
constexpr Type kFeatures = object_of(kFeatureFields, "v1.NodeFeatures");
constexpr Type kOptionalFeatures = pointer_to(kFeatures, "*v1.NodeFeatures");

constexpr Field kStatusFields[] = {{"Capacity", "capacity", &kResources},
                                   {"Allocatable", "allocatable", &kResources},
                                   {"Phase", "phase", &kPhase},
                                   {"Conditions", "conditions", &kConditions},
                                   {"Addresses", "addresses", &kAddresses},
                                   {"DaemonEndpoints", "daemonEndpoints", &kEndpoints},
                                   {"NodeInfo", "nodeInfo", &kInfo},
                                   {"Images", "images", &kImages},
                                   {"VolumesInUse", "volumesInUse", &kVolumeNames},
                                   {"VolumesAttached", "volumesAttached", &kVolumes},
                                   {"Config", "config", &kOptionalConfigStatus},
                                   {"RuntimeHandlers", "runtimeHandlers", &kHandlers},
                                   {"Features", "features", &kOptionalFeatures},
                                   {"DeclaredFeatures", "declaredFeatures", &kTexts}};
constexpr Type kStatus = object_of(kStatusFields, "v1.NodeStatus");

constexpr Field kNodeFields[] = {{"TypeMeta", "", &kTypeMeta, true},
                                 {"ObjectMeta", "metadata", &kObjectMeta, true},
                                 {"Spec", "spec", &kSpec},
                                 {"Status", "status", &kStatus}};

}  // namespace

constexpr Type node{.kind = Kind::object, .name = "v1.Node", .fields = kNodeFields, .methods = Methods::node};

namespace {

constexpr Type kNodePointer = pointer_to(node, "*v1.Node");
// The name of the evaluated profile, which also answers to the two fields that its documentation always had.
constexpr Field kProfileFields[] = {{"Current", "", &text}, {"Last", "", &text}};
constexpr Type kProfile{.kind = Kind::text, .name = "string", .nature = Nature::profile, .fields = kProfileFields};
constexpr Field kRootFields[] = {{"State", "", &text},
                                 {"Profile", "", &kProfile},
                                 {"Node", "", &kNodePointer},
                                 {"LastTransition", "", &time},
                                 {"InMaintenance", "", &boolean},
                                 {"LogDetails", "", &boolean},
                                 {"Current", "", &text},
                                 {"Last", "", &text}};

}  // namespace

constexpr Type root{.kind = Kind::object, .name = "plugin.Parameters", .nature = Nature::root, .fields = kRootFields};

}  // namespace types

}  // namespace careen::templates
