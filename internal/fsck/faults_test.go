// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package fsck

import (
	"net/netip"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// site is what a cluster has: a tree of pools, claims that are answered, one that waits, and a pool of
// floating IPs.
type site struct {
	answers, own, records, claims, inClusterPools []*Item
	// gone are pools that went while the lists were read.
	gone        []*Item
	floatingIPs []FloatingIP
}

func newSite() *site {
	s := &site{}
	s.pool("root", "10.0.0.0/16", "")
	s.carve("child", "10.0.1.0/24", "root")
	s.pool("elsewhere", "10.0.0.0/16", "").Spec.AddressSpace = "other"
	s.answered("a", "root", "10.0.0.7")
	s.answered("b", "child", "10.0.1.7")
	s.prefix("pods", "child", "10.0.1.16/28")
	s.claim("waits", "child").Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: "PoolExhausted"}}
	s.record("cools", "gone", "root", "10.0.0.8/32").Spec.ReleasedAt = metav1.Now()
	s.record("moved", "gone", "root", "10.0.0.9/32").Spec.State = "Moved"
	public := s.pool("public", "", "")
	public.Spec.OpenStack = map[string]any{}
	public.Metadata.Annotations = map[string]string{cloudAnnotation: "key project network"}
	s.bound("web", "203.0.113.5")
	s.floatingIP("203.0.113.5", "weir/1/key/web/n/web")
	s.floatingIP("203.0.113.6", "made by hand")
	s.floatingIP("203.0.113.7", "weir/1/another/web/n/web")
	return s
}

func item(group, kind, name string) *Item {
	return &Item{Group: group, Kind: kind, Metadata: metav1.ObjectMeta{Namespace: "n", Name: name, UID: types.UID(name)}}
}

// pool adds a pool that is Ready, and has its record.
func (s *site) pool(name, cidr, parent string) *Item {
	pool := item(WeirGroup, "IPPool", name)
	pool.Spec.CIDR = cidr
	pool.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Available"}}
	if parent != "" {
		pool.Spec.ParentRef = &Reference{Kind: "IPPool", Name: parent}
	}
	s.own = append(s.own, pool)
	return pool
}

func (s *site) carve(name, cidr, parent string) {
	s.record(name, types.UID(name), parent, cidr)
	s.pool(name, cidr, parent)
}

func (s *site) record(name string, uid types.UID, pool, cidr string) *Item {
	record := item(WeirGroup, "IPAllocation", name)
	record.Spec.AddressSpace, record.Spec.CIDR = "default", cidr
	record.Spec.PoolRef = Reference{Kind: "IPPool", Namespace: "n", Name: pool}
	record.Spec.ClaimRef = Reference{APIGroup: capiVersion.Group, Kind: "IPAddressClaim", Namespace: "n", Name: string(uid), UID: uid}
	s.records = append(s.records, record)
	return record
}

func (s *site) claim(name, pool string) *Item {
	claim := item(capiVersion.Group, "IPAddressClaim", name)
	claim.Spec.PoolRef = Reference{APIGroup: WeirGroup, Kind: "IPPool", Name: pool}
	s.claims = append(s.claims, claim)
	return claim
}

func (s *site) answer(name string, claim types.UID, pool, address string) {
	answer := item(capiVersion.Group, "IPAddress", name)
	answer.Metadata.UID = types.UID("answer-" + name)
	answer.Metadata.OwnerReferences = []metav1.OwnerReference{{UID: claim, Controller: ptr.To(true)}}
	answer.Spec.PoolRef = Reference{APIGroup: WeirGroup, Kind: "IPPool", Name: pool}
	answer.Spec.Address = address
	s.answers = append(s.answers, answer)
}

// byHand adds an IPAddress that no claim has.
func (s *site) byHand(name, pool, address string) {
	s.answer(name, "", pool, address)
	s.answers[len(s.answers)-1].Metadata.OwnerReferences = nil
}

// answered adds a claim with its answer and record.
func (s *site) answered(name, pool, address string) {
	s.claim(name, pool).Status.AddressRef.Name = name
	s.record(name, types.UID(name), pool, address+"/32")
	s.answer(name, types.UID(name), pool, address)
}

// bound adds a claim that has a floating IP of the pool "public".
func (s *site) bound(name, address string) {
	s.answered(name, "public", address)
	last(s.records).Spec.AddressSpace = "openstack/network"
}

// prefix adds an IPClaim with its record.
func (s *site) prefix(name, pool, cidr string) {
	claim := item(WeirGroup, "IPClaim", name)
	claim.Spec.CIDR, claim.Spec.PoolRef = cidr, Reference{Kind: "IPPool", Name: pool}
	s.record(name, types.UID(name), pool, cidr)
	s.own = append(s.own, claim)
}

