// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack/fake"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// wrongClouds is a clouds.yaml with a wrong password.
func (s *spec) wrongClouds() []byte {
	return bytes.ReplaceAll(s.CloudsYAML(), []byte(openstack.Password(openstack.Member)), []byte(wrongPassword))
}

var _ = Describe("The credentials of a pool of floating IPs", onFake(func(s *spec) {
	It("may be missing or wrong at first: the pool says what is wrong, and its claims wait", func(ctx SpecContext) {
		s.deleteSecret(ctx)
		p := s.newPool("p")
		Expect(k.Create(ctx, p)).To(Succeed())
		c := s.claim(ctx, "a")
		hasCondition(ctx, p, ipamv1.ReadyCondition, metav1.ConditionFalse, ipamv1.PoolReadyAuthenticationFailedReason, s.ns, "does not exist")
		s.refused(ctx, c, ipamv1.ClaimReadyPoolNotReadyReason)
		for name, wrong := range map[string]struct {
			clouds []byte
			reason string
			words  string
		}{
			"empty":      {nil, ipamv1.PoolReadyAuthenticationFailedReason, "clouds.yaml"},
			"unfinished": {[]byte("clouds: {member: {auth: {password: " + wrongPassword + "}}}"), ipamv1.PoolReadyAuthenticationFailedReason, "member"},
			"refused":    {s.wrongClouds(), ipamv1.PoolReadyAuthenticationFailedReason, "401"},
			"elsewhere":  {openstack.CloudsYAML("http://169.254.169.254/identity"), ipamv1.PoolReadyCloudUnavailableReason, "--openstack-endpoint-allow"},
		} {
			s.setSecretNamed(ctx, s.ns+"-"+name, wrong.clouds)
			suite.Change(ctx, k, p, func() { sourceOf(p).IdentityRef.Name = s.ns + "-" + name })
			hasCondition(ctx, p, ipamv1.ReadyCondition, metav1.ConditionFalse, wrong.reason, wrong.words)
			s.refused(ctx, c, ipamv1.ClaimReadyPoolNotReadyReason)
			Expect(s.outside(ctx)).To(BeEmpty())
		}
		s.setSecret(ctx, s.CloudsYAML())
		suite.Change(ctx, k, p, func() { sourceOf(p).IdentityRef.Name = s.ns })
		hasCondition(ctx, p, ipamv1.ReadyCondition, metav1.ConditionTrue, ipamv1.PoolReadyAvailableReason)
		s.allocated(ctx, c)
		s.isBalanced(ctx)
	}, SpecTimeout(limit))

	It("of another project than the pool's are refused: nothing is created there, and no claim is released", func(ctx SpecContext) {
		p := s.pool(ctx)
		had, f := s.newAllocated(ctx, "had")
		suite.Change(ctx, k, p, func() { sourceOf(p).IdentityRef.CloudName = openstack.Other })
		hasCondition(ctx, p, ipamv1.ReadyCondition, metav1.ConditionFalse, ipamv1.PoolReadyAuthenticationFailedReason, "project-of-other", "project-of-member")
		c := s.claim(ctx, "a")
		s.refused(ctx, c, ipamv1.ClaimReadyPoolNotReadyReason)
		Expect(k.Delete(ctx, had)).To(Succeed())
		s.isKept(ctx, had, ipamv1.WaitingForCloudReason, "credentials")
		s.hasAll(ctx, had, f)
		Expect(s.outside(ctx)).To(ConsistOf(f))

		suite.Change(ctx, k, p, func() { sourceOf(p).IdentityRef.CloudName = openstack.Member })
		s.gone(ctx, had)
		s.allocated(ctx, c)
	}, SpecTimeout(limit))

	It("of another region than the pool's keep a deleted claim, and a deleted pool, with all that they have", func(ctx SpecContext) {
		p := s.pool(ctx, "reclaimPolicy: Retain")
		c, f := s.newAllocated(ctx, "a")
		region := fake.Start() // with the same project, and other networks
		DeferCleanup(region.Stop)
		s.setSecret(ctx, region.CloudsYAML())
		Expect(k.Delete(ctx, c)).To(Succeed())
		s.isKept(ctx, c, ipamv1.WaitingForCloudReason, s.public, "identityRef")
		s.hasAll(ctx, c, f)
		s.setSecret(ctx, s.CloudsYAML())
		s.gone(ctx, c)

		s.setSecret(ctx, region.CloudsYAML())
		Expect(k.Delete(ctx, p)).To(Succeed())
		hasCondition(ctx, p, ipamv1.ReadyCondition, metav1.ConditionFalse, ipamv1.PoolReadyDeletingReason, s.public, "identityRef")
		s.setSecret(ctx, s.CloudsYAML())
		s.ended(ctx, p)
		s.discard(ctx, f.ID, fmt.Sprintf("weir/1/%s/-", p.GetUID()))
	}, SpecTimeout(limit))

	It("are read anew for each claim", func(ctx SpecContext) {
		s.pool(ctx)
		s.newAllocated(ctx, "a")
		s.setSecret(ctx, s.wrongClouds())
		c := s.claim(ctx, "b")
		s.refused(ctx, c, ipamv1.ClaimReadyPoolNotReadyReason, "refuses the log-in")
		s.setSecret(ctx, s.CloudsYAML())
		s.allocated(ctx, c)
	}, SpecTimeout(limit))

	It("keep a deleted claim with all that it has while they are missing or wrong", func(ctx SpecContext) {
		s.pool(ctx)
		c, f := s.newAllocated(ctx, "a")
		s.deleteSecret(ctx)
		Expect(k.Delete(ctx, c)).To(Succeed())
		s.isKept(ctx, c, ipamv1.WaitingForSecretReason)
		s.hasAll(ctx, c, f)
		s.setSecret(ctx, s.wrongClouds())
		Eventually(func(g Gomega) { nudge(ctx, g, c) }).Should(Succeed())
		s.isKept(ctx, c, ipamv1.WaitingForCloudReason, "refuses the log-in")
		s.hasAll(ctx, c, f)
		s.setSecret(ctx, s.CloudsYAML())
		s.gone(ctx, c)
	}, SpecTimeout(limit))

	It("keep no claim of a deleted pool once they are gone: its floating IP stays, and an event names it", func(ctx SpecContext) {
		p := s.pool(ctx)
		c, f := s.newAllocated(ctx, "a")
		Expect(k.Delete(ctx, p)).To(suite.Refused(403, f.Address.String()))
		s.deleteSecret(ctx)
		Expect(k.Delete(ctx, p)).To(Succeed())
		Expect(k.Delete(ctx, c)).To(Succeed())
		s.leaves(ctx, c)
		suite.Gone(ctx, k, p)
		Expect(s.records(ctx, c)).To(BeEmpty())
		Expect(s.outside(ctx)).To(ConsistOf(f))
		s.strangers = append(s.strangers, f)
		Eventually(func() []string { return s.notes(ctx, c) }, patience, "100ms").Should(
			ContainElement(And(ContainSubstring(f.Address.String()), ContainSubstring(f.ID))))
	}, SpecTimeout(limit))
}))

