// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"net/netip"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/fsck"
)

// tale is a history that a test makes up. Each of its methods is one write.
type tale struct {
	*past
	stored  map[string]*fsck.Item
	written int64
}

// newTale begins with the pool "p", whose address space is "s".
func newTale() *tale {
	t := &tale{past: newPast(), stored: map[string]*fsck.Item{}}
	t.write("IPPool", "p", "pool", func(i *fsck.Item) { i.Group, i.Spec.AddressSpace = fsck.WeirGroup, "s" })
	return t
}

var resources = map[string]string{
	"IPPool": "ippools", "IPAddressClaim": "ipaddressclaims", "IPAddress": "ipaddresses", "IPAllocation": "ipallocations", "IPClaim": "ipclaims",
	"InClusterIPPool": "inclusterippools",
}

// write creates an object, or changes it if one of that UID is there.
func (t *tale) write(kind, name string, uid types.UID, edit func(*fsck.Item)) {
	t.written++
	i := &fsck.Item{Group: "ipam.cluster.x-k8s.io", Kind: kind}
	i.Metadata = metav1.ObjectMeta{Namespace: "n", Name: name, UID: uid}
	i.Spec.PoolRef = fsck.Reference{APIGroup: fsck.WeirGroup, Kind: "IPPool", Name: "p"}
	old := t.stored[kind+name]
	if old != nil && old.Metadata.UID == uid {
		copied := *old
		i = &copied
	}
	edit(i)
	t.stored[kind+name] = i
	t.apply(change{revision: t.written, key: path(i), object: i, isFirst: old == nil || old.Metadata.UID != uid})
}

func path(i *fsck.Item) string {
	return "/registry/" + i.Group + "/" + resources[i.Kind] + "/n/" + i.Metadata.Name
}

// remove takes an object out of the store.
func (t *tale) remove(kind, name string) {
	t.written++
	t.apply(change{revision: t.written, key: path(t.stored[kind+name])})
	delete(t.stored, kind+name)
}

func (t *tale) claim(name string, uid types.UID, edits ...func(*fsck.Item)) {
	t.write("IPAddressClaim", name, uid, func(i *fsck.Item) {
		i.Metadata.Finalizers = []string{"ipam.weir.dev/claim"}
		for _, edit := range edits {
			edit(i)
		}
	})
}

// terminating marks a claim as deleted.
func terminating(i *fsck.Item) { i.Metadata.DeletionTimestamp = ptr.To(metav1.Now()) }

// used keeps a claim, for whoever uses its address.
func used(i *fsck.Item) { i.Metadata.Finalizers = append(i.Metadata.Finalizers, "example.com/uses") }

// told names the claim's IPAddress in its status.
func told(i *fsck.Item) { i.Status.AddressRef.Name = i.Metadata.Name }

func (t *tale) answer(name string, claim types.UID, address string, edits ...func(*fsck.Item)) {
	t.write("IPAddress", name, "answer-"+claim, func(i *fsck.Item) {
		i.Spec.Address, i.Spec.ClaimRef.Name = address, name
		i.Metadata.OwnerReferences = []metav1.OwnerReference{{Kind: "IPAddressClaim", UID: claim, Controller: ptr.To(true)}}
		i.Metadata.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: weirManager}}
		for _, edit := range edits {
			edit(i)
		}
	})
}

func (t *tale) record(name string, claim types.UID, cidr string, edits ...func(*fsck.Item)) {
	t.write("IPAllocation", name, types.UID("record-"+name), func(i *fsck.Item) {
		i.Group = fsck.WeirGroup
		i.Spec.AddressSpace, i.Spec.CIDR, i.Spec.ClaimRef.UID = "s", cidr, claim
		for _, edit := range edits {
			edit(i)
		}
	})
}

func (t *tale) ipClaim(name string, uid types.UID, cidr string, edits ...func(*fsck.Item)) {
	t.write("IPClaim", name, uid, func(i *fsck.Item) {
		i.Group, i.Spec.CIDR = fsck.WeirGroup, cidr
		for _, edit := range edits {
			edit(i)
		}
	})
}

// give answers a claim as Weir does.
func (t *tale) give(name string, claim types.UID, address string) {
	t.claim(name, claim)
	t.record(name, claim, address+"/32")
	t.answer(name, claim, address)
	t.claim(name, claim, told)
}

