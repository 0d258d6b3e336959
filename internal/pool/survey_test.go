// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/conditions"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
)

// TestWhenAPoolIsCompared: some time after it is new, whatever its UID was before.
func TestWhenAPoolIsCompared(t *testing.T) {
	t.Parallel()
	var all surveys
	now := time.Unix(1000, 0)
	pool := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "p", UID: "first", Generation: 1}}
	ref := pool.PoolReference()
	if first := all.of(pool, ref, now); !first.next.Equal(now.Add(surveyInterval)) || first.result != nil {
		t.Errorf("a new one: %+v", first)
	}
	later := now.Add(time.Hour)
	if again := all.of(pool, ref, later); !again.next.Equal(now.Add(surveyInterval)) {
		t.Errorf("the same: %+v", again)
	}
	all.done(ref, surveyed{next: later, uid: "first", result: &external.Survey{}})
	if done := all.of(pool, ref, later); done.result == nil {
		t.Errorf("compared: %+v", done)
	}
	pool.UID = "second"
	if other := all.of(pool, ref, later); other.result != nil || !other.next.Equal(later.Add(surveyInterval)) {
		t.Errorf("another of the name: %+v", other)
	}
	all.forget(ref)
	if len(all.last) != 0 {
		t.Errorf("left: %+v", all.last)
	}
}

// TestConditionFloatingIPs names what differs, five of each.
func TestConditionFloatingIPs(t *testing.T) {
	t.Parallel()
	pool := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "p", UID: "p"}}
	registry := site(t, pool)
	r := &reporter{Options: Options{Registry: registry}}
	record := func(name string) external.Record {
		return external.Record{Claim: ipamv1.ClaimReference{Namespace: "team", Name: name, UID: name}, Address: netip.MustParseAddr("198.18.0.10")}
	}
	left := external.Leftover{ID: "id", Address: netip.MustParseAddr("198.18.0.11"), Claim: ipamv1.ClaimReference{Namespace: "team", Name: "gone", UID: "gone"}}
	for name, test := range map[string]struct {
		found  *external.Survey
		reason string
		words  []string
	}{
		"not known": {nil, "", nil},
		"nothing":   {&external.Survey{}, ipamv1.FloatingIPsAsRecordedReason, nil},
		"left over": {&external.Survey{Unknown: []external.Leftover{left}}, ipamv1.FloatingIPsLeftOverReason, []string{"198.18.0.11 (id, of team/gone)"}},
		"surplus": {&external.Survey{Surplus: []external.Surplus{{Leftover: left, Use: "bound to port port"}, {Leftover: left, IsAltered: true}, {Leftover: left}}},
			ipamv1.FloatingIPsSurplusReason, []string{"beside", "198.18.0.11 (id, of team/gone, bound to port port), ", "with a changed description", "(id, of team/gone)"}},
		"missing":    {&external.Survey{Missing: []external.Record{record("a")}}, ipamv1.FloatingIPsMissingReason, []string{"no floating IP", "team/a (198.18.0.10)"}},
		"taken":      {&external.Survey{Taken: []external.Record{record("a")}}, ipamv1.FloatingIPsMissingReason, []string{"others'", "team/a"}},
		"everything": {&external.Survey{Missing: []external.Record{record("a")}, Unknown: []external.Leftover{left}}, ipamv1.FloatingIPsMissingReason, []string{"team/a", "team/gone"}},
		"many": {&external.Survey{Missing: []external.Record{record("a"), record("b"), record("c"), record("d"), record("e"), record("f"), record("g")}},
			ipamv1.FloatingIPsMissingReason, []string{"team/e", "and 2 more"}},
	} {
		s := &scope{pool: pool.DeepCopy(), survey: test.found}
		r.setFloatingIPs(t.Context(), s)
		c := conditions.Get(s.pool, ipamv1.FloatingIPsCondition)
		if test.reason == "" {
			if c != nil {
				t.Errorf("%s: %+v", name, c)
			}
			continue
		}
		if c == nil || c.Reason != test.reason || (c.Status == metav1.ConditionTrue) != test.found.IsEmpty() {
			t.Errorf("%s: %+v", name, c)
			continue
		}
		for _, word := range test.words {
			if !strings.Contains(c.Message, word) {
				t.Errorf("%s: %q does not have %q", name, c.Message, word)
			}
		}
	}
}

