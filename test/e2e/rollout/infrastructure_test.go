// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
)

const (
	providerFinalizer = "rollout.example.com/machine"
	providerInterval  = 100 * time.Millisecond
)

// provider is the infrastructure provider of a shape's machines.
type provider struct {
	shape
	k client.Client

	mu     sync.Mutex
	isKept bool
}

// provide runs the provider until the spec ends.
func (s shape) provide(ctx context.Context) *provider {
	p := &provider{shape: s, k: site.Client()}
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if err := p.pass(ctx); err != nil && ctx.Err() == nil {
				GinkgoWriter.Println("the provider of machines tries again:", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(providerInterval):
			}
		}
	}()
	DeferCleanup(func() {
		stop()
		<-done
	})
	return p
}

// keep says whether machines that are deleted stay.
func (p *provider) keep(isKept bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isKept = isKept
}

func (p *provider) keeps() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.isKept
}

// pass does for each machine what is to be done next.
func (p *provider) pass(ctx context.Context) error {
	machines := &unstructured.UnstructuredList{}
	machines.SetGroupVersionKind(schema.GroupVersionKind{Group: infrastructure, Version: "v1beta1", Kind: p.machine + "List"})
	if err := p.k.List(ctx, machines, client.InNamespace(p.name)); err != nil {
		return err
	}
	for i := range machines.Items {
		if err := p.reconcile(ctx, &machines.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

func (p *provider) reconcile(ctx context.Context, machine *unstructured.Unstructured) error {
	claims, err := p.claims(ctx, p.k, machine)
	if err != nil {
		return err
	}
	for _, claim := range claims {
		claim.SetNamespace(machine.GetNamespace())
	}
	switch _, isProvisioned, _ := unstructured.NestedString(machine.Object, "spec", "providerID"); {
	case machine.GetDeletionTimestamp() != nil:
		return p.remove(ctx, machine, claims)
	case isProvisioned || len(machine.GetOwnerReferences()) == 0: // core manager first
		return nil
	case controllerutil.AddFinalizer(machine, providerFinalizer):
		return p.k.Update(ctx, machine)
	}
	return p.provision(ctx, machine, claims)
}

// remove gives back what the machine has, and lets it go.
func (p *provider) remove(ctx context.Context, machine *unstructured.Unstructured, claims []client.Object) error {
	if p.keeps() {
		return nil
	}
	for _, claim := range claims {
		if err := p.k.Delete(ctx, claim); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	if !controllerutil.RemoveFinalizer(machine, providerFinalizer) {
		return nil
	}
	return client.IgnoreNotFound(p.k.Update(ctx, machine))
}

// provision claims the machine's addresses. When it has all of them its node comes up.
func (p *provider) provision(ctx context.Context, machine *unstructured.Unstructured, claims []client.Object) error {
	for _, claim := range claims {
		claim.SetLabels(map[string]string{clusterv1.ClusterNameLabel: p.name})
		if err := controllerutil.SetControllerReference(machine, claim, p.k.Scheme()); err != nil {
			return err
		}
		if err := p.k.Create(ctx, claim); client.IgnoreAlreadyExists(err) != nil {
			return err
		}
		if err := p.k.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
			return err
		}
		if !isAnswered(claim) {
			return nil
		}
	}
	providerID := fmt.Sprintf("%s://%s", p.name, machine.GetUID())
	if err := p.bringUp(ctx, machine.GetName(), providerID); err != nil {
		return err
	}
	machine.Object["status"] = map[string]any{"initialization": map[string]any{"provisioned": true}}
	if err := unstructured.SetNestedField(machine.Object, providerID, "spec", "providerID"); err != nil {
		return err
	}
	return p.k.Update(ctx, machine)
}

func isAnswered(claim client.Object) bool {
	switch claim := claim.(type) {
	case *ipamv1beta2.IPAddressClaim:
		return claim.Status.AddressRef.Name != ""
	case *m3v1.IPClaim:
		return claim.Status.Address != nil
	}
	return false
}

// bringUp makes the node of a machine, which is well.
func (p *provider) bringUp(ctx context.Context, name, providerID string) error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: providerID}}
	if err := p.k.Create(ctx, node); client.IgnoreAlreadyExists(err) != nil {
		return err
	}
	if err := p.k.Get(ctx, client.ObjectKeyFromObject(node), node); err != nil {
		return err
	}
	now := metav1.Now()
	for condition, status := range map[corev1.NodeConditionType]corev1.ConditionStatus{
		corev1.NodeReady: corev1.ConditionTrue, corev1.NodeMemoryPressure: corev1.ConditionFalse,
		corev1.NodeDiskPressure: corev1.ConditionFalse, corev1.NodePIDPressure: corev1.ConditionFalse,
	} {
		node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
			Type: condition, Status: status, Reason: "Rollout", LastHeartbeatTime: now, LastTransitionTime: now,
		})
	}
	return p.k.Status().Update(ctx, node)
}