// moving marks a record as clusterctl marks what it moves.
func moving(i *fsck.Item) { i.Metadata.Annotations = map[string]string{deleteForMove: ""} }

// end releases a claim as Weir does.
func (t *tale) end(name string, claim types.UID) {
	t.claim(name, claim, terminating)
	t.remove("IPAddress", name)
	t.remove("IPAllocation", name)
	t.remove("IPAddressClaim", name)
}

func TestHistoryFindsWhatIsWrongAtAnyMoment(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tell func(*tale)
		// want are parts of the findings, one each.
		want []string
	}{
		"two live claims have one address, for one moment": {func(t *tale) {
			t.give("a", "1", "10.0.0.7")
			t.give("b", "2", "10.0.0.7")
			t.end("b", "2")
		}, []string{"10.0.0.7/32 in s (IPAddress n/a for IPAddressClaim n/a, uid 1) since revision 4 and 10.0.0.7/32 in s (IPAddress n/b for"}},
		"an address inside another's prefix": {func(t *tale) {
			t.record("b", "2", "10.0.0.0/28")
			t.ipClaim("b", "2", "10.0.0.0/28")
			t.give("a", "1", "10.0.0.7")
		}, []string{"10.0.0.0/28 in s (IPClaim n/b"}},
		"given again although its IPAddress is there": {func(t *tale) {
			t.give("a", "1", "10.0.0.7")
			t.claim("a", "1", terminating)
			t.give("b", "2", "10.0.0.7")
			t.remove("IPAddress", "a")
		}, []string{"uid 2"}},
		"given again when the IPAddress has gone, and somebody still uses the claim": {func(t *tale) {
			t.give("a", "1", "10.0.0.7")
			t.claim("a", "1", used, terminating)
			t.remove("IPAddress", "a")
			t.remove("IPAllocation", "a")
			t.give("b", "2", "10.0.0.7")
		}, []string{"its record IPAllocation n/a, made at", "uid 2"}},
		"given again when IPAddress and record have gone, and the claim is not deleted": {func(t *tale) {
			t.give("a", "1", "10.0.0.7")
			t.remove("IPAddress", "a")
			t.give("b", "2", "10.0.0.7")
		}, []string{"uid 2"}},
		"a record is released under a live claim": {func(t *tale) {
			t.give("a", "1", "10.0.0.7")
			t.record("a", "1", "10.0.0.7/32", func(i *fsck.Item) { i.Spec.ReleasedAt = metav1.Now() })
		}, []string{"its record IPAllocation n/a, made at"}},
		"an IPAddress before its record": {func(t *tale) {
			t.claim("a", "1")
			t.answer("a", "1", "10.0.0.7")
			t.record("a", "1", "10.0.0.7/32")
		}, []string{"is made without a record"}},
		"a claim changes its address": {func(t *tale) {
			t.give("a", "1", "10.0.0.7")
			t.remove("IPAddress", "a")
			t.record("a2", "1", "10.0.0.8/32")
			t.written++
			t.write("IPAddress", "a", "another", func(i *fsck.Item) {
				i.Spec.Address = "10.0.0.8"
				i.Metadata.OwnerReferences = []metav1.OwnerReference{{Kind: "IPAddressClaim", UID: "1", Controller: ptr.To(true)}}
			})
		}, []string{"is answered anew, with 10.0.0.8/32"}},
		"a claim is told of its dead namesake's IPAddress": {func(t *tale) {
			t.give("a", "1", "10.0.0.7")
			t.remove("IPAddressClaim", "a")
			t.claim("a", "2", told)
		}, []string{"uid 2, is told of IPAddress n/a, 10.0.0.7, which is of the claim with uid 1"}},
		"an IPAddress is made under a told claim's name for its dead namesake": {func(t *tale) {
			t.give("a", "1", "10.0.0.7")
			t.end("a", "1")
			t.give("a", "2", "10.0.0.8")
			t.remove("IPAddress", "a")
			t.answer("a", "1", "10.0.0.7")
		}, []string{"which is of the claim with uid 1"}},
		"a claim is told of an IPAddress that does not exist": {func(t *tale) {
			t.claim("a", "1")
			t.claim("a", "1", told)
		}, []string{"which does not exist"}},
		"an IPClaim's prefix is given again before it has gone": {func(t *tale) {
			t.record("a", "1", "10.0.0.0/28")
			t.ipClaim("a", "1", "10.0.0.0/28")
			t.remove("IPAllocation", "a")
			t.record("b", "2", "10.0.0.0/28")
			t.ipClaim("b", "2", "10.0.0.0/28")
		}, []string{"its record IPAllocation n/a, made at", "uid 2"}},
		"a record goes, and another claim's has moved": {func(t *tale) {
			t.give("b", "2", "10.0.0.8")
			t.record("b", "2", "10.0.0.8/32", moving)
			t.remove("IPAllocation", "b")
			t.record("a", "1", "10.0.0.7/32")
			t.ipClaim("a", "1", "10.0.0.7/32")
			t.remove("IPAllocation", "a")
		}, []string{"its record IPAllocation n/a, made at"}},
		"a note's address is given to a claim": {func(t *tale) {
			t.write(heldKind, "x", "x", func(i *fsck.Item) { i.Group, i.Spec.AddressSpace, i.Spec.CIDR = "ipam.history", "s", "10.0.0.0/30" })
			t.give("a", "1", "10.0.0.2")
			t.remove(heldKind, "x")
		}, []string{"uid 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newTale()
			test.tell(h)
			if len(h.findings) != len(test.want) {
				t.Fatalf("findings %q, want %q", h.findings, test.want)
			}
			for i, part := range test.want {
				if !strings.Contains(h.findings[i], part) {
					t.Errorf("finding %q does not say %q", h.findings[i], part)
				}
			}
		})
	}
}