func (s *site) floatingIP(address, description string) {
	s.floatingIPs = append(s.floatingIPs, FloatingIP{ID: "id-" + address, Address: netip.MustParseAddr(address), Description: description})
}

// inCluster adds a pool of the in-cluster provider's kinds, with two claims that are answered. Weir has looked at the pool, or has not.
func (s *site) inCluster(name string, isWeirs bool, records ...string) {
	pool := item(capiVersion.Group, inClusterKind, name)
	if isWeirs {
		pool.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Available"}}
	}
	s.inClusterPools = append(s.inClusterPools, pool)
	ref := Reference{APIGroup: capiVersion.Group, Kind: inClusterKind, Name: name}
	for i, address := range []string{"10.0.0.7", "10.0.0.8"} {
		claim := name + string(rune('a'+i))
		s.claim(claim, "").Spec.PoolRef = ref
		last(s.claims).Status.AddressRef.Name = claim
		s.answer(claim, types.UID(claim), "", address)
		s.answers[len(s.answers)-1].Spec.PoolRef = ref
	}
	ref.Namespace = "n"
	block := s.record(name, types.UID(name), "", "10.0.0.0/24")
	block.Spec.PoolRef, block.Spec.ClaimRef.Kind = ref, inClusterKind
	for _, claim := range records {
		record := s.record(claim, types.UID(claim), "", map[string]string{"a": "10.0.0.7/32", "b": "10.0.0.8/32"}[claim[len(claim)-1:]])
		record.Spec.PoolRef, record.Spec.AddressSpace = ref, "in-cluster/n/"+name
	}
}

// last returns what was added last.
func last(items []*Item) *Item { return items[len(items)-1] }

// check is what the checker says of the site.
func (s *site) check(t *testing.T) *Report {
	t.Helper()
	claims := byUID(append(s.claims, s.own...))
	snapshot := &Snapshot{
		answers: s.answers, own: s.own, records: slices.DeleteFunc(slices.Clone(s.records), isOfOtherDoor), Claims: claims, still: byUID(s.answers),
		floatingIPs: s.floatingIPs, InCluster: servedOf(s.inClusterPools), parents: parentsOf(byUID(s.gone), nil),
	}
	snapshot.index(byUID(s.own))
	holdings, err := snapshot.holdings()
	if err != nil {
		t.Fatal(err)
	}
	return snapshot.report(holdings)
}

func TestNothingIsFoundWhereNothingIsWrong(t *testing.T) {
	t.Parallel()
	report := newSite().check(t)
	if len(report.Findings) > 0 {
		t.Errorf("found %v", report.Findings)
	}
	if report.Claims != 5 || report.Answers != 5 || report.Records != 7 {
		t.Errorf("looked at %s", report)
	}
}

