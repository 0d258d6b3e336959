// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack/fake"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// cloud is what pools take floating IPs from.
type cloud interface {
	CloudsYAML() []byte
	SetQuota(ctx context.Context, limit int) error
	Bind(ctx context.Context, floatingIP string) (port string, err error)
	Forward(ctx context.Context, floatingIP string) (port string, err error)
	Unbind(ctx context.Context, port string) error
	Stop() error
}

// reached is a cloud with a client of its own.
type reached struct {
	cloud

	// member is the client of the project that has the pools' floating IPs.
	member *neutron.Client
	// public and tiny are the ids of the networks; tiny has three addresses.
	public, tiny string
}

// realCloud is started by the first spec that needs it.
var realCloud *reached

// spec is the cloud and the namespace of one spec.
type spec struct {
	*reached

	// kind of the spec's pools.
	kind string
	ns   string
	// filter is the watch filter of the managers that serve the spec.
	filter string
	// strangers are floating IPs of the project that no manager may touch.
	strangers []openstack.FloatingIP
	// takenOver are the ids of floating IPs that claims take over while a port has them.
	takenOver []string
}

// onEvery defines specs for each cloud and each kind of pool.
func onEvery(specs func(s *spec)) func() {
	return func() {
		on("real", ipamv1.IPPoolKind, specs)
		size.FromLong(func() { on("real", ipamv1.GlobalIPPoolKind, specs) })
		onFake(specs)()
	}
}

// onFakeFirst defines specs for the fake, and from the size long on for each cloud and each kind of pool.
func onFakeFirst(specs func(s *spec)) func() {
	if size.Now() > size.Gate {
		return onEvery(specs)
	}
	return onFake(specs)
}

// onFake defines specs for the fake and each kind of pool, at the gate for IPPools.
func onFake(specs func(s *spec)) func() {
	return func() {
		on("fake", ipamv1.IPPoolKind, specs)
		size.FromLong(func() { on("fake", ipamv1.GlobalIPPoolKind, specs) })
	}
}

// onFakeOnce defines specs for the fake and IPPools.
func onFakeOnce(specs func(s *spec)) func() {
	return func() { on("fake", ipamv1.IPPoolKind, specs) }
}

func on(name, kind string, specs func(s *spec)) {
	Context(fmt.Sprintf("on the %s cloud, of an %s", name, kind), func() {
		s := &spec{}
		BeforeEach(func(ctx SpecContext) {
			*s = spec{kind: kind, filter: suiteFilter}
			s.open(ctx, name)
		}, NodeTimeout(limit))
		AfterEach(s.close, NodeTimeout(limit))
		specs(s)
	})
}

// open starts a cloud and makes a namespace. Each spec has a fake of its own.
func (s *spec) open(ctx context.Context, name string) {
	switch {
	case name == "fake":
		s.reached = reach(ctx, fake.Start())
		DeferCleanup(s.Stop)
		DeferCleanup(s.member.CloseIdleConnections)
	case realCloud == nil:
		started, err := openstack.Start(ctx)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { // if it cannot be reached
			if realCloud == nil {
				Expect(started.Stop()).To(Succeed())
			}
		})
		realCloud = reach(ctx, started)
		fallthrough
	default:
		s.reached = realCloud
	}
	DeferCleanup(site.KillManagers)
	s.ns = suite.Namespace(ctx, k, nil)
	s.wipe(ctx)
	s.setSecret(ctx, s.CloudsYAML())
}

// reach logs in to a cloud as the member.
func reach(ctx context.Context, c cloud) *reached {
	GinkgoHelper()
	credentials, err := neutron.ParseClouds(c.CloudsYAML(), nil, openstack.Member, "")
	Expect(err).NotTo(HaveOccurred())
	policy, err := neutron.ParseEndpointPolicy([]string{loopback})
	Expect(err).NotTo(HaveOccurred())
	slow := neutron.Timeouts{ResponseHeader: 5 * time.Minute, Call: 5 * time.Minute}
	member, err := neutron.Connect(ctx, credentials, neutron.Options{Policy: policy, Timeouts: slow})
	Expect(err).NotTo(HaveOccurred())
	r := &reached{cloud: c, member: member}
	for name, id := range map[string]*string{openstack.Public: &r.public, openstack.Tiny: &r.tiny} {
		network, err := member.FindNetwork(ctx, neutron.NetworkFilter{Name: name})
		Expect(err).NotTo(HaveOccurred())
		*id = network.ID
	}
	return r
}

