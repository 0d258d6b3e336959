// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"fmt"
	"maps"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack/fake"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// failure is how each request of a call ends, until the fault does, and what claims are told of it then.
type failure struct {
	fake.Fault

	told string
	// isDone: a change was executed all the same, so that nothing is told, and the next search finds out.
	isDone bool
}

// failures are all of them, by what titles say.
func failures() map[string]failure {
	const silent = "does not answer as it should"
	all := map[string]failure{
		"an answer cut off":                  {Fault: fake.Fault{Effect: fake.CutAnswer}, told: silent, isDone: true},
		"no answer, executed":                {Fault: fake.Fault{Effect: fake.CutAfter}, told: silent, isDone: true},
		"no answer, not executed":            {Fault: fake.Fault{Effect: fake.CutBefore}, told: silent},
		"a page of a load balancer with 502": {Fault: fake.Fault{Effect: fake.Refuse, Code: http.StatusBadGateway, Body: "<html>"}, told: silent},
		"executed, and answered with 500":    {Fault: fake.Fault{Effect: fake.RefuseLate, Code: http.StatusInternalServerError}, told: silent, isDone: true},
	}
	for code, told := range map[int]string{
		http.StatusUnauthorized: "refuses the log-in", http.StatusForbidden: "forbids", http.StatusNotFound: silent, http.StatusConflict: "refuses the change",
		http.StatusPreconditionFailed: "refuses the change", http.StatusRequestEntityTooLarge: "wants fewer calls", http.StatusTooManyRequests: "wants fewer calls",
		http.StatusInternalServerError: silent, http.StatusServiceUnavailable: silent, http.StatusGatewayTimeout: silent,
	} {
		all[fmt.Sprint(code)] = failure{Fault: fake.Fault{Effect: fake.Refuse, Code: code}, told: told}
	}
	size.FromLong(func() { // the manager gives a call up after 15 seconds
		all["a timeout"] = failure{Fault: fake.Fault{Effect: fake.Late}, told: silent, isDone: true}
	})
	return all
}

// failing is a call that fails while a claim is answered or released.
type failing struct {
	call string
	// fields are those of the pool.
	fields []string
	// releases: the claim is released.
	releases bool
	// changes: the call changes something.
	changes bool
	// prepare makes what leads to the call, which fails already.
	prepare func(ctx context.Context, s *spec, key types.UID, c *ipamv1beta2.IPAddressClaim)
}

// callsThatFail are the calls that a claim leads to, by what titles say: from the size long on all of them.
func callsThatFail() map[string]failing {
	all := map[string]failing{
		"the log-in before a release": {call: "LogIn", releases: true, prepare: logsInAnew},
		"the creation":                {call: "CreateFloatingIP", changes: true},
		"the deletion":                {call: "DeleteFloatingIP", releases: true, changes: true},
	}
	size.FromLong(func() {
		maps.Copy(all, map[string]failing{
			"the log-in before an allocation":             {call: "LogIn", prepare: logsInAnew},
			"the list of extensions":                      {call: "ListExtensions", prepare: logsInAnew},
			"the search of an allocation":                 {call: "ListFloatingIPs"},
			"the search of a release":                     {call: "ListFloatingIPs", releases: true},
			"the tags of a new floating IP":               {call: "TagFloatingIP", changes: true, fields: []string{"tags: [weir]"}},
			"the description that takes one of the stock": {call: "DescribeFloatingIP", changes: true, prepare: leavesStock},
			"the look at what an earlier try has left":    {call: "GetFloatingIP", prepare: leavesItsOwn},
			"the description that keeps one for others":   {call: "DescribeFloatingIP", releases: true, changes: true, fields: []string{"reclaimPolicy: Retain"}},
		})
	})
	return all
}

// logsInAnew has the manager log in for its next call.
func logsInAnew(ctx context.Context, s *spec, _ types.UID, _ *ipamv1beta2.IPAddressClaim) {
	s.setSecret(ctx, append(s.CloudsYAML(), "\n# another\n"...))
}

func leavesStock(ctx context.Context, s *spec, key types.UID, _ *ipamv1beta2.IPAddressClaim) {
	s.madeWith(ctx, fmt.Sprintf("weir/1/%s/-", key))
}

func leavesItsOwn(ctx context.Context, s *spec, key types.UID, c *ipamv1beta2.IPAddressClaim) {
	s.madeWith(ctx, fmt.Sprintf("weir/1/%s/%s/%s/%s", key, c.UID, s.ns, c.Name))
}

// broken is a cloud of its own with one failure, a pool, and the claim that meets that.
type broken struct {
	*spec
	failing
	failure

	key   types.UID
	claim *ipamv1beta2.IPAddressClaim
}