var _ = Describe("The Secret of a pool of floating IPs", onFakeOnce(func(s *spec) {
	It("that clusterctl move would leave behind is named in Movable, and clusterctl waits, until it has the label", func(ctx SpecContext) {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: s.ns}}
		suite.Change(ctx, k, secret, func() { secret.Labels = nil })
		p := s.pool(ctx)
		hasCondition(ctx, p, ipamv1.MovableCondition, metav1.ConditionFalse, ipamv1.PoolMovableDependentsNotMovedReason,
			fmt.Sprintf("would leave 1 behind: Secret %[1]s/%[1]s (it lacks the label %[2]s)", s.ns, clusterctlv1.ClusterctlMoveLabel))
		Expect(p.GetAnnotations()).To(HaveKey(clusterctlv1.BlockMoveAnnotation))

		suite.Change(ctx, k, secret, func() { secret.Labels = map[string]string{clusterctlv1.ClusterctlMoveLabel: ""} })
		suite.Change(ctx, k, p, func() { annotations.AddAnnotations(p, map[string]string{"cluster.x-k8s.io/nudged": "now"}) })
		hasCondition(ctx, p, ipamv1.MovableCondition, metav1.ConditionTrue, ipamv1.PoolMovableAllMovesReason)
		Expect(p.GetAnnotations()).NotTo(HaveKey(clusterctlv1.BlockMoveAnnotation))
	}, SpecTimeout(limit))
}))

