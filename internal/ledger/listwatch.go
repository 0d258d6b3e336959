// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// ListClient returns the client that a ledger lists its records with.
func ListClient(config *rest.Config) (rest.Interface, error) {
	config = rest.CopyConfig(config)
	config.GroupVersion, config.APIPath = &ipamv1.GroupVersion, "/apis"
	config.ContentType = runtime.ContentTypeJSON
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion() // reads errors; records are read by readList
	c, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("creating the client that lists IPAllocations: %w", err)
	}
	return c, nil
}

// listWatch lists and watches all IPAllocations of the cluster, with no selector.
func (l *Ledger) listWatch() cache.ListerWatcher {
	return listFirst{&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
			return listAll(ctx, l.rest)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return l.client.Watch(ctx, &ipamv1.IPAllocationList{}, &client.ListOptions{Raw: &o})
		},
	}}
}

// listFirst is a ListWatch of which the reflector does not have the list streamed as events: those
// cost the API server, and this process, twice as much for each record as a list does.
type listFirst struct{ *cache.ListWatch }

// IsWatchListSemanticsUnSupported is what the reflector asks before it does.
func (listFirst) IsWatchListSemanticsUnSupported() bool { return true }

// listAll returns all records at the latest revision, whatever older one or part of them the
// reflector would be content with. They are read as they come: server and client work at the same
// time, and the text of the list is never in memory as a whole.
func listAll(ctx context.Context, c rest.Interface) (runtime.Object, error) {
	body, err := c.Get().Resource("ipallocations").Stream(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing IPAllocations: %w", err)
	}
	defer body.Close()
	list := &internalversion.List{}
	if err := readList(body, list); err != nil {
		return nil, fmt.Errorf("reading the list of IPAllocations: %w", err)
	}
	return list, nil
}

// readList reads a list in JSON. Only a whole one will do: what it lacks counts as gone.
func readList(body io.Reader, list *internalversion.List) error {
	d := json.NewDecoder(body)
	err := readFields(d, func(name string) error {
		switch name {
		case "items":
			return readItems(d, list)
		case "metadata":
			return d.Decode(&list.ListMeta)
		default:
			return d.Decode(&json.RawMessage{})
		}
	})
	switch {
	case err != nil:
		return err
	case list.ResourceVersion == "" || list.Continue != "":
		return errors.New("it is a part, or names no revision")
	}
	return nil
}

// readFields calls read for each field of an object, before its value.
func readFields(d *json.Decoder, read func(name string) error) error {
	if err := expect(d, json.Delim('{')); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		if err = read(fmt.Sprint(name)); err != nil {
			return err
		}
	}
	return expect(d, json.Delim('}'))
}

func readItems(d *json.Decoder, list *internalversion.List) error {
	if err := expect(d, json.Delim('[')); err != nil {
		return err
	}
	for d.More() {
		a := &ipamv1.IPAllocation{}
		if err := d.Decode(a); err != nil {
			return err
		}
		list.Items = append(list.Items, pruned(a))
	}
	return expect(d, json.Delim(']'))
}

func expect(d *json.Decoder, want json.Delim) error {
	if token, err := d.Token(); err != nil || token != want {
		return errors.Join(fmt.Errorf("got %v, want %v", token, want), err)
	}
	return nil
}

// pruned drops what the book does not look at: how many managers there are counts, not what they
// manage.
func pruned(a *ipamv1.IPAllocation) *ipamv1.IPAllocation {
	a.Labels = nil
	for i := range a.ManagedFields {
		a.ManagedFields[i].FieldsV1 = nil
	}
	return a
}
