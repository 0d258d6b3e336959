// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// foreign is the namespace of a pool that is carved from one of the tenant's.
const foreign = "preflight-foreign"

// preflight: what the condition Movable names is exactly what stays, and clusterctl does not begin before it is mended or allowed.
func preflight(ctx SpecContext) {
	t := tenant{name: "preflight", global: "preflight"}
	Expect(left.Client().Create(ctx, global(t.global, "10.31.0.0/20"))).To(Succeed())
	t.found(ctx, left)
	Expect(left.Client().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: foreign}})).To(Succeed())
	for _, name := range []string{t.name, foreign} {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		suite.Change(ctx, left.Client(), namespace, func() {
			namespace.SetLabels(map[string]string{ipamv1.ProjectLabel: "preflight"}) // else neither may name the other's objects
		})
	}
	t.scatter(ctx, left)

	By("naming what stays")
	named := []string{
		"IPAddressClaim preflight/both", "IPAddressClaim preflight/lonely", "IPClaim preflight/own-stays", "IPPool preflight/stuck", "IPPool preflight-foreign/foreign",
	}
	Eventually(func() []string { return namedBy(ctx, left, t.name) }, "3m", "500ms").Should(ConsistOf(named))
	Eventually(func() string {
		pool := &ipamv1.GlobalIPPool{}
		Expect(left.Client().Get(ctx, client.ObjectKey{Name: t.global}, pool)).To(Succeed())
		return conditions.GetMessage(pool, ipamv1.MovableCondition)
	}, "1m", "500ms").Should(Equal("clusterctl move would leave 2 behind")) // g-lonely, and the address of g-labelled

	By("stopping clusterctl")
	Eventually(func() string { return blockedMove(ctx, t) }, "4m").Should(ContainSubstring("Move blocked by " + clusterctlv1.BlockMoveAnnotation))

	By("letting it go on, where somebody wants that")
	Eventually(func() []string { return blockingPools(ctx, left, t.name) }, "1m", "200ms").Should(ConsistOf("v4", "stuck"))
	v4 := builder.IPPool(t.name, "v4").Build()
	suite.Change(ctx, left.Client(), v4, func() { v4.Annotations[ipamv1.LeaveBehindAnnotation] = "" })
	Eventually(func() []string { return blockingPools(ctx, left, t.name) }, "1m", "200ms").Should(ConsistOf("stuck"))
	done := make(chan struct{})
	go func() {
		defer GinkgoRecover()
		defer close(done)
		move(ctx, left, right, t.name)
	}()
	Eventually(func() bool { return ptr.Deref(t.cluster(ctx, left).Spec.Paused, false) }, "3m", "100ms").Should(BeTrue())
	stuck := builder.IPPool(t.name, "stuck").Build() // the annotation is not put back while the Cluster is paused
	suite.Change(ctx, left.Client(), stuck, func() { delete(stuck.Annotations, clusterctlv1.BlockMoveAnnotation) })
	Eventually(done, "2m").Should(BeClosed())

	By("comparing")
	stays := slices.Concat(named, []string{"IPAddressClaim preflight/g-lonely"})
	moved := []string{
		"IPAddressClaim preflight/moves", "IPAddressClaim preflight/labelled", "IPAddressClaim preflight/whole", "IPClaim preflight/own",
		"IPAddressClaim preflight/of-stuck", "IPPool preflight/v4", "IPPool preflight/child",
		"IPAddressClaim preflight/g-moves", "IPAddressClaim preflight/g-labelled", "IPAddressClaim preflight/g-whole",
	}
	Eventually(func() []string { return present(ctx, left, t.name, foreign) }, "1m", "200ms").Should(ConsistOf(stays))
	Expect(present(ctx, right, t.name, foreign)).To(ConsistOf(moved))
	Expect(addresses(ctx, right, t.name)).To(ConsistOf("moves", "labelled", "whole", "g-moves", "g-whole", "jumphost"))
	Eventually(func() []string { return adopted(ctx, right, t.name) }, "1m", "200ms").Should(ContainElement("10.30.15.1/32"), "its record is made anew")
	Eventually(func() []string { return blockingPools(ctx, right, t.name) }, "1m", "200ms").Should(BeEmpty())
	Eventually(func() []string { return heldFrom(ctx, left, t.global) }, "1m", "200ms").Should(ConsistOf(
		HavePrefix("IPAddressClaim g-moves "), HavePrefix("IPAddressClaim g-whole "), HavePrefix("IPAddressClaim g-labelled "),
	), "what lives on elsewhere is held, the address included that did not go with its claim")

	By("clearing up") // what was split is in use on one side and free on the other
	for _, list := range []client.Object{&ipamv1beta2.IPAddressClaim{}, &ipamv1beta2.IPAddress{}, &ipamv1.IPClaim{}, &ipamv1.IPPool{}} {
		for _, namespace := range []string{t.name, foreign} {
			Eventually(func() error { // what moved out of "stuck" is given up by repair, once a minute
				return left.Client().DeleteAllOf(ctx, list, client.InNamespace(namespace))
			}, "3m", "1s").Should(Succeed())
		}
	}
	expectEmpty(ctx, left, t.name)
	expectEmpty(ctx, left, foreign)
}