// fake is the spec's cloud, which must be the fake.
func (s *spec) fake() *fake.Cloud {
	GinkgoHelper()
	f, isFake := s.cloud.(*fake.Cloud)
	Expect(isFake).To(BeTrue())
	return f
}

// ofKind returns the spec with pools of a kind.
func (s *spec) ofKind(ctx context.Context, kind string) *spec {
	GinkgoHelper()
	other := *s
	other.kind = kind
	if kind != s.kind {
		other.setSecret(ctx, s.CloudsYAML())
	}
	return &other
}

// secretNamespace is the namespace of the pools' Secrets.
func (s *spec) secretNamespace() string {
	if s.kind == ipamv1.GlobalIPPoolKind {
		return framework.ManagerNamespace
	}
	return s.ns
}

// setSecret stores a clouds.yaml in the Secret that the spec's pools name.
func (s *spec) setSecret(ctx context.Context, clouds []byte) {
	GinkgoHelper()
	s.setSecretNamed(ctx, s.ns, clouds)
}

func (s *spec) setSecretNamed(ctx context.Context, name string, clouds []byte) {
	GinkgoHelper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.secretNamespace(), Name: name, Labels: map[string]string{clusterctlv1.ClusterctlMoveLabel: ""}},
		Data:       map[string][]byte{"clouds.yaml": clouds},
	}
	err := k.Create(ctx, secret.DeepCopy())
	if apierrors.IsAlreadyExists(err) {
		err = k.Update(ctx, secret)
	}
	Expect(err).NotTo(HaveOccurred())
}

func (s *spec) deleteSecret(ctx context.Context) {
	GinkgoHelper()
	Expect(k.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.secretNamespace(), Name: s.ns}})).To(Succeed())
}

func (s *spec) labels() map[string]string { return map[string]string{clusterv1.WatchLabel: s.filter} }

// poolName is the name of a pool. GlobalIPPools have the spec's namespace in it.
func (s *spec) poolName(name string) string {
	if s.kind == ipamv1.GlobalIPPoolKind {
		return s.ns + "-" + name
	}
	return name
}

// newPool returns a pool with these fields of spec.openStack, as YAML. The default network is the
// public one.
func (s *spec) newPool(name string, fields ...string) suite.Conditioned {
	GinkgoHelper()
	source := &ipamv1.OpenStackSource{}
	source.IdentityRef.Name, source.IdentityRef.CloudName = s.ns, openstack.Member
	Expect(yaml.UnmarshalStrict([]byte(strings.Join(fields, "\n")), source)).To(Succeed())
	if network := &source.FloatingNetwork; network.ID == "" && network.Name == "" && len(network.Tags) == 0 {
		network.ID = s.public
	}
	object := metav1.ObjectMeta{Name: s.poolName(name), Labels: s.labels()}
	if s.kind == ipamv1.GlobalIPPoolKind {
		return &ipamv1.GlobalIPPool{ObjectMeta: object, Spec: ipamv1.IPPoolSpec{OpenStack: source}}
	}
	object.Namespace = s.ns
	return &ipamv1.IPPool{ObjectMeta: object, Spec: ipamv1.IPPoolSpec{OpenStack: source}}
}

// sourceOf returns spec.openStack of a pool.
func sourceOf(p suite.Conditioned) *ipamv1.OpenStackSource {
	GinkgoHelper()
	pool, isPool := p.(interface{ PoolSpec() *ipamv1.IPPoolSpec })
	Expect(isPool).To(BeTrue())
	return pool.PoolSpec().OpenStack
}

// pool creates the pool p, which the spec's claims name, and waits until it is ready.
func (s *spec) pool(ctx context.Context, fields ...string) suite.Conditioned {
	GinkgoHelper()
	p := s.newPool("p", fields...)
	Expect(k.Create(ctx, p)).To(Succeed())
	hasCondition(ctx, p, ipamv1.ReadyCondition, metav1.ConditionTrue, ipamv1.PoolReadyAvailableReason)
	return p
}

