// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package propagator_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/propagator"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// What Karmada was seen to do with pools, a spec for each fact. A real Karmada can take the propagator's place (karmada_test.go).

const (
	namespace = "default"
	patience  = "2m"
	holder    = "spec.weir.test/holds"
)

// Two kinds with a status, which take any spec.
var (
	parcels       = schema.GroupVersionKind{Group: "spec.weir.test", Version: "v1", Kind: "Parcel"}
	globalParcels = schema.GroupVersionKind{Group: "spec.weir.test", Version: "v1", Kind: "GlobalParcel"}
	crds          = propagator.PermissiveCRD(parcels, "parcels", "Namespaced") + propagator.PermissiveCRD(globalParcels, "globalparcels", "Cluster")

	// hubSite and memberSite are nil on a real Karmada.
	hubSite, memberSite       *framework.Site
	hub, member               client.Client
	hubKubectl, memberKubectl propagator.Kubectl
	memberName                = "edge-a"
	// placement is what the specs are about.
	placement propagator.Placement
	// standIn is the same, for what a Placement is not asked for; nil on a real Karmada.
	standIn *propagator.Propagator
	// run tells the objects of one run from those of another.
	run, count = time.Now().Unix(), 0
)

func TestPropagator(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Propagator")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	if os.Getenv(hubEnv) != "" {
		openKarmada(ctx)
		return
	}
	hubSite = startSite(ctx, crds+propagator.BindingCRDs, framework.Options{ControllerManager: true}) // which follows kinds that are there
	memberSite = startSite(ctx, crds, framework.Options{})
	hub, member, hubKubectl, memberKubectl = hubSite.Client(), memberSite.Client(), hubSite, memberSite
	standIn = propagator.New(hub, map[string]client.Client{memberName: member}, parcels, globalParcels)
	standIn.Bind()
	placement = standIn
}, NodeTimeout(2*time.Minute))

func startSite(ctx context.Context, manifests string, options framework.Options) *framework.Site {
	GinkgoHelper()
	install := func(ctx context.Context, cfg *rest.Config) error {
		objects, err := framework.ParseManifests([]byte(manifests))
		if err != nil {
			return err
		}
		return framework.Apply(ctx, cfg, objects...)
	}
	return suite.StartSite(ctx, framework.SiteOptions{Options: options, Install: []framework.Step{install}})
}

var _ = BeforeEach(func() {
	placement.Start()
	DeferCleanup(placement.Stop)
})

var _ = AfterEach(func() {
	if standIn != nil {
		suite.Evidence(hubSite, memberSite)
	}
})

// parcel returns a new object of the kind, which is to go to the member.
func parcel(kind schema.GroupVersionKind) *unstructured.Unstructured {
	count++
	p := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"cidr": "10.0.0.0/24"}}}
	p.SetGroupVersionKind(kind)
	p.SetName(fmt.Sprintf("parcel-%d-%d", run, count))
	if kind == parcels {
		p.SetNamespace(namespace)
	}
	p.SetLabels(map[string]string{propagator.MemberLabel: memberName})
	return p
}

// send makes a parcel at the hub.
func send(ctx context.Context) *unstructured.Unstructured {
	GinkgoHelper()
	p := parcel(parcels)
	Expect(hub.Create(ctx, p)).To(Succeed())
	return p
}

// awaitCopy waits for the copy of an object at the member, of which all this holds.
func awaitCopy(ctx context.Context, p client.Object, holds ...func(Gomega, *unstructured.Unstructured)) *unstructured.Unstructured {
	GinkgoHelper()
	stored := &unstructured.Unstructured{}
	stored.SetGroupVersionKind(p.GetObjectKind().GroupVersionKind())
	Eventually(func(g Gomega) {
		g.Expect(member.Get(ctx, client.ObjectKeyFromObject(p), stored)).To(Succeed())
		for _, hold := range holds {
			hold(g, stored)
		}
	}, patience, "100ms").Should(Succeed())
	return stored
}

// says holds for an object with this CIDR.
func says(cidr string) func(Gomega, *unstructured.Unstructured) {
	return func(g Gomega, p *unstructured.Unstructured) {
		g.Expect(p.Object["spec"]).To(HaveKeyWithValue("cidr", cidr))
	}
}

