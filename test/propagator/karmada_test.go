// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package propagator_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/propagator"
)

// The kubeconfigs of a real Karmada's API server and of one of its members, as make test-karmada names them. Without them the specs are about
// the propagator.
const (
	hubEnv    = "WEIR_KARMADA_HUB"
	memberEnv = "WEIR_KARMADA_MEMBER"
)

var (
	propagationPolicies = schema.GroupVersionKind{Group: "policy.karmada.io", Version: "v1alpha1", Kind: "ClusterPropagationPolicy"}
	clusters            = schema.GroupVersionKind{Group: "cluster.karmada.io", Version: "v1alpha1", Kind: "Cluster"}
)

// openKarmada has the specs be about a real Karmada.
func openKarmada(ctx context.Context) {
	GinkgoHelper()
	atHub, atMember := remote(os.Getenv(hubEnv)), remote(os.Getenv(memberEnv))
	hub, member, hubKubectl, memberKubectl = atHub.open(ctx), atMember.open(ctx), atHub, atMember
	name, err := nameOf(ctx, hub, member)
	Expect(err).NotTo(HaveOccurred())
	memberName = name
	placement = &realKarmada{hub: hub, member: memberName}
	DeferCleanup(func(SpecContext) { placement.Stop() }, NodeTimeout(time.Minute))
}

// remote is a cluster that a kubeconfig leads to.
type remote string

// open installs the specs' kinds, which go with the suite, and returns a client.
func (r remote) open(ctx context.Context) client.Client {
	GinkgoHelper()
	config, err := clientcmd.BuildConfigFromFlags("", string(r))
	Expect(err).NotTo(HaveOccurred(), "%s and %s name kubeconfigs", hubEnv, memberEnv)
	Expect(installParcels(ctx, config)).To(Succeed())
	c, err := client.New(config, client.Options{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) error { return r.leave(ctx, c) }, NodeTimeout(2*time.Minute))
	return c
}

// leave deletes the specs' kinds, and what holds their objects.
func (r remote) leave(ctx context.Context, c client.Client) error {
	for _, kind := range []schema.GroupVersionKind{parcels, globalParcels} {
		left := &unstructured.UnstructuredList{}
		left.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := c.List(ctx, left); err != nil {
			return fmt.Errorf("listing what the specs have left: %w", err)
		}
		for i := range left.Items {
			released := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
			if err := c.Patch(ctx, &left.Items[i], released); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("releasing what the specs have left: %w", err)
			}
		}
	}
	_, err := r.Kubectl(ctx, crds, "delete", "--ignore-not-found", "-f", "-")
	return err
}

func installParcels(ctx context.Context, config *rest.Config) error {
	objects, err := framework.ParseManifests([]byte(crds))
	if err != nil {
		return err
	}
	return framework.Apply(ctx, config, objects...)
}

// Kubectl runs kubectl there.
func (r remote) Kubectl(ctx context.Context, input string, args ...string) (string, error) {
	path, err := framework.Binary("kubectl")
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, path, append([]string{"--kubeconfig=" + string(r)}, args...)...)
	cmd.Stdin = strings.NewReader(input)
	var output, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &complaint
	if err := cmd.Run(); err != nil {
		return output.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, complaint.String())
	}
	return output.String(), nil
}

// nameOf returns what a Karmada calls a member: its Clusters have the UIDs of their namespaces kube-system.
func nameOf(ctx context.Context, hub, member client.Client) (string, error) {
	system, known := &corev1.Namespace{}, &unstructured.UnstructuredList{}
	known.SetGroupVersionKind(clusters.GroupVersion().WithKind(clusters.Kind + "List"))
	err := errors.Join(member.Get(ctx, client.ObjectKey{Name: "kube-system"}, system), hub.List(ctx, known))
	if err != nil {
		return "", fmt.Errorf("looking for the member at the hub: %w", err)
	}
	for i := range known.Items {
		if id, _, _ := unstructured.NestedString(known.Items[i].Object, "spec", "id"); id == string(system.UID) {
			return known.Items[i].GetName(), nil
		}
	}
	return "", fmt.Errorf("none of the hub's %d Clusters has the id %s, the UID of the member's namespace kube-system", len(known.Items), system.UID)
}

// realKarmada is a Placement: a policy that places the specs' kinds at one member, and is suspended in between.
type realKarmada struct {
	hub    client.Client
	member string
}

// Start and Stop fail the spec if the policy cannot be written.
func (k *realKarmada) Start() { k.place(false) }

// Stop suspends what is sent. Copies of objects that go are deleted all the same.
func (k *realKarmada) Stop() { k.place(true) }

func (k *realKarmada) place(isSuspended bool) {
	GinkgoHelper()
	selectors := make([]any, 0, 2)
	for _, kind := range []schema.GroupVersionKind{parcels, globalParcels} {
		selectors = append(selectors, map[string]any{
			"apiVersion": kind.GroupVersion().String(), "kind": kind.Kind,
			"labelSelector": map[string]any{"matchLabels": map[string]any{propagator.MemberLabel: k.member}},
		})
	}
	policy := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"resourceSelectors": selectors,
		"placement":         map[string]any{"clusterAffinity": map[string]any{"clusterNames": []any{k.member}}},
		"suspension":        map[string]any{"dispatching": isSuspended},
	}}}
	policy.SetGroupVersionKind(propagationPolicies)
	policy.SetName("weir-test-" + k.member)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	Expect(k.hub.Apply(ctx, client.ApplyConfigurationFromUnstructured(policy), client.FieldOwner("weir-test"), client.ForceOwnership)).To(Succeed())
}

// onPropagator skips a spec that cannot be about a real Karmada, and says why.
func onPropagator(why string) {
	GinkgoHelper()
	if standIn == nil {
		Skip("not on a real Karmada: " + why)
	}
}

var _ = It("A real Karmada is told by a policy what to carry to its member, which is found by its id", func(ctx SpecContext) {
	onPropagator("this is how it is reached")
	kinds := propagator.PermissiveCRD(propagationPolicies, "clusterpropagationpolicies", "Cluster") + propagator.PermissiveCRD(clusters, "clusters", "Cluster")
	objects, err := framework.ParseManifests([]byte(kinds))
	Expect(err).NotTo(HaveOccurred())
	Expect(framework.Apply(ctx, hubSite.Config(), objects...)).To(Succeed())
	system := &corev1.Namespace{}
	Expect(member.Get(ctx, client.ObjectKey{Name: "kube-system"}, system)).To(Succeed())
	for name, id := range map[string]string{"other": "other", "ours": string(system.UID)} {
		_, err := nameOf(ctx, hub, member)
		Expect(err == nil || strings.Contains(err.Error(), "Clusters has the id")).To(BeTrue(), "%v", err)
		known := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"id": id}}}
		known.SetGroupVersionKind(clusters)
		known.SetName(name)
		Expect(hub.Create(ctx, known)).To(Succeed())
	}
	Expect(nameOf(ctx, hub, member)).To(Equal("ours"))

	placed := &realKarmada{hub: hub, member: "ours"}
	policy := &unstructured.Unstructured{}
	policy.SetGroupVersionKind(propagationPolicies)
	for _, step := range []struct {
		do          func()
		isSuspended bool
	}{{placed.Start, false}, {placed.Stop, true}, {placed.Start, false}} {
		step.do()
		Expect(hub.Get(ctx, client.ObjectKey{Name: "weir-test-ours"}, policy)).To(Succeed())
		Expect(policy.Object["spec"]).To(HaveKeyWithValue("suspension", HaveKeyWithValue("dispatching", step.isSuspended)))
	}
}, SpecTimeout(time.Minute))
