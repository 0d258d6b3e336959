// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/demand"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/plugin"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/metal3/capm3"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// workers is the MachineDeployment of each Cluster, which is named after its namespace.
const workers = "workers"

// prediction is what plan says: machines, and addresses by their pools.
type prediction struct {
	machines, machinesAtMost int
	forGood, atMost          map[string]int
}

// rollsOut makes a Cluster, and then replaces its machines while it grows. The first machine to go stays until all is counted: none goes before
// all that there may be at most are there and available.
func rollsOut(ctx SpecContext, s shape) {
	found(ctx, s)
	made := follow(ctx, s.name)
	provider := s.provide(ctx)

	first := s.plan(ctx, s.name+".yaml")
	Expect(first.forGood).To(HaveLen(s.pools))
	s.apply(ctx, s.name+".yaml")
	s.awaitMachines(ctx, first.machines)
	made.catchUp(ctx)
	Expect(made.most()).To(Equal(first.forGood))
	Expect(held(ctx, s.name)).To(Equal(first.forGood))

	next := s.plan(ctx, s.name+"-next.yaml")
	provider.keep(true)
	made.forget()
	s.apply(ctx, s.name+"-next.yaml")
	Eventually(func() int { return s.leaving(ctx) }, patience, "200ms").WithContext(ctx).Should(Equal(1))
	Expect(held(ctx, s.name)).To(Equal(next.atMost))
	provider.keep(false)
	s.awaitMachines(ctx, next.machines)
	made.catchUp(ctx)
	Expect(made.most()).To(Equal(next.atMost))
	Expect(made.mostMachines()).To(Equal(next.machinesAtMost))
	Eventually(func() map[string]int { return held(ctx, s.name) }, patience, "200ms").WithContext(ctx).Should(Equal(next.forGood))
}

// found makes the namespace of a Cluster, with what its machines need: the kubeconfig of the workload cluster, which is the site itself, and
// what machines boot with.
func found(ctx context.Context, s shape) {
	GinkgoHelper()
	k := site.Client()
	Expect(k.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.name}})).To(Succeed())
	kubeconfig, err := os.ReadFile(site.KubeconfigPath())
	Expect(err).NotTo(HaveOccurred())
	for name, data := range map[string][]byte{s.name + "-kubeconfig": kubeconfig, "bootstrap": []byte("#cloud-config")} {
		Expect(k.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.name, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: s.name}},
			Type:       clusterv1.ClusterSecretType,
			Data:       map[string][]byte{"value": data},
		})).To(Succeed())
	}
	s.apply(ctx, s.name+"-pools.yaml")
}

// apply applies manifests in the shape's namespace.
func (s shape) apply(ctx context.Context, file string) {
	GinkgoHelper()
	objects, err := framework.ReadManifests(filepath.Join("testdata", file))
	Expect(err).NotTo(HaveOccurred())
	for _, object := range objects {
		if object.GetKind() != ipamv1.GlobalIPPoolKind {
			object.SetNamespace(s.name)
		}
	}
	Expect(framework.Apply(ctx, site.Config(), objects...)).To(Succeed())
}

// plan runs kubectl weir plan for manifests, until it knows enough of the pools, which are new.
func (s shape) plan(ctx context.Context, file string) prediction {
	GinkgoHelper()
	var out bytes.Buffer
	Eventually(func() int {
		var errOut bytes.Buffer
		out.Reset()
		return plugin.Run(ctx, plugin.Config{
			Stdin: &bytes.Buffer{}, Stdout: &out, Stderr: &errOut, Now: time.Now, Version: "test", Forms: []demand.Form{capm3.Form},
		}, "plan", "-n", s.name, "-f", filepath.Join("testdata", file), "-o", "json",
			"--kubeconfig="+site.KubeconfigPath(), "--cache-dir="+filepath.Join(GinkgoT().TempDir(), "cache"))
	}, patience, "200ms").WithContext(ctx).Should(Equal(plugin.ExitOK), out.String)
	said := plugin.Plan{}
	Expect(json.Unmarshal(out.Bytes(), &said)).To(Succeed())
	Expect(said.Sets).To(HaveLen(1))
	p := prediction{machines: said.Sets[0].Wanted, machinesAtMost: said.Sets[0].AtMost, forGood: map[string]int{}, atMost: map[string]int{}}
	for i := range said.Pools {
		pool := &said.Pools[i]
		key := poolKey(pool.APIGroup, pool.Kind, pool.Name)
		p.forGood[key], p.atMost[key] = pool.Now+pool.ForGood, pool.Now+pool.AtMost
	}
	return p
}

func poolKey(group, kind, name string) string { return kind + "." + group + "/" + name }

// deployment reads the MachineDeployment.
func (s shape) deployment(ctx context.Context, g Gomega) *clusterv1.MachineDeployment {
	md := &clusterv1.MachineDeployment{}
	g.Expect(site.Client().Get(ctx, client.ObjectKey{Namespace: s.name, Name: workers}, md)).To(Succeed())
	return md
}

// awaitMachines waits until there are so many machines, each up to date and available.
func (s shape) awaitMachines(ctx context.Context, number int) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		md := s.deployment(ctx, g)
		g.Expect(md.Status.ObservedGeneration).To(Equal(md.Generation))
		for _, n := range []*int32{md.Status.Replicas, md.Status.UpToDateReplicas, md.Status.AvailableReplicas} {
			g.Expect(ptr.Deref(n, 0)).To(BeEquivalentTo(number), "%+v", md.Status)
		}
	}, patience, "200ms").WithContext(ctx).Should(Succeed())
}

// leaving is how many machines are being deleted.
func (s shape) leaving(ctx context.Context) (number int) {
	GinkgoHelper()
	machines := &clusterv1.MachineList{}
	Expect(site.Client().List(ctx, machines, client.InNamespace(s.name))).To(Succeed())
	for i := range machines.Items {
		if machines.Items[i].DeletionTimestamp != nil {
			number++
		}
	}
	return number
}

// held is how many addresses Weir's records hold for claims of a namespace, by their pools.
func held(ctx context.Context, namespace string) map[string]int {
	GinkgoHelper()
	records := &ipamv1.IPAllocationList{}
	Expect(site.Client().List(ctx, records)).To(Succeed())
	number := map[string]int{}
	for i := range records.Items {
		spec := &records.Items[i].Spec
		if kind := spec.PoolRef.GroupKind(); spec.Purpose == ipamv1.ClaimPurpose && spec.ClaimRef.Namespace == namespace {
			number[poolKey(kind.Group, kind.Kind, spec.PoolRef.Name)]++
		}
	}
	return number
}
