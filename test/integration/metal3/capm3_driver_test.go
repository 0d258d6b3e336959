// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
)

const (
	infraVersion   = "infrastructure.cluster.x-k8s.io/v1beta1"
	dataLabel      = "infrastructure.cluster.x-k8s.io/data-name"
	poolLabel      = "infrastructure.cluster.x-k8s.io/pool-name"
	capm3Finalizer = "metal3data.infrastructure.cluster.x-k8s.io"
	hostAnnotation = "metal3.io/BareMetalHost"
)

// errLater: CAPM3 comes back later.
var errLater = errors.New("not yet")

// capm3 does for one Metal3Data what CAPM3 does. Each call is one of its reconciliations: it looks at what is stored, does one step, and gives
// up with an error wherever CAPM3 would.
type capm3 struct {
	data *unstructured.Unstructured
	host string
	// pool is what networkData.networks names. Of the group ipam.metal3.io it gets an IPClaim, of any other an IPAddressClaim.
	pool ipamv1beta2.IPPoolReference
	// isNamedByHost: it runs with --enable-bmh-name-based-preallocation.
	isNamedByHost bool
}

// infra is an object of CAPM3's.
func infra(kind, ns, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": infraVersion, "kind": kind}}
	o.SetNamespace(ns)
	o.SetName(name)
	return o
}

func ownedBy(o client.Object) []metav1.OwnerReference {
	apiVersion, kind := o.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
	return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: o.GetName(), UID: o.GetUID(), Controller: ptr.To(true)}}
}

// provision stores a machine on a host: its Metal3Machine, the Metal3DataClaim of that, and the Metal3Data.
func provision(ctx context.Context, ns, name, host string) *capm3 {
	GinkgoHelper()
	machine := infra("Metal3Machine", ns, "on-"+host+"-"+fmt.Sprint(time.Now().UnixNano()))
	machine.SetAnnotations(map[string]string{hostAnnotation: ns + "/" + host})
	Expect(k.Create(ctx, machine)).To(Succeed())
	claim := infra("Metal3DataClaim", ns, machine.GetName())
	claim.SetOwnerReferences(ownedBy(machine))
	Expect(k.Create(ctx, claim)).To(Succeed())
	data := infra("Metal3Data", ns, name)
	data.SetFinalizers([]string{capm3Finalizer})
	data.SetLabels(map[string]string{"cluster.x-k8s.io/some": "label"})
	data.Object["spec"] = map[string]any{"claim": map[string]any{"name": claim.GetName(), "namespace": ns}}
	Expect(k.Create(ctx, data)).To(Succeed())
	return &capm3{data: data, host: host, pool: poolRef}
}

// byHost has the IPClaim named after the host.
func (d *capm3) byHost() *capm3 {
	d.isNamedByHost = true
	return d
}

// from has the address come from another pool.
func (d *capm3) from(pool ipamv1beta2.IPPoolReference) *capm3 {
	d.pool = pool
	return d
}

// fromPool is what CAPM3 reads of an address.
type fromPool struct {
	address, gateway string
	prefix           int
	servers          []string
}

// networkData is what the host is told: address, netmask, gateway, name servers.
func (f fromPool) networkData() string {
	bits := 32
	if strings.Contains(f.address, ":") {
		bits = 128
	}
	text := f.address + " mask " + net.IP(net.CIDRMask(f.prefix, bits)).String()
	if f.gateway != "" {
		text += " via " + f.gateway
	}
	for _, server := range f.servers {
		text += " dns " + server
	}
	return text
}

// meta is what CAPM3 gives a claim.
func (d *capm3) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: d.data.GetNamespace(), Name: name, Labels: d.data.GetLabels(), Finalizers: []string{capm3Finalizer}, OwnerReferences: ownedBy(d.data),
	}
}

// name is that of the claim, by the Metal3Data.
func (d *capm3) name() string { return d.data.GetName() + "-" + d.pool.Name }

func (d *capm3) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: d.data.GetNamespace(), Name: name}
}

// reconcile makes the claim, or reads what became of it.
func (d *capm3) reconcile(ctx context.Context) (*fromPool, error) {
	if d.pool.APIGroup == m3v1.GroupVersion.Group {
		return d.reconcileIPClaim(ctx)
	}
	return d.reconcileAddressClaim(ctx)
}

// ipClaim finds the IPClaim by the Metal3Data's name, then by the host's.
func (d *capm3) ipClaim(ctx context.Context) (*m3v1.IPClaim, error) {
	c := &m3v1.IPClaim{}
	err := k.Get(ctx, d.key(d.name()), c)
	if apierrors.IsNotFound(err) {
		err = k.Get(ctx, d.key(d.host+"-"+d.pool.Name), c)
	}
	return c, err
}

func (d *capm3) makeIPClaim(ctx context.Context) error {
	c := &m3v1.IPClaim{ObjectMeta: d.meta(d.name()), Spec: m3v1.IPClaimSpec{Pool: m3v1.ObjectReference{Name: d.pool.Name, Namespace: d.data.GetNamespace()}}}
	if d.isNamedByHost {
		c.Name = d.host + "-" + d.pool.Name
		c.Labels[dataLabel], c.Labels[poolLabel] = d.data.GetName(), d.pool.Name
	}
	return errors.Join(errLater, k.Create(ctx, c))
}

