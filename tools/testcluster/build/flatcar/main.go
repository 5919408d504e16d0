// The flatcar-linux-update-operator and its agents in one program, for tests that want another actor beside careen. Both
// are the real ones; only what an agent has on its host is played: an update engine that says once that a reboot is
// needed, and a reboot, during which the node reports NotReady.
//
// It says "reboots NODE" and "back NODE" on its output, and ends when every agent has seen its node through.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/flatcar/flatcar-linux-update-operator/pkg/agent"
	"github.com/flatcar/flatcar-linux-update-operator/pkg/constants"
	"github.com/flatcar/flatcar-linux-update-operator/pkg/operator"
	"github.com/flatcar/flatcar-linux-update-operator/pkg/updateengine"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// tools/testcluster makes a node with this annotation report that it is not ready.
const readyAnnotation = "testcluster/ready"

var (
	kubeconfig = flag.String("kubeconfig", "", "of an administrator")
	namespace  = flag.String("namespace", "default", "of the operator's lock")
	nodes      = flag.String("nodes", "", "the nodes that want to reboot, with commas")
	atOnce     = flag.Int("max-rebooting-nodes", 1, "that reboot at a time")
	period     = flag.Duration("period", time.Second, "of the operator's rounds")
	grace      = flag.Duration("grace-period", time.Minute, "given to a drain, whose failure does not keep an agent from rebooting")
)

func main() {
	flag.Parse()
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "flatcar-updates:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	host, err := hostFiles()
	if err != nil {
		return err
	}
	defer os.RemoveAll(host)
	if err := startOperator(config); err != nil {
		return err
	}
	var agents sync.WaitGroup
	failed := make(chan error, 1)
	for _, name := range strings.Split(*nodes, ",") {
		agents.Add(1)
		go func() {
			defer agents.Done()
			if err := update(ctx, clientFor(config, "update-agent"), name, host); err != nil {
				select {
				case failed <- fmt.Errorf("%s: %w", name, err):
				default:
				}
			}
		}()
	}
	agents.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

func clientFor(config *rest.Config, program string) *kubernetes.Clientset {
	own := rest.CopyConfig(config)
	own.QPS, own.Burst, own.UserAgent = 200, 400, program
	return kubernetes.NewForConfigOrDie(own)
}

func startOperator(config *rest.Config) error {
	updates, err := operator.New(operator.Config{
		Client: clientFor(config, "update-operator"), Namespace: *namespace, LockID: "test", LockType: "leases",
		ReconciliationPeriod: *period, LeaderElectionLease: 15 * time.Second, MaxRebootingNodes: *atOnce,
	})
	if err != nil {
		return err
	}
	go func() {
		if err := updates.Run(make(chan struct{})); err != nil {
			fmt.Fprintln(os.Stderr, "flatcar-updates:", err)
			os.Exit(1)
		}
	}()
	return nil
}

// What an agent reads of the host that it runs on.
func hostFiles() (string, error) {
	folder, err := os.MkdirTemp("", "flatcar-updates-")
	if err != nil {
		return "", err
	}
	for path, text := range map[string]string{
		"usr/share/flatcar/update.conf": "GROUP=stable\n",
		"etc/flatcar/update.conf":       "",
		"etc/os-release":                "ID=flatcar\nVERSION=4081.2.0\n",
	} {
		path = filepath.Join(folder, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	return folder, nil
}

// The update engine: it tells each agent one status.
type engine struct{ operation string }

func (e engine) ReceiveStatuses(statuses chan<- updateengine.Status, stop <-chan struct{}) {
	select {
	case statuses <- updateengine.Status{CurrentOperation: e.operation, NewVersion: "4081.2.1"}:
	case <-stop:
	}
}

type rebooter func()

func (r rebooter) Reboot(bool) { r() }

// An agent asks for a reboot and does it; after that another one starts on the node, as its pod would, and reports back.
func update(ctx context.Context, client *kubernetes.Clientset, name, host string) error {
	down, ended := context.WithCancel(ctx)
	err := runAgent(down, client, name, host, updateengine.UpdateStatusUpdatedNeedReboot, func() {
		fmt.Println("reboots", name)
		ended()
	})
	if down.Err() == nil {
		ended()
		return fmt.Errorf("the agent ended without a reboot: %w", err)
	}
	if err := reboot(ctx, client, name); err != nil {
		return err
	}
	up, done := context.WithCancel(ctx)
	defer done()
	failed := make(chan error, 1)
	go func() {
		failed <- runAgent(up, client, name, host, updateengine.UpdateStatusIdle, func() {})
	}()
	back := make(chan error, 1)
	go func() {
		back <- waitFor(up, client, name, func(node *corev1.Node) bool {
			return node.Annotations[constants.AnnotationOkToReboot] == constants.False &&
				node.Annotations[constants.AnnotationRebootInProgress] == constants.False &&
				node.Annotations[constants.AnnotationAgentMadeUnschedulable] != constants.True
		})
	}()
	select {
	case err := <-failed:
		return fmt.Errorf("the agent ended after the reboot: %w", err)
	case err := <-back:
		fmt.Println("back", name)
		return err
	}
}

func runAgent(ctx context.Context, client *kubernetes.Clientset, name, host, operation string, reboots func()) error {
	one, err := agent.New(&agent.Config{
		NodeName: name, PodDeletionGracePeriod: *grace, Clientset: client, StatusReceiver: engine{operation},
		Rebooter: rebooter(reboots), HostFilesPrefix: host, PollInterval: time.Second,
	})
	if err != nil {
		return err
	}
	return one.Run(ctx)
}

func reboot(ctx context.Context, client *kubernetes.Clientset, name string) error {
	for _, ready := range []bool{false, true} {
		value := `null`
		if !ready {
			value = `"false"`
		}
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, readyAnnotation, value)
		if _, err := client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			return err
		}
		if err := waitFor(ctx, client, name, func(node *corev1.Node) bool { return isReady(node) == ready }); err != nil {
			return err
		}
	}
	return nil
}

func isReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

func waitFor(ctx context.Context, client *kubernetes.Clientset, name string, holds func(*corev1.Node) bool) error {
	for {
		node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if holds(node) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}
