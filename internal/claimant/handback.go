// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

// HandedBack proves that a pool is Deleted, and that the member does not use its block any more: the
// member has reported that, or an operator says so.
type HandedBack struct {
	ofClaim

	member string
	// forced: it is the operator's word alone.
	forced bool
}

func (p HandedBack) covers(h ledger.Holding) bool {
	return p.isClaim(h) && (h.Member == "" || h.Member == p.member)
}

// IsForced reports whether it rests on an operator's word alone.
func (p HandedBack) IsForced() bool { return p.forced }

// HandedBack proves it of the pool as it was shown, or returns what the pool waits for.
func (p Deleted) HandedBack(member string) (_ HandedBack, waitsFor string) {
	if !p.IsProved() || member == "" {
		return HandedBack{}, ""
	}
	ok, waitsFor := handedBack(p.by.object(p.claim), member)
	if !ok {
		return HandedBack{}, waitsFor
	}
	return HandedBack{p.ofClaim, member, waitsFor != ""}, ""
}

// handedBack reports whether a member uses the block of a pool no more, by its report or by an
// operator's word, and what the report lacks, "" for nothing.
func handedBack(live client.Object, member string) (ok bool, waitsFor string) {
	waitsFor = lacking(live, member)
	isForced := live.GetAnnotations()[ipamv1.ForceReleaseAnnotation] == member
	return waitsFor == "" || isForced, waitsFor
}

// lacking returns what keeps a report from being that the member has handed the block of this very
// pool back. A pool that was made again under its name has another UID. The order to hand the block
// back raises the pool's generation, so an older one cannot be an answer to it; a report without a
// generation counts by the UID alone.
func lacking(live client.Object, member string) string {
	pool, ok := live.(interface{ PoolStatus() *ipamv1.IPPoolStatus })
	if !ok || pool.PoolStatus().Member == nil {
		return fmt.Sprintf("cluster %q has not reported the pool", member)
	}
	report := pool.PoolStatus().Member
	back := report.Released
	switch {
	case report.Cluster != member:
		return fmt.Sprintf("the report is of cluster %q, not of %q", report.Cluster, member)
	case back == nil && report.Applied == ipamv1.MemberRefused:
		return fmt.Sprintf("cluster %q refuses the pool: %s", member, report.Message)
	case back == nil:
		return fmt.Sprintf("cluster %q has not handed it back: %s", member, usedOf(report.Capacity))
	case back.TemplateUID != string(live.GetUID()):
		return fmt.Sprintf("cluster %q has handed back the block of another pool of the name, UID %s", member, back.TemplateUID)
	case back.TemplateGeneration != nil && *back.TemplateGeneration < live.GetGeneration():
		return fmt.Sprintf("cluster %q has handed back generation %d of the pool, and generation %d is wanted", member, *back.TemplateGeneration, live.GetGeneration())
	}
	return ""
}

// usedOf counts what a member has in use of a pool.
func usedOf(c ipamv1.Capacity) string {
	var counts []string
	for _, part := range []struct{ count, what string }{{c.Allocated, "allocated"}, {c.Delegated, "delegated"}, {c.Cooling, "cooling"}} {
		if part.count != "" && part.count != "0" {
			counts = append(counts, part.count+" "+part.what)
		}
	}
	if len(counts) == 0 {
		return "none of its addresses is in use"
	}
	return "of its addresses " + strings.Join(counts, ", ")
}