// breakCloud has a call fail, and begins what leads to it.
func (f failing) breakCloud(ctx context.Context, kind string, how failure) *broken {
	GinkgoHelper()
	b := &broken{spec: &spec{kind: kind, filter: suiteFilter}, failing: f, failure: how}
	b.open(ctx, "fake")
	b.key = b.pool(ctx, f.fields...).GetUID()
	b.claim = b.newClaim("a")
	if f.releases {
		Expect(k.Create(ctx, b.claim)).To(Succeed())
		b.allocated(ctx, b.claim)
	} else {
		metav1.SetMetaDataAnnotation(&b.claim.ObjectMeta, clusterv1.PausedAnnotation, "")
		Expect(k.Create(ctx, b.claim)).To(Succeed())
		hasCondition(ctx, b.claim, clusterv1.PausedCondition, metav1.ConditionTrue, clusterv1.PausedReason)
	}
	fault := how.Fault
	fault.Call, fault.Times = f.call, -1
	b.fake().Inject(fault)
	if f.prepare != nil {
		f.prepare(ctx, b.spec, b.key, b.claim)
	}
	if f.releases {
		Expect(k.Delete(ctx, b.claim)).To(Succeed())
	} else {
		suite.Change(ctx, k, b.claim, func() { delete(b.claim.Annotations, clusterv1.PausedAnnotation) })
	}
	return b
}

// isTold waits until the claim says why it waits; not of what the next search finds out, or is done in another way.
func (b *broken) isTold(ctx context.Context) {
	GinkgoHelper()
	isFreed := b.call == "DeleteFloatingIP" && b.Code == http.StatusForbidden
	switch {
	case isFreed, b.isDone && b.changes:
		b.ends(ctx)
	case b.releases:
		b.isKept(ctx, b.claim, ipamv1.WaitingForCloudReason, b.told)
	default:
		b.refused(ctx, b.claim, ipamv1.ClaimReadyPoolNotReadyReason, b.told)
	}
}

// ends waits until the claim is answered, or released.
func (b *broken) ends(ctx context.Context) {
	GinkgoHelper()
	if b.releases {
		b.gone(ctx, b.claim)
		return
	}
	b.allocated(ctx, b.claim)
	Expect(b.owned(ctx, b.claim)).To(HaveLen(1))
	b.isBalanced(ctx)
}

// mend ends the failure, waits for what the claim is to come to, and expects that nothing is left but what is free.
func (b *broken) mend(ctx SpecContext) {
	GinkgoHelper()
	b.fake().ClearFaults()
	b.ends(ctx)
	if !b.releases {
		b.deleted(ctx, b.claim)
	}
	for _, free := range b.outside(ctx) {
		b.discard(ctx, free.ID, fmt.Sprintf("weir/1/%s/-", b.key))
	}
	b.close(ctx)
}

var _ = Describe("A call of the cloud that fails each time", onFakeOnce(func(s *spec) {
	for name, f := range callsThatFail() {
		It("(401, 403, 404, 409, 412, 413, 429, 5xx, no answer, half of one, executed or not) is told with its cause, and nothing is lost or made twice: "+name, func(ctx SpecContext) {
			ways := failures()
			all := make([]*broken, 0, len(ways))
			for sentence, how := range ways {
				By(sentence)
				all = append(all, f.breakCloud(ctx, s.kind, how))
			}
			for _, b := range all {
				b.isTold(ctx)
			}
			for _, b := range all {
				b.mend(ctx)
			}
		}, SpecTimeout(limit))
	}

	It("(401, 403, 404, 409, 412, 413, 429, 5xx, no answer, half of one) is told with its cause by a pool that is looked for", func(ctx SpecContext) {
		pools := map[*spec]suite.Conditioned{}
		for sentence, how := range failures() {
			By(sentence)
			other := &spec{kind: s.kind, filter: suiteFilter}
			other.open(ctx, "fake")
			fault := how.Fault
			fault.Call, fault.Times = "ListNetworks", -1
			other.fake().Inject(fault)
			pools[other] = other.newPool("p", "floatingNetwork: {name: public}")
			Expect(k.Create(ctx, pools[other])).To(Succeed())
			reason, words := ipamv1.PoolReadyCloudUnavailableReason, "ListNetworks"
			if fault.Code == http.StatusUnauthorized || fault.Code == http.StatusForbidden {
				reason = ipamv1.PoolReadyAuthenticationFailedReason
			}
			if fault.Code != 0 {
				words = fmt.Sprintf("(%d)", fault.Code)
			}
			hasCondition(ctx, pools[other], ipamv1.ReadyCondition, metav1.ConditionFalse, reason, words)
		}
		for other, p := range pools {
			other.fake().ClearFaults()
			Eventually(func(g Gomega) { // it does not wait for the manager's timers
				g.Expect(k.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
				if isReady := meta.IsStatusConditionTrue(p.GetConditions(), ipamv1.ReadyCondition); !isReady {
					other.compare(ctx, p)
					g.Expect(isReady).To(BeTrue(), "%v", p.GetConditions())
				}
			}, patience, "1s").Should(Succeed())
			other.close(ctx)
		}
	}, SpecTimeout(limit))
}))