// laterHasArrived waits until an object has arrived that was made after all that was done before.
func laterHasArrived(ctx context.Context) {
	GinkgoHelper()
	awaitCopy(ctx, send(ctx))
}

func setSpec(p *unstructured.Unstructured, spec map[string]any) func() {
	return func() { p.Object["spec"] = spec }
}

var _ = DescribeTable("A copy has spec, labels, annotations and Karmada's marks, and nothing else of the hub's object:",
	func(ctx SpecContext, kind schema.GroupVersionKind) {
		p := parcel(kind)
		p.SetAnnotations(map[string]string{"says": "so"})
		p.SetFinalizers([]string{holder})
		owner := &corev1.Namespace{}
		Expect(hub.Get(ctx, client.ObjectKey{Name: namespace}, owner)).To(Succeed())
		p.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Namespace", Name: namespace, UID: owner.UID}})
		Expect(hub.Create(ctx, p)).To(Succeed())
		p.Object["status"] = map[string]any{"counts": "1"}
		Expect(hub.Status().Update(ctx, p)).To(Succeed())
		stored := awaitCopy(ctx, p)
		Expect(stored.Object["spec"]).To(Equal(p.Object["spec"]))
		Expect(stored.GetLabels()).To(And(HaveKeyWithValue(propagator.MemberLabel, memberName), HaveKeyWithValue("karmada.io/managed", "true")))
		Expect(stored.GetAnnotations()).To(And(
			HaveKeyWithValue("says", "so"),
			HaveKeyWithValue("resourcetemplate.karmada.io/uid", string(p.GetUID())),
			HaveKeyWithValue("resourcetemplate.karmada.io/generation", "1"),
			HaveKeyWithValue("work.karmada.io/namespace", "karmada-es-"+memberName),
			HaveKey("work.karmada.io/name"),
		))
		Expect(stored.GetUID()).NotTo(Equal(p.GetUID()))
		Expect(stored.GetFinalizers()).To(BeEmpty())
		Expect(stored.GetOwnerReferences()).To(BeEmpty())
		Expect(stored.Object).NotTo(HaveKey("status"))
	},
	Entry("of a namespace", SpecTimeout(5*time.Minute), parcels),
	Entry("of the cluster", SpecTimeout(5*time.Minute), globalParcels),
)

var _ = It("An object without the label, or for another member, is not carried", func(ctx SpecContext) {
	unlabelled, others := parcel(parcels), parcel(parcels)
	unlabelled.SetLabels(nil)
	others.SetLabels(map[string]string{propagator.MemberLabel: "edge-b"})
	for _, p := range []*unstructured.Unstructured{unlabelled, others} {
		Expect(hub.Create(ctx, p)).To(Succeed())
	}
	laterHasArrived(ctx)
	for _, p := range []*unstructured.Unstructured{unlabelled, others} {
		Expect(member.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Satisfy(apierrors.IsNotFound))
	}
}, SpecTimeout(5*time.Minute))

var _ = It("A later version replaces spec, labels and annotations, and keeps what the member has added", func(ctx SpecContext) {
	p := send(ctx)
	stored := awaitCopy(ctx, p)
	suite.Change(ctx, member, stored, func() {
		stored.SetFinalizers([]string{holder})
		stored.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Namespace", Name: namespace, UID: "1"}})
		stored.SetLabels(with(stored.GetLabels(), "member", "adds"))
		stored.SetAnnotations(with(stored.GetAnnotations(), "member", "adds"))
	})
	stored.Object["status"] = map[string]any{"counts": "7"}
	Expect(member.Status().Update(ctx, stored)).To(Succeed())
	suite.Change(ctx, hub, p, func() {
		setSpec(p, map[string]any{"cidr": "10.0.1.0/24"})()
		p.SetLabels(with(p.GetLabels(), "hub", "says"))
		p.SetAnnotations(with(p.GetAnnotations(), "hub", "says"))
	})
	uid := stored.GetUID()
	stored = awaitCopy(ctx, p, says("10.0.1.0/24"))
	Expect(stored.GetUID()).To(Equal(uid))
	Expect(stored.GetLabels()).To(And(HaveKeyWithValue("hub", "says"), HaveKeyWithValue("member", "adds")))
	Expect(stored.GetAnnotations()).To(And(HaveKeyWithValue("hub", "says"), HaveKeyWithValue("member", "adds"),
		HaveKeyWithValue("resourcetemplate.karmada.io/generation", "2")))
	Expect(stored.GetFinalizers()).To(ConsistOf(holder))
	Expect(stored.GetOwnerReferences()).To(HaveLen(1))
	Expect(stored.Object["status"]).To(HaveKeyWithValue("counts", "7"))
}, SpecTimeout(5*time.Minute))

