// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package floatingips

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/faults"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

const (
	// inUse is the finalizer of a consumer that has bound what a claim was told.
	inUse = "example.com/in-use"
	// namesEach is how many names of claims a consumer has: each is used again and again.
	namesEach = 6
)

// consumer makes claims of a world under names of its own.
type consumer struct {
	*race

	side   *side
	world  *world
	prefix string
	random *rand.Rand
}

// run makes claims until its side has had enough of them: what is quick leaves the machine to what is slow.
func (u *consumer) run(ctx context.Context) {
	for ctx.Err() == nil && !u.hasEnough(u.side) {
		u.live(ctx, fmt.Sprintf("%s-%d", u.prefix, u.random.IntN(namesEach)))
		faults.Sleep(ctx, faults.UpTo(u.random, 100*time.Millisecond))
	}
	<-ctx.Done()
}

// live makes a claim, or takes one that was left, uses what it is told, and mostly deletes it.
func (u *consumer) live(ctx context.Context, name string) {
	forever := context.WithoutCancel(ctx)
	claim := u.world.claim(name)
	err := k.Create(forever, claim)
	if apierrors.IsAlreadyExists(err) {
		err = k.Get(forever, client.ObjectKeyFromObject(claim), claim)
	}
	if err != nil || !claim.DeletionTimestamp.IsZero() { // the one before has not gone yet
		Expect(client.IgnoreNotFound(ignorePassing(err))).To(Succeed())
		if err == nil && time.Since(claim.DeletionTimestamp.Time) > 2*time.Second {
			Expect(ignorePassing(poke(forever, claim))).To(Succeed())
		}
		return
	}
	if u.random.IntN(6) == 0 { // it does not wait
		faults.Sleep(ctx, faults.UpTo(u.random, time.Second))
		u.delete(forever, claim)
		return
	}
	patience := u.side.load.patience
	u.use(ctx, claim, u.wait(ctx, claim, patience/4+faults.UpTo(u.random, 3*patience/4)))
}

// use does with the address of a claim what consumers do.
func (u *consumer) use(ctx context.Context, claim *ipamv1beta2.IPAddressClaim, address netip.Addr) {
	forever := context.WithoutCancel(ctx)
	isBinding := address.IsValid() && u.random.IntN(u.side.load.bindings) == 0
	switch n := u.random.IntN(6); {
	case !isBinding && n > 0:
		u.delete(forever, claim)
	case !isBinding: // it stays for the next time
	case n < 2: // as CAPO does
		u.finalize(forever, claim, true)
		port := u.attach(forever, claim, address)
		faults.Sleep(ctx, faults.UpTo(u.random, time.Second))
		u.delete(forever, claim)
		u.detach(forever, port)
		u.finalize(forever, claim, false)
	case n < 4:
		port := u.attach(forever, claim, address)
		u.detach(forever, port)
		u.delete(forever, claim)
	default:
		u.leave(ctx, claim, address)
	}
}

// wait returns the address that a claim is told within some time; the zero value for none.
func (u *consumer) wait(ctx context.Context, claim *ipamv1beta2.IPAddressClaim, patience time.Duration) netip.Addr {
	now := claim.DeepCopy()
	const pause = 100 * time.Millisecond
	var pokes poker
	for end := time.Now().Add(patience); time.Now().Before(end) && ctx.Err() == nil; faults.Sleep(ctx, pause) {
		if pokes.isTime(poker(u.side.load.patience / 10 / pause)) {
			u.poke(ctx, claim)
		}
		err := u.known.Get(ctx, client.ObjectKeyFromObject(claim), now)
		if err != nil || now.UID != claim.UID || !isTold(now) {
			continue
		}
		answer := &ipamv1beta2.IPAddress{}
		if err := k.Get(ctx, client.ObjectKey{Namespace: claim.Namespace, Name: now.Status.AddressRef.Name}, answer); err != nil {
			Expect(apierrors.IsNotFound(err)).To(BeFalse(), "claim %s is told an IPAddress that is not there", claim.UID)
			continue
		}
		u.register.see(answer)
		return netip.MustParseAddr(answer.Spec.Address)
	}
	return netip.Addr{}
}

