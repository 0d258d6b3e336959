// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"context"
	"maps"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/conditions"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// Form translates IPAddressClaims and IPAddresses.
type Form struct {
	// Others are the ways of pools of other APIs, by their kind.
	Others map[schema.GroupKind]Ways
}

// Ways are how claims that name a pool of some API, and their answers, are kept.
type Ways struct {
	door.Conventions

	// AddressAnnotation asks for an address.
	AddressAnnotation string
	// PassesLabels: an answer has the labels of its claim.
	PassesLabels bool
}

// own are those of Weir's pools.
var own = Ways{
	Conventions:       door.Conventions{ClaimFinalizer: ipamv1.ClaimFinalizer, AnswerFinalizer: ipamv1.AddressFinalizer, Controls: true},
	AddressAnnotation: ipamv1.AddressAnnotation,
}

func (f Form) ways(pool door.PoolName) Ways {
	pool, _ = pool.WithoutVersion() // what is refused is not to have Weir's finalizer
	if ways, ok := f.Others[pool.GroupKind]; ok {
		return ways
	}
	return own
}

// Conventions implements door.Form.
func (f Form) Conventions(pool door.PoolName) *door.Conventions {
	ways := f.ways(pool)
	return &ways.Conventions
}

var (
	_ door.Form = Form{}

	both = door.Kinds{
		Claim:         kinds.IPAddressClaim.WithVersion(ipamv1beta2.GroupVersion.Version),
		Answer:        kinds.IPAddress.WithVersion(ipamv1beta2.GroupVersion.Version),
		NewClaim:      func() claimant.Claimant { return &ipamv1beta2.IPAddressClaim{} },
		NewAnswer:     func() client.Object { return &ipamv1beta2.IPAddress{} },
		NewClaimList:  func() client.ObjectList { return &ipamv1beta2.IPAddressClaimList{} },
		NewAnswerList: func() client.ObjectList { return &ipamv1beta2.IPAddressList{} },
	}
)

// AddToScheme adds the types.
var AddToScheme = ipamv1beta2.AddToScheme

// shared are the kinds where other controllers may have named answers otherwise: the cache finds those by their claim.
var shared = func() door.Kinds {
	kinds := both
	kinds.ClaimField = "spec.claimRef.name"
	return kinds
}()

// Kinds implements door.Form.
func (f Form) Kinds() *door.Kinds {
	if len(f.Others) > 0 {
		return &shared
	}
	return &both
}

// Asks implements door.Form.
func (f Form) Asks(stored claimant.Claimant) door.Asks {
	c, ok := stored.(*ipamv1beta2.IPAddressClaim)
	if !ok {
		return door.Asks{}
	}
	asks := door.Asks{
		Pool: poolName(c.Spec.PoolRef), ClusterName: c.Spec.ClusterName, AnswerName: c.Status.AddressRef.Name,
	}
	annotation := f.ways(poolName(c.Spec.PoolRef)).AddressAnnotation
	asks.AskedField = "metadata.annotations[" + annotation + "]"
	if asked, ok := c.Annotations[annotation]; ok {
		asks.Asked = &asked
	}
	return asks
}

// Says implements door.Form.
func (Form) Says(stored client.Object) door.Says {
	a, ok := stored.(*ipamv1beta2.IPAddress)
	if !ok {
		return door.Says{}
	}
	return door.Says{Pool: poolName(a.Spec.PoolRef), Address: canonical(a.Spec.Address), Prefix: a.Spec.Prefix}
}

// canonical writes an address as records have it; what is none stays as it is. Cluster API allows every way of writing one.
func canonical(text string) string {
	address, err := ipspace.ReadAddr(text)
	if err != nil {
		return text
	}
	return address.String()
}

func poolName(ref ipamv1beta2.IPPoolReference) door.PoolName {
	return door.PoolName{GroupKind: schema.GroupKind{Group: ref.APIGroup, Kind: ref.Kind}, Name: ref.Name}
}

// Answers implements door.Form: the only one is named like the claim. Of a shared pool, one of that name may answer another claim.
func (f Form) Answers(ctx context.Context, c client.Reader, key types.NamespacedName) ([]client.Object, error) {
	answer := &ipamv1beta2.IPAddress{}
	if err := c.Get(ctx, key, answer); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if f.ClaimOf(answer) != key {
		return nil, nil
	}
	return []client.Object{answer}, nil
}