var _ = It("A spec, label or annotation that the member changes is the hub's again, and a field that the member adds to spec goes", func(ctx SpecContext) {
	stored := awaitCopy(ctx, send(ctx))
	suite.Change(ctx, member, stored, setSpec(stored, map[string]any{"cidr": "10.0.9.0/24", "added": "here"}))
	stored = awaitCopy(ctx, stored, says("10.0.0.0/24"))
	Expect(stored.Object["spec"]).NotTo(HaveKey("added"))
	suite.Change(ctx, member, stored, func() { stored.SetLabels(with(stored.GetLabels(), propagator.MemberLabel, "edge-b")) })
	awaitCopy(ctx, stored, func(g Gomega, p *unstructured.Unstructured) {
		g.Expect(p.GetLabels()).To(HaveKeyWithValue(propagator.MemberLabel, memberName))
	})
}, SpecTimeout(5*time.Minute))

var _ = It("A status that changes at the hub or at the member changes nothing else", func(ctx SpecContext) {
	p := send(ctx)
	stored := awaitCopy(ctx, p)
	p.Object["status"], stored.Object["status"] = map[string]any{"counts": "1"}, map[string]any{"counts": "2"}
	Expect(hub.Status().Update(ctx, p)).To(Succeed())
	Expect(member.Status().Update(ctx, stored)).To(Succeed())
	version := stored.GetResourceVersion()
	laterHasArrived(ctx)
	Expect(awaitCopy(ctx, p).GetResourceVersion()).To(Equal(version))
	Expect(hub.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
	Expect(p.Object["status"]).To(HaveKeyWithValue("counts", "1"))
}, SpecTimeout(5*time.Minute))

var _ = It("A copy that is deleted at the member is made again, with another UID and without status", func(ctx SpecContext) {
	stored := awaitCopy(ctx, send(ctx))
	stored.Object["status"] = map[string]any{"counts": "7"}
	Expect(member.Status().Update(ctx, stored)).To(Succeed())
	uid := stored.GetUID()
	Expect(member.Delete(ctx, stored)).To(Succeed())
	stored = awaitCopy(ctx, stored, func(g Gomega, p *unstructured.Unstructured) { g.Expect(p.GetUID()).NotTo(Equal(uid)) })
	Expect(stored.Object).NotTo(HaveKey("status"))
}, SpecTimeout(5*time.Minute))

var _ = It("An object of the name that Karmada has not placed is left alone, also when the hub's goes", func(ctx SpecContext) {
	own := parcel(parcels)
	p := own.DeepCopy()
	own.SetLabels(nil)
	Expect(member.Create(ctx, own)).To(Succeed())
	Expect(hub.Create(ctx, p)).To(Succeed())
	suite.Change(ctx, hub, p, setSpec(p, map[string]any{"cidr": "10.0.1.0/24"}))
	laterHasArrived(ctx)
	Expect(awaitCopy(ctx, p).GetResourceVersion()).To(Equal(own.GetResourceVersion()))
	Expect(hub.Delete(ctx, p)).To(Succeed())
	laterHasArrived(ctx)
	Expect(awaitCopy(ctx, p).GetResourceVersion()).To(Equal(own.GetResourceVersion()))
}, SpecTimeout(5*time.Minute))

var _ = It("An object that goes at the hub takes its copy along, and does not wait for it", func(ctx SpecContext) {
	p := send(ctx)
	stored := awaitCopy(ctx, p)
	suite.Change(ctx, member, stored, func() { stored.SetFinalizers([]string{holder}) })
	Expect(hub.Delete(ctx, p)).To(Succeed())
	Expect(hub.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Satisfy(apierrors.IsNotFound))
	stored = awaitCopy(ctx, stored, func(g Gomega, p *unstructured.Unstructured) { g.Expect(p.GetDeletionTimestamp()).NotTo(BeNil()) })

	By("coming again under the name, while the copy of before is going still")
	p = parcel(parcels)
	p.SetName(stored.GetName())
	setSpec(p, map[string]any{"cidr": "10.0.1.0/24"})()
	Expect(hub.Create(ctx, p)).To(Succeed())
	again := awaitCopy(ctx, stored, says("10.0.1.0/24"))
	Expect(again.GetUID()).To(Equal(stored.GetUID()))
	suite.Change(ctx, member, stored, func() { stored.SetFinalizers(nil) })
	awaitCopy(ctx, stored, says("10.0.1.0/24"), func(g Gomega, p *unstructured.Unstructured) { g.Expect(p.GetUID()).NotTo(Equal(again.GetUID())) })
}, SpecTimeout(5*time.Minute))

var _ = It("The copy of an object that is only being deleted stays, and follows it", func(ctx SpecContext) {
	p := parcel(parcels)
	p.SetFinalizers([]string{holder})
	Expect(hub.Create(ctx, p)).To(Succeed())
	awaitCopy(ctx, p)
	Expect(hub.Delete(ctx, p)).To(Succeed())
	suite.Change(ctx, hub, p, setSpec(p, map[string]any{"cidr": "10.0.0.0/24", "mode": "Closing"}))
	stored := awaitCopy(ctx, p, func(g Gomega, p *unstructured.Unstructured) {
		g.Expect(p.Object["spec"]).To(HaveKeyWithValue("mode", "Closing"))
	})
	Expect(stored.GetDeletionTimestamp()).To(BeNil())
	suite.Change(ctx, hub, p, func() { p.SetFinalizers(nil) })
	suite.Gone(ctx, member, stored)
}, SpecTimeout(5*time.Minute))

var _ = It("The copy of an object that is deleted in the foreground goes and is made again, and follows the object", func(ctx SpecContext) {
	p := parcel(parcels)
	p.SetFinalizers([]string{holder})
	Expect(hub.Create(ctx, p)).To(Succeed())
	awaitBinding(ctx, p, shows(nil))
	stored := awaitCopy(ctx, p)
	Expect(hub.Delete(ctx, p, client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
	again := awaitCopy(ctx, p, func(g Gomega, p *unstructured.Unstructured) { g.Expect(p.GetUID()).NotTo(Equal(stored.GetUID())) })
	suite.Change(ctx, hub, p, setSpec(p, map[string]any{"cidr": "10.0.0.0/24", "mode": "Closing"}))
	awaitCopy(ctx, p, func(g Gomega, p *unstructured.Unstructured) {
		g.Expect(p.Object["spec"]).To(HaveKeyWithValue("mode", "Closing"))
	})
	awaitBinding(ctx, p, shows(nil))
	suite.Change(ctx, hub, p, func() { p.SetFinalizers(nil) })
	suite.Gone(ctx, member, again)
	suite.Gone(ctx, hub, p)
}, SpecTimeout(5*time.Minute))

var _ = It("So it is where the member holds the copy: that is told of later versions while it is going, and is made again once it has gone", func(ctx SpecContext) {
	p := parcel(globalParcels)
	p.SetFinalizers([]string{holder})
	Expect(hub.Create(ctx, p)).To(Succeed())
	awaitBinding(ctx, p, shows(nil))
	stored := awaitCopy(ctx, p)
	suite.Change(ctx, member, stored, func() { stored.SetFinalizers([]string{holder}) })
	Expect(hub.Delete(ctx, p, client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
	awaitCopy(ctx, p, func(g Gomega, p *unstructured.Unstructured) { g.Expect(p.GetDeletionTimestamp()).NotTo(BeNil()) })
	suite.Change(ctx, hub, p, setSpec(p, map[string]any{"cidr": "10.0.0.0/24", "mode": "Closing"}))
	isClosing := func(g Gomega, p *unstructured.Unstructured) {
		g.Expect(p.Object["spec"]).To(HaveKeyWithValue("mode", "Closing"))
	}
	Expect(awaitCopy(ctx, p, isClosing).GetUID()).To(Equal(stored.GetUID()))
	suite.Change(ctx, member, stored, func() { stored.SetFinalizers(nil) })
	awaitCopy(ctx, p, isClosing, func(g Gomega, p *unstructured.Unstructured) { g.Expect(p.GetUID()).NotTo(Equal(stored.GetUID())) })
	suite.Change(ctx, hub, p, func() { p.SetFinalizers(nil) })
	suite.Gone(ctx, member, stored)
}, SpecTimeout(5*time.Minute))

var _ = It("A namespace that is deleted at the hub loses its bindings first: copies go, no later version reaches them, and they are not made again", func(ctx SpecContext) {
	leaving := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "leaving"}}
	for _, c := range []client.Client{hub, member} {
		Expect(client.IgnoreAlreadyExists(c.Create(ctx, leaving.DeepCopy()))).To(Succeed(), "Karmada makes the member's, too")
	}
	p := parcel(parcels)
	p.SetNamespace(leaving.Name)
	p.SetFinalizers([]string{holder})
	Expect(hub.Create(ctx, p)).To(Succeed())
	binding := awaitBinding(ctx, p, shows(nil))
	stored := awaitCopy(ctx, p)
	suite.Change(ctx, member, stored, func() { stored.SetFinalizers([]string{holder}) })
	Expect(hub.Delete(ctx, leaving)).To(Succeed())
	suite.Gone(ctx, hub, binding)
	awaitCopy(ctx, p, func(g Gomega, p *unstructured.Unstructured) { g.Expect(p.GetDeletionTimestamp()).NotTo(BeNil()) })
	Eventually(func(g Gomega) { // the namespace's objects are deleted kind by kind
		g.Expect(hub.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
		g.Expect(p.GetDeletionTimestamp()).NotTo(BeNil())
	}, "1m", "100ms").Should(Succeed())
	suite.Change(ctx, hub, p, setSpec(p, map[string]any{"cidr": "10.0.0.0/24", "mode": "Closing"}))
	laterHasArrived(ctx)
	Expect(awaitCopy(ctx, p).Object["spec"]).NotTo(HaveKey("mode"))
	suite.Change(ctx, member, stored, func() { stored.SetFinalizers(nil) })
	suite.Gone(ctx, member, stored)
	laterHasArrived(ctx)
	Expect(member.Get(ctx, client.ObjectKeyFromObject(stored), stored)).To(Satisfy(apierrors.IsNotFound))
	suite.Change(ctx, hub, p, func() { p.SetFinalizers(nil) })
	suite.Gone(ctx, hub, p, leaving)
}, SpecTimeout(5*time.Minute))

var _ = It("A version that the member refuses is sent again until it is taken", func(ctx SpecContext) {
	onPropagator("it makes namespaces at members, so this version is not refused")
	p := parcel(parcels)
	p.SetNamespace("late")
	Expect(hub.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "late"}})).To(Succeed())
	Expect(hub.Create(ctx, p)).To(Succeed())
	laterHasArrived(ctx)
	Expect(member.Get(ctx, client.ObjectKeyFromObject(p), p.DeepCopy())).To(Satisfy(apierrors.IsNotFound), "there is no such namespace")
	Expect(member.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "late"}})).To(Succeed())
	awaitCopy(ctx, p)
}, SpecTimeout(5*time.Minute))

