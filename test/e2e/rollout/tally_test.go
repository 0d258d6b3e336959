// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"maps"
	"slices"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/watch"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// machineKey is what machines are counted under.
const machineKey = "machines"

// tally counts the machines and claims of a namespace at every moment, by watches: none is missed, however short it is there. What is counted
// under one key is of one kind, whose changes come in their order.
type tally struct {
	namespace string

	mu sync.Mutex
	// there are the keys of what there is, by kind and name.
	there map[string]string
	peak  map[string]int
}

// follow begins a tally, which ends with the spec.
func follow(ctx context.Context, namespace string) *tally {
	GinkgoHelper()
	t := &tally{namespace: namespace, there: map[string]string{}, peak: map[string]int{}}
	for _, list := range lists() {
		changes, err := site.Client().Watch(ctx, list, client.InNamespace(namespace))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(changes.Stop)
		go func() {
			for change := range changes.ResultChan() {
				if object, isObject := change.Object.(client.Object); isObject {
					t.note(object, change.Type == watch.Deleted)
				}
			}
		}()
	}
	return t
}

func lists() []client.ObjectList {
	return []client.ObjectList{&clusterv1.MachineList{}, &ipamv1beta2.IPAddressClaimList{}, &m3v1.IPClaimList{}}
}

// counted returns the name of an object and what it is counted under. A machine counts until it has gone, a claim until its machine does not
// use it any more: how long Weir needs for its release is another matter.
func counted(object client.Object) (name, key string, counts bool) {
	isUsed := object.GetDeletionTimestamp() == nil
	switch object := object.(type) {
	case *clusterv1.Machine:
		return "Machine " + object.Name, machineKey, true
	case *ipamv1beta2.IPAddressClaim:
		pool := object.Spec.PoolRef
		return "IPAddressClaim " + object.Name, poolKey(pool.APIGroup, pool.Kind, pool.Name), isUsed
	case *m3v1.IPClaim:
		return "IPClaim " + object.Name, poolKey(m3v1.GroupVersion.Group, m3v1.IPPoolKind, object.Spec.Pool.Name), isUsed
	}
	return "", "", false
}

func (t *tally) note(object client.Object, isGone bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	name, key, counts := counted(object)
	if isGone || !counts {
		delete(t.there, name)
		return
	}
	t.there[name] = key
	t.peak[key] = max(t.peak[key], t.now(key))
}

func (t *tally) now(key string) (number int) {
	for _, other := range t.there {
		if other == key {
			number++
		}
	}
	return number
}

// forget begins anew with what there is.
func (t *tally) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.peak = map[string]int{}
	for _, key := range t.there {
		t.peak[key] = t.now(key)
	}
}

// catchUp waits until the tally has come to what there is now: names are not used again, so it has seen all before that.
func (t *tally) catchUp(ctx context.Context) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		var listed []string
		for _, list := range lists() {
			g.Expect(site.Client().List(ctx, list, client.InNamespace(t.namespace))).To(Succeed())
			for _, object := range suite.Items(list) {
				if name, _, counts := counted(object); counts {
					listed = append(listed, name)
				}
			}
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		g.Expect(slices.Collect(maps.Keys(t.there))).To(ConsistOf(listed))
	}, patience, "200ms").WithContext(ctx).Should(Succeed())
}

// most are the most claims that there were at one moment, by their pools.
func (t *tally) most() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	claims := maps.Clone(t.peak)
	delete(claims, machineKey)
	return claims
}

// mostMachines are the most machines that there were at one moment.
func (t *tally) mostMachines() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.peak[machineKey]
}
