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

// floatingIPsMove: claims of a pool of floating IPs move there and back. Each keeps its floating IP, and the port that this has. Nothing is
// created or deleted in the cloud, and nothing is changed but descriptions.
func floatingIPsMove(ctx SpecContext) {
	cloud := fake.Start()
	DeferCleanup(cloud.Stop)
	t, ref := tenant{name: "floating-moves"}, ipamv1.ClaimPoolReference{Kind: ipamv1.IPPoolKind, Name: floatingPool}
	t.found(ctx, left)
	Expect(right.Client().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.name}})).To(Succeed())
	t.letReadSecrets(ctx, left)
	t.letReadSecrets(ctx, right)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: t.name, Name: floatingPool, Labels: map[string]string{clusterctlv1.ClusterctlMoveLabel: ""}},
		Data:       map[string][]byte{"clouds.yaml": cloud.CloudsYAML()},
	}
	Expect(left.Client().Create(ctx, secret)).To(Succeed())
	pool := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: t.name, Name: floatingPool}, Spec: ipamv1.IPPoolSpec{
		ClusterName: t.name,
		OpenStack: &ipamv1.OpenStackSource{
			IdentityRef:     ipamv1.OpenStackIdentityReference{Name: floatingPool, CloudName: openstack.Member},
			FloatingNetwork: ipamv1.FloatingNetwork{Name: openstack.Public},
		},
	}}
	Expect(left.Client().Create(ctx, pool)).To(Succeed())
	number := size.Of(6, 6, 60)
	t.ask(ctx, left, "old", ref, number, 0)
	awaitAnswers(ctx, left, t.name, number)
	for i, f := range cloud.FloatingIPs() {
		if i%2 == 0 {
			_, err := cloud.Bind(ctx, f.ID)
			Expect(err).NotTo(HaveOccurred())
		}
	}
	check(ctx)

	By("moving")
	t.moveFloatingIPs(ctx, cloud, left, right)
	_, err := left.readSecret(ctx, secret)
	Expect(err).To(Satisfy(apierrors.IsNotFound))
	moved, err := right.readSecret(ctx, secret)
	Expect(err).NotTo(HaveOccurred())
	Expect(moved.Data).To(Equal(secret.Data))

	By("claiming and releasing on the other side")
	t.ask(ctx, right, "new", ref, 1, 0)
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
	for _, f := range cloud.FloatingIPs() {
		if f.PortID != "" {
			Expect(cloud.Unbind(ctx, f.PortID)).To(Succeed())
		}
	}
	Expect(left.Client().DeleteAllOf(ctx, &ipamv1beta2.IPAddressClaim{}, client.InNamespace(t.name))).To(Succeed())
	Eventually(cloud.FloatingIPs, "3m", "500ms").Should(BeEmpty())
	Eventually(func() error { return client.IgnoreNotFound(left.Client().Delete(ctx, pool)) }, "1m", "500ms").Should(Succeed())
	suite.Gone(ctx, left.Client(), pool)
}

// moveFloatingIPs moves a tenant with its claims of floating IPs.
func (t tenant) moveFloatingIPs(ctx context.Context, cloud *fake.Cloud, from, to *side) {
	GinkgoHelper()
	had, were, changes := book(ctx, from, t.name), cloud.FloatingIPs(), len(cloud.Changes())
	Expect(were).To(HaveLen(len(had)))
	move(ctx, from, to, t.name)
	Eventually(func() []string { return changed(had, book(ctx, to, t.name)) }, "3m", "500ms").Should(BeEmpty(), func() string {
		return reasons(ctx, to, t.name)
	})
	expectEmpty(ctx, from, t.name)
	check(ctx)
	uids := map[string]types.UID{}
	claims := &ipamv1beta2.IPAddressClaimList{}
	Expect(to.Client().List(ctx, claims, client.InNamespace(t.name))).To(Succeed())
	for _, claim := range claims.Items {
		uids[had["IPAddressClaim "+claim.Name]] = claim.UID
	}
	are := cloud.FloatingIPs()
	Expect(are).To(HaveLen(len(were)))
	for i, f := range are {
		was := were[i]
		Expect([]string{f.ID, f.Address.String(), f.PortID}).To(Equal([]string{was.ID, was.Address.String(), was.PortID}))
		parts := strings.Split(was.Description, "/")
		parts[3] = string(uids[f.Address.String()])
		Expect(f.Description).To(Equal(strings.Join(parts, "/")))
	}
	calls := make([]string, 0, len(had))
	for _, change := range cloud.Changes()[changes:] {
		calls = append(calls, change.Call)
	}
	Expect(calls).To(Equal(slices.Repeat([]string{"DescribeFloatingIP"}, len(had))), "each is described anew once, and nothing else is changed")
}

// letReadSecrets lets Weir read the Secrets of a tenant.
func (t tenant) letReadSecrets(ctx context.Context, s *side) {
	GinkgoHelper()
	account := strings.Split(framework.ManagerAccount, ":")
	Expect(s.Client().Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: t.name, Name: "weir-openstack"},
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
