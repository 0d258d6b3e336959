// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack/fake"
)

const tagging = "TagFloatingIP"

// lend makes floating IPs with these descriptions, which the bench's pool lists.
func (b *bench) lend(descriptions ...string) []neutron.FloatingIP {
	b.t.Helper()
	all := make([]neutron.FloatingIP, 0, len(descriptions))
	for _, description := range descriptions {
		f, err := b.member.Create(b.t.Context(), neutron.CreateOptions{NetworkID: b.pool.Network, Description: description})
		if err != nil {
			b.t.Fatal(err)
		}
		all = append(all, f)
		b.pool.Source.PreAllocatedFloatingIPs = append(b.pool.Source.PreAllocatedFloatingIPs, f.Address.String())
	}
	b.Reset()
	return all
}

// described expects the description of a floating IP; "gone" if there must be none.
func (b *bench) described(id, want string) {
	b.t.Helper()
	got := "gone"
	for _, f := range b.FloatingIPs() {
		if f.ID == id {
			got = f.Description
		}
	}
	if got != want {
		b.t.Errorf("floating IP %s says %q, want %q", id, got, want)
	}
}

// TestJudgeStock: each condition alone keeps a claim from a floating IP.
func TestJudgeStock(t *testing.T) {
	t.Parallel()
	own, err := describe(poolKey, claim("c", claimUID))
	if err != nil {
		t.Fatal(err)
	}
	borrowed, err := describeLent(poolKey, claim("c", claimUID))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		description, port string
		isListed          bool
		want              suitability
	}{
		"free":                                  {describeFree(poolKey), "", false, takeable},
		"free, and listed":                      {describeFree(poolKey), "", true, takeable},
		"free, and bound":                       {describeFree(poolKey), "port", false, inUse},
		"listed":                                {"", "", true, takeable},
		"listed, and bound":                     {"", "port", true, inUse},
		"nothing is known of it":                {"", "", false, others},
		"a person's":                            {"office", "", false, others},
		"a person's, and listed":                {"office", "", true, described},
		"blank, and listed":                     {" ", "", true, described},
		"of a later version, and listed":        {"weir/2/" + poolKey + "/-", "", true, described},
		"another pool's":                        {describeFree("another-key"), "", false, others},
		"another pool's, and listed":            {describeFree("another-key"), "", true, others},
		"of a key that begins the same":         {describeFree(poolKey + "x"), "", true, others},
		"a claim's":                             {own, "", false, others},
		"a claim's, and listed":                 {own, "", true, others},
		"lent to a claim":                       {borrowed, "", true, others},
		"a claim's of another pool, and listed": {"weir/1/another-key/" + claimUID + "/infra/c", "", true, others},
	} {
		may, is := judgeStock(neutron.FloatingIP{ID: "id", Description: test.description, PortID: test.port, Revision: 7}, poolKey, test.isListed)
		if is != test.want || (may.seen.ID != "") != (is == takeable) || may.isLent != (is == takeable && test.isListed) {
			t.Errorf("%s: %s, %+v", name, is, may)
		}
	}
}

