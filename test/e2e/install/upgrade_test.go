// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// What a create meets.
const (
	complete  = "stored with all that the webhooks add"
	unguarded = "stored while a webhook was missing"
	refused   = "refused"
	// forged is a record of somebody who may not write any, in a dry run.
	forged = "forged records that no policy and no webhook refused"
)

// pace is how long each creator leaves off after a create.
var pace = size.Of[time.Duration](500, 20, 20) * time.Millisecond

// traffic creates claims without end, and notes what becomes of them.
type traffic struct {
	client    client.Client
	end       chan struct{}
	creators  sync.WaitGroup
	mu        sync.Mutex
	met       map[string]*span
	committed map[string]string
	refusals  map[string]error
}

// span is how often creates have met something, and from when until when.
type span struct {
	number      int
	first, last time.Time
}

// startTraffic creates IPClaims, IPAddressClaims and forged records, each at its pace.
func startTraffic(ctx context.Context, name string) *traffic {
	GinkgoHelper()
	t := &traffic{
		client: k, end: make(chan struct{}), met: map[string]*span{}, committed: map[string]string{}, refusals: map[string]error{},
	}
	forger := as(ctx, "forger")
	for _, create := range []func(i int){
		func(i int) { t.claim(ctx, fmt.Sprintf("%s-prefix-%d", name, i)) },
		func(i int) { t.claimAddress(ctx, fmt.Sprintf("%s-address-%d", name, i)) },
		func(int) {
			if forger.Create(ctx, record(machines, "forged"), client.DryRunAll) == nil {
				t.note(forged)
			}
		},
	} {
		t.creators.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-t.end:
					return
				case <-time.After(pace):
					create(i)
				}
			}
		})
	}
	return t
}

func (t *traffic) claim(ctx context.Context, name string) {
	c := builder.IPClaim(machines, name).From(ipamv1.IPPoolKind, "p").Build()
	err := t.client.Create(ctx, c)
	t.created("IPClaims", name, c.Spec.CIDR, c.Spec.CIDR != "", err)
}

func (t *traffic) claimAddress(ctx context.Context, name string) {
	c := builder.IPAddressClaim(machines, name, ipamv1.IPPoolKind, "p").Build()
	err := t.client.Create(ctx, c)
	t.created("IPAddressClaims", name, "", len(c.Finalizers) > 0, err)
}

// created notes the outcome of a claim's create, and the prefix that it was answered with.
func (t *traffic) created(kind, name, cidr string, isComplete bool, err error) {
	outcome := unguarded
	switch {
	case err != nil:
		outcome = refused
	case isComplete:
		outcome = complete
	}
	t.note(kind + " " + outcome)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.refusals[name] = err
		return
	}
	t.committed[name] = cidr
}

func (t *traffic) note(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.met[what]
	if s == nil {
		s = &span{first: time.Now()}
		t.met[what] = s
	}
	s.number++
	s.last = time.Now()
}

// stop ends the creators, prints what they met, and returns how often they met each.
func (t *traffic) stop(way string) map[string]int {
	close(t.end)
	t.creators.Wait()
	numbers := map[string]int{}
	for _, what := range slices.Sorted(maps.Keys(t.met)) {
		s := t.met[what]
		numbers[what] = s.number
		framework.Account(fmt.Sprintf("%s: %d %s, within %.1f s", way, s.number, what, s.last.Sub(s.first).Seconds()))
	}
	return numbers
}

// expectEachAnswered waits until every claim that was stored is answered, with what its create said, and expects that none that was refused is
// stored, and that the checker finds nothing.
func (t *traffic) expectEachAnswered(ctx context.Context) {
	GinkgoHelper()
	for name, err := range t.refusals {
		Expect(apierrors.ReasonForError(err)).NotTo(Equal(metav1.StatusReasonUnknown), "%s: %v", name, err)
	}
	By("waiting until each claim is answered")
	Eventually(func(g Gomega) {
		found := t.answers(ctx, g)
		for name, cidr := range t.committed {
			g.Expect(found).To(HaveKeyWithValue(name, And(Not(BeEmpty()), HavePrefix(cidr))))
		}
		for name := range t.refusals {
			g.Expect(found).NotTo(HaveKey(name))
		}
	}, patience, "500ms").Should(Succeed())
	By("having the checker look at it")
	suite.AtRest(ctx, site.Config(), suite.Safe)
}

// answers returns what all stored claims have, by their names; nothing for one that waits.
func (t *traffic) answers(ctx context.Context, g Gomega) map[string]string {
	found := map[string]string{}
	claims, own := &ipamv1beta2.IPAddressClaimList{}, &ipamv1.IPClaimList{}
	g.Expect(t.client.List(ctx, claims, client.InNamespace(machines))).To(Succeed())
	g.Expect(t.client.List(ctx, own, client.InNamespace(machines))).To(Succeed())
	answered := addresses(ctx)
	for i := range claims.Items {
		found[claims.Items[i].Name] = answered[claims.Items[i].Name]
	}
	for i := range own.Items {
		c := &own.Items[i]
		found[c.Name] = ""
		if conditions.IsTrue(c, ipamv1.ReadyCondition) && c.Status.AllocatedCIDR == c.Spec.CIDR {
			found[c.Name] = c.Spec.CIDR
		}
	}
	return found
}

// stopWithPods stops a manager as a kubelet would: when its Deployment is scaled down, or is gone.
func stopWithPods(ctx context.Context, deployment *appsv1.Deployment, m *framework.Manager) error {
	err := wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err := k.Get(ctx, client.ObjectKeyFromObject(deployment), deployment)
		return apierrors.IsNotFound(err) || ptr.Deref(deployment.Spec.Replicas, 1) == 0, client.IgnoreNotFound(err)
	})
	if err != nil {
		return err
	}
	return m.Stop()
}
