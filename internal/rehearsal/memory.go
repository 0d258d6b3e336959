// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rehearsal

import (
	"context"
	"fmt"
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// memory reads each object once. It is for one goroutine, and for the questions of one moment.
type memory struct {
	client.Client
	read map[string]remembered
}

// remembered is what came of reading an object.
type remembered struct {
	object client.Object
	err    error
}

// Get implements client.Reader.
func (m memory) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	kind, err := m.GroupVersionKindFor(into)
	if err != nil {
		return fmt.Errorf("reading %s: %w", key, err)
	}
	name := fmt.Sprintf("%T %s %s", into, kind, key)
	if known, isKnown := m.read[name]; isKnown {
		if known.err == nil {
			reflect.ValueOf(into).Elem().Set(reflect.ValueOf(known.object.DeepCopyObject()).Elem())
		}
		return known.err
	}
	err = m.Client.Get(ctx, key, into, opts...)
	known := remembered{err: err}
	if err == nil {
		known.object, _ = into.DeepCopyObject().(client.Object)
	}
	m.read[name] = known
	return err
}
