// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	toolscache "k8s.io/client-go/tools/cache"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// chronicled is how many changes are remembered: those of the last minutes.
const chronicled = 50000

// chronicle remembers what became of claims, pools and records. A finding says nothing without its history, and etcd's is
// compacted all the time.
type chronicle struct {
	mu    sync.Mutex
	lines []string
	// dry are records that were made for a dry run.
	dry []string
	// retained is how many records were seen retained.
	retained map[string]bool
}

func newChronicle(ctx SpecContext) *chronicle {
	GinkgoHelper()
	c := &chronicle{retained: map[string]bool{}}
	for _, kind := range []client.Object{
		&ipamv1beta2.IPAddressClaim{}, &ipamv1beta2.IPAddress{}, &ipamv1.IPAllocation{}, &ipamv1.IPClaim{}, &ipamv1.IPPool{}, &ipamv1.GlobalIPPool{},
	} {
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

func (c *chronicle) note(what string, obj any) {
	o, ok := obj.(client.Object)
	if !ok { // a deletion that was missed
		return
	}
	line := fmt.Sprintf("%s %s %T %s uid %s, version %s, finalizers %v, terminating %t: ", time.Now().Format("15:04:05.000"), what, o,
		client.ObjectKeyFromObject(o), o.GetUID(), o.GetResourceVersion(), o.GetFinalizers(), !o.GetDeletionTimestamp().IsZero())
	c.mu.Lock()
	defer c.mu.Unlock()
	switch o := o.(type) {
	case *ipamv1beta2.IPAddressClaim:
		line += fmt.Sprintf("answer %s", o.Status.AddressRef.Name)
	case *ipamv1beta2.IPAddress:
		line += fmt.Sprintf("address %s", o.Spec.Address)
	case *ipamv1.IPClaim:
		line += fmt.Sprintf("cidr %s, recorded %q", o.Spec.CIDR, o.Status.AllocatedCIDR)
	case interface{ PoolSpec() *ipamv1.IPPoolSpec }:
		line += fmt.Sprintf("cidr %s", o.PoolSpec().CIDR)
	case *ipamv1.IPAllocation:
		line += fmt.Sprintf("cidr %s for %s %s by %s, owners %d, %s", o.Spec.CIDR, o.Spec.ClaimRef.Name, o.Spec.ClaimRef.UID, o.Spec.Holder.Instance,
			len(o.OwnerReferences), o.Spec.Holder.State)
		if strings.HasPrefix(o.Spec.ClaimRef.Name, dryPrefix) {
			c.dry = append(c.dry, line)
		}
		if o.Spec.Holder.State == ipamv1.RetainedState {
			c.retained[string(o.UID)] = true
		}
	}
	if len(c.lines) >= chronicled {
		c.lines = slices.Delete(c.lines, 0, chronicled/2)
	}
	c.lines = append(c.lines, line)
}

// ofDryRuns returns the records that were made for dry runs, and how many were retained.
func (c *chronicle) found() (dry []string, retained int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.dry), len(c.retained)
}

// subjects are the objects and prefixes that a finding names.
var subjects = regexp.MustCompile(namespace + `/[a-z0-9-]+|[0-9.]+/[0-9]+|[0-9a-f]{8}-[0-9a-f-]{27}`)

// of returns what became of everything that the finding names.
func (c *chronicle) of(finding string) string {
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
