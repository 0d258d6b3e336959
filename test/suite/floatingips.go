// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack"
)

// FloatingIPOwner parses the description of a floating IP, independently of Weir's code: the key of
// its pool, and UID and name of its claim. It returns false for a floating IP of no claim.
func FloatingIPOwner(f openstack.FloatingIP) (pool string, claim types.UID, of types.NamespacedName, isOwned bool) {
	// What Weir did not make has one field more.
	fields := strings.SplitN(strings.Replace(f.Description, "/+/", "/", 1), "/", 6)
	if len(fields) < 6 || fields[0] != "weir" || fields[1] != "1" || fields[3] == "-" {
		return "", "", of, false
	}
	return fields[2], types.UID(fields[3]), types.NamespacedName{Namespace: fields[4], Name: fields[5]}, true
}

// FloatingIPAccount compares the floating IPs of networks with records, IPAddresses, and the claims
// whose status names one. It returns the differences; at rest there are none.
func FloatingIPAccount(ctx context.Context, c client.Reader, networks []string, outside []openstack.FloatingIP) ([]string, error) {
	a := &floatingIPs{networks: networks, pools: map[ipamv1.PoolReference]floatingPool{}, ids: map[string]string{}}
	a.readOutside(outside)
	for _, read := range []func(context.Context, client.Reader) error{a.readPools, a.readRecords, a.readClaims} {
		if err := read(ctx, c); err != nil {
			return nil, err
		}
	}
	for what, lines := range map[string][]string{"recorded": a.recorded, "in an IPAddress": a.answers, "named by a claim": a.claims} {
		a.differences = append(a.differences, missing(a.outside, lines, "outside, and not "+what)...)
		a.differences = append(a.differences, missing(lines, a.outside, what+", and not outside")...)
	}
	return a.differences, nil
}

// floatingIPs are what four sources have. Each line is an address, its pool and its claim.
type floatingIPs struct {
	networks                           []string
	pools                              map[ipamv1.PoolReference]floatingPool
	ids                                map[string]string
	outside, recorded, answers, claims []string
	differences                        []string
}

// floatingPool is a pool's identity in its cloud.
type floatingPool struct{ key, network string }

func floatingLine(address string, bits int32, pool string, claim types.UID, of types.NamespacedName) string {
	return fmt.Sprintf("%s/%d of pool %s for claim %s (%s)", address, bits, pool, of, claim)
}

func (a *floatingIPs) readOutside(outside []openstack.FloatingIP) {
	for _, f := range outside {
		pool, claim, of, isOwned := FloatingIPOwner(f)
		switch {
		case !slices.Contains(a.networks, f.NetworkID):
		case isOwned:
			a.outside = append(a.outside, floatingLine(f.Address.String(), 32, pool, claim, of))
			a.ids[f.NetworkID+" "+f.Address.String()+"/32"] = f.ID
		case strings.HasPrefix(f.Description, "weir/"):
			a.differences = append(a.differences, fmt.Sprintf("floating IP %s is of no claim: %q", f.Address, f.Description))
		}
	}
}

func (a *floatingIPs) readPools(ctx context.Context, c client.Reader) error {
	pools, globals := &ipamv1.IPPoolList{}, &ipamv1.GlobalIPPoolList{}
	if err := c.List(ctx, pools); err != nil {
		return err
	}
	if err := c.List(ctx, globals); err != nil {
		return err
	}
	note := func(kind string, pool client.Object) {
		known := strings.Fields(pool.GetAnnotations()["ipam.weir.dev/openstack"]) // key, project, network
		if len(known) == 3 && slices.Contains(a.networks, known[2]) {
			ref := ipamv1.PoolReference{Kind: kind, Namespace: pool.GetNamespace(), Name: pool.GetName()}
			a.pools[ref] = floatingPool{known[0], known[2]}
		}
	}
	for i := range pools.Items {
		note(ipamv1.IPPoolKind, &pools.Items[i])
	}
	for i := range globals.Items {
		note(ipamv1.GlobalIPPoolKind, &globals.Items[i])
	}
	return nil
}

