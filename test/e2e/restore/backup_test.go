// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	icv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/incluster/v1alpha2"
	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// appliers restore at once.
const appliers = 8

// kinds are what is backed up. Of the namespaces the inventory's are.
var kinds = []schema.GroupVersionKind{
	{Version: "v1", Kind: "Namespace"},
	clusterv1.GroupVersion.WithKind("Cluster"),
	ipamv1beta2.GroupVersion.WithKind("IPAddressClaim"),
	ipamv1beta2.GroupVersion.WithKind("IPAddress"),
	ipamv1.GroupVersion.WithKind("GlobalIPPool"),
	ipamv1.GroupVersion.WithKind("IPPool"),
	ipamv1.GroupVersion.WithKind("IPClaim"),
	ipamv1.GroupVersion.WithKind("IPAllocation"),
	m3v1.GroupVersion.WithKind("IPPool"),
	m3v1.GroupVersion.WithKind("IPClaim"),
	m3v1.GroupVersion.WithKind("IPAddress"),
	icv1.GroupVersion.WithKind(icv1.InClusterIPPoolKind),
	icv1.GroupVersion.WithKind(icv1.GlobalInClusterIPPoolKind),
}

// wiped are etcd's keys of the same.
var wiped = []string{
	"/registry/ipam.weir.dev/", "/registry/ipam.metal3.io/", "/registry/ipam.cluster.x-k8s.io/", "/registry/cluster.x-k8s.io/", "/registry/namespaces/" + red, "/registry/namespaces/" + blue,
}

// backup is all objects as a backup tool keeps them, and what there was.
type backup struct {
	objects []*unstructured.Unstructured
	state   []string
}

// takeBackup keeps spec, labels, annotations, finalizers and owner references.
func takeBackup(ctx context.Context) *backup {
	GinkgoHelper()
	b := &backup{state: state(ctx)}
	for _, obj := range listAll(ctx) {
		delete(obj.Object, "status")
		for _, field := range []string{"uid", "resourceVersion", "managedFields", "creationTimestamp", "generation"} {
			unstructured.RemoveNestedField(obj.Object, "metadata", field)
		}
		b.objects = append(b.objects, obj)
	}
	framework.Account(fmt.Sprintf("a backup of %d objects", len(b.objects)))
	Expect(len(b.objects)).To(BeNumerically(">=", 500))
	return b
}

func listAll(ctx context.Context) []*unstructured.Unstructured {
	GinkgoHelper()
	var found []*unstructured.Unstructured //nolint:prealloc // who knows how many there are
	for _, kind := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		var options []client.ListOption
		if kind.Kind == "Namespace" {
			options = append(options, client.MatchingLabels{"backup": "yes"})
		}
		Expect(k.List(ctx, list, options...)).To(Succeed())
		for i := range list.Items {
			found = append(found, &list.Items[i])
		}
	}
	return found
}

// wipe empties the cluster while Weir is down.
func wipe(ctx context.Context) {
	GinkgoHelper()
	Expect(manager.Kill()).To(Succeed())
	Expect(site.Erase(ctx, wiped...)).To(Succeed())
	Eventually(func() []*unstructured.Unstructured { return listAll(ctx) }, patience, "200ms").Should(BeEmpty())
}

// chosen returns the objects that a test picks, copied.
func (b *backup) chosen(pick func(*unstructured.Unstructured) bool) []*unstructured.Unstructured {
	var found []*unstructured.Unstructured
	for _, obj := range b.objects {
		if pick(obj) {
			found = append(found, obj.DeepCopy())
		}
	}
	return found
}

func everything(*unstructured.Unstructured) bool { return true }

// dropOwners does what some tools do: the owners' UIDs are of no use.
func dropOwners(objects []*unstructured.Unstructured) {
	for _, obj := range objects {
		obj.SetOwnerReferences(nil)
	}
}

// restoration is a list of objects that are still to be created.
type restoration struct {
	mu   sync.Mutex
	left []*unstructured.Unstructured
	// enough is how many are to be left, and active how many are being created.
	enough, active int
	failed         []error
}

// shuffled puts objects in a random order.
func shuffled(random *rand.Rand, objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	random.Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
	return objects
}

// restore creates objects in this order, several at once, until no more than enough are left, which it returns. What is refused
// because something is missing yet comes back at the end of the list, as tools do that try again. What exists already is left alone.
func restore(ctx context.Context, objects []*unstructured.Unstructured, enough int) []*unstructured.Unstructured {
	GinkgoHelper()
	r := &restoration{left: objects, enough: enough}
	var done sync.WaitGroup
	for range appliers {
		done.Go(func() { r.work(ctx) })
	}
	done.Wait()
	Expect(ctx.Err()).NotTo(HaveOccurred())
	Expect(r.failed).To(BeEmpty())
	return r.left
}

func (r *restoration) work(ctx context.Context) {
	for ctx.Err() == nil {
		obj, more := r.next()
		switch {
		case !more:
			return
		case obj == nil:
			time.Sleep(50 * time.Millisecond)
		default:
			r.note(obj, k.Create(ctx, obj.DeepCopy()))
		}
	}
}

// next returns an object; nil if others may come back.
func (r *restoration) next() (obj *unstructured.Unstructured, more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case len(r.left)+r.active <= r.enough:
		return nil, false
	case len(r.left) == 0:
		return nil, true
	}
	obj, r.left = r.left[0], r.left[1:]
	r.active++
	return obj, true
}

func (r *restoration) note(obj *unstructured.Unstructured, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active--
	switch {
	case err == nil, apierrors.IsAlreadyExists(err):
	case apierrors.IsNotFound(err), apierrors.IsTooManyRequests(err), apierrors.IsInternalError(err), apierrors.IsServerTimeout(err), apierrors.IsTimeout(err):
		r.left = append(r.left, obj) // its namespace is not there yet, or Weir does not answer just now
	default:
		r.failed = append(r.failed, fmt.Errorf("%s %s/%s: %w", obj.GetKind(), obj.GetNamespace(), obj.GetName(), err))
	}
}