// TestWhatBecomesOfWhatIsGivenBack: only what Weir made, and no pool lists, is ever deleted.
func TestWhatBecomesOfWhatIsGivenBack(t *testing.T) {
	t.Parallel()
	made, _ := describe(poolKey, claim("c", claimUID))
	borrowed, _ := describeLent(poolKey, claim("c", claimUID))
	const address = "198.18.0.10"
	for name, test := range map[string]struct {
		description string
		source      ipamv1.OpenStackSource
		want        ending
	}{
		"made":                      {made, ipamv1.OpenStackSource{}, deletion},
		"made, to be deleted":       {made, ipamv1.OpenStackSource{ReclaimPolicy: ipamv1.DeleteFloatingIPs}, deletion},
		"made, to be kept":          {made, ipamv1.OpenStackSource{ReclaimPolicy: ipamv1.RetainFloatingIPs}, keeping},
		"made, and listed since":    {made, ipamv1.OpenStackSource{PreAllocatedFloatingIPs: []string{address}}, returning},
		"another one is listed":     {made, ipamv1.OpenStackSource{PreAllocatedFloatingIPs: []string{"198.18.0.11"}}, deletion},
		"lent":                      {borrowed, ipamv1.OpenStackSource{PreAllocatedFloatingIPs: []string{address}}, returning},
		"lent, and listed no more":  {borrowed, ipamv1.OpenStackSource{}, returning},
		"lent, whatever the policy": {borrowed, ipamv1.OpenStackSource{ReclaimPolicy: ipamv1.RetainFloatingIPs}, returning},
	} {
		may := releasable{neutron.FloatingIP{Description: test.description, Address: netip.MustParseAddr(address)}}
		if got := endingOf(may, external.Pool{Source: &test.source}); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// TestRetainKeepsAFloatingIPForTheNextClaim of the pool, which creates none then.
func TestRetainKeepsAFloatingIPForTheNextClaim(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.pool.Source.ReclaimPolicy = ipamv1.RetainFloatingIPs
	first, next := claim("first", claimUID), claim("next", "next-uid")
	had := b.mustAcquire(first)
	b.Reset()
	if err := b.giveBack(b.ctx(), external.ClaimReleased(first)); err != nil {
		t.Fatal(err)
	}
	b.expectCalls("the release", list, describing)
	b.described(had.ID, describeFree(poolKey))
	if has := b.mustAcquire(next); has != had {
		t.Errorf("the next claim has %v", has)
	}
	b.expectCalls("the next claim", list, describing)
	b.described(had.ID, "weir/1/"+poolKey+"/next-uid/infra/next")
	if err := b.giveBack(b.ctx(), external.ClaimReleased(first)); err != nil {
		t.Error(err)
	}
	b.described(had.ID, "weir/1/"+poolKey+"/next-uid/infra/next")
	b.pool.Source.ReclaimPolicy = ipamv1.DeleteFloatingIPs
	if err := b.giveBack(b.ctx(), external.ClaimReleased(next)); err != nil {
		t.Error(err)
	}
	b.described(had.ID, "gone")
}

// TestTwoWantOneFreeFloatingIP: the one whose condition still holds gets it, the other a new one.
func TestTwoWantOneFreeFloatingIP(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	only, err := b.member.Create(t.Context(), neutron.CreateOptions{NetworkID: b.pool.Network, Description: describeFree(poolKey)})
	if err != nil {
		t.Fatal(err)
	}
	slow, fast := claim("slow", "slow"), claim("fast", "fast")
	hold := b.Hold(describing, fake.Delay)
	done := make(chan error)
	go func() {
		_, err := b.Acquire(b.ctx(), b.pool, asks(slow))
		done <- err
	}()
	<-hold.Arrived
	if has := b.mustAcquire(fast); has.ID != only.ID {
		t.Errorf("the faster one has %v", has)
	}
	hold.Release()
	if err := <-done; !errors.Is(err, ledger.ErrBusy) {
		t.Errorf("the slower one: %v", err)
	}
	b.described(only.ID, "weir/1/"+poolKey+"/fast/infra/fast")
	if has := b.mustAcquire(slow); has.ID == only.ID || len(b.FloatingIPs()) != 2 {
		t.Errorf("the slower one has %v of %+v", has, b.FloatingIPs())
	}
}

// TestManyWantWhatThereIs: claims of two managers at once take each floating IP of the stock once.
func TestManyWantWhatThereIs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.lend("", "", "", "")
	managers := []*Provider{b.newProvider(b.clock, 32), b.newProvider(b.clock, 32)}
	b.pool.Room = external.Unlimited
	got := make([]external.Address, 6)
	var all sync.WaitGroup
	for i := range got {
		all.Go(func() {
			c := claim("c", string(rune('a'+i)))
			for t.Context().Err() == nil {
				has, err := managers[i%2].Acquire(b.ctx(), b.pool, asks(c))
				if got[i] = has; !errors.Is(err, ledger.ErrBusy) {
					return
				}
				time.Sleep(time.Millisecond) // others may be logging in
			}
		})
	}
	all.Wait()
	ids := map[string]bool{}
	for _, has := range got {
		ids[has.ID] = true
	}
	if len(ids) != len(got) || ids[""] || len(b.FloatingIPs()) != len(got) {
		t.Errorf("%v", got)
	}
}

// TestALostTakingIsFound: the next call finds what the claim has taken, in whichever way the answer
// was lost, and takes no second one.
func TestALostTakingIsFound(t *testing.T) {
	t.Parallel()
	for _, effect := range []fake.Effect{fake.CutBefore, fake.CutAfter, fake.CutAnswer} {
		b := newBench(t)
		b.lend("", "")
		b.Inject(fake.Fault{Call: describing, Effect: effect})
		if _, err := b.acquire(b.ctx(), ours); !errors.Is(err, ledger.ErrBusy) && reasonOf(err) != "PoolNotReady" {
			t.Errorf("%v: %v", effect, err)
		}
		b.mustAcquire(ours)
		if owned := b.owned(claimUID); len(owned) != 1 || len(b.FloatingIPs()) != 2 {
			t.Errorf("%v: the claim has %+v", effect, owned)
		}
	}
}

// TestALateTakingChangesNothing that another claim has taken meanwhile.
func TestALateTakingChangesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	only := b.lend("")[0]
	ctx, release := b.lose(describing)
	if _, err := b.acquire(ctx, claim("late", "late")); reasonOf(err) != "busy" {
		t.Errorf("a manager that stops: %v", err)
	}
	if has := b.mustAcquire(ours); has.ID != only.ID {
		t.Errorf("the claim has %v", has)
	}
	release()
	b.eventually("the late change is refused", func() bool { return b.Count(describing) == 2 })
	b.described(only.ID, "weir/1/"+poolKey+"/"+claimUID+"/+/infra/c")
}