// ClaimOf implements door.Form.
func (f Form) ClaimOf(stored client.Object) types.NamespacedName {
	key := client.ObjectKeyFromObject(stored)
	if a, ok := stored.(*ipamv1beta2.IPAddress); ok && f.ways(poolName(a.Spec.PoolRef)).IsShared {
		key.Name = a.Spec.ClaimRef.Name
	}
	return key
}

// Compose implements door.Form. The DNS servers are an annotation: an IPAddress has no field for them.
func (f Form) Compose(c *door.Claim, _ *door.Offer, cidr netip.Prefix, network pooltree.Network) client.Object {
	answer := &ipamv1beta2.IPAddress{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.GetNamespace(), Name: c.GetName()},
		Spec: ipamv1beta2.IPAddressSpec{
			ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: c.GetName()},
			PoolRef:  ipamv1beta2.IPPoolReference{APIGroup: c.Pool.Group, Kind: c.Pool.Kind, Name: c.Pool.Name},
			Address:  cidr.Addr().String(),
			Prefix:   ptr.To(int32(network.Bits)), //nolint:gosec // at most 128
			Gateway:  gatewayOf(network),
		},
	}
	if f.ways(c.Pool).PassesLabels {
		answer.Labels = maps.Clone(c.GetLabels())
	}
	if servers := serversOf(network); servers != "" {
		answer.Annotations = map[string]string{ipamv1.DNSServersAnnotation: servers}
	}
	return answer
}

func gatewayOf(network pooltree.Network) string {
	if !network.Gateway.IsValid() {
		return ""
	}
	return network.Gateway.String()
}

// serversOf writes the DNS servers as the annotation has them.
func serversOf(network pooltree.Network) string {
	servers := make([]string, 0, len(network.DNSServers))
	for _, server := range network.DNSServers {
		servers = append(servers, server.String())
	}
	return strings.Join(servers, ",")
}

// StandIn implements door.Form.
func (f Form) StandIn(stored client.Object) claimant.Claimant {
	answer, ok := stored.(*ipamv1beta2.IPAddress)
	if !ok {
		return &ipamv1beta2.IPAddressClaim{}
	}
	return &ipamv1beta2.IPAddressClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: answer.Namespace, Name: f.ClaimOf(answer).Name, UID: answer.UID, Labels: answer.Labels},
		Spec:       ipamv1beta2.IPAddressClaimSpec{PoolRef: answer.Spec.PoolRef},
	}
}

// Report implements door.Form. The status says the same in the form of v1beta1, too: Cluster API's v1beta1 kinds show that, and some
// providers still look at it. It has a reason, a message and a severity only where something is wrong: an error is for somebody to repair,
// all else repairs itself.
func (Form) Report(stored claimant.Claimant, ready metav1.Condition, answer string, _ error) {
	c, ok := stored.(*ipamv1beta2.IPAddressClaim)
	if !ok {
		return
	}
	conditions.Set(c, ready)
	if answer != "" {
		c.Status.AddressRef = ipamv1beta2.IPAddressReference{Name: answer}
	}
	if ready.Status == metav1.ConditionTrue {
		conditions.SetV1Beta1(c, clusterv1.Condition{Type: clusterv1.ReadyV1Beta1Condition, Status: corev1.ConditionTrue})
		return
	}
	severity := clusterv1.ConditionSeverityError
	switch ready.Reason {
	case ipamv1.ClaimReadyPoolExhaustedReason:
		severity = clusterv1.ConditionSeverityWarning
	case ipamv1.ClaimReadyPoolNotReadyReason, ipamv1.ClaimReadyClusterNotFoundReason, ipamv1.ClaimReadyWaitingForRestoreReason,
		ipamv1.ClaimReadyWaitingForHostReason:
		severity = clusterv1.ConditionSeverityInfo
	}
	conditions.SetV1Beta1(c, clusterv1.Condition{
		Type: clusterv1.ReadyV1Beta1Condition, Status: corev1.ConditionFalse, Reason: ready.Reason, Severity: severity, Message: ready.Message,
	})
}

// Status implements door.Form.
func (Form) Status(stored claimant.Claimant) any {
	c, ok := stored.(*ipamv1beta2.IPAddressClaim)
	if !ok {
		return nil
	}
	return c.Status
}