func TestHistoryFindsNothingWrongWithWhatIsRight(t *testing.T) {
	t.Parallel()
	for name, tell := range map[string]func(*tale){
		"given again when the claim has gone": func(t *tale) {
			t.give("a", "1", "10.0.0.7")
			t.end("a", "1")
			t.give("b", "2", "10.0.0.7")
		},
		"an IPAddress of an in-cluster pool that names its address space, and goes first": func(t *tale) {
			t.write("InClusterIPPool", "q", "q", func(i *fsck.Item) { i.Metadata.Annotations = map[string]string{"ipam.weir.dev/address-space": "s"} })
			ofPool := func(i *fsck.Item) {
				i.Spec.PoolRef.APIGroup, i.Spec.PoolRef.Kind, i.Spec.PoolRef.Name = i.Group, "InClusterIPPool", "q"
			}
			t.claim("a", "1", ofPool)
			t.record("a", "1", "10.0.0.7/32")
			t.answer("a", "1", "10.0.0.7", ofPool)
			t.claim("a", "1", told)
			t.remove("InClusterIPPool", "q")
			t.end("a", "1")
			t.give("b", "2", "10.0.0.7")
		},
		"given again when the claim is let go and has neither IPAddress nor record": func(t *tale) {
			t.give("a", "1", "10.0.0.7")
			t.claim("a", "1", terminating)
			t.remove("IPAddress", "a")
			t.remove("IPAllocation", "a")
			t.give("b", "2", "10.0.0.7")
			t.remove("IPAddressClaim", "a")
		},
		"given to a namesake when the claim has gone": func(t *tale) {
			t.give("a", "1", "10.0.0.7")
			t.end("a", "1")
			t.give("a", "2", "10.0.0.7")
		},
		"an IPClaim's prefix when it is let go and its record has gone": func(t *tale) {
			t.record("a", "1", "10.0.0.7/32")
			t.ipClaim("a", "1", "10.0.0.7/32")
			t.ipClaim("a", "1", "10.0.0.7/32", terminating)
			t.remove("IPAllocation", "a")
			t.give("b", "2", "10.0.0.7")
		},
		"moved here, before its record": func(t *tale) {
			t.give("a", "1", "10.0.0.7")
			t.end("a", "1")
			t.claim("b", "2")
			t.answer("b", "2", "10.0.0.7", func(i *fsck.Item) { i.Metadata.Annotations = map[string]string{arrived: "now"} })
			t.record("b", "2", "10.0.0.7/32")
		},
		"a note's address when it has gone": func(t *tale) {
			t.write(heldKind, "x", "x", func(i *fsck.Item) { i.Group, i.Spec.AddressSpace, i.Spec.CIDR = "ipam.history", "s", "10.0.0.7/32" })
			t.remove(heldKind, "x")
			t.give("a", "1", "10.0.0.7")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newTale()
			tell(h)
			if len(h.findings) != 0 {
				t.Errorf("findings %q", h.findings)
			}
			if h.account.Reuses != 1 || h.account.Holdings != 2 {
				t.Errorf("it counts %s", h.account)
			}
		})
	}
}

