// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"testing"

	"github.com/go-logr/logr/funcr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

func TestOnlyWarningsThatSomebodyCanHeedAreLogged(t *testing.T) {
	t.Parallel()
	var lines []string
	ctx := ctrllog.IntoContext(t.Context(), funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}))
	w := newWarnings()
	w.HandleWarningHeaderWithContext(ctx, 299, "-", `metadata.finalizers: "ipclaim.ipam.metal3.io": prefer a domain-qualified finalizer name `+
		`including a path (/) to avoid accidental conflicts with other finalizer writers`)
	w.HandleWarningHeaderWithContext(ctx, 299, "-", "this version is deprecated")
	if len(lines) != 1 {
		t.Errorf("logged %q", lines)
	}
}