// TestEachFaultIsFound plants each fault alone, and wants it and nothing else.
func TestEachFaultIsFound(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		plant func(*site)
		fault Fault
		text  string
	}{
		"two answers overlap": {
			func(s *site) { s.answered("c", "child", "10.0.1.7") }, Overlap,
			"10.0.1.7/32 in default (IPAddress n/b for IPAddressClaim n/b, uid b) and 10.0.1.7/32 in default (IPAddress n/c for IPAddressClaim n/c, uid c)",
		},
		"an address inside somebody's block": {
			func(s *site) { s.answered("c", "child", "10.0.1.17") }, Overlap,
			"10.0.1.16/28 in default (IPClaim n/pods for IPClaim n/pods, uid pods) and 10.0.1.17/32 in default (IPAddress n/c for IPAddressClaim n/c, uid c)",
		},
		"an address inside a block of a pool that hands out addresses since": {
			func(s *site) {
				s.answered("block", "root", "10.0.2.0")
				last(s.records).Spec.CIDR = "10.0.2.0/28"
				s.answered("c", "root", "10.0.2.7")
			}, Overlap,
			"10.0.2.0/28 in default (IPAddress n/block for IPAddressClaim n/block, uid block) and 10.0.2.7/32 in default (IPAddress n/c for IPAddressClaim n/c, uid c)",
		},
		"an address that an IPClaim has which is being deleted": {
			func(s *site) {
				s.prefix("leaves", "root", "10.0.0.96/28")
				leaving(last(s.own))
				s.answered("c", "root", "10.0.0.100")
			}, Overlap,
			"10.0.0.96/28 in default (IPClaim n/leaves for IPClaim n/leaves, uid leaves) and 10.0.0.100/32 in default (IPAddress n/c for IPAddressClaim n/c, uid c)",
		},
		"an address of a pool that is being deleted": {
			func(s *site) {
				s.carve("leaves", "10.0.4.0/24", "root")
				leaving(last(s.own))
				s.answered("c", "root", "10.0.4.7")
			}, Overlap,
			"10.0.4.0/24 in default (IPPool n/leaves for IPPool n/leaves, uid leaves) and 10.0.4.7/32 in default (IPAddress n/c for IPAddressClaim n/c, uid c)",
		},
		"a prefix with the address of a claim that is being deleted": {
			func(s *site) {
				s.answered("leaves", "root", "10.0.0.100")
				leaving(last(s.claims))
				s.prefix("next", "root", "10.0.0.96/28")
			}, Overlap,
			"10.0.0.96/28 in default (IPClaim n/next for IPClaim n/next, uid next) and 10.0.0.100/32 in default (IPAddress n/leaves for IPAddressClaim n/leaves, uid leaves)",
		},
		"a child's block outside its parent": {
			func(s *site) { s.carve("stray", "10.9.0.0/24", "root") }, OutsideParent,
			"10.9.0.0/24 of IPPool n/stray does not lie in IPPool n/root, which it is carved from",
		},
		"two roots overlap": {
			func(s *site) { s.pool("second", "", "").Spec.Addresses = []string{"10.0.200.1-10.0.200.9"} }, RootsOverlap,
			"IPPool n/root and IPPool n/second overlap, and both are Ready",
		},
		"an answer without a record": {
			func(s *site) {
				s.claim("c", "root").Status.AddressRef.Name = "c"
				s.answer("c", "c", "root", "10.0.0.99")
			}, NoRecord, "10.0.0.99/32 in default (IPAddress n/c for IPAddressClaim n/c, uid c)",
		},
		"a record without a claim": {
			func(s *site) { s.record("left", "gone", "root", "10.0.0.100/32") }, NoClaim,
			"IPAllocation n/left (10.0.0.100/32): no IPAddressClaim of uid gone (n/gone) exists",
		},
		"a record for an IPAddress made by hand, of another address": {
			func(s *site) {
				s.record("jumphost", "answer-jumphost", "root", "10.0.0.100/32")
				s.byHand("jumphost", "root", "10.0.0.101")
			}, NoClaim, "IPAllocation n/jumphost (10.0.0.100/32): no IPAddressClaim of uid answer-jumphost (n/answer-jumphost) exists",
		},
		"a record of a claim that was answered otherwise": {
			func(s *site) { s.record("second", "a", "root", "10.0.0.100/32") }, OtherAnswer,
			"IPAllocation n/second (10.0.0.100/32): its claim IPAddressClaim n/a was answered 10.0.0.7/32",
		},
		"a claim with two answers": {
			func(s *site) {
				s.record("second", "a", "root", "10.0.0.100/32")
				s.answer("second", "a", "root", "10.0.0.100")
			}, SeveralAnswers,
			"IPAddressClaim n/a: [10.0.0.7/32 in default (IPAddress n/a for IPAddressClaim n/a, uid a) " +
				"10.0.0.100/32 in default (IPAddress n/second for IPAddressClaim n/a, uid a)]",
		},
		"a claim that is told nothing": {
			func(s *site) { s.claim("c", "root") }, Silent, "IPAddressClaim n/c",
		},
		"an answer of an in-cluster pool without a record": {
			func(s *site) { s.inCluster("p", true, "pa") }, NoRecord, "10.0.0.8/32 in in-cluster/n/p (IPAddress n/pb for IPAddressClaim n/pb, uid pb)",
		},
		"a record of an in-cluster pool without a claim": {
			func(s *site) { s.inCluster("p", true, "pa", "pb", "goneb") }, NoClaim,
			"IPAllocation n/goneb (10.0.0.8/32): no IPAddressClaim of uid goneb (n/goneb) exists",
		},
		"two claims have one floating IP": {
			func(s *site) { s.bound("second", "203.0.113.5") }, Overlap,
			"203.0.113.5/32 in openstack/network (IPAddress n/second for IPAddressClaim n/second, uid second) and " +
				"203.0.113.5/32 in openstack/network (IPAddress n/web for IPAddressClaim n/web, uid web)",
		},
		"a floating IP whose record is of another network": {
			func(s *site) {
				s.bound("second", "203.0.113.9")
				last(s.records).Spec.AddressSpace = "openstack/another"
			}, NoRecord, "203.0.113.9/32 in openstack/network (IPAddress n/second for IPAddressClaim n/second, uid second)",
		},
		"an address of a pool whose network is not known, without a record": {
			func(s *site) {
				s.pool("lab", "203.0.113.0/24", "")
				s.answered("c", "lab", "203.0.113.9")
				s.pool("unknown", "", "").Spec.OpenStack = map[string]any{}
				s.claim("d", "unknown").Status.AddressRef.Name = "d"
				s.answer("d", "d", "unknown", "203.0.113.9")
			}, NoRecord, "203.0.113.9/32 in an unknown address space (IPAddress n/d for IPAddressClaim n/d, uid d)",
		},
		"a floating IP without a record": {
			func(s *site) { s.floatingIP("203.0.113.8", "weir/1/key/-") }, FloatingIPLeftOver,
			"floating IP 203.0.113.8 (id-203.0.113.8) of IPPool n/public has no IPAllocation",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite()
			tc.plant(s)
			report := s.check(t)
			if len(report.Findings) != 1 || report.Findings[0].Fault != tc.fault || report.Findings[0].Text != tc.text {
				t.Errorf("found %v, want %s: %s", report.Findings, tc.fault, tc.text)
			}
			if report.AtRest() == nil {
				t.Error("the site is said to be at rest")
			}
		})
	}
}

