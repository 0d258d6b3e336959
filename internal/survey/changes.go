// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// watchAccept asks for events with the metadata of objects.
const watchAccept = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json"

// errEnded is returned where a watch ended, as each does after a while.
var errEnded = errors.New("the watch ended")

// Changes calls ready once pools, records and claims are watched, and changed after each change of them. It returns an error when it can
// tell of no further change: what changed since is not known then. Calls of changed may come at the same time. What may not be
// listed is not watched.
func (s *Survey) Changes(ctx context.Context, ready, changed func()) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop() // ends all watches
	group, watching := errgroup.WithContext(ctx)
	var watches []io.ReadCloser
	isInCluster, err := s.ServesInCluster(ctx)
	if err != nil {
		return err
	}
	for _, r := range watched(isInCluster) {
		if !s.isServed(r) {
			continue
		}
		events, failure := s.watch(watching, r)
		if failure != nil {
			return failure
		}
		if events != nil {
			watches = append(watches, events)
		}
	}
	for _, events := range watches {
		group.Go(func() error {
			defer events.Close()
			return readEvents(events, changed)
		})
	}
	ready()
	group.Go(func() error {
		<-watching.Done()
		return context.Cause(watching)
	})
	return group.Wait()
}

// watched are pools, those of the in-cluster provider's kinds if Weir serves them, records, and claims, whose owners name Machines.
func watched(isInCluster bool) []resource {
	pools := []resource{ippools, globalippools, metal3ippools}
	if isInCluster {
		pools = append(pools, inclusterippools, globalinclusterippools)
	}
	all := append(make([]resource, 0, 1+len(pools)+len(claimForms)), ipallocations)
	all = append(all, pools...)
	for _, form := range claimForms {
		all = append(all, form.resource)
	}
	return all
}

// watch begins to watch a resource in the scope, from now on; nil if the user may not list it.
func (s *Survey) watch(ctx context.Context, r resource) (io.ReadCloser, error) {
	namespaces := []string{""}
	if r.namespaced {
		namespaces[0] = s.scope.Only
		if s.scope.Only == "" && s.scope.Fallback != "" {
			namespaces = append(namespaces, s.scope.Fallback)
		}
	}
	for _, namespace := range namespaces {
		revision, err := s.revision(ctx, r, namespace)
		if apierrors.IsForbidden(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", r.GroupResource(), err)
		}
		events, err := s.rest.Get().AbsPath(r.path(namespace)).SetHeader("Accept", watchAccept).
			Param("watch", "true").Param("resourceVersion", revision).Stream(ctx)
		if err != nil {
			return nil, fmt.Errorf("watching %s: %w", r.GroupResource(), err)
		}
		return events, nil
	}
	return nil, nil
}

// revision is that of a resource now.
func (s *Survey) revision(ctx context.Context, r resource, namespace string) (string, error) {
	text, err := s.rest.Get().AbsPath(r.path(namespace)).SetHeader("Accept", metadataAccept).Param("limit", "1").DoRaw(ctx)
	if err != nil {
		return "", err
	}
	list := &metav1.PartialObjectMetadataList{}
	err = json.Unmarshal(text, list)
	return list.ResourceVersion, err
}

// readEvents calls changed for each event, until there are no more.
func readEvents(events io.Reader, changed func()) error {
	for d := json.NewDecoder(events); ; {
		event := struct {
			Type string `json:"type"`
		}{}
		switch err := d.Decode(&event); {
		case errors.Is(err, io.EOF) || event.Type == "ERROR":
			return errEnded
		case err != nil:
			return fmt.Errorf("reading a watch: %w", err)
		}
		changed()
	}
}
