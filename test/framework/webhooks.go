// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	providerLabel = "cluster.x-k8s.io/provider"
	providerName  = "ipam-weir"
)

var webhookKinds = []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}

// PatchWebhooks makes every webhook of Weir's installed configurations call
// baseURL (https://127.0.0.1:<port>) plus its service path instead of a Service.
// Weir's are those with its provider label or with "weir" in their name.
func PatchWebhooks(ctx context.Context, cfg *rest.Config, caBundle []byte, baseURL string) error {
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		return fmt.Errorf("building a client: %w", err)
	}
	installed, err := webhookConfigurations(ctx, c)
	if err != nil {
		return err
	}
	if len(installed) == 0 {
		return errors.New("patching webhooks: no webhook configuration of Weir is installed")
	}
	for i := range installed {
		if err := RedirectWebhooks(&installed[i], caBundle, baseURL); err != nil {
			return err
		}
		if err := c.Update(ctx, &installed[i]); err != nil {
			return fmt.Errorf("updating %s %s: %w", installed[i].GetKind(), installed[i].GetName(), err)
		}
	}
	return nil
}

// webhookConfigurations returns Weir's, of both kinds.
func webhookConfigurations(ctx context.Context, c client.Client) ([]unstructured.Unstructured, error) {
	var found []unstructured.Unstructured
	for _, kind := range webhookKinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(admissionregistrationv1.SchemeGroupVersion.WithKind(kind + "List"))
		if err := c.List(ctx, list); err != nil {
			return nil, fmt.Errorf("listing %s: %w", kind, err)
		}
		for i := range list.Items {
			if weirs(&list.Items[i]) {
				found = append(found, list.Items[i])
			}
		}
	}
	return found, nil
}

func weirs(object *unstructured.Unstructured) bool {
	return hasLabel(object, providerLabel, providerName) || strings.Contains(object.GetName(), "weir")
}

// RedirectWebhooks changes a webhook configuration before it is installed as
// PatchWebhooks does afterwards. Webhooks that have a URL already move to the
// new one, so that a restarted manager may use another port.
func RedirectWebhooks(configuration *unstructured.Unstructured, caBundle []byte, baseURL string) error {
	webhooks, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
	if err != nil {
		return fmt.Errorf("reading webhooks of %s: %w", configuration.GetName(), err)
	}
	for _, w := range webhooks {
		webhook, ok := w.(map[string]any)
		if !ok {
			return fmt.Errorf("reading webhooks of %s: not an object", configuration.GetName())
		}
		err := unstructured.SetNestedMap(webhook, map[string]any{
			"url":      strings.TrimSuffix(baseURL, "/") + webhookPath(webhook),
			"caBundle": base64.StdEncoding.EncodeToString(caBundle),
		}, "clientConfig")
		if err != nil {
			return fmt.Errorf("changing webhooks of %s: %w", configuration.GetName(), err)
		}
	}
	return unstructured.SetNestedSlice(configuration.Object, webhooks, "webhooks")
}

func webhookPath(webhook map[string]any) string {
	if path, found, _ := unstructured.NestedString(webhook, "clientConfig", "service", "path"); found {
		return path
	}
	url, _, _ := unstructured.NestedString(webhook, "clientConfig", "url")
	if _, rest, found := strings.Cut(url, "://"); found {
		if _, path, found := strings.Cut(rest, "/"); found {
			return "/" + path
		}
	}
	return "/"
}