var _ = Describe("A namespace with a pool of floating IPs", onFakeOnce(func(s *spec) {
	It("that is deleted after its Secret goes: the floating IPs stay, and the audit trail names them", func(ctx SpecContext) {
		s.pool(ctx)
		_, f := s.newAllocated(ctx, "a")
		s.deleteSecret(ctx)
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.ns}}
		Expect(k.Delete(ctx, namespace)).To(Succeed())
		suite.Gone(ctx, k, namespace)
		Expect(s.outside(ctx)).To(ConsistOf(f))
		s.strangers = append(s.strangers, f)
		Expect(strings.Contains(logged.String(), f.ID)).To(BeTrue(), "the log names the floating IP")
	}, SpecTimeout(limit))
}))

var _ = Describe("The network of a pool of floating IPs", onFake(func(s *spec) {
	It("is found by its name and stays the pool's", func(ctx SpecContext) {
		p := s.pool(ctx, inTiny)
		Expect(p.GetAnnotations()[ipamv1.OpenStackAnnotation]).To(HaveSuffix(" " + s.tiny))
		c, f := s.newAllocated(ctx, "a")
		Expect(f.NetworkID).To(Equal(s.tiny))
		Expect(s.record(ctx, c).Spec.AddressSpace).To(Equal("openstack/" + s.tiny))
		before := p.GetAnnotations()[ipamv1.OpenStackAnnotation]
		suite.Change(ctx, k, p, func() { p.SetAnnotations(nil) })
		Expect(p.GetAnnotations()).To(HaveKeyWithValue(ipamv1.OpenStackAnnotation, before), "admission puts it back")
		s.isBalanced(ctx)
	}, SpecTimeout(limit))

	It("is not found if no network has that name, id and tags", func(ctx SpecContext) {
		for name, network := range map[string]string{
			"nowhere": "{name: nowhere}", "nobody": "{tags: [nobody]}", "both": fmt.Sprintf("{id: %s, name: %s}", s.tiny, openstack.Public),
		} {
			p := s.newPool(name, "floatingNetwork: "+network)
			Expect(k.Create(ctx, p)).To(Succeed())
			hasCondition(ctx, p, ipamv1.ReadyCondition, metav1.ConditionFalse, ipamv1.PoolReadyNetworkNotFoundReason)
			Expect(p.GetAnnotations()).NotTo(HaveKey(ipamv1.OpenStackAnnotation))
		}
	}, SpecTimeout(limit))
}))

// notes returns the notes of an object's events.
func (s *spec) notes(ctx context.Context, obj client.Object) []string {
	GinkgoHelper()
	events := &eventsv1.EventList{}
	Expect(k.List(ctx, events, client.InNamespace(s.ns))).To(Succeed())
	var notes []string
	for _, e := range events.Items {
		if e.Regarding.UID == obj.GetUID() {
			notes = append(notes, e.Note)
		}
	}
	return notes
}

// annotate adds an annotation without a value.
func annotate(obj client.Object, name string) {
	annotations.AddAnnotations(obj, map[string]string{name: ""})
}

