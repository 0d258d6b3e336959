// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/excerpt"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// Hosts tells for which host CAPM3 has made a claim of one of Weir's pools. CAPM3 names such a claim <Metal3Data>-<pool>, never after its host,
// which these lead to:
//
//	IPAddressClaim -> its controller Metal3Data -> spec.claim Metal3DataClaim -> its owner Metal3Machine -> metal3.io/BareMetalHost
//
// All are in the claim's namespace. Who may write one of them may have a claim count as any host's of the namespace, as who may name a claim may.
type Hosts struct {
	// Live reads from the API server: a cache could show an earlier machine.
	Live client.Reader
	// Mapper knows the versions of CAPM3's kinds that are served.
	Mapper meta.RESTMapper
}

// Kinds of CAPM3.
var (
	dataKind      = infrastructure("Metal3Data")
	dataClaimKind = infrastructure("Metal3DataClaim")
	machineKind   = infrastructure("Metal3Machine")
)

func infrastructure(kind string) schema.GroupKind {
	return schema.GroupKind{Group: "infrastructure.cluster.x-k8s.io", Kind: kind}
}

// hostAnnotation of a Metal3Machine names its host, <namespace>/<name>.
const hostAnnotation = "metal3.io/BareMetalHost"

// Alias is a door.Alias: <BareMetalHost>-<pool>, which is the name that a pool keeps an address for a host under.
func (h *Hosts) Alias(ctx context.Context, c client.Object, offer *door.Offer) (string, error) {
	owner := metav1.GetControllerOf(c)
	if _, isAddressClaim := c.(*ipamv1beta2.IPAddressClaim); !isAddressClaim { // claims of other doors have no such name
		return "", nil
	}
	if owner == nil || kinds.OfOwner(*owner) != dataKind || !keepsForHosts(offer, c) {
		return "", nil
	}
	host, err := h.hostOf(ctx, c.GetNamespace(), owner)
	if err != nil || host.Namespace != c.GetNamespace() { // what is kept here is for hosts of this namespace
		return "", err
	}
	alias := host.Name + hostSuffix(offer)
	if len(alias) > ipamv1.MaxClaimAlias {
		return "", unknown("metadata.name of BareMetalHost %s, with that of pool %s, is too long: %d characters together, %d at most",
			host.Name, offer.Pool.Name, len(alias), ipamv1.MaxClaimAlias)
	}
	return alias, nil
}

// hostSuffix is what follows the host in the name that a pool keeps an address under.
func hostSuffix(offer *door.Offer) string { return "-" + offer.Pool.Name }

// keepsForHosts says whether something that one of Weir's pools keeps may be for the host of a claim, and nothing is kept for the claim's own
// name, which comes first.
func keepsForHosts(offer *door.Offer, c client.Object) bool {
	if offer.Pool.GroupKind().Group != ipamv1.GroupVersion.Group {
		return false
	}
	own := pooltree.Claimant{Group: kinds.IPAddressClaim.Group, Kind: kinds.IPAddressClaim.Kind, Namespace: c.GetNamespace(), Name: c.GetName()}
	alike, found := own, false
	for _, k := range offer.Kept {
		alike.Name = k.For.Name
		switch {
		case k.For == own:
			return false
		case k.For == alike && strings.HasSuffix(alike.Name, hostSuffix(offer)):
			found = true
		}
	}
	return found
}

// hostOf follows the way from a Metal3Data to its host.
func (h *Hosts) hostOf(ctx context.Context, namespace string, owner *metav1.OwnerReference) (types.NamespacedName, error) {
	data, err := h.get(ctx, dataKind, namespace, owner.Name, owner.UID)
	if err != nil {
		return types.NamespacedName{}, err
	}
	dataClaim, err := h.dataClaimOf(ctx, data)
	if err != nil {
		return types.NamespacedName{}, err
	}
	machine, err := h.machineOf(ctx, dataClaim)
	if err != nil {
		return types.NamespacedName{}, err
	}
	text, isSet := machine.GetAnnotations()[hostAnnotation]
	hostNamespace, name, _ := strings.Cut(text, "/")
	switch {
	case !isSet:
		return types.NamespacedName{}, unknown("%s: metadata.annotations[%s]: is not set yet", nameOf(machine), hostAnnotation)
	case hostNamespace == "" || len(validation.IsDNS1123Subdomain(name)) > 0:
		return types.NamespacedName{}, unknown("%s: metadata.annotations[%s]: %q is not <namespace>/<name> of a BareMetalHost", nameOf(machine), hostAnnotation, excerpt.Of(text))
	}
	return types.NamespacedName{Namespace: hostNamespace, Name: name}, nil
}

func (h *Hosts) dataClaimOf(ctx context.Context, data *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	name, _, _ := unstructured.NestedString(data.Object, "spec", "claim", "name") // what is no text names nothing
	namespace, _, _ := unstructured.NestedString(data.Object, "spec", "claim", "namespace")
	switch {
	case name == "":
		return nil, unknown("%s: spec.claim.name: is not set yet", nameOf(data))
	case namespace != "" && namespace != data.GetNamespace():
		return nil, unknown("%s: spec.claim.namespace: is %q: a Metal3DataClaim of its own namespace is followed only", nameOf(data), excerpt.Of(namespace))
	}
	return h.get(ctx, dataClaimKind, data.GetNamespace(), name, "")
}

func (h *Hosts) machineOf(ctx context.Context, dataClaim *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	var machines []metav1.OwnerReference
	for _, owner := range dataClaim.GetOwnerReferences() {
		if kinds.OfOwner(owner) == machineKind {
			machines = append(machines, owner)
		}
	}
	if len(machines) != 1 {
		return nil, unknown("%s: metadata.ownerReferences: %d of them are of kind Metal3Machine, and it must be one", nameOf(dataClaim), len(machines))
	}
	return h.get(ctx, machineKind, dataClaim.GetNamespace(), machines[0].Name, machines[0].UID)
}

// get reads an object of that UID; of any if that is "".
func (h *Hosts) get(ctx context.Context, kind schema.GroupKind, namespace, name string, uid types.UID) (*unstructured.Unstructured, error) {
	mapping, err := h.Mapper.RESTMapping(kind)
	if meta.IsNoMatchError(err) {
		return nil, unknown("the API server has no kind %s", kind)
	} else if err != nil {
		return nil, fmt.Errorf("looking up kind %s: %w", kind, err)
	}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(mapping.GroupVersionKind)
	err = h.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, live)
	switch {
	case apierrors.IsNotFound(err), len(validation.IsDNS1123Subdomain(name)) > 0: // the client refuses a name that is none
		return nil, unknown("there is no %s %s/%s", kind.Kind, namespace, name)
	case apierrors.IsForbidden(err):
		return nil, unknown("%v", err)
	case err != nil:
		return nil, fmt.Errorf("getting %s: %w", kind.Kind, err)
	case uid != "" && live.GetUID() != uid:
		return nil, unknown("%s is not the owner: its UID is another one", nameOf(live))
	}
	return live, nil
}

func nameOf(o *unstructured.Unstructured) string {
	return o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
}

// unknown is what a claim is told whose host is not known yet.
func unknown(format string, args ...any) error {
	return &claimant.Refusal{
		Reason:  ipamv1.ClaimReadyWaitingForHostReason,
		Message: "the pool keeps addresses for hosts, and the claim's host is not known: " + fmt.Sprintf(format, args...),
	}
}
