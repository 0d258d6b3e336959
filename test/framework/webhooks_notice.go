// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	noticeTimeout = 2 * time.Minute
	noticeLabel   = "notice"
	// nobody is where nothing answers: what the API server asks there fails at once.
	nobody = "https://127.0.0.1:1"
)

// AwaitWebhooks returns when the API server keeps to every webhook
// configuration that was written, and to none that was deleted, before the
// call. The API server watches each kind of configuration in the order of the
// writes: once it asks a webhook that is made here, it knows of all that was
// before. It deletes that webhook again.
func AwaitWebhooks(ctx context.Context, cfg *rest.Config) error {
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		return fmt.Errorf("building a client: %w", err)
	}
	for _, made := range []func(mark string) client.Object{mutatingNotice, validatingNotice} {
		if err := awaitNotice(ctx, c, made); err != nil {
			return err
		}
	}
	return nil
}

func awaitNotice(ctx context.Context, c client.Client, made func(mark string) client.Object) error {
	mark := noticeLabel + "-" + rand.String(10)
	configuration := made(mark)
	if err := c.Create(ctx, configuration); err != nil {
		return fmt.Errorf("creating a webhook to wait for: %w", err)
	}
	asked := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: metav1.NamespaceDefault, Name: mark, Labels: map[string]string{noticeLabel: mark},
	}}
	var last error
	err := wait.PollUntilContextTimeout(ctx, pollInterval, noticeTimeout, true, func(ctx context.Context) (bool, error) {
		last = c.Create(ctx, asked.DeepCopy(), client.DryRunAll)
		return last != nil && strings.Contains(last.Error(), webhookName(mark)), nil
	})
	if err != nil {
		return fmt.Errorf("waiting for %s to be asked: %w", webhookName(mark), errors.Join(err, last))
	}
	if err := c.Delete(ctx, configuration); err != nil {
		return fmt.Errorf("deleting a webhook that was waited for: %w", err)
	}
	return nil
}

func mutatingNotice(mark string) client.Object {
	w := noticeOf(mark)
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: mark},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, ObjectSelector: w.ObjectSelector,
			SideEffects: w.SideEffects, AdmissionReviewVersions: w.AdmissionReviewVersions,
		}},
	}
}

func validatingNotice(mark string) client.Object {
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: mark},
		Webhooks:   []admissionregistrationv1.ValidatingWebhook{noticeOf(mark)},
	}
}

// noticeOf returns a webhook that refuses ConfigMaps with the mark, and no others.
func noticeOf(mark string) admissionregistrationv1.ValidatingWebhook {
	url, none := nobody, admissionregistrationv1.SideEffectClassNone
	return admissionregistrationv1.ValidatingWebhook{
		Name: webhookName(mark), ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &url},
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
		}},
		ObjectSelector:          &metav1.LabelSelector{MatchLabels: map[string]string{noticeLabel: mark}},
		SideEffects:             &none,
		AdmissionReviewVersions: []string{"v1"},
	}
}

func webhookName(mark string) string { return mark + ".webhooks.test" }
