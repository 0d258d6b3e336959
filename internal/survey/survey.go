// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// Scope is which namespaces are looked at.
type Scope struct {
	// Only is the one namespace to look at; "" means all that may be seen.
	Only string
	// Fallback is the namespace to try where all may not be listed.
	Fallback string
}

// Survey reads with a user's rights. Its methods may be called at the same time.
type Survey struct {
	rest   rest.Interface
	mapper meta.RESTMapper
	scope  Scope
	gaps   *Gaps
	// home is the namespace that Weir runs in; "" if it is to be found.
	home string
	// inCluster is shared by surveys of all scopes.
	inCluster *inCluster
}

// New returns a survey by a configuration, whose credentials are the user's. The mapper knows the
// kinds of owners.
func New(config *rest.Config, mapper meta.RESTMapper, scope Scope) (*Survey, error) {
	config = rest.CopyConfig(ReadOnly(config))
	config.QPS = -1
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion() // reads errors; objects are decoded here
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	return &Survey{rest: client, mapper: mapper, scope: scope, gaps: &Gaps{}, inCluster: &inCluster{}}, nil
}

// ReadOnly returns a configuration whose clients refuse to send what would write.
func ReadOnly(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return readOnly{next} })
	return config
}

// Gaps returns what was forbidden so far.
func (s *Survey) Gaps() *Gaps { return s.gaps }

// in returns a survey of another scope, with the same gaps.
func (s *Survey) in(scope Scope) *Survey {
	other := *s
	other.scope = scope
	return &other
}

// Find returns ErrNoWeir where the API server does not serve Weir's kinds.
func (s *Survey) Find() error {
	if !s.isServed(ipallocations) {
		return ErrNoWeir
	}
	return nil
}

// resource is a kind of object that is read.
type resource struct {
	schema.GroupVersionResource
	namespaced bool
}

// isServed reports whether the API server has a resource. It says so to everybody, and forbids to
// read what there is not like anything else. In doubt the resource counts as served.
func (s *Survey) isServed(r resource) bool {
	_, err := s.mapper.KindFor(r.GroupVersionResource)
	return !meta.IsNoMatchError(err)
}

func (r resource) path(namespace string) string {
	path := "/apis/" + r.Group + "/" + r.Version
	if r.Group == "" {
		path = "/api/" + r.Version
	}
	if r.namespaced && namespace != "" {
		path += "/namespaces/" + namespace
	}
	return path + "/" + r.Resource
}

// query is how a list is asked for.
type query struct {
	fields string
	labels string
	accept string
	table  bool
}

// outcome is what became of a list.
type outcome int

const (
	// listed: all, or what the scope allows.
	listed outcome = iota
	// partly: only the namespace of the context, since all may not be listed.
	partly
	// forbidden: nothing could be listed.
	forbidden
	// unserved: the API server has no such resource, or no such object.
	unserved
)

// list reads all objects of a resource in the scope. Where all may not be listed it reads the
// namespace to fall back on. What is forbidden becomes a gap.
func (s *Survey) list(ctx context.Context, r resource, q query, read func(io.Reader) error) (outcome, error) {
	if !s.isServed(r) {
		return unserved, nil
	}
	first := place{namespaced: r.namespaced}
	if r.namespaced {
		first.namespace = s.scope.Only
	}
	result, err := s.listIn(ctx, r, first, q, read)
	if result != forbidden || !r.namespaced || first.namespace != "" || s.scope.Fallback == "" {
		return result, err
	}
	result, err = s.listIn(ctx, r, place{namespaced: true, namespace: s.scope.Fallback}, q, read)
	if result == listed {
		result = partly
	}
	return result, err
}

func (s *Survey) listIn(ctx context.Context, r resource, in place, q query, read func(io.Reader) error) (outcome, error) {
	request := s.rest.Get().AbsPath(r.path(in.namespace)).SetHeader("Accept", cmp.Or(q.accept, "application/json"))
	if q.fields != "" {
		request.Param("fieldSelector", q.fields)
	}
	if q.labels != "" {
		request.Param("labelSelector", q.labels)
	}
	if q.table {
		request.Param("includeObject", "None")
	}
	body, err := request.Stream(ctx)
	switch {
	case apierrors.IsForbidden(err):
		s.gaps.add("list", r.GroupResource(), in)
		return forbidden, nil
	case apierrors.IsNotFound(err):
		return unserved, nil
	case err != nil:
		return forbidden, fmt.Errorf("listing %s: %w", r.GroupResource(), err)
	}
	defer body.Close()
	if err = read(body); err != nil {
		return forbidden, fmt.Errorf("listing %s: %w", r.GroupResource(), err)
	}
	return listed, nil
}

// canName reports whether an object, or a namespace, can have a name. Tenants write names of owners and pools, and the
// client joins paths as file names: a name with slashes would have it read another path with the user's rights.
func canName(name string) bool { return name != "" && len(content.IsPathSegmentName(name)) == 0 }

// get reads one object: listed if it is there, unserved if there is none. Where the user may not see
// it there is a gap.
func (s *Survey) get(ctx context.Context, r resource, namespace, name string, into any) (outcome, error) {
	if !canName(name) || r.namespaced && !canName(namespace) {
		return unserved, nil
	}
	body, err := s.rest.Get().AbsPath(r.path(namespace), name).SetHeader("Accept", "application/json").Stream(ctx)
	switch {
	case apierrors.IsForbidden(err):
		s.gaps.add("get", r.GroupResource(), place{namespaced: r.namespaced, namespace: namespace})
		return forbidden, nil
	case apierrors.IsNotFound(err):
		return unserved, nil
	case err != nil:
		return forbidden, fmt.Errorf("reading %s %s: %w", r.GroupResource(), name, err)
	}
	defer body.Close()
	if err = json.NewDecoder(body).Decode(into); err != nil {
		return forbidden, fmt.Errorf("reading %s %s: %w", r.GroupResource(), name, err)
	}
	return listed, nil
}