var _ = Describe("A pause", onFake(func(s *spec) {
	It("of the pool keeps a deleted claim with all that it has, and a new claim gets nothing", func(ctx SpecContext) {
		p := s.pool(ctx)
		had, f := s.newAllocated(ctx, "had")
		suite.Change(ctx, k, p, func() { annotate(p, clusterv1.PausedAnnotation) })
		Expect(k.Delete(ctx, had)).To(Succeed())
		s.isKept(ctx, had, ipamv1.WaitingForPoolReason, "paused")
		s.hasAll(ctx, had, f)
		c := s.claim(ctx, "a")
		hasCondition(ctx, p, ipamv1.ReadyCondition, "False", ipamv1.PoolReadyPausedReason)
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
			g.Expect(c.Status.Conditions).NotTo(BeEmpty())
		}, patience, "100ms").Should(Succeed())
		Expect(s.outside(ctx)).To(ConsistOf(f))

		suite.Change(ctx, k, p, func() { delete(p.GetAnnotations(), clusterv1.PausedAnnotation) })
		s.gone(ctx, had)
		s.allocated(ctx, c)
	}, SpecTimeout(limit))

	It("of the Cluster that begins while a floating IP is created keeps it for the claim, also if that is deleted", func(ctx SpecContext) {
		s.pool(ctx)
		cluster := builder.Cluster(s.ns, "c").Build()
		Expect(k.Create(ctx, cluster)).To(Succeed())
		hold := s.fake().Hold("CreateFloatingIP", fake.Delay)
		c := s.newClaim("a")
		c.Spec.ClusterName = cluster.Name
		Expect(k.Create(ctx, c)).To(Succeed())
		Eventually(hold.Arrived, patience).Should(BeClosed())
		suite.Change(ctx, k, cluster, func() { cluster.Spec.Paused = new(true) })
		hold.Release()
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
			g.Expect(c.Status.Conditions).To(ContainElement(And(HaveField("Type", clusterv1.PausedCondition), HaveField("Status", BeEquivalentTo("True")))))
		}, patience, "100ms").Should(Succeed())
		made := s.owned(ctx, c)
		Expect(made).To(HaveLen(1))
		Expect(k.Delete(ctx, c)).To(Succeed())
		Consistently(func() []openstack.FloatingIP { return s.owned(ctx, c) }, "300ms", "50ms").Should(Equal(made))

		suite.Change(ctx, k, cluster, func() { cluster.Spec.Paused = nil })
		s.gone(ctx, c)
	}, SpecTimeout(limit))
}))