// scatter makes what moves and what stays. Those that have an owner that stays have the ConfigMap "keeper".
func (t tenant) scatter(ctx context.Context, s *side) {
	GinkgoHelper()
	cluster := ownerOf(t.cluster(ctx, s))
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: t.name, Name: "keeper"}}
	Expect(s.Client().Create(ctx, config)).To(Succeed())
	keeper := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: config.Name, UID: config.UID}
	v4 := builder.IPPool(t.name, "v4").WithCIDR("10.30.0.0/20").Build()
	v4.Spec.Allocation = &ipamv1.AllocationPolicy{MinPrefixLength: ptr.To[int32](24), MaxPrefixLength: ptr.To[int32](32)}
	parent := ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Name: "v4"}
	stuck, elsewhere := child(t.name, "stuck", parent), child(foreign, "foreign", parent)
	stuck.OwnerReferences, elsewhere.Spec.ParentRef.Namespace = []metav1.OwnerReference{keeper}, t.name
	for _, pool := range []client.Object{v4, child(t.name, "child", parent), stuck, elsewhere} {
		Eventually(func() error { return s.Client().Create(ctx, pool) }, "1m", "200ms").Should(Succeed())
	}
	label := func(key string) map[string]string { // and what has no owner that moves is paused by the name of its Cluster
		return map[string]string{key: "", clusterv1.ClusterNameLabel: t.name}
	}
	for name, c := range map[string]struct {
		kind, pool string
		labels     map[string]string
		owners     []metav1.OwnerReference
	}{
		"moves":      {ipamv1.IPPoolKind, "v4", nil, []metav1.OwnerReference{cluster}},
		"labelled":   {ipamv1.IPPoolKind, "v4", label(clusterctlv1.ClusterctlMoveLabel), nil},
		"whole":      {ipamv1.IPPoolKind, "v4", label(clusterctlv1.ClusterctlMoveHierarchyLabel), nil},
		"lonely":     {ipamv1.IPPoolKind, "v4", nil, nil},
		"both":       {ipamv1.IPPoolKind, "v4", nil, []metav1.OwnerReference{cluster, keeper}},
		"of-stuck":   {ipamv1.IPPoolKind, "stuck", nil, []metav1.OwnerReference{cluster}},
		"g-moves":    {ipamv1.GlobalIPPoolKind, t.global, nil, []metav1.OwnerReference{cluster}},
		"g-labelled": {ipamv1.GlobalIPPoolKind, t.global, label(clusterctlv1.ClusterctlMoveLabel), nil},
		"g-whole":    {ipamv1.GlobalIPPoolKind, t.global, label(clusterctlv1.ClusterctlMoveHierarchyLabel), nil},
		"g-lonely":   {ipamv1.GlobalIPPoolKind, t.global, nil, nil},
	} {
		claim := builder.IPAddressClaim(t.name, name, c.kind, c.pool).Build()
		claim.Labels, claim.OwnerReferences = c.labels, c.owners
		Expect(s.Client().Create(ctx, claim)).To(Succeed())
	}
	for name, owners := range map[string][]metav1.OwnerReference{"own": nil, "own-stays": {keeper}} {
		claim := &ipamv1.IPClaim{ObjectMeta: metav1.ObjectMeta{Namespace: t.name, Name: name, OwnerReferences: owners}}
		claim.Spec.PoolRef = &ipamv1.ClaimPoolReference{Kind: ipamv1.IPPoolKind, Name: "v4"}
		Eventually(func() error { return s.Client().Create(ctx, claim) }, "1m", "200ms").Should(Succeed())
	}
	awaitAnswers(ctx, s, t.name, 10+2+3)
	made := &ipamv1beta2.IPAddress{ // by hand
		ObjectMeta: metav1.ObjectMeta{Namespace: t.name, Name: "jumphost", Labels: label(clusterctlv1.ClusterctlMoveLabel)},
		Spec: ipamv1beta2.IPAddressSpec{
			Address: "10.30.15.1", Prefix: ptr.To[int32](20), ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: "jumphost"},
			PoolRef: ipamv1beta2.IPPoolReference{APIGroup: ipamv1.GroupVersion.Group, Kind: ipamv1.IPPoolKind, Name: "v4"},
		},
	}
	Expect(s.Client().Create(ctx, made)).To(Succeed())
	Eventually(func() []string { return adopted(ctx, s, t.name) }, "1m", "200ms").Should(ConsistOf("10.30.15.1/32"))
}