// inTiny is the field of a pool of the network with three addresses.
const inTiny = "floatingNetwork: {name: " + openstack.Tiny + "}"

// newClaim returns a claim for the pool p.
func (s *spec) newClaim(name string) *ipamv1beta2.IPAddressClaim {
	return builder.IPAddressClaim(s.ns, name, s.kind, s.poolName("p")).WithLabel(clusterv1.WatchLabel, s.filter).Build()
}

// claim creates a claim for the pool p.
func (s *spec) claim(ctx context.Context, name string) *ipamv1beta2.IPAddressClaim {
	GinkgoHelper()
	c := s.newClaim(name)
	Expect(k.Create(ctx, c)).To(Succeed())
	return c
}

// newAllocated creates a claim for the pool p and returns its floating IP.
func (s *spec) newAllocated(ctx context.Context, name string) (*ipamv1beta2.IPAddressClaim, openstack.FloatingIP) {
	GinkgoHelper()
	c := s.claim(ctx, name)
	return c, s.allocated(ctx, c)
}

// allocated waits until a claim has its IPAddress and returns the floating IP of that address.
func (s *spec) allocated(ctx context.Context, c *ipamv1beta2.IPAddressClaim) openstack.FloatingIP {
	GinkgoHelper()
	s.isReady(ctx, c)
	address := s.address(ctx, c)
	owned := slices.DeleteFunc(s.owned(ctx, c), func(f openstack.FloatingIP) bool { return f.Address.String() != address.Spec.Address })
	Expect(owned).To(HaveLen(1), "floating IPs of the claim with its address")
	return owned[0]
}

// isReady waits until a claim is Ready. It does not wait for the manager's timers.
func (s *spec) isReady(ctx context.Context, c *ipamv1beta2.IPAddressClaim) {
	GinkgoHelper()
	var asked polls
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
		ready := meta.FindStatusCondition(c.GetConditions(), ipamv1.ReadyCondition)
		if asked.isTime() && ready != nil && ready.Status == metav1.ConditionFalse {
			nudge(ctx, g, c)
		}
		g.Expect(ready).To(HaveValue(And(HaveField("Status", metav1.ConditionTrue), HaveField("Reason", ipamv1.ClaimReadyAllocatedReason))))
	}, patience, "100ms").Should(Succeed())
}

// address returns the IPAddress that a claim's status names.
func (s *spec) address(ctx context.Context, c *ipamv1beta2.IPAddressClaim) *ipamv1beta2.IPAddress {
	GinkgoHelper()
	address := &ipamv1beta2.IPAddress{}
	Expect(k.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: c.Status.AddressRef.Name}, address)).To(Succeed())
	return address
}

// outside returns the cloud's floating IPs, of every project.
func (s *spec) outside(ctx context.Context) []openstack.FloatingIP {
	GinkgoHelper()
	if c, isReal := s.cloud.(*openstack.Cloud); isReal {
		all, err := c.FloatingIPs(ctx)
		Expect(err).NotTo(HaveOccurred())
		return all
	}
	return s.fake().FloatingIPs()
}

// owned returns the floating IPs whose description has the UID of a claim.
func (s *spec) owned(ctx context.Context, c client.Object) []openstack.FloatingIP {
	GinkgoHelper()
	return slices.DeleteFunc(s.outside(ctx), func(f openstack.FloatingIP) bool {
		_, claim, _, _ := suite.FloatingIPOwner(f)
		return claim != c.GetUID()
	})
}

// records returns the records of a claim's UID.
func (s *spec) records(ctx context.Context, c client.Object) []ipamv1.IPAllocation {
	GinkgoHelper()
	list := &ipamv1.IPAllocationList{}
	Expect(k.List(ctx, list)).To(Succeed())
	return slices.DeleteFunc(list.Items, func(r ipamv1.IPAllocation) bool { return types.UID(r.Spec.ClaimRef.UID) != c.GetUID() })
}

// record returns the one record of a claim.
func (s *spec) record(ctx context.Context, c client.Object) *ipamv1.IPAllocation {
	GinkgoHelper()
	all := s.records(ctx, c)
	Expect(all).To(HaveLen(1))
	return &all[0]
}