// TestHistoryKnowsWhatMovesAway: clusterctl takes a record along, and before the claim is deleted Weir makes another one, which goes.
func TestHistoryKnowsWhatMovesAway(t *testing.T) {
	t.Parallel()
	h := newTale()
	h.record("a", "1", "10.0.0.7/32")
	h.ipClaim("a", "1", "10.0.0.7/32")
	h.record("a", "1", "10.0.0.7/32", moving)
	h.remove("IPAllocation", "a")
	h.record("a", "1", "10.0.0.7/32", func(i *fsck.Item) { i.Metadata.Annotations = nil })
	h.remove("IPAllocation", "a")
	if len(h.findings) != 0 {
		t.Errorf("findings %q of a claim that moves away", h.findings)
	}
	h.give("b", "2", "10.0.0.7")
	if len(h.findings) != 1 || !strings.Contains(h.findings[0], "uid 2") {
		t.Errorf("findings %q of an address that is given again", h.findings)
	}
}

// TestHistoryOfFloatingIPs: what came before its record, as in a move, is of the network that its pool names. Where the pool names
// none the record says it, and nothing is compared before.
func TestHistoryOfFloatingIPs(t *testing.T) {
	t.Parallel()
	const network = "openstack/network"
	inNetwork := func(i *fsck.Item) { i.Spec.AddressSpace = network }
	for name, tc := range map[string]struct {
		annotation, early string
	}{
		"the pool names its network": {"key project network", network},
		"the pool does not":          {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newTale()
			h.write("IPPool", "p", "pool", func(i *fsck.Item) { i.Spec.AddressSpace = "" })
			h.record("first", "1", "203.0.113.5/32", func(i *fsck.Item) { i.Spec.AddressSpace = "default" })
			h.ipClaim("first", "1", "203.0.113.5/32")
			h.write("IPPool", "floating", "floating", func(i *fsck.Item) {
				i.Group, i.Spec.OpenStack = fsck.WeirGroup, map[string]any{}
				i.Metadata.Annotations = map[string]string{"ipam.weir.dev/openstack": tc.annotation}
			})
			ofPool := func(i *fsck.Item) { i.Spec.PoolRef.Name = "floating" }
			broughtAlong := func(i *fsck.Item) { i.Metadata.ManagedFields = nil }
			for _, claim := range []string{"a", "b"} {
				h.claim(claim, types.UID(claim), ofPool)
				h.answer(claim, types.UID(claim), "203.0.113.5", ofPool, broughtAlong)
				if space := h.lives[types.UID(claim)].has.Space; space != tc.early {
					t.Errorf("%s is of the address space %q before its record", claim, space)
				}
				h.record(claim, types.UID(claim), "203.0.113.5/32", inNetwork)
				if space := h.lives[types.UID(claim)].has.Space; space != network {
					t.Errorf("%s is of the address space %q", claim, space)
				}
			}
			if len(h.findings) != 1 || !strings.Contains(h.findings[0], "uid a)") || !strings.Contains(h.findings[0], "uid b)") {
				t.Errorf("findings %q of two claims with one floating IP", h.findings)
			}
		})
	}
}

// TestUnionOfFloatingIPs: a claim whose address space is known on one side only is one claim with one prefix.
func TestUnionOfFloatingIPs(t *testing.T) {
	t.Parallel()
	holding := func(name, space, cidr string) *fsck.Holding {
		claim := &fsck.Item{Kind: "IPAddressClaim", Metadata: metav1.ObjectMeta{Name: name}}
		return &fsck.Holding{Space: space, CIDR: netip.MustParsePrefix(cidr), Claim: claim, Answer: claim}
	}
	here := holding("a", "openstack/network", "203.0.113.5/32")
	for name, tc := range map[string]struct {
		there    *fsck.Holding
		findings int
	}{
		"the same":                                {holding("a", "openstack/network", "203.0.113.5/32"), 0},
		"the same, of a space that is not known":  {holding("a", "", "203.0.113.5/32"), 0},
		"the same, of another space":              {holding("a", "default", "203.0.113.5/32"), 1},
		"another address":                         {holding("a", "", "203.0.113.6/32"), 1},
		"another claim":                           {holding("b", "openstack/network", "203.0.113.5/32"), 1},
		"another claim, of a space not known yet": {holding("b", "", "203.0.113.5/32"), 0},
		"another claim, of another address space": {holding("b", "default", "203.0.113.5/32"), 0},
	} {
		findings := against(here, map[types.UID]tenure{"there": {Holding: tc.there}})
		if len(findings) != tc.findings {
			t.Errorf("%s: findings %q", name, findings)
		}
	}
}

