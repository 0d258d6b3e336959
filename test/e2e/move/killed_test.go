// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"context"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// moment is the n-th request of a kind to one side's API server, and what becomes of it.
type moment struct {
	at   *side
	is   func(*http.Request) bool
	n    int
	loss framework.Loss
}

// killAt moves a namespace, and kills clusterctl at that moment.
func killAt(ctx context.Context, from, to *side, namespace string, m moment) {
	GinkgoHelper()
	proxy, err := m.at.NewWriteProxy(m.at.Config(), m.n, m.loss)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = proxy.Stop() }()
	path := filepath.Join(m.at.Dir(), "proxy.kubeconfig")
	Expect(framework.WriteKubeconfig(proxy.Counting(m.is).Config(), path)).To(Succeed())
	kubeconfig := map[*side]string{from: from.KubeconfigPath(), to: to.KubeconfigPath()}
	kubeconfig[m.at] = path

	living, kill := context.WithCancel(ctx)
	defer kill()
	go func() {
		select {
		case <-proxy.Closed():
			kill() // SIGKILL
		case <-living.Done():
		}
	}()
	out, err := from.ctl.Run(living, "move", "--kubeconfig", kubeconfig[from], "--to-kubeconfig", kubeconfig[to], "--namespace", namespace)
	Expect(err).To(MatchError(ContainSubstring("signal: killed")), out)
	Expect(proxy.Closed()).To(BeClosed())
}

// to returns what passes requests of a method for objects whose path goes on like this.
func to(method, path string) func(*http.Request) bool {
	return func(r *http.Request) bool { return r.Method == method && strings.Contains(r.URL.Path, path) }
}

// movedKinds are what Weir has of a namespace, and Cluster API for it.
const movedKinds = "ipallocations.ipam.weir.dev,ipaddresses.ipam.cluster.x-k8s.io,ipaddressclaims.ipam.cluster.x-k8s.io," +
	"ipclaims.ipam.weir.dev,ippools.ipam.weir.dev"

// finish removes from the source what a move has left there.
func finish(ctx context.Context, s *side, t tenant) {
	GinkgoHelper()
	remove(ctx, s, t, movedKinds)
	remove(ctx, s, t, "clusters.cluster.x-k8s.io")
	expectEmpty(ctx, s, t.name)
	expectGone(ctx, s, &clusterv1.Cluster{ObjectMeta: t.named(t.name)})
}

// remove removes objects as something that has moved, with the commands of the guide.
func remove(ctx context.Context, s *side, t tenant, what ...string) {
	GinkgoHelper()
	names := strings.Fields(kubectl(ctx, s, t, append([]string{"get", "-o", "name", "--ignore-not-found"}, what...)...))
	if len(names) == 0 {
		return
	}
	kubectl(ctx, s, t, append(append([]string{"annotate", "--overwrite"}, names...), clusterctlv1.DeleteForMoveAnnotation+"=")...)
	kubectl(ctx, s, t, append([]string{"delete", "--wait=false"}, names...)...)
	patch := []string{"-n", t.name, "patch", "--type", "merge", "-p", `{"metadata":{"finalizers":null}}`}
	if _, err := s.Kubectl(ctx, "", append(patch, names...)...); err != nil {
		Expect(err).To(MatchError(ContainSubstring("not found"))) // Weir was faster
	}
}

func kubectl(ctx context.Context, s *side, t tenant, args ...string) string {
	GinkgoHelper()
	out, err := s.Kubectl(ctx, "", append([]string{"-n", t.name}, args...)...)
	Expect(err).NotTo(HaveOccurred())
	return out
}