// notes is a recorder that keeps what is recorded.
type notes struct{ all []string }

func (n *notes) Eventf(regarding, _ runtime.Object, _, reason, _, note string, args ...any) {
	obj, _ := meta.Accessor(regarding)
	n.all = append(n.all, fmt.Sprintf("%s %s/%s %s %s: ", regarding.GetObjectKind().GroupVersionKind().Kind, obj.GetNamespace(), obj.GetName(), obj.GetUID(), reason)+fmt.Sprintf(note, args...))
}

// claimDoor is a door of IPClaims, and poolDoor one of other objects.
type claimDoor struct{ pools.Door }

func (claimDoor) NewClaim() client.Object { return &ipamv1.IPClaim{} }

type poolDoor struct{ pools.Door }

func (poolDoor) NewClaim() client.Object { return &ipamv1.IPPool{} }

// TestAClaimIsWarnedOnce that its floating IP is missing, and again if it was there in between.
func TestAClaimIsWarnedOnce(t *testing.T) {
	t.Parallel()
	registry, said := site(t), &notes{}
	r := &reporter{Options: Options{Client: registry.Client, Recorder: said}, doors: []pools.Door{poolDoor{}, claimDoor{}}}
	record := func(name string) external.Record {
		claim := ipamv1.ClaimReference{APIGroup: ipamv1.GroupVersion.Group, Kind: ipamv1.IPClaimKind, Namespace: "team", Name: name, UID: name + "-uid"}
		return external.Record{Claim: claim, Address: netip.MustParseAddr("198.18.0.10")}
	}
	a, b := record("a"), record("b")
	var before *external.Survey
	for _, test := range []struct {
		when  string
		found external.Survey
		want  []string
	}{
		{"nothing is missing", external.Survey{}, nil},
		{"one is", external.Survey{Missing: []external.Record{a}}, []string{"IPClaim team/a a-uid FloatingIPMissing: floating IP 198.18.0.10 does not exist"}},
		{"it still is, and another is taken", external.Survey{Missing: []external.Record{a}, Taken: []external.Record{b}}, []string{"IPClaim team/b b-uid FloatingIPMissing: floating IP 198.18.0.10 does not name the claim"}},
		{"it was made again", external.Survey{Taken: []external.Record{b}}, nil},
		{"it is missing again", external.Survey{Missing: []external.Record{a}, Taken: []external.Record{b}}, []string{"IPClaim team/a"}},
	} {
		said.all = nil
		r.announceMissing(t.Context(), before, &test.found)
		before = &test.found
		if len(said.all) != len(test.want) || len(test.want) == 1 && !strings.HasPrefix(said.all[0], test.want[0]) {
			t.Errorf("%s: %q, want %q", test.when, said.all, test.want)
		}
	}
}

func TestSooner(t *testing.T) {
	t.Parallel()
	for _, test := range [][3]time.Duration{{0, 0, 0}, {0, 2, 2}, {3, 0, 3}, {3, 2, 2}, {1, 2, 1}} {
		if got := sooner(test[0], test[1]); got != test[2] {
			t.Errorf("%v: %v", test, got)
		}
	}
}

// TestWhatNoWatchTellsIsLookedAtAgain: what the cloud lacks, and a Secret that a move would leave behind.
func TestWhatNoWatchTellsIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		s    scope
		want time.Duration
	}{
		"nothing":                      {scope{}, time.Hour},
		"a doubt":                      {scope{doubts: []string{"no such subnet"}}, retryDoubts},
		"a Secret without the label":   {scope{secretStays: true}, retryDoubts},
		"a sibling that was refused":   {scope{expanded: metav1.Condition{Reason: ipamv1.ExpandedRefusedReason}}, retryDoubts},
		"a comparison that comes next": {scope{secretStays: true, nextSurvey: time.Second}, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if next := c.s.next(time.Hour); next != c.want {
				t.Errorf("after %s, want %s", next, c.want)
			}
		})
	}
}
