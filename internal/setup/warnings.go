// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"strings"

	"k8s.io/client-go/rest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

// unqualified is how the API server warns of a finalizer without a path. Metal3's have none, and Weir writes them on every claim and address.
const unqualified = "prefer a domain-qualified finalizer name"

// warnings logs what the API server warns of, but for what cannot be otherwise.
type warnings struct {
	next rest.WarningHandlerWithContext
}

func newWarnings() warnings {
	return warnings{ctrllog.NewKubeAPIWarningLogger(ctrllog.KubeAPIWarningLoggerOptions{})}
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w warnings) HandleWarningHeaderWithContext(ctx context.Context, code int, agent, text string) {
	if !strings.Contains(text, unqualified) {
		w.next.HandleWarningHeaderWithContext(ctx, code, agent, text)
	}
}