// TestWhatIsRightIsNoFault: what looks like a fault, and is none.
func TestWhatIsRightIsNoFault(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*site){
		"a root that lost says so": func(s *site) { s.pool("lost", "10.0.0.0/24", "").Status.Conditions[0].Status = metav1.ConditionFalse },
		"a copy of a delegated pool has no parent here": func(s *site) {
			s.record("copy", "copy", "copy", "172.16.0.0/24")
			s.pool("copy", "172.16.0.0/24", "root").Spec.DelegateTo = "edge"
		},
		"equal in-cluster pools, which are address spaces of their own": func(s *site) {
			s.inCluster("p", true, "pa", "pb")
			s.inCluster("q", true, "qa", "qb")
		},
		"a floating IP that came before the pool's network was known": func(s *site) {
			s.pool("early", "", "").Spec.OpenStack = map[string]any{}
			s.answered("c", "early", "10.0.0.7")
			last(s.records).Spec.AddressSpace = "openstack/network"
		},
		"an in-cluster pool that the in-cluster provider serves": func(s *site) { s.inCluster("p", false) },
		"addresses of a pool that hands out blocks since": func(s *site) {
			s.answered("c", "root", "10.0.0.5")
			s.answered("d", "root", "10.0.0.6")
			s.own[0].Spec.Allocation.DefaultPrefixLength = 28
		},
		"a block of a range": func(s *site) {
			s.pool("range", "", "").Spec.Addresses = []string{"192.0.2.0-192.0.2.127", "192.0.2.128"}
			s.carve("lower", "192.0.2.64/26", "range")
		},
	}
	for name, plant := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite()
			plant(s)
			if report := s.check(t); len(report.Findings) > 0 {
				t.Errorf("found %v", report.Findings)
			}
		})
	}
}

// TestWhatIsBeingDeletedIsNoFault: a claim or pool on its way out, at each step, beside what has its prefix next.
func TestWhatIsBeingDeletedIsNoFault(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*site){
		"an IPClaim whose record is gone": func(s *site) {
			s.prefix("leaves", "root", "10.0.0.96/28")
			leaving(last(s.own))
			s.records = s.records[:len(s.records)-1]
			s.answered("c", "root", "10.0.0.100")
		},
		"an IPClaim whose record is retained": func(s *site) {
			s.prefix("leaves", "root", "10.0.0.96/28")
			leaving(last(s.own))
			last(s.records).Spec.ReleasedAt = metav1.Now()
			s.prefix("next", "root", "10.0.0.96/28")
		},
		"an IPClaim whose foreign finalizer keeps it": func(s *site) {
			s.prefix("leaves", "root", "10.0.0.96/28")
			leaving(last(s.own))
		},
		"a claim whose record is gone": func(s *site) {
			s.answered("leaves", "root", "10.0.0.100")
			leaving(last(s.claims))
			s.records = s.records[:len(s.records)-1]
			s.prefix("next", "root", "10.0.0.96/28")
		},
		"a claim whose answer is gone": func(s *site) {
			s.answered("leaves", "root", "10.0.0.100")
			leaving(last(s.claims))
			s.answers = s.answers[:len(s.answers)-1]
		},
		"a pool of which something is in use": func(s *site) {
			s.carve("leaves", "10.0.4.0/24", "root")
			leaving(last(s.own))
			s.answered("c", "leaves", "10.0.4.7")
		},
		"a claim of a pool that went with it": func(s *site) {
			s.carve("mid", "10.0.1.128/25", "child")
			s.gone, s.own = []*Item{last(s.own)}, s.own[:len(s.own)-1]
			s.records = s.records[:len(s.records)-1]
			s.answered("leaves", "mid", "10.0.1.200")
			leaving(last(s.claims))
		},
		"a pool whose parent does not have its block any more": func(s *site) {
			s.carve("leaves", "10.9.0.0/24", "root")
			leaving(last(s.own))
		},
		"a root whose addresses another one has": func(s *site) { leaving(s.pool("leaves", "10.0.0.0/24", "")) },
		"a copy that has handed back its block, beside the next one": func(s *site) {
			for _, name := range []string{"leaves", "next"} {
				s.record(name, types.UID(name), name, "172.16.0.0/24")
				s.pool(name, "172.16.0.0/24", "hubs").Spec.DelegateTo = "edge"
			}
			leaving(s.own[len(s.own)-2]).Status.Released = &struct{}{}
		},
	}
	for name, plant := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite()
			plant(s)
			if report := s.check(t); len(report.Findings) > 0 {
				t.Errorf("found %v", report.Findings)
			}
		})
	}
}

