// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/faults"
)

const (
	// users are the clients.
	users = 50
	// possessions is how much each of them holds, at most.
	possessions = 6
	// patience is how long a client waits for an answer to a request, and repeats it when told to.
	patience = 30 * time.Second
	// names is how many claims of each kind there are in a pool whose names come again and again.
	names = 6
	// keeps is how many names of a pool prefixes are retained for.
	keeps = 3

	// attemptAnnotation tells whose attempt has made an object.
	attemptAnnotation = "test.weir.dev/attempt"

	dryPrefix  = "dry-"
	keepPrefix = "keep-"
)

// user makes and deletes claims and pools, one after the other.
type user struct {
	api    client.Client
	random *rand.Rand
	id     int
	view   *clientView
	tally  *tally

	made  int
	holds []client.Object
	whats []told
}

// run goes on until ctx ends. What the user holds then stays.
func (u *user) run(ctx context.Context) {
	for ctx.Err() == nil {
		if len(u.holds) > 0 && u.random.IntN(possessions) < len(u.holds) {
			u.give(context.WithoutCancel(ctx))
		} else {
			u.ask(context.WithoutCancel(ctx))
		}
		faults.Sleep(ctx, faults.UpTo(u.random, 300*time.Millisecond))
	}
}

// ask creates something.
func (u *user) ask(ctx context.Context) {
	from := sources[u.random.IntN(len(sources))]
	u.made++
	switch u.random.IntN(12) {
	case 0, 1:
		u.carve(ctx)
	case 2:
		u.rehearse(ctx, from)
	case 3:
		u.askCAPI(ctx, from)
	case 4:
		claim := from.claim(fmt.Sprintf("asked-%s-%d", from.name, u.random.IntN(names)), 32)
		claim.Spec.PrefixLength = nil
		claim.Spec.CIDR = u.wish(from)
		u.claim(ctx, claim, from)
	case 5:
		i := u.random.IntN(keeps)
		claim := from.claim(fmt.Sprintf("%s%s-%d", keepPrefix, from.name, i), 32-int32(i%2))
		claim.Spec.ReclaimPolicy = ipamv1.ClaimReclaimRetain
		u.claim(ctx, claim, from)
	case 6, 7:
		u.claim(ctx, from.claim(fmt.Sprintf("made-%d-", u.id), from.length(u.random)), from)
	default:
		u.claim(ctx, from.claim(fmt.Sprintf("named-%s-%d", from.name, u.random.IntN(names)), from.length(u.random)), from)
	}
}

// wish is some prefix in the block of the pool's root.
func (u *user) wish(from *source) string {
	for from.parent != nil {
		from = from.parent
	}
	block := netip.MustParsePrefix(from.cidr)
	bytes := block.Addr().As4()
	for i := 1; i <= 2; i++ {
		bytes[4-i] |= byte(u.random.IntN(256) & (1<<min(8, max(0, 32-block.Bits()-8*(i-1))) - 1))
	}
	return netip.PrefixFrom(netip.AddrFrom4(bytes), int(from.length(u.random))).Masked().String()
}

// claim creates a claim, which is answered with what it gets.
func (u *user) claim(ctx context.Context, claim *ipamv1.IPClaim, from *source) {
	if !u.create(ctx, claim) {
		return
	}
	cidr, err := netip.ParsePrefix(claim.Spec.CIDR)
	Expect(err).NotTo(HaveOccurred(), "the claim %s was stored without a prefix", claim.Name)
	u.take(claim, told{cidr: cidr, from: from, name: claim.Name})
	if strings.HasPrefix(claim.Name, keepPrefix) {
		u.tally.answered(claim.Name, cidr)
	}
}

// carve creates a child pool.
func (u *user) carve(ctx context.Context) {
	child := children[u.random.IntN(len(children))]
	pool := child.pool()
	if !u.create(ctx, pool) {
		return
	}
	cidr, err := netip.ParsePrefix(specOf(pool).CIDR)
	Expect(err).NotTo(HaveOccurred(), "the pool %s was stored without a block", pool.GetName())
	u.take(pool, told{cidr: cidr, from: child.parent, as: child, name: pool.GetName()})
}

func specOf(pool client.Object) *ipamv1.IPPoolSpec {
	p, ok := pool.(interface{ PoolSpec() *ipamv1.IPPoolSpec })
	Expect(ok).To(BeTrue())
	return p.PoolSpec()
}

