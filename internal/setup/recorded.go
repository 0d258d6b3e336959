// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/doors"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipclaim"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

// recordStored has whatever is stored out of a pool recorded: the answers of all front doors, and Weir's own claims. It errs unless all of it
// is, or where this manager does not see all of it.
func (w *wiring) recordStored(ctx context.Context, pool ipamv1.PoolReference) error {
	if pool.Namespace == "" && w.options.Namespace != "" {
		return fmt.Errorf("%s %s: this manager sees claims of namespace %s only", pool.Kind, pool.Name, w.options.Namespace)
	}
	for i := range w.doors {
		if err := w.checkOpen(&w.doors[i]); err != nil {
			return err
		}
	}
	if err := w.charts.Record(ctx, pool); err != nil {
		return err
	}
	return ipclaim.CheckRecorded(ctx, w.registry, pool)
}

// checkOpen errs with ErrBusy if there may be answers of a door that is not open yet.
func (w *wiring) checkOpen(door *doors.Door) error {
	if w.isOpen(door.Name) {
		return nil
	}
	for _, form := range door.Forms {
		kind := form.Kinds().Answer
		_, err := w.GetRESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
		switch {
		case err == nil:
			return fmt.Errorf("the front door of %s is not open yet: %w", door.Name, ledger.ErrBusy)
		case !meta.IsNoMatchError(err):
			return fmt.Errorf("looking up kind %s: %w", kind.GroupKind(), err)
		}
	}
	return nil
}
