// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	pods    = resource{schema.GroupVersionResource{Version: "v1", Resource: "pods"}, true}
	podLogs = schema.GroupResource{Resource: "pods/log"}
)

// Logs are which logs of managers were read, and which were not.
type Logs struct {
	// Read is how many there were.
	Read int
	// Failed are the API server's words on those that it could not show.
	Failed []string
}

// fail notes what could not be shown, once.
func (l *Logs) fail(text string) {
	if !slices.Contains(l.Failed, text) {
		l.Failed = append(l.Failed, text)
	}
}

type podFields struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
}

// ManagerLogs passes on the logs of the managers' containers, the one before and the present one, each line with
// its time. Managers are in Weir's namespace: a Pod of another one may have any label. What is forbidden is a gap.
func (s *Survey) ManagerLogs(ctx context.Context, read func(pod string, log io.Reader) error) (*Logs, error) {
	home, err := s.findHome(ctx)
	if err != nil {
		return nil, err
	}
	var found []metav1.ObjectMeta
	_, err = s.in(Scope{Only: home.namespace}).list(ctx, pods, query{labels: managerLabels}, func(body io.Reader) error {
		return readItems(body, func(p *podFields) { found = append(found, p.Metadata) })
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b metav1.ObjectMeta) int { return cmp.Compare(a.Name, b.Name) })
	logs := &Logs{}
	for i := range found {
		for _, previous := range []string{"true", "false"} {
			if err = s.readLog(ctx, logs, podLog{home.namespace, found[i].Name, previous}, read); err != nil {
				return nil, err
			}
		}
	}
	return logs, nil
}

// podLog is a log of a pod: that of the container before, if previous is true.
type podLog struct{ namespace, name, previous string }

// readLog passes on one log of a pod. There is no previous one of a container that has not been restarted.
func (s *Survey) readLog(ctx context.Context, logs *Logs, of podLog, read func(pod string, log io.Reader) error) error {
	body, err := s.rest.Get().AbsPath(pods.path(of.namespace), of.name, "log").MaxRetries(0).
		Param("container", managerContainer).Param("timestamps", "true").Param("previous", of.previous).Stream(ctx)
	switch {
	case apierrors.IsForbidden(err):
		s.gaps.add("get", podLogs, place{namespaced: true, namespace: of.namespace})
		return nil
	case apierrors.IsNotFound(err), apierrors.IsBadRequest(err) && of.previous == "true":
		return nil
	case err != nil && ctx.Err() == nil:
		logs.fail(fmt.Sprintf("pod %s/%s: %v", of.namespace, of.name, err))
		return nil
	case err != nil:
		return err
	}
	defer body.Close()
	logs.Read++
	return read(of.name, body)
}