// TestWhatIsLentIsNeverDeleted: it is taken first, and comes back with the description that it had,
// also if the pool lists it no more, or the cloud forbids deletion.
func TestWhatIsLentIsNeverDeleted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	one := b.lend("")[0]
	for name, source := range map[string]ipamv1.OpenStackSource{
		"listed": {PreAllocatedFloatingIPs: []string{one.Address.String()}}, "no longer listed": {},
		"kept by the policy": {ReclaimPolicy: ipamv1.RetainFloatingIPs},
	} {
		b.pool.Source.PreAllocatedFloatingIPs, b.pool.Source.ReclaimPolicy = []string{one.Address.String()}, ""
		if has := b.mustAcquire(ours); has.ID != one.ID {
			t.Fatalf("%s: the claim has %v", name, has)
		}
		b.described(one.ID, "weir/1/"+poolKey+"/"+claimUID+"/+/infra/c")
		if err := b.adopt(b.ctx(), ours, one.Address); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		b.pool.Source.PreAllocatedFloatingIPs, b.pool.Source.ReclaimPolicy = source.PreAllocatedFloatingIPs, source.ReclaimPolicy
		if err := b.giveBack(b.ctx(), external.ClaimReleased(ours)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		b.described(one.ID, "")
	}
	if n := b.Count(remove); n != 0 {
		t.Errorf("%d deletions", n)
	}
}

