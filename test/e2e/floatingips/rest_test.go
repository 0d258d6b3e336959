// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package floatingips

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// rest waits until everything is at rest: each claim is told, and floating IPs, records and IPAddresses are the same, but for what is tolerated.
func (r *race) rest(ctx context.Context) {
	GinkgoHelper()
	var found []string
	var pokes poker
	Eventually(func() []string {
		var err error
		if pokes.isTime(50) {
			err = r.pokeAll(ctx)
		}
		if err == nil {
			found, err = r.unrest(ctx)
		}
		if err != nil {
			found = []string{err.Error()}
		}
		return found
	}, patience, "200ms").Should(BeEmpty(), func() string { return r.storyOf(strings.Join(found, "\n")) })
	suite.AtRest(ctx, site.Config())
	r.expectSafe(ctx)
}

// unrest says what is not at rest yet.
func (r *race) unrest(ctx context.Context) (found []string, err error) {
	for _, s := range r.sides {
		claims, err := s.claims(ctx)
		if err != nil {
			return nil, err
		}
		for i := range claims {
			if !isTold(&claims[i]) {
				found = append(found, fmt.Sprintf("claim %s %s is not answered, or not gone: %v", claims[i].Name, claims[i].UID, claims[i].Status.Conditions))
			}
		}
		differences, err := r.differences(ctx, s, claims)
		if err != nil {
			return nil, err
		}
		found = append(found, differences...)
	}
	return found, nil
}

// differences says how the floating IPs of a cloud differ from records, IPAddresses and claims, but for what is tolerated.
func (r *race) differences(ctx context.Context, s *side, claims []ipamv1beta2.IPAddressClaim) (found []string, err error) {
	if s.fake != nil && s.fake.Active() > 0 {
		return []string{"calls are under way"}, nil
	}
	own, err := s.own(ctx)
	if err != nil {
		return nil, err
	}
	s.tolerated = r.tolerate(s, own, claims)
	own = slices.DeleteFunc(own, func(f floatingIP) bool { return slices.ContainsFunc(s.tolerated.all(), isOf(f.ID)) })
	return suite.FloatingIPAccount(ctx, k, []string{s.network}, own)
}

// claims returns those of all worlds.
func (s *side) claims(ctx context.Context) (all []ipamv1beta2.IPAddressClaim, err error) {
	for _, w := range s.worlds {
		list := &ipamv1beta2.IPAddressClaimList{}
		if err := k.List(ctx, list, client.InNamespace(w.name)); err != nil {
			return nil, err
		}
		all = append(all, list.Items...)
	}
	return all, nil
}

// pokeAll has the managers look at all claims that are not told.
func (r *race) pokeAll(ctx context.Context) error {
	for _, s := range r.sides {
		claims, err := s.claims(ctx)
		if err != nil {
			return err
		}
		for i := range claims {
			if isTold(&claims[i]) {
				continue
			}
			if err := ignorePassing(poke(ctx, &claims[i])); err != nil {
				return err
			}
		}
	}
	return nil
}

// tolerated are floating IPs of Weir's that are not recorded, and have never been: docs/design/known-gaps.md. A port has none of them.
type tolerated struct {
	// surplus are of claims that live and are told another one. Two were created for the claim. It goes with the claim.
	surplus []floatingIP
	// late are of claims that have gone, and were created when the claim's deletion had begun: who released it could not see them.
	late []floatingIP
}

func (t tolerated) all() []floatingIP { return slices.Concat(t.surplus, t.late) }

func (r *race) tolerate(s *side, own []floatingIP, claims []ipamv1beta2.IPAddressClaim) (t tolerated) {
	for _, f := range own {
		_, uid, _, isOwned := suite.FloatingIPOwner(f)
		l, isKnown := r.register.get(string(uid))
		lives := slices.ContainsFunc(claims, func(c ipamv1beta2.IPAddressClaim) bool { return c.UID == uid })
		switch {
		case !isOwned || !isKnown || f.PortID != "" || slices.Contains(l.records, f.ID):
		case lives && len(l.answers) > 0 && !slices.Contains(l.answers, f.Address.String()):
			t.surplus = append(t.surplus, f)
		case !lives && !l.dying.IsZero() && s.isMadeAfter(f, l):
			t.late = append(t.late, f)
		}
	}
	return t
}

// isMadeAfter says whether a floating IP was created when its claim's deletion had begun. A real cloud tells the second.
func (s *side) isMadeAfter(f floatingIP, l life) bool {
	if s.fake != nil {
		return s.creations()[f.ID] >= l.dyingSince
	}
	return !f.CreatedAt.Before(l.dying.Truncate(time.Second))
}

// describe says how many floating IPs are tolerated, and how they came to be.
func (r *race) describe(what string, which func(tolerated) []floatingIP) {
	for _, s := range r.sides {
		all := which(s.tolerated)
		framework.Account(fmt.Sprintf("%d floating IPs %s", len(all), what))
		for _, f := range all {
			_, uid, _, _ := suite.FloatingIPOwner(f)
			l, _ := r.register.get(string(uid))
			framework.Account(fmt.Sprintf("%s (%s), created %s: %s", f.Address, f.ID, s.creationOf(f), &l))
		}
	}
}

func (s *side) creationOf(f floatingIP) string {
	if s.fake == nil {
		return "at " + f.CreatedAt.String()
	}
	i := s.creations()[f.ID]
	change := s.fake.Changes()[i]
	return fmt.Sprintf("by change %d (fault %q, client gone %t)", i, change.Fault, change.IsGone)
}

// deleteClaims deletes every claim, and waits until nothing is left of them.
func (r *race) deleteClaims(ctx context.Context) {
	GinkgoHelper()
	for _, s := range r.sides {
		var claims []ipamv1beta2.IPAddressClaim
		patiently(func() (err error) { claims, err = s.claims(ctx); return err })
		for i := range claims {
			r.register.deleting(&claims[i], s.project)
			patiently(func() error { return client.IgnoreNotFound(k.Delete(ctx, &claims[i])) })
		}
	}
	r.rest(ctx)
	left := &ipamv1.IPAllocationList{}
	patiently(func() error { return k.List(ctx, left) })
	Expect(left.Items).To(BeEmpty())
}

// deletePools deletes the pools, and expects that nothing is left but what is others', as it was, and what was created too late.
func (r *race) deletePools(ctx context.Context) {
	GinkgoHelper()
	for _, s := range r.sides {
		for _, w := range s.worlds {
			w.deletePool(ctx)
		}
		all, err := s.all(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(s.changed(all)).To(BeEmpty())
		Expect(all).To(HaveLen(len(s.strangers) + len(s.tolerated.late)))
	}
}

// expectHistory expects that nothing was ever wrong, and that there was something that might have been.
func (r *race) expectHistory(ctx context.Context) {
	GinkgoHelper()
	var moment *framework.Moment
	Eventually(func(g Gomega) {
		var err error
		moment, err = r.history.Now(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(moment.Late).To(BeEmpty(), "they were made when nobody used their claim any more")
	}, patience, "1s").Should(Succeed())
	Expect(moment.Findings).To(BeEmpty())
	framework.Account(fmt.Sprint("history: ", moment.Account))
	Expect(moment.Account.Reuses).To(BeNumerically(">", 0))
	for _, s := range r.sides {
		if s.fake != nil {
			found := strings.Join(s.misdeeds(r.register.isReleased), "\n")
			Expect(found).To(BeEmpty(), func() string { return r.journal.Of(found) })
		}
	}
}
