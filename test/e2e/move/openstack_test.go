// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"context"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack/fake"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// floatingPool is the name of a pool of floating IPs, and of the Secret with its credentials.
const floatingPool = "floating"

// namespaced refers to the pool of that name of a namespace.
var namespaced = ipamv1.ClaimPoolReference{Kind: ipamv1.IPPoolKind, Name: floatingPool}

// floatingIPsMove: claims of a pool of floating IPs move there and back. Each keeps its floating IP, and the port that this has. Nothing is
// created or deleted in the cloud, and nothing is changed but descriptions.
func floatingIPsMove(ctx SpecContext) {
	t, cloud := tenant{name: "floating-moves"}, startCloud()
	secret, number := t.settleFloating(ctx, cloud)

	By("moving")
	t.moveFloatingIPs(ctx, cloud, left, right)
	_, err := left.readSecret(ctx, secret)
	Expect(err).To(Satisfy(apierrors.IsNotFound))
	moved, err := right.readSecret(ctx, secret)
	Expect(err).NotTo(HaveOccurred())
	Expect(moved.Data).To(Equal(secret.Data))

	By("claiming and releasing on the other side")
	t.ask(ctx, right, "new", namespaced, 1, 0)
	awaitAnswers(ctx, right, t.name, number+1)
	for _, f := range cloud.FloatingIPs() {
		if strings.HasSuffix(f.Description, "/old-floating-0") && f.PortID != "" {
			Expect(cloud.Unbind(ctx, f.PortID)).To(Succeed())
		}
	}
	first := &ipamv1beta2.IPAddressClaim{ObjectMeta: metav1.ObjectMeta{Namespace: t.name, Name: "old-floating-0"}}
	Expect(right.Client().Delete(ctx, first)).To(Succeed())
	suite.Gone(ctx, right.Client(), first)
	Expect(cloud.FloatingIPs()).To(HaveLen(number))
	check(ctx)

	By("moving back")
	t.provision(ctx, right)
	t.moveFloatingIPs(ctx, cloud, right, left)

	By("deleting them")
	t.releaseFloatingIPs(ctx, left, cloud)
	deletePool(ctx, left, &ipamv1.IPPool{ObjectMeta: t.named(floatingPool)})
}

// settleFloating makes a tenant whose claims have floating IPs of its own pool. It returns the pool's Secret, and how many claims there are.
func (t tenant) settleFloating(ctx context.Context, cloud *fake.Cloud) (secret *corev1.Secret, number int) {
	GinkgoHelper()
	t.found(ctx, left)
	Expect(right.Client().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.name}})).To(Succeed())
	letReadSecrets(ctx, right, t.name)
	secret = giveSecret(ctx, left, t.name, cloud)
	pool := &ipamv1.IPPool{ObjectMeta: t.named(floatingPool), Spec: floatingSpec()}
	pool.Spec.ClusterName = t.name
	Expect(left.Client().Create(ctx, pool)).To(Succeed())
	return secret, t.askBound(ctx, cloud, namespaced)
}

// startCloud starts a cloud, which ends with the spec.
func startCloud() *fake.Cloud {
	cloud := fake.Start()
	DeferCleanup(cloud.Stop)
	return cloud
}

// globalFloatingIPsMove: so do claims of a GlobalIPPool, which stays on both sides. Where they come from their addresses are held.
func globalFloatingIPsMove(ctx SpecContext) {
	t, cloud := tenant{name: "floating-stays"}, startCloud()
	t.found(ctx, left)
	giveSecret(ctx, left, framework.ManagerNamespace, cloud)
	giveSecret(ctx, right, framework.ManagerNamespace, cloud)
	pool := &ipamv1.GlobalIPPool{ObjectMeta: metav1.ObjectMeta{Name: floatingPool}, Spec: floatingSpec()}
	Expect(left.Client().Create(ctx, pool)).To(Succeed())
	number := t.askBound(ctx, cloud, ipamv1.ClaimPoolReference{Kind: ipamv1.GlobalIPPoolKind, Name: floatingPool})

	By("moving")
	t.moveFloatingIPs(ctx, cloud, left, right)
	expectForeign(ctx, right, pool.Name)
	Expect(heldFrom(ctx, left, pool.Name)).To(HaveLen(number))

	By("moving back")
	t.provision(ctx, right)
	t.moveFloatingIPs(ctx, cloud, right, left)
	Eventually(func() []string { return heldFrom(ctx, left, pool.Name) }, "1m", "200ms").Should(BeEmpty())

	By("deleting them, and what is held on the other side")
	t.releaseFloatingIPs(ctx, left, cloud)
	for _, record := range records(ctx, right, framework.ManagerNamespace) {
		if record.Spec.PoolRef.Name == pool.Name {
			Expect(right.Client().Delete(ctx, &record)).To(Succeed())
		}
	}
	deletePool(ctx, left, pool)
	deletePool(ctx, right, &ipamv1.GlobalIPPool{ObjectMeta: metav1.ObjectMeta{Name: pool.Name}})
}

// floatingSpec is the spec of a pool of floating IPs.
func floatingSpec() ipamv1.IPPoolSpec {
	return ipamv1.IPPoolSpec{OpenStack: &ipamv1.OpenStackSource{
		IdentityRef:     ipamv1.OpenStackIdentityReference{Name: floatingPool, CloudName: openstack.Member},
		FloatingNetwork: ipamv1.FloatingNetwork{Name: openstack.Public},
	}}
}