// TestOthersFloatingIPsAreNotTaken, although the pool lists them: what a person has described, what a
// port has, what is another pool's, and what is not there. The pool says so of each.
func TestOthersFloatingIPsAreNotTaken(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	theirs := b.lend("office", "", "weir/1/another-key/their-uid/infra/their", describeFree("another-key"))
	if _, err := b.Bind(t.Context(), theirs[1].ID); err != nil {
		t.Fatal(err)
	}
	b.pool.Source.PreAllocatedFloatingIPs = append(b.pool.Source.PreAllocatedFloatingIPs, "198.18.31.1")
	before := b.FloatingIPs()
	has := b.mustAcquire(ours)
	if slices.ContainsFunc(theirs, func(f neutron.FloatingIP) bool { return f.ID == has.ID }) {
		t.Errorf("the claim has %v", has)
	}
	b.expectUntouched(before)
	is, err := b.Identify(b.ctx(), b.pool)
	if err != nil || len(is.Doubts) != 5 {
		t.Fatalf("%v, %v", is.Doubts, err)
	}
	all := strings.Join(is.Doubts, "\n")
	for _, want := range []string{
		theirs[0].Address.String() + ` is not handed out, as its description is "office"`, theirs[1].Address.String() + " is bound to port",
		theirs[2].Address.String() + " is of another pool", theirs[3].Address.String() + " is of another pool", "no floating IP 198.18.31.1",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("the pool does not say %q: %s", want, all)
		}
	}
	if err := b.giveBack(b.ctx(), external.ClaimReleased(ours)); err != nil {
		t.Error(err)
	}
	b.expectUntouched(before)
}

// TestTwoPoolsListOneFloatingIP, of one cluster or of two: it is one's, until that gives it back.
func TestTwoPoolsListOneFloatingIP(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	one := b.lend("")[0]
	other, elsewhere := b.pool, b.newProvider(b.clock, 32)
	other.Key = "another-key"
	first, next := claim("c", claimUID), claim("c", "next-uid") // of one namespace and name, in two clusters
	if has := b.mustAcquire(first); has.ID != one.ID {
		t.Fatalf("the first has %v", has)
	}
	acquire := func() external.Address {
		t.Helper()
		has, err := elsewhere.Acquire(b.ctx(), other, asks(next))
		if err != nil {
			t.Fatal(err)
		}
		return has
	}
	end := func() {
		t.Helper()
		if err := elsewhere.GiveBack(b.ctx(), other, external.ClaimReleased(next)); err != nil {
			t.Error(err)
		}
	}
	if has := acquire(); has.ID == one.ID {
		t.Error("both have it")
	}
	end()
	b.described(one.ID, "weir/1/"+poolKey+"/"+claimUID+"/+/infra/c")
	if err := b.giveBack(b.ctx(), external.ClaimReleased(first)); err != nil {
		t.Error(err)
	}
	if has := acquire(); has.ID != one.ID {
		t.Errorf("the other pool's claim has %v", has)
	}
	if err := b.giveBack(b.ctx(), external.ClaimReleased(claim("c", "next-uid"))); err != nil {
		t.Error(err)
	}
	b.described(one.ID, "weir/1/another-key/next-uid/+/infra/c")
	end()
	b.described(one.ID, "")
}

// TestWithoutRevisionsNothingIsTaken: two claims could take one floating IP. New ones are created, and
// the pool says why.
func TestWithoutRevisionsNothingIsTaken(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.lend("")
	if _, err := b.member.Create(t.Context(), neutron.CreateOptions{NetworkID: b.pool.Network, Description: describeFree(poolKey)}); err != nil {
		t.Fatal(err)
	}
	before := b.FloatingIPs()
	b.SetRevisions(false)
	b.Reset()
	b.mustAcquire(ours)
	b.expectCalls("without revisions", logIn, extensions, list, create)
	is, err := b.Identify(b.ctx(), b.pool)
	if err != nil || len(is.Doubts) != 1 || !strings.Contains(is.Doubts[0], "no revision numbers") {
		t.Errorf("%v, %v", is.Doubts, err)
	}
	b.expectUntouched(before)
}

