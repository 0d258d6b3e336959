// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"net/http"
	"net/netip"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/audit"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/entitlement"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/foreign"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
)

// Holdings is what is in use, as far as the ledger's index knows. The index
// lags behind the API server.
type Holdings interface {
	// Holdings returns what is handed out of a pool, to claims and child pools,
	// ascending. The pool's own blocks are not among them.
	Holdings(pool ipamv1.PoolReference) []ledger.Holding
	// Overlapping returns every record of the address space that overlaps
	// prefix.
	Overlapping(space string, prefix netip.Prefix) []ledger.Holding
	// ForeignIn returns what IPAddresses of other providers name and shares
	// something with prefixes of the address space.
	ForeignIn(space string, prefixes []netip.Prefix) []foreign.Address
}

// Recorded is the Holdings of a ledger.
type Recorded struct{ *ledger.Ledger }

// Holdings implements Holdings.
func (r Recorded) Holdings(pool ipamv1.PoolReference) []ledger.Holding { return r.Of(pool).Holdings() }

// Paths that the webhooks are served on, as the markers say.
const (
	defaultIPPoolPath        = "/mutate-ipam-weir-dev-v1alpha1-ippool"
	defaultGlobalIPPoolPath  = "/mutate-ipam-weir-dev-v1alpha1-globalippool"
	defaultAddressClaimPath  = "/mutate-ipam-cluster-x-k8s-io-v1beta2-ipaddressclaim"
	validateIPPoolPath       = "/validate-ipam-weir-dev-v1alpha1-ippool"
	validateGlobalIPPoolPath = "/validate-ipam-weir-dev-v1alpha1-globalippool"
	keepIPAllocationPath     = "/mutate-ipam-weir-dev-v1alpha1-ipallocation"
	keepAddressClaimPath     = "/mutate-moved-ipaddressclaim"
	markArrivalPath          = "/mutate-arrivals"
	defaultIPClaimPath       = "/mutate-ipam-weir-dev-v1alpha1-ipclaim"
	validateIPClaimPath      = "/validate-ipam-weir-dev-v1alpha1-ipclaim"
	validateDoorPoolPath     = "/validate-door-pools"
	assignSpacePath          = "/mutate-door-pools"
)

// SetupWithManager registers all webhooks with the manager's webhook server.
// They need the kinds of ipam.weir.dev in the manager's scheme and no others:
// Cluster API's CRDs may be absent.
func SetupWithManager(mgr manager.Manager, o Options) error {
	server := mgr.GetWebhookServer()
	for path, webhook := range webhooks(mgr.GetScheme(), o, reviews{mgr.GetClient()}) {
		server.Register(path, webhook)
	}
	return nil
}

// Options of the webhooks.
type Options struct {
	Holdings Holdings
	Ledger   Ledger
	Registry *pools.Registry
	Entitled *entitlement.IPClaims
	Doors    Doors
	Recorder events.EventRecorder
	// Authenticated says that every review comes from an API server that has proved to be one: so the user who it says has asked
	// has. Without that, what the user may not have asked for is not named, whatever the user may read.
	Authenticated bool
}

func webhooks(scheme *runtime.Scheme, o Options, rights Readers) map[string]http.Handler {
	dispensing := dispenser{o.Ledger, o.Registry, &audit.Refusals{}}
	carving := carver{dispensing, rights}
	own := claims{dispensing, o.Entitled, rights}
	readers := rights
	if !o.Authenticated {
		readers = nil // who asks may be anybody, and reads nothing
	}
	ofDoors := doorPools{o.Doors, o.Holdings, readers, o.Registry}
	return bounded(map[string]*admission.Webhook{
		defaultIPPoolPath:       {Handler: poolDefaulter{carving, o.Registry.Home}},
		defaultGlobalIPPoolPath: {Handler: poolDefaulter{carving, o.Registry.Home}},
		validateIPPoolPath: admission.WithValidator(scheme,
			admission.Validator[*ipamv1.IPPool](poolValidator[*ipamv1.IPPool]{o.Holdings, readers, carving})),
		validateGlobalIPPoolPath: admission.WithValidator(scheme,
			admission.Validator[*ipamv1.GlobalIPPool](poolValidator[*ipamv1.GlobalIPPool]{o.Holdings, readers, carving})),
		validateDoorPoolPath:    {Handler: admission.HandlerFunc(ofDoors.validate)},
		assignSpacePath:         {Handler: admission.HandlerFunc(ofDoors.assignSpace)},
		defaultIPClaimPath:      {Handler: admission.HandlerFunc(own.propose)},
		validateIPClaimPath:     {Handler: admission.HandlerFunc(own.reserveClaim)},
		keepIPAllocationPath:    {Handler: admission.HandlerFunc(keepMoved)},
		keepAddressClaimPath:    {Handler: admission.HandlerFunc(departures{o.Doors}.keep)},
		markArrivalPath:         {Handler: admission.HandlerFunc(arrivals{rights, o.Doors, o.Recorder}.mark)},
		defaultAddressClaimPath: {Handler: admission.HandlerFunc(finalizeAddressClaim)},
	})
}
