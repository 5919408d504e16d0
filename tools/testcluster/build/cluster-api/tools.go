//go:build tools

// Package clusterapi pins Cluster API's core controllers. Their libraries are those of the cluster's Kubernetes (`replace` in
// go.mod), whose compiled packages are then there already.
package clusterapi

import (
	_ "sigs.k8s.io/cluster-api/core"
)