func (a *floatingIPs) readRecords(ctx context.Context, c client.Reader) error {
	records := &ipamv1.IPAllocationList{}
	if err := c.List(ctx, records); err != nil {
		return err
	}
	for _, r := range records.Items {
		network, isFloating := strings.CutPrefix(r.Spec.AddressSpace, "openstack/")
		if !isFloating || !slices.Contains(a.networks, network) {
			continue
		}
		ref := r.Spec.PoolRef
		ref.APIGroup = ""
		of := types.NamespacedName{Namespace: r.Spec.ClaimRef.Namespace, Name: r.Spec.ClaimRef.Name}
		address := strings.TrimSuffix(r.Spec.CIDR, "/32")
		a.recorded = append(a.recorded, floatingLine(address, 32, a.pools[ref].key, types.UID(r.Spec.ClaimRef.UID), of))
		if id := a.ids[network+" "+r.Spec.CIDR]; id != "" && id != r.Spec.External.ID {
			a.differences = append(a.differences, fmt.Sprintf("record %s names floating IP %q; that of %s is %q", r.Name, r.Spec.External.ID, r.Spec.CIDR, id))
		}
	}
	return nil
}

// readClaims reads the pools' claims and IPAddresses.
func (a *floatingIPs) readClaims(ctx context.Context, c client.Reader) error {
	addresses, claims := &ipamv1beta2.IPAddressList{}, &ipamv1beta2.IPAddressClaimList{}
	if err := c.List(ctx, addresses); err != nil {
		return err
	}
	if err := c.List(ctx, claims); err != nil {
		return err
	}
	answers := map[types.NamespacedName]ipamv1beta2.IPAddressSpec{}
	for _, address := range addresses.Items {
		pool, isFloating := a.poolOf(address.Spec.PoolRef, address.Namespace)
		if !isFloating {
			continue
		}
		var owner types.UID
		if controller := metav1.GetControllerOf(&address); controller != nil {
			owner = controller.UID
		}
		of := types.NamespacedName{Namespace: address.Namespace, Name: address.Spec.ClaimRef.Name}
		a.answers = append(a.answers, answerLine(address.Spec, pool, owner, of))
		answers[client.ObjectKeyFromObject(&address)] = address.Spec
	}
	for _, claim := range claims.Items {
		pool, isFloating := a.poolOf(claim.Spec.PoolRef, claim.Namespace)
		if !isFloating || claim.Status.AddressRef.Name == "" {
			continue
		}
		answer := answers[types.NamespacedName{Namespace: claim.Namespace, Name: claim.Status.AddressRef.Name}]
		a.claims = append(a.claims, answerLine(answer, pool, claim.UID, client.ObjectKeyFromObject(&claim)))
	}
	return nil
}

func answerLine(answer ipamv1beta2.IPAddressSpec, pool floatingPool, claim types.UID, of types.NamespacedName) string {
	var bits int32
	if answer.Prefix != nil {
		bits = *answer.Prefix
	}
	return floatingLine(answer.Address, bits, pool.key, claim, of)
}

func (a *floatingIPs) poolOf(ref ipamv1beta2.IPPoolReference, namespace string) (floatingPool, bool) {
	if ref.Kind == ipamv1.GlobalIPPoolKind {
		namespace = ""
	}
	pool, isFloating := a.pools[ipamv1.PoolReference{Kind: ref.Kind, Namespace: namespace, Name: ref.Name}]
	return pool, isFloating && ref.APIGroup == ipamv1.GroupVersion.Group
}

// missing returns the lines that has contains more often than other.
func missing(has, other []string, what string) []string {
	rest := slices.Clone(other)
	var found []string
	for _, line := range has {
		if i := slices.Index(rest, line); i >= 0 {
			rest = slices.Delete(rest, i, i+1)
			continue
		}
		found = append(found, what+": "+line)
	}
	return found
}
