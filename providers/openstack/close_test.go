// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack/fake"
)

// TestJudgeEnd: each condition alone keeps a floating IP when its pool ends.
func TestJudgeEnd(t *testing.T) {
	t.Parallel()
	own, _ := describe(poolKey, ours)
	borrowed, _ := describeLent(poolKey, ours)
	const address = "198.18.0.10"
	ref, other := ipamv1.PoolReference{Kind: "IPPool", Namespace: "infra", Name: "floating"}, ipamv1.PoolReference{Kind: "IPPool", Namespace: "infra", Name: "other"}
	for name, test := range map[string]struct {
		description, port string
		listed            []string
		policy            ipamv1.FloatingIPReclaimPolicy
		ends              ipamv1.PoolReference
		isUnproved        bool
		want              remainder
	}{
		"free":                                  {description: describeFree(poolKey), want: unneeded},
		"free, by the policy Delete":            {description: describeFree(poolKey), policy: ipamv1.DeleteFloatingIPs, want: unneeded},
		"free, and another one is listed":       {description: describeFree(poolKey), listed: []string{"198.18.0.11"}, want: unneeded},
		"free, and bound":                       {description: describeFree(poolKey), port: "port", want: staying},
		"free, and listed":                      {description: describeFree(poolKey), listed: []string{address}, want: staying},
		"free, and retained":                    {description: describeFree(poolKey), policy: ipamv1.RetainFloatingIPs, want: staying},
		"free, and another pool ends":           {description: describeFree(poolKey), ends: other, want: staying},
		"free, and nothing is proved":           {description: describeFree(poolKey), isUnproved: true, want: staying},
		"free, with more than Weir writes":      {description: describeFree(poolKey) + "/infra/c", want: staying},
		"free in another pool":                  {description: describeFree("another-key"), want: notItsOwn},
		"free in a pool whose key begins alike": {description: describeFree(poolKey + "x"), want: notItsOwn},
		"free, by a later version of this":      {description: "weir/2/" + poolKey + "/-", want: notItsOwn},
		"a claim's":                             {description: own, want: ofAClaim},
		"lent to a claim":                       {description: borrowed, want: ofAClaim},
		"a claim's whose UID begins like free":  {description: "weir/1/" + poolKey + "/-x/infra/c", want: ofAClaim},
		"a claim's of another pool":             {description: "weir/1/another-key/" + claimUID + "/infra/c", want: notItsOwn},
		"nobody's":                              {want: notItsOwn},
		"nobody's, and listed":                  {listed: []string{address}, want: notItsOwn},
		"a person's":                            {description: "office", want: notItsOwn},
	} {
		end := external.PoolReleased(cmp.Or(test.ends, ref))
		if test.isUnproved {
			end = external.PoolEnd{}
		}
		pool := external.Pool{Ref: ref, Key: poolKey, Source: &ipamv1.OpenStackSource{PreAllocatedFloatingIPs: test.listed, ReclaimPolicy: test.policy}}
		seen := neutron.FloatingIP{ID: "id", Address: netip.MustParseAddr(address), Description: test.description, PortID: test.port, Revision: 7}
		may, is := judgeEnd(seen, pool, end)
		if is != test.want || (may.seen.Revision == 7) != (is == unneeded) {
			t.Errorf("%s: %s, %+v", name, is, may)
		}
	}
}

// end ends the bench's pool, and expects what stays: the UIDs, "" for what is free.
func (h *here) end(what string, awaited, left []string) {
	h.t.Helper()
	found, err := h.Close(h.ctx(), h.pool, external.PoolReleased(h.pool.Ref), h.known())
	if err != nil {
		h.t.Fatalf("%s: %v", what, err)
	}
	uids := func(all []external.Leftover) (uids []string) {
		for _, l := range all {
			uids = append(uids, l.Claim.UID)
		}
		slices.Sort(uids)
		return uids
	}
	if got := uids(found.Awaited); !slices.Equal(got, awaited) {
		h.t.Errorf("%s: awaits %q, want %q", what, got, awaited)
	}
	if got := uids(found.Left); !slices.Equal(got, left) {
		h.t.Errorf("%s: leaves %q, want %q", what, got, left)
	}
}

