// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/fsck"
)

const (
	// probeTimeout is how long one try may take: what is out of reach is not
	// always refused at once.
	probeTimeout = 3 * time.Second
	probeName    = "webhook-probe"
)

// WebhookCerts returns the folder with the certificate of all webhooks.
func (s *Site) WebhookCerts() string { return s.path("webhook") }

// PointWebhooks has the API server call Weir's webhooks at an address: a
// manager's or a Balancer's WebhookAddress, or a ConnectionProxy's Address. It installs the
// release's configurations if there are none, and returns when the API server
// calls what answers. Weir's CRDs must be served.
func (s *Site) PointWebhooks(ctx context.Context, address string) error {
	installed, err := webhookConfigurations(ctx, s.client)
	if err != nil {
		return err
	}
	if len(installed) == 0 {
		if err := s.installWebhooks(ctx); err != nil {
			return err
		}
	}
	if err := PatchWebhooks(ctx, s.Config(), s.ca, "https://"+address); err != nil {
		return err
	}
	if err := AwaitWebhooks(ctx, s.Config()); err != nil {
		return err
	}
	return s.awaitPools(ctx)
}

// ApplyInPlace applies the objects of a release over those that are installed. Webhooks among them call an address, never a Service.
func (s *Site) ApplyInPlace(ctx context.Context, address string, objects ...*unstructured.Unstructured) error {
	for _, object := range objects {
		if !slices.Contains(webhookKinds, object.GetKind()) {
			continue
		}
		if err := RedirectWebhooks(object, s.ca, "https://"+address); err != nil {
			return err
		}
	}
	return Apply(ctx, s.Config(), objects...)
}

// installWebhooks installs the configurations as they are shipped: they call a
// Service that does not exist here.
func (s *Site) installWebhooks(ctx context.Context) error {
	objects, err := releaseObjects(s.components)
	if err != nil {
		return err
	}
	_, webhooks := splitWebhooks(objects)
	return Apply(ctx, s.Config(), webhooks...)
}

// awaitPools tries to create a pool, with nothing stored, until it is accepted.
func (s *Site) awaitPools(ctx context.Context) error {
	pool := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"cidr": "192.0.2.0/24", "addressSpace": probeName}, // of nobody else's
	}}
	pool.SetGroupVersionKind(schema.GroupVersionKind{Group: fsck.WeirGroup, Version: "v1alpha1", Kind: "GlobalIPPool"})
	pool.SetName(probeName)
	var last error
	err := wait.PollUntilContextTimeout(ctx, pollInterval, noticeTimeout, true, func(ctx context.Context) (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, probeTimeout)
		defer cancel()
		last = s.client.Create(ctx, pool.DeepCopy(), client.DryRunAll)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for pools to be accepted: %w", errors.Join(err, last))
	}
	return nil
}

// RemoveWebhooks removes Weir's webhook configurations, and returns when the
// API server asks none of them any more.
func (s *Site) RemoveWebhooks(ctx context.Context) error {
	installed, err := webhookConfigurations(ctx, s.client)
	if err != nil {
		return err
	}
	for i := range installed {
		if err := s.client.Delete(ctx, &installed[i]); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("removing webhooks: %w", err)
		}
	}
	return AwaitWebhooks(ctx, s.Config())
}