var _ = Describe("The comparison of floating IPs with the records", onFake(func(s *spec) {
	It("(record, no FIP) names the claim in the condition and in an event; (key, UID unknown here) names what stays; (key, UID with its record) nothing", func(ctx SpecContext) {
		pool := s.pool(ctx)
		whole, _ := s.newAllocated(ctx, "whole")
		robbed, f := s.newAllocated(ctx, "robbed")
		suite.Change(ctx, k, pool, func() { sourceOf(pool).Tags = []string{"first"} })
		hasCondition(ctx, pool, ipamv1.FloatingIPsCondition, metav1.ConditionTrue, ipamv1.FloatingIPsAsRecordedReason)

		left := s.stranger(ctx, s.public, fmt.Sprintf("weir/1/%s/no-such-uid/%s/left", pool.GetUID(), s.ns))
		seen, err := s.member.Get(ctx, f.ID)
		Expect(err).NotTo(HaveOccurred())
		Expect(s.member.Delete(ctx, seen)).To(Succeed())
		suite.Change(ctx, k, pool, func() { sourceOf(pool).Tags = []string{"second"} })
		words := []string{f.Address.String(), left.Address.String(), left.ID}
		if s.kind == ipamv1.IPPoolKind {
			words = append(words, s.ns+"/robbed", s.ns+"/left")
		}
		hasCondition(ctx, pool, ipamv1.FloatingIPsCondition, metav1.ConditionFalse, ipamv1.FloatingIPsMissingReason, words...)
		Expect(meta.FindStatusCondition(pool.GetConditions(), ipamv1.FloatingIPsCondition).Message).NotTo(ContainSubstring("whole"))
		Eventually(func() []string { return s.notes(ctx, robbed) }, patience, "100ms").Should(ContainElement(ContainSubstring(f.Address.String())))
		Expect(s.notes(ctx, whole)).To(BeEmpty())

		s.deleted(ctx, robbed)
		suite.Change(ctx, k, pool, func() { sourceOf(pool).Tags = []string{"third"} })
		hasCondition(ctx, pool, ipamv1.FloatingIPsCondition, metav1.ConditionFalse, ipamv1.FloatingIPsLeftOverReason, left.ID)
		s.deleted(ctx, whole)
	}, SpecTimeout(limit))

	It("(record, FIP with another key or UID) names the claim in the condition and in an event, and touches nothing", func(ctx SpecContext) {
		pool := s.pool(ctx)
		robbed, f := s.newAllocated(ctx, "robbed")
		suite.Change(ctx, k, pool, func() { sourceOf(pool).Tags = []string{"first"} })
		hasCondition(ctx, pool, ipamv1.FloatingIPsCondition, metav1.ConditionTrue, ipamv1.FloatingIPsAsRecordedReason)

		seen, err := s.member.Get(ctx, f.ID)
		Expect(err).NotTo(HaveOccurred())
		taken, err := s.member.Describe(ctx, seen, fmt.Sprintf("weir/1/another-key/%s/%s/robbed", robbed.UID, s.ns))
		Expect(err).NotTo(HaveOccurred())
		suite.Change(ctx, k, pool, func() { sourceOf(pool).Tags = []string{"second"} })
		hasCondition(ctx, pool, ipamv1.FloatingIPsCondition, metav1.ConditionFalse, ipamv1.FloatingIPsMissingReason,
			"are others' in the cloud", f.Address.String())
		Eventually(func() []string { return s.notes(ctx, robbed) }, patience, "100ms").Should(ConsistOf(
			And(ContainSubstring(f.Address.String()), ContainSubstring("does not name the claim"))))
		Expect(s.outside(ctx)).To(ConsistOf(And(HaveField("ID", f.ID), HaveField("Description", taken.Description))))
		Expect(s.record(ctx, robbed).Spec.External.ID).To(Equal(f.ID))
		Expect(s.address(ctx, robbed).Spec.Address).To(Equal(f.Address.String()), "nothing is renumbered")

		_, err = s.member.Describe(ctx, taken, f.Description)
		Expect(err).NotTo(HaveOccurred())
		suite.Change(ctx, k, pool, func() { sourceOf(pool).Tags = []string{"third"} })
		hasCondition(ctx, pool, ipamv1.FloatingIPsCondition, metav1.ConditionTrue, ipamv1.FloatingIPsAsRecordedReason)
		s.hasAll(ctx, robbed, f)
		s.deleted(ctx, robbed)
	}, SpecTimeout(limit))

	It("(key, UID of a claim answered at another address, no record, no port) releases the second one; (key, UID of a claim here and unanswered) nothing; with a port, or a changed description, it stays and is named", func(ctx SpecContext) {
		pool := s.pool(ctx)
		c, f := s.newAllocated(ctx, "a")
		s.beginsToCompare(ctx, pool)
		waiting := s.newClaim("waiting")
		metav1.SetMetaDataAnnotation(&waiting.ObjectMeta, clusterv1.PausedAnnotation, "")
		Expect(k.Create(ctx, waiting)).To(Succeed())
		unanswered := s.madeWith(ctx, fmt.Sprintf("weir/1/%s/%s/%s/waiting", pool.GetUID(), waiting.UID, s.ns))
		second, bound := s.makeSecond(ctx, f), s.makeSecond(ctx, f)
		port, err := s.Bind(ctx, bound.ID)
		Expect(err).NotTo(HaveOccurred())
		altered := s.madeWith(ctx, f.Description+" for the office")
		s.compare(ctx, pool)
		hasCondition(ctx, pool, ipamv1.FloatingIPsCondition, metav1.ConditionFalse, ipamv1.FloatingIPsSurplusReason,
			bound.ID, "bound to port", altered.ID, "changed description")
		message := meta.FindStatusCondition(pool.GetConditions(), ipamv1.FloatingIPsCondition).Message
		Expect(message).NotTo(Or(ContainSubstring(second.ID), ContainSubstring(f.ID), ContainSubstring(unanswered.ID)))
		Expect(s.outside(ctx)).To(ConsistOf(
			HaveField("ID", f.ID), HaveField("ID", bound.ID), HaveField("ID", altered.ID), HaveField("ID", unanswered.ID)), "only the second one goes")
		Expect(s.address(ctx, c).Spec.Address).To(Equal(f.Address.String()))
		s.isReported(ctx, c, second, "was deleted")

		By("the port being gone, and the altered one deleted")
		Expect(s.Unbind(ctx, port)).To(Succeed())
		s.discard(ctx, altered.ID, altered.Description)
		s.compare(ctx, pool)
		hasCondition(ctx, pool, ipamv1.FloatingIPsCondition, metav1.ConditionTrue, ipamv1.FloatingIPsAsRecordedReason)
		Expect(s.owned(ctx, c)).To(ConsistOf(HaveField("ID", f.ID)))
		s.hasAll(ctx, c, f)
		suite.Change(ctx, k, waiting, func() { delete(waiting.Annotations, clusterv1.PausedAnnotation) })
		Expect(s.allocated(ctx, waiting)).To(HaveField("ID", unanswered.ID), "the claim finds it")
		s.deleted(ctx, c, waiting)
	}, SpecTimeout(limit))

	It("(a record of state Moved at that address) does nothing, whether the floating IP names the claim as it was here or as it is elsewhere, or is gone", func(ctx SpecContext) {
		pool := s.pool(ctx)
		like, _ := s.newAllocated(ctx, "like")
		s.beginsToCompare(ctx, pool)
		of := func(uid string) openstack.FloatingIP {
			return s.stranger(ctx, s.public, fmt.Sprintf("weir/1/%s/%s/%s/moved", pool.GetUID(), uid, s.ns))
		}
		here, elsewhere, gone := of("uid-here"), of("uid-elsewhere"), of("uid-of-gone")
		s.strangers = s.strangers[:len(s.strangers)-1]
		s.discard(ctx, gone.ID, gone.Description)
		holds := make([]client.Object, 0, 3)
		for uid, f := range map[string]openstack.FloatingIP{"uid-here": here, "uid-before": elsewhere, "uid-of-gone": gone} {
			holds = append(holds, s.hold(ctx, like, uid, f))
		}
		Eventually(func(g Gomega) { // the manager knows of them
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
			g.Expect(pool).To(HaveField("Status.Capacity.Allocated", "4"))
		}, patience, "100ms").Should(Succeed())
		s.compare(ctx, pool)
		s.isCompared(ctx, pool)
		hasCondition(ctx, pool, ipamv1.FloatingIPsCondition, metav1.ConditionTrue, ipamv1.FloatingIPsAsRecordedReason)
		Expect(s.outside(ctx)).To(ContainElements(here, elsewhere))

		By("the records being deleted by a user")
		for _, hold := range holds {
			Expect(k.Delete(ctx, hold)).To(Succeed())
		}
		suite.Gone(ctx, k, holds...)
		s.compare(ctx, pool)
		hasCondition(ctx, pool, ipamv1.FloatingIPsCondition, metav1.ConditionFalse, ipamv1.FloatingIPsLeftOverReason, here.ID, elsewhere.ID)
	}, SpecTimeout(limit))
}))

