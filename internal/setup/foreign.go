// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/clusterapi"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/foreign"
)

// followForeign has the ledger know, on every replica, what IPAddresses of other providers name. Until those that there are have been read it hands out
// nothing new where they may be.
func (w *wiring) followForeign() error {
	w.book.AwaitForeign()
	if err := w.Add(&foreignAddresses{w}); err != nil {
		return fmt.Errorf("adding what follows other providers' IPAddresses: %w", err)
	}
	return nil
}

// foreignAddresses notes what IPAddresses of other providers name, once the kind is served.
type foreignAddresses struct{ wiring *wiring }

// NeedLeaderElection is false: any replica may choose an address.
func (f *foreignAddresses) NeedLeaderElection() bool { return false }

// Start follows the objects until the manager stops. While the kind is not served there are none.
func (f *foreignAddresses) Start(ctx context.Context) error {
	if err := wait.PollUntilContextCancel(ctx, doorInterval, true, f.isServed); err != nil {
		return nil //nolint:nilerr // the manager stops before the kind appeared
	}
	f.wiring.book.AwaitForeign()
	informer, err := f.wiring.GetCache().GetInformer(ctx, clusterapi.NewAddress())
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the manager stops
	}
	if err != nil {
		return fmt.Errorf("following other providers' IPAddresses: %w", err)
	}
	followed, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: f.note, UpdateFunc: func(_, stored any) { f.note(stored) }, DeleteFunc: f.forget,
	})
	if err != nil {
		return fmt.Errorf("following other providers' IPAddresses: %w", err)
	}
	if toolscache.WaitForCacheSync(ctx.Done(), followed.HasSynced) {
		f.wiring.book.ForeignKnown()
	}
	<-ctx.Done()
	return nil
}

func (f *foreignAddresses) isServed(context.Context) (bool, error) {
	kind := clusterapi.Form{}.Kinds().Answer
	_, err := f.wiring.GetRESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		f.wiring.book.ForeignKnown()
	}
	return err == nil, nil
}

func (f *foreignAddresses) note(stored any) {
	if a, ok := clusterapi.Foreign(stored, f.wiring.options.serves()); ok {
		f.wiring.book.NoteForeign(a)
	}
}

func (f *foreignAddresses) forget(deleted any) {
	if last, ok := deleted.(toolscache.DeletedFinalStateUnknown); ok {
		deleted = last.Obj
	}
	if o, ok := deleted.(client.Object); ok {
		f.wiring.book.ForgetForeign(foreign.Key{Namespace: o.GetNamespace(), Name: o.GetName()})
	}
}
