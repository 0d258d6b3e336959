// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package fsck

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// madeUp is a hub and two members that a test makes up.
type madeUp struct{ hub, a, b *cluster }

// newMadeUp begins with a block for each member, and in the first one a claim, a
// child pool with a claim, a pool of Metal3's with a claim, and a root of the
// member's own with another.
func newMadeUp() *madeUp {
	m := &madeUp{hub: newCluster(), a: newCluster(), b: newCluster()}
	m.hub.pool("root", "", "10.0.0.0/8", "")
	m.hub.delegate("team-a", "edge-a", "10.1.0.0/16")
	m.hub.delegate("team-b", "edge-b", "10.2.0.0/16")
	m.a.delegate("team-a", "edge-a", "10.1.0.0/16")
	m.b.delegate("team-b", "edge-b", "10.2.0.0/16")
	m.a.record("team-a", "10.1.0.1/32")
	m.a.pool("child", "team-a", "10.1.1.0/24", "")
	m.a.record("child", "10.1.1.7/32")
	hosts := &Item{Group: metal3Group, Kind: "IPPool"}
	hosts.Metadata.Annotations = map[string]string{parentAnnotation: "GlobalIPPool/global"}
	m.a.pools[PoolKey{metal3Group, "IPPool", "n", "hosts"}] = hosts
	m.a.pools[PoolKey{WeirGroup, "GlobalIPPool", "", "global"}] = m.a.pools[PoolKey{WeirGroup, "IPPool", "n", "team-a"}]
	m.a.record("hosts", "10.1.2.1/32").Spec.PoolRef.APIGroup = metal3Group
	m.a.pool("own", "", "172.16.0.0/24", "")
	m.a.record("own", "172.16.0.1/32")
	return m
}

func newCluster() *cluster { return &cluster{pools: map[PoolKey]*Item{}} }

// pool adds a pool of namespace n.
func (c *cluster) pool(name, parent, cidr, member string) {
	pool := &Item{Group: WeirGroup, Kind: "IPPool", Metadata: metav1.ObjectMeta{Namespace: "n", Name: name, UID: types.UID(name)}}
	pool.Spec.CIDR, pool.Spec.DelegateTo = cidr, member
	if parent != "" {
		pool.Spec.ParentRef = &Reference{Kind: "IPPool", Name: parent}
	}
	c.pools[PoolKey{WeirGroup, "IPPool", "n", name}] = pool
}

// delegate adds a pool that is delegated, and the record of its block.
func (c *cluster) delegate(name, member, cidr string) *Item {
	c.pool(name, "root", cidr, member)
	record := c.record(name, cidr)
	record.Spec.ClaimRef.UID, record.Spec.DelegatedTo = types.UID(name), member
	return record
}

// reserve adds the record of a block whose pool is not stored.
func (c *cluster) reserve(member, cidr string) {
	c.delegate("again", member, cidr)
	c.remove("again")
}

// remove removes a pool of namespace n.
func (c *cluster) remove(name string) { delete(c.pools, PoolKey{WeirGroup, "IPPool", "n", name}) }

// record adds a record of what comes from an IPPool.
func (c *cluster) record(pool, cidr string) *Item {
	record := &Item{Kind: "IPAllocation", Metadata: metav1.ObjectMeta{Namespace: "n", Name: cidr}}
	record.Spec.PoolRef = Reference{Kind: "IPPool", Namespace: "n", Name: pool}
	record.Spec.AddressSpace, record.Spec.CIDR = "default", cidr
	c.records = append(c.records, record)
	return record
}

