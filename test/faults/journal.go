// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2" //nolint:staticcheck // for specs only
	. "github.com/onsi/gomega"    //nolint:staticcheck // for specs only
	toolscache "k8s.io/client-go/tools/cache"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/otherdoor"
)

// chronicled is how many changes are remembered: those of the last minutes.
const chronicled = 50000

// Journal remembers what became of objects. A finding of the checker says nothing without its history, and etcd's is compacted
// all the time.
type Journal struct {
	look func(client.Object)

	mu    sync.Mutex
	lines []string
}

// NewJournal begins to write, until the spec is cleaned up. Each state of an object is shown to look, too, one at a time.
func NewJournal(ctx context.Context, known cache.Cache, look func(client.Object), kinds ...client.Object) *Journal {
	GinkgoHelper()
	c := &Journal{look: look}
	for _, kind := range kinds {
		informer, err := known.GetInformer(ctx, kind)
		Expect(err).NotTo(HaveOccurred())
		registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { c.note("added", obj) },
			UpdateFunc: func(_, obj any) { c.note("changed", obj) },
			DeleteFunc: func(obj any) { c.note("deleted", obj) },
		})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { Expect(informer.RemoveEventHandler(registration)).To(Succeed()) })
	}
	return c
}

func (c *Journal) note(what string, obj any) {
	o, ok := obj.(client.Object)
	if !ok { // a deletion that was missed
		return
	}
	line := fmt.Sprintf("%s %s %T %s uid %s, version %s, finalizers %v, owners %v, terminating %t: %s", time.Now().Format("15:04:05.000"), what, o,
		client.ObjectKeyFromObject(o), o.GetUID(), o.GetResourceVersion(), o.GetFinalizers(), owners(o), !o.GetDeletionTimestamp().IsZero(), told(o))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.look(o)
	if len(c.lines) >= chronicled {
		c.lines = slices.Delete(c.lines, 0, chronicled/2)
	}
	c.lines = append(c.lines, line)
}

// told is what an object says of prefixes.
func told(o client.Object) string {
	switch o := o.(type) {
	case *ipamv1beta2.IPAddressClaim:
		return "answer " + o.Status.AddressRef.Name
	case *ipamv1beta2.IPAddress:
		return "address " + o.Spec.Address
	case *m3v1.IPClaim:
		if o.Status.Address == nil {
			return "no answer"
		}
		return "answer " + o.Status.Address.Name
	case *m3v1.IPAddress:
		return fmt.Sprintf("address %s for %s", o.Spec.Address, o.Spec.Claim.Name)
	case *otherdoor.IPAddress:
		return "address " + o.Spec.Address
	case *ipamv1.IPClaim:
		return fmt.Sprintf("cidr %s, recorded %q", o.Spec.CIDR, o.Status.AllocatedCIDR)
	case *ipamv1.IPAllocation:
		return fmt.Sprintf("cidr %s for %s %s by %s, %s", o.Spec.CIDR, o.Spec.ClaimRef.Name, o.Spec.ClaimRef.UID, o.Spec.Manager.Instance, o.Spec.State)
	case interface{ PoolSpec() *ipamv1.IPPoolSpec }:
		return "cidr " + o.PoolSpec().CIDR
	}
	return ""
}

func owners(o client.Object) []string {
	uids := make([]string, 0, len(o.GetOwnerReferences()))
	for _, owner := range o.GetOwnerReferences() {
		uids = append(uids, owner.Kind+" "+string(owner.UID))
	}
	return uids
}

// subjects are the objects, UIDs and prefixes that a finding names.
var subjects = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f.:]+/[0-9]+|[a-z0-9-]+/[a-z0-9-]+`)

// Of returns what became of everything that the finding names, up to now.
func (c *Journal) Of(finding string) string {
	time.Sleep(time.Second) // to catch up
	c.mu.Lock()
	defer c.mu.Unlock()
	words := subjects.FindAllString(finding, -1)
	var found []string
	for _, line := range c.lines {
		if slices.ContainsFunc(words, func(word string) bool { return strings.Contains(line+" ", word) }) {
			found = append(found, line)
		}
	}
	return strings.Join(found, "\n")
}