// poke pokes a claim that nobody but this consumer deletes.
func (u *consumer) poke(ctx context.Context, claim *ipamv1beta2.IPAddressClaim) {
	now := &ipamv1beta2.IPAddressClaim{}
	err := k.Get(ctx, client.ObjectKeyFromObject(claim), now)
	isGone := apierrors.IsNotFound(err) || err == nil && now.UID != claim.UID
	Expect(isGone).To(BeFalse(), func() string {
		return fmt.Sprintf("claim %s %s has gone, and nobody has deleted it; now %s\n%s", claim.Name, claim.UID, now.UID, u.journal.Of(string(claim.UID)))
	})
	if err == nil {
		Expect(ignorePassing(poke(ctx, now))).To(Succeed())
	}
}

func (u *consumer) delete(ctx context.Context, claim *ipamv1beta2.IPAddressClaim) {
	u.register.deleting(claim, u.world.project)
	patiently(func() error {
		return client.IgnoreNotFound(k.Delete(ctx, claim, client.Preconditions{UID: &claim.UID}))
	})
}

// attach binds the floating IP of a claim that lives to a new port.
func (u *consumer) attach(ctx context.Context, claim *ipamv1beta2.IPAddressClaim, address netip.Addr) (port string) {
	patiently(func() error {
		f, isThere, err := u.world.project.at(ctx, address)
		if err != nil {
			return err
		}
		_, owner, _, _ := suite.FloatingIPOwner(f)
		Expect(isThere && owner == claim.UID && f.PortID == "").To(BeTrue(), "floating IP %s of claim %s, which lives: %+v", address, claim.UID, f)
		port, err = u.world.project.bind(ctx, f.ID)
		return err
	})
	u.bound.Add(1)
	return port
}

func (u *consumer) detach(ctx context.Context, port string) {
	patiently(func() error { return u.world.project.cloud.Unbind(ctx, port) })
}

// leave deletes a claim whose floating IP is bound: that stays as long as it is.
func (u *consumer) leave(ctx context.Context, claim *ipamv1beta2.IPAddressClaim, address netip.Addr) {
	forever := context.WithoutCancel(ctx)
	port := u.attach(forever, claim, address)
	u.delete(forever, claim)
	faults.Sleep(ctx, faults.UpTo(u.random, 3*time.Second))
	patiently(func() error {
		f, isThere, err := u.world.project.at(forever, address)
		if err != nil {
			return err
		}
		_, owner, _, _ := suite.FloatingIPOwner(f)
		Expect(isThere && owner == claim.UID && f.PortID == port).To(BeTrue(), "floating IP %s was given back while a port had it: %+v", address, f)
		answer := &ipamv1beta2.IPAddress{}
		if err := k.Get(forever, client.ObjectKeyFromObject(claim), answer); err != nil {
			Expect(apierrors.IsNotFound(err)).To(BeFalse(), "the IPAddress of claim %s has gone while a port had %s", claim.UID, address)
			return err
		}
		return nil
	})
	u.detach(forever, port)
}

// finalize puts the finalizer on a claim, or takes it off.
func (u *consumer) finalize(ctx context.Context, claim *ipamv1beta2.IPAddressClaim, isOn bool) {
	patiently(func() error {
		now := &ipamv1beta2.IPAddressClaim{}
		if err := k.Get(ctx, client.ObjectKeyFromObject(claim), now); err != nil {
			Expect(apierrors.IsNotFound(err)).To(BeFalse(), "claim %s is gone while it is used", claim.UID)
			return err
		}
		now.Finalizers = slices.DeleteFunc(now.Finalizers, func(f string) bool { return f == inUse })
		if isOn {
			now.Finalizers = append(now.Finalizers, inUse)
		}
		return k.Update(ctx, now)
	})
}

// patiently does something until it succeeds: somebody may be faster, and what has too much to do too slow.
func patiently(do func() error) {
	GinkgoHelper()
	Eventually(do, patience, "100ms").Should(Succeed())
}

// ignorePassing leaves to the next time what the next try may get: somebody was faster, or the API server too slow.
func ignorePassing(err error) error {
	var status apierrors.APIStatus
	isRefused := errors.As(err, &status) && status.Status().Code < http.StatusInternalServerError
	if !isRefused || apierrors.IsConflict(err) || apierrors.IsTooManyRequests(err) {
		return nil
	}
	return err
}
