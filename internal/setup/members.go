// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/federation"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pool"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
)

// bindingKinds are Karmada's bindings of each kind of pools.
var bindingKinds = map[schema.GroupKind]schema.GroupVersionKind{
	kinds.IPPool: federation.ResourceBindings, kinds.GlobalIPPool: federation.ClusterResourceBindings,
}

// bindingsOf returns the bindings of a kind of pools; nil where there are none, or the gate is closed.
func (w *wiring) bindingsOf(kind pools.Kind) *federation.Bindings {
	binding, isDelegated := bindingKinds[kind.GroupKind]
	if !isDelegated || !w.options.isOn(federationGate) {
		return nil
	}
	return &federation.Bindings{Kind: binding, Cache: w.GetCache()}
}

// followMembers has a controller of pools follow bindings once that is possible.
func (w *wiring) followMembers(r *pool.Reconciler, bindings *federation.Bindings) error {
	if bindings == nil {
		return nil
	}
	direct, err := client.NewWithWatch(w.GetConfig(), client.Options{
		Scheme: w.GetScheme(), Mapper: w.GetRESTMapper(), HTTPClient: w.GetHTTPClient(),
	})
	if err != nil {
		return fmt.Errorf("creating a client for %ss: %w", bindings.Kind.Kind, err)
	}
	if err := w.Add(&memberReports{wiring: w, direct: direct, pools: r, bindings: bindings}); err != nil {
		return fmt.Errorf("adding what follows %ss: %w", bindings.Kind.Kind, err)
	}
	return nil
}

// proofInterval is how often it is proved that bindings may still be read.
const proofInterval = 10 * time.Second

// memberReports follows bindings once they are served and may be read.
type memberReports struct {
	wiring   *wiring
	direct   client.WithWatch
	pools    *pool.Reconciler
	bindings *federation.Bindings
}

// NeedLeaderElection is false: the controller waits for leadership by itself.
func (m *memberReports) NeedLeaderElection() bool { return false }

// Start waits until bindings can be followed, has pools say why they cannot, and follows them.
func (m *memberReports) Start(ctx context.Context) error {
	err := wait.PollUntilContextCancel(ctx, doorInterval, true, func(ctx context.Context) (bool, error) {
		err := m.prove(ctx)
		if err == nil {
			err = m.bindings.Index(ctx, m.wiring.GetFieldIndexer())
		}
		if ctx.Err() != nil || err == nil {
			return err == nil, ctx.Err()
		}
		return false, m.note(ctx, err.Error())
	})
	if err == nil {
		_, err = m.wiring.GetCache().GetInformer(ctx, m.bindings.Object()) // which waits until all are in memory
	}
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the manager stops
	}
	if err != nil {
		return fmt.Errorf("following %ss: %w", m.bindings.Kind.Kind, err)
	}
	m.bindings.Hindered("")
	if err := m.pools.WatchMembers(m.wiring.GetCache(), m.bindings.Object(), federation.PoolOf); err != nil {
		return err
	}
	wait.UntilWithContext(ctx, m.proveAgain, proofInterval)
	return nil
}

// note has pools say why bindings cannot be followed, "" if they can, where that is new.
func (m *memberReports) note(ctx context.Context, why string) error {
	if !m.bindings.Hindered(why) {
		return nil
	}
	ctrl.LoggerFrom(ctx).WithName("members").Info("Following members' reports", "kind", m.bindings.Kind, "hindrance", why)
	return m.pools.LookAtDelegated()
}

// proveAgain notices that bindings may not be read any more, or may again. A request that failed
// otherwise proves nothing.
func (m *memberReports) proveAgain(ctx context.Context) {
	err, why := m.prove(ctx), ""
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		why = err.Error()
	} else if err != nil {
		return
	}
	if err := m.note(ctx, why); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Looking at delegated pools", "kind", m.bindings.Kind)
	}
}

// prove returns why bindings cannot be followed; nil if they can.
func (m *memberReports) prove(ctx context.Context) error {
	kind := m.bindings.Kind
	if _, err := m.wiring.GetRESTMapper().RESTMapping(kind.GroupKind(), kind.Version); meta.IsNoMatchError(err) {
		return fmt.Errorf("%s of %s is not served here", kind.Kind, kind.GroupVersion())
	} else if err != nil {
		return err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	return proveWatch(ctx, m.direct, list, m.wiring.options.Namespace, kind.Kind+"s")
}
