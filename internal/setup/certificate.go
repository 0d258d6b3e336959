// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/servingcert"
)

// The names of what config/webhook has, as config/default makes names.
const (
	webhookService = "weir-webhook-service"
	mutatingName   = "weir-mutating-webhook-configuration"
	validatingName = "weir-validating-webhook-configuration"
)

// certificate says where the manager keeps the webhooks' certificate, if it makes it itself.
func (o *Options) certificate() servingcert.Options {
	return servingcert.Options{
		Secret: types.NamespacedName{Namespace: o.OwnNamespace, Name: o.WebhookCertSecret}, Dir: o.WebhookCertDir,
		DNSName: webhookService + "." + o.OwnNamespace + ".svc", Mutating: mutatingName, Validating: validatingName,
	}
}

// certificateReady returns what waits for the webhooks' certificate; nil where others make it.
func (o *Options) certificateReady() func(context.Context) error {
	if o.WebhookCertSecret == "" {
		return nil
	}
	return o.certificate().Await
}

// wireCertificate has the manager make the webhooks' certificate, where others do not.
func wireCertificate(mgr ctrl.Manager, o *Options) error {
	if o.WebhookCertSecret == "" {
		return nil
	}
	return servingcert.Add(mgr, o.certificate())
}