// rehearse creates something as a dry run, which must leave nothing.
func (u *user) rehearse(ctx context.Context, from *source) {
	name := fmt.Sprintf("%s%d-%d", dryPrefix, u.id, u.made)
	var object client.Object = from.claim(name, from.length(u.random))
	if u.random.IntN(3) == 0 {
		object = children[u.random.IntN(len(children))].pool()
		object.SetName(name)
	}
	u.create(ctx, object, client.DryRunAll)
}

// askCAPI creates one of Cluster API's claims, and waits a moment for its answer.
func (u *user) askCAPI(ctx context.Context, from *source) {
	name := fmt.Sprintf("capi-%s-%d", from.name, u.random.IntN(names))
	claim := builder.IPAddressClaim(namespace, name, from.kind, from.name).Build()
	if !u.create(ctx, claim) {
		return
	}
	u.take(claim, told{from: from, name: name})
	for range 10 {
		faults.Sleep(ctx, 200*time.Millisecond)
		answered := &ipamv1beta2.IPAddressClaim{}
		if u.api.Get(ctx, client.ObjectKeyFromObject(claim), answered) != nil || answered.UID != claim.UID || answered.Status.AddressRef.Name == "" {
			continue
		}
		answer := &ipamv1beta2.IPAddress{}
		if u.api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: answered.Status.AddressRef.Name}, answer) != nil {
			return
		}
		address, err := netip.ParseAddr(answer.Spec.Address)
		Expect(err).NotTo(HaveOccurred())
		what := told{cidr: netip.PrefixFrom(address, 32), from: from, name: name}
		u.view.hold(claim.UID, what)
		u.whats[len(u.whats)-1] = what
		return
	}
}

// create says whether the object is stored for certain.
func (u *user) create(ctx context.Context, object client.Object, options ...client.CreateOption) bool {
	attempt := fmt.Sprintf("%d-%d", u.id, u.made)
	object.SetAnnotations(map[string]string{attemptAnnotation: attempt})
	unbounded := ctx
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := u.api.Create(ctx, object, options...)
	if describe(err) == "" && errors.Is(ctx.Err(), context.DeadlineExceeded) { // in the middle of waiting for a repetition
		err = ctx.Err()
	}
	u.tally.note(fmt.Sprintf("creating %T %s", object, object.GetName()), err)
	if describe(err) == timedOut && object.GetName() != "" {
		u.undo(unbounded, object, attempt)
	}
	return err == nil
}

// undo deletes what this attempt has made, as far as it has made anything. Else its name would not come again.
func (u *user) undo(ctx context.Context, object client.Object, attempt string) {
	faults.Sleep(ctx, requestTimeout)
	if u.api.Get(ctx, client.ObjectKeyFromObject(object), object) == nil && object.GetAnnotations()[attemptAnnotation] == attempt {
		_ = u.api.Delete(ctx, object, client.Preconditions{UID: ptr.To(object.GetUID())})
	}
}

func (u *user) take(object client.Object, what told) {
	u.holds, u.whats = append(u.holds, object), append(u.whats, what)
	if what.cidr.IsValid() {
		u.view.hold(object.GetUID(), what)
	}
}

// give deletes something that the user holds. A pool that something is handed out of he has to keep.
func (u *user) give(ctx context.Context) {
	i := u.random.IntN(len(u.holds))
	object, what := u.holds[i], u.whats[i]
	u.view.leave(object.GetUID())
	if claim, ok := object.(*ipamv1.IPClaim); ok && claim.Spec.ReclaimPolicy == ipamv1.ClaimReclaimRetain {
		u.tally.retain(claim.Name, what.cidr)
	}
	options := []client.DeleteOption{client.Preconditions{UID: ptr.To(object.GetUID())}}
	if u.random.IntN(5) == 0 {
		options = append(options, client.PropagationPolicy(metav1.DeletePropagationForeground))
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := u.api.Delete(ctx, object, options...)
	switch {
	case err == nil, apierrors.IsNotFound(err), apierrors.IsConflict(err):
		u.holds, u.whats = slices.Delete(u.holds, i, i+1), slices.Delete(u.whats, i, i+1)
	case apierrors.IsForbidden(err):
		u.tally.noteKept()
		u.view.hold(object.GetUID(), what)
	default: // it may be gone, or not
		u.tally.note("deleting "+what.name, err)
	}
}