// adopted returns what IPAddresses made by hand hold in a namespace.
func adopted(ctx context.Context, s *side, namespace string) (prefixes []string) {
	GinkgoHelper()
	list := &ipamv1.IPAllocationList{}
	Expect(s.Client().List(ctx, list, client.InNamespace(namespace))).To(Succeed())
	for _, record := range list.Items {
		if record.Spec.Origin == ipamv1.AdoptedOrigin {
			prefixes = append(prefixes, record.Spec.CIDR)
		}
	}
	return prefixes
}

var objectInMessage = regexp.MustCompile(`(IPAddressClaim|IPAddress|IPClaim|IPPool) [a-z0-9-]+/[a-z0-9-]+`)

// namedBy returns what the conditions of a namespace's pools name, each once, if they name all that they count.
func namedBy(ctx context.Context, s *side, namespace string) []string {
	GinkgoHelper()
	pools := &ipamv1.IPPoolList{}
	Expect(s.Client().List(ctx, pools, client.InNamespace(namespace))).To(Succeed())
	found := map[string]bool{}
	for i := range pools.Items {
		condition := conditions.Get(&pools.Items[i], ipamv1.MovableCondition)
		if condition == nil {
			return nil
		}
		objects := objectInMessage.FindAllString(condition.Message, -1)
		if count := fmt.Sprintf("leave %d behind", len(objects)); len(objects) > 0 {
			Expect(condition.Message).To(ContainSubstring(count))
		}
		for _, object := range objects {
			found[object] = true
		}
	}
	return slices.Collect(maps.Keys(found))
}

// blockedMove lets clusterctl try for a while, and returns what it said. It leaves the Cluster paused, which is ended here.
func blockedMove(ctx context.Context, t tenant) string {
	GinkgoHelper()
	some, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	out, err := left.ctl.Run(some, "move", "--to-kubeconfig", right.KubeconfigPath(), "--namespace", t.name)
	Expect(err).To(HaveOccurred(), out)
	err = right.Client().Get(ctx, client.ObjectKey{Name: t.name}, &corev1.Namespace{})
	Expect(apierrors.IsNotFound(err)).To(BeTrue(), "nothing is created: %v", err)
	unpause(ctx, left, t)
	return out
}

// blockingPools names the pools of a namespace for which clusterctl waits.
func blockingPools(ctx context.Context, s *side, namespace string) []string {
	GinkgoHelper()
	pools := &ipamv1.IPPoolList{}
	Expect(s.Client().List(ctx, pools, client.InNamespace(namespace))).To(Succeed())
	var names []string
	for _, pool := range pools.Items {
		if _, blocks := pool.Annotations[clusterctlv1.BlockMoveAnnotation]; blocks {
			names = append(names, pool.Name)
		}
	}
	return names
}

// present names the claims and pools of namespaces.
func present(ctx context.Context, s *side, namespaces ...string) []string {
	GinkgoHelper()
	var names []string
	for _, namespace := range namespaces {
		for kind, list := range map[string]client.ObjectList{
			"IPAddressClaim": &ipamv1beta2.IPAddressClaimList{}, "IPClaim": &ipamv1.IPClaimList{}, "IPPool": &ipamv1.IPPoolList{},
		} {
			Expect(s.Client().List(ctx, list, client.InNamespace(namespace))).To(Succeed())
			for _, obj := range suite.Items(list) {
				names = append(names, kind+" "+namespace+"/"+obj.GetName())
			}
		}
	}
	return names
}

// addresses names the IPAddresses of a namespace.
func addresses(ctx context.Context, s *side, namespace string) []string {
	GinkgoHelper()
	list := &ipamv1beta2.IPAddressList{}
	Expect(s.Client().List(ctx, list, client.InNamespace(namespace))).To(Succeed())
	names := make([]string, 0, len(list.Items))
	for _, address := range list.Items {
		names = append(names, address.Name)
	}
	return names
}