// stranger creates a floating IP that must be unchanged at the end of the spec.
func (s *spec) stranger(ctx context.Context, network, description string) openstack.FloatingIP {
	GinkgoHelper()
	made, err := s.member.Create(ctx, neutron.CreateOptions{NetworkID: network, Description: description})
	Expect(err).NotTo(HaveOccurred())
	all := s.outside(ctx)
	i := slices.IndexFunc(all, func(f openstack.FloatingIP) bool { return f.ID == made.ID })
	Expect(i).NotTo(BeNumerically("<", 0))
	s.strangers = append(s.strangers, all[i])
	return all[i]
}

// isBalanced waits until the floating IPs, without the strangers, agree with records, IPAddresses
// and claims.
func (s *spec) isBalanced(ctx context.Context) {
	GinkgoHelper()
	isStrange := func(f openstack.FloatingIP) bool {
		return slices.ContainsFunc(s.strangers, func(stranger openstack.FloatingIP) bool { return stranger.ID == f.ID })
	}
	Eventually(func(g Gomega) {
		outside := slices.DeleteFunc(s.outside(ctx), isStrange)
		g.Expect(suite.FloatingIPAccount(ctx, k, []string{s.public, s.tiny}, outside)).To(BeEmpty())
	}, patience, "100ms").Should(Succeed())
}

// hasAll expects that a claim has its floating IP, record and IPAddress, and that none of them is
// being deleted.
func (s *spec) hasAll(ctx context.Context, c *ipamv1beta2.IPAddressClaim, had openstack.FloatingIP) {
	GinkgoHelper()
	Expect(s.owned(ctx, c)).To(ConsistOf(And(
		HaveField("ID", had.ID), HaveField("Address", had.Address), HaveField("Description", had.Description))))
	Expect(s.record(ctx, c)).To(HaveValue(And(
		HaveField("Spec.CIDR", had.Address.String()+"/32"), HaveField("Spec.External.ID", had.ID),
		HaveField("Spec.ReleasedAt", metav1.Time{}), HaveField("DeletionTimestamp", BeNil()))))
	Expect(s.address(ctx, c)).To(HaveValue(And(HaveField("Spec.Address", had.Address.String()), HaveField("DeletionTimestamp", BeNil()))))
	Expect(k.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
	Expect(c.Finalizers).To(ContainElement(ipamv1.ClaimFinalizer))
}

// gone waits until claims are gone, and expects that nothing of them is left.
func (s *spec) gone(ctx context.Context, claims ...*ipamv1beta2.IPAddressClaim) {
	GinkgoHelper()
	for _, c := range claims {
		s.leaves(ctx, c)
		Expect(s.owned(ctx, c)).To(BeEmpty())
		Expect(s.records(ctx, c)).To(BeEmpty())
		if name := c.Status.AddressRef.Name; name != "" {
			address := &ipamv1beta2.IPAddress{}
			err := k.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, address)
			Expect(err == nil && metav1.IsControlledBy(address, c)).To(BeFalse(), "its IPAddress is there")
		}
	}
}

// leaves waits until a claim is gone. It does not wait for the manager's timers.
func (s *spec) leaves(ctx context.Context, c *ipamv1beta2.IPAddressClaim) {
	GinkgoHelper()
	var asked polls
	now := c.DeepCopy()
	Eventually(func(g Gomega) {
		err := k.Get(ctx, client.ObjectKeyFromObject(c), now)
		if asked.isTime() && err == nil && now.UID == c.UID {
			nudge(ctx, g, now)
		}
		g.Expect(apierrors.IsNotFound(err) || now.UID != c.UID).To(BeTrue(), "claim %s is there: %v %v", c.Name, err, now.Status.Conditions)
	}, patience, "100ms").Should(Succeed())
}

// polls counts how often something was polled.
type polls int

// isTime reports whether this poll nudges. Most do not: a change of the claim makes the manager's
// own writes conflict.
func (p *polls) isTime() bool {
	*p++
	return *p%10 == 0
}

