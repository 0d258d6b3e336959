// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rehearsal

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/explanation"
)

// ExplainUnstored is Explain for a claim that is not stored: it says what a manager would do once it is.
func (s *Stage) ExplainUnstored(ctx context.Context, claim *unstructured.Unstructured) (*explanation.Explanation, error) {
	with := *s
	with.Client = imagination{Client: s.Client, object: claim}
	return with.Explain(ctx, claim.GroupVersionKind().GroupKind(), client.ObjectKeyFromObject(claim))
}

// imagination reads one object as if it were stored.
type imagination struct {
	client.Client
	object *unstructured.Unstructured
}

// Get implements client.Reader. The versions of claims' kinds have the same fields but for their status, which is empty here.
func (i imagination) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	kind, err := i.GroupVersionKindFor(into)
	if err != nil || kind.GroupKind() != i.object.GroupVersionKind().GroupKind() || key != client.ObjectKeyFromObject(i.object) {
		return i.Client.Get(ctx, key, into, opts...)
	}
	if err = runtime.DefaultUnstructuredConverter.FromUnstructured(i.object.Object, into); err != nil {
		return fmt.Errorf("reading %s %s: %w", kind.Kind, key, err)
	}
	return nil
}
