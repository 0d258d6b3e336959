// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack/fake"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// floatingIPsKilled: clusterctl dies while it creates and, called again, while it deletes. Then the cloud does not answer for a while.
func floatingIPsKilled(ctx SpecContext) {
	t, cloud := tenant{name: "floating-killed"}, startCloud()
	t.settleFloating(ctx, cloud)
	before := t.cloudBefore(ctx, left, cloud)

	By("killing clusterctl at the fourth IPAddress")
	killAt(ctx, left, right, t.name, moment{at: right, is: to(http.MethodPost, "/ipaddresses"), n: 4, loss: framework.ReplyLost})
	leftAlone(ctx, t)
	Expect(changed(before.had, book(ctx, left, t.name))).To(BeEmpty())
	Expect(cloud.Changes()).To(HaveLen(before.changes))

	By("calling clusterctl again, and killing it after it has deleted the third claim")
	unpause(ctx, left, t)
	killAt(ctx, left, right, t.name, moment{at: left, is: to(http.MethodDelete, "/ipaddressclaims/"), n: 3, loss: framework.ReplyLost})
	leftAlone(ctx, t)
	Expect(cloud.Changes()).To(HaveLen(before.changes))

	By("going on with the target while the cloud does not answer")
	cloud.Inject(fake.Fault{Effect: fake.Refuse, Code: http.StatusServiceUnavailable, Times: -1})
	unpause(ctx, right, t)
	claim := &ipamv1beta2.IPAddressClaim{ObjectMeta: t.named("old-floating-0")}
	expectReason(ctx, right, claim, ipamv1.ClaimReadyPoolNotReadyReason)
	Expect(cloud.Changes()).To(HaveLen(before.changes))
	cloud.ClearFaults()
	t.expectTakenOver(ctx, right, cloud, before)

	By("removing what is left on the source")
	finish(ctx, left, t)
	check(ctx)
	expectDescribed(cloud, before)
	t.releaseFloatingIPs(ctx, right, cloud)
	deletePool(ctx, right, &ipamv1.IPPool{ObjectMeta: t.named(floatingPool)})
}

// floatingIPsCopied: what is written to a directory and created from it lives on both sides, and the target has the floating IPs.
func floatingIPsCopied(ctx SpecContext) {
	t, cloud := tenant{name: "floating-copied"}, startCloud()
	t.settleFloating(ctx, cloud)
	setMode(ctx, left, t, ipamv1.DrainingMode)
	before := t.cloudBefore(ctx, left, cloud)

	By("copying")
	throughDirectory(ctx, t.name)
	t.expectTakenOver(ctx, right, cloud, before)

	By("living on both sides")
	hours(ctx, func() []string { return append(keptFor(ctx, left, t), keptFor(ctx, right, t)...) })
	check(ctx)
	Expect(changed(before.had, book(ctx, left, t.name))).To(BeEmpty())
	pool := &ipamv1.IPPool{ObjectMeta: t.named(floatingPool)}
	limit := int32(100)
	Eventually(func() string {
		limit++ // what differs is looked for when the spec changes
		suite.Change(ctx, left.Client(), pool, func() { pool.Spec.OpenStack.MaxIPs = &limit })
		return conditions.GetReason(pool, ipamv1.FloatingIPsCondition)
	}, "1m", "1s").Should(Equal(ipamv1.FloatingIPsMissingReason))

	By("deleting claims on the source, and removing the rest there")
	for _, name := range []string{"old-floating-0", "old-floating-1"} {
		claim := &ipamv1beta2.IPAddressClaim{ObjectMeta: t.named(name)}
		Expect(left.Client().Delete(ctx, claim)).To(Succeed())
		suite.Gone(ctx, left.Client(), claim)
	}
	pause(ctx, left, t)
	finish(ctx, left, t)
	check(ctx)
	expectDescribed(cloud, before)

	By("going on with the target")
	setMode(ctx, right, t, ipamv1.ServingMode)
	t.ask(ctx, right, "new", namespaced, 1, 0)
	awaitAnswers(ctx, right, t.name, len(before.had)+1)
	t.releaseFloatingIPs(ctx, right, cloud)
	deletePool(ctx, right, pool)
}