// TestAPoolThatEnds waits for claims that are here, then gives up what is free, and leaves everything else as it is.
func TestAPoolThatEnds(t *testing.T) {
	t.Parallel()
	h := newHere(t)
	h.strangers() // one is of the claim another-uid, one of claimUIDx
	before := h.FloatingIPs()
	h.mustAcquire(claim("living", "living"))
	h.mustAcquire(claim("ending", "ending"))
	stock := h.stock(describeFree(poolKey), describeFree(poolKey), describeFree(poolKey))
	h.lives = map[string]external.Life{"living": external.Living, "ending": external.Ending}
	h.Reset()
	h.end("while claims are here", []string{"ending", "living"}, nil)
	h.expectCallsOf("while claims are here", list)

	h.lives = nil
	port, err := h.Bind(t.Context(), stock[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	h.pool.Source.PreAllocatedFloatingIPs = []string{stock[1].Address.String()}
	h.Reset()
	h.end("once they are not", nil, []string{"", "", claimUID + "x", "another-uid", "ending", "living"})
	h.expectCallsOf("once they are not", list, remove)
	h.expectUntouched(before)
	if n := len(h.FloatingIPs()); n != len(before)+4 {
		t.Errorf("there are %d, of %d", n, len(before)+5)
	}
	if err := h.Unbind(t.Context(), port); err != nil {
		t.Fatal(err)
	}
	h.pool.Source.ReclaimPolicy = ipamv1.RetainFloatingIPs
	h.Reset()
	h.end("with Retain", nil, []string{"", "", claimUID + "x", "another-uid", "ending", "living"})
	h.expectCallsOf("with Retain", list)
	h.pool.Source.ReclaimPolicy = ipamv1.DeleteFloatingIPs
	if err := h.SetPolicy(map[string]string{"delete_floatingip": "!"}); err != nil {
		t.Fatal(err)
	}
	h.end("where deletion is forbidden", nil, []string{"", "", claimUID + "x", "another-uid", "ending", "living"})
	if err := h.SetPolicy(nil); err != nil {
		t.Fatal(err)
	}
	h.end("where it is not", nil, []string{"", claimUID + "x", "another-uid", "ending", "living"})
	h.expectUntouched(before)
	h.Reset()
}

// TestWhatIsTakenWhileAPoolEndsStays: between the look and the deletion.
func TestWhatIsTakenWhileAPoolEndsStays(t *testing.T) {
	t.Parallel()
	h := newHere(t)
	stock := h.stock(describeFree(poolKey))[0]
	h.Reset()
	hold := h.Hold(remove, fake.Delay)
	done := make(chan error)
	go func() {
		_, err := h.Close(h.ctx(), h.pool, external.PoolReleased(h.pool.Ref), h.known())
		done <- err
	}()
	<-hold.Arrived
	if _, err := h.Bind(t.Context(), stock.ID); err != nil {
		t.Fatal(err)
	}
	hold.Release()
	if err := <-done; !errors.Is(err, ledger.ErrBusy) || len(h.FloatingIPs()) != 1 {
		t.Errorf("%v; left: %+v", err, h.FloatingIPs())
	}
	h.end("the next time", nil, []string{""})
	h.Reset()
}

// TestAPoolThatCannotBeEnded changes nothing, and is told no words of the server.
func TestAPoolThatCannotBeEnded(t *testing.T) {
	t.Parallel()
	h := newHere(t)
	h.mustAcquire(ours)
	h.stock(describeFree(poolKey))
	before := h.FloatingIPs()
	run := func(end external.PoolEnd) error {
		found, err := h.Close(h.ctx(), h.pool, end, h.known())
		if len(found.Awaited)+len(found.Left) > 0 {
			t.Errorf("with %v: %+v", err, found)
		}
		return err
	}
	if err := run(external.PoolEnd{}); !errors.Is(err, ledger.ErrBusy) {
		t.Errorf("nothing is proved: %v", err)
	}
	h.err = errors.New("the API server is away")
	if err := run(external.PoolReleased(h.pool.Ref)); !errors.Is(err, h.err) {
		t.Errorf("claims cannot be read: %v", err)
	}
	h.err = nil
	for _, call := range []string{list, remove} {
		h.Inject(fake.Fault{Call: call, Effect: fake.Refuse, Code: 503})
		err := run(external.PoolReleased(h.pool.Ref))
		if h.expectOneOf(err, false); reasonOf(err) != "WaitingForCloud" {
			t.Errorf("%s is refused: %v", call, err)
		}
		h.clock.Step(shortestClosure)
	}
	h.expectUntouched(before)
	h.secrets.set("", "", nil)
	h.secrets.data = nil
	if err := run(external.PoolReleased(h.pool.Ref)); reasonOf(err) != "WaitingForSecret" {
		t.Errorf("without the Secret: %v", err)
	}
	h.Reset()
}

// expectCallsOf is expectCalls, where the list of the whole network is right.
func (h *here) expectCallsOf(what string, want ...string) {
	h.t.Helper()
	calls := h.Calls()
	got := make([]string, 0, len(calls))
	for _, call := range calls {
		got = append(got, call.Name)
	}
	if h.Reset(); fmt.Sprint(got) != fmt.Sprint(want) {
		h.t.Errorf("%s: calls %v, want %v", what, got, want)
	}
}

// stock makes floating IPs that the pool does not list.
func (h *here) stock(descriptions ...string) []neutron.FloatingIP {
	h.t.Helper()
	made := h.lend(descriptions...)
	h.pool.Source.PreAllocatedFloatingIPs = nil
	return made
}