// deleted deletes claims, and waits until nothing of them is left.
func (s *spec) deleted(ctx context.Context, claims ...*ipamv1beta2.IPAddressClaim) {
	GinkgoHelper()
	for _, c := range claims {
		Expect(k.Delete(ctx, c)).To(Succeed())
	}
	s.gone(ctx, claims...)
}

// nudge changes an annotation, so that the manager reconciles the claim at once. The annotation is
// of a domain that the manager's cache keeps.
func nudge(ctx context.Context, g Gomega, c *ipamv1beta2.IPAddressClaim) {
	changed := c.DeepCopy()
	metav1.SetMetaDataAnnotation(&changed.ObjectMeta, "cluster.x-k8s.io/nudged", c.ResourceVersion)
	g.Expect(client.IgnoreNotFound(k.Patch(ctx, changed, client.MergeFrom(c)))).To(Succeed())
}

// hasCondition waits until a condition has this status and reason, and all these words.
func hasCondition(ctx context.Context, obj suite.Conditioned, condition string, status metav1.ConditionStatus, reason string, words ...string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
		c := meta.FindStatusCondition(obj.GetConditions(), condition)
		g.Expect(c).NotTo(BeNil(), "%s of %s", condition, obj.GetName())
		g.Expect(string(c.Status)+"/"+c.Reason).To(Equal(string(status)+"/"+reason), c.Message)
		for _, word := range words {
			g.Expect(c.Message).To(ContainSubstring(word))
		}
	}, patience, "100ms").Should(Succeed())
}

// refused waits until a claim is not Ready for this reason, and expects that it has no IPAddress.
func (s *spec) refused(ctx context.Context, c *ipamv1beta2.IPAddressClaim, reason string, words ...string) {
	GinkgoHelper()
	hasCondition(ctx, c, ipamv1.ReadyCondition, metav1.ConditionFalse, reason, words...)
	Expect(c.Status.AddressRef.Name).To(BeEmpty())
}

// isKept waits until a deleted claim's Deleting condition has this reason and all these words.
func (s *spec) isKept(ctx context.Context, c *ipamv1beta2.IPAddressClaim, reason string, words ...string) {
	GinkgoHelper()
	hasCondition(ctx, c, ipamv1.DeletingCondition, metav1.ConditionTrue, reason, words...)
}

// close expects what holds at the end of each spec, and removes what the spec left.
func (s *spec) close(ctx SpecContext) {
	suite.Evidence(site)
	if CurrentSpecReport().Failed() {
		s.abandon(ctx)
		return
	}
	f, isFake := s.cloud.(*fake.Cloud)
	if isFake {
		f.ClearFaults()
	}
	s.showsNoSecret(ctx)
	s.unbindAll(ctx)
	Expect(s.SetQuota(ctx, -1)).To(Succeed())
	s.clearClaims(ctx)
	s.clearPools(ctx)
	Expect(s.outside(ctx)).To(ConsistOf(s.strangers), "at rest only strangers are left, unchanged")
	if isFake {
		isModest(f, s.takenOver)
	}
	s.wipe(ctx)
}

// abandon takes the credentials from what a failed spec left: it changes nothing in the cloud any
// more.
func (s *spec) abandon(ctx context.Context) {
	GinkgoHelper()
	for _, namespace := range []string{s.ns, framework.ManagerNamespace} {
		Expect(k.DeleteAllOf(ctx, &corev1.Secret{}, client.InNamespace(namespace))).To(Succeed())
	}
	Expect(s.SetQuota(ctx, -1)).To(Succeed())
}

// wipe deletes the project's floating IPs.
func (s *spec) wipe(ctx context.Context) {
	GinkgoHelper()
	s.unbindAll(ctx)
	for _, f := range s.outside(ctx) {
		seen, err := s.member.Get(ctx, f.ID)
		Expect(err).NotTo(HaveOccurred())
		Expect(s.member.Delete(ctx, seen)).To(Succeed())
	}
}

func (s *spec) unbindAll(ctx context.Context) {
	GinkgoHelper()
	for _, f := range s.outside(ctx) {
		if f.PortID != "" {
			Expect(s.Unbind(ctx, f.PortID)).To(Succeed())
		}
	}
}

