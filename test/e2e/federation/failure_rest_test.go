// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// shownHeld is how many held blocks a condition names.
const shownHeld = 5

// rests waits until each claim is answered or told why not, each pool has its block or says why not, and the hub says of each block whose pool
// is gone that it is held.
func (o *ordeal) rests(ctx context.Context) {
	GinkgoHelper()
	Eventually(func() error {
		errs := make([]error, 0, 1+len(o.plots)*(1+len(members())))
		errs = append(errs, o.untoldHeld(ctx))
		for _, p := range o.plots {
			errs = append(errs, p.untoldPool(ctx))
			for _, c := range members() {
				errs = append(errs, p.untoldClaims(ctx, c))
			}
		}
		return errors.Join(errs...)
	}, "10m", "1s").Should(Succeed())
}

// ready returns an object's condition Ready. It errs where that says neither yes nor why not.
func ready(obj suite.Conditioned) (metav1.Condition, error) {
	c := meta.FindStatusCondition(obj.GetConditions(), ipamv1.ReadyCondition)
	if c == nil || c.Status != metav1.ConditionTrue && c.Message == "" {
		return metav1.Condition{}, fmt.Errorf("%T %s is told nothing", obj, client.ObjectKeyFromObject(obj))
	}
	return *c, nil
}

func (p *plot) untoldPool(ctx context.Context) error {
	stored := p.stored(ctx, hub)
	if stored == nil {
		return nil
	}
	c, err := ready(stored)
	records := slices.DeleteFunc(p.all.hub.InSpace(ctx), func(r ipamv1.IPAllocation) bool {
		return r.Spec.ClaimRef.UID != string(stored.GetUID()) || r.Spec.CIDR != stored.PoolSpec().CIDR || r.Spec.State != ipamv1.ConfirmedState
	})
	if err == nil && c.Status == metav1.ConditionTrue && (isDeleted(stored) || len(records) != 1) {
		return fmt.Errorf("pool %s is ready, deleted: %t, with %d records", stored.GetName(), isDeleted(stored), len(records))
	}
	return err
}

// untoldClaims errs for claims that know nothing, or wait although the copy is served: it has room for all.
func (p *plot) untoldClaims(ctx context.Context, member *cluster) error {
	copied := p.stored(ctx, member)
	isServed := copied != nil && !isDeleted(copied) && meta.IsStatusConditionTrue(copied.GetConditions(), ipamv1.ReadyCondition)
	found, failure := p.claimsAt(ctx, member)
	errs := append(make([]error, 0, 1+len(found)), failure)
	for _, item := range found {
		claim, _ := item.(suite.Conditioned)
		c, err := ready(claim)
		if err == nil && (!claim.GetDeletionTimestamp().IsZero() || isServed && c.Status != metav1.ConditionTrue) {
			err = fmt.Errorf("%T %s at %s, whose pool is served: %t, is at %s: %s", claim, client.ObjectKeyFromObject(claim), member.name, isServed, c.Reason, c.Message)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// untoldHeld errs unless the root's condition BlocksHeld is about the very blocks whose pools are gone.
func (o *ordeal) untoldHeld(ctx context.Context) error {
	held := make([]ipamv1.IPAllocation, 0, len(o.plots))
	for _, p := range o.plots {
		held = append(held, p.held(ctx)...)
	}
	root := o.root(commons).Build()
	if err := o.hub.Client.Get(ctx, client.ObjectKeyFromObject(root), root); err != nil {
		return err
	}
	message := ""
	if c := meta.FindStatusCondition(root.GetConditions(), ipamv1.BlocksHeldCondition); c != nil {
		message = c.Message
	}
	named := slices.DeleteFunc(slices.Clone(held), func(r ipamv1.IPAllocation) bool {
		return !strings.Contains(message, r.Spec.CIDR+" is delegated to "+r.Spec.DelegatedTo+" and ")
	})
	if (message == "") != (len(held) == 0) || len(named) != min(len(held), shownHeld) {
		return fmt.Errorf("%d blocks are held, and the hub says: %s", len(held), message)
	}
	return nil
}

// ends deletes claims and pools, and sees to what is held and waits for an operator, until the hub has all back.
func (o *ordeal) ends(ctx context.Context) {
	GinkgoHelper()
	Eventually(func() error {
		for _, p := range o.plots {
			p.end(ctx)
		}
		var left []error
		for at, s := range map[string]*suite.Spec{"the hub": o.hub, edgeA.name: o.a, edgeB.name: o.b} {
			for _, r := range s.InSpace(ctx) {
				isDone := r.Spec.Purpose == ipamv1.HandBackPurpose || at == "the hub" && r.Spec.IsRootBlock()
				if !isDone {
					left = append(left, fmt.Errorf("%s has %s for %s %s", at, r.Spec.CIDR, r.Spec.ClaimRef.Kind, r.Spec.ClaimRef.Name))
				}
			}
		}
		return errors.Join(append(left, o.untoldHeld(ctx))...)
	}, "10m", "1s").Should(Succeed())
}

// end does what is to be done now. A pool whose copy came when its block had been handed back for another template waits for an operator, too.
func (p *plot) end(ctx context.Context) {
	GinkgoHelper()
	stored := p.stored(ctx, hub)
	for _, c := range members() {
		p.releaseAt(ctx, c)
		_ = c.Client().Delete(ctx, p.lab(c, ""))
		copied := p.stored(ctx, c)
		switch {
		case copied == nil:
		case stored == nil || stored.PoolSpec().DelegateTo != c.name || stored.PoolSpec().CIDR != copied.PoolSpec().CIDR:
			_ = c.Client().Delete(ctx, copied)
		case copied.PoolSpec().Mode == ipamv1.ClosingMode && !p.hasHandedBack(ctx, c, string(stored.GetUID())) && p.isUnused(ctx, c, stored.PoolSpec().CIDR):
			p.forceRelease(ctx, stored)
		}
	}
	switch {
	case stored != nil && !isDeleted(stored):
		_ = p.hub.Client.Delete(ctx, stored)
	case stored != nil:
		p.force(ctx)
	case p.random.IntN(2) > 0:
		p.deleteRecord(ctx)
	default:
		again((*plot).sameBlock)(p, ctx)
	}
}