// TestALongListIsReadInParts, and a claim stops at the first part that has something for it.
func TestALongListIsReadInParts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range 2*listedPerCall + 1 {
		b.pool.Source.PreAllocatedFloatingIPs = append(b.pool.Source.PreAllocatedFloatingIPs, netip.AddrFrom4([4]byte{198, 18, 30, byte(i)}).String())
	}
	b.mustAcquire(claim("none", "none"))
	b.expectCalls("none of them is there", logIn, extensions, list, list, list, list, create)
	one := b.lend("")[0]
	b.pool.Source.PreAllocatedFloatingIPs = []string{one.Address.String()}
	b.mustAcquire(ours)
	b.expectCalls("one is", list, list, describing)
}

// TestTagsOfNewFloatingIPs are set once, also after a lost answer, and never those of others.
func TestTagsOfNewFloatingIPs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.pool.Source.Tags = []string{"weir", "prod"}
	tags := func(uid string) []string {
		owned := b.owned(uid)
		if len(owned) != 1 {
			t.Fatalf("%s has %+v", uid, owned)
		}
		f, err := b.member.Get(t.Context(), owned[0].ID)
		if err != nil {
			t.Fatal(err)
		}
		return f.Tags
	}
	b.Inject(fake.Fault{Call: tagging, Effect: fake.CutBefore})
	if _, err := b.acquire(b.ctx(), ours); reasonOf(err) != "busy" {
		t.Errorf("the tags are lost: %v", err)
	}
	if got := tags(claimUID); len(got) != 0 {
		t.Errorf("tags %v", got)
	}
	b.mustAcquire(ours)
	if got := tags(claimUID); !slices.Equal(got, b.pool.Source.Tags) {
		t.Errorf("tags %v", got)
	}
	b.Reset()
	b.mustAcquire(ours)
	b.expectCalls("once more", list, look)
	if err := b.member.Tag(t.Context(), b.owned(claimUID)[0].ID, []string{"theirs"}); err != nil {
		t.Fatal(err)
	}
	b.mustAcquire(ours)
	if got := tags(claimUID); !slices.Equal(got, []string{"theirs"}) {
		t.Errorf("tags %v", got)
	}
	lent := b.lend("")[0]
	b.mustAcquire(claim("next", "next"))
	b.expectCalls("one that was lent", list, list, describing)
	if f, err := b.member.Get(t.Context(), lent.ID); err != nil || len(f.Tags) != 0 {
		t.Errorf("tags %v, %v", f.Tags, err)
	}
}

// TestTheSubnetOfNewFloatingIPs is used by its id; by its name if the project sees it.
func TestTheSubnetOfNewFloatingIPs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	second, err := b.connect("admin").Subnet(t.Context(), b.pool.Network, "", "public-b")
	if err != nil {
		t.Fatal(err)
	}
	b.Reset()
	b.pool.Source.Subnet = &ipamv1.FloatingSubnet{ID: second.ID}
	if has := b.mustAcquire(ours); !netip.MustParsePrefix("198.18.16.0/20").Contains(has.Addr) {
		t.Errorf("the claim has %v", has)
	}
	b.expectCalls("by id", logIn, extensions, list, create)
	b.pool.Source.Subnet = &ipamv1.FloatingSubnet{Name: "public-b"}
	if _, err := b.acquire(b.ctx(), claim("next", "next")); reasonOf(err) != "PoolNotReady" || !strings.Contains(err.Error(), "subnet") {
		t.Errorf("by name: %v", err)
	}
	var fault *external.FaultError
	if _, err := b.Identify(b.ctx(), b.pool); !errors.As(err, &fault) || fault.Reason != ipamv1.PoolReadyNetworkNotFoundReason || !strings.Contains(fault.Message, "subnet") {
		t.Errorf("the pool is told %v", err)
	}
	b.pool.Source.Subnet = &ipamv1.FloatingSubnet{ID: "00000000-0000-0000-0000-000000000000"}
	if _, err := b.acquire(b.ctx(), claim("next", "next")); reasonOf(err) != "PoolNotReady" {
		t.Errorf("by a wrong id: %v", err)
	}
}