// hold creates the record that is kept of a claim that has moved to another cluster, which is like that of another claim.
func (s *spec) hold(ctx context.Context, like *ipamv1beta2.IPAddressClaim, uid string, f openstack.FloatingIP) *ipamv1.IPAllocation {
	GinkgoHelper()
	known := s.record(ctx, like)
	r := &ipamv1.IPAllocation{
		ObjectMeta: metav1.ObjectMeta{Namespace: known.Namespace, Name: "moved-" + uid + "-" + s.ns, Finalizers: known.Finalizers},
		Spec:       *known.Spec.DeepCopy(),
	}
	r.Spec.CIDR, r.Spec.External.ID, r.Spec.State, r.Spec.Origin = f.Address.String()+"/32", f.ID, ipamv1.MovedState, ""
	r.Spec.ClaimRef.Name, r.Spec.ClaimRef.UID = "moved", uid
	Expect(k.Create(ctx, r, client.FieldOwner(ipamv1.FieldManager))).To(Succeed())
	return r
}

var _ = Describe("The release of a second floating IP whose reply is lost", onFakeOnce(func(s *spec) {
	for _, at := range []struct{ policy, call, words, description string }{
		{"Delete", "DeleteFloatingIP", "was deleted", ""},
		{"Retain", "DescribeFloatingIP", "is free in the pool", "weir/1/%s/-"},
	} {
		It("is told by an event, which says what has become of it, and by the audit trail ("+at.policy+")", func(ctx SpecContext) {
			pool := s.pool(ctx, "reclaimPolicy: "+at.policy)
			c, f := s.newAllocated(ctx, "a")
			s.beginsToCompare(ctx, pool)
			second := s.makeSecond(ctx, f)
			s.fake().Inject(fake.Fault{Call: at.call, Effect: fake.CutAfter})
			s.compare(ctx, pool)
			s.isReported(ctx, c, second, at.words)
			Expect(lostOf(s.fake(), at.call)).To(Equal(1))
			hasCondition(ctx, pool, ipamv1.FloatingIPsCondition, metav1.ConditionTrue, ipamv1.FloatingIPsAsRecordedReason)
			s.hasAll(ctx, c, f)
			s.deleted(ctx, c)
			for _, free := range s.outside(ctx) {
				s.discard(ctx, free.ID, fmt.Sprintf(at.description, pool.GetUID()))
			}
		}, SpecTimeout(limit))
	}

	It("is told by the next comparison if the cloud does not answer then", func(ctx SpecContext) {
		const surveyAndSearch = 3
		pool := s.pool(ctx)
		c, f := s.newAllocated(ctx, "a")
		s.beginsToCompare(ctx, pool)
		second := s.makeSecond(ctx, f)
		s.fake().Inject(fake.Fault{Call: "DeleteFloatingIP", Effect: fake.CutAfter})
		s.fake().Inject(fake.Fault{Call: "ListFloatingIPs", Skip: surveyAndSearch, Effect: fake.Refuse, Code: http.StatusServiceUnavailable})
		s.compare(ctx, pool)
		hasCondition(ctx, pool, ipamv1.FloatingIPsCondition, metav1.ConditionFalse, ipamv1.FloatingIPsSurplusReason, second.ID)
		Expect(s.notes(ctx, c)).To(BeEmpty())
		Expect(s.owned(ctx, c)).To(ConsistOf(HaveField("ID", f.ID)))
		s.compare(ctx, pool)
		s.isReported(ctx, c, second, "was deleted")
		hasCondition(ctx, pool, ipamv1.FloatingIPsCondition, metav1.ConditionTrue, ipamv1.FloatingIPsAsRecordedReason)
		s.deleted(ctx, c)
	}, SpecTimeout(limit))
}))