// awaitBinding waits for the binding of an object at the hub, of which all this holds, and for its entry for the member.
func awaitBinding(ctx context.Context, p *unstructured.Unstructured, holds ...func(Gomega, map[string]any)) *unstructured.Unstructured {
	GinkgoHelper()
	binding := propagator.BindingOf(p, p.GetKind())
	Eventually(func(g Gomega) {
		g.Expect(hub.Get(ctx, client.ObjectKeyFromObject(binding), binding)).To(Succeed())
		resource, _, _ := unstructured.NestedMap(binding.Object, "spec", "resource")
		g.Expect(resource).To(And(HaveKeyWithValue("apiVersion", "spec.weir.test/v1"), HaveKeyWithValue("kind", p.GetKind()),
			HaveKeyWithValue("name", p.GetName()), HaveKeyWithValue("uid", string(p.GetUID()))))
		items, _, _ := unstructured.NestedSlice(binding.Object, "status", "aggregatedStatus")
		g.Expect(items).To(HaveLen(1))
		item, _ := items[0].(map[string]any)
		g.Expect(item).To(HaveKeyWithValue("clusterName", memberName))
		for _, hold := range holds {
			hold(g, item)
		}
	}, patience, "100ms").Should(Succeed())
	return binding
}

// shows holds for an entry of an object that the member has taken, with this status.
func shows(status any) func(Gomega, map[string]any) {
	return func(g Gomega, item map[string]any) {
		g.Expect(item).To(HaveKeyWithValue("applied", true))
		if status == nil {
			g.Expect(item).NotTo(HaveKey("status"))
			return
		}
		g.Expect(item["status"]).To(Equal(status))
	}
}