func (d *capm3) reconcileIPClaim(ctx context.Context) (*fromPool, error) {
	c, err := d.ipClaim(ctx)
	if apierrors.IsNotFound(err) {
		return nil, d.makeIPClaim(ctx)
	} else if err != nil {
		return nil, err
	}
	isOwn := slices.ContainsFunc(c.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == d.data.GetUID() })
	if !isOwn {
		if !c.DeletionTimestamp.IsZero() && controllerutil.RemoveFinalizer(c, capm3Finalizer) {
			return nil, errors.Join(errLater, k.Update(ctx, c))
		}
		return nil, errLater
	}
	if c.Status.ErrorMessage != nil {
		return nil, fmt.Errorf("IP Allocation for %s failed : %s", d.pool.Name, *c.Status.ErrorMessage)
	}
	if c.Status.Address == nil {
		return nil, errLater
	}
	a := &m3v1.IPAddress{}
	if err := k.Get(ctx, d.key(c.Status.Address.Name), a); err != nil {
		return nil, err
	}
	got := &fromPool{address: string(a.Spec.Address), gateway: string(ptr.Deref(a.Spec.Gateway, "")), prefix: a.Spec.Prefix}
	for _, server := range a.Spec.DNSServers {
		got.servers = append(got.servers, string(server))
	}
	return got, nil
}

// reconcileAddressClaim does it for an IPAddressClaim. DNS servers CAPM3 does not read there.
func (d *capm3) reconcileAddressClaim(ctx context.Context) (*fromPool, error) {
	c := &ipamv1beta2.IPAddressClaim{}
	err := k.Get(ctx, d.key(d.name()), c)
	switch {
	case apierrors.IsNotFound(err):
		c = &ipamv1beta2.IPAddressClaim{ObjectMeta: d.meta(d.name()), Spec: ipamv1beta2.IPAddressClaimSpec{PoolRef: d.pool}}
		return nil, errors.Join(errLater, k.Create(ctx, c))
	case err != nil:
		return nil, err
	case !c.DeletionTimestamp.IsZero(), c.Status.AddressRef.Name == "":
		return nil, errLater
	}
	a := &ipamv1beta2.IPAddress{}
	if err := k.Get(ctx, d.key(c.Status.AddressRef.Name), a); err != nil {
		return nil, err
	}
	return &fromPool{address: a.Spec.Address, gateway: a.Spec.Gateway, prefix: int(ptr.Deref(a.Spec.Prefix, 0))}, nil
}

// configured reconciles until the host has its network data, and returns that.
func (d *capm3) configured(ctx context.Context) string {
	GinkgoHelper()
	var got *fromPool
	Eventually(func() (err error) { got, err = d.reconcile(ctx); return err }, patience, 20*time.Millisecond).Should(Succeed())
	return got.networkData()
}

// claims are those that CAPM3 releases: by their labels, and by the Metal3Data's name.
func (d *capm3) claims(ctx context.Context) ([]client.Object, error) {
	if d.pool.APIGroup != m3v1.GroupVersion.Group {
		c := &ipamv1beta2.IPAddressClaim{}
		err := k.Get(ctx, d.key(d.name()), c)
		return []client.Object{c}, err
	}
	list := &m3v1.IPClaimList{}
	err := k.List(ctx, list, client.InNamespace(d.data.GetNamespace()), client.MatchingLabels{dataLabel: d.data.GetName(), poolLabel: d.pool.Name})
	claims := make([]client.Object, 0, len(list.Items)+1)
	for i := range list.Items {
		claims = append(claims, &list.Items[i])
	}
	c := &m3v1.IPClaim{}
	if found := k.Get(ctx, d.key(d.name()), c); found == nil {
		claims = append(claims, c)
	}
	return claims, err
}

// release takes CAPM3's finalizer off the claims, and then deletes them.
func (d *capm3) release(ctx context.Context) error {
	claims, err := d.claims(ctx)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	for _, c := range claims {
		if controllerutil.RemoveFinalizer(c, capm3Finalizer) {
			if err := k.Update(ctx, c); err != nil {
				return err
			}
		}
		if err := k.Delete(ctx, c); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// deprovision deletes the Metal3Data, which goes when its claims were released.
func (d *capm3) deprovision(ctx context.Context) {
	GinkgoHelper()
	Expect(k.Delete(ctx, d.data)).To(Succeed())
	Eventually(func() error { return d.release(ctx) }, patience, 20*time.Millisecond).Should(Succeed())
	d.lose(ctx)
}

// lose has the Metal3Data gone without its claims being released.
func (d *capm3) lose(ctx context.Context) {
	GinkgoHelper()
	Expect(client.IgnoreNotFound(k.Delete(ctx, d.data))).To(Succeed())
	Expect(k.Patch(ctx, d.data, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
	gone(ctx, d.data)
}