// compare has the manager compare a pool with its records, as it does when the pool's spec has changed.
func (s *spec) compare(ctx context.Context, pool suite.Conditioned) {
	GinkgoHelper()
	suite.Change(ctx, k, pool, func() { sourceOf(pool).Tags = []string{fmt.Sprint("comparison-", pool.GetGeneration())} })
}

// beginsToCompare waits until the manager compares a pool: it follows Cluster API's kinds then.
func (s *spec) beginsToCompare(ctx context.Context, pool suite.Conditioned) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		s.compare(ctx, pool)
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
		g.Expect(meta.FindStatusCondition(pool.GetConditions(), ipamv1.FloatingIPsCondition)).NotTo(BeNil())
	}, patience, "1s").Should(Succeed())
	s.isCompared(ctx, pool)
}

// isCompared waits until the last comparison of a pool has ended.
func (s *spec) isCompared(ctx context.Context, pool suite.Conditioned) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
		g.Expect(meta.FindStatusCondition(pool.GetConditions(), ipamv1.FloatingIPsCondition).ObservedGeneration).To(Equal(pool.GetGeneration()))
	}, patience, "100ms").Should(Succeed())
}

// isReported waits until the event of a claim whose second floating IP was released, which is the claim's only one, has these words, and
// expects one line of it in the audit trail.
func (s *spec) isReported(ctx context.Context, c *ipamv1beta2.IPAddressClaim, second neutron.FloatingIP, words string) {
	GinkgoHelper()
	Eventually(func() []string { return s.notes(ctx, c) }, patience, "100ms").Should(ConsistOf(
		And(ContainSubstring(second.Address.String()), ContainSubstring(second.ID), ContainSubstring(words))))
	Expect(logged.Lines(`"Released"`, second.ID)).To(ConsistOf(And(
		ContainSubstring(`address="`+second.Address.String()+`"`), ContainSubstring(`reason="Surplus"`), ContainSubstring(string(c.UID)))))
}