func TestHistoryKnowsCarvedPools(t *testing.T) {
	t.Parallel()
	h := newTale()
	h.record("child", "c", "10.0.0.0/28")
	h.write("IPPool", "child", "c", func(i *fsck.Item) {
		i.Group, i.Spec.CIDR, i.Spec.ParentRef = fsck.WeirGroup, "10.0.0.0/28", &fsck.Reference{Kind: "IPPool", Name: "p"}
	})
	h.record("a", "1", "10.0.0.7/32")
	h.ipClaim("a", "1", "10.0.0.7/32", func(i *fsck.Item) { i.Spec.PoolRef.Name = "child" })
	if len(h.findings) != 0 || h.account.Holdings != 2 {
		t.Errorf("findings %q; %s", h.findings, h.account)
	}
	h.give("b", "2", "10.0.0.8")
	if len(h.findings) != 1 || !strings.Contains(h.findings[0], "uid 2") {
		t.Errorf("findings %q of an address out of a carved pool's block", h.findings)
	}
}

// TestHistoryOfLateAnswers: an IPAddress that is made for a claim that nobody uses any more is nobody's, and told apart from one
// whose claim somebody uses.
func TestHistoryOfLateAnswers(t *testing.T) {
	t.Parallel()
	late := newTale()
	late.claim("a", "1", terminating)
	late.give("b", "2", "10.0.0.7")
	late.answer("a", "1", "10.0.0.7")
	late.remove("IPAddressClaim", "a")
	if len(late.findings) != 0 || len(late.late()) != 1 {
		t.Errorf("findings %q, late %q", late.findings, late.late())
	}
	late.claim("a", "3") // not told of it
	late.remove("IPAddress", "a")
	late.answer("a", "1", "10.0.0.9") // its claim has gone
	late.give("c", "4", "10.0.0.9")
	late.remove("IPAddress", "a")
	if a := late.account; a.Terminating != 2 || a.Late != 2 || a.LateTaken != 2 || len(late.late()) != 0 || len(late.findings) != 0 {
		t.Errorf("%s; late %q, findings %q", a, late.late(), late.findings)
	}

	inUse := newTale()
	inUse.claim("a", "1", used, terminating)
	inUse.record("a", "1", "10.0.0.7/32")
	inUse.answer("a", "1", "10.0.0.7")
	if a := inUse.account; a.Terminating != 1 || a.Late != 0 || a.Holdings != 1 {
		t.Errorf("it counts %s", a)
	}
	inUse.give("b", "2", "10.0.0.7")
	if len(inUse.findings) != 1 {
		t.Errorf("findings %q of an address that a claim in use was given, too", inUse.findings)
	}
}

// TestHistoryAcrossAGap: what was missed is never taken for two holders.
func TestHistoryAcrossAGap(t *testing.T) {
	t.Parallel()
	h := newTale()
	h.give("a", "1", "10.0.0.7")
	for _, kind := range []string{"IPAddressClaim", "IPAddress", "IPAllocation"} {
		h.apply(change{revision: 20, key: path(h.stored[kind+"a"]), isMissed: true})
	}
	other := newTale()
	other.give("b", "2", "10.0.0.7")
	for _, kind := range []string{"IPAllocation", "IPAddressClaim", "IPAddress"} {
		object := other.stored[kind+"b"]
		h.apply(change{revision: 20, key: path(object), object: object, isMissed: true})
	}
	if len(h.findings) != 0 || h.account.Reuses != 1 {
		t.Errorf("findings %q; %s", h.findings, h.account)
	}
	h.give("c", "3", "10.0.0.7")
	if len(h.findings) != 1 || !strings.Contains(h.findings[0], "uid 3") {
		t.Errorf("findings %q of what it has from a list", h.findings)
	}
}