// TestWhatIsStillThere was there before, and is as it is now.
func TestWhatIsStillThere(t *testing.T) {
	t.Parallel()
	before := byUID([]*Item{item(WeirGroup, "IPClaim", "stays"), item(WeirGroup, "IPClaim", "goes")})
	stays := leaving(item(WeirGroup, "IPClaim", "stays"))
	after := byUID([]*Item{stays, item(WeirGroup, "IPClaim", "comes")})
	if got := stillThere(before, after); !slices.Equal(got, []*Item{stays}) {
		t.Errorf("got %v", got)
	}
}

// TestExtent: only a record of the very claim, of the answer's pool, at its address shows what it stands for.
func TestExtent(t *testing.T) {
	t.Parallel()
	const ofPool = "10.0.0.0/28"
	tests := map[string]struct {
		change func(record *Item)
		want   string
	}{
		"of the claim":     {func(*Item) {}, "10.0.0.0/30"},
		"of another claim": {func(r *Item) { r.Spec.ClaimRef.UID = "another" }, ofPool},
		"of another pool":  {func(r *Item) { r.Spec.PoolRef.Name = "another" }, ofPool},
		"of a pool of that name, and of another group": {func(r *Item) { r.Spec.PoolRef.APIGroup = metal3Group }, ofPool},
		"at another address":                           {func(r *Item) { r.Spec.CIDR = "10.0.0.4/30" }, ofPool},
		"released":                                     {func(r *Item) { r.Spec.ReleasedAt = metav1.Now() }, ofPool},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &site{}
			s.pool("p", "10.0.0.0/16", "").Spec.Allocation.DefaultPrefixLength = 28
			s.answer("a", "a", "p", "10.0.0.0")
			tc.change(s.record("a", "a", "p", "10.0.0.0/30"))
			snapshot := &Snapshot{records: s.records}
			snapshot.index(byUID(s.own))
			if got, err := snapshot.Extent(s.answers[0], "a"); err != nil || got.String() != tc.want {
				t.Errorf("got %s, %v; want %s", got, err, tc.want)
			}
		})
	}
}

// TestAnIPAddressMadeByHandHoldsItsAddress: its record is no leak, which somebody would delete.
func TestAnIPAddressMadeByHandHoldsItsAddress(t *testing.T) {
	t.Parallel()
	s := newSite()
	s.record("jumphost", "answer-jumphost", "root", "10.0.0.100/32")
	s.byHand("jumphost", "root", "10.0.0.100")
	if report := s.check(t); len(report.Findings) > 0 {
		t.Errorf("found %v", report.Findings)
	}
}

// TestWhatComesAndGoesDoesNotPersist: only what two reports have is left.
func TestWhatComesAndGoesDoesNotPersist(t *testing.T) {
	t.Parallel()
	first, second := newSite(), newSite()
	first.claim("new", "root")
	first.record("left", "gone", "root", "10.0.0.100/32")
	second.record("left", "gone", "root", "10.0.0.100/32")
	second.claim("newer", "root")
	report := first.check(t).Persisting(second.check(t))
	if len(report.Findings) != 1 || report.Findings[0].Fault != NoClaim || report.Claims != 6 {
		t.Errorf("%s: %v", report, report.Findings)
	}
}
