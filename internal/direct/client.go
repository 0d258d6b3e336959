// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package direct reads from the API server what controllers read from a cache.
package direct

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Client serves the indices of a cache by a list of all that the index is over: a list of the namespace, where one is asked for.
type Client struct {
	client.Client

	// Indices are the indices, by the name of their field. Any other field is left to the API server.
	Indices map[string]client.IndexerFunc
}

// List implements client.Reader.
func (c *Client) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	o := (&client.ListOptions{}).ApplyOptions(opts)
	index, value := c.indexOf(o.FieldSelector)
	if index == nil {
		return c.Client.List(ctx, list, opts...)
	}
	o.FieldSelector = nil
	if err := c.Client.List(ctx, list, o); err != nil {
		return err
	}
	items, err := meta.ExtractList(list)
	if err == nil {
		err = meta.SetList(list, slices.DeleteFunc(items, func(item runtime.Object) bool {
			obj, ok := item.(client.Object)
			return !ok || !slices.Contains(index(obj), value)
		}))
	}
	if err != nil {
		return fmt.Errorf("reading a list: %w", err)
	}
	return nil
}

// indexOf returns the index that a selector asks, and for what; nil for none.
func (c *Client) indexOf(selector fields.Selector) (client.IndexerFunc, string) {
	if selector == nil {
		return nil, ""
	}
	for field, index := range c.Indices {
		if value, ok := selector.RequiresExactMatch(field); ok {
			return index, value
		}
	}
	return nil, ""
}
