// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework_test

import (
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// startControlPlane starts a control plane that is stopped with the test.
func startControlPlane(t *testing.T, opts framework.Options) *framework.ControlPlane {
	t.Helper()
	began := time.Now()
	cp, err := framework.StartControlPlane(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cp.Stop(); err != nil {
			t.Error(err)
		}
	})
	t.Logf("control plane is up after %s", time.Since(began).Round(time.Millisecond))
	return cp
}

func clientset(t *testing.T, cfg *rest.Config) *kubernetes.Clientset {
	t.Helper()
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestControlPlaneStopsWithoutLeavings(t *testing.T) {
	cp := startControlPlane(t, framework.Options{ControllerManager: true})
	pids := cp.PIDs()
	if len(pids) != 3 {
		t.Fatalf("expected three processes, got %v", pids)
	}
	if err := cp.Stop(); err != nil {
		t.Fatal(err)
	}
	for name, pid := range pids {
		if err := syscall.Kill(pid, 0); err == nil {
			t.Errorf("%s still runs as process %d", name, pid)
		}
	}
	if _, err := os.Stat(cp.Dir()); !os.IsNotExist(err) {
		t.Errorf("folder %s is still there", cp.Dir())
	}
}

func TestControlPlaneKeepsDataOverRestarts(t *testing.T) {
	cp := startControlPlane(t, framework.Options{})
	client := clientset(t, cp.Config())
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := cp.RestartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := cp.RestartEtcd(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Namespaces().Get(t.Context(), "kept", metav1.GetOptions{}); err != nil {
		t.Errorf("reading after the restarts: %v", err)
	}
}

func TestEtcdOutlivesItsLeader(t *testing.T) {
	cp := startControlPlane(t, framework.Options{EtcdMembers: 3})
	client := clientset(t, cp.Config())
	restart, err := cp.KillEtcdLeader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "without-one-"}}
	for range 3 {
		if _, err = client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err == nil {
			break
		}
	}
	if err != nil {
		t.Errorf("writing without the leader: %v", err)
	}
	if err := restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 3 { // what is compacted already is none's failure
		all.Go(func() {
			if err := cp.Compact(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func TestRESTConfigAsIsSubjectToRBAC(t *testing.T) {
	cp := startControlPlane(t, framework.Options{})
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "tester"}}
	_, err := clientset(t, cp.Config()).CoreV1().ServiceAccounts("default").Create(t.Context(), account, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range []string{"alice", "system:serviceaccount:default:tester"} {
		cfg, err := cp.RESTConfigAs(t.Context(), user)
		if err != nil {
			t.Fatal(err)
		}
		_, err = clientset(t, cfg).CoreV1().Secrets("default").List(t.Context(), metav1.ListOptions{})
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s may list secrets: %v", user, err)
		}
	}
}
