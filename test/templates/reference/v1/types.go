// Package v1 holds the shape of a Node as templates see it: the Go names of its fields, their types and JSON names.
package v1

import "time"

// Time prints as the time it holds, and says of a nil pointer that it is zero.
type Time struct{ time.Time }

func (t *Time) IsZero() bool { return t == nil || t.Time.IsZero() }

func (t *Time) UnmarshalJSON(text []byte) error {
	var read time.Time
	if err := read.UnmarshalJSON(text); err != nil {
		return err
	}
	t.Time = read.UTC()
	return nil
}

type (
	TaintEffect       string
	NodePhase         string
	NodeConditionType string
	ConditionStatus   string
	NodeAddressType   string
	UniqueVolumeName  string
)

type TypeMeta struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
}

type OwnerReference struct {
	APIVersion         string `json:"apiVersion"`
	Kind               string `json:"kind"`
	Name               string `json:"name"`
	UID                string `json:"uid"`
	Controller         *bool  `json:"controller"`
	BlockOwnerDeletion *bool  `json:"blockOwnerDeletion"`
}

type ObjectMeta struct {
	Name                       string            `json:"name"`
	GenerateName               string            `json:"generateName"`
	Namespace                  string            `json:"namespace"`
	SelfLink                   string            `json:"selfLink"`
	UID                        string            `json:"uid"`
	ResourceVersion            string            `json:"resourceVersion"`
	Generation                 int64             `json:"generation"`
	CreationTimestamp          Time              `json:"creationTimestamp"`
	DeletionTimestamp          *Time             `json:"deletionTimestamp"`
	DeletionGracePeriodSeconds *int64            `json:"deletionGracePeriodSeconds"`
	Labels                     map[string]string `json:"labels"`
	Annotations                map[string]string `json:"annotations"`
	OwnerReferences            []OwnerReference  `json:"ownerReferences"`
	Finalizers                 []string          `json:"finalizers"`
}

type Taint struct {
	Key       string      `json:"key"`
	Value     string      `json:"value"`
	Effect    TaintEffect `json:"effect"`
	TimeAdded *Time       `json:"timeAdded"`
}

type NodeSpec struct {
	PodCIDR            string   `json:"podCIDR"`
	PodCIDRs           []string `json:"podCIDRs"`
	ProviderID         string   `json:"providerID"`
	Unschedulable      bool     `json:"unschedulable"`
	Taints             []Taint  `json:"taints"`
	DoNotUseExternalID string   `json:"externalID"`
}

type NodeCondition struct {
	Type               NodeConditionType `json:"type"`
	Status             ConditionStatus   `json:"status"`
	LastHeartbeatTime  Time              `json:"lastHeartbeatTime"`
	LastTransitionTime Time              `json:"lastTransitionTime"`
	Reason             string            `json:"reason"`
	Message            string            `json:"message"`
}

type NodeAddress struct {
	Type    NodeAddressType `json:"type"`
	Address string          `json:"address"`
}

type DaemonEndpoint struct {
	Port int32 `json:"Port"`
}

type NodeDaemonEndpoints struct {
	KubeletEndpoint DaemonEndpoint `json:"kubeletEndpoint"`
}

type NodeSwapStatus struct {
	Capacity *int64 `json:"capacity"`
}

type NodeSystemInfo struct {
	MachineID               string          `json:"machineID"`
	SystemUUID              string          `json:"systemUUID"`
	BootID                  string          `json:"bootID"`
	KernelVersion           string          `json:"kernelVersion"`
	OSImage                 string          `json:"osImage"`
	ContainerRuntimeVersion string          `json:"containerRuntimeVersion"`
	KubeletVersion          string          `json:"kubeletVersion"`
	KubeProxyVersion        string          `json:"kubeProxyVersion"`
	OperatingSystem         string          `json:"operatingSystem"`
	Architecture            string          `json:"architecture"`
	Swap                    *NodeSwapStatus `json:"swap"`
}

type ContainerImage struct {
	Names     []string `json:"names"`
	SizeBytes int64    `json:"sizeBytes"`
}

type AttachedVolume struct {
	Name       UniqueVolumeName `json:"name"`
	DevicePath string           `json:"devicePath"`
}

type NodeStatus struct {
	Phase           NodePhase           `json:"phase"`
	Conditions      []NodeCondition     `json:"conditions"`
	Addresses       []NodeAddress       `json:"addresses"`
	DaemonEndpoints NodeDaemonEndpoints `json:"daemonEndpoints"`
	NodeInfo        NodeSystemInfo      `json:"nodeInfo"`
	Images          []ContainerImage    `json:"images"`
	VolumesInUse    []UniqueVolumeName  `json:"volumesInUse"`
	VolumesAttached []AttachedVolume    `json:"volumesAttached"`
}

type Node struct {
	TypeMeta   `json:",inline"`
	ObjectMeta `json:"metadata"`
	Spec       NodeSpec   `json:"spec"`
	Status     NodeStatus `json:"status"`
}