var _ = DescribeTable("The whole status of a copy is in the binding at the hub, and the hub's object keeps its own:",
	func(ctx SpecContext, kind schema.GroupVersionKind) {
		p := parcel(kind)
		Expect(hub.Create(ctx, p)).To(Succeed())
		stored := awaitCopy(ctx, p)
		awaitBinding(ctx, p, func(g Gomega, item map[string]any) {
			g.Expect(item).To(HaveKeyWithValue("applied", true))
			g.Expect(item).NotTo(HaveKey("status"))
		})
		version := p.GetResourceVersion()
		for _, status := range []map[string]any{{"counts": "7", "nested": map[string]any{"empty": map[string]any{}, "big": "9007199254740993"}}, {"counts": "8"}} {
			stored.Object["status"] = status
			Expect(member.Status().Update(ctx, stored)).To(Succeed())
			awaitBinding(ctx, p, shows(status))
		}
		Expect(hub.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
		Expect(p.GetResourceVersion()).To(Equal(version))
		Expect(p.Object).NotTo(HaveKey("status"))

		By("deleting the copy, which comes again without status")
		Expect(member.Delete(ctx, stored)).To(Succeed())
		awaitBinding(ctx, p, shows(nil))
	},
	Entry("of a namespace", SpecTimeout(5*time.Minute), parcels),
	Entry("of the cluster", SpecTimeout(5*time.Minute), globalParcels),
)

var _ = It("Where the member refuses an object the binding has its words, and no status", func(ctx SpecContext) {
	onPropagator("it makes namespaces at members, so nothing is refused")
	p := parcel(parcels)
	p.SetNamespace("refusing")
	Expect(hub.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "refusing"}})).To(Succeed())
	Expect(hub.Create(ctx, p)).To(Succeed())
	awaitBinding(ctx, p, func(g Gomega, item map[string]any) {
		g.Expect(item).NotTo(HaveKey("applied"))
		g.Expect(item).NotTo(HaveKey("status"))
		g.Expect(item).To(HaveKeyWithValue("appliedMessage", ContainSubstring(`namespaces "refusing" not found`)))
	})
	Expect(member.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "refusing"}})).To(Succeed())
	awaitBinding(ctx, p, shows(nil))
}, SpecTimeout(5*time.Minute))