func (s *spec) clearClaims(ctx context.Context) {
	GinkgoHelper()
	Expect(k.DeleteAllOf(ctx, &ipamv1beta2.IPAddressClaim{}, client.InNamespace(s.ns))).To(Succeed())
	claims := &ipamv1beta2.IPAddressClaimList{}
	var asked polls
	Eventually(func(g Gomega) {
		g.Expect(k.List(ctx, claims, client.InNamespace(s.ns))).To(Succeed())
		for i := range claims.Items {
			if asked.isTime() {
				nudge(ctx, g, &claims.Items[i])
			}
		}
		g.Expect(claims.Items).To(BeEmpty())
	}, patience, "100ms").Should(Succeed())
}

func (s *spec) clearPools(ctx context.Context) {
	GinkgoHelper()
	pools, globals := &ipamv1.IPPoolList{}, &ipamv1.GlobalIPPoolList{}
	Expect(k.List(ctx, pools, client.InNamespace(s.ns))).To(Succeed())
	Expect(k.List(ctx, globals)).To(Succeed())
	all := suite.Items(pools)
	for _, p := range suite.Items(globals) {
		if strings.HasPrefix(p.GetName(), s.ns+"-") {
			all = append(all, p)
		}
	}
	for _, p := range all { // the webhook's index may show for a moment what has just been released
		Eventually(func() error { return client.IgnoreNotFound(k.Delete(ctx, p)) }, patience, "100ms").Should(Succeed())
	}
	suite.Gone(ctx, k, all...)
}

// isModest expects that every list of floating IPs was of one description or address, but for those that compare a pool whose spec has
// changed, and that none was deleted or described anew while it had a port, but for those that were taken over.
func isModest(f *fake.Cloud, takenOver []string) {
	GinkgoHelper()
	comparing := 0
	for _, call := range f.Calls() {
		if call.Name == "ListFloatingIPs" && !strings.Contains(call.Query, "description=") && !strings.Contains(call.Query, "floating_ip_address=") {
			comparing++
		}
	}
	Expect(comparing).To(BeNumerically("<=", mostComparing))
	for _, change := range f.Changes() {
		isTakenOver := change.Call == "DescribeFloatingIP" && slices.Contains(takenOver, change.Before.ID)
		if change.Call == "DeleteFloatingIP" || change.Call == "DescribeFloatingIP" && !isTakenOver {
			Expect(change.Before.PortID).To(BeEmpty())
		}
	}
}

// showsNoSecret expects that no object, event or log has a password or a token.
func (s *spec) showsNoSecret(ctx context.Context) {
	GinkgoHelper()
	said := logged.String()
	for _, list := range []client.ObjectList{
		&ipamv1beta2.IPAddressClaimList{}, &ipamv1beta2.IPAddressList{}, &ipamv1.IPPoolList{}, &ipamv1.GlobalIPPoolList{}, &ipamv1.IPAllocationList{},
		&eventsv1.EventList{},
	} {
		Expect(k.List(ctx, list)).To(Succeed())
		text, err := yaml.Marshal(list)
		Expect(err).NotTo(HaveOccurred())
		said += string(text)
	}
	logs, err := filepath.Glob(filepath.Join(site.Dir(), "manager-*.log"))
	Expect(err).NotTo(HaveOccurred())
	for _, path := range logs {
		text, err := os.ReadFile(path)
		Expect(err).NotTo(HaveOccurred())
		said += string(text)
	}
	secrets := []string{openstack.Password(openstack.Member), wrongPassword}
	if f, isFake := s.cloud.(*fake.Cloud); isFake {
		secrets = append(secrets, f.Tokens()...)
	}
	for _, secret := range secrets {
		Expect(strings.Contains(said, secret)).To(BeFalse(), "a secret is shown")
	}
	Expect(strings.Contains(said, "DATA RACE")).To(BeFalse(), "a manager's process has a data race")
}

// wrongPassword is a password that no cloud accepts.
const wrongPassword = "secret-that-no-cloud-takes"

// mostComparing is how many lists the comparisons of a spec make at most: two for each change of a pool's spec.
const mostComparing = 8

func (s *spec) isReal() bool {
	_, isReal := s.cloud.(*openstack.Cloud)
	return isReal
}