// killedCreating: clusterctl dies while it creates, and is called again. Some claims were being deleted.
func killedCreating(ctx SpecContext) {
	t := tenant{name: "killed-creating", global: "killed-creating"}
	had := settle(ctx, left, t, 4, "10.14.0.0/20")
	By("deleting claims that somebody still uses, and one that is paused")
	used, usedOwn := &ipamv1beta2.IPAddressClaim{ObjectMeta: t.named("old-killed-creating-0")}, &ipamv1.IPClaim{ObjectMeta: t.named("old-child-0")}
	pausedClaim := &ipamv1beta2.IPAddressClaim{ObjectMeta: t.named("old-v4-1")}
	suite.Change(ctx, left.Client(), used, func() { used.Finalizers = append(used.Finalizers, inUse) })
	suite.Change(ctx, left.Client(), usedOwn, func() { usedOwn.Finalizers = append(usedOwn.Finalizers, inUse) })
	suite.Change(ctx, left.Client(), pausedClaim, func() { pausedClaim.Annotations = map[string]string{clusterv1.PausedAnnotation: ""} })
	dying := []client.Object{used, usedOwn, pausedClaim}
	for _, claim := range dying {
		Expect(left.Client().Delete(ctx, claim)).To(Succeed())
	}

	By("killing clusterctl at the fourth IPAddress")
	killAt(ctx, left, right, t.name, moment{at: right, is: to(http.MethodPost, "/ipaddresses"), n: 4, loss: framework.ReplyLost})
	arrived := &ipamv1beta2.IPAddressList{}
	Expect(right.Client().List(ctx, arrived, client.InNamespace(t.name))).To(Succeed())
	Expect(arrived.Items).To(HaveLen(4))
	leftAlone(ctx, t)
	Expect(changed(had, book(ctx, left, t.name))).To(BeEmpty())

	By("calling clusterctl again, as nothing is deleted yet; it cannot update copies of what is being deleted")
	remove(ctx, right, t, "ipaddressclaims.ipam.cluster.x-k8s.io/"+used.Name, "ipaddressclaims.ipam.cluster.x-k8s.io/"+pausedClaim.Name,
		"ipclaims.ipam.weir.dev/"+usedOwn.Name)
	unpause(ctx, left, t)
	move(ctx, left, right, t.name)
	expectEmpty(ctx, left, t.name)
	Expect(unheld(ctx, left, t.global, had)).To(BeEmpty())
	suite.Change(ctx, right.Client(), pausedClaim, func() { pausedClaim.Annotations = nil })
	expectArrived(ctx, right, t, had)

	By("deleting again")
	for _, claim := range dying {
		Expect(right.Client().Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		Expect(claim.GetDeletionTimestamp()).To(BeNil())
		Expect(right.Client().Delete(ctx, claim)).To(Succeed())
	}
	for _, claim := range dying[:2] {
		suite.Change(ctx, right.Client(), claim, func() {
			claim.SetFinalizers(slices.DeleteFunc(claim.GetFinalizers(), func(f string) bool { return f == inUse }))
		})
	}
	for _, claim := range dying {
		expectGone(ctx, right, claim)
	}
	check(ctx)
}

// killedDeleting: clusterctl dies while it deletes, once among the records and once among the claims.
func killedDeleting(ctx SpecContext) {
	among, after := tenant{name: "among-records", global: "killed-deleting"}, tenant{name: "among-claims", global: "killed-deleting"}
	stays := tenant{name: "stayed", global: among.global}
	had := map[tenant]map[string]string{among: settle(ctx, left, among, 5, "10.15.0.0/20")}
	had[after] = settleOn(ctx, left, after, 6)
	stays.found(ctx, left)

	By("killing clusterctl before it takes the finalizer off a record, and after it has deleted the third claim")
	killAt(ctx, left, right, among.name, moment{at: left, is: to(http.MethodPatch, "/ipallocations/old-v4-0-"), n: 2, loss: framework.RequestLost})
	killAt(ctx, left, right, after.name, moment{at: left, is: to(http.MethodDelete, "/ipaddressclaims/"), n: 3, loss: framework.ReplyLost})
	leftAlone(ctx, among, after)
	for _, record := range records(ctx, left, framework.ManagerNamespace) {
		if record.Spec.State == ipamv1.MovedState {
			Expect(record.Spec.PoolRef.Kind).To(Equal(ipamv1.GlobalIPPoolKind), "the others move with their pools")
		}
	}

	By("going on with the target, and with others on the source")
	for t := range had {
		unpause(ctx, right, t)
		expectArrived(ctx, right, t, had[t])
	}
	stays.ask(ctx, left, "new", stays.refs()[0], 5, 5)
	awaitAnswers(ctx, left, stays.name, 10)
	Expect(union(ctx)).To(BeEmpty())

	By("removing what is left on the source")
	for t := range had {
		finish(ctx, left, t)
		Expect(unheld(ctx, left, t.global, had[t])).To(BeEmpty())
	}
	check(ctx)
}