var _ = It("The binding of an object goes with it and waits for no copy, and stays while the object is only being deleted", func(ctx SpecContext) {
	p := parcel(parcels)
	p.SetFinalizers([]string{holder})
	Expect(hub.Create(ctx, p)).To(Succeed())
	stored := awaitCopy(ctx, p)
	suite.Change(ctx, member, stored, func() { stored.SetFinalizers([]string{holder}) })
	Expect(hub.Delete(ctx, p)).To(Succeed())
	Eventually(func() error { // the deletion is a new version, which is carried meanwhile
		stored = awaitCopy(ctx, p)
		stored.Object["status"] = map[string]any{"counts": "7"}
		return member.Status().Update(ctx, stored)
	}, patience, "100ms").Should(Succeed())
	binding := awaitBinding(ctx, p, shows(map[string]any{"counts": "7"}))
	suite.Change(ctx, hub, p, func() { p.SetFinalizers(nil) })
	suite.Gone(ctx, hub, binding)
	Expect(member.Get(ctx, client.ObjectKeyFromObject(stored), stored)).To(Succeed())

	By("coming again under the name: the binding names the new object")
	p = parcel(parcels)
	p.SetName(stored.GetName())
	Expect(hub.Create(ctx, p)).To(Succeed())
	awaitBinding(ctx, p)
	suite.Change(ctx, member, stored, func() { stored.SetFinalizers(nil) })
	awaitBinding(ctx, p, shows(nil))
}, SpecTimeout(5*time.Minute))

