// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package race

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// chronicled is how many changes are remembered: those of the last minutes.
const chronicled = 50000

// chronicle remembers what became of claims, answers and records. A finding of the checker says nothing without its history,
// and etcd's is compacted all the time.
type chronicle struct {
	mu    sync.Mutex
	lines []string
	// answered are the claims that have ever named an answer.
	answered map[types.UID]bool
}

func newChronicle(ctx context.Context) *chronicle {
	GinkgoHelper()
	c := &chronicle{answered: map[types.UID]bool{}}
	for _, kind := range []client.Object{&ipamv1beta2.IPAddressClaim{}, &ipamv1beta2.IPAddress{}, &ipamv1.IPAllocation{}} {
		informer, err := claims.GetInformer(ctx, kind)
		Expect(err).NotTo(HaveOccurred())
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { c.note("added", obj) },
			UpdateFunc: func(_, obj any) { c.note("changed", obj) },
			DeleteFunc: func(obj any) { c.note("deleted", obj) },
		})
		Expect(err).NotTo(HaveOccurred())
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
	switch o := o.(type) {
	case *ipamv1beta2.IPAddressClaim:
		line += fmt.Sprintf("answer %s", o.Status.AddressRef.Name)
	case *ipamv1beta2.IPAddress:
		line += fmt.Sprintf("address %s for %v", o.Spec.Address, owners(o))
	case *ipamv1.IPAllocation:
		line += fmt.Sprintf("cidr %s for %s by %s", o.Spec.CIDR, o.Spec.ClaimRef.UID, o.Spec.Holder.Instance)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if claim, ok := o.(*ipamv1beta2.IPAddressClaim); ok && claim.Status.AddressRef.Name != "" {
		c.answered[claim.UID] = true
	}
	if len(c.lines) >= chronicled {
		c.lines = slices.Delete(c.lines, 0, chronicled/2)
	}
	c.lines = append(c.lines, line)
}

// allocations returns how many claims have been answered.
func (c *chronicle) allocations() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.answered)
}

func owners(o client.Object) []string {
	uids := make([]string, 0, len(o.GetOwnerReferences()))
	for _, owner := range o.GetOwnerReferences() {
		uids = append(uids, owner.Kind+" "+string(owner.UID))
	}
	return uids
}

// subjects are the objects and prefixes that a finding names.
var subjects = regexp.MustCompile(`race/[a-z0-9-]+|[0-9a-f.:]+/[0-9]+`)

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