// TestJudgementOfAFederation plants each kind of fault once among what is right.
func TestJudgementOfAFederation(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change            func(*madeUp)
		shared, uncovered string
	}{
		"nothing is wrong": {change: func(*madeUp) {}},
		"a claim outside of the block": {
			change:    func(m *madeUp) { m.a.record("team-a", "10.3.0.1/32") },
			uncovered: "10.3.0.1/32 in default at edge-a",
		},
		"a claim of a child, in another member's block": {
			change:    func(m *madeUp) { m.a.record("child", "10.2.0.1/32") },
			uncovered: "10.2.0.1/32 in default at edge-a",
		},
		"a claim of Metal3's in an address space that the hub does not have": {
			change: func(m *madeUp) {
				record := m.a.record("hosts", "10.1.2.9/32")
				record.Spec.PoolRef.APIGroup, record.Spec.AddressSpace = metal3Group, "other"
			},
			uncovered: "10.1.2.9/32 in other at edge-a",
		},
		"more than the block": {
			change:    func(m *madeUp) { m.b.record("team-b", "10.2.0.0/15") },
			uncovered: "10.2.0.0/15 in default at edge-b",
		},
		"a copy at the wrong member": {
			change:    func(m *madeUp) { m.b.delegate("team-a", "edge-a", "10.1.0.0/16") },
			uncovered: "10.1.0.0/16 in default at edge-b",
		},
		"a block that the hub has released": {
			change: func(m *madeUp) {
				m.hub.records = slices.DeleteFunc(m.hub.records, func(r *Item) bool { return r.Spec.CIDR == "10.2.0.0/16" })
			},
			uncovered: "10.2.0.0/16 in default at edge-b",
		},
		"a block that the hub has released, and the member has handed back": {
			change: (*madeUp).handBack,
		},
		"a claim of a pool that the member has handed back": {
			change: func(m *madeUp) {
				m.handBack()
				m.b.record("team-b", "10.2.0.1/32")
			},
			uncovered: "10.2.0.1/32 in default at edge-b",
		},
		"one block for two members": {
			change: func(m *madeUp) { m.hub.delegate("again", "edge-b", "10.1.128.0/17") },
			shared: "10.1.128.0/17 in default, delegated to edge-b by IPAllocation n/10.1.128.0/17",
		},
		"two blocks of one member that overlap, which is no matter between members": {
			change: func(m *madeUp) { m.hub.delegate("again", "edge-a", "10.1.128.0/17") },
		},
		"a block whose pool is gone, for two members": {
			change: func(m *madeUp) {
				m.hub.delegate("again", "edge-b", "10.1.128.0/17").Spec.State = "Confirmed"
				m.hub.remove("again")
			},
			shared: "10.1.128.0/17 in default, delegated to edge-b",
		},
		"a block whose record names another member": {
			change:    func(m *madeUp) { m.hub.records[1].Spec.DelegatedTo = "edge-c" },
			uncovered: "10.2.0.0/16 in default at edge-b",
		},
		"a block that is being judged": {
			change: func(m *madeUp) { m.hub.reserve("edge-b", "10.1.128.0/17") },
		},
		"a claim in a block that is being judged, and is another member's": {
			change: func(m *madeUp) {
				m.hub.reserve("edge-a", "10.2.64.0/18")
				m.a.record("team-a", "10.2.64.1/32")
			},
			uncovered: "10.2.64.1/32 in default at edge-a",
		},
		"a claim in a block that its pool does not have, and whose record nobody has confirmed": {
			change: func(m *madeUp) {
				m.hub.delegate("again", "edge-a", "10.3.0.0/16").Spec.CIDR = "10.4.0.0/16"
				m.a.record("team-a", "10.4.0.1/32")
			},
			uncovered: "10.4.0.1/32 in default at edge-a",
		},
		"a block whose pool is gone, and whose record nobody has confirmed": {
			change: func(m *madeUp) { m.hub.remove("team-b") },
		},
		"such a block, and part of it is being judged for another member": {
			change: func(m *madeUp) {
				m.hub.remove("team-b")
				m.hub.reserve("edge-a", "10.2.64.0/18")
			},
		},
		"such a block, and another member uses part of it": {
			change: func(m *madeUp) {
				m.hub.remove("team-b")
				m.hub.reserve("edge-a", "10.2.64.0/18")
				m.a.record("team-a", "10.2.64.1/32")
			},
			shared: "10.2.64.0/18 in default, delegated to edge-a",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMadeUp()
			test.change(m)
			report := m.judge(t)
			expectOne(t, "shared", report.Shared, test.shared)
			expectOne(t, "uncovered", report.Uncovered, test.uncovered)
			if (report.Safe() == nil) != (test.shared == "" && test.uncovered == "") {
				t.Errorf("safe: %v", report.Safe())
			}
			if report.Blocks < 1 || report.InUse < 4 {
				t.Errorf("looked at %d blocks and %d prefixes", report.Blocks, report.InUse)
			}
		})
	}
}

// handBack has edge-b hand its block back, and the hub release it.
func (m *madeUp) handBack() {
	m.hub.records = slices.DeleteFunc(m.hub.records, func(r *Item) bool { return r.Spec.CIDR == "10.2.0.0/16" })
	m.b.pools[PoolKey{WeirGroup, "IPPool", "n", "team-b"}].Status.Released = &struct{}{}
	m.b.record("team-b", "10.2.0.0/16").Spec.Purpose = "HandBack"
}

func (m *madeUp) judge(t *testing.T) *FederationReport {
	t.Helper()
	blocks, err := m.hub.delegated()
	if err != nil {
		t.Fatal(err)
	}
	report, err := judgeFederation(blocks, blocks, map[string][]*Item{"edge-a": m.a.inUse(), "edge-b": m.b.inUse()})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// expectOne expects one finding that says this, or none if it is "".
func expectOne(t *testing.T, what string, findings []string, says string) {
	t.Helper()
	if want := min(1, len(says)); len(findings) != want || want == 1 && !strings.Contains(findings[0], says) {
		t.Errorf("%s: %v, want %q", what, findings, says)
	}
}

// TestABlockCountsBeforeOrAfter shows that what the hub had before the members
// were read counts although it is gone after.
func TestABlockCountsBeforeOrAfter(t *testing.T) {
	t.Parallel()
	m := newMadeUp()
	blocks, err := m.hub.delegated()
	if err != nil {
		t.Fatal(err)
	}
	for _, when := range [][2][]block{{blocks, nil}, {nil, blocks}} {
		report, err := judgeFederation(when[0], when[1], map[string][]*Item{"edge-a": m.a.inUse()})
		if err != nil || report.Safe() != nil {
			t.Error(err, report.Safe())
		}
	}
}

// TestAHubThatIsAwayHasWhatItHad shows that blocks count that were read before
// the hub's API server was stopped.
func TestAHubThatIsAwayHasWhatItHad(t *testing.T) {
	t.Parallel()
	hub := NewHub(&rest.Config{Host: "https://127.0.0.1:1"})
	hub.last = []block{{record: "p", member: "edge-a", space: "default", cidr: netip.MustParsePrefix("10.1.0.0/16")}}
	report, err := CheckFederation(t.Context(), hub, nil)
	if err != nil || report.Hub == nil || report.Blocks != 1 {
		t.Errorf("%+v, %v", report, err)
	}
}
