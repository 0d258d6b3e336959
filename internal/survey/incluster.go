// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go4.org/netipx"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	icv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/incluster/v1alpha2"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
)

// Kinds of the in-cluster provider's pools. Other kinds of their group are other providers'.
var (
	InClusterPool       = schema.GroupKind{Group: icv1.GroupVersion.Group, Kind: icv1.InClusterIPPoolKind}
	GlobalInClusterPool = schema.GroupKind{Group: icv1.GroupVersion.Group, Kind: icv1.GlobalInClusterIPPoolKind}
)

var (
	inclusterippools       = resource{icv1.GroupVersion.WithResource("inclusterippools"), true}
	globalinclusterippools = resource{icv1.GroupVersion.WithResource("globalinclusterippools"), false}
)

// schemaPath is where the API server has the schemas of the kinds, for everybody.
const schemaPath = "/openapi/v3/apis/"

// inCluster is whose the in-cluster provider's kinds are, which is found out once.
type inCluster struct {
	mu      sync.Mutex
	isFound bool
	isWeirs bool
}

// ServesInCluster reports whether Weir serves the in-cluster provider's kinds of pools here. The API server then has these kinds as Weir installs
// them, with conditions in their status: the in-cluster provider's have none. Everybody may read schemas. Where the API server does not show them,
// the kinds count as Weir's.
func (s *Survey) ServesInCluster(ctx context.Context) (bool, error) {
	s.inCluster.mu.Lock()
	defer s.inCluster.mu.Unlock()
	if s.inCluster.isFound {
		return s.inCluster.isWeirs, nil
	}
	isWeirs := s.isServed(inclusterippools)
	if isWeirs {
		var err error
		if isWeirs, err = s.hasConditions(ctx, InClusterPool); err != nil {
			return false, err
		}
	}
	s.inCluster.isFound, s.inCluster.isWeirs = true, isWeirs
	return isWeirs, nil
}

// hasConditions reports whether the status of a kind has conditions, and true where the schema is not shown.
func (s *Survey) hasConditions(ctx context.Context, kind schema.GroupKind) (bool, error) {
	body, err := s.rest.Get().AbsPath(schemaPath+icv1.GroupVersion.String()).SetHeader("Accept", "application/json").Stream(ctx)
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err), apierrors.IsNotAcceptable(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("reading the schemas of %s: %w", icv1.GroupVersion, err)
	}
	defer body.Close()
	var document struct {
		Components struct {
			Schemas map[string]schemaFields `json:"schemas"`
		} `json:"components"`
	}
	if err = json.NewDecoder(body).Decode(&document); err != nil {
		return false, fmt.Errorf("reading the schemas of %s: %w", icv1.GroupVersion, err)
	}
	for name, fields := range document.Components.Schemas {
		if strings.HasSuffix(name, "."+kind.Kind) {
			_, has := fields.Properties["status"].Properties["conditions"]
			return has, nil
		}
	}
	return false, nil
}

// schemaFields is what of a schema is looked at.
type schemaFields struct {
	Properties map[string]schemaFields `json:"properties"`
}

// inClusterPool returns what is known of a pool of either kind.
func inClusterPool(pool metav1.Object, kind schema.GroupKind, spec *icv1.InClusterIPPoolSpec, status *icv1.InClusterIPPoolStatus) *Pool {
	p := &Pool{
		Ref:       ipamv1.PoolReference{APIGroup: kind.Group, Kind: kind.Kind, Namespace: pool.GetNamespace(), Name: pool.GetName()},
		Addresses: setOf(spec.Addresses), Block: summary(spec.Addresses),
		Cooldown: time.Duration(spec.AddressReuseGracePeriodSeconds) * time.Second,
	}
	by, isCarved := poolspec.Annotations{Parent: icv1.ParentAnnotation}, false
	if p.Parent, isCarved = by.ParentOf(pool.GetAnnotations()); !isCarved { // as it names it, or one of its own
		p.Space = cmp.Or(pool.GetAnnotations()[icv1.AddressSpaceAnnotation], "in-cluster/"+strings.TrimPrefix(pool.GetNamespace()+"/"+pool.GetName(), "/"))
	}
	if p.Addresses != nil {
		bits := p.Addresses.Ranges()[0].From().BitLen()
		p.Lengths = Lengths{bits, bits} // it hands out single addresses
		p.Withheld = inClusterWithheld(spec, p.Addresses)
	}
	if counted := status.Addresses; counted != nil && counted.Total > 0 {
		p.Capacity = ipamv1.Capacity{
			Total: strconv.FormatInt(counted.Total, 10), Available: strconv.FormatInt(counted.Free, 10), Allocated: strconv.FormatInt(counted.Used, 10),
		}
		p.Percent = ptr.To(int32(float64(counted.Used) / float64(counted.Total) * 100))
	}
	p.State, p.Message = stateOf(pool, status.Conditions)
	return p
}

// inClusterWithheld reads what a pool withholds: what it excludes, its gateway, and the first address of the network and the last one of an
// IPv4 network, unless it hands these out.
func inClusterWithheld(spec *icv1.InClusterIPPoolSpec, addresses *netipx.IPSet) Withheld {
	var w Withheld
	if a, err := netip.ParseAddr(spec.Gateway); err == nil {
		w.Gateways = append(w.Gateways, a)
	}
	var excluded netipx.IPSetBuilder
	if set := setOf(spec.ExcludedAddresses); set != nil {
		excluded.AddSet(set)
	}
	if network, err := addresses.Ranges()[0].From().Prefix(spec.Prefix); err == nil && !spec.AllocateReservedIPAddresses {
		excluded.Add(network.Addr())
		if network.Addr().Is4() {
			excluded.Add(netipx.PrefixLastIP(network))
		}
	}
	excluded.Intersect(addresses)
	if set, err := excluded.IPSet(); err == nil && len(set.Ranges()) > 0 {
		w.Excluded = set
	}
	return w
}

// poolKinds are the kinds of pools that Weir serves here.
func (s *Survey) poolKinds(ctx context.Context) ([]schema.GroupKind, error) {
	isWeirs, err := s.ServesInCluster(ctx)
	if err != nil || !isWeirs {
		return poolKinds, err
	}
	return slices.Concat(poolKinds, []schema.GroupKind{InClusterPool, GlobalInClusterPool}), nil
}
