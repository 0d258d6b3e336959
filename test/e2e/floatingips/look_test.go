// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package floatingips

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/faults"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// sample looks again and again, until ctx ends.
func (r *race) sample(ctx context.Context) {
	for ctx.Err() == nil {
		r.expectSafe(context.WithoutCancel(ctx))
		r.samples.Add(1)
		faults.Sleep(ctx, checks)
	}
}

// expectSafe fails with what must not be at any moment, and what became of it.
func (r *race) expectSafe(ctx context.Context) {
	GinkgoHelper()
	moment, err := r.history.Now(ctx)
	Expect(err).NotTo(HaveOccurred())
	found := moment.Findings
	patiently(func() error {
		more, err := r.look(ctx)
		found = slices.Concat(moment.Findings, more)
		return err
	})
	if len(found) > 0 {
		text := strings.Join(found, "\n")
		Fail(text + "\n" + r.storyOf(text))
	}
}

// told is a claim that lives and is told an address.
type told struct {
	world   *world
	claim   types.UID
	name    types.NamespacedName
	address netip.Addr
	// isRecorded: there is a record of it.
	isRecorded bool
}

// look reads claims, the clouds, and the claims again. What is told in the first and in the last was told all the time: so its floating IP must have
// been there, with the claim's UID.
func (r *race) look(ctx context.Context) (found []string, err error) {
	first, err := r.toldNow(ctx)
	if err != nil {
		return nil, err
	}
	outside := map[*project][]floatingIP{}
	for _, s := range r.sides {
		if outside[s.project], err = s.all(ctx); err != nil {
			return nil, err
		}
		found = append(found, s.changed(outside[s.project])...)
	}
	last, err := r.toldNow(ctx)
	if err != nil {
		return nil, err
	}
	holders := map[string]told{}
	for uid, t := range first {
		if last[uid].address != t.address {
			continue
		}
		what := t.world.project.network + " " + t.address.String()
		if other, isHeld := holders[what]; isHeld {
			found = append(found, fmt.Sprintf("claims %s %s and %s %s are told %s", other.name, other.claim, t.name, t.claim, t.address))
		}
		holders[what] = t
		if why := t.wrong(outside[t.world.project]); why != "" {
			found = append(found, fmt.Sprintf("claim %s %s is told %s: %s", t.name, t.claim, t.address, why))
		}
	}
	return found, nil
}

// toldNow returns the claims that are told an address, by their UIDs. Of each, claim, IPAddress and record are read in this order: what is told
// stays as long as the claim lives.
func (r *race) toldNow(ctx context.Context) (map[types.UID]told, error) {
	claims, addresses, records := &ipamv1beta2.IPAddressClaimList{}, &ipamv1beta2.IPAddressList{}, &ipamv1.IPAllocationList{}
	for _, list := range []client.ObjectList{claims, addresses, records} {
		if err := k.List(ctx, list); err != nil {
			return nil, err
		}
	}
	all := map[types.UID]told{}
	for i := range claims.Items {
		claim := &claims.Items[i]
		w := slices.IndexFunc(r.worlds, func(w *world) bool { return w.name == claim.Namespace })
		if w < 0 || !isTold(claim) {
			continue
		}
		t := told{world: r.worlds[w], claim: claim.UID, name: client.ObjectKeyFromObject(claim)}
		for j := range addresses.Items {
			if a := &addresses.Items[j]; a.Namespace == claim.Namespace && a.Name == claim.Status.AddressRef.Name {
				t.address, _ = netip.ParseAddr(a.Spec.Address)
			}
		}
		t.isRecorded = slices.ContainsFunc(records.Items, func(a ipamv1.IPAllocation) bool {
			return a.Spec.ClaimRef.UID == string(claim.UID) && a.Spec.CIDR == t.address.String()+"/32" && a.Spec.ReleasedAt.IsZero()
		})
		all[claim.UID] = t
	}
	return all, nil
}

// wrong says what is wrong with what a claim was told that lives; "" for nothing.
func (t told) wrong(all []floatingIP) string {
	i := slices.IndexFunc(all, func(f floatingIP) bool { return f.Address == t.address && f.NetworkID == t.world.project.network })
	switch {
	case !t.address.IsValid():
		return "its IPAddress is not there"
	case !t.isRecorded:
		return "it is not recorded"
	case i < 0:
		return "there is no such floating IP"
	}
	key, claim, name, isOwned := suite.FloatingIPOwner(all[i])
	if !isOwned || key != t.world.key || claim != t.claim || name != t.name {
		return fmt.Sprintf("its floating IP is another's: %q", all[i].Description)
	}
	return ""
}

// storyOf returns what became of all that a finding names.
func (r *race) storyOf(finding string) string {
	return r.journal.Of(finding) + "\n" + r.changesOf(finding)
}

// changesOf returns what became of the floating IPs that a finding names.
func (r *race) changesOf(finding string) string {
	var lines []string
	for _, s := range r.sides {
		if s.fake == nil {
			continue
		}
		for i, c := range s.fake.Changes() {
			if strings.Contains(finding, c.Before.Address.String()) || strings.Contains(finding, c.After.Address.String()) {
				lines = append(lines, fmt.Sprintf("change %d: %+v", i, c))
			}
		}
	}
	return strings.Join(lines, "\n")
}