var _ = It("While a member is cut off bindings show what it has reported last, and name objects that have not been sent", func(ctx SpecContext) {
	onPropagator("nothing here cuts its member off")
	p := send(ctx)
	stored := awaitCopy(ctx, p)
	stored.Object["status"] = map[string]any{"counts": "7"}
	Expect(member.Status().Update(ctx, stored)).To(Succeed())
	awaitBinding(ctx, p, shows(map[string]any{"counts": "7"}))
	mend := standIn.CutOff(memberName)
	defer mend()
	later := send(ctx)
	awaitBinding(ctx, later, func(g Gomega, item map[string]any) {
		g.Expect(item).NotTo(Or(HaveKey("applied"), HaveKey("appliedMessage")))
	})
	stored.Object["status"] = map[string]any{"counts": "8"}
	Expect(member.Status().Update(ctx, stored)).To(Succeed())
	awaitBinding(ctx, send(ctx))
	awaitBinding(ctx, p, shows(map[string]any{"counts": "7"}))
	Expect(member.Get(ctx, client.ObjectKeyFromObject(later), later.DeepCopy())).To(Satisfy(apierrors.IsNotFound))
	mend()
	awaitBinding(ctx, p, shows(map[string]any{"counts": "8"}))
	awaitBinding(ctx, later, shows(nil))
}, SpecTimeout(5*time.Minute))

var _ = It("Between Stop and Start nothing is carried, and what has changed or gone meanwhile is carried after", func(ctx SpecContext) {
	onPropagator("a suspended policy does not hold up deletions")
	changes, goes := send(ctx), send(ctx)
	awaitCopy(ctx, changes)
	stays := awaitCopy(ctx, goes)
	placement.Stop()
	suite.Change(ctx, hub, changes, setSpec(changes, map[string]any{"cidr": "10.0.1.0/24"}))
	Expect(hub.Delete(ctx, goes)).To(Succeed())
	Consistently(func(g Gomega) {
		g.Expect(member.Get(ctx, client.ObjectKeyFromObject(goes), stays)).To(Succeed())
		g.Expect(stays.GetDeletionTimestamp()).To(BeNil())
	}, "500ms", "100ms").Should(Succeed())
	placement.Start()
	awaitCopy(ctx, changes, says("10.0.1.0/24"))
	suite.Gone(ctx, member, stays)
}, SpecTimeout(5*time.Minute))

var _ = It("What kubectl copies is not marked, and keeps the finalizers of the hub's object", func(ctx SpecContext) {
	p := parcel(parcels)
	p.SetLabels(map[string]string{"says": "so"})
	p.SetFinalizers([]string{holder})
	Expect(hub.Create(ctx, p)).To(Succeed())
	p.Object["status"] = map[string]any{"counts": "1"}
	Expect(hub.Status().Update(ctx, p)).To(Succeed())
	Expect(propagator.Copy(ctx, hubKubectl, memberKubectl, "parcels.spec.weir.test", p.GetName(), "--namespace="+namespace)).To(Succeed())
	stored := awaitCopy(ctx, p)
	Expect(stored.GetUID()).NotTo(Equal(p.GetUID()))
	Expect(stored.GetLabels()).To(Equal(map[string]string{"says": "so"}))
	Expect(stored.GetFinalizers()).To(ConsistOf(holder))
	Expect(stored.GetAnnotations()).NotTo(HaveKey("work.karmada.io/namespace"))
	Expect(stored.Object).NotTo(HaveKey("status"))
}, SpecTimeout(5*time.Minute))

// with returns the map with this entry, too.
func with(some map[string]string, key, value string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, some)
	all[key] = value
	return all
}