// askBound makes claims, and binds every other one's floating IP to a port. It returns how many there are.
func (t tenant) askBound(ctx context.Context, cloud *fake.Cloud, ref ipamv1.ClaimPoolReference) (number int) {
	GinkgoHelper()
	number = size.Of(6, 6, 60)
	t.ask(ctx, left, "old", ref, number, 0)
	awaitAnswers(ctx, left, t.name, number)
	for i, f := range cloud.FloatingIPs() {
		if i%2 == 0 {
			_, err := cloud.Bind(ctx, f.ID)
			Expect(err).NotTo(HaveOccurred())
		}
	}
	check(ctx)
	return number
}

// releaseFloatingIPs deletes the claims, and waits until their floating IPs have gone.
func (t tenant) releaseFloatingIPs(ctx context.Context, s *side, cloud *fake.Cloud) {
	GinkgoHelper()
	for _, f := range cloud.FloatingIPs() {
		if f.PortID != "" {
			Expect(cloud.Unbind(ctx, f.PortID)).To(Succeed())
		}
	}
	Expect(s.Client().DeleteAllOf(ctx, &ipamv1beta2.IPAddressClaim{}, client.InNamespace(t.name))).To(Succeed())
	Eventually(cloud.FloatingIPs, "3m", "500ms").Should(BeEmpty())
}

// deletePool deletes a pool once nothing of it is in use.
func deletePool(ctx context.Context, s *side, pool client.Object) {
	GinkgoHelper()
	Eventually(func() error { return client.IgnoreNotFound(s.Client().Delete(ctx, pool)) }, "1m", "500ms").Should(Succeed())
	suite.Gone(ctx, s.Client(), pool)
}

// moveFloatingIPs moves a tenant with its claims of floating IPs.
func (t tenant) moveFloatingIPs(ctx context.Context, cloud *fake.Cloud, from, to *side) {
	GinkgoHelper()
	before := t.cloudBefore(ctx, from, cloud)
	move(ctx, from, to, t.name)
	t.expectTakenOver(ctx, to, cloud, before)
	expectEmpty(ctx, from, t.name)
	check(ctx)
	expectDescribed(cloud, before)
}

// clouded is what a tenant's claims and a cloud have at a moment.
type clouded struct {
	had         map[string]string
	floatingIPs []fake.FloatingIP
	changes     int
}

func (t tenant) cloudBefore(ctx context.Context, s *side, cloud *fake.Cloud) clouded {
	GinkgoHelper()
	before := clouded{had: book(ctx, s, t.name), floatingIPs: cloud.FloatingIPs(), changes: len(cloud.Changes())}
	Expect(before.floatingIPs).To(HaveLen(len(before.had)))
	return before
}

// expectTakenOver expects that the claims of a side have the floating IPs of their former selves, each described as theirs, and that
// nothing else has changed in the cloud.
func (t tenant) expectTakenOver(ctx context.Context, s *side, cloud *fake.Cloud, before clouded) {
	GinkgoHelper()
	Eventually(func() []string { return changed(before.had, book(ctx, s, t.name)) }, "3m", "500ms").Should(BeEmpty(), func() string {
		return reasons(ctx, s, t.name)
	})
	Eventually(cloud.Changes, "3m", "500ms").Should(HaveLen(before.changes + len(before.had)))
	expectDescribed(cloud, before)
	uids := map[string]types.UID{}
	claims := &ipamv1beta2.IPAddressClaimList{}
	Expect(s.Client().List(ctx, claims, client.InNamespace(t.name))).To(Succeed())
	for _, claim := range claims.Items {
		uids[before.had["IPAddressClaim "+claim.Name]] = claim.UID
	}
	are := cloud.FloatingIPs()
	Expect(are).To(HaveLen(len(before.floatingIPs)))
	for i, f := range are {
		was := before.floatingIPs[i]
		Expect([]string{f.ID, f.Address.String(), f.PortID}).To(Equal([]string{was.ID, was.Address.String(), was.PortID}))
		parts := strings.Split(was.Description, "/")
		parts[3] = string(uids[f.Address.String()])
		Expect(f.Description).To(Equal(strings.Join(parts, "/")))
	}
}

// expectDescribed expects that nothing has changed in the cloud but each floating IP's description, once.
func expectDescribed(cloud *fake.Cloud, before clouded) {
	GinkgoHelper()
	calls := make([]string, 0, len(before.had))
	for _, change := range cloud.Changes()[before.changes:] {
		calls = append(calls, change.Call)
	}
	Expect(calls).To(Equal(slices.Repeat([]string{"DescribeFloatingIP"}, len(before.had))), "each is described anew once, and nothing else is changed")
}

// giveSecret makes the Secret with the credentials of a cloud, which Weir may read.
func giveSecret(ctx context.Context, s *side, namespace string, cloud *fake.Cloud) *corev1.Secret {
	GinkgoHelper()
	letReadSecrets(ctx, s, namespace)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: floatingPool, Labels: map[string]string{clusterctlv1.ClusterctlMoveLabel: ""}},
		Data:       map[string][]byte{"clouds.yaml": cloud.CloudsYAML()},
	}
	Expect(s.Client().Create(ctx, secret)).To(Succeed())
	return secret
}

// letReadSecrets lets Weir read the Secrets of a namespace.
func letReadSecrets(ctx context.Context, s *side, namespace string) {
	GinkgoHelper()
	account := strings.Split(framework.ManagerAccount, ":")
	Expect(s.Client().Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "weir-openstack"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "weir-system-openstack-secrets"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account[2], Name: account[3]}},
	})).To(Succeed())
}

func (s *side) readSecret(ctx context.Context, named *corev1.Secret) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	if err := s.Client().Get(ctx, client.ObjectKeyFromObject(named), secret); err != nil {
		return nil, fmt.Errorf("reading a Secret: %w", err)
	}
	return secret, nil
}
