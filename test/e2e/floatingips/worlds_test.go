// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package floatingips

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// claimName is the name of the only claim of a world that has one.
const claimName = "a"

// world is a namespace with a pool. The Secret and a pool without a namespace have the namespace's name.
type world struct {
	project *project
	kind    string
	name    string
	// key is the pool's, once it is known in its cloud.
	key string
	// claimUID is that of the only claim, and dyingSince how many changes there were in the cloud when its deletion began; negative before.
	claimUID   string
	dyingSince int
}

// worlds counts them; each has names of its own.
var worlds atomic.Int64

func newWorld(ctx context.Context, p *project, kind string) *world {
	GinkgoHelper()
	w := &world{project: p, kind: kind, name: fmt.Sprintf("world-%d", worlds.Add(1)), dyingSince: -1}
	Expect(k.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.name}})).To(Succeed())
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: w.name, Labels: map[string]string{clusterctlv1.ClusterctlMoveLabel: ""}},
		Data:       map[string][]byte{"clouds.yaml": p.cloud.CloudsYAML()},
	}
	if kind == ipamv1.GlobalIPPoolKind { // its Secret is beside the managers
		secret.Namespace = framework.ManagerNamespace
	}
	Expect(k.Create(ctx, secret)).To(Succeed())
	return w
}

// labels are on all that a manager serves that is this world's alone.
func (w *world) labels() map[string]string { return map[string]string{clusterv1.WatchLabel: w.name} }

// pool is the world's, as it is created.
func (w *world) pool() suite.Conditioned {
	source := &ipamv1.OpenStackSource{FloatingNetwork: ipamv1.FloatingNetwork{ID: w.project.network}}
	source.IdentityRef.Name, source.IdentityRef.CloudName = w.name, openstack.Member
	object := metav1.ObjectMeta{Name: w.name, Labels: w.labels()}
	if w.kind == ipamv1.GlobalIPPoolKind {
		return &ipamv1.GlobalIPPool{ObjectMeta: object, Spec: ipamv1.IPPoolSpec{OpenStack: source}}
	}
	object.Namespace = w.name
	return &ipamv1.IPPool{ObjectMeta: object, Spec: ipamv1.IPPoolSpec{OpenStack: source}}
}

func (w *world) createPool(ctx context.Context) {
	GinkgoHelper()
	Expect(k.Create(ctx, w.pool())).To(Succeed())
}

// isKnown fails until the pool serves. Its key is its first UID, and stays.
func (w *world) isKnown(ctx context.Context, g Gomega) {
	pool := w.pool()
	g.Expect(k.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
	said := strings.Fields(pool.GetAnnotations()[ipamv1.OpenStackAnnotation])
	g.Expect(said).To(HaveExactElements(string(pool.GetUID()), Not(BeEmpty()), w.project.network))
	g.Expect(meta.IsStatusConditionTrue(pool.GetConditions(), ipamv1.ReadyCondition)).To(BeTrue())
	w.key = said[0]
}

// furnish makes the pool, waits until it serves, and adds strangers.
func (w *world) furnish(ctx context.Context) {
	GinkgoHelper()
	w.createPool(ctx)
	Eventually(func(g Gomega) { w.isKnown(ctx, g) }, patience, "100ms").Should(Succeed())
	w.project.addStrangers(ctx, w.key)
}

// deletePool deletes the pool and waits until it is gone.
func (w *world) deletePool(ctx context.Context) {
	GinkgoHelper()
	w.project.end()
	Expect(client.IgnoreNotFound(k.Delete(ctx, w.pool()))).To(Succeed())
	suite.Gone(ctx, k, w.pool())
}

// claim is one for the pool.
func (w *world) claim(name string) *ipamv1beta2.IPAddressClaim {
	return builder.IPAddressClaim(w.name, name, w.kind, w.name).WithLabel(clusterv1.WatchLabel, w.name).Build()
}

func (w *world) createClaim(ctx context.Context) {
	GinkgoHelper()
	claim := w.claim(claimName)
	Expect(k.Create(ctx, claim)).To(Succeed())
	w.claimUID = string(claim.UID)
}

func (w *world) answerClaim(ctx context.Context) {
	GinkgoHelper()
	w.createClaim(ctx)
	Eventually(func(g Gomega) { w.isAnswered(ctx, g) }, patience, "100ms").Should(Succeed())
}

// isDying notes that the claim is deleted in a moment.
func (w *world) isDying() {
	if w.dyingSince < 0 {
		w.dyingSince = len(w.project.fake.Changes())
	}
}

func (w *world) deleteClaim(ctx context.Context) {
	GinkgoHelper()
	w.isDying()
	Expect(client.IgnoreNotFound(k.Delete(ctx, w.claim(claimName)))).To(Succeed())
}

// stripClaim removes the claim behind its finalizers' backs.
func (w *world) stripClaim(ctx context.Context) {
	GinkgoHelper()
	w.isDying()
	claim := w.claim(claimName)
	suite.Change(ctx, k, claim, func() { claim.Finalizers = nil })
	Expect(k.Delete(ctx, claim)).To(Succeed())
}

// isTold says whether a claim lives and has its address.
func isTold(claim *ipamv1beta2.IPAddressClaim) bool {
	return claim.DeletionTimestamp.IsZero() && claim.Status.AddressRef.Name != "" && conditions.IsTrue(claim, ipamv1.ReadyCondition)
}

func (w *world) isAnswered(ctx context.Context, g Gomega) {
	claim := w.claim(claimName)
	g.Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
	g.Expect(isTold(claim)).To(BeTrue())
}

// isGone fails until there is no claim, and nothing of one.
func (w *world) isGone(ctx context.Context, g Gomega) {
	claim := w.claim(claimName)
	g.Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Satisfy(apierrors.IsNotFound))
	addresses := &ipamv1beta2.IPAddressList{}
	g.Expect(k.List(ctx, addresses, client.InNamespace(w.name))).To(Succeed())
	g.Expect(addresses.Items).To(BeEmpty())
	records := &ipamv1.IPAllocationList{}
	g.Expect(k.List(ctx, records)).To(Succeed())
	g.Expect(records.Items).NotTo(ContainElement(HaveField("Spec.ClaimRef.Namespace", w.name)))
}

// poke has the managers look at a claim at once, if it is there: what they try again after half a minute only is tried soon.
func poke(ctx context.Context, claim *ipamv1beta2.IPAddressClaim) error {
	changed := claim.DeepCopy()
	metav1.SetMetaDataAnnotation(&changed.ObjectMeta, "example.com/poked", claim.ResourceVersion)
	return client.IgnoreNotFound(k.Patch(ctx, changed, client.MergeFrom(claim)))
}

// poker counts how often something was looked at that does not come.
type poker int

// isTime says whether to poke, after so many looks: not before the managers have had time to do by themselves what they do at once.
func (p *poker) isTime(looks poker) bool {
	*p++
	return *p%looks == 0
}

// each does something with all of some things at once.
func each[T any](all []T, do func(T)) {
	GinkgoHelper()
	var working sync.WaitGroup
	var done atomic.Int64
	for _, one := range all {
		working.Go(func() {
			defer GinkgoRecover()
			do(one)
			done.Add(1)
		})
	}
	working.Wait()
	Expect(done.Load()).To(BeNumerically("==", len(all)), "one of them has failed: see there")
}
